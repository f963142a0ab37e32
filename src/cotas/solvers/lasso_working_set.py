"""The penalized Lasso by working sets: few columns at a time, all of them when it is proved."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np

from cotas.arrays import BoolArray, FloatArray, IntArray
from cotas.solvers.lasso_coordinate_descent import ResidualDescent
from cotas.solvers.lasso_gram import (
    OnGram,
    afresh,
    is_solved,
    newton,
    restricted_bounds,
    solve_on_gram,
)
from cotas.solvers.lasso_state import LassoColumns, LassoIterate, WorkingSet
from cotas.solvers.penalties import ElasticNetPenalty, Penalized, bounds, thresholds, times

# A Gram matrix of all the columns is formed at once up to this width.
WIDEST_GRAM = 1000
# Beyond so many columns the Gram matrix of the working set takes too much memory.
LARGEST_GRAM = 4000
# Part of the tolerance that is left to the problem restricted to the working set.
INNER = 0.3
# The way to a small λ, how well it is solved there, and how many strides between two looks where
# all the columns are in the Gram matrix: more if they read few entries of it.
STRIDE, ROUGH, STRIDES, FEW_ENTRIES = 0.9, 1e-3, 8, 1 << 14
MAX_ROUNDS, ROUNDS_BETWEEN_CHECKS = 1000, 20
# Seconds of compiled work after which a path comes up for air.
BREATH = 0.1


class WorkingSetLasso:
    """The penalized Lasso on centred columns, λ after λ, each started from the one before.

        min  ½⟨y − X̃β, y − X̃β⟩ + λΩ(β),      ⟨u, v⟩ = Σ sᵢuᵢvᵢ

    The working set holds every column that was ever likely to matter: the strong rule (Tibshirani
    et al. 2012) names those for the next λ, and those whose correlation with the residual turns
    out to exceed λ₁w come after. The problem on the working set needs their Gram matrix only.
    Departures: nothing is discarded on the word of the strong rule; the last gap for each λ is
    over all the columns.
    Invariant: a solution has the gap asked for, as far as the solver can see, or no column left
    to add.
    Cost: O(nnz) for each λ and each addition, and the Gram matrix of the working set.

    Parameters
    ----------
    columns, y : the data
    penalty : Ω, the penalty with λ = 1
    deadline : when to end with what there is, by `time.perf_counter`
    max_rounds : so many rounds at most, over all λ
    watched : somebody wants to see the models on the way, also of a table that is solved in one go
    """

    def __init__(
        self,
        columns: LassoColumns,
        y: Any,
        penalty: ElasticNetPenalty,
        deadline: float = np.inf,
        max_rounds: float = np.inf,
        watched: bool = False,
    ) -> None:
        self.columns: Any = columns  # of products alone, where all are in the working set
        self.penalty, self.watched = penalty, watched
        self.deadline, self.max_rounds = deadline, max_rounds
        # ρ are the correlations of all the columns with the residual.
        self.target: Any
        self.target, self.square, self.rho = columns.start(y)
        self.rounds = 0
        self.thresholds = thresholds(penalty)  # for λ = 1
        self.length_weights = self.thresholds / penalty.lam1
        # ⟨r, y⟩, ⟨r, r⟩ and β of all the columns, as the last look found them. Where all of them
        # are in the working set, β and the correlations are those of its state.
        self.products, self.beta = (self.square, self.square), np.zeros(columns.p)
        self.working = WorkingSet(columns, self.rho)
        self.whole = columns.p <= WIDEST_GRAM and columns.p <= 2 * columns.n
        if self.whole:
            self.working.add(np.arange(columns.p))
            self.beta, self.rho = self.working.state.beta, self.working.state.g
        self.largest_lam = self.lam = self._largest()
        empty = np.zeros(0)
        self.latest = LassoIterate(
            self.lam, empty.astype(np.int64), empty, 0.0, 0.5 * self.square, np.inf
        )
        if not self.thresholds.all():
            self._fit_unpenalized()

    def _fit_unpenalized(self) -> None:
        """Fit the coefficients without a penalty, at a λ that keeps all others at zero."""
        most, on = self.columns.lengths() * np.sqrt(self.square), self.thresholds > 0
        above = 2.0 * float((most[on] / self.thresholds[on]).max())
        _exhaust(self._iterates_at(above or 1.0, 0.0))
        self.largest_lam = self.lam = self._largest()

    def iterates(self, lam: float, tol: float) -> Iterator[LassoIterate]:
        """Yield what it has each time that it looked at all the columns, until P − D ≤ tol·P for λ.

        A λ far below the last one is approached in strides, roughly solved: from too far away the
        strong rule lets everything in, and far too many coefficients leave zero.
        """
        while lam < STRIDE * self.lam and not self.ended:
            if not self.whole:
                yield from self._iterates_at(STRIDE * self.lam, ROUGH)
                continue
            lams, found = self._stride(lam, tol)
            if self.watched:
                yield from self._on_the_way(lams[:-1], found)
            yield self._current(self.lam, found)
            if found.done and self.lam == lam:
                return
        if not self.ended:
            yield from self._iterates_at(lam, tol)

    def solve(self, lam: float, tol: float) -> LassoIterate:
        """Compute β for this λ with P − D ≤ tol·P, if there is time for it."""
        _exhaust(self.iterates(lam, tol))
        primal, gap = self.at(lam)
        return self.latest._replace(lam=lam, primal=primal, gap=gap)

    def path(self, lams: FloatArray, tol: float) -> Iterator[LassoIterate]:
        """Compute β for each λ, which should fall."""
        if not self.whole:
            yield from (self.solve(float(lam), tol) for lam in lams)
            return
        start, some = 0, 1
        while start < len(lams):
            began = time.perf_counter()
            part = lams[start : start + some].tolist()
            tols = np.full(len(part), tol)
            found = self._walk_on_gram(lams[start : start + some], tols)
            # As many at a time as take a breath, so that Ctrl-C is heard.
            more = min(2 * some, STRIDES) if time.perf_counter() - began < BREATH else 1
            start, some = start + some, more
            yield from self._on_the_way(part, found)

    def _on_the_way(self, lams: Sequence[float], found: OnGram) -> Iterator[LassoIterate]:
        """Compute β for each of the first λ of those that were solved in one go."""
        for lam, beta, value in zip(lams, found.betas, found.values.tolist(), strict=False):
            yield self._iterate(lam, beta.nonzero()[0], beta, Penalized(*value))

    def _stride(self, lam: float, tol: float) -> tuple[list[float], OnGram]:
        """Return some strides towards λ in one go, and to λ itself if so many get there."""
        few = max(STRIDES, FEW_ENTRIES // self.columns.p**2)
        most = min(few, self.max_rounds - self.rounds)
        steps = 1 + int(math.log(lam / self.lam) / math.log(STRIDE))
        count = int(max(1, min(most, steps)))
        lams, tols = self.lam * STRIDE ** np.arange(1.0, count + 1.0), np.full(count, ROUGH)
        if count == steps:
            lams[-1], tols[-1] = lam, tol
        found = self._walk_on_gram(lams, tols, ROUNDS_BETWEEN_CHECKS)
        self.lam = float(lams[-1])
        return lams.tolist(), found

    @property
    def ended(self) -> bool:
        """Tell whether the time or the rounds are spent."""
        return self.out_of_rounds or time.perf_counter() > self.deadline

    @property
    def out_of_rounds(self) -> bool:
        """Tell whether there were as many rounds as there may be."""
        return self.rounds >= self.max_rounds

    def at(self, lam: float) -> Penalized:
        """Compute P and P − D of the present β for another λ."""
        if self.whole:
            scaled = times(self.penalty, lam)
            return restricted_bounds(self.working.state, len(self.working), scaled, self.square)
        return bounds(times(self.penalty, lam), *self.products, self.rho, self.beta)

    def proved(self, tol: float) -> bool:
        """Tell whether the last gap seen is small enough."""
        return bool(is_solved(self.latest.gap, self.latest.primal, self.square, tol))

    def slope_of_length(self) -> float:
        """Compute −d(Σ wⱼ|βⱼ|)/dλ of a Lasso: sᵀG⁻¹s over the coefficients that are not zero, s =
        ±w.

        Zero where the Gram matrix is not at hand.
        """
        if not self.working.has_gram:
            return 0.0
        chosen = self.working.support()
        G, beta = self.working.state.G, self.working.state.beta
        signs = np.sign(beta[chosen]) * self._weights(self.working.members[chosen])
        return float(signs @ np.linalg.lstsq(G[np.ix_(chosen, chosen)], signs, rcond=None)[0])

    def _walk_on_gram(self, lams: FloatArray, tols: FloatArray, most: int = MAX_ROUNDS) -> OnGram:
        """Compute β on the working set for each λ, after so many rounds for each at most."""
        state, m, penalty = self.working.state, len(self.working), self._penalty(1.0)
        found = solve_on_gram(state, m, lams, penalty, self.square, INNER * tols, most)
        self.rounds += found.rounds
        if found.done and not self.thresholds.all():
            # Once more: q of a coefficient without a penalty is zero then, but for rounding. The
            # proof charges it with a bound of the coefficient that can be far above it.
            newton(state, m, times(penalty, float(lams[-1])))
            afresh(state, m)
        return found

    def _iterate(
        self, lam: float, support: IntArray, beta: FloatArray, found: Penalized
    ) -> LassoIterate:
        length = float(np.abs(beta[support]) @ self._weights(support))
        return LassoIterate(lam, support, beta[support], length, *found)

    def _weights(self, chosen: IntArray) -> FloatArray:
        """Compute w of the chosen columns."""
        w = self.length_weights
        return w[chosen] if w.ndim else np.full(len(chosen), float(w))

    def _iterates_at(self, lam: float, tol: float) -> Iterator[LassoIterate]:
        if not self.whole:
            likely = self._reach() >= (2 * lam - self.lam) * self.thresholds
            self._enlarge(np.flatnonzero(likely & ~self.working.inside))
        self.lam = lam
        while True:
            solved = yield from self._iterates_on_working_set(lam, tol)
            if not solved or self.whole or self.proved(tol):
                return
            new = np.flatnonzero(self._steep(lam) & ~self.working.inside)
            if len(new) == 0:
                return
            self._enlarge(self._steepest(new, max(100, len(self.working))))

    def _enlarge(self, new: IntArray) -> None:
        """Add columns. Once there are too many, those at zero go, and then the Gram matrix."""
        if len(self.working) + len(new) > LARGEST_GRAM and self.working.has_gram:
            self.working.keep(self.working.support())
        if len(self.working) + len(new) <= LARGEST_GRAM and self.working.has_gram:
            self.working.add(new)
        else:
            self.working.add_without_gram(new)

    def _reach(self) -> FloatArray:
        """Return the correlations that a coefficient can follow."""
        return self.rho if self.penalty.positive else np.abs(self.rho)

    def _steep(self, lam: float) -> BoolArray:
        """Tell whether a coefficient at zero would leave it."""
        return np.asarray(self._reach() > lam * self.thresholds)

    def _steepest(self, new: IntArray, most: int) -> IntArray:
        """Choose no more columns at a time than the working set has."""
        if len(new) <= most:
            return new
        with np.errstate(divide="ignore"):
            order = np.argsort(-self._reach()[new] / self._weights(new))
        return np.sort(new[order[:most]])

    def _largest(self) -> float:
        """Return the least λ for which all coefficients with a penalty are zero."""
        on, reach, limits = self.thresholds > 0, self._reach(), self.thresholds
        if limits.ndim:
            reach, limits = reach[on], limits[on]
        return max(0.0, float((reach / limits).max(initial=0.0))) if on.any() else 0.0

    def _penalty(self, lam: float) -> ElasticNetPenalty:
        """Return the penalty of the working set."""
        penalty: ElasticNetPenalty = times(self.penalty, lam)
        if not len(penalty.weights):
            return penalty
        return penalty._replace(weights=penalty.weights[self.working.members])

    def _iterates_on_working_set(
        self, lam: float, tol: float
    ) -> Generator[LassoIterate, None, bool]:
        """Solve the problem on the working set; whether that was done."""
        if not self.working.has_gram:
            return (yield from self._descend(lam, self._penalty(lam), INNER * tol))
        for _ in range(MAX_ROUNDS // ROUNDS_BETWEEN_CHECKS):
            most = int(min(ROUNDS_BETWEEN_CHECKS, max(1, self.max_rounds - self.rounds)))
            found = self._walk_on_gram(np.array([lam]), np.array([tol]), most)
            yield self._current(lam, found)
            if found.done:
                return True
            if self.ended:
                return False
        return False

    def _descend(
        self, lam: float, penalty: ElasticNetPenalty, tol: float
    ) -> Generator[LassoIterate, None, bool]:
        """Run rounds of sweeps on the residual, each ten times as careful, until the gap is
        proved."""
        working, beta = self.working, self.working.state.beta
        descent = ResidualDescent(self.columns, self.target, working.members, beta, penalty)
        careful, before = tol * max(self.latest.primal, 0.5e-9 * self.square), np.inf
        while True:
            settled = descent.solve(careful, self.deadline)
            self.rounds += 1
            beta[:] = descent.beta
            self._current(lam)
            outside = self._steep(lam) & ~working.inside
            done = self.proved(tol) or outside.any() or careful < 1e-30 * self.square
            if done:
                self._settle_unpenalized(lam)
            yield self.latest
            if done:
                return True
            if self.ended or not (settled or self.latest.gap < before):
                return False
            careful, before = careful * (0.1 if settled else 1.0), self.latest.gap

    def _settle_unpenalized(self, lam: float) -> None:
        """Regress the residual on the columns without a penalty: q is zero then, but for rounding.

        The proof charges it with a bound of the coefficient that can be far above it.
        """
        places = np.flatnonzero(self._weights(self.working.members) == 0)
        if len(places) and not self.penalty.positive:
            free = self.working.members[places]
            step = np.linalg.lstsq(self.columns.gram(free, free), self.rho[free], rcond=None)[0]
            self.working.state.beta[places] += step
            self._current(lam)

    def _current(self, lam: float, found: OnGram | None = None) -> LassoIterate:
        """Compute correlations of all the columns with the residual, P, and P − D."""
        working, state = self.working, self.working.state
        if not self.whole:
            chosen = working.support()
            members, beta = working.members[chosen], state.beta[chosen]
            residual = self.target - self.columns.combination(members, beta)
            self.rho = self.columns.correlations(residual)
            # The Gram matrix drifts from the data by rounding; the data are right.
            state.g[: len(working)] = self.rho[working.members]
            weighted = self.columns.weights * residual
            self.products = float(weighted @ self.target), float(weighted @ residual)
            self.beta = np.zeros(self.columns.p)
            self.beta[members] = beta
        of_all = None if found is None or not self.whole else found.values[-1].tolist()
        values = Penalized(*(of_all or self.at(lam)))
        self.latest = self._iterate(lam, self.beta.nonzero()[0], self.beta, values)
        return self.latest


def _exhaust(iterates: Iterator[LassoIterate]) -> None:
    for _ in iterates:
        pass
