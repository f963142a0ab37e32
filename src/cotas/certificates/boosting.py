"""What a boosted classifier proves of itself: its training error is below its loss.

The functions f₁, f₂, … are evaluated here from their arrays, the weights of each round follow from
them, and every number of the certificate is a sum over the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.round_weights import RoundWeights
from cotas.certificates.sweep import (
    EPS,
    GOLDEN_RATIO,
    SQUARE_ROOT_OF_TWO,
    Block,
    Sketch,
    Sweep,
    Tally,
    sketch_weights,
)
from cotas.certificates.weak_learners import Learners, StumpClass
from cotas.losses import Loss

SCHAPIRE = "Theorem 1.1.5 and Corollary 1 of document 001 (Freund and Schapire 1997, Theorem 6)"
SURROGATE = "document 001, section 1.1: the cost bounds the step function ⟦yF ≤ 0⟧ from above"
NOT_ABOUT_NEW_DATA = "It is about the training data; it says nothing about new data."
MARGINS = (0.0, 0.1, 0.25, 0.5)
LONG_BLOCK_BYTES, LONG_BLOCK_ROWS = 1 << 24, 1 << 14
MISSING = 0.7548776662466927  # stands for a missing value in a sketch


@dataclass(frozen=True)
class Combination:
    """F = Σ cₘ fₘ as it grew: in round m, F ← shrinkₘ·F + stepₘ·fₘ."""

    learners: Learners
    steps: FloatArray
    shrinks: FloatArray

    def coefficients(self) -> FloatArray:
        """cₘ, what is left of each step at the end."""
        later = np.append(np.cumprod(self.shrinks[::-1])[::-1][1:], 1.0)
        return np.asarray(self.steps * later)

    def same_as(self, other: Combination) -> bool:
        return (
            np.array_equal(self.steps, other.steps)
            and np.array_equal(self.shrinks, other.shrinks)
            and self.learners.same_as(other.learners)
        )

    def prefix(self, k: int) -> Combination:
        return Combination(self.learners.prefix(k), self.steps[:k], self.shrinks[:k])

    def to_dict(self) -> dict[str, Any]:
        return {
            "learners": self.learners.to_dict(),
            "steps": self.steps.tolist(),
            "shrinks": self.shrinks.tolist(),
        }


@dataclass(frozen=True, kw_only=True)
class CombinationWitness:
    """A combination of functions, the class it calls +1, and the weights of the examples."""

    combination: Combination
    positive: Any
    weights: FloatArray | None = None

    @property
    def coef(self) -> FloatArray:
        return self.combination.coefficients()

    @property
    def intercept(self) -> float:
        return 0.0

    def about(self, coef: FloatArray, intercept: float) -> CombinationWitness:
        steps = np.asarray(coef, dtype=np.float64)
        changed = Combination(self.combination.learners, steps, np.ones_like(steps))
        return replace(self, combination=changed)

    def to_dict(self) -> dict[str, Any]:
        weights = None if self.weights is None else self.weights.tolist()
        return {**self.combination.to_dict(), "positive": str(self.positive), "weights": weights}

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        raise NotImplementedError

    def prefix(self, k: int) -> Self:
        """The witness of the model after k rounds."""
        return replace(self, combination=self.combination.prefix(k))

    def of_mixed_data(self) -> Self:
        """The same without what only holds if all rounds were made on these data."""
        return self

    def normalised(self, n: int) -> FloatArray:
        """The weights sᵢ, which sum to one."""
        if self.weights is None:
            return np.full(n, 1.0 / n)
        if len(self.weights) != n:
            raise ValueError(f"The certificate is about {len(self.weights)} rows, not {n}.")
        return np.asarray(self.weights / self.weights.sum())


@dataclass(frozen=True, kw_only=True)
class BoostingLedger(CombinationWitness):
    """The run of AdaBoost, RealAdaBoost, GentleBoost or LogitBoost with two classes.

    `cost` bounds ⟦yF ≤ 0⟧ from above once multiplied by `factor`. For the exponential cost
    `log_losses` are ln J(F) before each round and after the last; they only set the scale of the
    weights, so that none overflows.
    `discrete` says that every f is ±1, `closed_form` that every step is ½ ln((1−err)/err), and
    `bounded` that |f| ≤ 1. `errors` are the weighted errors that a library reports of its run.
    """

    cost: Loss
    log_losses: FloatArray | None = None
    factor: float = 1.0
    scale: float = 1.0  # the cost is of scale·yF
    discrete: bool = False
    closed_form: bool = False
    bounded: bool = False
    errors: FloatArray | None = None
    stumps: StumpClass | None = None

    def prefix(self, k: int) -> Self:
        kept = None if self.log_losses is None else self.log_losses[: k + 1]
        errors = None if self.errors is None else self.errors[:k]
        return replace(super().prefix(k), log_losses=kept, errors=errors)

    def of_mixed_data(self) -> Self:
        return replace(self, closed_form=False)

    def check(self, X: Matrix, y: AnyArray, each: Each = map) -> Certificate:
        survey = _survey(self, X, y, each)
        edge = math.inf
        mass = float(np.abs(survey.final).sum())
        if self.stumps is not None and self.discrete and 0 < mass < math.inf:
            edge = self.stumps.largest_edge(X, survey.final / mass, each)
        return _conclude(self, survey, edge)


class LongSweep(Sweep):
    """Longer blocks: each is read many times, once for every function of the combination.

    On the way the rows are multiplied by the weights of the sketch.
    """

    def __init__(self, X: Matrix, y: AnyArray, positives: Sequence[Any]) -> None:
        super().__init__(X, y, positives, sketch_weights(0, np.shape(X)[1], GOLDEN_RATIO)[:, None])

    def _spans(self) -> list[slice]:
        n, d = self.X.shape
        rows = int(np.clip(LONG_BLOCK_BYTES // (8 * max(1, d)), 1, LONG_BLOCK_ROWS))
        return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]


@dataclass
class Survey:
    """What one pass over the data finds."""

    tally: Tally
    sketch: Sketch
    final: FloatArray = field(repr=False)  # yᵢwᵢ after the last round


def _survey(ledger: BoostingLedger, X: Matrix, y: AnyArray, each: Each) -> Survey:
    n, d = np.shape(X)
    s = ledger.normalised(n)
    sweep = LongSweep(X, y, [ledger.positive])
    final = np.empty(n)
    plain = ledger.discrete and bool((ledger.combination.shrinks == 1.0).all())
    follow = _signed_rounds if plain else _rounds
    size = float(np.abs(ledger.combination.coefficients()).sum()) or 1.0

    def read(block: Block) -> Tally:
        rows, signs = block.rows, block.signs[:, 0]
        # Weights that overflow are found out by their sum.
        with np.errstate(over="ignore", invalid="ignore"):
            found = follow(ledger, rows, signs, s[block.span])
        margins, final[block.span] = found.pop("margins"), found.pop("final")
        used = s[block.span] > 0
        below = margins[:, None] <= size * np.array(MARGINS)
        cost = ledger.cost.value(ledger.scale * margins)
        return {
            **found,
            **sketch_block(rows, signs, block.span, block.products[:, 0]),
            "sum below": s[block.span] @ below,
            "sum cost": s[block.span] @ np.where(used, cost, 0.0),
            "min margin": margins[used].min(initial=np.inf) / size,
        }

    tally = sweep.tally(read, each)
    return Survey(tally, read_sketch(tally, n, d), final)


def _rounds(ledger: BoostingLedger, rows: Matrix, y: FloatArray, s: FloatArray) -> Tally:
    """The rounds again on some rows: the margins yF, and how large the functions are."""
    combination = ledger.combination
    margins, smallest, largest = np.zeros(len(y)), np.inf, 0.0
    weights = None if ledger.log_losses is None else RoundWeights(ledger.log_losses, s)
    for m, f in enumerate(combination.learners.values(rows)):
        least, most = combination.learners.sizes(m, f)
        smallest, largest = min(smallest, least), max(largest, most)
        agreement = y * f
        if combination.shrinks[m] != 1.0:
            margins *= combination.shrinks[m]
        margins += combination.steps[m] * agreement
        if weights is not None:
            weights.advance(m, agreement < 0, margins)
    return _found(smallest, largest, margins, weights, y)


def _signed_rounds(ledger: BoostingLedger, rows: Matrix, y: FloatArray, s: FloatArray) -> Tally:
    """The same if every f is ±1, which its sizes must confirm."""
    learners, steps = ledger.combination.learners, ledger.combination.steps
    margins, smallest, largest = np.zeros(len(y)), np.inf, 0.0
    weights = None if ledger.log_losses is None else RoundWeights(ledger.log_losses, s)
    negative = y < 0
    for m, (positive, (least, most)) in enumerate(learners.signs(rows)):
        smallest, largest = min(smallest, least), max(largest, most)
        wrong = positive == negative
        margins += np.where(wrong, -steps[m], steps[m])
        if weights is not None:
            weights.advance_signs(m, wrong, steps[m], margins)
    return _found(smallest, largest, margins, weights, y)


def _found(
    smallest: float,
    largest: float,
    margins: FloatArray,
    weights: RoundWeights | None,
    y: FloatArray,
) -> Tally:
    found = {"max size": largest, "min size": smallest, "margins": margins}
    if weights is None:
        return found | {"final": np.zeros(len(y))}
    return found | weights.tally() | {"final": y * weights.w}


def _fill(rows: Matrix) -> Matrix:
    if not sparse.issparse(rows):
        return np.where(np.isnan(rows), MISSING, rows)
    filled = rows.copy()
    filled.data[np.isnan(filled.data)] = MISSING
    return filled


def sketch_block(
    rows: Matrix, signs: FloatArray, span: slice, projected: FloatArray | None = None
) -> Tally:
    """What a block adds to the sketch of the data; a missing value counts as a fixed number.

    `projected` are the rows times the weights of the sketch, if they are known.
    """
    weights = sketch_weights(0, rows.shape[1], GOLDEN_RATIO)
    if projected is None:
        projected = rows @ weights
    if np.isnan(projected).any():
        projected = _fill(rows) @ weights
    row_weights = sketch_weights(span.start, span.stop, SQUARE_ROOT_OF_TWO)
    return {
        "sum entries": row_weights @ projected,
        "sum labels": row_weights @ signs,
        "sum scale": row_weights @ np.abs(projected),
    }


def read_sketch(tally: Tally, n: int, d: int) -> Sketch:
    """The sketch that the blocks add up to."""
    parts = (float(tally[f"sum {name}"]) for name in ("entries", "labels", "scale"))
    return Sketch(n, d, *parts)


def _errors(survey: Survey) -> FloatArray:
    """errₘ, the weighted error of each fₘ."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(survey.tally["sum wrong"] / survey.tally["sum weights"][:-1])


