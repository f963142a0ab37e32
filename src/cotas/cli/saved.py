"""Opening a saved model: one of ours, or one of scikit-learn's."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from cotas.arrays import AnyArray, BoolArray
from cotas.cli.command import UsageError
from cotas.files.csv_dialect import is_a_model, is_a_table
from cotas.files.fingerprint import Fingerprint, RowsAsTheyCome
from cotas.files.frames import polars
from cotas.files.models import read_model_file
from cotas.files.problems import ModelFileError
from cotas.files.table import Table
from cotas.preparation.columns import ColumnWarning, numbers_of
from cotas.preparation.prepared_model import PreparedModel
from cotas.preparation.recipe import Recipe
from cotas.words import say


class PredictionCounts:
    """Counts taken while the rows went by."""

    def __init__(self, saved: Saved) -> None:
        self.rows = self.certified = self.judged = self.wrong = 0
        self.squares = 0.0
        self.certifies = self.classifies = self.not_compared = False
        self.odd: list[str] = []
        # Of all rows, and of those with a target: a fit leaves the others out.
        self._all, self._with_target = saved.seen_before(), saved.seen_before()

    @property
    def trained(self) -> TrainedOn | None:
        """Tell how many of the rows were trained on, if the model tells."""
        alone = self._with_target
        return alone if alone is not None and alone.count else self._all

    def see(self, X: Any, there: BoolArray | None) -> None:
        """Count prepared rows, and compare them with those trained on; `there`: with a target."""
        self.rows += X.shape[0]
        if self._all is not None and self._with_target is not None:
            self._all.add(X)
            self._with_target.add(X if there is None or there.all() else X[there])

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary of plain types."""
        return {
            "rows": self.rows,
            "certified": self.certified if self.certifies else None,
            "test_error": self.error,  # "error" is what went wrong, in every document
            "test_rows": 0 if self.not_compared else self.judged,
            "odd_cells": self.odd,
            "rows_trained_on": None if self.trained is None else self.trained.count,
            "rows_trained_on_told": self.trained is not None and self.trained.is_known,
        }

    @property
    def error(self) -> float | None:
        """Return the share of wrong rows, or the root mean square; None without the truth."""
        if self.not_compared or not self.judged:
            return None
        if self.classifies:
            return self.wrong / self.judged
        return float(np.sqrt(self.squares / self.judged))

    def prepared(self, saved: Saved, table: Table) -> Any:
        """Prepare what the model takes; cells that are not what it expects are kept for the
        notes."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ColumnWarning)
            X = saved.input_of(table)
        later = say(" Rows are counted from row {row} on.", row=self.rows + 1) if self.rows else ""
        self.odd += [f"{warning.message}{later}" for warning in caught]
        return X

    def judge(self, predictions: AnyArray, truth: AnyArray) -> None:
        """Compare with what the table says."""
        self.judged += len(truth)
        if self.classifies:
            self.wrong += int((predictions.astype(str) != truth.astype(str)).sum())
        else:
            self.squares += float(((predictions - truth.astype(np.float64)) ** 2).sum())

    def notes(self) -> list[str]:
        """Say the notes in words."""
        lines = [f"{say('Note')}: {words}" for words in self.odd]
        if self.certifies and self.rows:
            words = "Certified: {count} of {rows} predictions."
            lines.append(say(words, count=self.certified, rows=self.rows))
        if self.not_compared:
            words = "The target of this table holds what is no finite number: no error is measured."
            lines.append(f"{say('Note')}: {say(words)}")
        elif self.error is not None:
            lines.append(self._known_error())
        count = None if self.trained is None else self.trained.count
        if count:
            words = (
                "{count} of these {rows} rows were trained on: their error says little about new "
                "ones."
            )
            lines.append(say(words, count=count, rows=self.rows))
        if self.trained is not None and not self.trained.is_known:
            words = (
                "Whether these rows were trained on cannot be told of sparse rows in several "
                "batches: hold all in memory (--rows {rows})."
            )
            lines.append(say(words, rows=self.rows))
        return lines

    def _known_error(self) -> str:
        if self.judged == self.rows:
            words = (
                "The table has the target: wrong predictions {error:.4g}."
                if self.classifies
                else "The table has the target: root mean square error {error:.4g}."
            )
        else:
            words = (
                "{judged} of these {rows} rows have the target: wrong predictions {error:.4g}."
                if self.classifies
                else "{judged} of these {rows} rows have the target: root mean square error "
                "{error:.4g}."
            )
        return say(words, error=self.error, judged=self.judged, rows=self.rows)


ZIP, PICKLE = b"PK\x03\x04", b"\x80"
_COMPRESSED = (b"\x78", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")


@dataclass(frozen=True)
class Saved:
    """A model from a file, with the recipe of `cotas fit` if it has one."""

    path: str
    model: Any
    recipe: Recipe | None
    ours: bool
    data: Fingerprint | None = None

    @property
    def estimator(self) -> Any:
        """Return the estimator itself, without what prepares its data."""
        return self.model.estimator_ if isinstance(self.model, PreparedModel) else self.model

    @property
    def task(self) -> str:
        """Return what it is for."""
        return "classification" if is_classifier(self.model) else "regression"

    @property
    def names(self) -> list[str]:
        """Return the columns that `estimator` takes; x0, x1, … where they have no names."""
        if isinstance(self.model, PreparedModel):
            return [str(name) for name in self.model.preparation_.get_feature_names_out()]
        numbered = [f"x{j}" for j in range(self.model.n_features_in_)]
        return [str(name) for name in getattr(self.model, "feature_names_in_", numbered)]

    @property
    def tells_probabilities(self) -> bool:
        """Tell whether it has probabilities of classes."""
        if isinstance(self.model, PreparedModel):
            return self.model.tells_probabilities
        return hasattr(self.model, "predict_proba")

    def probabilities_of(self, X: Any) -> AnyArray:
        """Return the probability of each class, of rows as `estimator` takes them."""
        if isinstance(self.model, PreparedModel):
            return self.model.probabilities_of(X)
        return np.asarray(self.model.predict_proba(X))

    def seen_before(self) -> TrainedOn | None:
        """Return what compares rows with those of the training, if the file tells of these."""
        if self.recipe is None or self.recipe.rows is None or self.data is None:
            return None
        return TrainedOn(self.data, np.asarray(self.recipe.rows), self.recipe.n_rows)

    def input_of(self, table: Table, rows: AnyArray | None = None) -> Any:
        """Return the features of all or some rows as `estimator` takes them, prepared once for
        all."""
        table = table if rows is None else table.take(rows)
        if isinstance(self.model, PreparedModel):
            return self.model.prepare(table)
        frame = table.features
        if not table.has_names:
            return self._of_its_width(frame)
        names = getattr(self.model, "feature_names_in_", None)
        if names is not None:
            gone = [name for name in names if name not in frame.columns]
            if gone:
                raise ModelFileError(
                    "the model needs the columns {names}.", names=", ".join(map(repr, gone))
                )
            frame = frame.select(list(names))
        if all(dtype.is_numeric() or dtype == polars().Boolean for dtype in frame.dtypes):
            numbers = np.ascontiguousarray(numbers_of(frame, frame.columns))
            named = frame.with_columns(polars().all().cast(float))
            return self._of_its_width(numbers if names is None else named)
        return frame

    def _of_its_width(self, X: Any) -> Any:
        """Return the rows, if they have as many columns as the model takes."""
        width = getattr(self.model, "n_features_in_", X.shape[1])
        if X.shape[1] != width:
            raise ModelFileError(
                "the model takes {width} columns; these data have {value}.",
                width=width,
                value=X.shape[1],
            )
        return X


class TrainedOn:
    """A count of how many of the prepared rows that go by a model was trained on.

    They are compared with the fingerprint of its data: they may be its whole table, or the rows of
    it that were trained on. Sparse rows can be compared only if they come all at once.
    """

    def __init__(self, data: Fingerprint, rows: AnyArray, n_rows: int) -> None:
        self._data, self._rows, self._n_rows = data, rows, n_rows
        self._sparse = data.layout != "dense"
        if not self._sparse:
            self._among, self._all = RowsAsTheyCome(data), RowsAsTheyCome(data)
        self._batches = self._count = 0
        self._same = False

    def add(self, X: Any) -> None:
        """Take the next rows."""
        self._batches += 1
        rows = self._rows - self._count
        rows = rows[(rows >= 0) & (rows < X.shape[0])]
        self._count += X.shape[0]
        if self._sparse:
            alone = self._batches == 1 and self._count in self._sizes
            self._same = alone and self._are_same(X, rows)
        else:
            self._among.add(X[rows])
            self._all.add(X)

    def _are_same(self, X: Any, rows: AnyArray) -> bool:
        taken = rows if X.shape[0] == self._n_rows else np.arange(X.shape[0])
        return Fingerprint.of(X[taken], taken).rows == self._data.rows

    @property
    def is_known(self) -> bool:
        """Tell whether it can be told how many there are."""
        return not self._sparse or self._batches < 2 or self._count not in self._sizes

    @property
    def count(self) -> int | None:
        """Count how many there are; None if these are other rows, or it cannot be told."""
        if self._count not in self._sizes or not self.is_known:
            return None
        if not self._sparse:
            whole = self._count == self._n_rows
            self._same = (self._among if whole else self._all).are_all
        return len(self._rows) if self._same else None

    @property
    def _sizes(self) -> tuple[int, int]:
        return self._n_rows, len(self._rows)


def open_model(path: Path, trust_pickle: bool = False) -> Saved:
    """Read a model file of cotas, of skops, or with permission a pickle."""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except FileNotFoundError:
        raise ModelFileError("{path}: there is no such file.", path=path) from None
    except OSError as error:
        raise ModelFileError(
            "{path} cannot be read ({strerror}).", path=path, strerror=error.strerror
        ) from None
    if is_a_model(head) and int.from_bytes(head[:8], "little") <= path.stat().st_size:
        return _our_own(path)
    if head.startswith(ZIP):
        return Saved(str(path), _checked(_from_skops(path), path), None, ours=False)
    if head.startswith((PICKLE, *_COMPRESSED)) or path.suffix in (".pkl", ".pickle", ".joblib"):
        return Saved(str(path), _checked(_from_pickle(path, trust_pickle), path), None, ours=False)
    if is_a_table(head):
        raise ModelFileError(
            "{path} is no model file: it is a table. cotas fit --out writes models.", path=path
        )
    raise ModelFileError("{path} is no model file, such as cotas fit --out writes.", path=path)


def _our_own(path: Path) -> Saved:
    found = read_model_file(path)
    if found.preparation is None:
        return Saved(str(path), found.model, None, ours=True)
    model = PreparedModel.from_file(found, path)
    return Saved(str(path), model, model.recipe_, ours=True, data=found.data)


def _from_skops(path: Path) -> Any:
    try:
        from skops import io
    except ImportError as error:
        raise ImportError(say("skops files need skops: pip install 'cotas[cli]'.")) from error
    try:
        unknown = io.get_untrusted_types(file=path)
        if unknown:
            raise ModelFileError(
                "{path} holds types that are not known to be harmless: {names}.",
                path=path,
                names=", ".join(unknown),
            )
        return io.load(path, trusted=[])
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(
            "{path} is no sound skops file ({error}).", path=path, error=error
        ) from error


def _from_pickle(path: Path, trusted: bool) -> Any:
    if not trusted:
        raise ModelFileError(
            "{path} is a pickle, which can run any program when it is opened. Save "
            "the model with skops instead, or pass --trust-pickle if you made the "
            "file yourself.",
            path=path,
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:
        raise ModelFileError(
            "{path} cannot be opened ({error}).", path=path, error=error
        ) from error


def _checked(model: Any, path: Path) -> Any:
    if not (is_classifier(model) or is_regressor(model)) or not hasattr(model, "predict"):
        raise ModelFileError(
            "{path} holds {name}, which is no fitted model.", path=path, name=type(model).__name__
        )
    return model


def refuse_foreign(saved: Saved, command: str) -> None:
    """Refuse a foreign model: the command needs what only our files carry."""
    if not saved.ours:
        raise UsageError(
            "cotas {command} needs a model of cotas; {path} is another's.",
            command=command,
            path=saved.path,
        )
