"""The Lasso, penalized or on the L1-ball, to a proved gap."""

from __future__ import annotations

from dataclasses import dataclass

from cotas.regression.sparse import SparseRegressor


@dataclass(eq=False, repr=False, kw_only=True)
class Lasso(SparseRegressor):
    """Least squares with a penalty on, or a limit to, the sum of the absolute coefficients.

    With `lam`: minimize ½ Σ sᵢ(yᵢ − β·xᵢ − β₀)² + λ‖β‖₁. With `delta`: minimize the first term
    over ‖β‖₁ ≤ δ (Rugeles Ospina, eq. 2.4). The weights sᵢ sum to one and the bias is free. The fit
    proves how far its objective is from the best: `certificate_`.

    Parameters
    ----------
    lam : float, optional
        The penalty, as scikit-learn's `alpha`. If neither it nor `delta` is given, a hundredth of
        the smallest penalty that makes all coefficients zero.
    delta : float, optional
        The radius of the L1-ball, instead of `lam`.
    positive : bool, default=False
        Whether coefficients must not be negative.
    weights : array of shape (n_features,), optional
        w ≥ 0, which make ‖β‖₁ the sum Σ wⱼ|βⱼ|: a coefficient of weight zero is not penalized.
        Columns without a penalty have to be linearly independent for anything to be proved.
    standardize : bool, default=False
        Whether ‖β‖₁ is measured in units of the standard deviations of the features. `coef_` is
        in the units of X all the same.
    fit_intercept : bool, default=True
    tol : float, default=1e-6
        The relative gap to prove: the fit ends when (P − D)/P ≤ tol, so that the best objective is
        lower by at most that share, and warns if it cannot get there. P counts as no less than
        1e-9 times the objective of the constant model.
    max_iter : int, default=10_000
        Rounds of the solver for each target, over all the λ on its way.
    max_time : float, optional
        Seconds after which the solver ends with what it has; the certificate tells how good it is.
    n_jobs : int, optional
        Threads; None for all cores. The answer does not depend on it.
    callbacks : callable or list of callables, optional
        Called with a `SolverReport` each time the solver has looked at all the columns, the
        certificate being about the model so far; True ends the work on that target. Each report
        costs a pass of the checker over the data.
    progress : bool or None
        Show a bar with the relative gap for work longer than a second. None shows it if tqdm is
        installed and the output is a terminal or a notebook.

    Attributes
    ----------
    coef_, intercept_ : the model
    certificate_ : Certificate, with a part for each of several targets
    lam_, delta_ : float, or arrays with one entry for each target
        The penalty and the radius that have this solution: one was given, the other follows.
    n_iter_ : int
        Rounds of the solver.
    stop_reason_ : str
        Why the fit ended, in words.

    Notes
    -----
    Ctrl-C ends the fit with the best model so far; its certificate is about that model.

    Examples
    --------
    >>> import cotas
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = cotas.Lasso(delta=1000.0).fit(X, y)
    >>> model.coef_.round().tolist()
    [0.0, 0.0, 457.0, 114.0, 0.0, 0.0, -35.0, 0.0, 395.0, 0.0]
    >>> model.certificate_.holds and model.certificate_.relative_gap <= 1e-6
    True
    >>> model.certified_zeros(X, y).tolist()  # of the exact solution, not of this one only
    [True, True, False, False, True, True, False, True, False, True]
    """

    delta: float | None = None
