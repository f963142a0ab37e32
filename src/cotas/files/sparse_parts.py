"""Sparse matrices from arrays of a file, all of whose indices are looked at first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cotas.arrays import AnyArray


def compressed(make: Any, data: AnyArray, indices: AnyArray, indptr: AnyArray, shape: Any) -> Any:
    """A CSR or CSC matrix; ValueError where an index points to what is not there.

    SciPy's own `check_format` does not look at `indptr` where its last entry is zero.

    Parameters
    ----------
    make : csr_matrix, csc_matrix or one of the sparse arrays
    data, indices, indptr : as SciPy has them
    shape : (n_rows, n_columns)
    """
    if any(part.ndim != 1 for part in (data, indices, indptr)) or len(shape) != 2:
        raise ValueError("the parts of the sparse matrix are no vectors")
    if indices.dtype.kind != "i" or indptr.dtype.kind != "i" or len(data) != len(indices):
        raise ValueError("the indices of the sparse matrix are not whole numbers, one for each")
    sides = [int(side) for side in shape]
    _check_indices(indices, indptr, sides if "csr" in make.__name__ else sides[::-1])
    return make((data, indices, indptr), shape=tuple(sides))


def _check_indices(indices: AnyArray, indptr: AnyArray, sides: Sequence[int]) -> None:
    long, short = sides
    if len(indptr) != long + 1 or indptr[0] != 0 or indptr[-1] > len(indices):
        raise ValueError("the index pointers of the sparse matrix do not fit its shape")
    if (indptr[1:] < indptr[:-1]).any():
        raise ValueError("the index pointers of the sparse matrix fall")
    if indices.size and (indices.min() < 0 or indices.max() >= short):
        raise ValueError("an index of the sparse matrix points to what is not there")
