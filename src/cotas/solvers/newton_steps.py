"""Newton's steps on a smooth loss in one compiled call, for small tables.

The steps are those of `newton`, for one score. A table of a few thousand entries is gone over in
microseconds, less than it takes Python to call a function.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.design import Design, add, dot, n_features, n_vectors
from cotas.loops import loop_in_place
from cotas.solvers.iterate import Checkpoint
from cotas.solvers.losses import derivatives, total
from cotas.solvers.newton import NewtonPoint, first_point
from cotas.solvers.newton_round import RoundedProblem, room_for, solve

EPS = 2.0**-52


class ScoreState(NamedTuple):
    """The state of each row."""

    y: FloatArray
    weights: FloatArray
    scores: FloatArray
    moves: FloatArray  # of the scores along a step
    slopes: FloatArray  # s·ℓ'
    curvatures: FloatArray  # s·ℓ''


def newton_on_small_table(
    rows: Any,
    loss: Any,
    y: FloatArray,
    weights: FloatArray,
    lam: float,
    bias: float,
    start: tuple[FloatArray, FloatArray] | None,
    checkpoint: Checkpoint,
) -> Iterator[NewtonPoint]:
    """Yield points of Newton's method until they no longer get on: those to look at, after the
    first.

        min  Σ sᵢ ℓ(yᵢ, θ·xᵢ + θ₀) + (λ/2)‖θ‖²,    the bias not penalized

    Invariant and cost are those of `newton`.
    """
    n, d = n_vectors(rows), n_features(rows)
    model, problem = first_point((d + 1, 1), start)[:, 0], RoundedProblem(lam, bias)
    state, room = ScoreState(y, weights, *np.zeros((4, n))), (*room_for(n, d), np.empty(d + 1))
    if start is not None:
        place(rows, model, state.scores)
    gets_on = first = True
    while gets_on:
        given = (rows, loss, state, problem, model)
        steps, gets_on, objective, gap = newton_steps(*given, *checkpoint, *room)
        if steps or first:
            slopes, scores = (part.copy()[:, None] for part in (state.slopes, state.scores))
            point = model[:-1, None].copy(), model[-1:].copy()
            yield NewtonPoint(*point, objective, gap, slopes, scores, steps)
        first, checkpoint = False, checkpoint.next()


@loop_in_place
def place(rows: Design, model: FloatArray, scores: FloatArray) -> None:
    """Compute the scores of all rows."""
    d = len(model) - 1
    for i in range(len(scores)):
        scores[i] = dot(rows, i, model[:d]) + model[d]


@loop_in_place
def newton_steps(
    rows: Design, loss: Any, state: ScoreState, problem: RoundedProblem, model: FloatArray,
    most: int, target_gap: float, curved: IntArray, system: FloatArray, step: FloatArray,
    gradient: FloatArray,
) -> tuple[int, bool, float, float]:  # fmt: skip
    """Take at most so many steps from θ and θ₀, which `model` holds and keeps.

    They end with a relative gap that is `target_gap`. Returns how many there were, whether more
    would get on, the objective, and how far it may be above the best. The last four are room to
    work in.
    """
    n, d, steps = len(state.y), len(model) - 1, 0
    while True:
        objective = derivatives(
            loss, state.y, state.weights, state.scores, state.slopes, state.curvatures
        ) + _penalty(problem.lam, model, step, 0.0)
        gap = _differentiate(rows, state.slopes, problem, model, gradient)
        if steps == most or (steps > 0 and gap <= target_gap * objective):
            return steps, True, objective, gap
        promised, count = 0.0, 0
        for i in range(n):
            if state.curvatures[i] > 0.0:
                curved[count] = i
                count += 1
        for j in range(d + 1):
            step[j] = -gradient[j]
        if not solve(rows, state.curvatures, curved, count, problem, 0.5, system):
            return steps, False, objective, gap
        for j in range(d + 1):
            promised += gradient[j] * step[j]
        length = _length(rows, loss, state, problem.lam, model, step, objective, promised)
        if not length > 0.0:
            return steps, False, objective, gap
        for i in range(n):
            state.scores[i] += length * state.moves[i]
        for j in range(d + 1):
            model[j] += length * step[j]
        steps += 1


@loop_in_place
def _penalty(lam: float, model: FloatArray, step: FloatArray, length: float) -> float:
    """Compute (λ/2)‖θ‖² after a part of the step."""
    square = 0.0
    for j in range(len(model) - 1):
        theta = model[j] + length * step[j] if length > 0.0 else model[j]
        square += theta * theta
    return 0.5 * lam * square


@loop_in_place
def _differentiate(
    rows: Design,
    slopes: FloatArray,
    problem: RoundedProblem,
    model: FloatArray,
    gradient: FloatArray,
) -> float:
    """Return the gradient, and how far the objective may be above the best."""
    d, square = len(model) - 1, 0.0
    for j in range(d):
        gradient[j] = problem.lam * model[j]
    gradient[d] = 0.0
    for i in range(len(slopes)):
        if slopes[i] != 0.0:
            add(rows, i, slopes[i], gradient[:d])
            gradient[d] += problem.bias * slopes[i]
    for j in range(d + 1):
        square += gradient[j] * gradient[j]
    return 0.5 * square / problem.lam


@loop_in_place
def _length(
    rows: Design, loss: Any, state: ScoreState, lam: float, model: FloatArray, step: FloatArray,
    objective: float, promised: float,
) -> float:  # fmt: skip
    """Find the part of the step with which the objective falls as promised; zero if there is none.

    What the curvatures were is lost.
    """
    n, d, length, far, size = len(state.y), len(model) - 1, 1.0, 0.0, 0.0
    for i in range(n):
        state.moves[i] = dot(rows, i, step[:d]) + step[d]
        far, size = max(far, abs(state.moves[i])), max(size, abs(state.scores[i]))
    size = size if size > 0.0 else 1.0
    while promised < 0.0 and length * far > EPS * size:
        for i in range(n):
            state.curvatures[i] = state.scores[i] + length * state.moves[i]
        value = total(loss, state.y, state.weights, state.curvatures)
        if value + _penalty(lam, model, step, length) <= objective + 1e-4 * length * promised:
            return length
        length *= 0.5
    return 0.0
