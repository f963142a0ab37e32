"""Step sizes that change with the iteration, with their Robbins–Monro conditions checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from cotas.refusals import ParameterError


@dataclass(frozen=True)
class Constant:
    """The same step always; Σ η² = ∞, so noise never dies out.

    Examples
    --------
    >>> Constant(0.5)(100)
    0.5
    """

    eta: float

    def __post_init__(self) -> None:
        _check_positive(self.eta, "eta")

    def __call__(self, k: Any) -> Any:
        """Return the step of one iteration, or an array of steps for an array of iterations."""
        return self.eta + 0.0 * k

    @property
    def is_robbins_monro(self) -> bool:
        """Tell whether Σ η = ∞ and Σ η² < ∞."""
        return False


@dataclass(frozen=True)
class PowerLaw:
    """A power law: η at iteration k = 1, 2, … is eta0 / (1 + (k − 1)/delay)^power.

    Stochastic gradient steps converge if Σ η = ∞ and Σ η² < ∞ (Robbins and Monro 1951). Here
    that means ½ < power ≤ 1, and nothing else is accepted: `Constant` and any function of k are
    there for experiments that claim nothing.

    Parameters
    ----------
    eta0 : float
        The first step.
    power : float, default=1.0
        Above ½ and at most 1.
    delay : float, default=1.0
        How many iterations pass before the step has fallen to eta0/2^power.

    Examples
    --------
    >>> step = PowerLaw(0.1, 1.0)
    >>> step(1), step(4)
    (0.1, 0.025)
    >>> PowerLaw(0.1, 0.5)
    Traceback (most recent call last):
    ...
    cotas.refusals.ParameterError: power=0.5: Σ η² diverges, so the noise does not die out; take \
½ < power ≤ 1.
    """

    eta0: float
    power: float = 1.0
    delay: float = 1.0

    def __post_init__(self) -> None:
        _check_positive(self.eta0, "eta0")
        _check_positive(self.delay, "delay")
        if not self.power > 0.5:
            raise ParameterError(
                "power",
                f"power={self.power!r}: Σ η² diverges, so the noise does not die out; take "
                "½ < power ≤ 1.",
            )
        if self.power > 1:
            raise ParameterError(
                "power",
                f"power={self.power!r}: Σ η is finite, so the steps may end before the minimum; "
                "take ½ < power ≤ 1.",
            )

    def __call__(self, k: Any) -> Any:
        """Return the step of one iteration, or an array of steps for an array of iterations."""
        return self.eta0 / (1.0 + (k - 1) / self.delay) ** self.power

    @property
    def is_robbins_monro(self) -> bool:
        """Tell whether Σ η = ∞ and Σ η² < ∞."""
        return True


def _check_positive(value: float, name: str) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ParameterError(name, f"{name} must be a finite number above zero, not {value!r}.")
