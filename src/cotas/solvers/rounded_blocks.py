"""The rows of the support vector machine with a rounded hinge, when they come in blocks.

It answers as `HingeRows` does, and keeps nothing of the rows: the centres of the dual
variables are made anew from the rounds before (`cotas/rounds.py`). Each answer is one pass, in
which the Newton system is summed up as well; a step of length one that the line search accepts has
made the answer for the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import FloatArray, IntArray, Matrix
from cotas.design import add, as_design, canonical, dot, n_vectors
from cotas.loops import loop
from cotas.rounds import FIRST_CENTRE, Rounds
from cotas.solvers.rounded_hinge import Response, add_border, add_diagonal, add_gram, bend
from cotas.source import Block, Source, Sums, double


class Place(NamedTuple):
    """A model, a smoothing and the rounds before: they determine α in every row."""

    rounds: Rounds
    theta: FloatArray
    theta0: float
    nu: float
    total: float  # Σ of the weights as they are given

    @property
    def path(self) -> Rounds:
        """The rounds before and this place, as if it were the end of one more."""
        return self.rounds.followed_by(self.theta, self.theta0, self.nu)

    def respond(
        self, rows: Any, block: Block, combination: FloatArray
    ) -> tuple[FloatArray, IntArray, tuple[float, float, float]]:
        """s, the curved rows and the sums of a sparse block, in one loop; adds Σ αᵢyᵢxᵢ."""
        s, curved = block.shares() / self.total, np.empty(block.n_rows, dtype=np.int64)
        count, *sums = respond_anew(rows, block.y, s, self.path, combination, curved)
        balance, loss, total = sums
        return s, curved[:count], (balance, loss, total)

    def part(self, block: Block, span: slice) -> tuple[Matrix, FloatArray, FloatArray, FloatArray]:
        """X, s, the excess e and the part α/s before it is clipped, of some rows of a block."""
        X, y = double(block.X[span]), block.y[span]
        s = block.shares()[span] / self.total
        excess = y * (np.asarray(X @ self.theta) + self.theta0) - 1.0
        return X, s, excess, self.rounds.parts(X, y) - excess / (2.0 * self.nu)


@loop
def respond_anew(
    rows: Any,
    y: FloatArray,
    s: FloatArray,
    rounds: Rounds,
    combination: FloatArray,
    curved: IntArray,
) -> tuple[int, float, float, float]:
    """α of each row from all the rounds, the last of which is where we are; adds Σ αᵢyᵢxᵢ.

    Returns how many rows are curved, which `curved` lists, and Σ αᵢyᵢ, Σ sᵢ max(0, −eᵢ) and Σ αᵢ.
    """
    balance = loss = total = 0.0
    count = 0
    for i in range(n_vectors(rows)):
        part, e = FIRST_CENTRE, 0.0
        for k in range(len(rounds.biases)):
            e = y[i] * (dot(rows, i, rounds.thetas[k]) + rounds.biases[k]) - 1.0
            part = min(max(part, 0.0), 1.0) - e / (2.0 * rounds.smoothings[k])
        if 0.0 < part < 1.0 and s[i] > 0.0:
            curved[count] = i
            count += 1
        alpha = s[i] * min(max(part, 0.0), 1.0)
        loss += s[i] * max(0.0, -e)
        total += alpha
        balance += alpha * y[i]
        if alpha != 0.0:
            add(rows, i, alpha * y[i], combination)
    return count, balance, loss, total


def _curved(part: FloatArray, s: FloatArray) -> IntArray:
    return np.flatnonzero((part > 0.0) & (part < 1.0) & (s > 0.0))


class System(NamedTuple):
    """Σ sᵢ(xᵢ, 1)(xᵢ, 1)ᵀ over curved rows, the lower triangle of it at least.

    Sparse rows are kept as they are as long as they take less room than their sum: a page of them
    fills few entries of a matrix that may be larger than the page.
    """

    d: int
    rows: tuple[tuple[Matrix, FloatArray], ...] = ()
    gram: FloatArray | None = None

    @classmethod
    def of_sparse(cls, X: Matrix, s: FloatArray, curved: IntArray) -> System:
        """Of some rows of a block: these, or their sum if that takes more than adding sums up."""
        if not len(curved):
            return cls(X.shape[1])
        rows = X[curved]
        found, entries = cls(X.shape[1], ((rows, s[curved]),)), 1.0 + rows.nnz / len(curved)
        if 0.5 * len(curved) * entries**2 < (found.d + 1) ** 2:
            return found
        return cls(found.d, gram=found.total())

    @property
    def n_bytes(self) -> int:
        """Of the rows."""
        return sum(X.data.nbytes + X.indices.nbytes + s.nbytes for X, s in self.rows)

    def total(self) -> FloatArray:
        """The sum itself."""
        if self.gram is not None:
            return self.gram
        d = self.d
        gram = np.zeros((d + 1, d + 1))
        for X, s in self.rows:
            rows, every = as_design(X), np.arange(len(s))
            add_gram(rows, s, every, gram[:d, :d])
            gram[d, d] += add_border(rows, s, every, gram[d, :d])
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
    """Σ αᵢyᵢxᵢ, Σ αᵢyᵢ, Σ sᵢ max(0, −eᵢ) and Σ αᵢ of a block; its Newton system if it is small."""

    place: Place
    with_gram: bool

    def __call__(self, block: Block) -> Sums:
        return self._of_sparse(block) if sparse.issparse(block.X) else self._of_dense(block)

    def _of_sparse(self, block: Block) -> Sums:
        """In one loop over the rows, which Python has nothing to do with."""
        X, combination = canonical(block.X), np.zeros(block.X.shape[1])
        s, curved, sums = self.place.respond(as_design(X), block, combination)
        system = System.of_sparse(X, s, curved) if self.with_gram else System(X.shape[1])
        return Sums(combination, *sums, system)

    def _of_dense(self, block: Block) -> Sums:
        """Some rows at a time, since their products are those of matrices."""
        d = block.X.shape[1]
        combination, gram = np.zeros(d), np.zeros((d + 1, d + 1) if self.with_gram else 0)
        balance = loss = total = 0.0
        for span in block.spans():
            X, s, excess, part = self.place.part(block, span)
            alpha = s * np.clip(part, 0.0, 1.0)
            signed = alpha * block.y[span]
            combination += X.T @ signed
            balance += float(signed.sum())
            loss += float(s @ np.maximum(0.0, -excess))
            total += float(alpha.sum())
            if self.with_gram:
                _add_gram(gram, X, s, _curved(part, s))
        return Sums(combination, balance, loss, total, System(d, gram=gram))


def _add_gram(gram: FloatArray, X: FloatArray, s: FloatArray, curved: IntArray) -> None:
    """Σ sᵢ(xᵢ, 1)(xᵢ, 1)ᵀ over some dense rows."""
    if not len(curved):
        return
    d, rows, weights = X.shape[1], X[curved], s[curved]
    gram[d, :d] += rows.T @ weights
    gram[d, d] += float(weights.sum())
    scaled = rows * np.sqrt(weights)[:, None]
    gram[:d, :d] += scaled.T @ scaled


@dataclass(frozen=True)
class Diagonal:
    """Σ sᵢ(xᵢ, 1)² over the curved rows of a block."""

    place: Place

    def __call__(self, block: Block) -> FloatArray:
        found = np.zeros(block.X.shape[1] + 1)
        if sparse.issparse(block.X):
            rows = as_design(block.X)
            s, curved, _ = self.place.respond(rows, block, np.zeros(block.X.shape[1]))
            add_diagonal(rows, s, curved, found[:-1])
            found[-1] = float(s[curved].sum())
            return found
        for span in block.spans():
            X, s, _, part = self.place.part(block, span)
            curved = _curved(part, s)
            found[:-1] += np.square(X[curved]).T @ s[curved]
            found[-1] += float(s[curved].sum())
        return found


@dataclass(frozen=True)
class Bend:
    """Σ sᵢ(xᵢ, 1)(xᵢ, 1)ᵀ over the curved rows of a block, times a direction."""

    place: Place
    direction: FloatArray

    def __call__(self, block: Block) -> FloatArray:
        found = np.zeros(len(self.direction))
        theta, theta0 = self.direction[:-1], float(self.direction[-1])
        if sparse.issparse(block.X):
            rows = as_design(block.X)
            s, curved, _ = self.place.respond(rows, block, np.zeros(block.X.shape[1]))
            found[-1] = bend(rows, s, curved, theta, theta0, found[:-1])
            return found
        for span in block.spans():
            X, s, _, part = self.place.part(block, span)
            curved = _curved(part, s)
            rows = X[curved]
            pressed = s[curved] * (rows @ theta + theta0)
            found[:-1] += rows.T @ pressed
            found[-1] += float(pressed.sum())
        return found


class BlockRows:
    """As `HingeRows`, for a source whose y is ±1 and whose weights sum to `total`."""

    def __init__(self, source: Source, total: float, largest_system: int) -> None:
        self.source, self.total = source, total
        self.n_features = source.n_features
        self.with_gram = self.n_features <= largest_system
        self.rounds = Rounds.none(self.n_features)
        self.passes = 0
        self._at = (np.zeros(self.n_features), 0.0)
        self._along = self._at
        self._known: tuple[Place, Response, System] | None = None

    @property
    def alpha(self) -> Rounds:
        """What makes α of any row, as it is now."""
        assert self._known is not None
        return self._known[0].path

    def place(self, theta: FloatArray, theta0: float) -> None:
        """Begin at this θ."""
        self._at = (theta, theta0)

    def look_along(self, theta: FloatArray, theta0: float) -> None:
        """The direction of the next step."""
        self._along = (theta, theta0)

    def move(self, length: float) -> None:
        """So far in that direction."""
        self._at = self._after(length)

    def _after(self, length: float) -> tuple[FloatArray, float]:
        return self._at[0] + length * self._along[0], self._at[1] + length * self._along[1]

    def recentre(self) -> None:
        """The centres are where α is now."""
        self.rounds = self.alpha

    def respond(self, nu: float) -> Response:
        """All the sums at the present θ, in one pass unless they are known from the last step."""
        return self._answer(*self._at, nu)

    def slope(self, nu: float, length: float) -> float:
        """Σ αᵢ·turnᵢ after a step of this length: what moves with θ in all the sums."""
        answer = self._answer(*self._after(length), nu)
        return float(answer.combination @ self._along[0]) + answer.balance * self._along[1]

    def _answer(self, theta: FloatArray, theta0: float, nu: float) -> Response:
        known = self._known
        if known is not None:
            place, answer, _ = known
            same = place.nu == nu and len(place.rounds.biases) == len(self.rounds.biases)
            if same and place.theta0 == theta0 and np.array_equal(place.theta, theta):
                return answer
        place = Place(self.rounds, theta, theta0, nu, self.total)
        self.passes += 1
        found = self.source.map_reduce(Respond(place, self.with_gram))
        combination, balance, loss, total, system = found
        answer = Response(combination, balance, loss, total, [])
        self._known = (place, answer, system)
        return answer

    def gram(self, curved: list[IntArray]) -> FloatArray:
        """Σ sᵢ(xᵢ, 1)(xᵢ, 1)ᵀ over the curved rows, summed up with the last answer."""
        assert self._known is not None
        return self._known[2].total()

    def diagonal(self, curved: list[IntArray]) -> FloatArray:
        """Σ sᵢ(xᵢ, 1)² over the curved rows."""
        assert self._known is not None
        self.passes += 1
        return self.source.map_reduce(Diagonal(self._known[0]))

    def bend(self, curved: list[IntArray], direction: FloatArray) -> FloatArray:
        """Σ sᵢ(xᵢ, 1)(xᵢ, 1)ᵀ over the curved rows, times a direction."""
        assert self._known is not None
        self.passes += 1
        return self.source.map_reduce(Bend(self._known[0], direction))
