"""Rows of the Gram matrix that were computed already, the least recently used forgotten first."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import AnyArray, IntArray


class RowCache:
    """As many rows of length n as fit into `size` bytes.

    Invariant: `slots[place_of[i]]` is row i where place_of[i] ≥ 0; never more than `size` bytes.
    """

    def __init__(self, n: int, size: int, dtype: Any) -> None:
        capacity = min(n, size // (n * np.dtype(dtype).itemsize))
        self.slots: AnyArray = np.empty((capacity, n), dtype=dtype)
        self.place_of = np.full(n, -1, dtype=np.int64)
        self._owner = np.full(capacity, -1, dtype=np.int64)
        self._used = np.full(capacity, -1, dtype=np.int64)
        self._now = 0

    def places(self, rows: IntArray) -> IntArray:
        """Where these rows lie, −1 for those that have to be computed; all count as used now."""
        self._now += 1
        found = self.place_of[rows]
        self._used[found[found >= 0]] = self._now
        return found

    def make_room(self, rows: IntArray) -> IntArray:
        """Places for new rows, for as many of the first ones as there is room.

        A row that was used in this round is not thrown out.
        """
        order = np.argsort(self._used, kind="stable")[: len(rows)]
        places = order[self._used[order] < self._now]
        old = self._owner[places]
        self.place_of[old[old >= 0]] = -1
        taken = rows[: len(places)]
        self._owner[places], self.place_of[taken] = taken, places
        self._used[places] = self._now
        return places
