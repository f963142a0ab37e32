"""What is said of rounding, which ways are tried, and in which order: who asks whom for what.

None of it makes a bound false, but too little of it makes bounds that sums in another order do not
prove again, and too much makes them wide. Every part is told by others what it would find out, and
must pass on what its formula says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from cotas.certificates.core import (
    blocks,
    choices,
    curvature,
    gap,
    gram,
    margins,
    residuals,
    rounding,
    softmax,
)
from cotas.certificates.core import hessian as hessian_module
from cotas.certificates.core import (
    rows as framed,
)
from cotas.certificates.core.blocks import Claims, OneBlock
from cotas.certificates.core.bounds import Bounds, Pull
from cotas.certificates.core.curvature import Fall, Slope
from cotas.certificates.core.gap import L2, Claim, Margin, Risk, Weights
from cotas.certificates.core.sparse_rows import rows_in
from laws.exact.as_written import as_written, differ
from laws.exact.curved_as_written import _Case, _some_hessian
from laws.exact.guesses import _Parts
from laws.exact.oracle import put
from laws.exact.summed_as_written import _passes


def felt(rng: np.random.Generator) -> Iterator[str]:
    """What scores feel of rounding, by the slopes of their losses."""
    n, asked = 5, list[Any]()
    s, z, off = rng.random(n), rng.normal(size=n), rng.random(n)
    claim = Claim(Risk(residuals.Squared(), L2(1.0), False), rng.normal(size=n), z, 0.0)
    w = Weights(s, 0.9 * s.sum(), 1.3 * s.sum())
    found = choices.felt(claim, w, z, off)
    yield from differ("felt", found, s * np.abs(z - claim.y) @ off / w.low)
    rows = rows_in(rng.normal(size=(n, 2)), False)
    claim = claim._replace(theta=rng.normal(size=2))
    with put(choices, blur=lambda *given: asked.append(given) or 0.0):
        [known] = gap.all_bounds(rows, [claim], w)
    penalty, theta, pull, t, low = asked[0]
    if penalty != L2(1.0) or (theta != claim.theta).any() or low != w.low:
        yield f"blurred by {low}, not {w.low}"
    if pull is not known.pull or t != known.t:
        yield f"a blur at the multiple {t}, not {known.t}"


def felt_in_blocks(rng: np.random.Generator) -> Iterator[str]:
    """The same of blocks, of products with K and of classes; blocks need room besides."""
    best, t, off, blur = (float(v) for v in rng.uniform(0.1, 0.9, size=4))
    asked: list[Any] = []
    best = 0.4 * best  # which is less than P
    passes = _passes(rng, gap.Hinge(), L2(0.5), False, 0.0)[0]

    def charge(*given: Any) -> float:
        asked.append(given)
        return 0.25

    told = {"blur": lambda *given: blur, "charge": charge}
    with put(blocks, best_multiple=lambda *given: (best, t, off)), put(choices, **told):
        found, value = passes.bounds(0), asked[0][2]
    yield from differ("felt", asked[0][:2], (0.25 / passes.low + off + blur, best))
    if found.bounds != Bounds.proved(best, value, 0.25 + choices.APART * value, 0.25):
        yield f"bounds of blocks: {found.bounds}"
    X, beta, c, y = rng.normal(size=(4, 2)), *rng.normal(size=(3, 4))
    lam, w, asked = float(rng.uniform(0.2, 2.0)), Weights(np.ones(4), 3.0, 5.0), []
    claim = Claim(Risk(residuals.Squared(), gram.SquaredLength(lam), False), y, beta, 0.0, c)
    made, K, offs = gram.Gram(("linear",), X), X @ X.T, rng.random((4, 2))
    values = np.column_stack([K @ beta, K @ c])
    lengths = [made.length(a, values[:, k], offs[:, k]) for k, a in enumerate((beta, c))]
    told = {"felt": lambda *given: blur, "charge": charge}
    with put(gram, lower=lambda *given: (0.0, t, off)), put(choices, **told):
        gram.bounds(claim, made, w, values, offs)
    more = off + lam * lengths[0].off + lengths[1].off * (t / w.low) ** 2 / lam
    yield from differ("felt by a machine", (asked[0][0], asked[0][1] + 1.0), (more + blur, 1.0))


def classes_told(rng: np.random.Generator) -> Iterator[str]:
    """Which multiples of a dual point of classes are asked, and what bounds have room for."""
    n, d, k = 9, 2, 3
    X, s = rng.normal(size=(n, d)), rng.random(n) + 0.1
    truth = 2.0 * np.eye(k)[np.append(np.arange(k), rng.integers(k, size=n - k))] - 1.0
    reach, asked, made = float(rng.choice([1.0, 0.5])), list[Any](), softmax.ClassPulls

    def pulls(*given: Any) -> Any:
        asked.append(given[-1])
        return made(*given)

    whole, W = OneBlock(rows_in(X, False), truth, s), rng.normal(size=(d, k))
    told = {"ClassPulls": pulls, "Bounds": SimpleNamespace(proved=lambda *given: given)}
    for source in (whole, _Parts(rng, X, truth, s, -1)):
        risk, read = Risk(Margin(), L2(1.0), True), lambda b: (b.y, b.s)
        claims = Claims(risk, W, (0.1,) * k, read, (None,) * k, n, d)
        asked.clear()
        allowed = list[Any]()
        with (
            put(softmax, **told),
            put(L2, reach=lambda *given, to=allowed: to.append(given) or reach),
            put(choices, charge=lambda *given: 0.25),
        ):
            _, upper, *rooms = softmax.softmax_bounds(source, claims)
        for _, pull, theta, share in allowed:
            if not (np.array_equal(theta, W.T.ravel()) and len(pull.u) == len(theta)):
                yield f"classes are asked for a multiple with {theta}"
            if not 1 <= Fraction(share) * sum(map(Fraction, s)) <= 1 + Fraction(1, 2**49):
                yield f"classes are asked for a multiple with the share {share}"
        every = [choices.MULTIPLES, tuple(t * reach for t in choices.MULTIPLES)]
        if asked != every[: 1 if reach == 1.0 else 2]:
            yield f"the multiples {asked} of which {reach} is the largest"
        more = [0.25] if source is whole else [0.25 + choices.APART * upper, 0.25]
        if rooms != more:
            yield f"bounds of classes have the room {rooms}, not {more}"


def _concluded(
    p: _Case, slope: Slope, given: Any, close: float, near: float, flat: bool = False
) -> Any:
    """The conclusion where the parts find what is given, and what they were asked."""
    penalty, falls, mus, worth = given
    asked: dict[str, list[Any]] = {"worth": [], "curvature": []}

    def curved(some: bool, turns: int) -> Any:
        asked["curvature"].append((some, turns))
        return None, mus[len(asked["curvature"]) - 1]

    def is_worth(*given: Any) -> bool:
        asked["worth"].append(given)
        return bool(worth[len(asked["worth"]) - 1])

    told = {"_by_penalty": lambda slope: penalty, "curvature": curved, "_seen": lambda *g: (0, 0)}
    told |= {"_within": lambda slope: (77.0, Fall(0.5, 0.125)), "flat": flat}
    p.risk.__dict__ |= told

    def fall(H: Any, mu: float, *given: Any) -> Fall:
        if not mu > 0:
            raise ValueError("no curvature was proved")
        return Fall(*falls[len(asked["curvature"]) - 1])

    with as_written(curvature), put(curvature, fall=fall), put(choices, worth=is_worth):
        return p.risk._conclude(slope, close, near), asked


def conclusions(rng: np.random.Generator) -> Iterator[str]:
    """The curvatures that are tried in turn, as long as they are worth it; the best one counts."""
    p = _Case(rng)
    ways, close = choices.WAYS, float(rng.uniform(0.1, 0.9))
    slope = Slope(2.0, 1.5, np.zeros(p.d), 0.0, np.zeros(p.d), 1.0)
    names = ["turned" if t else "few rows" if some else "rows" for some, t in ways]
    endless, penalty = bool(rng.random() < 0.3), Fall(*(float(v) for v in rng.random(2)))
    penalty = Fall() if endless else penalty
    falls = [Fall(*(float(v) for v in pair)) for pair in rng.random((len(ways), 2)) * 1.2]
    mus = rng.choice([0.0, 0.5], size=len(ways)).tolist()
    worth = (rng.random(len(ways)) < 0.8).tolist()
    near = float(rng.choice([0.0, 2.0, 3.0]))
    flat = bool(rng.random() < 0.3)  # what a few rows do not bend, no row does
    found, asked = _concluded(p, slope, (penalty, falls, mus, worth), close, near, flat)
    best, how, within = (Fall(2.0, 0.0), "zero", math.inf) if near else (penalty, "penalty", 0.0)
    count = worth.index(False) if False in worth else len(ways)
    turns = min(count + 1, 2 if flat else len(ways))
    count = min(count, 1) if flat else count
    for k in range(turns):
        expected = (best, how, close * 2.0, *ways[k], p.d)
        if asked["worth"][k] != expected:
            yield f"asked whether {asked['worth'][k]} is worth it, not {expected}"
        if k < count and mus[k] > 0 and falls[k].most < best.most:
            best, how = falls[k], names[k]
    if len(asked["worth"]) != turns or asked["curvature"] != [*ways[:count]]:
        yield f"asked {asked['curvature']}, of which {count} are worth it"
    best, how = (Fall(0.5, 0.125), "within") if math.isinf(best.most) else (best, how)
    within = 77.0 if how == "within" else math.inf
    charge = choices.squared_charge(2.0, 1.5, best.blur, p.risk.room)
    own = choices.squared_charge(2.0, 1.5, 0.0, p.risk.room)
    expected = Bounds.proved(max(0.0, 1.5 - best.most), 2.0, charge, 0.0, own)
    if (found.bounds, found.how, found.within) != (expected, how, within):
        yield f"{found}, not {expected} by {how} within {within}"
    if p.d > 1:
        for name, value in (("largest", p.d - 1), ("rows", SimpleNamespace(n=p.d - 1, d=p.d))):
            with put(p.risk, **{name: value}):
                none = _concluded(p, slope, (penalty, falls, mus, worth), close, 0.0)[1]
            if none["curvature"]:
                yield f"curvatures {none['curvature']}, though {name} is {value}"


def curvatures_asked(rng: np.random.Generator) -> Iterator[str]:
    """Which rows a curvature is of, and in which basis; what is known of it is kept."""
    p, asked = _Case(rng), list[Any]()

    def hessian(rows: Any, w: Any, added: Any, free: bool, some: bool, T: Any, known: Any) -> Any:
        asked.append((some, T, known is not None))
        count = len(asked)
        return SimpleNamespace(basis=lambda: f"basis {some} {T}", least=lambda: float(count))

    with put(curvature, hessian=hessian):
        for some, turns in ((False, 2), (False, 2), (True, 0), (False, 0)):
            p.risk.curvature(some, turns)
    first = "basis True None"
    turned = [(True, None), (True, first), (False, f"basis True {first}")]
    # The squares of all rows are known, those of some of them or in another basis are not.
    if asked != [*((*one, False) for one in turned), (False, None, True)]:
        yield f"curvatures of {asked}"
    d, solved = int(rng.integers(1, 4)), list[Any]()
    H, g = _some_hessian(rng, d), rng.normal(size=d)
    solve = np.linalg.solve
    with (
        as_written(curvature, hessian_module),
        put(np.linalg, solve=lambda A, b: solved.append(A) or solve(A, b)),
    ):
        for mu in (0.5, 0.0):
            curvature.fall(H, mu, g, 0.1, 1.0)
        shift = 2 * (H.rounding() + H.off)
    yield from differ("solved", solved[0] + 9.0, H.matrix + 9.0)
    yield from differ("solved, flat", solved[1] + 9.0, H.matrix + shift * np.eye(d) + 9.0)
    yield from _slopes_asked(rng)


def _slopes_asked(rng: np.random.Generator) -> Iterator[str]:
    """What the slope of each model is told of its targets and residuals."""
    p, asked = _Case(rng), list[Any]()
    y, theta = rng.uniform(-0.5, 0.5, size=(2, p.n)), rng.normal(size=p.d)
    y += p.free * 5.0
    models = [Claim(p.risk.risk, one, theta, 0.25 * p.free) for one in y]
    slope = Slope(1.0, 0.0, theta, 0.0, theta, 1.0)
    p.risk.__dict__["_slope"] = lambda *given: asked.append(given) or slope
    found = p.risk._slopes(models)
    for k, one in enumerate(y):
        middle = choices.middle(one, p.s) if p.free else 0.0
        yield from differ("far", asked[k][5], np.abs(one - middle).max())
        r = p.X @ theta + 0.25 * p.free - one
        yield from differ("residuals", found[k].r + 9.0, r + 9.0)
        pull = (p.s * r) @ (p.X - (0.0 if p.rows.shift is None else p.rows.shift))
        yield from differ("pull", asked[k][3].u + 99.0, pull + 99.0)
        [same] = p.rows.pull((p.s * r)[:, None])
        yield from differ("pull ±", asked[k][3].off, same.off)


def every_multiple(rng: np.random.Generator) -> Iterator[str]:
    """A multiple that proves nothing does not end the search for one that does."""
    pull, w = Pull(np.zeros(1), np.ones(1), 0.0), Weights(None, 2.0, 2.0)
    values = {0.5: float(rng.uniform(-2, 0)), 0.75: float(rng.uniform(1, 2)), 1.0: 3.0}
    values |= {0.9: 2.5, 0.8: 9.0}  # D is concave: after it has fallen it falls
    for loss in (gap.Hinge(), margins.Logistic()):
        claim = Claim(Risk(loss, L2(1.0), False), np.ones(1), np.zeros(1), 0.0)
        asked: list[float] = []

        def gain(t: float, asked: list[float] = asked) -> tuple[float, float]:
            asked.append(t)
            return values[t], 0.0

        told: list[Any] = []
        with put(choices, multiples=lambda *given, told=told: told.append(given) or [*values]):
            found = gap.best_multiple(claim, w, pull, gain, lambda t: 3.0 * t, 0.0, 0.0, 1.0)
        if told[0][:3] != (loss, 2, math.inf) or not 2.99 < told[0][3](2.0) < 3.01:
            yield f"multiples are asked with {told[0]}"
        count, best = (2, 0.75) if loss.quadratic else (4, 1.0)
        if found[1] != best or asked != [*values][:count]:
            yield f"{loss}: {found} after {asked} of {values}"


def small_gains(rng: np.random.Generator) -> Iterator[str]:
    """A gain is divided by the largest sum of weights, however small it is."""
    pull, gain = Pull(np.zeros(1), np.ones(1), 0.0), float(10.0 ** rng.uniform(-9, 1))
    claim = Claim(Risk(gap.Hinge(), L2(1.0), False), np.ones(1), np.zeros(1), 0.0)
    given = (lambda t: (gain, 0.25 * gain), lambda t: gain, 0.0, 0.0, 1.0)
    with put(choices, multiples=lambda *given: [1.0]), as_written(gap):
        found = gap.best_multiple(claim, Weights(None, 2.0, 8.0), pull, *given)
    yield from differ("gain", found, (0.75 * gain / 8.0, 1.0, 0.25 * gain / 2.0))


def as_given(rng: np.random.Generator) -> Iterator[str]:
    """Sparse rows that need no change are not copied, and a linear kernel may have them."""
    n, d = int(rng.integers(3, 9)), 90
    X = csr_matrix((rng.normal(size=n), (np.arange(n), rng.integers(d, size=n))), shape=(n, d))
    if rows_in(X, False).X is not X:
        yield "sparse rows were copied"
    for given in (X, X.toarray()):
        rows = rows_in(given, False)
        part, whole = (getattr(a, "data", a) for a in (rows.read(slice(0, 2)), given))
        if not np.shares_memory(np.asarray(part), np.asarray(whole)):
            yield f"entries of {type(given)} were copied"
    W = rng.normal(size=(n, 2))
    found, off = gram.Gram(("linear",), X).times(W, np.ones(n, bool))
    exact = X.toarray() @ (X.toarray().T @ W)
    if not (np.abs(found - exact) <= off + 1e-14).all() or not (off <= 1e-12).all():
        yield f"products of sparse rows: {found}, not {exact}"
    for spoiled in (math.inf, math.nan):
        if rounding.total([1.0, spoiled])[1] != math.inf:
            yield f"a sum with {spoiled}: {rounding.total([1.0, spoiled])}"
    one, away = np.ones(1), np.array([3.0])
    kinds = (residuals.Huber(), residuals.EpsilonInsensitive())
    plain = [float(loss.value(one, away, 0.0)[0]) for loss in kinds]
    yield from differ("losses without a number", plain, (1.5, 1.9))
    kept = rows_in(X, False, map, framed.Frame(None, np.ones(d)))
    if not kept.sparse:
        yield "sparse rows in a given frame, which does not move them, were filled up"


CHARGED = (
    felt, felt_in_blocks, classes_told, conclusions, curvatures_asked, every_multiple, small_gains,
    as_given,
)  # fmt: skip
