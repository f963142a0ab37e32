"""`certify` of scikit-learn's regressions in feature space."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVR

import cotas
from errors import refuses
from problems import regression

X, Y = regression(80, 4, seed=4)
WEIGHTS = np.linspace(0.5, 2.0, 80)
RIDGES = [
    KernelRidge(alpha=0.3, kernel="rbf", gamma=0.2),
    KernelRidge(alpha=0.3, kernel="rbf"),
    KernelRidge(alpha=0.3, kernel="poly", degree=2, gamma=0.1),
    KernelRidge(alpha=0.3, kernel="laplacian", gamma=0.2),
    KernelRidge(alpha=0.3, kernel=lambda x, z: float(x @ z) + 1.0),
    KernelRidge(alpha=0.3),
]
MACHINES = [SVR(tol=1e-6), SVR(kernel="linear", C=0.5, epsilon=0.3, tol=1e-6)]
MACHINES += [SVR(kernel="poly", degree=2, tol=1e-6)]


@pytest.mark.parametrize("model", RIDGES + MACHINES, ids=repr)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
def test_a_model_at_its_optimum_is_proved_to_be(model, weights):
    model.fit(X, Y, sample_weight=weights)
    found = cotas.certify(model, X, Y, sample_weight=weights)
    assert found.holds
    assert found.relative_gap <= (1e-6 if isinstance(model, KernelRidge) else 1e-3)
    assert found.verify(X, Y)


@pytest.mark.parametrize("model", RIDGES[:3] + MACHINES, ids=repr)
def test_a_model_that_was_changed_is_measured_as_it_is(model):
    model.fit(X, Y)
    best = cotas.certify(model, X, Y)
    if isinstance(model, SVR):
        model._intercept_ = model.intercept_ + 1.0
        model.intercept_ = model.intercept_ + 1.0
    else:
        model.dual_coef_ = 1.1 * model.dual_coef_
    worse = cotas.certify(model, X, Y)
    assert worse.upper > best.upper * (1 + 1e-3)
    assert worse.lower <= best.upper


def test_the_rows_of_the_fit_are_needed():
    for model in (RIDGES[0], MACHINES[0]):
        with refuses("X"):
            cotas.certify(model.fit(X, Y), X[:40], Y[:40])
    rows = sparse.csr_matrix(X)
    assert cotas.certify(SVR(tol=1e-6).fit(rows, Y), rows, Y).relative_gap <= 1e-3


def test_what_is_no_single_problem_gets_no_certificate():
    two = np.column_stack([Y, Y])
    assert cotas.certify(KernelRidge().fit(X, two), X, two).kind == "none"
    assert cotas.certify(KernelRidge(alpha=0.0, kernel="rbf").fit(X, Y), X, Y).kind == "none"
