"""The formulas of least squares by curvature, seen as `as_written.py` sees those of the others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from cotas.certificates.core import choices, curvature, definite, hessian, squared_blocks
from cotas.certificates.core.blocks import SumArray
from cotas.certificates.core.bounds import Objection, Pull
from cotas.certificates.core.curvature import Fall, ResidualSums, Slope
from cotas.certificates.core.gap import Claim, Weights
from cotas.certificates.core.sparse_rows import rows_in
from cotas.certificates.core.squared_blocks import BlockSquaredRisk
from laws.exact.as_written import SMALL, TINY, U, as_written, differ

norm = np.linalg.norm


def _some_hessian(rng: np.random.Generator, d: int) -> Any:
    B = rng.normal(size=(d, d))
    scale = 2.0 ** rng.integers(-2, 3, size=d)
    return hessian.Hessian(B @ B.T + np.eye(d), scale, float(rng.uniform(0.05, 0.2)))


def falls_as_written(rng: np.random.Generator) -> Iterator[str]:
    """½aᵀHa + ‖e‖‖a‖ + ‖e‖²/2μ of any a, also of one that is far from H⁻¹g."""
    d = int(rng.integers(1, 4))
    H, g, a = _some_hessian(rng, d), rng.normal(size=d), rng.normal(size=d)
    off, mu, reach = (float(v) for v in rng.uniform(0.1, 0.9, size=3))
    kept, np.linalg.solve = np.linalg.solve, lambda *given: a
    try:
        with as_written(curvature, hessian):
            found = curvature.fall(H, mu, g, off), curvature.fall(H, 0.0, g, off, reach)
    finally:
        np.linalg.solve = kept
    Ha, size = H.matrix @ a, norm(a)
    wide = norm(np.abs(H.matrix) @ np.abs(a)) * (d + 2) * U
    left = norm(g * H.scale - Ha) * (1 + 4 * U) + off * H.scale.max() + H.off * size + wide
    error = 4 * U * (np.abs(a) @ np.abs(Ha)) + wide * size + H.off * size**2
    quadratic = 0.5 * (a @ Ha + error)
    for one, way in zip(found, (size + left / (2 * mu), reach), strict=True):
        yield from differ("a fall", one.most, quadratic + left * way)
        yield from differ("its blur", one.blur, one.most - 0.5 * (a @ Ha))
    with np.errstate(all="ignore"):
        endless = curvature.fall(H, mu, g * 1e200, off)
    if endless != Fall(math.inf, math.inf):
        yield f"a fall that is no number: {endless}"


def hessians_as_written(rng: np.random.Generator) -> Iterator[str]:
    """H, in its own basis and in another, with the errors of its sums, of its basis and of S."""
    n, d, free = int(rng.integers(4, 9)), int(rng.integers(1, 4)), bool(rng.random() < 0.5)
    X, s = rng.normal(size=(n, d)), rng.random(n) + 0.1
    rows, added = rows_in(X, False), rng.random(d)
    w, m = Weights(s, 0.9 * float(s.sum()), 1.2 * float(s.sum())), d + free
    T = np.eye(m) + 0.3 * rng.normal(size=(m, m))
    lengths, rows.spans = rows.lengths, [slice(0, 1), slice(1, n)]
    with as_written(hessian):
        plain = hessian.hessian(rows, w, added, free, False, None)
        turned = hessian.hessian(rows, w, added, free, False, T)
        rounding = turned.rounding()
    A = np.column_stack([X / rows.unit, np.ones((n, int(free)))])
    bent = np.diag(np.append(added, [0.0] * free))
    whole = A.T @ (s[:, None] * A) / w.high + bent
    loose = (n - 1 + 4 + m + 14) * U + (w.high / w.low - 1.0)
    for H, exact in ((plain, whole), (turned, T.T @ whole @ T)):
        matrix = exact * H.scale * H.scale[:, None]
        yield from differ("Hessian", H.matrix + 9.0, matrix + 9.0)
        off = loose * np.trace(matrix) + TINY
        if H is turned:
            long = math.sqrt(s @ (lengths**2 + 1.0) / w.low)
            spill = (m + 8) * U * norm(T) * long + SMALL
            yield from differ("spill", H.spill, spill)
            wide = math.sqrt(np.abs(matrix).sum(axis=1).max() + off)
            off += 2 * wide * spill * H.scale.max() + (spill * H.scale.max()) ** 2
            size = np.trace(np.abs(matrix))
            yield from differ("rounding", rounding, (m + 4) * U * size)
        yield from differ("Hessian ±", H.off, off)
        diagonal = np.diag(H.matrix)
        if not ((diagonal > 0.49) & (diagonal < 2.01)).all():
            yield f"a diagonal of {diagonal}"
    yield from _curvatures(turned)
    yield from _some_rows(rng)


def _curvatures(H: Any) -> Iterator[str]:
    """The largest μ of those tried with H − μ − ε definite."""
    asked: list[float] = []
    kept = hessian.is_definite
    hessian.is_definite = lambda A: bool(asked.append(float(H.matrix[0, 0] - A[0, 0])))
    try:
        with as_written(hessian):
            nothing = H.least()
            shifts = [mu + H.rounding() + H.off for mu in choices.CURVATURES]
    finally:
        hessian.is_definite = kept
    yield from differ("curvatures", asked, shifts)
    if nothing != 0.0:
        yield f"a curvature of {nothing}, and none was proved"


def _some_rows(rng: np.random.Generator) -> Iterator[str]:
    """From about four rows for each column: each once, all of them rows of X."""
    kept, hessian.SAMPLE, asked = hessian.SAMPLE, 4, list[slice]()
    each, n, d = hessian.squares, int(rng.integers(9, 60)), int(rng.integers(1, 5))

    def squares(rows: Any, spans: Any, *given: Any) -> Any:
        asked.extend(spans)
        return each(rows, spans, *given)

    hessian.squares = squares
    try:
        rows, w = rows_in(rng.normal(size=(n, d)), False), Weights(np.ones(n), n, n)
        for some in (True, False):
            asked.clear()
            hessian.hessian(rows, w, np.ones(d), False, some, None)
            taken = [i for span in asked for i in range(n)[span]]
            count = 4 * (d + 2) if some and n > 4 * (d + 2) else n
            if len(set(taken)) != len(taken) or len(taken) != count:
                yield f"{len(taken)} of {n} rows for {d} columns, {some}: {asked}"
    finally:
        hessian.SAMPLE, hessian.squares = kept, each


class _Case:
    """Least squares whose sum of weights is hardly known."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.n, self.d, self.free = 6, int(rng.integers(1, 4)), bool(rng.random() < 0.6)
        self.X, self.s = rng.normal(size=(self.n, self.d)), rng.random(self.n) + 0.1
        self.rows = rows_in(self.X, False)
        self.w = Weights(self.s, 0.8 * float(self.s.sum()), 1.3 * float(self.s.sum()))
        self.lam, self.sigma = float(rng.uniform(0.3, 2.0)), rng.uniform(0.5, 2.0, size=self.d)
        with as_written(curvature):
            given = (self.rows, self.free, self.w, 10)
            self.risk = curvature.SquaredRisk(self.lam, self.sigma, *given)
        self.loose = 8 * U + 1.3 / 0.8 - 1.0
        self.curved = self.lam * self.sigma**2
        self.added = self.curved / self.rows.unit**2


