"""What is minimized, written once.

    P(θ, θ₀) = Σ sᵢ ℓ(yᵢ(θ·xᵢ + θ₀)) + (λ/2)‖θ‖²,        Σ sᵢ = 1,

the bias not penalized, and its dual

    D(α) = − Σ sᵢ ℓ*(−αᵢ/sᵢ) − (1/2λ)‖Σ αᵢ yᵢ xᵢ‖²,      Σ αᵢ yᵢ = 0 when the bias is free.

For every (θ, θ₀) and every feasible α, D(α) ≤ min P ≤ P(θ, θ₀). With the hinge loss
ℓ*(−a) = −a on [0, 1], so that D(α) = Σ αᵢ − (1/2λ)‖Σ αᵢ yᵢ xᵢ‖² with 0 ≤ αᵢ ≤ sᵢ.

With K classes at once, softmax regression minimizes, W having a column for each class,

    P(W, b) = Σ sᵢ [log Σₖ exp(zᵢₖ) − zᵢ,y₍ᵢ₎] + (λ/2)‖W‖²,      zᵢ = Wᵀxᵢ + b,

and its dual is, each pᵢ being a probability for each class and eᵢ the one that is sure of yᵢ,

    D(p) = Σ sᵢ H(pᵢ) − (1/2λ)‖Σ sᵢ xᵢ(eᵢ − pᵢ)ᵀ‖²,    Σ sᵢ(eᵢ − pᵢ) = 0 when the biases are free,

with the entropy H(p) = − Σₖ pₖ log pₖ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cotas.arrays import FloatArray

if TYPE_CHECKING:
    from cotas.losses import MarginLoss


@dataclass(frozen=True)
class RegularizedRisk:
    """The mean loss of a linear classifier plus a penalty, with a free bias or with none.

    The penalty is λ(ρ‖θ‖₁ + ½(1 − ρ)‖θ‖²), ρ being `l1_ratio`: (λ/2)‖θ‖² unless it is given.
    """

    loss: MarginLoss
    lam: float
    free_bias: bool
    # Where not zero, (λ/2)(θ₀/bias_scale)² is added and the bias is free no longer: the problem
    # that LIBLINEAR solves, the bias being the weight of one more feature of that value.
    bias_scale: float = 0.0
    l1_ratio: float = 0.0

    @property
    def gain_is_linear(self) -> bool:
        """Tell whether − Σ sᵢ ℓ*(−αᵢ/sᵢ) = Σ αᵢ, as it is for the hinge loss."""
        return self.loss.name == "hinge"

    def dual_cost(self, combination: FloatArray) -> float:
        """Compute (1/2λ)‖Σ αᵢyᵢxᵢ‖²"""
        return float(combination @ combination) / (2.0 * self.lam)


@dataclass(frozen=True)
class SoftmaxRisk:
    """The mean log loss of softmax regression plus a penalty, with free biases or with none.

    The penalty is that of `RegularizedRisk`, W being one vector.
    """

    lam: float
    free_bias: bool
    l1_ratio: float = 0.0


# An objective of this part of the zero model's counts as zero.
AS_GOOD_AS_ZERO = 1e-9


def relative_gap(gap: float, objective: float, zero_objective: float | None = None) -> float:
    """Compute gap / objective, the share of it by which the best can be lower.

    Where the best may be zero, the objective counts as no less than 1e-9 times that of the zero
    model, and no less than 1e-280, near which double precision ends. No gap at all is a relative
    gap of zero.

    >>> relative_gap(0.01, 0.5), relative_gap(0.0, 0.0), relative_gap(1e-12, 0.0, 4.0)
    (0.02, 0.0, 0.00025)
    """
    if gap <= 0.0:
        return 0.0
    # What is not a number is no gap that anybody has proved.
    scale = max(abs(objective), AS_GOOD_AS_ZERO * (zero_objective or 0.0), 1e-280)
    return gap / scale if math.isfinite(gap) else math.inf
