"""Theorems 2.1.2, 2.2.1 and 2.2.3 of Rugeles Ospina, decided at every iteration of a run.

The run is made again from the data by the checker, some steps at a time. The theorems are stated
for one ε. Their proofs need no more than this, and so the bounds here are for any sequence
ε₀, ε₁, …; with one ε they are those of the document. λ_pmin stands for μ ≤ λ_pmin and ‖Xβ_LS‖² for
F ≥ ‖Xβ_LS‖², both proved: every bound is a little larger for it. `docs/theory/stagewise.md` has the
proofs, and says why each test decides what it decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.arrays import BoolArray, FloatArray, IntArray
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
TRAINING, COEFFICIENTS, PREDICTIONS = "training error", "coefficients", "predictions"
GRADIENT, CORRELATION = "gradient", "correlation"
LENGTH, SPARSITY = "length of the coefficients", "coefficients that are not zero"
# A bound that is not below this part of what was known before the first step says nothing.
TELLING = 0.99

# For each item: the bound, what was measured, both rounded up, and whether the one is proved to be
# no larger than the other. Entry k is about iteration k, from 0 on.
Item = tuple[FloatArray, FloatArray, BoolArray]
Items = dict[str, Item]


# ---- the run, made again ------------------------------------------------------------------------


def more(a: Any, operations: Any = 8) -> FloatArray:
    """Return a number no less than what a ≥ 0 stands for after so many rounded operations."""
    return np.asarray(a * (1.0 + 1.01 * (np.asarray(operations) + 3) * U))


def less(a: Any, operations: Any = 8) -> FloatArray:
    """Return a number no more than what a ≥ 0 stands for after so many rounded operations."""
    return np.asarray(a * (1.0 - 1.01 * (np.asarray(operations) + 3) * U))


@dataclass(frozen=True)
class Replayed:
    """Measurements along the run; entry k is about iteration k, from 0 to the last.

    `visited` are the iterations at which all correlations c = Xᵀr were computed, and `largest`,
    `norms` and `inner_products` are ‖c‖_∞ and ‖c‖, at most, and β·c there.
    """

    drops: FloatArray  # ‖y‖² − ‖r‖², at least
    drop_error: FloatArray  # how much less at most
    lengths: FloatArray  # ‖β‖₁, about
    longest: FloatArray  # ‖β‖₁, at most
    nonzeros: IntArray
    visited: IntArray
    largest: FloatArray
    norms: FloatArray
    inner_products: FloatArray
    inner_product_error: FloatArray  # how far at most from β·c


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
    largest, norms, inner_products, others = np.hstack([part[3] for part in parts])
    at = error[visited]
    # β·c of rounded numbers, each c being off by `error` and β by its own part of it.
    inner = more(2 * reach[visited] * (at + data.p * U * (largest + data.length)), 2 * data.p)
    if run.algorithm == "R-FS":
        drops, drop_error = inner_products + others, 2 * inner
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
        inner_products,
        inner,
    )
    return trace, parts[-1][4], _complaint(run, data, met, error, trace)


def _walk(run: StagewiseRun, data: UnitColumns, visited: IntArray) -> Iterator[tuple[Any, ...]]:
    """Walk some steps at a time: ‖β‖₁, nonzeros, Xⱼ·r met, what `_measured` sees, and β."""
    used = np.unique(run.chosen)
    place, keeps = np.searchsorted(used, run.chosen), run.keeps()
    columns = data.columns(used) if not data.by_gram else np.zeros((0, len(used)))
    beta, r, whole = np.zeros(len(used)), data.y[: len(columns)], np.zeros(data.p)
    start = _measured(data, used, beta[:, None], r[:, None])
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
        seen = _measured(data, used, betas[:, seen], residuals[:, seen])
        lengths, nonzeros = np.abs(betas).sum(axis=0), np.count_nonzero(betas, axis=0)
        yield lengths[1:], nonzeros[1:], met, seen, whole


def _measured(data: UnitColumns, used: IntArray, betas: FloatArray, r: FloatArray) -> FloatArray:
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


# ---- the theorems -------------------------------------------------------------------------------


@dataclass(frozen=True)
class StagewiseSetting:
    """The setting of the bounds: n, p (columns that vary), ε, δ, μ, F, and what was measured."""

    n: float
    p: int
    eps: FloatArray
    delta: float
    smallest: float  # μ, zero if nothing is known of λ_pmin
    fitted: float  # F
    trace: Replayed

    @property
    def ks(self) -> IntArray:
        """Return all the iterations."""
        return np.arange(len(self.eps) + 1)

    def suboptimality(self) -> FloatArray:
        """Compute ‖X(β − β_LS)‖² = 2n(L_n − L_n*) at most: F − (‖y‖² − ‖r‖²), or ‖Xᵀr‖²/μ."""
        found = more(np.maximum(self.fitted - self.trace.drops, 0.0))
        if self.smallest > 0:
            seen = self.trace.visited
            found[seen] = np.minimum(found[seen], more(self.trace.norms**2 / self.smallest))
        return found

    def steepest(self) -> FloatArray:
        """Bound ‖Xᵀr‖_∞: the columns have length one, so it is no more than ‖X(β − β_LS)‖."""
        found = more(np.sqrt(self.suboptimality()))
        found[self.trace.visited] = np.minimum(found[self.trace.visited], self.trace.largest)
        return found

    def distance(self) -> FloatArray:
        """Compute ‖β − β_LS‖ for the nearest β_LS, at most: ‖X(β − β_LS)‖/√μ."""
        return more(_over(more(np.sqrt(self.suboptimality())), math.sqrt(self.smallest)))

    def subgradient(self, square: float) -> FloatArray:
        """Compute (F + G²Σε²)/(2Σε) over ε₀ … ε_k for k = 0, 1, …, with G² = `square`.

        The last step is counted as made again: the bound for k iterations is about k + 1 residuals.
        """
        if len(self.eps) == 0:
            # No step: at the optimum already, or stopped before anything could be said.
            return np.full(1, np.inf if self.fitted > 0 else 0.0)
        eps = np.append(self.eps, self.eps[-1])
        return np.asarray((self.fitted + square * np.cumsum(eps**2)) / (2 * np.cumsum(eps)))

    def grown(self, length: FloatArray) -> FloatArray:
        """Return a bound of ‖β‖₁ that needs no test, above what rounding makes of ‖β‖₁ itself."""
        return more(length + 32 * self.ks * U * np.max(length, initial=0.0), self.p + 16)

    def item(self, bound: FloatArray, found: FloatArray, operations: FloatArray) -> Item:
        """Return an item whose bound was computed in so many operations, decided by comparing."""
        with np.errstate(invalid="ignore"):
            proved = (found <= less(bound, operations)) & np.isfinite(bound)
        return more(bound, operations), found, proved


def ls_boost(s: StagewiseSetting) -> Items:
    """Apply Theorem 2.1.2: linear convergence at the rate γ = 1 − ε(2 − ε)λ_pmin/(4p).

    The first four items follow from ‖y‖² − ‖rᵏ‖² ≥ F(1 − Πγ), where no L_n* stands.
    """
    gamma = 1.0 - s.eps * (2.0 - s.eps) * s.smallest / (4.0 * max(s.p, 1))
    operations = 8 * s.ks
    shrunk = np.append(1.0, np.cumprod(gamma))  # γ₀γ₁⋯ up to iteration k
    least = np.where(s.ks > 0, less(shrunk, operations), 1.0)
    proved = (s.trace.drops >= more(s.fitted * (1.0 - least))) & (s.smallest > 0 or s.fitted == 0)
    above, suboptimality = more(s.fitted * shrunk, operations + 8), s.suboptimality()
    root, far = more(np.sqrt(above)), more(np.sqrt(suboptimality))
    drop = np.sqrt(np.maximum(s.trace.drops, 0.0))
    by_drop = np.sqrt(np.append(0.0, np.cumsum(s.eps / (2.0 - s.eps)))) * drop
    by_rate = math.sqrt(s.fitted) * np.append(0.0, np.cumsum(s.eps * np.sqrt(least[:-1])))
    smallest = math.sqrt(s.smallest)
    return {
        TRAINING: (more(above / (2 * s.n)), more(suboptimality / (2 * s.n)), proved),
        COEFFICIENTS: (more(_over(root, smallest)), s.distance(), proved),
        PREDICTIONS: (root, far, proved),
        GRADIENT: (more(root / s.n), more(s.steepest() / s.n), proved),
        LENGTH: s.item(np.minimum(by_drop, by_rate), s.trace.longest, operations + 8),
    }


def forward_stagewise(s: StagewiseSetting) -> Items:
    """Apply Theorem 2.2.1: some i ≤ k is near the least-squares solution, by the size of steps.

    With b = (‖Xβ_LS‖² + Σε²)/(2Σε) over ε₀ … ε_k, the subgradient method has ‖Xᵀrⁱ‖_∞ ≤ b.
    """
    b, i, operations = s.subgradient(1.0), best(s, s.trace.largest), 2 * s.ks + 16
    wide, smallest = math.sqrt(max(s.p, 1)) * 2 * b, s.smallest
    suboptimality = s.suboptimality()[i]
    return {
        TRAINING: s.item(
            _over(wide**2, 2 * s.n * smallest), more(suboptimality / (2 * s.n)), 2 * operations
        ),
        COEFFICIENTS: s.item(_over(wide, smallest), s.distance()[i], operations),
        PREDICTIONS: s.item(
            _over(wide, math.sqrt(smallest)), more(np.sqrt(suboptimality)), operations
        ),
        CORRELATION: s.item(b, s.steepest()[i], operations),
        # ‖β‖₁ grows by ε at most in each step: nothing to compare.
        LENGTH: (s.grown(np.append(0.0, np.cumsum(s.eps))), s.trace.longest[i], s.ks >= 0),
    }


def regularized(s: StagewiseSetting) -> Items:
    """Apply Theorem 2.2.3: some i ≤ k is near the solution of the Lasso on the ball of radius δ.

    What is bounded is ω_δ itself, which is more: see the proof.
    """
    b, operations, omega = s.subgradient(4.0), 2 * s.ks + 16, omegas(s.trace, s.delta)
    i = best(s, omega)
    shrunk = np.append(1.0, np.cumprod(1.0 - s.eps / s.delta))
    far = more(np.sqrt(2 * s.delta * omega[i]))
    return {
        TRAINING: s.item(s.delta * b / s.n, more(s.delta * omega[i] / s.n), operations),
        PREDICTIONS: s.item(np.sqrt(2 * s.delta * b), far, operations),
        LENGTH: (s.grown(s.delta * (1.0 - shrunk)), s.trace.longest[i], s.ks >= 0),
    }


def omegas(trace: Replayed, delta: float) -> FloatArray:
    """Compute ω_δ at every iteration of R-FS, rounded up: ‖Xᵀr‖_∞ − r·Xβ/δ."""
    inside = trace.inner_products - trace.inner_product_error
    size = np.abs(trace.largest) + np.abs(inside) / delta
    return np.maximum(trace.largest - inside / delta + more(4 * U * size), 0.0)


def best(s: StagewiseSetting, sizes: FloatArray) -> IntArray:
    """Find for each k the iteration i ≤ k, of those visited, with the least of `sizes`."""
    lowest = np.append(np.inf, np.minimum.accumulate(sizes)[:-1])
    place = np.maximum.accumulate(np.where(sizes < lowest, np.arange(len(sizes)), 0))
    visited = s.trace.visited
    return np.asarray(visited[place[np.searchsorted(visited, s.ks, side="right") - 1]])


def _over(above: FloatArray, below: float) -> FloatArray:
    """Divide above by below: infinite where λ_pmin is not known and there is something to bound."""
    return above / below if below > 0 else np.where(above > 0, np.inf, 0.0)


THEOREMS: dict[str, tuple[str, Callable[[StagewiseSetting], Items]]] = {
    "LS-Boost": ("Theorem 2.1.2 of Rugeles Ospina", ls_boost),
    "FS": ("Theorem 2.2.1 of Rugeles Ospina", forward_stagewise),
    "R-FS": ("Theorem 2.2.3 of Rugeles Ospina", regularized),
}
