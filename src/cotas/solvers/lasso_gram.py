"""The penalised Lasso on a Gram matrix: coordinate descent, finished by Newton steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cotas.arrays import FloatArray
from cotas.loops import loop

# Beyond so many coefficients a factorisation costs more than the sweeps it saves.
LARGEST_NEWTON = 1500
SWEEPS = 10  # between two factorisations
# Keeps the factorisation defined when columns repeat; the line search makes up for it.
RIDGE = 1e-11
# No gap below so many roundings of ⟨y, y⟩ can be seen.
ROUNDINGS = 16 * 2.0**-52


class GramState(NamedTuple):
    """β and g = c − Gβ over the first m columns of a working set."""

    G: FloatArray  # X̃ᵀX̃, with room for more columns
    c: FloatArray  # X̃ᵀy
    beta: FloatArray
    g: FloatArray


@loop
def sweep(state: GramState, m: int, lam: float, positive: bool) -> float:
    """Each βⱼ in turn to its best value; returns the largest change of a fit βⱼ‖x̃ⱼ‖.

        βⱼ ← soft(βⱼGⱼⱼ + gⱼ, λ)/Gⱼⱼ

    Invariant: g = c − Gβ after every step. Cost: O(m) for each coefficient that moves.
    """
    G, beta, g = state.G, state.beta, state.g
    largest = 0.0
    for j in range(m):
        curvature = G[j, j]
        if curvature <= 0.0 or (beta[j] == 0.0 and abs(g[j]) <= lam):
            continue
        z = beta[j] * curvature + g[j]
        new = 0.0
        if z > lam:
            new = (z - lam) / curvature
        elif z < -lam and not positive:
            new = (z + lam) / curvature
        move = new - beta[j]
        if move != 0.0:
            beta[j] = new
            row = G[j]
            for k in range(m):
                g[k] -= move * row[k]
            largest = max(largest, abs(move) * np.sqrt(curvature))
    return largest


@loop
def solve_positive(H: FloatArray, right: FloatArray) -> bool:
    """Solve Hx = right for a positive definite H by Cholesky; x replaces `right`, H is spoiled.

    Row by row, so that the inner loop adds a multiple of one row to another. Whether it worked.
    """
    k = len(right)
    for j in range(k):
        if not H[j, j] > 0.0:
            return False
        pivot = 1.0 / np.sqrt(H[j, j])
        for b in range(j, k):
            H[j, b] *= pivot
        for i in range(j + 1, k):
            factor = H[j, i]
            for b in range(i, k):
                H[i, b] -= factor * H[j, b]
    for j in range(k):
        right[j] /= H[j, j]
        for b in range(j + 1, k):
            right[b] -= right[j] * H[j, b]
    for j in range(k - 1, -1, -1):
        total = right[j]
        for b in range(j + 1, k):
            total -= H[j, b] * right[b]
        right[j] = total / H[j, j]
    return True


@loop
def newton(state: GramState, m: int, lam: float) -> None:
    """The minimum over the coefficients that are not zero, their signs kept.

    Where the way there crosses zero it stops, that coefficient stays at zero, and the others go
    on without it. Each such step lowers the objective and takes away a coefficient, or ends at
    the minimum of its face: there are finitely many faces, so sweeps and these steps in turn end.
    """
    G, beta, g = state.G, state.beta, state.g
    while True:
        face = np.flatnonzero(beta[:m])
        k = len(face)
        if k == 0 or k > LARGEST_NEWTON:
            return
        H = np.empty((k, k))
        downhill = np.empty(k)
        for a in range(k):
            i = face[a]
            for b in range(k):
                H[a, b] = G[i, face[b]]
            H[a, a] *= 1.0 + RIDGE
            downhill[a] = g[i] - lam * np.sign(beta[i])
        way = downhill.copy()
        if not solve_positive(H, way):
            return
        slope = 0.0
        for a in range(k):
            slope += downhill[a] * way[a]
        if not slope > 0.0:
            return
        change = np.zeros(m)
        for a in range(k):
            row, step = G[face[a]], way[a]
            for j in range(m):
                change[j] += step * row[j]
        curvature = 0.0
        for a in range(k):
            curvature += way[a] * change[face[a]]
        longest = slope / curvature if curvature > 0.0 else np.inf
        crossing = -1
        for a in range(k):
            if beta[face[a]] * way[a] < 0.0 and -beta[face[a]] / way[a] <= longest:
                longest, crossing = -beta[face[a]] / way[a], a
        if not np.isfinite(longest):
            return
        for a in range(k):
            beta[face[a]] += longest * way[a]
        if crossing >= 0:
            beta[face[crossing]] = 0.0
        for j in range(m):
            g[j] -= longest * change[j]
        if crossing < 0:
            return


@loop
def restricted_gap(
    state: GramState, m: int, lam: float, positive: bool, square: float
) -> tuple[float, float]:
    """P and P − D of the problem restricted to the working set; `square` is ⟨y, y⟩."""
    length = fitted = explained = steepest = 0.0
    for j in range(m):
        length += abs(state.beta[j])
        explained += state.beta[j] * state.c[j]
        fitted += state.beta[j] * state.g[j]
        steepest = max(steepest, state.g[j] if positive else abs(state.g[j]))
    a = square - explained  # ⟨r, y⟩
    b = max(a - fitted, 0.0)  # ⟨r, r⟩
    primal = 0.5 * b + lam * length
    if a <= 0.0 or b <= 0.0:
        return primal, primal
    kappa = min(a / b, lam / steepest) if steepest > 0.0 else a / b
    return primal, primal - kappa * a + 0.5 * kappa * kappa * b


@loop
def enough(gap: float, primal: float, square: float, tol: float) -> bool:
    """P − D ≤ tol·max(1, P), and ≤ tol·⟨y, y⟩, or as small as rounding lets it become."""
    return gap <= max(tol * min(max(1.0, primal), square), ROUNDINGS * square)


@loop
def solve_on_gram(
    state: GramState,
    m: int,
    lam: float,
    positive: bool,
    square: float,
    tol: float,
    max_rounds: int,
) -> tuple[bool, int]:
    """β on the working set until the gap is small enough; returns whether it is, and the rounds.

        min  ½βᵀGβ − cᵀβ + λ‖β‖₁      (β ≥ 0 if positive)

    A round is some sweeps of coordinate descent with covariance updates (Friedman et al. 2010)
    and one walk to the minimum of the face they arrive at.
    Departures: the walk. Where columns are close to collinear, the sweeps alone crawl.
    Invariant: g = c − Gβ; the objective never rises. Cost: O(mk) a sweep and O(k³) a walk, for
    k coefficients that are not zero.
    """
    for rounds in range(max_rounds):
        for _ in range(SWEEPS):
            moved = sweep(state, m, lam, positive)
            primal, gap = restricted_gap(state, m, lam, positive, square)
            if moved == 0.0 or enough(gap, primal, square, tol):
                return True, rounds + 1
        newton(state, m, lam)
        primal, gap = restricted_gap(state, m, lam, positive, square)
        if enough(gap, primal, square, tol):
            return True, rounds + 1
    return False, max_rounds


@loop
def path_on_gram(
    state: GramState,
    lambdas: FloatArray,
    positive: bool,
    square: float,
    tol: float,
    max_rounds: int,
    betas: FloatArray,
    values: FloatArray,
) -> int:
    """β, P and P − D for each λ in turn, all the columns being in the Gram matrix.

    Returns the number of rounds.
    """
    m = len(state.c)
    total = 0
    for k in range(len(lambdas)):
        _, rounds = solve_on_gram(state, m, lambdas[k], positive, square, tol, max_rounds)
        total += rounds
        # Afresh, so that the rounding of many steps does not add up.
        state.g[:] = state.c
        for j in range(m):
            if state.beta[j] != 0.0:
                row, b = state.G[j], state.beta[j]
                for i in range(m):
                    state.g[i] -= b * row[i]
        betas[k] = state.beta
        values[k, 0], values[k, 1] = restricted_gap(state, m, lambdas[k], positive, square)
    return total
