"""Which formulas are kernels, and that ordinary rows have values with small errors."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.gram import block, diagonal, positive
from cotas.certificates.core.rounding import U
from laws.exact.kernel_claims import COSINE, DIGITS, LINEAR, SPECS, badly_scaled, polynomial

RNG = np.random.default_rng()


def test_ordinary_rows_have_small_errors():
    X = RNG.normal(size=(200, 20))
    for spec in (("rbf", 0.05, 1.0), COSINE, ("exp", ("rbf", 0.05, 1.0)), polynomial(3, 0.05, 1.0)):
        _, e, f = block(spec, X, X)
        size = np.sqrt(diagonal(spec, X))
        assert (np.outer(e, f) <= 1e-12 * np.outer(size, size)).all(), spec
    far = X + 2.0**40
    _, e, f = block(("rbf", 0.05, 1.0), far, far)
    assert np.outer(e, f).max() < 1e-11
    far = np.round(X[:40] * 1024) / 1024
    far[20:] += 2.0**30
    _, e, f = block(("rbf", 0.05, 1.0), far, far)
    assert np.outer(e, f).max() < 1e-10


@pytest.mark.parametrize("name", SPECS)
def test_some_rows_that_are_badly_scaled_have_values(name):
    """Else a law of such rows would be one of nothing."""
    seed = int(RNG.integers(2**32))
    rng, told = np.random.default_rng(seed), 0
    for _ in range(12):
        rows = badly_scaled(rng)
        try:
            told += np.isfinite(block(SPECS[name], rows, rows)[1]).all()
        except Objection:
            continue
    assert told >= 3, seed


def test_exp_is_as_good_as_the_core_assumes():
    """Within 4 units in the last place, in arrays of all lengths and at all sizes."""
    x = np.concatenate(
        [RNG.uniform(-745, 709, 4000), RNG.normal(size=4000), -RNG.exponential(1e-8, 500)]
    )
    with localcontext(DIGITS):
        for values, given in ((np.exp(x), x), (np.exp(x[:3]), x[:3]), (np.exp(x[::2]), x[::2])):
            for y, t in zip(values.tolist(), given.tolist(), strict=True):
                exact = Decimal(t).exp()
                assert abs(Decimal(y) - exact) <= 8 * Decimal(U) * exact + Decimal(2) ** -1074


@pytest.mark.parametrize(
    "spec",
    [
        (),
        "linear",
        ("rbf",),
        ("rbf", -1.0, 1.0),
        ("rbf", math.nan, 1.0),
        ("rbf", math.inf, 1.0),
        ("rbf", 1.0, 0.0),
        ("rbf", "1", 1.0),
        ("constant", -1.0),
        ("constant", math.nan),
        ("power", LINEAR, 0),
        ("power", LINEAR, 0.5),
        ("gaussian", np.full((2, 2), math.nan)),
        ("sum",),
        ("sum", LINEAR, ("product", ("constant", -2.0), LINEAR)),
        ("columns", LINEAR, ()),
        ("columns", LINEAR, (-1,)),
        ("exp", ("sigmoid", 1.0)),
        ("custom", 3),
        None,
    ],
)
def test_what_is_no_kernel_is_refused(spec):
    with pytest.raises(Objection):
        positive(spec)


def test_what_the_formula_shows():
    for name, spec in SPECS.items():
        assert positive(spec) == (name != "custom")
    mine = ("custom", lambda A, B: A @ B.T)
    assert not positive(mine)
    assert not positive(("sum", LINEAR, ("exp", mine)))
    assert positive(("features", lambda A: A**2))
    for bad in (("columns", LINEAR, (5,)), ("gaussian", np.eye(5)), ("precomputed",)):
        with pytest.raises(Objection):
            block(bad, np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(Objection):
        block(LINEAR, np.array([[math.nan]]), np.ones((1, 1)))
    with pytest.raises(Objection):
        block(LINEAR, np.array([[1e200]]), np.array([[1e200]]))
