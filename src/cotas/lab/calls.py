"""A call of the library that can be made, and shown as code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import cotas


@dataclass(frozen=True)
class Call:
    """What makes an object of the library, such as an estimator, a kernel or a stopping rule.

    >>> call = Call("KernelSVM", {"kernel": Call("kernels.RBF", {"sigma": 0.5}), "lam": 0.1})
    >>> str(call)
    'cotas.KernelSVM(kernel=cotas.kernels.RBF(sigma=0.5), lam=0.1)'
    >>> call.make().lam
    0.1
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def make(self, **others: Any) -> Any:
        """The object itself, with other arguments besides."""
        given = {
            name: value.make() if isinstance(value, Call) else value
            for name, value in self.arguments.items()
        }
        return attrgetter(self.name)(cotas)(**given, **others)

    def __str__(self) -> str:
        given = ", ".join(f"{name}={_written(value)}" for name, value in self.arguments.items())
        return f"cotas.{self.name}({given})"


def _written(value: Any) -> str:
    return str(value) if isinstance(value, Call) else repr(value)
