"""Kernel values of the core against sixty digits and more: none is off by more than it says."""

import math
from decimal import Context, Decimal, localcontext

import numpy as np
import pytest
from scipy import sparse

from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.kernels import block, diagonal, positive
from cotas.certificates.core.rounding import U

DIGITS = Context(prec=150, Emin=-(10**9), Emax=10**9)
LINEAR = ("linear",)
COSINE = ("normalized", LINEAR)
RNG = np.random.default_rng()
W = RNG.normal(size=(3, 3)) * np.array([1.0, 1e-3, 1e3])


def polynomial(p, g, c):
    return ("power", ("sum", ("product", ("constant", g), LINEAR), ("constant", c)), p)


SPECS = {
    "linear": LINEAR,
    "cosine": COSINE,
    "polynomial": polynomial(3, 0.1, 1.0),
    "rbf": ("rbf", 0.37, 1.0),
    "narrow": ("rbf", 0.5, 1e-3),
    "wide": ("rbf", 0.5, 1e3),
    "gaussian": ("gaussian", W),
    "columns": ("columns", ("rbf", 0.3, 1.0), (0, 2)),
    "algebra": (
        "sum",
        ("product", ("constant", 2.5), ("rbf", 0.1, 1.0), COSINE),
        ("power", COSINE, 2),
    ),
    "exp": ("exp", ("product", ("constant", 0.3), COSINE)),
    "exp of exp": ("exp", ("rbf", 0.37, 1.0)),
    "normalized": ("normalized", polynomial(2, 1.0, 1.0)),
}


def exactly(spec, x, z):
    """k(x, z) in 150 digits, as the formula is written."""
    match spec:
        case ("linear",):
            return sum((a * b for a, b in zip(x, z, strict=True)), Decimal(0))
        case ("constant", c):
            return Decimal(c)
        case ("rbf", g, s):
            r = sum(((a - b) ** 2 for a, b in zip(x, z, strict=True)), Decimal(0))
            return (-Decimal(g) * r / Decimal(s) ** 2).exp()
        case ("gaussian", W):
            d = [a - b for a, b in zip(x, z, strict=True)]
            r = [
                sum((Decimal(w) * e for w, e in zip(row, d, strict=True)), Decimal(0))
                for row in W.tolist()
            ]
            return (-sum((v * v for v in r), Decimal(0)) / 2).exp()
        case ("sum", *parts):
            return sum((exactly(k, x, z) for k in parts), Decimal(0))
        case ("product", *parts):
            return math.prod((exactly(k, x, z) for k in parts), start=Decimal(1))
        case ("power", k, p):
            return exactly(k, x, z) ** p
        case ("exp", k):
            return exactly(k, x, z).exp()
        case ("normalized", k):
            square = exactly(k, x, x) * exactly(k, z, z)
            return exactly(k, x, z) / square.sqrt() if square else Decimal(0)
        case ("columns", k, j):
            return exactly(k, [x[i] for i in j], [z[i] for i in j])
    raise AssertionError(spec)


def decimals(X):
    return [[Decimal(v) for v in row] for row in X.tolist()]


def badly_scaled(rng, n=6):
    """Rows that floating-point arithmetic does not like."""
    X = rng.normal(size=(n, 3)) * 10.0 ** rng.choice([-6, 0, 0, 0, 3, 6], size=3)
    X += rng.choice([0.0, 0.0, 1.0, 1e4, 2.0**27, 2.0**40], size=3)
    if rng.random() < 0.3:
        X[: n // 2] += 2.0**27
    if rng.random() < 0.2:
        X *= 5e-324 if rng.random() < 0.3 else 1e-160
    if rng.random() < 0.3:
        X[0] = 0.0
    return np.concatenate([X, X[:1], X[1:2] + rng.normal(size=3) * 1e-9])


@pytest.mark.parametrize("name", SPECS)
def test_no_value_is_off_by_more_than_it_says(name):
    seed = int(RNG.integers(2**32))
    rng, spec = np.random.default_rng(seed), SPECS[name]
    told = 0
    with localcontext(DIGITS):
        for _ in range(12):
            A, B = badly_scaled(rng), badly_scaled(rng, 4)
            B[:2] = A[1:3]
            try:
                K, e, f = block(spec, A, B)
                most = diagonal(spec, A)
            except Objection:
                continue
            told += 1
            exact = [[exactly(spec, x, z) for z in decimals(B)] for x in decimals(A)]
            for i, x in enumerate(decimals(A)):
                assert exactly(spec, x, x) <= Decimal(most[i]), seed
                for j in range(len(B)):
                    off = abs(Decimal(float(K[i, j])) - exact[i][j])
                    assert off <= Decimal(float(e[i])) * Decimal(float(f[j])), (seed, name, i, j)
    assert told >= 3, seed


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


def test_sparse_rows_are_dense_rows():
    X = RNG.normal(size=(30, 8)) * (RNG.random((30, 8)) < 0.3)
    for spec in SPECS.values():
        if spec[0] in ("gaussian", "columns"):
            continue
        K, e, f = block(spec, X, X[:7])
        S, g, h = block(spec, sparse.csr_matrix(X), sparse.csr_matrix(X[:7]))
        assert (np.abs(K - S) <= np.outer(e, f) + np.outer(g, h)).all()


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
    for spec in SPECS.values():
        assert positive(spec)
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
