"""The products that the checker adds up of many rows, which a solver takes its moments from."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cotas.arrays import Each
from cotas.certificates.streamed import Stream
from cotas.fitting.data import Observations
from cotas.running import entries_of
from cotas.solvers.moments import Moments, centred_moments, rough_centre

# So many rows for each column, and so many entries, are worth proofs from products: those from the
# rows are a little sharper, and hardly slower where a table is tiny.
ROWS_A_COLUMN, WORTH_PRODUCTS = 16, 1 << 12
# With more columns products in double precision take longer than a solver and another pass do.
WIDEST_DENSE = 256


def products_of(data: Observations, each: Each, widest: int) -> Stream | None:
    """Compute the products of the rows, if there are many more of them than columns, and these not
    too many.

    A model is proved from them without another pass.
    """
    n, d = data.X.shape
    if n < ROWS_A_COLUMN * d or entries_of(data.X) < WORTH_PRODUCTS:
        return None
    dense = not sparse.issparse(data.X)
    return products_of_all(data, each, min(widest, WIDEST_DENSE) if dense else widest)


def products_of_all(data: Observations, each: Each, widest: int) -> Stream | None:
    """Compute the same for many models, of which none costs a pass: as many rows as columns
    suffice."""
    n, d = data.X.shape
    if d > widest or n < d:
        return None
    if sparse.issparse(data.X) and rough_centre(data.X) is not None:
        return None
    return Stream.of_rows(data.X, data.y, data.weights, data.columns, each)


def moments_of(products: Stream) -> Moments:
    """Return the same sums as moments."""
    with np.errstate(over="ignore", invalid="ignore"):
        return centred_moments(products.weight[0], *products.products())
