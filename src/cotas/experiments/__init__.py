"""The figures of the source documents, each from one function.

    python -m cotas.experiments --list
    python -m cotas.experiments 1.5 teorema-3.1 --out figures --seed 3 --lang es --format pdf

`samples` draws the data as the text says, and a module for each document or chapter computes and
draws its figures. `FIGURES` has them all by name, and `names` finds them by what they show.
"""

from cotas.experiments.figure import Figure
from cotas.experiments.figures import reproduce
from cotas.experiments.memorizing import MemorisingClassifier
from cotas.experiments.names import FIGURES, UnknownFigureError, find, find_all
from cotas.experiments.three_models import ThreeModels

__all__ = [
    "FIGURES",
    "Figure",
    "MemorisingClassifier",
    "ThreeModels",
    "UnknownFigureError",
    "find",
    "find_all",
    "reproduce",
]
