"""The penalised Lasso by working sets: few columns at a time, all of them when it is proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.design.centred import CentredColumns
from cotas.solvers.lasso_gram import GramState, solve_on_gram

# A Gram matrix of all the columns is formed at once up to this width.
WIDEST_GRAM = 1000
# Part of the tolerance that is left to the problem restricted to the working set.
INNER = 0.3
MAX_ROUNDS = 1000


class LassoIterate(NamedTuple):
    """One solution of the penalised problem, in the units of the centred and scaled columns."""

    lam: float
    support: IntArray
    beta: FloatArray  # on the support
    primal: float
    gap: float


class WorkingSet:
    """Some columns, their Gram matrix, and β on them; columns are added and never taken away."""

    def __init__(self, columns: CentredColumns, c: FloatArray) -> None:
        self.columns, self.full_c = columns, c
        self.members = np.zeros(0, dtype=np.int64)
        self.inside = np.zeros(columns.p, dtype=np.bool_)
        self.state = GramState(np.zeros((0, 0)), np.zeros(0), np.zeros(0), np.zeros(0))

    def __len__(self) -> int:
        return len(self.members)

    def add(self, new: IntArray) -> None:
        """Take in columns that are not there yet."""
        m, more = len(self), len(self) + len(new)
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

    def support(self) -> IntArray:
        """Positions in the working set of the coefficients that are not zero."""
        return np.flatnonzero(self.state.beta[: len(self)])

    def _make_room(self, m: int) -> None:
        old = self.state
        capacity = len(old.c)
        if m <= capacity:
            return
        size = min(max(m, 2 * capacity, 64), self.columns.p)
        G = np.zeros((size, size))
        G[:capacity, :capacity] = old.G
        vectors = [np.append(v, np.zeros(size - capacity)) for v in (old.c, old.beta, old.g)]
        self.state = GramState(G, *vectors)


def lasso_working_sets(
    columns: CentredColumns,
    y: FloatArray,
    lambdas: Sequence[float],
    tol: FloatArray,
    positive: bool = False,
) -> Iterator[LassoIterate]:
    """The solution for each λ, each started from the one before; λ should fall.

        min  ½⟨y − X̃β, y − X̃β⟩ + λ‖β‖₁,      ⟨u, v⟩ = Σ sᵢuᵢvᵢ

    The working set holds every column that was ever likely to matter: the strong rule (Tibshirani
    et al. 2012) names those for the next λ, and those whose correlation with the residual turns
    out to exceed λ come after. The problem on the working set needs their Gram matrix only.
    Departures: nothing is discarded on the word of the rule; the gap is over all the columns.
    Invariant: a solution is handed over with P − D ≤ tol, as far as the solver can see, or with
    no column left to add. Cost: O(nnz) for each λ and each addition, and the Gram matrix.
    """
    target = y - columns.weights @ y if columns.centre else y
    square = float(columns.weights @ target**2)
    c = columns.correlations(target)
    working = WorkingSet(columns, c)
    whole = columns.p <= WIDEST_GRAM and columns.p <= 2 * columns.n
    if whole:
        working.add(np.arange(columns.p))
    rho, previous = c, float((c if positive else np.abs(c)).max(initial=0.0))
    for lam, allowed in zip(lambdas, tol, strict=True):
        if not whole:
            likely = (rho if positive else np.abs(rho)) >= max(2 * lam - min(previous, lam * 2), 0)
            working.add(np.flatnonzero(likely & ~working.inside))
        while True:
            solve_on_gram(
                working.state, len(working), lam, positive, square, INNER * allowed, MAX_ROUNDS
            )
            rho, primal, gap = _look(columns, working, target, lam, positive, square, whole)
            violating = (rho if positive else np.abs(rho)) > lam
            new = np.flatnonzero(violating & ~working.inside)
            if gap <= allowed or len(new) == 0:
                break
            working.add(_steepest(new, rho, max(100, len(working))))
        chosen = working.support()
        beta = working.state.beta[chosen].copy()
        yield LassoIterate(lam, working.members[chosen], beta, primal, gap)
        previous = lam


def _steepest(new: IntArray, rho: FloatArray, most: int) -> IntArray:
    """No more columns at a time than the working set has."""
    if len(new) <= most:
        return new
    return np.sort(new[np.argsort(-np.abs(rho[new]))[:most]])


def _look(
    columns: CentredColumns,
    working: WorkingSet,
    target: FloatArray,
    lam: float,
    positive: bool,
    square: float,
    whole: bool,
) -> tuple[FloatArray, float, float]:
    """Correlations of all the columns with the residual, P, and P − D over all the columns."""
    chosen = working.support()
    beta = working.state.beta[chosen]
    if whole:
        rho = working.state.g.copy()
        a = square - float(beta @ working.state.c[chosen])
        b = max(a - float(beta @ rho[chosen]), 0.0)
    else:
        residual = target - columns.combination(working.members[chosen], beta)
        rho = columns.correlations(residual)
        weighted = columns.weights * residual
        a, b = float(weighted @ target), float(weighted @ residual)
        # The Gram matrix drifts from the data by rounding; the data are right.
        working.state.g[: len(working)] = rho[working.members]
    primal = 0.5 * b + lam * float(np.abs(beta).sum())
    steepest = float((rho if positive else np.abs(rho)).max(initial=0.0))
    if a <= 0 or b <= 0:
        return rho, primal, primal
    kappa = min(a / b, lam / steepest) if steepest > 0 else a / b
    return rho, primal, primal - kappa * a + 0.5 * kappa**2 * b
