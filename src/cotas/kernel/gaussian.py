"""Kernels that fall with the squared distance: the radial basis function, and the one with Σ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.design.blocks import row_spans
from cotas.kernel.interface import Kernel, KernelValueError, Side, check_above_zero, number
from cotas.kernel.products import (
    as_rows,
    dense_rows,
    products,
    row_squares,
    squared_distances_of_pairs,
    squared_norms,
)
from cotas.refusals import ParameterError

# ‖a‖² + ‖b‖² − 2a·b is off by a few roundings of the norms. While γ times the norms is below
# this, the exponent is off by less than a thousand roundings of 1, and so is the kernel.
SAFE_EXPONENT = 512.0
# exp(−40) is below 5e-18: farther away a distance need not be accurate.
FAR = 40.0
IN_CACHE = 1 << 16  # entries
# Up to so many columns the rows are copied in less time than a pass over a block takes.
FEW_COLUMNS = 128


@dataclass(frozen=True)
class Whitened:
    """The rows are seen as (x − centre)·scale, made block by block when they are needed."""

    centre: FloatArray | None
    scale: float

    def seen(self, rows: Matrix) -> Matrix:
        """Return some rows as they are seen from the frame, in double precision."""
        if self.centre is None:
            return rows.astype(np.float64) * self.scale
        return (dense_rows(rows, np.float64) - self.centre) * self.scale


@dataclass(frozen=True, init=False, repr=False)
class RBF(Kernel):
    """The radial basis function k(x, x′) = exp(−‖x−x′‖²/(2σ²)) = exp(−γ‖x−x′‖²).

    Parameters
    ----------
    sigma : float, default=1.0
        σ, the distance at which the kernel has fallen to exp(−½).
    gamma : float, optional
        γ = 1/(2σ²) in place of σ.

    Examples
    --------
    >>> from cotas.kernels import RBF
    >>> print(RBF(0.5))
    exp(−‖x−x′‖²/(2·0.5²))
    >>> RBF(gamma=2.0)([[0.0], [1.0]]).round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """

    sigma: float | None = None
    gamma: float | None = None

    def __init__(self, sigma: float | None = None, *, gamma: float | None = None) -> None:
        if sigma is not None and gamma is not None:
            raise ParameterError(
                "gamma", "sigma and gamma say the same thing, γ = 1/(2σ²): give one of them."
            )
        if sigma is None and gamma is None:
            sigma = 1.0
        for name, value in (("sigma", sigma), ("gamma", gamma)):
            checked = None if value is None else check_above_zero(value, name)
            object.__setattr__(self, name, checked)
        if not math.isfinite(self.inverse_length):
            raise KernelValueError(
                f"sigma={sigma!r} is so small that 1/sigma overflows, and the kernel has no finite "
                "values. Scale the columns (e.g. with StandardScaler), or take a larger one."
            )

    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Compute exp(−‖x−x′‖²/(2σ²))"""
        if self.sigma is not None:
            return f"exp(−‖{x}−{z}‖²/(2·{number(self.sigma)}²))"
        return f"exp(−{number(self.gamma or 0.0)}·‖{x}−{z}‖²)"

    def spec(self) -> Any:
        """Return ("rbf", γ, σ) for exp(−γ‖x−x′‖²/σ²)"""
        if self.sigma is not None:
            return ("rbf", 0.5, float(self.sigma))
        return ("rbf", float(self.gamma or 0.0), 1.0)

    @property
    def inverse_length(self) -> float:
        """Compute 1/(σ√2), whose square is γ."""
        if self.sigma is not None:
            return math.sqrt(0.5) / self.sigma
        return math.sqrt(self.gamma or 0.0)

    def diagonal(self, A: Matrix) -> FloatArray:
        """Compute k(a, a) = 1 of each row of A."""
        return np.ones(as_rows(A, "A").shape[0])

    def _frame(self, X: Matrix) -> Whitened | None:
        """Return None where the rows can be used as they are; else a centre and a scale to see
        them."""
        scale = self.inverse_length
        largest = squared_norms(X).max(initial=0.0) * scale * scale
        unscaled = 1e-140 < scale < 1e140
        if unscaled and largest <= SAFE_EXPONENT:
            return None
        return Whitened(_mean(X) if not sparse.issparse(X) else None, scale)

    def _side(self, X: Matrix, like: Side | None) -> Side:
        frame = self._frame(X) if like is None else like.frame
        if frame is None:
            return Side(X, (squared_norms(X),))
        parts = [row_squares(frame.seen(X[span])) for span in spans(X)]
        return Side(X, (np.concatenate(parts or [np.zeros(0)]),), frame=frame)

    def _block(self, left: Side, right: Side, dtype: DTypeLike) -> AnyArray:
        scale, frame = self.inverse_length, right.frame
        if frame is None:
            gamma = scale * scale
            if _fusible(left, right, gamma):
                return _fused(left, right, gamma, dtype)
            out = products(left.rows, right.rows, dtype)
        else:
            gamma = 1.0
            a = frame.seen(left.rows)
            out = np.empty((len(left), len(right)), dtype=dtype)
            for span in spans(right.rows):
                out[:, span] = products(a, frame.seen(right.rows[span]), dtype)
        return _falling(out, left, right, gamma, scale)

    def _diagonal(self, side: Side) -> FloatArray:
        return np.ones(len(side))


