"""The same thing in two ways: in blocks and in memory, scaled and not, at once and in pieces.

Besides what a part refuses when only one of several numbers is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from cotas.certificates.core import gap, gram, rounding, softmax
from cotas.certificates.core.blocks import Claims, Pulled, Sharp, block_bounds
from cotas.certificates.core.bounds import Objection, Pull
from cotas.certificates.core.curvature import SquaredRisk
from cotas.certificates.core.gap import L2, Claim, Risk, Weights
from cotas.certificates.core.imbalance import longest
from cotas.certificates.core.margins import Logistic, SquaredHinge
from cotas.certificates.core.residuals import Huber, Squared
from cotas.certificates.core.sparse_rows import rows_in
from cotas.certificates.core.sparsity import ElasticNetRegularizer
from cotas.certificates.core.squared_blocks import BlockSquaredRisk
from laws.exact.as_written import as_written, differ
from laws.exact.guesses import _Parts
from laws.exact.oracle import Rational, put, rational


def squares_in_blocks(rng: np.random.Generator) -> Iterator[str]:
    """Least squares prove from blocks what they prove of the rows in memory."""
    n, d, free, lam = 30, 2, bool(rng.random() < 0.5), float(rng.choice([0.0, 0.1]))
    X, y, s = rng.normal(size=(n, d)), rng.normal(size=(n, 1)), rng.random(n) + 0.1
    theta, bias = rng.normal(size=d), 0.3 * free
    claims = Claims(
        Risk(Squared(), L2(lam), free), theta[:, None], (bias,), lambda b: (b.y, b.s), (None,), n, d
    )
    blocks = BlockSquaredRisk(_Parts(rng, X, y, s, -1), claims, 10)
    [found] = blocks.all_bounds(1e-9, [0.0])
    risk = SquaredRisk(lam, None, rows_in(X, free), free, s, 10)
    [other] = risk.bounds([Claim(claims.risk, y[:, 0], theta, bias)], 1e-9)
    if found.how != "rows" or other.how not in ("rows", "few rows", "turned"):
        yield f"least squares by {found.how} and by {other.how}"
    ends = [(one.bounds.lower, one.bounds.upper) for one in (found, other)]
    if not np.allclose(ends[0], ends[1], rtol=1e-7):
        yield f"least squares between {ends[0]} in blocks, and {ends[1]}"
    # Of a sum of weights that is hardly known the smaller end makes P larger.
    blocks.w = Weights(None, 0.5 * blocks.w.low, 2.0 * blocks.w.high)
    losses, slope = 0.5 * s @ (X @ theta + bias - y[:, 0]) ** 2 / s.sum(), blocks._of_model(0)
    bent = 0.5 * lam * float(theta @ theta)
    yield from differ("P", (slope.upper, slope.least), (2 * losses + bent, 0.5 * losses + bent))


def risks_in_blocks(rng: np.random.Generator) -> Iterator[str]:
    """The other losses as well: a model that is not the best, and the slopes at it.

    With λ₁ and λ₂ fewer multiples of the slopes are tried in blocks, unless one has a formula.
    """
    n, d, free = 20, 2, bool(rng.random() < 0.5)
    X, theta = rng.normal(size=(n, d)), 0.1 * rng.normal(size=d)
    signs = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    s = rng.random(n) + 0.1
    for loss in (gap.Hinge(), Logistic(), SquaredHinge(), Huber(0.5), Squared()):
        for penalty in (L2(0.5), ElasticNetRegularizer(0.1, 0.5), ElasticNetRegularizer(0.05)):
            if not loss.quadratic and getattr(penalty, "lam2", 0.0):
                continue
            y = signs if isinstance(loss, gap.Margin) else X[:, 0] + 0.1 * signs
            claims = Claims(
                Risk(loss, penalty, free), theta[:, None], (0.0,), lambda b: (b.y, b.s), (None,),
                n, d,
            )  # fmt: skip
            [found] = block_bounds(_Parts(rng, X, y[:, None], s, -1), claims)
            claim = Claim(claims.risk, y, theta, 0.0)
            [other] = gap.all_bounds(rows_in(X, free), [claim], s)
            one, two = found.bounds, other.bounds
            if not np.allclose((one.lower, one.upper), (two.lower, two.upper), rtol=1e-6):
                yield f"{claims.risk}: {one} in blocks, and {two}"


def scaled(rng: np.random.Generator) -> Iterator[str]:
    """Lengths of vectors go with their unit, whatever it is; so do sums that are kept in two."""
    n, power = int(rng.choice([3, 300])), int(rng.integers(-400, 400))
    a = rng.normal(size=n)
    one, other = rounding.norm_up(a), rounding.norm_up(a * 2.0**power) * 2.0**-power
    if not math.isclose(one, other, rel_tol=1e-12) or not math.isclose(one, np.linalg.norm(a)):
        yield f"{n} numbers of the length {one}, and {other} in another unit"
    unit = 2.0 ** rng.integers(-9, 9, size=3)
    pulled = Pulled.of(Pull(a[:3] * unit, unit, 0.5))
    yield from differ("mass", (pulled.mass, pulled.off), (np.linalg.norm(a[:3]), 0.5))
    X = rng.normal(size=(4, 2))
    lengths = [longest(rows_in(X * 2.0**k, False)) * 2.0**-k for k in (0, -9, 9)]
    yield from differ("longest", lengths, [lengths[0]] * 3)
    if not lengths[0] >= np.linalg.norm(X, axis=1).max():
        yield f"rows no longer than {lengths[0]}"
    parts = [1.0, -1.0, 1.0, 2.0**-60, float(rng.uniform(1, 2)) * 2.0**-120]
    sharp, exact = Sharp.of(parts), sum(rational(parts), Rational(0))
    wrong = abs(Rational(sharp.value) + Rational(sharp.tail) - exact)
    if not 0 < wrong <= Rational(sharp.off) <= Rational(2) ** -110:
        yield f"{sharp} is {float(wrong)} away"


def in_pieces(rng: np.random.Generator) -> Iterator[str]:
    """Products with K, at once where rows are few, and each pair of blocks once where they are not.

    The values are the same, in any blocks.
    """
    n, size = int(rng.integers(2, 30)), int(rng.integers(2, 12))
    X, W = rng.normal(size=(n, 2)), np.zeros((n, 1))
    used = int(rng.integers(1, n + 1))
    W[:used], asked = rng.normal(size=(used, 1)), list[Any]()
    spec = ("rbf", 0.5, 1.0)

    class Seen(gram.Gram):
        def block(self, A: Any, B: Any, columns: Any) -> Any:
            asked.append((A.shape[0], B.shape[0]))
            return super().block(A, B, columns)

    with put(gram, BLOCK=size):
        found, off = Seen(spec, X).times(W, np.ones(n, bool))
    whole = gram.Gram(spec, X).times(W, np.ones(n, bool))[0]
    if not (np.abs(found - whole) <= 2 * off).all():
        yield f"products {found}, and {whole} at once"
    pieces = -(-used // size)
    height = max(size, size * size // used) if pieces == 1 else size
    once = n > size
    count = pieces * (pieces + 1) // 2 if once else 0
    count += pieces * -(-(n - used if once else n) // height)
    if len(asked) != count:
        yield f"{asked} for {used} of {n} rows in blocks of {size}, not {count}"
    rows = gram.Gram(spec, X).read(slice(0, 2))
    if not np.shares_memory(rows, X):
        yield "rows were copied"


def nearly_far(rng: np.random.Generator) -> Iterator[str]:
    """Which pairs of long rows are so far apart that their value is nothing, with large units."""
    d, far = 2, float(rng.uniform(25.0, 30.0))
    t = rng.uniform(30.0, 110.0, size=6)
    B = far * np.array([[1.0, 0.0], [-1.0, 0.0]])
    A = B[:1] + np.sqrt(t)[:, None] * np.array([0.0, 1.0])
    with as_written(gram):
        found = gram.falling(A, B, 1.0, 0.0).K[:, 0]
        bound = gram.gamma(2 * d + 20)
    sure = t - 2.02 * bound * ((A**2).sum(axis=1) + far**2) - 40.0
    clear = np.abs(sure) > 1e-6
    yield from differ("far", found[clear], np.where(sure >= 0, 0.0, np.exp(-t))[clear])


def without_a_rest(rng: np.random.Generator) -> Iterator[str]:
    """Where Σ cᵢ is zero a bias takes nothing away, however large it may be."""
    asked: list[Any] = []
    penalty = SimpleNamespace(loose=lambda *given: 0.3)
    c = np.array([1.0, -1.0]) * float(rng.uniform(0.1, 1.0))
    claim = Claim(Risk(Squared(), penalty, True), np.ones(2), np.ones(1), 0.0, c)
    with put(gap, best_multiple=lambda *given: asked.append(given)):
        gap.lower(claim, None, Weights(np.ones(2), 2.0, 2.0), None, 1.0)
    if asked[0][5:7] != (0.0, 0.3):
        yield f"a bias takes {asked[0][5:7]} away"


def _refused(code: str, call: Callable[[], Any]) -> Iterator[str]:
    try:
        with np.errstate(all="ignore"):
            yield f"not refused: {call()}"
    except Objection as objection:
        if objection.code != code:
            yield f"refused as {objection.code!r}, not {code!r}"


def one_of_several(rng: np.random.Generator) -> Iterator[str]:
    """One number that is none, among others, is enough to refuse them."""
    W, A, large = np.eye(2), rng.normal(size=(3, 2)), np.array([[1e200, 0.0], [1.0, 0.0]])
    spoiled, K = np.array([[1.0, 0.0], [0.0, math.nan]]), np.eye(3)
    K[0, 1] = math.nan
    yield from _refused("kernel", lambda: gram.positive(("gaussian", spoiled)))
    for one, two in ((A, large), (large, A)):
        yield from _refused(
            "not finite", lambda one=one, two=two: gram.block(("linear",), one, two)
        )
    yield from _refused("not finite", lambda: gram.diagonal(("linear",), large))
    made = gram.Gram(("precomputed",), K)
    yield from _refused("not finite", lambda: made.block(K, K, np.arange(3)))
    wrong = ("custom", lambda A, B: np.ones((1, 1)))
    yield from _refused("kernel", lambda: gram.block(wrong, A, A))
    yield from _refused("kernel", lambda: gram.block(("gaussian", np.eye(3)), A, A))
    yield from _refused("kernel", lambda: gram.evaluate(("other",), A, A))
    claim = gap.Claim(Risk(softmax.LogLoss(), L2(1.0), False), np.zeros(0), W.ravel(), 0.0)
    for losses in (math.inf, math.nan):
        yield from _refused("not finite", lambda v=losses: gap.objective(claim, v, 1.0))
    one = np.ones(3)
    for s in ([1.0, math.inf, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0]):
        yield from _refused("weights", lambda s=s: gap.weights_of(s, 3))
    for c in ([1.0, math.nan, 0.0], [1.0, 1.0]):
        yield from _refused("dual point", partial(gap.clipped, gap.Hinge(), one, c, one))


TWO_WAYS = (
    squares_in_blocks, risks_in_blocks, scaled, in_pieces, nearly_far, without_a_rest,
    one_of_several,
)  # fmt: skip
