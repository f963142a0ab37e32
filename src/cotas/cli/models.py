"""The models that the command line knows, by name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

import cotas
from cotas.arrays import AnyArray
from cotas.cli import loading
from cotas.cli.command import UsageError
from cotas.cli.options import literal, parameters
from cotas.files.names import meant
from cotas.preparation.telling import label
from cotas.words import say

CLASSIFIERS = {
    "svm": "LinearSVM",
    "logistic": "LogisticRegression",
    "kernel-svm": "KernelSVM",
    "perceptron": "Perceptron",
    "averaged-perceptron": "AveragedPerceptron",
    "passive-aggressive": "PassiveAggressive",
    "pegasos": "Pegasos",
    "kernel-perceptron": "KernelPerceptron",
    "kernel-pegasos": "KernelPegasos",
    "adaboost": "AdaBoost",
    "real-adaboost": "RealAdaBoost",
    "logitboost": "LogitBoost",
    "gentleboost": "GentleBoost",
    "anyboost": "AnyBoost",
    "convex-anyboost": "ConvexAnyBoost",
}
REGRESSORS = {
    "ridge": "Ridge",
    "least-squares": "LeastSquares",
    "lasso": "Lasso",
    "elastic-net": "ElasticNet",
    "kernel-ridge": "KernelRidge",
    "kernel-svr": "KernelSVR",
    "svr": "LinearSVR",
    "huber": "HuberRegressor",
    "ls-boost": "LSBoost",
    "forward-stagewise": "ForwardStagewise",
    "regularized-forward-stagewise": "RegularizedForwardStagewise",
}
NAMES = {**CLASSIFIERS, **REGRESSORS}
DEFAULTS = {"classification": "svm", "regression": "ridge"}
# Kernels take time that grows with the square of the rows.
MOST_ROWS_FOR_KERNELS = 5_000
MOST_COLUMNS_FOR_TREES = 2_000
# What the lasso starts from when nothing is said: this part of the deviation of y.
LASSO_SHARE = 0.01
_OF_KERNELS = ("gamma", "sigma", "degree")


def task_of(name: str) -> str:
    """Return what a model, or a blend of them, is for."""
    if TIMES in name:
        return task_of(blend_in_parts(name)[0][0])
    if name not in NAMES:
        raise UsageError(
            "there is no model {name!r}.{advice} Known: auto, {names}.",
            name=name,
            advice=meant(name, [*NAMES, "auto"]),
            names=", ".join(NAMES),
        )
    return "classification" if name in CLASSIFIERS else "regression"


def check_suits(name: str, task: str) -> None:
    """Raise for a model that is for the other task, and for a blend, which only `fit` trains."""
    if TIMES in name:
        raise UsageError("a blend is for cotas fit, not {name!r} here.", name=name)
    if task_of(name) != task:
        raise UsageError("{name} is not for {task}.", name=name, task=say(task))


def sensible(task: str, n_rows: int, n_columns: int) -> list[str]:
    """Return the models that suit the task and data of this shape, to be compared."""
    kernels, trees = n_rows <= MOST_ROWS_FOR_KERNELS, n_columns <= MOST_COLUMNS_FOR_TREES
    if task == "regression":
        names = ["ridge", "least-squares", "lasso", "elastic-net", "huber", "svr"]
        names += ["kernel-ridge", "kernel-svr"] * kernels
        return [*names, "ls-boost", "forward-stagewise"]
    names = ["svm", "logistic", *["kernel-svm"] * kernels]
    names += ["logitboost", "adaboost", "real-adaboost", "gentleboost"] * trees
    return [*names, "averaged-perceptron", "perceptron", "passive-aggressive", "pegasos"]


def build(
    name: str,
    y: AnyArray,
    seed: int,
    given: dict[str, Any],
    select: str | None = None,
) -> tuple[Any, list[str]]:
    """Return an estimator with these parameters, and remarks on what was chosen for the user."""
    with loading():
        kind = getattr(cotas, NAMES[name])
    known = kind().get_params()
    values, notes = {}, []
    for parameter, value in _made_of_parts(name, given, known).items():
        if parameter not in known:
            settable = ", ".join(p for p in known if p not in ("callbacks", "progress"))
            raise UsageError(
                "{name} has no parameter {parameter!r}; it has {settable}.",
                name=name,
                parameter=parameter,
                settable=settable,
            )
        values[parameter] = value
    if name == "lasso" and not {"lam", "delta"} & set(values) and select != "lam":
        values["lam"] = LASSO_SHARE * float(np.std(y)) or 1.0
        words = "{name}: lam was not given; {lam:.4g} is taken, 1% of the deviation of y."
        notes.append(say(words, name=name, lam=values["lam"]))
    own = {"random_state": seed, "progress": False}
    values |= {key: value for key, value in own.items() if key in known and key not in values}
    return kind(**values), notes


def _made_of_parts(name: str, given: dict[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Make of gamma, sigma or degree a kernel, RBF or polynomial, and of depth a tree."""
    values = dict(given)
    if "weak_learner" in known and "weak_learner" not in values and "depth" in values:
        values["weak_learner"] = cotas.Tree(values.pop("depth"))
    if not name.startswith("kernel-"):
        return values
    shape = {key: values.pop(key) for key in _OF_KERNELS if key in values}
    if not shape:
        return values
    kernel = cotas.kernels.Polynomial if "degree" in shape else cotas.kernels.RBF
    if "kernel" in values and values["kernel"] not in ("rbf", "poly"):
        raise UsageError(
            "{names} do not belong to the kernel {value!r}.",
            names=", ".join(shape),
            value=values["kernel"],
        )
    try:
        values["kernel"] = kernel(**shape)
    except TypeError:
        raise UsageError(
            "{name} cannot be made of {names}.", name=kernel.__name__, names=", ".join(shape)
        ) from None
    except ValueError as error:
        raise UsageError(str(error)) from None
    return values