@dataclass(frozen=True, repr=False)
class Gaussian(Kernel):
    """The Gaussian kernel k(x, x′) = exp(−½(x−x′)ᵀΣ⁻¹(x−x′)) with a full covariance matrix Σ.

    Parameters
    ----------
    covariance : array of shape (d, d)
        Σ, symmetric and positive definite. A vector stands for a diagonal matrix.

    Notes
    -----
    The rows are multiplied by the inverse of the Cholesky factor of Σ, and these new rows, a
    dense array of the shape of X, are kept while the kernel is used on X.

    Examples
    --------
    >>> from cotas.kernels import Gaussian
    >>> Gaussian([[1.0, 0.5], [0.5, 1.0]])([[0.0, 0.0]], [[1.0, 0.0]]).round(4)
    array([[0.5134]])
    """

    covariance: Any

    def __post_init__(self) -> None:
        given = np.asarray(self.covariance, dtype=np.float64)
        covariance = np.diag(given) if given.ndim == 1 else given
        if covariance.ndim != 2 or covariance.shape[0] != covariance.shape[1]:
            raise ParameterError(
                "covariance", f"covariance must be a square matrix; its shape is {given.shape}."
            )
        if not np.isfinite(covariance).all():
            raise ParameterError("covariance", "covariance holds NaN or infinity.")
        if not np.allclose(covariance, covariance.T, rtol=1e-10, atol=0.0):
            raise ParameterError("covariance", "covariance must be symmetric.")
        # Tuples compare and hash by value, as a kernel must.
        object.__setattr__(self, "covariance", tuple(map(tuple, covariance.tolist())))
        _ = self._factor

    @cached_property
    def _factor(self) -> FloatArray:
        """Compute the lower triangular L with LLᵀ = Σ."""
        covariance = np.array(self.covariance)
        try:
            factor = np.asarray(cholesky(covariance, lower=True))
        except LinAlgError as error:
            raise ParameterError("covariance", _SINGULAR) from error
        # Columns may have any scales; what must not be is a combination of them without spread.
        spread = np.diag(factor) ** 2 / np.diag(covariance)
        if spread.min() < 1e-14:
            raise ParameterError("covariance", _SINGULAR)
        return factor

    def formula(self, x: str = "x", z: str = "x′") -> str:
        """Compute exp(−½(x−x′)ᵀΣ⁻¹(x−x′))"""
        d = len(self.covariance)
        rows = "; ".join(" ".join(number(v) for v in row) for row in self.covariance)
        sigma = f"[{rows}]" if d <= 3 else f"Σ({d}×{d})"
        return f"exp(−½({x}−{z})ᵀ{sigma}⁻¹({x}−{z}))"

    def spec(self) -> Any:
        """Return ("gaussian", W) for exp(−½‖W(x−x′)‖²), W being L⁻¹ as it comes out with LLᵀ =
        Σ"""
        return ("gaussian", self._inverse_factor)

    @cached_property
    def _inverse_factor(self) -> FloatArray:
        identity = np.eye(len(self.covariance))
        return np.asarray(solve_triangular(self._factor, identity, lower=True))

    def _side(self, X: Matrix, like: Side | None) -> Side:
        if X.shape[1] != len(self.covariance):
            raise ParameterError(
                "covariance",
                f"covariance is for {len(self.covariance)} columns; the rows have {X.shape[1]}.",
            )
        frame = _mean(X) if like is None else like.frame
        parts = [
            solve_triangular(
                self._factor, (dense_rows(X[span], np.float64) - frame).T, lower=True
            ).T
            for span in spans(X)
        ]
        rows = np.concatenate([*parts, np.zeros((0, X.shape[1]))])
        return Side(rows, (squared_norms(rows),), frame=frame)

    def _block(self, left: Side, right: Side, dtype: DTypeLike) -> AnyArray:
        out = products(left.rows, right.rows, dtype)
        return _falling(out, left, right, 0.5, math.sqrt(0.5))

    def _diagonal(self, side: Side) -> FloatArray:
        return np.ones(len(side))

    def __getstate__(self) -> dict[str, Any]:
        return {"covariance": self.covariance}


