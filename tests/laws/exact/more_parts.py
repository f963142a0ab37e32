"""What single functions of the core promise that the bounds of whole problems hardly show."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np

from cotas.certificates.core import definite, softmax
from cotas.certificates.core.blocks import Pulled, Sharp, Tally
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.gap import L2, Claim, Risk
from cotas.certificates.core.margins import HardMargin
from laws.exact.contracts import SLIGHTLY, TINY, U
from laws.exact.oracle import Rational, near, rational


def hard_margins(rng: np.random.Generator) -> Iterator[str]:
    """P of a separator is that of its multiple whose smallest margin is one."""
    d, lam = int(rng.integers(1, 4)), float(10.0 ** rng.uniform(-3, 3))
    theta, margins = rng.normal(size=d), rng.random(5) * 10.0 ** rng.uniform(-6, 6) + 1e-9
    claim = Claim(Risk(HardMargin(), L2(lam), True), np.ones(5), theta, 0.5)
    found = Rational(HardMargin().objective(claim, margins))
    exact = Rational(lam) / 2 * sum(v * v for v in rational(theta)) / Rational(margins.min()) ** 2
    if not exact <= found <= exact * SLIGHTLY:
        yield f"a separator of {near(exact)} is said to be of {near(found)}"
    margins[int(rng.integers(5))] = float(rng.choice([0.0, -1.0, math.nan]))
    try:
        yield f"margins {margins} separate: {HardMargin().objective(claim, margins)}"
    except Objection as objection:
        if objection.code != "not separated":
            yield f"margins {margins}: {objection.code}"


def class_rests(rng: np.random.Generator) -> Iterator[str]:
    """Σₖ|δₖ| of what the blocks found, and Xᵀc with what the roundings of p are worth in it."""
    d, k = int(rng.integers(1, 4)), int(rng.integers(2, 5))
    rests = rng.normal(size=k) * rng.choice([0.0, 1.0])
    reached, off = rng.random(k) * 1e15, 0.25
    second = Tally()
    for j in range(k):
        second |= {
            f"pull {j}": Pulled(rng.normal(size=d), off, 1.0),
            f"reached {j}": reached[j],
            f"rest {j}": Sharp.of([rests[j]]),
        }
    claims = SimpleNamespace(biases=(0.0,) * k, d=d, additions=9)
    pulls, rest = softmax._pulls(claims, np.ones(d), second)
    exact = sum(map(abs, rational(rests)), Rational(0))
    if not exact <= Rational(rest) <= exact * SLIGHTLY + TINY:
        yield f"a rest of {rest}, not {near(exact)}"
    for j, pull in enumerate(pulls):
        most = off + softmax.felt_of(k, d, float(reached[j]))
        if not (pull.u == second[f"pull {j}"].u).all() or not most <= pull.off <= most * 1.001:
            yield f"a pull off by {pull.off}, not {most}"


def hinted_shifts(rng: np.random.Generator) -> Iterator[str]:
    """ε covers the error of the factorization that proves it, wherever the eigenvalues are hinted.

    K + σI, of the order n, is proved to have no eigenvalue below −γₙ₊₁ of its trace.
    """
    n = int(rng.integers(4, 9))
    K = rng.normal(size=(n, n))
    K = K + K.T
    K[np.diag_indices(n)] = 0.0
    hint, kept = -float(np.abs(K).sum()) * float(rng.uniform(0.5, 2.0)), np.linalg.eigvalsh
    np.linalg.eigvalsh = lambda K: np.full(n, hint)
    try:
        found = definite.proved_shift(K)
    finally:
        np.linalg.eigvalsh = kept
    sigma = Rational(-1.01 * hint)
    least = sigma * (1 + (n + 1) * n * U)
    if math.isfinite(found) and not least <= Rational(found) <= sigma * SLIGHTLY:
        yield f"a shift of {found}, not {near(least)}"


MORE_PARTS = (hard_margins, class_rests, hinted_shifts)
