"""Random problems with a known answer, shared by the tests."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

import cotas
from cotas.solvers.kernel_dual import SignedDual


class Data(NamedTuple):
    X: np.ndarray
    y: np.ndarray


@st.composite
def labelled(draw, max_rows: int = 25, max_features: int = 5) -> Data:
    """Any small data set with two classes; entries are multiples of 1/8, exact in float32."""
    n = draw(st.integers(2, max_rows))
    d = draw(st.integers(1, max_features))
    eighths = hnp.arrays(np.int64, (n, d), elements=st.integers(-80, 80))
    X = draw(eighths) / 8.0
    y = np.where(draw(hnp.arrays(np.bool_, n)), 1, -1)
    y[0], y[-1] = 1, -1
    return Data(X, y)


@st.composite
def separable(draw, max_rows: int = 25, max_features: int = 5) -> Data:
    """Data that a hyperplane with bias separates with a margin of at least 1/2."""
    data = draw(labelled(max_rows, max_features))
    d = data.X.shape[1]
    u = draw(hnp.arrays(np.int64, d, elements=st.integers(-3, 3))).astype(float)
    u[0] = u[0] or 1.0
    b = draw(st.integers(-3, 3))
    # Move each row along u until it lies on its own side, at least half a unit away.
    length = u @ u
    distance = data.X @ u + b
    target = data.y * (np.abs(distance) + 0.5 * np.sqrt(length))
    return Data(data.X + np.outer((target - distance) / length, u), data.y)


def clouds(n: int = 200, d: int = 6, noise: float = 1.0, seed: int = 0) -> Data:
    """Two overlapping Gaussian clouds."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    X = rng.normal(size=(n, d)) * noise + 0.7 * y[:, None]
    return Data(np.round(X, 3).astype(np.float32).astype(np.float64), y)


def noisy_clouds(n: int = 200, seed: int = 0) -> Data:
    """Two clouds with few distinct values, and a tenth of the labels wrong."""
    X, y = clouds(n, 4, seed=seed)
    rng = np.random.default_rng(seed)
    return Data(np.round(X, 1), np.where(rng.random(n) < 0.1, -y, y))


def three_clouds(n: int = 150, d: int = 4, seed: int = 0) -> Data:
    """Three overlapping Gaussian clouds."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, d)) + 2.0 * np.eye(3, d)[y]
    return Data(X.astype(np.float32).astype(np.float64), y)


def online_models(**changes):
    """Each online algorithm in each of its main forms."""
    kinds = [
        cotas.Perceptron(max_iter=7),
        cotas.Perceptron(max_iter=7, fit_intercept=False, shuffle=True, random_state=3),
        cotas.AveragedPerceptron(max_iter=7),
        cotas.PassiveAggressive(lam=0.7, max_iter=5),
        cotas.PassiveAggressive(lam=0.7, max_iter=5, average=True, fit_intercept=False),
        cotas.Pegasos(lam=0.05, max_iter=9, random_state=1),
        cotas.Pegasos(lam=0.05, max_iter=9, fit_intercept=False, sampling="order"),
        cotas.Pegasos(lam=0.05, max_iter=9, average=True, project=True, random_state=2),
        cotas.Pegasos(lam=0.05, max_iter=9, sampling="replacement", step="1/(1+t)"),
    ]
    defaults = {"random_state": 0}
    return [
        model.set_params(**{**({} if model.random_state is not None else defaults), **changes})
        for model in kinds
    ]


def model_name(model) -> str:
    """A short name for a parametrised test."""
    changed = [
        f"{name}={value}"
        for name, value in model.get_params().items()
        if name in ("fit_intercept", "shuffle", "average", "project", "sampling")
        and value not in (None, type(model)().get_params()[name])
    ]
    return "-".join([type(model).__name__, *changed])


def least_of_signed_dual(K, y, weights, lam, free_bias):
    """The least ½aᵀKa − yᵀa over the box, by an interior point that knows nothing of us."""
    import clarabel

    n, dual = len(y), SignedDual.of(y, weights, lam, free_bias)
    box = sparse.vstack([sparse.eye(n), -sparse.eye(n)])
    rows, right = [box], [dual.high, -dual.low]
    cones = [clarabel.NonnegativeConeT(2 * n)]
    if free_bias:
        rows.insert(0, sparse.csc_matrix(np.ones((1, n))))
        right.insert(0, np.zeros(1))
        cones.insert(0, clarabel.ZeroConeT(1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    P = sparse.triu(sparse.csc_matrix(K + 1e-13 * np.trace(K) * np.eye(n)), format="csc")
    A = sparse.csc_matrix(sparse.vstack(rows))
    solver = clarabel.DefaultSolver(P, -y, A, np.concatenate(right), cones, settings)
    return solver.solve().obj_val


LAYOUTS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "csr_array": sparse.csr_array,
    "float32": lambda X: np.asarray(X, dtype=np.float32),
    "csr float32": lambda X: sparse.csr_matrix(X, dtype=np.float32),
}


def regression(n: int = 60, d: int = 8, noise: float = 0.5, seed: int = 0) -> Data:
    """A linear target with some zero coefficients, columns of different scales, and an offset."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(0.3, 3.0, d) + np.arange(d) % 5
    X = np.where(rng.random((n, d)) < 0.2, 0.0, X).astype(np.float32).astype(np.float64)
    beta = np.where(np.arange(d) % 3 == 0, rng.normal(size=d), 0.0)
    return Data(X, X @ beta + noise * rng.normal(size=n) + 5.0)


@st.composite
def targeted(draw, max_rows: int = 20, max_features: int = 6) -> Data:
    """Any small regression: repeated, constant and collinear columns included."""
    n = draw(st.integers(1, max_rows))
    d = draw(st.integers(1, max_features))
    X = draw(hnp.arrays(np.int64, (n, d), elements=st.integers(-8, 8))) / 4.0
    y = draw(hnp.arrays(np.int64, n, elements=st.integers(-40, 40))) / 8.0
    return Data(X, y)


def plane(n: int = 60, d: int = 4, seed: int = 0) -> Data:
    """A linear function of correlated columns, with noise; exact in float32."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d))) + 0.5
    X = np.round(X, 3).astype(np.float32).astype(np.float64)
    return Data(X, X @ np.arange(1, d + 1) + 2.0 + rng.normal(size=n))


def bad_data(X, y):
    """By its name, what no classifier takes, made of 40 good rows and their labels ±1.

    Each is X, y and a word of the error, which may be one of scikit-learn.
    """
    missing, infinite = X.copy(), X.copy()
    missing[3, 1], infinite[3, 1] = np.nan, np.inf
    return {
        "NaN": (missing, y, "NaN"),
        "infinity": (infinite, y, "infinity"),
        "sparse NaN": (sparse.csr_matrix(missing), y, "NaN"),
        "one class": (X, np.ones(40), "class"),
        "empty": (X[:0], y[:0], "sample"),
        "no features": (X[:, :0], y, "feature"),
        "one dimension": (X[:, 0], y, "2D"),
        "too few labels": (X, y[:-1], "inconsistent"),
        "labels in two columns": (X, np.column_stack([y, y]), "1d"),
        "numbers to predict": (X, np.linspace(0, 1, 40), "label"),
        "NaN labels": (X, np.where(y > 0, np.nan, 1.0), "NaN"),
        "words": (np.full((40, 3), "word"), y, "convert"),
        "complex numbers": (X + 1j, y, "Complex"),
        "one row": (X[:1], y[:1], "class"),
    }
