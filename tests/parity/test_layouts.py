"""One algorithm, one answer: whatever the layout, the precision, the compiler, the threads."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from compilers import compiled_and_plain
from problems import LAYOUTS, clouds, model_name, online_models, three_clouds

by_model = pytest.mark.parametrize("model", online_models(), ids=model_name)


@by_model
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("data", [clouds(150, 5), three_clouds(150, 4)], ids=["two", "three"])
def test_every_layout_gives_the_same_model(model, layout, data):
    expected = clone(model).fit(*data)
    other = clone(model).fit(LAYOUTS[layout](data.X), data.y)
    np.testing.assert_allclose(other.coef_, expected.coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(other.intercept_, expected.intercept_, rtol=1e-9, atol=1e-11)
    one, two = other.certificate_.singles, expected.certificate_.singles
    for a, b in zip(one, two, strict=True):
        assert a.holds
        assert b.holds
        assert a.lower == pytest.approx(b.lower, rel=1e-6, abs=1e-9)
        assert a.upper == pytest.approx(b.upper, rel=1e-6)


@by_model
def test_data_frames(model):
    data = clouds(60, 3)
    names = ["a", "b", "c"]
    expected = clone(model).fit(*data).coef_
    for frame in (pd.DataFrame(data.X, columns=names), pl.DataFrame(data.X, schema=names)):
        fitted = clone(model).fit(frame, data.y)
        np.testing.assert_allclose(fitted.coef_, expected, rtol=1e-12)
        assert fitted.feature_names_in_.tolist() == names
        assert fitted.predict(frame).shape == (60,)


@by_model
def test_classes_do_not_feel_each_other_or_the_threads(model):
    X, y = three_clouds()
    together = clone(model).set_params(n_jobs=1).fit(X, y)
    threaded = clone(model).set_params(n_jobs=3).fit(X, y)
    np.testing.assert_array_equal(together.coef_, threaded.coef_)
    for k in range(3):
        alone = clone(model).fit(X, y == k)
        np.testing.assert_allclose(alone.coef_[0], together.coef_[k], rtol=1e-12, atol=1e-14)
        assert alone.certificate_.lower == pytest.approx(together.certificate_.parts[k].lower)


@by_model
def test_the_same_seed_gives_the_same_model(model):
    data = clouds(100, 4)
    one, two = clone(model).fit(*data), clone(model).fit(*data)
    np.testing.assert_array_equal(one.coef_, two.coef_)


PROGRAM = """
import json
from scipy import sparse
from problems import clouds, online_models, three_clouds
fitted = []
for data in (clouds(30, 3), three_clouds(30, 3)):
    for model in online_models():
        for X in (data.X, sparse.csr_matrix(data.X)):
            model.fit(X, data.y)
            fitted.append([model.coef_.tolist(), model.intercept_.tolist()])
print(json.dumps(fitted))
"""


def test_compiled_and_plain_python_agree():
    answers = compiled_and_plain(PROGRAM)
    for (coef, intercept), (plain_coef, plain_intercept) in zip(*answers, strict=True):
        np.testing.assert_allclose(coef, plain_coef, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(intercept, plain_intercept, rtol=1e-9, atol=1e-11)
