"""Two bounds of a minimum, the only place where they are made; and a vector known up to a bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from cotas.certificates.core import choices
from cotas.certificates.core.rounding import FloatArray, above, norm_up, up


class Objection(ValueError):
    """A reason why nothing is proved; `code` names the reason, and the words for it stand
    elsewhere.

    What is known of the minimum without a proof stands in the fields that `Bounds` has.
    """

    lower, upper, charge = 0.0, math.inf, 0.0
    moved: tuple[float, float] = (0.0, 0.0)

    def __init__(self, code: str, **details: object) -> None:
        super().__init__(code)
        self.code, self.details = code, details


def moved_apart(
    lower: float, upper: float, charge: float, room: float = 0.0, own: float = math.inf
) -> tuple[float, float, tuple[float, float]]:
    """Move both bounds of an objective ≥ 0 outwards; return how far. `own`: the upper's charge."""
    if not (math.isfinite(lower) and math.isfinite(upper) and charge < math.inf):
        return lower, upper, (0.0, 0.0)
    lower, upper = float(lower), float(upper)
    moved = choices.apart(lower, upper, charge, room, min(charge, own))
    if not (moved[0] >= 0.0 and moved[1] >= 0.0):
        raise Objection("not finite")
    low = math.nextafter(lower - moved[0], -math.inf)
    low = max(0.0, low) if lower >= 0.0 else low
    return low, math.nextafter(upper + moved[1], math.inf), moved


@dataclass(frozen=True)
class Bounds:
    """Bounds: lower ≤ minimum ≤ value of the model ≤ upper; `charge` is about what rounding has
    cost.

    Both have been moved apart by `moved`, so that another evaluation, with sums in another order,
    proves them too: it need not, and does not, allow for any slack.
    """

    lower: float
    upper: float
    charge: float = 0.0
    moved: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def proved(cls, lower: float, upper: float, charge: float = 0.0, *more: float) -> Bounds:
        """Make bounds, the one door: refuse what is not finite, and bounds that contradict.

        `more`: by how much less another evaluation may prove the lower bound, the upper's charge.
        """
        if not (math.isfinite(lower) and math.isfinite(upper) and charge >= 0.0):
            raise Objection("not finite")
        if lower > upper:
            raise Objection("contradiction")
        low, high, moved = moved_apart(float(lower), float(upper), float(charge), *more)
        if math.isinf(high):  # the largest numbers cannot be moved
            raise Objection("not finite")
        return cls(low, high, float(charge) + sum(moved), moved)

    @property
    def gap(self) -> float:
        """Return upper − lower, rounded up."""
        return max(0.0, math.nextafter(self.upper - self.lower, math.inf))


class _Pull(NamedTuple):
    u: FloatArray
    unit: FloatArray
    off: float


class Pull(_Pull):
    """A vector u = û ± unit·e with ‖e‖ ≤ off."""

    @cached_property
    def square(self) -> float:
        """Compute ‖u‖², rounded up: ‖û + unit·e‖² ≤ ‖û‖² + 2‖û·unit‖off + (max unit·off)²."""
        u, unit, off = self
        size, mixed = norm_up(u), norm_up(u * unit)
        widest = above(float(unit.max(initial=0.0)) * off, 3)
        return up(above(size * size, 3) + above(2 * mixed * off, 3) + above(widest * widest, 3))
