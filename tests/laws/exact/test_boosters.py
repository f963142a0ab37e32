"""The bounds of the boosters against exact arithmetic: F in fractions, exp and log to 60 digits.

Data and coefficients are badly scaled on purpose; weights have zeros, and rows repeat.
"""

import dataclasses
import math
import random
from decimal import Decimal, localcontext

import numpy as np
import pytest

from cotas import (
    AdaBoost,
    AnyBoost,
    ConvexAnyBoost,
    GentleBoost,
    LinearLearner,
    LogitBoost,
    RealAdaBoost,
    Stump,
    Tree,
)
from cotas.certificates.theorems.combinations import Combination
from cotas.certificates.theorems.hull import HullPoint
from cotas.certificates.theorems.surrogates import SurrogateBound
from cotas.certificates.theorems.weak_learners import PlainLinear, PlainTrees, StumpClass
from cotas.losses import Exponential, Logistic, SquaredHinge
from laws.exact.oracle import Rational as Fraction
from problems import clouds, noisy_clouds, three_clouds

SEED = random.randrange(2**32)


@pytest.fixture(autouse=True)
def seed_is_told():
    print(f"seed {SEED}")


def drawn(k):
    return np.random.default_rng([SEED, k])


# ---- problems -----------------------------------------------------------------------------------


def stumps(rng, d, rounds, values):
    """Random trees of one test."""
    shape = (rounds, 1)
    return PlainTrees(
        feature=rng.integers(-1, d, shape).astype(np.int32),
        threshold=np.round(rng.normal(size=shape), 1),
        missing_left=rng.integers(0, 2, shape).astype(np.uint8),
        group=np.full(shape, -1, dtype=np.int32),
        groups=np.zeros((0, 256), dtype=np.uint8),
        value=values,
        categories={},
    )


def signs(rng, rounds):
    return np.where(rng.random((rounds, 2)) < 0.5, 1.0, -1.0)


