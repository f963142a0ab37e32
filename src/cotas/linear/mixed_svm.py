"""What PEGASOS does in memory with a number for each row, from blocks: θ₀ and the dual point."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray
from cotas.certificates.blocks import Signs
from cotas.fitting.from_source import SourceClasses, draw_sample
from cotas.linear.from_source import iterates_in_blocks
from cotas.problem import RegularizedRisk
from cotas.rounds import Rounds
from cotas.solvers.radix_sort import as_keys, from_keys
from cotas.solvers.semismooth_newton import FEWEST, FEWEST_BY_FEATURE
from cotas.source import Block, Changed, Source, Sums, double

T = TypeVar("T")

# A digit of what a double is made of, and how many of them are looked for: sign, exponent and 24
# bits of the fraction, a pass for each digit.
DIGIT, DIGITS = 12, 3


# ---- the best bias -----------------------------------------------------------------------------


@dataclass(frozen=True)
class CornersByDigit:
    """The weight that the corners yᵢ − θ·xᵢ have by their next digit, those before being known.

    `known` has two for each class, that below and that above the best bias, and `place` says
    which digit is next. With the first digit comes the weight of the positive examples.
    """

    thetas: FloatArray
    read: Signs
    known: AnyArray
    place: int

    def __call__(self, block: Block) -> Sums:
        signs, s = self.read(block)
        weights = np.ones(len(signs)) if s is None else s
        with np.errstate(all="ignore"):
            corners = signs - np.asarray(double(block.X) @ self.thetas.T)
        shift = np.uint64(64 - DIGIT * (self.place + 1))
        found = np.zeros((*self.known.shape, 1 << DIGIT))
        for c, column in enumerate(corners.T):
            digits = as_keys(column) >> shift
            for side, known in enumerate(self.known[:, c]):
                same = digits >> np.uint64(DIGIT) == known
                last = (digits[same] & np.uint64((1 << DIGIT) - 1)).astype(np.int64)
                found[side, c] = np.bincount(last, weights[same], 1 << DIGIT)
        positive = weights @ (signs > 0)
        return Sums(found, positive)


def best_biases(source: Source, read: Signs, thetas: FloatArray) -> FloatArray:
    """Find the θ₀ with the least mean hinge loss of each class, θ being fixed, as `best_bias` has
    it.

    The corner at which the slope changes its sign is found digit by digit, one pass for each.
    Departures: to the 24 bits of `DIGITS`; the middle of the two corners where an interval is best.
    """
    k = len(thetas)
    known, below = np.zeros((2, k), dtype=np.uint64), np.zeros((2, k))
    for place in range(DIGITS):
        weights, positive = source.map_reduce(CornersByDigit(thetas, read, known, place))
        total = below[..., None] + np.cumsum(weights, axis=2)
        for c in range(k):
            for side, target in enumerate(positive[c] * np.array([1 - 1e-12, 1 + 1e-12])):
                reached = total[side, c] > target if side else total[side, c] >= target
                digit = int(np.argmax(reached)) if reached.any() else len(reached)
                digit = min(digit, int(np.flatnonzero(weights[side, c])[-1]))
                below[side, c] = total[side, c, digit] - weights[side, c, digit]
                known[side, c] = known[side, c] << np.uint64(DIGIT) | np.uint64(digit)
    rest = np.uint64(64 - DIGIT * DIGITS)
    middle = (known << rest) + (np.uint64(1) << (rest - np.uint64(1)))
    return np.asarray(from_keys(middle.ravel()).reshape(2, k).mean(axis=0))


# ---- the dual point ----------------------------------------------------------------------------


class TimeIsUp(Exception):
    """The end of the time: there shall be no other pass."""


class Timed(Changed):
    """A source that knows how often it was gone over, and until when it may be."""

    passes, until = 0, math.inf

    def map_reduce(self, function: Callable[[Block], T], each: Each = map) -> T:
        if time.perf_counter() >= self.until:
            raise TimeIsUp
        self.passes += 1
        return super().map_reduce(function, each)


class DualPoints:
    """Dual points: α for each class against the rest, as rounds, by Newton's method on the same
    problem.

    The runs leave no number for each row behind, so there is no ledger to read α from. Any α will
    do for a proof, whatever the model: here those of the solver of `LinearSVM`.
    """

    def __init__(self, source: Source, classes: SourceClasses, problem: RegularizedRisk) -> None:
        self.source, self.classes, self.problem = Timed(source), classes, problem
        self.labels = classes.positives().tolist()
        self.gaps = [np.inf] * len(self.labels)
        self.best = [Rounds.none(source.n_features)] * len(self.labels)
        self.done = 0  # so many classes

    def improve(self, target_gap: float, passes: int, until: float) -> list[Rounds]:
        """Improve to a relative gap of `target_gap`, or about so many passes over the blocks for
        each class.

        At `until`, by `time.perf_counter`, it ends with what there is; each class has an equal
        share of the time. What is found before Ctrl-C is kept.
        """
        with suppress(TimeIsUp):
            self._improve(target_gap, passes, until)
        return self.best

    def _improve(self, target_gap: float, passes: int, until: float) -> None:
        if self.done == len(self.labels):
            return
        self.source.until = until
        fewest = max(FEWEST, FEWEST_BY_FEATURE * self.source.n_features)
        sample = draw_sample(self.source, fewest)
        for c in range(self.done, len(self.labels)):
            now = time.perf_counter()
            self.source.until = now + (until - now) / (len(self.labels) - c)
            with suppress(TimeIsUp):
                self._improve_class(c, sample, target_gap, self.source.passes + passes)
            self.done = c + 1

    def _improve_class(self, c: int, sample: Block | None, target_gap: float, last: int) -> None:
        given = (self.source, self.classes, (self.labels[c],), self.problem, sample)
        for iterate in iterates_in_blocks(*given):
            gap = np.inf if iterate.believed_gap is None else iterate.believed_gap
            if gap < self.gaps[c]:
                self.gaps[c], self.best[c] = gap, iterate.dual
            if gap <= target_gap or self.source.passes >= last:
                return
