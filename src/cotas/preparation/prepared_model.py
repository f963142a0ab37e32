"""A model together with what prepares its data: tables in, predictions out."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cotas.arrays import AnyArray, BoolArray, FloatArray, Matrix
from cotas.certificates import Certificate, no_certificate
from cotas.certificates.certificate import CHANGED
from cotas.files.csv_dialect import Wishes
from cotas.files.frames import coded
from cotas.files.models import ModelFile, read_model_file, save
from cotas.files.problems import ModelFileError
from cotas.files.state import digest
from cotas.files.table import Table
from cotas.fitting.certified import outside
from cotas.preparation.calibration import Calibration, calibrated
from cotas.preparation.columns import ColumnError, ColumnWarning, left_out
from cotas.preparation.given import as_frame, as_matrix, as_read, as_read_again
from cotas.preparation.held_out import DECLARED, OF_COPIES, bound_of, check_equal_rows, copies
from cotas.preparation.preparation import Preparation
from cotas.preparation.recipe import Recipe
from cotas.preparation.targets import read_target, rows_left_out, target_is_there, targets_at
from cotas.refusals import ParameterError
from cotas.words import say

NO_COLUMN = "No column is left to learn from: all are constant, empty, or left out."


def _estimator_has(name: str) -> Any:
    def has(model: PreparedModel) -> bool:
        return hasattr(getattr(model, "estimator_", model.estimator), name)

    return has


@dataclass(eq=False, repr=False)
class PreparedModel(BaseEstimator):
    """An estimator that takes tables: `Preparation` first, then the model.

    Parameters
    ----------
    estimator : estimator of cotas or scikit-learn
    preparation : Preparation, optional
    probabilities : bool, default=False
        Whether a classifier learns to tell probabilities from its scores, on folds of the training
        rows, as scikit-learn's `CalibratedClassifierCV(ensemble=False)` does. The model is fitted
        once more for each of five folds.

    Attributes
    ----------
    preparation_, estimator_ : what was fitted
    calibration_ : Calibration
        With `probabilities`: the sigmoids and the number of folds.
    certificate_ : Certificate
        About the estimator and the prepared data.

    Examples
    --------
    >>> import cotas, polars as pl
    >>> colours = ["red", "red", "blue", "red"]
    >>> table = pl.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "colour": colours})
    >>> model = cotas.tables.PreparedModel(cotas.Ridge(lam=1e-9))
    >>> model.fit(table, [10.0, 20.0, 35.0, 40.0]).predict(table).round(3).tolist()
    [10.0, 20.0, 35.0, 40.0]
    >>> weights, bias = model.in_original_units()[0]
    >>> {name: round(weight, 3) for name, weight in weights.items()}
    {'size': 10.0, 'colour=red': -5.0}
    """

    estimator: Any
    preparation: Preparation | None = None
    _: KW_ONLY
    probabilities: bool = False
    calibration_: Calibration = field(init=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags = inner.target_tags
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any, groups: Any = None, **fit_params: Any) -> Self:
        """Learn how to prepare the table, and train on what comes out.

        Columns of text are read as those of a file are: without spaces around the words, with the
        usual words for a missing value, and as numbers where they are written so (98,7 or $1,200).
        Make them categories, of pandas or polars, to have them taken as they are.

        Parameters
        ----------
        X : frame of polars, pandas or Arrow, dict of columns, Table, array or sparse matrix
        y : array of shape (n_samples,)
            Rows in which it is missing (None, NaN) are left out, with a warning.
        groups : array of shape (n_samples,), optional
            Rows of one group are in one fold of those that probabilities are learned on.
        **fit_params : handed to the `fit` of the estimator
        """
        table, y, there = self._with_targets(as_read(X), y)
        if there is not None:
            many = [name for name, each in fit_params.items() if np.shape(each) == there.shape]
            fit_params |= {name: np.asarray(fit_params[name])[there] for name in many}
            groups = None if groups is None else np.asarray(groups)[there]
        self.fit_prepared(table, self.target(y), groups, **fit_params)
        if isinstance(table, Table) and table.has_names:
            for remark in left_out(table.features, self.preparation_.dropped_):
                warnings.warn(str(remark), ColumnWarning, stacklevel=outside())
        return self

    def _with_targets(self, X: Any, y: Any) -> tuple[Any, Any, BoolArray | None]:
        """Return the rows whose target is there, with a warning of the others, and which they
        are."""
        there = target_is_there(y, self.task)
        if there.all():
            return X, y, None
        table = X
        if not isinstance(X, Table):
            frame = as_frame(X)
            matrix = X if hasattr(X, "shape") else np.asarray(X)
            table = Table(matrix if frame is None else frame, None, "", "frame")
        if table.n_rows != len(there):  # which the estimator says
            return X, y, None
        warnings.warn(rows_left_out(y, there), ColumnWarning, stacklevel=outside())
        rows = np.flatnonzero(there)
        return table.take(rows), targets_at(y, rows), there

    def fit_prepared(self, X: Any, y: Any, groups: Any = None, **fit_params: Any) -> Matrix:
        """Fit, and hand over the prepared rows, for who asks the estimator about them again.

        The text of X is taken as it is, as that of a file that was read.

        Parameters
        ----------
        X : frame of polars, pandas or Arrow, dict of columns, Table, array or sparse matrix
        y : array of shape (n_samples,)
        groups : array of shape (n_samples,), optional
        **fit_params : handed to the `fit` of the estimator
        """
        if self.probabilities and not hasattr(self.estimator, "decision_function"):
            raise ParameterError(
                "probabilities",
                f"probabilities=True is for classifiers; {type(self.estimator).__name__} is none.",
            )
        preparation = Preparation() if self.preparation is None else self.preparation
        self.preparation_ = clone(preparation)
        frame = as_frame(X)
        table = X if frame is None else coded(frame)
        self.preparation_.fit(table).know_commas(getattr(X, "decimal_commas", ()))
        prepared: Matrix = self.preparation_.transform(table)
        if prepared.shape[1] == 0:
            raise ColumnError(NO_COLUMN)
        self.estimator_ = clone(self.estimator).fit(prepared, y, **fit_params)
        self.n_features_in_ = self.preparation_.n_features_in_
        if frame is not None:
            self.feature_names_in_ = self.preparation_.feature_names_in_
        self._seal = self._state()
        if hasattr(self, "calibration_"):
            del self.calibration_
        if self.probabilities:
            groups = None if groups is None else np.asarray(groups)
            labels = np.asarray(y)
            self.calibration_ = calibrated(self.estimator, prepared, labels, groups, **fit_params)
        return prepared

    @classmethod
    def of(cls, preparation: Preparation, estimator: Any) -> Self:
        """Return a model from two parts that are fitted already."""
        model = cls(estimator, preparation)
        model.preparation_, model.estimator_ = preparation, estimator
        model.n_features_in_ = preparation.n_features_in_
        if hasattr(preparation, "feature_names_in_"):
            model.feature_names_in_ = preparation.feature_names_in_
        model._seal = model._state()
        return model

    @property
    def classes_(self) -> AnyArray:
        """Return the labels."""
        return np.asarray(self.estimator_.classes_)

    @property
    def task(self) -> str:
        """Return "classification" or "regression"."""
        return "classification" if is_classifier(self.estimator) else "regression"

    # ---- prediction ----------------------------------------------------------------------------

    def predict(self, X: Any) -> AnyArray:
        """Return what the model predicts for each row of a table.

        Parameters
        ----------
        X : a table of the kind it was fitted on
        """
        return np.asarray(self.estimator_.predict(self.prepare(X)))

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores of a classifier.

        Parameters
        ----------
        X : a table of the kind it was fitted on
        """
        return np.asarray(self.estimator_.decision_function(self.prepare(X)))

    @available_if(lambda model: model.tells_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, calibrated by folds if `probabilities` asks for it.

        Parameters
        ----------
        X : a table of the kind it was fitted on
        """
        return self.probabilities_of(self.prepare(X))

    @property
    def tells_probabilities(self) -> bool:
        """Tell whether there is `predict_proba`: calibrated, or of the estimator itself."""
        own = hasattr(getattr(self, "estimator_", self.estimator), "predict_proba")
        return own or bool(getattr(self, "calibration_", self.probabilities))

    def probabilities_of(self, prepared: Matrix) -> FloatArray:
        """Return the same of rows that are prepared already.

        Parameters
        ----------
        prepared : what `prepare` gives
        """
        if hasattr(self, "calibration_"):
            return self.calibration_.probabilities(self.estimator_.decision_function(prepared))
        return np.asarray(self.estimator_.predict_proba(prepared))

    @available_if(_estimator_has("certified_predict"))
    def certified_predict(self, X: Any) -> tuple[AnyArray, BoolArray]:
        """Return the class of each row, and whether the exact optimum provably gives the same one.

        Parameters
        ----------
        X : a table of the kind it was fitted on
        """
        labels, certified = self.estimator_.certified_predict(self.prepare(X))
        return np.asarray(labels), np.asarray(certified) & (self._state() == self._seal)

    def hold_out_bound(
        self,
        X: Any,
        y: Any,
        confidence: float = 0.95,
        tried: int = 1,
        *,
        equal_rows: str = "copies",
    ) -> Certificate:
        """Bound how often a classifier errs on future rows at most, from a table it was not trained
        on.

        Parameters
        ----------
        X : a table of the kind it was fitted on, none of whose rows took part in anything
        y : array of shape (n_samples,)
        confidence, tried : as for `cotas.hold_out_bound`
        equal_rows : {"copies", "independent"}
            Rows that occur more than once may be copies of one; then they are no independent
            draws, and nothing is proved. "independent" declares that each is an observation of its
            own, equal to others because values are frequent.

        Returns
        -------
        Certificate
            Of kind "hold-out", or "none" with the reason.
        """
        check_equal_rows(equal_rows)
        if self.task != "classification":
            raise ParameterError(
                "estimator", "hold_out_bound is for classifiers: an error of numbers has no limit."
            )
        X, y, _ = self._with_targets(X, y)
        table, truth = as_read(X), self.target(y)
        wrong = self.predict(X) != truth
        known = table if isinstance(table, Table) else Table(as_matrix(table), None, "", "matrix")
        groups = copies(known, truth)[0]
        declared = equal_rows == "independent"
        given = (wrong, None if declared else groups, confidence, tried)
        found = bound_of(*given, (DECLARED,) * declared)
        return no_certificate(say(OF_COPIES)) if found is None else found

    def score(self, X: Any, y: Any) -> float:
        """Compute the accuracy of a classifier, R² of a regressor.

        Parameters
        ----------
        X : a table of the kind it was fitted on
        y : array of shape (n_samples,)
        """
        X, y, _ = self._with_targets(X, y)
        return float(self.estimator_.score(self.prepare(X), self.target(y)))

    # ---- what is known about it ------------------------------------------------------------------

    @property
    def certificate_(self) -> Certificate:
        """Return the certificate of the estimator as it is now and the data as they were
        prepared."""
        check_is_fitted(self, "estimator_")
        found: Certificate = self.estimator_.certificate_
        return found if self._state() == self._seal else found.withdrawn(CHANGED)

    def _state(self) -> str:
        """Return the digest of the preparation, and of what the estimator was when it was
        certified."""
        return digest((vars(self.preparation_), getattr(self.estimator_, "_seal", "")))

    def certify(self, X: Any, y: Any, max_time: float = 30.0) -> Certificate:
        """Prove the model again from its data, trusting nothing that was stored.

        Parameters
        ----------
        X, y : the rows it was trained on
        max_time : float
            See `cotas.certify`.
        """
        from cotas.foreign.certify import certify  # which loads what other libraries' models need

        X, y, _ = self._with_targets(X, y)
        return certify(self.estimator_, self.prepare(X), self.target(y), max_time=max_time)

    def in_original_units(self) -> list[tuple[dict[str, float], float]]:
        """Return for each class or target, θ by the name of the column and θ₀, before
        standardizing."""
        check_is_fitted(self, "estimator_")
        if not hasattr(self.estimator_, "coef_"):
            raise ParameterError(
                "estimator",
                f"{type(self.estimator_).__name__} is no linear function of the columns.",
            )
        rows = np.atleast_2d(self.estimator_.coef_)
        biases = np.broadcast_to(np.atleast_1d(self.estimator_.intercept_), len(rows))
        return [
            self.preparation_.in_original_units(row, float(bias))
            for row, bias in zip(rows, biases, strict=True)
        ]

    # ---- files -----------------------------------------------------------------------------------

    def save(
        self,
        path: str | Path,
        *,
        data: tuple[Any, Any] | None = None,
        recipe: Recipe | None = None,
        prepared: bool = False,
    ) -> None:
        """Store both parts in one file, without pickle.

        Parameters
        ----------
        path : str or Path
        recipe : Recipe, optional
            How the model came about, to be stored with it.
        data : (X, y), optional
            The table it was trained on; a fingerprint of its prepared rows is stored.
        prepared : bool, default=False
            Whether X are prepared rows already, as `prepare` gives them.
        """
        check_is_fitted(self, "estimator_")
        if data is not None and not prepared:
            X, y, _ = self._with_targets(*data)
            data = (self.prepare(X), self.target(y))
        recipe = recipe or getattr(self, "recipe_", None) or Recipe(self.preparation_, self.task)
        made = replace(recipe, seal=self._seal, calibration=getattr(self, "calibration_", None))
        save(self.estimator_, path, data=data, preparation=made)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return what `save` stored, with its `recipe_`.

        Parameters
        ----------
        path : str or Path
        """
        return cls.from_file(read_model_file(path), path)

    @classmethod
    def from_file(cls, found: ModelFile, path: str | Path) -> Self:
        """Return the same of a file that was read already; `path` is for the message only.

        Parameters
        ----------
        found : ModelFile
        path : str or Path
        """
        recipe = found.preparation
        if not isinstance(recipe, Recipe):
            raise ModelFileError(
                "{path} holds a model without a preparation; use cotas.load.", path=path
            )
        whole: Self = recipe.around(found.model)
        return whole

    def target(self, y: Any) -> Any:
        """Return what the estimator is to predict: for regression, text such as "$6.18" as numbers.

        Parameters
        ----------
        y : array of shape (n_samples,)
        """
        return read_target(y, self.task)

    def prepare(self, X: Any) -> Matrix:
        """Compute the numbers that the estimator takes, for who asks it several things about the
        same rows.

        Parameters
        ----------
        X : table or matrix like the one it was fitted on
        """
        check_is_fitted(self, "estimator_")
        learned = self.preparation_
        known = learned.number_names_ if learned.layout_ == "columns" else []
        made = getattr(self, "recipe_", None)
        told = {} if made is None else {"missing": made.missing, "not_missing": made.not_missing}
        gone, commas = Wishes(**told).gone, learned.decimal_commas_
        # The text of a table was read already.
        read = X if isinstance(X, Table) else as_read_again(X, known, commas, gone)
        rows: Matrix = learned.transform(read)
        return rows
