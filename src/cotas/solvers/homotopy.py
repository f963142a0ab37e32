"""The exact Lasso path: from one breakpoint to the next, as λ falls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from cotas.arrays import FloatArray, IntArray
from cotas.solvers.lasso_state import LassoColumns, LassoIterate, WorkingSet
from cotas.solvers.lasso_working_set import WIDEST_GRAM
from cotas.solvers.penalties import ElasticNetPenalty

# A column that would join at a rate so near that of λ lies in the span of those inside.
PARALLEL = 1e-9


class ActiveSet(NamedTuple):
    """The coefficients that are not zero (positions in the working set), and their signs."""

    inside: list[int]
    signs: list[float]


class Homotopy:
    """The path β(λ): linear in λ between the values where a coefficient leaves zero or returns to
    it.

        min  ½⟨y − X̃β, y − X̃β⟩ + λ‖β‖₁      (β ≥ 0 if positive)

    LARS with the Lasso modification (Osborne et al. 2000, Efron et al. 2004). On a face with
    signs s, β = G⁻¹(c − λs), so that β moves along d = G⁻¹s as λ falls, and the correlations of
    all columns along a = X̃ᵀX̃d. The face ends where |ρⱼ| of a column outside reaches λ, or where a
    coefficient inside reaches zero.
    Departures: β and ρ are computed afresh on each face and not carried along, so that rounding
    does not add up. LassoColumns in the span of those inside never join.
    Invariant: at every knot the KKT conditions hold. Cost: O(nnz) and a factorization O(k³) a
    knot. There can be exponentially many knots; in practice a few times min(n, p).
    """

    def __init__(self, columns: LassoColumns, y: Any, penalty: ElasticNetPenalty) -> None:
        self.columns: Any = columns  # of products alone, where all are in the working set
        self.positive = penalty.positive
        self.target: Any
        self.target, self.square, self.c = columns.start(y)
        self.working = WorkingSet(columns, self.c)
        self.whole = columns.p <= WIDEST_GRAM and columns.p <= 2 * columns.n
        if self.whole:
            self.working.add(np.arange(columns.p))
        self.largest_lam = max(0.0, float(self._reach(self.c).max(initial=0.0)))

    def knots(self, most: float, least: float) -> Iterator[LassoIterate]:
        """Yield the solutions at `most`, at least λ_max, at each breakpoint below, and at
        `least`."""
        lam, face, dropped = self.largest_lam, ActiveSet([], []), (-1, 0.0)
        yield self._iterate(most, face, np.zeros(0))
        if lam <= least:
            return
        self._join(face, int(self._reach(self.c).argmax()), self.c)
        while lam > least:
            beta0, d = self._line(face)
            rho, a = self._correlations(face, beta0 - lam * d, d)
            joins, newcomer = self._next_to_join(face, lam, rho, a, dropped)
            leaves, leaver = self._next_to_leave(face, lam, beta0, d)
            step = min(joins, leaves, lam - least)
            lam = least if step == lam - least else lam - step
            beta = beta0 - lam * d
            dropped = (-1, 0.0)
            if step == leaves and leaves <= joins:
                beta[leaver] = 0.0
            yield self._iterate(lam, face, beta)
            if step == leaves and leaves <= joins:
                dropped = (int(self.working.members[face.inside[leaver]]), face.signs[leaver])
                del face.inside[leaver], face.signs[leaver]
            elif step == joins:
                self._join(face, newcomer, rho - step * a)

    def _reach(self, rho: FloatArray) -> FloatArray:
        return rho if self.positive else np.abs(rho)

    def _line(self, face: ActiveSet) -> tuple[FloatArray, FloatArray]:
        """Compute β = β⁰ − λd on the face."""
        G, c = self.working.state.G, self.working.state.c
        inside = np.array(face.inside, dtype=np.int64)
        right = np.column_stack([c[inside], face.signs])
        H = G[np.ix_(inside, inside)]
        try:
            found = linalg.cho_solve(linalg.cho_factor(H, check_finite=False), right)
        except linalg.LinAlgError:
            found = linalg.lstsq(H, right)[0]
        return found[:, 0], found[:, 1]

    def _correlations(
        self, face: ActiveSet, beta: FloatArray, d: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Compute ρ at β, and a, by how much it falls when λ falls by one."""
        inside = np.array(face.inside, dtype=np.int64)
        if self.whole:
            rows = self.working.state.G[:, inside]
            return self.working.state.c - rows @ beta, rows @ d
        chosen = self.working.members[inside]
        fits = [self.columns.combination(chosen, v) for v in (beta, d)]
        both = self.columns.correlations(np.column_stack([self.target - fits[0], fits[1]]))
        return both[:, 0], both[:, 1]

    def _next_to_join(
        self,
        face: ActiveSet,
        lam: float,
        rho: FloatArray,
        a: FloatArray,
        dropped: tuple[int, float],
    ) -> tuple[float, int]:
        """Tell how far λ falls until |ρⱼ| of a column outside has reached it, and which column.

        A coefficient that has just become zero does not come back with the sign it had: |ρⱼ| is
        equal to λ but for rounding, and falls faster.
        """
        outside = np.ones(self.columns.p, dtype=np.bool_)
        outside[self.working.members[face.inside]] = False
        best, newcomer = np.inf, -1
        for sign in (1.0,) if self.positive else (1.0, -1.0):
            rate = 1.0 - sign * a
            candidates = np.flatnonzero(outside & (rate > PARALLEL))
            if sign == dropped[1]:
                candidates = candidates[candidates != dropped[0]]
            if len(candidates) == 0:
                continue
            way = np.maximum(lam - sign * rho[candidates], 0.0) / rate[candidates]
            first = int(way.argmin())
            if way[first] < best:
                best, newcomer = float(way[first]), int(candidates[first])
        return best, newcomer

    def _next_to_leave(
        self, face: ActiveSet, lam: float, beta0: FloatArray, d: FloatArray
    ) -> tuple[float, int]:
        """Tell how far λ falls until a coefficient inside is back at zero, and which one."""
        signs, beta = np.array(face.signs), beta0 - lam * d
        towards = signs * d < 0
        if not towards.any():
            return np.inf, -1
        way = np.full(len(d), np.inf)
        way[towards] = np.maximum(-beta[towards] / d[towards], 0.0)
        first = int(way.argmin())
        return float(way[first]), first

    def _join(self, face: ActiveSet, column: int, rho: FloatArray) -> None:
        if not self.working.inside[column]:
            self.working.add(np.array([column]))
        face.inside.append(int(np.flatnonzero(self.working.members == column)[0]))
        face.signs.append(1.0 if self.positive else float(np.sign(rho[column])))

    def _iterate(self, lam: float, face: ActiveSet, beta: FloatArray) -> LassoIterate:
        support = self.working.members[np.array(face.inside, dtype=np.int64)]
        moving: IntArray = np.flatnonzero(beta)
        length = float(np.abs(beta).sum())
        return LassoIterate(lam, support[moving], beta[moving], length, np.nan, np.nan)
