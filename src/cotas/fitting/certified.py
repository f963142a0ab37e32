"""What makes a fitted estimator one of ours: its certificates, and the file it is kept in."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _get_feature_names, check_is_fitted

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates import Certificate
from cotas.certificates.binding import contradictions
from cotas.certificates.certificate import CHANGED, NOT_IN_BLOCKS, checked_at_once
from cotas.certificates.presentation import against_the_rest
from cotas.certificates.verification import (
    UNCHECKED,
    as_meant,
    in_the_other_layout,
    read_labels,
    read_rows,
)
from cotas.files.models import save
from cotas.files.state import digest
from cotas.fitting.from_source import nameless, of_source
from cotas.fitting.parameters import check_parameters
from cotas.source import MatrixLike, Source
from cotas.stops import InterruptedWarning, Reason, Stop
from cotas.words import in_one, say, spoken

# What no prediction depends on: how the fit went, and what a next one would go on from.
NOT_PREDICTING = frozenset(
    (
        "_certificates",
        "_seal",
        "n_iter_",
        "_stop",
        "_stop_reason",
        "_history",
        "_ends",
        "_memory",
    )
)
# How what scikit-learn itself keeps on an estimator begins: routing, output, callbacks.
OF_SCIKIT_LEARN = ("_metadata_request", "_skl", "_callback_fit", "_parent_callback")

OF_ROUNDING = (
    "More iterations would not help: double precision keeps 16 digits of each number, and on "
    "these data their rounding is as large as the gap that is left. Rescale the features, for "
    "example with scikit-learn's StandardScaler, or raise tol."
)
INTERRUPTED = "Interrupted: this is the best model so far, and its certificate is about it."


def outside() -> int:
    """Return the `stacklevel` at which a warning names the line outside of this package.

    Scikit-learn stands between its methods and who calls them.
    """
    frame, level = sys._getframe(1), 1
    inside = ("cotas.", "sklearn.")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(inside):
        frame, level = frame.f_back, level + 1
    return level


def shortfall(gap: float, tol: float, reason: Reason, advice: str) -> str:
    """Return the warning of a fit that could not prove what was asked for.

    Who ended the fit, by a callback or Ctrl-C, need not be told how to make it longer.
    """
    found = say(
        "The relative gap proved is {gap:.2g}, and tol={tol:g} was asked for ({reason}).",
        gap=gap,
        tol=tol,
        reason=str(reason),
    )
    if reason.stop in (Stop.CALLBACK, Stop.INTERRUPTED):
        return found
    advice = say(OF_ROUNDING if reason.stop is Stop.ROUNDING else advice)
    return in_one([found, advice])


def same_region(kept: Any, again: Any) -> bool:
    """Tell whether two regions are the same up to the order of sums, or the one kept is larger."""
    if type(kept) is type(again) and hasattr(kept, "covers"):
        return bool(kept.covers(again, 1e-9))
    return type(kept) is type(again) and all(
        np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=False)
        for a, b in zip(_numbers(kept), _numbers(again), strict=True)
    )


def _numbers(region: Any) -> list[Any]:
    return [np.zeros(0) if value is None else value for value in vars(region).values()]


@functools.cache
def _not_predicting(kind: Any, but: tuple[str, ...]) -> frozenset[str]:
    """Name what no prediction of a class depends on: its parameters, which take a while to find."""
    return NOT_PREDICTING | (frozenset(kind._get_param_names()) - {*but})


class Certified:
    """A mixin for estimators whose fit leaves certificates about the model as it is now."""

    _certificates: list[Any]
    _stop: str  # the name of a `Stop`
    _stop_reason: str
    _seal: str  # the digest of all that predicts, when the certificates were made
    _parameters_that_predict: ClassVar[tuple[str, ...]] = ()

    def _measured_certificates(self) -> list[Certificate]:
        """Return one for each class or target, about the parameters as they are now."""
        raise NotImplementedError

    def _binary_scores(self, X: MatrixLike) -> FloatArray:
        """Return what the model computes of each row, one column for each certificate or class."""
        raise NotImplementedError

    def _of_source(self, source: Any, method: str) -> Any:
        """Return what a method returns for each row of a source of row blocks."""
        check_is_fitted(self)
        return of_source(self, source, method)

    def _in_numbers(self, X: Any) -> Any:
        """Compute X with numbers in the place of the categories that the model knows."""
        return X

    def _foreign_rows(self, X: Matrix) -> bool:
        """Tell whether the model keeps rows that are not those of X."""
        return False

    def _check_parameters(self) -> None:
        """Raise where a parameter cannot be what it is."""
        check_parameters(self)

    # ---- why the fit ended ---------------------------------------------------------------------

    @property
    def stop_(self) -> Stop:
        """Return why the fit ended; `stop_reason_` says it in words."""
        check_is_fitted(self)
        return Stop[self._stop]

    @property
    def stop_reason_(self) -> str:
        """Say in words why the fit ended."""
        check_is_fitted(self)
        return spoken(self._stop_reason)

    def _conclude_fit(self, reason: Reason, advice: str | None = None) -> Self:
        """Keep why the fit ended, warn of what was not reached, and bind the certificates.

        `advice` is for a fit that has not proved its `tol`; without it `tol` is not asked for.
        """
        self._stop, self._stop_reason = reason.stop.name, reason.words or reason.stop.value
        if reason.stop is Stop.INTERRUPTED:
            warnings.warn(say(INTERRUPTED), InterruptedWarning, stacklevel=outside())
        gaps = [c.relative_gap for c in self._certificates if c.kind != "none"]
        tol = None if advice is None else getattr(self, "tol", None)
        if tol is not None and gaps and not max(gaps) <= tol:
            warnings.warn(
                shortfall(max(gaps), tol, reason, str(advice)),
                ConvergenceWarning,
                stacklevel=outside(),
            )
        return self._sealed()

    # ---- what binds the certificates to the model ----------------------------------------------

    def _sealed(self) -> Self:
        """Bind the certificates to all that the model predicts with; the end of every fit."""
        self._seal = self._state()
        return self

    def _state(self) -> str:
        """Return the digest of all that predicts, as it is now."""
        kind: Any = type(self)
        left_out = _not_predicting(kind, self._parameters_that_predict)
        return digest(
            {
                name: value
                for name, value in vars(self).items()
                if name not in left_out and not name.startswith(OF_SCIKIT_LEARN)
            }
        )

    def _current_certificates(self) -> list[Certificate]:
        """Return one for each class or target; none holds if anything that predicts was changed."""
        if not hasattr(self, "_certificates"):
            check_is_fitted(self)
        state, found = self._state(), self._measured_or_withdrawn()
        if state != getattr(self, "_seal", None):
            return [certificate.withdrawn(CHANGED) for certificate in found]
        return self._bound(found, state)

    def _measured_or_withdrawn(self) -> list[Certificate]:
        """Return the certificates as they are now; as they were, where they cannot be
        measured."""
        try:
            return self._measured_certificates()
        except (ValueError, TypeError, LookupError, AttributeError):
            # The parameters are not even of the sizes that they had.
            return [certificate.withdrawn(CHANGED) for certificate in self._certificates]

    def _bound(self, certificates: list[Certificate], state: str) -> list[Certificate]:
        """Return the certificates; `verify` of the first looks at what the model predicts, too."""
        first, *others = certificates
        return [replace(first, predictor=FittedPredictor(self, state)), *others]

    def _proved_again(self, X: Any, y: Any) -> Certificate:
        """Prove the model as it is, whatever it was, from the witnesses and X, y.

        They may come in any form that `fit` takes.
        """
        check_is_fitted(self)
        X, kept = self._in_numbers(X), self._measured_or_withdrawn()
        in_blocks = isinstance(X, Source)
        rows, labels = (X, y) if in_blocks else (read_rows(X), read_labels(y))
        at_once = checked_at_once([certificate.witness for certificate in kept], rows)
        fresh = [
            found or _checked_again(certificate, rows, labels)
            for certificate, found in zip(kept, at_once, strict=True)
        ]
        witnesses = [c.witness for c in fresh]
        meant = y if in_blocks else as_meant(labels, witnesses[0])
        found = self._contradictions(witnesses, X, meant)
        fresh = [c.withdrawn(found[0]) if found else c for c in fresh]
        return self._together(self._bound(fresh, self._state()))

    def _contradictions(self, witnesses: Sequence[Any], X: Any, y: Any) -> list[str]:
        """Say where the model predicts other than the witnesses say; X may come without names."""
        names = getattr(self, "feature_names_in_", None)
        in_blocks = isinstance(X, Source)
        given = X.feature_names if in_blocks else _get_feature_names(X)
        if names is not None and given is not None and not np.array_equal(names, given):
            return ["The columns of X have other names than the model knows."]
        X = X if in_blocks else read_rows(X)
        return contradictions(nameless(self), witnesses, X, y) or self._false_regions(X, y)

    def _knows_regions(self) -> bool:
        """Tell whether it is known where an optimum lies, for the models that keep that."""
        regions = getattr(self, "_regions", None)
        return regions is None or any(region is not None for region in regions)

    def _false_regions(self, X: Matrix, y: AnyArray) -> list[str]:
        """Say whether what is kept of where an optimum lies is not what the certificates prove."""
        if self._proves_regions(X, y):
            return []
        other = None if isinstance(X, Source) else in_the_other_layout(X)
        if other is not None and self._proves_regions(other, y):
            return []
        return [say("The region that certified predictions rest on is not the one proved.")]

    def _proves_regions(self, X: Matrix, y: AnyArray) -> bool:
        pairs = zip(getattr(self, "_regions", []), self._certificates, strict=False)
        for kept, certificate in pairs:
            try:
                again = None if kept is None else self._region_again(certificate, X, y)
            except UNCHECKED:
                again = None  # the witness is not about these data
            if kept is not None and (again is None or not same_region(kept, again)):
                return False
        return True

    def _region_again(self, certificate: Certificate, X: Matrix, y: AnyArray) -> Any:
        """Compute the region that follows from the bounds of a certificate, from the data."""
        raise NotImplementedError

    @property
    def certificate_(self) -> Certificate:
        """Return the certificate of the model as it is now.

        With several classes or targets it is a composite: `certificate_.parts` has one for each.
        If anything that it predicts with was changed after the fit, it no longer holds.
        """
        return self._together(self._current_certificates())

    def _together(self, parts: list[Certificate]) -> Certificate:
        if len(parts) == 1:
            return parts[0]
        names = self._part_names(len(parts))
        if len(names) != len(parts):  # the model was changed, and does not know them any more
            names = [say("part {k}", k=k) for k in range(len(parts))]
        return Certificate.of_parts(parts, names)

    def _part_names(self, count: int) -> list[str]:
        """Return what each certificate is about, where there are several."""
        if hasattr(self, "classes_"):
            return [against_the_rest(label) for label in self.classes_]
        return [say("target {column}", column=k) for k in range(count)]

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        data: tuple[Any, Any] | None = None,
        preparation: Any = None,
        witness: bool = True,
    ) -> None:
        """Store the fitted model and its certificate in a file; `cotas.load(path)` reads it.

        There is no pickle and no code in the file, and it is written whole or not at all.

        Parameters
        ----------
        path : str or path
            By custom with the ending `.cotas`.
        data : (X, y), optional
            The training data, of which a fingerprint is stored.
        preparation : optional
            What turns raw data into the rows that the model expects, an object of cotas.
        witness : bool, default=True
            Whether to store what proves the certificates, about one number for each training row
            and class. Without it the file is small, and nothing can be verified.
        """
        save(self, path, data=data, preparation=preparation, witness=witness)


def _checked_again(certificate: Certificate, X: Any, y: AnyArray) -> Certificate:
    """Return what the witness proves now; one that was tampered with proves nothing."""
    if certificate.witness is None:
        return certificate
    if isinstance(X, Source) and not getattr(certificate.witness, "takes_blocks", False):
        return certificate.withdrawn(NOT_IN_BLOCKS)
    try:
        meant = y if isinstance(X, Source) else as_meant(y, certificate.witness)
        return certificate.witness.check(X, meant)
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        return certificate.withdrawn(
            say("The witness cannot be checked: {error}", error=str(error))
        )


@dataclass(frozen=True)
class FittedPredictor:
    """The model that handed out certificates, and its digest at that time.

    Who keeps a certificate while the model is changed or fitted again has one of what it was.
    """

    model: Certified
    state: str

    def contradictions(self, witness: Any, X: Matrix, y: AnyArray) -> list[str]:
        """Tell where it predicts other than its witnesses say, of which this is the first."""
        if self.model._state() != self.state:
            return []
        others = self.model._measured_or_withdrawn()[1:]
        witnesses = [witness, *(certificate.witness for certificate in others)]
        return self.model._contradictions(witnesses, X, y)
