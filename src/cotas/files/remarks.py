"""What a reader should know about a table, said by whoever noticed it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Remark:
    """Something a reader should know about the data.

    Attributes
    ----------
    kind : str
        Such as "renamed", "cells", "identifier", "text", "constant", "missing", "leak",
        "duplicates" or "unbalanced".
    column : str or None
    message : str
        In words, with what to do.
    figures : dict
        The numbers and names in the message, by name, for saying it in another language.
    """

    kind: str
    column: str | None
    message: str
    figures: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.message
