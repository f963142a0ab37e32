"""The same for what the core proves on its own: least squares by curvature, and softmax."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
from scipy.optimize import minimize

from cotas.certificates.core.blocks import Claims, OneBlock
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.curvature import SquaredRisk, WeightedL2
from cotas.certificates.core.gap import L2, Claim, Margin, Risk
from cotas.certificates.core.residuals import Squared
from cotas.certificates.core.rows import Rows
from cotas.certificates.core.softmax import softmax_bounds
from cotas.certificates.core.sparse_rows import rows_in
from cotas.certificates.core.sparsity import ElasticNetRegularizer
from cotas.certificates.core.squared_blocks import BlockSquaredRisk
from laws.exact.cases import SHARES, STYLES, _layout, _rows, _weights
from laws.exact.claims import Mixed, Targets
from laws.exact.oracle import DIGITS, Exact, Rational, at_least, at_most, decimal, near, rational


def squares_failures(seed: int) -> list[str]:
    """What is false of the least squares of this seed."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return [f"least squares seed {seed}: {words}" for words in _of_squares(rng)]


def _of_squares(rng: np.random.Generator) -> Iterator[str]:
    style = str(rng.choice(STYLES, p=SHARES))
    n, d, free = int(rng.integers(1, 40)), int(rng.integers(1, 5)), bool(rng.random() < 0.5)
    n, d = (600, 1) if rng.random() < 0.02 else (n, d)  # enough rows for some of them to do
    X, s = _rows(rng, n, d, style), _weights(rng, n, style)
    if rng.random() < 0.2:
        X[:, -1] = X[:, 0]  # collinear
    y = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 3) + rng.choice([0.0, 1e6])
    lam = 0.0 if rng.random() < 0.5 else float(10.0 ** rng.uniform(-9, 3))
    sigma = None if rng.random() < 0.7 else rng.integers(0, 3, size=d).astype(float)
    exact = Exact(Risk(Squared(), WeightedL2(lam, sigma), free), X, y, s)
    best = least_squares(exact, free)
    theta, bias = np.array([near(v) for v in best[:d]]), near(best[d]) if free else 0.0
    if rng.random() < 0.5:
        theta = theta * (1 + 10.0 ** rng.uniform(-15, 0) * rng.normal(size=d))
    if not (np.isfinite(theta).all() and math.isfinite(bias)):
        return
    value = exact.value(rational(theta), Rational(bias))
    least = exact.value(best[:d], best[d])
    layout, block_rows = _layout(rng, X), int(rng.integers(1, n + 1))
    rows = rows_in(layout, free)

    def in_memory() -> Any:
        risk = SquaredRisk(lam, sigma, rows, free, s, 2000)
        return risk.bounds([Claim(risk.risk, y, theta, bias)], 1e-10)[0]

    def in_blocks() -> Any:
        source = Mixed(layout, y, s, block_rows=block_rows)
        model = (theta[:, None], (bias,), Targets(s is not None), (None,), n, d)
        return BlockSquaredRisk(source, Claims(exact.risk, *model), 2000).all_bounds(1e-10, [0.0])[
            0
        ]

    for asked in (in_memory, in_blocks):
        try:
            found = asked()
        except Objection as objection:
            found = objection
        except Exception as error:  # every other exception is a failure here
            yield f"{style}: {error!r}"
            return
        for words in _false_of_squares(found, rows, y, s, style, free, best, value, least):
            yield f"{asked.__name__} {words}"


