"""The rows multiplied by some directions, block by block: what theorems look at in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.core.sparse_rows import flipped
from cotas.certificates.passes import (
    as_rows,
    class_signs,
    read_span,
    refuse_other_features,
    refuse_other_labels,
    spans_of,
)

# What a block contributes: each name begins with how to merge it, "sum", "max" or "min".
Totals: TypeAlias = dict[str, Any]
MERGE = {"sum": np.add, "max": np.maximum, "min": np.minimum}


@dataclass(frozen=True)
class SignedBlock:
    """Some consecutive rows in double precision.

    `signs` are the labels as ±1 and `products` the rows times the directions of the sweep, one
    column for each class.
    """

    span: slice
    rows: Matrix
    signs: FloatArray
    products: FloatArray

    def combine(self, factors: FloatArray) -> FloatArray:
        """Compute Σ factorᵢ xᵢ for each column of factors; rows without a factor are not read."""
        touched, rows = moved_rows(factors), self.rows
        if 4 * len(touched) < len(factors):
            rows, factors = rows[touched], factors[touched]
        return _times(flipped(rows), factors)


class DataPass:
    """A pass over X and y, block by block, multiplied by some directions on the way."""

    def __init__(
        self, X: Matrix, y: AnyArray, positives: Sequence[Any], directions: FloatArray
    ) -> None:
        self.X = as_rows(X)
        self.y = np.asarray(y)
        self.positives = list(positives)
        self.directions = np.ascontiguousarray(directions)
        refuse_other_labels(self.X, self.y)
        refuse_other_features(self.X.shape[1], directions.shape[0])

    def totals(self, read: Callable[[SignedBlock], Totals], each: Each = map) -> Totals:
        """Collect what `read` finds in all blocks; `each` may read them in threads."""
        total: Totals = {}
        for part in each(lambda span: read(self._block(span)), self._spans()):
            for name, value in part.items():
                known = total.get(name)
                total[name] = value if known is None else MERGE[name[:3]](known, value)
        return total

    def _spans(self) -> list[slice]:
        return spans_of(self.X)

    def _block(self, span: slice) -> SignedBlock:
        rows = read_span(self.X, span)
        with np.errstate(over="ignore", invalid="ignore"):
            return SignedBlock(span, rows, self._signs(span), _times(rows, self.directions))

    def _signs(self, span: slice) -> FloatArray:
        return class_signs(self.y[span], self.positives)


def moved_rows(factors: FloatArray) -> AnyArray:
    """Return the rows of which a factor is not zero."""
    return np.flatnonzero(factors[:, 0] if factors.shape[1] == 1 else factors.any(axis=1))


def _times(rows: Matrix, directions: FloatArray) -> FloatArray:
    """Compute rows · directions, one after another: the bits of one class depend on no other."""
    found = np.empty((rows.shape[0], directions.shape[1]))
    for k, direction in enumerate(np.ascontiguousarray(directions.T)):
        found[:, k] = rows @ direction
    return found
