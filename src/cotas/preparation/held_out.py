"""The rows set aside: which they are, and what they prove of rows to come.

Rows that are copies of one another stay on one side. What those set aside prove holds where they
are a sample of the rows to come.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, BoolArray, IntArray
from cotas.certificates import Certificate, hold_out_bound
from cotas.files.frames import polars
from cotas.files.problems import DataFileError, Remark, asked, remark
from cotas.files.table import Table
from cotas.preparation.columns import LEFT_OUT, roles_of
from cotas.refusals import ParameterError
from cotas.words import say

# Rows that are equal more often than this, in number and as a share of all, were not copied.
MOST_COPIES, SHARE_OF_COPIES = 10, 0.01
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


def numbered(groups: AnyArray) -> IntArray:
    """Return the groups as numbers in the order in which they first appear, whatever they are
    called.

    A split by them is then the same whichever file the rows came from.

    >>> numbered(np.array(["b", "a", "b", "c"])).tolist()
    [0, 1, 0, 2]
    """
    first, codes = np.unique(groups, return_index=True, return_inverse=True)[1:]
    return np.asarray(np.argsort(np.argsort(first))[codes])


def copies(
    table: Table, y: AnyArray, task: str = "classification"
) -> tuple[IntArray | None, list[Remark]]:
    """Return the number of the group of each row, the same for equal rows, if some rows are copies.

    Rows that occur often are no copies, but what rows of this kind are like; nor are any where most
    rows have a twin, and no column of fractions tells most of the different rows apart.
    """
    if table.has_names:
        used = [n for n, role in roles_of(table.features).items() if role.kind not in LEFT_OUT]
        table = replace(table, features=table.features.select(used))
    found, labels = _row_marks(table), np.unique(y, return_inverse=True)[1]
    if found.n_unique() == len(found):
        return None, []
    marks = numbered(numbered(found.to_numpy()) * (labels.max() + 1) + labels)
    counts = np.bincount(marks)
    often = counts > max(MOST_COPIES, SHARE_OF_COPIES * len(marks))
    twins, several = int(counts[counts > 1].sum()), int(counts[(counts > 1) & ~often].sum())
    if not twins:
        return None, []
    few = 2 * twins > len(marks) and not _one_column_tells(table, len(counts))
    if few or not several:
        words = (
            "{count} of the {rows} rows have a twin: there are {different} different ones, and "
            "rows held out are like rows trained on."
        )
        return None, [remark(words, "twins", count=twins, rows=len(marks), different=len(counts))]
    alone = np.flatnonzero(often[marks])
    marks[alone] = len(counts) + np.arange(len(alone))
    words = (
        "{count} rows occur more than once; copies are kept on one side of the split, and nothing "
        "is proved of future rows, of which they are no independent draws. If each is an "
        "observation of its own, say so ({how})."
        if task == "classification"  # of errors without a limit nothing is proved in any case
        else "{count} rows occur more than once; copies are kept on one side of the split, and "
        "count as one draw where it is said how sure an error is. If each is an observation of its "
        "own, say so ({how})."
    )
    how = asked("equal-rows", "independent")
    return marks, [remark(words, "duplicates", count=several, how=how)]


def _one_column_tells(table: Table, different: int) -> bool:
    """Tell whether some column of fractions has another value in most of the different rows."""
    if sparse.issparse(table.features):
        return False
    frame = table.features if table.has_names else polars().DataFrame(table.features)
    fractions = (column for column in frame if column.dtype.is_float())
    return any(
        2 * column.n_unique() > different and not (column == column.round()).all()
        for column in fractions
    )


def _row_marks(table: Table) -> Any:
    """Return a column with a number for each row that is the same for equal rows."""
    if table.has_names:
        return table.features.hash_rows(seed=0)
    X = table.features
    if not sparse.issparse(X):
        return polars().DataFrame(X).hash_rows(seed=0)
    weights = np.random.default_rng(0).normal(size=X.shape[1])
    return polars().Series(np.asarray(X @ weights))


def hold_out_rows(
    y: AnyArray, task: str, share: float, seed: int, groups: AnyArray | None = None
) -> tuple[IntArray, IntArray]:
    """Divide rows into those to train on and those to hold out, both in their order, drawn with the
    seed.

    Each class gives its share of the rows, as nearly as whole rows allow, and keeps one to train
    on. With `groups`, whole groups are drawn, each as one row of the class of its first, and a
    class that would be left without a row to train on is trained on whole.
    """
    n = len(y)
    codes = np.unique(y, return_inverse=True)[1] if task == "classification" else np.zeros(n, int)
    if groups is None:
        held = _drawn(codes, share, seed)
    else:
        first, labels = np.unique(groups, return_index=True, return_inverse=True)[1:]
        held = _drawn(np.unique(codes[first], return_inverse=True)[1], share, seed)[labels]
        lost = np.setdiff1d(codes, codes[~held])
        held &= ~np.isin(labels, labels[np.isin(codes, lost)])
    if not held.any():
        raise DataFileError("no split leaves rows to hold out: the groups are too large.")
    return np.flatnonzero(~held), np.flatnonzero(held)


def _drawn(codes: IntArray, share: float, seed: int) -> BoolArray:
    """Tell which are held out, class by class."""
    n = len(codes)
    count = round(share * n)
    if not 0 < share < 1 or not 0 < count < n:
        raise DataFileError(
            "holding out a share of {share} of {n} rows or groups leaves none to "
            "train on, or none to hold out.",
            share=repr(share),
            n=n,
        )
    order = np.random.default_rng(seed).permutation(n)
    held = np.zeros(n, dtype=np.bool_)
    for code, most in enumerate(_shares(np.bincount(codes), count)):
        held[order[codes[order] == code][:most]] = True
    return held


def _shares(sizes: IntArray, count: int) -> IntArray:
    """Tell how many rows each class gives, `count` in all where each can keep one."""
    wanted = count * sizes / sizes.sum()
    given = np.minimum(np.floor(wanted).astype(np.int64), sizes - 1)
    for code in np.argsort(given - wanted, kind="stable"):
        if given.sum() < count and given[code] < sizes[code] - 1:
            given[code] += 1
    return np.asarray(given)


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
