"""Witnesses in plain Python types."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, Self

import numpy as np

from cotas.arrays import FloatArray


def plain_fields(witness: Any) -> dict[str, Any]:
    """The fields of a witness in plain Python types, ready for JSON."""
    return {f.name: _plain(getattr(witness, f.name)) for f in fields(witness)}


def _plain(value: Any) -> Any:
    """Numbers and lists for arrays, names for losses, and fields for what has them."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if hasattr(value, "slope"):
        return value.name
    return plain_fields(value) if is_dataclass(value) else value


class Parametric:
    """A witness, always a dataclass, that has the parameters of its model among its fields."""

    def about(self, coef: FloatArray, intercept: Any) -> Self:
        """The same witness, said to belong to other parameters, of one class or of several."""
        this: Any = self
        bias = np.array(intercept) if np.ndim(intercept) else float(intercept)
        moved: Self = replace(this, coef=np.array(coef), intercept=bias)
        return moved

    def to_dict(self) -> dict[str, Any]:
        """The witness in plain Python types."""
        return plain_fields(self)