def slopes_as_written(rng: np.random.Generator) -> Iterator[str]:
    """∇P, P from below, and how far P falls by the penalty alone."""
    p, (off, felt, near, low, wide) = _Case(rng), rng.uniform(0.1, 0.9, size=5)
    theta, u, unit, free = rng.normal(size=p.d), rng.normal(size=p.d), p.rows.unit, p.free
    sums = ResidualSums((low - 0.5, low - 0.5 + wide), felt, near)
    claim = Claim(p.risk.risk, np.zeros(p.n), theta, 0.3 * free)
    with as_written(curvature):
        found = p.risk._slope(claim, (claim.bias, 0.5), 2.0, Pull(u, unit, off), sums, 1.5)
        fallen, length = p.risk._by_penalty(found), p.risk._mean_length()
    mean = low - 0.5 + 0.5 * wide
    pulled, bent = u / unit / p.w.low, p.curved * theta / unit
    yield from differ("slope", found.g, np.append(pulled + bent, [mean / p.w.low] * free))
    sizes = norm(pulled) + norm(bent) + abs(mean) / p.w.low
    noise = (off + felt + 0.5 * wide + 2 * U * abs(mean)) / p.w.low + p.loose * sizes
    yield from differ("slope ±", found.off, noise)
    least = 0.5 * near / p.w.high + 0.5 * float(p.curved @ theta**2)
    yield from differ("least", found.least, least)
    yield from differ("reach", found.reach, 2.0 + 1.5)
    yield from differ("place", found.model, np.append(theta * unit, [claim.bias + 0.5] * free))
    yield from differ("length", length, p.s @ p.rows.lengths / p.w.low)
    size = norm(found.g[: p.d] / np.sqrt(p.added))
    bias = (abs(found.g[-1]) + noise) * free
    both = size + (noise + length * bias) / math.sqrt(p.added.min())
    most = 0.5 * (both**2 + bias**2)
    yield from differ("fall", fallen, (most, most - 0.5 * size**2))
    yield from _residuals(rng)


