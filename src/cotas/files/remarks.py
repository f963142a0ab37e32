"""What a reader should know about a table, said by whoever noticed it."""

from __future__ import annotations

from dataclasses import dataclass

from cotas.words import Spoken


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
    """

    kind: str
    column: str | None
    message: Spoken[str] = Spoken()

    def __str__(self) -> str:
        return self.message
