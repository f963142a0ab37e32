"""What is raised where something that was given cannot be used: programs read its name, not the
words."""

from __future__ import annotations

from typing import Any


class ParameterError(ValueError):
    """A value that a parameter cannot have, of an estimator or of a function.

    Attributes
    ----------
    parameter : the name, such as "lam" or "X"
    """

    def __init__(self, parameter: str, words: str) -> None:
        super().__init__(words)
        self.parameter = parameter

    def __reduce__(self) -> Any:
        return type(self), (self.parameter, str(self))


class ParameterTypeError(ParameterError, TypeError):
    """A value of a type that a parameter cannot have."""
