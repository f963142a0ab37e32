"""One figure of a document: how it is computed, drawn and described."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from cotas import words
from cotas.experiments.sheet import caption, sheet
from cotas.words import say

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
    english : str
        What it shows, in one line.
    compute : function of `seed` and of sizes
        The numbers, as a frozen dataclass.
    draw : function of the numbers and of the panels of a slide
        One, or as many as `panels` says.
    """

    name: str
    english: str
    compute: Callable[..., Any]
    draw: Callable[..., None]

    def description(self, lang: str | None = None) -> str:
        """Return what it shows, in the language asked for."""
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
            return self.picture(self.compute(seed, **sizes))

    def picture(self, result: Any) -> Any:
        """Draw what `compute` returned, with its title and its source."""
        columns, rows, options = getattr(self.draw, "panels", (1, 1, {}))
        many = columns(result) if callable(columns) else columns
        with sheet(many, rows, **options) as (slide, axes):
            self.draw(result, *axes)
        caption(slide, say(self.english), self.source())
        return slide

    @property
    def document(self) -> str:
        """Return the number of the document: "001"."""
        return self.name.split("-", 1)[0]

    @property
    def number(self) -> str:
        """Return the number of the figure in the document, or its word: "1.5"."""
        return self.name.split("-", 1)[1]

    def place(self) -> tuple[str, bool, list[int], str]:
        """Return the place among the others: by document, and there by its number or its word."""
        numbers = [] if self._is_worded() else [int(part) for part in self.number.split(".")]
        return self.document, not numbers, numbers, self.number

    def _is_worded(self) -> bool:
        """Tell whether the document has no number for it."""
        return not self.number[0].isdigit()

    def source(self) -> str:
        """Tell where it is from, so that a reader of the document finds it."""
        document = DOCUMENTS[self.document]
        if self._is_worded():
            return document
        return say("Figure {number} of {document}", number=self.number, document=document)


Draw = TypeVar("Draw", bound=Callable[..., None])
# Every figure, as the modules that draw are imported: `names` imports them all.
DRAWN: list[Figure] = []


def draws(name: str, english: str, compute: Callable[..., Any]) -> Callable[[Draw], Draw]:
    """Mark the function that draws what `compute` returns, as a figure of this name."""

    def keep(draw: Draw) -> Draw:
        DRAWN.append(Figure(name, english, compute, draw))
        return draw

    return keep


def panels(columns: Any, rows: int = 1, **options: Any) -> Callable[[Draw], Draw]:
    """Give a function that draws more than one panel.

    `columns` is their number, or a function of the result; `options` are those of `sheet`.
    """

    def give(draw: Draw) -> Draw:
        draw.panels = (columns, rows, options)  # type: ignore[attr-defined]
        return draw

    return give
