"""One figure of a document: how it is computed, drawn and described."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cotas.experiments.drawing.sheet import caption, words

# Author and title, by the number that the project gives a document.
DOCUMENTS = {
    "000": "J. G. Fuentes Cabrera, «Aprendizaje supervisado» (000)",
    "001": "N. Rugeles Ospina, «Algoritmos de Boosting» (001)",
    "002": "G. Fuentes-Pineda, «Kernels» (002)",
    "003": "G. Moreno Chávez, «Regresión lineal por gradiente descendente» (003)",
    "004": "«Clasificación lineal y generalización» (004)",
}


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
        words(lang)  # a language that is none is told before the work
        return self.picture(self.compute(seed, **sizes), lang)

    def picture(self, result: Any, lang: str = "en") -> Any:
        """Draw what `compute` returned, with its title and its source."""
        drawn = self.draw(result, lang)
        caption(drawn, self.description(lang), self.source(lang))
        return drawn

    @property
    def document(self) -> str:
        """The number of the document: "001"."""
        return self.name.split("-", 1)[0]

    @property
    def number(self) -> str:
        """The number of the figure in the document, or its word: "1.5"."""
        return self.name.split("-", 1)[1]

    def source(self, lang: str = "en") -> str:
        """Where it is from, so that a reader of the document finds it."""
        say = words(lang)
        numbered = self.number[0].isdigit()
        where = say(f"Figure {self.number} of ", f"Figura {self.number} de ") if numbered else ""
        return where + DOCUMENTS[self.document]
