"""What AdaBoost with several classes (SAMME) proves of itself.

In round m a learner names a class for each row, which then has αₘ ≥ 0 more votes. Let μ be the
votes for the right class less those for the best of the others. A mistake has μ ≤ 0, so for every
θ ≥ 0

    training error  ≤  Σ sᵢ exp(−θμᵢ).

The checker counts the votes on the data and takes the θ in [0, ½] with the smallest right side.
With θ = ½ and two classes it is AdaBoost's bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.boosting import (
    NOT_ABOUT_NEW_DATA,
    LongSweep,
    read_sketch,
    sketch_block,
)
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.class_combinations import ClassCombinations
from cotas.certificates.round_weights import RoundWeights
from cotas.certificates.sweep import Block, Tally
from cotas.certificates.weak_learners import PlainTrees

REFERENCE = "docs/theory/boosting.md, SAMME (Zhu, Zou, Rosset and Hastie 2009, Algorithm 2)"
HALVINGS = 24  # of the interval that holds the best θ


@dataclass(frozen=True, kw_only=True)
class SammeLedger(ClassCombinations):
    """F_k = Σ cₘfₘₖ for each class k, where fₘₖ is +1 where round m names k and −1 elsewhere.

    `log_losses` are ln Σ sᵢ exp(−F of the right class) before each round and after the last, which
    only set the scale of the weights. `closed_form` says that cₘ = ½ ln((1−err)/err) + ½ ln(K−1).
    """

    log_losses: FloatArray
    closed_form: bool = False

    def prefix(self, k: int) -> Self:
        """The witness of the model after k rounds."""
        return replace(super().prefix(k), log_losses=self.log_losses[: k + 1])

    def of_mixed_data(self) -> Self:
        """The same without what only holds if all rounds were made on these data."""
        return replace(self, closed_form=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "combinations": [c.to_dict() for c in self.combinations],
            "classes": self.classes.tolist(),
            "weights": None if self.weights is None else self.weights.tolist(),
        }

    def check(self, X: Matrix, y: AnyArray, each: Each = map) -> Certificate:
        n, d = np.shape(X)
        s = np.full(n, 1.0 / n) if self.weights is None else self.weights / self.weights.sum()
        if len(s) != n:
            raise ValueError(f"The certificate is about {len(s)} rows, not {n}.")
        sweep = LongSweep(X, y, list(self.classes))
        margins = np.empty(n)

        def read(block: Block) -> Tally:
            with np.errstate(over="ignore", invalid="ignore"):
                found = self._count(block.rows, block.signs.argmax(axis=1), s[block.span])
            margins[block.span] = found.pop("margins")
            labels = block.signs @ np.arange(1.0, len(self.classes) + 1)
            sketch = sketch_block(block.rows, labels, block.span, block.products[:, 0])
            return {**found, **sketch}

        return self._conclude(sweep.tally(read, each), margins, s, d)

    def _count(self, rows: Matrix, own: AnyArray, s: FloatArray) -> Tally:
        """The rounds again on some rows: the margins μ, and the weights of each round."""
        at, F_own = np.arange(len(own)), np.zeros(len(own))
        votes, invalid = np.zeros((len(own), len(self.classes))), 0
        weights = RoundWeights(self.log_losses, s)
        steps = self.combinations[0].steps
        for m, named in enumerate(self._names(rows)):
            invalid += int(np.count_nonzero(named < 0))
            wrong = named != own
            votes[at, named] += 2 * steps[m]
            F_own += np.where(wrong, -steps[m], steps[m])
            weights.advance_signs(m, wrong, steps[m], F_own)
        mine = votes[at, own].copy()
        votes[at, own] = -np.inf
        margins = mine - votes.max(axis=1)
        return {"margins": margins, "sum invalid": invalid, **weights.tally()}

    def _names(self, rows: Matrix) -> Iterator[AnyArray]:
        """The place of the class that each round names on these rows; −1 where it names not one."""
        together = _one_forest([c.learners for c in self.combinations])
        if together is not None:
            yield from (f.astype(np.intp) for f in together.values(rows))
            return
        for values in zip(*(c.learners.values(rows) for c in self.combinations), strict=True):
            yield _named(np.stack(values))

    def _conclude(self, tally: Tally, margins: FloatArray, s: FloatArray, d: int) -> Certificate:
        used = s > 0
        error = float(s @ (margins <= 0))
        theta = _best_theta(margins[used], s[used])
        with np.errstate(over="ignore"):
            bound = float(s[used] @ np.exp(-theta * margins[used]))
        rounding = 1e-9 * (1 + bound) if math.isfinite(bound) else 0.0
        objection = self._objection(tally)
        if not objection and not error <= bound + rounding:
            objection = "The training error is above its bound."
        return conclude(
            kind="training error",
            lower=error,
            upper=bound if math.isfinite(bound) else 1.0,  # no error is larger
            objection=objection,
            vacuous=theta == 0.0 or bound >= 1.0,
            statement=(
                f"The training error is {error:.6g}; the mean of exp(−{theta:.4g}·margin) allows "
                f"at most {bound:.6g}."
            ),
            reference=REFERENCE,
            figures=self._figures(tally, margins[used], theta),
            remarks=(NOT_ABOUT_NEW_DATA,),
            charge=rounding,
            witness=self,
            sketch=read_sketch(tally, len(margins), d),
        )

    def _figures(self, tally: Tally, margins: FloatArray, theta: float) -> dict[str, float]:
        K, c = len(self.classes), self.combinations[0].steps
        figures = {"classes": float(K), "rounds": float(len(c)), "θ": theta}
        if len(c) == 0:
            return figures
        errors, after = _errors(tally)
        with np.errstate(divide="ignore", invalid="ignore"):
            half = float(self.log_losses[-1] + np.log(tally["sum weights"][-1]))
        figures["largest |err − (1 − 1/K)| after a round"] = float(np.abs(after - 1 + 1 / K).max())
        figures["largest err of a learner"] = float(errors.max())
        figures["multiclass exponential loss"] = _exp(half - (1 - 2 / K) * c.sum())
        figures["bound if the right class needs half of the votes"] = _exp(half)
        figures["smallest margin, as a share of all votes"] = float(margins.min() / (2 * c.sum()))
        return figures

    def _objection(self, tally: Tally) -> str:
        """What contradicts the theory, or nothing."""
        K, first = len(self.classes), self.combinations[0]
        weights = tally["sum weights"]
        if any(not np.array_equal(c.steps, first.steps) for c in self.combinations) or any(
            (c.shrinks != 1).any() for c in self.combinations
        ):
            return "The classes have different coefficients, so the model is not a vote."
        if tally["sum invalid"]:
            return "A round does not name exactly one class."
        if (first.steps < 0).any():
            return "A vote has a negative weight, which the bound does not allow."
        if not ((weights > 0).all() and np.isfinite(weights).all()):
            return "The loss of the model is not a number above zero, or not of the size it claims."
        if self.closed_form and len(first.steps):
            errors, after = _errors(tally)
            regular = errors > 1e-12  # a learner without mistakes can only be the last
            if not regular[:-1].all() or (np.abs(after - 1 + 1 / K)[regular] > 1e-6).any():
                return "The weighted error after a round is not 1 − 1/K, as the closed form has it."
        return ""


def _one_forest(learners: list[Any]) -> PlainTrees | None:
    """The trees of all the classes as trees whose leaves hold the place of the class they name.

    None if they do not share their tests; −1 in a leaf where not exactly one class has +1.
    """
    first = learners[0]
    if not (isinstance(first, PlainTrees) and all(first.same_tests(f) for f in learners)):
        return None
    return replace(first, value=_named(np.stack([f.value for f in learners])).astype(np.float64))


def _named(values: FloatArray) -> AnyArray:
    """From ±1 for each class (first index) to the place of the class with +1, or −1."""
    up = values == 1.0
    vote = (up.sum(axis=0) == 1) & (up | (values == -1.0)).all(axis=0)
    return np.where(vote, up.argmax(axis=0), -1)


def _errors(tally: Tally) -> tuple[FloatArray, FloatArray]:
    """The weighted error of each learner before and after its round."""
    with np.errstate(divide="ignore", invalid="ignore"):
        before = tally["sum wrong"] / tally["sum weights"][:-1]
        return before, tally["sum wrong after"] / tally["sum weights"][1:]


def _best_theta(margins: FloatArray, s: FloatArray) -> float:
    """Where Σ sᵢ exp(−θμᵢ), which is convex in θ, is smallest in [0, ½]."""

    def falls(theta: float) -> bool:
        exponents = -theta * margins
        return bool((s * margins) @ np.exp(exponents - exponents.max()) > 0)

    if not falls(0.0):
        return 0.0
    if falls(0.5):
        return 0.5
    low, high = 0.0, 0.5
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if falls(middle) else (low, middle)
    return low


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf
