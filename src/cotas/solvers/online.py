"""Driving an online run from Python: the order of the examples, epochs, threads, interruption.

Nothing here touches a number of the model; that happens in the loops of each algorithm. Between
two chunks of examples control comes back to Python, which is where callbacks, progress bars and
Ctrl-C live.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from cotas.arrays import BoolArray, FloatArray, IntArray
from cotas.design import n_vectors
from cotas.design.dense import Dense
from cotas.design.layout import Design
from cotas.solvers.run import NO_WEIGHTS, Average, Run, learn_classes

Sampling: TypeAlias = Literal["order", "permutation", "replacement", "all"]
Steps: TypeAlias = Callable[[IntArray], FloatArray]

# A chunk is what runs without a look at the outside world: at most this many multiplications.
CHUNK_WORK = 40_000_000
LARGEST_CHUNK = 1 << 16
# A tile is what the classes share while it is in the cache.
TILE_BYTES = 1 << 18


NO_STEPS = np.zeros(0)


@dataclass(frozen=True)
class Epoch:
    """An epoch: what happened in one pass over the training examples; one entry for each class."""

    number: int
    mistakes: IntArray
    updates: IntArray
    seconds: float


class Presentation(NamedTuple):
    """One example for one class, not yet presented: `take()` presents it."""

    epoch: int
    c: int
    row: int | None  # None stands for all of them at once
    step: float | None  # η, where the algorithm is given one
    take: Callable[[], None]


@dataclass
class Training:
    """An online algorithm (the rule) on its data, and the run so far.

    `examples` are the rows to learn from (all of them if None). A class rests once an epoch
    brought it no update, if `rest` says that nothing can happen to it any more.
    """

    rule: Any
    rows: Design
    labels: IntArray
    weights: FloatArray | None
    run: Run
    average: Average | None
    sampling: Sampling
    random: np.random.RandomState
    examples: IntArray | None = None
    steps: Steps | None = None  # None for algorithms that find their own step
    rest: bool = True
    carries: bool = False  # whether a pass carries numbers along that are not in the run
    threads: int = 1
    deadline: float = np.inf  # by `time.perf_counter`: then it ends, in the middle of an epoch too
    resting: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        self.resting = np.zeros(len(self.run.b), dtype=np.bool_)
        n = n_vectors(self.rows)
        index = np.int32 if n < 2**31 else np.int64
        self._order = None
        self.n_examples = n if self.examples is None else len(self.examples)
        if self.examples is not None or self.sampling == "permutation":
            source = np.arange(n, dtype=index) if self.examples is None else self.examples
            self._order = source.astype(index, copy=self.examples is not None)
        self._index = index
        self._weights = NO_WEIGHTS if self.weights is None else self.weights

    def epochs(self, number: int) -> Iterator[Epoch]:
        """Yield up to `number` epochs; ends early when every class rests."""
        with ThreadPoolExecutor(self.threads) as pool:
            for e in range(1, number + 1):
                epoch = self._epoch(e, pool)
                if epoch is None:
                    return
                if self.resting.all():
                    self._count_as_seen(self.resting, number - e)
                yield epoch
                if self.resting.all():
                    return

    def _count_as_seen(self, classes: BoolArray, epochs: int) -> None:
        """Count epochs that cannot change θ any more: an average runs over all of them."""
        if self.average is not None:
            self.run.seen[classes] += epochs * self.n_examples

    def _epoch(self, number: int, pool: ThreadPoolExecutor) -> Epoch | None:
        """Return one pass over the examples; None if there was no time for all of it."""
        began = time.perf_counter()
        mistakes, updates = self.run.mistakes.copy(), self.run.updates.copy()
        awake = np.flatnonzero(~self.resting)
        groups = [awake[k :: self.threads] for k in range(min(self.threads, len(awake)))]
        for chunk, steps in self._chunks_with_steps(awake):
            if time.perf_counter() > self.deadline:
                return None
            self._present(chunk, steps, groups, pool)
        self._close(updates)
        return Epoch(
            number,
            self.run.mistakes - mistakes,
            self.run.updates - updates,
            time.perf_counter() - began,
        )

    def presentations(self, number: int, until: int) -> Iterator[Presentation]:
        """Yield the same run one example at a time, which ends after `until` of `number` epochs."""
        for e in range(1, until + 1):
            updates, awake = self.run.updates.copy(), np.flatnonzero(~self.resting)
            for chunk, steps in self._chunks_with_steps(awake):
                tile = self._tile_of(chunk)
                for start in range(0, len(chunk), tile):
                    some = slice(start, start + tile)
                    for c in awake:
                        yield from self._presentations_of(e, int(c), chunk[some], steps[some])
            self._close(updates)
            if self.resting.all():
                self._count_as_seen(self.resting, number - e)
                return

    def _presentations_of(
        self, epoch: int, c: int, rows: IntArray, steps: FloatArray
    ) -> Iterator[Presentation]:
        """Yield a turn for each of these examples, or for all of them."""
        if self.sampling == "all":
            yield Presentation(
                epoch, c, None, float(steps[0]), partial(self._take, c, rows, steps, None)
            )
            return
        start = self._state_of(c) if self.carries else None
        for q, row in enumerate(rows):
            first = q if start is None else 0
            piece = (rows[first : q + 1], steps[first : q + 1])
            step = float(steps[q]) if len(steps) else None
            yield Presentation(epoch, c, int(row), step, partial(self._take, c, *piece, start))

    def _take(self, c: int, rows: IntArray, steps: FloatArray, start: Any) -> None:
        """Present the rows to one class, from `start` if it is given."""
        if start is not None:
            for array, value in zip(self._arrays(), start, strict=True):
                array[c] = value
        arguments = (self.rule, self.rows, self.labels, self._weights, rows, steps)
        learn_classes(*arguments, self.run, self.average, np.array([c]), len(rows))

    def _arrays(self) -> list[Any]:
        """Return what a pass changes."""
        parts = self.run[1:] if self.average is None else (*self.run[1:], *self.average)
        return [part for part in parts if part.ndim == 1 or part.shape[1]]

    def _state_of(self, c: int) -> list[Any]:
        return [array[c].copy() for array in self._arrays()]

    def _chunks_with_steps(self, awake: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        t = int(self.run.seen[awake[0]])
        for chunk in self._chunks(len(awake)):
            if self.sampling == "all" and self.steps is not None:
                yield chunk, self.steps(np.array([t // self.n_examples + 1]))
                return
            if self.steps is None:
                yield chunk, NO_STEPS
            else:
                yield chunk, self.steps(np.arange(t + 1, t + 1 + len(chunk)))
            t += len(chunk)

    def _close(self, updates: IntArray) -> None:
        """End an epoch before which there were so many updates."""
        self._count_as_seen(self.resting, 1)
        if self.rest:
            self.resting |= self.run.updates == updates

    def _present(
        self,
        chunk: IntArray,
        steps: FloatArray,
        groups: Sequence[IntArray],
        pool: ThreadPoolExecutor,
    ) -> None:
        tile = self._tile_of(chunk)
        arguments = (self.rule, self.rows, self.labels, self._weights, chunk, steps)
        state = (self.run, self.average)
        if len(groups) == 1:
            learn_classes(*arguments, *state, groups[0], tile)
            return
        tasks = [pool.submit(learn_classes, *arguments, *state, g, tile) for g in groups]
        for task in tasks:
            task.result()

    def _chunks(self, n_classes: int) -> Iterator[IntArray]:
        """Yield the order of one epoch, cut into pieces short enough for Ctrl-C to be felt."""
        work = max(1, n_classes * self._row_entries())
        size = max(64, min(CHUNK_WORK // work, LARGEST_CHUNK))
        order, n = self._order, self.n_examples
        if order is not None and self.sampling == "permutation":
            self.random.shuffle(order)
        if self.sampling == "all":
            size = n
        for start in range(0, n, size):
            stop = min(start + size, n)
            if self.sampling == "replacement":
                drawn = self.random.randint(0, n, size=stop - start).astype(self._index)
                yield drawn if order is None else order[drawn]
            elif order is None:
                yield np.arange(start, stop, dtype=self._index)
            else:
                yield order[start:stop]

    def _row_entries(self) -> int:
        if isinstance(self.rows, Dense):
            return int(self.rows.X.shape[1])
        return int(len(self.rows.data) // max(1, n_vectors(self.rows)))  # type: ignore[union-attr]

    def _tile_of(self, chunk: IntArray) -> int:
        """Tell how many examples each class sees before the next class does."""
        if len(self.run.b) == 1 or self.sampling == "all":
            return len(chunk)
        return int(max(1, TILE_BYTES // (8 * max(1, self._row_entries()))))
