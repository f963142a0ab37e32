"""The targets of regressions: which columns of y are meant, their sketch, the constant model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.rows import Rows
from cotas.certificates.sweep import (
    EPS,
    Sketch,
    as_sketches,
    project,
    sketch_sums,
)

# Times the mean square of the targets it is added to the objective of the constant model, so that
# what their rounding leaves of an objective, EPS² of it, is a relative gap of 1e-6 at most.
ROUNDED = 1e15 * EPS**2


def targets_of(n: int, y: AnyArray, columns: Sequence[int | None]) -> FloatArray:
    """Return the targets of n rows in double precision, as certificates speak of them."""
    y = np.asarray(y, dtype=np.float64)
    if y.ndim not in (1, 2) or any(c is None for c in columns) == (y.ndim == 2):
        raise ValueError(f"y has {y.ndim} dimensions; the certificate is about other targets.")
    if y.ndim == 2 and max(c or 0 for c in columns) >= y.shape[1]:
        raise ValueError(f"y has {y.shape[1]} targets; the certificate is about another one.")
    if len(y) != n:
        raise ValueError(f"y must have one target for each of the {n} rows of X.")
    return y[:, None] if y.ndim == 1 else y[:, [int(c or 0) for c in columns]]


def constant_model(
    y: FloatArray, weights: Any, free_bias: bool, loss: Any = None
) -> tuple[float, float]:
    """Return the mean loss of the mean of y, or of zero without a bias, and Σ sᵢyᵢ²/S.

    A loss of the core; that of squares, ½(y − z)², if none is given.
    """
    with np.errstate(all="ignore"):
        if weights is None and loss is None:
            about = y - np.add.reduce(y) / len(y) if free_bias else y
            return float(0.5 * (about @ about) / len(y)), float(y @ y / len(y))
        s = np.ones(len(y)) if weights is None else np.asarray(weights)
        share = s / np.add.reduce(s)
        about = y - share @ y if free_bias else y
        losses = 0.5 * about**2 if loss is None else loss.value(about, np.zeros_like(y), 0.0)
        return float(share @ losses), float(share @ y**2)


def sketches_in_passing(rows: Rows, targets: FloatArray) -> Callable[[], list[Sketch]]:
    """Have the first pass of the core project the rows, and make the sketches after it."""
    projected = np.full(rows.n, np.nan)

    def note(span: slice, block: Matrix) -> None:
        projected[span] = project(block)

    def sketches() -> list[Sketch]:
        with suppress(Objection):
            rows.lengths  # noqa: B018  # the pass, if there was none
        whole = projected if rows.shift is None else projected + project(rows.shift[None])
        sums = sketch_sums(whole, targets, 0)
        return as_sketches(sums, (rows.n, rows.d), np.abs(targets).max(axis=0))

    rows.also = note
    return sketches
