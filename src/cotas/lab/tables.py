"""Tables to try a model on: those of the documents and of scikit-learn, and a file of one's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray
from cotas.experiments.samples import informative_covariates
from cotas.files.csv_tables import read_csv
from cotas.files.frames import in_words
from cotas.files.problems import DataFileError
from cotas.lab.state import Refused
from cotas.preparation.targets import as_target, tell_task

# What a link can hold, and what a page can move without delay.
MOST_ROWS = 1000
# A file beyond this is no table of so few rows.
MOST_BYTES = 2_000_000
MOST_COLUMNS = 100
NOT_FINITE = (
    "There is a missing value, NaN or infinity among the points; fill it in or leave the row out."
)
CSV = "CSV: columns of numbers, the target last"
NUMBERS = {"document": "Ten covariates", "diabetes": "Diabetes, 442 patients"}


@dataclass(frozen=True, eq=False)
class Data:
    """Rows, targets, the code that makes them, and the names of the columns."""

    X: FloatArray
    y: AnyArray
    source: str
    names: tuple[str, ...]


def sample(name: str) -> Data:
    """Return the patients with diabetes, or the ten covariates of Rugeles Ospina, section 2.3."""
    if name == "diabetes":
        return builtin(name)
    X, y, _ = informative_covariates(0)
    code = (
        "from cotas.experiments.samples import informative_covariates\n\n"
        "X, y, _ = informative_covariates(0)"
    )
    return Data(X, y, code, tuple(f"x{j}" for j in range(1, X.shape[1] + 1)))


def builtin(name: str) -> Data:
    """Return one of scikit-learn's own data sets."""
    from sklearn import datasets

    base = name.removesuffix("-scaled").replace("-", "_")
    found = getattr(datasets, f"load_{base}")()
    X, code = found.data, f"from sklearn.datasets import load_{base}\n\n"
    code += f"X, y = load_{base}(return_X_y=True)"
    if name.endswith("-scaled"):
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        code += "\nX = (X - X.mean(axis=0)) / X.std(axis=0)"
    return Data(X, found.target, code, tuple(map(str, found.feature_names)))


def read_table(content: bytes) -> Any:
    """Return the table of a small CSV file."""
    rows = content.count(b"\n")
    if len(content) <= MOST_BYTES:
        try:
            frame = in_words(read_csv(content).features)
        except DataFileError as error:
            raise Refused("The file cannot be used: {why}", why=str(error)) from None
        if frame.height <= MOST_ROWS:
            return frame
        rows = frame.height
    raise too_many_rows(rows)


def too_many_rows(rows: int) -> Refused:
    """Return what is said of a table that is too long."""
    return Refused(
        "These are {rows} rows; the lab takes {most} at most. `cotas fit` takes any number.",
        rows=rows,
        most=MOST_ROWS,
    )


def numbers_of(frame: Any, names: list[str]) -> FloatArray:
    """Return these columns as numbers, if there is one in every row."""
    X = np.asarray(frame.select(names).to_numpy(), dtype=np.float64)
    if not np.isfinite(X).all():
        raise Refused(NOT_FINITE)
    return X


def target_of(frame: Any, task: str | None = None) -> AnyArray:
    """Return the last column: a class, or the number to predict."""
    name, values = frame.columns[-1], frame[frame.columns[-1]].to_numpy()
    try:
        y = as_target(values, task or tell_task(values), name)
    except DataFileError as error:
        raise Refused("The file cannot be used: {why}", why=str(error)) from None
    return y.astype(str) if y.dtype.kind == "O" else y


def from_csv(content: bytes) -> Data:
    """Return columns of numbers, and the last one as the class or the number to predict."""
    frame = read_table(content)
    *others, last = frame.columns
    names = [name for name in others if frame[name].dtype.is_numeric()]
    if not names or frame[last].null_count():
        raise _no_numbers()
    code = (
        f'table = cotas.tables.read_table("data.csv", target={last!r})\n'
        f"X = table.features.select({names!r}).to_numpy().astype(float)\ny = table.target"
    )
    return Data(
        numbers_of(frame, names), target_of(frame), code, tuple(name[:40] for name in names)
    )


def of_numbers(content: bytes) -> Data:
    """Make the same, where the target is a number and there are no more columns than can be
    drawn."""
    data = from_csv(content)
    if data.y.dtype.kind not in "fiu" or len(data.names) > MOST_COLUMNS:
        raise _no_numbers()
    if len(data.y) < 3:
        raise Refused("Three rows are the least.")
    return replace(data, y=data.y.astype(np.float64))


def _no_numbers() -> Refused:
    return Refused(
        "The file needs columns of numbers, at most {most}, and the target in the last one.",
        most=MOST_COLUMNS,
    )
