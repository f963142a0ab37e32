"""NumPy's .npz files with `X` and `y`, or with the arrays of a CSR matrix; never with pickles."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, Matrix
from cotas.files.compression import Place, on_disk, open_bytes
from cotas.files.limits import MOST_SPARSE_COLUMNS, Limits
from cotas.files.problems import DataFileError
from cotas.files.sparse_parts import compressed
from cotas.words import say

_CSR = ("data", "indices", "indptr", "shape")


def read_npz(path: Place, source: str, limits: Limits) -> tuple[Matrix, AnyArray | None]:
    """X, dense or CSR, and y if it is there."""
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
        raise DataFileError("it is damaged ({error}).", source, error=error) from None
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
        return compressed(build, *parts, arrays["shape"]).tocsr()
    if "X" not in arrays.files:
        raise DataFileError(
            "it needs an array X, or the arrays of a CSR matrix; it has {names}.",
            source,
            names=arrays.files,
        )
    X = arrays["X"]
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise DataFileError(
            "X must be a matrix of numbers, not {type} of {shape}.",
            source,
            type=X.dtype,
            shape=X.shape,
        )
    return X if X.dtype.kind == "f" else X.astype(np.float64)
