"""Features whose inner products are the kernel, from the eigenvectors of the Gram matrix."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates.positivity import definiteness
from cotas.fitting.parameters import check_count, check_positive
from cotas.kernel.choice import as_kernel, is_precomputed
from cotas.kernel.gram_matrix import gram
from cotas.kernel.interface import Kernel
from cotas.refusals import ParameterError
from cotas.source import MatrixLike

BLOCK_BYTES = 1 << 25  # of kernel values at a time


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A feature map φ with k(xᵢ, xⱼ) = φ(xᵢ)·φ(xⱼ), from K = UΛUᵀ (Fuentes-Pineda).

    On the rows of the fit φ(xᵢ) = Λ^½ Uᵀ eᵢ. For any row x it is Λ^(−½) Uᵀ (k(x, x₁), …, k(x, xₙ)),
    the part of φ(x) that lies in the span of the training rows. Eigenvalues that are small against
    the largest are left out, and `error_` says what that costs.

    Parameters
    ----------
    kernel : Kernel or str, optional
        A kernel of `cotas.kernels`, or one of the names that `KernelPegasos` knows; None stands
        for an RBF as wide as the data.
    n_components : int, optional
        At most so many features: those of the largest eigenvalues.
    tol : float, default=1e-10
        Eigenvalues below `tol` times the largest are left out.

    Attributes
    ----------
    kernel_ : Kernel
    eigenvalues_ : array, the ones kept, largest first
    error_ : float
        |k(xᵢ, xⱼ) − φ(xᵢ)·φ(xⱼ)| is at most this on the rows of the fit, up to rounding: the
        largest eigenvalue left out.
    rows_ : the rows of the fit

    Examples
    --------
    >>> from cotas import kernels
    >>> X = [[0.0, 1.0], [1.0, 1.0], [2.0, -1.0]]
    >>> phi = kernels.feature_map(kernels.Polynomial(2), X)
    >>> features = phi.transform(X)
    >>> bool(abs(features @ features.T - kernels.Polynomial(2)(X)).max() < 1e-10)
    True
    """

    def __init__(
        self, kernel: Any = None, *, n_components: int | None = None, tol: float = 1e-10
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.tol = tol

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: MatrixLike, y: Any = None) -> Self:
        """Find the features from the Gram matrix of X: n² numbers and O(n³) operations.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : ignored
        """
        check_positive(self.tol, "tol")
        if self.n_components is not None:
            check_count(self.n_components, "n_components")
        rows: Matrix = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        self.kernel_ = kernel = as_kernel(self.kernel, rows)
        K = gram(kernel, rows)
        precision = float(np.finfo(rows.dtype).eps)
        found = None if kernel.known_mercer else definiteness(K, precision)
        if found is not None and not found.semidefinite:
            raise ParameterError("kernel", f"{kernel} has no feature map: {found.in_words}.")
        values, vectors = np.linalg.eigh((K + K.T) / 2)
        kept = np.flatnonzero(values > self.tol * max(values[-1], 0.0))[::-1][: self.n_components]
        dropped = np.delete(values, kept)
        self.error_ = float(np.abs(dropped).max(initial=0.0))
        self.eigenvalues_: FloatArray = values[kept]
        self.rows_ = rows
        self._projection = _with_fixed_signs(vectors[:, kept]) / np.sqrt(values[kept])
        return self

    def transform(self, X: MatrixLike) -> FloatArray:
        """Compute φ of each row, as an array (n_samples, n_components).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        rows: Matrix = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
        )
        prepared = self.kernel_.prepare(self.rows_)
        step = max(1, BLOCK_BYTES // (8 * len(prepared)))
        blocks = [
            prepared.against(rows[start : start + step]) @ self._projection
            for start in range(0, rows.shape[0], step)
        ]
        return np.concatenate(blocks)

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)


def feature_map(kernel: Kernel, X: MatrixLike, *, n_components: int | None = None) -> FeatureMap:
    """Compute φ with k(xᵢ, xⱼ) = φ(xᵢ)·φ(xⱼ): a `FeatureMap` fitted to X; see there."""
    return FeatureMap(kernel, n_components=n_components).fit(X)


def _with_fixed_signs(vectors: AnyArray) -> AnyArray:
    """Make the largest entry of each eigenvector positive: its sign is nobody's choice."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(np.take_along_axis(vectors, largest[None], axis=0))
    return np.asarray(vectors * signs)
