"""Online algorithms that see the data through rows of a Gram matrix: what they share.

Instead of θ they keep Fᵢ = Σⱼ aⱼ k(xⱼ, xᵢ) for every example i, a being the sum of their updates.
An example that changes nothing then costs one comparison, and one that moves θ costs one row of
the Gram matrix and its addition to F. Rows are asked for in groups, which is one product of
matrices, and kept in a cache of bounded size.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cotas.arrays import BoolArray, FloatArray, IntArray
from cotas.loops import generic, loop
from cotas.solvers.online import Epoch, Presentation, Sampling

RowsOfGram: TypeAlias = Callable[[IntArray], FloatArray]

CHUNK = 1024  # examples shown to one class before the next class sees the same
GROUP = 32  # rows of the Gram matrix computed together


class KernelRun(NamedTuple):
    """The state that a pass over the examples changes; one row for each class trained against the
    rest."""

    signs: FloatArray  # ±1
    scores: FloatArray  # F
    counts: FloatArray  # how often each example moved θ
    bias: FloatArray  # θ₀
    seen: IntArray  # examples presented so far
    mistakes: IntArray  # presentations with y·f(x) ≤ 0
    updates: IntArray  # presentations that moved θ


def new_kernel_run(signs: FloatArray) -> KernelRun:
    """Return a run that starts at θ = 0, θ₀ = 0."""
    k = len(signs)
    zeros = [np.zeros(k, dtype=np.int64) for _ in range(3)]
    return KernelRun(signs, np.zeros_like(signs), np.zeros_like(signs), np.zeros(k), *zeros)


@generic
def walk(  # type: ignore[empty-body]
    rule: Any,
    order: IntArray,
    start: int,
    weights: FloatArray,
    place_of: IntArray,
    rows: FloatArray,
    run: KernelRun,
    c: int,
) -> int:
    """Present the examples from `start` on; stop where a row that is not at hand is needed."""


@loop
def walk_on(
    rule: Any,
    order: IntArray,
    start: int,
    weights: FloatArray,
    place_of: IntArray,
    rows: FloatArray,
    run: KernelRun,
    c: int,
) -> int:
    """Return the algorithm of the rule, compiled."""
    return walk(rule, order, start, weights, place_of, rows, run, c)  # type: ignore[no-any-return]


@loop
def add_row(scores: FloatArray, a: float, row: FloatArray) -> None:
    """Update F ← F + a·(k(xᵢ, x₁), …, k(xᵢ, xₙ))"""
    for j in range(len(scores)):
        scores[j] += a * row[j]


class RowsAtHand:
    """Rows of the Gram matrix in a ring of places: a new row takes the place of the oldest.

    Invariant: `rows[place_of[i]]` is row i wherever place_of[i] ≥ 0.
    """

    def __init__(self, compute: RowsOfGram, n: int, size: int) -> None:
        self.compute = compute
        places = int(np.clip(size // (8 * n), min(GROUP, n), n))
        self.rows = np.empty((places, n))
        self.place_of = np.full(n, -1)
        self._holds = np.full(places, -1)
        self._next = 0

    def fetch(self, wanted: IntArray) -> None:
        """Compute these rows, at most as many as there are places."""
        places = (self._next + np.arange(len(wanted))) % len(self.rows)
        old = self._holds[places]
        self.place_of[old[old >= 0]] = -1
        self.rows[places] = self.compute(wanted)
        self._holds[places], self.place_of[wanted] = wanted, places
        self._next = int((self._next + len(wanted)) % len(self.rows))


@dataclass
class KernelTraining:
    """An online algorithm (the rule) on its examples, and the run so far.

    A class rests once an epoch brought it no update, if `rest` says that nothing can happen to it
    any more.
    """

    rule: Any
    rows: RowsAtHand
    weights: FloatArray
    run: KernelRun
    sampling: Sampling
    random: np.random.RandomState
    rest: bool
    deadline: float = np.inf  # by `time.perf_counter`: then it ends, in the middle of an epoch too
    resting: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        self.resting = np.zeros(len(self.run.bias), dtype=np.bool_)

    def epochs(self, number: int) -> Iterator[Epoch]:
        """Yield up to `number` epochs; ends early when every class rests."""
        for e in range(1, number + 1):
            began = time.perf_counter()
            mistakes, updates = self.run.mistakes.copy(), self.run.updates.copy()
            for chunk in self._chunks():
                if time.perf_counter() > self.deadline:
                    return
                for c in np.flatnonzero(~self.resting):
                    self._present(chunk, int(c), 0, len(chunk))
            self._close(updates)
            seconds = time.perf_counter() - began
            yield Epoch(e, self.run.mistakes - mistakes, self.run.updates - updates, seconds)
            if self.resting.all():
                return

    def presentations(self, until: int) -> Iterator[Presentation]:
        """Yield the same run one example at a time, for so many epochs."""
        for e in range(1, until + 1):
            updates = self.run.updates.copy()
            for chunk in self._chunks():
                for c in np.flatnonzero(~self.resting):
                    for q, row in enumerate(chunk):
                        take = partial(self._present, chunk, int(c), q, q + 1)
                        yield Presentation(e, int(c), int(row), None, take)
            self._close(updates)

    def _close(self, updates: IntArray) -> None:
        """End an epoch before which there were so many updates."""
        if self.rest:
            self.resting |= self.run.updates == updates

    def _present(self, chunk: IntArray, c: int, start: int, stop: int) -> None:
        """Present the examples of the chunk from `start` to `stop`."""
        at_hand = self.rows
        while True:
            start = walk_on(
                self.rule,
                chunk[:stop],
                start,
                self.weights,
                at_hand.place_of,
                at_hand.rows,
                self.run,
                c,
            )
            if start == stop:
                return
            at_hand.fetch(self._probably_needed(chunk[start:], c))

    def _probably_needed(self, ahead: IntArray, c: int) -> IntArray:
        """Return the next example, and those after it that would move θ if nothing happened
        before."""
        run, missing = self.run, ahead[self.rows.place_of[ahead] < 0]
        scores, signs = run.scores[c, missing], run.signs[c, missing]
        moves = self.rule.moves(signs, scores, run.bias[c], int(run.seen[c]))
        moves[0] = True
        # Drawn with replacement, an example may come twice; the first must stay the first.
        wanted, first = np.unique(missing[moves], return_index=True)
        return wanted[np.argsort(first)][:GROUP]

    def _chunks(self) -> Iterator[IntArray]:
        n = self.run.signs.shape[1]
        if self.sampling == "permutation":
            order = self.random.permutation(n)
        elif self.sampling == "replacement":
            order = np.asarray(self.random.randint(0, n, size=n))
        else:
            order = np.arange(n)
        for start in range(0, n, CHUNK):
            yield order[start : start + CHUNK]
