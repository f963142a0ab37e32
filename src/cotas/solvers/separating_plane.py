"""A hyperplane between two classes, or the proof that there is none.

Rows are folded into zᵢ = yᵢ(xᵢ, bias). For every u and every convex combination α

    minᵢ zᵢ·u / ‖u‖  ≤  γ*  ≤  ‖Σ αᵢ zᵢ‖,

so a u with a positive left side separates the classes, and an α with a vanishing right side
proves that nothing does. Both sides are computed here before either is handed out, and once more
by the checker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.optimize import brentq, linprog, nnls
from scipy.sparse.linalg import lsmr

from cotas.arrays import FloatArray, Matrix

# Takes the rows and an α to start from; gives an α and a u that may or may not prove something.
Attempt: TypeAlias = Callable[[Matrix, FloatArray], tuple[FloatArray, FloatArray]]

# ‖Σ αᵢzᵢ‖ is zero up to rounding below this fraction of the longest row, for each feature.
VANISHING = 4 * float(np.finfo(np.float64).eps)
# The widest margin is found when its two bounds agree to this fraction.
WIDEST = 1e-10
ROUNDS = 200
NEWTON_STEPS = 100
# Up to so many features the linear program takes less time than the squared hinge loss, and so
# little that Ctrl-C, which has no effect within one, is answered at once.
FEW_FEATURES = 60
# The first working set of the linear program.
ROWS_FOR_EACH_FEATURE = 5


class Undecided(RuntimeError):
    """An undecided case: neither proof exists in double precision: the margin, if any, is lost in
    rounding."""


@dataclass(frozen=True)
class Separator:
    """A separator: zᵢ·(u, u0) > 0 for every row."""

    u: FloatArray
    u0: float


@dataclass(frozen=True)
class ConvexCombination:
    """A convex combination: α ≥ 0 with sum 1 and Σ αᵢzᵢ = 0."""

    alpha: FloatArray


@dataclass(frozen=True)
class WidestMargin:
    """The separator with the largest margin, and the α with ‖Σ αᵢzᵢ‖ equal to that margin."""

    u: FloatArray
    u0: float
    alpha: FloatArray


def separate(X: Matrix, signs: FloatArray, bias: float) -> Separator | ConvexCombination:
    """Separate the classes, or prove that no hyperplane does.

        min Σ(p + q)   s.t.   Σ αᵢzᵢ + p − q = 0,   Σ αᵢ = 1,   α, p, q ≥ 0

    The dual variables of the first constraints are a u with |uⱼ| ≤ 1 that maximizes minᵢ zᵢ·u.
    Departures: columns are scaled by powers of two first; where the tolerance of the linear
    program hides a thin margin, the nearest point of the convex hull decides; with many features,
    where the linear program takes longer, the smallest squared hinge loss is tried before it.
    Invariant: what is returned has been checked in plain arithmetic. Cost: a linear program with
    as many rows as there are features.
    """
    rows = _folded(X, signs, bias)
    scale = _column_scale(rows)
    scaled = _scale_columns(rows, scale)
    alpha = np.full(len(signs), 1.0 / len(signs))
    for attempt in _attempts(scaled.shape[1]):
        alpha, u = attempt(scaled, alpha)
        if _separates(scaled, u):
            return _separator(u / scale, bias)
        if _vanishes(scaled, alpha):
            return ConvexCombination(alpha)
    raise Undecided(
        "Double precision cannot tell whether the data are separable: the margin lies between "
        f"{(scaled @ u).min():.1e} and {np.linalg.norm(scaled.T @ alpha):.1e} in scaled features."
    )


def _attempts(n_features: int) -> list[Attempt]:
    """Return what to try, the likeliest to decide in little time first."""
    if n_features <= FEW_FEATURES:
        return [_linear_program, _nearest_point, _squared_hinge]
    return [_squared_hinge, _linear_program, _nearest_point]


def widest_margin(X: Matrix, signs: FloatArray, bias: float, known: Separator) -> WidestMargin:
    """Find the separator with the largest minᵢ zᵢ·u / ‖u‖, for data that are known to be separable.

    Least distance programming: the point of the convex hull of the rows that is nearest to the
    origin is Σ αᵢzᵢ, and it is the best u (Lawson and Hanson 1974, chapter 23).
    Invariant: ‖Σ αᵢzᵢ‖ equals the margin of u up to the tolerance. Cost: a non-negative least
    squares problem on the rows near the margin, for each of a few rounds.
    """
    rows = _folded(X, signs, bias)
    separator = np.append(known.u, known.u0)
    separator /= np.linalg.norm(separator)
    margins = rows @ separator
    nearest = np.argsort(margins)[: max(20, rows.shape[1])]
    start = np.zeros(len(signs))
    start[nearest] = 1.0 / len(nearest)
    alpha, u = _nearest_point(rows, start)
    if (rows @ u).min() < margins.min():
        # Features of very different scales defeat least squares; the first separator stands.
        u = separator
    return WidestMargin(u[:-1], float(u[-1]), alpha)


def _folded(X: Matrix, signs: FloatArray, bias: float) -> Matrix:
    """Compute zᵢ = yᵢ(xᵢ, bias), in double precision."""
    column = np.full((X.shape[0], 1), bias)
    if sparse.issparse(X):
        rows = sparse.hstack([sparse.csr_array(X, dtype=np.float64), column], format="csr")
        return sparse.csr_array(sparse.diags_array(signs) @ rows)
    return np.hstack([X, column], dtype=np.float64) * signs[:, None]


def _column_scale(rows: Matrix) -> FloatArray:
    """Return a power of two for each column, so that dividing by it rounds nothing."""
    sizes: Any = abs(rows)
    largest = sizes.max(axis=0)
    largest = np.ravel(largest.toarray() if sparse.issparse(largest) else largest)
    return np.where(largest > 0, np.exp2(np.round(np.log2(np.where(largest > 0, largest, 1)))), 1)


def _scale_columns(rows: Matrix, scale: FloatArray) -> Matrix:
    if sparse.issparse(rows):
        return sparse.csr_array(rows @ sparse.diags_array(1.0 / scale))
    return rows / scale


def _linear_program(rows: Matrix, _: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the α and the u of the linear program above.

    Solved on a working set of rows, at first those farthest behind the mean of all, to which as
    many of the rows with the smallest zᵢ·u are added until none lies below the margin of the set:
    a program of all the rows takes minutes, and Ctrl-C has no effect within a program.
    """
    n, d = rows.shape
    products = rows @ np.asarray(rows.mean(axis=0)).ravel()
    chosen, alpha = np.zeros(n, dtype=bool), np.zeros(n)
    below = np.ones(n, dtype=bool)
    while below.any():
        number = max(ROWS_FOR_EACH_FEATURE * d, int(chosen.sum()))
        candidates = np.flatnonzero(below)
        chosen[candidates[np.argsort(products[candidates])[:number]]] = True
        weights, u = _program_of(rows[chosen])
        alpha[chosen] = weights
        products = rows @ u
        below = ~chosen & (products + _rounding(rows, u) < products[chosen].min())
        if _vanishes(rows, alpha):
            break
    return alpha, u


