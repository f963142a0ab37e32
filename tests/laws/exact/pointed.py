"""Problems that once had a false bound, or nearly: each is aimed at one line of the core."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.gap import L2, Claim, Hinge, Risk, Weights, all_bounds
from cotas.certificates.core.margins import (
    Exponential,
    HardMargin,
    Logistic,
    ModifiedHuber,
    SquaredHinge,
)
from cotas.certificates.core.residuals import EpsilonInsensitive, Huber, Squared
from cotas.certificates.core.sparse_rows import rows_in
from cotas.certificates.core.sparsity import Ball, ElasticNetRegularizer
from laws.exact.claims import bounds
from laws.exact.oracle import Exact, Rational, at_least, at_most, rational

LOSSES = (
    Hinge(),
    SquaredHinge(),
    ModifiedHuber(),
    Logistic(),
    Exponential(),
    Squared(),
    Huber(0.5),
    EpsilonInsensitive(0.1),
)


def pointed_failures() -> list[str]:
    """What is false of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return [words for law in POINTED for words in law()]


def _asked(risk: Risk, X: Any, y: Any, theta: Any, bias: float, c: Any, w: Any, *more: Any) -> Any:
    """The bounds, and what is false of them; `more` are other models, with the bias last."""
    y, theta = np.asarray(y, float), np.asarray(theta, float)
    try:
        found = bounds(rows_in(X, risk.free_bias), Claim(risk, y, theta, bias, c), w)
    except Objection as objection:
        return objection.code, []
    exact = Exact(risk, X, y, w)
    value = exact.value(rational(theta), Rational(bias))
    others = [exact.value(rational(m[:-1]), Rational(m[-1])) for m in more]
    false = [] if at_least(found.upper, value) else [f"{risk}: upper {found}"]
    if not all(at_most(found.lower, v) for v in [value, *others] if v is not None):
        false.append(f"{risk}: lower {found}")
    return found, false


