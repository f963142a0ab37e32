"""Online classifiers from a source of row blocks, by iterative parameter mixing.

In each round every block of rows has a run of its own, one epoch of the same loop as in memory,
from the common θ; the mean of where they end, each with the share that its block has in the rows,
is the common θ of the next round (McDonald, Hall and Mann 2010). A run depends on the block, the
round and the seed alone, and the mean is added up in the order of the blocks: no bit of it depends
on who works on which block, or how often.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, IntArray
from cotas.certificates.blocks import weighed
from cotas.design import as_design
from cotas.fitting.data import encode
from cotas.fitting.from_source import LabelTotals, SourceClasses, classes_of, count_labels
from cotas.solvers.online import Epoch, Sampling, Steps, Training
from cotas.solvers.run import new_average, new_run
from cotas.source import Block, Source, Sums


class RunExtent(NamedTuple):
    """The end of the rows of a run, and how many of them have a weight."""

    end: int
    used: int


@dataclass(frozen=True)
class Shape:
    """The classes of a source and its runs, one for each block."""

    classes: SourceClasses
    runs: tuple[RunExtent, ...]

    @property
    def used(self) -> int:
        """Tell how many rows have a weight."""
        return sum(run.used for run in self.runs)

    @property
    def ends(self) -> IntArray:
        """Return the row after the last one of each run."""
        return np.array([run.end for run in self.runs], dtype=np.int64)

    def positives(self) -> list[Any]:
        """Return the labels that are trained against the rest."""
        found: list[Any] = self.classes.positives().tolist()
        return found

    def codes(self) -> IntArray:
        """Return the codes of the classes that are trained against the rest."""
        labels = self.classes.labels
        return encode(labels, labels)[1 if len(labels) == 2 else 0 :]


def shape_of(source: Source, class_weight: Any, each: Each = map) -> Shape:
    """Return one pass over the blocks, which looks for NaN besides."""
    totals: LabelTotals
    totals, runs = source.map_reduce(_read_shape, each)
    return Shape(classes_of(totals, class_weight), tuple(runs))


def _read_shape(block: Block) -> Sums:
    s = block.weights
    used = block.n_rows if s is None else int(np.count_nonzero(s > 0))
    return Sums(count_labels(block), [RunExtent(block.start + block.n_rows, used)])


@dataclass(frozen=True)
class Algorithm:
    """An algorithm as an epoch of a block has to know it.

    Attributes
    ----------
    rule, sampling, steps, carries, averages : as `Training` takes them
    labels, codes : all classes, and the codes of those that are trained against the rest
    factors : the weight of each class besides those of its rows, where there are any
    times : what weights are multiplied by
    used : how many rows of all blocks have a weight
    seed : a whole number
    """

    rule: Any
    sampling: Sampling
    steps: Steps | None
    carries: bool
    averages: bool
    labels: AnyArray
    codes: IntArray
    factors: tuple[tuple[Any, float], ...]
    times: float
    used: int
    seed: int


@dataclass(frozen=True)
class EpochOfBlock:
    """One epoch on the rows of a block from the common θ: by how much it moves the mean."""

    algorithm: Algorithm
    round: int
    classes: IntArray  # those that are not at rest, by their number
    theta: FloatArray
    theta0: FloatArray

    def __call__(self, block: Block) -> Sums:
        how = self.algorithm
        s = weighed(block, how.factors)
        examples = None if s is None or (s > 0).all() else np.flatnonzero(s > 0)
        n = block.n_rows if examples is None else len(examples)
        run = new_run(how.codes[self.classes], block.X.shape[1], block.n_rows, block.X.dtype)
        average = new_average(run, keep_ledger=how.steps is None) if how.averages else None
        run.w[:], run.b[:] = self.theta[self.classes], self.theta0[self.classes]
        # Steps go on where the last round left them; a mean over the epoch begins with it.
        run.seen[:] = self.round * n if how.steps is not None else 0
        if n:
            training = Training(
                rule=how.rule,
                rows=as_design(block.X),
                labels=encode(np.asarray(block.y), how.labels),
                weights=None if s is None else s * how.times,
                run=run,
                average=average,
                sampling=how.sampling,
                random=self._random(block.start),
                examples=examples,
                steps=how.steps,
                carries=how.carries,
            )
            list(training.epochs(1))
        share = n / how.used
        ends = (run.scale[:, None] * run.w, run.b)
        before = (self.theta[self.classes], self.theta0[self.classes])
        moved = [share * (end - start) for end, start in zip(ends, before, strict=True)]
        means = [np.zeros_like(part) for part in moved]
        if average is not None and n:
            about = _means(run, average, n, how.steps is None)
            means = [share * (mean - start) for mean, start in zip(about, before, strict=True)]
        return Sums(*moved, *means, [run.mistakes], run.updates)

    def _random(self, start: int) -> np.random.RandomState:
        """Return numbers that depend on the seed, the round and the block alone."""
        seeds = np.random.SeedSequence((self.algorithm.seed, self.round, start))
        return np.random.RandomState(np.random.MT19937(seeds))


def _means(run: Any, average: Any, n: int, plain: bool) -> tuple[FloatArray, FloatArray]:
    """Compute θ and θ₀ in the mean over the n presentations of an epoch."""
    if plain:
        return run.w - average.w / n, run.b - average.b / n
    return (average.weight[:, None] * run.w - average.w) / n, average.b / n


class Mixture:
    """The common θ, one row for each class, and what the rounds have counted so far."""

    def __init__(self, source: Source, shape: Shape, algorithm: Algorithm, rest: bool) -> None:
        self.source, self.shape, self.algorithm, self.rest = source, shape, algorithm, rest
        k = len(algorithm.codes)
        self.theta, self.theta0 = np.zeros((k, source.n_features)), np.zeros(k)
        self.sum, self.sum0 = np.zeros_like(self.theta), np.zeros(k)
        self.mistakes = np.zeros((len(shape.runs), k), dtype=np.int64)
        self.rounds = np.zeros(k, dtype=np.int64)
        self.resting = np.zeros(k, dtype=np.bool_)
        self.done = self.in_mean = 0
        self.dual: Any = None  # what a proof needs besides, found once
        self.until = math.inf  # when there is no more time for that, by `time.perf_counter`

    def epochs(self, number: int) -> Iterator[Epoch]:
        """Yield up to `number` rounds; ends early when every class rests."""
        while self.done < number and not self.resting.all():
            began = time.perf_counter()
            found = self._round()
            if self.resting.all():
                self._count_as_seen(number - self.done)
            yield Epoch(self.done, *found, time.perf_counter() - began)

    def _round(self) -> tuple[IntArray, IntArray]:
        awake = np.flatnonzero(~self.resting)
        given = (self.algorithm, self.done, awake, self.theta, self.theta0)
        theta, theta0, mean, mean0, counts, changes = self.source.map_reduce(EpochOfBlock(*given))
        # All at once, so that Ctrl-C leaves the last round as it was.
        self.sum, self.sum0 = self.sum + self.theta, self.sum0 + self.theta0
        self.sum[awake] += mean
        self.sum0[awake] += mean0
        moved, moved0 = self.theta.copy(), self.theta0.copy()
        moved[awake] += theta
        moved0[awake] += theta0
        self.theta, self.theta0 = moved, moved0
        self.mistakes[:, awake] += np.array(counts)
        self.rounds[awake] += 1
        self.done, self.in_mean = self.done + 1, self.in_mean + 1
        mistakes, updates = np.zeros_like(self.rounds), np.zeros_like(self.rounds)
        mistakes[awake], updates[awake] = np.sum(counts, axis=0), changes
        if self.rest:
            self.resting |= updates == 0
        return mistakes, updates

    def _count_as_seen(self, rounds: int) -> None:
        """Count rounds that cannot change θ any more: the mean is over all of them."""
        self.sum, self.sum0 = self.sum + rounds * self.theta, self.sum0 + rounds * self.theta0
        self.in_mean += rounds

    def model(self) -> tuple[FloatArray, FloatArray]:
        """Compute θ and θ₀ of the model: where the rounds have ended, or the mean over them."""
        if not self.algorithm.averages or not self.in_mean:
            return self.theta.copy(), self.theta0.copy()
        return self.sum / self.in_mean, self.sum0 / self.in_mean
