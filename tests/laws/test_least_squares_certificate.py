"""What the certificate of a squared-loss model may and may not say."""

import json
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from cotas import LeastSquares, Ridge, stops
from cotas.certificates import SquaredLossPoint
from cotas.certificates.core.curvature import fall
from cotas.certificates.core.hessian import Hessian
from cotas.certificates.least_squares import HOW
from problems import plane


def exact(array):
    return [[Fraction(x) for x in row] for row in np.atleast_2d(array).tolist()]


def solved(A, b):
    """Some solution of Ax = b in rational numbers, free variables at zero."""
    m, rows = len(A), [[*row, right] for row, right in zip(A, b, strict=True)]
    pivots = []
    for j in range(m):
        pivot = next((i for i in range(len(pivots), m) if rows[i][j] != 0), None)
        if pivot is None:
            continue
        top = len(pivots)
        rows[top], rows[pivot] = rows[pivot], rows[top]
        rows[top] = [x / rows[top][j] for x in rows[top]]
        for i in range(m):
            if i != top:
                factor = rows[i][j]
                rows[i] = [x - factor * t for x, t in zip(rows[i], rows[top], strict=True)]
        pivots.append(j)
    x = [Fraction(0)] * m
    for i, j in enumerate(pivots):
        x[j] = rows[i][-1]
    return x


def exact_minimum(X, y, lam, bias, weights):
    """min P in rational arithmetic: no rounding anywhere."""
    rows = exact(np.column_stack([np.ones(len(X)), X]) if bias else X)
    targets, given = exact(y)[0], exact(weights)[0]
    s = [w / sum(given) for w in given]
    d = len(rows[0])
    weighted = [[si * x for x in row] for si, row in zip(s, rows, strict=True)]
    A = [
        [sum(w[i] * r[j] for w, r in zip(weighted, rows, strict=True)) for j in range(d)]
        for i in range(d)
    ]
    for j in range(int(bias), d):
        A[j][j] += Fraction(lam)
    b = [sum(w[i] * t for w, t in zip(weighted, targets, strict=True)) for i in range(d)]
    theta = solved(A, b)
    errors = [
        t - sum(p * x for p, x in zip(theta, row, strict=True))
        for t, row in zip(targets, rows, strict=True)
    ]
    value = sum(si * e * e for si, e in zip(s, errors, strict=True))
    value += Fraction(lam) * sum(t * t for t in theta[int(bias) :])
    return float(value / 2)


@st.composite
def regressions(draw):
    """Small data of any rank and of any units, all numbers exact in binary."""
    n, d = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    whole = st.integers(-8, 8)
    X = draw(hnp.arrays(np.int64, (n, d), elements=whole)).astype(float)
    if draw(st.booleans()) and d > 1:
        X[:, -1] = 2 * X[:, 0]  # collinear
    if draw(st.booleans()):
        X[:, 0] = draw(whole)  # constant
    X += draw(st.sampled_from([0.0, 0.0, 1024.0]))
    X *= 2.0 ** draw(st.sampled_from([-40, -3, 0, 40]))
    X[:, -1] *= 2.0 ** draw(st.sampled_from([-30, 0, 30]))
    y = draw(hnp.arrays(np.int64, n, elements=whole)) * 2.0 ** draw(st.sampled_from([-20, 0, 20]))
    weights = draw(hnp.arrays(np.int64, n, elements=st.integers(1, 4))).astype(float)
    lam = draw(st.sampled_from([0.0, 0.0, 2.0**-10, 1.0]))
    return X, y, lam, draw(st.booleans()), weights


@given(regressions(), st.integers(0, 2**31), st.sampled_from([0.0, 1e-3, 1.0]))
def test_the_bounds_enclose_the_exact_minimum(problem, seed, noise):
    X, y, lam, bias, weights = problem
    rng = np.random.default_rng(seed)
    best = exact_minimum(X, y, lam, bias, weights)
    size = np.abs(y).max() / (np.abs(X).max() or 1.0)
    point = SquaredLossPoint(
        coef=noise * size * rng.normal(size=X.shape[1]),
        intercept=float(bias) * noise * np.abs(y).max() * rng.normal(),
        lam=lam,
        free_bias=bias,
        weights=weights / weights.sum(),
    )
    found = point.check(X, y)
    assert found.holds
    # `best` is a rational number rounded once.
    assert found.lower <= best * (1 + 2**-52)
    assert best * (1 - 2**-52) <= found.upper


