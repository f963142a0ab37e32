"""The ledger of an online run, and the pass over the data that rebuilds the model from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate
from cotas.certificates.sweep import EPS, Block, Facts, Sweep, Tally, gather_facts


@dataclass(frozen=True)
class Ledger:
    """How much each example moved the model: θ = θ⁰ + Σ updatesᵢ yᵢ zᵢ.

    Attributes
    ----------
    coef, intercept : the model that is certified
    positive : the label that counts as +1; every other label counts as −1
    bias : 1.0 if θ₀ was trained, 0.0 if not
    updates : for each example, the sum of its steps in multiples of yᵢzᵢ
    mistakes, presentations : of the whole run
    weights : of the examples (0 for examples kept out of the training), or None
    last : (θ, θ₀) at the end of the run, where the model is the average over the run
    averaged_updates : the ledger of that average
    start : (θ, θ₀) at the beginning of the run, where it did not begin at zero
    averaged_start : what the average holds of the time before the run
    separator : the vector u of the bound, where it is not the model itself
    """

    coef: FloatArray
    intercept: float
    positive: Any
    bias: float
    updates: AnyArray = field(repr=False)
    mistakes: int
    presentations: int
    weights: FloatArray | None = field(default=None, repr=False)
    last: FloatArray | None = field(default=None, repr=False)
    averaged_updates: AnyArray | None = field(default=None, repr=False)
    start: FloatArray | None = field(default=None, repr=False)
    averaged_start: FloatArray | None = field(default=None, repr=False)
    separator: FloatArray | None = field(default=None, repr=False)

    @property
    def precision(self) -> float:
        """The relative precision of the entries of the ledger; counts are exact."""
        return EPS

    # Whether the theorem is about the rows times their weights.
    scales_rows: ClassVar[bool] = False

    @classmethod
    def check_all(
        cls,
        ledgers: Sequence[Self],
        X: Matrix,
        y: AnyArray,
        facts: Facts | None = None,
        each: Each = map,
    ) -> list[Certificate]:
        """The certificates of several classes of one fit, in one pass over the data.

        `facts` are those of the same data, if they have been gathered already.
        """
        survey = cls.survey_type()(ledgers, X, y, facts, each)
        return [ledger.conclude(survey, c) for c, ledger in enumerate(ledgers)]

    @classmethod
    def survey_type(cls) -> type[Survey]:
        """What reads the data for the theorem at hand."""
        raise NotImplementedError

    def conclude(self, survey: Any, c: int) -> Certificate:
        """What follows from the survey for class c, which is the one of this ledger."""
        raise NotImplementedError

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        """The certificate of this ledger, recomputed from the data."""
        return self.check_all([self], X, y)[0]

    def about(self, coef: FloatArray, intercept: float) -> Self:
        """The same ledger, said to belong to other parameters."""
        return replace(self, coef=np.array(coef), intercept=float(intercept))

    def to_dict(self) -> dict[str, Any]:
        """The ledger in plain Python types."""
        return plain_fields(self)

    @property
    def vector(self) -> FloatArray:
        """The model as one extended vector (θ, θ₀)."""
        return np.append(self.coef, self.intercept)

    @property
    def direction(self) -> FloatArray:
        """The vector u of the bound."""
        return self.vector if self.separator is None else self.separator

    @property
    def origin(self) -> FloatArray:
        """Where the run began."""
        return np.zeros(len(self.coef) + 1) if self.start is None else self.start


def plain_fields(witness: Any) -> dict[str, Any]:
    """The fields of a witness in plain Python types, ready for JSON."""
    values = {f.name: getattr(witness, f.name) for f in fields(witness)}
    return {
        name: value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        for name, value in values.items()
    }


class Survey:
    """What one pass over the data tells about the ledgers of all classes of one fit."""

    def __init__(
        self,
        ledgers: Sequence[Ledger],
        X: Matrix,
        y: AnyArray,
        facts: Facts | None,
        each: Each,
    ) -> None:
        first = ledgers[0]
        positives = [ledger.positive for ledger in ledgers]
        self.ledgers = ledgers
        self.bias = first.bias
        self.directions = self.choose_directions()
        self.sweep = Sweep(X, y, positives, self.directions[:-1])
        if self.sweep.X.shape[0] != len(first.updates):
            raise ValueError(
                f"X has {self.sweep.X.shape[0]} rows; the certificate is about "
                f"{len(first.updates)}."
            )
        self.facts = facts or gather_facts(
            X,
            y,
            positives,
            bias=first.bias,
            weights=first.weights,
            scaled=first.scales_rows,
            each=each,
        )
        self.prepare()
        self.found = self.sweep.tally(self._read_ledgers, each)
        self.sketches = self.facts.sketches
        self.n_used = int(self.found["sum used"])
        self.radius = self.facts.longest

    def choose_directions(self) -> FloatArray:
        """The vectors u of the bound, one column for each class."""
        return np.stack([ledger.direction for ledger in self.ledgers], axis=1)

    def prepare(self) -> None:
        """What has to be known before the pass."""

    def read(self, block: Block, weights: FloatArray | None) -> Tally:
        """What the theorem at hand needs from these rows."""
        raise NotImplementedError

    def _read_ledgers(self, block: Block) -> Tally:
        first = self.ledgers[0]
        weights = None if first.weights is None else first.weights[block.span]
        used = len(block.signs) if weights is None else np.count_nonzero(weights)
        factors = 1.0 if weights is None or not first.scales_rows else weights
        updates = _columns([ledger.updates for ledger in self.ledgers], block.span)
        found = {
            "sum used": used,
            "sum updates": updates.sum(axis=0),
            "sum rebuilt": self._rebuilt(block, updates, factors),
        }
        if first.averaged_updates is not None:
            averaged = _columns([ledger.averaged_updates for ledger in self.ledgers], block.span)
            found["sum rebuilt average"] = self._rebuilt(block, averaged, factors)
        return {**found, **self.read(block, weights)}

    def _rebuilt(
        self, block: Block, updates: FloatArray, factors: FloatArray | float
    ) -> FloatArray:
        """Σ updatesᵢ yᵢ zᵢ over the block."""
        steps = block.signs * updates * np.reshape(factors, (-1, 1))
        return np.vstack([block.combine(steps), self.bias * steps.sum(axis=0)])

    def agreements(self, block: Block) -> FloatArray:
        """yᵢ u·(xᵢ, bias)"""
        return np.asarray(block.signs * (block.products + self.bias * self.directions[-1]))

    def passes(self, c: int) -> int:
        """How often an example was presented at the most: an epoch begun counts as a whole one."""
        return max(1, -(-self.ledgers[c].presentations // max(1, self.n_used)))

    def objection(self, c: int) -> str:
        """Why the ledger does not give back the model, or nothing if it does."""
        ledger = self.ledgers[c]
        end = ledger.vector if ledger.last is None else ledger.last
        missed = np.linalg.norm(ledger.origin + self.found["sum rebuilt"][:, c] - end)
        if not missed <= self._slack(c, ledger.precision):
            return "The ledger of the run does not give back the model from these data."
        if ledger.last is None or ledger.averaged_updates is None:
            return ""
        before = ledger.origin if ledger.averaged_start is None else ledger.averaged_start
        missed = np.linalg.norm(before + self.found["sum rebuilt average"][:, c] - ledger.vector)
        if not missed <= self._slack(c, float(np.finfo(ledger.averaged_updates.dtype).eps)):
            return "The model is not the average of the run on these data."
        return ""

    def _slack(self, c: int, precision: float) -> float:
        """What rounding can do to a sum as long as the run, its entries known to `precision`."""
        ledger = self.ledgers[c]
        relative = 8 * precision * (1 + self.passes(c)) + EPS * (64 + ledger.mistakes)
        way = self.radius * float(self.found["sum updates"][c])
        return float(relative * (way + np.linalg.norm(ledger.origin)))

    def proof_figures(self, c: int, unit: FloatArray) -> dict[str, float]:
        """The two quantities whose race proves Theorem 3.1: ‖θᵏ‖ ≤ √k·R and θᵏ·u ≥ kγ."""
        ledger = self.ledgers[c]
        end = ledger.vector if ledger.last is None else ledger.last
        return {"‖θ‖ at the end": float(np.linalg.norm(end)), "θ·u at the end": float(end @ unit)}


def _columns(ledgers: Sequence[AnyArray | None], span: slice) -> FloatArray:
    """One column for each class, in double precision."""
    return np.stack([np.asarray(u[span], dtype=np.float64) for u in ledgers if u is not None], 1)
