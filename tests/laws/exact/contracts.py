"""What each part of the core promises the others, asked with errors that are large.

Rounding is so small, and counted so generously, that a part that is forgotten hardly shows in the
bounds. Here every part is told of errors of the size of the numbers themselves, and must cover the
worst case, which is known exactly.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from cotas.certificates.core import gap, margins, residuals, unpenalized
from cotas.certificates.core.bounds import Pull
from cotas.certificates.core.gap import L2, Claim, Risk, Weights
from cotas.certificates.core.imbalance import (
    Extent,
    beyond,
    bias_bound,
    bias_slip,
    level_of,
    longest,
)
from cotas.certificates.core.rows import Frame
from cotas.certificates.core.sparse_rows import rows_in
from cotas.certificates.core.sparsity import Ball, ElasticNetRegularizer
from laws.exact.cases import draw
from laws.exact.oracle import (
    MARGINS,
    Exact,
    Rational,
    at_least,
    at_most,
    decimal,
    near,
    rational,
    residual_loss,
)

U = Rational(1, 2**53)
SLIGHTLY = 1 + Rational(1, 10**9)
TINY = Rational(1, 10**290)


def contract_failures(seed: int, laws: Any = None) -> list[str]:
    """What is false of the parts, with the numbers of this seed; of all, or of some laws."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for law in laws or CONTRACTS:
            rng = np.random.default_rng([seed, *law.__name__.encode()])
            found += [f"{law.__name__} seed {seed}: {words}" for words in law(rng)]
    return found


def _some_regularizer(rng: np.random.Generator, d: int) -> Any:
    w = None if rng.random() < 0.4 else rng.uniform(0.2, 5.0, size=d)
    lam, positive = float(10.0 ** rng.uniform(-2, 2)), bool(rng.random() < 0.4)
    return (
        L2(lam),
        ElasticNetRegularizer(lam, float(rng.choice([0.0, 0.5, 2.0])), positive, w),
        Ball(lam, positive, w),
    )[rng.integers(3)]


def conjugate(reg: Any, sigma: list[Any], u: list[Any]) -> Any:
    """Ω*(−u) in fractions; None where it is infinite."""
    positive = getattr(reg, "positive", False)
    sizes = [(-v if positive else abs(v)) / w for v, w in zip(u, sigma, strict=True)]
    if isinstance(reg, L2):
        return sum(size * size for size in sizes) / (2 * Rational(reg.lam))
    if isinstance(reg, Ball):
        return Rational(reg.delta) * max(Rational(0), *sizes)
    over = [max(Rational(0), size - Rational(reg.lam1)) for size in sizes]
    if reg.lam2:
        return sum(v * v for v in over) / (2 * Rational(reg.lam2))
    return None if any(over) else Rational(0)


def _regularizers(rng: np.random.Generator) -> Iterator[str]:
    d = int(rng.integers(1, 5))
    reg = _some_regularizer(rng, d)
    sigma = rational(np.ones(d) if reg.weights is None else reg.weights)
    u, unit = rng.normal(size=d) * 3, 2.0 ** rng.integers(-3, 4, size=d)
    off = float(rng.choice([0.0, 1e-3, 0.3, 2.0]))
    t, share = float(rng.random()), float(rng.uniform(0.05, 2.0))
    found = reg.conjugate(Pull(u, unit, off), t, share)
    aims = [*np.eye(d), *-np.eye(d), u * unit, -u * unit, rng.normal(size=d)]
    worst: Any = Rational(0)
    for aim in aims:
        e = aim / (np.linalg.norm(aim) or 1.0) * off * (1 - 1e-15)
        moved = [a + b * c for a, b, c in zip(*map(rational, (u, unit, e)), strict=True)]
        exact = conjugate(reg, sigma, [v * Rational(t) * Rational(share) for v in moved])
        worst = None if exact is None or worst is None else max(worst, exact)
    if worst is None and math.isfinite(found):
        yield f"{reg}: conjugate {found}, and it is infinite"
    if worst is not None and not (math.isinf(found) or Rational(found) >= worst):
        yield f"{reg}: conjugate {found} below {near(worst)}"
    # No wider than every column moved by all of `off`.
    s = np.ones(d) if reg.weights is None else reg.weights
    wide = rational(np.where(u >= 0, 1, -1) * (np.abs(u) + (unit * off)))
    if isinstance(reg, L2):
        size = float(np.linalg.norm(u / s)) + float((unit / s).max()) * off
        most: Any = Rational((t * share * size) ** 2 / (2 * reg.lam)) * SLIGHTLY
    else:
        low = rational(u - unit * off) if reg.positive else wide
        most = conjugate(reg, sigma, [v * Rational(t) * Rational(share) * SLIGHTLY for v in low])
    if most is not None and not Rational(found) <= most * SLIGHTLY + TINY:
        yield f"{reg}: conjugate {found} far above {near(most)}"
    yield from _values(reg, sigma, rng.normal(size=d))


