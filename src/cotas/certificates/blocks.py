"""Rows that come in blocks, from disk or from other machines, as proofs read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.core.blocks import Claims, Most, frame_of
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.gap import Risk
from cotas.certificates.passes import (
    Sketch,
    as_rows,
    as_sketches,
    project,
    signs_of,
    sketch_sums,
    targets_of,
)
from cotas.certificates.sound import Sound
from cotas.refusals import ParameterError
from cotas.source import Arrays, Block, Changed, Source, Sums, double

T = TypeVar("T")


def as_source(X: Any, y: Any) -> Source:
    """Return a source as it is; arrays as one."""
    return X if isinstance(X, Source) else Arrays(as_rows(X), y)


# ---- what is read of a block -------------------------------------------------------------------


@dataclass(frozen=True)
class Signs:
    """Labels as ±1, a column for each that counts as +1, and weights times those of the classes."""

    positives: tuple[Any, ...]
    factors: tuple[tuple[Any, float], ...] = ()

    def __call__(self, block: Block) -> tuple[FloatArray, FloatArray | None]:
        y = np.asarray(block.y)
        signs = np.stack([signs_of(y, positive) for positive in self.positives], axis=1)
        return signs, weighed(block, self.factors)


def class_factors(
    labels: AnyArray | None, factors: FloatArray | None
) -> tuple[tuple[Any, float], ...]:
    """Return label and factor of each class that has one; raise `Objection` where there is none."""
    if labels is None and factors is None:
        return ()
    if labels is None or factors is None:
        raise Objection("weights")
    labels, factors = np.asarray(labels), np.asarray(factors)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise Objection("labels")
    if labels.shape != factors.shape or len(np.unique(labels)) != labels.size:
        raise Objection("labels")
    if factors.dtype.kind != "f" or not (np.isfinite(factors).all() and (factors >= 0).all()):
        raise Objection("weights")
    return tuple(zip(labels.tolist(), factors.tolist(), strict=True))


def weighed(block: Block, factors: Sequence[tuple[Any, float]]) -> FloatArray | None:
    """Return the weights of the rows, times those of their classes; None for ones."""
    if not factors:
        return block.weights
    s = block.shares().copy()
    for label, factor in factors:
        s[np.asarray(block.y) == label] *= factor
    return s


@dataclass(frozen=True)
class TargetColumns:
    """The targets as they are, a column for each; None stands for a y that is a vector."""

    columns: tuple[int | None, ...]

    def __call__(self, block: Block) -> tuple[FloatArray, FloatArray | None]:
        return targets_of(block.n_rows, block.y, self.columns), block.weights


# ---- the sketch of the data, in passing --------------------------------------------------------


def in_spans(X: Matrix, function: Callable[[Matrix, slice], FloatArray]) -> FloatArray:
    """Call a function on rows in double precision: some at a time if they are rounded."""
    if sparse.issparse(X) or X.dtype == np.float64:
        return function(double(X), slice(None))
    spans = Block(0, X, X[:, :0]).spans()
    return np.concatenate([function(double(X[span]), span) for span in spans])


@np.errstate(all="ignore")
def with_sketch(function: Callable[[Block], Any], read: Any, block: Block) -> Sums:
    """Return what a function finds in a block, what its sketches are made of, and the scatter."""
    y, s = read(block)
    s = np.ones(len(y)) if s is None else s
    projected = in_spans(block.X, lambda rows, span: project(rows, gaps=True))
    sums = sketch_sums(projected, np.column_stack([y, s]), block.start)
    largest = Sums(tuple(map(Most, np.abs(y).max(axis=0))))
    ends = Sums(Most(-s.min()), Most(s.max()))
    return Sums(function(block), sums, largest, ends, Scatter.of(y, s))


class Scatter(NamedTuple):
    """The scatter: Σ of the weights, the mean of each target, and Σ s(y − mean)², which is never
    negative."""

    total: float
    mean: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, y: FloatArray, s: FloatArray) -> Scatter:
        """Measure the scatter of some rows; those without weight have no part in it."""
        total = float(s.sum())
        mean = s @ y / total if total else np.zeros(y.shape[1])
        return cls(total, mean, s @ (y - mean) ** 2)

    def __add__(self, other: Any) -> Any:  # Chan, Golub and LeVeque 1979
        total = self.total + other.total
        share = other.total / total if total else 0.0
        apart = other.mean - self.mean
        squares = self.squares + other.squares + self.total * share * apart**2
        return Scatter(total, self.mean + share * apart, squares)

    def constants(self, free_bias: bool) -> list[tuple[float, float]]:
        """Return what `constant_model` says of each target: loss, half a square, mean square."""
        spread = np.asarray(self.squares / self.total)
        square = spread + self.mean**2
        loss = 0.5 * (spread if free_bias else square)
        return list(zip(loss.tolist(), square.tolist(), strict=True))


class Watched(Changed):
    """A source whose blocks are sound, and of which every pass makes the sketches besides."""

    def __init__(self, source: Source, read: Any, each: Each = map) -> None:
        sound = Sound(source.n_features, isinstance(read, TargetColumns))
        super().__init__(source, sound, each)
        self.read = read
        self.seen: Any = None
        self._frame: Any = None

    @classmethod
    def over(cls, source: Source, read: Any, each: Each = map) -> Watched:
        """Return the source itself, if it is watched already by who reads the same targets."""
        if isinstance(source, cls) and source.read == read:
            return source
        return cls(source, read, each)

    def frame(self, claims: Claims) -> Any:
        """Tell how columns and targets are measured, which is chosen once."""
        if self._frame is None:
            self._frame = frame_of(self, claims)
        return self._frame

    def map_reduce(self, function: Callable[[Block], T], each: Each = map) -> T:
        both: Any = super().map_reduce(partial(with_sketch, function, self.read), each)
        before, self.seen = self.seen, both[1:]
        if before is not None and not self._same_rows(before):
            raise ParameterError(
                "X",
                "The blocks of the source were not the same when they were read again, and what "
                "is proved would be of no data at all: seed what makes them, or keep them, which "
                "persist() does in Dask.",
            )
        found: T = both[0]
        return found

    def _same_rows(self, before: Any) -> bool:
        """Tell whether X, y and the weights were the same before, as their sketches tell."""
        pairs = zip(self._sketches(before), self.sketches(), strict=True)
        slack = 1e-12 * self.n_rows * abs(self.seen[2][1])
        same_weights = bool(abs(self.seen[0][-1] - before[0][-1]) <= slack)
        return same_weights and all(a.matches(b) for a, b in pairs)

    def sketches(self) -> list[Sketch]:
        """Return one for each column of the targets."""
        if self.seen is None:
            self.map_reduce(_no_reading)
        return self._sketches(self.seen)

    def _sketches(self, seen: Any) -> list[Sketch]:
        return as_sketches(seen[0][:-1], (self.n_rows, self.n_features), seen[1])

    def ends_of_weights(self) -> FloatArray:
        assert self.seen is not None
        lowest, highest = self.seen[2]
        return np.array([-lowest, highest])

    def moments(self) -> Scatter:
        """Compute the weighted moments of the targets."""
        assert self.seen is not None
        found: Scatter = self.seen[3]
        return found


def _no_reading(block: Block) -> int:
    return 0


def claims_of(risk: Risk, points: Sequence[Any], watched: Watched, duals: Sequence[Any]) -> Claims:
    """Return the models of the points as the core knows them, with dual points for each."""
    thetas = np.stack([np.asarray(p.coef, np.float64) for p in points], axis=1)
    biases = tuple(float(p.intercept) for p in points)
    size = watched.n_rows, watched.n_features
    return Claims(risk, thetas, biases, watched.read, tuple(duals), *size)