def _false_bounds() -> Iterator[str]:
    rng = np.random.default_rng(1)
    wide, insensitive = Ball(1e300), EpsilonInsensitive(0.0)
    for _ in range(20):
        # Squares of small entries beside large ones vanish.
        a = rng.normal(size=4)
        X, theta = np.array([np.ones(4), a * 2.0**-560]), rng.normal(size=4) * 2.0**560
        theta[3] = -(a[:3] @ theta[:3]) / a[3]
        given = (Risk(insensitive, wide, False), X, [0.0, 1e-30], theta, 0.0, None)
        yield from _asked(*given, np.array([0.0, 1.0]))[1]
    for _ in range(10):
        # θ·unit vanishes, while a row that was not sampled is many units long.
        X = np.zeros((600, 3))
        X[::2] = 2.0**-900 * rng.normal(size=(300, 3))
        X[1] = 2.0**-400 * rng.normal(size=3)
        theta = rng.normal(size=3) * 2.0**-180
        theta[2] = -(X[1, :2] @ theta[:2]) / X[1, 2]
        w = np.eye(600)[1]
        yield from _asked(Risk(insensitive, wide, False), X, np.zeros(600), theta, 0.0, None, w)[1]
    two = np.array([[1.0], [0.0]])
    for k in (1.0, 1.5):
        # Weights that are denormal, targets that are huge.
        for s in (1, 3, 5, 7):
            w = np.array([5e-324 * s, 1.0])
            given = (Risk(Huber(k), L2(1e300), False), two, [2.0**900, 0.0], [0.0], 0.0, None, w)
            yield from _asked(*given)[1]
    line = np.array([[1.0], [2.0]])
    for reg in (
        ElasticNetRegularizer(0.1, 0.0, True),
        ElasticNetRegularizer(0.1, 0.1, True),
        Ball(1.0, True),
    ):
        # −Xᵀc, not Xᵀc.
        for sign in (1.0, -1.0):
            given = (Risk(Squared(), reg, False), line, [sign, 2 * sign], [0.0], 0.0, None, None)
            yield from _asked(*given, [0.96, 0.0], [0.5, 0.0])[1]
    small = np.array([[1e-300, 1.0], [1e-300, 2.0]])
    sigma = np.array([0.0, 1.0])
    for reg in (ElasticNetRegularizer(0.1, 0.0, False, sigma), Ball(1.0, False, sigma)):
        # A coefficient without a weight must have no pull.
        for c in (None, [1e-300, -1e-300], [1.0, -1.0]):
            given = (Risk(Squared(), reg, False), small, [1.0, 2.0], [0.0, 0.0], 0.0, c, None)
            yield from _asked(*given, [0.0, 0.96, 0.0])[1]
    # Squares and products that underflow before something large multiplies them.
    tiny = np.array([[1.84e-258]])
    for c in (None, [-1.0], [-1e-3]):
        given = (Risk(SquaredHinge(), L2(1.77e-222), False, 9.9), tiny, [1.0], [0.0])
        yield from _asked(*given, 0.0, c, None, [0.0, 1.0])[1]
    given = (Risk(Squared(), L2(1e300), False, 1.0), np.zeros((1, 1)), [1e-165], [0.0])
    yield from _asked(*given, 1e-165, None, None)[1]
    X = np.array([[-6e88, 1.0], [7e-241, -1.8], [-1.5e80, -2.9]])
    reg = Ball(1.151230846995006e-95, False, np.array([6.9e-7, 1.15123085e-95]))
    given = (Risk(Hinge(), reg, False), X, [1, -1, -1], [0.0, 0.5], 0.0, [-6.9e168, 0, 0])
    yield from _asked(*given, np.array([1.15e169, 1.2e256, 2.2e180]), [0.0, 1.0, 0.0])[1]
    # ε is taken away after rounding up.
    for _ in range(50):
        y = rng.normal(size=1) * 1e6
        given = (Risk(EpsilonInsensitive(float(abs(y[0]) - 1e-6)), L2(1.0), False), [[1.0]], y)
        yield from _asked(given[0], np.ones((1, 1)), y, [1e-3], 0.0, None, None)[1]


