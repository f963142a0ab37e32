"""What an algorithm may do with the i-th vector xᵢ of a design.

A *design* holds vectors: the rows of X, or its columns. The vectors may be in single precision;
w and every sum are in double precision.
"""

from __future__ import annotations

from typing import Any

from cotas.arrays import FloatArray
from cotas.loops import generic


@generic
def dot(vectors: Any, i: int, w: FloatArray) -> float:  # type: ignore[empty-body]
    """Compute xᵢ · w"""


@generic
def add(vectors: Any, i: int, a: float, w: FloatArray) -> None:
    """Update w ← w + a xᵢ"""


@generic
def add_outer(vectors: Any, i: int, a: float, gram: FloatArray) -> None:
    """Update gram ← gram + a xᵢxᵢᵀ, the lower triangle of it"""


@generic
def add_squares(vectors: Any, i: int, a: float, w: FloatArray) -> None:
    """Update w ← w + a xᵢ², coordinate by coordinate"""


@generic
def norm2(vectors: Any, i: int) -> float:  # type: ignore[empty-body]
    """Compute ‖xᵢ‖²"""


@generic
def n_vectors(vectors: Any) -> int:  # type: ignore[empty-body]
    """Tell how many vectors there are."""


@generic
def n_features(vectors: Any) -> int:  # type: ignore[empty-body]
    """Tell how many coordinates each vector has."""
