"""One figure of a document: how it is computed, drawn and described."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cotas.experiments.drawing.sheet import caption, words


@dataclass(frozen=True)
class Figure:
    """A figure of a document.

    Attributes
    ----------
    name : str
        The document and the number, or a word where the document has no numbers: "001-1.5".
    english, spanish : str
        What it shows, in one line.
    compute : function of `seed` and of sizes
        The numbers, as a frozen dataclass.
    draw : function of the numbers and the language
        The picture, as a matplotlib Figure.
    """

    name: str
    english: str
    spanish: str
    compute: Callable[..., Any]
    draw: Callable[[Any, str], Any]

    def description(self, lang: str = "en") -> str:
        """The line in the language asked for."""
        return words(lang)(self.english, self.spanish)

    def __call__(self, seed: int = 0, lang: str = "en", **sizes: Any) -> Any:
        """Compute and draw.

        Parameters
        ----------
        seed : int, default=0
            Everything drawn at random follows from it; a whole number from 0 on.
        lang : "en" or "es", default="en"
        **sizes : numbers of examples, rounds and so on, as `compute` has them

        Returns
        -------
        matplotlib Figure
        """
        said = self.description(lang)
        picture = self.draw(self.compute(seed, **sizes), lang)
        document, number = self.name.split("-", 1)
        where = words(lang)(f"Document {document}", f"Documento {document}")
        if number[0].isdigit():
            where += words(lang)(f", Figure {number}", f", figura {number}")
        caption(picture, f"{where}. {said}")
        return picture
