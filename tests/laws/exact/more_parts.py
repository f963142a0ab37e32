"""What single functions of the core promise that the bounds of whole problems hardly show."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np

from cotas.certificates.core import (
    choices,
    composites,  # noqa: F401  (kernels that are made of others)
    curvature,
    definite,
    gap,
    gram,
    hessian,
    lines,
    rounding,
    softmax,
    sparsity,
)
from cotas.certificates.core.blocks import NamedSums, Pulled, Sharp
from cotas.certificates.core.bounds import Bounds, Objection, Pull
from cotas.certificates.core.gap import L2, Claim, Risk
from cotas.certificates.core.margins import HardMargin, Logistic, SquaredHinge
from cotas.certificates.core.residuals import Huber, Squared
from cotas.certificates.core.sparse_rows import rows_in
from laws.exact.contracts import SLIGHTLY, TINY, U
from laws.exact.oracle import Rational, near, put, rational


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
    second = NamedSums()
    for j in range(k):
        second |= {
            f"pull {j}": Pulled(rng.normal(size=d), off, 1.0),
            f"reached {j}": reached[j],
            f"rest {j}": Sharp.of([rests[j]]),
        }
    claims = SimpleNamespace(biases=(0.0,) * k, d=d, additions=9)
    pull, rest = softmax._pull(claims, np.ones(d), second)
    exact = sum(map(abs, rational(rests)), Rational(0))
    if not exact <= Rational(rest) <= exact * SLIGHTLY + TINY:
        yield f"a rest of {rest}, not {near(exact)}"
    most = math.hypot(*(off + softmax.felt_of(k, d, float(v)) for v in reached))
    us = np.concatenate([second[f"pull {j}"].u for j in range(k)])
    if not np.array_equal(pull.u, us) or not most * (1 - 1e-15) <= pull.off <= most * 1.001:
        yield f"a pull off by {pull.off}, not {most}"
    if not np.array_equal(pull.unit, np.ones(k * d)):
        yield f"units {pull.unit} of {k} classes"


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


def combinations(rng: np.random.Generator) -> Iterator[str]:
    """Σ wᵢaᵢ in twice the precision, of products that cancel twice, or underflow."""
    scale = float(rng.choice([1.0, 1e-150, 1e-160, 1e140]))
    A, w = rng.normal(size=(4, 1)) * scale, rng.normal(size=4)
    for i in (1, 2, 3):  # each product cancels what the ones before have left
        left = sum(Rational(a) * Rational(b) for a, b in zip(A[:i, 0], w[:i], strict=True))
        w[i] = near(-left / Rational(A[i, 0])) if i < int(rng.integers(2, 5)) else w[i] * 1e-30
    value, off = lines.combination(A, w)
    exact = sum(Rational(a) * Rational(b) for a, b in zip(A[:, 0], w, strict=True))
    apart, most = abs(Rational(value[0]) - exact), Rational(off[0])
    if not apart <= most <= 2 * U * abs(exact) * SLIGHTLY + 10**9 * TINY:
        yield f"a combination off by {near(most)}, and it is {near(apart)} away"
    if not most >= 2 * U * abs(Rational(value[0])):
        yield f"a combination off by {near(most)} only"


def long_sums(rng: np.random.Generator) -> Iterator[str]:
    """Sums too long for `fsum`, nearly vanishing: those of residuals and of gains."""
    kept, rounding.FEW = rounding.FEW, 3
    try:
        n = int(rng.integers(70, 200))
        s, r = np.ones(n), rng.normal(size=n)
        r[-1] -= math.fsum(r)
        r[-2] -= math.fsum(r)
        found = curvature.residual_sums(s, r, np.zeros(n), np.ones(n))
        gain, off = gap.gain_of(SimpleNamespace(gain=lambda *c: (r, 0 * r), ulps=0), r, r, s, 1.0)
    finally:
        rounding.FEW = kept
    exact = sum(rational(r), Rational(0))
    if not Rational(found.mean[0]) <= exact <= Rational(found.mean[1]):
        yield f"a sum between {found.mean}, and it is {near(exact)}"
    if not found.mean[1] - found.mean[0] <= near(8 * U * abs(exact)) + 1e-300:
        yield f"a sum between {found.mean}, and it is rounded once"
    if not abs(Rational(gain) - exact) <= Rational(off):
        yield f"a gain of {gain} ± {off}, and it is {near(exact)}"


def distances(rng: np.random.Generator) -> Iterator[str]:
    """‖a − b‖² of pairs of rows, some at a time."""
    A, B = rng.normal(size=(5, 2)), rng.normal(size=(6, 2))
    i, j = (np.ravel(part) for part in np.indices((5, 6)))
    kept, gram.SOME = gram.SOME, int(rng.integers(1, 20))
    try:
        found = gram._squared_distances(A, B, i, j, 2.0)
    finally:
        gram.SOME = kept
    exact = 4 * np.square(A[i] - B[j]).sum(axis=1)
    if not np.allclose(found, exact, rtol=1e-12):
        yield f"distances {found}, not {exact}"


def defaults(rng: np.random.Generator) -> Iterator[str]:
    """What is said of bounds that nobody has moved, and of nothing proved."""
    if Bounds(1.0, 2.0) != Bounds(1.0, 2.0, 0.0, (0.0, 0.0)):
        yield "bounds have been moved"
    nothing = Objection("x")
    if (nothing.lower, nothing.upper, nothing.charge, nothing.moved) != (0, math.inf, 0, (0, 0)):
        yield "an objection knows something"
    lasso, ball, risk = (
        sparsity.ElasticNetRegularizer(1.0),
        sparsity.Ball(1.0),
        Risk(None, None, True),
    )
    plain = (lasso.lam2, lasso.positive, lasso.weights, ball.positive, ball.weights)
    if (*plain, risk.bias_scale) != (0.0, False, None, False, None, 0.0):
        yield "what was not asked of a penalty"
    found = Bounds.proved(float(rng.random()), 2.0, 0.0)
    if found.charge != sum(found.moved) or not 0.0 <= 2.0 - found.lower <= found.gap:
        yield f"a gap of {found.gap} between {found}"


def feature_lengths(rng: np.random.Generator) -> Iterator[str]:
    """(λ/2)‖θ‖² and its conjugate where θ and u are known by their lengths alone."""
    lam, t, share = (float(10.0 ** rng.uniform(-3, 3)) for _ in range(3))
    length = gram.Length(float(rng.normal()), float(rng.random()))
    most = max(Rational(0), Rational(length.square)) + Rational(length.off)
    if not most <= Rational(length.most) <= most * SLIGHTLY:
        yield f"{length} is at most {length.most}"
    found = (
        gram.SquaredLength(lam).value(length),
        gram.SquaredLength(lam).conjugate(length, t, share),
    )
    bent = (
        Rational(lam) / 2 * most,
        (Rational(t) * Rational(share)) ** 2 * most / (2 * Rational(lam)),
    )
    for one, exact in zip(found, bent, strict=True):
        if not exact <= Rational(one) <= exact * SLIGHTLY + TINY:
            yield f"a penalty of {one}, not {near(exact)}"


def scaled_hessians(rng: np.random.Generator) -> Iterator[str]:
    """H in its scale, for every sum of weights that is possible."""
    d, low = int(rng.integers(1, 4)), float(rng.uniform(0.5, 2.0))
    high = low * float(rng.choice([1.0, 1.4]))
    A = rng.normal(size=(6, d)) * 2.0 ** rng.integers(-9, 9, size=d)
    matrix, scale, off = hessian.in_scale(A.T @ A / high, 6, low, high)
    exact = (A.T @ A) * scale * scale[:, None]
    for whole in (low, high):
        apart = float(np.linalg.norm(exact / whole - matrix, 2))
        if not apart <= off * (1 + 1e-12):
            yield f"a Hessian off by {apart}, not {off}"
    most = (high / low - 1.0) * float(np.trace(matrix))
    if not most <= off <= most * (1 + 1e-9) + 1e-13 * float(np.trace(matrix)):
        yield f"a Hessian off by {off}, not {most}"
    if not (np.frexp(scale)[0] == 0.5).all() or not (np.abs(np.log2(np.diag(matrix))) <= 1).all():
        yield f"a scale of {scale}"


def loose_coefficients(rng: np.random.Generator) -> Iterator[str]:
    """What coefficients without a penalty take away."""
    limits = rng.random(1) + 0.5
    levels: list[float] = []
    loss = SimpleNamespace(
        value=lambda y, z, off: 0.5 + np.abs(z) + off,
        ulps=8,
    )
    w = gap.Weights(np.ones(2), 2.0, 3.0)
    claim = SimpleNamespace(risk=SimpleNamespace(loss=loss), y=np.ones(2))
    pull = Pull(rng.normal(size=2), 2.0 ** rng.integers(-2, 3, size=2), 0.2)
    for kind in (sparsity.ElasticNetRegularizer(1.0, 0.5, False, np.array([1.0, 0.0])), None):
        given = kind or sparsity.ElasticNetRegularizer(1.0, 0.5, False, np.ones(2))
        level = float(rng.choice([0.25, 1.0]))
        with put(sparsity, LIMITS={SimpleNamespace: lambda *g: levels.append(g[-1]) or limits}):
            slip = given.loose(claim, None, w, pull, level)
        most = (abs(pull.u[1]) + pull.unit[1] * 0.2) * limits[0] / 2.0 if kind else 0.0
        if not most <= slip <= most * (1 + 1e-9):
            yield f"coefficients take {slip}, not {most}"
        if kind and not math.isclose(levels[0], min(level, 0.5), rel_tol=1e-9):
            yield f"a level of {levels[0]} from {level}, and that of nothing is 0.5"
    strange = SimpleNamespace(risk=SimpleNamespace(loss=gap.Hinge()), y=np.ones(2))
    free = sparsity.ElasticNetRegularizer(1.0, 0.5, False, np.array([1.0, 0.0]))
    if free.loose(strange, None, w, pull, 1.0) != math.inf:
        yield "a loss that bounds no coefficient"


def balances(rng: np.random.Generator) -> Iterator[str]:
    """Dual points of all sizes sum to zero, exactly, once they are balanced: none is lost."""
    kinds = (gap.Hinge(), Logistic(), HardMargin(), Squared(), Huber(0.7))
    n, loss = int(rng.choice([2, 3, 20, 400, 5000])), kinds[rng.integers(len(kinds))]
    y = np.where(rng.random(n) < rng.choice([0.5, 0.05]), 1.0, -1.0)
    y[:2] = 1.0, -1.0
    s = rng.random(n) * 10.0 ** rng.integers(-6, 6, size=n) if rng.random() < 0.6 else np.ones(n)
    c = s * rng.normal(size=n) * 10.0 ** rng.integers(-12, 2, size=n)
    found = gap.feasible(loss, y, c, s, True)
    inside = gap.clipped(loss, y, found, s)
    if sum(rational(found), Rational(0)) != 0 or not np.array_equal(found, inside):
        yield f"{loss}: {n} multipliers sum to {math.fsum(found)}"
    mass, sides = np.abs(found).sum(), gap.clipped(loss, y, c, s)
    sides = np.maximum(sides, 0.0).sum(), np.maximum(-sides, 0.0).sum()
    if not loss.centred and not math.isclose(mass, 2 * min(sides), rel_tol=1e-9, abs_tol=1e-290):
        yield f"{loss}: of {sides} no more than {mass} is left"


def huge_duals(rng: np.random.Generator) -> Iterator[str]:
    """A dual point that is too large to be balanced is replaced, in memory and in blocks."""
    n, top = int(rng.integers(2, 9)), float(rng.uniform(150, 300))
    y, s = np.where(rng.random(n) < 0.5, 1.0, -1.0), 10.0 ** rng.uniform(-300, 0, size=n)
    c = 10.0**top * rng.uniform(-1, 1, size=n)
    for loss in (gap.Hinge(), SquaredHinge(), Logistic(), HardMargin(), Squared(), Huber(0.7)):
        with np.errstate(all="ignore"):
            found = gap.feasible(loss, y, c, s, True)
            more, less = np.maximum(c, 0.0).sum(), np.maximum(-c, 0.0).sum()
            shares = choices.shares(loss, float(more), float(less), float(s.sum()))
        if not (np.isfinite(found).all() and np.isfinite(shares).all()):
            yield f"{loss}: {found}, {shares} of {c}"


def tiny_penalties(rng: np.random.Generator) -> Iterator[str]:
    """Where the product of λ and the weights is zero, bounds are proved all the same."""
    n = int(rng.integers(1, 5))
    y, X = np.where(rng.random(n) < 0.5, 1.0, -1.0), rng.normal(size=(n, 2))
    for loss in (gap.Hinge(), SquaredHinge(), Logistic(), Squared(), Huber(0.7)):
        lam, s = 10.0 ** float(rng.uniform(-320, -100)), 10.0 ** rng.uniform(-145, -90, size=n)
        theta = rng.normal(size=2) * 10.0 ** rng.uniform(-9, 9)
        claim = Claim(Risk(loss, L2(lam), bool(rng.random() < 0.5)), y, theta, 0.0)
        [found] = gap.all_bounds(rows_in(X, False), [claim], s)
        if isinstance(found.bounds, Objection):
            yield f"{loss}: objection {found.bounds.code!r} to the penalty {lam}"
        elif not (math.isfinite(found.bounds.upper) and math.isfinite(found.bounds.charge)):
            yield f"{loss}: {found.bounds} with the penalty {lam}"


def definite_formulas(rng: np.random.Generator) -> Iterator[str]:
    """Which kernels are positive semi-definite by their formula."""
    rbf, W = ("rbf", 1.0, 2.0), np.eye(2)
    definite_ones = [("linear",), rbf, ("gaussian", W), ("constant", 0.5), ("features", np.abs)]
    definite_ones += [("sum", rbf, ("linear",)), ("product", rbf), ("power", rbf, 2), ("exp", rbf)]
    definite_ones += [("normalized", rbf), ("columns", rbf, (0,))]
    others = [("precomputed",), ("custom", np.dot)]
    others += [("sum", rbf, others[1]), ("product", others[1], rbf), ("power", others[1], 1)]
    wrong = [spec for spec in definite_ones if not gram.positive(spec)]
    wrong += [spec for spec in others if gram.positive(spec)]
    if wrong:
        yield f"the formulas {wrong}"


MORE_PARTS = (
    feature_lengths, scaled_hessians, loose_coefficients, definite_formulas, hard_margins,
    class_rests, balances, hinted_shifts, combinations, long_sums, distances, defaults,
    huge_duals, tiny_penalties,
)  # fmt: skip
