"""The real data: a folder of .npz files named by COTAS_DATA."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from scipy import sparse


def _path(name: str) -> Path:
    folder = os.environ.get("COTAS_DATA")
    if not folder:
        sys.exit("Set COTAS_DATA to the folder with the data sets (name.npz) and run again.")
    path = Path(folder) / f"{name}.npz"
    if not path.exists():
        sys.exit(f"COTAS_DATA has no {path.name}.")
    return path


def load(name: str) -> tuple[np.ndarray | sparse.csr_matrix, np.ndarray]:
    """X and y of one set; X is dense, or CSR where the file holds its three arrays."""
    with np.load(_path(name)) as file:
        y = file["y"]
        if "indptr" not in file.files:
            return np.ascontiguousarray(file["X"], dtype=np.float64), y
        parts = (file["data"].astype(np.float64), file["indices"], file["indptr"])
        return sparse.csr_matrix(parts, shape=tuple(file["shape"])), y


def one_hot(name: str) -> tuple[sparse.csr_matrix, np.ndarray]:
    """X and y of a set with categories: one column for each of them, as CSR.

    The other columns are divided by their standard deviation and not centred: a zero stays one.
    """
    with np.load(_path(name)) as file:
        X, y, is_category = file["X"], file["y"], file["is_cat"]
    numbers = X[:, ~is_category].astype(np.float64)
    deviation = numbers.std(axis=0)
    parts = [sparse.csr_matrix(numbers / np.where(deviation > 0, deviation, 1.0))]
    first = np.arange(len(y) + 1)
    for column in X[:, is_category].T:
        categories, code = np.unique(column, return_inverse=True)
        shape = (len(y), len(categories))
        parts.append(sparse.csr_matrix((np.ones(len(y)), code, first), shape=shape))
    return sparse.hstack(parts, format="csr"), y


def standardized(X: np.ndarray) -> np.ndarray:
    """Zero mean and unit variance, C-contiguous."""
    deviation = X.std(axis=0)
    return np.ascontiguousarray((X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))
