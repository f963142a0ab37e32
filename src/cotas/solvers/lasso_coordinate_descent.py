"""The penalized Lasso by coordinate descent on the residual, for working sets of any width."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cotas.arrays import FloatArray, IntArray
from cotas.design import Dense, add, as_design, dot
from cotas.design.centred import CentredColumns
from cotas.loops import loop
from cotas.solvers.penalties import ElasticNetPenalty, prox, value

# Iterates from which the next one is extrapolated.
DEPTH = 5
MAX_SWEEPS = 10_000


class CoordinateDescent(NamedTuple):
    """The state b = β/σ on some columns, and the residual r = r' + shift, weighted by √s."""

    b: FloatArray
    residual: FloatArray
    shift: FloatArray  # one number: the centring of the columns, which are not stored centred


@loop
def descend(
    columns: Any,
    curvatures: FloatArray,
    means: FloatArray,
    penalty: ElasticNetPenalty,
    state: CoordinateDescent,
) -> float:
    """Return each coefficient in turn to its best value; returns the largest change of a fit.

        bⱼ ← soft(bⱼCⱼ + ⟨xⱼ − mⱼ, r⟩, λ₁wⱼ)/(Cⱼ + λ₂wⱼ²),      Cⱼ = ⟨xⱼ − mⱼ, xⱼ − mⱼ⟩

    Since ⟨1, r⟩ = 0, the centring costs one product: ⟨xⱼ − mⱼ, r⟩ = ⟨xⱼ, r'⟩ + shift·mⱼ.
    Invariant: the residual is that of b after every step. Cost: O(nnz) a sweep.
    """
    b, residual, shift = state.b, state.residual, state.shift
    largest = 0.0
    for j in range(len(b)):
        if curvatures[j] <= 0.0:
            continue
        z = b[j] * curvatures[j] + dot(columns, j, residual) + shift[0] * means[j]
        new = prox(penalty, j, z, curvatures[j])
        move = new - b[j]
        if move != 0.0:
            b[j] = new
            add(columns, j, -move, residual)
            shift[0] += move * means[j]
            largest = max(largest, abs(move) * np.sqrt(curvatures[j]))
    return largest


class ResidualDescent:
    """Coordinate descent for β on a fixed set of columns, by sweeps and extrapolation.

        min  ½⟨y − X̃β, y − X̃β⟩ + λ₁ Σ wⱼ|βⱼ| + (λ₂/2) Σ (wⱼβⱼ)²      (β ≥ 0 if positive)

    Cyclic coordinate descent becomes a linear recurrence once the signs are settled, and the
    combination of its last iterates with the smallest combined change (Anderson; Bertrand and
    Massias 2021) is far ahead of the last one. It is taken where it lowers the objective.
    Departures: celer extrapolates the dual point; here β itself is, and its residual with it.
    Invariant: the objective never rises. Cost: O(nnz) of the chosen columns a sweep; of dense data
    the chosen columns are copied.
    """

    def __init__(
        self,
        data: CentredColumns,
        target: FloatArray,
        chosen: IntArray,
        beta: FloatArray,
        penalty: ElasticNetPenalty,
    ) -> None:
        self.data, self.target, self.chosen = data, target, chosen
        self.roots = np.sqrt(data.weights)
        picked = data.X[:, chosen]
        if sparse.issparse(picked):
            weighted = picked.multiply(self.roots[:, None]).tocsc()
            self.columns: Any = as_design(weighted, by="columns")
        else:
            rows = np.asarray(picked, dtype=np.float64).T * self.roots
            self.columns = Dense(np.ascontiguousarray(rows))
        self.scale, self.means = data.scale[chosen], data.mean[chosen]
        # Of b = β/σ the weights are wσ.
        weights = penalty.weights if len(penalty.weights) else 1.0
        self.penalty = penalty._replace(weights=weights * self.scale)
        self.curvatures = (data.lengths()[chosen] * self.scale) ** 2
        self.state = self._afresh(beta)

    @property
    def beta(self) -> FloatArray:
        """Return the coefficients of the centred and scaled columns."""
        return self.state.b * self.scale

    def solve(self, tol: float, deadline: float) -> bool:
        """Sweep until no fit moves by more than the root of tol; tell whether that was reached."""
        small, self.state = 0.1 * np.sqrt(tol), self._afresh(self.beta)
        for _ in range(MAX_SWEEPS // DEPTH):
            states = [self._copy()]
            for _ in range(DEPTH):
                moved = descend(self.columns, self.curvatures, self.means, self.penalty, self.state)
                if moved <= small:
                    return True
                states.append(self._copy())
            self._extrapolate(states)
            if time.perf_counter() > deadline:
                return False
        return False

    def _afresh(self, beta: FloatArray) -> CoordinateDescent:
        """Return β with its residual computed anew, so that the rounding of many sweeps is
        forgotten."""
        residual = self.target - self.data.combination(self.chosen, beta)
        return CoordinateDescent(beta / self.scale, self.roots * residual, np.zeros(1))

    def _copy(self) -> CoordinateDescent:
        return CoordinateDescent(*(part.copy() for part in self.state))

    def _extrapolate(self, states: list[CoordinateDescent]) -> None:
        changes = np.stack([b.b - a.b for a, b in pairwise(states)])
        normal = changes @ changes.T
        normal += 1e-12 * max(float(np.trace(normal)), 1e-300) * np.eye(len(normal))
        shares = np.linalg.solve(normal, np.ones(len(normal)))
        total = shares.sum()
        if not (np.isfinite(total) and abs(total) > 0):
            return
        shares = shares / total
        mixed = CoordinateDescent(
            *(sum(s * p for s, p in zip(shares, parts, strict=True)) for parts in
              zip(*states[1:], strict=True))
        )  # fmt: skip
        if self.penalty.positive and (mixed.b < 0).any():
            return
        if self._objective(mixed) < self._objective(self.state):
            self.state = mixed

    def _objective(self, state: CoordinateDescent) -> float:
        residual = state.residual + state.shift[0] * self.roots
        return 0.5 * float(residual @ residual) + float(value(self.penalty, state.b))