def _refused() -> Iterator[str]:
    """Models that are none of the problem's."""
    X, y = np.array([[1.0], [2.0], [-1.0]]), np.array([1.0, 1.0, -1.0])
    none = (None, None)
    cases: list[tuple[str, Risk, Any, Any, float, Any, Any]] = [
        ("model not finite", Risk(Hinge(), L2(1.0), True), y, [math.nan], 0.0, *none),
        ("model not finite", Risk(Hinge(), L2(1.0), True), y, [math.inf], 0.0, *none),
        ("model not finite", Risk(Hinge(), L2(1.0), True), y, [1.0], math.nan, *none),
        ("bias", Risk(Hinge(), L2(1.0), False), y, [1.0], 0.5, *none),
        ("sign", Risk(Hinge(), ElasticNetRegularizer(1.0, 0.0, True), True), y, [-1.0], 0.0, *none),
        ("sign", Risk(Hinge(), Ball(5.0, True), True), y, [-1.0], 0.0, *none),
        ("ball", Risk(Hinge(), Ball(1.0), True), y, [1.0 + 2.0**-52], 0.0, *none),
        ("shape", Risk(Hinge(), L2(1.0), True), y, [1.0, 1.0], 0.0, *none),
        ("shape", Risk(Hinge(), L2(1.0), True), y[:2], [1.0], 0.0, *none),
        ("labels", Risk(Hinge(), L2(1.0), True), y * 2, [1.0], 0.0, *none),
        ("labels", Risk(Hinge(), L2(1.0), True), y * math.nan, [1.0], 0.0, *none),
        ("targets", Risk(Squared(), L2(1.0), True), y * math.inf, [1.0], 0.0, *none),
        ("weights", Risk(Hinge(), L2(1.0), True), y, [1.0], 0.0, None, [1.0, -1.0, 1.0]),
        ("weights", Risk(Hinge(), L2(1.0), True), y, [1.0], 0.0, None, [1.0, math.nan, 1.0]),
        ("weights", Risk(Hinge(), L2(1.0), True), y, [1.0], 0.0, None, [0.0, 0.0, 0.0]),
        ("weights", Risk(Hinge(), L2(1.0), True), y, [1.0], 0.0, None, [1.0, 1.0]),
        ("dual point", Risk(Hinge(), L2(1.0), True), y, [1.0], 0.0, [1.0, 1.0], None),
        ("dual point", Risk(Hinge(), L2(1.0), True), y, [1.0], 0.0, [math.nan] * 3, None),
        ("not separated", Risk(HardMargin(), L2(1.0), False), y, [-1.0], 0.0, *none),
        ("not separated", Risk(HardMargin(), L2(1.0), False), y, [0.0], 0.0, *none),
        ("not finite", Risk(Exponential(), L2(1.0), False), y, [-1e4], 0.0, *none),
        ("not finite", Risk(Hinge(), L2(1.0), False), y, [1e200], 0.0, *none),
    ]
    for code, risk, labels, theta, bias, c, w in cases:
        w = None if w is None else np.array(w)
        rows = rows_in(X, risk.free_bias)
        [found] = all_bounds(rows, [Claim(risk, labels, np.array(theta), bias, c)], w)
        if getattr(found.bounds, "code", "") != code:
            yield f"{code}: {found.bounds}"
    # What lies inside is not refused, and one claim spoils no other.
    risk = Risk(Hinge(), Ball(1.0), True)
    fine, bad = Claim(risk, y, np.array([1.0]), 0.0), Claim(risk, y, np.array([2.0]), 0.0)
    huge = Claim(risk, y, np.array([1.0]), 0.0, [1e308] * 3)
    kinds = [type(f.bounds) for f in all_bounds(rows_in(X, True), [bad, fine, huge, bad])]
    if kinds != [Objection, Bounds, Bounds, Objection]:
        yield f"several claims: {kinds}"
    for spoiled in (math.nan, math.inf, 1e308):
        rows = rows_in(np.array([[1.0], [spoiled], [-1.0]]), True)
        if isinstance(all_bounds(rows, [fine])[0].bounds, Bounds) and spoiled != 1e308:
            yield f"rows with {spoiled}"


def _bad_parameters() -> Iterator[str]:
    X, y = np.array([[1.0], [2.0]]), np.array([1.0, -1.0])
    regs: list[Any] = [L2(v) for v in (-1.0, math.nan, math.inf)]
    regs += [
        ElasticNetRegularizer(-1.0, 1.0),
        ElasticNetRegularizer(1.0, -1.0),
        ElasticNetRegularizer(math.nan, 1.0),
    ]
    regs += [Ball(-1.0), Ball(math.inf), Ball(math.nan)]
    for w in ([-1.0], [math.nan], [1.0, 1.0]):
        regs += [ElasticNetRegularizer(1.0, 0.0, False, np.array(w))]
        regs += [Ball(1.0, False, np.array(w))]
    risks = [Risk(Hinge(), reg, False) for reg in regs]
    risks += [
        Risk(HardMargin(), ElasticNetRegularizer(1.0), False),
        Risk(HardMargin(), Ball(1.0), False),
    ]
    risks += [Risk(Hinge(), L2(1.0), False, k) for k in (-1.0, math.nan, math.inf)]
    risks += [Risk(Huber(k), L2(1.0), False) for k in (-1.0, 0.0, math.nan, math.inf)]
    risks += [Risk(EpsilonInsensitive(e), L2(1.0), False) for e in (-1.0, math.nan, math.inf)]
    for risk in risks:
        try:
            yield f"{risk}: {bounds(rows_in(X, False), Claim(risk, y, np.array([0.0]), 0.0))}"
        except Objection as objection:
            if objection.code != "parameters":
                yield f"{risk}: {objection.code}"


