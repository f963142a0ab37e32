"""The same for kernels: values against 150 digits, products with K and bounds against fractions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Context, Decimal, localcontext
from typing import Any

import numpy as np
from scipy import sparse

from cotas.certificates.core import composites, definite, gram
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.gap import Claim, Risk, Weights, feasible
from laws.exact.cases import MARGINS, RESIDUALS, draw
from laws.exact.oracle import Exact, Rational, at_least, at_most, near, rational

DIGITS = Context(prec=150, Emin=-(10**9), Emax=10**9)
LINEAR = ("linear",)
COSINE = ("normalized", LINEAR)
W = np.array([[0.7, -2e-3, 1.1e3], [-1.3, 4e-4, 300.0], [0.2, 1e-3, -700.0]])


def polynomial(p: int, g: float, c: float) -> Any:
    """(g·x·z + c)ᵖ"""
    return ("power", ("sum", ("product", ("constant", g), LINEAR), ("constant", c)), p)


def squares_of(A: Any) -> np.ndarray:
    """A feature map that is exact in small whole numbers."""
    A = A.toarray() if hasattr(A, "toarray") else A
    return np.column_stack([A[:, 0] + A[:, 1], A[:, 2]])


def sums_of(A: Any, B: Any) -> np.ndarray:
    """A function of two blocks of rows, of which the values are exact as they come."""
    A, B = (rows.toarray() if hasattr(rows, "toarray") else rows for rows in (A, B))
    return np.minimum(A[:, :1], B[:, 0]) - 0.5


SPECS = {
    "linear": LINEAR,
    "cosine": COSINE,
    "polynomial": polynomial(3, 0.1, 1.0),
    "fifth": polynomial(5, 0.3, 2.0),
    "rbf": ("rbf", 0.37, 1.0),
    "narrow": ("rbf", 0.5, 1e-3),
    "wide": ("rbf", 0.5, 1e3),
    "gaussian": ("gaussian", W),
    "columns": ("columns", ("rbf", 0.3, 1.0), (0, 2)),
    "algebra": (
        "sum",
        ("product", ("constant", 2.5), ("rbf", 0.1, 1.0), COSINE),
        ("power", COSINE, 2),
    ),
    "exp": ("exp", ("product", ("constant", 0.3), COSINE)),
    "exp of exp": ("exp", ("rbf", 0.37, 1.0)),
    "normalized": ("normalized", polynomial(2, 1.0, 1.0)),
    "custom": ("sum", ("custom", sums_of), ("constant", 3.0)),
    "features": ("features", squares_of),
}


def exactly(spec: Any, x: list[Decimal], z: list[Decimal]) -> Decimal:
    """k(x, z) in 150 digits, as the formula is written."""
    match spec:
        case ("linear",):
            return sum((a * b for a, b in zip(x, z, strict=True)), Decimal(0))
        case ("constant", c):
            return Decimal(c)
        case ("rbf", g, s):
            r = sum(((a - b) ** 2 for a, b in zip(x, z, strict=True)), Decimal(0))
            return (-Decimal(g) * r / Decimal(s) ** 2).exp()
        case ("gaussian", W):
            d = [a - b for a, b in zip(x, z, strict=True)]
            r = [
                sum((Decimal(w) * e for w, e in zip(row, d, strict=True)), Decimal(0))
                for row in W.tolist()
            ]
            return (-sum((v * v for v in r), Decimal(0)) / 2).exp()
        case ("sum", *parts):
            return sum((exactly(k, x, z) for k in parts), Decimal(0))
        case ("product", *parts):
            return math.prod((exactly(k, x, z) for k in parts), start=Decimal(1))
        case ("power", k, p):
            return exactly(k, x, z) ** p
        case ("exp", k):
            return exactly(k, x, z).exp()
        case ("normalized", k):
            square = exactly(k, x, x) * exactly(k, z, z)
            return exactly(k, x, z) / square.sqrt() if square else Decimal(0)
        case ("columns", k, j):
            return exactly(k, [x[i] for i in j], [z[i] for i in j])
        case ("custom" | "features", function):
            rows = [np.array([[float(v) for v in row]]) for row in (x, z)]
            if spec[0] == "custom":
                return Decimal(float(function(*rows)[0, 0]))
            one, two = ([Decimal(float(v)) for v in function(row)[0]] for row in rows)
            return exactly(LINEAR, one, two)
    raise AssertionError(spec)


def decimals(X: np.ndarray) -> list[list[Decimal]]:
    """Every number as the decimal fraction that it is."""
    return [[Decimal(v) for v in row] for row in X.tolist()]


def badly_scaled(rng: np.random.Generator, n: int = 6) -> np.ndarray:
    """Rows that floating-point arithmetic does not like."""
    X = rng.normal(size=(n, 3)) * 10.0 ** rng.choice([-6, 0, 0, 0, 3, 6], size=3)
    X += rng.choice([0.0, 0.0, 1.0, 1e4, 2.0**27, 2.0**40], size=3)
    if rng.random() < 0.3:
        X[: n // 2] += 2.0**27
    if rng.random() < 0.2:
        X *= 5e-324 if rng.random() < 0.3 else 1e-160
    if rng.random() < 0.3:
        X[0] = 0.0
    return np.concatenate([X, X[:1], X[1:2] + rng.normal(size=3) * 1e-9])


def value_failures(seed: int) -> list[str]:
    """Values of one kernel that are off by more than it says; and by much less, of easy rows."""
    rng = np.random.default_rng(seed)
    name = list(SPECS)[seed % len(SPECS)]
    spec, plain = SPECS[name], bool(rng.random() < 0.4)
    A, B = (rng.normal(size=(n, 3)) if plain else badly_scaled(rng, n) for n in (5, 4))
    B[:2] = A[1:3]
    given = [A, B]
    if rng.random() < 0.3:
        given = [sparse.csr_matrix(rows) for rows in given]
    try:
        K, e, f = gram.block(spec, *given)
        most = gram.diagonal(spec, given[0])
        least = gram.diagonal(spec, given[1])
    except Objection as objection:
        return [f"{name}: objection {objection.code!r}"] if plain else []
    found = []
    with localcontext(DIGITS):
        for i, x in enumerate(decimals(A)):
            own = abs(exactly(spec, x, x))
            close = own * Decimal("1.03") + Decimal("1e-290")
            if not own <= Decimal(most[i]) or (
                plain and name != "custom" and not Decimal(most[i]) <= close
            ):
                found.append(f"{name}: diagonal {most[i]} for {own:.17g}")
            for j, z in enumerate(decimals(B)):
                exact = exactly(spec, x, z)
                apart, room = abs(Decimal(float(K[i, j])) - exact), float(e[i]) * float(f[j])
                if not apart <= Decimal(float(e[i])) * Decimal(float(f[j])):
                    found.append(f"{name}: {K[i, j]} ± {room} for {exact:.17g}")
                if plain and not room <= _usual(name) * math.sqrt(most[i] * least[j]):
                    found.append(f"{name}: {K[i, j]} ± {room}, far too wide")
    return found


def _usual(name: str) -> float:
    """What errors of easy rows are, as a part of √(k(x, x)k(z, z)); two rows of W are large."""
    return {"gaussian": 1e-9, "narrow": 1e-7}.get(name, 1e-13)


def sides(rng: np.random.Generator) -> Iterator[str]:
    """m and e of sums, products and exponentials, of kernels that are hardly known."""
    m, n = (float(v) for v in rng.uniform(0.1, 5, size=2))
    e, f = (float(v) for v in rng.choice([0.0, 1e-3, 0.3], size=2))
    unit = 2.0**-53
    # The worst is (m + e)(n + f), and mn was meant.
    both, wrong = composites.side_of_product((m, e), (n, f)), m * f + e * n + e * f
    rounded = unit * (m + e) * (n + f)
    if not m * n <= both[0] <= m * n * (1 + 1e-9):
        yield f"a product of at most {both[0]}, not {m * n}"
    if not wrong + rounded <= both[1] * (1 + 1e-15) <= wrong * (1 + 1e-9) + 4 * rounded:
        yield f"a product that is off by {both[1]}, not {wrong}"
    many = [(m, e)] + [(n, f)] * int(rng.integers(1, 4))
    most, wrong = sum(a for a, _ in many), sum(a for _, a in many)
    found = composites.side_of_sum(many)
    rounded = unit * (len(many) - 1) * (most + wrong)
    if not most <= found[0] <= most * (1 + 1e-9):
        yield f"a sum of at most {found[0]}, not {most}"
    if not wrong + rounded <= found[1] <= wrong * (1 + 1e-9) + 5 * rounded:
        yield f"a sum that is off by {found[1]}, not {wrong}"
    grown, off = composites.side_of_exp((m, e), e)
    wrong = math.exp(m) * math.expm1(e)
    if not math.exp(m) <= grown <= math.exp(m) * (1 + 1e-9):
        yield f"an exponential of at most {grown}, not {math.exp(m)}"
    if (
        not wrong + 8 * unit * grown
        <= off
        <= math.exp(e) * grown * e * (1 + 1e-9) + 30 * unit * grown
    ):
        yield f"an exponential that is off by {off}, not {wrong}"
    wide = (np.array([m, m]), np.array([0.0, 0.5]))
    one, two = composites._exp(gram.Entries(np.full((2, 2), m), wide, wide))[1:]
    if not float(one[1][1]) * float(two[1][1]) >= (math.exp(m) * math.expm1(0.5)) ** 2:
        yield "an exponential of what is hardly known"
    found = composites.side_of_sum([(m, e)] * 3000)
    least = 3000 * (Rational(e) + Rational(2999, 2**53) * (Rational(m) + Rational(e)))
    if not (Rational(found[0]) >= 3000 * Rational(m) and Rational(found[1]) >= least):
        yield f"a sum of many that is off by {found[1]}, not {near(least)}"
    tiny = composites.side_of_product((1e-170 * m, 0.0), (1e-170 * n, 0.0))
    if not min(map(Rational, tiny)) >= Rational(1e-170 * m) * Rational(1e-170 * n):
        yield f"a product that vanishes is {tiny}"
    zero = composites.side_of_product((0.0, 0.0), (n, f))
    if zero != (0.0, 0.0):
        yield f"a product with nothing is {zero}"


def lengths(rng: np.random.Generator) -> Iterator[str]:
    """‖a‖² of rows, and how far products of such rows may be off."""
    d = int(rng.integers(1, 6))
    A = rng.normal(size=(4, d)) * 10.0 ** rng.uniform(-3, 3)
    A[0] = 0.0
    given = sparse.csr_matrix(A) if rng.random() < 0.5 else A
    squares, (m, e) = gram.squared_lengths(given)
    for i, row in enumerate(A):
        exact = sum(v * v for v in rational(row))
        wide = (d + 8) * Rational(1, 2**53)
        if (
            not exact
            <= Rational(m[i])
            <= exact * (1 + 40 * wide) + (Rational(1, 10**290) if i else 0)
        ):
            yield f"a square of {m[i]} for {near(exact)}"
        least, most = d * exact / 2**53, 2 * wide * exact + Rational(int(i > 0), 10**290)
        if not least <= Rational(e[i]) <= most:
            yield f"a square that is off by {e[i]}, of {near(exact)}"
        if squares[i] != 0.0 and not i:
            yield "nothing"


def normalizations(rng: np.random.Generator) -> Iterator[str]:
    """k/√(k(x, x)k(z, z)) of kernels that are off by a little; those hardly known are refused."""
    own, e = rng.uniform(0.5, 3, size=2), float(rng.choice([0.0, 1e-4, 1e-3]))
    k = float(rng.uniform(-1, 1)) * math.sqrt(own[0] * own[1])
    moved = [float(v + e * sign) for v, sign in zip(own, rng.choice([-1, 1], size=2), strict=True)]
    one, two = (
        gram.Entries(np.array([v]), (np.array([v + 2 * e]), np.array([e])), (0.0, 0.0))
        for v in moved
    )
    wrong = float(rng.choice([0.0, 1.0, -1.0])) * e
    whole = gram.Entries(
        np.array([[k + wrong]]),
        (np.array([moved[0] + 2 * e]), np.array([e])),
        (np.array([moved[1] + 2 * e]), np.array([e])),
    )
    K, (m, f), (n, g) = composites._normalized(whole, one, two)
    exact = k / math.sqrt(own[0] * own[1])
    room = math.sqrt(float(f[0]) * float(g[0]))
    if not abs(float(K[0, 0]) - exact) + 2.0**-52 * abs(exact) <= room <= 12 * e + 40 * 2.0**-53:
        yield f"a normalized value {K[0, 0]} ± {room}, not {exact}"
    if not (float(m[0]) * float(n[0]) >= 1.0 and float(m[0]) <= 1.03 * (1 + 5 * e / own[0])):
        yield f"normalized values of at most {m}, {n}"
    rough = one._replace(left=(one.left[0], one.left[0] * 0.02))
    if math.isfinite(float(np.max(composites._normalized(whole, rough, two).left[1]))):
        yield "a kernel whose k(x, x) is hardly known is normalized"


KERNEL_PARTS = (sides, lengths, normalizations)


@contextmanager
def small_blocks() -> Iterator[None]:
    """So that a few rows are several blocks, and a few products several sums."""
    before = gram.BLOCK, gram.CHUNK
    gram.BLOCK, gram.CHUNK = 4, 2
    try:
        yield
    finally:
        gram.BLOCK, gram.CHUNK = before


RATIONAL_KERNELS = {
    "linear": (LINEAR, lambda v: v),
    "polynomial": (polynomial(2, 0.5, 1.0), lambda v: (v / 2 + 1) ** 2),
    "sum": (("sum", LINEAR, ("product", ("constant", 3.0), ("power", LINEAR, 3))), None),
}


def exact_gram(name: str, X: np.ndarray) -> list[list[Any]]:
    """K in fractions."""
    rows = [rational(row) for row in X]
    form = RATIONAL_KERNELS[name][1] or (lambda v: v + 3 * v**3)
    return [[form(sum(a * b for a, b in zip(x, z, strict=True))) for z in rows] for x in rows]


def product_failures(seed: int) -> list[str]:
    """Products with K, and the lengths in feature space, that are off by more than they say."""
    rng = np.random.default_rng(seed)
    name, n = list(RATIONAL_KERNELS)[seed % 3], int(rng.integers(1, 14))
    X = rng.normal(size=(n, 2)) * 10.0 ** rng.choice([-6, -1, 0, 0, 2], size=2)
    X += rng.choice([0.0, 0.0, 1e4, 2.0**20, 2.0**31], size=2)
    X *= 1e-160 if rng.random() < 0.05 else 1.0
    w = rng.normal(size=(n, 2)) * 10.0 ** rng.choice([-8, 0, 5], size=(n, 1))
    w[rng.random(n) < rng.choice([0.1, 0.8])] = 0.0
    K, wanted = exact_gram(name, X), rng.random(n) < 0.7
    spec, given, shift = RATIONAL_KERNELS[name][0], X, 0.0
    if rng.random() < 0.3:
        spec, shift = ("precomputed",), float(rng.choice([0.0, 1e-3]))
        given = np.array([[near(v) for v in row] for row in K])
        K = [rational(row) for row in given]
        for i in range(n):
            K[i][i] += Rational(shift)
    if rng.random() < 0.4:
        given = sparse.csr_matrix(given)
    with small_blocks():
        try:
            made = gram.Gram(spec, given, map, shift)
            values, off = made.times(w, wanted)
        except Objection as objection:
            return [f"{name}: objection {objection.code!r}"]
    return list(_of_products(made, K, w, wanted, values, off))


def _of_products(
    made: Any, K: list[list[Any]], w: np.ndarray, wanted: Any, values: Any, off: Any
) -> Iterator[str]:
    used = w.any(axis=1)
    for i, (row, square) in enumerate(zip(K, made.squares.tolist(), strict=True)):
        if not abs(row[i]) <= Rational(square) <= abs(row[i]) * (1 + Rational(1, 10**9)) + 1e-280:
            yield f"square {square} for {near(row[i])}"
    sizes = np.sqrt(made.squares)
    for k in range(w.shape[1]):
        factors = rational(w[:, k])
        exact = [sum(a * b for a, b in zip(row, factors, strict=True)) for row in K]
        mass = float(sizes @ np.abs(w[:, k]))
        for i in np.flatnonzero(wanted | used):
            if not abs(Rational(values[i, k]) - exact[i]) <= Rational(off[i, k]):
                yield f"product {values[i, k]} ± {off[i, k]} for {near(exact[i])}"
            if not off[i, k] <= 1e-11 * float(sizes[i]) * mass + 1e-280:
                yield f"product {values[i, k]} ± {off[i, k]}: far too wide"
        length = made.length(w[:, k], values[:, k], off[:, k])
        square = sum(a * b for a, b in zip(exact, factors, strict=True))
        if not abs(Rational(length.square) - square) <= Rational(length.off):
            yield f"length {length} for {near(square)}"
        if not Rational(length.most) >= square or not length.off <= 1e-10 * mass**2 + 1e-280:
            yield f"length {length}"


def shift_failures(seed: int) -> list[str]:
    """ε too small, or far too large, of a symmetric matrix whose eigenvalues are known."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 20))
    B = rng.integers(-8, 8, size=(n, max(1, n - 3))).astype(float)
    exact = B @ B.T  # of integers, so without rounding, and singular from four rows on
    # What a factorization may be off by: below it no definiteness is proved.
    error, below = 2 * (n + 4) * 2.0**-53 * np.trace(exact), exact - 0.5 * np.eye(n)
    found = []
    if not 0.0 <= definite.proved_shift(exact) <= 10 * n * error + 1e-290:
        found.append(f"shift {definite.proved_shift(exact)} of a singular matrix, error {error}")
    if n > 3 and not 0.5 <= definite.proved_shift(below) <= 0.6:
        found.append(f"shift {definite.proved_shift(below)}, and an eigenvalue is −½")
    for much, enough in ((1.5, True), (0.1, False)):
        proved = definite.proved_shift(exact + much * error * np.eye(n)) == 0.0
        if n > 3 and error > 0 and proved != enough:
            found.append(f"definite by {much} of the error")
    if definite.proved_shift(np.zeros((0, 0))) != 0.0:
        found.append("nothing")
    return found


