"""What a certificate is: a claim with its two bounds, and the witness that proves it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates.presentation import as_html, as_text
from cotas.certificates.sweep import Sketch

CHANGED = "The model was changed after it was certified."


class CertificateError(RuntimeError):
    """A lower bound above its upper bound: one of the two is wrong, so there is no certificate."""


class Witness(Protocol):
    """What a proof needs besides the data. `check` is the trusted code that carries it out."""

    @property
    def coef(self) -> FloatArray: ...

    @property
    def intercept(self) -> Any: ...  # a number, or one for each class

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        """The certificate, every number of it computed from X, y and this witness."""
        ...

    def about(self, coef: FloatArray, intercept: Any) -> Witness:
        """The same witness, now said to belong to another model."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """The witness in plain Python types."""
        ...


class Predictor(Protocol):
    """The model that handed out a certificate."""

    def contradictions(self, witness: Witness | None, X: Matrix, y: AnyArray) -> list[str]:
        """In words, where it predicts other than the witness says on these rows."""
        ...


@dataclass(frozen=True)
class Certificate:
    """A statement about a fitted model, its bounds, and the witness to check it again.

    Attributes
    ----------
    kind : str
        What sort of statement this is: "duality", "gradient", "stagewise", "training error",
        "mistakes", "separation", "stationary", "hold-out" or "none".
    lower, upper : float
        The two sides. For "duality" and "gradient": the best objective lies between them, and
        `upper` is the objective of the model. For "mistakes": what was measured, and what the
        theorem allows.
        For "separation": the margin found, and the margin that no separator can exceed.
        For "stationary": zero, and how far the model is from a stationary point.
        For "hold-out": the error measured on rows held out, and the bound for future rows.
    holds : bool
        Whether the statement is true of the data and the witness.
    vacuous : bool
        Whether the bound says nothing that was not known without it.
    statement, reference : str
        The statement in words, and where it is proved.
    figures : mapping
        The numbers the statement is made of, by name.
    remarks : tuple of str
        What a reader should know besides, such as what was not proved.
    objection : str
        Why the statement does not hold, where it does not.
    rounding : float
        How much `upper` and `lower` may be off because of floating-point arithmetic.
    """

    kind: str
    lower: float
    upper: float
    holds: bool
    statement: str
    reference: str
    figures: Mapping[str, float] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    vacuous: bool = False
    objection: str = ""
    rounding: float = 0.0
    witness: Witness | None = field(default=None, repr=False)
    sketch: Sketch | None = field(default=None, repr=False)
    # The model that handed it out; it is never stored.
    predictor: Predictor | None = field(
        default=None, repr=False, compare=False, metadata={"stored": False}
    )

    def __post_init__(self) -> None:
        # Plain Python numbers, whatever the checker computed with: `holds` is True, not np.True_.
        for name in ("lower", "upper", "rounding"):
            object.__setattr__(self, name, float(getattr(self, name)))
        for name in ("holds", "vacuous"):
            object.__setattr__(self, name, bool(getattr(self, name)))

    @property
    def gap(self) -> float:
        """upper − lower; never below zero, since a difference below rounding is rounding."""
        return max(0.0, self.upper - self.lower)

    @property
    def relative_gap(self) -> float:
        """gap / max(1, |upper|)"""
        if math.isinf(self.upper):
            return math.inf
        return self.gap / max(1.0, abs(self.upper))

    def verify(self, X: Matrix, y: AnyArray) -> bool:
        """Whether everything this certificate says comes out again from the data.

        X and y are the data of the fit, in any layout, with the rows in the same order. The
        numbers are computed from them and from the witness; none is taken from the fit.
        """
        return not self.discrepancies(X, y)

    def discrepancies(self, X: Matrix, y: AnyArray) -> list[str]:
        """In words, each point in which the data contradict the certificate; empty if none."""
        if self.witness is None:
            return [f"There is nothing to verify: {self.statement}"]
        try:
            fresh = self.witness.check(X, y)
        except (CertificateError, ValueError) as error:
            return [str(error)]
        except (ArithmeticError, LookupError, TypeError) as error:
            # A witness that was tampered with can be too long, too large or of another type.
            return [f"The witness cannot be checked: {error}"]
        return [
            *self._foreign_data(fresh),
            *self._other_numbers(fresh),
            *self._other_model(X, y),
        ]

    def _other_model(self, X: Matrix, y: AnyArray) -> list[str]:
        return [] if self.predictor is None else self.predictor.contradictions(self.witness, X, y)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "predictor": None}

    def _foreign_data(self, fresh: Certificate) -> list[str]:
        if self.sketch is None or fresh.sketch is None or self.sketch.matches(fresh.sketch):
            return []
        return ["These are not the data that the certificate speaks of, or not in that order."]

    def _other_numbers(self, fresh: Certificate) -> list[str]:
        found = [] if fresh.holds else [fresh.objection]
        if not self.holds:
            found.append(f"The certificate itself says: {self.objection}")
        slack = self.rounding + fresh.rounding
        for name in ("lower", "upper"):
            claimed, computed = getattr(self, name), getattr(fresh, name)
            # Two infinities agree, and anything else next to an infinity does not.
            if claimed != computed and not abs(claimed - computed) <= slack:
                found.append(f"{name} is {computed:.9g}, and not {claimed:.9g}.")
        return found

    def about(self, coef: FloatArray, intercept: Any) -> Certificate:
        """This certificate when the model it is asked about has the given parameters.

        If they are not the ones that were certified, nothing has been proved of them: the
        certificate no longer holds, and `verify` measures the parameters it was asked about.
        """
        witness = self.witness
        if witness is None or (
            np.array_equal(witness.coef, coef) and np.array_equal(witness.intercept, intercept)
        ):
            return self
        return replace(withdrawn(self, CHANGED), witness=witness.about(coef, intercept))

    def to_dict(self, witness: bool = False) -> dict[str, Any]:
        """Everything in plain Python types, ready for JSON; the witness only on request."""
        plain: dict[str, Any] = {
            "kind": self.kind,
            "lower": float(self.lower),
            "upper": float(self.upper),
            "gap": float(self.gap),
            "relative_gap": float(self.relative_gap),
            "holds": bool(self.holds),
            "vacuous": bool(self.vacuous),
            "statement": self.statement,
            "objection": self.objection,
            "reference": self.reference,
            "figures": {name: float(value) for name, value in self.figures.items()},
            "remarks": list(self.remarks),
            "rounding": float(self.rounding),
        }
        if self.sketch is not None:
            plain["data"] = self.sketch.to_dict()
        if witness and self.witness is not None:
            plain["witness"] = self.witness.to_dict()
        return plain

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def no_certificate(reason: str, remarks: Sequence[str] = ()) -> Certificate:
    """The honest answer of an algorithm that has no bound, or of a run that spoiled it.

    >>> print(no_certificate("This algorithm has no bound."))
    Certificate: none
      This algorithm has no bound.
    """
    return Certificate(
        kind="none",
        lower=-math.inf,
        upper=math.inf,
        holds=False,
        statement=reason,
        reference="",
        remarks=tuple(remarks),
        vacuous=True,
        objection=reason,
    )


def withdrawn(certificate: Certificate, objection: str) -> Certificate:
    """The certificate when it no longer holds; what already did not keeps its own objection."""
    if not certificate.holds:
        return certificate
    return replace(certificate, holds=False, objection=objection)
