"""How a caller asks for something: by an option on the command line, by an argument in Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_typed: ContextVar[bool] = ContextVar("typed", default=False)
# Where an option and the argument have different names.
_ARGUMENTS = {"category": "categories", "rows-without-target": "without_target"}
# The arguments that are lists.
_LISTS = ("missing", "not-missing", "category", "keep")


@contextmanager
def on_the_command_line() -> Iterator[None]:
    """Whoever calls has typed options, and is told of these."""
    token = _typed.set(True)
    try:
        yield
    finally:
        _typed.reset(token)


def leaving_out(column: str) -> str:
    """How a column is left out, in parentheses, where that is an option."""
    return f" (--drop {column!r})" if _typed.get() else ""


def parameter(name: str, value: str) -> str:
    """How a parameter of a model is given."""
    return f"--param {name}={value}" if _typed.get() else f"{name}={value!r}"


def asked(option: str, value: str | None = None) -> str:
    """How an option is given, with this value.

    >>> asked("missing", "none"), asked("keep", "id")
    ("missing=['none']", "Preparation(keep=['id'])")
    >>> with on_the_command_line():
    ...     asked("keep", "id"), asked("max-columns")
    ("--keep 'id'", '--max-columns')
    """
    if _typed.get():
        between = "=" if value is not None and value.startswith("-") else " "
        return f"--{option}" if value is None else f"--{option}{between}{value!r}"
    name = _ARGUMENTS.get(option, option.replace("-", "_"))
    if value is None:
        return name
    given = f"{name}=[{value!r}]" if option in _LISTS else f"{name}={value!r}"
    return f"Preparation({given})" if option == "keep" else given
