"""The scores of every optimum of a kernel machine on new rows.

A gap of g proves ‖θ − θ*‖ ≤ r = √(2g/λ) in feature space, so that θ*·φ(x) differs from θ·φ(x) by
at most r√k(x, x), and the best biases lie in an interval (`prediction.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.consequences.biases import outer
from cotas.certificates.core.gram import (
    BLOCK,
    ROUNDINGS,
    Gram,
    block,
    chunked_times,
    pieces_of,
    positive,
)
from cotas.certificates.core.rounding import TINY, U, gamma
from cotas.certificates.kernel import KernelDualPoint, KernelRegion
from cotas.certificates.passes import as_rows


def optimal_scores(
    spec: Any,
    X: Matrix,
    vectors: Matrix,
    coefs: FloatArray,
    regions: Sequence[KernelRegion],
    each: Each = map,
) -> tuple[FloatArray, FloatArray]:
    """Enclose the scores that an optimum can give to each row, for each machine.

    `coefs` are β of the support vectors `vectors`, a column for each machine.
    """
    gram = Gram(spec, X, each)
    values, off = expansion(gram, Gram(spec, vectors, each), coefs)
    radii = np.array([region.radius for region in regions])
    room = np.multiply.outer(np.sqrt(gram.squares), radii) + off + 4 * U * np.abs(values)
    room *= 1.0 + 16 * U
    lowest, highest = np.array([(region.lowest, region.highest) for region in regions]).T
    return outer(values, room, (lowest, highest))


def expansion(left: Gram, right: Gram, W: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute Σ wⱼ k(a, bⱼ) for each row a and each column w of W, and how far it may be off.

    The kernel of both is positive semi-definite by its formula.
    """
    pieces = pieces_of(np.arange(right.n), BLOCK)
    parts = [(right.read(j), W[j]) for j in pieces]

    def read(rows: Any) -> tuple[FloatArray, FloatArray]:
        A, values = left.read(rows), np.zeros((len(rows), W.shape[1]))
        off = np.zeros_like(values)
        for B, w in parts:
            K, e, f = block(left.spec, A, B)
            values += chunked_times(K, w)
            off += np.multiply.outer(e, f @ np.abs(w))
        return values, off

    found = [read(np.arange(0)), *left.each(read, pieces_of(np.arange(left.n), BLOCK))]
    values, off = (np.concatenate(part) for part in zip(*found, strict=True))
    mass = np.sqrt(right.squares) @ np.abs(W)
    off += gamma(ROUNDINGS + len(pieces)) * np.multiply.outer(np.sqrt(left.squares), mass)
    return values, off * (1.0 + 2.0 * gamma(right.n + len(pieces) + 16)) + TINY


def scores_from_witnesses(
    points: Sequence[KernelDualPoint], data: tuple[Matrix, AnyArray], X: Matrix
) -> tuple[FloatArray, FloatArray] | None:
    """Compute the same from the witnesses and the data of the fit, whatever library fitted it."""
    spec, rows = points[0].kernel.spec(), as_rows(data[0])
    regions = [point.full_check(rows, data[1])[2] for point in points]
    known = [region for region in regions if region is not None]
    if len(known) < len(regions) or not positive(spec):
        return None
    coefs = np.stack([point.coef for point in points], axis=1)
    support = np.flatnonzero(coefs.any(axis=1))
    return optimal_scores(spec, as_rows(X), rows[support], coefs[support], known)
