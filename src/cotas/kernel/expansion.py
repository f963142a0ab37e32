"""f(x) = Σ aᵢ k(xᵢ, x) for many rows and several machines, in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cotas.arrays import Each, FloatArray, IntArray, Matrix
from cotas.kernel.blocks import Blocks

BLOCK = 512  # rows and support vectors compared at a time: 2 MB in double precision
LARGEST_COPY = 1 << 26  # bytes for a dense copy of the support vectors


class Group(NamedTuple):
    """Support vectors that lie together, the machines they have a part in, their coefficients."""

    vectors: slice
    machines: IntArray
    coef: FloatArray  # one column for each of those machines


def expand(
    blocks: Blocks,
    groups: Sequence[Group],
    n_machines: int,
    A: Matrix,
    each: Each = map,
) -> FloatArray:
    """Σ aᵢ k(xᵢ, x) for each row x of A, one column for each machine; `blocks` are of all the xᵢ.

    In double precision whatever the data are: what is certified about scores relies on it.
    Memory: a copy of the support vectors, and a block of `BLOCK` × `BLOCK` for each thread.
    """
    out = np.zeros((A.shape[0], n_machines))

    def evaluate(span: slice) -> None:
        left = blocks.left(A[span])
        for group in groups:
            scores = np.zeros((span.stop - span.start, len(group.machines)))
            begin, end = group.vectors.start, group.vectors.stop
            for start in range(begin, end, BLOCK):
                stop = min(start + BLOCK, end)
                coef = group.coef[start - begin : stop - begin]
                scores += blocks.block(left, slice(start, stop)) @ coef
            out[span, group.machines] += scores

    spans = [slice(s, min(s + BLOCK, A.shape[0])) for s in range(0, A.shape[0], BLOCK)]
    for _ in each(evaluate, spans):
        pass
    return out
