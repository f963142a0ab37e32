"""What a block of rows may hold: whatever a source hands over is looked at before it is used.

Numbers that a double cannot hold are refused and not rounded, masked entries are not uncovered, and
labels of different types are not compared; a proof would be about other data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, FloatArray, Matrix, Sparse
from cotas.certificates.numbers import WHOLE, refuse_inexact, refuse_masked
from cotas.refusals import ParameterError
from cotas.source import Block, as_stored, rows_of

# What labels are, by the kind of an array of them.
LABELS = {"b": "truth values", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text"}


@dataclass(frozen=True)
class Sound:
    """A block in single or double precision, or an error that says which rows are none.

    Attributes
    ----------
    n_features : columns that every block has
    targets : whether y holds numbers to be predicted; labels otherwise
    is_sparse : whether all blocks are sparse, or none is; None where both may come
    """

    n_features: int
    targets: bool
    is_sparse: bool | None = None

    def __call__(self, block: Block) -> Block:
        X = self._rows(block)
        n, where = X.shape[0], rows_of(block)
        y = _numbers(block.y, "y", where) if self.targets else _labels(block.y, where)
        if y.shape[:1] != (n,):
            raise ParameterError(
                "y", f"X has {n} rows, and y has {len(y) if y.ndim else 1}: {where}."
            )
        if block.weights is None:
            return Block(block.start, X, y)
        weights = _numbers(block.weights, "weights", where)
        if weights.shape != (n,):
            raise ParameterError(
                "sample_weight",
                f"The weights must be one number for each of {n} rows, and their shape is "
                f"{weights.shape}: {where}.",
            )
        return Block(block.start, X, y, weights)

    def _rows(self, block: Block) -> Matrix:
        X: Any = block.X
        shape: Any = getattr(X, "shape", ())
        where = rows_of(block)
        if len(shape) != 2 or not shape[0]:
            raise ParameterError(
                "X",
                f"X of a block must have rows and columns, and its shape is {shape}: {where}. "
                "Leave out blocks that are empty.",
            )
        if shape[1] != self.n_features:
            raise ParameterError(
                "X", f"X has {shape[1]} columns where {self.n_features} are expected: {where}."
            )
        if self.is_sparse not in (None, sparse.issparse(X)):
            raise ParameterError(
                "X",
                "Some blocks of X are sparse and others are dense: make all of them CSR matrices, "
                f"or all of them arrays; the first that differs holds {where}.",
            )
        if sparse.issparse(X):
            X = as_stored(X)
            refuse_inexact(X, "X", f"X, in {where},")
            rows: Sparse = X.tocsr()
            return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
        return _numbers(X, "X", where)


def _numbers(values: Any, name: str, where: str) -> FloatArray:
    """Return numbers in double precision, none of them rounded; float32 is left alone."""
    refuse_inexact(values, name, f"{name}, in {where},")
    found = np.asarray(values)
    if found.dtype in (np.float32, np.float64) and (name == "X" or found.dtype == np.float64):
        return found
    try:
        if found.dtype.kind not in "biufO":
            raise TypeError(found.dtype)
        return found.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            name, f"{name} must hold numbers, and in {where} it holds something else ({error})."
        ) from None


# ---- labels ------------------------------------------------------------------------------------


def _labels(values: Any, where: str) -> AnyArray:
    """Return labels as they are, all of them text or all of them numbers."""
    refuse_masked(values, "y", f"y, in {where},")
    kind_of_labels(values, where)
    y = np.asarray(values)
    if y.dtype.kind != "f":
        return y
    if (np.abs(y) >= WHOLE).any():  # other blocks may have whole numbers
        raise ParameterError(
            "y",
            f"y holds labels of 2⁵³ or more as floats, in {where}: two classes would become one. "
            "Make them whole numbers in all blocks, or text.",
        )
    return y.astype(np.float64, copy=False)  # 2²⁴ + 1 would be equal to a short 2²⁴


def kind_of_labels(values: Any, where: str) -> str:
    """Return what the labels of some rows are; raises if they are neither text nor numbers."""
    y = np.asarray(values)
    kinds = {y.dtype.kind}
    if y.dtype.kind == "O":
        several = {type(label): label for label in y.ravel().tolist()}
        kinds = {np.asarray(label).dtype.kind for label in several.values()}
    found = sorted({LABELS.get(kind, "") for kind in kinds})
    if "" in found or (y.dtype.kind == "O" and (y != y).any()):
        raise ParameterError(
            "y",
            f"y must hold labels that are text or numbers, and in {where} some are neither, or "
            "missing: turn them into text, or leave those rows out.",
        )
    refuse_mixed_labels(found, where)
    return found[0]


def refuse_mixed_labels(kinds: Sequence[str], where: str) -> None:
    """Raise if labels are of several kinds."""
    if len(set(kinds)) > 1:
        raise ParameterError(
            "y",
            f"y holds labels that are {' and others that are '.join(kinds)}, and whether 1 is the "
            f"class '1' cannot be told: make all of them text, or all numbers; see {where}.",
        )
