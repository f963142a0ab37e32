"""LS-Boost: on the columns of X as Rugeles Ospina has it, or with trees in their place."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import _num_samples

from cotas.arrays import FloatArray
from cotas.boosting.weak_learners import resolve, takes_missing_values
from cotas.certificates import Certificate
from cotas.certificates.theorems.unit_columns import UnitColumns
from cotas.fitting.data import read_observations, refuse_source
from cotas.fitting.parameters import check_fraction, check_rate
from cotas.refusals import ParameterError
from cotas.regression.boosted import BoostedRegressor
from cotas.regression.stagewise import StagewiseRegressor
from cotas.source import MatrixLike, comes_in_blocks

# Which parameters belong to which of the two, and what the other calls the same thing.
OF_COLUMNS = {"eps": "learning_rate", "max_iter": "n_estimators", "fit_intercept": "", "ties": ""}
OF_LEARNERS = {
    "n_estimators": "max_iter",
    "learning_rate": "eps",
    "loss": "",
    "early_stopping": "",
    "validation_fraction": "",
    "n_iter_no_change": "",
    "warm_start": "",
    "certify": "",
}
LEFT_BY_COLUMNS = ("coef_", "path_", "intercept_")
LEFT_BY_LEARNERS = (
    "categories_",
    "ensembles_",
    "intercept_",
    "round_errors_",
    "round_edges_",
    "round_losses_",
)


@dataclass(eq=False, repr=False)
class LSBoost(BoostedRegressor, StagewiseRegressor):
    """Least squares by boosting: on the columns of X, or with trees as weak learners.

    Without a `weak_learner` it is LS-Boost(ε), Algorithm 8 of Rugeles Ospina: a linear model. The
    column most correlated with the residual gets the part ε of the coefficient that fits the
    residual best. The columns are centred and of unit length while it runs; `coef_` is in the
    units of X. Its certificate is Theorem 2.1.2.

    With one, functions take the place of the columns: F starts at the best constant, and each
    round adds `learning_rate` times a function fitted to the residual y − F. This is gradient
    boosting, for squares or for absolute values. Its certificate encloses the training loss and
    says what no other model of the kind can go below: for stumps, all combinations with the same
    total weight; for trees, all functions that the fit's thresholds can make, which says something
    only where rows coincide, and is called vacuous where they do not.

    Parameters
    ----------
    weak_learner : None, "stump", "tree", "linear", Stump, Tree, LinearLearner or a regressor
        What each round fits. None boosts the columns.
    n_estimators : int, default=100
        With a weak learner: the most rounds.
    learning_rate : float, default=0.1
        With a weak learner: what part of each function is added, in (0, 1].
    loss : {"squared", "absolute"}, default="squared"
        With a weak learner: ½r² or |r| of the residual r. For "absolute" the leaves of trees hold
        medians.
    eps : float, sequence or function of k, default=0.1
        On columns: the learning rate in (0, 1], for all iterations or for each.
    max_iter : int, default=1000
        On columns. It ends earlier where the residual is uncorrelated with every column.
    fit_intercept : bool, default=True
        On columns; functions start from a constant in any case.
    ties : "first" or "random", default="first"
        On columns: which of several with the same correlation, the lowest index or a seeded draw.
    early_stopping : bool, default=False
        Set `validation_fraction` of the rows aside, end when `n_iter_no_change` rounds brought no
        smaller loss there, and keep the rounds up to the smallest.
    validation_fraction : float or array of bool, default=0.1
        How many are drawn, or which rows they are.
    n_iter_no_change : int, default=10
    max_time : float, optional
        Seconds after the call of `fit` at which it ends with the rounds or steps it has made.
    warm_start : bool, default=False
        Whether another fit adds rounds to the model.
    certify : bool, default=True
        Whether to prove the result.
    n_jobs : int, optional
        Threads for the fit and its proof; all cores if not given, but one inside a worker of
        joblib.
    random_state : int, RandomState or None
        For ties, for the validation fraction, and for regressors that draw random numbers.
    callbacks : function or list of functions, optional
        Called with a `RoundReport` after each round, on columns with a `StepReport` every few
        thousand steps; a true answer ends the run.
    progress : bool, optional
        A progress bar: shown if someone watches, unless told otherwise.

    A parameter of the one that is changed while the other is asked for is an error.

    Attributes
    ----------
    certificate_ : Certificate
        On columns a StagewiseCertificate: `certificate_.at(k)` has the six items of Theorem 2.1.2
        at iteration k.
    n_iter_ : int
        The iterations or rounds made.
    stop_, stop_reason_ : why the fit ended, as a `cotas.stops.Stop` and in words
    coef_, intercept_ : the model after the last iteration; with a weak learner `intercept_` is
        the constant that the functions are added to
    path_ : StagewisePath
        On columns: βᵏ, its loss, its length and its sparsity for every k.
    estimator_weights_, feature_importances_, round_errors_, round_edges_, round_losses_
        With a weak learner: as in `AdaBoost`; the error of a round is the share of the loss that
        its function leaves, the edge what it takes off. `model[:k]` is the model after k rounds.

    Examples
    --------
    >>> import cotas
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = cotas.LSBoost(eps=0.5, max_iter=200).fit(X, y)
    >>> model.certificate_.holds
    True
    >>> for item in model.certificate_.at(200)[:2]:
    ...     print(item.name, item.measured <= item.bound, item.vacuous)
    training error True False
    coefficients True False
    >>> int(model.path_.nonzeros[20])
    8

    Stumps, and how far they are from the best:

    >>> model = cotas.LSBoost(cotas.Stump(), n_estimators=100).fit(X, y)
    >>> model.certificate_.holds, model.certificate_.relative_gap < 0.5
    (True, True)
    >>> model[:20].score(X, y) < model.score(X, y)
    True
    """

    weak_learner: Any = None
    n_estimators: int = 100
    _: KW_ONLY
    learning_rate: float = 0.1
    loss: str = "squared"
    early_stopping: bool = False
    validation_fraction: Any = 0.1
    n_iter_no_change: int = 10
    warm_start: bool = False
    certify: bool = True

    step: Any = field(default=1.0, init=False)  # no parameters here
    class_weight: Any = field(default=None, init=False)
    algorithm = "LS-Boost"
    _certificates: list[Any] = field(init=False)  # of one kind or the other

    def __sklearn_tags__(self) -> Tags:
        tags = StagewiseRegressor.__sklearn_tags__(self)
        learns = self.weak_learner is not None
        tags.input_tags.allow_nan = learns and takes_missing_values(resolve(self.weak_learner))
        return tags

    @property
    def _parameters_that_predict(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("weak_learner",) if hasattr(self, "ensembles_") else ()

    # ---- fitting -------------------------------------------------------------------------------

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on X, y and certify the result.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Stumps and trees take missing values (NaN), and columns of categories of pandas,
            polars or Arrow as they are. Or a source of row blocks, which has y and the weights
            itself: docs/scale.md says what it serves.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            How often each row counts; one of weight zero is left out.
        """
        self._refuse_the_others()
        if self.weak_learner is None:
            self._forget(LEFT_BY_LEARNERS)
            return StagewiseRegressor.fit(self, X, y, sample_weight)
        self._forget(set(LEFT_BY_COLUMNS) if hasattr(self, "coef_") else ())
        BoostedRegressor.fit(self, X, y, sample_weight)
        self.n_iter_ = self.n_rounds_
        return self

    def _check_parameters(self) -> None:
        kind = StagewiseRegressor if self.weak_learner is None else BoostedRegressor
        kind._check_parameters(self)

    def _check_rates(self, eps: FloatArray) -> None:
        if (eps > 1).any():
            raise ParameterError("eps", f"eps must lie in (0, 1] for LS-Boost, not {eps.max():g}.")

    def _refuse_the_others(self) -> None:
        """Refuse parameters that would be ignored."""
        learns = self.weak_learner is not None
        defaults = inspect.signature(type(self).__init__).parameters
        for name, other in (OF_COLUMNS if learns else OF_LEARNERS).items():
            given, default = getattr(self, name), defaults[name].default
            if given is default or (np.ndim(given) == 0 and given == default):
                continue
            whose = "boosting on the columns of X" if learns else "boosting with a weak_learner"
            advice = f"; here it is {other}" if other else ""
            cure = "leave it out, or leave out weak_learner" if learns else "give a weak_learner"
            raise ParameterError(name, f"{name}={given!r} belongs to {whose}{advice}: {cure}.")

    def _forget(self, names: Any) -> None:
        """Drop what a fit of the other kind has left."""
        for name in names:
            if hasattr(self, name):
                delattr(self, name)

    # ---- the fitted model ----------------------------------------------------------------------

    def predict(self, X: MatrixLike) -> FloatArray:
        """Return the number predicted for each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
        """
        if comes_in_blocks(X):
            return self._of_source(X, "predict")  # type: ignore[no-any-return]
        if hasattr(self, "ensembles_"):
            return self._totals(self._read(X))[:, 0]
        return StagewiseRegressor.predict(self, X)

    def iterations_for(
        self, X: MatrixLike, share: float = 0.01, sample_weight: ArrayLike | None = None
    ) -> int:
        """Tell how many iterations on these columns are enough, before any is made.

        By Theorem 2.1.2 of Rugeles Ospina, L_n(βᵏ) − L_n* ≤ γᵏ·(L_n(0) − L_n*), whatever y is, with
        γ = 1 − ε(2 − ε)λ_pmin(XᵀX)/(4p) for columns that are centred and of unit length.
        λ_pmin is enclosed, so that the answer is proved; it is far more than most data need.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        share : float, default=0.01
            What may be left of L_n(0) − L_n*.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        int
            The smallest k with γᵏ ≤ share, for `max_iter`.

        Examples
        --------
        >>> import cotas
        >>> X, price = cotas.datasets.houses()
        >>> k = cotas.LSBoost(eps=1.0).iterations_for(X, share=0.1)
        >>> losses = cotas.LSBoost(eps=1.0, max_iter=k).fit(X, price).path_.losses
        >>> bool(losses[-1] - losses.min() <= 0.1 * losses[0])
        True
        """
        check_fraction(share, "share")
        if self.weak_learner is not None or np.ndim(self.eps) or callable(self.eps):
            raise ParameterError(
                "eps", "The theorem is about columns (no weak_learner) and one eps."
            )
        check_rate(self.eps, "eps")
        model = type(self)(fit_intercept=self.fit_intercept)
        refuse_source(model, X)
        seen = read_observations(model, X, np.arange(_num_samples(X)), sample_weight)  # any y
        unit = UnitColumns(seen.X, seen.y, seen.weights, bool(self.fit_intercept))
        smallest, rate = 0.0 if unit.objection else unit.curvature()[0], float(self.eps)
        shrinks = rate * (2.0 - rate) * smallest / (4.0 * unit.p) * (1 - 1e-15)
        if not shrinks > 0:
            raise ParameterError(
                "X",
                "λ_pmin(XᵀX) cannot be told from zero in double precision, so the theorem names "
                "no number of iterations. Leave out columns that others nearly repeat.",
            )
        return math.ceil(math.log(share) / math.log1p(-shrinks) * (1 + 1e-12))

    def staged_predict(self, X: MatrixLike) -> Iterator[FloatArray]:
        """Return what `predict` would say after each round or iteration.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        if hasattr(self, "ensembles_"):
            return self._staged(X)
        return StagewiseRegressor.staged_predict(self, X)

    def __getitem__(self, rounds: slice) -> Self:
        """Return the model after its first rounds, where it has a weak learner: `model[:10]`."""
        if hasattr(self, "coef_"):
            raise TypeError("On columns path_ has the iterations: path_.coef(k), path_.losses[k].")
        prefix = super().__getitem__(rounds)
        prefix.n_iter_ = prefix.n_rounds_
        return prefix

    def _binary_scores(self, X: MatrixLike) -> FloatArray:
        return self.predict(X)[:, None]

    def _measured_certificates(self) -> list[Certificate]:
        if hasattr(self, "ensembles_"):
            return BoostedRegressor._measured_certificates(self)
        return StagewiseRegressor._measured_certificates(self)
