"""What a witness is, what witnesses have in common, and all of them in plain Python types."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates.verification import same

if TYPE_CHECKING:
    from cotas.certificates.certificate import Certificate


def plain(value: Any) -> Any:
    """Return a witness, or what it holds, in plain Python types, ready for JSON.

    Numbers and lists for arrays, names for losses, formulas for kernels, fields for the rest.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if hasattr(value, "slope"):
        return value.name
    if hasattr(value, "spec"):
        return str(value)
    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return value if value is None or isinstance(value, str | int | float) else repr(value)


class Witness(Protocol):
    """The evidence that a proof needs besides the data; `check`, trusted code, carries it out."""

    @property
    def coef(self) -> FloatArray: ...

    @property
    def intercept(self) -> Any: ...  # a number, or one for each class

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        """Return the certificate, every number of it computed from X, y and this witness."""
        ...

    def about(self, coef: FloatArray, intercept: Any) -> Witness:
        """Return the same witness, now said to belong to another model."""
        ...


class Parametric:
    """A witness, always a dataclass, that has the parameters of its model among its fields.

    Two are equal if their fields are, arrays entry by entry.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__eq__ = same  # type: ignore[method-assign]  # that of a dataclass knows no arrays

    def about(self, coef: FloatArray, intercept: Any) -> Self:
        """Return the same witness with other parameters, of one class or of several."""
        this: Any = self
        bias = np.array(intercept) if np.ndim(intercept) else float(intercept)
        moved: Self = replace(this, coef=np.array(coef), intercept=bias)
        return moved


class Together(Parametric):
    """A witness about one class or target of several, which are checked together."""

    check_all: ClassVar[Any]  # (witnesses of one fit, X, y) → their certificates

    def check(self, X: Any, y: Any = None) -> Certificate:
        """Return the certificate of this witness alone, computed from the data."""
        found: Certificate = self.check_all([self], X, y)[0]
        return found
