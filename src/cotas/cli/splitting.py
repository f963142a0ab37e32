"""What was asked for, and how the rows are split: those that belong together stay together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, BoolArray, IntArray
from cotas.certificates import Certificate
from cotas.cli.command import UsageError
from cotas.cli.session import Session
from cotas.files.frames import coded
from cotas.files.problems import Remark, gathered
from cotas.files.tables import Table
from cotas.preparation.inspection import copies, inspect_table, numbered
from cotas.preparation.preparation import Preparation
from cotas.preparation.targets import CLASS_BY_CLASS, DECLARED, bound_of, hold_out_rows
from cotas.words import say

# Fewer rows than this are all needed for training.
FEWEST_TO_SPLIT = 30


@dataclass(frozen=True)
class Settings:
    """What was asked for."""

    model: str | None
    task: str
    given: dict[str, Any]
    seed: int = 0
    hold_out: float = 0.2
    confidence: float = 0.95
    select: str | None = None
    max_time: float | None = None
    command: str = ""
    preparation: Preparation = field(default_factory=Preparation)
    group: str | None = None
    time: float = 60.0
    trials: int | None = None
    single: bool = False
    probabilities: bool = False
    equal_rows: str = "copies"


@dataclass(frozen=True)
class SplitTable:
    """The table cut into the rows to train on and the rows held out."""

    table: Table
    y: AnyArray
    train: IntArray
    test: IntArray
    groups: AnyArray | None = None

    def groups_of_training(self) -> AnyArray | None:
        """What must stay together, of the rows to train on."""
        return None if self.groups is None else self.groups[self.train]

    def take(self, rows: IntArray) -> tuple[Any, AnyArray]:
        """The features and the targets of some rows."""
        return self.table.take(rows), self.y[rows]


def split_and_told(
    session: Session, table: Table, y: AnyArray, settings: Settings
) -> tuple[SplitTable, list[Remark]]:
    """Set rows aside, and say what is to be known of the columns: left out, odd, sorted."""
    rows, few = split(table, y, settings)
    keep = (*settings.preparation.keep, *settings.preparation.unix_seconds)
    seen = inspect_table(rows.table, rows.y, settings.task, (rows.train, rows.test), keep)
    session.remark(*gathered([*seen, *few]))
    return rows, [*seen, *few]


def check_share(share: float) -> None:
    """Raise unless it is a share of the rows to hold out."""
    if not 0 <= share < 1:
        raise UsageError(
            "--hold-out is a share of the rows, such as 0.2, not {share:g}.", share=share
        )


def split(table: Table, y: AnyArray, settings: Settings) -> tuple[SplitTable, list[Remark]]:
    """All rows to train on if none are to be held out, or if there are too few."""
    share = settings.hold_out
    check_share(share)
    if table.has_names:
        table = replace(table, features=coded(table.features))
    table, groups, said = grouped(table, y, settings)
    if share > 0 and len(y) < FEWEST_TO_SPLIT:
        words = say("With {rows} rows all are trained on, and none are held out.", rows=len(y))
        share, said = 0, [*said, Remark("few rows", None, words)]
    rows = np.arange(len(y)), np.arange(0)
    if share > 0:
        rows = hold_out_rows(y, settings.task, share, settings.seed, groups)
    return SplitTable(table, y, *rows, groups), said


def grouped(
    table: Table, y: AnyArray, settings: Settings
) -> tuple[Table, AnyArray | None, list[Remark]]:
    """What must stay on one side: the groups of a column, which is then no feature, or copies."""
    if settings.group is None:
        found, said = copies(table, y, settings.task)
        if settings.equal_rows == "independent" and found is not None:
            words = say(
                "{count} rows occur more than once; each counts as a draw of its own.",
                count=int((np.bincount(found)[found] > 1).sum()),
            )
            return table, None, [Remark("duplicates", None, words)]
        return table, found, said
    table.refuse_names("group", [settings.group])
    if settings.group not in table.names:
        raise UsageError("--group: there is no column {group!r}.", group=settings.group)
    column = table.features[settings.group].cast(str).fill_null("")
    groups = numbered(column.to_numpy())
    words = "Rows with the same {name!r} are on one side of the split; it is left out."
    if groups.max(initial=-1) + 1 < len(groups):
        words = (
            "Rows with the same {name!r} are on one side of the split; it is left out, and nothing "
            "is proved of future rows, of which they are no independent draws."
        )
    remark = Remark("group", settings.group, say(words, name=settings.group))
    return table.without([settings.group]), groups, [remark]


def bound_on_future_rows(
    wrong: BoolArray, rows: SplitTable, settings: Settings, tried: int = 1
) -> Certificate | None:
    """The bound that mistakes on the rows held out prove; None where rows belong together."""
    notes = (CLASS_BY_CLASS, *[DECLARED] * (settings.equal_rows == "independent"))
    return bound_of(wrong, rows.groups, settings.confidence, tried, notes)
