"""A fit ends where rounding, and not the solver, keeps a smaller gap from being proved."""

import warnings
from dataclasses import replace

import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

import cotas
from cotas.fitting.pursuit import PATIENCE, Floor, at_floor
from cotas.stops import Stop
from problems import regression

X, y = load_breast_cancer(return_X_y=True)
scaled = X / X.std(axis=0)
Z, target = regression(60, 4)
# On raw features the cubes reach 1e18: nothing can be proved, and it takes 33 looks to see that.
MODELS = [
    (cotas.KernelSVM(kernel="poly"), X, y),
    (cotas.KernelSVM(tol=1e-14), scaled, y),
    *(
        (cotas.LinearSVM(tol=1e-15, solver=solver), scaled, y)
        for solver in ("newton", "interior-point", "dual-coordinate-ascent")
    ),
    (cotas.Lasso(tol=1e-16), Z, target),
    (cotas.Ridge(tol=1e-16, lam=0.1, solver="conjugate-gradients"), Z, target),
    (cotas.Ridge(tol=1e-16, lam=0.1, solver="gradient", standardize=True), Z, target),
]


@pytest.mark.parametrize(("model", "X", "y"), MODELS, ids=lambda one: str(one)[:60])
def test_a_fit_ends_at_what_rounding_leaves_and_says_so(model, X, y):
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.stop_ is Stop.ROUNDING
    assert model.certificate_.holds
    assert model.n_iter_ < 500


def test_callbacks_do_not_change_where_it_ends():
    seen = []
    alone, watched = cotas.LinearSVM(tol=1e-15), cotas.LinearSVM(tol=1e-15, callbacks=seen.append)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert alone.fit(scaled, y).n_iter_ == watched.fit(scaled, y).n_iter_
    assert len(seen) == watched.n_iter_


def test_a_gap_that_still_falls_is_not_given_up():
    certificate = cotas.LinearSVM(tol=1e-3).fit(scaled, y).certificate_
    assert not at_floor(certificate)
    floor = Floor()
    assert not any(floor.reached(certificate, certificate.relative_gap) for _ in range(50))
    floor = Floor()  # the solver believes in far less, but rounding cannot be the reason
    assert not any(floor.reached(certificate, 1e-9) for _ in range(50))
    floor, near = Floor(), replace(certificate, charge=1e-3 * certificate.gap)
    looks = [floor.reached(near, 1e-9) for _ in range(PATIENCE + 1)]
    assert looks == [False] * PATIENCE + [True]
