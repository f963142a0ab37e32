"""cotas predict"""

from __future__ import annotations

import gzip
import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from cotas.arrays import AnyArray, BoolArray
from cotas.cli.command import UsageError
from cotas.cli.data import builtin, refuse_reading
from cotas.cli.options import MOST, NO_WISHES, Data, TextOptions, refuse, writable
from cotas.cli.saved import PredictionCounts, Saved, open_model
from cotas.cli.session import STANDARD_OUTPUT, Session, writing
from cotas.files.atomic import replacing
from cotas.files.cells import MONEY
from cotas.files.csv_dialect import Wishes
from cotas.files.frames import polars, polars_errors
from cotas.files.names import some
from cotas.files.problems import DataFileError
from cotas.files.table import AsGiven, Table, TextBlock, is_there
from cotas.files.tables import batches
from cotas.preparation.columns import numbers_of
from cotas.preparation.given import as_frame
from cotas.preparation.preparation import Preparation
from cotas.preparation.prepared_model import PreparedModel
from cotas.preparation.targets import as_target
from cotas.source import MatrixLike
from cotas.words import say

if TYPE_CHECKING:
    from polars import DataFrame

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")]
_IN_COLUMNS = {".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}


def predict(
    session: Session,
    model: Model,
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="CSV (also .gz), .parquet or .arrow; else the terminal."),
    ] = None,
    only: Annotated[
        bool, typer.Option("--only", help="Write the predictions without the columns of DATA.")
    ] = False,
    rows: Annotated[
        int, typer.Option(min=1, max=MOST, help="Rows to hold in memory at a time.")
    ] = 100_000,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Refuse a model that tells no probabilities.")
    ] = False,
    safe_csv: Annotated[
        bool,
        typer.Option(
            "--safe-csv/--no-safe-csv",
            help="Put ' before words in CSV that a spreadsheet would run as formulas.",
        ),
    ] = True,
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Open a pickle, which may run anything.")
    ] = False,
    text: TextOptions = NO_WISHES,
) -> None:
    """Predict every row of a table, in its order and without reading it all at once.

    The columns are checked against the model by name. To those of the table are added the
    prediction, the scores, the probabilities if the model has them, and whether the prediction
    is certified: provably the same as that of the exact optimum.

    Example: cotas predict model.cotas new.csv --out predictions.csv
    """
    writable(out, "--out", data, model)
    _refuse_unknown_ending(out)
    no_csv = (session.json and out is None) or (out is not None and out.suffix in _IN_COLUMNS)
    if no_csv:
        refuse(session, ["safe_csv"], "is about CSV, and none is written.")
    saved = open_model(model, trust_pickle)
    if probabilities and not saved.tells_probabilities:
        raise UsageError(
            "{model} tells no probabilities: make it with cotas fit --probabilities, which "
            "learns them on folds of the training rows.",
            model=model,
        )
    counts = PredictionCounts(saved)
    parts = _parts(session, saved, data, rows, text)
    answers = (predicted(saved, table, counts, only) for table in parts)
    if session.json and out is None:
        rows_of = [row for answer in answers for row in answer.frame.to_dicts()]
        session.document({"predictions": rows_of, **counts.to_dict()})
        return
    write(answers, out, safe_csv)
    if out is not None:
        session.say(say("{rows} rows predicted: {out}", rows=counts.rows, out=out))
    session.note(*counts.notes())
    session.document({"out": str(out), **counts.to_dict()})


def _parts(
    session: Session, saved: Saved, data: str, rows: int, text: TextOptions
) -> Iterator[Table]:
    """Yield the table in batches, after its columns were compared with the model's."""
    recipe = saved.recipe
    if data.startswith("builtin:"):
        refuse_reading(data, text)
        tables: Iterator[Table] = iter([builtin(data.removeprefix("builtin:"), data)])
    else:
        if recipe is not None:
            text = text.knowing(recipe.missing, recipe.not_missing)
        tables = batches(
            data,
            rows,
            types={},
            categories=_spelled_target(saved),
            **text.reading(),
            n_features=int(getattr(saved.model, "n_features_in_", 0)) or None,
            zero_based=bool(recipe.zero_based) if recipe is not None else False,
            decimal_commas=recipe.preparation.decimal_commas_ if recipe is not None else (),
        )
    number = -1
    for number, table in enumerate(tables):
        if number == 0 and isinstance(saved.model, PreparedModel):
            target = [] if recipe is None or recipe.target is None else [recipe.target]
            frame = as_frame(table)
            known = table if frame is None else frame.drop(target, strict=False)
            session.remark(*saved.model.preparation_.compare(known))
            if table.format == "csv":
                session.remark(*_never_read(saved.model.preparation_, text.not_missing or ()))
        if table.format == "csv":
            session.remark(*table.remarks)
        yield table
    if number < 0:
        raise DataFileError("it holds no rows.", data)


