"""Certificates for fitted models, ours and those of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import check_X_y
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from cotas.arrays import Matrix
from cotas.certificates import Certificate, no_certificate
from cotas.fitting.certified import Certified
from cotas.foreign.boosting import adaboost_classifier
from cotas.foreign.support_vectors import linear_svc, perceptron, sgd_classifier, svc

# For each model, by library and class: what reads its coefficients and makes its certificates.
READERS: dict[str, Callable[..., list[Certificate]]] = {
    "sklearn.AdaBoostClassifier": adaboost_classifier,
    "sklearn.LinearSVC": linear_svc,
    "sklearn.SGDClassifier": sgd_classifier,
    "sklearn.SVC": svc,
    "sklearn.Perceptron": perceptron,
}


def certify(
    model: Any, X: Matrix, y: Any, sample_weight: Any = None, *, max_time: float = 30.0
) -> Certificate | list[Certificate]:
    """How far a fitted model is from the best one for its own problem, proved from the data.

    From cotas: every classifier, proved again as it is now. From scikit-learn: `LinearSVC` with
    hinge loss, `SVC` with a linear kernel and two classes, `SGDClassifier` with hinge loss and l2
    penalty; `Perceptron` for whether it separates the data; `AdaBoostClassifier` for the bound on
    its training error; pipelines that end with one of them. Anything else gets a certificate of
    kind "none" that says why.

    Parameters
    ----------
    model : a fitted estimator
    X, y, sample_weight : the data it was fitted on
    max_time : float, default=30.0
        Seconds to spend, for each class, on a dual point where the model has none of its own.

    Returns
    -------
    Certificate, or a list with one for each class against the rest

    Examples
    --------
    >>> import cotas
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.svm import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> certificate = cotas.certify(SVC(kernel="linear").fit(X, y), X, y)
    >>> 0.015 < certificate.gap / certificate.lower < 0.025  # above the best, without a warning
    True
    """
    if isinstance(model, Pipeline):
        check_is_fitted(model[-1])
        inner = certify(model[-1], model[:-1].transform(X), y, sample_weight, max_time=max_time)
        note = "It speaks of the features that the earlier steps of the pipeline make."
        noted = [replace(c, remarks=(*c.remarks, note)) for c in _as_list(inner)]
        return noted if isinstance(inner, list) else noted[0]
    if isinstance(model, Certified):
        return _proved_again(model, X, y)
    reader = READERS.get(_name(model))
    if reader is None:
        return no_certificate(f"cotas has no certificate for {_name(model)}.")
    check_is_fitted(model)
    X, y = check_X_y(X, y, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32])
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if getattr(model, "class_weight", None) is not None:
        weights = weights * compute_sample_weight(model.class_weight, y)
    found = reader(model, X, y, weights, max_time)
    return found[0] if len(found) == 1 else found


def _name(model: Any) -> str:
    kind = type(model)
    return f"{kind.__module__.split('.')[0]}.{kind.__name__}"


def _as_list(found: Certificate | list[Certificate]) -> list[Certificate]:
    return found if isinstance(found, list) else [found]


def _proved_again(model: Certified, X: Matrix, y: Any) -> Certificate | list[Certificate]:
    kept = model._current_certificates()
    fresh = [c if c.witness is None else c.witness.check(X, np.asarray(y)) for c in kept]
    return fresh if len(fresh) > 1 else fresh[0]
