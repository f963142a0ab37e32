"""The figures of the source documents, each from one function.

    python -m cotas.experiments --list
    python -m cotas.experiments 1.5 --out figures --seed 3 --lang es

`samples` draws the data as the text says, a module for each document or chapter computes, and
`drawing` draws. `FIGURES` has them all by name.
"""

from cotas.experiments.catalogue import FIGURES
from cotas.experiments.figure import Figure
from cotas.experiments.figures import UnknownFigureError, find, reproduce
from cotas.experiments.memorizing import MemorisingClassifier
from cotas.experiments.three_models import ThreeModels

__all__ = [
    "FIGURES",
    "Figure",
    "MemorisingClassifier",
    "ThreeModels",
    "UnknownFigureError",
    "find",
    "reproduce",
]
