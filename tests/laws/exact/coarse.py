"""The whole inequality with arithmetic that is wrong by much, and says so: no bound may be false.

Scores, combinations of rows and sums of weights are moved by as much as they are said to be off,
and dual points are not balanced: what the core forgets to charge is no rounding any more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from cotas.certificates.core import blocks, choices, gap, margins, softmax
from cotas.certificates.core.blocks import Between, Claims, OneBlock, Sharp, block_bounds
from cotas.certificates.core.bounds import Objection, Pull
from cotas.certificates.core.curvature import SquaredRisk
from cotas.certificates.core.gap import L2, Claim, Margin, Risk, Weights
from cotas.certificates.core.imbalance import longest
from cotas.certificates.core.residuals import Squared
from cotas.certificates.core.rows import Rows
from cotas.certificates.core.sparse_rows import rows_in
from cotas.certificates.core.squared_blocks import BlockSquaredRisk
from cotas.source import Arrays
from laws.exact.claims import Targets
from laws.exact.contracts import _largest_slope, _plain_case
from laws.exact.more_claims import least_squares, softmax_value
from laws.exact.oracle import Exact, Rational, at_least, at_most, near, rational

SUMS = (0.8, 1.3)  # of the weights, as parts of what they are


class Coarse(Rows):
    """Rows whose scores and combinations are off by as much as they say."""

    by: tuple[float, float] = (0.0, 0.0)
    seed = 0
    duals: ClassVar[list[Any]] = []  # that were combined, block by block

    def scores(self, thetas: Any, biases: Any, use: Any = None) -> Any:
        z, off, _ = super().scores(thetas, biases)
        moved = np.random.default_rng(self.seed).choice([-1.0, 0.3, 1.0], size=z.shape)
        return z + self.by[0] * moved, off + self.by[0], None

    def pull(self, c: Any, whole: Any = None) -> list[Pull]:
        rng = np.random.default_rng(self.seed)
        found = []
        Coarse.duals.append(c)
        for u, unit, off in super().pull(c, whole):
            aim = (
                rng.choice([-1.0, 1.0]) * u / unit
                if rng.random() < 0.5
                else rng.normal(size=len(u))
            )
            size = self.by[1] * self.n / (float(np.linalg.norm(aim)) or 1.0) * (1 - 1e-9)
            found.append(Pull(u + unit * aim * size, unit, off + self.by[1] * self.n))
        return found


def coarse(X: Any, movable: bool, each: Any = map, frame: Any = None, roundings: int = 0) -> Coarse:
    """Coarse rows in a frame of their own, or in a given one."""
    frame = rows_in(X, movable).frame if frame is None else frame
    X = X.toarray() if hasattr(X, "toarray") else X
    rows = Coarse(X, frame, each, roundings)
    rows.movable = movable
    return rows


@contextmanager
def coarsely(rng: np.random.Generator, sums: tuple[float, float] = SUMS) -> Iterator[None]:
    """Rows of blocks are coarse, weights sum up to something else, no dual point is balanced."""
    Coarse.by = (float(rng.choice([0.0, 0.03, 0.3])), float(rng.choice([0.0, 0.01, 0.1])))
    Coarse.by = Coarse.by if sums is SUMS and rng.random() < 0.7 else (0.0, 0.0)
    Coarse.seed = int(rng.integers(2**31))
    before = blocks.rows_in, Between.sum_of, choices.shares, choices.balance
    blocks.rows_in = coarse
    if sums is SUMS:
        Between.sum_of = classmethod(lambda cls, a: cls(*(part * math.fsum(a) for part in SUMS)))
    if rng.random() < 0.5:
        choices.shares = lambda loss, more, less, high: (1.0, 1.0, 0.0)
        choices.balance = lambda wanted, given: (np.ones(len(wanted)), np.zeros(len(wanted)))
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        blocks.rows_in, Between.sum_of, choices.shares, choices.balance = before


def coarse_bounds(rng: np.random.Generator) -> Iterator[str]:
    """Of any loss and any regularizer, in memory and in blocks."""
    case = _plain_case(rng)
    exact = Exact(case.risk, case.X, case.y, case.s)
    models = [(case.theta, case.bias), *case.others, (0 * case.theta, 0.0)]
    if case.risk.free_bias:
        models.append((0 * case.theta, 1.0 if case.s @ case.y > 0 else -1.0))
    c = case.c * np.where(case.c > 0, *rng.choice([1.0, 1.0, 1.0, 3.0, 0.5, 0.0], size=2))
    sums = SUMS if rng.random() < 0.5 else (1.0, 1.0)
    whole, values = exact.sum, []
    for part in sums:
        exact.sum = whole * Rational(part)
        found = [exact.value(rational(theta), Rational(b)) for theta, b in models]
        values.append(found)
    if any(found[0] is None for found in values):
        return
    best = min(value for found in values for value in found if value is not None)
    upper = max(found[0] for found in values)
    given = c if rng.random() < 0.7 else None
    with coarsely(rng, sums):
        rows = coarse(case.X, case.risk.free_bias)
        total, known = math.fsum(case.s), Weights.of(case.s, len(case.s))
        w = Weights(case.s, *(part * total for part in sums)) if sums is SUMS else known
        claim = Claim(case.risk, case.y, *models[0], given)
        asked = {"memory": lambda: gap.all_bounds(rows, [claim], w)[0].bounds}
        if not isinstance(case.risk.loss, margins.HardMargin):
            asked["blocks"] = lambda: _in_blocks(case, claim, rng)
        for name, call in asked.items():
            Coarse.duals.clear()
            found = call()
            if isinstance(found, Objection):
                continue
            if not _inside(case, np.concatenate(Coarse.duals)[-len(case.y) :, 0]):
                yield f"{case.family} in {name}: a dual point outside of its domain"
            if not at_least(found.upper, upper):
                yield f"{case.family} in {name}: upper {found.upper} below {near(upper)}"
            if not at_most(found.lower, best):
                yield f"{case.family} in {name}: lower {found.lower} above {near(best)}"


def _inside(case: Any, c: np.ndarray) -> bool:
    """Whether c is in the domain of the conjugate of each loss."""
    loss = case.risk.loss
    if isinstance(loss, Margin):
        a = -case.y * c
        return bool(
            ((a >= 0) & (a <= loss.steepest * np.where(case.s > 0, case.s, 0.0))).all()
        ) or (math.isinf(loss.steepest) and bool((a >= 0).all()))
    return bool((np.abs(c) <= _largest_slope(loss) * np.maximum(case.s, 1e-300)).all())


def _in_blocks(case: Any, claim: Claim, rng: np.random.Generator) -> Any:
    size = int(rng.integers(1, len(case.y) + 1))
    spans = cycle(range(0, len(case.y), size))

    def dual(X: Any, y: Any, s: Any) -> Any:
        return claim.c[(start := next(spans)) : start + len(s)]

    source = Arrays(case.X, case.y, case.weights, block_rows=size)
    read, duals = Targets(case.weights is not None), (None if claim.c is None else dual,)
    theta = np.asarray(claim.theta)[:, None]
    claims = Claims(case.risk, theta, (claim.bias,), read, duals, *case.X.shape)
    return block_bounds(source, claims)[0].bounds


def coarse_squares(rng: np.random.Generator) -> Iterator[str]:
    """Least squares by curvature, in memory and in blocks."""
    n, d, free = int(rng.integers(4, 20)), int(rng.integers(1, 4)), bool(rng.random() < 0.5)
    X, s = rng.normal(size=(n, d)) * 2.0 ** rng.integers(-9, 9, size=d), rng.random(n) + 0.1
    X += rng.choice([0.0, 1e4], size=d) * free
    y, lam = rng.normal(size=n) * 3 + 5, float(rng.choice([0.0, 0.5]))
    risk = Risk(Squared(), L2(lam), free)
    exact = Exact(risk, X, y, s)
    whole, uppers, lowers = exact.sum, [], []
    theta = np.array([near(v) for v in least_squares(exact, free)])
    theta = theta * (1 + float(rng.choice([0.0, 0.1, 1.0])) * rng.normal(size=d + 1))
    bias = float(theta[d]) if free else 0.0
    for part in SUMS:
        exact.sum = whole * Rational(part)
        best = least_squares(exact, free)
        uppers.append(exact.value(rational(theta[:d]), Rational(bias)))
        lowers.append(exact.value(best[:d], best[d]))
    with coarsely(rng):
        w = Weights(s, *(part * math.fsum(s) for part in SUMS))
        in_memory = SquaredRisk(lam, None, coarse(X, free), free, w, 2000)
        source = Arrays(X, y, s, block_rows=int(rng.integers(1, n + 1)))
        claims = Claims(risk, theta[:d, None], (bias,), Targets(True), (None,), n, d)
        in_blocks = BlockSquaredRisk(source, claims, 2000)
        found = [
            in_memory.bounds([Claim(risk, y, theta[:d], bias)], 1e-9)[0],
            in_blocks.all_bounds(1e-9, [0.0])[0],
        ]
        places = [one._moved_bias(theta[:d], (bias, -2.0)) for one in (in_memory, in_blocks)]
    shift = np.zeros(d) if in_memory.rows.shift is None else in_memory.rows.shift
    sizes = abs(bias) + 2.0 + np.abs(shift) @ np.abs(theta[:d])  # which may cancel
    if not np.allclose(places, bias - 2.0 + shift @ theta[:d], rtol=0.0, atol=2.0**-48 * sizes):
        yield f"a bias of {places} beside moved rows"
    for name, one in zip(("memory", "blocks"), found, strict=True):
        if isinstance(one.bounds, Objection) or math.isfinite(one.within):
            continue
        if not at_least(one.bounds.upper, max(uppers)):
            yield f"squares in {name}: upper {one.bounds.upper} below {near(max(uppers))}"
        if not at_most(one.bounds.lower, min(lowers)):
            yield f"squares in {name}: lower {one.bounds.lower} above {near(min(lowers))}"


def coarse_classes(rng: np.random.Generator) -> Iterator[str]:
    """Softmax regression."""
    n, d, k = int(rng.integers(2, 9)), int(rng.integers(1, 3)), int(rng.integers(2, 4))
    X, s, free = rng.normal(size=(n, d)), rng.random(n) + 0.1, bool(rng.random() < 0.6)
    truth = np.eye(k)[rng.integers(k, size=n)]
    truth[:k] = np.eye(k)[: min(n, k)] if n >= k else truth[:k]
    penalty = L2(float(10.0 ** rng.uniform(-1, 1)))
    W, b = rng.normal(size=(d, k)) * 0.3, rng.normal(size=k) * free
    models = [(W, b), (0 * W, 0 * b), (0.3 * W, 0.3 * b), (0 * W, 3 * b)]
    values = [softmax_value(X, s, truth, *model, penalty) for model in models]
    bent = [float(penalty.value(model[0].ravel())) for model in models]
    risks = [near(value) - more for value, more in zip(values, bent, strict=True)]
    best = min(risk / max(SUMS) + more for risk, more in zip(risks, bent, strict=True))
    with coarsely(rng):
        rows = OneBlock(coarse(X, free), 2.0 * truth - 1.0, s)
        given = (W, tuple(b.tolist()), rows.read, (None,) * k, n, d)
        try:
            found = softmax.softmax_bounds(rows, Claims(Risk(Margin(), penalty, free), *given))
        except Objection:
            return
    if not found.upper >= (risks[0] / min(SUMS) + bent[0]) * (1 - 1e-12):
        yield f"classes: upper {found.upper} below {risks[0] / min(SUMS) + bent[0]}"
    if not found.lower <= best * (1 + 1e-12):
        yield f"classes: lower {found.lower} above {best}"


def tallies(rng: np.random.Generator) -> Iterator[str]:
    """What blocks contribute, by its meaning."""
    n, d, free = 7, 2, bool(rng.random() < 0.5)
    X, s = rng.normal(size=(n, d)), rng.random(n) * (rng.random(n) < 0.8) + 1e-3
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    risk, theta = Risk(gap.Hinge(), L2(1.0), free), rng.normal(size=(d, 1))
    rows = OneBlock(rows_in(X, free), y[:, None], s)
    claims = Claims(risk, theta, (0.2 * free,), rows.read, (None,), n, d)
    frame = rows.frame(claims)
    first = blocks.Values(claims, *frame)(rows)
    z = X @ theta[:, 0] + 0.2 * free
    loss = np.maximum(0.0, 1.0 - y * z)
    expected = {
        "losses 0": s @ loss, "nothing 0": s.sum(), "most 0": 1.0, "plus 0": s[y > 0].sum(),
        "minus 0": s[y < 0].sum(), "longest": longest(rows.rows),
    }  # fmt: skip
    for name, value in expected.items():
        if not math.isclose(first[name], value, rel_tol=1e-9, abs_tol=1e-12):
            yield f"{name}: {first[name]}, not {value}"
    given = (claims, *frame, np.array([[1.0, 1.0, 0.0]]), np.array([[1.0, 0.5]]))
    second = blocks.Pulls(*given)(rows)
    c = s * gap.Hinge().slope(y, z)
    used = np.abs(c) > 0
    for j, t in enumerate((1.0, 0.5)):
        value, off = gap.gain_of(gap.Hinge(), y[used], c[used], s[used], t)
        found = second[f"gain 0 {j}"]
        if not (found.low <= value - 0.9 * off and value + 0.9 * off <= found.high):
            yield f"gain {found}, not {value} ± {off}"
    if not math.isclose(second["least 0"], np.abs(c[used]).min(initial=math.inf)):
        yield f"least {second['least 0']}"
    if not math.isclose(second["rest 0"].most, abs(c.sum()), rel_tol=1e-9, abs_tol=1e-15):
        yield f"rest {second['rest 0']}, not {c.sum()}"
    k = 3
    truth, p = np.eye(k)[rng.integers(k, size=n)], rng.dirichlet(np.ones(k), size=n)
    rows = OneBlock(rows_in(X, free), 2.0 * truth - 1.0, s, p)
    claims = Claims(
        Risk(Margin(), L2(1.0), free),
        rng.normal(size=(d, k)),
        (0.0,) * k,
        rows.read,
        (None,) * k,
        n,
        d,
    )
    given = (claims, *rows.frame(claims), None)
    first = softmax.ClassValues(*given)(rows)
    second = softmax.ClassPulls(*given, np.ones(k), np.zeros(k), (1.0, 0.5))(rows)
    lengths = rows.rows.lengths
    for j in range(k):
        expected = {
            f"reached {j}": (s * (p + truth)[:, j]) @ lengths,
            f"rest {j}": abs(s @ (p - truth)[:, j]),
        }
        found = {f"reached {j}": second[f"reached {j}"], f"rest {j}": second[f"rest {j}"].most}
        for name, value in expected.items():
            if not math.isclose(found[name], value, rel_tol=1e-9, abs_tol=1e-14):
                yield f"{name}: {found[name]}, not {value}"
        if not math.isclose(first[f"mass {j}"], s @ truth[:, j], rel_tol=1e-9, abs_tol=1e-300):
            yield f"mass {j}: {first[f'mass {j}']}"
    if not math.isclose(first["longest"], longest(rows.rows)):
        yield "longest"
    for spoiled in (Sharp.of([1e308, 1e308]), Sharp(math.inf, 0.0, 0.0), Sharp(0.0, 0.0, math.inf)):
        if not math.isinf(spoiled.most):
            yield f"at most {spoiled.most} of {spoiled}"


def interpolations(rng: np.random.Generator) -> Iterator[str]:
    """A quadratic polynomial tL − t²Q between its ends at 1 and 2, each being hardly known."""
    L, Q, t = float(rng.normal()), float(rng.random()), float(rng.choice([0.1, 0.7, 1.0, 1.6, 3.0]))
    wide = rng.choice([0.0, 0.1], size=2)
    ones, twos = (
        (at * L - at * at * Q - by, at * L - at * at * Q + by)
        for at, by in zip((1.0, 2.0), wide, strict=True)
    )
    passes: Any = object.__new__(blocks._Passes)
    loss = SimpleNamespace(quadratic=True)
    passes.claims = SimpleNamespace(risk=SimpleNamespace(loss=loss))
    passes.multiples = np.array([[1.0, 2.0]])
    passes.second = {"gain 0 0": Between(*ones), "gain 0 1": Between(*twos)}
    value, off = passes.gain(0, t)
    a, b = Rational(t) * (2 - Rational(t)), Rational(t) * (Rational(t) - 1) / 2
    ends = [a * Rational(one) + b * Rational(two) for one in ones for two in twos]
    apart = max(abs(Rational(value) - end) for end in ends)
    sizes = near(abs(a)) * max(map(abs, ones)) + near(abs(b)) * max(map(abs, twos))
    if (
        not apart
        <= Rational(off)
        <= apart * (1 + Rational(1, 10**9)) + Rational(sizes * 2e-15 + 1e-290)
    ):
        yield f"a gain of {value} ± {off} at {t}, and it is {near(apart)} away"
    if not wide.any() and not off >= 4 * 2.0**-53 * sizes:
        yield f"a gain of {value} ± {off} at {t}: its rounding is not counted"
    loss.quadratic = False
    if passes.gain(0, 2.0) != Between(*twos).middle() or passes.gain(0, 0.5)[0] != -math.inf:
        yield "a multiple that was not asked"


COARSE_PARTS = (
    coarse_bounds, coarse_squares, coarse_classes, tallies, interpolations,
)  # fmt: skip
