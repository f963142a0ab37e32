"""A stagewise run, made again from the data by the checker, some steps at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.certificates.core.rounding import U
from cotas.certificates.theorems.unit_columns import UnitColumns

if TYPE_CHECKING:
    from cotas.certificates.theorems.stagewise import StagewiseRun

# Up to so many multiplications every iteration is measured in full; beyond, some of them are.
EVERY_ITERATION = 2e9
SOME_ITERATIONS = 128
# Steps that are made again together.
TOGETHER = 64
# A run is taken for what its algorithm does if each step is so near to what the rule gives, in
# parts of the largest correlation. No inequality rests on it: those are decided for the run as made.
ALIKE = 1e-9


def more(a: FloatArray, operations: FloatArray | int = 8) -> FloatArray:
    """No less than what a ≥ 0 stands for after so many rounded operations."""
    return np.asarray(a * (1.0 + 1.01 * (np.asarray(operations) + 3) * U))


def less(a: FloatArray, operations: FloatArray | int = 8) -> FloatArray:
    """No more than what a ≥ 0 stands for after so many rounded operations."""
    return np.asarray(a * (1.0 - 1.01 * (np.asarray(operations) + 3) * U))


@dataclass(frozen=True)
class Trace:
    """What was measured along the run; entry k is about iteration k, from 0 to the last.

    `visited` are the iterations at which all correlations c = Xᵀr were computed, and `largest`,
    `norms` and `agreements` are ‖c‖_∞, ‖c‖ and β·c there. Upper bounds, but for `drops`,
    `nonzeros` and `agreements`, which is off by no more than `agreement_error`.
    """

    drops: FloatArray  # ‖y‖² − ‖r‖², and no more than that
    drop_error: FloatArray  # how much less at most
    lengths: FloatArray  # ‖β‖₁
    nonzeros: IntArray
    visited: IntArray
    largest: FloatArray
    norms: FloatArray
    agreements: FloatArray
    agreement_error: FloatArray


def replay(run: StagewiseRun, data: UnitColumns) -> tuple[Trace, FloatArray, str]:
    """The trace, the last β, and what is wrong with the run, if anything.

    A rounded step moves β by 5u‖β‖₁ at most and r by 7u(‖y‖ + ‖β‖₁), so that each correlation is
    off by `error`, with `off` for the data and ‖β‖₁ ≤ min(δ, Σ|u|).
    """
    m, ks = len(run.chosen), np.arange(len(run.chosen) + 1)
    keeps = run.keeps()
    visited = iterations_to_visit(m, data, everything=run.algorithm == "R-FS")
    reach = more(np.minimum(np.append(0.0, np.cumsum(np.abs(run.steps))), run.delta), m + 8)
    error = more((data.off + data.rho * more((8 * ks + 8) * U)) * (data.length + reach))
    seen = Seen(data, np.unique(run.chosen), visited)
    lengths, nonzeros, met = np.zeros(m + 1), np.zeros(m + 1, dtype=np.int64), np.zeros(m)
    place = np.searchsorted(seen.used, run.chosen)
    beta, r = np.zeros(len(seen.used)), data.y
    columns = data.columns(seen.used) if not data.by_gram else np.zeros((0, len(seen.used)))
    seen.see(0, beta[:, None], r[:, None])
    for a in range(0, m, TOGETHER):
        b = min(a + TOGETHER, m)
        moves = np.zeros((len(beta), b - a))
        moves[place[a:b], np.arange(b - a)] = run.steps[a:b]
        betas = trail(beta, moves, keeps[a:b], np.zeros(len(beta)))
        residuals = r[:, None]
        if data.by_gram:
            rows = data.G[np.ix_(run.chosen[a:b], seen.used)]
            met[a:b] = data.c0[run.chosen[a:b]] - np.einsum("kj,jk->k", rows, betas[:, :-1])
        else:
            moved = columns[:, place[a:b]]
            residuals = trail(r, -run.steps[a:b] * moved, keeps[a:b], data.y)
            met[a:b] = np.einsum("ik,i,ik->k", moved, data.w, residuals[:, :-1])
        beta, r = betas[:, -1], residuals[:, -1]
        lengths[a + 1 : b + 1] = np.abs(betas[:, 1:]).sum(axis=0)
        nonzeros[a + 1 : b + 1] = np.count_nonzero(betas[:, 1:], axis=0)
        seen.see(a + 1, betas[:, 1:], residuals[:, 1:])
    largest, norms, agreements, others = seen.finish()
    at = error[visited]
    # β·c of rounded numbers, each c being off by `error` and β by its own part of it.
    inner = more(2 * reach[visited] * (at + data.p * U * (largest + data.length)), 2 * data.p)
    if run.algorithm == "R-FS":
        drops, drop_error = agreements + others, 2 * inner
    else:
        falls = run.steps * (2 * met - run.steps)
        rounding = more(np.abs(run.steps) * error[:-1] + (m + 4) * U * np.abs(falls))
        drops, drop_error = (np.append(0.0, np.cumsum(x)) for x in (falls, 2 * rounding))
    drop_error = more(drop_error, m + 8)
    trace = Trace(
        drops - drop_error,
        2 * drop_error,
        more(lengths + (8 * ks + 8) * U * reach, data.p),
        nonzeros,
        visited,
        more(largest + at),
        more(norms + np.sqrt(data.p) * at, data.p + 8),
        agreements,
        inner,
    )
    whole = np.zeros(data.p)
    whole[seen.used] = beta
    return trace, whole, _complaint(run, data, met, error, trace)


def trail(start: FloatArray, moves: FloatArray, keeps: FloatArray, home: FloatArray) -> FloatArray:
    """start, and what each step leaves of it: x ← home + keep·(x − home) + move."""
    found = np.empty((len(start), len(keeps) + 1))
    found[:, 0] = start
    if np.all(keeps == 1.0):
        found[:, 1:] = start[:, None] + np.cumsum(moves, axis=1)
        return found
    for k, keep in enumerate(keeps.tolist()):
        found[:, k + 1] = home + keep * (found[:, k] - home) + moves[:, k]
    return found


def _complaint(
    run: StagewiseRun, data: UnitColumns, met: FloatArray, error: FloatArray, trace: Trace
) -> str:
    slack = ALIKE * float(np.abs(data.c0).max(initial=0.0)) + error[:-1]
    wrong = np.abs(run.eps * met - run.steps) > slack + ALIKE * np.abs(run.steps)
    if run.algorithm != "LS-Boost":
        wrong = (np.abs(run.steps) != run.eps) | (np.sign(run.steps) * met < -slack)
    if wrong.any() or not np.isfinite(met).all():
        return "A step of the run is not the one that the algorithm makes on these data."
    seen = trace.visited[trace.visited < len(met)]
    if not np.all(np.abs(met[seen]) + 2 * slack[seen] >= trace.largest[: len(seen)]):
        return "A step of the run is not along the most correlated column of these data."
    return ""


def iterations_to_visit(m: int, data: UnitColumns, everything: bool) -> IntArray:
    """All iterations if that is affordable or asked for; else some, dense at the beginning."""
    if everything or 2.0 * m * data.p * min(data.rows, data.p) <= EVERY_ITERATION:
        return np.arange(m + 1)
    spread = np.geomspace(1, m, SOME_ITERATIONS // 2)
    even = np.linspace(0, m, SOME_ITERATIONS // 2)
    return np.unique(np.concatenate([spread, even]).round().astype(np.int64))


class Seen:
    """‖Xᵀr‖_∞, ‖Xᵀr‖, β·Xᵀr and β·Xᵀy at the iterations to visit."""

    def __init__(self, data: UnitColumns, used: IntArray, visited: IntArray) -> None:
        self.data, self.used, self.visited = data, used, visited
        self.waiting: list[tuple[FloatArray, FloatArray]] = []
        self.found: list[FloatArray] = []

    def see(self, first: int, betas: FloatArray, residuals: FloatArray) -> None:
        """The states of the run at some iterations in a row."""
        span = np.searchsorted(self.visited, [first, first + betas.shape[1]])
        wanted = self.visited[span[0] : span[1]] - first
        if len(wanted):
            kept = residuals[:, wanted] if not self.data.by_gram else np.zeros((0, len(wanted)))
            self.waiting.append((betas[:, wanted], kept))
        if sum(betas.shape[1] for betas, _ in self.waiting) >= TOGETHER:
            self._measure()

    def finish(self) -> FloatArray:
        """What was measured at all the iterations visited."""
        if self.waiting:
            self._measure()
        return np.hstack(self.found)

    def _measure(self) -> None:
        betas, states = (np.hstack(part) for part in zip(*self.waiting, strict=True))
        self.waiting = []
        if self.data.by_gram:
            states = np.zeros((self.data.p, betas.shape[1]))
            states[self.used] = betas
        c = self.data.correlations(states)
        inner = (betas * c[self.used]).sum(axis=0), self.data.c0[self.used] @ betas
        sizes = np.abs(c).max(axis=0, initial=0.0), np.sqrt((c * c).sum(axis=0))
        self.found.append(np.array([*sizes, *inner]))