def rows(rng, n, d):
    """Rows with repetitions, gaps, and columns of other scales and far from zero."""
    X = np.round(rng.normal(size=(n, d)), 1)
    X[rng.integers(0, n, n // 3)] = X[0]
    X[rng.random((n, d)) < 0.05] = np.nan
    return X


def some_weights(rng, n):
    kind = rng.integers(4)
    if kind == 0:
        return None
    if kind == 1:
        return np.full(n, 1e-320)
    weights = rng.random(n) * (rng.random(n) < 0.7) * 10.0 ** rng.integers(-300, 300)
    if kind == 3:
        weights *= 10.0 ** rng.integers(-8, 9, n)
    weights[0] = weights.max() or 1.0
    return weights


def coefficients(rng, rounds):
    """Sizes from 2⁻²⁰ to 8, some that cancel each other exactly or nearly."""
    c = rng.normal(size=rounds) * 2.0 ** rng.integers(-20, 4, rounds)
    if rounds > 2:
        c[2] = -c[1] * (1.0 if rng.random() < 0.5 else 1 + 2.0**-52)
    return c


# ---- the oracle ---------------------------------------------------------------------------------


def shares(weights, n):
    given = [Fraction(1)] * n if weights is None else [Fraction(float(w)) for w in weights]
    total = sum(given)
    return [w / total for w in given]


def exact_tree(trees, m, x):
    j = trees.feature[m, 0]
    if j < 0:
        return Fraction(float(trees.value[m, 0]))
    missing = math.isnan(x[j])
    left = bool(trees.missing_left[m, 0]) if missing else x[j] <= trees.threshold[m, 0]
    return Fraction(float(trees.value[m, 0 if left else 1]))


def exact_linear(linear, m, x):
    f = Fraction(float(linear.intercept[m]))
    f += sum(
        Fraction(float(a)) * Fraction(float(b)) for a, b in zip(linear.coef[m], x, strict=True)
    )
    return (Fraction(1) if f > 0 else Fraction(-1)) if linear.sign else f


def exact_F(combination, X):
    learners = combination.learners
    value = exact_linear if isinstance(learners, PlainLinear) else exact_tree
    c = [Fraction(float(a)) for a in combination.coefficients]
    return [sum((a * value(learners, m, x) for m, a in enumerate(c)), Fraction(0)) for x in X]


def exact_leads(witness, X, y):
    """For each row by how much the right class is ahead of each other one."""
    F = [exact_F(c, X) for c in witness.combinations]
    if len(F) == 1:
        return [
            [f if label == witness.classes[0] else -f] for f, label in zip(F[0], y, strict=True)
        ]
    found = []
    for i, label in enumerate(y):
        own = int(np.flatnonzero(witness.classes == label)[0])
        found.append([F[own][i] - F[k][i] for k in range(len(F)) if k != own])
    return found


def decimal(q):
    return Decimal(int(q.numerator)) / Decimal(int(q.denominator))


def exact_surrogate(witness, leads, theta):
    K = len(witness.combinations)
    if witness.surrogate == "exponential":
        return (-decimal(leads[0])).exp()
    if witness.surrogate == "votes":
        return (-Decimal(theta) * decimal(min(leads))).exp()
    scale = Fraction(2) if K == 1 else Fraction(K - 1, K)
    odds = sum((-decimal(scale * lead)).exp() for lead in leads)
    return (1 + odds).ln() / Decimal(2).ln()


def enclosed(witness, X, y):
    """Check one witness against the oracle; returns the certificate."""
    found = witness.check(X, y)
    assert found.holds, found.objection
    with localcontext() as context:
        context.prec = 60
        leads, s = exact_leads(witness, X, y), shares(witness.weights, len(y))
        error = sum((w for w, lead in zip(s, leads, strict=True) if min(lead) <= 0), Fraction(0))
        theta = found.figures.get("θ", 1.0)
        costs = [decimal(w) * exact_surrogate(witness, lead, theta)
                 for w, lead in zip(s, leads, strict=True) if w]  # fmt: skip
        bound = sum(costs, Decimal(0))
        assert decimal(error) <= Decimal(found.lower) <= Decimal(found.upper)
        assert bound <= Decimal(found.upper)
        assert Decimal(found.upper) <= bound * (1 + Decimal("1e-9")) + Decimal("1e-290")
        # Rows that rounding leaves open are rare: the error is told nearly as it is.
        near = Fraction(1, 10**9)
        open_ = sum(w for w, lead in zip(s, leads, strict=True) if abs(min(lead)) < near)
        assert Decimal(found.lower) <= decimal(error + open_) + Decimal("1e-12")
    return found


# ---- laws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(60))
def test_two_classes(k):
    rng = drawn(k)
    n, d, rounds = int(rng.integers(1, 30)), int(rng.integers(1, 4)), int(rng.integers(0, 12))
    discrete = bool(rng.random() < 0.5)
    values = signs(rng, rounds) if discrete else rng.normal(size=(rounds, 2))
    X, y = rows(rng, n, d), rng.integers(0, 2, n)
    shift = 2.0 ** rng.integers(-40, 41)
    trees = stumps(rng, d, rounds, values)
    witness = SurrogateBound(
        combinations=(Combination(trees, coefficients(rng, rounds)),),
        classes=np.array([1]),
        weights=some_weights(rng, n),
        surrogate=str(rng.choice(["exponential", "likelihood"])),
        discrete=discrete,
    )
    certificate = enclosed(witness, X, y)
    scaled = dataclasses.replace(trees, threshold=trees.threshold * shift)
    same = witness.made_of([Combination(scaled, witness.coef)])
    assert same.check(X * shift, y).upper == certificate.upper


@pytest.mark.parametrize("weak", ["linear", "stump"])
def test_a_round_without_a_step_errs_all_the_same(weak):
    """Its f is wrong of as many examples as with one, of which a figure is made."""
    X, y = noisy_clouds(90, 2)
    steps = [0.0, 0.3, -0.2, 0.0, 0.1]
    model = AdaBoost(weak, n_estimators=5, step=lambda k: steps[k % 5]).fit(X, y)
    weights, product = np.ones(90), 1.0
    for learner, step in zip(model.estimators_, model.estimator_weights_, strict=True):
        agrees = np.where(
            np.sign(learner.predict(X)) == np.where(y == model.classes_[1], 1, -1), 1, -1
        )
        wrong = weights[agrees < 0].sum() / weights.sum()
        product *= 2 * math.sqrt(wrong * (1 - wrong))
        weights = weights * np.exp(-step * agrees)
    told = model.certificate_.figures
    assert told["Π 2√(err(1−err))"] == pytest.approx(product, rel=1e-9)


@pytest.mark.parametrize("k", range(40))
def test_several_classes(k):
    rng = drawn(100 + k)
    n, d, rounds, K = int(rng.integers(1, 25)), 2, int(rng.integers(0, 8)), int(rng.integers(3, 6))
    X, y = rows(rng, n, d), rng.integers(0, K, n)
    votes = bool(rng.random() < 0.5)
    first = stumps(rng, d, rounds, np.zeros((rounds, 2)))
    named = rng.integers(0, K, (rounds, 2))
    c = coefficients(rng, rounds)
    combinations = []
    for label in range(K):
        values = np.where(named == label, 1.0, -1.0) if votes else rng.normal(size=(rounds, 2))
        trees = dataclasses.replace(first, value=values)
        if not votes and rng.random() < 0.5:
            trees = stumps(rng, d, rounds, values)
        combinations.append(Combination(trees, c))
    witness = SurrogateBound(
        combinations=tuple(combinations),
        classes=np.arange(K),
        weights=some_weights(rng, n),
        surrogate="votes" if votes else "likelihood",
        discrete=votes,
    )
    enclosed(witness, X, y)


@pytest.mark.parametrize("k", range(40))
def test_linear_functions(k):
    """Their values are rounded too, and a sign that cannot be told counts on the upper side."""
    rng = drawn(200 + k)
    n, d, rounds = int(rng.integers(1, 15)), int(rng.integers(1, 5)), int(rng.integers(1, 5))
    offset = float(rng.choice([0.0, 2.0**20, 2.0**31, 2.0**40]))
    X, y = np.round(rng.normal(size=(n, d)), 1) + offset, rng.integers(0, 2, n)
    theta = rng.normal(size=(rounds, d))
    bias = -theta.sum(axis=1) * offset + rng.normal(size=rounds) * (offset == 0)
    sign = bool(rng.random() < 0.5)
    witness = SurrogateBound(
        combinations=(Combination(PlainLinear(theta, bias, sign), rng.normal(size=rounds)),),
        classes=np.array([1]),
        weights=some_weights(rng, n),
        surrogate="exponential",
        discrete=sign,
    )
    found = witness.check(X, y)
    if not found.holds:
        assert "overflow" in found.objection
        return
    with localcontext() as context:
        context.prec = 60
        leads, s = exact_leads(witness, X, y), shares(witness.weights, n)
        error = sum((w for w, lead in zip(s, leads, strict=True) if lead[0] <= 0), Fraction(0))
        bound = sum(decimal(w) * (-decimal(a[0])).exp() for w, a in zip(s, leads, strict=True) if w)
        assert decimal(error) <= Decimal(found.lower)
        assert bound <= Decimal(found.upper)


def dictionary(stump_class, X):
    """All stumps of the class on the rows, each once."""
    found = {tuple([1] * len(X))}
    for j in range(X.shape[1]):
        found.add(tuple(1 if math.isnan(x) else -1 for x in X[:, j]))  # missing or not
        cuts = np.unique(X[:, j]) if stump_class.thresholds is None else stump_class.thresholds[j]
        for t in cuts:
            for gaps in (1, -1):
                found.add(tuple(gaps if math.isnan(x) else 1 if x > t else -1 for x in X[:, j]))
                found.add(tuple(gaps if math.isnan(x) else -1 if x > t else 1 for x in X[:, j]))
    return [*found, *(tuple(-v for v in f) for f in found)]


def exact_cost(cost, z):
    if isinstance(cost, Exponential):
        return (-decimal(z)).exp()
    if isinstance(cost, Logistic):
        return (1 + (-decimal(z)).exp()).ln()
    return decimal(max(Fraction(0), 1 - z) ** 2)


@pytest.mark.parametrize("k", range(30))
def test_the_hull(k):
    """upper is above H(model), lower below H of every combination tried, exactly evaluated."""
    rng = drawn(300 + k)
    n, d = int(rng.integers(2, 10)), int(rng.integers(1, 3))
    X, y = rows(rng, n, d), rng.integers(0, 2, n)
    cost = [Exponential(), Logistic(), SquaredHinge()][k % 3]
    cuts = tuple(np.unique(np.round(rng.normal(size=4), 1)) for _ in range(d))
    thresholds = None if rng.random() < 0.3 else cuts
    rounds = int(rng.integers(0, 6))
    trees = stumps(rng, d, rounds, signs(rng, rounds))
    for m in range(rounds):
        if trees.feature[m, 0] >= 0:
            trees.threshold[m, 0] = rng.choice(cuts[trees.feature[m, 0]])
    c = rng.normal(size=rounds)
    radius = None if rng.random() < 0.3 else float(np.abs(c).sum()) * 1.5 + 0.1
    witness = HullPoint(
        combinations=(Combination(trees, c),),
        classes=np.array([1]),
        weights=some_weights(rng, n),
        cost=cost,
        stumps=StumpClass(thresholds, np.zeros(d, dtype=bool)),
        radius=radius,
    )
    found = witness.check(X, y)
    assert found.holds, found.objection
    s, yy = shares(witness.weights, n), [1 if label == 1 else -1 for label in y]
    with localcontext() as context:
        context.prec = 60

        def H(F):
            return sum(
                decimal(w) * exact_cost(cost, f * a) for w, f, a in zip(s, F, yy, strict=True)
            )

        assert H(exact_F(witness.combinations[0], X)) <= Decimal(found.upper)
        reach = Fraction(float(np.abs(c).sum()) if radius is None else radius) * (
            1 - Fraction(1, 2**50)
        )
        every = dictionary(witness.stumps, X)
        for f in every:  # Frank–Wolfe looks at the corners, so these come nearest to the bound
            assert Decimal(found.lower) <= H([reach * v for v in f])
        for _ in range(5):
            chosen = rng.integers(0, len(every), 3)
            parts = [Fraction(int(a)) for a in rng.integers(1, 9, 3)]
            mix = [
                reach
                * sum(p * every[i][r] for p, i in zip(parts, chosen, strict=True))
                / sum(parts)
                for r in range(n)
            ]
            assert Decimal(found.lower) <= H(mix)


def test_the_largest_edge_is_enclosed():
    rng = drawn(400)
    for _ in range(40):
        n, d = int(rng.integers(1, 12)), int(rng.integers(1, 3))
        X, g = rows(rng, n, d), rng.normal(size=n) * 10.0 ** rng.integers(-12, 13, n)
        cuts = tuple(np.unique(np.round(rng.normal(size=3), 1)) for _ in range(d))
        stump_class = StumpClass(cuts, np.zeros(d, dtype=bool))
        exact = max(
            sum(Fraction(float(a)) * v for a, v in zip(g, f, strict=True))
            for f in dictionary(stump_class, X)
        )
        found = stump_class.largest_edge(X, g)
        assert exact <= Fraction(found)
        assert found <= float(exact) + 1e-12 * np.abs(g).sum()


# ---- forged witnesses ---------------------------------------------------------------------------

X2, y2 = noisy_clouds(60)
X3, y3 = three_clouds(45)
FITTED = {
    "adaboost": (AdaBoost(n_estimators=5), X2, y2),
    "exact stumps": (AdaBoost(Stump(search="exact"), n_estimators=5), X2, y2),
    "trees": (AdaBoost(Tree(2), n_estimators=3), X2, y2),
    "real": (RealAdaBoost(n_estimators=4), X2, y2),
    "gentle": (GentleBoost(n_estimators=4), X2, y2),
    "logit": (LogitBoost(n_estimators=4), X2, y2),
    "linear": (LogitBoost(LinearLearner(), n_estimators=3), X2, y2),
    "linear signs": (AdaBoost(LinearLearner(), n_estimators=3), X2, y2),
    "several": (LogitBoost(n_estimators=4), X3, y3),
    "samme": (AdaBoost(n_estimators=4, multiclass="samme"), X3, y3),
    "anyboost": (AnyBoost(n_estimators=4), X2, y2),
    "hull": (ConvexAnyBoost(n_estimators=30, tol=0.2), X2, y2),
}


def array_forgeries(a):
    """The same array with NaN, infinities, other scales, orders, shapes and types."""
    a = np.asarray(a)
    yield a.astype(object)
    yield a.astype(str)
    yield a.astype(np.complex128) + 1j
    yield a[:-1]
    yield a[None]
    yield np.flip(a)
    if a.dtype.kind != "f" or not a.size:
        yield a.astype(np.float64) + 0.5
        return
    for value in (np.nan, np.inf, -np.inf, 5e-324, -1.0, 1e308):
        forged = a.copy()
        forged.flat[0] = value
        yield forged
    yield a * 1e308 * 1e308
    for factor in (0.0, -1.0, 1e-300, 1e300, 5e-324):
        yield a * factor
    yield a.astype(np.float32)
    yield a.astype(np.longdouble) * (1 + np.longdouble(2) ** -60)
    yield a.astype(np.float16)


def forgeries(witness):
    """Every field of the witness and of what it is made of, forged one at a time."""
    for field in dataclasses.fields(witness):
        value = getattr(witness, field.name)
        if isinstance(value, np.ndarray):
            for forged in array_forgeries(value):
                yield field.name, dataclasses.replace(witness, **{field.name: forged})
        elif isinstance(value, bool):
            yield field.name, dataclasses.replace(witness, **{field.name: not value})
        elif isinstance(value, float):
            for forged in (np.nan, np.inf, -1.0, 0.0, 5e-324, 1e300, value / 2, value * 2):
                yield field.name, dataclasses.replace(witness, **{field.name: forged})
        elif isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
            for name, forged in forgeries(value[0]):
                made = dataclasses.replace(witness, **{field.name: (forged, *value[1:])})
                yield f"{field.name}.{name}", made
            yield field.name, dataclasses.replace(witness, **{field.name: value[::-1]})
            yield field.name, dataclasses.replace(witness, **{field.name: value[:-1]})
            yield field.name, dataclasses.replace(witness, **{field.name: value * 2})
        elif isinstance(value, tuple) and value:
            for forged in array_forgeries(value[0]):
                made = dataclasses.replace(witness, **{field.name: (forged, *value[1:])})
                yield f"{field.name}[0]", made
            yield field.name, dataclasses.replace(witness, **{field.name: value[:-1]})
        elif dataclasses.is_dataclass(value) and dataclasses.fields(value):
            for name, forged in forgeries(value):
                made = dataclasses.replace(witness, **{field.name: forged})
                yield f"{field.name}.{name}", made
    if isinstance(witness, SurrogateBound):
        for other in ("exponential", "likelihood", "votes", "zero", ""):
            yield "surrogate", dataclasses.replace(witness, surrogate=other)


def best_corner(witness, X, y):
    """The smallest cost of a single stump with all the weight of the hull."""
    reach = np.abs(witness.coef).sum() if witness.radius is None else witness.radius
    signed = np.array(dictionary(witness.stumps, X)) * np.where(y == witness.classes[0], 1, -1)
    s = np.array([float(w) for w in shares(witness.weights, len(y))])
    return (witness.cost.value(reach * signed[:, s > 0]) @ s[s > 0]).min()


def true_of(witness, found, X, y):
    """Whether what a certificate that holds says is true, in exact arithmetic."""
    assert math.isfinite(found.lower)
    assert math.isfinite(found.upper)
    learners = witness.combinations[0].learners
    with localcontext() as context:
        context.prec = 60
        s = shares(witness.weights, len(y))
        if isinstance(learners, PlainTrees) and learners.feature.shape[1] > 1:
            return True  # the oracle knows stumps
        leads = exact_leads(witness, X, y)
        if isinstance(witness, HullPoint):
            costs = [exact_cost(witness.cost, a[0]) for a in leads]
            H = sum(decimal(w) * cost for w, cost in zip(s, costs, strict=True))
            return Decimal(found.upper) >= H and found.lower <= best_corner(witness, X, y) + 1e-12
        theta = found.figures.get("θ", 1.0)
        error = sum((w for w, lead in zip(s, leads, strict=True) if min(lead) <= 0), Fraction(0))
        if "overflows" in found.statement:
            return found.vacuous and found.upper == 1 and decimal(error) <= Decimal(found.lower)
        bound = sum(decimal(w) * exact_surrogate(witness, lead, theta)
                    for w, lead in zip(s, leads, strict=True) if w)  # fmt: skip
        return decimal(error) <= Decimal(found.lower) and bound <= Decimal(found.upper)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_forged_witness_never_holds_with_a_false_statement(name, weighted):
    model, X, y = FITTED[name]
    weights = np.linspace(0, 2, len(y)) if weighted else None
    certificate = model.fit(X, y, sample_weight=weights).certificate_
    certificate = getattr(certificate, "singles", [certificate])[0]
    held = 0
    for where, forged in forgeries(certificate.witness):
        try:
            found = forged.check(X, y)
        except (ValueError, TypeError, LookupError):
            continue
        if found.holds:
            held += 1
            assert true_of(forged, found, X, y), where
            assert ("weighted" in found.statement) == weighted or where == "weights", where
        else:
            assert found.objection
            assert not found.verify(X, y)
    assert held  # some forgeries are other models, of which the statement is true


def test_a_cost_of_the_users_own_is_taken_on_trust():
    class Own:
        def value(self, z):
            return np.exp(-z)

        def slope(self, z):
            return -np.exp(-z)

    X, y = clouds(50, 2)
    own = ConvexAnyBoost(cost=Own(), n_estimators=40, tol=0.1).fit(X, y).certificate_
    known = ConvexAnyBoost(n_estimators=40, tol=0.1).fit(X, y).certificate_
    assert own.upper == pytest.approx(known.upper)
    assert "convex" in own.trusted[0]
    assert known.trusted == ()


def test_the_statement_names_the_dictionary():
    """A model compared with few stumps says so."""
    X, y = noisy_clouds(40)
    witness = ConvexAnyBoost(radius=2.0, n_estimators=40, tol=0.1).fit(X, y).certificate_.witness
    d = X.shape[1]
    few = StumpClass((np.array([9.0]),) * d, np.zeros(d, dtype=bool))
    zero = witness.made_of([Combination(stumps(drawn(500), d, 0, np.zeros((0, 2))), np.zeros(0))])
    found = dataclasses.replace(zero, stumps=few).check(X, y)
    assert f"one of the fit's {d} thresholds" in found.statement
    mixed = dataclasses.replace(few, thresholds=(np.array([2.0, 1.0]),) * d)
    assert "increasing" in dataclasses.replace(zero, stumps=mixed).check(X, y).objection
    outside = dataclasses.replace(witness, stumps=few).check(X, y)
    assert "not one of the stumps" in outside.objection