def _program_of(rows: Matrix) -> tuple[FloatArray, FloatArray]:
    """Return the α and the u of the linear program of a few rows."""
    n, d = rows.shape
    one = np.concatenate([np.ones(n), np.zeros(2 * d)])[None, :]
    if sparse.issparse(rows):
        eye = sparse.eye_array(d)
        constraints: Any = sparse.vstack([sparse.hstack([rows.T, eye, -eye]), one], format="csc")
    else:
        constraints = np.vstack([np.hstack([rows.T, np.eye(d), -np.eye(d)]), one])
    cost = 1.0 - one[0]
    target = np.zeros(d + 1)
    target[-1] = 1.0
    found = linprog(cost, A_eq=constraints, b_eq=target, method="highs")
    if found.x is None:
        raise Undecided(f"The linear program did not end: {found.message}")
    alpha = np.maximum(found.x[:n], 0.0)
    return _polished(rows, alpha / alpha.sum()), -np.asarray(found.eqlin.marginals[:-1])


def _squared_hinge(rows: Matrix, _: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Run Newton's method on min over u of Σ max(0, 1 − zᵢ·u)².

    A separator makes it zero. Otherwise the gradient Σ max(0, 1 − zᵢ·u) zᵢ vanishes at the
    minimum, and what is left of the losses is an α. A step solves least squares on the rows with
    a loss; what those equations leave over is orthogonal to the rows already.
    """
    n, d = rows.shape
    u, slack, alpha = np.zeros(d), np.ones(n), np.full(n, 1.0 / n)
    for _step in range(NEWTON_STEPS):
        loss = np.maximum(slack, 0.0)
        if not loss.any():
            break
        balance = float(np.linalg.norm(rows.T @ loss) / loss.sum())
        step, left = _least_squares_step(rows, loss, min(1e-3, 1e-2 * balance))
        length = _best_length(slack, rows @ step)
        u = u + length * step
        slack = 1.0 - rows @ u
        if balance < 1e-9 or length == 0.0:
            alpha = _least_squares_step(rows, left if left.any() else loss, 1e-15)[1]
            if alpha.any():
                alpha /= alpha.sum()
                break
        if (slack < 1.0).all():
            break
    return alpha if alpha.any() else np.full(n, 1.0 / n), u


def _least_squares_step(
    rows: Matrix, loss: FloatArray, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """Find the v with zᵢ·v nearest to the losses where there are any, and what it leaves of
    them."""
    active = np.flatnonzero(loss)
    chosen = rows[active]
    step = lsmr(chosen, loss[active], atol=tolerance, btol=tolerance, conlim=0, maxiter=2000)[0]
    left = np.zeros_like(loss)
    left[active] = np.maximum(loss[active] - chosen @ step, 0.0)
    return np.asarray(step), left


def _best_length(slack: FloatArray, along: FloatArray) -> float:
    """Return the t ≥ 0 with the least Σ max(0, slackᵢ − t·alongᵢ)²."""

    def slope(t: float) -> float:
        return -float(along @ np.maximum(slack - t * along, 0.0))

    if slope(0.0) >= 0.0:
        return 0.0
    longest = 1.0
    while slope(longest) < 0.0 and longest < 1e12:
        longest *= 2.0
    return longest if slope(longest) < 0.0 else float(brentq(slope, 0.0, longest))


def _separator(u: FloatArray, bias: float) -> Separator:
    """Scale the separator to largest entry 1, so that features of any scale give a u of an ordinary
    size."""
    u = np.append(u[:-1], bias * u[-1])
    u /= np.abs(u).max()
    return Separator(u[:-1], float(u[-1]))


def _separates(rows: Matrix, u: FloatArray) -> bool:
    """Tell whether every zᵢ·u is positive by more than its own rounding error."""
    return bool((rows @ u > _rounding(rows, u)).all())


def _rounding(rows: Matrix, u: FloatArray) -> FloatArray:
    """Return what rounding can change of each zᵢ·u."""
    return np.asarray(rows.shape[1] * np.finfo(np.float64).eps * (abs(rows) @ np.abs(u)))


def _vanishes(rows: Matrix, alpha: FloatArray) -> bool:
    longest = np.sqrt(_row_squares(rows).max())
    return bool(np.linalg.norm(rows.T @ alpha) <= VANISHING * rows.shape[1] * longest)


def _row_squares(rows: Matrix) -> FloatArray:
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1))
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _polished(rows: Matrix, alpha: FloatArray) -> FloatArray:
    """Return the same few rows, their weights solved for once more to the last digit."""
    support = np.flatnonzero(alpha > 0)
    corner = dense_rows(rows[support])
    weights = alpha[support]
    system = np.vstack([corner.T, np.ones(len(support))])
    target = np.append(np.zeros(corner.shape[1]), 1.0)
    correction = np.linalg.lstsq(system, target - system @ weights, rcond=None)[0]
    weights = np.maximum(weights + correction, 0.0)
    better = np.zeros_like(alpha)
    better[support] = weights / weights.sum()
    return better if np.linalg.norm(rows.T @ better) < np.linalg.norm(rows.T @ alpha) else alpha


def _nearest_point(rows: Matrix, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Find the point Σ αᵢzᵢ of the convex hull nearest to the origin, as α and as a unit vector u.

    Solved on a working set of rows, at first those of a given α, to which the rows with the
    smallest zᵢ·u are added until none lies below the margin of the set. The best α and the best
    u met on the way are kept: each is valid on its own.
    """
    chosen, best = np.flatnonzero(alpha > 0), np.zeros(rows.shape[1])
    margin, distance = 0.0, float(np.linalg.norm(rows.T @ alpha))
    for _ in range(ROUNDS):
        weights = _nearest_in_hull(dense_rows(rows[chosen]), distance)
        point = np.asarray(rows[chosen].T @ weights)
        length = float(np.linalg.norm(point))
        if length < distance:
            distance, alpha = length, np.zeros_like(alpha)
            alpha[chosen] = weights
        if length == 0.0:
            break
        products = rows @ (point / length)
        if products.min() > margin:
            margin, best = float(products.min()), point / length
        below = np.setdiff1d(np.flatnonzero(products < length * (1 - WIDEST)), chosen)
        if margin >= distance * (1 - WIDEST) or len(below) == 0:
            break
        worst = below[np.argsort(products[below])[: max(20, rows.shape[1])]]
        chosen = np.union1d(chosen[weights > 0], worst)
    return alpha, best


def _nearest_in_hull(corners: FloatArray, distance: float) -> FloatArray:
    """Compute min ‖Σ αᵢzᵢ‖ over convex combinations of a few rows, by non-negative least squares.

    In units of the distance expected, without which a thin margin would drown beside the one of
    the constraint Σ αᵢ = 1; the second pass knows the distance from the first.
    """
    longest = float(np.sqrt(_row_squares(corners).max())) or 1.0
    unit = max(min(distance, longest), 1e-14 * longest)
    for _ in range(3):
        system = np.vstack([corners.T / unit, np.ones(len(corners))])
        target = np.append(np.zeros(corners.shape[1]), 1.0)
        weights, _ = nnls(system, target, maxiter=30 * len(corners) + 100)
        weights = weights / weights.sum()
        found = float(np.linalg.norm(weights @ corners))
        if found >= 0.1 * unit or unit <= 1e-14 * longest:
            break
        unit = max(found, 1e-14 * longest)
    return np.asarray(weights)


def dense_rows(rows: Matrix) -> FloatArray:
    """Return a few rows as an array."""
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows)
