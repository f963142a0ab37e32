"""Small tables, where a call's overhead is the time: fits, one row to predict, a grid search.

Milliseconds of the processor rather than of the clock: what a fit of a few milliseconds takes
by the clock depends on who else uses the machine. BLAS has one thread, since others would wait
and be counted. `COTAS_ONLY` chooses: parts of names, with semicolons between them.
"""

from __future__ import annotations

import os
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Perceptron, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

import cotas
from bench.data import standardized
from bench.side_by_side import conditions

Contest = tuple[Callable[[], object], Callable[[], object]]


def fits() -> dict[str, Contest]:
    """Each peer's fit, and ours of the same problem with its proof."""
    iris, cancer, numbers = (
        load(return_X_y=True) for load in (load_iris, load_breast_cancer, load_diabetes)
    )
    iris, cancer = ((standardized(X), y) for X, y in (iris, cancer))
    pairs: dict[str, tuple[Any, Any, tuple[Any, Any]]] = {}
    for name, data in (("iris", iris), ("breast cancer", cancer)):
        pairs[f"LinearSVM, {name}"] = (LinearSVC(loss="hinge"), cotas.LinearSVM(C=1.0), data)
        pairs[f"LinearSVM squared hinge, {name}"] = (
            LinearSVC(),
            cotas.LinearSVM(C=1.0, loss="squared_hinge"),
            data,
        )
        pairs[f"KernelSVM, {name}"] = (SVC(), cotas.KernelSVM(C=1.0), data)
        pairs[f"LogisticRegression, {name}"] = (
            LogisticRegression(),
            cotas.LogisticRegression(C=1.0),
            data,
        )
        pairs[f"Perceptron, 20 epochs, {name}"] = (
            Perceptron(max_iter=20, tol=None),
            cotas.Perceptron(max_iter=20),
            data,
        )
    pairs["Lasso, diabetes"] = (Lasso(0.1), cotas.Lasso(lam=0.1), numbers)
    pairs["Ridge, diabetes"] = (Ridge(1.0), cotas.Ridge(lam=1.0 / 442), numbers)
    pairs["LeastSquares, diabetes"] = (LinearRegression(), cotas.LeastSquares(), numbers)
    return {
        name: (lambda p=peer, d=data: p.fit(*d), lambda o=ours, d=data: o.fit(*d))
        for name, (peer, ours, data) in pairs.items()
    }


def predictions() -> dict[str, Contest]:
    """The labels of one row, and of ten."""
    X, y = load_breast_cancer(return_X_y=True)
    X, targets = standardized(X), load_diabetes(return_X_y=True)
    pairs = {
        "KernelSVM": (SVC().fit(X, y), cotas.KernelSVM(C=1.0).fit(X, y), X),
        "LinearSVM": (LinearSVC().fit(X, y), cotas.LinearSVM(C=1.0).fit(X, y), X),
        "Perceptron": (Perceptron().fit(X, y), cotas.Perceptron().fit(X, y), X),
        "LogisticRegression": (
            LogisticRegression().fit(X, y),
            cotas.LogisticRegression(C=1.0).fit(X, y),
            X,
        ),
        "Ridge": (Ridge().fit(*targets), cotas.Ridge(lam=1e-3).fit(*targets), targets[0]),
        "Lasso": (Lasso(0.1).fit(*targets), cotas.Lasso(lam=0.1).fit(*targets), targets[0]),
    }
    return {
        f"{name}, predict {rows} row{'s' * (rows > 1)}": (
            lambda p=peer, x=X[:rows]: p.predict(x),
            lambda o=ours, x=X[:rows]: o.predict(x),
        )
        for rows in (1, 10)
        for name, (peer, ours, X) in pairs.items()
    }


def searches() -> dict[str, Contest]:
    """Five values of C, five folds, on breast cancer."""
    X, y = load_breast_cancer(return_X_y=True)
    X, grid = standardized(X), {"C": [0.01, 0.1, 1.0, 10.0, 100.0]}
    pairs = {
        "LinearSVM": (LinearSVC(loss="hinge"), cotas.LinearSVM(C=1.0)),
        "KernelSVM": (SVC(), cotas.KernelSVM(C=1.0)),
    }
    return {
        f"GridSearchCV 5 × 5, {name}, breast cancer": (
            lambda p=peer: GridSearchCV(p, grid, cv=5).fit(X, y),
            lambda o=ours: GridSearchCV(o, grid, cv=5).fit(X, y),
        )
        for name, (peer, ours) in pairs.items()
    }


def processor(contest: Contest, repeats: int) -> list[float]:
    """Median seconds of the processor, of the peer and of cotas, interleaved."""
    times: list[list[float]] = [[], []]
    for round_number in range(repeats + 2):
        for run, kept in zip(contest, times, strict=True):
            began = time.process_time()
            run()
            if round_number >= 2:
                kept.append(time.process_time() - began)
    return [statistics.median(kept) for kept in times]


def main() -> None:
    warnings.simplefilter("ignore")
    threadpool_limits(1, user_api="blas")
    only = [part for part in os.environ.get("COTAS_ONLY", "").split(";") if part]
    print(f"{conditions()}; milliseconds of the processor, interleaved medians.\n")
    print("| what | scikit-learn | cotas | ratio |\n|---|---|---|---|")
    for contests, repeats in ((fits(), 41), (predictions(), 301), (searches(), 3)):
        for name, contest in contests.items():
            if only and not any(part in name for part in only):
                continue
            peer, ours = processor(contest, repeats)
            print(
                f"| {name} | {1e3 * peer:.3f} | {1e3 * ours:.3f} | {peer / ours:.2f} |", flush=True
            )
