"""What the core guesses for itself, and how large the pieces are in which it reads.

Any answer would do for a bound to be true, as with those of `choices.py`; only these do for it to
be tight and quick. So each is compared with what it stands for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from cotas.certificates.core import (
    blocks,
    choices,
    composites,
    gap,
    gram,
    hessian,
    margins,
    residuals,
    sparsity,
)
from cotas.certificates.core import (
    rows as framed,
)
from cotas.certificates.core.blocks import Claims
from cotas.certificates.core.bounds import Pull
from cotas.certificates.core.gap import L2, Margin, Risk
from cotas.certificates.core.gram import CHUNK
from cotas.certificates.core.sparse_rows import rows_in
from laws.exact.as_written import U, as_written, differ
from laws.exact.oracle import put
from laws.exact.summed_as_written import _passes

LOSSES = (
    gap.Hinge(), margins.SquaredHinge(), margins.ModifiedHuber(), margins.Logistic(),
    margins.Exponential(), margins.HardMargin(), residuals.Squared(), residuals.Huber(0.5),
    residuals.EpsilonInsensitive(0.25),
)  # fmt: skip


def derivatives(rng: np.random.Generator) -> Iterator[str]:
    """The slope of a loss is how its value rises; at the corner of the hinge, half of it."""
    n, h = 12, 2.0**-17
    signs, z = np.where(rng.random(n) < 0.5, 1.0, -1.0), rng.normal(size=n) * 2
    for loss in LOSSES:
        y = signs if isinstance(loss, Margin) else z + rng.normal(size=n)
        low, here, high = (loss.value(y, z + way, 0.0) for way in (-h, 0.0, h))
        rise = (high - low) / (2 * h)
        bent = np.abs(high - 2 * here + low) / h
        found, smooth = loss.slope(y, z), bent <= 1e-3 * (1 + np.abs(rise))
        if not np.allclose(found[smooth], rise[smooth], rtol=1e-4, atol=1e-6):
            yield f"{loss}: slopes {found}, and it rises by {rise}"
    beside = np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0])
    found = gap.Hinge().slope(np.ones(7), 1.0 + 1e-6 * beside)
    if not np.allclose(found, -np.clip(0.5 - 0.5 * beside, 0.0, 1.0), rtol=0, atol=1e-6):
        yield f"slopes at the corner of the hinge: {found}"


def reaches(rng: np.random.Generator) -> Iterator[str]:
    """The largest multiple that a penalty allows, and what λ₂β leaves of u; of blocks too."""
    d, positive = 3, bool(rng.random() < 0.3)
    u, unit, theta = rng.normal(size=d) * 3, 2.0 ** rng.integers(-2, 3, size=d), rng.random(d)
    w, pull = rng.uniform(0.3, 3.0, size=d), Pull(u, unit, 0.3)
    share, lam1 = (float(v) for v in rng.uniform(0.2, 2.0, size=2))
    for lam2 in (0.0, 0.7):
        net = sparsity.ElasticNetRegularizer(lam1, lam2, positive, w)
        left = pull._replace(u=u + lam2 / share * w * w * theta)
        with as_written(sparsity):
            largest = max(0.0, float(net.sizes(left).max()))
            found = net.reach(pull, theta, share) if largest else math.nan
        edge = lam1 / (share * largest) if largest else math.nan
        if largest and not math.isclose(found, edge * (1 - 16 * U), rel_tol=1e-12):
            yield f"a multiple of {found}, not {edge}"
        if not lam2 and largest:
            t = net.reach(pull, theta, share)
            ends = net.conjugate(pull, t, share), net.conjugate(pull, t * (1 + 1e-9), share)
            if ends != (0.0, math.inf):
                yield f"the multiple {t} is not the largest: {ends}"
    yield from _other_reaches(rng)


def _other_reaches(rng: np.random.Generator) -> Iterator[str]:
    asked: list[Any] = []
    answers = rng.choice([0.25, 0.5, 3.0, math.inf], size=2).tolist()

    def reach(pull: Any, theta: Any, share: float) -> float:
        asked.append((pull, theta, share))
        return float(answers[len(asked) % 2])

    penalty: Any = SimpleNamespace(reach=reach, lam=1.0)
    passes = _passes(rng, margins.Logistic(), penalty, False, 0.0)[0]
    with as_written(blocks):
        found = passes._reach(0)
        own = passes.pull(0), passes.claims.thetas[:, 0], 1.0 / passes.low
        if found != min(1.0, answers[1]) or not all(map(np.array_equal, asked[0][1:], own[1:])):
            yield f"a multiple of {found}, asked with {asked[0]}"


def bases(rng: np.random.Generator) -> Iterator[str]:
    """Another basis makes H the identity, but for the shift that its factor needs."""
    d = int(rng.integers(1, 5))
    B, scale = rng.normal(size=(d, d)), 2.0 ** rng.integers(-3, 4, size=d)
    H = hessian.Hessian(B @ B.T + np.eye(d), scale, 0.1)
    before = np.eye(d) + 0.3 * rng.normal(size=(d, d))
    with as_written(hessian):
        shift = 2 * H.rounding()
        T, after = H.basis(), H._replace(T=before).basis()
    whole = (H.matrix + shift * np.eye(d)) / scale / scale[:, None]
    yield from differ("basis", T.T @ whole @ T + 9.0, np.eye(d) + 9.0)
    yield from differ("basis after another", after + 99.0, before @ T + 99.0)
    if hessian.Hessian(-np.eye(d), scale, 0.1).basis() is not None:
        yield "a basis of what is not definite"


class _Parts:
    """Some rows in blocks, with their targets and weights."""

    def __init__(self, rng: np.random.Generator, X: Any, y: Any, s: Any, dense: int) -> None:
        cuts = np.sort(rng.integers(1, len(y), size=int(rng.integers(0, 4))))
        ends = [*dict.fromkeys([0, *cuts.tolist()]), len(y)]
        self.parts = [
            SimpleNamespace(
                X=X[a:b].toarray() if hasattr(X, "toarray") and dense == k else X[a:b],
                start=a,
                y=y[a:b],
                s=None if s is None else s[a:b],
            )
            for k, (a, b) in enumerate(pairwise(ends))
        ]

    def map_reduce(self, function: Any) -> Any:
        first, *others = [function(part) for part in self.parts]
        for other in others:
            first = first + other
        return first


def frames(rng: np.random.Generator) -> Iterator[str]:
    """Rows in blocks are measured as the same rows in memory are, and so are their targets."""
    for _ in range(4):
        yield from _framed(rng)


def _framed(rng: np.random.Generator) -> Iterator[str]:
    n, d, free = int(rng.integers(2, 60)), int(rng.integers(1, 4)), bool(rng.random() < 0.7)
    X = rng.normal(size=(n, d)) * 2.0 ** rng.integers(-9, 9, size=d) + rng.choice([0.0, 1e4, 1e4])
    X = X * (rng.random((n, d)) < rng.choice([0.8, 1.0, 1.0]))
    s = None if rng.random() < 0.3 else rng.random(n) * (rng.random(n) < rng.choice([0.1, 0.8]))
    y, loss = rng.normal(size=(n, 2)) + 5.0, LOSSES[int(rng.choice([3, 6]))]
    y[0, 1] = rng.choice([1.0, 1.0, math.inf])
    sparse, dense = bool(rng.random() < 0.5), int(rng.choice([-1, -1, 0]))
    given = csr_matrix(X) if sparse else X
    source = _Parts(rng, given, y, s, dense)
    claims = Claims(
        Risk(loss, L2(1.0), free), np.zeros((d, 2)), (0.0, 0.0), lambda b: (b.y, b.s), (), n, d
    )
    sample = int(rng.integers(2, 20))
    many = -(-n // max(1, n // sample)) * d + int(rng.random() < 0.7)
    with put(choices, SAMPLE=sample, LARGEST_SAMPLE=many), np.errstate(all="ignore"):
        frame, middles = blocks.frame_of(source, claims)
        mixed = sparse and dense == 0  # sparse rows beside dense ones are moved too
        own = rows_in(X if mixed else given, free).frame
    if not (mixed and len(source.parts) > 1):
        same = np.array_equal(frame.unit, own.unit)
        moved = (frame.shift is None) == (own.shift is None)
        if moved and own.shift is not None:
            moved = np.allclose(frame.shift, own.shift, rtol=1e-12, atol=0.0)
        if not (same and moved):
            yield f"rows in blocks are measured by {frame}, and not by {own}"
    used = y if s is None else y[s > 0]
    mean = used.mean(axis=0) if len(used) else np.zeros(2)
    follows = free and loss.moves
    yield from differ("targets", middles, np.where(np.isfinite(mean), mean, 0.0) * follows)


def pieces(rng: np.random.Generator) -> Iterator[str]:
    """Sparse blocks of no more bytes than dense ones, and products of K in blocks of one size."""
    n, d = int(rng.integers(1, 40)), int(rng.integers(1, 20))
    X = csr_matrix(rng.random((n, d)) * (rng.random((n, d)) < rng.choice([0.0, 0.05, 0.5])))
    most = [int(v) for v in rng.integers(1, (400, 9))]
    with put(framed, BLOCK_BYTES=most[0], BLOCK_ROWS=most[1]):
        spans = rows_in(X, False).spans
    tall = max(span.stop - span.start for span in spans)
    entries = max(1.0, 2 * X.nnz / n)
    if tall != min(n, most[1], max(1, int(most[0] // (8 * entries)))):
        yield f"blocks of {tall} rows, with {entries} numbers each: {most}"
    n, used, size = int(rng.integers(3, 60)), int(rng.integers(1, 12)), int(rng.integers(2, 9))
    W, asked = np.zeros((n, 1)), list[tuple[int, int]]()
    W[:used] = 1.0

    class Seen(gram.Gram):
        def block(self, A: Any, B: Any, columns: Any) -> Any:
            asked.append((A.shape[0], B.shape[0]))
            return super().block(A, B, columns)

    custom = ("custom", lambda A, B: A @ B.T)
    with put(gram, BLOCK=size):
        Seen(custom, rng.normal(size=(n, 2))).times(W, np.ones(n, bool))
    used = min(n, used)
    height = max(size, size * size // used) if used <= size else size
    if max(a for a, _ in asked) != min(n, height) or max(b for _, b in asked) != min(used, size):
        yield f"blocks of {asked} for {used} of {n} rows, of {size}"
    sums = sum(a * b for a, b in asked)
    if sums != n * used:
        yield f"{sums} values of {n} × {used}"
    yield from _filled(rng)


def _filled(rng: np.random.Generator) -> Iterator[str]:
    """Sparse rows are filled up where that is worth it, and left as they are where not."""
    X = csr_matrix(np.eye(4)[:, [0, 1, 2, 3, 0, 1]][: int(rng.integers(1, 5))])
    size, count = X.shape[0] * X.shape[1], X.nnz
    rbf, linear = ("rbf", 1.0, 1.0), ("linear",)
    for name, side, columns, width in (
        (rbf, "left", 6, "wide"),
        (rbf, "right", 6, "narrow"),
        (rbf, "right", 5, "wide"),
        (linear, "left", 6, "other"),
        (linear, "right", 6, "other"),
    ):
        for more in (-1e-9, 1e-9):
            worth = {"narrow": 0.0, "wide": 0.0, "other": 0.0, width: size / count + more}
            with put(gram, WORTH_FILLING=worth, NARROW=columns):
                found = gram.Gram(name, X).read(slice(None), side)
            if isinstance(found, np.ndarray) != (more > 0):
                yield f"{type(found)} of {count} entries in {size}, worth {worth}"


class _Watched(np.ndarray):
    """An array that remembers how many products were added up at a time."""

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **more: Any) -> Any:
        plain = [np.asarray(a) for a in given]
        if ufunc is np.matmul:
            self.longest.append(plain[0].shape[-1])
        return getattr(ufunc, method)(*plain, **more)

    def __array_finalize__(self, other: Any) -> None:
        self.longest = getattr(other, "longest", [])


def chunks(rng: np.random.Generator) -> Iterator[str]:
    """No sum of products is longer than what γ counts, and all the products are in one."""
    n = int(rng.integers(1, 6 * CHUNK))
    K, w = rng.normal(size=(3, n)), rng.normal(size=(n, 2))
    watched: Any = K.view(_Watched)
    watched.longest = []
    found = gram.chunked_times(watched, w)
    yield from differ("chunks", found + 99.0, K @ w + 99.0)
    if max(watched.longest) > CHUNK:
        yield f"sums of {watched.longest} products of {n}"


def centres(rng: np.random.Generator) -> Iterator[str]:
    """Rows are looked at from the middle of the others, however few these are."""
    d = int(rng.integers(1, 4))
    b, a, W = rng.normal(size=(1, d)) + 3.0, rng.normal(size=(3, d)), np.eye(d)
    found = gram.falling(a, b, 1.0, 0.0)
    least = gram.raised(gram.gamma(2 * d + 20) * 1.1)
    yield from differ("a row from itself", found.right[1], [least])
    one, two, *_ = composites._whitened(a, b, W)
    yield from differ("whitened", one + 9.0, a - b + 9.0)
    if two.any():
        yield f"a row from itself is {two} away"


GUESSES = (derivatives, reaches, bases, frames, pieces, chunks, centres)
