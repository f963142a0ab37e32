"""The array types that appear in signatures."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[Any]  # of whole numbers; 16, 32 or 64 bits
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]

# Dense arrays and SciPy sparse matrices alike; SciPy carries no types.
Matrix: TypeAlias = Any
