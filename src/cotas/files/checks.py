"""What must be true of loaded objects before any loop may look at them.

Compiled loops do not check their indices: a tree that tests feature 10⁹ would read foreign memory.
Each check here states what the code that uses an object takes for granted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray
from cotas.files.errors import ModelFileError

CODES = 256  # of the categories of a feature, one of them for those never seen
DEEPEST_TREE = 8
MOST_FEATURES = 1 << 31


def require(condition: Any, what: str) -> None:
    """Refuse the file unless the condition holds."""
    if not condition:
        raise ModelFileError(f"The file is not sound: {what}.")


def array(value: Any, dtype: Any, ndim: int, what: str) -> AnyArray:
    """The value, if it is an array of this type and so many dimensions."""
    require(isinstance(value, np.ndarray) and value.ndim == ndim, f"{what} is no such array")
    require(value.dtype == np.dtype(dtype), f"{what} is of type {value.dtype}")
    found: AnyArray = value
    return found


def finite(value: Any, ndim: int, what: str) -> AnyArray:
    """The value, if it is an array of finite numbers in double precision."""
    found = array(value, np.float64, ndim, what)
    require(np.isfinite(found).all(), f"{what} holds NaN or infinity")
    return found


def whole(value: Any, low: int, high: int, what: str) -> int:
    """The value, if it is a whole number from `low` to `high`."""
    require(type(value) is int and low <= value <= high, f"{what} is {value!r}")
    return int(value)


def indices(value: Any, dtype: Any, ndim: int, low: int, high: int, what: str) -> AnyArray:
    """The value, if it is an array of whole numbers from `low` to below `high`."""
    found = array(value, dtype, ndim, what)
    if found.size:
        require(low <= found.min() and found.max() < high, f"{what} points to what is not there")
    return found


# ---- trees and their combinations --------------------------------------------------------------


def check_tree_arrays(trees: Any) -> None:
    """Complete binary trees of one depth."""
    feature = indices(trees.feature, np.int32, 2, -1, MOST_FEATURES, "the feature of a test")
    shape = feature.shape
    depth = (shape[1] + 1).bit_length() - 1
    require(shape[1] + 1 == 1 << depth and 1 <= depth <= DEEPEST_TREE, "the depth of the trees")
    groups = array(trees.groups, np.uint8, 2, "the groups of categories")
    require(groups.shape[1] == CODES, "the groups of categories")
    group = indices(trees.group, np.int32, 2, -1, len(groups), "the group of a test")
    threshold = array(trees.threshold, np.float64, 2, "the thresholds")
    require(not np.isnan(threshold).any(), "a threshold is NaN")
    missing = array(trees.missing_left, np.uint8, 2, "where missing values go")
    value = finite(trees.value, 2, "the values of the leaves")
    same = group.shape == threshold.shape == missing.shape == shape
    require(same and value.shape == (shape[0], shape[1] + 1), "the shapes of the trees")


def check_trees(trees: Any) -> None:
    check_tree_arrays(trees)
    require(finite(trees.gain, 2, "the gains").shape == trees.feature.shape, "the gains")


def check_plain_trees(trees: Any) -> None:
    check_tree_arrays(trees)
    require(isinstance(trees.categories, dict), "the categories of the trees")
    for j, values in trees.categories.items():
        whole(j, 0, MOST_FEATURES, "a categorical feature")
        require(0 < len(finite(values, 1, "the categories")) < CODES, "the categories")
    tested = set(np.unique(trees.feature[trees.group >= 0]).tolist())
    require(tested <= set(trees.categories), "a test of categories is on a numeric feature")


def check_categories(categories: Any) -> None:
    values = array(categories.values, np.float64, 2, "the categories")
    require(values.shape[1] == CODES, "the categories")
    sizes = indices(categories.sizes, np.int32, 1, 0, CODES, "the number of categories")
    require(len(sizes) == len(values), "the number of categories")
    indices(categories.place, np.int32, 1, -1, len(sizes), "the place of a categorical feature")


def check_ensemble(ensemble: Any) -> None:
    steps, shrinks = finite(ensemble.steps, 1, "the steps"), finite(ensemble.shrinks, 1, "shrinks")
    functions, categories = ensemble.functions, ensemble.categories
    if hasattr(functions, "feature"):
        require(hasattr(categories, "place"), "trees come with their categories")
        feature, n = functions.feature, len(functions.feature)
        require(feature.max(initial=-1) < len(categories.place), "a test is on no feature")
        grouped = feature[functions.group >= 0]
        known = (grouped >= 0).all() and (categories.place[grouped] >= 0).all()
        require(known, "a test of categories is on a numeric feature")
    else:
        require(type(functions) is list, "the functions of the model are none")
        require(all(hasattr(f, "coef") for f in functions), "the functions of the model are none")
        n = len(functions)
    require(n == len(steps) == len(shrinks), "there are not as many steps as functions")


def check_linear_function(function: Any) -> None:
    finite(function.coef, 1, "the coefficients of a function")
    require(type(function.intercept) is float, "the bias of a function")
    require(np.isfinite(function.intercept) and type(function.sign) is bool, "a function")


# ---- runs that can go on -----------------------------------------------------------------------


def check_run(run: Any) -> None:
    positive = array(run.positive, np.int16, 1, "the classes of the run")
    k = len(positive)
    w, ledger = finite(run.w, 2, "θ of the run"), run.ledger
    sound = isinstance(ledger, np.ndarray) and ledger.ndim == 2 and ledger.dtype.kind == "f"
    require(sound and len(ledger) == len(w) == k, "the ledger of the run")
    vectors = [finite(run.b, 1, "θ₀ of the run"), finite(run.scale, 1, "the scale of the run")]
    counts = ("seen", "mistakes", "updates")
    vectors += [array(getattr(run, name), np.int64, 1, f"{name} of the run") for name in counts]
    require(all(len(vector) == k for vector in vectors), "the shapes of the run")


def check_average(average: Any) -> None:
    w = finite(average.w, 2, "the averaged θ")
    for name in ("b", "weight"):
        require(len(finite(getattr(average, name), 1, "an average")) == len(w), "an average")
    ledger = average.ledger
    require(isinstance(ledger, np.ndarray) and ledger.ndim == 2, "the averaged ledger")
    require(ledger.dtype.kind == "f" and len(ledger) == len(w), "the averaged ledger")


def check_history(history: Any) -> None:
    run, average = history.run, history.average
    require(hasattr(run, "updates"), "the run of the history is none")
    seen = array(history.seen_before, np.int64, 1, "what was seen before")
    require(len(seen) == len(run.b), "what was seen before")
    if average is not None:
        require(hasattr(average, "weight"), "the average of the history is none")
        same = average.w.shape == run.w.shape and average.ledger.dtype == run.ledger.dtype
        width = average.ledger.shape[1]
        require(same and width in (0, run.ledger.shape[1]), "the average of the history")
    for name in ("start", "set_aside_before"):
        given = getattr(history, name)
        shape = (run.w.shape[0], run.w.shape[1] + 1)
        require(given is None or finite(given, 2, name).shape == shape, f"{name} of the history")


def check_ending(ending: Any) -> None:
    finite(ending.share, 1, "the multipliers of the last fit")
    finite(ending.theta, 1, "θ of the last fit")


def check_descent(state: Any) -> None:
    k = len(finite(state.w, 2, "θ of the run"))
    same = len(finite(state.b, 1, "θ₀ of the run")) == len(finite(state.scale, 1, "the scale")) == k
    require(same, "the shapes of the run")


def check_moments(moments: Any) -> None:
    d = len(finite(moments.mean, 1, "the means"))
    t = len(finite(moments.target_mean, 1, "the means of the targets"))
    require(finite(moments.scatter, 2, "the scatter").shape == (d, d), "the scatter")
    require(finite(moments.cross, 2, "the products with the targets").shape == (d, t), "moments")
    require(finite(moments.target_scatter, 1, "the scatter").shape == (t,), "the scatter")
    require(type(moments.weight) is float and 0 < moments.weight < np.inf, "the weight of the rows")


def check_stagewise_run(run: Any) -> None:
    d = len(finite(run.coef, 1, "the coefficients of the run"))
    chosen = indices(run.chosen, np.int64, 1, 0, d, "a step of the run")
    same = len(chosen) == len(finite(run.steps, 1, "the steps")) == len(finite(run.eps, 1, "eps"))
    require(same, "the steps of the run")


def check_stagewise_path(path: Any) -> None:
    require(hasattr(path.run, "chosen"), "the run of the path is none")
    d = len(path.run.coef)
    require(len(finite(path.scale, 1, "the scale")) == d, "the scale of the path")
    require(len(finite(path.x_mean, 1, "the means")) == d, "the means of the path")


def check_matrix(X: Any, what: str) -> Any:
    """A matrix of finite numbers, dense or CSR; sparse ones were checked when they were made."""
    if sparse.issparse(X):
        return X
    sound = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype in (np.float32, np.float64)
    require(sound and np.isfinite(X).all(), f"{what} are no matrix of finite numbers")
    return X


TEXTS = ("kind", "statement", "reference", "objection", "label")


def check_certificate(certificate: Any) -> None:
    texts = (getattr(certificate, name) for name in TEXTS)
    require(all(type(text) is str for text in texts), "the words of a certificate")
    require(isinstance(certificate.figures, dict), "the figures of a certificate")
    numbers = certificate.figures.values()
    require(all(isinstance(x, int | float | np.number) for x in numbers), "a certificate's figures")
    for name in ("remarks", "trusted", "notes"):
        words = getattr(certificate, name)
        sound = type(words) is tuple and all(type(word) is str for word in words)
        require(sound, f"the {name} of a certificate")
    require(certificate.parts == (), "the parts of a certificate")  # models keep them in a list
    witness = certificate.witness
    require(witness is None or hasattr(witness, "check"), "the witness of a certificate")
    require(certificate.sketch is None or hasattr(certificate.sketch, "matches"), "a sketch")


CHECKS: dict[str, Callable[[Any], None]] = {
    "solvers.Trees": check_trees,
    "solvers.Categories": check_categories,
    "solvers.Linear": check_linear_function,
    "solvers.Run": check_run,
    "solvers.Average": check_average,
    "solvers.RunState": check_descent,
    "solvers.Moments": check_moments,
    "linear.History": check_history,
    "linear.Ending": check_ending,
    "boosting.Ensemble": check_ensemble,
    "regression.StagewisePath": check_stagewise_path,
    "certificates.Certificate": check_certificate,
    "certificates.StagewiseCertificate": check_certificate,
    "certificates.StagewiseRun": check_stagewise_run,
    "certificates.PlainTrees": check_plain_trees,
}