def _residuals(rng: np.random.Generator) -> Iterator[str]:
    s, r, off, lengths = rng.random(5), rng.normal(size=5), rng.random(5) * 0.3, rng.random(5)
    kept, curvature.total = curvature.total, lambda a: (math.fsum(a), 0.25)
    try:
        with as_written(curvature):
            found = curvature.residual_sums(s, r, off, lengths)
    finally:
        curvature.total = kept
    yield from differ("mean", found.mean, (math.fsum(s * r) - 0.25, math.fsum(s * r) + 0.25))
    felt = s @ ((off + 4 * U * np.abs(r)) * np.sqrt(lengths**2 + 1.0))
    near = s @ np.maximum(np.abs(r) * (1 - 4 * U) - off, 0.0) ** 2
    yield from differ("felt, near", (found.felt, found.near), (felt, near))


def turned_as_written(rng: np.random.Generator) -> Iterator[str]:
    """∇P in another basis, and the way to a model within ρ."""
    p = _Case(rng)
    m, unit = p.d + p.free, p.rows.unit
    T, place = np.eye(m) + 0.3 * rng.normal(size=(m, m)), rng.normal(size=m)
    r, doubt, spill = rng.normal(size=p.n), rng.random(p.n), float(rng.uniform(0.1, 0.5))
    off, reach, g = float(rng.random()), float(rng.uniform(0, 4)), rng.normal(size=m)
    H = _some_hessian(rng, m)._replace(T=T, spill=spill)
    slope = Slope(1.0, 0.0, g, off, place, reach, r, doubt)
    p.rows.spans = [slice(0, 1), slice(1, p.n)]
    with as_written(curvature):
        found, wrong = p.risk._seen(slope, H)
        p.risk._known[False, 0] = (H, 0.0)
        tiny = np.exp2(-rng.integers(8, 20, m).astype(float))
        p.risk.sizes = np.where(np.arange(m) == 0, tiny, 1e3)
        measured = p.risk._within(slope)
        p.risk.sizes = np.full(m, 1e3)  # none is less than half a unit
        rho, flat = p.risk._within(slope)
        way = rho + norm(place / H.scale)
        steep = curvature.fall(H, 0.0, g, off, way)
        p.risk.largest = 0
        far = p.risk._within(slope)
    A = np.column_stack([p.X / unit, np.ones((p.n, int(p.free)))]) @ T
    bent = np.append(p.added * place[: p.d], [0.0] * p.free)
    summed, turned = A.T @ (p.s * r) / p.w.low, T.T @ bent
    yield from differ("turned", found + 9.0, summed + turned + 9.0)
    wide = math.sqrt(p.s @ np.square(A).sum(axis=1) / p.w.low)
    size, hazy = (math.sqrt(p.s @ part**2 / p.w.low) for part in (r, doubt))
    rounding = (p.n - 1 + 4 + m + 8) * U * (size * wide + norm(np.abs(T.T) @ np.abs(bent)))
    sizes = norm(summed) + norm(turned)
    most = (wide + spill) * hazy + spill * size + rounding + p.loose * sizes
    yield from differ("turned ±", wrong, most)
    if norm(g) > off:
        within = 1000.0 * max(norm(place / H.scale), reach)
        yield from differ("within", rho, within)
        straight = (norm(g * H.scale) + off * H.scale.max()) * way
        best = min(Fall(straight, off * H.scale.max() * way), steep)
        yield from differ("the way", flat, best)
    elif (rho, flat) != far:
        yield f"a slope that may be none falls {flat} within {rho}, not {far}"
    scale = H.scale if norm(g) > off else np.ones(m)  # the first column has a unit of its own
    scale = np.append(1.0 / tiny[0], scale[1:])
    within = 1000.0 * max(norm(place / scale), reach)
    way = within + norm(place / scale)
    fallen = (norm(g * scale) + off * scale.max()) * way, off * scale.max() * way
    yield from differ("in units of its own", (measured[0], *measured[1]), (within, *fallen))
    within = 1000.0 * max(norm(place), reach)
    straight = (norm(g) + off) * (within + norm(place)), off * (within + norm(place))
    yield from differ("the way", (far[0], *far[1]), (within, *straight))


