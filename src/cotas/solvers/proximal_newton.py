"""Newton's method where the penalty has corners: logistic and softmax regression with ℓ1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lstsq

from cotas.arrays import FloatArray, IntArray, Matrix
from cotas.problem import RegularizedRisk, SoftmaxRisk
from cotas.solvers.lasso_gram import GramState, afresh, sweep
from cotas.solvers.lasso_gram import newton as walk_to_the_face
from cotas.solvers.newton import NewtonPoint, first_point, newton
from cotas.solvers.penalties import ElasticNetPenalty
from cotas.solvers.risks import MeanLogLoss
from cotas.solvers.smooth_rows import SHORTEST, BlockPlace, LossPoint, rows_with
from cotas.source import Source

# So many coefficients at a time may join those that are not zero; each step lets others in.
FEWEST_JOINING, JOINING = 100, 1.0
# Rounds of sweeps and walks on the quadratic model. It counts as solved when the largest move of a
# sweep is this share, times the relative gap there was, of the largest before.
ROUNDS, SWEEPS, SOLVED = 20, 30, 0.1
# Two evaluations of one objective differ by less; so many steps may be made below that.
ROUNDINGS, LAST_STEPS = 16 * 2.0**-52, 4


def newton_points(
    X: Matrix | Source,
    loss: Any,
    problem: RegularizedRisk | SoftmaxRisk,
    start: tuple[FloatArray, FloatArray] | None = None,
) -> Iterator[NewtonPoint]:
    """Return those of Newton's method, or of the proximal one where the penalty has corners."""
    lam, ratio, free = problem.lam, problem.l1_ratio, problem.free_bias
    if ratio:
        return proximal_newton(X, loss, lam * ratio, lam * (1.0 - ratio), free, start)
    return newton(X, loss, lam, free, start)


def proximal_newton(
    X: Matrix | Source,
    loss: MeanLogLoss | Any,
    lam1: float,
    lam2: float,
    bias: bool,
    start: tuple[FloatArray, FloatArray] | None = None,
) -> Iterator[NewtonPoint]:
    """Yield the iterates of the proximal Newton method with a line search.

        min  loss(Xθ + θ₀) + λ₁‖θ‖₁ + (λ₂/2)‖θ‖²

    A step minimizes the quadratic model of the loss with the penalty as it is, over a working set
    (Yuan, Ho and Lin 2012), and is shortened until the objective falls. The bias is taken out of
    the model beforehand, and what is left is a Lasso on a Gram matrix. X may be a source of row
    blocks, as for `newton`; with very many unknowns the Hessian is then another pass. Departures:
    the model is solved by sweeps and walks to faces, as the Lasso is. Invariant: the objective
    never rises, but for rounding.
    Cost: O(nnz) and O(nm²) a step, m being the coefficients in the working set.
    It ends when rounding allows no further descent.
    """
    rows = rows_with(X, loss, bias, corners=True)
    point, last_steps = first_point(rows.shape, start), 0
    place: LossPoint | BlockPlace = rows.at(point)
    objective = place.risk + penalty_of(point[:-1], lam1, lam2)
    while True:  # until the caller has seen enough
        theta, theta0, slopes = point[:-1], point[-1], place.gradient()
        rest = slopes[-1]
        # And about what it will cost to bring the sums of the slopes to zero.
        gap = objective - dual_value(place.entropy, theta, slopes[:-1], lam1, lam2)
        gap = max(0.0, gap + float(np.abs(rest) @ (1.0 + np.abs(theta0))))
        model = (theta.copy(), theta0.copy())
        yield NewtonPoint(*model, objective, gap, place.slopes, place.scores)
        gradient = slopes[:-1] + lam2 * theta
        used = working_set(theta, gradient, lam1, rows.most_used)
        tolerance = SOLVED * min(1.0, gap / objective)
        hessian, border, corner = place.second_of(used)
        near, step = QuadraticModel(hessian, border, corner, bias), np.zeros(rows.shape)
        move = near.solve(theta[used], gradient[used], rest, lam1, lam2, tolerance)
        step[:-1][used], step[-1] = move
        # What the model with the penalty as it is promises (Tseng and Yun 2009).
        promised = float((gradient * step[:-1]).sum() + rest @ step[-1])
        promised += lam1 * float(np.abs(theta + step[:-1]).sum() - np.abs(theta).sum())
        # Near the end a step still halves the gap, and the objective no longer tells.
        slack = ROUNDINGS * objective
        last_steps += promised > -slack
        if not promised < slack or last_steps > LAST_STEPS or not step.any():
            return
        line, length = place.along(step), 1.0
        while True:
            moved, there = point + length * step, line.at(length)
            value = there.risk + penalty_of(moved[:-1], lam1, lam2)
            if value <= objective + 1e-4 * length * promised + slack:
                break
            length *= rows.shorter
            if length < SHORTEST:
                return  # the last digits are used up
        point, place, objective = moved, there, value


