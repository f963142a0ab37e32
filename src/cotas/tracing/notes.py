"""Where the numbers of a run are not those of its page, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cotas.tracing import printed
from cotas.tracing.printed import Printed
from cotas.words import say

PEGASOS = (printed.PEGASOS, printed.PEGASOS_WITH_BIAS, printed.STOCHASTIC_SUBGRADIENT)
SVM = (*PEGASOS, printed.SUBGRADIENT_DESCENT, printed.KERNEL_PEGASOS)
BOOSTING = (printed.ADABOOST, printed.REAL_ADABOOST, printed.GENTLEBOOST)
DRAWS = (printed.LEAST_SQUARES_BY_DRAWS, printed.RIDGE_BY_DRAWS)
DESCENT = (printed.BATCH_DESCENT, printed.STOCHASTIC_DESCENT, printed.MINI_BATCHES, *DRAWS)


def notes(model: Any, page: Printed) -> tuple[str, ...]:
    """What has to be known to compute the numbers of the steps from the lines of the page."""
    kinds: tuple[tuple[tuple[Printed, ...], Callable[[Any, Printed], Iterator[str]]], ...] = (
        ((printed.PASSIVE_AGGRESSIVE,), _of_passive_aggressive),
        (SVM, _of_svm),
        ((printed.SMO,), _of_pairs),
        (BOOSTING, _of_boosting),
        (DESCENT, _of_descent),
    )
    return tuple(note for pages, found in kinds if page in pages for note in found(model, page))


def _of_passive_aggressive(model: Any, page: Printed) -> Iterator[str]:
    if model.fit_intercept:
        yield say(
            "The page has no bias: here xᵢ stands for (xᵢ, 1), so that ‖xᵢ‖² is one more and θ₀ "
            "moves by η yᵢ."
        )
    if model.average:
        yield say("The model is the average of all the θ.")


def _of_svm(model: Any, page: Printed) -> Iterator[str]:
    if model.fit_intercept:
        yield say(
            "The page does not move the bias: here θ₀ moves by min(η, 1/√t) yᵢ where θ moves "
            "towards yᵢxᵢ, and the model that is returned has the best θ₀ for its θ."
        )
    if page is printed.PEGASOS_WITH_BIAS:
        yield say("A margin of exactly 1 counts as smaller than 1.")
    if page is printed.PEGASOS and model.step != "1/t":
        yield say("η is what `step` says, and not 1/t.")
    if page is not printed.SUBGRADIENT_DESCENT and model.sampling != "replacement":
        yield say("An epoch shows each example once, where the page draws one at a time.")
    if getattr(model, "project", False):
        yield say("After each step θ is projected on the ball of radius 1/√λ.")
    if getattr(model, "average", False):
        yield say("The model is the average of all the θ.")


def _of_pairs(model: Any, page: Printed) -> Iterator[str]:
    yield say(
        "αᵢ is λ times that of the page, so that its limit is 1/n where the page has C = 1/(λn); "
        "yᵢαᵢ moves by λ(sⱼ − sᵢ)/(kᵢᵢ + kⱼⱼ − 2kᵢⱼ), s being the slopes, unless a limit is met."
    )


def _of_boosting(model: Any, page: Printed) -> Iterator[str]:
    if page is printed.ADABOOST:
        yield say(
            "The vote is ½cₘ: F is half the sum of the page, with the same sign, and minimizes J. "
            "A learner without errors gets a vote larger than all the others together."
        )
    if page is printed.REAL_ADABOOST:
        yield say("pₘ is kept between 10⁻⁶ and 1 − 10⁻⁶.")
    if model.learning_rate != 1.0:
        yield say("What a round adds to F is multiplied by `learning_rate`.")
    if getattr(model, "multiclass", "ovr") == "samme" and len(model.classes_) > 2:
        yield say("cₘ is larger by ln(K − 1): each learner names one of K classes.")


def _of_descent(model: Any, page: Printed) -> Iterator[str]:
    if page is printed.BATCH_DESCENT:
        yield say("η multiplies the mean over the n examples: the α of the page is η/n.")
    if page in DRAWS and model.fit_intercept:
        yield say("The page has no bias: here xₜ stands for (xₜ, 1), and θ₀ is not shrunk.")
    if page not in DRAWS and model._lam() > 0:
        yield say("The page has no penalty: here λθ is added to the gradient, not for θ₀.")
    if model.standardize:
        yield say("The steps are made with standardized columns; θ is shown in the data's units.")
