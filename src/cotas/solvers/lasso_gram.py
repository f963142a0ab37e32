"""The penalized Lasso on a Gram matrix: coordinate descent, finished by Newton steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from cotas.arrays import FloatArray
from cotas.loops import loop
from cotas.solvers.penalties import ElasticNetPenalty, Penalized, bounds, first, prox, times

# Beyond so many coefficients a factorization costs more than the sweeps it saves.
LARGEST_NEWTON = 1500
SWEEPS = 10  # between two factorizations
# Keeps the factorization defined when columns repeat; the line search makes up for it.
RIDGE = 1e-11
# No gap below so many roundings of ⟨y, y⟩ can be seen.
ROUNDINGS = 16 * 2.0**-52


class GramState(NamedTuple):
    """The state β and g = c − Gβ over the first m columns of a working set."""

    G: FloatArray  # X̃ᵀX̃, with room for more columns
    c: FloatArray  # X̃ᵀy
    beta: FloatArray
    g: FloatArray


@loop
def restricted_bounds(
    state: GramState, m: int, penalty: ElasticNetPenalty, square: float
) -> Penalized:
    """Return those of the problem restricted to the first m columns; `square` is ⟨y, y⟩."""
    fitted = explained = 0.0
    for j in range(m):
        explained += state.beta[j] * state.c[j]
        fitted += state.beta[j] * state.g[j]
    a = square - explained  # ⟨r, y⟩
    return bounds(penalty, a, max(a - fitted, 0.0), state.g[:m], state.beta[:m])


@loop
def is_solved(gap: float, primal: float, square: float, tol: float) -> bool:
    """Tell whether P − D ≤ tol·P, P being at least 1e-9 of P(0) = ½⟨y, y⟩, or as small as rounding
    allows."""
    return gap <= max(tol * max(primal, 0.5e-9 * square), ROUNDINGS * square)


def afresh(state: GramState, m: int) -> None:
    """Compute g = c − Gβ anew, so that the rounding of many steps does not add up."""
    chosen = state.beta[:m].nonzero()[0]
    state.g[:m] = state.c[:m] - state.beta[chosen] @ state.G[chosen, :m]


@loop
def sweep(state: GramState, m: int, penalty: ElasticNetPenalty) -> float:
    """Return each βⱼ in turn to its best value; returns the largest change of a fit βⱼ‖x̃ⱼ‖.

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


def newton(state: GramState, m: int, penalty: ElasticNetPenalty) -> None:
    """Find the minimum over the coefficients that are not zero, their signs kept.

    Where the way there crosses zero it stops, or goes on with all those that would cross left at
    zero, if that lowers the objective more; the others go on without them. Each such step lowers
    the objective and takes away a coefficient, or ends at the minimum of its face: there are
    finitely many faces, so sweeps and these steps in turn end.
    """
    beta, g = state.beta[:m], state.g[:m]
    while True:
        face = beta.nonzero()[0]
        if not 0 < len(face) <= LARGEST_NEWTON:
            return
        b, w = beta[face], penalty.weights[face] if len(penalty.weights) else np.ones(len(face))
        lam1, lam2, rows = penalty.lam1 * w, penalty.lam2 * w * w, state.G[face, :m]
        downhill = g[face] - lam1 * np.sign(b) - lam2 * b
        H = rows[:, face]
        H.flat[:: len(face) + 1] *= 1.0 + RIDGE
        H.flat[:: len(face) + 1] += lam2
        _, way, failed = dposv(H.T, downhill, lower=1, overwrite_a=1)
        slope = float(downhill @ way)
        if failed or not slope > 0.0:
            return
        change = way @ rows
        curvature = float(way @ (change[face] + lam2 * way))
        whole = slope / curvature if curvature > 0.0 else np.inf
        bent = (b * way < 0.0) & ((lam1 > 0.0) | penalty.positive)  # at zero, on the way
        ends = np.divide(-b, way, out=np.full(len(b), np.inf), where=bent)
        length = min(whole, float(ends.min()))
        if not length < np.inf:
            return
        crossed = ends <= length
        falls = length * (slope - 0.5 * length * curvature)
        move, change = length * way, length * change
        if crossed.any() and whole < np.inf and np.count_nonzero(ends <= whole) > 1:
            farther = np.where(ends <= whole, -b, whole * way)
            changed = farther @ rows
            bends = 0.5 * float(farther @ (changed[face] + lam2 * farther))
            if float(downhill @ farther) - bends > falls:
                move, change, crossed = farther, changed, ends <= whole
        beta[face] = np.where(crossed, 0.0, b + move)
        g -= change
        if not crossed.any():
            return


@loop
def path_on_gram(
    state: GramState,
    m: int,
    lams: FloatArray,
    penalty: ElasticNetPenalty,
    square: float,
    tols: FloatArray,
    betas: FloatArray,
    values: FloatArray,
) -> int:
    """Sweep for each λ in turn, as long as some sweeps suffice: for how many they did.

    Of each β is kept, with P and P − D.
    """
    for k in range(len(lams)):
        scaled = times(penalty, lams[k])
        for sweeps in range(SWEEPS + 1):
            if sweeps == SWEEPS:
                return k
            moved = sweep(state, m, scaled)
            found = restricted_bounds(state, m, scaled, square)
            if moved == 0.0 or is_solved(found.gap, found.primal, square, tols[k]):
                break
        values[k, 0], values[k, 1] = found.primal, found.gap
        for j in range(m):
            betas[k, j] = state.beta[j]
    return len(lams)


class OnGram(NamedTuple):
    """Solutions β for each λ, its P and P − D, whether the last is as good as asked, and how many
    rounds."""

    betas: FloatArray
    values: FloatArray
    done: bool
    rounds: int


def solve_on_gram(
    state: GramState,
    m: int,
    lams: FloatArray,
    penalty: ElasticNetPenalty,
    square: float,
    tols: FloatArray,
    max_rounds: int,
) -> OnGram:
    """Compute β for each λ times the penalty, with P − D ≤ tol·P, or after so many rounds for it.

        min  ½βᵀGβ − cᵀβ + λ₁ Σ wⱼ|βⱼ| + (λ₂/2) Σ (wⱼβⱼ)²      (β ≥ 0 if positive)

    A round is some sweeps of coordinate descent with covariance updates (Friedman et al. 2010)
    and, where they do not suffice, one walk to the minimum of the face they arrive at.
    Departures: the walk. Where columns are close to collinear, the sweeps alone crawl.
    Invariant: g = c − Gβ; the objective never rises. Cost: O(mk) a sweep and O(k³) a walk, for k
    coefficients that are not zero.
    """
    betas, values = np.empty((len(lams), m)), np.empty((len(lams), 2))
    solved = rounds = tries = 0
    done = False
    while solved < len(lams):
        left, kept = slice(solved, None), (betas[solved:], values[solved:])
        more = path_on_gram(state, m, lams[left], penalty, square, tols[left], *kept)
        solved, rounds, tries = solved + more, rounds + more, 0 if more else tries
        if solved == len(lams):
            done = True
            break
        scaled = times(penalty, float(lams[solved]))
        newton(state, m, scaled)
        rounds, tries = rounds + 1, tries + 1
        if tries == max_rounds:
            betas[solved] = state.beta[:m]
            values[solved] = restricted_bounds(state, m, scaled, square)
            solved, tries = solved + 1, 0
    afresh(state, m)
    return OnGram(betas, values, done, rounds)
