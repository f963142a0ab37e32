"""Rows of the Gram matrix that were computed already, the least recently used forgotten first."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import AnyArray, IntArray


class RowCache:
    """As many rows of length n as fit into `size` bytes.

    Invariant: `slots[place_of[i]]` is row i where place_of[i] ≥ 0, or those columns of it that
    were kept; never more than `size` bytes.
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

    def narrow(self, columns: IntArray) -> None:
        """Keep these columns of the rows and no others; what that frees is room for more rows.

        Rows are copied to the front of the same memory, from the first place on.
        """
        memory, width = self.slots.reshape(-1), len(columns)
        for place in np.flatnonzero(self._owner >= 0):
            memory[place * width : (place + 1) * width] = self.slots[place, columns]
        capacity = min(len(self.place_of), len(memory) // max(1, width))
        self.slots = memory[: capacity * width].reshape(capacity, width)
        more = np.full(capacity - len(self._owner), -1, dtype=np.int64)
        self._owner, self._used = (np.append(old, more) for old in (self._owner, self._used))
