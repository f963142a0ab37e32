"""Choosing the value of a parameter by data that were not trained on (Clasificación lineal)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from cotas.certificates import Certificate, HeldOut, ValidationBound, hold_out_bound, no_certificate
from cotas.certificates.consequences.path import bound_validation_error
from cotas.fitting.data import refuse_source
from cotas.fitting.parameters import check_fraction, check_jobs
from cotas.linear.passive_aggressive import PassiveAggressive
from cotas.linear.svm import LinearSVM
from cotas.refusals import ParameterError
from cotas.running import thread_count
from cotas.selection.choice import Choice, number, regimes_of
from cotas.selection.fits import (
    Fit,
    FitMonitor,
    Fitter,
    Key,
    fit_all,
    seen_by_last,
    tighten_all,
    weights_for,
)
from cotas.selection.parameter import (
    Parameter,
    check_estimator,
    default_values,
    final_step,
    find_parameter,
    in_order,
    inside,
    is_number,
    is_whole,
    read_values,
)
from cotas.selection.ranking import (
    Standing,
    in_words,
    parts_to_settle,
    regret,
    what_fits_made,
    winner,
)
from cotas.selection.splits import CheckedRows, DataSplit, read_rows, split
from cotas.selection.yardstick import Yardstick, yardstick
from cotas.source import MatrixLike
from cotas.stops import InterruptedWarning
from cotas.words import say


def bound_between(
    plan: Plan, standings: Sequence[Standing], part: DataSplit | None
) -> ValidationBound | None:
    """Bound the validation error from below: no optimum at any λ of the range has less; see
    `svm_path`."""
    model = standings[0].fits[0].model
    last = final_step(model)
    along = plan.parameter.name == "lam" and isinstance(last, LinearSVM)
    along = along and (last.margin, last.loss) == ("soft", "hinge")
    if not along or part is None or part.weights_val is not None:
        raise ParameterError(
            "between",
            "between=True needs the λ of a LinearSVM with a soft margin and the hinge loss, and "
            "one set of validation rows without weights.",
        )
    if len(standings) < 2:
        return None
    wrong = min(fit.validation.error for standing in standings for fit in standing.fits)
    return bound_validation_error(
        [list(standing.fits[0].certificate.singles) for standing in standings],
        seen_by_last(model, part.X),
        part.y,
        seen_by_last(model, part.X_val),
        part.y_val,
        last.classes_,
        # A bound above what was reached would not help anybody.
        fewest_errors=round(wrong * len(np.asarray(part.y_val))),
    )


def choose(
    model: Any,
    X: MatrixLike,
    y: ArrayLike | None,
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
    sample_weight: ArrayLike | None = None,
    tighten: int = 4,
    enough: float = 1e-3,
    between: bool = False,
    confidence: float = 0.95,
    largest_loss: float | None = None,
    refit: bool = True,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    progress: bool | None = None,
) -> Choice:
    """Choose the value of a parameter by a validation split or by folds, and prove what can be.

    Clasificación lineal: with more complexity c = 1/(λn) the training loss falls, the loss on other
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
        The parameter: of the model, of a step (`"svm__lam"`, or `"lam"` where that is clear), or
        of a kernel (`"sigma"`, `"kernel__sigma"`). `over="kernel"` chooses among kernels.
    values : sequence, optional
        The values, each tried once. For "lam" the default is thirteen, evenly in the logarithm,
        from the mean squared length of the rows down to a millionth of it, or for a `Lasso` from
        where all coefficients are zero down to a ten-thousandth of it; for "n_estimators" and
        "max_iter", the number that the model has and its halves. Else they must be given.
    validation : float or (X_val, y_val), default=0.2
        The share of the rows to set aside, usually 0.1 to 0.3; or the rows to judge by.
    folds : int, splitter of scikit-learn or list of (train, validation) row numbers, optional
        In the place of `validation`.
    by : {"loss", "error"}, default="loss"
        What decides. Of equal values the simplest wins.
    loss : str or callable, optional
        "hinge", "log" or "zero-one" for classes; "squared", which is half the square, or
        "absolute" for numbers; or a function of y and the predictions that returns a number for
        each row. By default the log loss if the model has probabilities, else the hinge ("zero-one"
        where pairs of classes vote); "squared" for numbers. The hinge of several classes is the
        mean of that of each against the rest, which is what their machines minimize.
    scoring : str or scorer of scikit-learn, optional
        In the place of `loss`: the loss is then minus the score.
    complexity : {"rises", "falls"}, optional
        Whether larger values make the model more or less complex, for parameters of which it is
        not known. It orders the values, and tells the regimes apart.
    stratify : bool, default=True
        Whether a random split keeps the shares of the classes.
    groups : array of shape (n_samples,), optional
        Rows of one group are never on both sides of a split.
    sample_weight : array of shape (n_samples,), optional
        Weights for training and for the means of the validation. A pipeline hands them to its
        last step, or as scikit-learn's metadata routing says if that is switched on.
    tighten : int, default=4
        Fits that leave the choice open are repeated with a hundredth of their tol, or a hundredth
        of that, down to so many hundredths, and with four times the iterations and time for each.
        0 for never.
    enough : float, default=1e-3
        A choice that is proved to be within this part of the best is not tightened further; with
        0 until none is better at all.
    between : bool, default=False
        For the λ of a `LinearSVM`: also prove a lower bound on the validation error at every λ
        between the values, as `svm_path` does. It tells whether a finer grid could pay.
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
    _check(model, tighten, enough, confidence, n_jobs, by)
    classifies = is_classifier(model)
    refuse_source("choose", X)
    rows = read_rows(X, y, sample_weight, classifies, groups)
    parameter = find_parameter(model, over)
    measure = yardstick(model, len(np.unique(rows.y)) if classifies else 0, loss, scoring)
    parts = split(model, rows, validation, folds, stratify, random_state)
    if values is None:
        values = default_values(model, parameter, parts[0].X, parts[0].y)
    ordered, wanted = in_order(parameter, read_values(values, parameter), complexity)
    plan = Plan(rows, parameter, wanted, ordered, measure, by)
    threads = thread_count(n_jobs, len(parts) * len(wanted))
    fitter = Fitter(model, parameter, measure, alone=threads == 1)
    watch = FitMonitor("choose", progress, len(parts) * len(wanted))
    standings = _fitted(plan, fitter, parts, threads, tighten, enough, watch)
    result = concluded(plan, standings, parts, watch.interrupted)
    best = standings[result.best_index]
    single = parts[0] if folds is None else None
    by_class = stratify and not isinstance(validation, tuple | list)
    goal = Goal(confidence, largest_loss, tighten, by_class)
    result = replace(
        result,
        hold_out=bound_for_future_rows(plan, fitter, standings, best.fits[0], single, goal),
        validated_model_=fitter.as_given(best.fits[0].model) if single else None,
        between=bound_between(plan, standings, single) if between else None,
    )
    _warn(result)
    if refit and not result.interrupted:
        result = replace(result, best_model_=_refitted(plan, model, best))
    return result


