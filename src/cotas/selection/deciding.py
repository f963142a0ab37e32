"""From the fits of all values to the choice, and what it proves of rows to come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.certificates import Certificate, HeldOut, hold_out_bound, no_certificate
from cotas.linear.passive_aggressive import PassiveAggressive
from cotas.selection.choice import Choice, number, regimes_of
from cotas.selection.fits import Fit, Fitter
from cotas.selection.parameter import Parameter, final_step
from cotas.selection.ranking import (
    Standing,
    in_words,
    parts_to_settle,
    regret,
    what_fits_made,
    winner,
)
from cotas.selection.splits import CheckedRows, Part
from cotas.selection.walking import Key
from cotas.selection.yardstick import Yardstick
from cotas.words import say

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
    """What the bound depends on besides the mistakes."""

    confidence: float
    largest_loss: float | None
    tighten: int
    stratified: bool


def bound_for_future_rows(
    plan: Plan,
    fitter: Fitter,
    standings: Sequence[Standing],
    chosen: Fit,
    part: Part | None,
    goal: Goal,
) -> Certificate:
    """The bound for the error of the chosen model, corrected for the choice, or why not."""
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
    """In how many forms a value may have been chosen: these rows decided which fits to repeat."""
    fits = [standing.fits[0] for standing in standings]
    repeats = any(fit.tightened or fitter.can_be_tighter(fit) for fit in fits)
    return 1 + goal.tighten * repeats


@dataclass(frozen=True)
class Plan:
    """What is to be chosen, and by what."""

    rows: CheckedRows
    parameter: Parameter
    values: list[Any]
    ordered: bool
    measure: Yardstick
    by: str


def standings_of(values: list[Any], found: dict[Key, Fit], n_parts: int) -> list[Standing]:
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


def doubtful(
    fitter: Fitter,
    standings: Sequence[Standing],
    found: dict[Key, Fit],
    plan: Plan,
    deepest: int,
    enough: float,
) -> dict[Key, int]:
    """The fits whose gap could change the winner, each with the level it should be repeated at."""
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
    plan: Plan, standings: Sequence[Standing], parts: list[Part], interrupted: bool
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
