"""A fingerprint of training data: enough to tell whether other data are the same."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import Matrix

ROWS_AT_A_TIME = 1 << 12


@dataclass(frozen=True)
class Fingerprint:
    """Shape, type and hash of X and of y; two layouts of the same numbers differ.

    Examples
    --------
    >>> seen = Fingerprint.of([[1.0], [2.0]], [0, 1])
    >>> seen.shape, seen == Fingerprint.of([[1.0], [2.0]], [1, 1])
    ((2, 1), False)
    """

    shape: tuple[int, ...]
    dtype: str
    layout: str
    rows: str
    targets: str

    @classmethod
    def of(cls, X: Matrix, y: Any) -> Fingerprint:
        """Read the data once; nothing of their size is copied."""
        layout = X.format if sparse.issparse(X) else "dense"
        matrix = X if sparse.issparse(X) else np.asarray(X)
        shape = tuple(int(side) for side in matrix.shape)
        return cls(shape, str(matrix.dtype), layout, _digest(matrix), _digest(np.asarray(y)))

    def to_dict(self) -> dict[str, Any]:
        """Return the same in plain types, for JSON."""
        return {
            "shape": list(self.shape),
            "dtype": self.dtype,
            "layout": self.layout,
            "blake2b of X": self.rows,
            "blake2b of y": self.targets,
        }


class RowsAsTheyCome:
    """A check whether dense rows that come some at a time are those of a fingerprint, in their
    order.

    Parameters
    ----------
    data : Fingerprint
        Of dense rows.

    Examples
    --------
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> seen = RowsAsTheyCome(Fingerprint.of(X, [0, 1, 1]))
    >>> seen.add(X[:2])
    >>> seen.are_all
    False
    >>> seen.add(X[2:])
    >>> seen.are_all
    True
    """

    def __init__(self, data: Fingerprint) -> None:
        self._data = data
        head = f"{np.dtype(data.dtype).str}{data.shape}"
        self._hash = hashlib.blake2b(head.encode(), digest_size=16)

    def add(self, X: Any) -> None:
        """Take the next rows."""
        if len(X):
            self._hash.update(_bytes_of(X))

    @property
    def are_all(self) -> bool:
        """Tell whether the rows so far are the ones of the fingerprint, all of them."""
        return self._hash.hexdigest() == self._data.rows


def _bytes_of(block: Any) -> Any:
    return np.ascontiguousarray(block).reshape(-1).view(np.uint8).data


def _digest(values: Any) -> str:
    found = hashlib.blake2b(digest_size=16)
    for part in _parts(values):
        found.update(f"{part.dtype.str}{part.shape}".encode())
        for start in range(0, max(1, len(part)), ROWS_AT_A_TIME):
            block = part[start : start + ROWS_AT_A_TIME]
            if part.dtype == object:
                found.update("\0".join(map(repr, block.ravel().tolist())).encode())
            elif block.size:
                found.update(_bytes_of(block))
    return found.hexdigest()


def _parts(values: Any) -> list[Any]:
    if sparse.issparse(values):
        compressed: Any = values if values.format in ("csr", "csc") else values.tocsr()
        return [compressed.data, compressed.indices, compressed.indptr]
    return [np.atleast_1d(values)]
