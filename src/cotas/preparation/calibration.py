"""From scores to probabilities, learned on folds that the model has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.files.problems import DataFileError
from cotas.refusals import ParameterError

MOST_FOLDS = 5


@dataclass(frozen=True)
class Calibration:
    """Platt's sigmoids, one for each score: 1/(1 + exp(a·s + b)), divided by their sum.

    Attributes
    ----------
    slopes, offsets : arrays of shape (1,) for two classes, else (n_classes,)
        a and b.
    folds : int
        On how many folds of the training rows they were learned.
    """

    slopes: FloatArray
    offsets: FloatArray
    folds: int

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return one column for each class, from what `decision_function` says."""
        each = expit(-(self.slopes * scores.reshape(len(scores), -1) + self.offsets))
        if each.shape[1] == 1:
            return np.asarray(np.hstack([1 - each, each]))
        total = each.sum(axis=1, keepdims=True)
        shares = each / np.where(total > 0, total, 1.0)
        return np.asarray(np.where(total > 0, shares, 1.0 / each.shape[1]))


class _Scores(ClassifierMixin, BaseEstimator):
    """A classifier whose rows are the scores of their classes."""

    classes_: AnyArray

    def fit(self, X: FloatArray, y: AnyArray, sample_weight: Any = None) -> Self:
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: FloatArray) -> FloatArray:
        return np.asarray(X[:, 0] if X.shape[1] == 1 else X)

    def predict(self, X: FloatArray) -> AnyArray:
        best = X[:, 0] > 0 if X.shape[1] == 1 else X.argmax(axis=1)
        return np.asarray(self.classes_[best.astype(np.int64)])


def calibrated(
    estimator: Any, X: Matrix, y: AnyArray, groups: AnyArray | None = None, **fit_params: Any
) -> Calibration:
    """Learn the sigmoids as `CalibratedClassifierCV(estimator, ensemble=False)` does.

    The scores of each fold come from a model of the other folds; those who predict use the model
    of all rows. Rows of one group are in one fold.

    Parameters
    ----------
    estimator : a classifier with `decision_function`
    X, y : the training rows
    groups : array of shape (n_samples,), optional
    **fit_params : handed to the `fit` of the estimator, row by row
    """
    # These take long to load, and most models are fitted without.
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_predict

    classes, codes = np.unique(y, return_inverse=True)
    alike = codes
    if groups is not None and np.shape(groups) != np.shape(codes):
        raise ParameterError(
            "groups", f"groups has the shape {np.shape(groups)} for {len(codes)} rows."
        )
    if groups is not None:  # each group counts once for each class in it
        alike = np.unique(np.column_stack([codes, _codes(groups)]), axis=0)[:, 0]
    rarest = int(np.bincount(alike).argmin())
    folds = min(MOST_FOLDS, int(np.bincount(alike)[rarest]))
    if folds < 2:
        raise DataFileError(
            "probabilities are learned on folds, and class {label} has a single row "
            "or group to train on: leave it out, or do without them.",
            label=repr(classes[rarest].item()),
        )
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    cv = kind(folds, shuffle=True, random_state=0)
    quiet = {name: None for name in ("callbacks",) if hasattr(estimator, name)}
    scores = cross_val_predict(
        clone(estimator).set_params(**quiet),
        X,
        y,
        groups=groups,
        cv=cv,
        method="decision_function",
        params=fit_params or None,
    ).reshape(len(y), -1)
    calibrated = CalibratedClassifierCV(_Scores(), method="sigmoid", cv=2, ensemble=False)
    calibrated.fit(scores, y, **{k: v for k, v in fit_params.items() if k == "sample_weight"})
    sigmoids = calibrated.calibrated_classifiers_[0].calibrators
    slopes, offsets = (np.array([getattr(s, name) for s in sigmoids]) for name in ("a_", "b_"))
    return Calibration(slopes, offsets, folds)


def _codes(values: AnyArray) -> AnyArray:
    return np.unique(values, return_inverse=True)[1]
