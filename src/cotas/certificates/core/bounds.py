"""Two bounds of a minimum, the only place where they are made; and a vector known up to a bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cotas.certificates.core.rounding import FloatArray, U, above

Sides = tuple[float, float]
# What bounds are moved apart by, as a part of the objective and of what rounding cost.
APART, FELT = 1e-10, 1 / 16


class Objection(ValueError):
    """Why nothing is proved; `code` names the reason, and the words for it stand elsewhere.

    What is known of the minimum without a proof stands in the fields that `Bounds` has.
    """

    lower, upper, charge = 0.0, math.inf, 0.0
    moved: Sides = (0.0, 0.0)

    def __init__(self, code: str, **details: object) -> None:
        super().__init__(code)
        self.code, self.details = code, details


def moved_apart(
    lower: float, upper: float, charge: float, room: float = 0.0
) -> tuple[float, float, Sides]:
    """Both bounds of an objective ≥ 0 a little apart, and by how much: less than rounding cost.

    The lower one by as much as `room`, if that is more.
    """
    if not (math.isfinite(lower) and math.isfinite(upper) and charge < math.inf):
        return lower, upper, (0.0, 0.0)
    lower, upper = float(lower), float(upper)
    # Rounding may be as large as an objective that is nearly zero.
    near = charge if upper <= charge else max(FELT * charge, APART * upper)
    below = min(charge, max(room, FELT * charge, APART * abs(lower)))
    # Who compares adds this again: a bound that stops at zero was moved no farther.
    below = min(below, lower) if lower >= 0.0 else below
    moved = (max(0.0, below), max(0.0, min(charge, near)))
    apart = math.nextafter(lower - moved[0], -math.inf)
    low = max(0.0, apart) if lower >= 0.0 else apart
    return low, math.nextafter(upper + moved[1], math.inf), moved


@dataclass(frozen=True)
class Bounds:
    """lower ≤ minimum ≤ value of the model ≤ upper; `charge` is about what rounding has cost.

    Both have been moved apart by `moved`, so that another evaluation, with sums in another order,
    proves them too: it need not, and does not, allow for any slack.
    """

    lower: float
    upper: float
    charge: float = 0.0
    moved: Sides = (0.0, 0.0)

    @classmethod
    def proved(cls, lower: float, upper: float, charge: float = 0.0, room: float = 0.0) -> Bounds:
        """The one door: what is not finite is refused, and so are bounds that contradict.

        Another evaluation may prove a lower bound that is less by `room`.
        """
        if not (math.isfinite(lower) and math.isfinite(upper) and charge >= 0.0):
            raise Objection("not finite")
        if lower > upper:
            raise Objection("contradiction")
        low, high, moved = moved_apart(float(lower), float(upper), float(charge), float(room))
        return cls(low, high, float(charge) + sum(moved), moved)

    @property
    def gap(self) -> float:
        """upper − lower, rounded up."""
        return max(0.0, math.nextafter(self.upper - self.lower, math.inf))


class Pull(NamedTuple):
    """u = û ± unit·e with ‖e‖ ≤ off."""

    u: FloatArray
    unit: FloatArray
    off: float

    def sizes(self, weights: FloatArray | None, positive: bool) -> FloatArray:
        """|uⱼ|/wⱼ, or −uⱼ/wⱼ, rounded up where that is above zero."""
        sizes = (-self.u if positive else np.abs(self.u)) + self.unit * (self.off * (1 + 4 * U))
        return np.asarray((sizes if weights is None else sizes / weights) * (1 + 8 * U))

    def largest(self, weights: FloatArray | None, positive: bool) -> float:
        """The largest of these, rounded up; at least zero."""
        top = float(self.sizes(weights, positive).max(initial=0.0))
        return math.inf if math.isnan(top) else above(top)
