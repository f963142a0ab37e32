"""What every fitted linear classifier can do, whatever trained it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from cotas.arrays import BoolArray, FloatArray
from cotas.certificates import Certificate
from cotas.design.blocks import times
from cotas.fitting.certified import Certified
from cotas.fitting.data import encode, rows_to_predict
from cotas.fitting.deciding import DecidingInBlocks
from cotas.refusals import ParameterError
from cotas.source import MatrixLike, comes_in_blocks


class LinearClassifier(Certified, DecidingInBlocks, BaseEstimator):
    """A linear classifier θ·x + θ₀ for each class, and the certificates of the fit."""

    coef_: FloatArray
    intercept_: FloatArray
    _certificates: list[Certificate]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Compute θ·x + θ₀ for each row: shape (n_samples,), or (n_samples, n_classes) with more
        than two.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
        """
        if comes_in_blocks(X):
            return self._of_source(X, "decision_function")  # type: ignore[no-any-return]
        return self._decided(self._binary_scores(X))

    def _binary_scores(self, X: MatrixLike) -> FloatArray:
        X = rows_to_predict(self, X)
        return np.asarray(times(X, self.coef_.T) + self.intercept_)

    def margins(self, X: MatrixLike, y: ArrayLike | None) -> FloatArray:
        """Return the signed distances y(θ·x + θ₀)/‖θ‖ of the rows to the decision boundary.

        Positive on the right side. With more than two classes, one column for each class
        against the rest.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        """
        agreements = self._agreements(X, y)
        lengths = np.linalg.norm(self.coef_, axis=1)
        if not (lengths > 0).all():
            raise ValueError("θ = 0 has no decision boundary, hence no distances to it.")
        result = agreements / lengths
        return np.asarray(result[:, 0] if len(lengths) == 1 else result)

    def training_error(self, X: MatrixLike, y: ArrayLike | None) -> float:
        """Compute the fraction of rows with y(θ·x + θ₀) ≤ 0, as section 3.3 of Fuentes Cabrera
        defines it.

        A row on the boundary counts as an error whatever its label. With more than two classes
        it is the fraction of rows whose predicted class is wrong.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        """
        agreements = self._agreements(X, y)
        if agreements.shape[1] > 1:
            return float(np.mean(self.predict(X) != np.asarray(y)))
        return float(np.mean(agreements[:, 0] <= 0))

    def _measured_certificates(self) -> list[Certificate]:
        """Return one for each class, about `coef_` and `intercept_` as they are now."""
        return [
            certificate.about(theta, theta0)
            for certificate, theta, theta0 in zip(
                self._certificates, self.coef_, self.intercept_, strict=True
            )
        ]

    def _agreements(self, X: MatrixLike, y: ArrayLike | None) -> FloatArray:
        """Compute y(θ·x + θ₀), one column for each class against the rest."""
        values = self.decision_function(X)
        y = np.asarray(y).ravel()
        if len(y) != len(values):
            raise ParameterError("y", f"y has {len(y)} labels for {len(values)} rows of X.")
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ParameterError(
                "y", f"y holds labels the model was not trained on: {unknown.tolist()}."
            )
        codes = encode(y, self.classes_)
        if values.ndim == 1:
            values = values[:, None]
        trained = np.arange(1 if len(self.classes_) == 2 else 0, len(self.classes_))
        positive: BoolArray = codes[:, None] == trained
        return np.where(positive, values, -values)


@dataclass(eq=False, repr=False, kw_only=True)
class RiskMinimizer(LinearClassifier):
    """A linear classifier that minimizes a penalized risk until a gap is proved."""

    lam: float = 1e-3
    C: float | None = None
    fit_intercept: bool = True
    tol: float = 1e-4
    max_iter: int = 1000
    max_time: float | None = None
    warm_start: bool = False
    class_weight: Any = None
    random_state: Any = None
    n_jobs: int | None = None
    callbacks: Any = None
    progress: bool | None = None

    def _refuse_warm_start(self) -> None:
        """Raise where a fit from a source of row blocks is to go on."""
        if self.warm_start:
            raise ParameterError(
                "warm_start", "warm_start=True needs rows in memory; leave it out for a source."
            )
