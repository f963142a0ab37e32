"""Kernels that the user writes: a map φ, or any function of two rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix
from cotas.kernel.functions import refuse_asymmetric
from cotas.kernel.interface import Kernel, Prepared, Side
from cotas.kernel.products import as_rows, dense_rows, products, squared_norms
from cotas.refusals import ParameterError, ParameterTypeError
from cotas.source import MatrixLike

SAMPLE = 32  # the rows on which a function is tested for symmetry


@dataclass(frozen=True, repr=False)
class FromFeatures(Kernel):
    """A kernel k(x, x′) = φ(x)·φ(x′) for a map φ that one writes down.

    Parameters
    ----------
    phi : function of an array (n, d) that returns an array (n, D), row by row
        A function of a module can be pickled; a lambda cannot.

    Examples
    --------
    >>> import numpy as np
    >>> from cotas.kernels import FromFeatures
    >>> def squares(X):
    ...     return np.column_stack([X, X**2])
    >>> FromFeatures(squares)([[1.0], [2.0]])
    array([[ 2.,  6.],
           [ 6., 20.]])
    """

    phi: Callable[[Any], Any]

    def __post_init__(self) -> None:
        if not callable(self.phi):
            raise ParameterTypeError(
                "phi", f"phi must be a function of the rows, not {self.phi!r}."
            )

    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Compute φ(x)·φ(x′)"""
        name = _name_of(self.phi, "φ")
        return f"{name}({x})·{name}({z})"

    def spec(self) -> Any:
        """Return ("features", φ)"""
        return ("features", self.phi)

    def _side(self, X: Matrix, like: Side | None) -> Side:
        image = as_rows(self.phi(X), "phi(X)")
        if image.shape[0] != X.shape[0]:
            raise ParameterError(
                "phi", f"phi made {image.shape[0]} rows of {X.shape[0]}: it must map row by row."
            )
        return Side(image)

    def _block(self, left: Side, right: Side, dtype: DTypeLike) -> AnyArray:
        return products(left.rows, right.rows, dtype)

    def _diagonal(self, side: Side) -> FloatArray:
        return squared_norms(side.rows)


@dataclass(frozen=True, repr=False)
class Custom(Kernel):
    """Any symmetric function of two rows; `is_mercer` tells whether it is a valid kernel.

    Parameters
    ----------
    function : callable
    of : {"pairs", "blocks"}, default="pairs"
        "pairs": function(x, x′) of two rows gives a number. It is called once for each pair,
        which is slow. "blocks": function(A, B) of two matrices gives the matrix of all pairs, as
        scikit-learn's `SVC(kernel=function)` wants it.

    Examples
    --------
    >>> import numpy as np
    >>> from cotas.kernels import Custom
    >>> k = Custom(lambda x, z: np.minimum(x, z).sum())
    >>> k([[1.0, 2.0]], [[3.0, 1.0]])
    array([[2.]])
    """

    function: Callable[[Any, Any], Any]
    of: Literal["pairs", "blocks"] = "pairs"
    known_mercer = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterTypeError(
                "function", f"Custom needs a function of two rows, not {self.function!r}."
            )
        if self.of not in ("pairs", "blocks"):
            raise ParameterError("of", f"of must be 'pairs' or 'blocks', not {self.of!r}.")

    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Return the name of the function"""
        return f"{_name_of(self.function, 'k')}({x}, {z})"

    def spec(self) -> Any:
        """Return ("custom", function of two blocks of rows)"""
        return ("custom", lambda A, B: self._block(Side(A), Side(B), np.float64))

    def prepare(self, X: MatrixLike, indices: IntArray | None = None) -> Prepared:
        """Prepare rows as every kernel does; a sample of rows is tested for symmetry."""
        prepared = super().prepare(X, indices)
        n = len(prepared)
        some = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(int)) if n else np.arange(0)
        side = prepared._side.take(some)
        refuse_asymmetric(self._block(side, side, np.float64), some)
        return prepared

    def _block(self, left: Side, right: Side, dtype: DTypeLike) -> AnyArray:
        if self.of == "blocks":
            given = self.function(left.rows, right.rows)
            values = np.array(given.toarray() if sparse.issparse(given) else given, dtype=dtype)
            if values.shape != (len(left), len(right)):
                raise ParameterError(
                    "function",
                    f"The function returned an array of shape {values.shape} for {len(left)} rows "
                    f"against {len(right)}; of='pairs' is for functions of two single rows.",
                )
            return values
        A, B = dense_rows(left.rows, np.float64), dense_rows(right.rows, np.float64)
        rows = [[_as_number(self.function(a, b)) for b in B] for a in A]
        return np.array(rows, dtype=dtype).reshape(len(A), len(B))

    def _diagonal(self, side: Side) -> FloatArray:
        # In small blocks: of each, only the diagonal is wanted.
        step = 1 if self.of == "pairs" else SAMPLE
        parts = [side.take(slice(i, i + step)) for i in range(0, len(side), step)]
        return np.concatenate(
            [np.diag(self._block(p, p, np.float64)) for p in parts] or [np.zeros(0)]
        )


def _as_number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise ParameterTypeError(
            "function",
            f"The function must return one number for two rows, not {value!r}; of='blocks' is "
            "for functions of two matrices.",
        ) from error


def _name_of(function: Any, otherwise: str) -> str:
    name = getattr(function, "__name__", otherwise)
    return otherwise if name == "<lambda>" else str(name)
