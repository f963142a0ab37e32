"""Boosted classifiers round by round, their margins, and the features they use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from cotas.arrays import FloatArray
from cotas.certificates.theorems.surrogates import SurrogateBound
from cotas.plots.fitted import labels_of, last_step, margins_on, named, require_fitted, table
from cotas.plots.style import COLOURS, INK, drawing, legend, line_style, names_of
from cotas.refusals import ParameterError
from cotas.source import MatrixLike
from cotas.words import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What the margins of a model are called.
VOTES = "margin y·F(x) / Σ|c|"
DISTANCE = "margin y(θ·x + θ₀) / ‖θ‖"
SCORE = "margin y·f(x)"
RIVAL = "score of the own class − best of the others"


def boosting_stages(
    model: Any,
    X: MatrixLike,
    y: ArrayLike | None,
    *,
    validation: tuple[Any, Any] | None = None,
    bound: bool = True,
    log: bool = False,
    ax: Axes | None = None,
    title: str | None = None,
    lang: str | None = None,
) -> Axes:
    """Draw the training error, its proved bound, and validation error against the round.

    Parameters
    ----------
    model : a fitted boosted classifier, ours or one of scikit-learn with `staged_predict`
    X, y : the data of the fit
    validation : (X_val, y_val), optional
    bound : bool, default=True
        Draw what bounds the training error after each round: the mean cost, in the scale in which
        the certificate has it. Where there is one certificate, and it is of that kind.
    log : bool, default=False
        A logarithmic axis of errors, on which the fall of the bound is a line.
    ax, title, lang : as in `decision_boundary`

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import cotas
    >>> from cotas.plots import boosting_stages
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> ax = boosting_stages(cotas.AdaBoost(n_estimators=3).fit(X, y), X, y)
    >>> ax.get_xlabel()
    'round'
    """
    require_fitted(model, "boosting_stages")
    if not hasattr(model, "staged_predict"):
        name = type(model).__name__
        raise ParameterError(
            "model", f"boosting_stages needs a model with staged_predict; {name} has none."
        )
    curves = {"training error": _staged_errors(model, X, y)}
    if validation is not None:
        curves["validation error"] = _staged_errors(model, *validation)
    with drawing(ax, lang) as ax:
        for k, (key, values) in enumerate(curves.items()):
            rounds = np.arange(1, len(values) + 1)
            shown = np.where(values > 0, values, np.nan) if log else values
            ax.plot(rounds, shown, label=say(key), **line_style(k))
        limits = _bounds(model) if bound else None
        if limits is not None:
            rounds = np.arange(1, len(limits) + 1)
            how: dict[str, Any] = {"color": COLOURS[3], "linestyle": ":"}
            ax.plot(rounds, limits, label=say("proved bound"), **how)
        ax.set(xlabel=say("round"), ylabel=say("error"))
        if log:
            ax.set_yscale("log")
        else:
            ax.set_ylim(0.0, min(1.05, ax.get_ylim()[1]))
        name = type(model).__name__
        ax.set_title(say("{name}, round by round", name=name) if title is None else title)
        legend(ax)
    return ax


def margin_distribution(
    models: Any,
    X: MatrixLike,
    y: ArrayLike | None,
    *,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    lang: str | None = None,
) -> Axes:
    """Tell which share of the examples has a margin up to each value.

    The margin is y·F(x)/Σ|c| for boosted classifiers, the distance y(θ·x + θ₀)/‖θ‖ to the
    boundary for linear ones, y·f(x) for others, and with several classes the score of the own
    class less the best of the others (half of it for boosted ones, so that it stays within ±1).
    Below zero are the examples that the model gets wrong.

    Parameters
    ----------
    models : a fitted classifier, or a list or dictionary of them
        For example `{5: model[:5], 50: model}`, a boosted one after 5 rounds and after 50.
    X, y : the examples
    labels : sequence of str, optional
        Names for the legend; those of the dictionary or of the models if not given.
    ax, title, lang : as in `decision_boundary`

    Returns
    -------
    matplotlib Axes
    """
    runs = named(models, labels)
    found = {}
    for label, model in runs.items():
        require_fitted(model, "margin_distribution")
        found[label] = _margins(model, X, y)
    kinds = {kind for _, kind in found.values()}
    with drawing(ax, lang) as ax:
        for k, (label, (margins, _)) in enumerate(found.items()):
            # A step up by 1/n at each margin, starting from nothing.
            x = np.sort(margins)
            share = np.arange(len(x) + 1) / len(x)
            ax.plot(
                np.append(x[:1], x), share, drawstyle="steps-post", label=label, **line_style(k)
            )
        ax.axvline(0.0, color=INK, linewidth=0.8)
        ax.set(
            xlabel=say(kinds.pop() if len(kinds) == 1 else "margin"),
            ylabel=say("share of the examples"),
        )
        ax.set_ylim(0.0, 1.02)
        ax.set_title(say("Distribution of the margins") if title is None else title)
        legend(ax)
    return ax


def feature_importances(
    model: Any,
    *,
    names: Sequence[str] | None = None,
    top: int = 15,
    ax: Axes | None = None,
    title: str | None = None,
    lang: str | None = None,
) -> Axes:
    """Tell how much each feature took part, the largest on top.

    Parameters
    ----------
    model : a fitted model with `feature_importances_`
        A linear one will do too: then |θⱼ|, which compares features only if they are scaled.
    names : sequence of str, optional
        A name for each feature; those of the data frame of the fit if there was one.
    top : int, default=15
        The most features to show.
    ax, title, lang : as in `decision_boundary`

    Returns
    -------
    matplotlib Axes
    """
    require_fitted(model, "feature_importances")
    values = _importances(model)
    known = getattr(model, "feature_names_in_", None)
    if names is None and known is not None and len(known) == len(values):
        names = list(known)
    features = names_of(names, len(values))
    shown = np.argsort(-values, kind="stable")[: max(1, int(top))][::-1]
    with drawing(ax, lang, (6.0, 0.9 + 0.26 * len(shown))) as ax:
        called = [
            say("feature {number}", number=j) if features is None else features[j] for j in shown
        ]
        # By number and then labelled: two features may have the same name.
        ax.barh(np.arange(len(shown)), values[shown], color=COLOURS[0], height=0.7)
        ax.set_yticks(np.arange(len(shown)), called)
        ax.set(xlabel=say("importance"))
        ax.grid(False, axis="y")
        ax.set_title(say("Importance of the features") if title is None else title)
    return ax


def _staged_errors(model: Any, X: MatrixLike, y: ArrayLike | None) -> FloatArray:
    y = labels_of(model, y)
    return np.array([np.mean(chosen != y) for chosen in model.staged_predict(table(X))])


def _bounds(model: Any) -> FloatArray | None:
    """Return the proved bound after each round; None where there is not one for all classes.

    These two certificates bound the training error by a multiple of the mean cost, which is the
    same in every round.
    """
    certificate = getattr(model, "certificate_", None)
    losses = getattr(model, "round_losses_", None)
    if (
        certificate is None
        or certificate.parts
        or not isinstance(losses, np.ndarray)
        or not len(losses)
    ):
        return None
    rounds, witness = model.n_rounds_, certificate.witness
    proportional = isinstance(witness, SurrogateBound) and witness.surrogate != "votes"
    proved = proportional and certificate.kind == "training error" and certificate.holds
    if not proved or len(losses) < rounds or not losses[rounds - 1] > 0:
        return None
    return np.asarray(losses[:rounds] * (certificate.upper / losses[rounds - 1]))


def _margins(model: Any, X: MatrixLike, y: ArrayLike | None) -> tuple[FloatArray, str]:
    """Return the margins, and what they are called."""
    inner = last_step(model)
    if hasattr(inner, "ensembles_"):
        sizes = [float(np.abs(ensemble.coefficients).sum()) for ensemble in inner.ensembles_]
        # Two classes have the scores F and −F, which are 2F apart.
        apart = 1.0 if len(model.classes_) == 2 else 2.0
        return margins_on(model, X, y) / (apart * max([*sizes, 1e-300])), VOTES
    if inner is model and hasattr(inner, "estimators_") and hasattr(inner, "estimator_weights_"):
        return _votes(inner, X, y), VOTES
    if not hasattr(model, "decision_function"):
        raise ParameterError(
            "model", f"margin_distribution needs scores; {type(inner).__name__} has none."
        )
    margins = margins_on(model, X, y)
    if len(model.classes_) > 2:
        return margins, RIVAL
    if hasattr(inner, "coef_") and inner is model and len(np.atleast_2d(inner.coef_)) == 1:
        length = float(np.linalg.norm(inner.coef_))
        if length > 0 and inner.coef_.size == inner.n_features_in_:
            return margins / length, DISTANCE
    return margins, SCORE


def _votes(model: Any, X: MatrixLike, y: ArrayLike | None) -> FloatArray:
    """Compute for scikit-learn's AdaBoost the votes for the own class less those for the best
    other."""
    labels, classes = labels_of(model, y), np.asarray(model.classes_)
    weights = np.asarray(model.estimator_weights_)[: len(model.estimators_)]
    votes = np.zeros((len(labels), len(classes)))
    for weight, learner in zip(weights, model.estimators_, strict=True):
        votes += weight * (learner.predict(table(X))[:, None] == classes)
    own = classes[None, :] == labels[:, None]
    best_other = np.where(own, -np.inf, votes).max(axis=1)
    return np.asarray((votes[own] - best_other) / weights.sum())


def _importances(model: Any) -> FloatArray:
    inner = last_step(model)
    if hasattr(inner, "feature_importances_"):
        return np.asarray(inner.feature_importances_, dtype=np.float64)
    if hasattr(inner, "coef_"):
        coef = inner.coef_.toarray() if hasattr(inner.coef_, "toarray") else inner.coef_
        return np.asarray(np.abs(np.atleast_2d(coef)).mean(axis=0))
    raise ParameterError(
        "model", f"{type(inner).__name__} has neither feature_importances_ nor coef_."
    )
