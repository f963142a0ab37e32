"""One figure of a document: how it is computed, drawn and described."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cotas import words
from cotas.experiments.drawing.sheet import caption
from cotas.words import say


@dataclass(frozen=True)
class Figure:
    """A figure of a document.

    Attributes
    ----------
    name : str
        The document and the number, or a word where the document has no numbers: "001-1.5".
    english : str
        What it shows, in one line.
    compute : function of `seed` and of sizes
        The numbers, as a frozen dataclass.
    draw : function of the numbers
        The picture, as a matplotlib Figure.
    """

    name: str
    english: str
    compute: Callable[..., Any]
    draw: Callable[[Any], Any]

    def description(self, lang: str | None = None) -> str:
        """What it shows, in the language asked for."""
        with words.lang(lang or words.current()):
            return say(self.english)

    def __call__(self, seed: int = 0, lang: str | None = None, **sizes: Any) -> Any:
        """Compute and draw.

        Parameters
        ----------
        seed : int, default=0
            Everything drawn at random follows from it; a whole number from 0 on.
        lang : "en" or "es", optional
            The language; if not given, that of `cotas.lang`, or else English.
        **sizes : numbers of examples, rounds and so on, as `compute` has them

        Returns
        -------
        matplotlib Figure
        """
        with words.lang(lang or words.current()):
            picture = self.draw(self.compute(seed, **sizes))
            document, number = self.name.split("-", 1)
            where = "Document {document}, Figure {number}. {said}"
            if not number[0].isdigit():
                where = "Document {document}. {said}"
            said = say(self.english)
            caption(picture, say(where, document=document, number=number, said=said))
        return picture
