"""What is minimised, written once.

    P(θ, θ₀) = Σ sᵢ ℓ(yᵢ(θ·xᵢ + θ₀)) + (λ/2)‖θ‖²,        Σ sᵢ = 1,

the bias not penalised, and its dual

    D(α) = − Σ sᵢ ℓ*(−αᵢ/sᵢ) − (1/2λ)‖Σ αᵢ yᵢ xᵢ‖²,      Σ αᵢ yᵢ = 0 when the bias is free.

For every (θ, θ₀) and every feasible α, D(α) ≤ min P ≤ P(θ, θ₀). With the hinge loss
ℓ*(−a) = −a on [0, 1], so that D(α) = Σ αᵢ − (1/2λ)‖Σ αᵢ yᵢ xᵢ‖² with 0 ≤ αᵢ ≤ sᵢ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cotas.arrays import FloatArray
from cotas.losses import ConvexLoss


@dataclass(frozen=True)
class RegularisedRisk:
    """The mean loss of a linear classifier plus (λ/2)‖θ‖², with a free bias or with none."""

    loss: ConvexLoss
    lam: float
    free_bias: bool
    # Where not zero, (λ/2)(θ₀/bias_scale)² is added and the bias is free no longer: the problem
    # that LIBLINEAR solves, the bias being the weight of one more feature of that value.
    bias_scale: float = 0.0

    def risk(self, agreements: FloatArray, weights: FloatArray) -> FloatArray:
        """Σ sᵢ ℓ(zᵢ) over some of the examples, one entry for each column of agreements."""
        return np.asarray(weights @ self.loss.value(agreements))

    def penalty(self, theta: FloatArray, theta0: float = 0.0) -> float:
        """(λ/2)‖θ‖², and the penalty of the bias where there is one."""
        square = float(theta @ theta)
        if self.bias_scale:
            square += (theta0 / self.bias_scale) ** 2
        return 0.5 * self.lam * square

    def dual_gain(self, alpha: FloatArray, weights: FloatArray) -> FloatArray:
        """− Σ sᵢ ℓ*(−αᵢ/sᵢ) over some of the examples, one entry for each column of α.

        All the weights must be positive. A sum over all examples is the sum of such parts.
        """
        fractions = (alpha.T / weights).T
        return np.asarray(-(weights @ self.loss.conjugate(-fractions)))

    def dual_cost(self, combination: FloatArray, balance: float = 0.0) -> float:
        """(1/2λ)‖Σ αᵢyᵢxᵢ‖², and the same for the bias if it is penalised; balance = Σ αᵢyᵢ."""
        square = float(combination @ combination) + (self.bias_scale * balance) ** 2
        return square / (2.0 * self.lam)

    def primal_from_dual(self, combination: FloatArray) -> FloatArray:
        """θ(α) = (1/λ) Σ αᵢ yᵢ xᵢ"""
        return np.asarray(combination / self.lam)
