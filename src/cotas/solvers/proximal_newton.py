"""Newton's method where the penalty has corners: logistic and softmax regression with ℓ1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import lstsq

from cotas.arrays import FloatArray, IntArray, Matrix
from cotas.design.blocks import row_block, row_spans, times, times_transposed
from cotas.solvers.lasso_gram import newton as walk_to_the_face
from cotas.solvers.lasso_gram import sweep
from cotas.solvers.lasso_state import GramState, afresh
from cotas.solvers.newton import NewtonPoint
from cotas.solvers.penalties import Penalty
from cotas.solvers.risks import Local, LogLoss

# So many coefficients at a time may join those that are not zero; each step lets others in.
FEWEST_JOINING, JOINING = 100, 1.0
# Rounds of sweeps and walks on the quadratic model. It counts as solved when the largest move of a
# sweep is this share, times the relative gap there was, of the largest before.
ROUNDS, SWEEPS, SOLVED = 20, 30, 0.1
# Two evaluations of one objective differ by less; so many steps may be made below that.
ROUNDINGS, LAST_STEPS = 16 * 2.0**-52, 4


def proximal_newton(
    X: Matrix,
    loss: LogLoss,
    lam1: float,
    lam2: float,
    bias: bool,
    start: tuple[FloatArray, FloatArray] | None = None,
) -> Iterator[NewtonPoint]:
    """Iterates of the proximal Newton method with a line search.

        min  loss(Xθ + θ₀) + λ₁‖θ‖₁ + (λ₂/2)‖θ‖²

    A step minimizes the quadratic model of the loss with the penalty as it is, over a working set
    (Yuan, Ho and Lin 2012), and is halved until the objective falls. The bias is taken out of the
    model beforehand, and what is left is a Lasso on a Gram matrix. Departures: the model is solved
    by sweeps and walks to faces, as the Lasso is. Invariant: the objective never rises, but for
    rounding.
    Cost: O(nnz) and O(nm²) a step, m being the coefficients in the working set.
    It ends when rounding allows no further descent.
    """
    d, k = X.shape[1], loss.columns
    theta, theta0 = np.zeros((d, k)), np.zeros(k)
    if start is not None:
        theta, theta0 = start[0].reshape(d, k).copy(), np.ravel(start[1]).astype(np.float64)
    scores, last_steps = times(X, theta) + theta0, 0
    while True:  # until the caller has seen enough
        local = loss.near(scores)
        pull = times_transposed(X, local.slopes)
        rest = local.slopes.sum(axis=0) * bias
        objective = local.risk + penalty_of(theta, lam1, lam2)
        # And about what it will cost to bring the sums of the slopes to zero.
        gap = objective - dual_value(partial(loss.entropy, local.slopes), theta, pull, lam1, lam2)
        gap = max(0.0, gap + float(np.abs(rest) @ (1.0 + np.abs(theta0))))
        yield NewtonPoint(theta.copy(), theta0.copy(), objective, gap, local.slopes, scores)
        gradient = pull + lam2 * theta
        used = working_set(theta, gradient, lam1)
        enough = SOLVED * min(1.0, gap / objective)
        model = QuadraticModel(*second_derivatives(X, local, used), bias)
        move, move0 = model.solve(theta[used], gradient[used], rest, lam1, lam2, enough)
        step = np.zeros((d, k))
        step[used] = move
        moves = times(X, step) + move0
        # What the model with the penalty as it is promises (Tseng and Yun 2009).
        promised = float((gradient * step).sum() + rest @ move0)
        promised += lam1 * float(np.abs(theta + step).sum() - np.abs(theta).sum())
        # Near the end a step still halves the gap, and the objective no longer tells.
        slack = ROUNDINGS * objective
        last_steps += promised > -slack
        if not promised < slack or last_steps > LAST_STEPS or not moves.any():
            return
        length = 1.0
        while True:
            moved = theta + length * step
            value = loss.risk(scores + length * moves) + penalty_of(moved, lam1, lam2)
            if value <= objective + 1e-4 * length * promised + slack:
                break
            length /= 2
            if length < 1e-10:
                return  # the last digits are used up
        theta, theta0, scores = moved, theta0 + length * move0, scores + length * moves


def penalty_of(theta: FloatArray, lam1: float, lam2: float) -> float:
    """λ₁‖θ‖₁ + (λ₂/2)‖θ‖²"""
    return lam1 * float(np.abs(theta).sum()) + 0.5 * lam2 * float(np.square(theta).sum())


def dual_value(
    entropy: Callable[[float], float],
    theta: FloatArray,
    pull: FloatArray,
    lam1: float,
    lam2: float,
) -> float:
    """D(tsℓ') = entropy(t) − Ω*(−tu), u being Xᵀ(s·ℓ'), without what the sum of the slopes costs.

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
    """The coefficients that are not zero, and those that most want to be otherwise.

    Where there are `most` of the former or more, those of all that most want to move.
    """
    used = np.count_nonzero(theta)
    if used >= most:
        excess = np.abs(gradient + lam1 * np.sign(theta)) - lam1 * (theta == 0)
    else:
        excess = np.where(theta != 0, np.inf, np.abs(gradient) - lam1)
    wanted = np.flatnonzero(excess.ravel() > 0)
    room = int(min(most, (1 + JOINING) * used + FEWEST_JOINING))
    if len(wanted) > room:
        order = np.argpartition(-excess.ravel()[wanted], room)
        wanted = np.sort(wanted[order[:room]])
    features, classes = np.unravel_index(wanted, theta.shape)
    return features, classes