# A blend as it is typed: 0.3*logistic(lam=0.01) + 0.7*logitboost(depth=2, n_estimators=50).
TIMES, _PART = "*", re.compile(r"\s*([^*()+]+)\*\s*([\w-]+)\s*\(([^()]*)\)\s*")


def blend_as_typed(parts: Iterable[tuple[str, Mapping[str, Any], float]]) -> str:
    """Return what `--model` takes for a blend of these models with these weights."""
    words = (
        f"{weight!r}{TIMES}{name}({', '.join(f'{key}={value}' for key, value in given.items())})"
        for name, given, weight in parts
    )
    return " + ".join(words)


def blend_in_parts(typed: str) -> list[tuple[str, dict[str, Any], float]]:
    """Return the models, parameters and weights of a blend; all are for the same task."""
    found = []
    for piece in re.split(r"(?<=\))\s*\+", typed):
        part = _PART.fullmatch(piece)
        weight = None if part is None else literal(part[1].strip())
        if part is None or not isinstance(weight, float | int):
            words = "--model takes a blend as weight*model(parameters) + …, not {piece!r}."
            raise UsageError(words, piece=piece.strip())
        given = parameters(pair.strip() for pair in part[3].split(",") if pair.strip())
        found.append((part[2], given, float(weight)))
    if len({task_of(name) for name, _, _ in found}) > 1:
        raise UsageError("a blend has models for classes or for numbers, not for both.")
    return found


def blend_of(typed: str, y: AnyArray, seed: int) -> Any:
    """Return the blend that was typed, its models called as in the leaderboard of --model auto."""
    from cotas.selection.blend import Blend

    parts = blend_in_parts(typed)
    pairs = [(label(name, given), build(name, y, seed, given)[0]) for name, given, _ in parts]
    return Blend(pairs, np.array([weight for _, _, weight in parts]))
