"""The bounds of a theorem next to what was measured, iteration by iteration."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from cotas.arrays import BoolArray, FloatArray, IntArray
from cotas.certificates.replay import Trace
from cotas.certificates.stagewise_bounds import (
    COEFFICIENTS,
    CORRELATION,
    GRADIENT,
    LENGTH,
    PREDICTIONS,
    SPARSITY,
    TRAINING,
    Bounds,
)

# A bound that is not below this part of what was known before the first step says nothing.
TELLING = 0.99


@dataclass(frozen=True)
class Item:
    """One item of a theorem at one iteration.

    Attributes
    ----------
    name : what is bounded
    bound, measured : what the theorem allows, and what was found
    holds, vacuous : whether measured ≤ bound, and whether the bound says nothing
    iteration : the iteration measured; for FS_ε and R-FS the best one so far
    exact : whether `measured` is the quantity itself; otherwise it is proved to be no larger
    """

    name: str
    bound: float
    measured: float
    holds: bool
    vacuous: bool
    iteration: int
    exact: bool


@dataclass(frozen=True)
class Proof:
    """The bounds of a theorem at all iterations, and what was measured."""

    algorithm: str
    n: float
    p: int
    delta: float
    spectrum_known: bool
    smallest: float  # λ_pmin(XᵀX)
    fitted: float  # ‖Xβ_LS‖²
    square: float  # ‖y‖²
    rounding: float  # of ‖r‖² and ‖Xβ_LS‖²
    bounds: Bounds = field(repr=False)
    trace: Trace = field(repr=False)

    @property
    def last(self) -> int:
        """The number of iterations made."""
        return len(self.trace.losses) - 1

    @property
    def omegas(self) -> FloatArray:
        """ω_δ at every iteration of R-FS: ‖Xᵀr‖_∞ − r·Xβ/δ."""
        trace = self.trace
        return trace.correlations - (trace.agreements - trace.losses) / self.delta

    def best(self, ks: IntArray) -> IntArray:
        """For each k the iteration i ≤ k that the theorem is shown to hold for."""
        if self.algorithm == "LS-Boost":
            return ks
        visited = self.trace.visited
        sizes = self.omegas if self.algorithm == "R-FS" else self.trace.correlations
        lowest = np.append(np.inf, np.minimum.accumulate(sizes)[:-1])
        place = np.maximum.accumulate(np.where(sizes < lowest, np.arange(len(sizes)), 0))
        return np.asarray(visited[place[np.searchsorted(visited, ks, side="right") - 1]])

    def items(self, k: int) -> list[Item]:
        """Every item of the theorem at iteration k."""
        if not 0 <= k <= self.last:
            raise ValueError(f"k must lie between 0 and {self.last}, the iterations made.")
        ks = np.array([k])
        i, exact = self.best(ks), self._exact(self.best(ks))
        return [
            Item(
                name,
                float(self.bounds[name][k]),
                float(measured[0]),
                bool(self._holds(name, measured, ks)[0]),
                self._vacuous(name, float(self.bounds[name][k]), k),
                int(i[0]),
                bool(exact[name][0]),
            )
            for name, measured in self.measured(i).items()
        ]

    def violation(self) -> str:
        """The first item that fails at any iteration, in words."""
        ks = np.arange(self.last + 1)
        for name, measured in self.measured(self.best(ks)).items():
            broken = np.flatnonzero(~self._holds(name, measured, ks))
            if len(broken):
                k = int(broken[0])
                return (
                    f"At iteration {k} the {name} is {measured[k]:.6g}, and the theorem allows "
                    f"{self.bounds[name][k]:.6g}."
                )
        return ""

    def measured(self, i: IntArray) -> dict[str, FloatArray]:
        """Each quantity at the iterations i, or an upper estimate where `_exact` says so."""
        trace = self.trace
        least = self.square - self.fitted  # zero, and so no more than it is, if not known
        excess = np.maximum(0.0, trace.losses[i] - least) / (2 * self.n)
        far = np.sqrt(2 * self.n * excess)
        at = np.minimum(np.searchsorted(trace.visited, i), len(trace.visited) - 1)
        visited = trace.visited[at] == i
        # Columns have unit length, so |Xⱼ·r| is no more than the way to least squares.
        steepest = np.where(visited, trace.correlations[at], far)
        inverse = 1 / math.sqrt(self.smallest) if self.smallest > 0 else math.nan
        distance = far * inverse
        if self.spectrum_known:
            distance = np.where(visited, trace.distances[at], distance)
        if self.algorithm == "R-FS":
            omega = np.maximum(0.0, self.omegas[i])
            excess, far = self.delta * omega / self.n, np.sqrt(2 * self.delta * omega)
        found = {
            TRAINING: excess,
            COEFFICIENTS: distance,
            PREDICTIONS: far,
            GRADIENT: steepest / self.n,
            CORRELATION: steepest,
            LENGTH: trace.lengths[i],
            SPARSITY: trace.nonzeros[i].astype(np.float64),
        }
        return {name: found[name] for name in self.bounds}

    def _exact(self, i: IntArray) -> dict[str, BoolArray]:
        always = np.ones(len(i), dtype=np.bool_)
        plain = always & (self.algorithm != "R-FS" and self.spectrum_known)
        visited = np.isin(i, self.trace.visited)
        found = dict.fromkeys(self.bounds, always)
        found.update({TRAINING: plain, PREDICTIONS: plain})
        found.update(dict.fromkeys((COEFFICIENTS, GRADIENT, CORRELATION), visited))
        return found

    def _holds(self, name: str, measured: FloatArray, ks: IntArray) -> BoolArray:
        bound = self.bounds[name][ks]
        slack = 1e-9 * np.abs(bound) + self._slack(name)
        # An unknown quantity (nan) is under an infinite bound and under no other.
        return np.asarray((measured <= bound + slack) | np.isinf(bound))

    def _slack(self, name: str) -> float:
        """What rounding can do to the measured value."""
        root = math.sqrt(self.rounding)
        inverse = 1 / math.sqrt(self.smallest) if self.smallest > 0 else 0.0
        return {
            TRAINING: self.rounding / (2 * self.n),
            COEFFICIENTS: root * inverse,
            PREDICTIONS: root,
            GRADIENT: root / self.n,
            CORRELATION: self.rounding / max(math.sqrt(self.square), 1e-300),
            LENGTH: root,
            SPARSITY: 0.0,
        }[name]

    def _vacuous(self, name: str, bound: float, k: int) -> bool:
        """Whether it was known before the first step, or for want of more than p columns."""
        start = float(self.trace.correlations[0])
        known = {
            TRAINING: self.fitted / (2 * self.n),
            COEFFICIENTS: float(self.trace.distances[0]) if self.spectrum_known else 0.0,
            PREDICTIONS: math.sqrt(self.fitted),
            GRADIENT: start / self.n,
            CORRELATION: start,
            LENGTH: math.inf,
            SPARSITY: float(self.p),
        }[name]
        if math.isinf(bound) or name in (LENGTH, SPARSITY):
            return bound >= known
        return bound >= TELLING * known and k > 0