def _false_of_squares(
    found: Any,
    rows: Rows,
    y: Any,
    s: Any,
    style: str,
    free: bool,
    best: list[Any],
    value: Any,
    least: Any,
) -> Iterator[str]:
    bounds = getattr(found, "bounds", found)
    if isinstance(bounds, Objection):
        if style not in ("extreme", "denormal"):
            yield f"{style}: objection {bounds.code!r}"
        return
    if not at_least(bounds.upper, value):
        yield f"{style}: upper {bounds.upper!r} below {near(value)!r}"
    unit = rational(rows.unit)
    length = sum((t * u) ** 2 for t, u in zip(best, unit, strict=False))
    inside = math.isinf(found.within) or length * 4 < Rational(found.within) ** 2
    # With a shift the bias counts in other coordinates: only ‖θ‖ is compared, at half of ρ.
    if (inside and (math.isinf(found.within) or not free)) and not at_most(bounds.lower, least):
        yield f"{style}: lower {bounds.lower!r} above {near(least)!r} by {found.how}"
    # Of easy rows, a quadratic falls by no more than its slope and its curvature say.
    if style == "plain" and rows.n > 2 * rows.d + 2 and _steep(rows, s, free):
        fall, size = near(value - least), float(np.mean(np.square(y)))
        if not bounds.gap <= 1.01 * fall + 1e-9 * (near(value) + 1e-3 * size):
            yield f"{style}: gap {bounds.gap}, and {fall} is the fall by {found.how}"
    if not bounds.charge <= 2 * bounds.upper + 1e-9 * float(np.mean(np.square(y))):
        yield f"{style}: charge {bounds.charge} of {bounds.upper}"


def _steep(rows: Rows, s: Any, free: bool) -> bool:
    """Whether the rows alone have curvature in every direction."""
    A = np.column_stack([rows.X.toarray() if rows.sparse else rows.X, np.ones((rows.n, int(free)))])
    return bool(np.linalg.cond(np.sqrt(s)[:, None] * A) < 100)


def least_squares(exact: Exact, free: bool) -> list[Any]:
    """The best (θ, b) in fractions, by elimination; free unknowns are zero."""
    rows = [[*row, Rational(int(free))] for row in exact.rows]
    k = len(rows[0])
    lam = Rational(exact.risk.regularizer.lam)
    A = [
        [
            sum(s * r[i] * r[j] for r, s in zip(rows, exact.s, strict=True)) / exact.sum
            for j in range(k)
        ]
        + [sum(s * r[i] * y for r, s, y in zip(rows, exact.s, exact.y, strict=True)) / exact.sum]
        for i in range(k)
    ]
    for j, w in enumerate(exact.sigma):
        A[j][j] += lam * w * w
    pivots: list[tuple[int, int]] = []
    for j in range(k):
        at = next((i for i in range(len(pivots), k) if A[i][j] != 0), None)
        if at is None:
            continue
        i = len(pivots)
        A[i], A[at] = A[at], A[i]
        A[i] = [v / A[i][j] for v in A[i]]
        for o in range(k):
            if o != i and A[o][j] != 0:
                A[o] = [a - A[o][j] * b for a, b in zip(A[o], A[i], strict=True)]
        pivots.append((i, j))
    found = [Rational(0)] * k
    for i, j in pivots:
        found[j] = A[i][k]
    return found


