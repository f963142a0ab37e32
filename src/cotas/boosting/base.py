"""What every boosted model can do once it is fitted."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.boosting.ensemble import Ensemble
from cotas.boosting.weak_learners import resolve, takes_missing_values
from cotas.certificates import Certificate
from cotas.certificates.categories import coded
from cotas.certificates.certificate import CHANGED
from cotas.certificates.theorems.combinations import Combination, Combined
from cotas.certificates.verification import same
from cotas.fitting.certified import Certified
from cotas.fitting.data import refuse_source, rows_to_predict
from cotas.fitting.deciding import DecidingInBlocks
from cotas.source import MatrixLike, Source, comes_in_blocks

A_PREFIX = (
    "This model is a prefix of the one that was certified; `cotas.certify(model, X, y)` "
    "proves it again."
)


class Boosted(Certified, BaseEstimator):
    """A combination F = Σ cₘ fₘ for each class or for a number, and the certificates of the fit."""

    weak_learner: Any
    ensembles_: list[Ensemble]
    categories_: list[list[str] | None]  # of each column, where some were given as categories
    _certificates: list[Certificate]
    _parameters_that_predict = ("weak_learner",)  # it says whether NaN may be left in X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = takes_missing_values(resolve(self.weak_learner))
        return tags

    # ---- what was learned --------------------------------------------------------------------

    @property
    def n_rounds_(self) -> int:
        """Tell how many rounds the model has; with several classes, the most that one has."""
        check_is_fitted(self, "ensembles_")
        return max(len(ensemble) for ensemble in self.ensembles_)

    @property
    def estimator_weights_(self) -> FloatArray | list[FloatArray]:
        """Return cₘ of each round; a list with several classes."""
        check_is_fitted(self, "ensembles_")
        found = [ensemble.coefficients for ensemble in self.ensembles_]
        return found[0] if len(found) == 1 else found

    @property
    def estimators_(self) -> list[Any]:
        """Return fₘ of each round, with `predict`; a list for each of several classes."""
        check_is_fitted(self, "ensembles_")
        found = [ensemble.estimators() for ensemble in self.ensembles_]
        return found[0] if len(found) == 1 else found

    @property
    def feature_importances_(self) -> FloatArray:
        """Tell how much each feature took part in the gain of the trees; they sum to one."""
        check_is_fitted(self, "ensembles_")
        parts = [ensemble.importances(self.n_features_in_) for ensemble in self.ensembles_]
        total = np.mean(parts, axis=0)
        return np.asarray(total / total.sum() if total.sum() > 0 else total)

    def __getitem__(self, rounds: slice) -> Self:
        """Return the model after its first rounds: `model[:10]`."""
        check_is_fitted(self, "ensembles_")
        whole = isinstance(rounds, slice) and rounds.start in (None, 0) and rounds.step in (None, 1)
        if not whole:
            raise IndexError("Only prefixes exist: model[:k] is the model after k rounds.")
        k = len(range(*rounds.indices(self.n_rounds_)))
        prefix = copy.copy(self)
        prefix.ensembles_ = [ensemble.prefix(k) for ensemble in self.ensembles_]
        if k < self.n_rounds_:
            now = [ensemble.combination() for ensemble in prefix.ensembles_]
            prefix._certificates = [
                _objected(c, m, now, A_PREFIX) for m, c in enumerate(self._certificates)
            ]
        return prefix

    # ---- inside ------------------------------------------------------------------------------

    def _totals(self, X: Matrix) -> FloatArray:
        """Compute F of each ensemble, one column each."""
        return np.stack([e.values(X) for e in self.ensembles_], axis=1)

    def _binary_scores(self, X: MatrixLike) -> FloatArray:
        return self._totals(self._read(X))

    def _read(self, X: MatrixLike) -> Matrix:
        check_is_fitted(self, "ensembles_")
        refuse_source(self, X)
        missing = takes_missing_values(resolve(self.weak_learner))
        finite: bool | str = "allow-nan" if missing else True
        return rows_to_predict(self, self._in_numbers(X), layouts=("csr",), finite=finite)

    def _in_numbers(self, X: MatrixLike) -> Any:
        return X if isinstance(X, Source) else coded(X, self._known_categories())

    def _known_categories(self) -> dict[int, list[str]]:
        """Return the names in each column of categories that the model was fitted on."""
        each = enumerate(getattr(self, "categories_", []))
        return {j: names for j, names in each if names is not None}

    def _measured_certificates(self) -> list[Certificate]:
        """Return the certificates of the ensembles as they are now."""
        now = [ensemble.combination() for ensemble in self.ensembles_]
        return [_objected(c, k, now, CHANGED) for k, c in enumerate(self._certificates)]


class BoostedClassifier(DecidingInBlocks, Boosted):
    """The sign of F with two classes, the largest of F_k with more."""

    # ---- prediction --------------------------------------------------------------------------

    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Compute F(x) for each row: shape (n_samples,), or (n_samples, n_classes) with more than
        two.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
        """
        if comes_in_blocks(X):
            return self._of_source(X, "decision_function")  # type: ignore[no-any-return]
        return self._decided(self._binary_scores(X))

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probability of each class by the logistic model (1.1) of Rugeles Ospina.

        With two classes p = 1/(1 + exp(−2F)); with more, one against the rest, these are divided
        by their sum.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
        """
        if comes_in_blocks(X):
            return self._of_source(X, "predict_proba")  # type: ignore[no-any-return]
        return self._probabilities(self.decision_function(X))

    def staged_decision_function(self, X: MatrixLike) -> Iterator[FloatArray]:
        """Compute F(x) after each round.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        X = self._read(X)
        stages = [ensemble.staged(X) for ensemble in self.ensembles_]
        values = np.zeros((X.shape[0], len(stages)))
        for _ in range(self.n_rounds_):
            for c, stage in enumerate(stages):
                # A class whose run ended earlier stays as it is.
                values[:, c] = next(stage, values[:, c])
            yield self._decided(values.copy())

    def staged_predict(self, X: MatrixLike) -> Iterator[AnyArray]:
        """Yield the class of each row after each round.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        for values in self.staged_decision_function(X):
            yield self._chosen(values)

    def staged_predict_proba(self, X: MatrixLike) -> Iterator[FloatArray]:
        """Yield the probability of each class after each round.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        for values in self.staged_decision_function(X):
            yield self._probabilities(values)

    def staged_score(
        self, X: MatrixLike, y: ArrayLike | None, sample_weight: ArrayLike | None = None
    ) -> Iterator[float]:
        """Yield the accuracy after each round.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        """
        for chosen in self.staged_predict(X):
            yield float(accuracy_score(y, chosen, sample_weight=sample_weight))

    # ---- what a subclass says ----------------------------------------------------------------

    def _probabilities(self, values: FloatArray) -> FloatArray:
        return _spread(expit(2 * values))


def _objected(
    certificate: Certificate, k: int, now: list[Combination], objection: str
) -> Certificate:
    """Return the certificate of the k-th machine, which no longer holds if the model is not that
    one."""
    witness = certificate.witness
    if not isinstance(witness, Combined):
        return certificate
    mine = now if len(witness.combinations) > 1 else now[k : k + 1]
    if all(same(a, b) for a, b in zip(witness.combinations, mine, strict=True)):
        return certificate
    return certificate.objected(objection, witness.made_of(mine))


def _spread(p: FloatArray) -> FloatArray:
    """Return the probabilities of all classes from those of each against the rest."""
    if p.ndim == 1:
        return np.stack([1 - p, p], axis=1)
    total = p.sum(axis=1, keepdims=True)
    return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])
