"""The last look at a loaded model: it must predict, and say what is proved of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from cotas.files.schema import require

WIDEST_DENSE_ROW = 1 << 20
ASKED = ("predict", "decision_function", "predict_proba", "certified_predict")


def try_out(model: Any, preparation: Any = None) -> None:
    """Ask the model all it can answer about a row; what does not fit together shows here.

    Parameters
    ----------
    model : as read from a file
    preparation : what makes its rows, if there is something
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The rows have no names, and those of the model are for the user's.
        names = vars(model).pop("feature_names_in_", None)
        for X in _rows(model):
            _ask(model, X)
        certificate = model.certificate_
        require(bool(str(certificate)), "the certificate", "is empty")
        if hasattr(preparation, "try_out"):
            preparation.try_out(model)
    if names is not None:
        model.feature_names_in_ = names


def _ask(model: Any, X: Any) -> None:
    for name in ASKED:
        if hasattr(model, name):
            answer = getattr(model, name)(X)
            answer = answer[0] if isinstance(answer, tuple) else answer
            require(len(answer) == X.shape[0], "the model", "does not predict")


def _rows(model: Any) -> Iterator[Any]:
    """Rows that the model must be able to predict."""
    d = model.n_features_in_
    vectors = getattr(model, "support_vectors_", None)
    if vectors is not None and vectors.shape[0] and vectors.shape[1] == d:
        yield vectors[:1]
    elif d > WIDEST_DENSE_ROW:
        yield sparse.csr_matrix((1, d))
    else:
        yield np.zeros((1, d))
        if model.__sklearn_tags__().input_tags.allow_nan:
            yield np.full((1, d), np.nan)
