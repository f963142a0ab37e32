"""The data of Rugeles Ospina, chapter 2, for the checker: columns centred and of length one.

Row i counts wᵢ times, n = Σwᵢ. Each column is first shifted by a number t that is representable,
D = x − t, which changes nothing that is centred: with δ = ΣwD/n,

    C = ΣwDDᵀ − nδδᵀ,   σⱼ² = Cⱼⱼ,   XᵀX = C/σσᵀ.

With a the operations of a sum over the rows and ρ² the largest ΣwDⱼ²/σⱼ², an entry of C is off by
4γₐρ²σᵢσⱼ and one of XᵀX by 8γₐρ². `off` is more than twice that, with one ρ more for what D makes
of an error in r. `docs/theory/stagewise.md` has the proof. Columns that are constant, which is to
say that all entries are equal, have no length, and are zero. y is measured as a column is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Each, FloatArray, IntArray, Matrix
from cotas.certificates.blocks import TargetColumns, Watched
from cotas.certificates.core.definite import is_definite
from cotas.certificates.core.rounding import above, dot, gamma, norm_up, total_up, up
from cotas.certificates.core.rows import pairwise
from cotas.certificates.passes import as_rows, sketches_of, targets_of
from cotas.refusals import ParameterError
from cotas.source import Block, Source, Sums

# Up to so many rows or columns λ_pmin is bounded.
LARGEST_SPECTRUM = 3000
# Rows of a block, few for short sums; entries up to which sparse rows are made dense and shifted.
ROWS, DENSE = 256, 1e7
# Squares below this, or above its inverse, lose digits by underflow.
SMALLEST = 2.0**-900
TOO_MANY = (
    "Of rows in blocks a matrix with an entry for each pair of columns is kept, and {p} columns "
    "are too many: {most} at most."
)
OTHER_COUNT = "The blocks of the source hold {found} rows, and it says that it has {n}."
TOO_FLAT = "A column, or y, is too close to constant, too large or too small for double precision."


class ColumnStatistics(NamedTuple):
    """A first look at some rows with a weight: how many, Σw in parts, and how far columns go.

    The last column is y. What a sum of two says is about the rows of both.
    """

    rows: int
    weights: list[float]
    low: FloatArray
    high: FloatArray
    sums: FloatArray
    is_sparse: bool

    def __add__(self, other: Any) -> Any:
        return ColumnStatistics(
            self.rows + other.rows,
            self.weights + other.weights,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.sums + other.sums,
            self.is_sparse or other.is_sparse,
        )


def column_statistics(X: Matrix, y: FloatArray, w: FloatArray) -> ColumnStatistics:
    """Return the first look at rows all of which have a weight."""
    low, high = (np.asarray(end.todense()).ravel() if sparse.issparse(end) else end
                 for end in (X.min(axis=0), X.max(axis=0)))  # fmt: skip
    sums = np.append(np.asarray(X.sum(axis=0, dtype=np.float64)).ravel(), y.sum())
    ends = np.append(low, y.min()).astype(np.float64), np.append(high, y.max()).astype(np.float64)
    return ColumnStatistics(len(y), [math.fsum(w)], *ends, sums, sparse.issparse(X))


def with_weight(X: Matrix, y: FloatArray, w: FloatArray) -> tuple[Matrix, FloatArray, FloatArray]:
    """Return the rows that have a weight, with their y and their weights."""
    if w.shape != y.shape or not (np.isfinite(w) & (w >= 0)).all():
        raise ParameterError(
            "sample_weight", "The weights are not one finite number, zero or more, for each row."
        )
    return (X, y, w) if w.all() else (X[w > 0], y[w > 0], w[w > 0])


@dataclass(frozen=True)
class Products:
    """Products Σ wD beside Σ wDDᵀ of some rows, the last column of D being y.

    Where that matrix is not wanted, its last column and its diagonal take its place. Sparse rows
    are shifted where `dense`; otherwise no column that has a zero may have a shift.
    """

    shift: FloatArray
    dense: bool
    gram: bool

    def shifted(self, X: Matrix) -> Matrix:
        """Compute D of some rows, without y."""
        rows, shift = X.astype(np.float64), self.shift[:-1]
        if sparse.issparse(rows) and not self.dense:
            rows.data = rows.data - shift[rows.indices]
            return rows
        return (rows.toarray() if sparse.issparse(rows) else rows) - shift

    def __call__(self, X: Matrix, y: FloatArray, w: FloatArray) -> FloatArray:
        D, y = self.shifted(X), y - self.shift[-1]
        across = np.column_stack([w, w * y])
        edge = np.vstack([np.asarray(D.T @ across), y @ across])
        if not self.gram:
            squares = D.multiply(D) if sparse.issparse(D) else D * D
            return np.column_stack([edge, np.append(np.asarray(squares.T @ w), (y * y) @ w)])
        weighted = D.multiply(w[:, None]) if sparse.issparse(D) else D * w[:, None]
        inner: Any = D.T @ weighted
        inner = inner.toarray() if sparse.issparse(inner) else inner
        return np.column_stack([edge[:, 0], np.vstack([inner, edge[:-1, 1]]), edge[:, 1]])

    def over(self, X: Matrix, y: FloatArray, w: FloatArray, each: Each = map) -> FloatArray:
        """Sum over many rows, of which a few are added up at a time, then these two by two."""
        spans = [slice(a, a + ROWS) for a in range(0, len(y), ROWS)]
        found = pairwise(each(lambda span: self(X[span], y[span], w[span]), spans))[0]
        return np.asarray(found)


class UnitColumns:
    """Columns X and y as the theorems see them, without a copy of X; `objection` if they cannot be
    told."""

    def __init__(
        self, X: Matrix, y: AnyArray, weights: Any, centred: bool, each: Each = map
    ) -> None:
        self.X, self.each, targets = as_rows(X), each, targets_of(X.shape[0], y, [None])
        self.sketch, y = sketches_of(self.X, targets, each)[0], targets[:, 0]
        w = np.ones(len(y)) if weights is None else np.array(weights, dtype=np.float64)
        self.X, y, self.w = with_weight(self.X, y, w)
        self.y = y
        self.by_gram = self.X.shape[1] <= min(len(y), LARGEST_SPECTRUM)
        with np.errstate(all="ignore"):
            self._measure(
                column_statistics(self.X, y, self.w) if len(y) else None, self.X.shape[1], centred
            )
            self.y = y - self.mean[2] - self.mean[3]

    def _sum(self, products: Products) -> FloatArray:
        return products.over(self.X, self.y, self.w, self.each)

    def _measure(self, seen: ColumnStatistics | None, p: int, centred: bool) -> None:
        """Compute lengths and products of the columns, as `_sum` finds them, and their errors."""
        self.n = math.fsum(seen.weights) if seen is not None else 0.0
        if seen is None or not 0.0 < self.n < math.inf:
            raise ParameterError(
                "sample_weight", "The weights of the rows sum to nothing, or to too much."
            )
        self.rows, self.p, self.centred = seen.rows, p, centred
        shifts, flat, dense = self._shifts(seen, centred)
        self.products = Products(shifts, dense, self.by_gram)
        found = self._sum(self.products)
        squares = np.diagonal(found[:, 1:]) if self.by_gram else found[:, 2]
        across = found[:, -1] if self.by_gram else found[:, 1]
        delta = found[:, 0] / self.n * centred
        length = squares - self.n * delta**2
        still = bool(seen.low[p] == seen.high[p] == shifts[p])  # y is zero once it is shifted
        self.square = 0.0 if still else float(length[p])
        self.varies, self.scale = ~flat, np.sqrt(np.where(flat, 1.0, length[:p]))
        self.mean = (shifts[:p], delta[:p], float(shifts[p]), float(delta[p]))
        self.c0 = np.where(flat, 0.0, (across - self.n * delta * delta[p])[:p]) / self.scale
        used = np.append(self.varies, not still)
        known_lengths, ratio = length[used], squares[used] / length[used]
        # A sum of some rows, of these sums two by two, and of blocks in the same way.
        operations = ROWS + 4 * self.rows.bit_length() + 9
        spread = 1.01 * float(ratio.max(initial=1.0))
        self.rho = up(math.sqrt(spread)) if spread > 0 else math.nan
        self.off = above(gamma(16 * operations + 2 * self.p) * spread * self.rho, 4)
        sound = (
            self.off < 1e-3
            and ((known_lengths > SMALLEST) & (known_lengths < 1.0 / SMALLEST)).all()
        )
        self.objection = "" if sound and np.isfinite(self.c0).all() else TOO_FLAT
        self.G = self._gram(found[:p, 1 : p + 1], delta[:p])
        self.length = above(math.sqrt(max(0.0, self.square * (1 + self.off))), 4)  # ‖y‖

    def _shifts(self, seen: ColumnStatistics, centred: bool) -> tuple[FloatArray, AnyArray, bool]:
        """Compute t; which columns are constant, zero where nothing is centred; if D is dense.

        A sparse column can be shifted if it has no zeros: then every entry is stored.
        """
        dense = not seen.is_sparse or self.rows * self.p <= DENSE
        equal, low, high = seen.low == seen.high, seen.low, seen.high
        shifted = centred & (((low > 0) | (high < 0)) | dense)
        shifted[-1] = centred  # y is never sparse
        shifts = np.where(shifted, np.where(equal, low, seen.sums / seen.rows), 0.0)
        return shifts, (equal & (centred | (low == 0)))[:-1], dense

    def _gram(self, products: FloatArray, delta: FloatArray) -> FloatArray:
        if not self.by_gram:
            return np.zeros((0, 0))
        inverse = self.varies / self.scale
        found = (products - self.n * np.outer(delta, delta)) * np.outer(inverse, inverse)
        np.fill_diagonal(found, self.varies)
        return np.asarray(found)

    def columns(self, chosen: IntArray | slice) -> FloatArray:
        """Return some columns, as an array of their own."""
        picked: Any = self.X[:, chosen]
        dense = picked.toarray() if sparse.issparse(picked) else np.asarray(picked)
        shift, delta = self.mean[0][chosen], self.mean[1][chosen]
        found = (dense.astype(np.float64) - shift - delta) / self.scale[chosen]
        return np.asarray(found * self.varies[chosen])

    def correlations(self, states: FloatArray) -> FloatArray:
        """Compute Xᵀr for each state of a run: β where XᵀX is at hand, and r where it is not."""
        if self.by_gram:
            return self.c0[:, None] - self.G @ states
        spans = [slice(a, a + ROWS) for a in range(0, self.rows, ROWS)]

        def read(span: slice) -> FloatArray:
            D = self.products.shifted(self.X[span])
            return np.asarray(D.T @ (self.w[span][:, None] * states[span]))

        found = pairwise(self.each(read, spans))[0]
        return np.asarray(found * (self.varies / self.scale)[:, None])

    def curvature(self) -> tuple[float, float]:
        """Compute μ ≤ λ_pmin(XᵀX) and F ≥ ‖Xβ_LS‖².

        A, which a Cholesky factorization proves definite, is XᵀX − (μ + error)I for columns that
        are independent. For more columns than rows it is XXᵀ less the same: there √w is in
        the null space of the centred columns, and is added, so as to leave λ_pmin as it is.
        μ is zero where that does not run through: nothing is then known of λ_pmin.
        """
        used, most = np.flatnonzero(self.varies), above(self.square * (1 + self.off), 4)
        if self.objection or not 0 < min(self.rows, len(used)) <= LARGEST_SPECTRUM:
            return 0.0, most * bool(len(used))
        A = self.G[np.ix_(used, used)] if self.by_gram else self._kernel()
        values, vectors = np.linalg.eigh(A)
        error = above((self.p + 1) * (3 * self.off + gamma(2 * len(A) + 8)), 4)
        mu = _shortened(float(values[0]) - 4 * error)
        if mu <= 0.0 or not is_definite(A - up(mu + error) * np.eye(len(A))):
            return 0.0, most
        if not self.by_gram:
            return mu, most
        beta = np.zeros(self.p)
        beta[used] = vectors @ ((vectors.T @ self.c0[used]) / values)
        return mu, min(most, self._fitted(beta, mu))

    def _fitted(self, beta: FloatArray, mu: float) -> float:
        """Compute ‖Xβ_LS‖² = (‖y‖² − ‖r‖²) + ‖X(β − β_LS)‖² ≤ β·(c⁰ + c) + ‖c‖²/μ, rounded up."""
        c = self.correlations(beta[:, None])[:, 0]
        size = total_up(np.abs(beta))
        error = above(self.off * (self.length + size), 4)
        drop = total_up(beta * (self.c0 + c)) + above(4 * error * size, 4)
        return total_up([drop, above((norm_up(c) + error * math.sqrt(self.p)) ** 2 / mu, 8)])

    def _kernel(self) -> FloatArray:
        """Compute XXᵀ, by blocks of columns, and what makes it regular where they are centred."""
        roots = np.sqrt(self.w)[:, None]
        found = roots @ roots.T * (self.centred / self.n)
        width = max(1, (1 << 22) // (8 * self.rows))
        for start in range(0, self.p, width):
            part = roots * self.columns(slice(start, start + width))
            found += part @ part.T
        return found

    def apart(self, beta: FloatArray, coef: FloatArray, intercept: float) -> tuple[float, float]:
        """Tell how far at most the predictions of a model are from those of β, and what to compare.

        Columns have length one, so it is Σ|σⱼcoefⱼ − βⱼ| and √n times the difference of the bias.
        """
        shift, delta, y_shift, y_delta = self.mean
        moved = np.abs(np.where(self.varies, coef * self.scale - beta, 0.0))
        size = above(total_up(np.abs(beta)) + total_up(moved), 4)
        bias, off = dot(coef, shift, [intercept, -y_shift, -y_delta])
        far = total_up([abs(bias + float(coef @ delta)), off])
        root = math.sqrt(self.n)
        # σ and δ are off by less than `off` says, and so is the sum of coefⱼδⱼ.
        error = 4 * self.off * (size + self.length) + 8 * gamma(self.p + 8) * root * far
        whole = size + self.length + root * float(np.abs(coef) @ np.abs(shift) + abs(y_shift))
        whole += math.sqrt(SMALLEST)
        return above(total_up(moved) + root * far + error, 16), whole


def _shortened(x: float) -> float:
    """Round x down to 24 digits of its binary form: the same on every machine, nearly always."""
    part, exponent = math.frexp(max(x, 0.0))
    return math.ldexp(math.floor(part * 2**24), exponent - 24)


# ---- rows in blocks: two passes, and XᵀX stays -------------------------------------------------


def rows_of(block: Block) -> tuple[Matrix, FloatArray, FloatArray]:
    """Compute X, y and the weights of the rows of a block that have one."""
    return with_weight(as_rows(block.X), np.asarray(block.y, dtype=np.float64), block.shares())


@np.errstate(all="ignore")
def first_statistics(block: Block) -> Sums:
    """Tell how many rows a block has, and how far its columns go; y is the last."""
    X, y, w = rows_of(block)
    p = X.shape[1] + 1
    ends = (np.full(p, np.inf), np.full(p, -np.inf), np.zeros(p))
    seen = (
        column_statistics(X, y, w) if len(y) else ColumnStatistics(0, [], *ends, sparse.issparse(X))
    )
    return Sums(block.n_rows, seen)


@np.errstate(all="ignore")
def products_of(products: Products, block: Block) -> FloatArray:
    """Return the products of the columns of a block."""
    X, y, w = rows_of(block)
    p = X.shape[1]
    return products.over(X, y, w) if len(y) else np.zeros((p + 1, p + 2))


class BlockColumns(UnitColumns):
    """The columns of a source that has more rows than columns."""

    by_gram = True

    def __init__(self, watched: Watched, seen: ColumnStatistics, centred: bool) -> None:
        self.source = watched
        with np.errstate(all="ignore"):
            self._measure(seen, watched.n_features, centred)
        self.y, self.sketch = np.zeros(0), watched.sketches()[0]

    def _sum(self, products: Products) -> FloatArray:
        return self.source.map_reduce(partial(products_of, products))


def in_one_piece(block: Block) -> list[Any]:
    """Compute X, y and the weights of a block, in a list."""
    return [(as_rows(block.X), block.y, block.shares())]


def columns_in_blocks(
    source: Source, centred: bool, each: Each = map
) -> tuple[UnitColumns, AnyArray | None]:
    """Return the columns, and the least and the greatest weight if a row has another one than 1.

    Fewer rows than columns are taken together: the products of rows tell more then.
    """
    p = source.n_features
    if p > LARGEST_SPECTRUM:
        raise ValueError(TOO_MANY.format(p=p, most=LARGEST_SPECTRUM))
    watched = Watched.over(source, TargetColumns((None,)), each)
    found, seen = watched.map_reduce(first_statistics)
    if found != watched.n_rows:  # a block was left out, or came twice
        raise ValueError(OTHER_COUNT.format(found=found, n=watched.n_rows))
    ends = watched.ends_of_weights()
    weights = None if (ends == 1.0).all() else ends
    if p <= seen.rows:
        return BlockColumns(watched, seen, centred), weights
    rows, y, w = zip(*watched.map_reduce(in_one_piece), strict=True)
    alike = all(map(sparse.issparse, rows))
    parts = [part.toarray() if sparse.issparse(part) and not alike else part for part in rows]
    X = sparse.vstack(parts, format="csr") if alike else np.vstack(parts)
    return UnitColumns(X, np.concatenate(y), np.concatenate(w), centred, each), weights
