"""What looks suspicious about a table before anything is trained on it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.files.dates import parsed
from cotas.files.frames import is_category, is_text, numbered_words, polars
from cotas.files.names import some
from cotas.files.problems import Remark, asked, leaving_out, parameter, remark
from cotas.files.table import Table
from cotas.preparation.columns import FEWEST_ROWS, LEFT_OUT, numbers_of, roles_of

if TYPE_CHECKING:
    from polars import Series

# What is not so for some rows is not so for all; sorting all of them takes long.
SOME_ROWS = 1000
# Numbers that people write where they have none.
STAND_INS = frozenset({-99, -999, -9999, -99999, 999, 9999, 99999})
RARE_CLASS, MOSTLY_MISSING, NEARLY_ONE = 0.1, 0.5, 0.99999


def inspect_table(
    table: Table,
    y: AnyArray | None = None,
    task: str = "classification",
    split: tuple[IntArray, IntArray] | None = None,
    keep: Collection[str] = (),
) -> list[Remark]:
    """Look for columns that say nothing or too much, and for rare classes.

    What was noticed while the table was read comes first.

    Parameters
    ----------
    table : Table
    y : array, optional
        What is to be predicted; the target of the table if not given.
    task : {"classification", "regression"}
    split : (rows to train on, rows held out), optional
        What the columns are is told from the first.
    keep : names of columns that are used though they look like identifiers or free text

    Returns
    -------
    list of Remark

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> y = np.arange(40) % 2
    >>> frame = pl.DataFrame({"x": np.arange(40) % 3, "paid": y, "unit": "EUR"})
    >>> for remark in inspect_table(Table(frame, y, "shop.csv", "csv")):
    ...     print(remark.kind, remark.column)
    constant unit
    leak paid
    """
    y = table.target if y is None else y
    columns = [*_columns(table, None if split is None else split[0], keep)]
    useless = {r.column for r in columns if r.kind in (*LEFT_OUT, "constant")}
    read = [r for r in table.remarks if r.kind == "renamed" or r.column not in useless]
    remarks = [*read, *columns]
    if y is not None:
        remarks += _leaks(table, np.asarray(y), task, useless)
        if task == "classification":
            remarks += _rare_classes(np.asarray(y))
            remarks += _unmeasured_classes(np.asarray(y), split)
    return remarks


def _columns(table: Table, train: IntArray | None, keep: Collection[str]) -> Iterator[Remark]:
    """Remark on columns that are left out, mostly missing, or sorted, and dates that can be read
    twice."""
    if not table.has_names:
        return
    frame = (table if train is None else table.take(train)).features
    for name, role in roles_of(frame, keep).items():
        column = frame[name]
        missing = column.null_count()
        if role.remark is not None:
            yield role.remark
        if role.kind in LEFT_OUT:
            continue
        if _never_changes(column):
            yield remark("Column {name!r} never changes; it is left out.", "constant", name)
            continue
        yield from _stand_ins(column, name)
        if missing > MOSTLY_MISSING * len(column):
            share = 100 * missing / len(column)
            words = "Column {name!r} is missing in {share:.0f}% of the rows."
            yield remark(words, "missing", name, share=share)
        elif name not in keep and _sorts_rows(table.features[name]):
            yield remark(
                "Column {name!r} rises or falls from row to row, with another whole number in "
                "each: leave it out if it is an identifier.",
                *("sorted", name),
            )
        elif role.kind == "date" and len(frame) < table.n_rows:
            yield from _time_order(table.features[name], role.form)


def _time_order(column: Series, form: str) -> Iterator[Remark]:
    """Remark on rows that stand in the order of time, of which some were drawn to be held out."""
    moments = column if column.dtype.is_temporal() else parsed(column, form)
    there = moments.drop_nulls()
    ordered = there.is_sorted() or there.is_sorted(descending=True)
    if form != "time" and ordered and there.n_unique() > FEWEST_ROWS:
        words = (
            "The rows stand in the order of {name!r}, and those held out are of all its time: "
            "their error tells how well gaps are filled. That of rows after the last may be "
            "larger, and larger than any bound that is proved from those held out."
        )
        yield remark(words, "time", column.name)


def _stand_ins(column: Series, name: str) -> Iterator[Remark]:
    """Remark on a number such as −999 in several rows, and farther from the others than these are
    apart."""
    if not column.dtype.is_numeric() or column.dtype == polars().Boolean:
        return
    ends: set[Any] = {column.min(), column.max()}
    for value in ends & STAND_INS:
        others = column.filter(column != value).drop_nulls()
        count = len(column) - column.null_count() - len(others)
        if count > 1 and len(others):
            rest: Any = others.min(), others.max()
            low, high = map(float, rest)
            if min(abs(value - low), abs(value - high)) > high - low:
                how = asked("missing", f"{value:g}")
                yield remark(
                    "Column {name!r} holds {value:g} in {count} rows, far from all its other "
                    "numbers: if it stands for a missing value, say so ({how}).",
                    *("stand-in", name),
                    value=value,
                    count=count,
                    how=how,
                )


def _never_changes(column: Series) -> bool:
    """Tell whether all rows hold the same, which a few rows deny soonest."""
    return bool(column.head(SOME_ROWS).n_unique() == 1 and column.n_unique() == 1)


def _sorts_rows(column: Series) -> bool:
    """Tell whether whole numbers rise or fall throughout."""
    if not column.dtype.is_integer() or len(column) <= FEWEST_ROWS:
        return False
    ordered = column.is_sorted() or column.is_sorted(descending=True)
    return bool(ordered and column.n_unique() == len(column))


def _leaks(
    table: Table, y: AnyArray, task: str, useless: Collection[str | None]
) -> Iterator[Remark]:
    if len(y) < FEWEST_ROWS or sparse.issparse(table.features):
        return
    if task == "classification":
        y = np.unique(y, return_inverse=True)[1]
    for name, column in _columns_of_use(table, useless):
        leaking = _tells(column[:SOME_ROWS], y[:SOME_ROWS], task, part=len(y) > SOME_ROWS)
        if leaking and (len(y) <= SOME_ROWS or _tells(column, y, task)):
            yield remark(
                "Column {name!r} alone gives the target away. If it is only known afterwards, "
                "leave it out{drop}: the model would be of no use.",
                *("leak", name),
                drop=leaving_out(name),
            )


def _columns_of_use(table: Table, useless: Collection[str | None]) -> Iterator[tuple[str, Any]]:
    """Yield the columns that may tell something: of frames those of numbers and of words."""
    pl = polars()
    named = table.has_names
    for j, name in enumerate(table.names):
        if not named:
            yield name, np.asarray(table.features[:, j], dtype=np.float64)
        elif name not in useless:
            column = table.features[name]
            words = is_text(column) or is_category(column)
            if words or column.dtype.is_numeric() or column.dtype == pl.Boolean:
                yield name, column


def _tells(column: Series | AnyArray, y: AnyArray, task: str, part: bool = False) -> bool:
    """Tell whether a column gives y away; of a `part` of the rows, whether it may."""
    if part and task == "classification" and y.min() == y.max():
        return True
    if isinstance(column, np.ndarray):
        return tells_all(column, y, task)
    if is_text(column) or is_category(column):
        return task == "classification" and _pure(numbered_words(column), y, part)
    return tells_all(numbers_of(column.to_frame(), [column.name])[:, 0], y, task, part)


def tells_all(values: FloatArray, y: AnyArray, task: str, part: bool = False) -> bool:
    """Tell whether each class has an interval of its own, or y is a linear function of the column.

    Of a `part` of the rows, whether that may be so of all.
    """
    present = ~np.isnan(values)
    values, y = values[present], y[present]
    if len(values) < FEWEST_ROWS or values.min() == values.max():
        return part
    if np.ptp(y) == 0:
        return part
    if task == "regression":
        with np.errstate(over="ignore", invalid="ignore"):  # of what overflows nothing is told
            return bool(abs(np.corrcoef(values, y)[0, 1]) > NEARLY_ONE)
    return _in_intervals(values, y)


def _in_intervals(values: FloatArray, codes: IntArray) -> bool:
    """Tell whether each class has an interval of its own."""
    order = np.argsort(values, kind="stable")
    values, sorted_ = values[order], codes[order]
    changes = sorted_[1:] != sorted_[:-1]
    tied = values[1:] == values[:-1]
    classes = len(np.unique(codes))
    return classes > 1 and int(changes.sum()) == classes - 1 and not (changes & tied).any()


def _pure(words: IntArray, labels: IntArray, part: bool) -> bool:
    """Tell whether every word goes with one class, there being far fewer words than rows."""
    different = len(np.unique(words))
    if not part and different > len(words) / 5:
        return False
    pairs = np.unique(words * (int(labels.max()) + 1) + labels)
    return bool(labels.max() > 0) and len(pairs) == different


def _rare_classes(y: AnyArray) -> Iterator[Remark]:
    classes, counts = np.unique(y, return_counts=True)
    rarest = int(counts.argmin())
    if len(classes) > 1 and counts[rarest] < RARE_CLASS * len(y) * 2 / len(classes):
        yield remark(
            "Class {label!r} has {count} of {rows} rows. The error is small even for a model that "
            "never finds it: look at each class by itself, or set {how}.",
            "unbalanced",
            how=parameter("class_weight", "balanced"),
            label=str(classes[rarest]),
            count=counts[rarest],
            rows=len(y),
        )


def _unmeasured_classes(y: AnyArray, split: tuple[IntArray, IntArray] | None) -> Iterator[Remark]:
    """Yield classes of so few rows that none is held out."""
    if split is None or not len(split[1]):
        return
    classes, codes = np.unique(y, return_inverse=True)
    apart = np.setdiff1d(codes[split[0]], codes[split[1]])
    if len(apart):
        yield remark(
            "Of {count} of the {classes} classes no row is held out ({labels}), so nothing is "
            "measured of how well they are found. Merge the rare ones, hold out more rows, or "
            "predict another column; if the target is a quantity, it is a regression.",
            "unmeasured",
            count=len(apart),
            classes=len(classes),
            labels=some([str(label) for label in classes[apart]]),
        )
