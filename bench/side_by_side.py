"""Timing that survives a noisy machine: interleaved runs, medians, ratios."""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from joblib import cpu_count
from numba import njit


def interleaved(
    contestants: Mapping[str, Callable[[], object]], repeats: int, untimed: int = 1
) -> dict[str, float]:
    """The median time of each, in seconds; all run once in each round, after the untimed ones."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for round_number in range(repeats + untimed):
        for name, run in contestants.items():
            began = time.perf_counter()
            run()
            if round_number >= untimed:
                times[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in times.items()}


def conditions(*packages: str) -> str:
    """What the figures were measured with."""
    found = []
    for package in ("cotas", "numpy", "scipy", "numba", "scikit-learn", *packages):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} not installed")
    return (
        f"Python {platform.python_version()}, {', '.join(found)}; "
        f"{cpu_count()} cores, {platform.machine()}"
    )


@njit(fastmath=True, nogil=True)
def _read(x: np.ndarray) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total


def read_bandwidth(x: np.ndarray, repeats: int = 7) -> float:
    """Bytes a second at which one core reads this array from memory."""
    flat = x.ravel()
    return float(x.nbytes / interleaved({"read": lambda: _read(flat)}, repeats)["read"])
