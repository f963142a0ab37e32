"""What the core chooses: where to measure from, which dual point and which multiple of it to try.

Whatever is answered here, the bounds hold: they are computed from what was chosen, and what would
not do is refused or moved into its domain by who asked. So none of this has to be trusted, only to
choose well. `tests/laws/exact/any_choice.py` has every function here answer at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from cotas.certificates.core.rounding import TINY, FloatArray, U, total

# Rows that are measured, twice as many at most, and entries of them where they are sparse.
# Wide rows are as many as have so many entries, but a quarter of those at least.
SAMPLE, LARGEST_SAMPLE, WIDEST_SAMPLE = 256, 1 << 22, 1 << 17
# A column is moved if its centre is so many times as far from zero as its rows are from it.
FAR = 4.0
# Multiples of the dual point that are tried where the best one has no formula.
MULTIPLES = (1.0, 0.999, 0.99, 0.9, 0.5, 0.1)
# Lower bounds of a curvature that are tried.
CURVATURES = (0.25, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
# Up to so many columns another basis is tried; whether from some rows only, and how often turned.
TURNED = 500
WAYS = ((True, 0), (False, 0), (True, 1), (True, 2), (False, 2))
# What bounds are moved apart by, as a part of the objective and of what rounding cost: the lower
# one too, if the other is no more than so many times as large.
APART, FELT, NEAR = 1e-10, 1 / 16, 64.0


# ---- rows ----------------------------------------------------------------------------------------


@np.errstate(all="ignore")
def frame(X: Any, movable: bool) -> tuple[FloatArray | None, FloatArray]:
    """Return what columns are moved by, and their units, by a look at some rows."""
    some, shift = some_rows(X), None
    if hasattr(X, "indptr"):  # to be moved, sparse rows would have to store zeros
        size = sparse_sizes(some if some.shape[0] * X.shape[1] < LARGEST_SAMPLE else some[:0])
    else:
        columns = in_columns(some)
        shift = shift_of(columns) if movable else None
        columns = columns if shift is None else columns - shift[:, None]
        most = np.maximum.reduce(np.abs(columns), axis=1, initial=TINY)
        size = most * np.sqrt(means(np.square(columns / most[:, None])))
    size = np.where((size > 2.0**-960) & (size < math.inf), size, 1.0)
    powers = np.minimum(np.frexp(math.sqrt(2.0) * size)[1] - 1, 960)  # log₂ of it, rounded
    return shift, np.ldexp(1.0, powers)


def some_rows(X: Any) -> Any:
    """Return the rows that are looked at, in double precision."""
    measured = max(SAMPLE // 4, min(SAMPLE, WIDEST_SAMPLE // max(1, X.shape[1])))
    return X[:: max(1, X.shape[0] // measured)].astype(np.float64, copy=False)


@np.errstate(all="ignore")
def shift_of(columns: FloatArray) -> FloatArray | None:
    """Return what columns are moved by; none if all are near zero."""
    first = columns[:, 0]
    spread = means(np.abs(columns - first[:, None]))
    # The mean of equal numbers may be rounded, and what is left of them then counts.
    centre = np.where(spread > 0, means(columns), first)
    far = (np.abs(centre) > FAR * spread) & np.isfinite(centre)
    return np.where(far, centre, 0.0) if far.any() else None


def in_columns(rows: Any) -> FloatArray:
    """Copy the columns of a few rows, each in one piece: NumPy reads these three times as fast."""
    return np.ascontiguousarray(rows.T, dtype=np.float64)


def means(columns: FloatArray) -> FloatArray:
    """Return the mean of each column; that of NumPy takes longer for a few rows."""
    return np.asarray(np.add.reduce(columns, axis=1) / columns.shape[1])


def sparse_sizes(rows: Any) -> FloatArray:
    """Return the root mean square of each column of some sparse rows; no zero is written down."""
    n, d = rows.shape
    most = np.full(d, TINY)
    np.maximum.at(most, rows.indices, np.abs(rows.data))
    squares = np.square(rows.data / most[rows.indices])
    return np.asarray(most * np.sqrt(np.bincount(rows.indices, squares, d) / max(1, n)))


def middle(y: FloatArray, s: FloatArray) -> float:
    """Return what targets are moved by."""
    return float(np.where(s > 0, y, 0.0).sum() / max(1, np.count_nonzero(s)))


# ---- dual points ---------------------------------------------------------------------------------


def slopes(loss: Any, y: FloatArray, z: FloatArray, s: FloatArray) -> FloatArray:
    """Return a dual point: the slopes of the losses at some scores."""
    c: FloatArray = s * loss.slope(y, z)
    return c if np.isfinite(c).all() else np.nan_to_num(c)


def balanced(loss: Any, c: FloatArray, s: FloatArray) -> FloatArray:
    """Return a dual point in the domain near c, with a sum of zero if that can be."""
    if not c.any():
        return c
    if loss.centred:
        c = c - s * (float(np.add.reduce(c)) / float(np.add.reduce(s)))
    else:
        more, less = (float(np.add.reduce(np.maximum(side, 0.0))) for side in (c, -c))
        shrink = min(more, less) / max(more, less)
        c = np.where((c > 0) == (more > less), c * shrink, c)
    # A mean of what is huge, or a factor, may have left the range of numbers.
    c = np.where((np.abs(c) >= TINY) & np.isfinite(c), c, 0.0)
    return c if settle(c) else on_a_grid(c)


def settle(c: FloatArray) -> bool:
    """Take what is left of the sum from entries that are larger; whether that leaves none of it."""
    for _ in range(3):
        rest = total(c)[0]
        if rest == 0.0:
            return True
        side = c if rest > 0 else -c
        able = (side >= abs(rest)).nonzero()[0]
        if not len(able):
            return False
        k = able[side[able].argmin()]  # the smallest, whose digits are the finest
        c[k] -= rest
    return total(c)[0] == 0.0


def on_a_grid(c: FloatArray) -> FloatArray:
    """Round to multiples of a number, so that what their sum lacks can be taken from one of
    them."""
    mass = float(np.abs(c).sum())
    if not mass < math.inf:
        return c
    unit = math.ldexp(1.0, max(math.frexp(mass)[1] - 52, -1000))
    c = np.trunc(c / unit) * unit
    settle(c)
    return c


def multiples(
    loss: Any, degree: int, reach: float, rough: Callable[[float], float], cost: Any
) -> list[float]:
    """Return some t worth trying, the best one first; D(tc) is about rough(t) − cost(t)."""
    reach = min(reach, loss.reach)
    if not loss.quadratic:
        return list(dict.fromkeys([1.0, *(t * min(1.0, reach) for t in MULTIPLES)]))
    # The gain is tL − t²Q, and the cost goes with the power `degree` of t.
    one, two, paid = rough(1.0), rough(2.0), cost(1.0)
    gains = 2.0 * one - 0.5 * two, one - 0.5 * two
    linear = gains[0] - (paid if degree == 1 else 0.0)
    square = gains[1] + (paid if degree == 2 else 0.0)
    peak = linear / (2.0 * square) if square > 0 else 1.0
    peak = min(max(peak, 0.0), reach)
    # A peak that `reach` cuts short is worth less than 1 where 1 costs something finite.
    return sorted([1.0, peak], key=lambda t: cost(t) + t * (t * gains[1] - gains[0]))


def balance(wanted: FloatArray, given: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute the factors that give each class its mass (Altschuler, Weed and Rigollet 2017).

    Classes with too much are scaled down by the first, and what a row then lacks goes to those
    that lack mass, in the parts of the second; they are zero where none does.
    """
    kept = np.minimum(1.0, wanted / np.where(given > 0, given, 1.0))
    lacking = np.maximum(0.0, wanted - kept * given)
    if not lacking.sum() > 0:
        return np.ones_like(kept), np.zeros_like(kept)
    return kept, lacking / lacking.sum()


