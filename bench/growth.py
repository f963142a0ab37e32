"""How the time of a fit with its proof grows: with rows, columns, classes, non-zero entries.

Along one axis the size grows tenfold or so from fit to fit while all else stays, until a fit takes
longer than `COTAS_SECONDS` (20) or the axis ends. Seconds of the processor, the less of two runs;
the exponent is the slope of log time against log size over the last decade that was reached, where
what a call costs at the least no longer counts. `COTAS_ONLY` chooses, by parts of names with
semicolons between them.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import cotas
from bench.side_by_side import conditions

Data = tuple[Any, np.ndarray]


class Axis(NamedTuple):
    """What grows, through which sizes, and the data of a size for labels or for numbers."""

    name: str
    sizes: Sequence[int]
    data: Callable[[int, bool], Data]
    models: dict[str, tuple[Any, bool]]  # each with whether its y are numbers


def dense(rows: int, columns: int, numbers: bool, classes: int = 2) -> Data:
    """A linear signal in as many columns as there are, with noise; classes are its arg max."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    if numbers:
        return X, X @ rng.standard_normal(columns) + rng.standard_normal(rows)
    signals = X @ rng.standard_normal((columns, max(1, classes - (classes == 2))))
    signals += math.sqrt(columns) / 2 * rng.standard_normal(signals.shape)
    return X, (signals[:, 0] > 0).astype(int) if classes == 2 else signals.argmax(axis=1)


def counted(entries: int, numbers: bool) -> Data:
    """Rows with ten entries each among a thousand columns."""
    rng, rows = np.random.default_rng(0), entries // 10
    columns = rng.integers(0, 1000, size=(rows, 10), dtype=np.int32)
    pointers = np.arange(0, entries + 1, 10)
    X = sparse.csr_array((np.ones(10 * rows), columns.ravel(), pointers), shape=(rows, 1000))
    X.sum_duplicates()
    signal = X @ rng.standard_normal(1000) + rng.standard_normal(rows)
    return X, signal if numbers else (signal > 0).astype(int)


def axes() -> Iterator[Axis]:
    """The four of them, each with the models that meet it."""
    decades = [10**k for k in range(3, 8)]
    linear = {
        "LinearSVM": (cotas.LinearSVM(lam=1e-3), False),
        "LogisticRegression": (cotas.LogisticRegression(lam=1e-3), False),
        "Perceptron, 5 epochs": (cotas.Perceptron(max_iter=5), False),
    }
    numbers = {
        "LeastSquares": (cotas.LeastSquares(), True),
        "Ridge": (cotas.Ridge(lam=1e-3), True),
        "Lasso": (cotas.Lasso(lam=0.1), True),
    }
    boosters = {
        "AdaBoost, 20 stumps": (cotas.AdaBoost(n_estimators=20), False),
        "LogitBoost, 20 trees of depth 3": (
            cotas.LogitBoost(n_estimators=20, weak_learner=cotas.Tree(3)),
            False,
        ),
    }
    kernel = {"KernelSVM": (cotas.KernelSVM(C=1.0), False)}
    yield Axis(
        "rows, of 10 columns",
        decades,
        lambda n, numbers: dense(n, 10, numbers),
        {**linear, **numbers, **boosters},
    )
    yield Axis(
        "rows, of 10 columns",
        [1000, 3000, 10_000, 30_000, 100_000],
        lambda n, numbers: dense(n, 10, numbers),
        kernel,
    )
    yield Axis(
        "columns, of 1,000 rows",
        [10, 100, 1000, 10_000, 100_000],
        lambda d, numbers: dense(1000, d, numbers),
        {**linear, **numbers, **boosters, **kernel},
    )
    yield Axis(
        "classes, 20,000 rows of 20 columns",
        [3, 10, 30, 100, 300, 1000],
        lambda k, numbers: dense(20_000, 20, numbers, k),
        {**linear, **boosters},
    )
    yield Axis(
        "entries, 10 in each row of 1,000 columns",
        [10**k for k in range(4, 8)],
        counted,
        {**linear, **numbers},
    )


def seconds(model: Any, data: Data) -> float:
    """What a fit takes of the processor: the less of two, or the first if it takes long."""
    taken: list[float] = []
    while len(taken) < 2 and sum(taken) < 5:
        began = time.process_time()
        model.fit(*data)
        taken.append(time.process_time() - began)
    return min(taken)


def exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    """The slope of log time against log size over the last decade of sizes."""
    last = [k for k, size in enumerate(sizes) if size * 10 >= sizes[-1]]
    if len(last) < 2:
        return math.nan
    logs = np.log(np.array([sizes, times])[:, last])
    return float(np.polyfit(logs[0], logs[1], 1)[0])


def grown(axis: Axis, model: Any, numbers: bool, limit: float) -> tuple[list[float], list[float]]:
    """The time of each size that was reached, and the gap that was proved there."""
    times: list[float] = []
    gaps: list[float] = []
    model.fit(*axis.data(axis.sizes[0], numbers))  # loops are compiled
    for size in axis.sizes:
        if times and times[-1] > limit:
            break
        data = axis.data(size, numbers)
        times.append(seconds(model, data))
        gaps.append(model.certificate_.relative_gap)
    return times, gaps


def main() -> None:
    warnings.simplefilter("ignore")
    limit = float(os.environ.get("COTAS_SECONDS", "20"))
    only = [part for part in os.environ.get("COTAS_ONLY", "").split(";") if part]
    print(f"{conditions()}; seconds of the processor, compiled loops.\n")
    print("| what grows | model | from | to | seconds | exponent | largest gap proved |")
    print("|---|---|---|---|---|---|---|")
    for axis in axes():
        for name, (model, numbers) in axis.models.items():
            if only and not any(part in f"{name}, {axis.name}" for part in only):
                continue
            times, gaps = grown(axis, model, numbers, limit)
            reached = axis.sizes[: len(times)]
            print(
                f"| {axis.name} | {name} | {reached[0]:,} | {reached[-1]:,} "
                f"| {times[0]:.3g} to {times[-1]:.3g} | {exponent(reached, times):.2f} "
                f"| {max(gaps):.1e} |",
                flush=True,
            )
