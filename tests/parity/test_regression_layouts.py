"""Least squares and ridge: one answer, whatever the threads, the compiler, the containers."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from compilers import compiled_and_plain
from cotas import LeastSquares, Ridge, stops
from cotas.regression import least_squares
from problems import plane

few = {"stop": stops.MaxIterations(4)}
MODELS = [
    LeastSquares(),
    LeastSquares(solver="qr"),
    Ridge(lam=0.1, solver="gradient", **few),
    Ridge(lam=0.1, solver="conjugate-gradients", standardize=True, **few),
    Ridge(lam=0.1, solver="stochastic", random_state=0, batch_size=3, **few),
]
by_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.solver)


@by_model
def test_threads_change_nothing(model, monkeypatch):
    X, y = plane(30_000, 10)
    threaded = clone(model).fit(X, y)
    monkeypatch.setattr(least_squares, "WORTH_A_THREAD", 10**9)
    alone = clone(model).fit(X, y)
    np.testing.assert_allclose(threaded.coef_, alone.coef_, rtol=1e-9)
    one, other = threaded.certificate_, alone.certificate_
    assert one.upper == pytest.approx(other.upper, rel=1e-12)
    assert one.lower == pytest.approx(other.lower, rel=1e-9)
    assert one.verify(X, y)


@by_model
def test_clone_pickle_and_frames(model):
    X, y = plane(60, 3)
    fitted = clone(model).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert again.certificate_.verify(X, y)
    assert clone(fitted).get_params() == model.get_params()
    names = ["a", "b", "c"]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        framed = clone(model).fit(frame, y)
        np.testing.assert_allclose(framed.coef_, fitted.coef_, rtol=1e-12)
        assert framed.feature_names_in_.tolist() == names


def test_composes_with_a_search():
    X, y = plane(60, 4)
    search = GridSearchCV(Ridge(), {"lam": [1e-3, 10.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"lam": 1e-3}
    assert search.best_estimator_.certificate_.holds


def test_without_a_compiler():
    program = """
import json
from cotas import Ridge, stops
from problems import plane
X, y = plane(40, 3)
model = Ridge(lam=0.1, solver="stochastic", random_state=0, stop=stops.MaxIterations(3))
print(json.dumps(model.fit(X, y).coef_.tolist()))
"""
    compiled, plain = compiled_and_plain(program)
    np.testing.assert_allclose(compiled, plain, rtol=1e-10)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_no_copy_of_the_data_is_made(kind, order):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.standard_normal((100_000, 64), dtype=np.float32), dtype=kind, order=order)
    y = X[:, 0].astype(np.float64)
    model = LeastSquares().fit(X, y)
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * X.nbytes