def _check(model: Any, tighten: Any, enough: Any, confidence: Any, n_jobs: Any, by: Any) -> None:
    check_estimator(model)
    if not is_whole(tighten) or tighten < 0:
        raise ParameterError(
            "tighten", f"tighten must be a whole number from 0 on, not {tighten!r}."
        )
    if not is_number(enough) or not 0 <= enough < 1:
        raise ParameterError(
            "enough", f"enough must lie between 0 and 1, such as 0.001, not {enough!r}."
        )
    check_fraction(confidence, "confidence")
    check_jobs(n_jobs)
    if by not in ("loss", "error"):
        raise ParameterError("by", f"by must be 'loss' or 'error', not {by!r}.")


def _fitted(
    plan: Plan,
    fitter: Fitter,
    parts: list[DataSplit],
    threads: int,
    tighten: int,
    enough: float,
    watch: FitMonitor,
) -> list[Standing]:
    """Fit all values, and again those whose gap could change the winner."""
    with watch, watch.listening():
        found = fit_all(fitter, plan.values, parts, threads, watch)
        standings = standings_of(plan.values, found, len(parts))
        for _ in range(tighten):
            again = doubtful(fitter, standings, found, plan, tighten, enough)
            if not again or watch.interrupted:
                break
            tighten_all(fitter, found, again, parts, threads, watch)
            standings = standings_of(plan.values, found, len(parts))
    watch.pass_on()
    return standings


def _warn(result: Choice) -> None:
    if result.missed.any():
        late = [number(v) for v, m in zip(result.values, result.missed, strict=True) if m]
        words = "The gap asked for was not proved at {over} = {values}. {ranking}"
        message = say(words, over=result.over, values=", ".join(late), ranking=result.ranking)
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
    if result.interrupted:
        words = "Interrupted: {count} values were finished; no model was fitted on all the data."
        message = say(words, count=len(result.values))
        warnings.warn(message, InterruptedWarning, stacklevel=3)


def _refitted(plan: Plan, model: Any, standing: Standing) -> Any:
    """Return the chosen value on all the data, as tightly as it was last fitted."""
    best = plan.parameter.copy_with(model, standing.value)
    tightest = max(standing.fits, key=lambda fit: fit.tightened)
    if tightest.tightened:
        name = inside(model) + "tol"
        best.set_params(**{name: tightest.model.get_params(deep=True)[name]})
    return best.fit(plan.rows.X, plan.rows.y, **weights_for(best, plan.rows.weights))


# ---- from the fits of all values to the choice, and what it proves of rows to come ---------------

STRATIFIED = (
    "The rows were set aside class by class, so their classes are not independent draws, and the "
    "bound is an approximation; stratify=False makes it exact."
)
ABOUT = "It is about the model fitted on the training rows, `validated_model_`."
OF_FOLDS = (
    "No bound for future rows: the rows of the folds have been trained on. Keep a test set apart "
    "and give its mistakes to `hold_out_bound`."
)
OF_GROUPS = (
    "No bound for future rows: rows of one group are no independent draws. Keep groups apart and "
    "give the share of mistakes of each to `hold_out_bound`."
)
UNBOUNDED = (
    "No bound for future rows: this loss has no largest value. If it has one here, give it to "
    "`cotas.choose` as largest_loss."
)