class QuadraticModel(NamedTuple):
    """½ΔᵀHΔ + g·Δ near the present θ and θ₀, over some coefficients (feature, score).

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
        enough: float,
    ) -> tuple[FloatArray, FloatArray]:
        """The moves of the coefficients and of the biases that minimize model and penalty."""
        hessian, border = self.hessian.copy(), self.border
        hessian.flat[:: len(hessian) + 1] += lam2
        away = np.zeros((len(self.corner), len(theta) + 1))
        if self.bias:
            # Moving all the biases together changes nothing: the shortest solution is taken.
            away = lstsq(self.corner, np.column_stack([border.T, rest]))[0]
            hessian -= border @ away[:, :-1]
            gradient = gradient - border @ away[:, -1]
        state = GramState(hessian, hessian @ theta - gradient, theta.copy(), -gradient)
        _minimize(state, lam1, enough)
        move = state.beta - theta
        return move, -(away[:, :-1] @ move + away[:, -1])


def second_derivatives(
    X: Matrix, local: Local, used: tuple[IntArray, IntArray]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """By some coefficients (feature, score), by these and biases, and by biases."""
    (features, classes), k = used, local.diagonal.shape[1]
    m = len(features)
    needed, place = np.unique(features, return_inverse=True)
    hessian, border = np.zeros((m, m)), np.zeros((m, k))
    of = [np.flatnonzero(classes == c) for c in range(k)]
    for span in row_spans(X, max(1, len(needed))):
        block = row_block(X, span)[:, needed]
        block = block.toarray() if sparse.issparse(block) else block
        for a in range(k):
            left = block[:, place[of[a]]]
            for b in range(a, k):
                bent = left * local.second(a, b)[span, None]
                border[of[a], b] += bent.sum(axis=0)
                right = left if a == b else block[:, place[of[b]]]
                hessian[np.ix_(of[a], of[b])] += bent.T @ right
                if a != b:
                    border[of[b], a] += right.T @ local.second(a, b)[span]
    for a in range(k):
        for b in range(a):
            hessian[np.ix_(of[a], of[b])] = hessian[np.ix_(of[b], of[a])].T
    corner = np.array([[local.second(a, b).sum() for b in range(k)] for a in range(k)])
    return hessian, border, corner


def _minimize(state: GramState, lam1: float, enough: float) -> None:
    """½βᵀGβ − c·β + λ₁‖β‖₁ until the sweeps hardly move anything."""
    m, first, penalty = len(state.c), 0.0, Penalty(lam1)
    for _ in range(ROUNDS):
        for _ in range(SWEEPS):
            moved = sweep(state, m, penalty)
            first = max(first, moved)
            if moved <= enough * first:
                return
        walk_to_the_face(state, m, penalty)
        afresh(state, m)