def _values(reg: Any, sigma: list[Any], theta: np.ndarray) -> Iterator[str]:
    """Ω, and the ball that Ω ≤ level lies in."""
    theta = np.abs(theta) if getattr(reg, "positive", False) else theta
    exact = Exact(Risk(residuals.Squared(), reg, False), np.zeros((1, len(theta))), [0.0], None)
    if isinstance(reg, Ball):
        theta = theta * reg.delta / (4 * float(sum(near(w) for w in sigma)) * np.abs(theta).max())
    value = exact.penalty(rational(theta), Rational(0))
    found = reg.value(theta)
    if not value <= Rational(found) <= value * SLIGHTLY + TINY:
        yield f"{reg}: value {found} of {near(value)}"
    level = 2.5
    least = min(sigma)
    limits = []
    if isinstance(reg, Ball):
        limits = [(Rational(reg.delta) / least) ** 2]
    else:
        square = Rational(reg.lam if isinstance(reg, L2) else reg.lam2)
        limits += [2 * Rational(level) / square / least**2] if square else []
        if isinstance(reg, ElasticNetRegularizer):
            limits.append((Rational(level) / Rational(reg.lam1) / least) ** 2)
    radius = Rational(reg.radius(level)) ** 2
    if not min(limits) <= radius <= min(limits) * SLIGHTLY + TINY:
        yield f"{reg}: radius {near(radius)} for {near(min(limits))}"


def _some_loss(rng: np.random.Generator) -> Any:
    kinds = (gap.Hinge, margins.SquaredHinge, margins.ModifiedHuber, margins.Logistic)
    kinds += (margins.Exponential, margins.HardMargin, residuals.Squared)
    k = rng.integers(9)
    if k < 7:
        return kinds[k]()
    return (
        residuals.Huber(float(rng.uniform(0.1, 2)))
        if k == 7
        else residuals.EpsilonInsensitive(float(rng.uniform(0.0, 2)))
    )


def loss_at(loss: Any, y: Any, z: Any) -> Any:
    """ℓ(y, z), exactly."""
    if isinstance(loss, gap.Margin):
        return MARGINS[type(loss)](y * z)
    return residual_loss(loss, z - y)


