"""Certificates of models whose rows come in blocks, from disk or from other machines.

The witness of a linear classifier has no number for each row: its dual variables are a function of
the row, made of the rounds of the solver or of the slopes of the loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate
from cotas.certificates.core.blocks import Claims, Most, block_bounds, frame_of
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.curvature import SquaredFound, WeightedL2
from cotas.certificates.core.gap import Found, Risk
from cotas.certificates.core.residuals import Squared
from cotas.certificates.core.squared_blocks import BlockSquaredRisk
from cotas.certificates.duality import DualPoint, risk_of
from cotas.certificates.lasso import LassoPoint
from cotas.certificates.lasso import in_certificate as of_lasso
from cotas.certificates.least_squares import (
    ENOUGH,
    LARGEST_HESSIAN,
    SquaredLossPoint,
    in_certificate,
)
from cotas.certificates.ledger import Together
from cotas.certificates.sound import Sound
from cotas.certificates.sweep import (
    Sketch,
    as_rows,
    as_sketches,
    project,
    refuse_other_features,
    signs_of,
    sketch_sums,
)
from cotas.certificates.targets import ROUNDED, targets_of
from cotas.problem import AS_GOOD_AS_ZERO, RegularizedRisk
from cotas.rounds import Rounds
from cotas.source import Arrays, Block, Changed, Source, Sums, double

T = TypeVar("T")


def as_source(X: Any, y: Any) -> Source:
    """A source as it is; arrays as one."""
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
    """Label and factor of each class that has one; raises `Objection` where they are none."""
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
    """The weights of the rows, times those of their classes; None for ones."""
    if not factors:
        return block.weights
    s = block.shares().copy()
    for label, factor in factors:
        s[np.asarray(block.y) == label] *= factor
    return s


@dataclass(frozen=True)
class Columns:
    """The targets as they are, a column for each; None stands for a y that is a vector."""

    columns: tuple[int | None, ...]

    def __call__(self, block: Block) -> tuple[FloatArray, FloatArray | None]:
        return targets_of(block.n_rows, block.y, self.columns), block.weights


# ---- the sketch of the data, in passing --------------------------------------------------------


def in_spans(X: Matrix, function: Callable[[Matrix, slice], FloatArray]) -> FloatArray:
    """What a function returns for rows in double precision: some at a time if they are rounded."""
    if sparse.issparse(X) or X.dtype == np.float64:
        return function(double(X), slice(None))
    spans = Block(0, X, X[:, :0]).spans()
    return np.concatenate([function(double(X[span]), span) for span in spans])


@np.errstate(all="ignore")
def with_sketch(function: Callable[[Block], Any], read: Any, block: Block) -> Sums:
    """What a function finds in a block, the sums of which sketches are made, and the scatter."""
    y, s = read(block)
    s = np.ones(len(y)) if s is None else s
    projected = in_spans(block.X, lambda rows, span: project(rows, gaps=True))
    sums = sketch_sums(projected, np.column_stack([y, s]), block.start)
    largest = Sums(tuple(map(Most, np.abs(y).max(axis=0))))
    ends = Sums(Most(-s.min()), Most(s.max()))
    return Sums(function(block), sums, largest, ends, Scatter.of(y, s))


class Scatter(NamedTuple):
    """Σ of the weights, the mean of each target, and Σ s(y − mean)², which is never negative."""

    total: float
    mean: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, y: FloatArray, s: FloatArray) -> Scatter:
        """That of some rows; those without weight have no part in it."""
        total = float(s.sum())
        mean = s @ y / total if total else np.zeros(y.shape[1])
        return cls(total, mean, s @ (y - mean) ** 2)

    def __add__(self, other: Any) -> Any:  # Chan, Golub and LeVeque 1979
        total = self.total + other.total
        share = other.total / total if total else 0.0
        apart = other.mean - self.mean
        squares = self.squares + other.squares + self.total * share * apart**2
        return Scatter(total, self.mean + share * apart, squares)

    @property
    def spread(self) -> FloatArray:
        """The mean square about the mean."""
        return np.asarray(self.squares / self.total)

    @property
    def square(self) -> FloatArray:
        """The mean square about zero."""
        return np.asarray(self.spread + self.mean**2)


class Watched(Changed):
    """A source whose blocks are sound, and of which every pass makes the sketches besides."""

    def __init__(self, source: Source, read: Any, each: Each = map) -> None:
        sound = Sound(source.n_features, isinstance(read, Columns))
        super().__init__(source, sound, each)
        self.read = read
        self.seen: Any = None
        self._frame: Any = None

    @classmethod
    def over(cls, source: Source, read: Any, each: Each = map) -> Watched:
        """The source itself, if it is watched already by who reads the same targets."""
        if isinstance(source, cls) and source.read == read:
            return source
        return cls(source, read, each)

    def frame(self, claims: Claims) -> Any:
        """How columns and targets are measured, which is chosen once."""
        if self._frame is None:
            self._frame = frame_of(self, claims)
        return self._frame

    def map_reduce(self, function: Callable[[Block], T], each: Each = map) -> T:
        both: Any = super().map_reduce(partial(with_sketch, function, self.read), each)
        before, self.seen = self.seen, both[1:]
        if before is not None and not self._same_rows(before):
            raise ValueError(
                "The blocks of the source were not the same when they were read again, and what "
                "is proved would be of no data at all: seed what makes them, or keep them, which "
                "persist() does in Dask."
            )
        found: T = both[0]
        return found

    def _same_rows(self, before: Any) -> bool:
        """Whether X, y and the weights were the same before, as their sketches tell."""
        pairs = zip(self._sketches(before), self.sketches(), strict=True)
        slack = 1e-12 * self.n_rows * abs(self.seen[2][1])
        same_weights = bool(abs(self.seen[0][-1] - before[0][-1]) <= slack)
        return same_weights and all(a.matches(b) for a, b in pairs)

    def sketches(self) -> list[Sketch]:
        """One for each column of the targets."""
        if self.seen is None:
            self.map_reduce(_nothing)
        return self._sketches(self.seen)

    def _sketches(self, seen: Any) -> list[Sketch]:
        return as_sketches(seen[0][:-1], (self.n_rows, self.n_features), seen[1])

    def ends_of_weights(self) -> FloatArray:
        assert self.seen is not None
        lowest, highest = self.seen[2]
        return np.array([-lowest, highest])

    def moments(self) -> Scatter:
        """Of the targets, with the weights."""
        assert self.seen is not None
        found: Scatter = self.seen[3]
        return found


def _nothing(block: Block) -> int:
    return 0


def claims_of(risk: Risk, points: Sequence[Any], watched: Watched, duals: Sequence[Any]) -> Claims:
    """The models of the points as the core knows them, with dual points for each."""
    thetas = np.stack([np.asarray(p.coef, np.float64) for p in points], axis=1)
    biases = tuple(float(p.intercept) for p in points)
    size = watched.n_rows, watched.n_features
    return Claims(risk, thetas, biases, watched.read, tuple(duals), *size)


# ---- linear classifiers ------------------------------------------------------------------------


@np.errstate(all="ignore")
def dual_of_rounds(rounds: Rounds, X: Matrix, y: FloatArray, s: FloatArray) -> FloatArray:
    """c = −s·y·α of some rows, from the rounds of the solver."""
    return np.asarray(-s * y * in_spans(X, lambda rows, span: rounds.parts(rows, y[span])))


@dataclass(frozen=True)
class BlockPoint(Together):
    """A linear classifier, and the dual variables of its rows as a function of the row.

    Attributes
    ----------
    problem : what is minimized
    coef, intercept, positive : the model, and the label that counts as +1
    thetas, biases, smoothings : the rounds of the solver, which make α; none of them where α are
        the slopes of the loss at the model
    labels, factors : the weight that each class has besides those of its rows; none for ones
    """

    takes_blocks: ClassVar[bool] = True  # X of `check` may be a source
    shared: ClassVar[tuple[str, ...]] = ("problem", "labels", "factors")

    problem: RegularizedRisk
    coef: FloatArray
    intercept: float
    positive: Any
    thetas: FloatArray = field(repr=False)
    biases: FloatArray = field(repr=False)
    smoothings: FloatArray = field(repr=False)
    labels: AnyArray | None = None
    factors: FloatArray | None = None

    @classmethod
    def check_all(
        cls, points: Sequence[Self], X: Any, y: Any = None, each: Each = map
    ) -> list[Certificate]:
        """The certificates of several classes of one fit, the blocks being read for all at once."""
        one, source = points[0], as_source(X, y)
        factors = class_factors(one.labels, one.factors)
        watched = Watched.over(source, Signs(tuple(p.positive for p in points), factors), each)
        claims = claims_of(risk_of(one.problem), points, watched, [p._dual() for p in points])
        refuse_other_features(source.n_features, claims.thetas.shape[0])
        found = block_bounds(watched, claims)
        parts = zip(points, found, watched.sketches(), strict=True)
        weights = watched.ends_of_weights()
        return [one._conclude(bounds.bounds, sketch, weights) for one, bounds, sketch in parts]

    def _dual(self) -> Callable[..., FloatArray] | None:
        if not len(self.biases):
            return None
        sizes = (np.asarray(self.thetas, np.float64), self.biases, self.smoothings)
        if sizes[0].shape != (len(self.biases), len(self.coef)) or len(sizes[2]) != len(sizes[1]):
            raise ValueError("The rounds of the witness are of another size than its model.")
        return partial(dual_of_rounds, Rounds(*(np.asarray(a, np.float64) for a in sizes)))

    def _conclude(
        self, found: Bounds | Objection, sketch: Sketch, weights: FloatArray
    ) -> Certificate:
        """In the words of the same classifier whose rows are in memory; these are some weights."""
        about = (self.problem, self.coef, self.intercept, self.positive, np.zeros(0))
        point = DualPoint(*about, weights=weights)
        return replace(point._conclude(found, None, sketch), witness=self)


# ---- least squares -----------------------------------------------------------------------------


def squared_certificates(
    points: Sequence[SquaredLossPoint], source: Source, each: Each = map
) -> list[Certificate]:
    """The certificates of several targets of one fit from blocks, in one pass."""
    one = points[0]
    watched = Watched.over(source, Columns(tuple(point.column for point in points)), each)
    sigma = None if one.penalty_scale is None else np.asarray(one.penalty_scale, np.float64)
    risk = Risk(Squared(), WeightedL2(float(one.lam), sigma), bool(one.free_bias))
    claims = claims_of(risk, points, watched, [None] * len(points))
    found, constants = _squared_bounds(watched, claims)
    sketches, some = watched.sketches(), watched.ends_of_weights()
    return [
        replace(in_certificate(replace(point, weights=some), *part), witness=point)
        for point, *part in zip(points, found, constants, sketches, strict=True)
    ]


def _squared_bounds(watched: Watched, claims: Claims) -> tuple[list[SquaredFound], FloatArray]:
    k = len(claims.biases)
    try:
        risk = BlockSquaredRisk(watched, claims, LARGEST_HESSIAN)
    except Objection as objection:
        return [SquaredFound(objection)] * k, np.full(k, math.nan)
    moments = watched.moments()
    spread = moments.spread if claims.risk.free_bias else moments.square
    constants = 0.5 * spread + ROUNDED * moments.square
    near = (ENOUGH * AS_GOOD_AS_ZERO * constants).tolist()
    if claims.d <= LARGEST_HESSIAN or not claims.risk.regularizer.lam:
        return risk.all_bounds(ENOUGH, near), constants
    dual = block_bounds(watched, claims)
    return [SquaredFound(found.bounds, "duality") for found in dual], constants


# ---- the Lasso ---------------------------------------------------------------------------------


def lasso_certificate(point: LassoPoint, source: Source, each: Each = map) -> Certificate:
    """The certificate of a model of one target, from blocks."""
    watched = Watched.over(source, Columns((point.column,)), each)
    try:
        claims = claims_of(point.problem.risk(point.penalty_scale), [point], watched, [None])
        found = block_bounds(watched, claims)[0]
    except Objection as objection:
        found = Found(objection)
    sketch, moments = watched.sketches()[0], watched.moments()
    spread = moments.spread if point.problem.free_bias else moments.square
    constant = 0.5 * float(spread[0])
    scale = (constant, constant + ROUNDED * float(moments.square[0]))
    some = replace(point, weights=watched.ends_of_weights())
    certificate = of_lasso(some, found, moments.total, scale, sketch)
    return replace(certificate, witness=point)
