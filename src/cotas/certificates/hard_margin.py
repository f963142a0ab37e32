"""The maximum-margin separator: ½‖θ‖² under yᵢ(θ·xᵢ + θ₀) ≥ 1, between two bounds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.ledger import plain_fields
from cotas.certificates.sweep import EPS, Block, Sketch, Sweep, Tally, gather_facts


@dataclass(frozen=True)
class HardMarginPoint:
    """A separator and the multipliers α ≥ 0 that show how much smaller ‖θ‖ could be.

    Dual: max Σ αᵢ − ½‖Σ αᵢyᵢxᵢ‖² with α ≥ 0, and Σ αᵢyᵢ = 0 with a bias. For the best multiple of
    α that is (Σ αᵢ)²/(2‖Σ αᵢyᵢxᵢ‖²).
    """

    coef: FloatArray
    intercept: float
    positive: Any
    free_bias: bool
    alpha: FloatArray = field(repr=False)

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        """Both bounds, recomputed from the data."""
        sweep = Sweep(X, y, [self.positive], self.coef[:, None])
        if sweep.X.shape[0] != len(self.alpha):
            raise ValueError(
                f"X has {sweep.X.shape[0]} rows; the certificate is about {len(self.alpha)}."
            )

        def read(block: Block) -> Tally:
            signs = block.signs[:, 0]
            alpha = np.maximum(self.alpha[block.span], 0.0)
            sides = np.stack([np.where(signs > 0, alpha, 0.0), np.where(signs < 0, alpha, 0.0)], 1)
            return {
                "min agreement": (signs * (block.products[:, 0] + self.intercept)).min(),
                "sum alpha": sides.sum(axis=0),
                "sum combination": block.combine(sides),
            }

        found = sweep.tally(read)
        return self._conclude(found, gather_facts(X, y, [self.positive]).sketches[0])

    def _conclude(self, found: Tally, sketch: Sketch) -> Certificate:
        smallest = float(found["min agreement"])
        length = float(np.linalg.norm(self.coef))
        upper = 0.5 * (length / smallest) ** 2 if smallest > 0 else np.inf
        sides, combinations = found["sum alpha"], found["sum combination"]
        share = np.ones(2)
        if self.free_bias:
            share = np.array([sides.min() / side if side > 0 else 0.0 for side in sides])
        total = float(share @ sides)
        square = float(
            np.square(share[0] * combinations[:, 0] - share[1] * combinations[:, 1]).sum()
        )
        lower = total**2 / (2 * square) if square > 0 else 0.0
        objection = "" if smallest > 0 else "The model does not separate the data."
        return conclude(
            kind="duality",
            lower=min(lower, upper),
            upper=upper,
            objection=objection,
            vacuous=lower <= 0.01 * upper,
            statement=(
                "No separator with all margins at least 1 has ½‖θ‖² below "
                f"{min(lower, upper):.6g}; "
                f"this one, scaled to that, has {upper:.6g}."
            ),
            reference="weak duality, section 3.7 of document 000",
            figures={
                "distance of the nearest row to the boundary": smallest / length if length else 0.0,
                "no separator keeps a distance above": 1 / np.sqrt(2 * lower) if lower else np.inf,
            },
            remarks=("It certifies the optimisation, not the error on new data.",),
            charge=0.0 if np.isinf(upper) else 1e-9 * upper + 64 * EPS,
            witness=self,
            sketch=sketch,
        )

    def about(self, coef: FloatArray, intercept: float) -> Self:
        """The same multipliers, said to measure other parameters."""
        return replace(self, coef=np.array(coef), intercept=float(intercept))

    def to_dict(self) -> dict[str, Any]:
        """The witness in plain Python types."""
        return plain_fields(self)
