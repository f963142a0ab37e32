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
from cotas.certificates import Certificate
from cotas.foreign.certify import READERS
from cotas.lab import apart
from cotas.lab.state import Refused, Setting
from cotas.lab.tables import Data
from cotas.lab.worker import LabTask

# Where scikit-learn keeps what `cotas.certify` can read.
_MODULES = ("svm", "linear_model", "kernel_ridge", "ensemble")
KNOWN = sorted(name.removeprefix("sklearn.") for name in READERS if name.startswith("sklearn."))
LONGEST = 300
# More iterations, or a larger number of anything, would keep a visitor waiting for hours.
LARGEST = 1_000_000
# Certificates take so many seconds at most, and the row of refits so many in all.
SECONDS, SECONDS_OF_REFITS = 5.0, 3.0


@dataclass(frozen=True, eq=False)
class CertifiedFit:
    """A fitted model, what its own library said, and what is proved of it."""

    model: Any
    warned: str
    certificate: Certificate


class ModelField(Setting):
    """A call such as SVC(kernel="linear", C=1)."""

    def read(self, word: str) -> str:
        parse(word)
        return word


def parse(written: str) -> Any:
    """Return the estimator that is written, not fitted; nothing is executed but its constructor."""
    try:
        call = ast.parse(written.strip(), mode="eval").body if len(written) <= LONGEST else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ValueError
        if call.func.id not in KNOWN or any(word.arg is None for word in call.keywords):
            raise ValueError
        given = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise Refused(
            'Write one call with named arguments, such as SVC(kernel="linear", C=1). Known are '
            "{known}.",
            known=", ".join(KNOWN),
        ) from None
    if "n_jobs" in given or any(isinstance(v, int) and abs(v) > LARGEST for v in given.values()):
        raise Refused("Whole numbers up to {most} are taken, and no n_jobs.", most=LARGEST)
    modules = (import_module(f"sklearn.{module}") for module in _MODULES)
    try:
        return next(getattr(m, call.func.id) for m in modules if hasattr(m, call.func.id))(**given)
    except TypeError as error:
        raise Refused("The library refuses: {why}", why=str(error)) from None


def suits(model: Any, data: Data) -> None:
    """Refuse a classifier for numbers, and a regressor for names."""
    numbers = data.y.dtype.kind == "f" and not np.array_equal(data.y, np.round(data.y))
    many = len(np.unique(data.y)) > 30
    if is_classifier(model) and (numbers or many):
        raise Refused(
            "This model tells classes apart, and the target is a quantity; choose other data."
        )
    if not is_classifier(model) and data.y.dtype.kind not in "fiu":
        raise Refused("This model predicts numbers, and the target is a class; choose other data.")


def judge(model: Any, data: Data) -> CertifiedFit:
    """Fit the model as its library does, and prove what can be proved of it.

    It takes as long as it takes, and catches the warnings of all threads: call it `apart`.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data.X, data.y)
    said = [str(w.message).split("\n")[0] for w in caught if "sklearn" in w.filename]
    certificate = cotas.certify(model, data.X, data.y, max_time=SECONDS)
    return CertifiedFit(model, said[0] if said else "", certificate)


def varied(model: Any) -> tuple[str, list[float]]:
    """Name what is changed to fit the model further, and its values; an empty name if nothing
    is."""
    parameters = model.get_params()
    if isinstance(parameters.get("max_iter"), int) and parameters["max_iter"] > 0:
        return "max_iter", [float(a * 10**b) for b in range(6) for a in (1, 3)]
    if "tol" in parameters:
        return "tol", [10.0**-b for b in range(1, 10)]
    return "", []


def refits(task: LabTask, model: Any, data: Data) -> Iterator[list[tuple[float, CertifiedFit]]]:
    """Yield the same model with more and more iterations, or a smaller tol, as long as time allows.

    Gives after each fit all there are.
    """
    over, values = varied(model)
    end, found = time.perf_counter() + SECONDS_OF_REFITS, list[tuple[float, CertifiedFit]]()
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
