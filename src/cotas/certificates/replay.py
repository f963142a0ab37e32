"""A stagewise run, made again from the data by the checker, some steps at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.certificates.unit_columns import Spectrum, UnitColumns

if TYPE_CHECKING:
    from cotas.certificates.stagewise import StagewiseRun

# Up to so many multiplications every iteration is measured in full; beyond, some of them are.
EVERY_ITERATION = 2e9
SOME_ITERATIONS = 128
# Steps that are made again together.
TOGETHER = 64


@dataclass(frozen=True)
class Trace:
    """What was measured along the run; entry k is about iteration k, from 0 to the last.

    `visited` are the iterations at which the largest correlation ‖Xᵀr‖_∞ and the distance to the
    nearest least-squares solution were computed; the rest is known at all of them.
    """

    losses: FloatArray  # ‖r‖²
    lengths: FloatArray  # ‖β‖₁
    nonzeros: IntArray
    agreements: FloatArray  # r·y
    visited: IntArray
    correlations: FloatArray
    distances: FloatArray


def replay(
    run: StagewiseRun, data: UnitColumns, spectrum: Spectrum
) -> tuple[Trace, FloatArray, str]:
    """The trace, the last β, and what is wrong with the run, if anything.

    It must be what its algorithm does with these data: each step of the size that the rule gives
    for the correlation at hand, and, where that was computed, along the largest correlation.
    """
    m, keeps = len(run.chosen), run.keeps()
    visited = iterations_to_visit(m, data, everything=run.algorithm == "R-FS")
    machine, observed = Machine(data, run), Observed(data, spectrum, visited)
    lengths, nonzeros = np.zeros(m + 1), np.zeros(m + 1, dtype=np.int64)
    followed = np.zeros(m)  # Xⱼ·r of the column that each step chose
    observed.see(0, machine.states(machine.beta[:, None], machine.residual[:, None]))
    for start in range(0, m, TOGETHER):
        steps = slice(start, min(start + TOGETHER, m))
        betas, residuals, followed[steps] = machine.advance(
            run.chosen[steps], run.steps[steps], keeps[steps]
        )
        lengths[start + 1 : steps.stop + 1] = np.abs(betas).sum(axis=0)
        nonzeros[start + 1 : steps.stop + 1] = np.count_nonzero(betas, axis=0)
        observed.see(start + 1, machine.states(betas, residuals))
    losses, agreements = _squares(run, data, followed, keeps)
    correlations, distances = observed.finish()
    trace = Trace(losses, lengths, nonzeros, agreements, visited, correlations, distances)
    beta = np.zeros(data.p)
    beta[machine.used] = machine.beta
    return trace, beta, _complaint(run, data, followed, visited, correlations)


def _squares(
    run: StagewiseRun, data: UnitColumns, followed: FloatArray, keeps: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """‖r‖² and r·y at every iteration, from r ← keep·r + (1 − keep)·y − u·Xⱼ and ‖Xⱼ‖ = 1."""
    square = data.square
    if np.all(keeps == 1.0):
        falls = np.append(0.0, np.cumsum(run.steps * (2 * followed - run.steps)))
        along = np.append(0.0, np.cumsum(run.steps * data.c0[run.chosen]))
        return np.maximum(square - falls, 0.0), square - along
    losses, agreements = [square], [square]
    loss = agreement = square
    steps = zip(
        run.steps.tolist(), keeps.tolist(), followed.tolist(), data.c0[run.chosen].tolist(),
        strict=True,
    )  # fmt: skip
    for u, keep, c, c0 in steps:
        rest = 1.0 - keep
        cross = keep * rest * agreement - keep * u * c - rest * u * c0
        loss = keep * keep * loss + rest * rest * square + u * u + 2 * cross
        agreement = keep * agreement + rest * square - u * c0
        losses.append(loss)
        agreements.append(agreement)
    return np.maximum(losses, 0.0), np.array(agreements)


def _complaint(
    run: StagewiseRun,
    data: UnitColumns,
    followed: FloatArray,
    visited: IntArray,
    correlations: FloatArray,
) -> str:
    slack = 1e-9 * float(np.abs(data.c0).max(initial=0.0))
    if not np.all(np.abs(run.sizes(followed) - run.steps) <= slack + 1e-9 * np.abs(run.steps)):
        return "A step of the run is not the one that the algorithm makes on these data."
    seen = visited[visited < len(followed)]
    if not np.all(np.abs(followed[seen]) >= correlations[: len(seen)] - slack):
        return "A step of the run is not along the most correlated column of these data."
    return ""


def iterations_to_visit(m: int, data: UnitColumns, everything: bool) -> IntArray:
    """All iterations if that is affordable or asked for; else some, dense at the beginning."""
    if everything or 2.0 * m * data.p * min(data.rows, data.p) <= EVERY_ITERATION:
        return np.arange(m + 1)
    spread = np.geomspace(1, m, SOME_ITERATIONS // 2)
    even = np.linspace(0, m, SOME_ITERATIONS // 2)
    return np.unique(np.concatenate([spread, even]).round().astype(np.int64))


class Machine:
    """β on the columns that are ever used, and r where XᵀX is not at hand."""

    def __init__(self, data: UnitColumns, run: StagewiseRun) -> None:
        self.data = data
        self.used = np.unique(run.chosen)
        self.beta = np.zeros(len(self.used))
        self.residual = data.y.copy() if not data.by_gram else np.zeros(0)
        self.columns = np.zeros((0, len(self.used)))
        if not data.by_gram:
            self.columns = data.columns(self.used)

    def states(self, betas: FloatArray, residuals: FloatArray) -> FloatArray:
        """What `Observed` takes: β of all columns where XᵀX is at hand, and r where it is not."""
        if not self.data.by_gram:
            return residuals
        states = np.zeros((self.data.p, betas.shape[1]))
        states[self.used] = betas
        return states

    def advance(
        self, chosen: IntArray, steps: FloatArray, keeps: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """β and r after each of some steps, and the correlation that each step met."""
        place = np.searchsorted(self.used, chosen)
        left, parts = _shares(keeps)
        parts *= steps[:, None]
        betas = np.multiply.outer(self.beta, left)
        np.add.at(betas, place, parts)
        self.beta = betas[:, -1].copy()
        if self.data.by_gram:
            rows = self.data.G[np.ix_(chosen, self.used)]
            met = self.data.c0[chosen] - np.einsum("kj,jk->k", rows, betas[:, :-1])
            return betas[:, 1:], np.zeros((0, len(steps))), met
        moved, y = self.columns[:, place], self.data.y
        residuals = np.multiply.outer(self.residual - y, left) + y[:, None] - moved @ parts
        self.residual = residuals[:, -1].copy()
        met = np.einsum("ik,ik->k", moved, residuals[:, :-1])
        return betas[:, 1:], residuals[:, 1:], met


def _shares(keeps: FloatArray) -> tuple[FloatArray, FloatArray]:
    """After 0, 1, … steps: what is left of the start, and of each step that was made."""
    b = len(keeps)
    if np.all(keeps == 1.0):
        return np.ones(b + 1), np.triu(np.ones((b, b + 1)), 1)
    parts = np.zeros((b, b + 1))
    for k in range(b):
        parts[:k, k + 1] = keeps[k] * parts[:k, k]
        parts[k, k + 1] = 1.0
    return np.append(1.0, np.cumprod(keeps)), parts


class Observed:
    """‖Xᵀr‖_∞ and ‖X⁺r‖ at the iterations to visit."""

    def __init__(self, data: UnitColumns, spectrum: Spectrum, visited: IntArray) -> None:
        self.data, self.spectrum, self.visited = data, spectrum, visited
        self.waiting: list[FloatArray] = []
        self.correlations: list[FloatArray] = []
        self.distances: list[FloatArray] = []

    def see(self, first: int, states: FloatArray) -> None:
        """The states of the run at some iterations in a row."""
        span = np.searchsorted(self.visited, [first, first + states.shape[1]])
        wanted = self.visited[span[0] : span[1]] - first
        if len(wanted):
            self.waiting.append(states[:, wanted])
        if sum(part.shape[1] for part in self.waiting) >= TOGETHER:
            self._measure()

    def finish(self) -> tuple[FloatArray, FloatArray]:
        """What was measured at all the iterations visited."""
        if self.waiting:
            self._measure()
        return np.concatenate(self.correlations), np.concatenate(self.distances)

    def _measure(self) -> None:
        states = np.hstack(self.waiting)
        self.waiting = []
        if self.data.by_gram:
            found = self.data.c0[:, None] - self.data.G @ states
        else:
            found = self.data.correlations(states)
        self.correlations.append(np.abs(found).max(axis=0, initial=0.0))
        self.distances.append(self.data.distances(self.spectrum, states))
