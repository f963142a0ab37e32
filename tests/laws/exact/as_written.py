"""The formulas of the core, seen without their outward roundings and with large units.

What is charged for rounding is far below what any problem shows, and `above` hides who forgot it.
Here a unit in the last place is 2⁻¹⁰, what underflows is 2⁻³⁰, and nothing is rounded outwards: a
function must then give what its derivation says, term by term, written down here once more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from cotas.certificates.core import (
    choices,
    curvature,
    gap,
    hessian,
    imbalance,
    margins,
    residuals,
    rounding,
    sparsity,
    unpenalized,
)
from cotas.certificates.core import (
    rows as framed,
)
from cotas.certificates.core.bounds import Objection, Pull
from cotas.certificates.core.gap import L2, Claim, Risk, Weights
from cotas.certificates.core.imbalance import Extent, beyond, longest
from cotas.certificates.core.sparse_rows import rows_in
from laws.exact.oracle import Rational

U, TINY, SMALL = 2.0**-10, 2.0**-30, 2.0**-20


def counted(k: int) -> float:
    """γₖ to first order."""
    return k * U


def _same(x: float, operations: int = 1) -> float:
    return x


PLAIN = {"U": U, "TINY": TINY, "SMALL": SMALL, "gamma": counted}
PLAIN |= dict.fromkeys(("above", "below", "up", "down"), _same)


@contextmanager
def as_written(*modules: Any) -> Iterator[None]:
    """Formulas of these modules without outward roundings, in large units."""
    kept = [(m, name, vars(m)[name]) for m in modules for name in PLAIN if name in vars(m)]
    for module, name, _ in kept:
        setattr(module, name, PLAIN[name])
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)


def differ(name: str, found: Any, expected: Any) -> Iterator[str]:
    """Say so if numbers are not those that the formula gives."""
    if not np.allclose(found, expected, rtol=1e-9, atol=0.0):
        yield f"{name}: {found}, not {expected}"


def blurs(rng: np.random.Generator) -> Iterator[str]:
    """Scores in a loss, sums of gains, the objective and the penalty of a bias."""
    z, off = rng.normal(size=4), rng.random(4)
    lam, kappa, offset, theta = (float(v) for v in rng.uniform(0.5, 2.0, size=4))
    loss = SimpleNamespace(gain=lambda *c: (z, off), ulps=3)
    claim = Claim(Risk(gap.Hinge(), L2(lam), False, kappa), z, np.array([theta, -1.0]), offset)
    square = theta**2 + 1.0
    penalty = 0.5 * lam * (square + (offset / kappa) ** 2)
    with as_written(gap, imbalance):
        yield from differ("blurred", gap.blurred(z, off), off * (1 + 8 * U) + 4 * U * np.abs(z))
        value, wide = gap.gain_of(loss, z, z, z, 1.0)
        yield from differ("gain", (value, wide), (math.fsum(z), 7 * U * math.fsum(off)))
        yield from differ("penalty", gap.penalty_of(claim), penalty)
        yield from differ("objective", gap.objective(claim, 3.0, 2.0), 1.5 + penalty)
        for kind in (gap.Hinge(), margins.Logistic(), margins.SquaredHinge()):
            found = beyond(kind, Extent(1.0, 1.0, 0.5), 2.0, lam)
            least = max(0.0, 4.0 * lam - kind.at_zero * (1 - 4 * U))
            yield from differ("beyond", found, least / kind.slope_at_zero)
    doubt = curvature.doubt_of
    with as_written(curvature):
        yield from differ("doubt", doubt(z, off), off + 4 * U * np.abs(z))


def multiples(rng: np.random.Generator) -> Iterator[str]:
    """D(tc) as the sum of its parts, at the multiples that are tried, and which of them are."""
    lam, kappa, t, gain, off, rest, slip = (float(v) for v in rng.uniform(0.1, 1.0, size=7))
    gain, kappa = 30.0 + gain, kappa if rng.random() < 0.5 else 0.0
    low, high, u = 2.0, 3.0, rng.normal(size=2)
    claim = Claim(Risk(gap.Hinge(), L2(lam), False, kappa), u, u, 0.0)
    pull, w = Pull(u, np.array([0.5, 2.0]), 0.3), Weights(None, low, high)
    mixed, widest = math.hypot(*(u * pull.unit)), 2.0 * 0.3
    square = float(u @ u) + 2 * mixed * 0.3 + widest**2

    def cost(t: float) -> float:
        extra = kappa * t * rest / low
        return (t / low) ** 2 * square / (2 * lam) + extra**2 / (2 * lam) + t * slip

    def asked(tried: Any, loss: Any, gains: Any, least: float = 1.0) -> Any:
        kept, choices.multiples = choices.multiples, lambda *given: tried
        given = claim._replace(risk=Risk(loss, L2(lam), False, kappa))
        try:
            return gap.best_multiple(given, w, pull, gains, gains, rest, slip, least)
        finally:
            choices.multiples = kept

    def gains(t: float) -> tuple[float, float]:
        return gain * math.sqrt(t), off

    smooth = margins.Exponential()
    with as_written(gap):
        found = asked([t], gap.Hinge(), gains)
        best = (gain * math.sqrt(t) - off) / high - cost(t)
        nothing = (0.0, 0.0, 0.0)
        whole = (best, t, off / low + t * slip) if best > 0 else nothing
        yield from differ("multiple", found, whole)
        for wrong in (1.5, math.inf, math.nan, TINY / 2):  # outside of what is allowed
            yield from differ(f"multiple {wrong}", asked([wrong], gap.Hinge(), gains), nothing)
        yield from differ("lost", asked([t], gap.Hinge(), gains, TINY / 2), nothing)
        # Below zero the sum is divided by the smallest S; but D(0) is never less.
        found = asked([t], gap.Hinge(), lambda t: (-1.0, off))
        yield from differ("below", found, nothing)
        tried = [0.2 * t, t]
        values = [(gain * math.sqrt(v) - off) / high - cost(v) for v in tried]
        at = tried[int(np.argmax(values))] if max(values) > 0 else 0.0
        if asked(tried, smooth, gains)[1] != at:
            yield f"the best of {tried} is {at}, not {asked(tried, smooth, gains)[1]}"
        endless = L2(0.0).conjugate(pull, t, 1.0)
        if not math.isinf(endless):
            yield f"a conjugate of nothing is {endless}"


def shrunk(rng: np.random.Generator) -> Iterator[str]:
    """The ℓ1 norm: sizes of what pulls, conjugates, and balls."""
    d = 3
    u, unit, off = rng.normal(size=d) * 3, 2.0 ** rng.integers(-2, 3, size=d), 0.3
    w, positive = rng.uniform(0.3, 3.0, size=d), bool(rng.random() < 0.5)
    t, share, lam1, lam2 = (float(v) for v in rng.uniform(0.2, 2.0, size=4))
    pull = Pull(u, unit, off)
    size = ((-u if positive else np.abs(u)) + unit * off * (1 + 4 * U)) * (1 + 8 * U)
    net = sparsity.ElasticNetRegularizer(lam1, lam2, positive, w)
    over = np.maximum(t * share * size / w * (1 + 4 * U) ** 2 - lam1, 0.0)
    with as_written(sparsity, gap):
        yield from differ("sizes", sparsity.sizes_of(pull, positive), size)
        yield from differ("weighed", net.sizes(pull), size / w * (1 + 4 * U))
        found = net.conjugate(pull, t, share)
        yield from differ("conjugate", found, float(over @ over) / (2 * lam2))
        largest = max(0.0, float((size / w).max() * (1 + 4 * U)))
        ball = sparsity.Ball(lam1, positive, w)
        yield from differ("ball", ball.conjugate(pull, t, share), lam1 * t * share * largest)
        yield from differ("radius", ball.radius(1.0), lam1 / w.min())
        least = min(t / w.min() / lam1, math.sqrt(2 * t / lam2) / w.min())
        yield from differ("radius", net.radius(t), least)
        lasso = sparsity.ElasticNetRegularizer(lam1, 0.0, positive, w)
        edge = lam1 / (share * largest) if largest > 0 else math.inf
        if math.isfinite(edge):
            inside = [lasso.conjugate(pull, edge * part, share) for part in (0.999, 1.001)]
            if inside != [0.0, math.inf]:
                yield f"the edge of the Lasso: {inside}"


def columns_as_written(rng: np.random.Generator) -> Iterator[str]:
    """How long columns are."""
    n, d, low = 5, 2, 1.5
    X, s = rng.normal(size=(n, d)), rng.random(n)
    rows = rows_in(csr_matrix(X) if rng.random() < 0.5 else X, False)
    with as_written(sparsity):
        found, centre = sparsity.column_lengths(rows, s, low)
    middle = np.zeros(d) if rows.sparse else s @ X / low
    squares = s @ np.square((X - middle) / rows.unit) / low
    longest = np.sqrt(squares) * (1 + (framed.BLOCK_ROWS + 2 + 12) * U)
    yield from differ("columns", found, rows.unit * (longest + SMALL) * (1 + 4 * U) + TINY)
    yield from differ("centre", centre + 1.0, np.abs(middle) + 1.0)


def rows_as_written(rng: np.random.Generator) -> Iterator[str]:
    """Lengths of rows, scores and combinations, with what is charged for each."""
    n, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) * 2.0 ** rng.integers(-4, 5, size=d)
    given = csr_matrix(X) if rng.random() < 0.4 else X
    fixed = hasattr(given, "indptr") or rng.random() < 0.5
    shift = None if fixed else rng.normal(size=d)
    frame = framed.Frame(shift, 2.0 ** rng.integers(-3, 4, size=d))
    least, theta, bias = int(rng.choice([0, 40])), rng.normal(size=d), float(rng.normal())
    c = rng.normal(size=n)
    with as_written(framed, imbalance):
        rows: Any = rows_in(given, True, map, frame, least)
        lengths = rows.lengths
        z, off, _ = rows.scores(theta[:, None], [(bias, 0.25)])
        known = rows.moved_bias(theta, (bias, 0.25))[0]
        rows.moved_bias = lambda *given: (known, 0.5)
        hazy = rows.scores(theta[:, None], [(bias, 0.25)])[1]
        [pull] = rows.pull(c[:, None])
        farthest = longest(rows)
    A = (X - (0.0 if shift is None else shift)) / frame.unit
    exact = np.linalg.norm(A, axis=1) * (1 + (d + 8) * U) + SMALL
    yield from differ("lengths", lengths, exact)
    yield from differ("longest", farthest, frame.unit.max() * exact.max())
    yield from differ("scores", z[:, 0], X @ theta + bias + 0.25)
    moved = bias + 0.25 + (0.0 if shift is None else float(shift @ theta))
    size = float(np.linalg.norm(theta * frame.unit)) + TINY
    factor = (d + 6) * U * (1 + 16 * U)
    wide = exact * factor * size + factor * abs(moved) + TINY
    yield from differ("scores ±", (off[:, 0], hazy[:, 0]), (wide, wide + 0.5))
    yield from differ("pull", pull.u, (A * frame.unit).T @ c)
    count = max(n + 2, least) + 4
    lost = n * d * 2.0**-1074 / min(1.0, float(frame.unit.min()))
    yield from differ("pull ±", pull.off, count * U * float(np.abs(c) @ exact) + lost)


def read_as_written(rng: np.random.Generator) -> Iterator[str]:
    """Blocks of rows: each row is in one of them, and no block is long or large."""
    kept = framed.BLOCK_BYTES, framed.BLOCK_ROWS
    n, d = int(rng.integers(1, 40)), int(rng.integers(1, 20))
    framed.BLOCK_BYTES, framed.BLOCK_ROWS = (int(v) for v in rng.integers(1, (400, 9)))
    most = framed.BLOCK_BYTES, framed.BLOCK_ROWS
    try:
        spans = rows_in(np.ones((n, d)), False).spans
    finally:
        framed.BLOCK_BYTES, framed.BLOCK_ROWS = kept
    if [i for span in spans for i in range(n)[span]] != list(range(n)):
        yield f"{n} rows in {spans}"
    tall = [span.stop - span.start for span in spans]
    if max(tall) != min(n, most[1], max(1, most[0] // (8 * d))):
        yield f"blocks of {tall} rows, of {d} entries: {most}"
    tiny = framed.Frame(None, np.full(2, 2.0**-800))
    [pull] = rows_in(np.full((3, 2), 2.0**-400), False, map, tiny).pull(np.zeros((3, 1)))
    if not 1.0 <= pull.off / (3 * 2 * 2.0**-1074 / 2.0**-800) <= 1.001:
        yield f"products that underflow are off by {pull.off}"


def whole_as_written(rng: np.random.Generator) -> Iterator[str]:
    """What the data weigh, and D with all that is taken away from it."""
    n = 4
    s, y = rng.random(n) + 0.1, rng.uniform(-0.9, 0.9, size=n)
    kept, gap.total = gap.total, lambda a: (math.fsum(a), 0.25)
    try:
        with as_written(gap):
            w = Weights.of(s, n)
    finally:
        gap.total = kept
    yield from differ("weights", (w.low, w.high), (math.fsum(s) - 0.25, math.fsum(s) + 0.25))
    yield from _taken_away(rng, w, y)


def _taken_away(rng: np.random.Generator, w: Weights, y: np.ndarray) -> Iterator[str]:
    """What `lower` tells `best_multiple`: the rest of Σ cᵢ, and what coefficients cost."""
    asked: list[Any] = []
    c = w.s * rng.normal(size=len(y)) * (np.arange(len(y)) < 3)
    for free, kappa in ((False, 0.5), (False, 0), (True, 0)):
        c = np.array([0.5, -0.125, -0.375, 0.0]) if free else c
        penalty = SimpleNamespace(loose=lambda *given: 0.3)
        risk = Risk(residuals.EpsilonInsensitive(0.25), penalty, free, kappa)
        claim = Claim(risk, y, y, 0.0, c)
        kept, gap.best_multiple = gap.best_multiple, lambda *given: asked.append(given)
        try:
            with as_written(gap, residuals, rounding):
                gap.lower(claim, None, w, None, 0.125)
                gain, rough = (call(0.5) for call in asked[-1][3:5])
                left = gap.lower(claim._replace(c=c + 2.0**-40), None, w, None, 0.125)
        finally:
            gap.best_multiple = kept
        if free != (left == (0.0, 0.0, 0.0)):
            yield f"a dual point that does not sum to zero: {left}"
        expected = (abs(math.fsum(c)) * (kappa > 0), 0.3, np.abs(c[:3]).min())
        yield from differ("taken away", asked[-1 if free else -2][5:], expected)
        terms = -0.5 * c * y - 0.125 * np.abs(c)
        yield from differ("gains", (gain[0], rough), (math.fsum(terms), math.fsum(terms)))


def edges(rng: np.random.Generator) -> Iterator[str]:
    """Domains of conjugates, bounds of coefficients without a penalty, and averages of losses."""
    n, k, level = 9, float(rng.uniform(0.5, 2.0)), float(rng.uniform(0.5, 2.0))
    s, c = rng.random(n) + 0.1, rng.normal(size=n) * 9
    y, z, off = rng.normal(size=n), rng.normal(size=n), rng.random(n)
    X, theta = rng.normal(size=(n, 3)), np.ones(3)
    penalty = sparsity.ElasticNetRegularizer(0.5, 0.0, False, np.array([1.0, 0.0, 0.0]))
    free = bool(rng.random() < 0.5)
    claim = Claim(Risk(residuals.Squared(), penalty, free), y, theta, 0.0)
    rows, whole = rows_in(X, free), float(s[1:].sum())
    y[0], w = 9.0, Weights(np.append(0.0, s[1:]), whole, 1.001 * whole)
    with as_written(residuals, sparsity, unpenalized):
        clip = residuals.Huber(k).clip(y, c, s)
        yield from differ("clip", clip, np.clip(c, -(most := k * s * (1 - 4 * U)), most))
        value = residuals.EpsilonInsensitive(k).value(y, z, off)
        wide = np.maximum(0.0, (np.abs(y - z) + off) * (1 + 4 * U) - k)
        yield from differ("insensitive", value + 1.0, wide + 1.0)
        yield from differ("Huber", residuals.Huber(k).spread(level), level / k + k)
        yield from differ("squared", residuals.Squared().spread(level), math.sqrt(2 * level))
        yield from differ("insensitive", residuals.EpsilonInsensitive(k).spread(level), level + k)
        limits = unpenalized.limits(claim, rows, w, level)
        part = rows_in(X[:, 1:], free)
        H = hessian.hessian(part, w, np.zeros(2), free, False, None)
        size = np.abs(y[1:]).max() + math.sqrt(2 * level) + longest(rows) * level / 0.5
        reach = size / math.sqrt(H.least()) if H.least() else math.inf
        yield from differ("limits", limits, reach * H.scale[:2] / part.unit * (1 + 4 * U))
        if {*sparsity.LIMITS} != {residuals.Squared}:
            yield f"limits of {[*sparsity.LIMITS]}"


def rounding_as_written(rng: np.random.Generator) -> Iterator[str]:
    """Sums, long or short, and products, with what they are off by."""
    n = int(rng.choice([3, 200, 300]))
    a, b = rng.normal(size=n), rng.normal(size=n)
    kept, rounding.FEW = rounding.FEW, 250
    try:
        with as_written(rounding):
            found = rounding.total(a), rounding.dot(a, b, (0.5,))
            length, nothing = rounding.norm_up(a), rounding.total([1.0, -1.0] * 150)
    finally:
        rounding.FEW = kept
    whole, product = math.fsum(a), math.fsum([*(a * b), 0.5])
    if found[0] != (whole, U * abs(whole)):
        yield f"a sum of {found[0]}, and it is {whole}"
    if nothing != (0.0, 0.0):
        yield f"a long sum that vanishes is off by {nothing}"
    yield from differ("dot", found[1], (product, U * abs(product) + 8 * (n + 1) * TINY))
    yield from differ("norm", length, np.linalg.norm(a))


def small_units(rng: np.random.Generator) -> Iterator[str]:
    """Lengths of sparse rows in units so small that squares would lose their digits."""
    X = rng.uniform(1.0, 2.0, size=(6, 2)) * np.array([2.0**-530, 0.0])
    frame = framed.Frame(None, np.array([2.0**-500, 1.0]))
    for given in (X, csr_matrix(X)):
        lengths = rows_in(given, False, map, frame).lengths
        exact = [Rational(v) * 2**500 for v in X[:, 0].tolist()]
        if not all(w <= Rational(v) for v, w in zip(lengths.tolist(), exact, strict=True)):
            yield f"lengths {lengths} of {X[:, 0]}"


def weights_refused(rng: np.random.Generator) -> Iterator[str]:
    """Weights, coefficients, units and shifts of which one is none."""
    for spoiled in (-1.0, math.nan, math.inf):
        w = np.array([1.0, spoiled])
        for penalty in (
            sparsity.ElasticNetRegularizer(1.0, 1.0, False, w),
            sparsity.Ball(1.0, False, w),
        ):
            try:
                penalty.refuse(np.zeros(2))
                yield f"weights {w}"
            except Objection as objection:
                if objection.code != "parameters":
                    yield f"weights {w}: {objection.code}"

    one, signs = np.ones(2), np.array([1.0, -1.0])
    refused = [("rows", framed.Frame(None, np.array([1.0, bad])).refuse) for bad in (3.0, math.nan)]
    refused += [("rows", framed.Frame(np.array([1.0, math.nan]), one).refuse)]
    for kind in (sparsity.ElasticNetRegularizer(1.0, 0.0, True), sparsity.Ball(9.0, True)):
        refused.append(("sign", partial(kind.refuse, signs)))
    for code, call in refused:
        try:
            call()
            yield f"not refused, one of two: {code}"
        except Objection as objection:
            if objection.code != code:
                yield f"{objection.code}, not {code}"


FORMULAS = (
    blurs, multiples, shrunk, columns_as_written, rows_as_written, read_as_written,
    whole_as_written, edges, rounding_as_written, small_units, weights_refused,
)  # fmt: skip
