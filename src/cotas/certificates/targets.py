"""One pass over data with real targets: the blocks of `sweep`, with y as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.rows import Rows
from cotas.certificates.sweep import (
    EPS,
    GOLDEN_RATIO,
    SQUARE_ROOT_OF_TWO,
    Block,
    Sketch,
    Sweep,
    Tally,
    sketch_weights,
)

# Times the mean square of the targets it is added to the objective of the constant model, so that
# what their rounding leaves of an objective, EPS² of it, is a relative gap of 1e-6 at most.
ROUNDED = 1e15 * EPS**2


def constant_model(y: FloatArray, weights: Any, free_bias: bool) -> tuple[float, float]:
    """½ Σ sᵢ(yᵢ − ȳ)²/S, the mean being zero without a bias, and Σ sᵢyᵢ²/S."""
    s = np.ones(len(y)) if weights is None else np.asarray(weights)
    with np.errstate(all="ignore"):
        share = s / np.add.reduce(s)
        about = y - share @ y if free_bias else y
        return float(0.5 * (share @ about**2)), float(share @ y**2)


def targets_of(n: int, y: AnyArray, columns: Sequence[int | None]) -> FloatArray:
    """The targets of n rows in double precision: the columns of y that certificates speak of."""
    y = np.asarray(y, dtype=np.float64)
    if y.ndim not in (1, 2) or any(c is None for c in columns) == (y.ndim == 2):
        raise ValueError(f"y has {y.ndim} dimensions; the certificate is about other targets.")
    if y.ndim == 2 and max(c or 0 for c in columns) >= y.shape[1]:
        raise ValueError(f"y has {y.shape[1]} targets; the certificate is about another one.")
    if len(y) != n:
        raise ValueError(f"y must have one target for each of the {n} rows of X.")
    return y[:, None] if y.ndim == 1 else y[:, [int(c or 0) for c in columns]]


class TargetSweep(Sweep):
    """X and y, to be read block by block; `signs` of a block holds the targets themselves.

    Besides the directions asked for, each block is multiplied by the weights of the sketch, so
    that a survey makes the sketch of the data in the same pass.

    Parameters
    ----------
    columns : for each certificate the column of y it speaks of; None where y is a vector
    """

    def __init__(
        self, X: Matrix, y: AnyArray, columns: Sequence[int | None], directions: FloatArray
    ) -> None:
        self.targets = targets_of(X.shape[0], y, columns)
        stretch = sketch_weights(0, directions.shape[0], GOLDEN_RATIO)[:, None]
        super().__init__(X, self.targets[:, 0], [], np.hstack([directions, stretch]))

    def _signs(self, span: slice) -> FloatArray:
        return self.targets[span]

    def tally(self, read: Callable[[Block], Tally], each: Each = map) -> Tally:
        """As in `Sweep`, and with the sums of which `sketches` are made."""

        def read_and_sketch(block: Block) -> Tally:
            projected = block.products[:, -1]
            plain = Block(block.span, block.rows, block.signs, block.products[:, :-1])
            fixed = sketch_weights(block.span.start, block.span.stop, SQUARE_ROOT_OF_TWO)
            return {
                **read(plain),
                "sum entries": fixed @ projected,
                "sum scale": fixed @ np.abs(projected),
                "sum labels": fixed @ block.signs,
                "max label": np.abs(block.signs).max(axis=0),
            }

        return super().tally(read_and_sketch, each)

    def sketches(self, found: Tally) -> list[Sketch]:
        """One for each target, from the sums of a tally."""
        n, d = self.X.shape
        entries, scale = float(found["sum entries"]), float(found["sum scale"])
        return [
            Sketch(n, d, entries, float(labels), scale, float(largest))
            for labels, largest in zip(found["sum labels"], found["max label"], strict=True)
        ]


def sketches_in_passing(rows: Rows, targets: FloatArray) -> Callable[[], list[Sketch]]:
    """Have the first pass of the core project the rows, and make the sketches after it."""
    stretch = sketch_weights(0, rows.d, GOLDEN_RATIO)
    projected = np.full(rows.n, np.nan)

    def project(span: slice, block: Matrix) -> None:
        projected[span] = block @ stretch

    def sketches() -> list[Sketch]:
        with suppress(Objection):
            rows.lengths  # noqa: B018  # the pass, if there was none
        fixed = sketch_weights(0, rows.n, SQUARE_ROOT_OF_TWO)
        whole = projected if rows.shift is None else projected + rows.shift @ stretch
        entries, scale = float(fixed @ whole), float(fixed @ np.abs(whole))
        return [
            Sketch(rows.n, rows.d, entries, float(fixed @ y), scale, float(np.abs(y).max()))
            for y in targets.T
        ]

    rows.also = project
    return sketches
