"""One table of names: figures by algorithm, theorem, figure and document, in both languages."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module

from cotas.experiments.figure import DRAWN, Figure
from cotas.words import current, say

# What a numbered thing of a document is called.
KINDS = {
    "figure": ("figure", "figura", "fig"),
    "algorithm": ("algorithm", "algoritmo", "alg"),
    "theorem": ("theorem", "teorema"),
    "lemma": ("lemma", "lema"),
    "proposition": ("proposition", "proposición"),
    "definition": ("definition", "definición"),
    "section": ("section", "sección"),
    "document": ("document", "documento"),
}

# Their figures are known once they are imported.
for _chapter in ("boosting", "descent", "generalization", "kernel_machines", "margins",
                 "memorizing", "promises", "stagewise"):  # fmt: skip
    import_module(f"cotas.experiments.{_chapter}")

FIGURES: dict[str, Figure] = {figure.name: figure for figure in sorted(DRAWN, key=Figure.place)}


@dataclass(frozen=True)
class Shown:
    """A thing of a document that figures show.

    Attributes
    ----------
    document : str
        Its number: "001".
    kind, number : str
        One of `KINDS` and the number there, "algorithm" and "5"; both empty for a mere word.
    words : tuple of str
        What people call it: first in English, then in Spanish, then otherwise.
    figures : tuple of str
        The names of the figures that show it.
    """

    document: str
    kind: str
    number: str
    words: tuple[str, ...]
    figures: tuple[str, ...]

    def word(self, lang: str | None = None) -> str:
        """Return what it is called in this language, in a word; empty if it has none."""
        both = self.words[:2] or ("",)
        return both[-1 if (lang or current()) == "es" else 0]

    @property
    def called(self) -> str:
        """Say what it is, in a word, or else what shows it."""
        return self.word() or ", ".join(self.figures)

    @property
    def names(self) -> set[str]:
        """Return every name of it, as `slug` writes them."""
        found = {slug(word) for word in self.words}
        for word in KINDS.get(self.kind, ()):
            found |= {slug(f"{word}-{self.number}"), slug(f"{self.document}-{word}-{self.number}")}
        return found


COMPARED = ("001-1.4", "001-1.5", "001-1.6", "001-1.8", "001-1.9", "001-1.10")
RATES = ("001-2.1", "001-2.6", "001-2.7", "001-2.8")
LAMBDAS = ("004-lambda-0.1", "004-lambda-100", "004-lambda-1000")

ITEMS = (
    # ---- 000, lecture notes
    Shown("000", "algorithm", "1", ("perceptron", "perceptrón"), ("000-perceptron",)),
    Shown("000", "algorithm", "2", ("perceptron with bias", "perceptrón con sesgo"),
          ("000-averaged",)),
    Shown("000", "algorithm", "3", ("averaged perceptron", "perceptrón medio",
          "perceptrón promedio"), ("000-averaged",)),
    Shown("000", "algorithm", "4", ("passive-aggressive", "pasivo-agresivo"), ("000-averaged",)),
    Shown("000", "algorithm", "5", ("pegasos",), ("000-pegasos", "002-smo", "004-surface")),
    Shown("000", "algorithm", "6", ("stochastic least squares", "mínimos cuadrados estocásticos"),
          ("003-stochastic",)),
    Shown("000", "algorithm", "7", ("ridge", "regresión de cresta", "ridge regression",
          "regresión ridge", "cresta"), ("000-ridge",)),
    Shown("000", "theorem", "3.1", ("perceptron convergence", "convergencia del perceptrón"),
          ("000-perceptron",)),
    Shown("000", "definition", "3.3", ("margin", "margen"), ("000-3.3", "000-3.6", *LAMBDAS)),
    Shown("000", "section", "2.2", ("memorizer", "memorizador", "memoriser"), ("000-memorizer",)),
    Shown("000", "section", "3.5", ("hinge loss", "pérdida bisagra"), ("000-3.4",)),
    Shown("000", "section", "3.7", ("svm", "máquina de soporte vectorial",
          "support vector machine"), ("000-3.5", "000-3.6", "002-linear", *LAMBDAS)),
    # ---- 001, thesis
    Shown("001", "algorithm", "1", ("adaboost", "adaboost discreto", "discrete adaboost"),
          ("001-1.3", *COMPARED, "001-adaboost")),
    Shown("001", "algorithm", "2", ("real adaboost", "adaboost real"), COMPARED),
    Shown("001", "algorithm", "3", ("logitboost",), COMPARED),
    Shown("001", "algorithm", "4", ("gentleboost",), COMPARED),
    Shown("001", "algorithm", "5", ("anyboost",), ("001-anyboost",)),
    Shown("001", "algorithm", "6", ("convex anyboost", "anyboost convexo"), ("001-anyboost",)),
    Shown("001", "algorithm", "7", ("example algorithm", "algoritmo de ejemplo"),
          ("001-anyboost",)),
    Shown("001", "algorithm", "8", ("ls-boost", "ls-boost", "lsboost"), (*RATES, "001-ls-boost")),
    Shown("001", "algorithm", "9", ("r-fs", "r-fs", "regularized forward stagewise"), ("001-2.3",
          "001-2.11", "001-r-fs")),
    Shown("001", "", "", ("fs", "fs", "forward stagewise"), ("001-2.2", "001-2.4", "001-2.9",
          "001-fs")),
    Shown("001", "", "", ("lasso", "lasso", "lasso path", "camino de lasso"), ("001-2.3", "001-2.4",
          "001-2.5", "001-2.10", "001-2.11")),
    Shown("001", "", "", ("random forest", "bosque aleatorio"), COMPARED[:3]),
    Shown("001", "lemma", "1.1.3", (), ("001-1.7", "001-1.8", "001-1.10")),
    Shown("001", "lemma", "1.1.7", (), ("001-1.1",)),
    Shown("001", "theorem", "1.1.5", (), ("001-adaboost",)),
    Shown("001", "theorem", "2.1.2", (), ("001-ls-boost",)),
    Shown("001", "theorem", "2.2.1", (), ("001-fs",)),
    Shown("001", "theorem", "2.2.3", (), ("001-r-fs",)),
    # ---- 002, kernels
    Shown("002", "", "", ("smo", "smo", "kernelized pegasos", "pegasos kernelizado"), ("002-smo",)),
    Shown("002", "", "", ("rbf", "función de base radial", "radial basis function"), ("002-rbf",)),
    Shown("002", "", "", ("kernel trick", "truco del kernel"), ("002-intuition",)),
    # ---- 003, gradient descent
    Shown("003", "", "", ("gradient descent", "descenso por gradiente", "descenso de gradiente",
          "gradiente descendente"), ("003-houses", "003-step", "003-normalization", "004-slope",
          "004-surface")),
    Shown("003", "", "", ("stochastic", "estocástico", "mini-batch", "mini-lotes"),
          ("003-stochastic", "004-surface")),
    Shown("003", "", "", ("houses", "casas", "least squares", "mínimos cuadrados"),
          ("003-houses",)),
    Shown("003", "", "", ("normalization", "normalización"), ("003-normalization",)),
    Shown("003", "", "", ("learning rate", "tasa de aprendizaje"), ("003-step",)),
    # ---- 004, generalization
    Shown("004", "", "", ("lambda", "regularización", "regularization"), LAMBDAS),
    Shown("004", "", "", ("overfitting", "sobreajuste", "underfitting", "subajuste",
          "sobrencajamiento", "subencajamiento"), ("004-fitting",)),
    # ---- the documents themselves
    *(
        Shown("", "document", number, (number, number, *words),
             tuple(name for name in FIGURES if name.startswith(number)))
        for number, words in {
            "000": ("fuentes cabrera", "aprendizaje supervisado", "apuntes", "lecture notes"),
            "001": ("rugeles ospina", "rugeles", "algoritmos de boosting", "boosting", "tesis",
             "thesis"),
            "002": ("fuentes pineda", "kernels"),
            "003": ("moreno chávez", "moreno", "regresión lineal por gradiente descendente",),
            "004": ("clasificación lineal y generalización", "clasificación lineal"),
        }.items()
    ),
)  # fmt: skip


class UnknownFigureError(ValueError):
    """An error: there is no figure of that name, or more than one thing has it."""


def slug(name: str) -> str:
    """Return a name without capitals, accents and spaces: "Perceptrón medio" is "perceptron-medio".

    A number may have a comma, and a point or nothing before it: "Fig. 3,3", "figura3.3".
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    numbered = re.sub(r"(?<=[a-z])\.?(?=[\s_-]*\d)", "-", plain.replace(",", "."))
    return re.sub(r"[\s_-]+", "-", numbered.strip(" \t\n.-"))


