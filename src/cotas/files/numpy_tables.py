"""NumPy's .npz files with `X` and `y`, or with the arrays of a CSR matrix; never with pickles."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Matrix
from cotas.files.compression import MOST_SPARSE_COLUMNS, Limits, Place, on_disk, open_bytes
from cotas.files.problems import DataFileError, damaged
from cotas.words import say

_CSR = ("data", "indices", "indptr", "shape")


def compressed(make: Any, data: AnyArray, indices: AnyArray, indptr: AnyArray, shape: Any) -> Any:
    """Return a CSR or CSC matrix; ValueError where an index points to what is not there.

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


def read_npz(path: Place, source: str, limits: Limits) -> tuple[Matrix, AnyArray | None]:
    """Compute X, dense or CSR, and y if it is there."""
    place: Any = Path(str(path))
    if not on_disk(path):
        with open_bytes(path, limits.text) as stream:
            place = io.BytesIO(limits.read(stream, source))
    try:
        with zipfile.ZipFile(place) as archive:
            total = sum(member.file_size for member in archive.infolist())
        if total > limits.decompressed:
            raise DataFileError(
                "its arrays take {total:,} bytes, more than {most:,}.",
                source,
                total=total,
                most=limits.decompressed,
            )
        limits.check_memory(total, source)
        if not on_disk(path):
            place.seek(0)
        with np.load(place, allow_pickle=False) as arrays:
            X = _matrix(arrays, source)
            limits.check_columns(X.shape[1], source, MOST_SPARSE_COLUMNS)
            return X, _target(arrays["y"], X, source) if "y" in arrays.files else None
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise damaged(error, source) from None
    except ValueError as error:
        if isinstance(error, DataFileError):
            raise
        words = say(
            "it cannot be read, and pickled objects never are ({error}).",
            error=str(error).rstrip("."),
        )
        raise DataFileError(words, source) from None


def _target(y: AnyArray, X: Matrix, source: str) -> AnyArray:
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != (X.shape[0],):
        raise DataFileError(
            "y must have one value for each of the {rows} rows of X, not {shape}.",
            source,
            rows=X.shape[0],
            shape=y.shape,
        )
    return y


def _matrix(arrays: Any, source: str) -> Matrix:
    if all(name in arrays.files for name in _CSR):
        kind = str(arrays["format"].item().decode()) if "format" in arrays.files else "csr"
        if kind not in ("csr", "csc"):
            raise DataFileError(
                "its sparse matrix is stored as {kind}; store it as CSR.", source, kind=kind
            )
        build = sparse.csr_matrix if kind == "csr" else sparse.csc_matrix
        parts = arrays["data"], arrays["indices"], arrays["indptr"]
        rows: sparse.csr_matrix = compressed(build, *parts, arrays["shape"]).tocsr()
        return rows
    if "X" not in arrays.files:
        raise DataFileError(
            "it needs an array X, or the arrays of a CSR matrix; it has {names}.",
            source,
            names=arrays.files,
        )
    X: AnyArray = arrays["X"]
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise DataFileError(
            "X must be a matrix of numbers, not {type} of {shape}.",
            source,
            type=X.dtype,
            shape=X.shape,
        )
    return X if X.dtype.kind == "f" else X.astype(np.float64)
