"""Certificates for fitted models, ours and those of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_X_y
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates import Certificate, no_certificate
from cotas.certificates.device import computed_by, maker_on
from cotas.certificates.numbers import refuse_inexact, refuse_masked
from cotas.certificates.presentation import against_the_rest
from cotas.certificates.theorems.combinations import Labelled
from cotas.fitting.certified import Certified
from cotas.fitting.data import checked_weights
from cotas.fitting.parameters import check_not_negative
from cotas.foreign.boosting import adaboost_classifier
from cotas.foreign.fit import ForeignFit
from cotas.foreign.kernel import kernel_ridge, svc, svr
from cotas.foreign.least_squares import elastic_net, lasso, linear_regression, ridge, sgd_regressor
from cotas.foreign.linear import (
    linear_svc,
    logistic_regression,
    passive_aggressive,
    perceptron,
    sgd_classifier,
)
from cotas.refusals import ParameterError, ParameterTypeError
from cotas.running import one_thread_in_blas
from cotas.source import MatrixLike, as_stored, comes_in_blocks, source_of
from cotas.words import say

# For each model, by library and class: what reads its coefficients and makes its certificates.
READERS: dict[str, Callable[[ForeignFit], list[Certificate]]] = {
    "sklearn.AdaBoostClassifier": adaboost_classifier,
    "sklearn.ElasticNet": elastic_net,
    "sklearn.KernelRidge": kernel_ridge,
    "sklearn.Lasso": lasso,
    "sklearn.LinearRegression": linear_regression,
    "sklearn.LinearSVC": linear_svc,
    "sklearn.LogisticRegression": logistic_regression,
    "sklearn.PassiveAggressiveClassifier": passive_aggressive,
    "sklearn.Perceptron": perceptron,
    "sklearn.Ridge": ridge,
    "sklearn.SGDClassifier": sgd_classifier,
    "sklearn.SGDRegressor": sgd_regressor,
    "sklearn.SVC": svc,
    "sklearn.SVR": svr,
    "sklearnex.LinearRegression": linear_regression,
    "sklearnex.Ridge": ridge,
}

# Those that can be measured by the problem with a free bias: they may penalize it or have none.
WITH_A_FREE_BIAS = {
    "sklearn.LinearSVC",
    "sklearn.LogisticRegression",
    "sklearn.SGDClassifier",
    "sklearn.SVC",
}

# Their readers take the weights as they were given, since how the weight of a class counts
# depends on the model. All other readers get them multiplied by the weight of the class.
WEIGH_CLASSES_THEMSELVES = {
    "sklearn.LinearSVC",
    "sklearn.LogisticRegression",
    "sklearn.SGDClassifier",
}

# Why there is no certificate, for models of which it may be expected.
REASONS = {
    "sklearn.CalibratedClassifierCV": (
        "CalibratedClassifierCV joins several models, each fitted on a part of the data, and bends "
        "their scores: it minimizes no single objective. Certify the estimator before calibration."
    ),
}

# Those that choose their penalty, and where they keep the choice.
CHOOSING = {
    "sklearn.ElasticNetCV": "alpha_, l1_ratio_",
    "sklearn.LassoCV": "alpha_",
    "sklearn.LogisticRegressionCV": "C_",
    "sklearn.RidgeCV": "alpha_",
}


def certify(
    model: Any,
    X: MatrixLike,
    y: Any = None,
    sample_weight: Any = None,
    *,
    problem: str = "own",
    max_time: float = 30.0,
    device: str = "cpu",
) -> Certificate:
    """Tell how far a fitted model is from the best one for its own problem, proved from the data.

    From cotas: every estimator, proved again as it is now. From scikit-learn:
    `LogisticRegression` with any solver, penalty and number of classes; with an l2 penalty
    `LinearSVC` with either loss, and `SGDClassifier` with hinge, log, squared hinge or modified
    Huber loss; `SVC` with any kernel,
    one certificate for each pair of classes; `Perceptron` and `PassiveAggressiveClassifier` for
    whether they separate the data; `LinearRegression`, `Ridge`, `Lasso`, `ElasticNet`,
    `SGDRegressor` with squared error, `KernelRidge` and `SVR`; `AdaBoostClassifier` for the bound
    on its training error. Pipelines and searches that end with one of them are unwrapped, and so
    are `OneVsRestClassifier` and `cotas.tables.PreparedModel`. Anything else gets a certificate of
    kind "none" that says why.

    Parameters
    ----------
    model : a fitted estimator
    X, y : the data it was fitted on
        For a model of cotas X may be a source of row blocks, which has y.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights it was fitted with, if any. They are part of the problem: with other weights
        than those of the fit another problem is measured. The `class_weight` of the model is
        taken into account by itself. Models of cotas keep their weights and need none here.
    problem : {"own", "free-bias"}, default="own"
        By which problem to measure: the one that the model states, or the same one with a bias
        that is not penalized. `LinearSVC` and the solver liblinear penalize it. For these models
        "free-bias" also tells the objective of the same θ with the best bias.
    max_time : float, default=30.0
        Seconds to spend, for each class, on a dual point where the model has none of its own.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where the products with the Gram matrix of an `SVC` or a `KernelSVM` are computed; "cuda" is
        a GPU, which needs `pip install "cotas[gpu]"`.

    Returns
    -------
    Certificate
        With several classes or targets a composite, whose `parts` are one for each class against
        the rest (`SVC`: for each pair) or for each target. `LogisticRegression` trains all classes
        at once, and gets one certificate for all.

    Examples
    --------
    >>> import cotas
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.svm import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> certificate = cotas.certify(SVC(kernel="linear").fit(X, y), X, y)
    >>> 0.015 < certificate.relative_gap < 0.025  # the best is lower, and there was no warning
    True
    """
    if problem not in ("own", "free-bias"):
        raise ParameterError("problem", f'problem must be "own" or "free-bias", not {problem!r}.')
    check_not_negative(max_time, "max_time")
    if device != "cpu":
        with computed_by(maker_on(device)):
            return certify(model, X, y, sample_weight, problem=problem, max_time=max_time)
    if isinstance(model, type) or not hasattr(model, "fit"):
        raise ParameterTypeError("model", f"model must be a fitted estimator, not {model!r}.")
    name = _name(model)
    if isinstance(model, Pipeline) or _is_search(model) or _is_prepared(model):
        return _inner(model, X, y, sample_weight, problem, max_time)
    if isinstance(model, OneVsRestClassifier):
        return _each_of_them(model, X, y, sample_weight, problem, max_time)
    if comes_in_blocks(X):
        if not isinstance(model, Certified):
            raise ParameterError(
                "X", f"{name} needs X and y as arrays, not a source of row blocks."
            )
        return model._proved_again(source_of(X, y, sample_weight), None)
    X = as_stored(X)
    refuse_inexact(X, "X")
    (refuse_inexact if is_regressor(model) else refuse_masked)(y, "y")
    if isinstance(model, Certified) and problem == "own":
        return model._proved_again(X, y)
    if name not in (READERS if problem == "own" else WITH_A_FREE_BIAS):
        return no_certificate(_reason(name))
    check_is_fitted(model)
    X, y, weights = _checked(model, X, y, sample_weight)
    if getattr(model, "class_weight", None) is not None and name not in WEIGH_CLASSES_THEMSELVES:
        weights = weights * compute_sample_weight(model.class_weight, y)
    with one_thread_in_blas():  # the products are small, and threads would wait for each other
        found = READERS[name](ForeignFit(model, X, y, weights, max_time, problem != "own"))
    return _together(found, _names(model, found))


def _names(model: Any, found: list[Certificate]) -> list[str]:
    """Name what each certificate is about: as its witness says, or by the classes of the model."""
    if all(certificate.label for certificate in found):
        return [certificate.label for certificate in found]
    if len(getattr(model, "classes_", ())) == len(found):
        return [against_the_rest(label) for label in model.classes_]
    return [f"part {k}" for k in range(len(found))]


def _together(found: list[Certificate], names: list[str]) -> Certificate:
    return found[0] if len(found) == 1 else Certificate.of_parts(found, names)


def _name(model: Any) -> str:
    kind = type(model)
    return f"{kind.__module__.split('.')[0]}.{kind.__name__}"


def _reason(name: str) -> str:
    if name in REASONS:
        return REASONS[name]
    if name in CHOOSING:
        model = name.removeprefix("sklearn.")
        return say(
            "{model} chooses its penalty by cross-validation. Fit {plain} with what it chose "
            "({chosen}) and certify that.",
            model=model,
            plain=model.removesuffix("CV"),
            chosen=CHOOSING[name],
        )
    if name in READERS or name.startswith("cotas."):
        words = '{name} is measured by the problem that it states; ask with problem="own".'
        return say(words, name=name)
    known = ", ".join(full.removeprefix("sklearn.") for full in READERS)
    return say(
        "cotas has no certificate for {name}. It has one for its own models, for {known}, and for "
        "pipelines and searches that end with one of them.",
        name=name,
        known=known,
    )


def _is_search(model: Any) -> bool:
    """Tell whether it is GridSearchCV or its kin, which refit the best of their candidates."""
    return all(hasattr(model, name) for name in ("estimator", "refit", "cv", "scoring"))


def _is_prepared(model: Any) -> bool:
    """Tell whether it is a PreparedModel: tables in, the estimator inside."""
    return all(hasattr(model, name) for name in ("estimator", "preparation", "prepare"))


def _inner(
    model: Any, X: MatrixLike, y: Any, sample_weight: Any, problem: str, max_time: float
) -> Certificate:
    """Return what is said of the last step of a pipeline, of what a search has refitted, or of
    tables."""
    if isinstance(model, Pipeline):
        inner, note = model[-1], ""
        check_is_fitted(inner)
        if len(model) > 1:
            X = model[:-1].transform(X)
            note = (
                "It speaks of the features that the earlier steps of the pipeline make: verify "
                "takes pipeline[:-1].transform(X)."
            )
    elif _is_prepared(model):
        if comes_in_blocks(X):
            raise ParameterError(
                "X", "PreparedModel needs X as a table, not a source of row blocks."
            )
        X, y, there = model._with_targets(X, y)
        if there is not None and sample_weight is not None:
            sample_weight = np.asarray(sample_weight)[there]
        X, y, inner = model.prepare(X), model.target(y), model.estimator_
        note = "It speaks of the columns as they were prepared."
    else:
        if not model.refit:
            return no_certificate(
                say("{name}(refit=False) keeps no model to certify.", name=_name(model))
            )
        check_is_fitted(model)
        inner = model.best_estimator_
        note = (
            "It speaks of the model that the search refitted on all the data, "
            "not of the choice between the candidates."
        )
    found = certify(inner, X, y, sample_weight, problem=problem, max_time=max_time)
    return found.noted(note) if note else found


def _each_of_them(
    model: Any, X: MatrixLike, y: Any, sample_weight: Any, problem: str, max_time: float
) -> Certificate:
    """Return one certificate for each estimator that was trained on one class against the rest."""
    check_is_fitted(model)
    if model.multilabel_:
        return no_certificate("OneVsRestClassifier on several labels for each row: certify each.")
    y = np.asarray(y)
    _refuse_unknown(model, y)
    labels = model.classes_[1:] if len(model.estimators_) == 1 else model.classes_
    certificates = []
    for label, estimator in zip(labels, model.estimators_, strict=True):
        ones = (y == label).astype(np.int64)
        found = certify(estimator, X, ones, sample_weight, problem=problem, max_time=max_time)
        one = found.singles[0]
        # The witness speaks of the labels as they are, so that `verify` takes them.
        witness: Any = one.witness
        if isinstance(witness, Labelled):
            given: Any = X
            certificates.append(replace(witness, classes=np.array([label])).check(given, y))
            continue
        named = None if witness is None else replace(witness, positive=label)
        certificates.append(replace(one, witness=named, predictor=None))
    return _together(certificates, [against_the_rest(label) for label in labels])


def _refuse_unknown(model: Any, y: AnyArray) -> None:
    unknown = np.setdiff1d(y, model.classes_)
    if len(unknown):
        raise ParameterError(
            "y",
            f"y holds labels that {_name(model)} was not fitted on: {unknown[:5].tolist()}. "
            "Pass the data of the fit.",
        )


def _checked(
    model: Any, X: MatrixLike, y: Any, sample_weight: Any
) -> tuple[Matrix, AnyArray, FloatArray]:
    """Return the data in the form that the readers take, or an error that names what is wrong."""
    real = is_regressor(model)
    rows: Matrix
    rows, y = check_X_y(
        X, y, accept_sparse="csr", dtype=[np.float64, np.float32], multi_output=real, y_numeric=real
    )
    fitted = getattr(model, "n_features_in_", rows.shape[1])
    if rows.shape[1] != fitted:
        raise ParameterError(
            "X",
            f"X has {rows.shape[1]} features; {_name(model)} was fitted on {fitted}. Pass the data "
            "of the fit.",
        )
    if hasattr(model, "classes_"):
        _refuse_unknown(model, y)
    weights = checked_weights(sample_weight, rows)
    return rows, y, weights
