"""Theorems and consequences against exact rational arithmetic: whatever holds is true.

Rows are badly scaled on purpose, and witnesses are forged. A float is a rational number, so every
claim about it can be decided without rounding.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from dataclasses import fields, replace
from decimal import Decimal, localcontext
from fractions import Fraction as Q

import numpy as np
import pytest

import cotas
from cotas.certificates import (
    DualPoint,
    KernelPerceptronLedger,
    PassiveAggressiveLedger,
    PerceptronLedger,
    SeparationWitness,
    conclude,
    optimum_region,
)
from cotas.certificates.consequences.biases import best_biases
from cotas.certificates.consequences.path import outlooks
from cotas.certificates.theorems.hold_out import HeldOut
from cotas.certificates.theorems.mistakes import best_margin, mistakes_allowed
from cotas.certificates.theorems.separation import DISTANCE
from cotas.kernels import Linear
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk
from errors import refuses

SEED = int(os.environ.get("COTAS_SEED", time.time_ns() % 2**32))


@pytest.fixture
def rng():
    print(f"seed {SEED}")
    return np.random.default_rng(SEED)


def rational(array):
    return [Q(float(a)) for a in np.ravel(array)]


def inner(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), Q(0))


def hard_rows(rng, n=None):
    """Rows of scales 1e±12, offsets to 2⁴⁰, duplicates, constant columns, at times denormals."""
    n, d = n or int(rng.integers(2, 14)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) if rng.random() < 0.5 else rng.integers(-3, 4, (n, d)).astype(float)
    X = X * 10.0 ** rng.choice([0, 0, -12, -6, 6, 12], d)
    if rng.random() < 0.4:
        X[:, 0] += 2.0 ** rng.integers(0, 41)
    if rng.random() < 0.2:
        X[:, -1] = 2.0 ** rng.integers(-5, 30)
    if rng.random() < 0.3:
        X[rng.integers(n)] = X[rng.integers(n)]
    if rng.random() < 0.05:
        X *= 1e-310
    y = rng.choice([-1, 1], n)
    y[:2] = 1, -1
    return X, y


def extended(X, y, bias, weights=None):
    weights = np.ones(len(y)) if weights is None else weights
    return [
        [Q(float(w)) * int(label) * Q(float(x)) for x in (*row, bias)]
        for row, label, w in zip(X, y, weights, strict=True)
    ]


ODD = [math.nan, math.inf, -math.inf, 5e-324, -5e-324, 0.0, 1e-300, 1e300, -1.0]


def forgeries(rng, witness):
    """The witness with each number and array of it changed in one way after the other."""
    for f in fields(witness):
        value = getattr(witness, f.name)
        if isinstance(value, bool) or f.name == "positive":
            continue
        if isinstance(value, (int, float)):
            for odd in (*ODD, value * 2, value + 1, value - 1, value * (1 + 1e-6), value + 0.5):
                yield replace(witness, **{f.name: odd})
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
            whole = value.astype(float)
            some = whole.copy()
            some[rng.integers(len(some))] = rng.choice(ODD)
            for other in (
                some, rng.permutation(whole), -whole, whole * 2, whole * 5e-324, whole * 1e-320,
                np.full_like(whole, rng.choice(ODD)), whole.astype(np.float32), whole + 1e-6,
            ):  # fmt: skip
                yield replace(witness, **{f.name: other})


def checked(witness, X, y):
    """The certificate, or None where the witness is refused."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return witness.check(X, y)
    except ValueError:
        return None


# ---- separation --------------------------------------------------------------------------------


