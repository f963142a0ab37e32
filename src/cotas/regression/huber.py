"""Huber's regression, solved until a duality gap is proved."""

from __future__ import annotations

from dataclasses import dataclass

from cotas.fitting.parameters import check_positive
from cotas.regression.robust import RobustRegressor
from cotas.solvers.losses import Huber


@dataclass(eq=False, repr=False, kw_only=True)
class HuberRegressor(RobustRegressor):
    """Linear regression with Huber's loss: squares of small residuals, the size of large ones.

    Minimizes

        mean of ℓ(y − θ·x − θ₀) + (λ/2)‖θ‖²,    ℓ(r) = ½r² for |r| ≤ ε, else ε|r| − ½ε²,

    the bias not penalized, until the checker proves a relative gap of at most `tol`.

    Parameters
    ----------
    epsilon : float, default=1.35
        Where the squares end, in the units of y. With residuals of deviation σ, 1.35·σ keeps 95 %
        of the efficiency of least squares where they are normal. scikit-learn's `HuberRegressor`
        estimates σ besides; here y is taken as it is.
    lam : float, default=1e-3
        λ, the weight of the penalty.
    C : float, optional
        In the place of `lam`: λ = 1/(C · sum of the weights).
    fit_intercept, tol, max_iter, max_time, warm_start, n_jobs, callbacks, progress
        As in `LinearSVR`.

    Attributes
    ----------
    coef_, intercept_, certificate_, lam_, n_iter_, stop_, stop_reason_
        As in `LinearSVR`.

    Examples
    --------
    >>> import cotas
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 30.0]
    >>> model = cotas.HuberRegressor(epsilon=0.1).fit(X, y)
    >>> model.certificate_.holds, model.certificate_.relative_gap <= 1e-6
    (True, True)
    """

    epsilon: float = 1.35

    def _loss(self) -> Huber:
        check_positive(self.epsilon, "epsilon")
        return Huber(float(self.epsilon))
