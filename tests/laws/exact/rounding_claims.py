"""What each function of `rounding` promises: it encloses, and it is no wider than it says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from cotas.certificates.core import rounding
from laws.exact.oracle import Rational, rational

U = Rational(1, 2**53)
TINY = Rational(1, 2**1000)


def rounding_failures(seed: int) -> list[str]:
    """What is false of the numbers of this seed."""
    rng = np.random.default_rng(seed)
    return [f"rounding seed {seed}: {words}" for words in _all(rng)]


def _all(rng: np.random.Generator) -> Iterator[str]:
    scale = 10.0 ** rng.choice([0, 0, -12, 12, -200, 200, -310])
    x = abs(float(rng.normal())) * scale
    yield from _of_numbers(x, int(rng.integers(0, 200)))
    n = int(rng.choice([0, 1, 2, 5, 63, 64, 65, 511, 512, 513, 576, 700, 1500, 4096, 4097, 9000]))
    a = rng.normal(size=n) * scale
    if rng.random() < 0.3:
        a = a * 2.0 ** rng.integers(-90, 1, size=n)
    if rng.random() < 0.5 and n > 1:
        a[n // 2 :] = -rng.permutation(a[: n - n // 2])  # that nearly vanishes
        a = a * (1 + 1e-13 * rng.normal(size=n)) if rng.random() < 0.5 else a
    if rng.random() < 0.3:
        a = np.full(n, 0.1 * scale)  # errors that all go one way
    yield from _of_sums(a)
    yield from _of_products(a, rng)


def _of_numbers(x: float, k: int) -> Iterator[str]:
    X = Rational(x)
    if not rounding.down(x) < x < rounding.up(x) or rounding.up(rounding.down(x)) != x:
        yield "up and down are not the neighbours"
    relative = k * U / (1 - k * U)
    if not relative <= Rational(rounding.gamma(k)) <= relative * (1 + 8 * U) + Rational(1, 2**1070):
        yield f"gamma({k})"
    high, low = Rational(rounding.above(x, k)), Rational(rounding.below(x, k))
    if not X / (1 - U) ** k + TINY * (1 - 2 * U) <= high <= X * (1 + (k + 10) * U) + 2 * TINY:
        yield f"above({x}, {k})"
    if not max(Rational(0), X * (1 - (k + 10) * U) - 2 * TINY) <= low <= X * (1 - U) ** k:
        yield f"below({x}, {k})"
    if rounding.ratio(x, 0.0) != math.inf or rounding.ratio(x, 2.0) != x / 2.0:
        yield "ratio"


def _of_sums(a: np.ndarray) -> Iterator[str]:
    exact = sum(rational(a), Rational(0))
    value, off = rounding.total(a)
    if value != math.fsum(a) or rounding.exact_sum(a) != value:
        yield f"{len(a)} numbers whose sum is not rounded once: {value}"
    least = U * abs(Rational(value))
    if not least <= Rational(off) <= least * (1 + 8 * U) + Rational(1, 2**1072):
        yield f"total of {len(a)}: {value} ± {off}"
    if not a.any() and off:
        yield f"a sum of zeros that is off by {off}"
    wide = 4 * U * abs(exact) + Rational(1, 2**1073)
    if not exact < Rational(rounding.total_up(a)) <= exact + wide:
        yield "total_up"
    if not exact - wide <= Rational(rounding.total_down(a)) < exact:
        yield "total_down"
    squares = sum((v * v for v in rational(a)), Rational(0))
    norm = Rational(rounding.norm_up(a))
    if not squares <= norm * norm <= squares * (1 + 200 * U) + 4 * TINY * norm:
        yield f"norm_up of {a[:3]}"
    for spoiled in (
        [1.0, math.nan],
        [1e308] * 70,
        [1e308] * 5000,
        [math.inf, -math.inf],
        [-math.inf, 1.0],
    ):
        with np.errstate(all="ignore"):
            found: Any = [rounding.total(spoiled)[1], rounding.total_up(spoiled)]
        if found != [math.inf, math.inf]:
            yield f"a sum that is no number: {found}"
    if rounding.norm_up(np.array([1.0, math.inf])) != math.inf:
        yield "the norm of infinity"
    if rounding.norm_up(np.append(np.zeros(300), math.inf)) != math.inf or rounding.norm_up(
        np.zeros(300)
    ):
        yield "the norm of many numbers"
    if rounding.norm_up(np.zeros(3)) != 0.0 or rounding.norm_up(np.zeros(0)) != 0.0:
        yield "the norm of zero"
    if not math.isnan(rounding.exact_sum([1e308, 1e308])):
        yield "exact_sum"


def _of_products(a: np.ndarray, rng: np.random.Generator) -> Iterator[str]:
    b = rng.normal(size=len(a))
    exact = sum((p * q for p, q in zip(rational(a), rational(b), strict=True)), Rational(1, 8))
    value, off = rounding.dot(a, b, [0.125])
    room = 2 * U * abs(exact) + 16 * (len(a) + 1) * TINY
    if not abs(Rational(value) - exact) <= Rational(off) <= room:
        yield f"dot {value} ± {off}"
    big = 2.0**1000 * rng.normal(size=5)
    exact = sum((p * q for p, q in zip(rational(big), rational(b), strict=False)), Rational(0))
    with np.errstate(all="ignore"):
        value, off = rounding.dot(big[: len(b)], b[:5])
    size = sum((abs(p * q) for p, q in zip(rational(big), rational(b), strict=False)), Rational(0))
    if not abs(Rational(value) - exact) <= Rational(off) <= 8 * U * size + 16 * TINY:
        yield f"dot of large numbers {value} ± {off}"
    many = 2.0**1000 * rng.normal(size=300)
    with np.errstate(all="ignore"):
        value, off = rounding.dot(many, np.ones(300))
    mass = sum(map(abs, rational(many)))
    wrong = abs(Rational(value) - sum(rational(many)))
    if not max(wrong, 2 * U * mass) <= Rational(off) <= 8 * U * mass:
        yield f"dot of many large numbers {value} ± {off}"
    with np.errstate(all="ignore"):  # some of them only
        value, off = rounding.dot(np.array([2.0**1000, 1.0]), np.array([1.0, 0.5]), [2.0])
    if not abs(Rational(value) - 2**1000 - Rational(5, 2)) <= Rational(off):
        yield f"dot of a large number and a small one {value} ± {off}"
    try:
        rounding.gamma(2**53)
        yield "gamma of too many"
    except ValueError:
        pass