def _spelled_target(saved: Saved) -> list[str]:
    """Return the target if its classes are words, which may look like numbers: $5."""
    named = saved.recipe is not None and saved.recipe.target is not None
    words = np.asarray(getattr(saved.estimator, "classes_", [])).dtype.kind in "UO"
    return [str(saved.recipe.target)] if named and words and saved.recipe is not None else []


def _never_read(preparation: Preparation, kept: Sequence[str]) -> Iterator[str]:
    """Yield values that a model learned from a frame, and that cells of text are never read as."""
    for name, known in zip(preparation.category_names_, preparation.categories_, strict=True):
        gone = Wishes(not_missing=tuple(kept)).gone
        lost = [word for word in known if word in gone or word != word.strip()]
        if lost:
            yield say(
                "Column {name!r}: the model knows {some} as values, but a cell of text is read "
                "without spaces around it, and such words as missing; Parquet or Arrow keeps them.",
                name=name,
                some=some(list(map(repr, lost))),
            )


def predicted(saved: Saved, table: Table, counts: PredictionCounts, only: bool) -> Answers:
    """Return the cells of the table as they came, and the columns of the predictions."""
    pl = polars()
    X, model = counts.prepared(saved, _as_numbers(saved, table)), saved.estimator
    found: dict[str, Any] = {}
    labels = np.asarray(model.predict(X))
    found["prediction"] = labels
    counts.classifies = saved.task == "classification"
    if counts.classifies:
        _add(found, "score", _scores(model, X), saved)
        if saved.tells_probabilities:
            _add(found, "probability", saved.probabilities_of(X), saved)
        if hasattr(model, "certified_predict") and model._knows_regions():
            found["certified"] = model.certified_predict(X)[1]
            counts.certifies = True
            counts.certified += int(found["certified"].sum())
    there = _with_target(saved, table)
    counts.see(X, there)
    if there is not None and there.any():
        truth = _truth(saved, table)
        counts.not_compared |= truth is None
        if truth is not None:
            counts.judge(labels[there], truth)
    if only or not table.has_names:
        return Answers(None, pl.DataFrame(found), table.source)
    given = table.given or AsGiven(table.features)
    taken = set(given.cells.columns)
    named = {name if name not in taken else f"model_{name}": v for name, v in found.items()}
    return Answers(given, pl.DataFrame(named), table.source)


def _as_numbers(saved: Saved, table: Table) -> Table:
    """Make numbers of a text table for a model without a preparation."""
    if isinstance(saved.model, PreparedModel) or not table.has_names:
        return table
    pl = polars()
    names = getattr(saved.model, "feature_names_in_", table.names)
    there = set(table.names)
    used = [name for name in names if name in there]
    values = numbers_of(table.features, used)
    return replace(table, features=pl.DataFrame(values, schema=used))


def _scores(model: Any, X: MatrixLike) -> Any:
    return model.decision_function(X) if hasattr(model, "decision_function") else None


def _add(found: dict[str, Any], name: str, values: Any, saved: Saved) -> None:
    """Add one column, or one for each class."""
    if values is None:
        return
    if values.ndim == 1:
        found[name] = values
        return
    for label, column in zip(saved.model.classes_, values.T, strict=True):
        found[f"{name}_{label}"] = column


def _with_target(saved: Saved, table: Table) -> BoolArray | None:
    """Tell which rows have a target; None if the table has no such column."""
    if table.target is not None:
        return np.ones(table.n_rows, np.bool_)
    name = None if saved.recipe is None else saved.recipe.target
    if not table.has_names or name is None or name not in table.names:
        return None
    there: BoolArray = is_there(table.features[name]).to_numpy()
    return there


def _truth(saved: Saved, table: Table) -> AnyArray | None:
    """Return the targets of the rows that have one."""
    if table.target is None and saved.recipe is not None:
        table = table.with_target(saved.recipe.target, "drop")
    values = np.asarray(table.target)
    if saved.task == "classification" and len(np.unique(values)) < 2:
        return values.astype(str)
    try:
        return as_target(
            values if saved.task == "classification" else values.astype(float), saved.task
        )
    except ValueError:
        return None


def _refuse_unknown_ending(out: Path | None) -> None:
    """Check that a file is what its name says."""
    if out is not None and out.suffix not in ("", ".csv", ".txt", ".gz", *_IN_COLUMNS):
        raise UsageError(
            "--out cannot be {suffix}; it may be .csv, .csv.gz, .parquet, .arrow or .feather.",
            suffix=out.suffix,
        )


@dataclass(frozen=True)
class Answers:
    """Rows as they came, unless only the predictions are wanted, and what is added to them."""

    given: AsGiven | None
    found: Any
    source: str

    @property
    def frame(self) -> Any:
        """Join all columns side by side."""
        return self.found if self.given is None else self.given.cells.hstack(self.found)

    def like(self, first: Answers) -> Any:
        """Return all columns in the order of the first part, of which this may be another file."""
        names, own = first.frame.columns, self.frame
        odd = sorted(set(names) ^ set(own.columns))
        if odd:
            words = "its columns are not those of {first}: {odd}."
            raise DataFileError(words, self.source, first=first.source, odd=odd)
        return own.select(names)

    def own_lines(self, block: TextBlock, names: list[str]) -> list[bytes] | None:
        """Return the rows of a text table as they are written, if they are as those of the
        block."""
        if self.given is None or self.given.block is None or self.frame.columns != names:
            return None
        same = self.given.block.dialect.separator == block.dialect.separator
        return self.given.lines if same else None


