"""The rows of the support vector machine with a rounded hinge, when they come in blocks.

Each block answers as `HingeRows` do, and nothing of the rows is kept: the centres of the dual
variables are made anew from the rounds before (`cotas/rounds.py`). Each answer is one pass, in
which the Newton system is summed up as well; a step of length one that the line search accepts has
made the answer for the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import FloatArray, IntArray, Sparse
from cotas.design import as_design, canonical
from cotas.rounds import Rounds
from cotas.solvers.rounded_hinge import HingeRows, Response, recall, sum_up_curved
from cotas.source import Block, Source, Sums


class DualState(NamedTuple):
    """A model, a smoothing and the rounds before: they determine α in every row."""

    rounds: Rounds
    theta: FloatArray
    theta0: float
    nu: float
    total: float  # Σ of the weights as they are given

    @property
    def path(self) -> Rounds:
        """Return the rounds before and this place, as if it were the end of one more."""
        return self.rounds.followed_by(self.theta, self.theta0, self.nu)

    def answered(self, block: Block) -> tuple[HingeRows, Response]:
        """Return the rows of a block as rows in memory, and what they say here."""
        given = (np.asarray(block.y, dtype=np.float64), block.shares() / self.total)
        rows = HingeRows(as_design(block.X), *given, map, spans=1)
        recall(rows.rows, rows.state.y, self.rounds, rows.state.centre)
        rows.place(self.theta, self.theta0)
        return rows, rows.respond(self.nu)


class System(NamedTuple):
    """The system Σ sᵢ(xᵢ, 1)(xᵢ, 1)ᵀ over curved rows, the lower triangle of it at least.

    Sparse rows are kept as they are as long as they take less room than their sum: a page of them
    fills few entries of a matrix that may be larger than the page.
    """

    d: int
    rows: tuple[tuple[Sparse, FloatArray], ...] = ()
    gram: FloatArray | None = None

    @classmethod
    def of_sparse(cls, X: Sparse, s: FloatArray, curved: IntArray) -> System:
        """Take some rows of a block: these, or their sum if that takes more than adding sums up."""
        if not len(curved):
            return cls(X.shape[1])
        rows = X[curved]
        found, entries = cls(X.shape[1], ((rows, s[curved]),)), 1.0 + rows.nnz / len(curved)
        if 0.5 * len(curved) * entries**2 < (found.d + 1) ** 2:
            return found
        return cls(found.d, gram=found.total())

    @property
    def n_bytes(self) -> int:
        """Return the bytes of the rows."""
        return sum(X.data.nbytes + X.indices.nbytes + s.nbytes for X, s in self.rows)

    def total(self) -> FloatArray:
        """Return the sum itself."""
        if self.gram is not None:
            return self.gram
        gram = np.zeros((self.d + 1, self.d + 1))
        for X, s in self.rows:
            sum_up_curved(as_design(X), s, np.arange(len(s)), gram)
        return gram

    def __add__(self, other: Any) -> Any:
        if self.gram is not None or other.gram is not None:
            return System(self.d, gram=self.total() + other.total())
        both = System(self.d, self.rows + other.rows)
        if both.n_bytes <= 8 * (self.d + 1) ** 2:
            return both
        return System(self.d, gram=both.total())


@dataclass(frozen=True)
class Respond:
    """Sums Σ αᵢyᵢxᵢ, Σ αᵢyᵢ, Σ sᵢ max(0, −eᵢ) and Σ αᵢ of a block; its Newton system if it is
    small."""

    place: DualState
    with_gram: bool

    def __call__(self, block: Block) -> Sums:
        rows, answer = self.place.answered(block)
        sums = (answer.combination, answer.balance, answer.loss, answer.total)
        return Sums(*sums, self._system(block, rows, answer.curved))

    def _system(self, block: Block, rows: HingeRows, curved: list[IntArray]) -> System:
        if not self.with_gram:
            return System(rows.n_features)
        if sparse.issparse(block.X):
            return System.of_sparse(canonical(block.X), rows.state.weights, curved[0])
        return System(rows.n_features, gram=rows.gram(curved))


@dataclass(frozen=True)
class Diagonal:
    """The diagonal Σ sᵢ(xᵢ, 1)² over the curved rows of a block."""

    place: DualState

    def __call__(self, block: Block) -> FloatArray:
        rows, answer = self.place.answered(block)
        return rows.diagonal(answer.curved)


@dataclass(frozen=True)
class Bend:
    """The product Σ sᵢ(xᵢ, 1)(xᵢ, 1)ᵀ over the curved rows of a block, times a direction."""

    place: DualState
    direction: FloatArray

    def __call__(self, block: Block) -> FloatArray:
        rows, answer = self.place.answered(block)
        return rows.bend(answer.curved, self.direction)


class BlockRows:
    """Rows as `HingeRows`, for a source whose y is ±1 and whose weights sum to `total`."""

    def __init__(self, source: Source, total: float, largest_system: int) -> None:
        self.source, self.total = source, total
        self.n_features = source.n_features
        self.with_gram = self.n_features <= largest_system
        self.rounds = Rounds.none(self.n_features)
        self.passes = 0
        self._at = (np.zeros(self.n_features), 0.0)
        self._along = self._at
        self._known: tuple[DualState, Response, System] | None = None

    @property
    def alpha(self) -> Rounds:
        """Return what makes α of any row, as it is now."""
        assert self._known is not None
        return self._known[0].path

    def place(self, theta: FloatArray, theta0: float) -> None:
        """Begin at this θ."""
        self._at = (theta, theta0)

    def set_direction(self, theta: FloatArray, theta0: float) -> None:
        """Take the direction of the next step."""
        self._along = (theta, theta0)

    def move(self, length: float) -> None:
        """Move so far in that direction."""
        self._at = self._after(length)

    def _after(self, length: float) -> tuple[FloatArray, float]:
        return self._at[0] + length * self._along[0], self._at[1] + length * self._along[1]

    def recentre(self) -> None:
        """Move the centres to where α is now."""
        self.rounds = self.alpha

    def respond(self, nu: float) -> Response:
        """Compute all the sums at the present θ, in one pass unless they are known from the last
        step."""
        return self._answer(*self._at, nu)

    def slope(self, nu: float, length: float) -> float:
        """Compute Σ αᵢ·turnᵢ after a step of this length: what moves with θ in all the sums."""
        answer = self._answer(*self._after(length), nu)
        return float(answer.combination @ self._along[0]) + answer.balance * self._along[1]

    def _answer(self, theta: FloatArray, theta0: float, nu: float) -> Response:
        known = self._known
        if known is not None:
            place, answer, _ = known
            same = place.nu == nu and len(place.rounds.biases) == len(self.rounds.biases)
            if same and place.theta0 == theta0 and np.array_equal(place.theta, theta):
                return answer
        place = DualState(self.rounds, theta, theta0, nu, self.total)
        self.passes += 1
        found = self.source.map_reduce(Respond(place, self.with_gram))
        combination, balance, loss, total, system = found
        answer = Response(combination, balance, loss, total, [])
        self._known = (place, answer, system)
        return answer

    def gram(self, curved: list[IntArray]) -> FloatArray:
        """Compute Σ sᵢ(xᵢ, 1)(xᵢ, 1)ᵀ over the curved rows, summed up with the last answer."""
        assert self._known is not None
        return self._known[2].total()

    def diagonal(self, curved: list[IntArray]) -> FloatArray:
        """Compute Σ sᵢ(xᵢ, 1)² over the curved rows."""
        assert self._known is not None
        self.passes += 1
        return self.source.map_reduce(Diagonal(self._known[0]))

    def bend(self, curved: list[IntArray], direction: FloatArray) -> FloatArray:
        """Compute Σ sᵢ(xᵢ, 1)(xᵢ, 1)ᵀ over the curved rows, times a direction."""
        assert self._known is not None
        self.passes += 1
        return self.source.map_reduce(Bend(self._known[0], direction))
