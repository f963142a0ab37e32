"""What goes wrong with a model file."""

from __future__ import annotations

from cotas.words import knows, say


class ModelFileError(ValueError):
    """A model that cannot be stored without code, or a file that is not a sound model file.

    Parameters
    ----------
    message : str
        A text of the catalogue, one that was said already, or a plain one.
    **values : what the message has in braces
    """

    def __init__(self, message: str, /, **values: object) -> None:
        known = knows(message, dict.fromkeys(values, ""))
        super().__init__(say(message, **values) if known else message)
