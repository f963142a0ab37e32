"""The formulas of sums over blocks and of classes, seen as `as_written.py` sees the others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from cotas.certificates.core import blocks, choices, gap, imbalance, margins, residuals, softmax
from cotas.certificates.core.blocks import Between, Claims, NamedSums, OneBlock, Pulled, Sharp
from cotas.certificates.core.bounds import Objection, Pull
from cotas.certificates.core.gap import L2, Claim, Margin, Risk, Weights
from cotas.certificates.core.sparse_rows import rows_in
from cotas.certificates.core.squared_blocks import Squares
from laws.exact.as_written import U, as_written, differ
from laws.exact.oracle import put


def sums_as_written(rng: np.random.Generator) -> Iterator[str]:
    """Sums that nearly vanish, sums of vectors, and what lies between two numbers."""
    values, tails, offs = rng.normal(size=(3, 2)) * np.array([[1.0], [0.3], [0.1]])
    offs = np.abs(offs)
    one, two = (Sharp(*given) for given in zip(values, tails, offs, strict=True))
    with as_written(blocks):
        both, whole = one + two, Sharp.of([1.0, 2.0**-60])
        found = both.most
        pulled = Pulled(values, 0.5, 2.0, 7).whole(np.ones(2), 6, 0.125).off
        fewer = Pulled(values, 0.5, 2.0, 6).whole(np.ones(2), 6, 0.125).off
        alone = [Sharp(*given).most for given in ((0, 0, 0), (1, -1, 0.5), (1, 0, 0))]
        quiet = Sharp(0.0, 0.0, 0.5) + Sharp(0.0, 0.0, 0.25), Sharp(1, 0, 0) + Sharp(1, 0, 0)
    size = np.abs(tails).sum()  # the error of this addition is no number that counts here
    yield from differ("sharp", (both.value, both.tail), (values.sum(), tails.sum()))
    yield from differ("sharp ±", both.off, offs.sum() + 2 * U * size)
    yield from differ("most", found, abs(both.value + both.tail) + both.off)
    yield from differ("sharp of", whole, (1.0, 2.0**-60, U * 2.0**-60))
    yield from differ("pulled", (pulled, fewer), (0.625 + 9 * U * 2.0, 0.625))
    yield from differ("nothing", alone, (0.0, 0.5, 1.0))
    yield from differ("sharp", [one.off for one in quiet], (0.75, 0.0))
    error = Sharp(1.0, 0.0, 0.0) + Sharp(2.0**-60, 0.0, 0.0)
    if error.tail != 2.0**-60 or not 2.0**-113 <= error.off <= 2.0**-110:
        yield f"an addition leaves {error}"
    for low in (1.0, 1.0 + 2.0**-52, 1.0 + 2.0**-51):  # the middle of neighbours is one of them
        high = math.nextafter(low, 2.0)
        middle, off = Between(low, high).middle()
        if not max(high - middle, middle - low) <= off:
            yield f"the middle of neighbours is {middle} ± {off}"


def _passes(rng: np.random.Generator, loss: Any, penalty: Any, free: bool, kappa: float) -> Any:
    """What is known after both passes, of one model, as if it had been found."""
    passes: Any = object.__new__(blocks._Passes)
    low, high = 2.0, 3.0
    claims = Claims(
        Risk(loss, penalty, free, kappa), rng.normal(size=(2, 1)), (0.0,), None, (), 9, 2
    )
    passes.claims, passes.w = claims, Weights(None, low, high)
    passes.low, passes.high, passes.multiples = low, high, np.array([[1.0, 2.0]])
    passes.reader = (SimpleNamespace(unit=np.ones(2)), None)
    plus, minus, nothing, most = (float(v) for v in rng.uniform(0.5, 2.0, size=4))
    passes.first = NamedSums({
        "losses 0": 1.0, "plus 0": plus, "minus 0": minus, "longest": 1.5, "most 0": most,
        "nothing 0": nothing, "felt 0": 0.25, "more 0": 3.0, "less 0": 2.0,
    })  # fmt: skip
    ends = np.sort(rng.normal(size=(2, 2)), axis=1)
    passes.second = {
        "rest 0": Sharp(float(rng.choice([0.0, 0.5])), 0.0, 0.0), "least 0": 0.75,
        "pull 0": Pulled(rng.normal(size=2), 0.25, 1.0), "gain 0 0": Between(*ends[0]),
        "gain 0 1": Between(*ends[1]),
    }  # fmt: skip
    return passes, ends


def blocks_as_written(rng: np.random.Generator) -> Iterator[str]:
    """Gains between multiples, what is left of Σ cᵢ, and what `best_multiple` is told."""
    loss = (gap.Hinge(), residuals.Squared(), margins.SquaredHinge())[rng.integers(3)]
    free, kappa, t = bool(rng.random() < 0.6), 0.0, float(rng.uniform(0.1, 3.0))
    kappa = 0.0 if free else float(rng.choice([0.0, 0.5]))
    passes, ends = _passes(rng, loss, L2(0.5), free, kappa)
    asked: list[Any] = []
    kept = blocks.best_multiple, blocks.LEFT
    blocks.best_multiple, blocks.LEFT = lambda *given: asked.append(given) or (0.0, 0.5, 0.1), 2 * U
    try:
        with as_written(blocks, imbalance, gap, residuals):
            value, off = passes.gain(0, t)
            passes.bounds(0)
            rough, rest = asked[0][4](t), passes._rest(0)
            passes.second["rest 0"] = Sharp(0.0, 0.0, 0.0)
            left = passes._rest(0)
            level = min(1.0 / 2.0 + gap.penalty_of(passes.claims.claim(0)), _nothing(passes))
            extent = imbalance.Extent(1.5, passes.first["most 0"], _lighter(passes))
            slip = imbalance.bias_slip(passes.claims.risk, extent, passes.w, level, rest)
    finally:
        blocks.best_multiple, blocks.LEFT = kept
    middles, wide = ends.mean(axis=1), 0.5 * (ends[:, 1] - ends[:, 0])
    a, b = t * (2.0 - t), 0.5 * t * (t - 1.0)
    yield from differ("gain", (value, rough), [a * middles[0] + b * middles[1]] * 2)
    sizes = abs(a * middles[0]) + abs(b * middles[1])
    yield from differ("gain ±", off, abs(a) * wide[0] + abs(b) * wide[1] + 8 * U * sizes)
    yield from differ("left", left, 2 * U * (5.0 if loss.centred else 2.0))
    told = (rest if free or kappa else 0.0, slip if free else 0.0, 0.75)
    yield from differ("told", asked[0][5:], told)


def _nothing(passes: Any) -> float:
    return float(passes.first["nothing 0"]) / passes.low


def _lighter(passes: Any) -> float:
    return float(min(passes.first["plus 0"], passes.first["minus 0"]))


def tallies_as_written(rng: np.random.Generator) -> Iterator[str]:
    """What blocks contribute where targets have been moved and some rows have no weight."""
    n, d, k = 6, 2, 2
    X, s = rng.normal(size=(n, d)), rng.random(n) * (np.arange(n) > 1)
    y, theta, middles = rng.normal(size=(n, k)) + 3.0, rng.normal(size=(d, k)), np.array([3.0, 2.5])
    biases, k_huber = (0.25, -0.5), float(rng.uniform(0.3, 2.0))
    for loss in (residuals.Huber(k_huber), residuals.Squared()):
        rows = OneBlock(rows_in(X, False), y, s)
        claims = Claims(Risk(loss, L2(1.0), True), theta, biases, rows.read, (None,) * k, n, d)
        given = (claims, rows.rows.frame, middles)
        first = blocks.Values(*given)(rows)
        shares, moved = np.array([[0.5, 0.25, 0.125]] * k), y - middles
        second = blocks.Pulls(*given, shares, np.ones((k, 1)))(rows)
        r = X @ theta + np.array(biases) - y
        top = np.minimum(np.abs(r), k_huber) if isinstance(loss, residuals.Huber) else np.abs(r)
        for j in range(k):
            value = s @ (top * (np.abs(r) - 0.5 * top))[:, j]
            yield from differ("losses", first[f"losses {j}"], value)
            yield from differ("most", first[f"most {j}"], np.abs(moved[2:, j]).max())
            plain = s * np.sign(r[:, j]) * top[:, j]
            signs = plain[plain > 0].sum(), -plain[plain < 0].sum()
            yield from differ("signs", (first[f"more {j}"], first[f"less {j}"]), signs)
            c = plain - s * 0.125
            c = c * np.where(c > 0, 0.5, 0.25)
            yield from differ("pull", second[f"pull {j}"].u + 9.0, c @ X + 9.0)
            yield from differ("least", second[f"least {j}"], np.abs(c[2:]).min())
            yield from differ("rest", 9.0 + second[f"rest {j}"].most, 9.0 + abs(c.sum()))
        yield from differ("weights", first["weights"], (s.sum(), s.sum()))
    squares = Squares(*given, True)(rows)
    A = np.column_stack([X / rows.rows.unit, np.ones(n)])
    yield from differ("H", squares["H"].value + 9.0, A.T @ (s[:, None] * A) + 9.0)
    yield from differ("length", squares["length"], s @ rows.rows.lengths)
    if squares["tallest"] != n:
        yield f"blocks of {squares['tallest']} rows at most"
    for j in range(k):
        yield from differ("losses", squares[f"losses {j}"], 0.5 * s @ r[:, j] ** 2)
        yield from differ("pull", squares[f"pull {j}"].u + 9.0, (s * r[:, j]) @ X + 9.0)
        [pull] = rows.rows.pull((s * r[:, j])[:, None])
        yield from differ("pull ±", squares[f"pull {j}"].off, pull.off)
        yield from differ("mean", 9.0 + np.array(squares[f"mean {j}"]), [9.0 + s @ r[:, j]] * 2)
        yield from differ("most", squares[f"most {j}"], np.abs(moved[:, j]).max())
        yield from differ("near", squares[f"near {j}"], s @ r[:, j] ** 2)


class _Twice(blocks._Passes):
    """Passes that remember which multiples were asked."""

    def _second_pass(self) -> Any:
        self.asked = [*getattr(self, "asked", []), self.multiples.tolist()]
        return None

    def _reach(self, k: int) -> float:
        return (1.0, 0.5)[k]


def passes_made(rng: np.random.Generator) -> Iterator[str]:
    """Which multiples the second pass is asked, and the third where one model allows less."""
    first = {"weights": Between(2.0, 3.0)}
    for loss in (margins.Logistic(), gap.Hinge()):
        risk = Risk(loss, L2(1.0), bool(rng.random() < 0.5))
        claims: Any = Claims(risk, np.zeros((2, 2)), (0.0, 0.0), None, (), 9, 2)
        found: Any = _Twice(None, claims, None, first)
        every = [list(choices.MULTIPLES)] * 2
        less = [every[0], [0.5 * t for t in choices.MULTIPLES]]
        expected = [[[1.0, 2.0]] * 2] if loss.quadratic else [every, less]
        if found.asked != expected or (found.low, found.high) != (2.0, 3.0):
            yield f"{loss}: the multiples {found.asked}, not {expected}"


def samples(rng: np.random.Generator) -> Iterator[str]:
    """Counts of additions and roundings, and which models have none of their targets here."""
    n = int(rng.integers(1, 5000))
    claims = Claims(Risk(gap.Hinge(), L2(1.0), True), np.zeros((2, 1)), (0.0,), None, (), n, 2)
    if not math.log2(n) * 2 <= claims.additions <= 2 * (math.log2(n) + 1):
        yield f"{claims.additions} additions of {n}"
    if claims.roundings != min(blocks.BLOCK_ROWS, n) + 2 * claims.additions:
        yield f"{claims.roundings} roundings of {n} rows"
    if blocks.counted(NamedSums(rows=n), n)["rows"] != n:
        yield "rows are not counted"
    for wrong in (n - 1, n + 1):
        try:
            yield f"{blocks.counted(NamedSums(rows=wrong), n)} of {n} rows"
        except Objection as objection:
            if objection.code != "shape":
                yield f"{wrong} of {n} rows: {objection.code}"


def classes_as_written(rng: np.random.Generator) -> Iterator[str]:
    """Losses of classes, entropies, what biases take away, and D at each multiple."""
    n, k = 4, int(rng.integers(2, 5))
    z, off = rng.normal(size=(n, k)), rng.random((n, k))
    own, s, t = rng.integers(k, size=n), rng.random(n) + 0.1, float(rng.choice([1.0, 0.5]))
    truth, p = np.eye(k)[own], rng.dirichlet(np.ones(k), size=n)
    lam, low, high, smallest, longest = (float(v) for v in rng.uniform(0.3, 2.0, size=5))
    high, level = low + high, float(rng.choice([0.2, 5.0]))
    with as_written(softmax, gap):
        losses, slack = softmax.losses_of(z, off, truth)
        entropy = softmax.entropy_down(p, truth, s, t)
        known = softmax.Masses(Weights(None, low, high), smallest, longest, 0.125)
        slip = softmax.slip_of(L2(lam), k, level, known)
        felt = softmax.felt_of(k, 3, 2.5)
        claim = Claim(Risk(softmax.LogLoss(), L2(lam), True), np.zeros(0), z.ravel(), 0.0)
        value = gap.objective(claim, 3.0, low)
        gains = {0.5: 40.0, 0.25: 1.0, -0.1: 90.0, 1.1: 90.0}
        given = (Pull(z.ravel(), np.ones(n * k), 0.2), lambda t: (gains[t], 0.0), None)
        with put(choices, multiples=lambda *given: [*gains]):
            *best, slipped = gap.best_multiple(
                claim, Weights(None, low, high), *given, 0.0, 0.125, math.inf
            )
    tails = np.log(np.exp(z).sum(axis=1))
    top, mine = z.max(axis=1), z[np.arange(n), own]
    parts = np.abs(top) + np.abs(mine) + (tails - top)
    slacks = 2 * off.max(axis=1)
    yield from differ("losses", losses, tails - mine + slacks + (k + 16) * U * (1.0 + parts))
    yield from differ("slack", slack, slacks)
    q = truth + t * (p - truth)
    log, room = np.log(q), q if t == 1.0 else q + truth
    sizes = math.fsum((s[:, None] * room * (2.0 + np.abs(log))).ravel())
    exact = math.fsum((s[:, None] * (-q * log)).ravel())
    yield from differ("entropy", entropy, exact - (k + 24) * U * sizes)
    least = min(level, math.log(k))
    far = 2 * longest * math.sqrt(2 * least / lam) + least * high / smallest
    mass = (k + 8) * U * 2 * high
    yield from differ("slip", slip, (0.125 + mass) / low * far)
    yield from differ("felt", felt, (k + 8) * U * 2.5)
    yield from differ("objective", value, 3.0 / low + 0.5 * lam * float((z**2).sum()))
    paid = (0.5 / low) ** 2 * (float(np.linalg.norm(z)) + 0.2) ** 2 / (2 * lam)
    found = {0.5: 40.0 / high - paid - 0.0625, 0.25: 1.0 / high - paid / 4 - 0.03125}
    t = max(found, key=lambda t: found[t])
    expected = (found[t], t) if found[t] > 0 else (0.0, 0.0)
    yield from differ("best", best, expected)
    yield from differ("slipped", slipped, expected[1] * 0.125)


def class_passes(rng: np.random.Generator) -> Iterator[str]:
    """Both passes over classes, with probabilities of the model, of a reference, or given."""
    n, d, k = 6, 2, 3
    X, s, given = rng.normal(size=(n, d)), rng.random(n) + 0.1, int(rng.integers(3))
    truth = np.eye(k)[np.append(np.arange(k), rng.integers(k, size=n - k))]
    W, b = rng.normal(size=(d, k)), rng.normal(size=k)
    other = (rng.normal(size=(d, k)), rng.normal(size=k))
    p = rng.dirichlet(np.ones(k), size=n)
    rows = OneBlock(rows_in(X, False), 2.0 * truth - 1.0, s, p if given == 0 else None)
    claims = Claims(Risk(Margin(), L2(1.0), True), W, tuple(b), rows.read, (None,) * k, n, d)
    known = (claims, *rows.frame(claims), other if given == 1 else None)
    first = softmax.ClassValues(*known)(rows)
    rows.p = rows.p if given == 0 else None  # as a block that is read again
    kept, lacking = np.array([0.5, 1.0, 1.0]), np.array([0.0, 0.25, 0.75])
    second = softmax.ClassPulls(*known, kept, lacking, (1.0,))(rows)
    z = X @ W + b
    if given:
        p = choices.probabilities(X @ other[0] + other[1] if given == 1 else z)
    losses = np.log(np.exp(z).sum(axis=1)) - (z * truth).sum(axis=1)
    yield from differ("losses", first["losses"], s @ losses)
    yield from differ("masses", (first["wanted"].value, first["given"].value), (s @ truth, s @ p))
    q = p * kept + np.outer(1.0 - p @ kept, lacking)
    c = s[:, None] * (q - truth)
    for j in range(k):
        yield from differ("pull", second[f"pull {j}"].u + 9.0, X.T @ c[:, j] + 9.0)
        yield from differ("rest", second[f"rest {j}"].most, abs(c[:, j].sum()))
        reached = s * (q + truth)[:, j] @ rows.rows.lengths
        yield from differ("reached", second[f"reached {j}"], reached)
        yield from differ("mass", first[f"mass {j}"], s @ truth[:, j])
    yield from differ("gain", second["gain 0"], -(s[:, None] * q * np.log(q)).sum())


SUMMED_FORMULAS = (
    sums_as_written, blocks_as_written, tallies_as_written, samples, classes_as_written,
    class_passes, passes_made,
)  # fmt: skip
