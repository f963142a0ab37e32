"""Errors and warnings that a caller may want to catch."""

from cotas.files.problems import DataFileError, ModelFileError
from cotas.linear.hard_margin import NotSeparableError
from cotas.refusals import ParameterError
from cotas.regression.task import DivergedError
from cotas.stops import InterruptedWarning

__all__ = [
    "DataFileError",
    "DivergedError",
    "InterruptedWarning",
    "ModelFileError",
    "NotSeparableError",
    "ParameterError",
]
