"""The penalized Lasso on the Gram matrix of some columns: where a solver stands, and how well."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.design.centred import CentredColumns
from cotas.loops import loop
from cotas.solvers.penalties import Penalized, Penalty, bounds

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
def restricted_bounds(state: GramState, m: int, penalty: Penalty, square: float) -> Penalized:
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


def afresh(state: GramState, m: int) -> None:
    """g = c − Gβ computed anew, so that the rounding of many steps does not add up."""
    chosen = state.beta[:m].nonzero()[0]
    state.g[:m] = state.c[:m] - state.beta[chosen] @ state.G[chosen, :m]


class WorkingSet:
    """Some columns, their Gram matrix, and β on them."""

    def __init__(self, columns: CentredColumns, c: FloatArray) -> None:
        self.columns, self.full_c = columns, c
        self.members = np.zeros(0, dtype=np.int64)
        self.inside = np.zeros(columns.p, dtype=np.bool_)
        self.has_gram = True
        self.state = GramState(np.zeros((0, 0)), np.zeros(0), np.zeros(0), np.zeros(0))

    def __len__(self) -> int:
        return len(self.members)

    def add(self, new: IntArray) -> None:
        """Take in columns that are not there yet."""
        m, more = len(self), len(self) + len(new)
        if len(new) == self.columns.p:  # all at once
            self.members, self.inside[:] = new, True
            c = self.full_c
            self.state = GramState(self.columns.gram(new, new), c, np.zeros(more), c.copy())
            return
        self._make_room(more)
        G, c, _, g = self.state
        if m:
            across = self.columns.gram(new, self.members)
            G[m:more, :m], G[:m, m:more] = across, across.T
        G[m:more, m:more] = self.columns.gram(new, new)
        c[m:more] = self.full_c[new]
        self.members = np.append(self.members, new)
        self.inside[new] = True
        g[m:more] = c[m:more] - G[m:more, :m] @ self.state.beta[:m]

    def keep(self, places: IntArray) -> None:
        """Only the columns at these places."""
        G, c, beta, g = self.state
        self.inside[:] = False
        self.members = self.members[places]
        self.inside[self.members] = True
        self.state = GramState(G[np.ix_(places, places)], c[places], beta[places], g[places])

    def add_without_gram(self, new: IntArray) -> None:
        """Take in columns for coordinate descent on the residual, which needs no Gram matrix."""
        beta = np.append(self.state.beta[: len(self)], np.zeros(len(new)))
        self.members = np.append(self.members, new)
        self.inside[new] = True
        c = self.full_c[self.members]
        self.state = GramState(np.zeros((0, 0)), c, beta, np.zeros(len(beta)))
        self.has_gram = False

    def support(self) -> IntArray:
        """Positions in the working set of the coefficients that are not zero."""
        return self.state.beta[: len(self)].nonzero()[0]

    def _make_room(self, m: int) -> None:
        old = self.state
        capacity = len(old.c)
        if m <= capacity:
            return
        size = min(max(m, 2 * capacity, 64), self.columns.p)
        G = np.zeros((size, size))
        G[:capacity, :capacity] = old.G
        vectors = np.zeros((3, size))
        vectors[:, :capacity] = old.c, old.beta, old.g
        self.state = GramState(G, *vectors)
