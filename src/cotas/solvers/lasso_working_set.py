"""The penalised Lasso by working sets: few columns at a time, all of them when it is proved."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.design.centred import CentredColumns
from cotas.solvers.lasso_coordinate_descent import ResidualDescent
from cotas.solvers.lasso_gram import GramState, enough, path_on_gram, solve_on_gram

# A Gram matrix of all the columns is formed at once up to this width.
WIDEST_GRAM = 1000
# Beyond so many columns the Gram matrix of the working set takes too much memory.
LARGEST_GRAM = 4000
# Part of the tolerance that is left to the problem restricted to the working set.
INNER = 0.3
# The way to a small λ, and how well it is solved there.
STRIDE, ROUGH = 0.9, 1e-3
MAX_ROUNDS, ROUNDS_BETWEEN_LOOKS = 1000, 20


class LassoIterate(NamedTuple):
    """One solution of the penalised problem, in the units of the centred and scaled columns."""

    lam: float
    support: IntArray
    beta: FloatArray  # on the support
    primal: float
    gap: float


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


class WorkingSetLasso:
    """The penalised Lasso on centred columns, λ after λ, each started from the one before.

        min  ½⟨y − X̃β, y − X̃β⟩ + λ‖β‖₁,      ⟨u, v⟩ = Σ sᵢuᵢvᵢ      (β ≥ 0 if positive)

    The working set holds every column that was ever likely to matter: the strong rule (Tibshirani
    et al. 2012) names those for the next λ, and those whose correlation with the residual turns
    out to exceed λ come after. The problem on the working set needs their Gram matrix only.
    Departures: nothing is discarded on the word of the rule; the gap is over all the columns.
    Invariant: a solution has the gap asked for, as far as the solver can see, or no column left
    to add.
    Cost: O(nnz) for each λ and each addition, and the Gram matrix of the working set.
    """

    def __init__(self, columns: CentredColumns, y: FloatArray, positive: bool = False) -> None:
        self.columns, self.positive = columns, positive
        self.target = columns.centred(y)
        self.square = float(columns.weights @ self.target**2)
        self.rho = columns.start(self.target, self.square)  # with the residual, of all the columns
        self.largest_lam = _largest(self.rho, positive)
        self.lam = self.largest_lam
        self.primal, self.gap = 0.5 * self.square, np.inf
        self.rounds = 0
        self.working = WorkingSet(columns, self.rho)
        self.whole = columns.p <= WIDEST_GRAM and columns.p <= 2 * columns.n
        if self.whole:
            self.working.add(np.arange(columns.p))

    def solve(self, lam: float, tol: float, deadline: float = np.inf) -> LassoIterate:
        """β for this λ with P − D ≤ tol·min(max(1, P), ⟨y, y⟩), if the deadline allows.

        A λ far below the last one is approached in strides, roughly solved: from too far away the
        strong rule lets everything in, and far too many coefficients leave zero.
        """
        while lam < STRIDE * self.lam and time.perf_counter() < deadline:
            self._solve_at(STRIDE * self.lam, ROUGH, deadline)
        return self._solve_at(lam, tol, deadline)

    def _solve_at(self, lam: float, tol: float, deadline: float) -> LassoIterate:
        working = self.working
        if not self.whole:
            likely = self._reach(self.rho) >= 2 * lam - self.lam
            self._enlarge(np.flatnonzero(likely & ~working.inside))
        self.lam = lam
        while True:
            settled = self._solve_on_working_set(lam, INNER * tol, deadline)
            self._look(lam)
            if self.whole or not settled or self.proved(tol):
                return self.current()
            new = np.flatnonzero((self._reach(self.rho) > lam) & ~working.inside)
            if len(new) == 0:
                return self.current()
            self._enlarge(_steepest(new, self.rho, max(100, len(working))))

    def path(self, lambdas: FloatArray, tol: float) -> list[LassoIterate]:
        """β for each λ, which should fall."""
        if not self.whole:
            return [self.solve(float(lam), tol) for lam in lambdas]
        betas, values = np.empty((len(lambdas), self.columns.p)), np.empty((len(lambdas), 2))
        state = self.working.state
        self.rounds += path_on_gram(
            state, lambdas, self.positive, self.square, INNER * tol, MAX_ROUNDS, betas, values
        )
        found = []
        for lam, beta, (primal, gap) in zip(lambdas.tolist(), betas, values.tolist(), strict=True):
            support = beta.nonzero()[0]
            found.append(LassoIterate(lam, support, beta[support], primal, gap))
        return found

    def _enlarge(self, new: IntArray) -> None:
        """More columns. Once there are too many, those at zero go, and then the Gram matrix."""
        if len(self.working) + len(new) > LARGEST_GRAM and self.working.has_gram:
            self.working.keep(self.working.support())
        if len(self.working) + len(new) <= LARGEST_GRAM and self.working.has_gram:
            self.working.add(new)
        else:
            self.working.add_without_gram(new)

    def proved(self, tol: float) -> bool:
        """Whether the gap over all the columns is small enough."""
        return bool(enough(self.gap, self.primal, self.square, tol))

    def current(self) -> LassoIterate:
        """Where the solver stands, whatever interrupted it."""
        chosen = self.working.support()
        beta = self.working.state.beta[chosen].copy()
        members = self.working.members[chosen]
        return LassoIterate(self.lam, members, beta, self.primal, self.gap)

    def slope_of_length(self) -> float:
        """−d‖β‖₁/dλ at the solution: sᵀG⁻¹s over the coefficients that are not zero.

        Zero where the Gram matrix is not at hand.
        """
        if not self.working.has_gram:
            return 0.0
        chosen = self.working.support()
        G, beta = self.working.state.G, self.working.state.beta
        signs = np.sign(beta[chosen])
        return float(signs @ np.linalg.lstsq(G[np.ix_(chosen, chosen)], signs, rcond=None)[0])

    def _reach(self, rho: FloatArray) -> FloatArray:
        return rho if self.positive else np.abs(rho)

    def _solve_on_working_set(self, lam: float, tol: float, deadline: float) -> bool:
        m = len(self.working)
        if not self.working.has_gram:
            return self._descend(lam, tol, deadline)
        for _ in range(MAX_ROUNDS // ROUNDS_BETWEEN_LOOKS):
            done, rounds = solve_on_gram(
                self.working.state, m, lam, self.positive, self.square, tol, ROUNDS_BETWEEN_LOOKS
            )
            self.rounds += rounds
            if done:
                return True
            if time.perf_counter() > deadline:
                return False
        return False

    def _descend(self, lam: float, tol: float, deadline: float) -> bool:
        """Rounds of sweeps on the residual, each ten times as careful, until the gap is proved."""
        working, beta = self.working, self.working.state.beta
        descent = ResidualDescent(self.columns, self.target, working.members, beta, self.positive)
        careful = tol * min(max(1.0, self.primal), self.square)
        while True:
            settled = descent.solve(lam, careful, deadline)
            self.rounds += 1
            beta[:] = descent.beta
            self._look(lam)
            outside = (self._reach(self.rho) > lam) & ~working.inside
            if self.proved(tol) or outside.any() or not settled or careful < 1e-30 * self.square:
                return settled
            careful *= 0.1

    def _look(self, lam: float) -> None:
        """Correlations of all the columns with the residual, P, and P − D over all of them."""
        working, state = self.working, self.working.state
        chosen = working.support()
        beta = state.beta[chosen]
        if self.whole:
            # Afresh, so that the rounding of many steps does not add up.
            self.rho = state.c - beta @ state.G[chosen]
            state.g[:] = self.rho
            a = self.square - float(beta @ state.c[chosen])
            b = max(a - float(beta @ self.rho[chosen]), 0.0)
        else:
            residual = self.target - self.columns.combination(working.members[chosen], beta)
            self.rho = self.columns.correlations(residual)
            weighted = self.columns.weights * residual
            a, b = float(weighted @ self.target), float(weighted @ residual)
            # The Gram matrix drifts from the data by rounding; the data are right.
            state.g[: len(working)] = self.rho[working.members]
        steepest = _largest(self.rho, self.positive)
        self.primal = self.gap = 0.5 * b + lam * float(np.abs(beta).sum())
        if a > 0 and b > 0:
            kappa = min(a / b, lam / steepest) if steepest > 0 else a / b
            self.gap = self.primal - kappa * a + 0.5 * kappa**2 * b


def _largest(rho: FloatArray, positive: bool) -> float:
    return max(0.0, float((rho if positive else np.abs(rho)).max(initial=0.0)))


def _steepest(new: IntArray, rho: FloatArray, most: int) -> IntArray:
    """No more columns at a time than the working set has."""
    if len(new) <= most:
        return new
    return np.sort(new[np.argsort(-np.abs(rho[new]))[:most]])
