"""A stagewise run, made again from the data by the checker, some steps at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
# parts of the largest correlation. No inequality rests on it: they are decided for the run as made.
ALIKE = 1e-9


def more(a: Any, operations: Any = 8) -> FloatArray:
    """Return a number no less than what a ≥ 0 stands for after so many rounded operations."""
    return np.asarray(a * (1.0 + 1.01 * (np.asarray(operations) + 3) * U))


def less(a: Any, operations: Any = 8) -> FloatArray:
    """Return a number no more than what a ≥ 0 stands for after so many rounded operations."""
    return np.asarray(a * (1.0 - 1.01 * (np.asarray(operations) + 3) * U))


@dataclass(frozen=True)
class Replayed:
    """What was measured along the run; entry k is about iteration k, from 0 to the last.

    `visited` are the iterations at which all correlations c = Xᵀr were computed, and `largest`,
    `norms` and `agreements` are ‖c‖_∞ and ‖c‖, at most, and β·c there.
    """

    drops: FloatArray  # ‖y‖² − ‖r‖², at least
    drop_error: FloatArray  # how much less at most
    lengths: FloatArray  # ‖β‖₁, about
    longest: FloatArray  # ‖β‖₁, at most
    nonzeros: IntArray
    visited: IntArray
    largest: FloatArray
    norms: FloatArray
    agreements: FloatArray
    agreement_error: FloatArray  # how far at most from β·c


def replay(run: StagewiseRun, data: UnitColumns) -> tuple[Replayed, FloatArray, str]:
    """Return the trace, the last β, and what is wrong with the run, if anything.

    A rounded step moves β by 5u‖β‖₁ at most and r by 7u(‖y‖ + ‖β‖₁), so that each correlation is
    off by `error`, with `off` for the data and ‖β‖₁ ≤ min(δ, Σ|u|).
    """
    m, ks = len(run.chosen), np.arange(len(run.chosen) + 1)
    visited = iterations_to_visit(m, data, everything=run.algorithm == "R-FS")
    reach = more(np.minimum(np.append(0.0, np.cumsum(np.abs(run.steps))), run.delta), m + 8)
    error = more((data.off + data.rho * more((8 * ks + 8) * U)) * (data.length + reach))
    parts = list(_walk(run, data, visited))
    lengths, nonzeros, met = (np.concatenate(part) for part in list(zip(*parts, strict=True))[:3])
    largest, norms, agreements, others = np.hstack([part[3] for part in parts])
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
    trace = Replayed(
        drops - drop_error,
        2 * drop_error,
        lengths,
        more(lengths + (8 * ks + 8) * U * reach, data.p),
        nonzeros,
        visited,
        more(largest + at),
        more(norms + np.sqrt(data.p) * at, data.p + 8),
        agreements,
        inner,
    )
    return trace, parts[-1][4], _complaint(run, data, met, error, trace)


def _walk(run: StagewiseRun, data: UnitColumns, visited: IntArray) -> Iterator[tuple[Any, ...]]:
    """Walk some steps at a time: ‖β‖₁, nonzeros, Xⱼ·r met, what `_look` sees, and β."""
    used = np.unique(run.chosen)
    place, keeps = np.searchsorted(used, run.chosen), run.keeps()
    columns = data.columns(used) if not data.by_gram else np.zeros((0, len(used)))
    beta, r, whole = np.zeros(len(used)), data.y[: len(columns)], np.zeros(data.p)
    start = _look(data, used, beta[:, None], r[:, None])
    yield np.zeros(1), np.zeros(1, np.int64), np.zeros(0), start, whole
    for a in range(0, len(place), TOGETHER):
        some = slice(a, a + TOGETHER)
        chosen, at, steps, keep = run.chosen[some], place[some], run.steps[some], keeps[some]
        moves = np.zeros((len(used), len(at)))
        moves[at, np.arange(len(at))] = steps
        betas = trail(beta, moves, keep, np.zeros(len(used)))
        residuals = np.broadcast_to(r[:, None], (len(r), len(at) + 1))
        if data.by_gram:
            rows = data.G[np.ix_(chosen, used)]
            met = data.c0[chosen] - np.einsum("kj,jk->k", rows, betas[:, :-1])
        else:
            moved = columns[:, at]
            residuals = trail(r, -steps * moved, keep, data.y)
            met = data.w @ (moved * residuals[:, :-1])
        beta, r = betas[:, -1], residuals[:, -1]
        whole[used] = beta
        seen = visited[(visited > a) & (visited <= a + TOGETHER)] - a
        seen = _look(data, used, betas[:, seen], residuals[:, seen])
        lengths, nonzeros = np.abs(betas).sum(axis=0), np.count_nonzero(betas, axis=0)
        yield lengths[1:], nonzeros[1:], met, seen, whole


def _look(data: UnitColumns, used: IntArray, betas: FloatArray, r: FloatArray) -> FloatArray:
    """Compute ‖c‖_∞, ‖c‖, β·c and β·c⁰ with c = Xᵀr, for each state of the run."""
    if betas.shape[1] == 0:
        return np.zeros((4, 0))
    states = r
    if data.by_gram:
        states = np.zeros((data.p, betas.shape[1]))
        states[used] = betas
    c = data.correlations(states)
    sizes = np.abs(c).max(axis=0, initial=0.0), np.sqrt((c * c).sum(axis=0))
    return np.array([*sizes, (betas * c[used]).sum(axis=0), data.c0[used] @ betas])


def trail(start: FloatArray, moves: FloatArray, keeps: FloatArray, home: FloatArray) -> FloatArray:
    """Return start, and what each step leaves of it: x ← home + keep·(x − home) + move."""
    found = np.empty((len(start), len(keeps) + 1))
    found[:, 0] = start
    if np.all(keeps == 1.0):
        found[:, 1:] = start[:, None] + np.cumsum(moves, axis=1)
        return found
    for k, keep in enumerate(keeps.tolist()):
        found[:, k + 1] = home + keep * (found[:, k] - home) + moves[:, k]
    return found


def _complaint(
    run: StagewiseRun, data: UnitColumns, met: FloatArray, error: FloatArray, trace: Replayed
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
    """Choose all iterations if affordable or asked for; else some, dense at the beginning."""
    if everything or 2.0 * m * data.p * min(data.rows, data.p) <= EVERY_ITERATION:
        return np.arange(m + 1)
    spread = np.geomspace(1, m, SOME_ITERATIONS // 2)
    even = np.linspace(0, m, SOME_ITERATIONS // 2)
    return np.unique(np.concatenate([spread, even]).round().astype(np.int64))
