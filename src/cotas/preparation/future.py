"""What rows that were set aside prove of rows to come, where they are a sample of these."""

from __future__ import annotations

import numpy as np

from cotas.arrays import AnyArray, BoolArray
from cotas.certificates import Certificate, hold_out_bound
from cotas.refusals import ParameterError
from cotas.words import say

# What rows that are equal may be: the same one entered twice, or draws that chance made equal.
EQUAL_ROWS = ("copies", "independent")

# For a sum of independent mistakes of unequal chances the binomial tail is the larger one.
CLASS_BY_CLASS = (
    "The rows were set aside class by class: it is about rows whose classes are as frequent as in "
    "this table (Hoeffding 1956)."
)
OF_COPIES = (
    "No bound for future rows: some rows occur more than once, and copies are no independent "
    "draws. equal_rows='independent' declares that each is an observation of its own."
)
DECLARED = "That equal rows are independent draws was declared, and not looked at."


def check_equal_rows(equal_rows: str) -> None:
    """Raise for what equal rows cannot be."""
    if equal_rows not in EQUAL_ROWS:
        raise ParameterError(
            "equal_rows", f"equal_rows must be one of {EQUAL_ROWS}, not {equal_rows!r}."
        )


def bound_of(
    wrong: BoolArray,
    groups: AnyArray | None,
    confidence: float,
    tried: int = 1,
    notes: tuple[str, ...] = (CLASS_BY_CLASS,),
) -> Certificate | None:
    """Return the bound for the error on future rows; none where rows of the table belong together.

    Those that are set aside are then no sample of rows to come, even if each is alone there.
    """
    if groups is not None and len(np.unique(groups)) < len(groups):
        return None
    return hold_out_bound(wrong, None, confidence, tried).noted(*map(say, notes))
