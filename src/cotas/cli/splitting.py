"""Rows that belong together: on one side of every split, and counted once in the bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import cotas
from cotas.arrays import AnyArray, BoolArray
from cotas.certificates import Certificate
from cotas.cli.exits import UsageError
from cotas.files.remarks import Remark
from cotas.files.tables import Table
from cotas.preparation.inspection import copies, numbered
from cotas.words import say

if TYPE_CHECKING:
    from cotas.cli.training import Settings

# For a sum of independent mistakes of unequal chances the binomial tail is the larger one.
CLASS_BY_CLASS = (
    "The rows were set aside class by class: it is about rows whose classes are as frequent as in "
    "this table (Hoeffding 1956)."
)
OF_COPIES = (
    "Rows that belong together are no independent draws: it counts the different rows, {count} of "
    "{rows}, each by its share of mistakes."
)
OF_GROUPS = (
    "Rows that belong together are no independent draws: it counts the groups of {group!r}, "
    "{count} for {rows} rows, each by its share of mistakes."
)


def grouped(table: Table, settings: Settings) -> tuple[Table, AnyArray | None, list[Remark]]:
    """What must stay on one side: the groups of a column, which is then no feature, or copies."""
    if settings.group is None:
        return table, *copies(table)
    table.refuse_names("group", [settings.group])
    if settings.group not in table.names:
        raise UsageError(say("--group: there is no column {group!r}.", group=settings.group))
    column = table.features[settings.group].cast(str).fill_null("")
    words = "Rows with the same {name!r} are on one side of the split; it is left out."
    remark = Remark("group", settings.group, say(words, name=settings.group))
    return table.without([settings.group]), numbered(column.to_numpy()), [remark]


def bound_of(
    wrong: BoolArray,
    groups: AnyArray | None,
    confidence: float,
    group: str | None = None,
    tried: int = 1,
) -> Certificate:
    """The bound for the error on future rows, in which each group counts once."""
    if groups is None or len(np.unique(groups)) == len(groups):
        return cotas.hold_out_bound(wrong, None, confidence, tried).noted(say(CLASS_BY_CLASS))
    codes = np.unique(groups, return_inverse=True)[1]
    shares = np.bincount(codes, wrong) / np.bincount(codes)
    whole = bool(np.isin(shares, (0.0, 1.0)).all())
    largest = None if whole else 1.0
    marks = shares == 1.0 if whole else shares
    words = OF_COPIES if group is None else OF_GROUPS
    counted = say(words, group=group, count=len(shares), rows=len(wrong))
    return cotas.hold_out_bound(marks, None, confidence, tried, largest=largest).noted(counted)
