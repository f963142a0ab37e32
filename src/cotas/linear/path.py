"""Linear classifiers along many λ, and what is proved between them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Generator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from cotas.arrays import FloatArray, Matrix
from cotas.certificates import Certificate
from cotas.fitting.certified import outside
from cotas.fitting.data import refuse_source
from cotas.fitting.parameters import check_count, check_fraction, check_time
from cotas.fitting.path import Path, falling, spread
from cotas.fitting.pursuit import Pursuit, deadline
from cotas.linear.logistic import LogisticRegression, strongest_penalty
from cotas.linear.svm import LinearSVM
from cotas.refusals import ParameterError
from cotas.running import Monitor
from cotas.solvers.iterate import Iterate
from cotas.source import MatrixLike
from cotas.stops import InterruptedWarning, Reason, Stop
from cotas.words import say

# The least and the largest λ where no data tell them.
USUAL = (1e-4, 1.0)


def svm_path(
    X: MatrixLike,
    y: ArrayLike | None,
    lams: Any = None,
    n_lams: int = 50,
    *,
    validation: tuple[Matrix, Any] | None = None,
    pieces: int = 64,
    tol: float = 1e-6,
    fit_intercept: bool = True,
    solver: str = "auto",
    max_iter: int = 1000,
    max_time: float | None = None,
    sample_weight: ArrayLike | None = None,
    class_weight: Any = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Path:
    """Train support vector machines for many λ, each begun where the one before it ended.

    With validation data it also proves what no grid can see: a lower bound on the validation
    error of the exact optimum at *any* λ between the smallest and the largest one. It tells
    whether a finer search for λ could still pay. It is about these validation data, not about
    the error on others.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    lams : sequence of positive numbers, optional
        The values of λ, in any order. The closer they are, the sharper the bound between them.
    n_lams : int, default=50
        How many values between 1 and 1e-4, evenly in the logarithm, where `lams` is not given.
    validation : (X_val, y_val), optional
        Examples to choose λ by, which are not trained on.
    pieces : int, default=64
        Into how many parts the proof may cut the interval between two neighbouring λ.
    tol : float, default=1e-6
        The relative gap that each fit has to prove. A smaller one sharpens the bound too.
    fit_intercept, solver, max_iter, class_weight, random_state, n_jobs
        As in `LinearSVM`, for each fit.
    max_time : float, optional
        Seconds after the call at which the path ends, with the λ being fitted. It then has no bound
        on the validation error.
    sample_weight : array of shape (n_samples,), optional
        As in `LinearSVM.fit`.
    progress : bool or None
        Show a bar over the values of λ, as in `LinearSVM`.

    Returns
    -------
    Path
        After Ctrl-C, the path up to there. It keeps a number for each example, class and λ: the
        witnesses of the certificates.

    Examples
    --------
    >>> import cotas
    >>> X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.5]], [1, 1, -1, -1]
    >>> path = cotas.svm_path(X, y, [1.0, 0.9, 0.8], validation=([[3.0, 1.0], [2.0, 2.0]], [1, -1]))
    >>> path.validation_errors
    array([0.5, 0.5, 0.5])
    >>> path.validation_bound.error
    0.5
    """
    began = time.perf_counter()
    _refuse_sources("svm_path", X, validation)
    check_count(pieces, "pieces")
    model = LinearSVM(
        fit_intercept=fit_intercept,
        solver=solver,
        tol=tol,
        max_iter=max_iter,
        max_time=max_time,
        warm_start=True,
        class_weight=class_weight,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=False,
    )
    grid = spread(n_lams, *USUAL) if lams is None else falling(lams)
    given = (X, y, grid, sample_weight, validation, progress, began)
    path = replace(_along("Support vector machines", model, *given), pieces=int(pieces))
    late = time.perf_counter() > deadline(began, max_time)
    if validation is None or len(path.lams) < 2 or late:
        return path
    try:
        return replace(path, validation_bound=path.bound(X, y, *validation))
    except KeyboardInterrupt:
        warnings.warn(
            say("Interrupted before the validation error was bounded."),
            InterruptedWarning,
            stacklevel=2,
        )
        return path


def logistic_path(
    X: MatrixLike,
    y: ArrayLike | None,
    lams: Any = None,
    n_lams: int = 50,
    *,
    ratio: float = 1e-2,
    penalty: str = "l2",
    l1_ratio: float = 0.5,
    multiclass: str = "softmax",
    validation: tuple[Matrix, Any] | None = None,
    tol: float = 1e-4,
    fit_intercept: bool = True,
    max_iter: int = 1000,
    max_time: float | None = None,
    sample_weight: ArrayLike | None = None,
    class_weight: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Path:
    """Train logistic regressions for many λ, each begun where the one before it ended.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    lams : sequence of positive numbers, optional
        The values of λ, in any order.
    n_lams, ratio : the grid where `lams` is not given, evenly in the logarithm: with an l1 part
        from λ_max, where θ = 0, down to ratio·λ_max; else from 1 to 1e-4
    validation : (X_val, y_val), optional
        Examples to choose λ by, which are not trained on.
    tol : float, default=1e-4
        The relative gap that each fit has to prove.
    penalty, l1_ratio, multiclass, fit_intercept, max_iter, class_weight, n_jobs
        As in `LogisticRegression`, for each fit.
    max_time : float, optional
        Seconds after the call at which the path ends, with the λ being fitted.
    sample_weight : array of shape (n_samples,), optional
        As in `LogisticRegression.fit`.
    progress : bool or None
        Show a bar over the values of λ, as in `LogisticRegression`.

    Returns
    -------
    Path
        After Ctrl-C, the path up to there.

    Examples
    --------
    >>> import cotas
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> path = cotas.logistic_path(X, y, n_lams=5, penalty="l1")
    >>> (path.coefs != 0).sum(axis=(1, 2)).tolist()
    [0, 2, 2, 3, 4]
    >>> max(certificate.relative_gap for certificate in path.certificates) <= 1e-4
    True
    """
    began = time.perf_counter()
    _refuse_sources("logistic_path", X, validation)
    model = LogisticRegression(
        penalty=penalty,
        l1_ratio=l1_ratio,
        multiclass=multiclass,
        fit_intercept=fit_intercept,
        tol=tol,
        max_iter=max_iter,
        max_time=max_time,
        warm_start=True,
        class_weight=class_weight,
        n_jobs=n_jobs,
        progress=False,
    )
    check_fraction(ratio, "ratio")
    model._check_parameters()
    if lams is not None:
        grid = falling(lams)
    elif penalty == "l2" or (penalty == "elasticnet" and l1_ratio == 0):
        grid = spread(n_lams, *USUAL)
    else:
        # A little more, so that rounding leaves the first model without coefficients.
        most = (1 + 1e-6) * (strongest_penalty(model, X, y, sample_weight) or 1.0)
        grid = spread(n_lams, ratio * most, most)
    given = (X, y, grid, sample_weight, validation, progress, began)
    return _along("Logistic regressions", model, *given)


def _refuse_sources(name: str, X: MatrixLike, validation: tuple[Matrix, Any] | None) -> None:
    refuse_source(name, X)
    if isinstance(validation, tuple | list) and validation:
        refuse_source("validation", validation[0])


def _along(
    name: str,
    model: Any,
    X: MatrixLike,
    y: ArrayLike | None,
    lams: FloatArray,
    sample_weight: ArrayLike | None,
    validation: tuple[Matrix, Any] | None,
    progress: bool | None,
    began: float,
) -> Path:
    """Return the models of one estimator along λ, and a warning where their gaps are too large."""
    asked = SimpleNamespace(callbacks=None, progress=progress)
    with Monitor(asked, "λ", len(lams), name) as monitor:
        steps = _walk(model, X, y, sample_weight, lams, validation, monitor, began)
    _warn_of_gaps(steps, model.tol)
    errors = None if validation is None else np.array([step.error for step in steps])
    return Path(
        name,
        np.array([step.lam for step in steps]),
        np.array([step.coef for step in steps]),
        np.array([step.intercept for step in steps]),
        [step.certificate for step in steps],
        np.array([step.iterations for step in steps]),
        np.array([step.seconds for step in steps]),
        model.classes_,
        validation_errors=errors,
    )


class _Step(NamedTuple):
    """One fit of a path."""

    lam: float
    coef: FloatArray
    intercept: FloatArray
    certificate: Certificate
    iterations: int
    seconds: float
    error: float

    @property
    def gap(self) -> float:
        """Return the largest relative gap of its classes."""
        return self.certificate.relative_gap


def _walk(
    model: Any,
    X: MatrixLike,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    lams: FloatArray,
    validation: tuple[Matrix, Any] | None,
    monitor: Monitor,
    began: float,
) -> list[_Step]:
    """Fit at each λ in turn; Ctrl-C or the time end it with the λ being fitted, or before the next.

    `max_time` of the model is the time for all of them; each has what the others have left.
    """
    max_time = model.max_time
    check_time(max_time)

    def fits() -> Generator[Iterate, None, Reason | None]:
        for lam in lams:
            start = time.perf_counter()
            if max_time is not None:
                left = deadline(began, max_time) - start
                model.set_params(max_time=max(left, np.finfo(np.float64).tiny))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # one warning for all of them
                model.set_params(lam=float(lam)).fit(X, y, sample_weight)
            seconds = time.perf_counter() - start
            error = np.nan if validation is None else _share_wrong(model, *validation)
            found = (model.coef_, model.intercept_, model.certificate_)
            yield Iterate(_Step(float(lam), *found, model.n_iter_, seconds, error))
            if model.stop_ is Stop.INTERRUPTED:
                return Reason(Stop.INTERRUPTED)
        return None

    def ends(iterate: Iterate) -> None:
        steps.append(iterate.model)
        monitor.show(gap=steps[-1].gap)

    steps: list[_Step] = []
    pursuit: Pursuit[Any] = Pursuit(None, None, max_time, monitor, began=began)
    source = fits()
    reason = pursuit.follow(source, ends=ends).reason
    if reason.stop is Stop.TIME and not steps:
        return [next(source).model]
    if not steps:
        raise KeyboardInterrupt
    return steps


def _share_wrong(model: Any, X: Matrix, y: ArrayLike | None) -> float:
    y = np.asarray(y).ravel()
    found = model.predict(X)
    if len(found) != len(y):
        raise ParameterError("validation", f"validation has {len(found)} rows and {len(y)} labels.")
    unknown = np.setdiff1d(y, model.classes_)
    if len(unknown):
        raise ParameterError(
            "validation", f"validation holds labels that y does not: {unknown.tolist()}."
        )
    return float(np.mean(found != y))


def _warn_of_gaps(steps: list[_Step], tol: float) -> None:
    missed = sum(step.gap > tol for step in steps)
    if missed:
        worst = max(steps, key=lambda step: step.gap)
        warnings.warn(
            say(
                "At {missed} of {count} values of λ the gap proved is above tol={tol:g}; the "
                "largest is {gap:.2g}, at λ={lam:.4g}. Raise max_iter, max_time or tol.",
                missed=missed,
                count=len(steps),
                tol=tol,
                gap=worst.gap,
                lam=worst.lam,
            ),
            ConvergenceWarning,
            stacklevel=outside(),
        )
