"""Fitted models as ONNX graphs, for programs that know nothing of Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import reduce
from itertools import combinations
from operator import add
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.boosting.anyboost import AnyBoost, find_cost
from cotas.boosting.base import Boosted, BoostedClassifier
from cotas.boosting.logitboost import LogitBoost
from cotas.export.graph import Graph, Value, import_onnx
from cotas.export.kernels import block
from cotas.export.trees import combined
from cotas.files.atomic import write_atomically
from cotas.kernel.approximate import FourierFeatures
from cotas.kernel.base import KernelClassifier, KernelExpansion
from cotas.kernel.choice import is_precomputed
from cotas.kernel.regression import KernelRegressor
from cotas.linear.base import LinearClassifier
from cotas.linear.logistic import LogisticRegression
from cotas.losses import Exponential, Logistic, SquaredHinge
from cotas.refusals import ParameterError
from cotas.regression.base import LinearRegressor


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: DTypeLike = np.float64,
    calibration: Any = None,
) -> Any:
    """Return the prediction of a fitted model as an ONNX graph.

    Its input is `X` of shape (n, n_features). A regressor has the output `prediction`. A classifier
    has `label`, whole numbers or strings as the classes are; `scores`, shaped as
    `decision_function` returns them; and `probabilities` where the model has `predict_proba`,
    unless they come from a cost function that the user wrote.

    Parameters
    ----------
    model : a fitted model of cotas
    path : str or path, optional
        A file to write, whole or not at all.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        The type of the input. Everything is computed in double precision in both cases, as cotas
        itself does: with float32 the graph begins by widening X.
    calibration : Calibration, optional
        That of a `PreparedModel`, in the place of the model's own probabilities.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    ValueError
        If the model holds Python functions or estimators of other libraries.

    Examples
    --------
    >>> import cotas
    >>> model = cotas.LinearSVM().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> [output.name for output in cotas.to_onnx(model).graph.output]
    ['label', 'scores']
    """
    check_is_fitted(model)
    onnx, graph = import_onnx(), Graph()
    kind = onnx.helper.np_dtype_to_tensor_dtype(_input_type(dtype))
    given = onnx.helper.make_tensor_value_info("X", kind, ["n", int(model.n_features_in_)])
    X = Value(graph, "X")
    X = X if np.dtype(dtype) == np.float64 else X.cast(np.float64)
    if is_regressor(model):
        value, columns = _prediction(model, X)
        outputs = [_output(value, "prediction", np.float64, columns)]
    else:
        outputs = _classification(model, X, calibration)
    found = graph.finished(type(model).__name__, [given], outputs)
    if path is not None:
        write_atomically(path, [found.SerializeToString()])
    return found


def _input_type(dtype: DTypeLike) -> np.dtype[Any]:
    kind: np.dtype[Any] = np.dtype(dtype)
    if kind not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ParameterError("dtype", f"dtype must be float64 or float32, not {dtype!r}.")
    return kind


def _output(value: Value, name: str, dtype: DTypeLike, columns: int | None) -> Any:
    """Name an output: a vector, or a matrix of so many columns."""
    onnx = value.graph.onnx
    value.op("Identity", name=name)
    text = onnx.TensorProto.STRING
    kind = text if dtype is str else onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return onnx.helper.make_tensor_value_info(
        name, kind, ["n"] if columns is None else ["n", columns]
    )


def _prediction(model: Any, X: Value) -> tuple[Value, int | None]:
    """Return what a regressor predicts, and of several targets how many."""
    if _is_mean(model):
        return _mean([_prediction(one, X)[0] for one in model.estimators_], model.weights_), None
    if isinstance(model, KernelRegressor):
        return _kernel_scores(model, X).vector(), None
    if not isinstance(model, LinearRegressor):
        raise _unknown(model)
    if isinstance(model, Boosted) and hasattr(model, "ensembles_"):
        return combined(model.ensembles_[0], X).vector() + float(model.intercept_), None
    theta = np.asarray(model.coef_, dtype=np.float64)
    value = X @ theta.T + np.asarray(model.intercept_, dtype=np.float64)
    return value, None if theta.ndim == 1 else len(theta)


def _classification(model: Any, X: Value, calibration: Any) -> list[Any]:
    classes = _labels(model.classes_)
    k = len(classes)
    probabilities: Value | None = None
    if _is_mean(model):
        probabilities = _mean([_answers(one, X) for one in model.estimators_], model.weights_)
        # The log odds of the second of two classes, or the logarithm of each probability.
        logs = probabilities.op("Max", np.finfo(np.float64).tiny).op("Log")
        scores = logs @ np.array([-1.0, 1.0]) if k == 2 else logs
        chosen = probabilities.op("ArgMax", axis=1, keepdims=0)
    else:
        scores = _decision(model, X)
        chosen = (
            (scores > 0.0).cast(np.int64) if k == 2 else scores.op("ArgMax", axis=1, keepdims=0)
        )
        if hasattr(model, "predict_proba"):
            probabilities = _probabilities(model, scores, k)
    if calibration is not None:
        # 1/(1 + exp(a·s + b)) for each score, divided by their sum.
        slopes, offsets = -calibration.slopes, -calibration.offsets
        a, b = (slopes[0], offsets[0]) if k == 2 else (slopes, offsets)
        probabilities = _shares((scores * a + b).op("Sigmoid"), k)
    label = X.graph.op("Gather", classes, chosen)
    outputs = [
        _output(label, "label", str if classes.dtype.kind in "OU" else np.int64, None),
        _output(scores, "scores", np.float64, None if k == 2 else k),
    ]
    if probabilities is not None:
        outputs.append(_output(probabilities, "probabilities", np.float64, k))
    return outputs


def _decision(model: Any, X: Value) -> Value:
    """Return what `decision_function` returns: a vector for two classes."""
    scores = _scores(model, X)
    return scores.vector() if len(model.classes_) == 2 else scores


def _labels(classes: AnyArray) -> AnyArray:
    """Return the classes as ONNX can hold them."""
    if all(isinstance(c, str) for c in classes.tolist()):
        return classes.astype(object)
    if classes.dtype.kind in "biu" or (
        classes.dtype.kind == "f" and (classes == np.round(classes)).all()
    ):
        return classes.astype(np.int64)
    raise ParameterError(
        "model",
        f"The classes {classes.tolist()} are neither whole numbers nor strings, which are the "
        "labels that ONNX knows.",
    )


# ---- means -------------------------------------------------------------------------------------


def _is_mean(model: Any) -> bool:
    """Tell whether it is a blend, which stands beside this package and not below it."""
    return hasattr(model, "names_") and hasattr(model, "weights_")


def _mean(each: Sequence[Value], weights: FloatArray) -> Value:
    return reduce(add, (value * float(w) for value, w in zip(each, weights, strict=True)))


def _answers(model: Any, X: Value) -> Value:
    """Return what a blend averages: probabilities, or what twice the scores stand for without
    them."""
    scores, k = _decision(model, X), len(model.classes_)
    if not hasattr(model, "predict_proba"):
        twice = scores * 2.0
        return _both(twice.op("Sigmoid")) if k == 2 else twice.op("Softmax", axis=1)
    found = _probabilities(model, scores, k)
    if found is None:
        raise ParameterError(
            "model",
            f"The probabilities of {type(model).__name__} come from a cost function of Python, "
            "which ONNX cannot hold.",
        )
    return found


# ---- scores ------------------------------------------------------------------------------------


def _scores(model: Any, X: Value) -> Value:
    """Return what `decision_function` returns, with one column where that is a vector."""
    if isinstance(model, LinearClassifier):
        return X @ model.coef_.T + model.intercept_
    if isinstance(model, KernelClassifier):
        values = _kernel_scores(model, X)
        return _votes(len(model.classes_), values) if getattr(model, "_votes", False) else values
    if isinstance(model, BoostedClassifier):
        columns, k = [combined(ensemble, X) for ensemble in model.ensembles_], len(model.ensembles_)
        if k == 1:
            return columns[0]
        values = X.graph.op("Concat", *columns, axis=1)
        # LogitBoost with K classes: (K−1)/K (T − mean of T).
        centring = (k - 1) / k * (np.eye(k) - 1.0 / k)
        return values @ centring if isinstance(model, LogitBoost) else values
    raise _unknown(model)


def _unknown(model: Any) -> ValueError:
    return ValueError(
        f"to_onnx knows no {type(model).__name__}: it exports the linear models, kernel machines "
        "and boosted models of cotas, and blends of them."
    )


def _kernel_scores(model: KernelExpansion, X: Value) -> Value:
    features = getattr(model, "features_", None)
    if isinstance(features, FourierFeatures):
        angles = X @ features.frequencies
        # cos t = sin(t + π/2): not every runtime has a cosine in double precision.
        values = (angles + np.pi / 2).op("Sin").op("Concat", angles.op("Sin"), axis=1)
        theta = model.coef_.T / np.sqrt(features.frequencies.shape[1])
    elif features is not None:
        values = block(features.map.kernel_, X, _dense(features.map.rows_))
        theta = np.array([features.expansion(theta) for theta in model.coef_]).T
    else:
        Z = None if is_precomputed(model.kernel_) else _dense(model.support_vectors_)
        values = X.columns(model.support_) if Z is None else block(model.kernel_, X, Z)
        theta = model.dual_coef_.T
    found: Value = values @ theta + model.intercept_
    return found


def _dense(rows: Matrix) -> FloatArray:
    dense = rows.toarray() if sparse.issparse(rows) else rows
    return np.asarray(dense, dtype=np.float64)


def _votes(k: int, values: Value) -> Value:
    """Return each pair votes; a third of a vote at most by how clear the votes of a class are."""
    pairs = np.array(list(combinations(range(k), 2)))
    first, second = np.eye(k)[pairs[:, 0]], np.eye(k)[pairs[:, 1]]
    # A vote for the second of the pair where the score is above zero, else for the first.
    votes = (values > 0.0).cast(np.float64) @ (second - first) + first.sum(axis=0)
    sums: Value = values @ (second - first)
    found: Value = votes + sums / ((sums.op("Abs") + 1.0) * 3.0)
    return found


# ---- probabilities -----------------------------------------------------------------------------


def _probabilities(model: Any, scores: Value, k: int) -> Value | None:
    """Return what `predict_proba` returns; None for a cost that is no formula of cotas."""
    together = getattr(model, "multiclass", "") in ("samme", "softmax")
    if k > 2 and (together or isinstance(model, LogitBoost)):
        return scores.op("Softmax", axis=1)
    p = _against_the_rest(model, scores)
    return None if p is None else _shares(p, k)


def _shares(p: Value, k: int) -> Value:
    """Return the shares of two classes from that of the second; else divided by their sum, if there
    is one."""
    if k == 2:
        return _both(p)
    total = p.sums()
    some = total > 0.0
    return some.where(p / some.where(total, 1.0), 1.0 / k)


def _both(p: Value) -> Value:
    """Return the probabilities of two classes, from that of the second."""
    return (1.0 - p).column().op("Concat", p.column(), axis=1)


def _against_the_rest(model: Any, F: Value) -> Value | None:
    """Compute p with p·C′(F) = (1−p)·C′(−F), for the cost C of the model."""
    cost = find_cost(model.cost) if isinstance(model, AnyBoost) else Exponential()
    cost = Logistic() if isinstance(model, LogisticRegression) else cost
    if isinstance(cost, Exponential):
        return (F * 2.0).op("Sigmoid")
    if isinstance(cost, Logistic):
        return F.op("Sigmoid")
    if isinstance(cost, SquaredHinge):
        up, down = (1.0 + F).op("Max", 0.0), (1.0 - F).op("Max", 0.0)
        return up / (up + down)
    return None
