"""Everything there is to tell about one fit: for the terminal, for JSON and for the report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray
from cotas.certificates import Certificate
from cotas.files.dates import tell_form
from cotas.files.frames import is_category, is_text, polars
from cotas.files.problems import Remark
from cotas.files.table import Table
from cotas.preparation.prepared_model import PreparedModel
from cotas.preparation.quality import Quality

if TYPE_CHECKING:
    from polars import Series

OPTIMISTIC = (
    "The validation error of the first is optimistic, since it was chosen by it; that of rows held "
    "out is not."
)
AGAIN = "To train one of them again, in the same order:"


@dataclass(frozen=True)
class ColumnSummary:
    """One column of the table.

    Attributes
    ----------
    name, kind : str
        The kind is "number", "boolean", "category", "date", "time" (of day) or "other".
    missing, distinct : int
        How many values are missing, and how many different ones there are of the others.
    smallest, largest, mean : float or None
        Of numbers.
    most_frequent : str or None
        Of categories.
    """

    name: str
    kind: str
    missing: int
    distinct: int
    smallest: float | None = None
    largest: float | None = None
    mean: float | None = None
    most_frequent: str | None = None


@dataclass(frozen=True)
class TableSummary:
    """The table that was read: where from, how large, and its columns if they have names."""

    source: str
    format: str
    n_rows: int
    n_columns: int
    target: str | None
    columns: tuple[ColumnSummary, ...]


@dataclass(frozen=True)
class Sample:
    """Some rows of the table: their numbers, the truth, the predictions and the scores.

    `error` is the share of wrong predictions, or for numbers the root of the mean square;
    `r2` is given for numbers only, `probabilities` by classifiers that tell them.
    """

    rows: IntArray = field(repr=False)
    truth: AnyArray = field(repr=False)
    predictions: AnyArray = field(repr=False)
    scores: FloatArray | None = field(repr=False)
    error: float
    r2: float | None = None
    probabilities: FloatArray | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Rival:
    """One of several models that were tried: how long it took and how it did.

    With folds, it was judged by so many of them, and trained on so many rows for each; `squares` is
    the mean of its squared errors there, for classes Brier's score. `command` trains it again.
    """

    name: str
    seconds: float
    relative_gap: float | None
    holds: bool | None
    training_error: float | None
    error: float
    note: str = ""
    folds: int | None = None
    rows: int | None = None
    squares: float | None = None
    command: str = ""


@dataclass(frozen=True)
class FitRecord:
    """One fit from the table to the bound.

    Attributes
    ----------
    table : TableSummary
    task : "classification" or "regression"
    remarks : tuple of Remark
        What looked suspicious about the data.
    command : str
        The command line.
    seed : int
    versions : dict
        By name, of Python and the packages.
    finished : str
        When, in ISO 8601.
    seconds : float
        Spent on training alone.
    model_name : str
        As the command line calls it.
    model : PreparedModel
    certificate : Certificate
    training : Sample
    hold_out : Sample or None
        The rows that were set aside before anything was trained.
    bound : Certificate or None
        Of the error on future rows, from those rows, corrected for the choice among `rivals`.
    quality : Quality or None
        How good the model is on those rows; on the training rows if none were set aside.
    choice : Choice or None
        How λ was chosen, if it was.
    rivals : tuple of Rival
        The models that were tried, the chosen one first.
    warnings : tuple of str
        What the fit warned of.
    trace : tuple of (seconds, relative gap)
        What was proved while the fit ran.
    interrupted : bool
        Whether Ctrl-C ended the fit early.
    prepared : matrix or None
        The training rows as the estimator took them.
    """

    table: TableSummary
    task: str
    remarks: tuple[Remark, ...]
    command: str
    seed: int
    versions: dict[str, str]
    finished: str
    seconds: float
    model_name: str
    model: PreparedModel
    certificate: Certificate
    training: Sample
    hold_out: Sample | None = None
    bound: Certificate | None = None
    quality: Quality | None = None
    choice: Any = None
    rivals: tuple[Rival, ...] = ()
    warnings: tuple[str, ...] = ()
    trace: tuple[tuple[float, float], ...] = ()
    interrupted: bool = False
    prepared: Any = field(default=None, repr=False)

    def errors(self) -> dict[str, dict[str, Any] | None]:
        """Measure how wrong the model is on the rows trained on and on those set aside, in plain
        types."""
        samples = {"training": self.training, "hold_out": self.hold_out}
        return {
            name: None if one is None else {"rows": len(one.rows), "error": one.error, "r2": one.r2}
            for name, one in samples.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the rows and the model itself, in plain Python types."""
        names = ("task", "command", "seed", "versions", "finished", "seconds", "model_name")
        plain: dict[str, Any] = {name: getattr(self, name) for name in names}
        plain["table"] = vars(self.table) | {"columns": [vars(c) for c in self.table.columns]}
        plain["remarks"] = [vars(remark) for remark in self.remarks]
        plain["models"] = [*_settings(self.model.estimator_)]
        plain["certificate"] = self.certificate.to_dict()
        plain |= self.errors()
        plain["bound"] = None if self.bound is None else self.bound.to_dict()
        plain["quality"] = None if self.quality is None else self.quality.to_dict()
        plain["choice"] = None if self.choice is None else self.choice.to_dict()
        plain["rivals"] = [vars(rival) for rival in self.rivals]
        plain["warnings"] = list(self.warnings)
        plain["interrupted"] = self.interrupted
        return plain


