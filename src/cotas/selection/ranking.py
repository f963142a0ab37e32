"""Which value is best, and whether the gaps of the fits could change the answer.

Each value stands for the exact optimum of its problem; what was fitted is within a proved gap of
it. Where the gap encloses the validation loss of that optimum, in [aᵥ, bᵥ], the winner w is safe if

    b_w ≤ aᵥ   for every other value v:

then no other exact optimum has a smaller validation loss, whatever a solver left undone. In any
case none is better by more than the regret, the largest b_w − aᵥ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.refusals import ParameterError
from cotas.selection.fits import Fit
from cotas.selection.splits import DataSplit
from cotas.selection.yardstick import Yardstick, pooled
from cotas.words import in_one, say

# A gap is made smaller by this factor at least, if at all.
LEAST_PART = 1e-2


@dataclass(frozen=True)
class Standing:
    """One value, all parts of the data together."""

    value: Any
    fits: tuple[Fit, ...]

    def figures(self, measure: Yardstick) -> FloatArray:
        """Return training loss and error, validation loss and error."""
        found = []
        for which in ("training", "validation"):
            counts = pooled([getattr(fit, which) for fit in self.fits])
            found += [counts.loss, measure.error(counts.error)]
        return np.array(found)

    def interval(self, by: str, measure: Yardstick) -> tuple[float, float]:
        """Return between which the validation loss or error of the exact optimum lies; NaN if
        unknown."""
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
        """Return the largest relative gap of its fits; NaN where one has none."""
        return float(np.max([fit.gap for fit in self.fits]))

    @property
    def status(self) -> str:
        """Return the status of the fit of which the least is proved."""
        order = ["does not hold", "MISSED tol", "no certificate", "holds, no gap", "gap measured"]
        found = {fit.status for fit in self.fits}
        return next((status for status in order if status in found), "proved")


def what_fits_made(
    standings: Sequence[Standing], measure: Yardstick, parts: Sequence[DataSplit], interrupted: bool
) -> dict[str, Any]:
    """Return the attributes that are `Judged`."""
    figures = np.array([standing.figures(measure) for standing in standings])
    return {
        "training_loss": figures[:, 0],
        "training_error": figures[:, 1],
        "validation_loss": figures[:, 2],
        "validation_error": figures[:, 3],
        "gaps": np.array([standing.gap for standing in standings]),
        "status": tuple(standing.status for standing in standings),
        "certificates": tuple([fit.certificate for fit in s.fits] for s in standings),
        "loss": measure.loss,
        "n_validation": sum(len(part.y_val) for part in parts),
        "interrupted": interrupted,
    }


def _end(fit: Fit, by: str, side: int) -> float:
    if fit.enclosure is None:
        return math.nan
    return (fit.enclosure.loss if by == "loss" else fit.enclosure.error)[side]


def winner(scores: Sequence[float]) -> int:
    """Choose the smallest; of several the first, which is the simplest where the values have an
    order."""
    known = np.where(np.isfinite(scores), scores, np.inf)
    if not np.isfinite(known).any():
        raise ParameterError(
            "values", "No value has a finite validation loss: the models give no finite scores."
        )
    return int(np.argmin(known))


def rivals(intervals: Sequence[tuple[float, float]], best: int, allowed: float = 0.0) -> list[int]:
    """Find those whose exact optimum may be better than that of the winner, by more than is
    allowed.

    A value without an interval is a rival too, and without one of the winner all are.
    """
    top = intervals[best][1]
    return [v for v, (low, _) in enumerate(intervals) if v != best and not top <= low + allowed]


def regret(intervals: Sequence[tuple[float, float]], best: int) -> float:
    """Bound by how much another exact optimum can be better at most; NaN where that is not
    known."""
    lows = [low for v, (low, _) in enumerate(intervals) if v != best]
    return float(np.max([0.0, *(intervals[best][1] - np.array(lows))]))


def parts_to_settle(
    scores: Sequence[float],
    intervals: Sequence[tuple[float, float]],
    best: int,
    by: str,
    allowed: float,
) -> dict[int, float]:
    """Choose for the winner and its rivals, to which part their gaps should shrink to tell them
    apart.

    An interval for a loss is about as wide as the root of the gap. The number of rows that are
    certainly right or wrong follows no such rule, nor does what has no interval.
    """
    found: dict[int, float] = {}
    top = intervals[best][1]
    for v in rivals(intervals, best, allowed):
        apart, low = scores[v] - scores[best] + allowed, intervals[v][0]
        width = (top - scores[best]) + (scores[v] - low)
        known = by == "loss" and width > 0  # NaN is not
        found[v] = min(LEAST_PART, (0.7 * apart / width) ** 2) if known else LEAST_PART
    if found:
        found[best] = min(found.values())
    return found


def in_words(
    values: Sequence[str],
    intervals: Sequence[tuple[float, float]],
    best: int,
    by: str,
    missed: Sequence[bool],
    gaps: Sequence[float],
) -> tuple[bool | None, str]:
    """Tell whether the ranking is safe given the gaps (None: not known), and that in a sentence."""
    if len(values) == 1:
        return True, say("There is one value only, hence nothing to rank.")
    measure = say("validation loss") if by == "loss" else say("validation error")
    chosen = values[best]
    against = rivals(intervals, best)
    if not against:
        return True, say(
            "Proved: whatever the fits left undone, no other value's exact optimum has a smaller "
            "{measure} than that of {chosen}.",
            measure=measure,
            chosen=chosen,
        )
    if all(not math.isnan(intervals[v][0]) for v in (best, *against)):
        return False, say(
            "Proved: no other value's exact optimum has a {measure} more than {regret:.2g} below "
            "that of {chosen}. Not proved is that none is below it at all: given the gaps, "
            "{rivals} may be.",
            measure=measure,
            regret=regret(intervals, best),
            chosen=chosen,
            rivals=_listed(values, against),
        )
    return None, _unknown(values, intervals, [best, *against], missed, gaps)


def _unknown(
    values: Sequence[str],
    intervals: Sequence[tuple[float, float]],
    close: Sequence[int],
    missed: Sequence[bool],
    gaps: Sequence[float],
) -> str:
    unknown = [v for v in close if math.isnan(intervals[v][0])]
    if all(math.isnan(gaps[v]) for v in unknown):
        return say(
            "Not comparable by proof: these fits have no gap to an exact optimum. The ranking is "
            "of the models as fitted."
        )
    loose = say(
        "Not comparable by proof: nothing ties the gap of {values} to its predictions for new "
        "rows. The ranking is of the models as fitted.",
        values=_listed(values, unknown),
    )
    late = [v for v in unknown if missed[v]]
    if not late:
        return loose
    return in_one([loose, say("{values} did not even reach tol.", values=_listed(values, late))])


def _listed(values: Sequence[str], which: Sequence[int]) -> str:
    few = ", ".join(values[v] for v in which[:3])
    if len(which) <= 3:
        return few
    return say("{values} and {count} more", values=few, count=len(which) - 3)