def penalty_of(theta: FloatArray, lam1: float, lam2: float) -> float:
    """Compute λ₁‖θ‖₁ + (λ₂/2)‖θ‖²"""
    return lam1 * float(np.abs(theta).sum()) + 0.5 * lam2 * float(np.square(theta).sum())


def dual_value(
    entropy: Callable[[float], float],
    theta: FloatArray,
    pull: FloatArray,
    lam1: float,
    lam2: float,
) -> float:
    """Compute D(tsℓ') = entropy(t) − Ω*(−tu), u being Xᵀ(s·ℓ'), without what the sum of the slopes
    costs.

    t puts u less what λ₂θ takes of it into the domain of Ω* without λ₂.
    """
    top = float(np.abs(pull + lam2 * theta).max(initial=0.0))
    t = min(1.0, lam1 / top) if top > 0 else 1.0
    over = np.maximum(np.abs(t * pull) - lam1, 0.0)
    paid = float(np.square(over).sum()) / (2.0 * lam2) if lam2 else 0.0
    return entropy(t) - paid


def working_set(
    theta: FloatArray, gradient: FloatArray, lam1: float, most: float = np.inf
) -> tuple[IntArray, IntArray]:
    """Return the coefficients that are not zero, and those that most want to be otherwise.

    Where there are `most` of the former or more, those of all that most want to move.
    """
    used = np.count_nonzero(theta)
    if used >= most:
        violation = np.abs(gradient + lam1 * np.sign(theta)) - lam1 * (theta == 0)
    else:
        violation = np.where(theta != 0, np.inf, np.abs(gradient) - lam1)
    wanted = np.flatnonzero(violation.ravel() > 0)
    room = int(min(most, (1 + JOINING) * used + FEWEST_JOINING))
    if len(wanted) > room:
        order = np.argpartition(-violation.ravel()[wanted], room)
        wanted = np.sort(wanted[order[:room]])
    features, classes = np.unravel_index(wanted, theta.shape)
    return features, classes


class QuadraticModel(NamedTuple):
    """The quadratic model ½ΔᵀHΔ + g·Δ near the present θ and θ₀, over some coefficients (feature,
    score).

    The second derivatives are by coefficients, by coefficients and biases, and by biases.
    """

    hessian: FloatArray
    border: FloatArray
    corner: FloatArray
    bias: bool

    def solve(
        self,
        theta: FloatArray,
        gradient: FloatArray,
        rest: FloatArray,
        lam1: float,
        lam2: float,
        tolerance: float,
    ) -> tuple[FloatArray, FloatArray]:
        """Find the moves of the coefficients and of the biases that minimize model and penalty."""
        hessian, border = self.hessian.copy(), self.border
        hessian.flat[:: len(hessian) + 1] += lam2
        away = np.zeros((len(self.corner), len(theta) + 1))
        if self.bias:
            # Moving all the biases together changes nothing: the shortest solution is taken.
            away = lstsq(self.corner, np.column_stack([border.T, rest]))[0]
            hessian -= border @ away[:, :-1]
            gradient = gradient - border @ away[:, -1]
        state = GramState(hessian, hessian @ theta - gradient, theta.copy(), -gradient)
        _minimize(state, lam1, tolerance)
        move = state.beta - theta
        return move, -(away[:, :-1] @ move + away[:, -1])


def _minimize(state: GramState, lam1: float, tolerance: float) -> None:
    """Minimize ½βᵀGβ − c·β + λ₁‖β‖₁ until the sweeps hardly move anything."""
    m, first, penalty = len(state.c), 0.0, ElasticNetPenalty(lam1)
    for _ in range(ROUNDS):
        for _ in range(SWEEPS):
            moved = sweep(state, m, penalty)
            first = max(first, moved)
            if moved <= tolerance * first:
                return
        walk_to_the_face(state, m, penalty)
        afresh(state, m)
