"""What no single field of a model can say, such as how many machines tell its classes apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.files.kinds.values import KERNEL
from cotas.files.schema import require


def machines_of(model: Any) -> int:
    """How many machines tell the classes apart: one for two classes, else one each or a pair."""
    k = len(model.classes_)
    if getattr(model, "_votes", False):
        return k * (k - 1) // 2
    return 1 if k == 2 else k


def machines_fit(model: Any) -> None:
    """There are as many machines as the classes need."""
    require(len(model.intercept_) == machines_of(model), "intercept", "is of other classes")


def ends_fit(model: Any) -> None:
    """What all machines ended with is about the same rows."""
    machines_fit(model)
    ends = getattr(model, "_ends", [])
    require(len({len(end.share) for end in ends}) <= 1, "ends", "are of different rows")


def kernels_fit(model: Any) -> None:
    """An expansion over support vectors or features, whichever the model has."""
    machines_fit(model)
    if getattr(model, "features_", None) is not None:
        require(hasattr(model, "coef_"), "coef", "is missing")
        require(model.coef_.shape[1] == _width(model.features_), "coef", "is of other features")
        return
    require(hasattr(model, "n_support_"), "n_support", "is missing")
    expansion_fits(model)
    counts = sum(model.n_support_.tolist())
    require(counts == len(model.support_), "support", "and n_support do not fit together")


def expansion_fits(model: Any) -> None:
    """Support vectors, each of them once, and what they are in the model."""
    for name in ("support_", "dual_coef_", "support_vectors_", "_n_rows"):
        require(hasattr(model, name), name, "is missing")
    for certificate in model._certificates:
        rows = getattr(certificate.witness, "n_rows", model._n_rows)
        require(rows == model._n_rows, "certificates", "are of other rows")
    support = model.support_
    require(len(support) == len(np.unique(support)), "support", "has a row twice")
    if KERNEL.name_of(model.kernel_) == "precomputed":
        require(model._n_rows == model.n_features_in_, "n_features_in", "is not that of a square")
    else:
        require(len(support) == model.support_vectors_.shape[0], "support_vectors", "are others")


def _width(features: Any) -> int:
    """How many features there are."""
    if hasattr(features, "frequencies"):
        return int(2 * features.frequencies.shape[1])
    return int(features.map._projection.shape[1])


def targets_fit(model: Any) -> None:
    """One target is a vector of coefficients and a number, and its witness names no column."""
    single = model.coef_.ndim == 1
    require((np.ndim(model.intercept_) == 0) == single, "intercept", "is of other targets")
    for certificate in model._certificates:
        column = getattr(certificate.witness, "column", None if single else 0)
        require((column is None) == single, "certificates", "are of other targets")
    if hasattr(model, "_memory"):
        _batches_fit(model._memory, model.n_features_in_, 1 if single else len(model.coef_))


def _batches_fit(batches: Any, d: int, q: int) -> None:
    """The batches so far have d features and q targets."""
    state, more = batches
    if hasattr(state, "cross"):
        sides = (len(state.target_mean), len(more.centre), len(more.gram))
        require(sides == (q, d + q, d + 1 + q), "batches", "are of other targets")
    else:
        require(len(state.w) == q, "batches", "are of other targets")


def columns_or_learners(model: Any) -> None:
    """LS-Boost has coefficients and their path, or one ensemble."""
    if hasattr(model, "ensembles_"):
        require(len(model.ensembles_) == 1, "ensembles", "are of other targets")
        require(not hasattr(model, "coef_"), "coef", "is not of a model with weak learners")
        return
    for name in ("coef_", "path_"):
        require(hasattr(model, name), name, "is missing")
    targets_fit(model)


def blends_fit(model: Any) -> None:
    """Models of the same columns and classes, none a blend itself, and weights that sum to one."""
    first, *others = model.estimators_
    require(abs(model.weights_.sum() - 1) < 1e-9, "weights", "do not sum to one")
    for each in model.estimators_:
        require(hasattr(each, "_certificates"), "estimators", "are blends themselves")
    labels = getattr(first, "classes_", np.empty(0))
    for other in others:
        same = other.n_features_in_ == first.n_features_in_
        same = same and np.array_equal(getattr(other, "classes_", np.empty(0)), labels)
        require(same, "estimators", "are of other data")


def boosters_fit(model: Any) -> None:
    """One ensemble for each machine; if they share their votes, all have the same tests."""
    ensembles = model.ensembles_
    require(len(ensembles) == machines_of(model), "ensembles", "are of other classes")
    if not getattr(model, "_voted", False):
        return
    first = ensembles[0]
    for other in ensembles:
        same = type(other.functions) is type(first.functions) and len(other) == len(first)
        same = same and np.shape(getattr(other.functions, "value", ())) == np.shape(
            getattr(first.functions, "value", ())
        )
        require(same, "ensembles", "of one vote differ in their rounds")