@given(regressions())
def test_a_fit_reaches_the_exact_minimum(problem):
    X, y, lam, bias, weights = problem
    best = exact_minimum(X, y, lam, bias, weights)
    model = Ridge(lam=lam, fit_intercept=bias) if lam else LeastSquares(fit_intercept=bias)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.fit(X, y, sample_weight=weights).certificate_
    start = 0.5 * np.average(y**2, weights=weights)
    assert found.holds
    assert found.lower <= best * (1 + 2**-52)
    if lam == 0 or lam > 1e-12 * np.square(X).max():  # else λ is lost beside X in double precision
        assert found.upper <= best + 1e-9 * start + 1e-299


@given(regressions(), st.integers(0, 2**31))
def test_the_fall_is_what_the_curvature_allows(problem, seed):
    """½ gᵀH⁻¹g, never less, and hardly more."""
    X, _, lam, _, weights = problem
    rng = np.random.default_rng(seed)
    X = X / np.abs(X).max(initial=1e-300)
    matrix = (X.T * (weights / weights.sum())) @ X + np.diag(np.full(X.shape[1], lam + 0.1))
    g = rng.normal(size=X.shape[1])
    H = Hessian(matrix, np.ones(len(matrix)), 1e-14)
    assert 0 < H.least() <= np.linalg.eigvalsh(matrix)[0]
    exactly = 0.5 * g @ np.linalg.solve(matrix, g)
    assert exactly <= fall(H, H.least(), g, 0.0).most <= exactly * (1 + 1e-6) + 1e-12


def test_few_rows_of_many_prove_a_closed_form():
    X, y = plane(5000, 5)
    found = LeastSquares().fit(X, y).certificate_.witness.check(X, y)
    assert HOW["few rows"] in found.notes
    assert found.relative_gap < 1e-12


def test_a_column_that_the_few_rows_miss_is_not_taken_for_flat():
    X, y = plane(5000, 3)
    rare = np.zeros(5000)
    rare[7] = 1.0
    X, y = np.column_stack([X, rare]), y + 300 * rare
    perfect = LeastSquares().fit(X, y)
    without = replace(perfect.certificate_.witness, coef=perfect.coef_ * [1, 1, 1, 0])
    found = without.check(X, y)
    assert found.lower <= perfect.certificate_.upper + found.charge
    assert found.gap == pytest.approx(without.check(X, y).upper - perfect.certificate_.upper)


def test_ridge_with_many_columns_rests_on_the_penalty():
    rng = np.random.default_rng(0)
    X = sparse.random(300, 3000, 0.01, format="csr", random_state=0)
    y = rng.normal(size=300)
    model = Ridge(lam=1e-3).fit(X, y)
    assert model.solver_ == "conjugate-gradients"
    assert model.certificate_.relative_gap <= 1e-6
    assert HOW["duality"] in model.certificate_.notes


def test_nothing_known_is_vacuous():
    rng = np.random.default_rng(0)
    X = sparse.random(300, 3000, 0.01, format="csr", random_state=0)
    point = SquaredLossPoint(np.zeros(3000), 0.0, 0.0, True)
    found = point.check(X, rng.normal(size=300))
    assert found.vacuous
    assert found.lower == 0


@pytest.mark.parametrize("change", ["coef", "intercept"])
def test_a_changed_model_is_no_longer_certified(change):
    X, y = plane(80, 3)
    model = LeastSquares().fit(X, y)
    assert model.certificate_.holds
    if change == "coef":
        model.coef_[1] += 0.1
    else:
        model.intercept_ += 0.1
    assert not model.certificate_.holds
    assert not model.certificate_.verify(X, y)


def test_other_data_are_noticed():
    X, y = plane(80, 3)
    found = Ridge(lam=0.01).fit(X, y).certificate_
    assert found.verify(X, y)
    assert found.verify(sparse.csc_matrix(X), y)
    exchanged = y.copy()
    exchanged[[3, 8]] = y[[8, 3]]
    spoiled = X.copy()
    spoiled[5, 1] += 1e-3
    for X2, y2 in [(X, exchanged), (spoiled, y), (X[::-1], y[::-1]), (X, 2 * y), (X[:-1], y[:-1])]:
        assert not found.verify(X2, y2)
    assert not found.verify(X, np.column_stack([y, y]))


