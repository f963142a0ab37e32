"""Least squares from products: on batches whose rows are gone, and on rows far more than columns.

Of each batch the checker adds up G = Σ sᵢaᵢaᵢᵀ with a = (x, 1, y), while the rows are there, x and
y being measured from a fixed point m near the rows of the first batch. G determines P for every
model, with w = (θ, b + m·(θ, −1), −1):  P = ½ wᵀGw/S + (λ/2) Σ (σⱼθⱼ)², its slope and curvature.
Rounding leaves |G − Ĝ|ᵢⱼ ≤ γ√(GᵢᵢGⱼⱼ), since each entry is a sum of products.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, no_certificate
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.choices import SAMPLE, in_columns, shift_of, some_rows
from cotas.certificates.core.curvature import WITHIN, SquaredFound, fall, penalties
from cotas.certificates.core.hessian import Hessian, worth_storing
from cotas.certificates.core.rounding import (
    SMALL,
    TINY,
    U,
    above,
    below,
    dot,
    down,
    gamma,
    norm_up,
    total,
    up,
)
from cotas.certificates.core.rows import pairwise
from cotas.certificates.core.sparse_rows import flipped, made_of
from cotas.certificates.least_squares import SquaredLossPoint, in_certificate
from cotas.certificates.passes import (
    ROUNDED,
    Sketch,
    as_rows,
    as_sketches,
    project,
    read_span,
    sketch_sums,
    targets_of,
)
from cotas.certificates.presentation import in_words
from cotas.certificates.verification import MOST_ENTRIES

# Bytes of a block, which a cache should hold, and its rows, dense ones being added up so many at a
# time: the more are, the more rounding is charged for.
BLOCK_BYTES, DENSE_ROWS, SPARSE_ROWS, PIECE = 1 << 21, 8192, 2048, 256
# The part of an objective by which the rows themselves may prove less.
ROOM = 2e-10

GONE = (
    "The rows of earlier batches are gone; the numbers are from products that the checker added up "
    "itself, batch by batch. verify(X, y) with all the rows, in the order in which they came, "
    "computes them again."
)


@dataclass(frozen=True)
class Stream:
    """The Gram matrix Ĝ of the batches so far, with an entry for each target after the features and
    the one.

    Attributes
    ----------
    centre : the point that rows are measured from, features and targets
    roundings : that each entry of Ĝ went through, at most
    weight : bounds of Σ of the weights as they were given
    """

    batches: int
    n_rows: int
    weight: tuple[float, float]
    centre: FloatArray = field(repr=False)
    gram: FloatArray = field(repr=False)
    roundings: int
    sketches: list[Sketch]
    weights: FloatArray | None  # of all the rows, where one of them had a weight

    @classmethod
    def of_rows(
        cls, X: Matrix, y: AnyArray, weights: FloatArray | None, columns: Sequence[int | None],
        each: Each = map, before: Self | None = None,
    ) -> Self:  # fmt: skip
        """Return the products of one batch, with those of the batches `before` it, in one pass."""
        X, start = as_rows(X), 0 if before is None else before.n_rows
        (n, d), is_sparse = X.shape, bool(sparse.issparse(X))
        targets = targets_of(n, y, columns)
        centre = _centre_of(X, targets) if before is None else before.centre
        roots = None if weights is None else np.sqrt(weights)

        def read(span: slice) -> Any:
            part = read_span(X, span)
            others = np.ones((1 + len(centre) - d, part.shape[0]))
            np.subtract(targets[span].T, centre[d:, None], out=others[1:])
            squares = _squares(part, others, centre[:d], None if roots is None else roots[span])
            return squares, sketch_sums(project(part), targets[span], start + span.start)

        spans, sums = _spans(X), []

        def squares() -> Iterator[FloatArray]:  # one after another: each is as large as G
            for found, part in each(read, spans):
                sums.append(part)
                yield found

        with np.errstate(over="ignore", invalid="ignore"):
            gram, additions = pairwise(squares())
        value, off = (float(n), 0.0) if weights is None else total(weights)
        weight = (down(value - off), up(value + off)) if off else (value, value)
        stop = spans[0].stop
        roundings = (stop if is_sparse else min(stop, PIECE + stop // PIECE + 1)) + additions + 8
        most = np.abs(targets).max(axis=0)
        sketches = as_sketches(np.asarray(sum(sums)), (start + n, d), most)
        one = cls(1, n, weight, centre, gram, roundings, sketches, weights)
        return one if before is None else before._and(one)

    @classmethod
    def of_few_columns(
        cls, X: Matrix, y: AnyArray, weights: FloatArray | None, column: int | None
    ) -> Self | None:
        """Return those of one target, where G is not larger than the rows, nor very large."""
        n, d = X.shape
        return cls.of_rows(X, y, weights, [column]) if d <= n and d * d <= MOST_ENTRIES else None

    @property
    def shift(self) -> FloatArray | None:
        """Return what x was measured from; None for zero."""
        centre = self.centre[: len(self.centre) - len(self.sketches)]
        return centre if centre.any() else None

    def products(self) -> tuple[FloatArray | None, FloatArray, list[FloatArray]]:
        """Return the shifts of x and y, then Σsxxᵀ, Σsx, Σsxyᵀ, Σsy and Σsy²: for a solver."""
        G, d = self.gram, len(self.centre) - len(self.sketches)
        seconds = G.diagonal()[d + 1 :]
        sums = [G[:d, :d], G[:d, d], G[:d, d + 1 :], G[d, d + 1 :], seconds]
        return self.shift, self.centre[d:], sums

    def products_with(self, c: int) -> FloatArray:
        """Compute Ĝ of the columns, the one and a single target."""
        k, G = len(self.sketches), self.gram
        if k == 1:
            return G
        used = [*range(len(G) - k), len(G) - k + c]
        return np.asarray(G[np.ix_(used, used)])

    def _and(self, other: Self) -> Self:
        """Return these batches and one more."""
        low, high = (a + b for a, b in zip(self.weight, other.weight, strict=True))
        return replace(
            self,
            batches=self.batches + 1,
            n_rows=self.n_rows + other.n_rows,
            weight=(down(low), up(high)),
            gram=self.gram + other.gram,
            roundings=max(self.roundings, other.roundings) + 1,
            sketches=[_both(*pair) for pair in zip(self.sketches, other.sketches, strict=True)],
            weights=self._all_weights(other),
        )

    def _all_weights(self, other: Self) -> FloatArray | None:
        if self.weights is None and other.weights is None:
            return None
        parts = [np.ones(s.n_rows) if s.weights is None else s.weights for s in (self, other)]
        return np.concatenate(parts)

    def certificates(self, points: Sequence[SquaredLossPoint]) -> list[Certificate]:
        """Return a certificate for each target, about all the batches and their weights."""
        note = f"{self.n_rows:,} rows came in {self.batches} batches. {GONE}"
        return [one.noted(note) for one in self.proved(points)]

    def proved(
        self, points: Sequence[SquaredLossPoint], collinear: bool = False
    ) -> list[Certificate]:
        """Return the same of rows that are still there.

        Where nothing bends P along some direction, those of models within ρ, if the columns are
        known to be `collinear`: of others the rows may prove more.
        """
        return [
            self._certificate(c, replace(p, weights=self.weights), collinear)
            for c, p in enumerate(points)
        ]

    @np.errstate(all="ignore")  # what is not finite is refused
    def bounds(self, c: int, point: SquaredLossPoint, collinear: bool) -> SquaredFound:
        """Compute P of a model, and the least value that its slope and curvature allow."""
        d, (low, high), free = len(point.coef), self.weight, point.free_bias
        if point.intercept and not free:
            raise Objection("bias")
        theta, centre = np.asarray(point.coef, np.float64), self.centre[:d]
        bias, bias_off = dot(centre, theta, [point.intercept, -self.centre[d + c]])
        w = np.concatenate([theta, [bias, -1.0]])
        G = self.products_with(c)
        if not (np.isfinite(G).all() and np.isfinite(w).all() and low > 0):
            raise Objection("not finite")
        factor, loose = gamma(2 * (self.roundings + len(w)) + 16), high / low - 1.0
        roots = np.sqrt(np.maximum(np.diag(G), 0.0)) * (1 + factor) + SMALL
        scale = np.ones(d) if point.penalty_scale is None else point.penalty_scale
        added, Gw = penalties(point.lam, scale), G @ w
        spread = above(float(np.abs(w) @ roots) + bias_off * float(roots[d]), len(w) + 4)
        value, off = total(w * Gw)
        doubt = up(off + above((factor * spread + 4 * bias_off * roots[d]) * spread, 6))
        penalty, more = total(0.5 * added * theta * theta)
        most = up(above(0.5 * up(max(value, 0.0) + doubt) / low, 4) + above(up(penalty + more), 6))
        least = down(below(0.5 * max(0.0, down(value - doubt)) / high, 4))
        least = down(least + below(penalty - more, 6))
        # Models are w = J(θ, b), or w = Jθ where the bias is what the centre asks for.
        J = np.eye(d + 1) if free else np.vstack([np.eye(d), centre])
        root, curved = math.sqrt(low), np.append(added, [0.0] * free)
        rows = np.abs(J).T @ roots[:-1] / root * (1 + factor)
        across = np.hypot(rows, np.sqrt(curved))
        units = np.exp2(np.round(np.log2(np.where(across > SMALL, across, 1.0))))
        bent = curved * w[: len(curved)]
        g = (J.T @ Gw[:-1] / low + bent) / units
        sizes = norm_up(rows / units)
        noise = above(((factor + loose) * spread + bias_off * roots[d]) / root * sizes, 8)
        noise += above(8 * U * norm_up(bent / units), 2)
        H = (J.T @ G[:-1, :-1] @ J / high + np.diag(curved)) / units / units[:, None]
        wide = above((factor + loose) * sizes * sizes + 8 * U * float(np.trace(np.abs(H))), d + 8)
        hessian = Hessian(H, np.ones(len(H)), wide)
        mu, within, way = hessian.least(), math.inf, 0.0
        if mu == 0.0:
            if not collinear:
                raise Objection("collinear")
            length = norm_up(w[: len(g)] * units)
            reach = above(math.sqrt(2 * most) + math.sqrt(up(float(G[-1, -1])) / low), 6)
            within = above(WITHIN * max(length, reach))
            # Columns whose squares underflow have no unit of their own, in which ρ could be told.
            tiny = (G.diagonal()[:d] <= TINY) | (across[:d] <= SMALL)
            way = math.inf if tiny.any() else up(within + length)
        drop = fall(hessian, mu, g, up(noise), way)
        lower = max(0.0, down(least - drop.most))
        # The rows themselves may prove a little less: the bounds leave room for that.
        lower, most = lower * (1 - ROOM), most * (1 + ROOM)
        own = 2 * (most - least)
        bounds = Bounds.proved(lower, most, own + min(drop.blur, least), 0.0, own)
        return SquaredFound(bounds, within=within)

    def _certificate(self, c: int, point: SquaredLossPoint, collinear: bool) -> Certificate:
        try:
            found = self.bounds(c, point, collinear)
        except Objection as objection:
            return no_certificate(in_words(objection), (), point)
        constant, square = self.constant_model(c, point.free_bias)
        about = (found, constant + ROUNDED * square, self.sketches[c])
        return in_certificate(point, *about, weights=point.weights)

    def constant_model(self, c: int, free_bias: bool) -> tuple[float, float]:
        """Return the mean loss of the mean of y, and Σ sᵢyᵢ²/S, as for targets in memory."""
        size, d = sum(self.weight) / 2, len(self.centre) - len(self.sketches)
        mean, square = (self.gram[i, d + 1 + c] / size for i in (d, d + 1 + c))
        about_zero = float(square + self.centre[d + c] * (self.centre[d + c] + 2 * mean))
        return 0.5 * float(square - mean**2) if free_bias else 0.5 * about_zero, about_zero


def _spans(X: Matrix) -> list[slice]:
    """Return blocks that stay in the cache: each has few Python calls, and few roundings."""
    n, entries, most = X.shape[0], X.shape[1], DENSE_ROWS
    if sparse.issparse(X):
        entries, most = X.nnz / n, SPARSE_ROWS
    step = int(min(max(1, BLOCK_BYTES // (8 * max(1.0, entries))), most))
    return [slice(a, min(a + step, n)) for a in range(0, n, step)]


def _centre_of(X: Matrix, targets: FloatArray) -> FloatArray:
    """Return a point near the rows, by a look at some of them: any will do."""
    if sparse.issparse(X):  # blocks of sparse rows that are moved are made dense
        X = X[:: max(1, X.shape[0] // SAMPLE)].toarray()
    shift, middle = shift_of(in_columns(some_rows(X))), np.add.reduce(targets) / len(targets)
    return np.concatenate([np.zeros(X.shape[1]) if shift is None else shift, middle])


def _squares(
    part: Matrix, others: FloatArray, centre: FloatArray, roots: FloatArray | None
) -> FloatArray:
    """Compute Σ saaᵀ of some rows, a = (x − centre, others); of sparse rows by what they store."""
    d = part.shape[1]
    others = others if roots is None else others * roots
    whole = np.empty((d + len(others),) * 2)
    if sparse.issparse(part) and not centre.any() and worth_storing(part):
        if roots is not None:
            data = part.data * np.repeat(roots, np.diff(part.indptr))
            part = made_of(type(part), (data, part.indices, part.indptr), part.shape)
        turned = flipped(part)
        whole[:d, :d], whole[d:, :d] = (turned @ part).toarray(), (turned @ others.T).T
        whole[d:, d:] = others @ others.T
    else:
        rows: FloatArray = part.toarray() if sparse.issparse(part) else part
        rows = rows - centre if centre.any() else rows
        rows = rows if roots is None else rows * roots[:, None]
        whole[:d, :d] = _in_pieces(rows.T, rows)
        whole[d:, :d] = [_in_pieces(row[None], rows)[0] for row in others]
        whole[d:, d:] = _in_pieces(others, others.T)
    whole[:d, d:] = whole[d:, :d].T
    return whole


def _in_pieces(left: FloatArray, right: FloatArray) -> FloatArray:
    """Compute the product of two matrices from pieces of what is summed over; none is copied."""
    even = len(right) - len(right) % PIECE
    lefts = left[:, :even].reshape(len(left), -1, PIECE).transpose(1, 0, 2)
    found = np.matmul(lefts, right[:even].reshape(-1, PIECE, right.shape[1])).sum(axis=0)
    return np.asarray(found + left[:, even:] @ right[even:] if even < len(right) else found)


def _both(one: Sketch, other: Sketch) -> Sketch:
    """Return the sketch of two batches; the second has counted the rows of the first already."""
    sums = {
        name: getattr(one, name) + getattr(other, name) for name in ("entries", "labels", "scale")
    }
    return replace(other, **sums, label_scale=max(one.label_scale, other.label_scale))