def probabilities(z: FloatArray) -> FloatArray:
    """Return those of the classes, from their scores."""
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def shares(loss: Any, more: float, less: float, high: float) -> tuple[float, float, float]:
    """Compute the factors that make c sum to nearly zero: positive entries `more`, others −`less`.

    A factor for the positive entries, one for the negative ones, and what is taken from c/s before.
    """
    centre = (more - less) / high
    if not (math.isfinite(centre) and math.isfinite(more + less)):
        return 0.0, 0.0, 0.0
    if loss.centred:
        return 1.0, 1.0, centre
    if not (more > 0 and less > 0):
        return 0.0, 0.0, 0.0
    return (less / more, 1.0, 0.0) if more > less else (1.0, more / less, 0.0)


def worth(best: Any, how: str, tolerated: float, some: bool, rotations: int, d: int) -> bool:
    """Estimate from some rows, in a basis turned so often, whether a new curvature may prove
    more."""
    if best.most <= tolerated or (rotations and d > TURNED):
        return False
    return not rotations or (best.blur > tolerated and (some or how == "turned"))


# ---- how far bounds are moved apart --------------------------------------------------------------


def blur(regularizer: Any, theta: FloatArray, pull: Any, t: float, low: float) -> float:
    """Estimate what rounding Xᵀc is worth, to the model and to the one that tc itself gives."""
    scaled, lam = theta * pull.unit, getattr(regularizer, "lam", 0.0)
    felt = pull.off * math.sqrt(scaled @ scaled) / low
    if lam > 0:  # θ of tc is t Xᵀc/λS
        scaled = pull.u * pull.unit
        return float(max(felt, pull.off * math.sqrt(scaled @ scaled) / low * (t / lam / low)))
    cost = regularizer.conjugate
    worth = cost(pull, t, 1.0 / low) - cost(pull._replace(off=0.0), t, 1.0 / low)
    return float(max(felt, worth))