def _table() -> dict[str, list[Shown]]:
    """Return for each name the things that have it.

    A figure called by a word gives way to an item of the same word that it shows: "pegasos" stands
    for all the figures of PEGASOS, "000-pegasos" for the one.
    """
    table: dict[str, list[Shown]] = {}
    for item in ITEMS:
        for name in item.names:
            table.setdefault(name, []).append(item)
    for figure in FIGURES.values():
        words = (figure.name, figure.name, figure.number)
        own = Shown(figure.document, "figure", figure.number, words, (figure.name,))
        for name in own.names:
            others = table.setdefault(name, [])
            if not any(figure.name in other.figures for other in others):
                others.append(own)
    return table


def find_all(name: str) -> tuple[Figure, ...]:
    """Return the figures that a name stands for: a figure, an algorithm, a theorem or a document.

    Parameters
    ----------
    name : str
        "001-1.5", "1.5", "figura 1.5", "pegasos", "001-algoritmo-5", "teorema-3.1", "tesis".
        Capitals, accents and the kind of space do not matter.

    Returns
    -------
    tuple of Figure

    Examples
    --------
    >>> from cotas.experiments import find_all
    >>> [figure.name for figure in find_all("Teorema 3.1")]
    ['000-perceptron']
    >>> [figure.name for figure in find_all("LogitBoost")][:3]
    ['001-1.4', '001-1.5', '001-1.6']
    """
    table, wanted = _table(), slug(name)
    things = table.get(wanted, [])
    if len({item.figures for item in things}) == 1:
        return tuple(FIGURES[one] for one in things[0].figures)
    if things:
        choices = _either(f"{item.document}-{wanted} ({item.called})" for item in things)
        words = "{name!r} stands in several documents: {choices}. Choose one."
        raise UnknownFigureError(say(words, name=name, choices=choices))
    near = _near(wanted, table)
    advice = say(" Did you mean {name}?", name=_either(near)) if near else ""
    words = "There is no figure {name!r}.{advice} `cotas reproduce --list` shows all."
    raise UnknownFigureError(say(words, name=name, advice=advice))


