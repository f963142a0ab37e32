"""The types that appear in signatures everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[Any]  # of whole numbers; 16, 32 or 64 bits
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]

# Dense arrays and SciPy sparse matrices alike; SciPy carries no types.
Matrix: TypeAlias = Any

# Calls a function on each of several parts, possibly in threads; the results keep their order.
Each: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
