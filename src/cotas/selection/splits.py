"""Which rows are trained on and which ones judge."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _num_samples

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix
from cotas.fitting.data import refuse_source
from cotas.refusals import ParameterError, ParameterTypeError
from cotas.selection.parameter import is_number, is_whole
from cotas.source import MatrixLike
from cotas.words import say

# Clasificación lineal sets 10 to 30 % aside.
LEAST, MOST = 0.1, 0.3
DEFAULT = 0.2
# Stratified folds of groups are found one by one, which takes long for many.
MANY_GROUPS = 5_000


@dataclass(frozen=True)
class DataSplit:
    """Rows to train on, and rows to judge by; the weights are None where none were given."""

    X: Matrix
    y: AnyArray
    weights: FloatArray | None
    X_val: Matrix
    y_val: AnyArray
    weights_val: FloatArray | None

    @property
    def size(self) -> float:
        """Return n of c = 1/(λn): the rows trained on, or the sum of their weights."""
        return float(len(self.y) if self.weights is None else self.weights.sum())


@dataclass(frozen=True)
class CheckedRows:
    """The data as they came, checked for what every split needs."""

    X: Matrix
    y: AnyArray
    weights: FloatArray | None
    classifies: bool
    groups: Any = None

    @property
    def count(self) -> int:
        """Tell how many rows there are."""
        return len(self.y)


def read_rows(
    X: MatrixLike, y: ArrayLike | None, weights: Any, classifies: bool, groups: Any = None
) -> CheckedRows:
    """Check that rows, labels and weights belong together."""
    rows, y = indexable(X if hasattr(X, "shape") else np.asarray(X), y)
    if y is None:
        raise ParameterError("y", "y is missing: choosing needs the answers.")
    y = np.asarray(y)
    if classifies:
        y = y.ravel()
        check_classification_targets(y)
    elif not np.isfinite(np.asarray(y, dtype=np.float64)).all():
        raise ParameterError("y", "y holds NaN or infinity.")
    if _num_samples(rows) < 2:
        raise ParameterError(
            "X",
            f"X has {_num_samples(rows)} rows: it takes some to train on and some others to judge "
            "by.",
        )
    if weights is not None:
        weights = _check_sample_weight(weights, rows, dtype=np.float64, ensure_non_negative=True)
    return CheckedRows(rows, y, weights, classifies, groups)


def split(
    model: Any,
    rows: CheckedRows,
    validation: Any,
    folds: Any,
    stratify: bool,
    random_state: int | np.random.RandomState | None,
) -> list[DataSplit]:
    """Return one part for a fraction or for given validation data, one for each fold."""
    if validation is not None and folds is not None:
        raise ParameterError("folds", "Give validation or folds, not both.")
    if folds is None and isinstance(validation, tuple | list):
        return [_given(rows, validation)]
    parts = []
    for train, held_out in _indices(rows, validation, folds, stratify, random_state):
        if not len(train) or not len(held_out):
            raise ParameterError("folds", "A split leaves no rows on one of its two sides.")
        X, y = _safe_split(model, rows.X, rows.y, train)
        X_val, y_val = _safe_split(model, rows.X, rows.y, held_out, train)
        w = rows.weights
        weights = (None, None) if w is None else (w[train], w[held_out])
        _check_part(rows, y, y_val)
        parts.append(DataSplit(X, y, weights[0], X_val, y_val, weights[1]))
    return parts


def _given(rows: CheckedRows, validation: Any) -> DataSplit:
    if len(validation) not in (2, 3):
        raise ParameterError("validation", "validation must be a fraction, or (X_val, y_val).")
    refuse_source("validation", validation[0])
    X_val, y_val = validation[0], np.asarray(validation[1])
    X_val = X_val if hasattr(X_val, "shape") else np.asarray(X_val)
    if _num_samples(X_val) != len(y_val) or not len(y_val):
        raise ParameterError(
            "validation", f"validation has {_num_samples(X_val)} rows and {len(y_val)} answers."
        )
    w_val = None if len(validation) == 2 else np.asarray(validation[2], dtype=np.float64)
    _check_part(rows, rows.y, y_val)
    return DataSplit(rows.X, rows.y, rows.weights, X_val, y_val, w_val)


def _check_part(rows: CheckedRows, y: AnyArray, y_val: AnyArray) -> None:
    """Check that every label can be learned from the rows that are trained on."""
    if not rows.classifies:
        return
    learned = np.unique(y)
    if len(learned) < 2:
        raise ParameterError(
            "y",
            f"The rows to train on hold one class only ({learned[0]}). Give more rows, or a "
            "split that keeps the classes together.",
        )
    unknown = np.setdiff1d(y_val, learned)
    if len(unknown):
        raise ParameterError(
            "validation",
            "The validation rows hold labels that the rows to train on do not: "
            f"{unknown.tolist()}.",
        )


def _indices(
    rows: CheckedRows,
    validation: Any,
    folds: Any,
    stratify: bool,
    random_state: int | np.random.RandomState | None,
) -> Iterable[tuple[IntArray, IntArray]]:
    blank, y = np.zeros((rows.count, 1)), rows.y
    if rows.groups is not None and (folds is None or is_whole(folds)):
        return _of_groups(rows, validation, folds, stratify, random_state)
    if folds is None:
        splitter = _fraction_splitter(rows, validation, stratify, random_state)
    elif is_whole(folds):
        splitter = _fold_splitter(rows, int(folds), stratify, random_state)
    elif hasattr(folds, "split") and not isinstance(folds, str):
        return list(folds.split(blank, y, rows.groups))
    elif hasattr(folds, "__iter__") and not isinstance(folds, str):
        return [(np.asarray(train), np.asarray(test)) for train, test in folds]
    else:
        raise ParameterTypeError(
            "folds", f"folds must be a number, a splitter of scikit-learn or splits: {folds!r}."
        )
    return list(splitter.split(blank, y if rows.classifies else None))


def _of_groups(
    rows: CheckedRows,
    validation: Any,
    folds: Any,
    stratify: bool,
    random_state: int | np.random.RandomState | None,
) -> Iterable[tuple[IntArray, IntArray]]:
    """Return one split or several, with each group on one side."""
    groups = np.asarray(rows.groups)
    if groups.shape != (rows.count,):
        raise ParameterError(
            "groups", f"groups has the shape {groups.shape} for {rows.count} rows."
        )
    different = len(np.unique(groups))
    if different < 2:
        raise ParameterError(
            "groups", "groups must hold two groups at least: one to train on, one to judge by."
        )
    share = _checked_share(validation) if folds is None else 0.0
    count = int(folds) if folds is not None else min(different, max(2, round(1 / share)))
    if not 2 <= count <= different:
        raise ParameterError(
            "folds", f"{count} folds need as many groups at least, and there are {different}."
        )
    by_class = rows.classifies and stratify and different <= MANY_GROUPS
    if folds is None and not by_class:
        splitter: Any = GroupShuffleSplit(1, test_size=share, random_state=random_state)
    else:
        kind = StratifiedGroupKFold if by_class else GroupKFold
        splitter = kind(count, shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of classes with fewer rows than folds
        found = list(splitter.split(np.zeros((rows.count, 1)), rows.y, groups))
    return found[:1] if folds is None else found


def _fraction_splitter(
    rows: CheckedRows,
    validation: Any,
    stratify: bool,
    random_state: int | np.random.RandomState | None,
) -> Any:
    share = _checked_share(validation)
    kind = StratifiedShuffleSplit if rows.classifies and stratify else ShuffleSplit
    found = kind(1, test_size=share, random_state=random_state)
    try:
        next(found.split(np.zeros((rows.count, 1)), rows.y if rows.classifies else None))
    except ValueError as error:
        raise ParameterError(
            "validation", f"validation={share:g} of {rows.count} rows cannot be set aside: {error}"
        ) from error
    return kind(1, test_size=share, random_state=random_state)


def _checked_share(validation: Any) -> float:
    share = DEFAULT if validation is None else validation
    if not is_number(share) or not 0 < share < 1:
        raise ParameterError(
            "validation",
            f"validation must be a fraction between 0 and 1, such as 0.2, or (X_val, y_val): "
            f"{share!r}.",
        )
    if not LEAST <= share <= MOST:
        words = (
            "validation={share:g} sets aside few rows; 0.1 to 0.3 is usual."
            if share < LEAST
            else "validation={share:g} sets aside many rows; 0.1 to 0.3 is usual."
        )
        warnings.warn(say(words, share=share), stacklevel=6)
    return float(share)


def _fold_splitter(
    rows: CheckedRows, folds: int, stratify: bool, random_state: int | np.random.RandomState | None
) -> Any:
    if not 2 <= folds <= rows.count:
        words = f"folds must lie between 2 and the {rows.count} rows, not {folds}."
        raise ParameterError("folds", words)
    if not (rows.classifies and stratify):
        return KFold(folds, shuffle=True, random_state=random_state)
    labels, counts = np.unique(rows.y, return_counts=True)
    if counts.min() < 2:
        raise ParameterError(
            "y",
            f"Class {labels[counts.argmin()]} has one row only: it cannot be both trained on and "
            "judged by.",
        )
    if counts.min() < folds:
        raise ParameterError(
            "folds",
            f"folds={folds}, but class {labels[counts.argmin()]} has {counts.min()} rows: "
            "at most so many folds have one each.",
        )
    return StratifiedKFold(folds, shuffle=True, random_state=random_state)


def take(X: Matrix, rows: IntArray) -> Matrix:
    """Return some rows of a table of any kind."""
    found: Matrix = _safe_indexing(X, rows)
    return found
