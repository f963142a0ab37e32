"""The products that the checker adds up of many rows, which a solver takes its moments from."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cotas.arrays import Each
from cotas.certificates.streamed import Stream
from cotas.fitting.data import Observations
from cotas.solvers.moments import Moments, centred_moments, rough_centre

# So many rows for each column are worth proofs from products.
ROWS_A_COLUMN = 16


def products_of(
    data: Observations, each: Each, widest: int, rows_a_column: int | None = None
) -> Stream | None:
    """Those of the rows, if there are so many for each column, and the columns not too many.

    A model is proved from them without another pass, if less sharply.
    """
    n, d = data.X.shape
    rows_a_column = ROWS_A_COLUMN if rows_a_column is None else rows_a_column
    if d > widest or n < rows_a_column * d:
        return None
    if sparse.issparse(data.X) and rough_centre(data.X) is not None:
        return None
    return Stream.of_rows(data.X, data.y, data.weights, data.columns, each)


def moments_of(products: Stream) -> Moments:
    """The same sums as moments."""
    with np.errstate(over="ignore", invalid="ignore"):
        return centred_moments(products.weight[0], *products.products())
