"""Fitted models as ONNX graphs, for programs that know nothing of Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial, reduce
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from cotas.arrays import AnyArray, FloatArray
from cotas.boosting.anyboost import AnyBoost, find_cost
from cotas.boosting.base import Boosted, BoostedClassifier
from cotas.boosting.logitboost import LogitBoost
from cotas.export.graph import Graph, import_onnx
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
from cotas.regression.base import LinearRegressor


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: Any = np.float64,
    calibration: Any = None,
) -> Any:
    """The prediction of a fitted model as an ONNX graph.

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
    X = "X" if np.dtype(dtype) == np.float64 else graph.cast("X", np.float64)
    if is_regressor(model):
        value, columns = _prediction(model, graph, X)
        outputs = [_output(graph, value, "prediction", np.float64, columns)]
    else:
        outputs = _classification(model, graph, X, calibration)
    found = graph.finished(type(model).__name__, [given], outputs)
    if path is not None:
        write_atomically(path, [found.SerializeToString()])
    return found


def _input_type(dtype: Any) -> np.dtype[Any]:
    kind: np.dtype[Any] = np.dtype(dtype)
    if kind not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ValueError(f"dtype must be float64 or float32, not {dtype!r}.")
    return kind


def _output(graph: Graph, value: str, name: str, dtype: Any, columns: int | None) -> Any:
    """Name an output: a vector, or a matrix of so many columns."""
    graph.name(value, name)
    helper = graph.onnx.helper
    kind = graph.onnx.TensorProto.STRING
    if dtype is not str:
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, kind, ["n"] if columns is None else ["n", columns])


def _prediction(model: Any, graph: Graph, X: str) -> tuple[str, int | None]:
    """What a regressor predicts, and of several targets how many."""
    if _is_mean(model):
        each = [_prediction(one, graph, X)[0] for one in model.estimators_]
        return _mean(each, model.weights_, graph), None
    if isinstance(model, KernelRegressor):
        return graph.op("Squeeze", _kernel_scores(model, graph, X), graph.whole(1)), None
    if not isinstance(model, LinearRegressor):
        raise _unknown(model)
    if isinstance(model, Boosted) and hasattr(model, "ensembles_"):
        value = graph.op("Squeeze", combined(model.ensembles_[0], graph, X), graph.whole(1))
        return graph.op("Add", value, graph.constant(float(model.intercept_))), None
    theta = np.asarray(model.coef_, dtype=np.float64)
    value = graph.affine(X, theta.T, np.asarray(model.intercept_, dtype=np.float64))
    return value, None if theta.ndim == 1 else len(theta)


def _classification(model: Any, graph: Graph, X: str, calibration: Any) -> list[Any]:
    classes = _labels(model.classes_)
    k = len(classes)
    probabilities: str | None = None
    if _is_mean(model):
        each = [_answers(one, graph, X) for one in model.estimators_]
        probabilities = _mean(each, model.weights_, graph)
        scores = _logarithms(graph, probabilities, k)
        chosen = graph.op("ArgMax", probabilities, axis=1, keepdims=0)
    else:
        scores = _decision(model, graph, X)
        chosen = (
            graph.cast(graph.op("Greater", scores, graph.constant(0.0)), np.int64)
            if k == 2
            else graph.op("ArgMax", scores, axis=1, keepdims=0)
        )
        if hasattr(model, "predict_proba"):
            probabilities = _probabilities(model, graph, scores, k)
    if calibration is not None:
        probabilities = _sigmoids(calibration, graph, scores, k)
    label = graph.op("Gather", graph.constant(classes), chosen)
    kind = str if classes.dtype.kind in "OU" else np.int64
    outputs = [
        _output(graph, label, "label", kind, None),
        _output(graph, scores, "scores", np.float64, None if k == 2 else k),
    ]
    if probabilities is not None:
        outputs.append(_output(graph, probabilities, "probabilities", np.float64, k))
    return outputs


def _decision(model: Any, graph: Graph, X: str) -> str:
    """What `decision_function` returns: a vector for two classes."""
    scores = _scores(model, graph, X)
    return graph.op("Squeeze", scores, graph.whole(1)) if len(model.classes_) == 2 else scores


