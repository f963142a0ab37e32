"""Choosing the value of a parameter by data that were not trained on (document 004)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from cotas.arrays import Matrix
from cotas.certificates import Certificate, HeldOut, hold_out_bound, no_certificate
from cotas.fitting.parameters import check_fraction, check_jobs
from cotas.fitting.reporting import ProgressBar
from cotas.fitting.threads import thread_count
from cotas.selection.choice import Choice, regimes_of
from cotas.selection.fits import Fit, Fitter, weights_for
from cotas.selection.parameter import (
    Parameter,
    check_estimator,
    complexity_sign,
    default_values,
    find_parameter,
    inside,
    is_whole,
    read_values,
)
from cotas.selection.ranking import Standing, in_words, rivals, winner
from cotas.selection.splits import Part, Rows, read_rows, split
from cotas.selection.table import number
from cotas.selection.walking import Key, Watch, fit_all, tighten_all
from cotas.selection.yardstick import Yardstick, yardstick

STRATIFIED = (
    "The rows were set aside class by class, so their classes are not independent draws, and the "
    "bound is an approximation; stratify=False makes it exact."
)


def choose(
    model: Any,
    X: Matrix,
    y: Any,
    over: str = "lam",
    values: Any = None,
    *,
    validation: Any = None,
    folds: Any = None,
    by: str = "loss",
    loss: Any = None,
    scoring: Any = None,
    complexity: str | None = None,
    stratify: bool = True,
    groups: Any = None,
    sample_weight: Any = None,
    tighten: int = 3,
    confidence: float = 0.95,
    largest_loss: float | None = None,
    refit: bool = True,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: bool | None = None,
) -> Choice:
    """Choose the value of a parameter by a validation split or by folds, and prove what can be.

    Document 004: with more complexity c = 1/(λn) the training loss falls, and the loss on other
    data falls up to some c* and rises after it. Rows set aside give the estimate ĉ. Here each fit
    also carries its certificate. Where a gap bounds how far the validation loss is from that of
    the exact optimum, the result says whether the choice is safe from what the solver left
    undone; values whose gap could change it are fitted again, tighter.

    Parameters
    ----------
    model : estimator of cotas or scikit-learn, or a pipeline
    X, y : the data
        Tables of any kind that the model takes.
    over : str, default="lam"
        The parameter: of the model, of a step (`"svm__lam"`; of the last step also `"lam"`), or
        of a kernel (`"sigma"`, `"kernel__sigma"`). `over="kernel"` chooses among kernels.
    values : sequence, optional
        The values, each tried once. For "lam" the default is two values for each power of ten,
        from the mean squared length of the rows down to a millionth of it; for "n_rounds" and
        "iterations", the number that the model has and its halves. Else they must be given.
    validation : float or (X_val, y_val), default=0.2
        The share of the rows to set aside, usually 0.1 to 0.3; or the rows to judge by.
    folds : int, splitter of scikit-learn or list of (train, validation) row numbers, optional
        In the place of `validation`.
    by : {"loss", "error"}, default="loss"
        What decides. Of equal values the simplest wins.
    loss : str or callable, optional
        "hinge", "log" or "zero-one" for classes; "squared", which is half the square, or
        "absolute" for numbers; or a function of y and the predictions that returns a number for
        each row. By default the hinge for linear and kernel machines ("zero-one" where pairs of
        classes vote), else the log loss if the model has probabilities; "squared" for numbers.
    scoring : str or scorer of scikit-learn, optional
        In the place of `loss`: the loss is then minus the score.
    complexity : {"rises", "falls"}, optional
        Whether larger values make the model more or less complex, for parameters of which it is
        not known. It orders the values, and tells the regimes apart.
    stratify : bool, default=True
        Whether a random split keeps the shares of the classes.
    groups : array, optional
        For splitters that keep groups together.
    sample_weight : array of shape (n_samples,), optional
        Weights for training and for the means of the validation. A pipeline hands them to its
        last step, or as scikit-learn's metadata routing says if that is switched on.
    tighten : int, default=3
        How often the fits that leave the choice open are repeated, each time with a hundredth of
        their tol and four times the iterations and time. 0 for never.
    confidence : float, default=0.95
        Of the bound for the error on future rows.
    largest_loss : float, optional
        The largest loss a row can have: gives such a bound for numbers too.
    refit : bool, default=True
        Fit the chosen value on all the data: `best_model_`. It keeps λ, not c.
    n_jobs : int or None
        Threads for the fits; None means all cores. It does not change the result.
    random_state : int, RandomState or None
        For the split. The model has its own.
    progress : bool or None
        Show a bar over the fits.

    Returns
    -------
    Choice
        After Ctrl-C, with the values that were finished. It keeps the witnesses of all
        certificates: about a number for each row, class, value and fold.

    Examples
    --------
    >>> import cotas
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), cotas.LinearSVM())
    >>> choice = cotas.choose(model, X, y, "lam", [1.0, 0.1, 0.01, 0.001], random_state=0)
    >>> choice.best_value
    0.01
    >>> choice.regimes
    ('under', 'under', 'best', 'over')
    >>> choice.safe
    True
    >>> choice.best_model_.predict(X[:3])
    array([0, 0, 0])
    """
    plan = _plan(model, X, y, over, values, by, loss, scoring, complexity, sample_weight, groups)
    _check(tighten, confidence, n_jobs, by)
    parts = split(model, plan.rows, validation, folds, stratify, random_state)
    threads = thread_count(n_jobs, len(parts) * len(plan.values))
    fitter = Fitter(model, plan.parameter, plan.measure, alone=threads == 1)
    bar = ProgressBar(len(parts) * len(plan.values), "choose", progress, "fit")
    watch = Watch()
    try:
        with watch.listening():
            found = fit_all(fitter, plan.values, parts, threads, bar, watch)
            standings = _standings(plan.values, found, len(parts))
            for _ in range(tighten):
                doubtful = _doubtful(fitter, standings, found, plan)
                if not doubtful or watch.stopped():
                    break
                tighten_all(fitter, found, doubtful, parts, threads, watch)
                standings = _standings(plan.values, found, len(parts))
    finally:
        bar.close()
    watch.pass_on()
    result = _concluded(plan, standings, parts, watch.stopped())
    single = parts[0] if folds is None else None
    split_by_class = stratify and not isinstance(validation, tuple | list)
    goal = Goal(confidence, largest_loss, tighten, split_by_class)
    bound = _bound(plan, result, standings, single, goal)
    kept = standings[result.best_index].fits[0].model if single else None
    result = replace(result, hold_out=bound, validated_model_=kept)
    _warn(result)
    if refit and not result.interrupted:
        best = _refitted(plan, model, standings[result.best_index])
        result = replace(result, best_model_=best)
    return result


@dataclass(frozen=True)
class Plan:
    """What is to be chosen, and by what."""

    rows: Rows
    parameter: Parameter
    values: list[Any]
    ordered: bool
    measure: Yardstick
    by: str


@dataclass(frozen=True)
class Goal:
    """What the bound for future rows depends on besides the mistakes."""

    confidence: float
    largest_loss: float | None
    tighten: int
    stratified: bool


def _plan(
    model: Any,
    X: Matrix,
    y: Any,
    over: Any,
    values: Any,
    by: str,
    loss: Any,
    scoring: Any,
    complexity: str | None,
    sample_weight: Any,
    groups: Any,
) -> Plan:
    check_estimator(model)
    classifies = is_classifier(model)
    rows = read_rows(X, y, sample_weight, classifies, groups)
    parameter = find_parameter(model, over)
    if values is None:
        values = default_values(model, parameter, rows.X, rows.y)
    values = read_values(values, parameter)
    sign = complexity_sign(parameter, values, complexity)
    if sign:
        values = sorted(values, reverse=sign < 0)
    n_classes = len(np.unique(rows.y)) if classifies else 0
    return Plan(rows, parameter, values, sign != 0, yardstick(model, n_classes, loss, scoring), by)


def _check(tighten: Any, confidence: Any, n_jobs: Any, by: Any) -> None:
    if not is_whole(tighten) or tighten < 0:
        raise ValueError(f"tighten must be a whole number from 0 on, not {tighten!r}.")
    check_fraction(confidence, "confidence")
    check_jobs(n_jobs)
    if by not in ("loss", "error"):
        raise ValueError(f"by must be 'loss' or 'error', not {by!r}.")


def _standings(values: list[Any], found: dict[Key, Fit], n_parts: int) -> list[Standing]:
    """The values that were fitted on all parts."""
    groups = [
        (value, [found[p, k] for p in range(n_parts) if (p, k) in found])
        for k, value in enumerate(values)
    ]
    done = [Standing(value, tuple(fits)) for value, fits in groups if len(fits) == n_parts]
    if not done:
        raise KeyboardInterrupt("Interrupted before the first value was finished.")
    return done


def _scores(standings: Sequence[Standing], plan: Plan) -> list[float]:
    column = 2 if plan.by == "loss" else 3
    return [float(standing.figures(plan.measure)[column]) for standing in standings]


def _doubtful(
    fitter: Fitter, standings: Sequence[Standing], found: dict[Key, Fit], plan: Plan
) -> list[Key]:
    """The fits whose gap could change the winner and can be made smaller.

    Where nothing ties the gap to the predictions, those that have missed their tol.
    """
    best = winner(_scores(standings, plan))
    intervals = [standing.interval(plan.by, plan.measure) for standing in standings]
    against = rivals(intervals, best)
    close = [standings[v] for v in ([best, *against] if against else [])]
    fits = [
        fit
        for standing in close
        for fit in standing.fits
        if fitter.can_be_tighter(fit) and (fit.enclosure is not None or fit.missed)
    ]
    return [key for key, fit in found.items() if any(fit is other for other in fits)]


def _concluded(
    plan: Plan, standings: Sequence[Standing], parts: list[Part], interrupted: bool
) -> Choice:
    measure = plan.measure
    figures = np.array([standing.figures(measure) for standing in standings])
    intervals = {
        by: np.array([standing.interval(by, measure) for standing in standings])
        for by in ("loss", "error")
    }
    best = winner(_scores(standings, plan))
    names = [f"{plan.parameter.over}={number(standing.value)}" for standing in standings]
    missed = [any(fit.missed for fit in standing.fits) for standing in standings]
    decisive = [(float(low), float(high)) for low, high in intervals[plan.by]]
    safe, ranking = in_words(
        names, decisive, best, plan.by, missed, [standing.gap for standing in standings]
    )
    size = float(np.mean([part.size for part in parts]))
    is_lam = plan.parameter.name == "lam" and plan.ordered
    return Choice(
        over=plan.parameter.over,
        values=tuple(standing.value for standing in standings),
        c=np.array([1.0 / (s.value * size) for s in standings]) if is_lam else None,
        training_loss=figures[:, 0],
        training_error=figures[:, 1],
        validation_loss=figures[:, 2],
        validation_error=figures[:, 3],
        fold_losses=np.array([[fit.validation.loss for fit in s.fits] for s in standings]),
        loss_interval=intervals["loss"],
        error_interval=intervals["error"],
        gaps=np.array([standing.gap for standing in standings]),
        status=tuple(standing.status for standing in standings),
        regimes=regimes_of(best, len(standings), plan.ordered),
        tightened=np.array([max(fit.tightened for fit in s.fits) for s in standings]),
        certificates=tuple([c for fit in s.fits for c in fit.certificates] for s in standings),
        best_index=best,
        safe=safe,
        ranking=ranking,
        hold_out=no_certificate("not yet"),
        loss=measure.loss,
        by=plan.by,
        n_training=round(np.mean([len(part.y) for part in parts])),
        n_validation=sum(len(part.y_val) for part in parts),
        seconds=np.array([sum(fit.seconds for fit in s.fits) for s in standings]),
        interrupted=interrupted,
    )


def _bound(
    plan: Plan,
    result: Choice,
    standings: Sequence[Standing],
    part: Part | None,
    goal: Goal,
) -> Certificate:
    """The bound for future rows, or why there is none."""
    if part is None:
        return no_certificate(
            "No bound for future rows: the rows of the folds have been trained on. Keep a test set "
            "apart and give its mistakes to `hold_out_bound`."
        )
    if part.weights_val is not None:
        return no_certificate("No bound for future rows: the rows have weights.")
    fit = standings[result.best_index].fits[0]
    # Which fits were repeated was decided by these rows: each may have been chosen in any form.
    forms = 1 + goal.tighten * any(s.fits[0].enclosure is not None for s in standings)
    tried = forms * len(plan.values)
    if plan.measure.classifies and goal.largest_loss is None:
        predicted = np.asarray(fit.model.predict(part.X_val)).ravel()
        bound = HeldOut(predicted, goal.confidence, tried).check(part.X_val, part.y_val)
    elif goal.largest_loss is None:
        return no_certificate(
            "No bound for future rows: this loss has no largest value. Give largest_loss if it has "
            "one."
        )
    elif plan.measure.scorer is not None:
        return no_certificate("No bound for future rows: a score has no loss for each row.")
    else:
        losses = plan.measure.row_losses(fit.model, part.X_val, part.y_val)
        bound = hold_out_bound(losses, None, goal.confidence, tried, largest=goal.largest_loss)
    about = "It is about the model fitted on the training rows, `validated_model_`."
    notes = [*bound.remarks, about, *([STRATIFIED] * (goal.stratified and plan.measure.classifies))]
    return replace(bound, remarks=tuple(notes))


def _warn(result: Choice) -> None:
    if result.missed.any():
        late = [number(v) for v, m in zip(result.values, result.missed, strict=True) if m]
        warnings.warn(
            f"The gap asked for was not proved at {result.over} = {', '.join(late)}. "
            f"{result.ranking}",
            ConvergenceWarning,
            stacklevel=3,
        )
    if result.interrupted:
        warnings.warn(
            f"Interrupted: {len(result.values)} values were finished; no model was fitted on all "
            "the data.",
            stacklevel=3,
        )


def _refitted(plan: Plan, model: Any, standing: Standing) -> Any:
    """The chosen value on all the data, as tightly as it was last fitted."""
    best = plan.parameter.copy_with(model, standing.value)
    tightest = max(standing.fits, key=lambda fit: fit.tightened)
    if tightest.tightened:
        name = inside(model) + "tol"
        best.set_params(**{name: tightest.model.get_params(deep=True)[name]})
    return best.fit(plan.rows.X, plan.rows.y, **weights_for(best, plan.rows.weights))
