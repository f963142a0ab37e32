"""The support vector machine along many λ, and what is proved between them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Generator
from dataclasses import dataclass, replace
from numbers import Integral
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_scalar

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix
from cotas.certificates import Certificate
from cotas.certificates.consequences.path import ValidationBound, bound_validation_error
from cotas.fitting.monitor import Monitor
from cotas.fitting.parameters import check_positive
from cotas.fitting.pursuit import Pursuit
from cotas.linear.svm import LinearSVM
from cotas.solvers.iterate import Iterate
from cotas.stops import InterruptedWarning, Reason, Stop


@dataclass(frozen=True, repr=False, eq=False)
class SVMPath:
    """Support vector machines along falling λ, each with its certificates.

    Attributes
    ----------
    lams : array of shape (n_lams,)
        λ, from the largest to the smallest.
    coefs : array of shape (n_lams, 1, n_features) or (n_lams, n_classes, n_features)
    intercepts : array of shape (n_lams, 1) or (n_lams, n_classes)
    certificates : list with the certificate of each fit; its parts are those of the classes
    iterations, seconds : arrays of shape (n_lams,)
        What each fit took, after the start that the one before it gave.
    classes : array of labels
    validation_errors : array of shape (n_lams,), or None without validation data
        The fraction of the validation examples that each model gets wrong.
    validation_bound : ValidationBound or None
        What the exact optimum cannot beat between the λ of the grid.
    pieces : int
        Into how many parts its proof might cut each interval.
    """

    lams: FloatArray
    coefs: FloatArray
    intercepts: FloatArray
    certificates: list[Certificate]
    iterations: IntArray
    seconds: FloatArray
    classes: AnyArray
    validation_errors: FloatArray | None = None
    validation_bound: ValidationBound | None = None
    pieces: int = 64

    @property
    def best_lam(self) -> float:
        """The λ with the smallest validation error; of several the largest."""
        if self.validation_errors is None:
            raise ValueError("Which λ is best needs validation=(X_val, y_val).")
        return float(self.lams[int(np.argmin(self.validation_errors))])

    def verify(self, X: Matrix, y: Any, validation: tuple[Matrix, Any] | None = None) -> bool:
        """Whether all that was proved comes out again from the data.

        Parameters
        ----------
        X, y : the training data
        validation : the validation data, for the bound on the validation error
        """
        proved = all(certificate.verify(X, y) for certificate in self.certificates)
        if not proved or self.validation_bound is None:
            return proved
        if validation is None:
            raise ValueError("The bound on the validation error needs validation=(X_val, y_val).")
        again = self._bound(X, y, *validation)
        # A bound that the data prove even better is proved too; rounding may move one example.
        slack = 1.0 / again.n_rows
        known = self.validation_bound
        same = known.n_rows == again.n_rows and np.array_equal(known.lams, again.lams)
        return same and bool((known.lower <= again.lower + slack).all())

    def _bound(self, X: Matrix, y: Any, X_val: Matrix, y_val: Any) -> ValidationBound:
        assert self.validation_errors is not None
        y, y_val = np.asarray(y).ravel(), np.asarray(y_val).ravel()
        # A bound above what the grid has reached would not help anybody.
        wrong = round(float(self.validation_errors.min()) * len(y_val))
        data = (X, y, X_val, y_val, self.classes)
        singles = [list(certificate.singles) for certificate in self.certificates]
        return bound_validation_error(singles, *data, self.pieces, wrong)

    def __repr__(self) -> str:
        names = ["λ", "objective", "relative gap", "iterations", "seconds"]
        rows = [
            [f"{lam:.4g}", f"{c.upper:.6g}", f"{c.relative_gap:.1e}", f"{n}", f"{s:.2f}"]
            for lam, c, n, s in zip(
                self.lams, self.certificates, self.iterations, self.seconds, strict=True
            )
        ]
        if self.validation_errors is not None:
            names.append("validation error")
            for row, error in zip(rows, self.validation_errors, strict=True):
                row.append(f"{error:.4f}")
        widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
        table = [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
            for row in [names, *rows]
        ]
        title = f"Support vector machines at {len(self.lams)} values of λ"
        return "\n".join([title, *(f"  {line}" for line in table), *self._conclusion()])

    def _conclusion(self) -> list[str]:
        if self.validation_errors is None:
            return []
        best = float(self.validation_errors.min())
        lines = [f"  Best validation error on the grid: {best:.4f}, at λ = {self.best_lam:.4g}."]
        bound = self.validation_bound
        if bound is None:
            return lines
        span = f"[{self.lams[-1]:.4g}, {self.lams[0]:.4g}]"
        if bound.vacuous:
            lines.append(
                f"  The bound for all λ in {span} is vacuous: it is 0. More values of λ, or a "
                "smaller tol, make it sharper."
            )
        else:
            lines.append(
                f"  Proved: no optimum at any λ in {span} has a validation error below "
                f"{bound.error:.4f}."
            )
        return lines


def svm_path(
    X: Matrix,
    y: Any,
    lams: Any,
    *,
    validation: tuple[Matrix, Any] | None = None,
    pieces: int = 64,
    tol: float = 1e-6,
    fit_intercept: bool = True,
    solver: str = "auto",
    max_iter: int = 1000,
    max_time: float | None = None,
    sample_weight: Any = None,
    class_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> SVMPath:
    """Support vector machines for many λ, each begun where the one before it ended.

    With validation data it also proves what no grid can see: a lower bound on the validation
    error of the exact optimum at *any* λ between the smallest and the largest one. It tells
    whether a finer search for λ could still pay. It is about these validation data, not about
    the error on others.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    lams : sequence of positive numbers
        The values of λ, in any order. The closer they are, the sharper the bound between them.
    validation : (X_val, y_val), optional
        Examples to choose λ by, which are not trained on.
    pieces : int, default=64
        Into how many parts the proof may cut the interval between two neighbouring λ.
    tol : float, default=1e-6
        The relative gap that each fit has to prove. A smaller one sharpens the bound too.
    fit_intercept, solver, max_iter, max_time, class_weight, random_state, n_jobs
        As in `LinearSVM`, for each fit.
    sample_weight : array of shape (n_samples,), optional
        As in `LinearSVM.fit`.
    progress : bool or None
        Show a bar over the values of λ, as in `LinearSVM`.

    Returns
    -------
    SVMPath
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
    check_scalar(pieces, "pieces", Integral, min_val=1)
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
    lams = _falling(lams)
    steps = _walk(model, X, y, sample_weight, lams, validation, progress)
    _warn_of_gaps(steps, tol)
    path = SVMPath(
        np.array([step.lam for step in steps]),
        np.array([step.coef for step in steps]),
        np.array([step.intercept for step in steps]),
        [step.certificate for step in steps],
        np.array([step.iterations for step in steps]),
        np.array([step.seconds for step in steps]),
        model.classes_,
        pieces=int(pieces),
    )
    if validation is None:
        return path
    path = replace(path, validation_errors=np.array([step.error for step in steps]))
    if len(steps) < 2:
        return path
    try:
        return replace(path, validation_bound=path._bound(X, y, *validation))
    except KeyboardInterrupt:
        warnings.warn(
            "Interrupted before the validation error was bounded.", InterruptedWarning, stacklevel=2
        )
        return path


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
        """The largest relative gap of its classes."""
        return self.certificate.relative_gap