def assert_separation_is_true(c, X, y):
    w = c.witness
    Z, u = extended(X, y, w.bias), rational(np.append(w.coef, w.bias * w.intercept))
    if c.lower > 0:
        least = min(inner(z, u) for z in Z)
        assert least > 0
        assert Q(c.lower) ** 2 * inner(u, u) <= least**2
        if DISTANCE in c.figures:
            assert Q(c.figures[DISTANCE]) ** 2 * inner(u[:-1], u[:-1]) <= least**2
    shortest = min(inner(z, z) for z in Z)
    if w.alpha is not None:
        alpha = [max(Q(0), a) for a in rational(w.alpha)]
        point = [inner(alpha, column) for column in zip(*Z, strict=True)]
        shortest = min(shortest, inner(point, point) / sum(alpha) ** 2)
    assert Q(c.upper) ** 2 >= shortest
    if "No hyperplane" in c.statement:
        said = float(c.statement.split("above ")[1].split(" ")[0].rstrip(":"))
        assert said >= c.upper


def test_separation_is_never_claimed_falsely(rng):
    claims = 0
    for _ in range(150):
        X, y = hard_rows(rng)
        bias = float(rng.random() < 0.6)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = cotas.separability(
                    X, y, fit_intercept=bool(bias), widest=rng.random() < 0.3
                )
        except (RuntimeError, FloatingPointError, ValueError):
            continue  # the solver, which promises nothing
        c = answer.certificate
        if c.holds:
            claims += 1
            assert_separation_is_true(c, X, y)
        for forged in forgeries(rng, c.witness):
            again = checked(forged, X, y)
            if again is not None and again.holds:
                assert_separation_is_true(again, X, y)
    assert claims > 75


def test_a_separator_of_denormals_separates_nothing():
    Z = np.array([[0.75, -0.49, -0.49], [-0.49, 0.75, -0.49], [-0.49, -0.49, 0.75], [0.75] * 3])
    c = SeparationWitness(np.full(3, 5e-324), 0.0, 1, 0.0).check(Z, np.ones(4, int))
    assert not c.holds
    # And one that does separate still does when it is that small.
    X, y = np.array([[1.0, 0.5], [-1.0, 0.5]]), np.array([1, -1])
    assert SeparationWitness(np.array([1e-320, 0.0]), 0.0, 1, 0.0).check(X, y).holds


def test_rows_far_from_the_origin_are_decided_exactly():
    X = (2.0**40 + np.array([-3.0, -1.0, 1.0, 3.0]))[:, None]
    c = SeparationWitness(np.array([1.0]), -(2.0**40), 1, 1.0).check(X, np.array([-1, -1, 1, 1]))
    assert c.holds
    assert c.figures[DISTANCE] == pytest.approx(1.0)


# ---- mistakes ----------------------------------------------------------------------------------


def test_the_bound_is_rounded_up(rng):
    for _ in range(300):
        radius, margin, shortfall, along, length = 10.0 ** rng.uniform(-12, 12, 5)
        shortfall, along = shortfall * rng.integers(2), along * rng.integers(-1, 2)
        length = max(length * abs(along), abs(along) / radius)
        k = mistakes_allowed(radius, margin, shortfall, along, length)
        if math.isinf(k):
            continue
        k, r, g, d, a, size = map(Q, (k, radius, margin, shortfall, along, length))
        stretch = 1 + d / r
        assert k * g + a >= 0
        assert (k * g + a) ** 2 >= stretch * (size**2 + k * r * r * stretch)


def square_root(x):
    return (Decimal(x.numerator) / Decimal(x.denominator)).sqrt()


