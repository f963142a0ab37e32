"""Other programs on rows that are read block by block: SGD, Vowpal Wabbit, XGBoost."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier

from bench.scale_data import COLUMNS, files, peak
from cotas.source import Block, Sums

BATCH_ROWS = 500_000  # of XGBoost's pages
FAR = 1e6  # Vowpal Wabbit clips what it predicts, unless it may go so far


@dataclass(frozen=True)
class Losses:
    """Σ of the hinge losses of some rows, the mistakes among them, and how many rows they are."""

    theta: np.ndarray
    bias: float

    def __call__(self, block: Block) -> Sums:
        z = np.where(block.y > 0, 1.0, -1.0) * (block.X @ self.theta + self.bias)
        return Sums(np.maximum(0.0, 1.0 - z).sum(), int((z <= 0).sum()), len(z))


def objective(pages: Any, theta: Any, bias: float, lam: float) -> float:
    """Mean hinge loss + (λ/2)‖θ‖²."""
    theta = np.asarray(theta, dtype=np.float64).ravel()
    losses, _, n = pages.map_reduce(Losses(theta, float(bias)))
    return float(losses / n + 0.5 * lam * theta @ theta)


def _line(task: str, seconds: float, excess: float, given: Any, **more: Any) -> dict[str, Any]:
    return {
        "task": task,
        "seconds": round(seconds, 1),
        "above_best": excess,
        "reached": bool(excess <= given.tol),
        **more,
    }


def sgd(pages: Any, lam: float, best: float, given: Any, average: bool) -> Iterator[dict[str, Any]]:
    """scikit-learn's SGD, an epoch after the other; the time to tell its objective is not its."""
    model = SGDClassifier(alpha=lam, average=average, random_state=0)
    task, seconds, epochs, excess = "averaged sgd" if average else "sgd", 0.0, 0, np.inf
    while seconds < given.limit and excess > given.tol:
        began = time.perf_counter()
        for block in pages.blocks():
            model.partial_fit(block.X, block.y, classes=np.array([0, 1]))
        seconds, epochs = seconds + time.perf_counter() - began, epochs + 1
        excess = objective(pages, model.coef_, model.intercept_[0], lam) / best - 1
        yield _line(task, seconds, excess, given, rows=pages.n_rows, epochs=epochs)


def vowpal_wabbit(pages: Any, lam: float, best: float, given: Any) -> Iterator[dict[str, Any]]:
    """Vowpal Wabbit with 1, 4 and 16 passes over one text file; later passes read its own cache."""
    try:
        import vowpalwabbit
    except ImportError:
        yield {"task": "vw", "missing": "vowpalwabbit is not installed"}
        return
    text = _one_file(files(given.place, pages.n_rows, "vw"))
    seconds, excess = 0.0, np.inf
    for passes in (1, 4, 16):
        if seconds * 3 > given.limit or excess <= given.tol:
            return
        began = time.perf_counter()
        told = f"-d {text} --loss_function hinge --l2 {lam} --passes {passes} --holdout_off -k -c"
        told += f" --no_bias_regularization --quiet --min_prediction {-FAR} --max_prediction {FAR}"
        model = vowpalwabbit.Workspace(f"{told} --cache_file {text}.cache")
        seconds = time.perf_counter() - began
        bias = model.predict("|f ")
        theta = np.array([model.predict(f"|f {j}:1") - bias for j in range(COLUMNS)])
        model.finish()
        excess = objective(pages, theta, bias, lam) / best - 1
        yield _line("vw", seconds, excess, given, rows=pages.n_rows, passes=passes)


def _one_file(pattern: str) -> Path:
    """The files of a pattern one after the other."""
    parts = sorted(Path(pattern).parent.glob(Path(pattern).name))
    whole = parts[0].with_name("all.vw")
    if not whole.exists():
        with open(whole, "wb") as file:
            for part in parts:
                file.write(part.read_bytes())
    return whole


def xgboost(pages: Any, folder: Path, threads: int) -> Iterator[dict[str, Any]]:
    """XGBoost's external memory, ten rounds of depth 1 and of depth 3, from the same pages."""
    try:
        import xgboost as xgb
    except ImportError:
        yield {"task": "xgboost", "missing": "xgboost is not installed"}
        return

    class Batches(xgb.DataIter):  # type: ignore[misc]
        """The pages, some at a time."""

        def __init__(self) -> None:
            super().__init__(cache_prefix=os.fspath(folder / "xgboost"))
            self.reset()

        def reset(self) -> None:
            self._batches = batches(pages)

        def next(self, input_data: Callable[..., Any]) -> bool:
            for X, y in self._batches:
                input_data(data=X, label=y)
                return True
            return False

    began, used = time.perf_counter(), time.process_time()
    matrix = xgb.ExtMemQuantileDMatrix(Batches(), max_bin=256, nthread=threads)
    making = time.perf_counter() - began, time.process_time() - used
    for depth in (1, 3):
        settings = {"objective": "binary:logistic", "tree_method": "hist", "max_depth": depth}
        settings |= {"nthread": threads, "max_bin": 256}
        began, used = time.perf_counter(), time.process_time()
        model = xgb.train(settings, matrix, num_boost_round=10)
        taken, used = time.perf_counter() - began, time.process_time() - used
        predicted = (model.predict(xgb.DMatrix(X)) > 0.5 for X, _ in batches(pages))
        wrong = sum(
            int((p != (y > 0)).sum()) for p, (_, y) in zip(predicted, batches(pages), strict=True)
        )
        yield {
            "task": f"xgboost, depth {depth}",
            "rows": pages.n_rows,
            "matrix_s": round(making[0], 1),
            "matrix_cpu_s": round(making[1], 1),
            "fit_s": round(taken, 1),
            "fit_cpu_s": round(used, 1),
            "error": wrong / pages.n_rows,
            "peak_mb": peak(),
        }


def batches(pages: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Some pages at a time, as one array."""
    some: list[Block] = []
    for block in pages.blocks():
        some.append(block)
        if sum(b.n_rows for b in some) >= BATCH_ROWS:
            yield np.concatenate([b.X for b in some]), np.concatenate([b.y for b in some])
            some = []
    if some:
        yield np.concatenate([b.X for b in some]), np.concatenate([b.y for b in some])