def felt(claim: Any, w: Any, z: FloatArray, off: FloatArray) -> float:
    """Return what the mean of the losses has felt of scores that are off."""
    return float(w.s @ sensed(claim.risk.loss, claim.y, z, off)) / float(w.low)


def sensed(loss: Any, y: FloatArray, z: FloatArray, off: FloatArray) -> FloatArray:
    """Return what each loss has felt of scores that are off, by its slope.

    What ε leaves of a residual near ε may be nothing but the rounding of both.
    """
    if not hasattr(loss, "epsilon"):
        return np.asarray(np.abs(loss.slope(y, z)) * off)
    wide = off + 8 * U * (np.abs(y) + np.abs(z))
    return np.where(np.abs(y - z) + wide >= loss.epsilon, wide, 0.0)


def charge(felt: float, best: float, value: float) -> float:
    """Estimate to first order what the rounding of scores and sums has cost the bounds."""
    felt = 2.0 * felt if math.isfinite(felt) else max(0.0, value - best)
    return felt + 64 * U * value + 2.0**20 * TINY


def squared_charge(upper: float, least: float, blur: float, room: float) -> float:
    """Estimate what rounding cost least squares, a value known from below; sums vary by `room`."""
    return 2 * (upper - least) + room * upper + min(blur, least)


def apart(
    lower: float, upper: float, charge: float, room: float, own: float
) -> tuple[float, float]:
    """Tell how far the bounds of an objective ≥ 0 are moved apart: by less than rounding cost.

    The lower one by as much as `room`, if that is more. Of the charge, `own` is that of the upper.
    """
    # Rounding may be as large as an objective that is nearly zero.
    near = own if upper <= own else max(FELT * own, APART * upper)
    # That of a model far from the best one is felt by its own objective alone.
    felt = FELT * charge if upper <= NEAR * lower else 0.0
    below = min(charge, max(room, felt, APART * abs(lower)))
    # Who compares adds this again: a bound that stops at zero was moved no farther.
    below = min(below, lower) if lower >= 0.0 else below
    return max(0.0, below), max(0.0, min(charge, near))
