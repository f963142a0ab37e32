"""Linear support vector regression, solved until a duality gap is proved."""

from __future__ import annotations

from dataclasses import dataclass

from cotas.fitting.parameters import check_not_negative
from cotas.regression.robust import RobustRegressor
from cotas.solvers.losses import EpsilonInsensitive


@dataclass(eq=False, repr=False, kw_only=True)
class LinearSVR(RobustRegressor):
    """Linear support vector regression: residuals up to ε cost nothing.

    Minimizes

        mean of max(0, |y − θ·x − θ₀| − ε) + (λ/2)‖θ‖²,    the bias not penalized,

    until the checker proves a relative gap of at most `tol`. With ε = 0 it is the regression with
    least absolute residuals.

    Parameters
    ----------
    epsilon : float, default=0.1
        ε, in the units of y.
    lam : float, default=1e-3
        λ, the weight of the penalty.
    C : float, optional
        In the place of `lam`, as scikit-learn has it: λ = 1/(C · sum of the weights).
    fit_intercept : bool, default=True
        Whether to train the free bias θ₀.
    tol : float, default=1e-6
        The relative gap to prove: the fit ends when (P − D)/P ≤ tol, so that the best objective is
        lower by at most that share, and warns if it cannot get there.
    max_iter : int, default=1000
        Newton steps, for each target.
    max_time : float or None
        Seconds after the call of `fit` at which the best model so far is returned.
    warm_start : bool, default=False
        Begin where the last `fit` of this object ended, if it had as many features and targets.
    n_jobs : int or None, default=None
        Threads for the checker where there are many rows; None means all cores, but one inside a
        worker of joblib. It does not change the result.
    callbacks : callable or list of callables, optional
        Called with a `SolverReport` after each step; True ends the work on that target.
    progress : bool or None
        Show a bar with the relative gap for work longer than a second. None shows it if tqdm is
        installed and the output is a terminal or a notebook.

    Attributes
    ----------
    coef_, intercept_ : the model
    certificate_ : Certificate, with a part for each of several targets
    lam_ : float, λ
    n_iter_ : steps of the longest run
    stop_, stop_reason_ : why the fit ended, as a `cotas.stops.Stop` and in words

    Examples
    --------
    >>> import cotas
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 30.0]
    >>> model = cotas.LinearSVR(epsilon=0.0, lam=1e-3).fit(X, y)
    >>> model.predict([[1.5]]).round(1).tolist()  # the last row does not matter much
    [1.5]
    >>> model.certificate_.holds, model.certificate_.relative_gap <= 1e-6
    (True, True)
    """

    epsilon: float = 0.1

    def _loss(self) -> EpsilonInsensitive:
        check_not_negative(self.epsilon, "epsilon")
        return EpsilonInsensitive(float(self.epsilon))