_SINGULAR = (
    "covariance is singular, or not positive definite: some combination of columns has no spread. "
    "Add a small multiple of the identity."
)


def _falling(out: AnyArray, left: Side, right: Side, gamma: float, scale: float) -> AnyArray:
    """Compute exp(−γ(‖a‖² + ‖b‖² − 2a·b)), the inner products being in `out`, which is overwritten.

    A few rows at a time, so that all the steps find them in the cache. `scale`² is γ in the units
    of the rows.
    """
    a, b = left.notes[0] * gamma, right.notes[0] * gamma
    step = max(1, IN_CACHE // max(1, out.shape[1]))
    for start in range(0, len(out), step):
        some = slice(start, start + step)
        block = out[some]
        block *= out.dtype.type(-2.0 * gamma)
        block += a[some].astype(out.dtype)[:, None]
        block += b.astype(out.dtype, copy=False)
        if not a[some].max(initial=0.0) + b.max(initial=0.0) <= SAFE_EXPONENT:
            _repair(block, a[some], b, left.rows[some], right.rows, scale)
        np.maximum(block, 0.0, out=block)
        np.negative(block, out=block)
        np.exp(block, out=block)
    return out


def _repair(
    block: AnyArray, a: FloatArray, b: FloatArray, A: Matrix, B: Matrix, scale: float
) -> None:
    """Compute the exponents of near pairs with large norms again, from their own differences.

    The difference of large norms says little about their distance.
    """
    doubtful = ~(block >= FAR)
    doubtful &= ~(a[:, None] + b <= SAFE_EXPONENT)
    i, j = np.nonzero(doubtful)
    block[i, j] = squared_distances_of_pairs(A, B, i, j, scale)


def _fusible(left: Side, right: Side, gamma: float) -> bool:
    """Tell whether the norms can take part in the product of matrices, and are worth it."""
    dense = not sparse.issparse(left.rows) and not sparse.issparse(right.rows)
    largest = left.notes[0].max(initial=0.0) + right.notes[0].max(initial=0.0)
    return dense and left.rows.shape[1] <= FEW_COLUMNS and bool(gamma * largest <= SAFE_EXPONENT)


def _fused(left: Side, right: Side, gamma: float, dtype: DTypeLike) -> AnyArray:
    """Compute exp((2γa, −γ‖a‖², 1)·(b, 1, −γ‖b‖²)): three passes over the block fewer than
    `_falling`."""
    d = left.rows.shape[1]
    a, b = (np.ones((len(side), d + 2), dtype=dtype) for side in (left, right))
    a[:, :d] = left.rows
    a[:, :d] *= 2.0 * gamma
    a[:, d] = -gamma * left.notes[0]
    b[:, :d] = right.rows
    b[:, d + 1] = -gamma * right.notes[0]
    out = a @ b.T
    np.minimum(out, 0.0, out=out)
    return np.asarray(np.exp(out, out=out))


def spans(X: Matrix) -> list[slice]:
    """Return blocks of a few megabytes, counting rows as dense; none for no rows."""
    return row_spans(X, X.shape[1]) if X.shape[0] else []


def _mean(X: Matrix) -> FloatArray:
    X, n = as_rows(X), max(1, X.shape[0])
    total = np.zeros(X.shape[1])
    for span in spans(X):
        block = X[span].astype(np.float64) / n
        total += np.asarray(block.sum(axis=0)).ravel()
    return total
