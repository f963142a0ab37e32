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
from cotas.files.problems import DataFileError
from cotas.files.sparse_parts import compressed

_CSR = ("data", "indices", "indptr", "shape")


def read_npz(path: Place, source: str, max_bytes: int) -> tuple[Matrix, AnyArray | None]:
    """X, dense or CSR, and y if it is there."""
    place: Any = Path(str(path))
    if not on_disk(path):
        with open_bytes(path, max_bytes) as stream:
            place = io.BytesIO(stream.read())
    try:
        with zipfile.ZipFile(place) as archive:
            total = sum(member.file_size for member in archive.infolist())
        if total > max_bytes:
            raise DataFileError(
                f"its arrays take {total:,} bytes, more than {max_bytes:,}.", source
            )
        if not on_disk(path):
            place.seek(0)
        with np.load(place, allow_pickle=False) as arrays:
            return _matrix(arrays, source), arrays["y"] if "y" in arrays.files else None
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise DataFileError(f"it is damaged ({error}).", source) from None
    except ValueError as error:
        if isinstance(error, DataFileError):
            raise
        words = f"it cannot be read, and pickled objects never are ({str(error).rstrip('.')})."
        raise DataFileError(words, source) from None


def _matrix(arrays: Any, source: str) -> Matrix:
    if all(name in arrays.files for name in _CSR):
        kind = str(arrays["format"].item().decode()) if "format" in arrays.files else "csr"
        if kind not in ("csr", "csc"):
            raise DataFileError(f"its sparse matrix is stored as {kind}; store it as CSR.", source)
        build = sparse.csr_matrix if kind == "csr" else sparse.csc_matrix
        parts = arrays["data"], arrays["indices"], arrays["indptr"]
        return compressed(build, *parts, arrays["shape"]).tocsr()
    if "X" not in arrays.files:
        raise DataFileError(
            f"it needs an array X, or the arrays of a CSR matrix; it has {arrays.files}.", source
        )
    X = arrays["X"]
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise DataFileError(f"X must be a matrix of numbers, not {X.dtype} of {X.shape}.", source)
    return X if X.dtype.kind == "f" else X.astype(np.float64)
