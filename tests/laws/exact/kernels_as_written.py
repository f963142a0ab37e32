"""The formulas of kernels and of products with them, seen as `as_written.py` sees the others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from cotas.certificates.core import (
    bounds,
    composites,
    gap,
    gram,
    hessian,
    lines,
    margins,
    residuals,
)
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.gap import L2, Claim, Risk, Weights
from cotas.certificates.core.imbalance import longest
from cotas.certificates.core.sparse_rows import rows_in
from laws.exact.as_written import TINY, U, as_written, differ

RAISED = 1 + 64 * U


def _lengths(A: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """m and e of the linear kernel on rows of so many entries at most."""
    squares, lost = (A**2).sum(axis=1), (width + 1) * TINY * A.any(axis=1)
    m = RAISED * (squares * (1 + (width + 2) * U) + lost)
    return m, RAISED * ((width + 2) * U * m + lost)


def lengths_as_written(rng: np.random.Generator) -> Iterator[str]:
    """Products of rows, of which some are zero, dense or sparse."""
    A, B = rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    A[0], A[1:, 0] = 0.0, 0.0  # two entries in a row, at most
    sparse = bool(rng.random() < 0.5)
    given = (csr_matrix(A), csr_matrix(B)) if sparse else (A, B)
    with as_written(gram):
        K, e, f = gram.block(("linear",), *given)
        own, diagonal = gram.linear(given[0], None), gram.diagonal(("linear",), given[0])
    yield from differ("product", K + 9.0, A @ B.T + 9.0)
    left, right = _lengths(A, 2 if sparse else 3), _lengths(B, 3)
    yield from differ("product ±", (*e, *f), RAISED * np.sqrt(np.append(left[1], right[1])))
    yield from differ("squares", own.K, (A**2).sum(axis=1))
    yield from differ("diagonal", diagonal, left[0])
    vanishing = np.full((1, 2), 1e-170)
    if not gram.linear(vanishing, None).left[0][0] > 0.0:
        yield "a row whose squares vanish is no row of zeros"


def distances_as_written(rng: np.random.Generator) -> Iterator[str]:
    """exp(−‖a − b‖²): its errors, and which pairs are computed from their differences."""
    far = float(rng.choice([1.0, 20.0, 30.0]))
    A, B = rng.normal(size=(5, 2)), rng.normal(size=(4, 2))
    A[0] += far
    B[0] += far * float(rng.random() < 0.7)
    A[1] = [500.0, 0.0]
    sides = [(A, B), (csr_matrix(A), csr_matrix(B)), (A, csr_matrix(B)), (csr_matrix(A), B)]
    which, off, scale = int(rng.integers(4)), float(rng.choice([0.0, 0.25])), 0.75
    centre = 0.0 if which else B.mean(axis=0)
    p, q = (np.square((part - centre) * scale).sum(axis=1) for part in (A, B))
    exact = np.square((A[:, None] - B) * scale).sum(axis=2)
    asked: list[Any] = []
    kept = gram._squared_distances

    def apart(A: Any, B: Any, i: Any, j: Any, scale: float) -> Any:
        asked.extend(zip(i.tolist(), j.tolist(), strict=True))
        return exact[i, j]

    gram._squared_distances = apart
    try:
        with as_written(gram):
            found = gram.falling(*sides[which], scale, off)
    finally:
        gram._squared_distances = kept
    bound, size = 24 * U, p[:, None] + q
    gone = exact - 2.02 * bound * size >= 40.0 if size.max() > 512.0 else size < 0.0
    if p.max() + q.max() <= 512.0:
        gone = size < 0.0
    yield from differ("values", found.K, np.where(gone, 0.0, np.exp(-exact)))
    for s, side in ((p, found.left), (q, found.right)):
        error = RAISED * (bound * (1.1 + 5.0 * np.minimum(s, 512.0)) + 1.8 * off)
        yield from differ("values ±", side[1], error)
    long = [(int(i), int(j)) for i, j in np.argwhere(~gone & (size > 512.0))]
    if p.max() + q.max() > 512.0 and asked != long:
        yield f"from their differences: {asked}, not {long}"
    mixed = gram.block(("rbf", 0.5, 1.0), sides[which][0], sides[which][1])[0]
    exact = np.square(A[:, None] - B).sum(axis=2)
    yield from differ("rbf", mixed + 1.0, np.exp(-0.5 * exact) + 1.0)


def whitened_as_written(rng: np.random.Generator) -> Iterator[str]:
    """W(x − c), and how far it is off."""
    A, B, W = rng.normal(size=(4, 3)) * 0.1, rng.normal(size=(3, 3)) * 0.1, rng.normal(size=(2, 3))
    given = (csr_matrix(A), csr_matrix(B)) if rng.random() < 0.5 else (A, B)
    with as_written(gram, composites):
        one, two, _, off = composites._whitened(*given, W)
        falling = gram.evaluate(("gaussian", W), *given)
    centre = B.mean(axis=0)
    yield from differ("whitened", one + 9.0, (A - centre) @ W.T + 9.0)
    yield from differ("whitened", two + 9.0, (B - centre) @ W.T + 9.0)
    long = [np.abs(rows - centre) @ np.abs(W).T for rows in (A, B)]
    sizes = [_lengths(rows, 2)[0].max() for rows in long]
    yield from differ("whitened ±", off, RAISED * (10 * U * math.sqrt(max(sizes)) + TINY))
    exponents = 0.5 * np.square((A[:, None] - B) @ W.T).sum(axis=2)
    yield from differ("gaussian", falling.K, np.exp(-exponents))
    one = one * math.sqrt(0.5) - two.mean(axis=0) * math.sqrt(0.5)
    error = RAISED * 24 * U * (1.1 + 5.0 * np.square(one).sum(axis=1))
    yield from differ("gaussian ±", falling.left[1], error + RAISED * 1.8 * off)


def sides_as_written(rng: np.random.Generator) -> Iterator[str]:
    """m and e of kernels made of others."""
    m, n, e, f = (float(v) for v in rng.uniform(0.1, 2.0, size=4))
    k, v = rng.normal(size=(2, 3)), rng.uniform(0.5, 2.0, size=5)
    tiny = float(rng.choice([0.001, 0.003]))
    with as_written(gram, composites):
        summed = composites.side_of_sum([(m, e), (n, f), (m, f)])
        product = composites.side_of_product((m, e), (n, f))
        nothing = composites.side_of_product((0.0, 0.0), (n, f))
        grown = composites.side_of_exp((m, e), f)
        inner = gram.Entries(k.copy(), (m, np.array([e, 0.1])), (n, np.array([f, 0.2, 0.1])))
        raised = composites._exp(inner)
        whole = gram.Entries(k, (v[:2], 0.5 * tiny), (v[2:], 0.25 * tiny))
        own = [gram.Entries(part, (part, tiny), (part, tiny)) for part in (v[:2], v[2:])]
        normal = composites._normalized(whole, *own)
    most, wrong = m + n + m, e + f + f
    factor = 3 * U
    yield from differ("sum", summed[0], RAISED * most * (1 + factor))
    yield from differ("sum ±", summed[1], RAISED * (wrong + 2 * factor * (most + wrong)))
    yield from differ("product", product[0], RAISED * (m * n + TINY))
    lost = m * f + e * n + e * f + 2 * U * m * n + TINY
    yield from differ("product ±", product[1], RAISED * lost)
    yield from differ("nothing", nothing, (0.0, 0.0))
    top = RAISED * math.exp(RAISED * m)
    yield from differ("exp", grown, (top, RAISED * math.exp(f) * top * (e + 10 * U)))
    far = math.exp(math.sqrt(max(e, 0.1) * max(f, 0.2)))
    for side, size, wrong in ((raised.left, m, [e, 0.1]), (raised.right, n, [f, 0.2, 0.1])):
        top = RAISED * math.exp(RAISED * size)
        yield from differ("exp ±", side[1], RAISED * far * top * (np.array(wrong) + 10 * U))
    yield from differ("exp", raised.K, np.exp(k))
    off = RAISED * (tiny / v.min() + 8 * U)
    for side, one, part in ((normal.left, v[:2], 0.5), (normal.right, v[2:], 0.25)):
        yield from differ("normalized", side[0], 1.02 * one / one)
        yield from differ("normalized ±", side[1], 1.02 * (part * tiny + 1.1 * off * one) / one)
    yield from differ("normalized", normal.K, k / np.sqrt(np.outer(v[:2], v[2:])))


def composed(rng: np.random.Generator) -> Iterator[str]:
    """Values of kernels made of others, on rows enough for several pieces, and of one side."""
    n = 70
    A, B = rng.normal(size=(n, 2)), rng.normal(size=(3, 2))
    plain, linear = A @ B.T, ("linear",)

    def custom(A: Any, B: Any) -> Any:
        return A[:, :1] + B[:, 0]

    cases = [(("power", linear, p), plain**p, (A**2).sum(axis=1) ** p) for p in range(1, 8)]
    cases += [
        (("custom", custom), A[:, :1] + B[:, 0], 2 * np.abs(A[:, 0])),
        (("columns", linear, (1,)), np.outer(A[:, 1], B[:, 1]), A[:, 1] ** 2),
        (("sum", linear, linear, ("constant", 0.5)), 2 * plain + 0.5, 2 * (A**2).sum(axis=1) + 0.5),
        (("constant", 0.5), np.full((n, 3), 0.5), np.full(n, 0.5)),
        (("features", lambda A: 2 * A), 4 * plain, 4 * (A**2).sum(axis=1)),
    ]
    for spec, K, own in cases:
        found, most = gram.block(spec, A, B)[0], gram.diagonal(spec, A)
        if not np.allclose(found, K, rtol=1e-9, atol=1e-12) or not np.allclose(most, own):
            yield f"the kernel {spec[0]}"
    for found in (composites._custom(custom, A, None), composites._custom(custom, A, B)):
        if (found.left[1], found.right[1]) != (0.0, 0.0) or np.min(found.left[0]) < 0.0:
            yield "the values of a function are taken as they come"
    rows = csr_matrix(np.array([[3e200, 0.0], [0.0, 1e-200]]))
    for given in (rows, rows.toarray()):
        if not np.array_equal(gram.block(("normalized", linear), given, given)[0], np.eye(2)):
            yield "the cosine of rows of any length"


def formulas_refused(rng: np.random.Generator) -> Iterator[str]:
    """What is no kernel."""
    rbf, W = ("rbf", 1.0, 1.0), np.eye(2)
    wrong: list[Any] = [("rbf", g, 1.0) for g in (0.0, -1.0, math.inf, math.nan, 1)]
    wrong += [("rbf", 1.0, s) for s in (0.0, -1.0, math.inf, math.nan, 1)]
    wrong += [("gaussian", part) for part in (W[0], W * math.nan, W.astype(np.float32), [[1.0]])]
    wrong += [("constant", c) for c in (-1.0, math.inf, math.nan, 1)]
    wrong += [("power", rbf, 0), ("power", rbf, -1), ("power", rbf, 1.5), ("custom", 1.0)]
    wrong += [("features", 1.0), ("columns", rbf, ()), ("columns", rbf, (-1,)), ("sum",)]
    wrong += [("columns", rbf, (0.5,)), ("columns", rbf, (0, -1)), ("product",), ("other", rbf)]
    wrong += [("sum", rbf, ("other",)), ("sum", ("custom", np.dot), ("other",)), "linear", ()]
    for spec in wrong:
        try:
            yield f"{spec}: {gram.positive(spec)}"
        except Objection as objection:
            if objection.code != "kernel":
                yield f"{spec}: {objection.code}"
    for spec, found in ((("constant", 0.0), True), (("power", rbf, 1), True)):
        if gram.positive(spec) != found:
            yield f"{spec} is refused"


def products_as_written(rng: np.random.Generator) -> Iterator[str]:
    """KW and ‖θ‖², with the errors of K, of the sums, of underflow and of what is added to K."""
    n, shift = int(rng.integers(5, 12)), float(rng.choice([0.0, 0.5]))
    X, W = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    W[: n // 2] = 0.0
    wanted, spec = np.ones(n, bool), ("sum", ("linear",), ("constant", 1.0))
    symmetric = X @ X.T + 1.0
    kept, few = (gram.BLOCK, gram.CHUNK), bool(rng.random() < 0.5)
    gram.BLOCK, gram.CHUNK = (3, 2) if few else kept
    try:
        with as_written(gram, lines, composites):
            made = gram.Gram(spec, X, map, shift)
            out, off = made.times(W, wanted)
            given = gram.Gram(("precomputed",), symmetric, map, shift)
            same, wide = given.times(W, wanted)
            e, f = gram.block(spec, X, X)[1:]
            squares = gram.diagonal(spec, X)
            line = gram.Gram(("linear",), X).times(W, wanted)
            length = made.length(W[:, 0], out[:, 0], off[:, 0])
            theta = lines.combination(X, W[:, 0])
    finally:
        gram.BLOCK, gram.CHUNK = kept
    exact = symmetric @ W + shift * W
    yield from differ("squares", made.squares, (squares + shift) * (1 + 4 * U))
    yield from differ("squares", given.squares, (np.diag(symmetric) + shift) * (1 + 4 * U))
    yield from differ("products", (out + 99.0, same + 99.0), (exact + 99.0, exact + 99.0))
    basis = -(-(n - n // 2) // 3) if few else 1
    count, more = (gram.ROUNDINGS + basis) * U, n * TINY * np.abs(W).max()
    added = 4 * U * (np.abs(exact) + shift * np.abs(W)) if shift else 0.0
    last = 1.0 + 2.0 * (n + basis + 16) * U
    sizes = np.sqrt(made.squares)
    expected = np.outer(e, f @ np.abs(W)) + count * np.outer(sizes, sizes @ np.abs(W))
    yield from differ("products ±", off, (expected + more + added) * last)
    expected = count * (np.abs(symmetric) @ np.abs(W))
    yield from differ("products ±", wide, (expected + more + added) * last)
    terms = W[:, 0] * out[:, 0]
    slack = np.abs(W[:, 0]) @ off[:, 0] + 2 * U * np.abs(terms).sum()
    yield from differ("length", length, (terms.sum(), slack + n * TINY))
    yield from _lines(X, W, line, theta)


def _lines(X: Any, W: Any, line: Any, theta: Any) -> Iterator[str]:
    """x·θ, each number of θ having been rounded once."""
    n, value = len(X), X.T @ W[:, 0]
    yield from differ("combination", theta[0] + 9.0, value + 9.0)
    expected = 2 * U * np.abs(theta[0]) + 16 * (n + 1) * TINY
    yield from differ("combination ±", theta[1], expected)
    used = np.flatnonzero(W.any(axis=1))
    whole, factor = X.T @ W, 6 * U
    off = 2 * U * np.abs(whole) + 16 * (len(used) + 1) * TINY
    wide = np.abs(X) @ (factor * np.abs(whole) + off) * (1 + 2 * factor) + 2 * TINY
    yield from differ("lines", line[0] + 9.0, X @ whole + 9.0)
    yield from differ("lines ±", line[1], wide)


def _no_products(made: Any) -> Iterator[str]:
    try:
        yield f"products {made.times(np.ones((2, 1)), np.ones(2, bool))}"
    except Objection as objection:
        if objection.code != "not finite":
            yield f"products that are no numbers: {objection.code}"


def products_refused(rng: np.random.Generator) -> Iterator[str]:
    """Products that leave the range of numbers somewhere, and counts of roundings."""
    X = np.array([[1e150], [1.0], [0.0]])
    for spec in (("linear",), ("power", ("linear",), 1)):
        try:
            w = np.array([[1e300], [0.0], [0.0]])
            found = gram.Gram(spec, X).times(w, np.array([True, False, False]))
            if not (np.isfinite(found[0]).all() and np.isfinite(found[1]).all()):
                yield f"products {found}"
        except Objection as objection:
            if objection.code != "not finite":
                yield f"products that are no numbers: {objection.code}"
    whole, one = np.ones((2, 2)), np.array([[1.0], [0.0]])
    # Either of both, of all the rows or of one.
    for K, e in ((math.inf, 0.0), (1.0, math.inf)):
        for rows in (whole[:, :1], one):
            made: Any = gram.Gram(("rbf", 1.0, 1.0), np.ones((2, 1)))
            told = np.where(rows > 0, K, 1.0) * whole, np.where(rows > 0, e, 0.0)[:, 0], whole[0]
            made.block = lambda A, B, j, told=told: told
            yield from _no_products(made)
    additions = gram.CHUNK + gram.BLOCK // gram.CHUNK
    if not additions + 1 <= gram.ROUNDINGS <= additions + 9:
        yield f"{gram.ROUNDINGS} roundings of a product"
    K, w = rng.normal(size=(3, 150)), rng.normal(size=(150, 2))
    yield from differ("chunks", gram.chunked_times(K, w) + 99.0, K @ w + 99.0)
    if hessian.Hessian(K, w[0], 0.5)[3:] != (None, 0.0):
        yield "a Hessian in no other basis"
    for ends in ((math.nan, 1.0, 0.5), (0.5, math.inf, 0.5), (0.5, 1.0, math.inf)):
        if not np.array_equal(bounds.moved_apart(*ends)[:2], ends[:2], equal_nan=True):
            yield f"bounds that are moved: {bounds.moved_apart(*ends)}"
        if bounds.moved_apart(*ends)[2] != (0.0, 0.0):
            yield f"bounds that are not moved: {bounds.moved_apart(*ends)}"
    for spoiled in (math.nan, math.inf):
        try:
            yield f"lengths {rows_in(np.array([[1.0], [spoiled], [2.0]]), False).lengths}"
        except Objection as objection:
            if objection.code != "rows":
                yield f"a row that is none: {objection.code}"
    twice = csr_matrix((np.array([1.0, 1.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    if not longest(rows_in(twice, False)) >= 2.0:
        yield "an entry that is stored twice"


def terms(rng: np.random.Generator) -> Iterator[str]:
    """The sizes of the terms of gains, of which rounding is a part; and P where rows weigh none."""
    s, p = rng.random(4) + 0.1, np.append(rng.random(2), [0.0, 1.0])
    a = s * p
    log = np.log(np.where(p > 0, p, 1.0))
    entropy = -p * log - np.append((1 - p[:2]) * np.log(1 - p[:2]), [0.0, 0.0])
    value, size = margins.Logistic().dual(a, s)
    yield from differ("logistic", value + 1.0, s * entropy + 1.0)
    yield from differ("logistic", size + 1.0, s * (entropy + p * (40.0 - log)) + 1.0)
    value, size = margins.Exponential().dual(a, s)
    yield from differ("exponential", value + 1.0, a - a * log + 1.0)
    yield from differ("exponential", size + 1.0, a * (4.0 + np.abs(log)) + 1.0)
    value, size = margins.SquaredHinge().dual(a, s)
    yield from differ("squared hinge", (value, size), (a - a * p / 4, a + a * p / 4))
    known = {gap.Hinge: (1.0, 1.0, 1.0, 1.0), margins.SquaredHinge: (1.0, 2.0, math.inf, math.inf)}
    known |= {margins.ModifiedHuber: (1.0, 2.0, 4.0, 1.0)}
    known |= {margins.Logistic: (math.log(2.0), 0.5, 1.0, 1.0)}
    known |= {margins.Exponential: (1.0, 1.0, math.inf, math.inf)}
    for kind, expected in known.items():
        found = kind.at_zero, kind.slope_at_zero, kind.steepest, kind.reach
        yield from differ(kind.__name__, found, expected)
    kinds = (residuals.Squared, residuals.Huber, residuals.EpsilonInsensitive)
    found = [(kind.reach, kind.centred, kind.moves, kind.rescaled) for kind in kinds]
    inside = (1.0, False, True, False)  # t ≤ 1 stays where slopes are bounded
    if found != [(math.inf, True, True, False), inside, inside]:
        yield f"residuals: {found}"
    curved = [kind for kind in (*known, margins.HardMargin, *kinds) if not kind.quadratic]
    if curved != [margins.Logistic, margins.Exponential]:
        yield f"no polynomials: {curved}"
    if gap.Found(Objection("x"))[1:] != (None, None, 0.0):
        yield "an objection has a dual point"
    z, off, y = rng.normal(size=4), rng.random(4), np.array([1.0, -1.0, 1.0, -1.0])
    w = Weights(s * (np.arange(4) > 0), 1.0, 2.0)
    claim = Claim(Risk(gap.Hinge(), L2(2.0), True), y, np.array([0.5]), 0.0)
    with as_written(gap):
        found = gap.upper(claim, w, z, off)
        hard = claim._replace(risk=Risk(margins.HardMargin(), L2(2.0), True), y=np.sign(z))
        rescaled = gap.upper(hard, w, 9.0 * z, 0.01 * np.abs(z))
    smallest = np.abs(z[1:]).min() * (9.0 - 0.01 * (1 + 8 * U) - 36 * U)
    if not 1.0 <= rescaled / (0.25 / smallest**2) <= 1.0 + 1e-9:
        yield f"a separator of {rescaled}"
    margin = y * z - off * (1 + 8 * U) - 4 * U * np.abs(z)
    yield from differ("upper", found, w.s @ np.maximum(0.0, 1.0 - margin) + 0.25)


def machines(rng: np.random.Generator) -> Iterator[str]:
    """P of a kernel machine with a bias."""
    X, beta, y = rng.normal(size=(4, 2)), rng.normal(size=4), rng.normal(size=4)
    risk, bias = Risk(residuals.Squared(), gram.SquaredLength(0.5), True), float(rng.normal())
    K = X @ X.T
    r = K @ beta + bias - y
    c = r - r.mean()
    made, w = gram.Gram(("linear",), X), Weights.of(None, 4)
    given = made.times(np.column_stack([beta, c]), np.ones(4, bool))
    found = gram.bounds(Claim(risk, y, beta, bias, c), made, w, *given)[0].upper
    exact = 0.125 * float(r @ r) + 0.25 * float(beta @ K @ beta)
    if not math.isclose(found, exact, rel_tol=1e-6):
        yield f"a machine of {found}, not {exact}"


KERNEL_FORMULAS = (
    lengths_as_written, distances_as_written, whitened_as_written, sides_as_written, composed,
    formulas_refused, products_as_written, products_refused, terms, machines,
)  # fmt: skip
