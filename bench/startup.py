"""How long until something happens: import, first fit with a warm cache, first fit ever."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

from bench.side_by_side import conditions

DATA = """
import time
import numpy as np
X = np.random.default_rng(0).normal(size=({rows}, 10)); y = X[:, 0] > 0
began = time.process_time()
{loading}
loaded = time.process_time()
{model}.fit(X, y * 1.0)
print(loaded - began, time.process_time() - loaded)
"""
FAMILIES = (
    "Perceptron()",
    "Pegasos()",
    "LinearSVM()",
    "LogisticRegression()",
    "KernelSVM()",
    "KernelSVM(), 3,000 rows",
    "LeastSquares()",
    "Ridge()",
    "Lasso()",
    "AdaBoost()",
    "AdaBoost(cotas.Tree(3))",
    "LogitBoost(cotas.Tree(3))",
    "LSBoost(cotas.Tree(3))",
)
PEER = "sklearn.linear_model.Perceptron()"


def code(family: str) -> str:
    """A program that loads, fits, and prints what both take of the processor."""
    model, _, more = family.partition(", ")
    rows = 3000 if more else 500
    if family == PEER:
        return DATA.format(rows=rows, loading="import sklearn.linear_model", model=model)
    return DATA.format(rows=rows, loading="import cotas", model=f"cotas.{model}")


def printed(program: str, cache: str) -> list[float]:
    """The numbers that a fresh process prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(number) for number in done.stdout.split()]


def medians(runs: list[list[float]]) -> list[float]:
    return [statistics.median(values) for values in zip(*runs, strict=True)]


def main(repeats: int = 3) -> None:
    timed = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"
    print(
        f"{conditions()}; seconds of the processor in a fresh process, medians of {repeats}; "
        "500 rows of 10 columns. What `import cotas` puts off, the first fit loads.\n"
    )
    with tempfile.TemporaryDirectory() as cache:
        print("| what | seconds |\n|---|---|")
        for name in ("sklearn", "cotas"):
            (seconds,) = medians([printed(timed.format(name), cache) for _ in range(repeats)])
            print(f"| `import {name}` | {seconds:.3f} |")
        print("\n| first fit | empty cache | warm cache |\n|---|---|---|", flush=True)
        for family in (PEER, *FAMILIES):
            cold = [printed(code(family), f"{cache}/{family}/{k}") for k in range(repeats)]
            warm = [printed(code(family), f"{cache}/{family}/0") for _ in range(repeats)]
            cells = [f"{sum(medians(runs)):.2f}" for runs in (cold, warm)]
            print(f"| `{family}` | {' | '.join(cells)} |", flush=True)
