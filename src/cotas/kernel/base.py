"""What every fitted kernel machine can do, whatever trained it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from cotas.arrays import AnyArray, BoolArray, Each, FloatArray, IntArray, Matrix
from cotas.certificates import Certificate, KernelRegion
from cotas.certificates.consequences.kernel_scores import optimal_scores
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.device.find import device_for, in_short
from cotas.fitting.certified import Certified, outside
from cotas.fitting.data import Examples, rows_to_predict
from cotas.fitting.deciding import Deciding, shared_by_all
from cotas.kernel.blocks import Blocks, blocks_of
from cotas.kernel.choice import is_precomputed
from cotas.kernel.functions import Linear
from cotas.kernel.interface import Kernel
from cotas.running import blocks_in_threads, one_thread_in_blas
from cotas.source import MatrixLike

BLOCK = 512  # rows and support vectors compared at a time: 2 MB in double precision
LARGEST_COPY = 1 << 26  # bytes for a dense copy of the support vectors


class Group(NamedTuple):
    """Support vectors that lie together, the machines they have a part in, their coefficients."""

    vectors: slice
    models: IntArray
    coef: FloatArray  # one column for each of those machines


def expand(
    blocks: Blocks,
    groups: Sequence[Group],
    n_models: int,
    A: Matrix,
    each: Each = map,
) -> FloatArray:
    """Compute Σ aᵢ k(xᵢ, x) for each row x of A, one column for each machine; `blocks` are of all
    the xᵢ.

    In double precision whatever the data are: what is certified about scores relies on it.
    Memory: a copy of the support vectors, and a block of `BLOCK` × `BLOCK` for each thread.
    """
    out = np.zeros((A.shape[0], n_models))

    def evaluate(span: slice) -> None:
        left = blocks.left(A[span])
        for group in groups:
            scores = np.zeros((span.stop - span.start, len(group.models)))
            begin, end = group.vectors.start, group.vectors.stop
            for start in range(begin, end, BLOCK):
                stop = min(start + BLOCK, end)
                coef = group.coef[start - begin : stop - begin]
                scores += blocks.block(left, slice(start, stop)) @ coef
            out[span, group.models] += scores

    spans = [slice(s, min(s + BLOCK, A.shape[0])) for s in range(0, A.shape[0], BLOCK)]
    for _ in each(evaluate, spans):
        pass
    return out


# The support vectors of models as they are compared with rows: made ready anew, they would take
# longer than a few rows do. It is no part of a model, which is stored and compared without.
_READY: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


class KernelExpansion(Certified, BaseEstimator):
    """An expansion Σ βᵢ k(xᵢ, x) + θ₀ over some training rows, for one machine or several."""

    kernel: Any
    n_jobs: int | None
    kernel_: Kernel
    support_: IntArray
    support_vectors_: Matrix
    dual_coef_: FloatArray
    intercept_: FloatArray
    coef_: FloatArray  # θ, where the kernel is linear
    _certificates: list[Certificate]
    _n_rows: int

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._lock()  # which pickle does not keep

    def _lock(self) -> None:
        """Let no one write into the support vectors: the certificates speak of these."""
        if isinstance(vectors := self.__dict__.get("support_vectors_"), np.ndarray):
            vectors.flags.writeable = False

    def _rows(self, X: MatrixLike) -> Matrix:
        """Compute X as it can be compared with the support vectors."""
        rows = rows_to_predict(self, X)
        return rows.tocsr() if sparse.issparse(rows) else rows

    def _scores(self, X: Matrix) -> FloatArray:
        """Compute Σ βᵢ k(xᵢ, x) + θ₀, one column for each machine."""
        vectors, p = self.support_vectors_, len(self.intercept_)
        if not len(self.support_):
            return np.tile(self.intercept_, (X.shape[0], 1))
        if is_precomputed(self.kernel_):
            X = vectors = X[:, self.support_]
        values = self._scores_on_device(X, vectors)
        if values is not None:
            return np.asarray(values + self.intercept_)
        with one_thread_in_blas():
            blocks = self._blocks(vectors)
            if X.shape[0] * self.dual_coef_.size <= BLOCK * BLOCK:
                kernel_values = blocks.block(blocks.left(X), slice(0, len(self.support_)))
                return np.asarray(kernel_values @ self.dual_coef_.T + self.intercept_)
            with blocks_in_threads(self.n_jobs if X.shape[0] > BLOCK else 1) as each:
                values = expand(blocks, self._groups(), p, X, each)
        values += self.intercept_
        return values

    def _blocks(self, vectors: Matrix) -> Blocks:
        """Return what compares rows with the support vectors, kept if it is small.

        It serves as long as every number is what it was: a lock can be taken off and put back.
        """
        kernel, known, blocks = _READY.get(self, (None, None, None))
        made = partial(blocks_of, self.kernel_, vectors, np.float64, LARGEST_COPY)
        if sparse.issparse(vectors):
            return made()
        if kernel is self.kernel_ and np.array_equal(known, vectors):
            return cast(Blocks, blocks)
        blocks, small = made(), vectors.nbytes <= BLOCK * BLOCK * 8
        if small and not vectors.flags.writeable and self.kernel_.known_mercer:
            _READY[self] = self.kernel_, vectors.copy(), blocks
        return blocks

    def _scores_on_device(self, X: Matrix, vectors: Matrix) -> FloatArray | None:
        """Compute Σ βᵢ k(xᵢ, x) by the device that `device` says; None if it is not to be, or
        fails."""
        spec, size = self.kernel_.spec(), X.shape[0] * len(self.support_)
        device = device_for(getattr(self, "device", "cpu"), spec, size)
        if device is None:
            return None
        from cotas.device.expansion import expand_on

        try:
            return expand_on(device, spec, vectors, self.dual_coef_.T, X)
        except RuntimeError as error:  # such as too little memory on the device
            said = f"These scores were computed without the device: {in_short(error)}"
            warnings.warn(said, RuntimeWarning, stacklevel=outside())
            return None

    def _binary_scores(self, X: MatrixLike) -> FloatArray:
        return self._scores(self._rows(X))

    def _foreign_rows(self, X: Matrix) -> bool:
        """Tell whether the support vectors are not the rows `support_` of X."""
        if is_precomputed(self.kernel_):
            return False
        return not same_entries(X[self.support_], self.support_vectors_)

    def _groups(self) -> list[Group]:
        """Return the support vectors and the machines they have a part in: here all in all."""
        every = np.arange(len(self.intercept_))
        return [Group(slice(0, len(self.support_)), every, self.dual_coef_.T.copy())]

    def _keep_expansion(
        self, X: Matrix, support: IntArray, beta: FloatArray, theta0: FloatArray
    ) -> None:
        """Keep these rows of X, their coefficients in each machine, and the biases."""
        self.support_ = support
        self.dual_coef_ = np.ascontiguousarray(beta)
        self.intercept_ = np.array(theta0, dtype=np.float64)
        # Of a precomputed kernel the columns of new rows are all that is needed.
        self.support_vectors_ = X[support[:0] if is_precomputed(self.kernel_) else support]
        self._lock()
        self._n_rows = int(X.shape[0])
        self.__dict__.pop("coef_", None)  # of an earlier fit with another kernel
        if isinstance(self.kernel_, Linear):
            self.coef_ = np.asarray(self.dual_coef_ @ self.support_vectors_)

    def _measured_certificates(self) -> list[Certificate]:
        """Return one for each machine, about `dual_coef_` and `intercept_` as they are now."""
        beta = np.zeros((len(self.dual_coef_), self._n_rows))
        beta[:, self.support_] = self.dual_coef_
        current = [
            certificate.about(coef, theta0)
            for certificate, coef, theta0 in zip(
                self._certificates, beta, self.intercept_, strict=True
            )
        ]
        return [
            c
            if c.witness is None or getattr(c.witness, "kernel", None) == self.kernel_
            else c.withdrawn("The kernel was changed after the fit.")
            for c in current
        ]


class KernelClassifier(Deciding, KernelExpansion):
    """An expansion Σ βᵢ k(xᵢ, x) + θ₀ for each class, and the certificates of the fit."""

    n_support_: IntArray
    _regions: list[KernelRegion | None]  # of the optimum, as far as the certificates know it

    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Compute Σ βᵢ k(xᵢ, x) + θ₀ for each row: (n_samples,), or (n_samples, n_classes) for
        several.

        The kernel is computed in blocks of 512 × 512, one for each core at a time.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        return self._decided(self._binary_scores(X))

    def predict(self, X: MatrixLike) -> AnyArray:
        """Predict the class of each row; a row exactly on the boundary belongs to the first class
        (−1).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        return self._chosen(self.decision_function(X))

    def certified_predict(self, X: MatrixLike) -> tuple[AnyArray, BoolArray]:
        """Return the class of each row, and whether the exact optimum provably gives the same one.

        A duality gap bounds ‖θ − θ*‖ and encloses θ₀*, hence every score of the optimum:
        |θ·φ(x) − θ*·φ(x)| ≤ ‖θ − θ*‖√k(x, x). Nothing is claimed without such a gap, of a model
        that was changed after the fit, nor with a kernel whose formula does not show that it is
        one on new rows too: a precomputed one, or a function of the user's own.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        labels, certified : arrays of shape (n_samples,)
        """
        labels = self.predict(X)
        found = self._optimal_scores(X)
        if found is None:
            return labels, np.zeros(len(labels), dtype=np.bool_)
        codes = np.searchsorted(self.classes_, labels)
        return labels, shared_by_all(codes, *self._of_classes(*found))

    def _of_classes(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Turn the scores of the machines into those of the classes: here they are the same."""
        return low, high

    def _optimal_scores(self, X: MatrixLike) -> tuple[FloatArray, FloatArray] | None:
        """Enclose the scores of an optimum, one column for each machine, if known."""
        current, known = self._current_certificates(), getattr(self, "_regions", [])
        regions = [region for region in known if region is not None]
        proved = all(c.kind == "duality" and c.holds for c in current)
        if not proved or len(regions) < len(current) or not self.kernel_.known_mercer:
            return None
        parts = self.support_vectors_, self.dual_coef_.T
        try:
            with blocks_in_threads(self.n_jobs) as each:
                return optimal_scores(self.kernel_.spec(), self._rows(X), *parts, regions, each)
        except Objection:  # rows too large for the kernel to be evaluated
            return None

    def _region_again(self, certificate: Certificate, X: Matrix, y: AnyArray) -> Any:
        point: Any = certificate.witness
        return point.region(X, y, Bounds(certificate.lower, certificate.upper))

    def _keep_model(self, examples: Examples, beta: FloatArray, theta0: FloatArray) -> None:
        """Keep the rows with a coefficient in any machine."""
        support = np.flatnonzero(beta.any(axis=0))
        self._keep_support(examples, support, beta[:, support], theta0)

    def _keep_machines(
        self,
        examples: Examples,
        parts: Sequence[IntArray | None],
        coefs: Sequence[FloatArray],
        theta0: FloatArray,
    ) -> None:
        """Keep the same of machines that each know some of the rows; None stands for all."""
        known = [slice(None) if rows is None else rows for rows in parts]
        used, row = np.zeros(examples.n_rows, dtype=np.bool_), np.zeros(examples.n_rows)
        for rows, coef in zip(known, coefs, strict=True):
            used[rows] |= coef != 0
        support = np.flatnonzero(used)
        beta = np.zeros((len(coefs), len(support)))
        for out, rows, coef in zip(beta, known, coefs, strict=True):
            row[:] = 0.0
            row[rows] = coef
            out[:] = row[support]
        self._keep_support(examples, support, beta, theta0)

    def _keep_support(
        self, examples: Examples, support: IntArray, beta: FloatArray, theta0: FloatArray
    ) -> None:
        """Keep these rows with their coefficients, class by class as `SVC` does."""
        order = np.argsort(examples.codes[support], kind="stable")
        self.n_support_ = np.bincount(examples.codes[support], minlength=len(examples.classes))
        self._keep_expansion(examples.X, support[order], beta[:, order], theta0)


def same_entries(A: Matrix, B: Matrix) -> bool:
    """Tell whether two matrices are equal, dense or sparse."""
    if A.shape != B.shape:
        return False
    if not sparse.issparse(A) and not sparse.issparse(B):
        return np.array_equal(A, B)
    return not np.any((sparse.csr_matrix(A) - sparse.csr_matrix(B)).data)