def assert_mistakes_are_allowed(c, X, y):
    """The bound is at least that of the theorem for this u, and the ledger adds up to the model."""
    w, k = c.witness, c.witness.mistakes
    assert k == c.lower <= c.upper
    assert 0 <= k <= w.presentations
    if "any number" in c.statement:
        return
    said = float(c.statement.split("at most ")[1].rstrip("."))
    assert said >= c.upper
    used = np.ones(len(y), bool) if w.weights is None else w.weights > 0
    passes = max(1, -(-w.presentations // int(used.sum())))
    weights = np.ones(len(y)) if w.weights is None else w.weights
    u = rational(w.direction)
    plain = extended(X[used], y[used], w.bias)
    start = rational(w.origin)
    if isinstance(w, PassiveAggressiveLedger):
        square = max(inner(z, z) for z in plain)
        s, lam = rational(weights[used]), Q(w.lam)
        losses = sum(a * max(Q(0), 1 - inner(z, u)) for a, z in zip(s, plain, strict=True))
        least = min([min(s) / lam, *([1 / square] if square else [])])
        away = inner(
            [a - b for a, b in zip(u, start, strict=True)],
            [a - b for a, b in zip(u, start, strict=True)],
        )
        assert Q(c.upper) >= (away + 2 * passes * losses / lam) / least
    else:
        Z = extended(X[used], y[used], w.bias, weights[used])
        square, margins = max(inner(z, z) for z in Z), [inner(z, u) for z in Z]
        if c.reference.startswith("Theorem"):
            assert min(margins) > 0
            if w.start is None:
                assert Q(c.upper) * min(margins) ** 2 >= square * inner(u, u)
        elif w.start is None:
            survey = type(w)._statistics([w], X, y, None, map)
            g = Q(best_margin(survey.margins[:, 0], passes))
            missing = passes * sum(max(Q(0), g - m) ** 2 for m in margins)
            with localcontext() as context:
                context.prec = 60
                least = (square_root(square * inner(u, u)) + square_root(missing)) / square_root(
                    g * g
                )
                assert Decimal(c.upper) >= least * least * (1 - Decimal("1e-50"))
    if w.last is None:
        factor = rational(weights) if w.scales_rows else [Q(1)] * len(y)
        steps = [a * b for a, b in zip(rational(w.updates), factor, strict=True)]
        every = extended(X, y, w.bias)
        rebuilt = [
            b + inner(steps, z) for b, z in zip(start, zip(*every, strict=True), strict=True)
        ]
        model = rational(np.append(w.coef, w.intercept))
        off = [a - b for a, b in zip(rebuilt, model, strict=True)]
        way = sum(s * s * inner(z, z) for s, z in zip(steps, every, strict=True)) + inner(
            start, start
        )
        assert inner(off, off) <= Q(1, 10**10) * len(y) * way


MODELS = {
    "perceptron": lambda: cotas.Perceptron(max_iter=6),
    "no bias": lambda: cotas.Perceptron(max_iter=20, fit_intercept=False),
    "averaged": lambda: cotas.AveragedPerceptron(max_iter=5),
    "passive-aggressive": lambda: cotas.PassiveAggressive(lam=0.5, max_iter=4),
    "no bias, lam": lambda: cotas.PassiveAggressive(lam=1e-3, max_iter=3, fit_intercept=False),
}


@pytest.mark.parametrize("name", MODELS)
def test_mistakes_are_never_claimed_falsely(rng, name):
    claims = 0
    for trial in range(30):
        X, y = hard_rows(rng)
        weights = 10.0 ** rng.uniform(-3, 3, len(y)) if rng.random() < 0.3 else None
        model = MODELS[name]()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, y, sample_weight=weights)
        except ValueError:
            continue
        c = model.certificate_
        if c.holds:
            claims += 1
            assert_mistakes_are_allowed(c, X, y)
        for forged in forgeries(rng, c.witness) if trial % 3 == 0 else ():
            again = checked(forged, X, y)
            if again is not None and again.holds:
                assert_mistakes_are_allowed(again, X, y)
    assert claims >= 24


@pytest.mark.parametrize("ledger", [PerceptronLedger, PassiveAggressiveLedger])
def test_counts_that_no_run_can_have_made_are_objected_to(ledger):
    X, y = np.array([[2.0, 0.1], [1.0, 1.0], [-1.0, 0.3], [-2.0, 1.0]]), np.array([1, 1, -1, -1])
    model = cotas.Perceptron() if ledger is PerceptronLedger else cotas.PassiveAggressive(lam=1.0)
    w = model.fit(X, y).certificate_.witness
    assert w.check(X, y).holds
    assert w.check(X, y).trusted
    for changed in (
        {"mistakes": -1}, {"mistakes": 1.5}, {"mistakes": math.nan},
        {"mistakes": w.presentations + 1}, {"presentations": 0}, {"presentations": -4},
        {"presentations": math.inf}, {"presentations": 2.5},
        {"updates": -w.updates}, {"updates": w.updates + 0.5}, {"updates": w.updates * math.nan},
    ):  # fmt: skip
        assert not replace(w, **changed).check(X, y).holds, changed


def test_the_kernel_perceptron_in_a_space_that_is_known(rng):
    """With the linear kernel, feature space is the space of the rows."""
    for _ in range(25):
        n, d = int(rng.integers(3, 12)), int(rng.integers(1, 4))
        X, y = rng.integers(-8, 9, (n, d)) * 2.0 ** rng.integers(-20, 21), rng.choice([-1, 1], n)
        y[:2] = 1, -1
        c = cotas.KernelPerceptron(Linear(), max_iter=10).fit(X, y).certificate_
        assert isinstance(c.witness, KernelPerceptronLedger)
        assert c.holds
        Z, w = extended(X, y, 1.0), c.witness
        beta = rational(w.coef)
        theta = [inner(beta, column) for column in zip(*extended(X, np.ones(n), 0.0), strict=True)]
        theta[-1] = Q(w.intercept)
        margins = [inner(z, theta) for z in Z]
        if c.vacuous:  # the model is zero: any number of mistakes is allowed
            assert c.upper >= w.presentations
        elif c.reference.startswith("Theorem"):
            square = max(inner(z, z) for z in Z)
            assert min(margins) > 0
            assert Q(c.upper) * min(margins) ** 2 >= square * inner(theta, theta)
        for forged in forgeries(rng, w):
            again = checked(forged, X, y)
            if again is not None and again.holds:
                assert again.witness.mistakes == again.lower <= again.upper
                assert np.array_equal(again.witness.updates * y, again.witness.coef)


# ---- hold-out ----------------------------------------------------------------------------------


def at_most_wrong(wrong, n, p):
    return sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(wrong + 1))


