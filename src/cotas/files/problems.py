"""What can be wrong with a file of data, said in one kind of error."""

from __future__ import annotations

from cotas.words import Said, in_one, say


class DataFileError(ValueError):
    """A file of data that cannot be used, with its name and, where known, the line.

    Parameters
    ----------
    message : str
        A text of the catalogue, or one that was said already.
    source, line : as below
    **values : what the message has in braces

    Attributes
    ----------
    source : str
        The file, or "standard input".
    line : int or None
        The line, counted from one.
    """

    def __init__(
        self, message: str, source: str = "", line: int | None = None, /, **values: object
    ) -> None:
        self.source = source
        self.line = line
        place = source
        if line is not None:
            words = "{source}, line {line}" if source else "line {line}"
            place = say(words, source=source, line=line)
        # The text keeps its parts, so that it can be said again in another language.
        said = message if isinstance(message, Said) else say(message, **values)
        super().__init__(in_one([place, said], ": ") if place else said)


class UnusedWishError(DataFileError):
    """Something that was asked for, and that this kind of file cannot give."""
