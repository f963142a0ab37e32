"""The data of a stagewise run when the rows come in blocks: two passes, and XᵀX stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.blocks import Columns, Watched
from cotas.certificates.core.blocks import Tally
from cotas.certificates.sweep import as_rows
from cotas.certificates.theorems.unit_columns import (
    BAD_WEIGHTS,
    LARGEST_SPECTRUM,
    Products,
    Seen,
    UnitColumns,
    look,
)
from cotas.source import Block, Source

TOO_MANY = (
    "Of rows in blocks a matrix with an entry for each pair of columns is kept, and {p} columns "
    "are too many: {most} at most."
)

OTHER_COUNT = "The blocks of the source hold {found} rows, and it says that it has {n}."


def rows_with_weight(block: Block) -> tuple[Matrix, FloatArray, FloatArray]:
    """X, y and the weights of the rows of a block that have one."""
    X, y, w = as_rows(block.X), np.asarray(block.y, dtype=np.float64), block.shares()
    if not (np.isfinite(w) & (w >= 0)).all():
        raise ValueError(BAD_WEIGHTS)
    return (X, y, w) if w.all() else (X[w > 0], y[w > 0], w[w > 0])


@np.errstate(all="ignore")
def first_look(block: Block) -> Tally:
    """The rows of a block, and how far its columns go; y is the last."""
    X, y, w = rows_with_weight(block)
    p = X.shape[1] + 1
    ends = (np.full(p, np.inf), np.full(p, -np.inf), np.zeros(p))
    seen = look(X, y, w) if len(y) else Seen(0, [], *ends, sparse.issparse(X))
    return Tally(rows=block.n_rows, seen=seen)


@dataclass(frozen=True)
class BlockProducts:
    """The products of the columns of a block."""

    products: Products

    @np.errstate(all="ignore")
    def __call__(self, block: Block) -> FloatArray:
        X, y, w = rows_with_weight(block)
        p = X.shape[1]
        return self.products.over(X, y, w) if len(y) else np.zeros((p + 1, p + 2))


class BlockColumns(UnitColumns):
    """The columns of a source that has more rows than columns."""

    by_gram = True

    def __init__(self, watched: Watched, seen: Seen, centred: bool) -> None:
        self.source = watched
        with np.errstate(all="ignore"):
            self._measure(seen, watched.n_features, centred)
        self.y, self.sketch = np.zeros(0), watched.sketches()[0]

    def _sum(self, products: Products) -> FloatArray:
        return self.source.map_reduce(BlockProducts(products))


def in_one_piece(block: Block) -> list[Any]:
    """X, y and the weights of a block, in a list."""
    return [(as_rows(block.X), block.y, block.shares())]


def columns_in_blocks(
    source: Source, centred: bool, each: Each = map
) -> tuple[UnitColumns, AnyArray | None]:
    """The columns, and the least and the greatest weight if a row has another one than 1.

    Fewer rows than columns are taken together: the products of rows tell more then.
    """
    p = source.n_features
    if p > LARGEST_SPECTRUM:
        raise ValueError(TOO_MANY.format(p=p, most=LARGEST_SPECTRUM))
    watched = Watched.over(source, Columns((None,)), each)
    first = watched.map_reduce(first_look)
    if first["rows"] != watched.n_rows:  # a block was left out, or came twice
        raise ValueError(OTHER_COUNT.format(found=first["rows"], n=watched.n_rows))
    seen = first["seen"]
    ends = watched.ends_of_weights()
    weights = None if (ends == 1.0).all() else ends
    if p <= seen.rows:
        return BlockColumns(watched, seen, centred), weights
    rows, y, w = zip(*watched.map_reduce(in_one_piece), strict=True)
    alike = all(map(sparse.issparse, rows))
    parts = [part.toarray() if sparse.issparse(part) and not alike else part for part in rows]
    X = sparse.vstack(parts, format="csr") if alike else np.vstack(parts)
    return UnitColumns(X, np.concatenate(y), np.concatenate(w), centred, each), weights
