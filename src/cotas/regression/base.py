"""What every linear regressor shares: reading the data, predicting, holding its certificates."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import Tags

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates import Certificate
from cotas.design.blocks import times
from cotas.fitting.certified import Certified
from cotas.fitting.data import refuse_infinite, rows_to_predict
from cotas.fitting.from_source import r_squared
from cotas.refusals import ParameterError
from cotas.source import MatrixLike, comes_in_blocks, source_of


def refuse_overflow(estimator: Any, X: Matrix, seen: AnyArray) -> None:
    """Raise if X holds NaN or infinity, or has squares that overflow, which made `seen` so too."""
    refuse_infinite(estimator, X, seen)
    if np.isfinite(seen).all():
        return
    raise ParameterError(
        "X",
        "The squares of X or of y overflow. Rescale the columns, for example with scikit-learn's "
        "StandardScaler, and y with them.",
    )


class LinearRegressor(Certified, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A linear regression θ·x + θ₀ for each target, and the certificates of the fit."""

    coef_: FloatArray
    intercept_: Any  # a number, or an array with one for each target
    _certificates: list[Certificate]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def predict(self, X: MatrixLike) -> FloatArray:
        """Compute θ·x + θ₀ for each row: shape (n_samples,), or (n_samples, n_targets) as y had.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
        """
        if comes_in_blocks(X):
            return self._of_source(X, "predict")  # type: ignore[no-any-return]
        X = rows_to_predict(self, X)
        return np.asarray(times(X, np.asarray(self.coef_).T) + self.intercept_)

    def score(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> float:
        """Compute R², the part of the variance of y that is predicted; with several targets the
        mean.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
            A source has y and the weights itself.
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
        """
        if (source := source_of(X, y, sample_weight)) is not None:
            return r_squared(self, source)
        return float(super().score(X, y, sample_weight))

    def _binary_scores(self, X: MatrixLike) -> FloatArray:
        values = self.predict(X)
        return values[:, None] if values.ndim == 1 else values

    def _keep_parameters(self, theta: FloatArray, theta0: FloatArray, single: bool) -> None:
        """Keep `coef_` and `intercept_` in the shapes scikit-learn gives them; θ has a row a
        target."""
        self.coef_ = theta[0].copy() if single else theta.copy()
        self.intercept_ = float(theta0[0]) if single else theta0.copy()

    def _measured_certificates(self) -> list[Certificate]:
        """Return one for each target, about `coef_` and `intercept_` as they are now."""
        thetas = np.atleast_2d(self.coef_)
        biases = np.broadcast_to(np.atleast_1d(self.intercept_), len(thetas))
        return [
            certificate.about(theta, float(theta0))
            for certificate, theta, theta0 in zip(self._certificates, thetas, biases, strict=True)
        ]
