"""A weighted mean of models of the same rows: what they answer together, and each one's proof."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Tags, column_or_1d
from sklearn.utils.metaestimators import _BaseComposition, available_if
from sklearn.utils.validation import check_is_fitted

from cotas.arrays import AnyArray, FloatArray
from cotas.certificates import Certificate
from cotas.certificates.binding import OTHER_SCORES
from cotas.certificates.certificate import CHANGED
from cotas.certificates.verification import UNCHECKED, read_rows
from cotas.files.state import digest
from cotas.fitting.certified import INTERRUPTED, NOT_PREDICTING, OF_SCIKIT_LEARN, Certified, outside
from cotas.fitting.from_source import nameless
from cotas.refusals import ParameterError
from cotas.source import MatrixLike, Source
from cotas.stops import InterruptedWarning, Stop
from cotas.words import say, spoken

# What the command line calls it.
BLEND = "blend"
# Two ways to compute the same mean differ by less.
ROUNDED = 1e-9


def _classifies(model: Blend) -> bool:
    return any(is_classifier(one) for one in members_of(model)[:1])


class Blend(Certified, _BaseComposition):
    """A weighted mean of models: of their numbers, or of their probabilities of each class.

    All are trained on the same rows, and the certificate has the proof of each. Nothing is proved
    of the weights: they are as good as the rows by which they were found. `cotas fit --model auto`
    finds them by what its finalists say of rows they were not trained on (Breiman 1996, *Stacked
    regressions*).

    Parameters
    ----------
    estimators : list of (name, estimator)
        Classifiers or regressors of cotas.
    weights : array of shape (n_estimators,), optional
        Not negative, and not all zero; they are divided by their sum. Without them all count alike.

    Attributes
    ----------
    estimators_ : list of fitted estimators
    weights_ : array, which sums to one
    classes_ : array of the labels, of classifiers
    certificate_ : Certificate
        A composite: the parts of all estimators.

    Notes
    -----
    A machine without `predict_proba` counts with p = 1/(1 + exp(−2·score)), as boosting does: its
    score stands for half of the log odds.

    Examples
    --------
    >>> import cotas
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> line, trees = cotas.Ridge(), cotas.LSBoost(cotas.Tree(2), n_estimators=20)
    >>> blend = cotas.tables.Blend([("line", line), ("trees", trees)], weights=[2, 1]).fit(X, y)
    >>> [part.title for part in blend.certificate_.parts], blend.certificate_.verify(X, y)
    (['line', 'trees'], True)
    >>> alone = [model.predict(X) for model in blend.estimators_]
    >>> bool(abs(blend.predict(X) - (2 * alone[0] + alone[1]) / 3).max() < 1e-9)
    True
    """

    def __init__(self, estimators: Any = (), weights: Any = None) -> None:
        self.estimators = estimators
        self.weights = weights

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with `deep` those of each estimator as `name__parameter`.

        Parameters
        ----------
        deep : bool, default=True
        """
        return dict(self._get_params("estimators", deep=deep))

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of an estimator as `name__parameter`, itself by its name.

        Parameters
        ----------
        **params : by name
        """
        self._set_params("estimators", **params)
        return self

    def _pairs(self) -> list[tuple[str, Any]]:
        """Return names and estimators, of a parameter that is as it should be."""
        given = self.estimators if isinstance(self.estimators, list) else []
        paired = all(
            isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
            for pair in given
        )
        return given if paired else []

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        each = [one.__sklearn_tags__() for one in members_of(self)]
        if each:
            first = each[0]
            tags.estimator_type, tags.target_tags = first.estimator_type, first.target_tags
            tags.classifier_tags, tags.regressor_tags = first.classifier_tags, first.regressor_tags
            tags.target_tags.multi_output = False
            tags.input_tags.sparse = all(one.input_tags.sparse for one in each)
            tags.input_tags.allow_nan = all(one.input_tags.allow_nan for one in each)
            tags.input_tags.pairwise = any(one.input_tags.pairwise for one in each)
        return tags

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Train each estimator on all the rows.

        After Ctrl-C those that are fitted count, the one that was interrupted among them.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
            A source has y and the weights itself, and all the estimators must take it.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        """
        weights = self._checked()
        y = None if y is None else column_or_1d(y, warn=True)
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        names, fitted = list[str](), list[Any]()
        for (name, estimator), weight in zip(self.estimators, weights, strict=True):
            if weight > 0:
                fitted.append(clone(estimator).fit(X, y, **given))
                names.append(name)
                if fitted[-1].stop_ is Stop.INTERRUPTED:
                    break
        kept = weights[weights > 0][: len(fitted)]
        self.names_, self.estimators_, self.weights_ = names, fitted, kept / kept.sum()
        self._claim = self._now()
        if self.stop_ is Stop.INTERRUPTED and len(fitted) < np.count_nonzero(weights):
            left = np.count_nonzero(weights) - len(fitted)
            words = say("{left} of the estimators are not in the blend.", left=left)
            warnings.warn(f"{say(INTERRUPTED)} {words}", InterruptedWarning, stacklevel=outside())
        return self._sealed()

    @classmethod
    def of_fitted(
        cls,
        names_: list[str],
        weights_: FloatArray,
        estimators_: list[Any],
        _claim: list[tuple[str, float, str]],
        _seal: str,
    ) -> Self:
        """Return the blend that these were the attributes of."""
        unfitted = [(name, clone(one)) for name, one in zip(names_, estimators_, strict=True)]
        model = cls(unfitted, weights_)
        model.names_, model.weights_, model.estimators_ = names_, weights_, estimators_
        model._claim, model._seal = _claim, _seal
        return model

    def _check_parameters(self) -> None:
        self._checked()

    def _checked(self) -> FloatArray:
        """Return the weights, after a look at the parameters."""
        pairs = self._pairs()
        if not pairs:
            raise ParameterError(
                "estimators", "estimators must be a list of (name, estimator), not empty."
            )
        names = [name for name, _ in pairs]
        odd = [name for name in names if "__" in name or name in ("estimators", "weights")]
        if odd or len({*names}) < len(names):
            why = f"may not be {odd[0]!r}" if odd else "are not unique"
            raise ParameterError("estimators", f"The names of the estimators {why}: {names}.")
        plain = (isinstance(one, Certified) and not isinstance(one, Blend) for _, one in pairs)
        alien = [name for (name, _), mine in zip(pairs, plain, strict=True) if not mine]
        if alien:
            words = "must be estimators of cotas, none a blend itself, and {names} is not"
            raise ParameterError(
                "estimators", f"estimators {words.format(names=', '.join(alien))}."
            )
        if len({is_classifier(one) for _, one in self.estimators}) > 1:
            raise ParameterError(
                "estimators", "estimators must be all classifiers or all regressors."
            )
        count = len(self.estimators)
        weights = np.ones(count) if self.weights is None else np.asarray(self.weights)
        sound = weights.shape == (count,) and weights.dtype.kind in "biuf"
        sound = sound and bool(np.isfinite(weights).all()) and bool((weights >= 0).all())
        if not sound or not weights.any():
            raise ParameterError(
                "weights", f"weights must be {count} numbers from 0 on, not all 0."
            )
        return np.asarray(weights / weights.max(), dtype=np.float64)

    # ---- prediction ----------------------------------------------------------------------------

    def predict(self, X: MatrixLike) -> AnyArray:
        """Return the mean of what the estimators predict, or the class that is likeliest by the
        mean.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        mean = self._averaged(X)
        return np.asarray(self.classes_[mean.argmax(axis=1)]) if self._has_classes else mean

    @available_if(_classifies)
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the mean of the probabilities, a column for each class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        return self._averaged(X)

    @available_if(_classifies)
    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return the log odds of the second of two classes, or the logarithm of each probability.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        logs = np.log(np.maximum(self._averaged(X), np.finfo(np.float64).tiny))
        return np.asarray(logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs)

    def score(self, X: MatrixLike, y: Any, sample_weight: Any = None) -> float:
        """Compute the accuracy of classifiers, R² of regressors.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        """
        measure = accuracy_score if self._has_classes else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def _averaged(self, X: MatrixLike) -> FloatArray:
        check_is_fitted(self, "estimators_")
        return np.asarray(
            sum(w * answers(one, X) for w, one in zip(self.weights_, self.estimators_, strict=True))
        )

    # ---- what is known about it ----------------------------------------------------------------

    @property
    def _has_classes(self) -> bool:
        check_is_fitted(self, "estimators_")
        return bool(is_classifier(self.estimators_[0]))

    @property
    def classes_(self) -> AnyArray:
        """Return the labels, of classifiers."""
        return np.asarray(self._first("classes_"))

    @property
    def n_features_in_(self) -> int:
        """Tell how many columns X had."""
        return int(self._first("n_features_in_"))

    @property
    def feature_names_in_(self) -> AnyArray:
        """Return the names of the columns, if X had them."""
        return np.asarray(self._first("feature_names_in_"))

    def _first(self, name: str) -> Any:
        """Return what all estimators have in common; an AttributeError if they have it not."""
        return getattr(vars(self).get("estimators_", [None])[0], name)

    @property
    def feature_importances_(self) -> FloatArray:
        """Tell how much each feature counts, if all the estimators tell it; they sum to one.

        Those of a linear model are |θ|, summed over its classes: of columns of one scale.
        """
        importances = [_importances(one) for one in self.estimators_]
        if any(values is None for values in importances):
            raise AttributeError("Not all of the estimators tell how much a feature counts.")
        total = sum(w * values for w, values in zip(self.weights_, importances, strict=True))
        return np.asarray(total / np.sum(total) if np.sum(total) > 0 else total)

    @property
    def stop_(self) -> Stop:
        """Return why the last fit ended that was not proved, else why the last one did."""
        return self._last().stop_  # type: ignore[no-any-return]

    @property
    def stop_reason_(self) -> str:
        """Say the same in words."""
        return spoken(self._last()._stop_reason)

    def _last(self) -> Any:
        check_is_fitted(self, "estimators_")
        early = [one for one in self.estimators_ if one.stop_ is not Stop.PROVED]
        return (early or self.estimators_)[-1]

    def _now(self) -> list[tuple[str, float, str]]:
        """Return the mean as it is: of each estimator the name, the weight and what it was
        certified as.

        `_claim` is that of the fit, and what the certificate speaks of.
        """
        each = zip(self.names_, self.weights_.tolist(), self.estimators_, strict=True)
        return [(name, weight, one._seal) for name, weight, one in each]

    def _state(self) -> str:
        """Return the digest of all that predicts, as it is now."""
        own = {
            name: value
            for name, value in vars(self).items()
            if name not in NOT_PREDICTING and not name.startswith(OF_SCIKIT_LEARN)
        }
        own |= {"estimators": None, "weights": None, "_claim": None}
        return digest(own | {"estimators_": [one._state() for one in self.estimators_]})

    def _current_certificates(self) -> list[Certificate]:
        check_is_fitted(self, "estimators_")
        found = self._named([one._current_certificates() for one in self.estimators_])
        try:
            unchanged = (self._state(), self._now()) == (self._seal, self._claim)
        except UNCHECKED:  # they are not even of the types that they had
            unchanged = False
        return found if unchanged else [part.withdrawn(CHANGED) for part in found]

    def _proved_again(self, X: MatrixLike, y: ArrayLike | None) -> Certificate:
        check_is_fitted(self, "estimators_")
        found = self._named([one._proved_again(X, y).singles for one in self.estimators_])
        against = self._other_than_the_mean(X if isinstance(X, Source) else read_rows(X))
        fresh = [part.withdrawn(against[0]) for part in found] if against else found
        return self._together(fresh)

    def _named(self, found: Sequence[Sequence[Certificate]]) -> list[Certificate]:
        """Return the certificates of each estimator, with its name; the first looks at the mean,
        too."""
        sound = len(self.names_) == len(found)
        members = tuple(self.names_ if sound else map(str, range(len(found))))
        named = [
            replace(part, member=name, predictor=_MemberPredictor(members, part.predictor))
            for name, parts in zip(members, found, strict=True)
            for part in parts
        ]
        looking = _MeanPredictor(members, found[0][0].predictor, self)
        return [replace(named[0], predictor=looking), *named[1:]]

    def _other_than_the_mean(self, X: MatrixLike) -> list[str]:
        """Say in words if it predicts something else than the mean of its estimators."""
        each = [nameless(one) for one in self.estimators_]
        whole = copy.copy(self)
        whole.estimators_ = each
        try:
            weights = np.asarray(self.weights_, dtype=np.float64)
            sound = weights.shape == (len(each),) and bool((weights >= 0).all())
            sound = sound and abs(weights.sum() - 1) < ROUNDED and len({*self.names_}) == len(each)
            mean = sum(w * answers(one, X) for w, one in zip(weights, each, strict=True))
            if is_classifier(each[0]):
                said = np.asarray(whole.predict_proba(X))
                labels = each[0].classes_[np.asarray(mean).argmax(axis=1)]
                sound = sound and np.array_equal(whole.predict(X), labels)
            else:
                said = np.asarray(whole.predict(X))
            sound = sound and bool(np.allclose(said, mean, rtol=ROUNDED, atol=0))
        except UNCHECKED:
            sound = False
        return [] if sound else [say(OTHER_SCORES)]

    def _together(self, parts: list[Certificate]) -> Certificate:
        whole = Certificate.of_parts(parts, [part.label for part in parts])
        return replace(whole, notes=(self._mean_in_words(), *whole.notes))

    def _mean_in_words(self) -> str:
        shares = zip(np.ravel(self.weights_), self.names_, strict=False)
        return say(
            "The model is the blend {mean}. Nothing is proved of its weights.",
            mean=" + ".join(f"{weight:.3f}·{name}" for weight, name in shares),
        )


@dataclass(frozen=True)
class _MemberPredictor:
    """An estimator of a blend, if it looks at what it predicts, and the names of all of them."""

    members: tuple[str, ...]
    own: Any

    def contradictions(self, witness: Any, X: Any, y: Any) -> list[str]:
        """Tell where the estimator predicts other than its witness says."""
        return [] if self.own is None else list(self.own.contradictions(witness, X, y))


@dataclass(frozen=True)
class _MeanPredictor(_MemberPredictor):
    """The first of them, with the blend that handed out the certificates."""

    blend: Blend

    def contradictions(self, witness: Any, X: Any, y: Any) -> list[str]:
        """Say also where the blend predicts other than the mean."""
        found = super().contradictions(witness, X, y)
        return [*found, *self.blend._other_than_the_mean(X)]


def _importances(one: Any) -> FloatArray | None:
    """Return shares of the features, if the model is made of them."""
    values = getattr(one, "feature_importances_", None)
    coef = getattr(one, "coef_", None)
    if values is None and coef is not None:
        values = np.abs(np.atleast_2d(coef)).sum(axis=0)
    if values is None or len(values) != one.n_features_in_:  # of a kernel's own features
        return None
    return np.asarray(values / values.sum() if values.sum() > 0 else values)


def members_of(model: Any) -> list[Any]:
    """Return the estimators of a blend, fitted if it is; any other model alone."""
    if not isinstance(model, Blend):
        return [model]
    # What is no estimator, such as the "drop" of scikit-learn, is refused by `fit`.
    unfitted = (one for _, one in model._pairs() if hasattr(one, "fit"))
    return list(vars(model).get("estimators_") or unfitted)


def answers(model: Any, X: MatrixLike) -> FloatArray:
    """Return what is averaged: numbers, or the probability of each class."""
    if not is_classifier(model):
        return np.asarray(model.predict(X))
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    scores = model.decision_function(X)
    if scores.ndim == 2:
        return np.asarray(softmax(2 * scores, axis=1))
    second = expit(2 * scores)
    return np.stack([1 - second, second], axis=1)
