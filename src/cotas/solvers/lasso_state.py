"""The penalized Lasso on a Gram matrix: where a solver stands, and how good that is."""

from __future__ import annotations

from typing import Any, NamedTuple

from cotas.arrays import FloatArray, IntArray
from cotas.loops import assign, loop
from cotas.solvers.penalties import Values, bounds

# No gap below so many roundings of ⟨y, y⟩ can be seen.
ROUNDINGS = 16 * 2.0**-52


class LassoIterate(NamedTuple):
    """One solution of the penalized problem, in the units of the centred and scaled columns."""

    lam: float
    support: IntArray
    beta: FloatArray  # on the support
    length: float  # Σ wⱼ|βⱼ|
    primal: float
    gap: float


class GramState(NamedTuple):
    """β and g = c − Gβ over the first m columns of a working set."""

    G: FloatArray  # X̃ᵀX̃, with room for more columns
    c: FloatArray  # X̃ᵀy
    beta: FloatArray
    g: FloatArray


@loop
def restricted_bounds(state: GramState, m: int, penalty: Any, square: float) -> Values:
    """Those of the problem restricted to the first m columns; `square` is ⟨y, y⟩."""
    fitted = explained = 0.0
    for j in range(m):
        explained += state.beta[j] * state.c[j]
        fitted += state.beta[j] * state.g[j]
    a = square - explained  # ⟨r, y⟩
    return bounds(penalty, a, max(a - fitted, 0.0), state.g[:m], state.beta[:m])


@loop
def enough(gap: float, primal: float, square: float, tol: float) -> bool:
    """P − D ≤ tol·P, P being at least 1e-9 of P(0) = ½⟨y, y⟩, or as small as rounding allows."""
    return gap <= max(tol * max(primal, 0.5e-9 * square), ROUNDINGS * square)


@loop
def afresh(state: GramState, m: int) -> None:
    """g = c − Gβ computed anew, so that the rounding of many steps does not add up."""
    g = state.g
    assign(g, state.c[:m])
    for j in range(m):
        if state.beta[j] != 0.0:
            row, b = state.G[j], state.beta[j]
            for i in range(m):
                g[i] -= b * row[i]
