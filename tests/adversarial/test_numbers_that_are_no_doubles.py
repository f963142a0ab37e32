"""Data that double precision would round: what is proved must be about the data as given."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import cotas
from errors import refuses

WIDE = np.longdouble(2) ** 60 + np.arange(1, 9, dtype=np.longdouble)
y = np.arange(8.0)
# Some platforms have no long double beyond a double.
HAS_MORE_DIGITS = pytest.mark.skipif(
    np.finfo(np.longdouble).eps >= np.finfo(float).eps, reason="long doubles are doubles here"
)


@pytest.mark.parametrize(
    ("X", "targets", "name"),
    [
        pytest.param(WIDE[:, None], y, "X", marks=HAS_MORE_DIGITS),
        pytest.param(y[:, None], WIDE, "y", marks=HAS_MORE_DIGITS),
        pytest.param(pd.DataFrame({"a": WIDE}), y, "X", marks=HAS_MORE_DIGITS),
        ([[Fraction(k, 3)] for k in range(1, 9)], y, "X"),
        (y[:, None], [Decimal("0.1")] * 8, "y"),
        (np.array([[2**53 + 1]] * 8), y, "X"),
    ],
)
@pytest.mark.parametrize("model", [cotas.LeastSquares(), cotas.Lasso(), cotas.KernelRidge()])
def test_what_would_be_rounded_is_refused(model, X, targets, name):
    with refuses(name):
        model.fit(X, targets)


def test_an_entry_in_parts_has_their_exact_sum_or_is_refused():
    parts = (np.array([2.0**53, 1.0, 2.0**53, 2.0**53, 3.0]), [0] * 5, [0, 2, 3, 5])
    with refuses("X"):
        cotas.LeastSquares().fit(sparse.csr_matrix(parts, shape=(3, 1)), [1.0, 0.0, 3.0])
    exact = (np.array([1.0, 1.0, 2.0, 3.0, 3.0]), [0] * 5, [0, 2, 3, 5])
    X = sparse.csr_matrix(exact, shape=(3, 1))
    model = cotas.LeastSquares().fit(X, [1.0, 0.0, 3.0])
    assert model.certificate_.verify(X.toarray(), [1.0, 0.0, 3.0])


def test_numbers_of_other_types_that_are_doubles_are_taken():
    X = [[Fraction(k, 4)] for k in range(8)]
    plain = cotas.LeastSquares().fit(np.arange(8.0)[:, None] / 4, y)
    assert cotas.LeastSquares().fit(X, y).coef_ == plain.coef_
    assert cotas.LeastSquares().fit(np.arange(8, dtype=np.longdouble)[:, None] / 4, y).coef_ == (
        plain.coef_
    )