def in_csv(answers: Iterator[Answers], safe: bool) -> Iterator[bytes]:
    """Yield the answers part by part; rows of a text table in its own words and its own dialect."""
    harmless = without_formulas if safe else (lambda frame: frame)
    first: Answers | None = None
    for answer in answers:
        begins, first = first is None, first or answer
        frame, given = answer.like(first), first.given
        block = None if given is None else given.block
        if given is None or block is None:
            yield harmless(frame).write_csv(include_header=begins).encode()
            continue
        own = answer.own_lines(block, frame.columns)
        if own is None:
            lines = block.written(harmless(frame))[1:]
        else:
            names, *added = block.written(harmless(answer.found))
            between = block.dialect.separator.encode()
            lines = [row + between + more for row, more in zip(own, added, strict=True)]
            running = np.flatnonzero(_runs(frame[:, : -answer.found.width]) & safe)
            for k, line in zip(running, block.written(harmless(frame[running]))[1:], strict=True):
                lines[k] = line
        if begins:
            shown = harmless(frame.clear())
            same = own is not None and shown.columns == frame.columns
            typed = given.names if same else None
            head = block.written(shown)[0] if typed is None else typed + between + names
            lines.insert(0, head)
        yield b"".join(line + block.line_end for line in lines)


def write(answers: Iterator[Answers], out: Path | None, safe: bool = True) -> None:
    """Write the answers one after the other into one file, which is there whole or not at all."""
    if out is None or str(out) == "-":
        with writing(STANDARD_OUTPUT):
            _write_csv(answers, sys.stdout.buffer, safe)
        return
    with writing(out), replacing(out) as file:
        if out.suffix in _IN_COLUMNS:
            _to_columns((answer.frame for answer in answers), file, _IN_COLUMNS[out.suffix])
        elif out.suffix == ".gz":
            with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6) as stream:
                _write_csv(answers, stream, safe)
        else:
            _write_csv(answers, file, safe)


def _write_csv(answers: Iterator[Answers], stream: Any, safe: bool) -> None:
    for text in in_csv(answers, safe):
        stream.write(text)
    stream.flush()


# What spreadsheets take for a formula, unless it is a number or an empty cell of somebody's.
_FORMULA = r"^\s*[=+\-@\t\r]"
_NUMBER = (
    rf"^\s*[+\-]?\s*{MONEY}?\s*(\d[\d.,_'’ \x{{a0}}\x{{202f}}]*|[.,]\d+)([eE][+\-]?\d+)?"
    rf"\s*({MONEY}|%)?\s*$|^\s*-{{1,2}}\s*$"
)


def _would_run(name: str) -> Any:
    cell = polars().col(name)
    return cell.str.contains(_FORMULA) & ~cell.str.contains(_NUMBER)


def _words_of(frame: DataFrame) -> list[str]:
    return [name for name, kind in frame.schema.items() if kind == polars().String]


def _runs(frame: DataFrame) -> AnyArray:
    """Tell which rows have a cell that a spreadsheet would run."""
    cells = [_would_run(name).fill_null(False) for name in _words_of(frame)]
    found = frame.select(runs=polars().any_horizontal(cells)) if cells else None
    return np.zeros(frame.height, np.bool_) if found is None else found["runs"].to_numpy()


def without_formulas(frame: DataFrame) -> Any:
    """Return the frame with an apostrophe before words, and names, that spreadsheets would run.

    `=HYPERLINK(…)` in a cell of somebody else's table would run when the answers are opened.
    """
    pl = polars()
    marked = (
        pl.when(_would_run(name)).then("'" + pl.col(name)).otherwise(pl.col(name)).alias(name)
        for name in _words_of(frame)
    )
    odd = [name for name in frame.columns if re.match(_FORMULA, name)]
    return frame.with_columns(marked).rename({name: f"'{name}" for name in odd})


def _to_columns(frames: Iterator[Any], file: Any, kind: str) -> None:
    """Write Parquet or Arrow as the frames come."""
    from polars.io.plugins import register_io_source

    first = next(frames)

    def source(*_: Any) -> Iterator[Any]:
        yield first
        yield from frames

    lazy = register_io_source(source, schema=first.schema)
    sink = Sink(file)
    given: Any = sink
    try:
        lazy.sink_parquet(given) if kind == "parquet" else lazy.sink_ipc(given)
    except polars_errors():
        if sink.error is not None:
            raise sink.error from None
        raise


class Sink(io.RawIOBase):
    """A file for polars to write to that remembers why it could not be written.

    Polars has one error for a full disk and for all else.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self.error: OSError | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        try:
            written: int = self._file.write(data)
        except OSError as error:
            self.error = error
            raise
        return written
