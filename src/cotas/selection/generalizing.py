"""What the validation rows prove of rows to come, for the model that they have chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cotas.certificates import Certificate, HeldOut, hold_out_bound, no_certificate
from cotas.selection.deciding import Plan
from cotas.selection.fits import Fit, Fitter
from cotas.selection.ranking import Standing
from cotas.selection.splits import Part
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