def test_it_can_be_written_down():
    X, y = plane(40, 3)
    model = LeastSquares(solver="gradient", stop=stops.MaxIterations(4)).fit(X, y)
    plain = json.loads(json.dumps(model.certificate_.to_dict(witness=True)))
    assert plain["kind"] == "gradient"
    assert plain["witness"]["descent"]["iterations"] == 4
    assert "gradient descent" in str(model.certificate_)
    assert "objective of this model" in model.certificate_._repr_html_()


def test_a_standardized_penalty_is_stated():
    X, y = plane(80, 3)
    X = X * [1, 10, 100]
    model = Ridge(lam=0.2, standardize=True).fit(X, y)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = Ridge(lam=0.2).fit(scaled, y)
    np.testing.assert_allclose(model.coef_ * X.std(axis=0), expected.coef_, rtol=1e-9)
    assert model.certificate_.upper == pytest.approx(expected.certificate_.upper)
    assert "σ" in model.certificate_.statement


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("power", [14, 20, 24])
def test_nearly_collinear_columns_are_not_taken_for_flat(power, bias, layout):
    """The squares of these data are singular in double precision, the data themselves are not."""
    rng = np.random.default_rng(power)
    X = rng.integers(-8, 9, size=(12, 3)).astype(float) * 2.0**-power + 1.0
    X[:, 2] += rng.integers(-8, 9, size=12)
    y = rng.integers(-8, 9, size=12).astype(float)
    best = exact_minimum(X, y, 0.0, bias, np.ones(12))
    found = SquaredLossPoint(np.zeros(3), 0.0, 0.0, bias).check(layout(X), y)
    assert found.lower <= best + found.charge
    assert found.lower == pytest.approx(best, rel=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("power", [-4, -6, -8])
def test_the_objective_does_not_feel_how_far_the_best_may_be(power):
    """Where columns leave the best open, what the model itself has is still known."""
    random = np.random.default_rng(1)
    few, mixed = random.integers(-3, 4, size=(40, 2)), random.integers(-2, 3, size=(2, 5))
    rows = np.hstack([few, few @ mixed])
    null = random.normal(size=5) @ np.linalg.svd(rows)[2][2:]  # along it they are nearly zero
    X = np.vstack([rows, 10.0**power * null])
    y = np.append(random.normal(size=40), 1.0)
    model = LeastSquares(fit_intercept=False).fit(X, y)
    objective = 0.5 * np.mean(np.square(y - X @ model.coef_))
    certificate = model.certificate_
    assert objective * (1 - 1e-6) <= certificate.upper <= objective * (1 + 1e-4)
    assert certificate.verify(X, y)
    assert certificate.verify(sparse.csr_matrix(X), y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("size", [1e-165, 1e-200, 1e-300])
@pytest.mark.parametrize("seen", [True, False])
def test_a_column_that_cannot_be_measured_is_not_left_out_of_what_is_within_reach(
    size, seen, layout
):
    """In units of the columns the best model, of no error at all, is about two long."""
    random = np.random.default_rng(2)
    a, b = random.normal(size=(2, 4096))
    b[:: 1 if seen else 16] *= seen  # not in the rows that are looked at to choose the units
    X, y = np.column_stack([a, a, b * size]), a + b
    share = float(a @ y / (a @ a)) / 2  # the best model without that column
    rest = y - 2 * share * a
    point = SquaredLossPoint(np.array([share, share, 0.0]), float(rest.mean()), 0.0, True)
    fitted = LeastSquares().fit(layout(X), y).certificate_
    for found in (fitted, point.check(layout(X), y), point.check_from_products(layout(X), y)):
        assert not found.holds or found.lower == 0.0


@pytest.mark.parametrize("power", [-40, -10, 0, 130])
def test_a_penalty_that_underflows_is_not_left_out(power):
    """The square of σ has few digits, or none, and λσ² may look as if it had all of them."""
    random, sigma, lam = np.random.default_rng(3), 1.5 * 2.0**-537, 2.0**power
    whole, theta = random.integers(-8, 9, size=(12, 2)).astype(float), np.array([1.0, -2.0])
    y, weights = 1.5 * whole @ theta, np.full(12, 2.0**280)
    best = exact_minimum(whole, y, lam, False, weights)
    value = 0.5 * lam * np.sum((1.5 * theta) ** 2)
    model = theta * 2.0**537, 0.0, lam, False
    point = SquaredLossPoint(*model, weights=weights, penalty_scale=np.full(2, sigma))
    X = whole * sigma
    for found in (point.check(X, y), point.check_from_products(X, y)):
        assert not found.holds or found.lower <= best * (1 + 1e-12)
        assert not found.holds or found.upper >= value * (1 - 1e-12)
