"""The types that appear in signatures everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy import sparse

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[Any]  # of whole numbers; 16, 32 or 64 bits
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]

# Compressed sparse matrices of SciPy; `sparse.issparse` tells them from arrays.
Sparse: TypeAlias = "sparse.csr_matrix | sparse.csr_array | sparse.csc_matrix | sparse.csc_array"
Matrix: TypeAlias = "AnyArray | Sparse"

# Calls a function on each of several parts, possibly in threads; the results keep their order.
Each: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
