"""Certificates for scikit-learn's models with a smooth loss, against an independent optimum."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC

from cotas import certify
from cotas.foreign.against_the_rest import with_best_bias
from errors import refuses
from problems import clouds, three_clouds

X, Y = clouds(150, 4)
MANY, CODES = three_clouds()
WEIGHTS = np.linspace(0.0, 2.0, 150)
SOLVERS = ["lbfgs", "newton-cg", "newton-cholesky", "sag", "saga", "liblinear"]
VALUES = {
    "log": lambda z: np.logaddexp(0, -z),
    "squared hinge": lambda z: np.maximum(0, 1 - z) ** 2,
    "hinge": lambda z: np.maximum(0, 1 - z),
    "modified Huber": lambda z: np.where(z < -1, -4 * z, np.maximum(0, 1 - z) ** 2),
}


def objective(loss, C, weights, bias="free", scale=1.0):
    """What the model states, divided by CΣw; `at` takes θ with θ₀ at the end."""

    def at(point):
        theta, theta0 = point[:-1], point[-1] * (bias != "none")
        z = np.where(Y > 0, 1, -1) * (X @ theta + theta0)
        penalty = theta @ theta + (bias == "penalized") * (theta0 / scale) ** 2
        return weights @ VALUES[loss](z) / weights.sum() + penalty / (2 * C * weights.sum())

    return at


def smallest(at, size):
    """Its minimum by a method that shares nothing with the library."""
    found = minimize(at, np.zeros(size), method="BFGS", options={"gtol": 1e-9})
    return minimize(at, found.x, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}).fun


def encloses(certificate, best):
    slack = 1e-9 * (1 + abs(best))
    return certificate.lower - slack <= best <= certificate.upper + slack


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_logistic_regression_with_every_solver(solver, weighted):
    weights = WEIGHTS if weighted else np.ones(150)
    balance = "balanced" if weighted else None
    model = LogisticRegression(
        C=0.3, solver=solver, tol=1e-10, max_iter=20000, class_weight=balance, intercept_scaling=2.0
    )
    model.fit(X, Y, sample_weight=weights)
    certificate = certify(model, X, Y, weights)
    if weighted:  # "balanced" counts the weights of the examples, not the examples
        masses = {label: weights[label == Y].sum() for label in (-1, 1)}
        weights = weights * np.array([weights.sum() / (2 * masses[label]) for label in Y])
    bias = "penalized" if solver == "liblinear" else "free"
    at = objective("log", 0.3, weights, bias, 2.0)
    assert certificate.holds
    assert certificate.verify(X, Y)
    assert certificate.upper == pytest.approx(at(np.append(model.coef_, model.intercept_)))
    assert certificate.gap <= 1e-7 * certificate.upper
    assert encloses(certificate, smallest(at, 5))
    assert "logistic loss" in certificate.statement


@pytest.mark.parametrize("solver", SOLVERS)
def test_logistic_regression_without_bias(solver):
    model = LogisticRegression(solver=solver, tol=1e-10, max_iter=20000, fit_intercept=False)
    certificate = certify(model.fit(X, Y), X, Y)
    assert certificate.gap <= 1e-8 * certificate.upper
    assert "without bias" in certificate.statement


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "sag", "saga"])
def test_a_fit_that_was_cut_short_shows_its_true_distance(solver):
    raw, y = load_breast_cancer(return_X_y=True)
    rough = LogisticRegression(solver=solver, max_iter=3, random_state=0).fit(raw, y)
    best = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=200).fit(raw, y)
    rough, best = certify(rough, raw, y), certify(best, raw, y)
    assert best.gap <= 1e-8 * best.upper
    true = rough.upper - best.upper
    assert true > 0.05 * best.upper
    assert rough.gap == pytest.approx(true, rel=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("weighted", [False, True])
def test_linear_svc_by_its_own_problem_and_with_a_free_bias(loss, weighted):
    weights = WEIGHTS if weighted else np.ones(150)
    model = LinearSVC(loss=loss, C=0.3, tol=1e-9, max_iter=10**6, random_state=0)
    model.fit(X + 1.0, Y, sample_weight=weights)
    own = certify(model, X + 1.0, Y, weights)
    free = certify(model, X + 1.0, Y, weights, problem="free-bias")
    assert own.gap <= 1e-4 * own.upper
    assert own.upper > free.upper  # the penalty of the bias
    assert own.lower > free.lower
    better = with_best_bias(free.witness, X + 1.0, Y)
    bias, other = better.intercept, better.check(X + 1.0, Y)
    assert free.lower <= other.upper <= free.upper
    assert free.verify(X + 1.0, Y)
    assert "free bias" in str(free)
    name = loss.replace("_", " ")
    assert f"mean {name} loss" in own.statement
    theta = model.coef_.ravel() * 1.0
    at = objective(name, 0.3, weights)
    shifted = np.append(theta, model.intercept_ + theta.sum())  # the same scores on X
    assert free.upper == pytest.approx(at(shifted))
    best = np.append(theta, bias + theta.sum())
    assert other.upper == pytest.approx(at(best))
    for step in (-1e-3, 1e-3):
        assert at(best) <= at(best + step * np.eye(5)[4]) + 1e-12
    if loss == "squared_hinge":
        assert encloses(free, smallest(at, 5))


def test_a_free_bias_is_the_own_problem_of_a_model_that_has_one():
    model = LogisticRegression().fit(X, Y)
    assert certify(model, X, Y, problem="free-bias").upper == certify(model, X, Y).upper
    penalized = LogisticRegression(solver="liblinear").fit(X, Y)
    free = certify(penalized, X, Y, problem="free-bias")
    assert free.lower == pytest.approx(certify(model, X, Y).lower, rel=1e-7)
    with refuses("problem"):
        certify(model, X, Y, problem="primal")


@pytest.mark.parametrize(
    ("loss", "name"),
    [
        ("log_loss", "log"),
        ("squared_hinge", "squared hinge"),
        ("modified_huber", "modified Huber"),
    ],
)
def test_sgd_with_every_smooth_loss(loss, name):
    model = SGDClassifier(
        loss=loss, alpha=0.05, max_iter=3000, tol=None, average=True, eta0=0.01,
        learning_rate="constant", random_state=0, early_stopping=False,
    ).fit(X, Y, sample_weight=WEIGHTS)  # fmt: skip
    certificate = certify(model, X, Y, WEIGHTS)
    at = objective(name, 1 / (0.05 * 150), WEIGHTS)
    assert encloses(certificate, smallest(at, 5))
    assert certificate.gap <= 5e-3 * certificate.upper
    assert certificate.lower >= 0.9999 * smallest(at, 5)


@pytest.mark.parametrize("balance", [None, "balanced", {0: 3.0, 1: 0.5, 2: 1.0}])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_one_class_against_the_rest_with_class_weights(balance, convert):
    """Only the class that is trained has its weight; the gap is tiny only if that is known."""
    keep = np.flatnonzero((CODES != 2) | (np.arange(150) % 2 == 0))
    data, y, weights = convert(MANY[keep]), CODES[keep], WEIGHTS[keep] + 0.1
    model = LinearSVC(C=0.5, tol=1e-10, max_iter=10**6, class_weight=balance, random_state=0)
    model.fit(data, y, sample_weight=weights)
    found = certify(model, data, y, weights)
    assert len(found.parts) == 3
    assert found.relative_gap <= 1e-7
    assert found.verify(data, y)


@pytest.mark.parametrize("balance", ["balanced", {0: 3.0, 1: 0.5, 2: 1.0}])
def test_sgd_with_class_weights(balance):
    keep = np.flatnonzero((CODES != 2) | (np.arange(150) % 2 == 0))
    data, y, weights = MANY[keep], CODES[keep], WEIGHTS[keep] + 0.1
    model = SGDClassifier(
        loss="log_loss", alpha=0.05, max_iter=2000, tol=None, average=True, eta0=0.02,
        learning_rate="constant", random_state=0, class_weight=balance,
    ).fit(data, y, sample_weight=weights)  # fmt: skip
    assert certify(model, data, y, weights).relative_gap <= 1e-3


def softmax_objective(C, weights, bias):
    def at(point):
        table = point.reshape(3, 5)
        scores = MANY @ table[:, :4].T + bias * table[:, 4]
        losses = logsumexp(scores, axis=1) - scores[np.arange(150), CODES]
        penalty = np.square(table[:, :4]).sum() / (2 * C)
        return (weights @ losses + penalty) / weights.sum()

    return at


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("solver", SOLVERS[:-1])
def test_softmax_regression_with_every_solver(solver, bias):
    model = LogisticRegression(
        C=0.4, solver=solver, tol=1e-10, max_iter=20000, fit_intercept=bias, class_weight="balanced"
    ).fit(MANY, CODES, sample_weight=WEIGHTS)
    certificate = certify(model, MANY, CODES, WEIGHTS)
    masses = np.bincount(CODES, WEIGHTS)
    at = softmax_objective(0.4, WEIGHTS * (WEIGHTS.sum() / (3 * masses))[CODES], bias)
    assert certificate.kind == "duality"
    assert certificate.verify(MANY, CODES)
    point = np.column_stack([model.coef_, np.broadcast_to(model.intercept_, 3)]).ravel()
    assert certificate.upper == pytest.approx(at(point))
    assert certificate.gap <= 1e-7 * certificate.upper
    best = minimize(at, np.zeros(15), method="BFGS", options={"gtol": 1e-8}).fun
    assert encloses(certificate, best)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_softmax_regression_that_was_cut_short():
    best = certify(LogisticRegression(tol=1e-10, max_iter=1000).fit(MANY, CODES), MANY, CODES)
    rough = certify(LogisticRegression(max_iter=2).fit(MANY, CODES), MANY, CODES)
    assert rough.gap == pytest.approx(rough.upper - best.upper, rel=1e-5)
    assert rough.gap > 0.01 * best.upper


@pytest.mark.parametrize(
    "model", [LogisticRegression(), LogisticRegression(solver="liblinear"), LinearSVC()], ids=str
)
@pytest.mark.parametrize("step", [1e-3, 0.1, 3.0])
def test_a_moved_model_is_worse_by_what_its_objective_rose(model, step):
    before = certify(model.fit(X, Y), X, Y)
    model.coef_ = model.coef_ * (1 + step)
    after = certify(model, X, Y)
    assert after.upper > before.upper
    assert after.gap - before.gap == pytest.approx(after.upper - before.upper, abs=1e-8)


@pytest.mark.parametrize("data", [(X, Y), (MANY, CODES)], ids=["two classes", "three classes"])
def test_other_labels_and_rows_are_noticed(data):
    features, y = data
    certificate = certify(LogisticRegression().fit(features, y), features, y)
    shuffled = np.random.default_rng(0).permutation(y)
    assert not certificate.verify(features, shuffled)
    assert certify(certificate_model(features, y), features, shuffled).upper > certificate.upper
    swapped = y.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    assert not certificate.verify(features, swapped)
    assert not certificate.verify(features[::-1], y)
    assert not certificate.verify(features * 1.001, y)
    assert certificate.verify(sparse.csc_matrix(features), y)


def certificate_model(features, y):
    return LogisticRegression().fit(features, y)


def test_layouts_and_precisions_agree():
    model = LogisticRegression().fit(X, Y)
    dense = certify(model, X, Y)
    for convert in (sparse.csr_matrix, sparse.csc_matrix, np.asfortranarray, np.float32):
        other = certify(model, convert(X), Y)  # the entries are exact in single precision
        assert other.upper == pytest.approx(dense.upper, rel=1e-12)
        assert other.lower == pytest.approx(dense.lower, rel=1e-8)
    many = LogisticRegression().fit(MANY, CODES)
    assert certify(many, sparse.csr_matrix(MANY), CODES).gap == pytest.approx(
        certify(many, MANY, CODES).gap, abs=1e-9
    )


def test_whole_weights_are_repeated_rows():
    counts = np.arange(150) % 3
    rows = np.repeat(np.arange(150), counts)
    for data, y in ((X, Y), (MANY, CODES)):
        model = LogisticRegression(tol=1e-8).fit(data, y, sample_weight=counts)
        weighted = certify(model, data, y, counts)
        repeated = certify(model, data[rows], y[rows])
        assert weighted.upper == pytest.approx(repeated.upper, rel=1e-12)
        assert weighted.lower == pytest.approx(repeated.lower, rel=1e-7)
