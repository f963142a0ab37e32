"""Models of scikit-learn as people write them, read without running what is written."""

from __future__ import annotations

import ast
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

import cotas
from cotas.arrays import AnyArray, FloatArray
from cotas.certificates import Certificate
from cotas.foreign.certify import READERS
from cotas.lab import apart
from cotas.lab.points import read_table
from cotas.lab.state import Refused
from cotas.lab.worker import LabTask

# Where scikit-learn keeps what `cotas.certify` can read.
_MODULES = ("svm", "linear_model", "kernel_ridge", "ensemble")
KNOWN = sorted(name.removeprefix("sklearn.") for name in READERS if name.startswith("sklearn."))
LONGEST = 300
# More iterations, or a larger number of anything, would keep a visitor waiting for hours.
LARGEST = 1_000_000
# Certificates take so many seconds at most, and the row of refits so many in all.
SECONDS, SECONDS_OF_REFITS = 5.0, 3.0
BUILTIN = ("breast-cancer", "breast-cancer-scaled", "wine", "diabetes")


@dataclass(frozen=True, eq=False)
class Data:
    """Rows, targets, the code that makes them, and the names of the columns if they are shown."""

    X: FloatArray
    y: AnyArray
    source: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Judged:
    """A fitted model, what its own library said, and what is proved of it."""

    model: Any
    warned: str
    certificate: Certificate


@dataclass(frozen=True)
class ModelField:
    """A call such as SVC(kernel="linear", C=1)."""

    name: str
    default: str

    def read(self, word: str) -> str:
        parse(word)
        return word

    def write(self, value: str) -> str:
        return value


def parse(written: str) -> Any:
    """The estimator that is written, not fitted; nothing is executed but its constructor."""
    if len(written) > LONGEST:
        raise Refused("bad model", known=", ".join(KNOWN))
    try:
        call = ast.parse(written.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError
        if call.args or any(word.arg is None for word in call.keywords):
            raise ValueError
        name = call.func.id
        given = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise Refused("bad model", known=", ".join(KNOWN)) from None
    if name not in KNOWN:
        raise Refused("bad model", known=", ".join(KNOWN))
    if any(_too_large(value) for value in given.values()) or "n_jobs" in given:
        raise Refused("too much", most=LARGEST)
    try:
        return _class(name)(**given)
    except TypeError as error:
        raise Refused("library refuses", why=str(error)) from None


def _too_large(value: Any) -> bool:
    return isinstance(value, int) and abs(value) > LARGEST


def _class(name: str) -> Any:
    for module in _MODULES:
        found = getattr(import_module(f"sklearn.{module}"), name, None)
        if found is not None:
            return found
    raise Refused("bad model", known=", ".join(KNOWN))


def builtin(name: str) -> Data:
    """One of scikit-learn's own data sets."""
    from sklearn import datasets

    base = name.removesuffix("-scaled").replace("-", "_")
    X, y = getattr(datasets, f"load_{base}")(return_X_y=True)
    code = f"from sklearn.datasets import load_{base}\n\nX, y = load_{base}(return_X_y=True)"
    if name.endswith("-scaled"):
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        code += "\nX = (X - X.mean(axis=0)) / X.std(axis=0)"
    return Data(X, y, code)


def from_csv(content: bytes) -> Data:
    """Columns of numbers, and the last one as the class or the number to predict."""
    from cotas.files.problems import DataFileError
    from cotas.preparation.targets import as_target, tell_task

    frame = read_table(content)
    *others, last = frame.columns
    names = [name for name in others if frame[name].dtype.is_numeric()]
    if not names or frame[last].null_count():
        raise Refused("no numbers", most=len(frame.columns))
    target = frame[last].to_numpy()
    try:
        y = as_target(target, tell_task(target), last)
    except DataFileError as error:
        raise Refused("bad file", why=str(error)) from None
    X = frame.select(names).to_numpy().astype(np.float64)
    if not np.isfinite(X).all():
        raise Refused("not finite")
    code = f'table = cotas.tables.read_table("data.csv", target={last!r})\n' + (
        f"X, y = table.features.select({names!r}).to_numpy(), table.target"
    )
    return Data(X, y.astype(str) if y.dtype.kind == "O" else y, code)


def suits(model: Any, data: Data) -> None:
    """Refuse a classifier for numbers, and a regressor for names."""
    numbers = data.y.dtype.kind == "f" and not np.array_equal(data.y, np.round(data.y))
    many = len(np.unique(data.y)) > 30
    if is_classifier(model) and (numbers or many):
        raise Refused("needs classes")
    if not is_classifier(model) and data.y.dtype.kind not in "fiu":
        raise Refused("needs numbers")


def judge(model: Any, data: Data) -> Judged:
    """Fit the model as its library does, and prove what can be proved of it.

    It takes as long as it takes, and catches the warnings of all threads: call it `apart`.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data.X, data.y)
    said = [str(w.message).split("\n")[0] for w in caught if "sklearn" in w.filename]
    certificate = cotas.certify(model, data.X, data.y, max_time=SECONDS)
    return Judged(model, said[0] if said else "", certificate)


def varied(model: Any) -> tuple[str, list[float]]:
    """What is changed to fit the model further, and its values; an empty name if nothing is."""
    parameters = model.get_params()
    if isinstance(parameters.get("max_iter"), int) and parameters["max_iter"] > 0:
        return "max_iter", [float(a * 10**b) for b in range(6) for a in (1, 3)]
    if "tol" in parameters:
        return "tol", [10.0**-b for b in range(1, 10)]
    return "", []


def refits(task: LabTask, model: Any, data: Data) -> Iterator[list[tuple[float, Judged]]]:
    """The same model with more and more iterations, or a smaller tol, as long as time allows.

    Gives after each fit all there are.
    """
    over, values = varied(model)
    end, found = time.perf_counter() + SECONDS_OF_REFITS, list[tuple[float, Judged]]()
    for value in values:
        left = end - time.perf_counter()
        if left <= 0:
            return
        again = clone(model).set_params(**{over: int(value) if over == "max_iter" else value})
        try:
            found.append((value, apart.run(task, judge, again, data, seconds=left)))
        except apart.ProcessEnded:
            return
        except ValueError:
            continue
        yield list(found)
