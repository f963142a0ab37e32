"""The parts of the core at the ends of their range: where squares, sums and products leave it.

Problems that are well scaled never come here, and bounds of those that do are so wide that hardly
anything shows. So each part is asked alone, with numbers that are too large, too small or none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from cotas.certificates.core import (
    blocks,
    composites,
    curvature,
    definite,
    gap,
    gram,
    hessian,
    residuals,
    rounding,
    softmax,
    sparsity,
    unpenalized,
)
from cotas.certificates.core import (
    rows as framed,
)
from cotas.certificates.core.blocks import Claims, OneBlock, Pulled, Sharp
from cotas.certificates.core.bounds import Bounds, Objection, Pull, moved_apart
from cotas.certificates.core.gap import L2, Claim, Risk, Weights, best_multiple
from cotas.certificates.core.imbalance import longest
from cotas.certificates.core.sparse_rows import rows_in
from laws.exact.as_written import U, as_written, differ
from laws.exact.guesses import LOSSES
from laws.exact.oracle import Rational, put


def large_units(rng: np.random.Generator) -> Iterator[str]:
    """Rows are no longer than they are, in units whose squares leave the range of numbers."""
    # So small, and so large, that the squares of entries, or of the units, lose their digits.
    edges = [(-510, 0), (-505, 30), (-40, 498), (-19, 0), (0, 0), (0, 540), (499, 0), (501, 0)]
    for power, less in [*edges, (560, 160)]:
        X = rng.uniform(1.0, 2.0, size=(4, 2)) * 2.0 ** (power - less)
        X *= 2.0 ** rng.integers(-3, 4, size=(4, 2))
        X[0] *= 2.0 ** rng.choice([0, 40])  # of one row only the squares may leave the range
        frame = framed.Frame(None, np.full(2, 2.0**power))
        for given in (X, csr_matrix(X)):
            found = rows_in(given, False, map, frame).lengths
            for length, row in zip(found.tolist(), X.tolist(), strict=True):
                square = sum(Rational(v) ** 2 for v in row) / Rational(2) ** (2 * power)
                least = max(0, Rational(length) - 2 * Rational(rounding.SMALL)) ** 2
                if not least * (1 - Rational(1, 10**12)) <= square <= Rational(length) ** 2:
                    yield f"a row of {row} in units of 2^{power} has the length {length}"


def far_apart(rng: np.random.Generator) -> Iterator[str]:
    """Pairs of long rows, none longer than the others, are computed from their differences."""
    d, asked = int(rng.integers(1, 3)), list[Any]()
    far = float(rng.uniform(16.5, 22.0)) / math.sqrt(d)
    B = far * np.array([[1.0], [-1.0]]) * np.ones(d)
    A = B + 0.1 * rng.normal(size=(2, d))

    def apart(A: Any, B: Any, i: Any, j: Any, scale: float) -> Any:
        asked.extend(zip(i.tolist(), j.tolist(), strict=True))
        return np.square((A[i] - B[j]) * scale).sum(axis=1)

    with put(gram, _squared_distances=apart):
        found = gram.falling(A, B, 1.0, 0.0)
    exact = np.exp(-np.square(A[:, None] - B).sum(axis=2))
    yield from differ("values", found.K + 1.0, exact + 1.0)
    if asked != [(0, 0), (1, 1)]:
        yield f"the pairs {asked} are computed from their differences"
    own = gram.evaluate(("rbf", 1.0, 1.0), A[:1])
    sizes = [found.left[0], found.right[0], *own.left, *own.right, *own.K]
    if sizes != [1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0]:
        yield f"exp(−‖x − x′‖²) is at most {sizes}"
    for scale in (2.0**1000, 2.0**-1000):  # which lose digits, or overflow
        try:
            yield f"exp of multiples of {scale}: {gram.falling(A, B, scale, 0.0)}"
        except Objection as objection:
            if objection.code != "not finite":
                yield f"exp of multiples of {scale}: {objection.code}"


def no_numbers(rng: np.random.Generator) -> Iterator[str]:
    """Sums of which a part is no number are infinitely large, and what they pull infinitely off."""
    for given in ((math.nan, 0.0, 0.0), (1.0, 0.0, math.nan), (math.inf, 0.0, 0.0)):
        if Sharp(*given).most != math.inf:
            yield f"{Sharp(*given)} is at most {Sharp(*given).most}"
    u, unit = rng.normal(size=2), np.ones(2)
    for off in (math.nan, math.inf):
        found = Pulled(u, off, 1.0).whole(unit, 9)
        if found.off != math.inf or found.u.any():
            yield f"a pull that is off by {off}: {found}"
    X, c = np.array([[1.0, 0.5], [1.0, 0.25], [0.5, 1.0]]), np.array([1e308, -1e308, 1e300])
    [pull] = rows_in(X, False, map, framed.Frame(None, unit)).pull(c[:, None])
    if pull.off != math.inf or pull.u.any():
        yield f"a pull of {c}: {pull}"
    a, b = np.array([2.0**1000, 2.0**999, 1.0]), np.append(2.0 ** rng.integers(1, 9, size=2), 3.0)
    with as_written(rounding):
        value, off = rounding.dot(a, b, (0.5,))
    whole = float(a @ b)
    yield from differ("a product", (value, off), (whole, U * whole + 2 * U * whole))


def exact_parts(rng: np.random.Generator) -> Iterator[str]:
    """Products as two numbers are exact, and what is rounded down is so by what underflows too."""
    a, b = rng.normal(size=(2, 8)) * 2.0 ** rng.integers(-40, 40, size=(2, 8))
    high, low = (part.tolist() for part in rounding.exact_products(a, b))
    for k in range(8):
        if Rational(high[k]) + Rational(low[k]) != Rational(a[k]) * Rational(b[k]):
            yield f"{a[k]} times {b[k]} is not {high[k]} + {low[k]}"
    x = float(rng.uniform(1.0, 9.0)) * rounding.TINY
    if not Rational(rounding.below(x, 2)) <= Rational(x) - Rational(rounding.TINY):
        yield f"{x} is at least {rounding.below(x, 2)}"
    # The error of a sum counts beside those of its terms.
    n, K = 5, rng.normal(size=5)
    with as_written(gram), put(gram, total=lambda a: (math.fsum(a), 0.25)):
        found = gram.Gram(("linear",), np.ones((n, 1))).length(K, K, np.abs(K))
    square, tiny = float(K @ K), n * 2.0**-30
    yield from differ("length", found, (square, 0.25 + square + 2 * U * square + tiny))


def barely_numbers(rng: np.random.Generator) -> Iterator[str]:
    """Products with K near the end of the range: what is one too large is refused, or enclosed."""
    n, k = int(rng.integers(2, 5)), int(rng.integers(0, 2))
    X, W = rng.normal(size=(n, 2)), rng.normal(size=(n, 1))
    X[rng.integers(n)] *= 10.0 ** rng.uniform(140, 154)
    W *= 10.0 ** rng.uniform(0, 30)
    spec = (("linear",), ("sum", ("linear",), ("constant", 1.0)))[k]
    rows = [[Rational(v) for v in row] for row in X.tolist()]
    K = [[sum(a * b for a, b in zip(x, z, strict=True)) + k for z in rows] for x in rows]
    exact = [sum(v * Rational(w) for v, w in zip(row, W[:, 0].tolist(), strict=True)) for row in K]
    try:
        with np.errstate(all="ignore"):
            out, off = (
                part[:, 0].tolist() for part in gram.Gram(spec, X).times(W, np.ones(n, bool))
            )
    except Objection as objection:
        if objection.code != "not finite" or max(map(abs, exact)) < Rational(10) ** 280:
            yield f"{objection.code}: products of at most {float(max(map(abs, exact))):.3g}"
        return
    for value, most, true in zip(out, off, exact, strict=True):
        if not (math.isfinite(value) and math.isfinite(most)):
            yield f"a product of {value} ± {most}"
        elif abs(Rational(value) - true) > Rational(most):
            yield f"a product of {value} ± {most}, not {float(true)}"


def wrong_hints(rng: np.random.Generator) -> Iterator[str]:
    """A hint at eigenvalues that are none, or too large, proves no shift."""
    n = int(rng.integers(2, 6))
    K = rng.normal(size=(n, n))
    for hint in (1e6, -math.inf, math.nan):
        asked: list[Any] = []

        def is_definite(A: Any, asked: list[Any] = asked) -> bool:
            asked.append(A)
            return len(asked) > 2

        hinted = np.full(n, hint)
        with (
            put(definite, is_definite=is_definite),
            put(np.linalg, eigvalsh=lambda K, hinted=hinted: hinted),
        ):
            found = definite.proved_shift(K + K.T)
        if found != math.inf:
            yield f"a shift of {found} from eigenvalues of {hint}"


def supports(rng: np.random.Generator) -> Iterator[str]:
    """Products with K where each column has other rows that are not zero."""
    n = int(rng.integers(3, 8))
    X, W = rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) * (rng.random((n, 2)) < 0.5)
    W[0], W[1], wanted = [1.0, 0.0], [0.0, 1.0], rng.random(n) < 0.5
    for spec, K in ((("linear",), X @ X.T), (("sum", ("linear",), ("linear",)), 2 * X @ X.T)):
        for size in (2, 512):
            with put(gram, BLOCK=size):
                found, off = gram.Gram(spec, X).times(W, wanted)
            some = wanted | W.any(axis=1)
            apart = np.abs(found - K @ W)[some]
            if not (apart <= off[some] + 1e-13).all():
                yield f"{spec}: products {found}, not {K @ W}"


def degrees(rng: np.random.Generator) -> Iterator[str]:
    """A conjugate goes with the power of t that is said; Ω of targets that are small is small."""
    pull = Pull(rng.normal(size=2), np.ones(2), 0.0)
    for penalty in (L2(0.5), sparsity.Ball(0.5), gram.SquaredLength(0.5)):
        given: Any = gram.Length(2.0, 0.0) if isinstance(penalty, gram.SquaredLength) else pull
        one, two = (penalty.conjugate(given, t, 0.5) for t in (1.0, 2.0))
        if not math.isclose(two, 2.0**penalty.degree * one, rel_tol=1e-9):
            yield f"{penalty}: conjugates {one} and {two}, of the degree {penalty.degree}"
    yield from _weighted(rng, pull)
    lasso = sparsity.ElasticNetRegularizer(9.0)
    if lasso.degree or [lasso.conjugate(pull, t, 1.0) for t in (1.0, 2.0)] != [0.0, 0.0]:
        yield f"inside its domain the conjugate of the Lasso is zero: {lasso.degree}"


def _weighted(rng: np.random.Generator, pull: Pull) -> Iterator[str]:
    """(λ/2) Σ (σⱼθⱼ)²: θ is multiplied by σ, and u is divided by it."""
    theta, sigma = rng.normal(size=2), rng.uniform(0.5, 2.0, size=2)
    for weights, s in ((None, np.ones(2)), (sigma, sigma)):
        found = curvature.WeightedL2(0.5, weights)
        values = found.value(theta), found.conjugate(pull, 0.5, 0.25), found.radius(1.0)
        square = np.square(0.125 * pull.u / s).sum()
        expected = 0.25 * np.square(s * theta).sum(), square, 2.0 / s.min()
        yield from differ("weighted", values, expected)
        found.refuse(theta)
        unit, off = 2.0 ** rng.integers(-3, 4, size=2), float(rng.uniform(0.5, 2.0))
        wide = found.conjugate(Pull(pull.u, unit, off), 0.5, 0.25)
        moved = [np.abs(pull.u) + unit * off * np.eye(2)[j] for j in (0, 1)]
        least = max(np.square(0.125 * u / s).sum() for u in moved)
        most = np.square(0.125 * (np.linalg.norm(pull.u / s) + (unit / s).max() * off))
        if not least * (1 - 1e-9) <= wide <= most * (1 + 1e-9):
            yield f"a conjugate of {wide}, not between {least} and {most}"
        if found.loose() != 0.0:
            yield f"coefficients that all have a penalty take {found.loose()} away"
    for bad in (-1.0, math.inf, math.nan):
        try:
            curvature.WeightedL2(0.5, np.array([1.0, bad])).refuse(theta)
            yield f"a weight of {bad}"
        except Objection as objection:
            if objection.code != "parameters":
                yield f"a weight of {bad}: {objection.code}"
    if curvature.WeightedL2(0.5, np.array([1.0, 0.0])).conjugate(pull, 0.5, 0.25) != math.inf:
        yield "the conjugate of a coefficient without a penalty"


def small_targets(rng: np.random.Generator) -> Iterator[str]:
    """How long coefficients without a penalty are where the targets are far smaller than one."""
    n, size, level = 9, float(10.0 ** rng.uniform(-6, -1)), float(10.0 ** rng.uniform(-9, -3))
    y, s, X = rng.uniform(-size, size, size=n), rng.random(n) + 0.1, rng.normal(size=(n, 2))
    s[0], y[0] = 0.0, 9.0  # without a weight, it is none of them
    penalty = sparsity.ElasticNetRegularizer(0.5, 0.0, False, np.array([1.0, 0.0]))
    claim = Claim(Risk(residuals.Squared(), penalty, False), y, np.ones(2), 0.0)
    rows, w = rows_in(X, False), Weights.of(s, n)
    found = unpenalized.limits(claim, rows, w, level)
    part = rows_in(X[:, 1:], False)
    H = hessian.hessian(part, w, np.zeros(1), False, False, None)
    most = np.abs(y[1:]).max() + math.sqrt(2 * level) + longest(rows) * level / 0.5
    yield from differ("limits", found, most / math.sqrt(H.least()) * H.scale / part.unit)


def nothing_known(rng: np.random.Generator) -> Iterator[str]:
    """What blocks say of the losses of the model that is zero, and of each class."""
    n, s = 5, rng.random(5)
    X, signs = rng.normal(size=(n, 2)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    for loss in LOSSES:
        y = signs if isinstance(loss, gap.Margin) else rng.normal(size=n)
        if loss.rescaled:
            continue
        rows = OneBlock(rows_in(X, False), y[:, None], s)
        risk, theta = Risk(loss, L2(1.0), False), np.zeros((2, 1))
        claims = Claims(risk, theta, (0.0,), rows.read, (None,), n, 2)
        found = blocks.Values(claims, *rows.frame(claims))(rows)
        value = s @ loss.value(y, np.zeros(n), 0.0)
        yield from differ(f"{loss}: nothing", found["nothing 0"] + 1.0, value + 1.0)
        sides = s[y > 0].sum() + 1.0, s[y < 0].sum() + 1.0
        yield from differ("sides", (found["plus 0"] + 1.0, found["minus 0"] + 1.0), sides)
        z, off, _ = rows.rows.scores(theta, [(0.0,)])
        wide = np.abs(loss.slope(y, z[:, 0])) * off[:, 0]
        if isinstance(loss, residuals.EpsilonInsensitive):  # less ε, residuals are rounding, too
            outside = np.abs(y - z[:, 0]) > loss.epsilon
            wide = outside * (off[:, 0] + 8 * rounding.U * (np.abs(y) + np.abs(z[:, 0])))
        felt = s @ wide
        yield from differ("felt", found["felt 0"], felt)


def nothing_given(rng: np.random.Generator) -> Iterator[str]:
    """Kernels of no rows, multiples of which there are none, and room that nobody has asked for."""
    ends = sorted(float(v) for v in rng.random(2))
    if moved_apart(*ends, 1e-3) != moved_apart(*ends, 1e-3, 0.0):
        yield "bounds are moved by what was not asked"
    if Bounds.proved(*ends, 1e-3) != Bounds.proved(*ends, 1e-3, 0.0):
        yield "bounds are proved with what was not asked"
    if (made := Bounds.proved(*ends, 0.25)).charge != 0.25 + sum(made.moved):
        yield f"a charge of {made.charge}, and moved by {made.moved}"
    found = composites._custom(lambda A, B: A @ B.T, np.zeros((0, 2)), None)
    if found.K.shape != (0,) or found.left[0].shape != (0,):
        yield f"a function of no rows: {found}"
    claim = Claim(Risk(softmax.LogLoss(), L2(1.0), True), np.zeros(0), np.zeros(0), 0.0)
    for gain in (-math.inf, -1.0, 0.0):
        given = (Pull(np.zeros(0), np.zeros(0), 0.0), lambda t, v=gain: (v, 0.0), None)
        best = best_multiple(claim, Weights(None, 1.0, 1.0), *given, 0.0, 0.0, math.inf)
        if best != (0.0, 0.0, 0.0):
            yield f"classes that gain {gain} prove {best}"
    risk = curvature.SquaredRisk(0.5, None, rows_in(rng.normal(size=(9, 2)), False), False, None, 1)
    asked = [Claim(risk.risk, 0.1 * rng.normal(size=9), 0.1 * rng.normal(size=2), 0.0)], 1e-9
    if risk.bounds(*asked) != risk.bounds(*asked, [0.0]):
        yield f"{risk.bounds(*asked)}, though nothing was near enough"
    # Dense rows with no factor are not read, where they are the most.
    X, c = np.full((9, 2), math.nan), np.zeros((9, 1))
    used = rng.permutation(9)[:2]
    X[used], c[used] = rng.normal(size=(2, 2)), 1.0
    rows = rows_in(np.ones((9, 2)), False)
    yield from differ("combined", rows.combine(X, c)[:, 0] + 9.0, X[used].sum(axis=0) + 9.0)
    apart = np.zeros((9, 2))  # of each column another row
    apart[used, [0, 1]] = 1.0
    yield from differ("combined", rows.combine(X, apart) + 9.0, X[used].T + 9.0)
    for theta, bias in ((1e308, 0.0), (0.0, math.inf)):
        rows, given = rows_in(X[used] + 99.0, False), np.array([[theta, 1.0], [1.0, 1.0]])
        try:
            with np.errstate(all="ignore"):
                yield f"scores {rows.scores(given, [(bias,), (0.0,)])}"
        except Objection as objection:
            if objection.code != "not finite":
                yield f"scores of {theta}, {bias}: {objection.code}"


EXTREMES = (
    large_units, far_apart, no_numbers, exact_parts, barely_numbers, wrong_hints, supports, degrees,
    small_targets, nothing_known, nothing_given,
)  # fmt: skip