def softmax_failures(seed: int) -> list[str]:
    """What is false of the softmax regression of this seed."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return [f"softmax seed {seed}: {words}" for words in _of_softmax(rng)]


def _of_softmax(rng: np.random.Generator) -> Iterator[str]:
    style = str(rng.choice(STYLES, p=SHARES))
    n, d, k = int(rng.integers(1, 12)), int(rng.integers(1, 4)), int(rng.integers(2, 5))
    X, s, free = _rows(rng, n, d, style), _weights(rng, n, style), bool(rng.random() < 0.5)
    truth = np.eye(k)[rng.integers(k, size=n)]
    lam = float(10.0 ** rng.uniform(-3, 3))
    penalty = _softmax_penalty(rng, lam)
    W, b, p = _softmax_fit(X, s, truth, penalty, free)
    which = rng.integers(8)
    if which == 1:
        p = rng.random((n, k)) * 10.0 ** rng.uniform(-300, 300)
    elif which == 2:
        p = np.where(rng.random((n, k)) < 0.3, rng.choice([np.nan, np.inf, -1.0, 1e308]), p)
    elif which == 3:
        p = rng.permutation(p)
    models = [(W, b), (W * (1 + 1e-9 * rng.normal(size=W.shape)), b), (0 * W, 0 * b)]
    values = [softmax_value(X, s, truth, *model, penalty) for model in models]
    model = models[int(rng.integers(2))]
    try:
        rows = OneBlock(rows_in(_layout(rng, X), free), 2.0 * truth - 1.0, s, p)
        risk = Risk(Margin(), penalty, free)
        given = (model[0], tuple(model[1].tolist()), rows.read, (None,) * k, *X.shape)
        found = softmax_bounds(rows, Claims(risk, *given))
    except Objection as objection:
        if style not in ("extreme", "denormal"):
            yield f"{style}: objection {objection.code!r}"
        return
    except Exception as error:  # every other exception is a failure here
        yield f"{style}: {error!r}"
        return
    value = softmax_value(X, s, truth, *model, penalty)
    if not at_least(found.upper, value):
        yield f"{style}: upper {found.upper!r} below {value}"
    if not at_most(found.lower, min(values)):
        yield f"{style}: lower {found.lower!r} above {min(values)}"
    square = isinstance(penalty, L2)  # the solution of the others is too rough to be near
    if style == "plain" and which > 3 and square and (s @ truth > 0).all() and not _narrow(found):
        yield f"{style}: {found} at an optimum"


def _narrow(found: Bounds) -> bool:
    return found.gap <= 1e-3 * found.upper + 1e-6


def _softmax_penalty(rng: np.random.Generator, lam: float) -> Any:
    """The squares, the ℓ1 norm, or both."""
    ratio = float(rng.choice([0.0, 0.0, 0.3, 1.0]))
    return ElasticNetRegularizer(lam * ratio, lam * (1 - ratio)) if ratio else L2(lam)


def _softmax_fit(X: Any, s: Any, truth: Any, penalty: Any, free: bool) -> Any:
    """A float solution, as good as a short run makes it; the ℓ1 norm is rounded off at zero."""
    d, k = X.shape[1], truth.shape[1]
    lam, first = (0.0, 0.0)
    if isinstance(penalty, L2):
        lam = penalty.lam
    else:
        lam, first = penalty.lam2, penalty.lam1
    share = s / s.sum()

    def both(v: Any) -> Any:
        W, b = v[: d * k].reshape(d, k), v[d * k :]
        z = X @ W + b
        z = z - z.max(axis=1, keepdims=True)
        total = np.exp(z).sum(axis=1, keepdims=True)
        p = np.exp(z) / total
        value = share @ (np.log(total[:, 0]) - (z * truth).sum(axis=1))
        g = share[:, None] * (p - truth)
        length = np.sqrt(W**2 + 1e-16)
        slope = X.T @ g + lam * W + first * W / length
        whole = value + lam / 2 * (W**2).sum() + first * length.sum()
        return whole, np.append(slope.ravel(), g.sum(axis=0) * free), p

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = np.zeros(d * k + k)
        v = minimize(lambda v: both(v)[:2], start, jac=True, options={"maxiter": 300}).x
        v = v if np.isfinite(v).all() else start
        W, b, p = v[: d * k].reshape(d, k), v[d * k :] * free, both(v)[2]
    return W, b, p


def softmax_value(X: Any, s: Any, truth: Any, W: Any, b: Any, penalty: Any) -> Decimal:
    """P(W, b) with 45 digits."""
    k = truth.shape[1]
    columns = [rational(W[:, j]) for j in range(k)]
    biases, weights = rational(b), rational(s)
    whole = sum(weights)
    squares = sum(w * w for column in columns for w in column)
    if isinstance(penalty, L2):
        value = decimal(Rational(penalty.lam) * squares / 2)
    else:
        length = sum(abs(w) for column in columns for w in column)
        value = decimal(Rational(penalty.lam1) * length + Rational(penalty.lam2) * squares / 2)
    with localcontext(DIGITS):
        for row, e, weight in zip(map(rational, X), truth, weights, strict=True):
            scores = [
                decimal(sum((a * w for a, w in zip(row, column, strict=True)), bias))
                for column, bias in zip(columns, biases, strict=True)
            ]
            top = max(scores)
            tails = sum((v - top).exp() if v - top > -(10**6) else Decimal(0) for v in scores)
            loss = top + tails.ln() - scores[int(np.argmax(e))]
            value += decimal(weight / whole) * loss
    return value
