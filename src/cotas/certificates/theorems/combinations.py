"""F = Σ cₘfₘ computed again from its functions, with a bound on what rounding did to it.

After k rounds F is off by at most δ = γ(k + 8)·Σ|cₘ||fₘ|, and by Σ|cₘ|·(what fₘ is off).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np

from cotas.arrays import AnyArray, BoolArray, Each, FloatArray, IntArray, Matrix
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.rounding import (
    TINY,
    above,
    down,
    gamma,
    total,
    total_down,
    total_up,
    up,
)
from cotas.certificates.ledger import Parametric
from cotas.certificates.presentation import against_the_rest, in_words, other_rows
from cotas.certificates.sweep import Sketch, as_sketches, project, sketch_sums
from cotas.certificates.theorems.products import Block, Sweep, Tally
from cotas.certificates.theorems.weak_learners import Learners, PlainTrees, numbers

LONG_BLOCK_BYTES, LONG_BLOCK_ROWS = 1 << 24, 1 << 15
# Of each number below 256 its bits, the lowest first.
PATTERNS = (np.arange(256)[:, None] >> np.arange(8)) & 1


@dataclass(frozen=True)
class Combination:
    """F = Σ cₘ fₘ."""

    learners: Learners
    coefficients: FloatArray


class Terms(NamedTuple):
    """cₘfₘ of one round for each class on some rows, how far it may be off, and its size."""

    cf: FloatArray  # until the next round, which may be written to the same place
    off: FloatArray | float
    size: float
    largest: float  # of |f|
    votes: bool  # every f is ±1, and of several classes exactly one has +1


class RoundWeights:
    """The weights wᵢ ∝ sᵢ exp(−F of the right class) of each round on some rows, f being ±1."""

    def __init__(self, w: FloatArray, c: FloatArray) -> None:
        self.w, self.c, self.m = w.copy(), c, 0
        self.sums, self.wrong = np.zeros(len(c) + 1), np.zeros(len(c))
        self.sums[0] = w.sum()

    def __call__(self, own: FloatArray) -> None:
        """One round, which adds ±c to F of the right class: the weight grows where it adds −|c|.

        What it adds is overwritten: arrays of this size take longer to get than to fill.
        """
        c = float(self.c[self.m])
        own[:] = own < 0
        lost = float(self.w @ own)
        self.wrong[self.m] = lost if c >= 0 else self.sums[self.m] - lost
        own *= math.exp(abs(c)) - math.exp(-abs(c))
        own += math.exp(-abs(c))
        self.w *= own
        self.m += 1
        self.sums[self.m] = self.w.sum()

    def eight(self, wrong: IntArray) -> None:
        """Up to eight rounds, from the weight of the rows that are wrong in the same of them."""
        c = self.c[self.m : self.m + 8]
        told, rounds = PATTERNS[:, : len(c)], slice(self.m, self.m + len(c))
        alike = np.bincount(wrong, self.w, len(told))
        grown = np.cumprod(np.exp(np.where(told, c, -c)), axis=1)
        before = alike[:, None] * np.insert(grown[:, :-1], 0, 1.0, axis=1)
        self.wrong[rounds] = (before * told).sum(axis=0)
        self.m += len(c)
        self.sums[rounds.start + 1 : rounds.stop + 1] = alike @ grown
        self.w *= grown[:, -1].take(wrong)

    def tally(self) -> Tally:
        """Of these rows, to be added to those of others."""
        return {"sum weights": self.sums, "sum wrong": self.wrong}


class Lead(NamedTuple):
    """How far the right class is ahead of each other one, up to the slack of each example."""

    ahead: FloatArray
    slack: FloatArray
    largest: float
    votes: bool
    open: bool  # whether rounding leaves the value of a function open


@dataclass(frozen=True, kw_only=True)
class Combined(Parametric):
    """A witness that is its model: combinations and the weights of the examples."""

    combinations: tuple[Combination, ...]
    weights: FloatArray | None = None

    kind: ClassVar[str]

    @property
    def coef(self) -> FloatArray:
        found = [np.asarray(c.coefficients) for c in self.combinations]
        return found[0] if len(found) == 1 else np.stack(found)

    @property
    def intercept(self) -> float:
        return 0.0

    @property
    def rounds(self) -> int:
        return len(self.combinations[0].learners)

    def about(self, coef: FloatArray, intercept: float) -> Self:
        rows = np.atleast_2d(np.asarray(coef, dtype=np.float64))
        pairs = zip(self.combinations, rows, strict=True)
        return self.made_of(replace(c, coefficients=row) for c, row in pairs)

    def made_of(self, combinations: Iterable[Combination]) -> Self:
        """The same witness about another model."""
        return replace(self, combinations=tuple(combinations))

    def check(self, X: Matrix, y: AnyArray, each: Each = map) -> Certificate:
        sweep = self.sweep(X, y)
        n = sweep.X.shape[0]
        return self.proved(lambda: self.measure(sweep, ExampleWeights.of(self.weights, n), each))

    def proved(self, measure: Callable[[], Certificate]) -> Certificate:
        """What is measured, or why nothing can be."""
        try:
            self.refuse_unsound()
            return measure()
        except Objection as why:
            return conclude(
                self.kind, 0.0, math.inf, statement="Nothing is proved.", reference="",
                witness=self, sketch=None, objection=in_words(why), vacuous=True,
            )  # fmt: skip

    def sweep(self, X: Matrix, y: AnyArray) -> LongSweep:
        raise NotImplementedError

    def measure(self, sweep: LongSweep, weights: ExampleWeights, each: Each) -> Certificate:
        """What is proved of the model, which is sound."""
        raise NotImplementedError

    def trusted(self) -> list[str]:
        """What is believed of the functions without a look."""
        return sorted({said for c in self.combinations for said in c.learners.trusted()})

    def size(self) -> tuple[float, float]:
        """Σ|c| of a combination, rounded down and up; of several the largest."""
        sizes = [np.abs(c.coefficients).tolist() for c in self.combinations]
        return max(0.0, *map(total_down, sizes)), max(0.0, *map(total_up, sizes))

    def refuse_unsound(self) -> None:
        """Object to what is no model: coefficients or functions that do not fit."""
        for c in self.combinations:
            if len(numbers(c.coefficients, "the coefficients")) != len(c.learners):
                raise Objection("There is not one coefficient for each function.")

    def terms(self, rows: Matrix) -> Iterator[Terms]:
        """What each round adds to F of each class."""
        c = np.array([numbers(one.coefficients, "the coefficients") for one in self.combinations])
        learners = [one.learners for one in self.combinations]
        if _alike(learners):
            yield from _terms_of_trees(cast(list[PlainTrees], learners), c, rows)
            return
        for m, found in enumerate(zip(*(f.enclosed(rows) for f in learners), strict=True)):
            pairs = list(zip(c[:, m].tolist(), found, strict=True))
            terms = [a * value.f for a, value in pairs]
            cf = terms[0][None] if len(terms) == 1 else np.stack(terms)
            off = [abs(a) * value.off for a, value in pairs]
            largest = max(value.size for value in found)
            mass = max(abs(a) * value.size for a, value in pairs)
            votes = found[0].least == largest == 1.0
            votes = votes and bool(_votes(np.stack([value.f for value in found])))
            most = off[0] if len(off) == 1 else np.maximum.reduce(off)
            yield Terms(cf, most, mass, largest, votes)


@dataclass(frozen=True, kw_only=True)
class Labelled(Combined):
    """A combination for each class; with one of them `classes` has one entry, where F > 0."""

    classes: AnyArray

    @property
    def subject(self) -> str:
        """The class that is told from the rest; with several classes at once, none."""
        return against_the_rest(np.ravel(self.classes)[0]) if np.size(self.classes) == 1 else ""

    def sweep(self, X: Matrix, y: AnyArray) -> LongSweep:
        return LongSweep(X, y, list(np.ravel(self.classes)))

    def refuse_unsound(self) -> None:
        """Object also to classes that are not those of the combinations."""
        K = len(self.combinations)
        if np.shape(self.classes) != (K,) or K in (0, 2) or len(np.unique(self.classes)) < K:
            raise Objection("The classes are not those of the combinations.")
        super().refuse_unsound()

    def lead(self, block: Block, read: RoundWeights | None = None) -> Lead:
        """By how much the right class is ahead of each other one, F being computed here.

        `read` is shown what each round adds to F of the right class, and may overwrite it.
        """
        signs, K, rounds = block.signs, len(self.combinations), self.rounds
        at = np.arange(len(signs))
        own = signs.argmax(axis=1) if K > 1 else np.zeros_like(at)
        if K > 1 and not (signs.max(axis=1) > 0).all():
            raise Objection("The data have a class that the model does not know.")
        if self._of_signs():
            return self._lead_of_signs(block, read)
        F, off, size, largest, votes = np.zeros((K, len(own))), np.zeros(len(own)), 0.0, 0.0, True
        for terms in self.terms(block.rows):
            F += terms.cf
            size += terms.size
            largest, votes = max(largest, terms.largest), votes and terms.votes
            if isinstance(terms.off, np.ndarray):
                off += terms.off
            if read is not None:
                only = terms.cf[0]
                read(terms.cf[own, at] if K > 1 else np.multiply(signs[:, 0], only, out=only))
        delta = _delta(rounds, size)
        slack = off * (min(K, 2) + 4 * gamma(rounds + 8)) + delta
        ahead = (signs[:, 0] * F[0])[None] if K == 1 else F[own, at] - F
        if K > 1:
            ahead[own, at] = np.inf
        return Lead(ahead, slack, largest, votes, bool(off.any()))

    def _of_signs(self) -> bool:
        """Whether the model is one combination of trees of ±1."""
        f = self.combinations[0].learners
        return (
            len(self.combinations) == 1
            and isinstance(f, PlainTrees)
            and np.size(f.value) > 0
            and bool((np.abs(numbers(f.value, "the leaves of the trees", 2)) == 1.0).all())
        )

    def _lead_of_signs(self, block: Block, read: RoundWeights | None) -> Lead:
        """The same for trees of ±1, eight at a time: what they add depends on which are wrong."""
        c = numbers(self.combinations[0].coefficients, "the coefficients")
        turned = np.where(block.signs[:, 0] > 0, np.uint8(255), np.uint8(0))
        ahead = np.zeros((1, len(turned)))
        trees = cast(PlainTrees, self.combinations[0].learners)
        for k, positive in enumerate(_eight_signs(trees, block.rows)):
            wrong, some = (positive ^ turned).astype(np.intp), c[8 * k : 8 * k + 8]
            ahead[0] += ((1.0 - 2.0 * PATTERNS[:, : len(some)]) @ some).take(wrong)
            if read is not None:
                read.eight(wrong)
        slack = np.full(len(turned), _delta(len(c), float(np.abs(c).sum())))
        return Lead(ahead, slack, 1.0, True, False)


def _eight_signs(trees: PlainTrees, rows: Matrix) -> Iterator[AnyArray]:
    """A number for each row: bit k says whether the k-th of the next eight trees is +1."""
    bits = np.where(np.asarray(trees.value) > 0, 1 << np.arange(len(trees))[:, None] % 8, 0)
    leaves = trees.leaves(rows, bits.astype(np.uint8))
    while eight := list(islice(leaves, 8)):
        yield reduce(np.bitwise_or, eight)


def _delta(rounds: int, size: float) -> float:
    """What Σ of k products, for two classes, is off, and three roundings of such numbers."""
    return up(above(2 * gamma(rounds + 8) * size, rounds + 4) + TINY)


def _terms_of_trees(trees: Sequence[PlainTrees], c: FloatArray, rows: Matrix) -> Iterator[Terms]:
    """The same for trees with the same tests, of which a row is in one leaf for all classes."""
    for f in trees:
        f.refuse_unsound(rows.shape[1])
    values = np.stack([numbers(f.value, "the leaves of the trees", 2) for f in trees])
    products, largest = c[:, :, None] * values, np.abs(values).max(axis=(0, 2))
    masses, votes = np.abs(products).max(axis=(0, 2)), _votes(values)
    about = zip(masses.tolist(), largest.tolist(), votes.tolist(), strict=True)
    cf = np.empty((len(trees), rows.shape[0]))
    for m, (leaf, said) in enumerate(zip(trees[0].leaves(rows), about, strict=True)):
        products[:, m].take(leaf, axis=1, out=cf, mode="clip")  # other modes make a copy
        yield Terms(cf, 0.0, *said)


def _alike(learners: Sequence[Any]) -> bool:
    """Whether all are trees with the same tests."""
    first, *others = learners
    return isinstance(first, PlainTrees) and all(first.same_tests(f) for f in others)


def _votes(values: FloatArray) -> AnyArray:
    """Whether all are ±1 (last index), and of several classes (first index) exactly one has +1."""
    one = len(values) == 1 or ((values > 0).sum(axis=0) == 1).all(axis=-1)
    return np.asarray((np.abs(values) == 1.0).all(axis=(0, -1)) & one)


@dataclass(frozen=True)
class ExampleWeights:
    """The weights of the examples in units of about the largest, and their sum from both sides.

    A scale of two changes no digit, and no sum over- or underflows.
    """

    w: FloatArray
    mass: float
    most: float
    uniform: bool

    @classmethod
    def of(cls, given: FloatArray | None, n: int) -> ExampleWeights:
        """The weights that a witness has for n rows; none are equal ones."""
        if given is None:
            return cls(np.ones(n), float(n), float(n), True)
        if np.shape(given) != (n,):
            raise other_rows(n, np.size(given))
        weights = numbers(given, "the weights")
        top = float(weights.max(initial=0.0))
        if (weights < 0).any() or not top > 0:
            raise Objection("The weights of the examples are negative, or all zero.")
        if (weights == top).all():
            return cls.of(None, n)
        w = np.ldexp(weights, -math.frexp(top)[1])
        if (w[weights > 0] < TINY).any():
            raise Objection("The weights of the examples are too far apart for double precision.")
        return cls(w, total_down(w), total_up(w), False)

    def mean(self, values: FloatArray, operations: int = 2) -> tuple[float, float]:
        """Σ wᵢvᵢ/Σ wᵢ from both sides, each v with so many roundings; w = 0 hides a row."""
        return self.quotient(*weighted_total(self.w, values, operations))

    def quotient(self, low: float, high: float) -> tuple[float, float]:
        """Both over Σ wᵢ, which lies between two numbers itself."""
        return (
            down(min(low / self.mass, low / self.most)) - TINY,
            up(max(high / self.mass, high / self.most)) + TINY,
        )

    def share_up(self, marked: BoolArray) -> float:
        """The share of the examples that are marked, rounded up."""
        marked = marked & (self.w > 0)
        if not marked.any():
            return 0.0
        if self.uniform:
            return min(1.0, up(np.count_nonzero(marked) / self.mass))
        return min(1.0, self.mean(marked.astype(np.float64))[1])


def weighted_total(w: FloatArray, values: FloatArray, operations: int = 2) -> tuple[float, float]:
    """Σ wᵢvᵢ from both sides, each v with so many roundings; w = 0 hides a row."""
    used = w > 0
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        products = w[used] * values[used]
    value, off = total(products)
    off = up(off + above(gamma(operations + 2) * above(total(np.abs(products))[0], 64)) + TINY)
    return down(value - off), up(value + off)


# ---- the fingerprint of data that may have gaps --------------------------------------------------


class LongSweep(Sweep):
    """Longer blocks: each is read many times, once for every function of the combination.

    `first` is the number of the first row, where they are some of many. What is found in all the
    blocks has the sums that a sketch of the data is made of besides.
    """

    first = 0

    def __init__(self, X: Matrix, y: AnyArray, positives: Sequence[Any]) -> None:
        super().__init__(X, y, positives, np.zeros((np.shape(X)[1], 0)))

    def _spans(self) -> list[slice]:
        n, d = self.X.shape
        rows = int(np.clip(LONG_BLOCK_BYTES // (8 * max(1, d)), 1, LONG_BLOCK_ROWS))
        rows = -(-n // -(-n // rows))  # blocks of about the same length
        return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]

    def tally(self, read: Callable[[Block], Tally], each: Each = map) -> Tally:
        def both(block: Block) -> Tally:
            found, begin = read(block), self.first + block.span.start
            labels = block.signs @ np.arange(1.0, block.signs.shape[1] + 1)
            projected = project(block.rows, gaps=True)
            return {**found, "sum sketch": sketch_sums(projected, labels[:, None], begin)}

        return super().tally(both, each)


def read_sketch(tally: Tally, shape: tuple[int, int], largest: float = 1.0) -> Sketch:
    """The sketch of data of this shape that the blocks add up to, with the largest |y|."""
    return as_sketches(tally["sum sketch"], shape, [largest])[0]
