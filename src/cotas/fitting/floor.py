"""When rounding, and not the solver, is what keeps a smaller gap from being proved."""

from __future__ import annotations

import math

from cotas.certificates import Certificate
from cotas.stops import Reason, Stop

ADVICE = (
    "More iterations would not help: double precision keeps 16 digits of each number, and on "
    "these data their rounding is as large as the gap that is left. Rescale the features, for "
    "example with scikit-learn's StandardScaler, or raise tol."
)
# What rounding costs is known up to a factor of this size.
NEAR = 4.0
# A gap so many times as large as what rounding costs is none that rounding made.
FAR = 1e4
# So many looks that do not lower a gap by a tenth are a sign that nothing will.
PATIENCE, BETTER = 10, 0.9


def at_floor(certificate: Certificate) -> bool:
    """Whether the gap that is proved is no more than what rounding alone can make."""
    return bool(certificate.gap <= NEAR * certificate.charge)


class Idle:
    """Counts the looks since a gap was last lowered by a tenth."""

    def __init__(self) -> None:
        self.best, self.looks = math.inf, 0

    def see(self, gap: float) -> int:
        """How many looks, this one included, have brought nothing."""
        better = gap < BETTER * self.best
        self.best, self.looks = (gap, 0) if better else (self.best, self.looks + 1)
        return self.looks


class Floor:
    """Watches what a solver believes of its gap, and what the checker proves."""

    def __init__(self) -> None:
        self.believed, self.proved = Idle(), Idle()

    def is_stuck(self, believed: float) -> bool:
        """Whether the solver has stopped getting on, by its own account, so that a look is due."""
        if math.isinf(believed):
            return False
        idle = self.believed.see(believed)
        return idle > 0 and idle % PATIENCE == 0

    def reached(self, certificate: Certificate, believed: float | None) -> bool:
        """Whether to give up, the checker having looked at a gap that seemed good enough.

        The gap is what rounding makes and does not become smaller, or it has not done so for a
        while although the solver believes in one far below it.
        """
        idle, gap = self.proved.see(certificate.gap), certificate.relative_gap
        if at_floor(certificate):
            return idle > 0 or certificate.gap <= certificate.charge
        rounding = certificate.gap <= FAR * certificate.charge
        return rounding and believed is not None and believed < 0.1 * gap and idle >= PATIENCE


def shortfall(gap: float, tol: float, reason: Reason, advice: str) -> str:
    """The warning of a fit that could not prove what was asked for."""
    return (
        f"The relative gap proved is {gap:.2g}, and tol={tol:g} was asked for ({reason}). "
        f"{ADVICE if reason.stop is Stop.ROUNDING else advice}"
    )
