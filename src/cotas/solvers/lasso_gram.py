"""The penalized Lasso on a Gram matrix: coordinate descent, finished by Newton steps."""

from __future__ import annotations

import numpy as np

from cotas.arrays import FloatArray
from cotas.loops import assign, loop
from cotas.solvers.lasso_state import GramState, afresh, enough, restricted_bounds
from cotas.solvers.penalties import Penalty, first, prox, second, times

# Beyond so many coefficients a factorization costs more than the sweeps it saves.
LARGEST_NEWTON = 1500
SWEEPS = 10  # between two factorizations
# Keeps the factorization defined when columns repeat; the line search makes up for it.
RIDGE = 1e-11


@loop
def sweep(state: GramState, m: int, penalty: Penalty) -> float:
    """Each βⱼ in turn to its best value; returns the largest change of a fit βⱼ‖x̃ⱼ‖.

        βⱼ ← soft(βⱼGⱼⱼ + gⱼ, λ₁wⱼ)/(Gⱼⱼ + λ₂wⱼ²)

    Invariant: g = c − Gβ after every step. Cost: O(m) for each coefficient that moves.
    """
    G, beta, g = state.G, state.beta, state.g
    largest = 0.0
    for j in range(m):
        curvature = G[j, j]
        if curvature <= 0.0 or (beta[j] == 0.0 and abs(g[j]) <= first(penalty, j)):
            continue
        new = prox(penalty, j, beta[j] * curvature + g[j], curvature)
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
def newton(state: GramState, m: int, penalty: Penalty) -> None:
    """The minimum over the coefficients that are not zero, their signs kept.

    Where the way there crosses zero it stops, that coefficient stays at zero, and the others go
    on without it. Each such step lowers the objective and takes away a coefficient, or ends at
    the minimum of its face: there are finitely many faces, so sweeps and these steps in turn end.
    """
    G, beta, g = state.G, state.beta, state.g
    while True:
        face, k = np.empty(m, dtype=np.int64), 0
        for j in range(m):
            if beta[j] != 0.0:
                face[k] = j
                k += 1
        if k == 0 or k > LARGEST_NEWTON:
            return
        H = np.empty((k, k))
        downhill = np.empty(k)
        for a in range(k):
            i = face[a]
            for b in range(k):
                H[a, b] = G[i, face[b]]
            H[a, a] = (1.0 + RIDGE) * H[a, a] + second(penalty, i)
            downhill[a] = g[i] - first(penalty, i) * np.sign(beta[i]) - second(penalty, i) * beta[i]
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
            curvature += way[a] * (change[face[a]] + second(penalty, face[a]) * way[a])
        longest = slope / curvature if curvature > 0.0 else np.inf
        crossing = -1
        for a in range(k):
            bent = penalty.positive or first(penalty, face[a]) > 0.0  # at zero
            if bent and beta[face[a]] * way[a] < 0.0 and -beta[face[a]] / way[a] <= longest:
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
def one_round(state: GramState, m: int, penalty: Penalty, square: float, tol: float) -> bool:
    """Some sweeps and a walk to the minimum of the face; whether the gap is small enough."""
    for _ in range(SWEEPS):
        moved = sweep(state, m, penalty)
        found = restricted_bounds(state, m, penalty, square)
        if moved == 0.0 or enough(found.gap, found.primal, square, tol):
            return True
    newton(state, m, penalty)
    found = restricted_bounds(state, m, penalty, square)
    return enough(found.gap, found.primal, square, tol)


@loop
def settle_unpenalized(state: GramState, m: int, penalty: Penalty) -> None:
    """Walk once more where a coefficient has no penalty: its gⱼ is zero then, but for rounding.

    The proof charges it with a bound of the coefficient that can be far above it.
    """
    for j in range(m):
        if first(penalty, j) <= 0.0:
            newton(state, m, penalty)
            return


@loop
def solve_on_gram(
    state: GramState, m: int, penalty: Penalty, square: float, tol: float, max_rounds: int
) -> tuple[bool, int]:
    """β on the working set until the gap is small enough; returns whether it is, and the rounds.

        min  ½βᵀGβ − cᵀβ + λ₁ Σ wⱼ|βⱼ| + (λ₂/2) Σ (wⱼβⱼ)²      (β ≥ 0 if positive)

    A round is some sweeps of coordinate descent with covariance updates (Friedman et al. 2010)
    and one walk to the minimum of the face they arrive at.
    Departures: the walk. Where columns are close to collinear, the sweeps alone crawl.
    Invariant: g = c − Gβ; the objective never rises. Cost: O(mk) a sweep and O(k³) a walk, for k
    coefficients that are not zero.
    """
    for rounds in range(max_rounds):
        if one_round(state, m, penalty, square, tol):
            settle_unpenalized(state, m, penalty)
            return True, rounds + 1
    return False, max_rounds


@loop
def path_on_gram(
    state: GramState,
    m: int,
    lams: FloatArray,
    penalty: Penalty,
    square: float,
    tol: float,
    max_rounds: int,
    betas: FloatArray,
    values: FloatArray,
) -> tuple[bool, int]:
    """β for each λ times the penalty, and P and P − D where there is room for them.

    Room is there for all or for none. Without it the last β and its g are left in the state as
    the rounds left them: that one λ needs no other compiled program than a path.
    Returns whether the last gap is small enough, and the number of rounds.
    """
    done, total = True, 0
    for k in range(len(lams)):
        scaled = times(penalty, lams[k])
        done, rounds = solve_on_gram(state, m, scaled, square, tol, max_rounds)
        total += rounds
        if len(betas) == 0:
            continue
        afresh(state, m)
        assign(betas[k], state.beta)
        found = restricted_bounds(state, m, scaled, square)
        values[k, 0], values[k, 1] = found.primal, found.gap
    return done, total