def _settings(estimator: Any) -> Iterator[dict[str, Any]]:
    """Return the class and the parameters of a model, and of each in a blend with its name and
    weight."""
    if hasattr(estimator, "names_"):
        each = zip(estimator.names_, estimator.weights_, estimator.estimators_, strict=True)
        for name, weight, one in each:
            yield {"name": name, "weight": float(weight), **next(_settings(one))}
        return
    given = estimator.get_params(deep=False)
    parameters = {
        name: value for name, value in given.items() if name not in ("callbacks", "progress")
    }
    yield {"class": type(estimator).__name__, "parameters": parameters}


def summarize(table: Table, most_columns: int = 500) -> TableSummary:
    """Return what there is to say about the columns; a matrix has none with names.

    Parameters
    ----------
    table : Table
    most_columns : int
        Only so many are described.
    """
    columns: tuple[ColumnSummary, ...] = ()
    if table.has_names:
        some = table.names[:most_columns]
        columns = tuple(_summary_of(table.features[name], name) for name in some)
    return TableSummary(
        table.source, table.format, table.n_rows, table.n_columns, table.target_name, columns
    )


def _summary_of(column: Series, name: str) -> ColumnSummary:
    pl = polars()
    present = column.drop_nulls()
    if column.dtype.is_float():
        present = present.drop_nans()
    missing, form = len(column) - len(present), _form_of(present)
    if form is None and len(present) and (is_text(column) or is_category(column)):
        counts = present.alias("").value_counts()
        values, times = counts.to_series(0).cast(pl.String), counts["count"]
        top = str(values.filter(times == times.max()).min())
        return ColumnSummary(name, "category", missing, counts.height, most_frequent=top)
    distinct = present.n_unique()
    if form is not None:
        return ColumnSummary(name, "time" if form == "time" else "date", missing, distinct)
    if column.dtype.is_numeric():
        numbers = present.cast(pl.Float64).to_numpy()
        finite = numbers[np.isfinite(numbers)]
        if len(finite):
            low, high, mean = float(finite.min()), float(finite.max()), float(finite.mean())
            return ColumnSummary(name, "number", missing, distinct, low, high, mean)
    if column.dtype == pl.Boolean:
        return ColumnSummary(name, "boolean", missing, distinct)
    return ColumnSummary(name, "other", missing, distinct)


def _form_of(present: Any) -> str | None:
    """Tell how a column of dates or times of day is written; None if it is none."""
    pl = polars()
    if is_text(present):
        return tell_form(present)
    if present.dtype == pl.Time:
        return "time"
    return "ymd" if present.dtype == pl.Date or present.dtype == pl.Datetime else None