def test_the_hold_out_bound_is_proved_and_sharp(rng):
    for _ in range(150):
        n = int(rng.integers(1, 60))
        wrong, tried = int(rng.integers(0, n + 1)), int(rng.choice([1, 1, 7]))
        confidence = float(rng.choice([0.5, 0.9, 0.95, 0.999, 1 - 1e-9, 0.9999999999999, 0.3]))
        c = cotas.hold_out_bound(wrong, n, confidence, tried)
        risk = (1 - Q(str(confidence))) / tried
        if wrong < n:
            assert at_most_wrong(wrong, n, Q(c.upper)) <= risk
            slightly = Q(c.upper) * (1 - Q(1, 10**8))
            assert c.upper == wrong / n or at_most_wrong(wrong, n, slightly) > risk
        assert c.holds
        assert float(c.statement.split("at most ")[1].split(";")[0]) >= c.upper
        assert "mistakes" in c.trusted[0]


def test_the_hold_out_bound_for_losses_is_proved(rng):
    for _ in range(60):
        n, largest = int(rng.integers(1, 50)), 10.0 ** rng.uniform(-3, 3)
        losses = largest * rng.random(n) ** rng.integers(1, 30)
        c = cotas.hold_out_bound(losses, largest=largest)
        if c.vacuous:
            continue
        q, p = sum(rational(losses)) / n / Q(largest), Q(c.upper) / Q(largest)
        with localcontext() as context:
            context.prec = 50
            parts = [(q, p), (1 - q, 1 - p)]
            kl = sum(
                Decimal(a.numerator) / Decimal(a.denominator)
                * (Decimal((a / b).numerator) / Decimal((a / b).denominator)).ln()
                for a, b in parts
                if a
            )  # fmt: skip
            assert n * kl >= Decimal(20).ln() - Decimal("1e-40")