def shifts_as_written(rng: np.random.Generator) -> Iterator[str]:
    """ε of a matrix from σ, at which a factorization runs through, and from its errors."""
    n = int(rng.integers(2, 6))
    K = rng.normal(size=(n, n))
    K, hint, asked = K + K.T, -float(rng.uniform(1, 9)), list[float]()
    error = 2.0 * (n + 4) * U * float(np.abs(np.diag(K)).sum()) + TINY
    kept = definite.is_definite, np.linalg.eigvalsh
    np.linalg.eigvalsh = lambda K: np.array([hint, *[7.0] * (n - 1)])
    try:
        with as_written(definite):
            found = []
            for runs in range(1, 5):  # the one that runs through first

                def is_definite(A: Any, runs: int = runs) -> bool:
                    asked.append(float(A[0, 0] - K[0, 0]))
                    off = A - K - asked[-1] * np.eye(n)
                    return len(asked) == runs and bool(np.abs(off).max() < 1e-9)

                definite.is_definite = is_definite
                asked.clear()
                found.append(definite.proved_shift(K))
    finally:
        definite.is_definite, np.linalg.eigvalsh = kept
    tried = [-error, error, error - 1.01 * hint]
    yield from differ("shifts", asked, tried)
    factor = 4.0 * (n + 4) * U * n
    whole = [0.0, *(sigma + error + factor * sigma for sigma in tried[1:]), math.inf]
    yield from differ("shift", found, whole)
    if not definite.is_definite(np.eye(2)) or definite.is_definite(-np.eye(2)):
        yield "which are definite"
    if definite.is_definite(np.array([[1.0, math.nan], [math.nan, 1.0]])):
        yield "a matrix that is none"


def blocks_of_squares(rng: np.random.Generator) -> Iterator[str]:
    """H of sums over blocks: whichever is more of the roundings that it went through is charged."""
    p, H = _Case(rng), rng.normal(size=(9, 9))
    m = p.d + p.free
    H = (H @ H.T)[:m, :m]
    found: Any = object.__new__(BlockSquaredRisk)
    found.__dict__ |= vars(p.risk)
    tallest, additions, least = (int(v) for v in rng.integers(1, 40, size=3))
    found.sums = {"H": SumArray(H, additions), "tallest": tallest, "length": 3.5}
    found.claims = SimpleNamespace(roundings=least)
    found.frame = SimpleNamespace(shift=None if rng.random() < 0.5 else np.ones(p.d))
    theta = rng.normal(size=p.d)
    with as_written(hessian, squared_blocks):
        curved, length = found._all_rows()[0], found._mean_length()
    matrix = (H / p.w.high + np.diag(np.append(p.added, [0.0] * p.free))) * curved.scale
    matrix = matrix * curved.scale[:, None]
    yield from differ("H", curved.matrix + 9.0, matrix + 9.0)
    count = max(tallest + additions, least) + m + 14
    off = (count * U + p.w.high / p.w.low - 1.0) * np.trace(matrix) + TINY
    yield from differ("H ±", curved.off, off)
    yield from differ("length", length, 3.5 / p.w.low)
    moved = 0.75 + (0.0 if found.frame.shift is None else theta.sum())
    yield from differ("bias", 9.0 + found._moved_bias(theta, (0.5, 0.25)), 9.0 + moved)
    found.sums["H"] = SumArray(H * math.inf, additions)
    with np.errstate(all="ignore"):
        try:
            yield f"a Hessian of {found._all_rows()}"
        except Objection as objection:
            if objection.code != "not finite":
                yield f"a Hessian that is no number: {objection.code}"


def refused_curvature(rng: np.random.Generator) -> Iterator[str]:
    """What is not finite is no curvature, and no slope."""
    p = _Case(rng)
    rows = rows_in(p.X, False, map, p.rows.frame._replace(unit=np.full(p.d, 2.0**-600)))
    try:
        yield f"a Hessian of {hessian.hessian(rows, p.w, p.added, False, False, None)}"
    except Objection as objection:
        if objection.code != "not finite":
            yield f"a Hessian that is no number: {objection.code}"
    T = np.eye(p.d)
    T[0, 0] = math.inf
    with np.errstate(all="ignore"):
        found = hessian.hessian(p.rows, p.w, p.added, False, False, T)
        if found.matrix.any() or found.least() != 0.0:
            yield "a basis that is none"
    sums, theta = ResidualSums((0.0, 0.0), math.inf, 0.0), np.zeros(p.d)
    claim, pull = Claim(p.risk.risk, np.zeros(p.n), theta, 0.0), Pull(theta, p.rows.unit, 0.0)
    try:
        yield f"a slope of {p.risk._slope(claim, (0.0, 0.0), 1.0, pull, sums, 1.0)}"
    except Objection as objection:
        if objection.code != "not finite":
            yield f"a slope that is no number: {objection.code}"


CURVED_FORMULAS = (
    falls_as_written, hessians_as_written, slopes_as_written, turned_as_written, shifts_as_written,
    blocks_of_squares, refused_curvature,
)  # fmt: skip
