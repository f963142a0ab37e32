"""The Lasso and the stagewise algorithms: the same answer from any container and compiler."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from compilers import compiled_and_plain
from cotas import ForwardStagewise, Lasso, LSBoost, RegularizedForwardStagewise
from problems import regression

MODELS = [
    Lasso(lam=0.1),
    Lasso(delta=1.0, standardize=True),
    LSBoost(max_iter=40),
    ForwardStagewise(max_iter=40, ties="random", random_state=0),
    RegularizedForwardStagewise(delta=3.0, max_iter=40),
]
DATA = regression(40, 3)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_data_frames(model):
    names = ["a", "b", "c"]
    expected = clone(model).fit(*DATA).coef_
    for frame in (pd.DataFrame(DATA.X, columns=names), pl.DataFrame(DATA.X, schema=names)):
        fitted = clone(model).fit(frame, DATA.y)
        np.testing.assert_allclose(fitted.coef_, expected, rtol=1e-9, atol=1e-12)
        assert fitted.feature_names_in_.tolist() == names
        assert fitted.certificate_.verify(*DATA)


PROGRAM = f"""
import json, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from scipy import sparse
from test_lasso_and_stagewise import DATA, MODELS
from cotas import lasso_path
found = []
for X in (DATA.X, sparse.csr_matrix(DATA.X)):
    found += [model.fit(X, DATA.y).coef_.tolist() for model in MODELS]
    found += lasso_path(X, DATA.y, n_lams=4).coefs.T.tolist()
print(json.dumps(found))
"""


def test_compiled_and_plain_python_agree():
    for compiled, plain in zip(*compiled_and_plain(PROGRAM), strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-9, atol=1e-11)
