"""The rows of X on a device, as a kernel sees them: kept there, or sent there piece by piece."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from cotas.arrays import Matrix
from cotas.device.sides import DeviceSide, converted, joined, product, see

PIECE = 1 << 28  # bytes of X in double precision that travel at a time
ROOM = 0.4  # the part of the free memory of a device that X may take


class DeviceRows:
    """A matrix X for one kernel in one precision.

    Where it takes more than `room` bytes it stays in the memory of the host, and pieces of it are
    sent as they are needed, each time anew. Sparse rows are made dense on the way.
    """

    def __init__(
        self, spec: Any, X: Matrix, device: Any, dtype: Any, centre: Any = None,
        room: int | None = None,
    ) -> None:  # fmt: skip
        self.spec, self.X, self.device, self.dtype = spec, X, torch.device(device), dtype
        self.n, self.room = int(X.shape[0]), room
        self.centre = mean_of(X, self.device) if centre is None else centre
        first = self._sent(X[:1])
        size = self.n * bytes_of(first) // max(1, first.size)
        self.whole: DeviceSide | None = None
        if size <= (free_memory(self.device) if room is None else room):
            self.whole = joined([self._sent(X[piece]) for piece in self.pieces()])

    def pieces(self) -> Iterator[slice]:
        """Yield the rows in pieces that may travel."""
        step = max(1, PIECE // (8 * max(1, self.X.shape[1])))
        for start in range(0, max(1, self.n), step):
            yield slice(start, min(start + step, self.n))

    def _sent(self, rows: Any) -> DeviceSide:
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        given = torch.as_tensor(np.require(rows, requirements=["C", "W"]), device=self.device)
        return converted(see(self.spec, given.double(), self.centre), self.dtype)

    def take(self, which: Any) -> DeviceSide:
        """Return the rows with these numbers, in the shape of `which`, a tensor on the device."""
        if self.whole is not None:
            return self.whole.take(which)
        return self._sent(self.X[which.ravel().cpu().numpy()]).shaped(which.shape)

    def part(self, which: Any) -> DeviceRows:
        """Return some of the rows as a matrix of their own."""
        if self.whole is None:
            chosen = self.X[which.cpu().numpy()]
            return DeviceRows(self.spec, chosen, self.device, self.dtype, self.centre, self.room)
        found = copy.copy(self)
        found.X, found.n, found.whole = self.X[:0], len(which), self.whole.take(which)
        return found

    def times(self, right: DeviceSide, W: Any) -> Any:
        """Compute Σⱼ k(xᵢ, zⱼ) w[j, c] for all the rows i."""
        if self.whole is not None:
            return product(self.spec, self.whole, right, W)
        out = torch.empty((self.n, W.shape[1]), dtype=self.dtype, device=self.device)
        for piece in self.pieces():
            out[piece] = product(self.spec, self._sent(self.X[piece]), right, W)
        return out


def mean_of(X: Matrix, device: Any) -> Any:
    """Return the mean row, in double precision: any row near it serves as well."""
    step = max(1, PIECE // (8 * max(1, X.shape[1])))
    total = torch.zeros(X.shape[1], dtype=torch.float64, device=device)
    for start in range(0, X.shape[0], step):
        rows = X[start : start + step]
        if hasattr(rows, "toarray"):
            rows = np.asarray(rows.sum(axis=0, dtype=np.float64)).reshape(1, -1)
        given = torch.as_tensor(np.require(rows, requirements=["C", "W"]), device=device)
        total += given.sum(dim=0, dtype=torch.float64)
    return total / max(1, X.shape[0])


def bytes_of(side: DeviceSide) -> int:
    """Return the memory that a side takes."""
    inner = sum(bytes_of(part) for part in side.parts)
    rows = 0 if side.parts else side.rows.nbytes
    return int(rows + inner + (0 if side.note is None else side.note.nbytes))


def free_memory(device: Any) -> int:
    """Return the bytes that X may take."""
    if device.type != "cuda":
        return 1 << 62
    free: int = torch.cuda.mem_get_info(device)[0]
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(ROOM * (free + kept))
