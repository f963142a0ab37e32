"""The penalized Lasso by working sets: few columns at a time, all of them when it is proved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.design.centred import CentredColumns
from cotas.solvers.lasso_columns import WorkingSet
from cotas.solvers.lasso_coordinate_descent import ResidualDescent
from cotas.solvers.lasso_gram import path_on_gram, solve_on_gram
from cotas.solvers.lasso_screening import lengths_at_most, proved_zero
from cotas.solvers.lasso_state import Bounds, LassoIterate, bounds, enough

# A Gram matrix of all the columns is formed at once up to this width.
WIDEST_GRAM = 1000
# Beyond so many columns the Gram matrix of the working set takes too much memory.
LARGEST_GRAM = 4000
# Part of the tolerance that is left to the problem restricted to the working set.
INNER = 0.3
# The way to a small λ, and how well it is solved there.
STRIDE, ROUGH = 0.9, 1e-3
MAX_ROUNDS, ROUNDS_BETWEEN_LOOKS = 1000, 20
# The columns left by the gap are copied, to be read alone, when they are so many times fewer.
WORTH_A_COPY = 4
# Seconds of compiled work after which a path comes up for air.
BREATH = 0.1


class WorkingSetLasso:
    """The penalized Lasso on centred columns, λ after λ, each started from the one before.

        min  ½⟨y − X̃β, y − X̃β⟩ + λ‖β‖₁,      ⟨u, v⟩ = Σ sᵢuᵢvᵢ      (β ≥ 0 if positive)

    The working set holds every column that was ever likely to matter: the strong rule (Tibshirani
    et al. 2012) names those for the next λ, and those whose correlation with the residual turns
    out to exceed λ come after. The problem on the working set needs their Gram matrix only. A
    column whose zero is proved by the gap (Ndiaye et al. 2017), that of the last solution at the
    new λ or that of a look on the way, is out until the next λ: it neither enters nor is read.
    Departures: nothing is discarded on the word of the strong rule; the last gap for each λ is
    over all the columns.
    Invariant: a solution has the gap asked for, as far as the solver can see, or no column left
    to add.
    Cost: O(nnz) for each λ and each addition, and the Gram matrix of the working set.

    Parameters
    ----------
    columns, y, positive : the problem
    deadline : when to end with what there is, by `time.perf_counter`
    screening : whether proved zeros leave; the solutions are the same
    """

    def __init__(
        self,
        columns: CentredColumns,
        y: FloatArray,
        positive: bool = False,
        deadline: float = np.inf,
        screening: bool = True,
    ) -> None:
        self.columns, self.positive, self.screening = columns, positive, screening
        self.deadline = deadline
        # Told after each look; True ends the work.
        self.tell: Callable[[LassoIterate], bool] = lambda _: False
        self.asked_to_stop = False
        self.target = columns.centred(y)
        self.square = float(columns.weights @ self.target**2)
        self.rho = columns.start(self.target, self.square)  # with the residual, of all the columns
        self.largest_lam = _largest(self.rho, positive)
        self.lam = self.largest_lam
        self.rounds = 0
        # ⟨r, y⟩, ⟨r, r⟩, ‖β‖₁ and the largest correlation, as the last look found them.
        self.products = (self.square, self.square, 0.0, self.largest_lam)
        nothing = np.zeros(0)
        self.latest = LassoIterate(
            self.lam, nothing.astype(np.int64), nothing, 0.5 * self.square, np.inf
        )
        self.out = np.zeros(columns.p, dtype=np.bool_)
        self.left: tuple[IntArray, CentredColumns] | None = None
        self.working = WorkingSet(columns, self.rho)
        self.whole = columns.p <= WIDEST_GRAM and columns.p <= 2 * columns.n
        if self.whole:
            self.working.add(np.arange(columns.p))

    def solve(self, lam: float, tol: float) -> LassoIterate:
        """β for this λ with P − D ≤ tol·P, if there is time for it.

        A λ far below the last one is approached in strides, roughly solved: from too far away the
        strong rule lets everything in, and far too many coefficients leave zero.
        """
        while lam < STRIDE * self.lam and not self.ended:
            self._solve_at(STRIDE * self.lam, ROUGH)
        if self.ended:
            primal, gap, _ = self.at(lam)
            return self.latest._replace(lam=lam, primal=primal, gap=gap)
        return self._solve_at(lam, tol)

    def path(self, lams: FloatArray, tol: float) -> Iterator[LassoIterate]:
        """β for each λ, which should fall."""
        if not self.whole:
            yield from (self.solve(float(lam), tol) for lam in lams)
            return
        start, some = 0, 1
        while start < len(lams):
            began = time.perf_counter()
            found = self._path_on_gram(lams[start : start + some], tol)
            # As many at a time as take a breath, so that Ctrl-C is heard.
            start, some = start + some, 2 * some if time.perf_counter() - began < BREATH else 1
            yield from found

    @property
    def ended(self) -> bool:
        """Whether the time is up, or someone asked to stop."""
        return self.asked_to_stop or time.perf_counter() > self.deadline

    def at(self, lam: float) -> Bounds:
        """P and P − D of the present β for another λ."""
        return bounds(*self.products, lam)

    def proved(self, tol: float) -> bool:
        """Whether the last gap seen is small enough."""
        return bool(enough(self.latest.gap, self.latest.primal, self.square, tol))

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

    def _path_on_gram(self, lams: FloatArray, tol: float) -> list[LassoIterate]:
        betas, values = np.empty((len(lams), self.columns.p)), np.empty((len(lams), 2))
        problem = (self.positive, self.square, INNER * tol, MAX_ROUNDS, self.screening)
        self.rounds += path_on_gram(self.working.state, lams, *problem, betas, values)
        found = []
        for lam, beta, (primal, gap) in zip(lams.tolist(), betas, values.tolist(), strict=True):
            support = beta.nonzero()[0]
            found.append(LassoIterate(lam, support, beta[support], primal, gap))
        return found

    def _solve_at(self, lam: float, tol: float) -> LassoIterate:
        self.out[:] = False
        if not self.whole:
            self._screen(lam)
            likely = self._reach(self.rho) >= 2 * lam - self.lam
            self._enlarge(np.flatnonzero(likely & ~self.out & ~self.working.inside))
        self.lam = lam
        before = np.inf
        while self._solve_on_working_set(lam, INNER * tol) and not self._settled(lam, tol):
            steep = self._reach(self.rho) > lam
            new = np.flatnonzero(steep & ~self.out & ~self.working.inside)
            # Columns that stood outside may have been proved zero since: then it goes on without.
            if len(new) == 0 and not self.latest.gap < before:
                break
            before = self.latest.gap
            if len(new):
                self._enlarge(_steepest(new, self.rho, max(100, len(self.working))))
        self._look_at_all(lam)
        return self.latest

    def _settled(self, lam: float, tol: float) -> bool:
        """Whether the gap over all the columns is small enough; if not, what it proves goes out."""
        if self.whole:
            return True
        if self.proved(tol):
            self._look_at_all(lam)
            if self.proved(tol):
                return True
            self.out[:] = False
        self._screen(lam)
        self._narrow()
        return False

    @cached_property
    def lengths(self) -> FloatArray:
        """‖x̃ⱼ‖ of all the columns, at most."""
        return lengths_at_most(self.columns)

    def _screen(self, lam: float) -> None:
        """Columns whose zero the last look proves for this λ go out; those inside are let be."""
        if self.screening:
            zero = proved_zero(self._reach(self.rho), self.lengths, self.at(lam), lam, self.square)
            self.out |= zero & ~self.working.inside

    def _narrow(self) -> None:
        """Read only the columns that are left from now on, if they are few."""
        places = np.flatnonzero(~self.out)
        now = self.columns.p if self.left is None else len(self.left[0])
        if WORTH_A_COPY * len(places) <= now:
            whole = self.columns
            scaled = bool((whole.scale != 1.0).any())
            narrow = CentredColumns(whole.X[:, places], whole.weights, whole.centre, scaled)
            self.left = (places, narrow)

    def _enlarge(self, new: IntArray) -> None:
        """More columns. Once there are too many, those at zero go, and then the Gram matrix."""
        if len(self.working) + len(new) > LARGEST_GRAM and self.working.has_gram:
            self.working.keep(self.working.support())
        if len(self.working) + len(new) <= LARGEST_GRAM and self.working.has_gram:
            self.working.add(new)
        else:
            self.working.add_without_gram(new)

    def _reach(self, rho: FloatArray) -> FloatArray:
        return rho if self.positive else np.abs(rho)

    def _solve_on_working_set(self, lam: float, tol: float) -> bool:
        """Whether it was solved; it ends with a look."""
        if not self.working.has_gram:
            return self._descend(lam, tol)
        problem = (lam, self.positive, self.square, tol, ROUNDS_BETWEEN_LOOKS, self.screening)
        for _ in range(MAX_ROUNDS // ROUNDS_BETWEEN_LOOKS):
            done, rounds = solve_on_gram(self.working.state, len(self.working), *problem)
            self.rounds += rounds
            self._look(lam)
            if done:
                return True
            if self.ended:
                return False
        return False

    def _descend(self, lam: float, tol: float) -> bool:
        """Rounds of sweeps on the residual, each ten times as careful, until the gap is proved."""
        working, beta = self.working, self.working.state.beta
        descent = ResidualDescent(self.columns, self.target, working.members, beta, self.positive)
        careful = tol * max(self.latest.primal, 0.5e-9 * self.square)
        while True:
            settled = descent.solve(lam, careful, self.deadline)
            self.rounds += 1
            beta[:] = descent.beta
            self._look(lam)
            outside = (self._reach(self.rho) > lam) & ~self.out & ~working.inside
            if self.proved(tol) or outside.any() or not settled or careful < 1e-30 * self.square:
                return settled
            if self.ended:
                return False
            careful *= 0.1

    def _look_at_all(self, lam: float) -> None:
        """Once more over all the columns, if the last look was not."""
        if self.left is not None:
            self.left = None
            self._look(lam)

    def _look(self, lam: float) -> None:
        """Correlations of the columns with the residual, P, and P − D over all that are read."""
        working, state = self.working, self.working.state
        chosen = working.support()
        beta = state.beta[chosen].copy()
        if self.whole:
            # Afresh, so that the rounding of many steps does not add up.
            self.rho = state.c - beta @ state.G[chosen]
            a = self.square - float(beta @ state.c[chosen])
            b = max(a - float(beta @ self.rho[chosen]), 0.0)
        else:
            residual = self.target - self.columns.combination(working.members[chosen], beta)
            self._correlate(residual)
            weighted = self.columns.weights * residual
            a, b = float(weighted @ self.target), float(weighted @ residual)
        # The Gram matrix drifts from the data by rounding; the data are right.
        state.g[: len(working)] = self.rho[working.members]
        read = self.rho if self.left is None else self.rho[self.left[0]]
        self.products = (a, b, float(np.abs(beta).sum()), _largest(read, self.positive))
        found = self.at(lam)
        members = working.members[chosen]
        self.latest = LassoIterate(lam, members, beta, found.primal, found.gap)
        self.asked_to_stop |= bool(self.tell(self.latest))

    def _correlate(self, residual: FloatArray) -> None:
        """ρ of all the columns, or of those that are left."""
        if self.left is None:
            self.rho = self.columns.correlations(residual)
        else:
            places, narrow = self.left
            self.rho[places] = narrow.correlations(residual)


def _largest(rho: FloatArray, positive: bool) -> float:
    return max(0.0, float((rho if positive else np.abs(rho)).max(initial=0.0)))


def _steepest(new: IntArray, rho: FloatArray, most: int) -> IntArray:
    """No more columns at a time than the working set has."""
    if len(new) <= most:
        return new
    return np.sort(new[np.argsort(-np.abs(rho[new]))[:most]])
