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


def made_one_hot(rows: int, columns: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Indicators of categories, some of which are rare, and a noisy linear function of them.

    The categories of one variable add up to one, so the columns depend on each other.
    """
    rng = np.random.default_rng(0)
    counts: list[int] = []
    while (left := columns - sum(counts)) > 0:
        counts.append(min(left, int(rng.integers(2, 2 + columns // 8))))
    first, codes = np.cumsum([0, *counts[:-1]]), []
    for count in counts:
        chances = 1.0 / np.arange(1, count + 1) ** 1.3
        codes.append(rng.choice(count, rows, p=chances / chances.sum()))
    indices = (np.stack(codes, axis=1) + first).astype(np.int32).ravel()
    pointers = np.arange(0, rows * len(counts) + 1, len(counts))
    X = sparse.csr_matrix((np.ones(len(indices)), indices, pointers), shape=(rows, columns))
    signal = X @ rng.standard_normal(columns)
    return X, signal + signal.std() * rng.standard_normal(rows)


def made_words(rows: int, columns: int, length: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Rows of so many distinct words at most, frequent and rare, of length one, and a signal."""
    rng = np.random.default_rng(0)
    chances = 1.0 / np.arange(1, columns + 1)
    drawn = rng.choice(columns, size=(rows, length), p=chances / chances.sum())
    pointers = np.arange(0, rows * length + 1, length)
    X = sparse.csr_matrix((np.ones(drawn.size), drawn.ravel(), pointers), shape=(rows, columns))
    X.sum_duplicates()
    X.data[:] = 1.0
    X = sparse.diags(1.0 / np.sqrt(np.diff(X.indptr))).dot(X).tocsr()
    signal = X @ rng.standard_normal(columns)
    return X, signal + 0.3 * signal.std() * rng.standard_normal(rows)


def made_binary(rows: int, columns: int, share: float) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Zeros and ones, the ones rarer from column to column, and a noisy linear function."""
    rng = np.random.default_rng(0)
    chances = np.minimum(0.9, 2.0 * share / np.linspace(0.2, 3.0, columns))
    X = sparse.csr_matrix((rng.random((rows, columns)) < chances).astype(np.float64))
    signal = X @ rng.standard_normal(columns)
    return X, signal + 0.3 * signal.std() * rng.standard_normal(rows)


def standardized(X: np.ndarray) -> np.ndarray:
    """Zero mean and unit variance, C-contiguous."""
    deviation = X.std(axis=0)
    return np.ascontiguousarray((X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))
