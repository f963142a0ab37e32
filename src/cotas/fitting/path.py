"""Models along falling λ: one answer for `svm_path`, `logistic_path` and `lasso_path`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix
from cotas.certificates import Certificate
from cotas.certificates.consequences.path import (
    ValidationBound,
    bound_validation_error,
    counts_of_errors,
)
from cotas.certificates.verification import LABELLED, SAME, UNCHECKED, read_labels, read_rows
from cotas.fitting.data import encode
from cotas.fitting.parameters import check_count
from cotas.refusals import ParameterError
from cotas.source import MatrixLike
from cotas.words import say


@dataclass(frozen=True, repr=False, eq=False)
class Path:
    """Models along falling λ, each with its certificate.

    Attributes
    ----------
    name : str
        What the models are, in the plural.
    lams : array of shape (n_lams,)
        λ, from the largest to the smallest.
    coefs : array of shape (n_lams, n_features) for numbers, and for classes of shape
        (n_lams, 1, n_features) or (n_lams, n_classes, n_features)
    intercepts : array of shape (n_lams,), or for classes (n_lams, 1) or (n_lams, n_classes)
    certificates : list with the certificate of each model; its parts are those of the classes
    iterations, seconds : arrays of shape (n_lams,), or None where all are solved in one run
        What each fit took, after the start that the one before it gave.
    classes : array of labels, or None for numbers
    deltas : array of shape (n_lams,), or None for classes
        ‖β‖₁ of each solution of the Lasso, in units of the standard deviations if the path was
        computed with `standardize`.
    exact : bool
        Whether the λ are the breakpoints of the Lasso, so that between two of them β is linear.
        The solver says so: what is proved, and what `verify` looks at, are the models at these λ.
    validation_errors : array of shape (n_lams,), or None without validation data
        The fraction of the validation examples that each model gets wrong.
    validation_bound : ValidationBound or None
        What the exact support vector machine cannot beat between the λ of the grid.
    pieces : int
        Into how many parts its proof might cut each interval.
    """

    name: str
    lams: FloatArray
    coefs: FloatArray
    intercepts: FloatArray
    certificates: list[Certificate]
    iterations: IntArray | None = None
    seconds: FloatArray | None = None
    classes: AnyArray | None = None
    deltas: FloatArray | None = None
    exact: bool = False
    validation_errors: FloatArray | None = None
    validation_bound: ValidationBound | None = None
    pieces: int = 64

    @property
    def gaps(self) -> FloatArray:
        """Compute P − D of each model, as proved."""
        return np.array([certificate.gap for certificate in self.certificates])

    @property
    def best_lam(self) -> float:
        """Return the λ with the smallest validation error; of several the largest."""
        if self.validation_errors is None:
            raise ParameterError("validation", "Which λ is best needs validation=(X_val, y_val).")
        return float(self.lams[int(np.argmin(self.validation_errors))])

    # ---- between the breakpoints of the Lasso ----------------------------------------------------

    def lam_at(self, delta: float) -> float:
        """Return the λ whose solution has ‖β‖₁ = δ: between two breakpoints δ is linear in λ."""
        deltas = self._at_breakpoints()
        if not deltas[0] <= delta <= deltas[-1]:
            raise ParameterError(
                "delta",
                f"delta must lie on the path, between 0 and {deltas[-1]:.6g}; follow the path "
                "further down for more.",
            )
        return float(np.interp(delta, deltas, self.lams))

    def delta_at(self, lam: float) -> float:
        """Compute ‖β‖₁ of the solution for λ."""
        deltas = self._at_breakpoints()
        return float(np.interp(self._on_the_path(lam), self.lams[::-1], deltas[::-1]))

    def coef_at(self, lam: float) -> FloatArray:
        """Return the coefficients for any λ on the path."""
        self._at_breakpoints()
        lam, lams = self._on_the_path(lam), self.lams
        after = int(np.clip(np.searchsorted(-lams, -lam), 1, max(1, len(lams) - 1)))
        if len(lams) == 1 or lam >= lams[0]:
            return np.asarray(self.coefs[0].copy())
        width = lams[after - 1] - lams[after]
        share = (lams[after - 1] - lam) / width if width > 0 else 1.0
        return np.asarray((1 - share) * self.coefs[after - 1] + share * self.coefs[after])

    def _on_the_path(self, lam: float) -> float:
        if not lam >= self.lams[-1]:
            raise ParameterError(
                "lam", f"lam must be at least {self.lams[-1]:.6g}, where the path ends."
            )
        return lam

    def _at_breakpoints(self) -> FloatArray:
        if not self.exact or self.deltas is None:
            raise ParameterError(
                "method", "This needs the breakpoints: lasso_path(..., method='homotopy')."
            )
        return self.deltas

    # ---- checked again ---------------------------------------------------------------------------

    def verify(
        self, X: Matrix, y: ArrayLike | None, validation: tuple[Matrix, Any] | None = None
    ) -> bool:
        """Tell whether all that was proved comes out again from the data.

        Parameters
        ----------
        X, y : the training data
        validation : the validation data, for the bound on the validation error
        """
        known = self.certificates
        if not (known and all(certificate.verify(X, y) for certificate in known)):
            return False  # of no models nothing is proved
        if validation is None and self.validation_bound is not None:
            raise ParameterError(
                "validation", "The bound on the validation error needs validation=(X_val, y_val)."
            )
        try:
            return self._is_of_its_witnesses() and (
                validation is None or self._is_of_the_validation(X, y, *validation)
            )
        except UNCHECKED:  # of other shapes than a path has
            return False

    def _is_of_its_witnesses(self) -> bool:
        """Tell whether the certificates prove something of these models and their λ."""
        rows = zip(self.lams, self.coefs, self.intercepts, self.certificates, strict=True)
        for lam, coef, intercept, certificate in rows:
            points: list[Any] = [one.witness for one in certificate.singles]
            theta = np.concatenate([np.atleast_2d(point.coef) for point in points])
            bias = np.concatenate([np.atleast_1d(point.intercept) for point in points])
            if not (
                all(point.problem.lam == lam for point in points)
                and np.array_equal(np.atleast_2d(coef), theta)
                and np.array_equal(np.atleast_1d(intercept), bias)
                and self._names_the_classes_of(points)
            ):
                return False
        return self._has_the_lengths()

    def _names_the_classes_of(self, points: list[Any]) -> bool:
        if self.classes is None:
            return not any(hasattr(point, name) for point in points for name in LABELLED)
        several = ([p.positive] if hasattr(p, "positive") else p.classes for p in points)
        named, known = [label for labels in several for label in labels], list(self.classes)
        return named == known or (len(known) == 2 and named == known[1:])

    def _has_the_lengths(self) -> bool:
        """Tell whether δ is ‖β‖₁, in the units of each column that its penalty counts."""
        if self.deltas is None:
            return True
        points: list[Any] = [one.witness for one in self.certificates]
        scales = [1.0 if p.penalty_scale is None else p.penalty_scale for p in points]
        lengths = [np.abs(coef * s).sum() for coef, s in zip(self.coefs, scales, strict=True)]
        return bool(np.allclose(self.deltas, lengths, rtol=SAME, atol=0.0))

    def _is_of_the_validation(
        self, X: Matrix, y: ArrayLike | None, X_val: Matrix, y_val: ArrayLike | None
    ) -> bool:
        """Tell whether the validation errors, and the bound on that of the optima, come out again.

        What is proved without the room that a bound leaves is proved in any order of sums. The
        error of a model may be any between those that rounding leaves open.
        """
        errors, known, classes = self.validation_errors, self.validation_bound, self.classes
        if errors is None or classes is None:
            return errors is None and known is None
        X_val, y_val = read_rows(X_val), read_labels(y_val).ravel()
        if not np.isin(y_val, classes).all():
            return False
        codes, n_rows = encode(y_val, classes), len(y_val)
        for error, coef, intercept in zip(errors, self.coefs, self.intercepts, strict=True):
            least, most = counts_of_errors(coef, intercept, X_val, codes)
            if error not in np.arange(least, most + 1) / n_rows:
                return False
        if known is None:
            return True
        alike = known.n_rows == n_rows and np.array_equal(known.lams, self.lams)
        if not alike or len(known.lower) != len(self.lams) - 1 or not known.error <= 1:
            return False
        claimed = np.rint(known.lower * n_rows).astype(np.int64)
        again = self._bound(X, y, X_val, y_val, claimed, 0.0)
        return bool((known.lower <= again.lower).all())

    def bound(self, X: MatrixLike, y: Any, X_val: MatrixLike, y_val: Any) -> ValidationBound:
        """Recompute what the certificates of support vector machines prove between the λ."""
        assert self.validation_errors is not None
        # A bound above what the grid has reached would not help anybody.
        wrong = round(float(self.validation_errors.min()) * len(y_val))
        return self._bound(X, y, X_val, y_val, wrong)

    def _bound(
        self,
        X: MatrixLike,
        y: ArrayLike | None,
        X_val: MatrixLike,
        y_val: ArrayLike | None,
        fewest_errors: Any,
        room: float = SAME,
    ) -> ValidationBound:
        assert self.classes is not None
        y, y_val = np.asarray(y).ravel(), np.asarray(y_val).ravel()
        data: tuple[Any, AnyArray, Any, AnyArray] = (X, y, X_val, y_val)
        singles = [list(certificate.singles) for certificate in self.certificates]
        last = (self.classes, self.pieces, fewest_errors, room)
        return bound_validation_error(singles, *data, *last)

    # ---- in words --------------------------------------------------------------------------------

    def __repr__(self) -> str:
        known = self.certificates
        # Each class has its own objective, and which is the worst changes along λ.
        totals = [sum(part.upper for part in one.singles) for one in known]
        several = any(one.parts for one in known)
        columns = {
            "λ": [f"{lam:.4g}" for lam in self.lams],
            say("sum of objectives") if several else say("objective"): [
                f"{total:.6g}" for total in totals
            ],
            say("relative gap"): [f"{one.relative_gap:.1e}" for one in known],
        }
        for title, values, form in (
            ("‖β‖₁", self.deltas, "{:.4g}"),
            (say("iterations"), self.iterations, "{}"),
            (say("seconds"), self.seconds, "{:.2f}"),
            (say("validation error"), self.validation_errors, "{:.4f}"),
        ):
            if values is not None:
                columns[title] = [form.format(value) for value in values]
        table = [[title, *cells] for title, cells in columns.items()]
        widths = [max(map(len, column)) for column in table]
        lines = [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
            for row in zip(*table, strict=True)
        ]
        title = say("{name} at {count} values of λ", name=say(self.name), count=len(self.lams))
        return "\n".join([title, *(f"  {line}" for line in lines), *self._conclusion()])

    def _conclusion(self) -> list[str]:
        if self.validation_errors is None:
            return []
        best = float(self.validation_errors.min())
        on_the_grid = "Best validation error on the grid: {error:.4f}, at λ = {lam:.4g}."
        lines = [say(on_the_grid, error=best, lam=self.best_lam)]
        bound = self.validation_bound
        if bound is not None and bound.vacuous:
            vacuous_text = (
                "The bound for all λ in {span} is vacuous: it is 0. More values of λ, or a smaller "
                "tol, make it sharper."
            )
            lines.append(say(vacuous_text, span=_span(bound)))
        elif bound is not None:
            lines.append(proved_between(bound))
        return [f"  {line}" for line in lines]


def proved_between(bound: ValidationBound) -> str:
    """Return what is proved of every λ of a range, in a sentence."""
    proved = "Proved: no optimum at any λ in {span} has a validation error below {error:.4f}."
    return say(proved, span=_span(bound), error=bound.error)


def _span(bound: ValidationBound) -> str:
    return f"[{bound.lams[-1]:.4g}, {bound.lams[0]:.4g}]"


def spread(n_lams: int, least: float, most: float) -> FloatArray:
    """Return so many λ from the largest to the smallest, evenly in the logarithm."""
    check_count(n_lams, "n_lams")
    return np.geomspace(most, least, n_lams)


def falling(lams: Any) -> FloatArray:
    """Compute λ from the largest to the smallest, each once; refuse what is no penalty."""
    values = np.unique(np.asarray(lams, dtype=np.float64).ravel())[::-1].copy()
    if not (len(values) and np.isfinite(values).all() and values[-1] > 0):
        raise ParameterError("lams", "lams must be finite numbers above zero, at least one.")
    return values