def _labels(classes: AnyArray) -> AnyArray:
    """The classes as ONNX can hold them."""
    if all(isinstance(c, str) for c in classes.tolist()):
        return classes.astype(object)
    if classes.dtype.kind in "biu" or (
        classes.dtype.kind == "f" and (classes == np.round(classes)).all()
    ):
        return classes.astype(np.int64)
    raise ValueError(
        f"The classes {classes.tolist()} are neither whole numbers nor strings, which are the "
        "labels that ONNX knows."
    )


# ---- means -------------------------------------------------------------------------------------


def _is_mean(model: Any) -> bool:
    """Whether it is a blend, which stands beside this package and not below it."""
    return hasattr(model, "names_") and hasattr(model, "weights_")


def _mean(each: Sequence[str], weights: FloatArray, graph: Graph) -> str:
    pairs = zip(each, weights, strict=True)
    weighted = (graph.op("Mul", value, graph.constant(float(w))) for value, w in pairs)
    return reduce(partial(graph.op, "Add"), weighted)


def _answers(model: Any, graph: Graph, X: str) -> str:
    """What a blend averages: probabilities, or what twice the scores stand for without them."""
    scores, k = _decision(model, graph, X), len(model.classes_)
    if not hasattr(model, "predict_proba"):
        twice = graph.op("Mul", scores, graph.constant(2.0))
        if k == 2:
            return _both(graph, graph.op("Sigmoid", twice))
        return graph.op("Softmax", twice, axis=1)
    found = _probabilities(model, graph, scores, k)
    if found is None:
        raise ValueError(
            f"The probabilities of {type(model).__name__} come from a cost function of Python, "
            "which ONNX cannot hold."
        )
    return found


def _logarithms(graph: Graph, probabilities: str, k: int) -> str:
    """The log odds of the second of two classes, or the logarithm of each probability."""
    tiny = graph.constant(np.finfo(np.float64).tiny)
    logs = graph.op("Log", graph.op("Max", probabilities, tiny))
    return graph.op("MatMul", logs, graph.constant(np.array([-1.0, 1.0]))) if k == 2 else logs


# ---- scores ------------------------------------------------------------------------------------


def _scores(model: Any, graph: Graph, X: str) -> str:
    """What `decision_function` returns, with one column where that is a vector."""
    if isinstance(model, LinearClassifier):
        return graph.affine(X, model.coef_.T, model.intercept_)
    if isinstance(model, KernelClassifier):
        values = _kernel_scores(model, graph, X)
        return _votes(len(model.classes_), graph, values) if _is_voted(model) else values
    if isinstance(model, BoostedClassifier):
        columns = [combined(ensemble, graph, X) for ensemble in model.ensembles_]
        values = graph.op("Concat", *columns, axis=1) if len(columns) > 1 else columns[0]
        return _centred(graph, values, len(columns)) if isinstance(model, LogitBoost) else values
    raise _unknown(model)


def _unknown(model: Any) -> ValueError:
    return ValueError(
        f"to_onnx knows no {type(model).__name__}: it exports the linear models, kernel machines "
        "and boosted models of cotas, and blends of them."
    )


def _is_voted(model: KernelClassifier) -> bool:
    return bool(getattr(model, "_votes", False))


def _kernel_scores(model: KernelExpansion, graph: Graph, X: str) -> str:
    features = getattr(model, "features_", None)
    if isinstance(features, FourierFeatures):
        return _fourier_scores(model, features.frequencies, graph, X)
    if features is not None:
        values = block(features.map.kernel_, graph, X, _dense(features.map.rows_))
        expansion = np.array([features.expansion(theta) for theta in model.coef_])
        return graph.affine(values, expansion.T, model.intercept_)
    if is_precomputed(model.kernel_):
        values = graph.columns(X, model.support_)
    else:
        values = block(model.kernel_, graph, X, _dense(model.support_vectors_))
    return graph.affine(values, model.dual_coef_.T, model.intercept_)


def _dense(rows: Any) -> FloatArray:
    dense = rows.toarray() if sparse.issparse(rows) else rows
    return np.asarray(dense, dtype=np.float64)


