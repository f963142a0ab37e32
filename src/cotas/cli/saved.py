"""Opening a saved model: one of ours, or one of scikit-learn's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from cotas.arrays import AnyArray
from cotas.cli.exits import UsageError
from cotas.files.errors import ModelFileError
from cotas.files.fingerprint import Fingerprint
from cotas.files.frames import polars
from cotas.files.models import read_model_file
from cotas.files.tables import Table
from cotas.preparation.columns import numbers_of
from cotas.preparation.prepared_model import PreparedModel
from cotas.preparation.recipe import Recipe
from cotas.words import say

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
        """The estimator itself, without what prepares its data."""
        return self.model.estimator_ if isinstance(self.model, PreparedModel) else self.model

    @property
    def task(self) -> str:
        """What it is for."""
        return "classification" if is_classifier(self.model) else "regression"

    def trained_on(self, X: Any) -> AnyArray | None:
        """Which of these prepared rows the model was trained on, if they are all of its table."""
        rows = None if self.recipe is None else self.recipe.rows
        if rows is None or self.data is None or self.recipe is None:
            return None
        if X.shape[0] not in (self.recipe.n_rows, len(rows)):
            return None
        rows = rows if X.shape[0] == self.recipe.n_rows else np.arange(len(rows))
        same = Fingerprint.of(X[rows], rows).rows == self.data.rows
        return rows if same else None

    def input_of(self, table: Table, rows: AnyArray | None = None) -> Any:
        """The features of all or some rows as `estimator` takes them, prepared once for all."""
        frame = table.features if rows is None else table.features[rows]
        if isinstance(self.model, PreparedModel):
            return self.model.prepare(frame)
        if not table.has_names:
            return self._of_its_width(frame)
        names = getattr(self.model, "feature_names_in_", None)
        if names is not None:
            gone = [name for name in names if name not in frame.columns]
            if gone:
                raise ModelFileError(
                    say("the model needs the columns {names}.", names=", ".join(map(repr, gone)))
                )
            frame = frame.select(list(names))
        if all(dtype.is_numeric() or dtype == polars().Boolean for dtype in frame.dtypes):
            numbers = np.ascontiguousarray(numbers_of(frame, frame.columns))
            named = frame.with_columns(polars().all().cast(float))
            return self._of_its_width(numbers if names is None else named)
        return frame

    def _of_its_width(self, X: Any) -> Any:
        """The rows, if they have as many columns as the model takes."""
        width = getattr(self.model, "n_features_in_", X.shape[1])
        if X.shape[1] != width:
            raise ModelFileError(
                say(
                    "the model takes {width} columns; these data have {value}.",
                    width=width,
                    value=X.shape[1],
                )
            )
        return X


def open_model(path: Path, trust_pickle: bool = False) -> Saved:
    """Read a model file of cotas, of skops, or with permission a pickle."""
    try:
        with path.open("rb") as file:
            head = file.read(9)
    except OSError as error:
        raise ModelFileError(
            say("{path} cannot be read ({strerror}).", path=path, strerror=error.strerror)
        ) from None
    if _is_ours(head, path.stat().st_size):
        return _our_own(path)
    if head.startswith(ZIP):
        return Saved(str(path), _checked(_from_skops(path), path), None, ours=False)
    if head.startswith((PICKLE, *_COMPRESSED)) or path.suffix in (".pkl", ".pickle", ".joblib"):
        return Saved(str(path), _checked(_from_pickle(path, trust_pickle), path), None, ours=False)
    raise ModelFileError(say("{path} is no model file, such as cotas fit --out writes.", path=path))


def _is_ours(head: bytes, size: int) -> bool:
    """Safetensors begin with the length of their header, which may look like anything."""
    return head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= size


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
                say(
                    "{path} holds types that are not known to be harmless: {names}.",
                    path=path,
                    names=", ".join(unknown),
                )
            )
        return io.load(path, trusted=[])
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(
            say("{path} is no sound skops file ({error}).", path=path, error=error)
        ) from error


def _from_pickle(path: Path, trusted: bool) -> Any:
    if not trusted:
        raise ModelFileError(
            say(
                "{path} is a pickle, which can run any program when it is opened. Save "
                "the model with skops instead, or pass --trust-pickle if you made the "
                "file yourself.",
                path=path,
            )
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:
        raise ModelFileError(
            say("{path} cannot be opened ({error}).", path=path, error=error)
        ) from error


def _checked(model: Any, path: Path) -> Any:
    if not (is_classifier(model) or is_regressor(model)) or not hasattr(model, "predict"):
        raise ModelFileError(
            say(
                "{path} holds {name}, which is no fitted model.",
                path=path,
                name=type(model).__name__,
            )
        )
    return model


def refuse_foreign(saved: Saved, command: str) -> None:
    """For commands that need what only our files carry."""
    if not saved.ours:
        raise UsageError(
            say(
                "cotas {command} needs a model of cotas; {path} is another's.",
                command=command,
                path=saved.path,
            )
        )
