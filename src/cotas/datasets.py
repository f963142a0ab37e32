"""Small data sets that come with the package: the examples of the source documents."""

from __future__ import annotations

import numpy as np

from cotas.arrays import FloatArray

HOUSE_COLUMNS = ("area [m²]", "floors", "rooms")
_HOUSES = (
    (600, 3, 5, 800),
    (190, 2, 2, 205),
    (210, 2, 2, 229),
    (364, 2, 2, 550),
    (325, 2, 4, 450),
    (180, 2, 2, 230),
    (133, 2, 2, 239),
    (500, 2, 3, 650),
    (107, 1, 2, 209),
    (320, 2, 3, 299),
    (500, 2, 4, 750),
)


def houses() -> tuple[FloatArray, FloatArray]:
    """Return the table of Moreno Chávez: eleven houses, and their prices in thousands of dollars.

    Returns
    -------
    X : array of shape (11, 3)
        Area in square metres, floors, rooms; the names are in `HOUSE_COLUMNS`.
    y : array of shape (11,)
        The prices.

    Examples
    --------
    >>> X, price = houses()
    >>> X[0].tolist(), float(price[0])
    ([600.0, 3.0, 5.0], 800.0)
    """
    table = np.array(_HOUSES, dtype=np.float64)
    return np.ascontiguousarray(table[:, :3]), table[:, 3].copy()
