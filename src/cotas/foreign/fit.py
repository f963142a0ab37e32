"""A fitted model of another library, with what it was fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates import Certificate, no_certificate
from cotas.words import say


@dataclass(frozen=True, eq=False)
class ForeignFit:
    """A foreign fit: what a reader is asked about.

    Attributes
    ----------
    model : fitted estimator
    X, y, weights : its data, and the weights of the examples
    max_time : seconds to spend on a dual point where the model has none of its own
    free_bias : whether to measure by the problem with a bias that is not penalized
    """

    model: Any
    X: Matrix
    y: AnyArray
    weights: FloatArray
    max_time: float
    free_bias: bool = False


def dense(numbers: Any) -> FloatArray:
    """Return what a model keeps as an array or a sparse matrix, as an array of our own."""
    whole = numbers.toarray() if hasattr(numbers, "toarray") else numbers
    return np.array(whole, dtype=np.float64)


def unproved(why: str, **values: object) -> list[Certificate]:
    """Return no certificate, and the reason."""
    return [no_certificate(say(why, **values))]