def _many_rows() -> Iterator[str]:
    """Blocks, chunks and samples: more rows than one of each holds."""
    rng = np.random.default_rng(2)
    for n, loss in zip((513, 1100, 2500, 700, 900, 1025, 600, 520), LOSSES, strict=True):
        for free in (False, True):
            X = rng.integers(-3, 4, size=(n, 2)) + np.array([2.0**31 * free, 0.0])
            y = np.where(X[:, 1] + rng.normal(size=n) > 0, 1.0, -1.0)
            risk, c = Risk(loss, L2(1.0), free), None
            w = None if rng.random() < 0.5 else rng.random(n)
            given = csr_matrix(X) if rng.random() < 0.3 else X
            theta, bias = np.array([0.0, 0.25]), 0.125 * free
            found, false = _asked(risk, given, y, theta, bias, c, w, [0.0, 0.3, bias])
            yield from false
            if not isinstance(found, Bounds) or found.lower < 0.1 * found.upper:
                yield f"{n} rows, {loss}: {found}"


def _bounds_are_proved() -> Iterator[str]:
    for lower, upper in ((math.nan, 1.0), (0.0, math.inf), (-math.inf, 1.0), (2.0, 1.0)):
        with suppress(Objection):
            yield f"proved {Bounds.proved(lower, upper)}"
    for upper, part in product((1e308, math.nextafter(math.inf, 0.0)), (0.0, 1e-12, 0.1, 1.0)):
        with suppress(Objection):  # at the end of the range they may be refused, but not infinite
            if math.isinf((found := Bounds.proved(0.0, upper, part * upper)).upper):
                yield f"proved {found}"
    if not Bounds.proved(1.0, 2.0).gap >= 1.0 or not 1.0 > Bounds.proved(1.0, 1.0).gap >= 0.0:
        yield "gap"
    sizes = (0.0, 1e-320, 1e-12, 1.0, 3.0, 1e300)
    for lower, upper, charge, room in product(sizes, repeat=4):
        for own in (math.inf, 0.0, 1e-12, charge) if lower <= upper else ():
            found = Bounds.proved(lower, upper, charge, room, own)
            # What whoever compares allows for is no more than was proved.
            inner = Rational(found.lower) + Rational(found.moved[0])
            outer = Rational(found.upper) - Rational(found.moved[1])
            if not inner <= Rational(lower) <= Rational(upper) <= outer:
                yield f"moved {found}"
            # By what rounding cost, but for less than a sixteenth of that, 1e-10 of the objective,
            # or the room asked.
            felt = min(charge, own)
            near = felt if upper <= felt else max(felt / 16, 1e-10 * upper)
            felt = charge / 16 if upper <= 64 * lower else 0.0
            below = max(room, felt, 1e-10 * lower)
            if found.moved != (min(charge, below, lower), min(charge, near)):
                yield f"moved {found.moved} of {lower, upper, charge, room}"
            ends = np.array([lower - found.moved[0], upper + found.moved[1]])
            if found.lower != max(0.0, np.nextafter(ends[0], -1.0)):
                yield f"lower {found.lower}"
            if found.upper != np.nextafter(ends[1], math.inf) or not found.charge >= charge:
                yield f"upper {found}"
    below = Bounds.proved(-2.0, 1.0, 1e-12)
    if not -2.0000001 < below.lower < -2.0 or below.moved[0] != 1e-12:
        yield f"a lower bound below zero: {below}"
    w = Weights.of(None, 7)
    if not (w.low == w.high == 7.0 and (w.s == 1.0).all()):
        yield "weights"
    w = Weights.of(np.full(10, 0.1), 10)
    if not Rational(w.low) < 10 * Rational(0.1) < Rational(w.high) < 1.0000000001 * w.low:
        yield "weights"


POINTED = (_false_bounds, _refused, _bad_parameters, _many_rows, _bounds_are_proved)
