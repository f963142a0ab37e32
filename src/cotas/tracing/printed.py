"""The algorithms as the documents print them, line by line, in Spanish and in English."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from cotas.refusals import ParameterError
from cotas.words import LANGUAGES, current

INDENT = "  "
# Who wrote a document; its title where it names nobody.
AUTHORS = {
    "000": "Fuentes Cabrera",
    "001": "Rugeles Ospina",
    "002": "Fuentes-Pineda",
    "003": "Moreno Chávez",
    "004": "Clasificación lineal",
}


@dataclass(frozen=True)
class Line:
    """A line of a printed algorithm, `depth` levels inside others.

    `number` is the page's, or counts where it prints none.
    """

    number: str
    english: str
    spanish: str
    depth: int = 0

    def text(self, lang: str | None = None) -> str:
        """Return the line in English ("en") or Spanish ("es").

        Parameters
        ----------
        lang : "en" or "es", optional
            The language of `cotas.lang` if not given.
        """
        lang = current() if lang is None else lang
        if lang not in LANGUAGES:
            raise ParameterError(
                "lang", f"lang must be 'en' (English) or 'es' (Spanish), not {lang!r}."
            )
        return self.english if lang == "en" else self.spanish

    def indented(self, lang: str | None = None) -> str:
        """Return the same, moved to the right as far as it is inside others.

        Parameters
        ----------
        lang : "en" or "es", optional
            The language of `cotas.lang` if not given.
        """
        return INDENT * self.depth + self.text(lang)


@dataclass(frozen=True)
class Printed:
    """An algorithm on its page.

    Attributes
    ----------
    document : the number of the document
    place : where in it
    english, spanish : its title
    lines : tuple of Line
    """

    document: str
    place: str
    english: str
    spanish: str
    lines: tuple[Line, ...]

    @property
    def author(self) -> str:
        """Name who wrote the document, or its title where it names nobody."""
        return AUTHORS[self.document]

    def __getitem__(self, number: str) -> Line:
        """Return the line with this number."""
        return next(line for line in self.lines if line.number == number)

    def some(self, *numbers: str) -> tuple[Line, ...]:
        """Return the lines with these numbers."""
        return tuple(self[number] for number in numbers)

    @property
    def last(self) -> Line:
        """Return where the algorithm ends."""
        return self.lines[-1]

    def text(self, lang: str | None = None) -> str:
        """Return all the lines, each with its number, those of a loop inside it.

        Parameters
        ----------
        lang : "en" or "es", optional
            The language of `cotas.lang` if not given.
        """
        width = max(len(line.number) for line in self.lines)
        return "\n".join(f"{line.number:>{width}}: {line.indented(lang)}" for line in self.lines)


def _read(text: str) -> Printed:
    """Return one algorithm of printed.txt, whose first lines say how it is written."""
    (document, place), titles, *rows = (row.split(" | ") for row in text.strip().split("\n"))
    lines = []
    for number, indented, *spanish in rows:
        english = indented.lstrip()
        depth = (len(indented) - len(english)) // len(INDENT)
        lines.append(Line(number, english, spanish[0] if spanish else english, depth))
    return Printed(document, place, titles[0], titles[-1], tuple(lines))


_TEXT = resources.files("cotas.tracing").joinpath("printed.txt").read_text("utf-8")
_PAGES = {(page.document, page.place): page for page in map(_read, _TEXT.split("\n\n")[1:])}
PERCEPTRON_THROUGH_THE_ORIGIN = _PAGES["000", "Algorithm 1"]
PERCEPTRON = _PAGES["000", "Algorithm 2"]
AVERAGED_PERCEPTRON = _PAGES["000", "Algorithm 3"]
PASSIVE_AGGRESSIVE = _PAGES["000", "Algorithm 4"]
PEGASOS = _PAGES["000", "Algorithm 5"]
PEGASOS_WITH_BIAS = _PAGES["002", "Subgradient descent (PEGASOS)"]
STOCHASTIC_SUBGRADIENT = _PAGES["004", "Stochastic gradient descent"]
SUBGRADIENT_DESCENT = _PAGES["004", "Gradient descent"]
KERNEL_PERCEPTRON = _PAGES["000", "Algorithm 2 with the kernel trick of Fuentes-Pineda"]
KERNEL_PEGASOS = _PAGES["002", "Kernelized PEGASOS"]
SMO = _PAGES["002", "Sequential minimal optimization (SMO)"]
ADABOOST = _PAGES["001", "Algorithm 1"]
REAL_ADABOOST = _PAGES["001", "Algorithm 2"]
GENTLEBOOST = _PAGES["001", "Algorithm 4"]
BATCH_DESCENT = _PAGES["003", "Batch gradient descent"]
STOCHASTIC_DESCENT = _PAGES["003", "Stochastic gradient descent"]
MINI_BATCHES = _PAGES["003", "Batch against stochastic: mini-batches"]
LEAST_SQUARES_BY_DRAWS = _PAGES["000", "Algorithm 6"]
RIDGE_BY_DRAWS = _PAGES["000", "Algorithm 7"]
