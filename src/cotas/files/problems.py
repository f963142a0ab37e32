"""What can be wrong with a file of data, said in one kind of error."""

from __future__ import annotations


class DataFileError(ValueError):
    """A file of data that cannot be used, with its name and, where known, the line.

    Attributes
    ----------
    source : str
        The file, or "standard input".
    line : int or None
        The line, counted from one.
    """

    def __init__(self, message: str, source: str = "", line: int | None = None) -> None:
        self.source = source
        self.line = line
        place = source if line is None else f"{source}, line {line}" if source else f"line {line}"
        super().__init__(f"{place}: {message}" if place else message)
