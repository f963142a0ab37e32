"""The Gram matrix, whether it shows a valid kernel, and the features it comes from."""

from __future__ import annotations

import numpy as np

from cotas.arrays import FloatArray, Matrix
from cotas.kernel.interface import Kernel


def gram(kernel: Kernel, X: Matrix) -> FloatArray:
    """The matrix K of k(xᵢ, xⱼ) for all pairs of rows: n² numbers.

    Examples
    --------
    >>> from cotas import kernels
    >>> kernels.gram(kernels.Linear(), [[1.0, 2.0], [0.0, 1.0]])
    array([[5., 2.],
           [2., 1.]])
    """
    prepared = kernel.prepare(X)
    return np.asarray(prepared.rows(np.arange(len(prepared))))
