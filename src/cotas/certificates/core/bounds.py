"""Two bounds of a minimum, and the only place where they are made."""

from __future__ import annotations

import math
from dataclasses import dataclass


class Objection(ValueError):
    """Why nothing is proved; `code` names the reason, and the words for it stand elsewhere."""

    def __init__(self, code: str, **details: object) -> None:
        super().__init__(code)
        self.code, self.details = code, details


@dataclass(frozen=True)
class Bounds:
    """lower ≤ minimum ≤ value of the model ≤ upper; `charge` is about what rounding has cost."""

    lower: float
    upper: float
    charge: float = 0.0

    @classmethod
    def proved(cls, lower: float, upper: float, charge: float = 0.0) -> Bounds:
        """The one door: what is not finite is refused, and so are bounds that contradict."""
        if not (math.isfinite(lower) and math.isfinite(upper) and charge >= 0.0):
            raise Objection("not finite")
        if lower > upper:
            raise AssertionError(f"lower {lower!r} above upper {upper!r}: the core is wrong")
        return cls(float(lower), float(upper), float(charge))

    @property
    def gap(self) -> float:
        """upper − lower, rounded up."""
        return max(0.0, math.nextafter(self.upper - self.lower, math.inf))
