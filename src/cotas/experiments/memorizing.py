"""The classifier of Fuentes Cabrera, section 2.2, that learns everything by heart: a warning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.experiments.figure import draws
from cotas.experiments.samples import Split, balanced_cube
from cotas.fitting.parameters import check_positive
from cotas.linear.svm import LinearSVM
from cotas.plots.style import COLOURS, INK, legend, line_style
from cotas.refusals import ParameterError
from cotas.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class MemorisingClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that says + within ε of a positive training example, and − everywhere else.

    With distinct examples and a small ε its training error is zero. On new balanced examples,
    none of them within ε of an old one, its error is exactly ½: every positive one is called
    negative. It is here as the example of a set of hypotheses that is too large.

    Parameters
    ----------
    eps : float, default=1e-3
        The radius ε of the ball around each positive example.

    Attributes
    ----------
    classes_ : array of the two labels; the second counts as +
    positives_ : array with the positive training examples

    Examples
    --------
    >>> from cotas.experiments import MemorisingClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1]
    >>> model = MemorisingClassifier().fit(X, y)
    >>> model.score(X, y), model.score([[0.5], [1.5], [2.5], [3.5]], y)
    (1.0, 0.5)
    """

    def __init__(self, eps: float = 1e-3) -> None:
        self.eps = eps

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Matrix, y: Any) -> Self:
        """Keep the positive examples.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,) with two labels
        """
        check_positive(self.eps, "eps")
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            found = "one class" if len(self.classes_) == 1 else f"{len(self.classes_)} classes"
            raise ParameterError(
                "y",
                f"Only binary classification is supported: y must hold two labels; it has {found}.",
            )
        self.positives_ = X[y == self.classes_[1]]
        return self

    def predict(self, X: Matrix) -> AnyArray:
        """Return the second label within ε of a positive training example, the first elsewhere.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        search = NearestNeighbors(n_neighbors=1).fit(self.positives_)
        near = search.kneighbors(X)[0][:, 0] <= self.eps
        return np.asarray(self.classes_[near.astype(np.int64)])


@dataclass(frozen=True)
class Memory:
    """Training and validation errors of the memorizer for each ε, and of a linear classifier."""

    eps: FloatArray
    training: FloatArray
    validation: FloatArray
    linear_validation: float


def memory(seed: int = 0, n: int = 200) -> Memory:
    """Measure errors for ε from 10⁻³ to 3 on `balanced_cube`, and those of a linear SVM (λ = 0.01).

    The document speaks of a small ε only; larger ones are shown to see where the memorizer
    begins to say something about new examples.
    """
    data = balanced_cube(seed, n)
    eps = np.geomspace(1e-3, 3.0, 25)
    errors = np.array([_errors(MemorisingClassifier(e), data) for e in eps])
    _, linear = _errors(LinearSVM(lam=0.01), data)
    return Memory(eps, errors[:, 0], errors[:, 1], linear)


def _errors(model: Any, data: Split) -> tuple[float, float]:
    model.fit(*data.training)
    return 1 - model.score(*data.training), 1 - model.score(*data.new)


@draws("000-memorizer", "Learning by heart: no training error, validation error ½", memory)
def draw_memory(result: Memory, ax: Axes) -> None:
    """Draw both errors of the memorizer against ε, and those of a linear classifier as a level."""
    training = say("training error")
    validation = say("validation error")
    ax.semilogx(result.eps, result.training, label=training, **line_style(0, points=True))
    ax.semilogx(result.eps, result.validation, label=validation, **line_style(3, points=True))
    ax.axhline(0.5, color=INK, linewidth=0.8, linestyle=":")
    ax.annotate("½", (result.eps[0], 0.5), (0, 5), textcoords="offset points")
    ax.axhline(
        result.linear_validation,
        color=COLOURS[2],
        linestyle="-.",
        label=say("linear SVM, validation error"),
    )
    radius = say("radius ε of the balls")
    ax.set(xlabel=radius, ylabel=say("error"), ylim=(-0.03, 0.62))
    legend(ax, loc="center left")
