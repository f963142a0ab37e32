"""Where a solver of the penalized Lasso stands: the columns it looks at, and its solutions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.design.centred import CentredColumns
from cotas.solvers.lasso_gram import GramState
from cotas.solvers.moments import Moments


class LassoIterate(NamedTuple):
    """One solution of the penalized problem, in the units of the centred and scaled columns."""

    lam: float
    support: IntArray
    beta: FloatArray  # on the support
    length: float  # Σ wⱼ|βⱼ|
    primal: float
    gap: float


class ProductColumns:
    """Few columns of all the rows as their products show them; a target is known by its number.

    A column that does not vary has no part beside a free bias.
    """

    def __init__(self, moments: Moments, n: int, free: bool, standardize: bool) -> None:
        gram, cross = moments.hessian(free), moments.slope(free)
        used = ~moments.constant() if free else np.ones(len(gram), np.bool_)
        lengths = np.sqrt(np.maximum(gram.diagonal(), 0.0))
        self.n, self.p, self.standardize = n, len(gram), standardize
        self.scale = np.where(used & (lengths > 0), lengths if standardize else 1.0, 1.0)
        self.products = np.ascontiguousarray(gram / self.scale / self.scale[:, None])
        self.products *= used & used[:, None]
        self.cross = np.where(used, cross.T / self.scale, 0.0)
        self.squares = moments.target_scatter + (0.0 if free else moments.target_mean**2)

    def start(self, y: int) -> tuple[None, float, FloatArray]:
        """Return ⟨y, y⟩ and the correlations of the columns with y."""
        return None, float(self.squares[y]), self.cross[y]

    def gram(self, some: IntArray, others: IntArray) -> FloatArray:
        """Return the products of some columns with others; all of them are what is there."""
        whole = len(some) == len(others) == self.p
        return self.products if whole else self.products[np.ix_(some, others)]

    def lengths(self) -> FloatArray:
        """Return the length of each column."""
        return np.sqrt(self.products.diagonal())


LassoColumns = CentredColumns | ProductColumns


class WorkingSet:
    """Some columns, their Gram matrix, and β on them."""

    def __init__(self, columns: LassoColumns, c: FloatArray) -> None:
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
        """Keep only the columns at these places."""
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
        """Return positions in the working set of the coefficients that are not zero."""
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