def test_predictions_are_named_as_taken_on_trust():
    c = HeldOut(np.array([1, 0, 1])).check(None, np.array([1, 1, 1]))
    assert "predictions" in c.trusted[0]
    for confidence in (math.nan, 0.0, 1.0, -1.0, math.inf):
        with refuses("confidence"):
            HeldOut(np.array([1, 0, 1]), confidence).check(None, np.array([1, 1, 1]))


# ---- predictions and paths ---------------------------------------------------------------------


def two_points(lam, half, centre, free=True):
    """The optima of the SVM on pairs of rows centre ± half: θ*, and the ends of θ₀* from centre.

    With θ = 1/half all hinge losses vanish; λθ = half is where they stop falling.
    """
    theta = min(1 / half, half / lam)
    return theta, 1 - theta * half


def point_and_certificate(X, y, lam, theta, theta0, weights, alpha):
    """A model with the narrowest certificate that is true."""
    point = DualPoint(
        RegularizedRisk(Hinge(), lam, True), np.array(theta), theta0, 1, alpha, weights=weights
    )
    s = rational(np.ones(len(y)) if weights is None else weights)
    scores = [inner(rational(row), rational(theta)) + Q(theta0) for row in X]
    risk = sum(w * max(Q(0), 1 - int(b) * z) for w, b, z in zip(s, y, scores, strict=True)) / sum(s)
    upper = risk + Q(lam) / 2 * inner(rational(theta), rational(theta))
    return point, upper


@pytest.mark.parametrize("consequence", ["region", "outlook"])
def test_all_optima_lie_where_they_are_said_to(rng, consequence):
    sharp = 0
    for _ in range(120):
        pairs = int(rng.integers(1, 40))
        half, centre = 2.0 ** rng.integers(-20, 21), 0.0
        if rng.random() < 0.6:
            centre = float(rng.integers(-100, 100)) * 2.0 ** rng.integers(0, 34) * max(1.0, half)
        if (centre + half) - centre != half or centre - (centre - half) != half:
            centre = 0.0  # rows that would be rounded are another problem
        X = np.repeat([centre + half, centre - half], pairs)[:, None]
        y = np.repeat([1, -1], pairs)
        if rng.random() < 0.3:
            X = np.column_stack([X[:, 0], np.full(len(y), 2.0 ** rng.integers(-10, 40))])
        weights = None
        if rng.random() < 0.5:
            weights = np.tile(
                10.0 ** rng.uniform(-8, 8, pairs) if rng.random() < 0.5 else rng.random(pairs), 2
            )
        mix = rng.permutation(len(y))
        X, y, weights = X[mix], y[mix], None if weights is None else weights[mix]
        lam = half * half * 10.0 ** rng.uniform(-2, 2)
        best, room = two_points(Q(lam), Q(half), Q(centre))
        theta = np.zeros(X.shape[1])
        theta[0] = float(best) * (1 + rng.choice([0.0, 1e-9, 1e-3]))
        alpha = np.full(len(y), min(1.0, float(Q(lam) * best / Q(half))))
        theta0 = float(-Q(float(theta[0])) * Q(centre))
        point, upper = point_and_certificate(X, y, lam, theta, theta0, weights, alpha)
        lower = 1 - best * Q(half) + Q(lam) / 2 * best**2
        assert upper >= lower
        X_val = rng.permutation(np.vstack([X, X + half * rng.normal(size=X.shape) * 4]))[:20]
        if consequence == "region":
            low, high = (
                math.nextafter(float(lower), -math.inf),
                math.nextafter(float(upper), math.inf),
            )
            c = conclude(
                "duality", low, high, statement="", reference="", witness=point, sketch=None
            )
            bounds = [(lam, optimum_region(c, X, y).scores(X_val))]
        else:
            c = conclude(
                "duality", 0.0, 1.0, statement="", reference="", witness=point, sketch=None
            )
            [outlook] = outlooks([c], X, y, X_val)
            u = 1 / lam
            wide = outlook.scores(u, 1.5 * u)
            bounds = [(lam, outlook.scores(u, u)), (lam, wide), (1 / (1.25 * u), wide)]
        for at, (lowest, highest) in bounds:
            best, room = two_points(Q(at), Q(half), Q(centre))
            for i, row in enumerate(X_val):
                score = best * (Q(float(row[0])) - Q(centre))
                slack = Q(1, 10**12) if at != lam else 0  # 1/λ is rounded
                assert Q(float(lowest[i])) <= score - room + slack * abs(score)
                assert Q(float(highest[i])) >= score + room - slack * abs(score)
            sharp += bool((highest - lowest < 2 * float(room) + 1.0).mean() > 0.5)
    assert sharp > 40


