"""Kernel machines against exact rational arithmetic: what is claimed is true, forged or not."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import cotas
from cotas.certificates import KernelDualPoint, PairPoint
from cotas.certificates.core.definite import proved_shift
from cotas.kernels import Custom, Linear, Polynomial, Precomputed
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk

SEED = int(np.random.default_rng().integers(2**32))
KERNELS = {
    "linear": (Linear(), lambda x, z: _dot(x, z)),
    "polynomial": (Polynomial(2, 1.0, 0.5), lambda x, z: (_dot(x, z) / 2 + 1) ** 2),
    "sum": (Linear() + 3 * Polynomial(3, 0.0, 0.25), lambda x, z: _mixed(_dot(x, z))),
    "columns": (Linear().on([1]) ** 2, lambda x, z: (x[1] * z[1]) ** 2),
}


def _dot(x, z):
    return sum((a * b for a, b in zip(x, z, strict=True)), Fraction(0))


def _mixed(v):
    return v + 3 * (v / 4) ** 3


def fractions(values):
    return [Fraction(float(v)) for v in values]


def gram_of(name, X):
    rows = [fractions(row) for row in X]
    return [[KERNELS[name][1](x, z) for z in rows] for x in rows]


def objective(K, y, s, lam, beta, bias):
    """P in exact arithmetic, K being exact."""
    beta, s, bias, lam = fractions(beta), fractions(s), Fraction(float(bias)), Fraction(lam)
    f = [_dot(row, beta) for row in K]
    losses = [max(Fraction(0), 1 - t * (v + bias)) for v, t in zip(f, y.tolist(), strict=True)]
    return _dot(s, losses) / sum(s) + lam / 2 * _dot(f, beta)


def badly_scaled(rng, n=10, d=2):
    """Rows with offsets and scales, duplicates among them, and labels of both classes."""
    X = rng.normal(size=(n, d)) * 10.0 ** rng.choice([-6, -1, 0, 0, 2], size=d)
    X += rng.choice([0.0, 0.0, 1e4, 2.0**20, 2.0**31], size=d)
    X[-1] = X[0]
    if rng.random() < 0.1:
        X *= 1e-160
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    return X, y


def models(rng, n, K, y, s):
    """Coefficients and biases of all sorts."""
    size = 1.0 / max(1e-300, float(max(K[i][i] for i in range(n))))
    for power in (-3, 0, 1):
        yield rng.normal(size=n) * min(size, 1e100) * 10.0**power, float(rng.normal())
    yield np.zeros(n), 0.0
    yield np.zeros(n), 1.0 if s[y > 0].sum() > s[y < 0].sum() else -1.0


@pytest.mark.parametrize("name", KERNELS)
def test_the_bounds_enclose_every_objective(name):
    rng = np.random.default_rng([SEED, len(name)])
    held = 0
    for round_ in range(15):
        X, y = badly_scaled(rng)
        n, lam, bias = len(y), float(10.0 ** rng.uniform(-4, 1)), bool(rng.random() < 0.7)
        weights = None if rng.random() < 0.5 else rng.random(n) * (rng.random(n) < 0.8) + 1e-9
        s, K = np.ones(n) if weights is None else weights, gram_of(name, X)
        found = []
        for beta, theta0 in models(rng, n, K, y, s):
            p = KernelDualPoint(
                RegularizedRisk(Hinge(), lam, bias),
                KERNELS[name][0],
                beta,
                theta0 if bias else 0.0,
                1,
                rng.uniform(-0.2, 1.2, n),
                weights=weights,
            )
            exact = objective(K, y, s, lam, beta, p.intercept)
            found.append((p.check(X, y), exact))
        for certificate, exact in found:
            if not certificate.holds:
                assert "not finite" in certificate.objection
                continue
            held += 1
            assert exact <= Fraction(certificate.upper), (SEED, name, round_)
            assert all(Fraction(certificate.lower) <= other for _, other in found), (SEED, name)
    assert held > 30, SEED


@pytest.mark.parametrize("name", KERNELS)
def test_fitted_machines_are_enclosed_tightly(name):
    rng = np.random.default_rng([SEED, 7, len(name)])
    for _ in range(6):
        X = rng.normal(size=(14, 2)) + rng.choice([0.0, 8.0])
        y = np.where(X[:, 0] + rng.normal(size=14) > X[:, 0].mean(), 1, -1)
        y[:2] = 1, -1
        K, lam = gram_of(name, X), 0.1
        best = []
        for tol in (1e-2, 1e-9):
            model = cotas.KernelSVM(KERNELS[name][0], lam=lam, tol=tol).fit(X, y)
            beta = np.zeros(14)
            beta[model.support_] = model.dual_coef_[0]
            best.append(objective(K, y, np.ones(14), lam, beta, model.intercept_[0]))
            certificate = model.certificate_
            assert certificate.holds
            assert Fraction(certificate.upper) >= best[-1], SEED
        assert all(Fraction(certificate.lower) <= value for value in best), SEED
        assert certificate.gap <= 1e-6 * certificate.upper


FORGED = [math.nan, math.inf, -math.inf, 5e-324, 1e300, -1.0]


def fitted():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(12, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    K = gram_of("linear", X)
    model = cotas.KernelSVM(Linear(), lam=0.1, tol=1e-8).fit(X, y, sample_weight=np.ones(12) * 3)
    return X, y, K, model.certificate_


def as_pair(p, n):
    return PairPoint(p, np.arange(n), n)


def is_true(certificate, X, y, K):
    """What a certificate says of the model in its witness, in exact arithmetic."""
    p = getattr(certificate.witness, "point", certificate.witness)
    s = np.ones(len(y)) if p.weights is None else np.asarray(p.weights)
    value = objective(K, y, s, float(p.problem.lam), p.coef, p.intercept)
    zero = objective(K, y, s, float(p.problem.lam), np.zeros(len(y)), 0.0)
    return Fraction(certificate.lower) <= min(value, zero) and value <= Fraction(certificate.upper)


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("name", ["coef", "multipliers", "weights", "intercept", "per", "lam"])
@pytest.mark.parametrize("value", FORGED, ids=str)
def test_a_forged_number_never_proves_what_is_false(name, value, pair):
    X, y, K, certificate = fitted()
    p = replace(certificate.witness, weights=np.full(12, 3.0))
    forged = []
    if name == "lam":
        forged.append(replace(p, problem=replace(p.problem, lam=value)))
    elif name in ("intercept", "per"):
        forged.append(replace(p, **{name: value}))
    else:
        one = np.array(getattr(p, name), dtype=float)
        one[4] = value
        forged += [replace(p, **{name: one}), replace(p, **{name: np.full(12, value)})]
    for witness in forged:
        witness = as_pair(witness, 12) if pair else witness
        try:
            found = witness.check(X, y)
        except ValueError:
            continue
        assert not found.holds or is_true(found, X, y, K)
        assert not certificate.about(witness.coef, witness.intercept).verify(
            X, y
        ) or np.array_equal(witness.coef, certificate.witness.coef)


def test_other_shapes_types_and_orders_prove_nothing_false():
    X, y, K, certificate = fitted()
    p = certificate.witness
    changes = [
        {"coef": p.coef[::-1]},
        {"coef": 1e6 * p.coef},
        {"coef": p.coef.astype(np.float32)},
        {"multipliers": p.multipliers[::-1]},
        {"multipliers": p.multipliers.astype(np.float16)},
        {"multipliers": np.zeros(12, dtype=int)},
        {"weights": np.zeros(12)},
        {"weights": np.arange(12.0)},
        {"coef": p.coef[:-1]},
        {"multipliers": np.append(p.multipliers, 0.0)},
        {"weights": np.ones(3)},
        {"kernel": Custom(lambda x, z: -(x @ z))},
        {"problem": RegularizedRisk(Hinge(), 0.1, free_bias=False)},
        {"problem": RegularizedRisk(Hinge(), 0.1, free_bias=True, bias_scale=1.0)},
    ]
    for change in changes:
        try:
            found = replace(p, **change).check(X, y)
        except ValueError:
            continue
        assert not found.holds or found.kind != "duality" or is_true(found, X, y, K), change
    unbiased = replace(p, problem=RegularizedRisk(Hinge(), 0.1, False), intercept=0.5).check(X, y)
    assert not unbiased.holds
    assert "no bias" in unbiased.objection


def test_a_given_matrix_is_bounded_as_its_exact_self():
    """Singular and indefinite by rounding: the bounds are about K + εI, which is positive."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(12, 2))
    y = np.where(rng.random(12) < 0.5, 1, -1)
    y[:2] = 1, -1
    G = X @ X.T
    G = (G + G.T) / 2
    beta = rng.normal(size=12)
    p = KernelDualPoint(
        RegularizedRisk(Hinge(), 0.1, True), Precomputed(), beta, 0.3, 1, rng.random(12)
    )
    certificate = p.check(G, y)
    assert certificate.holds
    shift = proved_shift(G)
    K = [fractions(row) for row in G]
    for i in range(12):
        K[i][i] += Fraction(shift)
    values = [objective(K, y, np.ones(12), 0.1, b, 0.3) for b in (beta, np.zeros(12), beta * 0.1)]
    assert values[0] <= Fraction(certificate.upper)
    assert all(Fraction(certificate.lower) <= value for value in values)


def test_a_pair_is_about_rows_of_two_classes_each_once():
    X, y, _, certificate = fitted()
    p = as_pair(certificate.witness, 12)
    assert p.check(X, y).holds
    three = np.where(np.arange(12) == 3, 7, y)
    twice = np.sort(np.append(np.arange(11), 0))
    for rows in (twice, np.arange(12) - 1, np.arange(12) + 1, np.arange(12.0), np.arange(12)[::-1]):
        with pytest.raises(ValueError, match="numbers"):
            replace(p, rows=rows).check(X, y)
    with pytest.raises(ValueError, match="classes"):
        p.check(X, three)
