"""The real data: a folder of .npz files named by COTAS_DATA."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from scipy import sparse


def load(name: str) -> tuple[np.ndarray | sparse.csr_matrix, np.ndarray]:
    """X and y of one set; X is dense, or CSR where the file holds its three arrays."""
    folder = os.environ.get("COTAS_DATA")
    if not folder:
        sys.exit("Set COTAS_DATA to the folder with the data sets (name.npz) and run again.")
    path = Path(folder) / f"{name}.npz"
    if not path.exists():
        sys.exit(f"COTAS_DATA has no {path.name}.")
    with np.load(path) as file:
        y = file["y"]
        if "indptr" not in file.files:
            return np.ascontiguousarray(file["X"], dtype=np.float64), y
        parts = (file["data"].astype(np.float64), file["indices"], file["indptr"])
        return sparse.csr_matrix(parts, shape=tuple(file["shape"])), y


def standardised(X: np.ndarray) -> np.ndarray:
    """Zero mean and unit variance, C-contiguous."""
    deviation = X.std(axis=0)
    return np.ascontiguousarray((X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))