@pytest.mark.parametrize("n", [200_000, 300_000, 1_000_000])
def test_many_rows_leave_the_whole_interval_of_best_biases(n):
    """X = ±1, λ = 2: θ* = ½, and every θ₀ from −½ to ½ is best."""
    x = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    y = x.astype(int)
    point = DualPoint(RegularizedRisk(Hinge(), 2.0, True), np.array([0.5]), 0.0, 1, np.ones(n))
    c = conclude("duality", 0.75, 0.75, statement="", reference="", witness=point, sketch=None)
    low, high = optimum_region(c, x[:, None], y).scores(np.array([[0.0], [0.5], [-0.5], [4.0]]))
    assert (low <= [-0.5, -0.25, -0.75, 1.5]).all()
    assert (high >= [0.5, 0.75, 0.25, 2.5]).all()
    assert low[3] > 1.4
    shares = np.full(n, 1.0 / n)
    shares[0] = np.nextafter(shares[0], 1.0)
    for weights in (None, np.full(n, 1.0 / n), shares):
        ends = best_biases(y - 0.5 * x, y - 0.5 * x, y > 0, weights)
        assert ends[0] <= -0.5
        assert ends[1] == 0.5


@pytest.mark.parametrize("n", [200_000, 300_000])
def test_a_path_proves_no_error_that_an_optimum_does_not_make(n):
    x = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    model = cotas.LinearSVM(lam=2.0).fit(x[:, None], x.astype(int))
    _, certified = model.certified_predict([[0.0], [-0.5], [0.5], [3.0]])
    np.testing.assert_array_equal(certified, [False, False, False, True])
    for label in (1, -1):
        path = cotas.svm_path(
            x[:, None],
            x.astype(int),
            lams=[2.0, 1.9],
            validation=([[0.0]] * 10, [label] * 10),
            tol=1e-9,
        )
        assert path.validation_bound.error == 0.0


def test_forged_points_certify_nothing(rng):
    X, y = np.array([[1.0], [-1.0], [2.0], [-0.5]]), np.array([1, -1, 1, -1])
    point = DualPoint(
        RegularizedRisk(Hinge(), 0.5, True), np.array([0.8]), 0.1, 1, np.ones(4) * 0.7
    )
    for coef in ([math.nan], [math.inf]):
        c = conclude("duality", 0.0, 1.0, statement="", reference="", witness=point, sketch=None)
        forged = replace(c, witness=replace(point, coef=np.array(coef)))
        with np.errstate(all="ignore"):
            low, high = optimum_region(forged, X, y).scores(X)
            [outlook] = outlooks([forged], X, y, X)
            other_low, other_high = outlook.scores(2.0, 2.5)
        assert not (low > 0).any()
        assert not (high <= 0).any()
        assert not (other_low > 0).any()
        assert not (other_high <= 0).any()
    for alpha in (np.full(4, math.nan), np.full(4, math.inf), np.full(4, -1.0), np.full(4, 5e-324)):
        forged = replace(c, witness=replace(point, multipliers=alpha))
        [outlook] = outlooks([forged], X, y, X)
        low, high = outlook.scores(2.0, 2.0)
        exact = cotas.LinearSVM(lam=0.5, tol=1e-9).fit(X, y).decision_function(X)
        assert (low <= exact + 1e-4).all()
        assert (high >= exact - 1e-4).all()
