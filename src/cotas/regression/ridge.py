"""Ridge regression."""

from __future__ import annotations

from dataclasses import dataclass

from cotas.fitting.parameters import check_positive
from cotas.regression.least_squares import SquaredLossRegressor


@dataclass(eq=False, repr=False, kw_only=True)
class Ridge(SquaredLossRegressor):
    r"""Linear regression with a quadratic penalty, in closed form or by gradient descent.

    Minimises

        P(θ, θ₀) = ½ Σ sᵢ(yᵢ − θ·xᵢ − θ₀)² + (λ/2)‖θ‖²,        Σ sᵢ = 1,

    the bias not penalized, and proves how far the result is from the minimum. Source:
    Fuentes Cabrera, section 4.2. scikit-learn's `Ridge(alpha)` has λ = alpha/n, or alpha/Σ weights.

    Parameters
    ----------
    lam : float, default=1e-3
        λ, the weight of the penalty.
    fit_intercept : bool, default=True
        Whether to train the bias θ₀, which is not penalized.
    solver : {"auto", "normal-equations", "dual", "qr", "gradient", "stochastic", \
            "conjugate-gradients"}
        As for `LeastSquares`; "stochastic" is Algorithm 7 of Fuentes Cabrera.
    step : "auto", float or callable, default="auto"
    batch_size : int, default=1
    replacement : bool, default=False
    shuffle : bool, default=True
    stop : rule of `cotas.stops`, optional
    start : array θ, or tuple (θ, θ₀), optional
    tol : float, default=1e-6
    max_iter : int, optional
    max_time : float, optional
        All as for `LeastSquares`.
    standardize : bool, default=False
        Run the iterations on columns of zero mean and unit deviation σⱼ, and penalize their
        coefficients: the penalty is (λ/2) Σ (σⱼθⱼ)². `coef_` is in the units of the data.
    random_state : int, RandomState or None
    n_jobs : int, optional
    callbacks : callable or list of callables, optional
    progress : bool or None
        As for `LeastSquares`.

    Attributes
    ----------
    coef_, intercept_, certificate_, history_, solver_, n_iter_, stop_, stop_reason_, \
condition_number_
        As for `LeastSquares`.

    Examples
    --------
    >>> import cotas
    >>> X, price = cotas.datasets.houses()
    >>> model = cotas.Ridge(lam=0.1, standardize=True).fit(X, price)
    >>> model.certificate_.holds, model.certificate_.relative_gap < 1e-9
    (True, True)
    >>> model.certificate_.verify(X, price)
    True
    """

    lam: float = 1e-3

    def _check_parameters(self) -> None:
        check_positive(self.lam, "lam")
        super()._check_parameters()

    def _lam(self) -> float:
        return float(self.lam)
