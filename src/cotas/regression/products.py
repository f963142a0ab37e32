"""The products that the checker adds up of many rows, which a solver takes its moments from."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cotas.arrays import Each
from cotas.certificates.streamed import Stream
from cotas.fitting.data import Observations
from cotas.running import entries_of
from cotas.solvers.moments import Moments, centred_moments, gather_moments, rough_centre

# So many rows for each column, and so many entries, are worth proofs from products: those from the
# rows are a little sharper, and hardly slower where a table is tiny.
ROWS_A_COLUMN, WORTH_PRODUCTS = 16, 1 << 12
# With more columns products in double precision take longer than a solver and another pass do.
WIDEST_DENSE = 256


def products_of(data: Observations, each: Each, widest: int) -> Stream | None:
    """Compute the products of dense rows, if they are many more than columns and these not
    too many.

    A model is proved from them without another pass. Of sparse rows a solver adds up moments much
    sooner, and that pass costs little.
    """
    if sparse.issparse(data.X) or not _tall(data):
        return None
    return products_of_all(data, each, min(widest, WIDEST_DENSE))


def products_of_all(data: Observations, each: Each, widest: int) -> Stream | None:
    """Compute the same for many models, of which none costs a pass: as many rows as columns
    suffice."""
    n, d = data.X.shape
    if d > widest or n < d or _far(data):
        return None
    return Stream.of_rows(data.X, data.y, data.weights, data.columns, each)


def moments_for(
    data: Observations, each: Each, widest: int, products: Stream | None
) -> Moments | None:
    """Return the moments, where a solver on few rows is worth them: from the products, or anew."""
    if products is not None:
        return moments_of(products)
    if not sparse.issparse(data.X) or data.X.shape[1] > widest or not _tall(data) or _far(data):
        return None
    return gather_moments(data.X, data.targets, data.weights, each)


def moments_of(products: Stream) -> Moments:
    """Return the same sums as moments."""
    with np.errstate(over="ignore", invalid="ignore"):
        return centred_moments(products.weight[0], *products.products())


def _tall(data: Observations) -> bool:
    """Tell whether there are many rows for each column, and entries enough."""
    n, d = data.X.shape
    return n >= ROWS_A_COLUMN * d and entries_of(data.X) >= WORTH_PRODUCTS


def _far(data: Observations) -> bool:
    """Tell whether columns of sparse rows lie far from zero, and would have to store it."""
    return bool(sparse.issparse(data.X)) and rough_centre(data.X) is not None