def _losses(rng: np.random.Generator) -> Iterator[str]:
    loss, n = _some_loss(rng), 6
    margin = isinstance(loss, gap.Margin)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0) if margin else rng.normal(size=n) * 3
    z, off = rng.normal(size=n) * 2, rng.choice([0.0, 0.01, 1.0], size=n)
    if not isinstance(loss, margins.HardMargin):
        found = loss.value(y, z, off)
        for i in range(n):
            ends = [
                loss_at(loss, Rational(y[i]), Rational(z[i]) + k * Rational(off[i]))
                for k in (-1, 0, 1)
            ]
            high, low = found[i] * (1 + 1e-13) + 1e-15, found[i] * (1 - 1e-13) - 1e-15
            if not (at_least(float(high), max(ends)) and at_most(float(low), max(ends))):
                yield f"{loss}: value {found[i]} for {max(ends)}"
    s = rng.random(n) + 0.1
    c = loss.clip(y, rng.normal(size=n) * 5 * s, s)
    for i in range(n):
        a, top = (-y[i] * c[i], loss.steepest) if margin else (abs(c[i]), _largest_slope(loss))
        inside = Rational(a) >= 0 and (
            math.isinf(top) or Rational(a) <= Rational(top) * Rational(s[i])
        )
        if not inside:
            yield f"{loss}: clipped {c[i]} outside, weight {s[i]}"
    asked = -y * s * 0.5 * rng.random(n) if margin else s * 0.1 * rng.normal(size=n)
    if not np.allclose(loss.clip(y, asked, s), np.clip(asked, *_room(loss, s)), rtol=1e-14):
        yield f"{loss}: clipped what lies inside"
    yield from _gains(loss, y, c, s, float(rng.choice([1.0, 0.7, 0.2])))
    yield from _reaches(loss, float(rng.uniform(0, 5)))


def _largest_slope(loss: Any) -> float:
    if isinstance(loss, residuals.Huber):
        return loss.k
    return 1.0 if isinstance(loss, residuals.EpsilonInsensitive) else math.inf


