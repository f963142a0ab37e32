"""The linear support vector machine as the quadratic program of the documents, by Clarabel."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cotas.arrays import FloatArray, Matrix

TIGHT = 1e-10


def quadratic_program(
    X: Matrix, y: FloatArray, weights: FloatArray, lam: float, bias: float
) -> tuple[FloatArray, float, FloatArray]:
    """θ, θ₀ and the multipliers α of the margin constraints.

        min Σ sᵢξᵢ + (λ/2)‖θ‖²    s.t.  yᵢ(θ·xᵢ + θ₀) ≥ 1 − ξᵢ,  ξᵢ ≥ 0

    The program as document 000 prints it in section 3.7, handed to the interior-point solver
    Clarabel of Goulart and Chen 2024. Departures: the unknowns are sᵢξᵢ in the place of ξᵢ, and
    each constraint is multiplied by sᵢ, so that all the costs are 1. The multipliers are clipped
    into their box; with a bias the heavier class is then scaled down to restore Σ αᵢyᵢ = 0. An
    answer at reduced accuracy is returned too: the gap between θ and α tells how good it is.
    Invariant: 0 ≤ αᵢ ≤ sᵢ, and Σ αᵢyᵢ = 0 with a bias.
    Cost: a few dozen factorizations of a sparse system with a row for each unknown and constraint;
    X is copied.
    """
    try:
        import clarabel  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        raise ImportError("solver='qp' needs Clarabel: pip install 'cotas[qp]'.") from None
    y = np.asarray(y, dtype=np.float64)
    n, d = X.shape
    curvature, cost, constraints, right = _program(X, y, weights, lam, bias)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TIGHT
    cones = [clarabel.NonnegativeConeT(2 * n)]
    solver = clarabel.DefaultSolver(curvature, cost, constraints, right, cones, settings)
    solution = solver.solve()
    unknowns, multipliers = np.array(solution.x), np.array(solution.z)
    if not (np.isfinite(unknowns).all() and np.isfinite(multipliers).all()):
        raise ArithmeticError(f"Clarabel found no solution: {solution.status}.")
    alpha = _feasible(multipliers[:n] * weights, y, weights, bias)
    return unknowns[:d], float(unknowns[d]) if bias else 0.0, alpha


def _program(
    X: Matrix, y: FloatArray, weights: FloatArray, lam: float, bias: float
) -> tuple[Matrix, FloatArray, Matrix, FloatArray]:
    """P, q, A and b of Clarabel's form min ½xᵀPx + q·x, Ax + s = b, s ≥ 0.

    The unknowns are θ, then θ₀ with a bias, then sᵢξᵢ; each margin constraint is multiplied by sᵢ.
    """
    n, d = X.shape
    signs = y * weights
    rows = sparse.diags_array(-signs) @ sparse.csr_array(X, dtype=np.float64)
    columns = sparse.csr_array(-signs[:, None]) if bias else sparse.csr_array((n, 0))
    one = sparse.eye_array(n)
    margins = sparse.hstack([rows, columns, -one])
    signed = sparse.hstack([sparse.csr_array((n, d + columns.shape[1])), -one])
    constraints = sparse.csc_matrix(sparse.vstack([margins, signed]))
    size = constraints.shape[1]
    penalty = np.zeros(size)
    penalty[:d] = lam
    cost = np.zeros(size)
    cost[size - n :] = 1.0
    curvature = sparse.csc_matrix(sparse.diags_array(penalty))
    return curvature, cost, constraints, np.concatenate([-weights, np.zeros(n)])


def _feasible(alpha: FloatArray, y: FloatArray, weights: FloatArray, bias: float) -> FloatArray:
    """α in its box, the classes of equal weight where the bias asks for it."""
    alpha = np.clip(alpha, 0.0, weights)
    if bias:
        positive, negative = float(alpha[y > 0].sum()), float(alpha[y < 0].sum())
        lighter = min(positive, negative)
        if positive > lighter:
            alpha[y > 0] *= lighter / positive
        elif negative > lighter:
            alpha[y < 0] *= lighter / negative
    return alpha