def _walk(
    model: LinearSVM,
    X: Matrix,
    y: Any,
    sample_weight: Any,
    lams: FloatArray,
    validation: tuple[Matrix, Any] | None,
    progress: bool | None,
) -> list[_Step]:
    """Fit at each λ in turn; Ctrl-C ends it with the λ being fitted, or before the next."""

    def fits() -> Generator[Iterate, None, Reason | None]:
        for lam in lams:
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # one warning for all of them
                model.set_params(lam=float(lam)).fit(X, y, sample_weight)
            seconds = time.perf_counter() - began
            error = np.nan if validation is None else _share_wrong(model, *validation)
            found = (model.coef_, model.intercept_, model.certificate_)
            yield Iterate(_Step(float(lam), *found, model.n_iter_, seconds, error))
            if model.stop_ is Stop.INTERRUPTED:
                return Reason(Stop.INTERRUPTED)
        return None

    def ends(iterate: Iterate) -> None:
        steps.append(iterate.model)
        monitor.show(gap=f"{steps[-1].gap:.1e}")

    steps: list[_Step] = []
    asked = SimpleNamespace(callbacks=None, progress=progress)
    with Monitor(asked, "λ", len(lams), "svm_path") as monitor:
        pursuit: Pursuit[Any] = Pursuit(None, None, None, monitor)
        pursuit.follow(fits(), ends=ends)
    if not steps:
        raise KeyboardInterrupt
    return steps


def _share_wrong(model: LinearSVM, X: Matrix, y: Any) -> float:
    y = np.asarray(y).ravel()
    found = model.predict(X)
    if len(found) != len(y):
        raise ValueError(f"validation has {len(found)} rows and {len(y)} labels.")
    unknown = np.setdiff1d(y, model.classes_)
    if len(unknown):
        raise ValueError(f"validation holds labels that y does not: {unknown.tolist()}.")
    return float(np.mean(found != y))


def _falling(lams: Any) -> FloatArray:
    """λ from the largest to the smallest, each once."""
    values = np.unique(np.ravel(lams))[::-1]
    if not len(values):
        raise ValueError("lams must hold at least one value of λ.")
    for value in values:
        check_positive(value, "each of lams")
    return values.astype(np.float64)


def _warn_of_gaps(steps: list[_Step], tol: float) -> None:
    missed = sum(step.gap > tol for step in steps)
    if missed:
        worst = max(steps, key=lambda step: step.gap)
        warnings.warn(
            f"At {missed} of {len(steps)} values of λ the gap proved is above tol={tol:g}; the "
            f"largest is {worst.gap:.2g}, at λ={worst.lam:.4g}. Raise max_iter, "
            "max_time or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
