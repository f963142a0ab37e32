"""What must be true of a loaded model as a whole before it is handed over."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from cotas.certificates import Certificate
from cotas.files.checks import MOST_FEATURES, check_matrix, finite, indices, require, whole
from cotas.files.errors import ModelFileError

WIDEST_DENSE_ROW = 1 << 20


def check_model(model: Any) -> None:
    """Refuse a model whose parts do not fit together; then let it predict one row."""
    require(hasattr(model, "n_features_in_"), "the model does not know its number of features")
    d = whole(model.n_features_in_, 1, MOST_FEATURES, "the number of features")
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        sound = isinstance(names, np.ndarray) and names.shape == (d,) and names.dtype == object
        require(sound and all(type(name) is str for name in names), "the names of the features")
    machines = _check_classes(model) if hasattr(model, "classes_") else None
    if hasattr(model, "ensembles_"):
        _check_ensembles(model, machines, d)
    elif hasattr(model, "kernel_"):
        _check_kernel_machine(model, machines, d)
    else:
        _check_linear(model, machines, d)
    _check_run(model, d)
    _try(model, d)


def _check_classes(model: Any) -> int:
    """The classes are sorted; returns how many machines tell them apart."""
    classes = model.classes_
    require(isinstance(classes, np.ndarray) and classes.ndim == 1, "the classes are no vector")
    try:
        rising = bool((classes[1:] > classes[:-1]).all())
    except TypeError:
        rising = False
    k = len(classes)
    require(rising and k >= 1 and not _is_nan(classes), "the classes are not sorted")
    votes = vars(model).get("_votes", False)
    require(type(votes) is bool, "whether the classes are voted for")
    if votes:
        return k * (k - 1) // 2
    return 1 if k == 2 else k


def _is_nan(classes: Any) -> bool:
    return classes.dtype.kind == "f" and bool(np.isnan(classes).any())


def _check_linear(model: Any, machines: int | None, d: int) -> None:
    require(hasattr(model, "coef_") and hasattr(model, "intercept_"), "there are no coefficients")
    if machines is None and np.ndim(model.coef_) == 1:
        coef = finite(model.coef_, 1, "coef_")[None, :]
        bias = model.intercept_
        require(isinstance(bias, float | np.floating) and np.isfinite(bias), "intercept_")
    else:
        coef = finite(model.coef_, 2, "coef_")
        bias = np.asarray(model.intercept_, dtype=np.float64)
        require(np.isfinite(bias).all(), "intercept_ holds NaN or infinity")
        require(bias.shape == (len(coef),) or (machines is None and bias.ndim == 0), "intercept_")
    require(coef.shape[1] == d and len(coef) >= 1, "coef_ is not of so many features")
    require(machines is None or len(coef) == machines, "coef_ is not of so many classes")


def _check_ensembles(model: Any, machines: int | None, d: int) -> None:
    ensembles = model.ensembles_
    if machines is None:  # of numbers
        bias, machines = getattr(model, "intercept_", None), 1
        require(isinstance(bias, float) and np.isfinite(bias), "intercept_")
    require(type(ensembles) is list and len(ensembles) == machines, "the ensembles")
    for ensemble in ensembles:
        require(hasattr(ensemble, "shrinks"), "an ensemble is none")
        if hasattr(ensemble.functions, "feature"):
            require(len(ensemble.categories.place) == d, "the trees are of other features")
        else:
            fit = all(len(function.coef) == d for function in ensemble.functions)
            require(fit, "the functions are of other features")


def _check_kernel_machine(model: Any, machines: int | None, d: int) -> None:
    require(hasattr(model.kernel_, "known_mercer"), "the kernel is none")
    bias = finite(model.intercept_, 1, "intercept_")
    require(len(bias) == machines, "intercept_ is not of so many machines")
    if getattr(model, "features_", None) is not None:
        _check_features(model.features_, finite(model.coef_, 2, "coef_"), len(bias), d)
        return
    n = whole(model._n_rows, 1, MOST_FEATURES, "the number of training rows")
    support = indices(model.support_, np.int64, 1, 0, n, "support_")
    counts = indices(model.n_support_, np.int64, 1, 0, n + 1, "n_support_")
    sums = len(counts) == len(model.classes_) and sum(counts.tolist()) == len(support)
    require(sums and len(np.unique(support)) == len(support), "support_ and n_support_")
    dual = finite(model.dual_coef_, 2, "dual_coef_")
    require(dual.shape == (len(bias), len(support)), "dual_coef_")
    vectors = check_matrix(model.support_vectors_, "the support vectors")
    if type(model.kernel_).__name__ == "Precomputed":
        require(n == d, "a Gram matrix is not square")
    else:
        require(vectors.shape == (len(support), d), "the support vectors")


def _check_features(features: Any, coef: Any, machines: int, d: int) -> None:
    if hasattr(features, "frequencies"):
        frequencies = finite(features.frequencies, 2, "the frequencies")
        require(len(frequencies) == d, "the frequencies are of other features")
        width = 2 * frequencies.shape[1]
    else:
        fitted: Any = getattr(features, "map", None)
        require(hasattr(fitted, "_projection"), "the features of the model are none")
        rows = check_matrix(fitted.rows_, "the landmarks")
        projection = finite(fitted._projection, 2, "the projection")
        require(rows.shape[1] == d == fitted.n_features_in_, "the landmarks are of other features")
        require(len(projection) == rows.shape[0], "the projection")
        width = projection.shape[1]
    require(coef.shape == (machines, width), "coef_ is not of so many features")


def _check_run(model: Any, d: int) -> None:
    """What a warm start would go on from."""
    history = getattr(model, "_history", None)
    if history is not None:
        fits = hasattr(history, "run") and history.run.w.shape == model.coef_.shape
        require(fits, "the history of the run")
        k = len(model.classes_)
        positive = history.run.positive
        require(((positive >= 0) & (positive < k)).all(), "the classes of the run")
    ends = getattr(model, "_ends", None) or []
    require(type(ends) is list and all(hasattr(end, "share") for end in ends), "the last fit")
    same = all(len(end.theta) == d and len(end.share) == len(ends[0].share) for end in ends)
    require(same, "the end of the last fit")
    memory = getattr(model, "_memory", None)
    if memory is not None:
        shape = np.atleast_2d(model.coef_).shape
        require(type(memory) is tuple and memory, "the batches so far")
        kept = getattr(memory[0], "w", getattr(memory[0], "cross", np.zeros(0)))
        require(shape in (kept.shape, kept.T.shape), "the batches so far")
    path = getattr(model, "path_", None)
    runs = path if isinstance(path, list) else [path]
    for run in runs:
        require(run is None or len(getattr(run, "scale", ())) == d, "the path of the run")


def _try(model: Any, d: int) -> None:
    """One prediction, and the certificates in words: whatever else does not fit shows here."""
    # The row has no names, and scikit-learn would warn of that.
    names = vars(model).pop("feature_names_in_", None)
    try:
        prediction = model.predict(_row(model, d))
        certificate = model.certificate_
        require(isinstance(certificate, Certificate), "a certificate is none")
        require(bool(str(certificate)), "a certificate is empty")
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(f"The model of the file does not work: {error}") from error
    if names is not None:
        model.feature_names_in_ = names
    require(len(prediction) == 1, "the model does not predict")


def _row(model: Any, d: int) -> Any:
    """A row that the model must be able to predict."""
    vectors = getattr(model, "support_vectors_", None)
    if vectors is not None and vectors.shape[0] and vectors.shape[1] == d:
        return vectors[:1]
    if d > WIDEST_DENSE_ROW:
        return sparse.csr_matrix((1, d))
    return np.zeros((1, d))