def _fourier_scores(model: Any, frequencies: FloatArray, graph: Graph, X: str) -> str:
    m = frequencies.shape[1]
    angles = graph.op("MatMul", X, graph.constant(frequencies))
    # cos t = sin(t + π/2): not every runtime has a cosine in double precision.
    turned = graph.op("Add", angles, graph.constant(np.pi / 2))
    features = graph.op("Concat", graph.op("Sin", turned), graph.op("Sin", angles), axis=1)
    return graph.affine(features, model.coef_.T / np.sqrt(m), model.intercept_)


def _votes(k: int, graph: Graph, values: str) -> str:
    """Each pair votes; a third of a vote at most by how clear the votes of a class are."""
    pairs = list(combinations(range(k), 2))
    first, second = np.zeros((len(pairs), k)), np.zeros((len(pairs), k))
    for p, (i, j) in enumerate(pairs):
        first[p, i], second[p, j] = 1.0, 1.0
    above = graph.cast(graph.op("Greater", values, graph.constant(0.0)), np.float64)
    # A vote for the second of the pair where the score is above zero, else for the first.
    votes = graph.affine(above, second - first, first.sum(axis=0))
    sums = graph.op("MatMul", values, graph.constant(second - first))
    size = graph.op("Add", graph.op("Abs", sums), graph.constant(1.0))
    clearness = graph.op("Div", sums, graph.op("Mul", size, graph.constant(3.0)))
    return graph.op("Add", votes, clearness)


def _centred(graph: Graph, values: str, k: int) -> str:
    """LogitBoost with K classes: (K−1)/K (T − mean of T)."""
    if k == 1:
        return values
    centring = (k - 1) / k * (np.eye(k) - 1.0 / k)
    return graph.op("MatMul", values, graph.constant(centring))


# ---- probabilities -----------------------------------------------------------------------------


def _probabilities(model: Any, graph: Graph, scores: str, k: int) -> str | None:
    """What `predict_proba` returns; None for a cost that is no formula of cotas."""
    together = getattr(model, "multiclass", "") in ("samme", "softmax")
    if k > 2 and (together or isinstance(model, LogitBoost)):
        return graph.op("Softmax", scores, axis=1)
    p = _against_the_rest(model, graph, scores)
    if p is None:
        return None
    return _shares(graph, p, k)


def _sigmoids(calibration: Any, graph: Graph, scores: str, k: int) -> str:
    """1/(1 + exp(a·s + b)) for each score, divided by their sum."""
    slopes, offsets = -calibration.slopes, -calibration.offsets
    a, b = (slopes[0], offsets[0]) if k == 2 else (slopes, offsets)
    moved = graph.op("Add", graph.op("Mul", scores, graph.constant(a)), graph.constant(b))
    return _shares(graph, graph.op("Sigmoid", moved), k)


def _shares(graph: Graph, p: str, k: int) -> str:
    """Those of two classes from that of the second; else divided by their sum, if there is one."""
    if k == 2:
        return _both(graph, p)
    total = graph.op("ReduceSum", p, graph.whole(1), keepdims=1)
    some = graph.op("Greater", total, graph.constant(0.0))
    safe = graph.op("Where", some, total, graph.constant(1.0))
    return graph.op("Where", some, graph.op("Div", p, safe), graph.constant(1.0 / k))


def _both(graph: Graph, p: str) -> str:
    """The probabilities of two classes, from that of the second."""
    q = graph.op("Sub", graph.constant(1.0), p)
    columns = [graph.op("Unsqueeze", side, graph.whole(1)) for side in (q, p)]
    return graph.op("Concat", *columns, axis=1)


def _against_the_rest(model: Any, graph: Graph, F: str) -> str | None:
    """p with p·C′(F) = (1−p)·C′(−F), for the cost C of the model."""
    cost = find_cost(model.cost) if isinstance(model, AnyBoost) else Exponential()
    cost = Logistic() if isinstance(model, LogisticRegression) else cost
    if isinstance(cost, Exponential):
        return graph.op("Sigmoid", graph.op("Mul", F, graph.constant(2.0)))
    if isinstance(cost, Logistic):
        return graph.op("Sigmoid", F)
    if isinstance(cost, SquaredHinge):
        one, zero = graph.constant(1.0), graph.constant(0.0)
        up = graph.op("Max", graph.op("Add", one, F), zero)
        down = graph.op("Max", graph.op("Sub", one, F), zero)
        return graph.op("Div", up, graph.op("Add", up, down))
    return None
