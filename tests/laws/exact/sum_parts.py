"""What sums over blocks promise, and the columns of rows: they enclose, and not by much more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from cotas.certificates.core.blocks import Between, Down, Least, Most, Pulled, Sharp, SumArray, Up
from cotas.certificates.core.bounds import Pull
from cotas.certificates.core.gap import Margin, gain_of
from cotas.certificates.core.rows import pairwise
from cotas.certificates.core.sparse_rows import rows_in
from cotas.certificates.core.sparsity import column_lengths
from laws.exact.contracts import SLIGHTLY, TINY, U, _some_loss, gain_at
from laws.exact.oracle import Rational, near, rational


def _split(rng: np.random.Generator, a: Any) -> list[Any]:
    """Some parts, in order."""
    cuts = np.sort(rng.integers(0, len(a) + 1, size=int(rng.integers(0, 6))))
    return np.split(a, cuts)


def _added(parts: list[Any], rng: np.random.Generator) -> Any:
    """Σ in some order of additions."""
    parts = list(parts)
    while len(parts) > 1:
        k = int(rng.integers(len(parts) - 1))
        parts[k : k + 2] = [parts[k] + parts[k + 1]]
    return parts[0]


def block_sums(rng: np.random.Generator) -> Iterator[str]:
    """Numbers that are added up block by block."""
    n, scale = int(rng.choice([0, 1, 3, 20, 300])), 10.0 ** rng.choice([0, -12, 12, -200])
    a = rng.normal(size=n) * scale
    if rng.random() < 0.5 and n:  # a sum that nearly vanishes, or does
        a = np.append(a, -rng.permutation(a) * (1 + rng.choice([0.0, 1e-13])))
    if rng.random() < 0.3:
        a = a * 2.0 ** rng.integers(-60, 60, size=len(a))
    parts = _split(rng, a)
    if 0 < n <= 20 and rng.random() < 0.5:  # each number by itself, so that only sums are rounded
        a = rng.normal(size=8) * 2.0 ** rng.integers(-60, 60, size=8)
        parts = np.split(a, 8)
    exact, size = sum(rational(a), Rational(0)), sum(map(abs, rational(a)), Rational(0))
    sharp = _added([Sharp.of(part) for part in parts], rng)
    value = Rational(sharp.value) + Rational(sharp.tail)
    few = Rational(sharp.off)
    if not abs(value - exact) <= few <= 64 * U * U * size + TINY:
        yield f"sharp {sharp} for {near(exact)}"
    if not abs(exact) <= Rational(sharp.most) <= abs(exact) * (1 + 8 * U) + 4 * few + TINY:
        yield f"sharp: at most {sharp.most} for {near(exact)}"
    if not a.any() and sharp != (0.0, 0.0, 0.0):
        yield f"sharp {sharp} of nothing"
    both = _added([Between.sum_of(part) for part in parts], rng)
    low, high = Rational(both.low), Rational(both.high)
    if not low <= exact <= high <= low + 200 * U * size + 1000 * TINY:
        yield f"between {both} for {near(exact)}"
    middle, off = map(Rational, both.middle())
    wide = (high - low) / 2 * (1 + 8 * U) + 8 * U * size + TINY
    if not max(high - middle, middle - low) <= off <= wide:
        yield f"middle of {both}"
    tops = [float(np.max(part, initial=-math.inf)) for part in parts]
    ends = [float(np.min(part, initial=math.inf)) for part in parts]
    sums = [math.fsum(part) for part in parts]
    exact = sum(rational(sums), Rational(0))
    most, least = _added([*map(Most, tops)], rng), _added([*map(Least, ends)], rng)
    above, below = _added([*map(Up, sums)], rng), _added([*map(Down, sums)], rng)
    if most != max(tops) or least != min(ends):
        yield f"most {most}, least {least}"
    room = 20 * U * size + TINY
    if not exact - room <= Rational(below) <= exact <= Rational(above) <= exact + room:
        yield f"up {above}, down {below} for {near(exact)}"
    if not math.isnan(_added([Most(1.0), Most(math.nan), Most(2.0)], rng)):
        yield "a number that is none is hidden"


def block_pulls(rng: np.random.Generator) -> Iterator[str]:
    """Vectors that are added up block by block, each being off."""
    d, count = int(rng.integers(1, 5)), int(rng.integers(1, 9))
    unit = 2.0 ** rng.integers(-9, 9, size=d)
    us = [rng.normal(size=d) * unit for _ in range(count)]
    offs = [float(off) for off in rng.choice([0.0, 1e-12, 0.5], size=count)]
    pulls = [Pulled.of(Pull(u, unit, off)) for u, off in zip(us, offs, strict=True)]
    order = int(rng.integers(2**31))
    whole = _added(pulls, np.random.default_rng(order))
    depth = _added([_Deep(1) for _ in pulls], np.random.default_rng(order)).depth
    if whole.additions != depth:
        yield f"{whole.additions} additions, not {depth}"
    arrays = _added([SumArray(u) for u in us], np.random.default_rng(order))
    if arrays.additions != depth or not np.allclose(arrays.value, np.sum(us, axis=0)):
        yield f"{arrays.additions} additions of arrays, not {depth}"
    expected, more = int(rng.choice([0, 20])), float(rng.choice([0.0, 0.25]))
    found = whole.whole(unit, expected, more)
    mass = sum(math.sqrt(math.fsum((u / unit) ** 2)) for u in us)
    exact = [sum(rational(column), Rational(0)) for column in np.array(us).T]
    wrong = sum(
        ((Rational(a) - b) / Rational(v)) ** 2
        for a, b, v in zip(found.u.tolist(), exact, unit.tolist(), strict=True)
    )
    given = math.fsum(offs) + more
    left = found.off - given  # what the additions are charged with
    charged = whole.additions > expected
    if charged and not (wrong <= Rational(left) ** 2 and left >= whole.additions * 1e-16 * mass):
        yield f"pull ± {found.off}, and it is off by {near(wrong) ** 0.5}"
    if (
        not given
        <= found.off
        <= (given + 4 * charged * (count + 2) * 2.0**-52 * mass) * (1 + 1e-9) + 1e-300
    ):
        yield f"pull ± {found.off} of {given}"
    with np.errstate(all="ignore"):
        spoiled = pulls[0]._replace(u=us[0] * math.inf).whole(unit, 0)
    if not (math.isinf(spoiled.off) and not spoiled.u.any()):
        yield "a pull that is no number"


def block_gains(rng: np.random.Generator) -> Iterator[str]:
    """− Σ sᵢ ℓᵢ*(tcᵢ/sᵢ) of some rows."""
    loss, n, t = _some_loss(rng), 5, float(rng.choice([1.0, 0.5]))
    margin = isinstance(loss, Margin)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0) if margin else rng.normal(size=n) * 3
    s = rng.random(n) + 0.1
    c = loss.clip(y, rng.normal(size=n) * s, s)
    c = np.where(c == 0, -y * 0.01 * s, c)
    value, off = gain_of(loss, y, c, s, t)
    terms = [
        gain_at(loss, Rational(y[i]), Rational(t) * Rational(c[i]), Rational(s[i]))
        for i in range(n)
    ]
    exact = sum(terms[1:], terms[0])
    size = float(np.abs(loss.gain(y, c, s, t)[1]).sum())
    if not abs(value - near(exact)) <= off:
        yield f"{loss}: gain {value} ± {off} for {near(exact)}"
    if not loss.ulps * 2.0**-53 * size <= off <= 50 * 2.0**-52 * size:
        yield f"{loss}: gain {value} ± {off}, terms of the size {size}"


class _Deep:
    """A number that counts the additions that it went through."""

    def __init__(self, value: int, depth: int = 0) -> None:
        self.value, self.depth = value, depth

    def __add__(self, other: Any) -> _Deep:
        return _Deep(self.value + other.value, max(self.depth, other.depth) + 1)


def pairs(rng: np.random.Generator) -> Iterator[str]:
    """Numbers added two by two go through few additions, no more than is said."""
    count = int(rng.integers(1, 80))
    whole, additions = pairwise(_Deep(k) for k in range(count))
    if whole.value != count * (count - 1) // 2 or not whole.depth <= additions <= 14:
        yield f"{count} numbers: {whole.value} after {whole.depth} additions, not {additions}"
    if whole.depth > 2 * math.log2(count) + 1:
        yield f"{count} numbers: {whole.depth} additions"


def columns(rng: np.random.Generator) -> Iterator[str]:
    """How long columns are from a centre, and how far that is from the shift."""
    n, d = int(rng.choice([1, 4, 30, 1500], p=[0.2, 0.4, 0.37, 0.03])), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) * 2.0 ** rng.integers(-20, 20, size=d)
    X += rng.choice([0.0, 0.0, 1e3, 2.0**30], size=d)
    s = rng.random(n) * (rng.random(n) < 0.8) + 1e-3
    rows = rows_in(csr_matrix(X) if rng.random() < 0.3 else X, bool(rng.random() < 0.6))
    whole = sum(rational(s))
    low = 0.75 * near(whole)
    found, centre = column_lengths(rows, s, low)
    shift = np.zeros(d) if rows.shift is None else rows.shift
    for j in range(d):
        column = [v - Rational(shift[j]) for v in rational(X[:, j])]
        # A centre is rounded: the next numbers are as good.
        weighed = list(zip(rational(s), column, strict=True))
        ends = (Rational(centre[j]), -Rational(centre[j]))
        right = min(sum(w * (v - m) ** 2 for w, v in weighed) for m in ends) / Rational(low)
        if not right * (1 + n * U) <= Rational(found[j]) ** 2 <= right * SLIGHTLY + TINY:
            yield f"a column of the length {found[j]}, not {near(right) ** 0.5}"
        size = max(map(abs, column))
        if (rows.sparse and centre[j]) or not abs(centre[j]) <= 1.5 * near(size):
            yield f"centre {centre[j]}"
        if not rows.sparse:
            # Near the mean, up to the bounds of S, so that lengths are no longer than they must be.
            mean = sum(w * v for w, v in weighed) / Rational(low)
            if not abs(abs(mean) - Rational(centre[j])) <= Rational(1, 10**9) * size:
                yield f"centre {centre[j]} for {near(mean)}"


def measures(rng: np.random.Generator) -> Iterator[str]:
    """Columns are measured in units near their size, from about their centre where that is far."""
    n, d = int(rng.choice([2, 9, 700])), int(rng.integers(1, 4))
    size, far = 10.0 ** rng.uniform(-12, 12, size=d), rng.choice([0.0, 3e4], size=d)
    X = size * (rng.uniform(-1, 1, size=(n, d)) + far)
    X[0], X[-1] = size * (far - 1), size * (far + 1)
    movable = bool(rng.random() < 0.7)
    rows = rows_in(X if rng.random() < 0.7 else csr_matrix(X), movable)
    moved = movable and not rows.sparse
    if (rows.shift is not None) != (moved and far.any()):
        yield f"moved by {rows.shift}"
    if moved and far.any():
        off = np.where(far > 0, np.abs(rows.shift / size - far), np.abs(rows.shift))
        if not (off <= 1.0).all():
            yield f"moved by {rows.shift}, not {far * size}"
    length = size * np.where(far > 0, 1.0 if moved else far, 1.0)
    if not ((0.2 * length <= rows.unit) & (rows.unit <= 1.5 * length)).all():
        yield f"units {rows.unit} for {length}"
    if rows.plain != (rows.unit == 1.0).all():
        yield "plain"


SUM_PARTS = (block_sums, block_pulls, block_gains, pairs, columns, measures)