def _room(loss: Any, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    top = loss.steepest if isinstance(loss, gap.Margin) else _largest_slope(loss)
    return -top * s, top * s


def gain_at(loss: Any, y: Any, c: Any, s: Any) -> Any:
    """− s ℓ*(c/s), exactly."""
    v = c / s
    if not isinstance(loss, gap.Margin):
        if type(loss) is residuals.EpsilonInsensitive:
            return -s * (v * y + Rational(loss.epsilon) * abs(v))
        return -s * (v * v / 2 + v * y)
    a = abs(v)
    if isinstance(loss, gap.Hinge):
        return s * a
    if isinstance(loss, margins.SquaredHinge):
        return s * (a - a * a / 4)
    x, weight = decimal(a), decimal(s)
    if isinstance(loss, margins.Exponential):
        return weight * (x - x * x.ln()) if a else weight * 0
    entropy = sum(-q * q.ln() for q in (x, 1 - x) if q > 0)
    return weight * entropy


def _gains(loss: Any, y: Any, c: Any, s: Any, t: float) -> Iterator[str]:
    found, sizes = loss.gain(y, c, s, t)
    for i in range(len(y)):
        exact = gain_at(loss, Rational(y[i]), Rational(t) * Rational(c[i]), Rational(s[i]))
        if not abs(float(found[i]) - near(exact)) <= 1e-13 * max(abs(near(exact)), float(sizes[i])):
            yield f"{loss}: gain {found[i]} for {near(exact)}"
        if (
            not abs(near(exact)) * (1 - 1e-12)
            <= float(sizes[i])
            <= 100 * (abs(c[i]) * 12 + s[i] * 12)
        ):
            yield f"{loss}: the terms of {near(exact)} are of the size {sizes[i]}"


def _reaches(loss: Any, level: float) -> Iterator[str]:
    """How far below zero an average margin can be, how far off an average residual."""
    L = Rational(level)
    if isinstance(loss, margins.HardMargin):
        return
    if isinstance(loss, gap.Margin):
        at_zero = {margins.Logistic: math.log(2.0)}.get(type(loss), 1.0)
        slope = {gap.Hinge: 1.0, margins.Logistic: 0.5, margins.Exponential: 1.0}
        exact = max(0.0, level - at_zero) / slope.get(type(loss), 2.0)
        found = beyond(loss, Extent(1.0, 1.0, 1.0), 1.0, level)
    elif isinstance(loss, residuals.Huber):
        exact, found = near(L / Rational(loss.k) + Rational(loss.k) / 2), loss.spread(level)
        if not exact <= found <= exact + loss.k:
            yield f"{loss}: {found} for {exact}"
        return
    elif isinstance(loss, residuals.EpsilonInsensitive):
        exact, found = near(L + Rational(loss.epsilon)), loss.spread(level)
    else:
        exact, found = math.sqrt(2 * level), loss.spread(level)
    if not exact * (1 - 1e-16) <= found <= exact * (1 + 1e-12) + 1e-14:
        yield f"{loss}: {found} for {exact}"


def _rows(rng: np.random.Generator) -> Iterator[str]:
    n, d, k = int(rng.choice([1, 3, 20, 90])), int(rng.integers(1, 6)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) * 2.0 ** rng.integers(-20, 20, size=d)
    if rng.random() < 0.5:
        X = X + 2.0 ** rng.integers(10, 40, size=d) * rng.choice([0, 1], size=d)
    if rng.random() < 0.3:
        X[rng.random((n, d)) < 0.5] = 0.0
    rows = rows_in(csr_matrix(X) if rng.random() < 0.3 else X, bool(rng.random() < 0.6))
    shift = np.zeros(d) if rows.shift is None else rows.shift
    exact = [[a - m for a, m in zip(rational(row), rational(shift), strict=True)] for row in X]
    unit = rational(rows.unit)
    lengths = [sum((v / w) ** 2 for v, w in zip(row, unit, strict=True)) for row in exact]
    for found, right in zip(rational(rows.lengths), lengths, strict=True):
        if not right <= found**2 <= right * SLIGHTLY + TINY:
            yield f"length {near(found)} for {near(right) ** 0.5}"
    farthest = max(sum(v * v for v in row) for row in exact)
    if not Rational(longest(rows)) ** 2 >= farthest:
        yield "longest"
    thetas, biases = rng.normal(size=(d, k)) / rows.unit[:, None], rng.normal(size=k)
    z, off, _ = rows.scores(thetas, [(b, 0.25) for b in biases])
    for j in range(k):
        theta = rational(thetas[:, j])
        bias = Rational(biases[j]) + Rational(1, 4)
        moved = bias + sum(m * t for m, t in zip(rational(shift), theta, strict=True))
        for i, row in enumerate(exact):
            right = sum((a * t for a, t in zip(row, theta, strict=True)), moved)
            size = sum(abs(a * t) for a, t in zip(row, theta, strict=True)) + abs(moved)
            error, width = Rational(off[i, j]), max(1, rows.width)
            if not abs(Rational(z[i, j]) - right) <= error or not error >= width * U * size:
                yield f"score {z[i, j]} ± {off[i, j]} for {near(right)}"
            reach = (near(lengths[i]) ** 0.5) * float(np.linalg.norm(thetas[:, j] * rows.unit))
            if not off[i, j] <= (d + 12) * 2.0**-52 * (reach + 2 * near(abs(moved))) + 1e-280:
                yield f"score {z[i, j]} ± {off[i, j]}: far too wide"
    c = rng.normal(size=(n, k)) * (rng.random((n, 1)) < rng.choice([0.1, 1.0]))
    for j, pull in enumerate(rows.pull(c)):
        factors = rational(c[:, j])
        right = [sum(f * row[i] for f, row in zip(factors, exact, strict=True)) for i in range(d)]
        sizes = [
            sum(abs(f * row[i]) for f, row in zip(factors, exact, strict=True)) for i in range(d)
        ]
        wrong = sum(
            ((Rational(a) - b) / w) ** 2
            for a, b, w in zip(pull.u.tolist(), right, unit, strict=True)
        )
        needed = sum((n * U * size / w) ** 2 for size, w in zip(sizes, unit, strict=True))
        mass = sum(abs(near(f)) * near(v) ** 0.5 for f, v in zip(factors, lengths, strict=True))
        error = Rational(pull.off)
        if (
            not max(wrong, needed) <= error**2
            or not near(error) <= (n + 30) * 2.0**-52 * mass + 1e-140
        ):
            yield f"pull ± {pull.off}"


def _lengths(rng: np.random.Generator) -> Iterator[str]:
    """Rows and frames of any size: no row is longer than is said, or all are refused."""
    n, d = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    # Columns of many sizes; or of one, also where its square is hardly a number any more.
    powers = rng.integers(-1000, 1000, size=d)
    powers = powers if rng.random() < 0.3 else rng.choice([-512, -20, 0, 504, *powers])
    X = rng.normal(size=(n, d)) * np.exp2(powers + rng.integers(-20, 20, size=(n, d)))
    X[rng.random((n, d)) < 0.2] = 0.0
    unit = np.exp2(np.clip(powers + rng.integers(-20, 20, size=d), -1022, 1000))
    for A in (X, csr_matrix(X)):
        try:
            found = rows_in(A, False, frame=Frame(None, unit)).lengths
        except gap.Objection:
            continue
        for row, length in zip(X, rational(found), strict=True):
            right = sum((a / w) ** 2 for a, w in zip(rational(row), rational(unit), strict=True))
            if not right <= length**2 <= right * SLIGHTLY + Rational(2) ** -990:
                yield f"length {near(length)} of {row} in {unit}"


def _loose_weights(case: Any) -> tuple[Weights, list[Any]]:
    """Weights of which the sum is hardly known, and two sums that it may have."""
    low, high = 0.75 * float(case.s.sum()), 1.5 * float(case.s.sum())
    return Weights(case.s, low, high), [Rational(low), Rational(high)]


def _plain_case(rng: np.random.Generator) -> Any:
    while True:
        case = draw(rng)
        if case.style in ("plain", "offsets", "repeated") and len(case.y) <= 25:
            return case


def _uppers(rng: np.random.Generator) -> Iterator[str]:
    """P for every score within `off`, and every sum of weights that is possible."""
    case = _plain_case(rng)
    if isinstance(case.risk.loss, margins.HardMargin):
        return
    w, sums = _loose_weights(case)
    X = case.dense
    z = X @ case.theta + case.bias
    off = rng.choice([0.0, 0.05, 0.5], size=len(z))
    try:
        with np.errstate(all="ignore"):
            found = gap.upper(Claim(case.risk, case.y, case.theta, case.bias), w, z, off)
    except gap.Objection:
        return
    exact = Exact(case.risk, X, case.y, case.s)
    worst = []
    for total in sums:
        value: Any = None
        for i, s in enumerate(exact.s):
            if s:
                ends = [
                    loss_at(case.risk.loss, exact.y[i], Rational(z[i]) + k * Rational(off[i]))
                    for k in (-1, 1)
                ]
                weight = s / total
                weight = decimal(weight) if not isinstance(ends[0], type(weight)) else weight
                value = weight * max(ends) + (value or 0)
        penalty = exact.penalty(rational(case.theta), Rational(case.bias))
        if penalty is None:
            return
        worst.append(value + (penalty if isinstance(value, type(penalty)) else decimal(penalty)))
    if not at_least(found, max(worst)):
        yield f"{case.family}: upper {found} below {near(max(worst))}"
    scale = max(1.0, float(np.abs(z).max()), float(np.abs(case.y).max()))
    if not found <= near(max(worst)) * (1 + 1e-9) + 1e-9 * scale**2:
        yield f"{case.family}: upper {found} far above {near(max(worst))}"


def _lowers(rng: np.random.Generator) -> Iterator[str]:
    """D of any dual point in the domain, balanced or not, and any sum of weights."""
    case = _plain_case(rng)
    w, sums = _loose_weights(case)
    rows = rows_in(case.X, case.risk.free_bias)
    claim, _ = Claim(case.risk, case.y, case.theta, case.bias).moved(w)
    y = claim.y
    c = np.where(
        case.s > 0, case.risk.loss.clip(y, case.c * (1 + 0.3 * rng.normal(size=len(y))), case.s), 0
    )
    exact = Exact(case.risk, case.X, case.y, case.s)
    best = []
    for total in sums:
        exact.sum = total
        models = [(case.theta, case.bias), *case.others, (0 * case.theta, 0.0)]
        found = [exact.value(rational(theta), Rational(b)) for theta, b in models]
        best += [value for value in found if value is not None]
    if not best:
        return
    level = near(max(best))
    with np.errstate(all="ignore"):
        [pull] = rows.pull(c[:, None])
        bound = gap.lower(claim._replace(c=c), rows, w, pull, level)[0]
    if not at_most(bound, min(best)):
        yield f"{case.family}: lower {bound} above {near(min(best))} with {c.sum()} left"


def _biases(rng: np.random.Generator) -> Iterator[str]:
    """|b| of every model that is no worse than zero is below B."""
    case = _plain_case(rng)
    if not case.risk.free_bias or isinstance(case.risk.loss, margins.HardMargin):
        return
    rows, w = rows_in(case.X, True), Weights.of(case.weights, len(case.y))
    claim, middle = Claim(case.risk, case.y, case.theta, case.bias).moved(w)
    exact = Exact(case.risk, case.X, case.y, case.weights)
    nothing = exact.value([Rational(0)] * len(case.theta), Rational(middle))
    shift = np.zeros(len(case.theta)) if rows.shift is None else rows.shift
    scale = 1.0 + float(np.abs(claim.y).max())
    for _ in range(4):
        theta = case.theta * float(rng.random())
        bias = float(rng.normal() * scale) + middle - float(shift @ theta)
        value = exact.value(rational(theta), Rational(bias))
        if value is None or value > nothing:
            continue
        with np.errstate(all="ignore"):
            y, s = claim.y[w.s > 0], w.s[w.s > 0]
            sides = min(math.fsum(s[y > 0]), math.fsum(s[y < 0])) * (1 - 1e-15)
            extent = Extent(longest(rows), float(np.abs(y).max()), sides)
            found = bias_bound(claim.risk, extent, w.high, near(value) * (1 + 1e-12))
        right = (
            Rational(bias)
            - Rational(middle)
            + sum(m * t for m, t in zip(rational(shift), rational(theta), strict=True))
        )
        if not (math.isinf(found) or abs(right) <= Rational(found)):
            yield f"{case.family}: a model with b = {near(right)}, and B is {found}"
        yield from _bias_formula(claim.risk, extent, w.high, near(value), case)


def _bias_formula(risk: Any, extent: Any, high: float, level: float, case: Any) -> Iterator[str]:
    """B by its formula."""
    y, s = case.y, case.s
    found = bias_bound(risk, extent, 1.5 * high, level)
    expected = extent.longest * risk.regularizer.radius(level)
    if isinstance(risk.loss, gap.Margin):
        lighter = min(math.fsum(s[y > 0]), math.fsum(s[y < 0]))
        if not lighter:
            expected = math.inf
        else:
            each = level * 1.5 * high / lighter
            expected += max(0.0, each - risk.loss.at_zero) / risk.loss.slope_at_zero
    else:
        middle = case.y[s > 0].mean()
        expected += float(np.abs(y[s > 0] - middle).max()) + risk.loss.spread(level)
    if not (found == expected or expected * (1 - 1e-12) <= found <= expected * (1 + 1e-9)):
        yield f"{case.family}: B is {found}, and should be {expected}"
    w, rest = Weights(s, high / 1.7, 1.5 * high), 0.3
    slip, taken = bias_slip(risk, extent, w, level, rest), rest * expected / w.low
    if not (slip == taken or taken * (1 - 1e-12) <= slip <= taken * (1 + 1e-9)):
        yield f"{case.family}: a bias takes {slip}, and should take {taken}"
    known = level_of(risk.loss, level, 0.6 * level * w.low, w.low), 0.6 * level
    if not known[1] <= known[0] <= known[1] * (1 + 1e-9) + 1e-290:
        yield f"{case.family}: a level of {known[0]}, not {known[1]}"
    if level_of(risk.loss, level, 1.6 * level * w.low, w.low) != level:
        yield f"{case.family}: the level of the model is not the least known"


def _free_coefficients(rng: np.random.Generator) -> Iterator[str]:
    """The ℓ1 norm where some coefficients have no penalty: bounds, and how large those can be."""
    n, d, free = int(rng.integers(6, 20)), int(rng.integers(1, 4)), bool(rng.random() < 0.5)
    k, lam1, lam2 = int(rng.integers(1, 3)), 0.3, float(rng.choice([0.0, 0.7]))
    s = rng.random(n) + 0.1
    c = s * rng.normal(size=n)
    c = c - s * (c.sum() / s.sum()) if free else c
    A, F = rng.normal(size=(n, d)), rng.normal(size=(n, k))
    F -= np.outer(c, c @ F) / (c @ c)  # no pull on what is free
    pull = -(A.T @ c) / s.sum()
    sigma = np.abs(pull) / lam1 * rng.choice([0.7, 1.0 if lam2 == 0.0 else 0.7], size=d)
    theta = np.sign(pull) * (np.abs(pull) / sigma - lam1) / ((lam2 or 1.0) * sigma)
    if lam2 == 0.0:
        sigma, theta = np.abs(pull) / lam1, np.sign(pull) * rng.random(d)
    X, theta = np.column_stack([A, F]), np.append(theta, rng.normal(size=k))
    weights, bias = np.append(sigma, np.zeros(k)), 0.5 * free
    reg: Any = ElasticNetRegularizer(lam1, lam2, False, weights)
    if lam2 == 0.0 and rng.random() < 0.5:
        reg = Ball(
            math.nextafter(math.fsum(np.abs(theta * weights)) * (1 + 1e-15), 9e9), False, weights
        )
        sigma = np.abs(pull)
    y = X @ theta + bias - c / s
    risk = Risk(residuals.Squared(), reg, free)
    exact, rows, w = Exact(risk, X, y, s), rows_in(X, free), Weights.of(s, n)
    [found] = gap.all_bounds(rows, [Claim(risk, y, theta, bias, c)], s)
    value = exact.value(rational(theta), Rational(bias))
    others = [theta * 0.5, np.append(theta[:d], theta[d:] * 1.2), 0 * theta]
    best = min(exact.value(rational(one), Rational(bias)) for one in [theta, *others])
    if not (at_least(found.bounds.upper, value) and at_most(found.bounds.lower, best)):
        yield f"{reg}: {found.bounds} for {near(value)}, {near(best)}"
    # What has nearly no penalty may be nearly as large as what has none.
    loose = max(1.0, 1e-3 / float(weights[:d].min()))
    if not found.bounds.gap <= 1e-8 * loose * (found.bounds.upper + 1):
        yield f"{reg}: gap {found.bounds.gap} of {found.bounds.upper} at an optimal pair"
    claim, _ = Claim(risk, y, theta, bias, c).moved(w)
    limits = unpenalized.limits(claim, rows, w, near(value) * (1 + 1e-12))
    if not (np.abs(theta[d:]) <= limits).all() or not (limits <= 1e7 * loose).all():
        yield f"{reg}: {theta[d:]} within {limits}"
    part, off = Pull(rng.normal(size=d + k), rows.unit, 0.2), np.array([2.0] * k)
    wide = float((np.abs(part.u[d:]) + part.unit[d:] * 0.2) @ off)
    if not wide <= reg.taken(part, off) <= wide * (1 + 1e-9):
        yield f"{reg}: {reg.taken(part, off)} for {wide}"


CONTRACTS = (
    _regularizers, _losses, _rows, _lengths, _uppers, _lowers, _biases, _free_coefficients,
)  # fmt: skip