@dataclass(frozen=True)
class Goal:
    """A goal: what the bound depends on besides the mistakes."""

    confidence: float
    largest_loss: float | None
    tighten: int
    stratified: bool


def bound_for_future_rows(
    plan: Plan,
    fitter: Fitter,
    standings: Sequence[Standing],
    chosen: Fit,
    part: DataSplit | None,
    goal: Goal,
) -> Certificate:
    """Return the bound for the error of the chosen model, corrected for the choice, or why not."""
    classifies, measure = plan.measure.classifies, plan.measure
    if part is None:
        return no_certificate(OF_FOLDS)
    if plan.rows.groups is not None:
        return no_certificate(say(OF_GROUPS))
    if part.weights_val is not None:
        return no_certificate("No bound for future rows: the rows have weights.")
    if goal.largest_loss is None and not classifies:
        return no_certificate(UNBOUNDED)
    if goal.largest_loss is not None and measure.scorer is not None:
        return no_certificate("No bound for future rows: a score has no loss for each row.")
    forms = _forms(fitter, standings, goal)
    tried = forms * len(plan.values)
    if goal.largest_loss is None:
        predicted = np.asarray(chosen.model.predict(part.X_val)).ravel()
        bound = HeldOut(predicted, goal.confidence, tried).check(part.X_val, part.y_val)
    else:
        losses, _ = measure.rows(chosen.model, part.X_val, part.y_val)
        bound = hold_out_bound(losses, None, goal.confidence, tried, largest=goal.largest_loss)
    notes = [ABOUT]
    if forms > 1:
        notes.append(
            say(
                "{tried} are {count} values, each of which may have been judged at any of {forms} "
                "levels of tol (tighten={tighten}).",
                tried=tried,
                count=len(plan.values),
                forms=forms,
                tighten=goal.tighten,
            )
        )
    if goal.stratified and classifies:
        notes.append(STRATIFIED)
    return bound.noted(*notes)


def _forms(fitter: Fitter, standings: Sequence[Standing], goal: Goal) -> int:
    """Count in how many forms a value may have been chosen: these rows decided which fits to
    repeat."""
    fits = [standing.fits[0] for standing in standings]
    repeats = any(fit.tightened or fitter.can_be_tighter(fit) for fit in fits)
    return 1 + goal.tighten * repeats


@dataclass(frozen=True)
class Plan:
    """A plan: what is to be chosen, and by what."""

    rows: CheckedRows
    parameter: Parameter
    values: list[Any]
    ordered: bool
    measure: Yardstick
    by: str


def standings_of(values: list[Any], found: dict[Key, Fit], n_parts: int) -> list[Standing]:
    """Return the values that were fitted on all parts."""
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


def doubtful(
    fitter: Fitter,
    standings: Sequence[Standing],
    found: dict[Key, Fit],
    plan: Plan,
    deepest: int,
    enough: float,
) -> dict[Key, int]:
    """Find the fits whose gap could change the winner, each with the level it should be repeated
    at."""
    scores = _scores(standings, plan)
    best = winner(scores)
    intervals = [standing.interval(plan.by, plan.measure) for standing in standings]
    parts = parts_to_settle(scores, intervals, best, plan.by, enough * abs(scores[best]))
    again = {}
    for v, part in parts.items():
        for fit in standings[v].fits:
            if not fitter.can_be_tighter(fit) or fit.tightened >= deepest:
                continue
            level = fit.tightened + 1
            while level < deepest and fitter.tol_at(fit, level) > part * fit.gap:
                level += 1
            key = next(key for key, other in found.items() if other is fit)
            again[key] = level
    return again


def concluded(
    plan: Plan, standings: Sequence[Standing], parts: list[DataSplit], interrupted: bool
) -> Choice:
    measure = plan.measure
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
    # The λ of the passive-aggressive algorithm limits a step, and is in no objective.
    last = final_step(standings[0].fits[0].model)
    is_lam = plan.parameter.name == "lam" and not isinstance(last, PassiveAggressive)
    made = what_fits_made(standings, measure, parts, interrupted)
    return Choice(
        **made,
        over=plan.parameter.over,
        values=tuple(standing.value for standing in standings),
        c=np.array([1.0 / (s.value * size) for s in standings]) if is_lam else None,
        fold_losses=np.array([[fit.validation.loss for fit in s.fits] for s in standings]),
        loss_interval=intervals["loss"],
        error_interval=intervals["error"],
        regimes=regimes_of(best, made["training_loss"], made["validation_loss"], plan.ordered),
        tightened=np.array([max(fit.tightened for fit in s.fits) for s in standings]),
        best_index=best,
        safe=safe,
        ranking=ranking,
        regret=regret(decisive, best),
        hold_out=no_certificate("not yet"),
        by=plan.by,
        n_training=round(np.mean([len(part.y) for part in parts])),
        seconds=np.array([sum(fit.seconds for fit in s.fits) for s in standings]),
    )
