"""Which value is best, and whether the gaps of the fits could change the answer.

Each value stands for the exact optimum of its problem; what was fitted is within a proved gap of
it. Where the gap encloses the validation loss of that optimum, in [aᵥ, bᵥ], the winner w is safe if

    b_w ≤ aᵥ   for every other value v:

then no other exact optimum has a smaller validation loss, whatever a solver left undone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.selection.fits import Fit
from cotas.selection.yardstick import Yardstick, pooled


@dataclass(frozen=True)
class Standing:
    """One value, all parts of the data together."""

    value: Any
    fits: tuple[Fit, ...]

    def figures(self, measure: Yardstick) -> FloatArray:
        """Training loss and error, validation loss and error."""
        found = []
        for which in ("training", "validation"):
            tally = pooled([getattr(fit, which) for fit in self.fits])
            found += [tally.loss, measure.error(tally.error)]
        return np.array(found)

    def interval(self, by: str, measure: Yardstick) -> tuple[float, float]:
        """Between which the validation loss or error of the exact optimum lies; NaN if unknown."""
        weights = np.array([fit.validation.weight for fit in self.fits])
        sides = []
        for side in (0, 1):
            ends = [_end(fit, by, side) for fit in self.fits]
            mean = float(weights @ np.array(ends) / weights.sum())
            if not math.isfinite(mean):
                return math.nan, math.nan
            sides.append(measure.error(mean) if by == "error" else mean)
        return sides[0], sides[1]

    @property
    def gap(self) -> float:
        """The largest relative gap of its fits; NaN where one has none."""
        return float(np.max([fit.gap for fit in self.fits]))

    @property
    def status(self) -> str:
        """That of the fit of which the least is proved."""
        order = ["does not hold", "MISSED tol", "no certificate", "holds, no gap", "gap measured"]
        found = {fit.status for fit in self.fits}
        return next((status for status in order if status in found), "proved")


def _end(fit: Fit, by: str, side: int) -> float:
    if fit.enclosure is None:
        return math.nan
    return (fit.enclosure.loss if by == "loss" else fit.enclosure.error)[side]


def winner(scores: Sequence[float]) -> int:
    """The smallest; of several the first, which is the simplest where the values have an order."""
    known = np.where(np.isfinite(scores), scores, np.inf)
    if not np.isfinite(known).any():
        raise ValueError("No value has a finite validation loss: the models give no finite scores.")
    return int(np.argmin(known))


def rivals(intervals: Sequence[tuple[float, float]], best: int) -> list[int]:
    """Those whose exact optimum is not proved to be no better than that of the winner.

    A value without an interval is a rival too, and without one of the winner all are.
    """
    top = intervals[best][1]
    return [v for v, (low, _) in enumerate(intervals) if v != best and not top <= low]


def in_words(
    values: Sequence[str],
    intervals: Sequence[tuple[float, float]],
    best: int,
    by: str,
    missed: Sequence[bool],
    gaps: Sequence[float],
) -> tuple[bool | None, str]:
    """Whether the ranking is safe given the gaps (None: not known), and that in a sentence."""
    if len(values) == 1:
        return True, "There is one value only, hence nothing to rank."
    against = rivals(intervals, best)
    if not against:
        return True, (
            f"Proved: whatever the fits left undone, no other value's exact optimum has a smaller "
            f"validation {by} than that of {values[best]}."
        )
    unknown = [v for v in (best, *against) if math.isnan(intervals[v][0])]
    if not unknown:
        return False, (
            f"Not proved: given the gaps, the exact optimum of {_listed(values, against)} may have "
            f"a smaller validation {by} than that of {values[best]}. The models as fitted rank as "
            "shown; a smaller tol may decide it."
        )
    if all(math.isnan(gaps[v]) for v in unknown):
        return None, (
            "Not comparable by proof: these fits have no gap to an exact optimum. The ranking is "
            "of the models as fitted."
        )
    late = [v for v in unknown if missed[v]]
    said = f" {_listed(values, late)} did not even reach tol." if late else ""
    return None, (
        f"Not comparable by proof: nothing ties the gap of {_listed(values, unknown)} to its "
        f"predictions for new rows. The ranking is of the models as fitted.{said}"
    )


def _listed(values: Sequence[str], which: Sequence[int]) -> str:
    few = [values[v] for v in which[:3]]
    more = f" and {len(which) - 3} more" if len(which) > 3 else ""
    return ", ".join(few) + more