def machine_failures(seed: int) -> list[str]:
    """False or wide bounds of a kernel machine with the linear kernel, whose θ is known exactly."""
    rng = np.random.default_rng(seed)
    losses = [*MARGINS, *RESIDUALS]
    case = draw(rng, (losses[seed % len(losses)], "l2"))
    lam, free = float(case.risk.regularizer.lam), case.risk.free_bias
    X, n = case.dense, len(case.y)
    if case.style in ("extreme", "denormal") or case.risk.bias_scale or not lam > 0:
        return []
    risk = Risk(case.risk.loss, gram.SquaredLength(lam), free)
    w = Weights.of(case.weights, n)
    dual = feasible(risk.loss, case.y, case.c, w.s, free)
    beta = -case.c / (lam * float(w.s.sum()))
    others = [beta, beta * 0.7, np.zeros(n)]
    theta = [
        [sum(b * v for b, v in zip(rational(one), rational(column), strict=True)) for column in X.T]
        for one in others
    ]
    exact = Exact(Risk(risk.loss, case.risk.regularizer, free), X, case.y, case.weights)
    values = [exact.value(one, Rational(case.bias)) for one in theta]
    made = gram.Gram(LINEAR, X)
    product, off = made.times(np.column_stack([beta, dual]), w.s > 0)
    try:
        with np.errstate(all="ignore"):
            found, length = gram.bounds(
                Claim(risk, case.y, beta, case.bias, dual), made, w, product, off
            )
    except Objection as objection:
        return (
            [] if values[0] is None or not case.well_scaled else [f"objection {objection.code!r}"]
        )
    return list(_of_machine(case, found, length, theta[0], values))


def _of_machine(case: Any, found: Bounds, length: Any, theta: Any, values: Any) -> Iterator[str]:
    words = f"{case.family} {case.style}"
    if not at_least(found.upper, values[0]):
        yield f"{words}: upper {found.upper!r} below {near(values[0])!r}"
    if not all(at_most(found.lower, value) for value in values if value is not None):
        yield f"{words}: lower {found.lower!r} above {[near(v) for v in values if v is not None]}"
    if not Rational(length.most) >= sum(t * t for t in theta):
        yield f"{words}: length {length}"
    if case.well_scaled:
        slope = np.abs(case.c / np.maximum(case.s, 1e-9)).max()
        sizes = np.abs(case.dense) @ np.abs(case.theta) + np.abs(case.y) + abs(case.bias) + 1
        room = 1e-8 * (found.upper + 1e-3 * (slope + 1) * sizes.max() ** 2)
        if not (found.gap <= room and found.charge <= room):
            yield f"{words}: gap {found.gap} of {found.upper} at an optimal pair"
