"""F = Σ cₘfₘ computed again from its functions, with a bound on what rounding did to it.

After k rounds F is off by at most δ = γ(k + 8)·Σ|cₘ||fₘ|, and by Σ|cₘ|·(what fₘ is off).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Self, TypeGuard, cast

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, IntArray, Matrix
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
from cotas.certificates.passes import (
    as_rows,
    class_signs,
    project,
    read_span,
    refuse_other_labels,
    sketch_sums,
)
from cotas.certificates.presentation import against_the_rest, in_words, other_rows
from cotas.certificates.theorems.products import MERGE, Totals
from cotas.certificates.theorems.weak_learners import Learners, PlainTrees, numbers
from cotas.certificates.witnesses import Parametric

LONG_BLOCK_BYTES, LONG_BLOCK_ROWS = 1 << 24, 1 << 15
# Of each number below 256 its bits, the lowest first.
PATTERNS = (np.arange(256)[:, None] >> np.arange(8)) & 1
Read = Callable[[slice, Matrix, FloatArray], Totals]


@dataclass(frozen=True)
class Combination:
    """A combination F = Σ cₘ fₘ."""

    learners: Learners
    coefficients: FloatArray


class Terms(NamedTuple):
    """Terms cₘfₘ of one round for each class on some rows, how far it may be off, and its size."""

    cf: FloatArray  # until the next round, which may be written to the same place
    off: FloatArray | float
    size: float
    largest: float  # of |f|
    votes: bool  # every f is ±1, and of several classes exactly one has +1
    eight: IntArray | None = None  # of up to eight rounds together: a bit for each that says f = 1


class RoundWeights:
    """The weights wᵢ ∝ sᵢ exp(−F of the right class) of each round on some rows, f being ±1.

    They are made anew after eight rounds: rows that are wrong in the same of them are alike.
    """

    def __init__(self, w: FloatArray, c: FloatArray) -> None:
        self.w, self.c, self.m = w.copy(), c, 0
        self.sums, self.wrong = np.zeros(len(c) + 1), np.zeros(len(c))
        self.sums[0] = w.sum()
        self._seen, self._bits = 0, np.zeros(len(w), dtype=np.uint8)

    def one(self, added: FloatArray) -> None:
        """Weigh by one round: by the ±c that it adds to F of the right class."""
        # The sign of a zero tells it too, where c is zero.
        wrong = np.signbit(added) ^ np.signbit(self.c[self.m + self._seen])
        self._bits |= np.left_shift(wrong.view(np.uint8), np.uint8(self._seen))
        self._seen += 1
        if self._seen == len(self.c[self.m : self.m + 8]):
            self.eight(self._bits.astype(np.intp))
            self._seen, self._bits[:] = 0, 0

    def eight(self, wrong: IntArray) -> None:
        """Weigh by up to eight rounds: by a bit for each that says whether f is wrong."""
        c = self.c[self.m : self.m + 8]
        patterns, rounds = PATTERNS[:, : len(c)], slice(self.m, self.m + len(c))
        alike = np.bincount(wrong, self.w, len(patterns))
        factors = np.exp(np.where(patterns, c, -c))
        grown = np.cumprod(np.column_stack([alike, factors]), axis=1)
        self.wrong[rounds] = (grown[:, :-1] * patterns).sum(axis=0)
        self.m += len(c)
        self.sums[rounds.start + 1 : rounds.stop + 1] = grown[:, 1:].sum(axis=0)
        self.w *= factors.prod(axis=1).take(wrong)

    def totals(self) -> Totals:
        """Sum over these rows, to be added to those of others."""
        return {"sum weights": self.sums, "sum wrong": self.wrong}


class Lead(NamedTuple):
    """The lead: F of a row, or how far its class is ahead of each other one, up to the slack of the
    row."""

    ahead: FloatArray
    slack: FloatArray
    largest: float  # of |f|
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
    def positives(self) -> list[Any]:
        """Return the labels that count as +1; none where numbers are predicted."""
        return []

    @property
    def rounds(self) -> int:
        return len(self.combinations[0].learners)

    def about(self, coef: FloatArray, intercept: float) -> Self:
        rows = np.atleast_2d(np.asarray(coef, dtype=np.float64))
        pairs = zip(self.combinations, rows, strict=True)
        return self.made_of(replace(c, coefficients=row) for c, row in pairs)

    def made_of(self, combinations: Iterable[Combination]) -> Self:
        """Return the same witness about another model."""
        return replace(self, combinations=tuple(combinations))

    def check(self, X: Matrix, y: AnyArray, each: Each = map) -> Certificate:
        data_pass = self.data_pass(X, y)
        n = data_pass.X.shape[0]
        return self.proved(
            lambda: self.measure(data_pass, ExampleWeights.of(self.weights, n), each)
        )

    def proved(self, measure: Callable[[], Certificate]) -> Certificate:
        """Return what is measured, or why nothing can be."""
        try:
            self.refuse_unsound()
            return measure()
        except Objection as why:
            return conclude(
                self.kind, 0.0, math.inf, statement="Nothing is proved.", reference="",
                witness=self, sketch=None, objection=in_words(why), vacuous=True,
            )  # fmt: skip

    def data_pass(self, X: Matrix, y: AnyArray, first: int = 0) -> LongPass:
        """Return rows from the given one on, to be read in blocks."""
        return LongPass(X, y, self.positives, first)

    def measure(self, data_pass: LongPass, weights: ExampleWeights, each: Each) -> Certificate:
        """Return what is proved of the model, which is sound."""
        raise NotImplementedError

    def trusted(self) -> list[str]:
        """Return what is believed of the functions without a look."""
        return sorted({said for c in self.combinations for said in c.learners.trusted()})

    def size(self) -> tuple[float, float]:
        """Compute Σ|c| of a combination, rounded down and up; of several the largest."""
        sizes = [np.abs(c.coefficients).tolist() for c in self.combinations]
        return max(0.0, *map(total_down, sizes)), max(0.0, *map(total_up, sizes))

    def refuse_unsound(self) -> None:
        """Object to what is no model: coefficients or functions that do not fit."""
        for c in self.combinations:
            if len(numbers(c.coefficients, "the coefficients")) != len(c.learners):
                raise Objection("There is not one coefficient for each function.")

    def terms(self, rows: Matrix) -> Iterator[Terms]:
        """Yield what each round adds to F of each class."""
        c = np.array([numbers(one.coefficients, "the coefficients") for one in self.combinations])
        learners = [one.learners for one in self.combinations]
        if _alike(learners):
            yield from _terms_of_trees(cast(list[PlainTrees], learners), c, rows)
            return
        for m, found in enumerate(zip(*(f.enclosed(rows) for f in learners), strict=True)):
            pairs = list(zip(np.abs(c[:, m]).tolist(), found, strict=True))
            f = np.stack([value.f for value in found])
            off = np.maximum.reduce([a * value.off for a, value in pairs])
            largest = max(value.size for value in found)
            votes = largest == 1.0 and bool(_votes(f))
            size = max(a * value.size for a, value in pairs)
            yield Terms(c[:, m, None] * f, off, size, largest, votes)

    def added(self, F: FloatArray, rows: Matrix, after: Callable[[Terms], None]) -> Lead:
        """Compute F and what all rounds add to it, as computed; `after` is shown each round."""
        off, size, largest, votes = np.zeros(F.shape[1]), 0.0, 0.0, True
        most = float(np.abs(F).max(initial=0.0))
        for terms in self.terms(rows):
            F += terms.cf
            size += terms.size
            largest, votes = max(largest, terms.largest), votes and terms.votes
            if isinstance(terms.off, np.ndarray):
                off += terms.off
            after(terms)
        k = self.rounds + 8
        # k products for each of two classes, and three roundings of such numbers.
        delta = up(above(2 * gamma(k) * (size + most), k) + TINY)
        slack = off * (min(len(F), 2) + 4 * gamma(k)) + delta
        return Lead(F, slack, largest, votes, bool(off.any()))


@dataclass(frozen=True, kw_only=True)
class Labelled(Combined):
    """A combination for each class; with one of them `classes` has one entry, where F > 0."""

    classes: AnyArray

    @property
    def positives(self) -> list[Any]:
        return list(np.ravel(self.classes))

    @property
    def subject(self) -> str:
        """Return the class that is told from the rest; with several classes at once, none."""
        return against_the_rest(self.positives[0]) if len(self.positives) == 1 else ""

    def refuse_unsound(self) -> None:
        """Object also to classes that are not those of the combinations."""
        K = len(self.combinations)
        if np.shape(self.classes) != (K,) or K in (0, 2) or len(np.unique(self.classes)) < K:
            raise Objection("The classes are not those of the combinations.")
        super().refuse_unsound()

    def terms(self, rows: Matrix) -> Iterator[Terms]:
        """Yield the same; of one combination of trees of ±1 eight rounds at a time."""
        trees = self.combinations[0].learners
        if len(self.combinations) > 1 or not _are_signs(trees):
            yield from super().terms(rows)
            return
        c = numbers(self.combinations[0].coefficients, "the coefficients")
        bits = np.where(trees.value > 0, 1 << np.arange(len(trees))[:, None] % 8, 0)
        leaves = trees.leaves(rows, bits.astype(np.uint8))
        for k in range(0, len(c), 8):
            some = c[k : k + 8]
            eight = reduce(np.bitwise_or, islice(leaves, 8)).astype(np.intp)
            cf = ((2.0 * PATTERNS[:, : len(some)] - 1.0) @ some).take(eight)
            yield Terms(cf[None], 0.0, float(np.abs(some).sum()), 1.0, True, eight)

    def lead(self, rows: Matrix, signs: FloatArray, weights: RoundWeights | None = None) -> Lead:
        """Compute by how much the right class is ahead of each other one, F being computed here.

        The weights of the rounds are followed, if there are any.
        """
        K = len(self.combinations)
        at = np.arange(len(signs))
        own = signs.argmax(axis=1) if K > 1 else np.zeros_like(at)
        if K > 1 and not (signs.max(axis=1) > 0).all():
            raise Objection("The data have a class that the model does not know.")
        wrong = np.where(signs[:, 0] > 0, 255, 0)

        def follow(terms: Terms) -> None:
            if weights is None:
                return
            if terms.eight is not None:
                weights.eight(terms.eight ^ wrong)
            else:
                weights.one(terms.cf[own, at] if K > 1 else signs[:, 0] * terms.cf[0])

        found = self.added(np.zeros((K, len(signs))), rows, follow)
        F = found.ahead
        ahead = (signs[:, 0] * F[0])[None] if K == 1 else F[own, at] - F
        if K > 1:
            ahead[own, at] = np.inf
        return found._replace(ahead=ahead)


def _are_signs(f: Learners) -> TypeGuard[PlainTrees]:
    """Tell whether they are trees of ±1."""
    if not isinstance(f, PlainTrees) or not np.size(f.value):
        return False
    return bool((np.abs(numbers(f.value, "the leaves of the trees", 2)) == 1.0).all())


def _terms_of_trees(trees: Sequence[PlainTrees], c: FloatArray, rows: Matrix) -> Iterator[Terms]:
    """Compute the same for trees with the same tests, where a row has one leaf for all classes."""
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
    """Tell whether all are trees with the same tests."""
    first, *others = learners
    return isinstance(first, PlainTrees) and all(first.same_tests(f) for f in others)


def _votes(values: FloatArray) -> AnyArray:
    """Tell whether all are ±1 (last index), and exactly one of several classes (first) is +1."""
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
        """Return the weights that a witness has for n rows; none are equal ones."""
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
        """Compute Σ wᵢvᵢ/Σ wᵢ from both sides, each v with so many roundings; w = 0 hides a row."""
        return self.quotient(*weighted_total(self.w, values, operations))

    def quotient(self, low: float, high: float) -> tuple[float, float]:
        """Return both over Σ wᵢ, which lies between two numbers itself."""
        return (
            down(min(low / self.mass, low / self.most)) - TINY,
            up(max(high / self.mass, high / self.most)) + TINY,
        )

    def share(self, count: int, weight: float, n: int) -> float:
        """Return the share that so many of n examples have, none heavier than this, rounded up."""
        if not count:
            return 0.0
        return min(1.0, up(count / n) if self.uniform else self.quotient(0.0, float(weight))[1])


def weighted_total(w: FloatArray, values: FloatArray, operations: int = 2) -> tuple[float, float]:
    """Compute Σ wᵢvᵢ from both sides, each v with so many roundings; w = 0 hides a row."""
    used = w > 0
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        products = w[used] * values[used]
    value, off = total(products)
    size = total(np.abs(products))[0] if (products < 0).any() else value
    off = up(off + above(gamma(operations + 2) * above(size, 64)) + TINY)
    return down(value - off), up(value + off)


# ---- the rows, and the fingerprint of data that may have gaps ----------------------------------


class LongPass:
    """A pass over X and y in long blocks: each is read many times, once for every function of the
    combination.

    `first` is the number of the first row, where they are some of many. Where no label counts as
    +1, the targets themselves take the place of the signs.
    """

    def __init__(self, X: Matrix, y: AnyArray, positives: Sequence[Any], first: int = 0) -> None:
        self.X, self.y, self.positives, self.first = as_rows(X), np.asarray(y), positives, first
        if not len(positives):
            self.y = self.y.astype(np.float64, copy=False)
        refuse_other_labels(self.X, self.y)

    def totals(self, read: Read, each: Each = map) -> Totals:
        """Collect what `read` finds in all blocks, and the sums for a sketch of the data.

        It is given the place of some rows, the rows in double precision, and ±1 for each class.
        """

        def one(span: slice) -> Totals:
            rows, y = read_span(self.X, span), self.y[span]
            signs = class_signs(y, self.positives) if len(self.positives) else y[:, None]
            found = read(span, rows, signs)
            labels = signs @ np.arange(1.0, signs.shape[1] + 1)
            begin = self.first + span.start
            sketch = sketch_sums(project(rows, gaps=True), labels[:, None], begin)
            return {**found, "sum sketch": sketch}

        n, d = self.X.shape
        most = int(np.clip(LONG_BLOCK_BYTES // (8 * max(1, d)), 1, LONG_BLOCK_ROWS))
        rows = -(-n // -(-n // most))  # blocks of about the same length
        total: Totals = {}
        for part in each(one, [slice(a, min(a + rows, n)) for a in range(0, n, rows)]):
            for name, value in part.items():
                total[name] = MERGE[name[:3]](total[name], value) if name in total else value
        return total
