"""The elastic net: squared loss with an ℓ1 and an ℓ2 penalty, to a proved gap."""

from __future__ import annotations

from dataclasses import dataclass

from cotas.regression.sparse import SparseRegressor


@dataclass(eq=False, repr=False, kw_only=True)
class ElasticNet(SparseRegressor):
    """Least squares with a penalty on the sizes and on the squares of the coefficients.

    Minimizes ½ Σ sᵢ(yᵢ − β·xᵢ − β₀)² + λ(ρ Σ wⱼ|βⱼ| + ½(1 − ρ) Σ (wⱼβⱼ)²), ρ being `l1_ratio`. The
    weights sᵢ sum to one and the bias is free. The fit proves how far its objective is from the
    best: `certificate_`.

    Parameters
    ----------
    lam : float, optional
        λ, as scikit-learn's `alpha`. If it is not given, a hundredth of the smallest penalty that
        makes all coefficients zero.
    l1_ratio : float, default=0.5
        ρ, above zero and at most one: 1 is the Lasso, and for 0 there is `Ridge`.
    positive : bool, default=False
        Whether coefficients must not be negative.
    weights : array of shape (n_features,), optional
        w ≥ 0; a coefficient of weight zero is not penalized. Columns without a penalty have to be
        linearly independent for anything to be proved.
    standardize : bool, default=False
        Whether β is measured in units of the standard deviations of the features. `coef_` is in
        the units of X all the same.
    fit_intercept : bool, default=True
    tol, max_iter, max_time, n_jobs, callbacks, progress : as in `Lasso`

    Attributes
    ----------
    coef_, intercept_, certificate_, n_iter_, stop_, stop_reason_ : as in `Lasso`
    lam_, delta_ : float, or arrays with one entry for each target
        The penalty, and Σ wⱼ|βⱼ| of the solution.

    Examples
    --------
    >>> import cotas
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = cotas.ElasticNet(lam=1.0, l1_ratio=0.5, standardize=True).fit(X, y)
    >>> model.coef_.round().tolist()
    [13.0, -120.0, 381.0, 240.0, -5.0, -50.0, -173.0, 111.0, 325.0, 106.0]
    >>> model.certificate_.holds and model.certificate_.relative_gap <= 1e-6
    True
    """

    l1_ratio: float = 0.5