def _near(wanted: str, table: dict[str, list[Shown]]) -> list[str]:
    """Find up to four names like this one, the most like it first, none for the same figures
    twice."""
    found: dict[frozenset[tuple[str, ...]], str] = {}
    for name in difflib.get_close_matches(wanted, table, n=len(table)):
        found.setdefault(frozenset(item.figures for item in table[name]), name)
    return list(found.values())[:4]


def _either(choices: Iterable[str]) -> str:
    """Return what can be chosen, in words."""
    return say(" or ").join(choices)


def find(name: str) -> Figure:
    """Return the one figure that a name stands for, as in `find_all`.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> from cotas.experiments import find
    >>> find("3.6").english
    'The linear separator with the largest margin'
    """
    found = find_all(name)
    if len(found) > 1:
        names = ", ".join(figure.name for figure in found)
        raise UnknownFigureError(
            say("{name!r} stands for several figures: {names}. Choose one.", name=name, names=names)
        )
    return found[0]


def other_names(figure: Figure, lang: str | None = None) -> list[str]:
    """Return what else a figure is found by: the titles and words of the items that show it."""
    found: dict[str, None] = {}
    for item in ITEMS:
        if figure.name in item.figures and item.kind != "document":
            if item.kind:
                kind = KINDS[item.kind][(lang or current()) == "es"]
                found[slug(f"{kind}-{item.number}")] = None
            if word := item.word(lang):
                found[slug(word)] = None
    return list(found)


def listing(lang: str | None = None) -> str:
    """Return the names, each with its line and what else it is found by."""
    width = max(map(len, FIGURES))
    lines = []
    for name, figure in FIGURES.items():
        also = ", ".join(other_names(figure, lang))
        lines.append(f"{name:{width}}  {figure.description(lang)}" + (f" [{also}]" if also else ""))
    return "\n".join(lines)