def _after(survey: Survey) -> FloatArray:
    """The weighted error of each fₘ after its round."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(survey.tally["sum wrong after"] / survey.tally["sum weights"][1:])


def _conclude(ledger: BoostingLedger, survey: Survey, edge: float) -> Certificate:
    tally, k = survey.tally, len(ledger.combination.steps)
    error, loss = float(tally["sum below"][0]), ledger.factor * float(tally["sum cost"])
    figures = {"rounds": float(k)}
    if k:
        figures["largest |f|"] = float(tally["max size"])
    if ledger.discrete:
        figures |= _discrete_figures(survey)
    if math.isfinite(edge):
        figures["largest edge of a stump at the last weights"] = edge
    objection = _objection(ledger, survey, edge)
    rounding = 1e-9 * (1.0 + loss) if math.isfinite(loss) else 0.0
    if not objection and error > loss + rounding:
        objection = "The training error is above its bound."
    remarks = [NOT_ABOUT_NEW_DATA]
    if math.isfinite(edge):
        remarks.insert(
            0,
            "The largest margin that any combination of these stumps can reach lies between the "
            "smallest margin and the largest edge above.",
        )
    name = "Π 2√(err(1−err))" if ledger.closed_form else f"the mean {ledger.cost.name} cost"
    return conclude(
        kind="training error",
        lower=error,
        upper=loss if math.isfinite(loss) else 1.0,  # no error is larger
        objection=objection,
        vacuous=loss >= 1.0,
        statement=f"The training error is {error:.6g}; {name} allows at most {loss:.6g}.",
        reference=SCHAPIRE if ledger.discrete else SURROGATE,
        figures=figures,
        remarks=tuple(remarks),
        charge=rounding,
        witness=ledger,
        sketch=survey.sketch,
    )


def _discrete_figures(survey: Survey) -> dict[str, float]:
    """Corollary 1, and the distribution of the margins."""
    tally, figures = survey.tally, {}
    if len(tally["sum wrong"]):
        figures["largest |err − ½| after a round"] = float(np.abs(_after(survey) - 0.5).max())
        figures["smallest |err − ½| of a learner"] = float(np.abs(_errors(survey) - 0.5).min())
    figures["smallest margin yF/Σ|c|"] = float(tally["min margin"])
    for margin, share in zip(MARGINS[1:], tally["sum below"][1:], strict=True):
        figures[f"share of margins ≤ {margin:g}"] = float(share)
    return figures


def _objection(ledger: BoostingLedger, survey: Survey, edge: float) -> str:
    """What contradicts the theory, or nothing."""
    tally = survey.tally
    k = len(ledger.combination.steps)
    weights = tally.get("sum weights", np.ones(1))
    if not (np.isfinite(tally["sum cost"]) and (weights > 0).all() and np.isfinite(weights).all()):
        return "The loss of the model is not a number above zero, or not of the size it claims."
    if ledger.discrete and k and not tally["min size"] == tally["max size"] == 1.0:
        return "A function of the combination is not ±1."
    if ledger.bounded and k and tally["max size"] > 1 + 64 * EPS:
        return "A function of the combination exceeds 1."
    if ledger.closed_form and k:
        # A perfect learner has error 0 before and after; it can only be the last.
        regular = _errors(survey) > 1e-12
        if not regular[:-1].all() or (np.abs(_after(survey) - 0.5)[regular] > 1e-6).any():
            return "Corollary 1 fails: the weighted error after a round is not ½."
    if ledger.errors is not None and not np.allclose(_errors(survey), ledger.errors, 0, 1e-6):
        return "The weighted errors reported of the run are not those on these data."
    if math.isfinite(edge) and tally["min margin"] > edge * (1 + 1e-9) + 1e-12:
        return "The smallest margin exceeds the largest edge, against the minimax theorem."
    return ""
