"""Numbers that no double holds as they are: what is proved must be about the data as given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

# Up to here every whole number is a double.
WHOLE = 1 << 53


def refuse_inexact(values: Any, name: str) -> None:
    """Raise if the entries of an argument would be rounded, or left out, on their way to a double.

    Whole numbers above 2⁵³, of which nanoseconds since 1970 are some, complex numbers and masked
    entries.

    >>> refuse_inexact([[2**53 + 1, 0.5]], "X")
    Traceback (most recent call last):
        ...
    ValueError: X holds 9007199254740993, a whole number that double precision cannot hold: \
it would be rounded, and what is proved would be about other data. Subtract an offset first, for \
example the smallest value of the column, or pass floats if the last digits do not matter.
    """
    refuse_masked(values, name)
    for part in _parts(values):
        if part.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: {name} holds complex numbers.")
        for number in _large(part):
            if int(float(number)) != number:
                raise ValueError(
                    f"{name} holds {number}, a whole number that double precision cannot hold: it "
                    "would be rounded, and what is proved would be about other data. Subtract an "
                    "offset first, for example the smallest value of the column, or pass floats "
                    "if the last digits do not matter."
                )


def refuse_masked(values: Any, name: str) -> None:
    """Raise if some entries of an argument are masked: validation would uncover them."""
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} has masked entries, which would count as if they were not masked. Fill them "
            "in, or leave those rows out."
        )


def _parts(values: Any) -> Iterator[Any]:
    """The argument as arrays that hold what was given: of a table each column has its own type."""
    if sparse.issparse(values):
        yield np.asarray(values.data) if hasattr(values, "data") else values.tocoo().data
    elif hasattr(values, "iloc") and getattr(values, "ndim", 1) == 2:
        for k in range(values.shape[1]):
            yield from _parts(values.iloc[:, k])
    elif hasattr(values, "dtype") and not isinstance(values, np.ndarray | np.generic):
        if getattr(values.dtype, "kind", "O") in "iuOcmM":
            yield np.asarray(values)
    elif isinstance(values, list | tuple):
        # Beside a float a whole number becomes one, so we look at what is in the list itself.
        try:
            array = np.asarray(values)
        except ValueError:
            return  # of no shape, which validation says
        yield np.asarray(values, dtype=object) if array.dtype.kind == "f" else array
    elif hasattr(values, "__array__"):
        yield np.asarray(values)


def _large(part: Any) -> list[int]:
    """The whole numbers above 2⁵³."""
    if part.dtype.kind in "mM":
        part = part.view(np.int64)
    if part.dtype.kind == "O":
        return [v for v in part.ravel().tolist() if isinstance(v, int) and abs(v) > WHOLE]
    if part.dtype.kind not in "iu" or part.dtype.itemsize < 8 or not part.size:
        return []
    if int(part.max()) <= WHOLE and int(part.min()) >= -WHOLE:
        return []
    found: list[int] = part[(part > WHOLE) | (part < -WHOLE)].tolist()
    return found
