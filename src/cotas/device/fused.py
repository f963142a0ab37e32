"""Two programs for a GPU, in Triton: products with an RBF that is never stored, and SMO inside.

A program of Triton works on blocks of numbers; `tl.dot` multiplies blocks, `tl.reduce` folds one.
Sums are added up in an order that the shapes alone decide, so the same input gives the same bits.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

# Rows and columns of a block, columns of X read at a time, warps and stages of the pipeline, for
# up to 64 columns of X and for more: the fastest of those that were tried on an H200.
FEW = {torch.float32: (128, 64, 64, 4, 2), torch.float64: (64, 64, 64, 4, 1)}
MANY = {torch.float32: (128, 128, 32, 8, 3), torch.float64: (64, 64, 32, 4, 2)}
FEW_COLUMNS = 64
# Blocks of columns that one program adds up: each makes a rounding. More, where the parts would
# take more than so many numbers.
MOST_BLOCKS, MOST_NUMBERS = 64, 1 << 27
COLUMNS_AT_ONCE = 16  # columns of a product made at a time, unless it is one
# So many programs keep the multiprocessors busy; with fewer rows the columns are shared out.
FEWEST_PROGRAMS = 1024
# Directions of less curvature than this part of the diagonal count as flat.
FLAT = {torch.float32: 1e-6, torch.float64: 1e-12}


@triton.jit
def radial_program(
    U, HU, V, HV, W, OUT, n, m, span, n_columns,
    D: tl.constexpr, M: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
    PRECISION: tl.constexpr, TYPE: tl.constexpr,
):  # fmt: skip
    """Compute OUT[part, i, c] = Σⱼ exp(uᵢ·vⱼ − ½‖uᵢ‖² − ½‖vⱼ‖²) w[j, c] over the columns of one
    part."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    part = tl.program_id(1)
    inside = rows < n
    left = rows.to(tl.int64) * D
    hu = tl.load(HU + rows, mask=inside, other=0.0)
    first, last = part * span, tl.minimum(part * span + span, m)
    which = tl.arange(0, M)
    if M == 1:  # noqa: SIM108
        total = tl.zeros([BM], TYPE)
    else:
        total = tl.zeros([BM, M], TYPE)
    for start in range(first, last, BN):
        columns = start + tl.arange(0, BN)
        there = columns < last
        right = columns.to(tl.int64) * D
        t = tl.zeros([BM, BN], TYPE)
        for d in range(0, D, BD):
            features = d + tl.arange(0, BD)
            u = tl.load(U + left[:, None] + features[None, :], mask=inside[:, None], other=0.0)
            v = tl.load(V + right[None, :] + features[:, None], mask=there[None, :], other=0.0)
            t = tl.dot(u, v, t, input_precision=PRECISION, out_dtype=TYPE)
        hv = tl.load(HV + columns, mask=there, other=0.0)
        k = tl.exp(tl.minimum(t - hu[:, None] - hv[None, :], 0.0))
        if M == 1:
            w = tl.load(W + columns, mask=there, other=0.0)
            total += tl.sum(k * w[None, :], axis=1)
        else:
            w = tl.load(
                W + columns[:, None] * n_columns + which[None, :],
                mask=there[:, None] & (which < n_columns)[None, :],
                other=0.0,
            )
            total = tl.dot(k, w, total, input_precision="ieee", out_dtype=TYPE)
    out = OUT + (part.to(tl.int64) * n + rows) * n_columns
    if M == 1:
        tl.store(out, total, mask=inside)
    else:
        tl.store(
            out[:, None] + which[None, :],
            total,
            mask=inside[:, None] & (which < n_columns)[None, :],
        )


def radial_product(U: Any, hu: Any, V: Any, hv: Any, W: Any) -> Any:
    """Compute Σⱼ exp(−½‖uᵢ − vⱼ‖²) w[j, c], an array (len(U), machines); h are the half squared
    lengths.

    U and V have as many columns as `sides.padded` says.
    The exponent is u·v − ½‖u‖² − ½‖v‖², no more than zero. In single precision the products are
    made of three of the short numbers that tensor cores multiply, which is as good. Each entry is
    a sum over blocks of columns, some of them by each program (see `roundings`).
    """
    n, m, n_columns = len(U), len(V), W.shape[1]
    if n_columns > COLUMNS_AT_ONCE:
        parts = [
            W[:, c : c + COLUMNS_AT_ONCE].contiguous() for c in range(0, n_columns, COLUMNS_AT_ONCE)
        ]
        return torch.cat([radial_product(U, hu, V, hv, part) for part in parts], dim=1)
    BM, BN, BD, warps, stages = shape_of(U.shape[1], U.dtype)
    span, splits = _shares(n, m, n_columns, BM, BN)
    out = torch.empty((splits, n, n_columns), dtype=U.dtype, device=U.device)
    type_of = tl.float32 if U.dtype == torch.float32 else tl.float64
    radial_program[(triton.cdiv(n, BM), splits)](
        U, hu, V, hv, W.contiguous(), out, n, m, span, n_columns,
        D=U.shape[1], M=1 if n_columns == 1 else COLUMNS_AT_ONCE, BM=BM, BN=BN, BD=BD,
        PRECISION="tf32x3" if U.dtype == torch.float32 else "ieee", TYPE=type_of,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return out[0] if splits == 1 else out.sum(dim=0)


def _shares(n: int, m: int, n_columns: int, BM: int, BN: int) -> tuple[int, int]:
    """Choose how many columns each program adds up, and in how many parts they come."""
    blocks = max(1, -(-m // BN))
    few = -(-FEWEST_PROGRAMS // -(-n // BM))
    accurate = min(-(-blocks // MOST_BLOCKS), max(1, MOST_NUMBERS // (n * n_columns)))
    each = -(-blocks // min(blocks, max(1, few, accurate)))
    return each * BN, -(-blocks // each)


def shape_of(columns: int, dtype: Any) -> tuple[int, int, int, int, int]:
    """Choose the shape of the blocks for rows of so many columns."""
    BM, BN, BD, warps, stages = (FEW if columns <= FEW_COLUMNS else MANY)[dtype]
    return BM, BN, min(BD, columns), warps, stages


def roundings(n: int, m: int, n_columns: int, columns: int, dtype: Any) -> int:
    """Count the additions that one term of a sum of `radial_product` can go through, and its
    product."""
    BM, BN, *_ = shape_of(columns, dtype)
    made = {min(n_columns, COLUMNS_AT_ONCE), n_columns % COLUMNS_AT_ONCE or COLUMNS_AT_ONCE}
    shares = [_shares(n, m, count, BM, BN) for count in made]
    return 1 + BN + max(span // BN + splits for span, splits in shares)


@triton.jit
def first_and_last(f, i, a, h, k, top, g, j, b, o, d, other):
    """Find the least f with what belongs to it, and the greatest `top`; of equals the earlier
    one."""
    second = (g < f) | ((g == f) & (j < i))
    return (
        tl.where(second, g, f), tl.where(second, j, i), tl.where(second, b, a),
        tl.where(second, o, h), tl.where(second, d, k), tl.maximum(top, other),
    )  # fmt: skip


@triton.jit
def most_gain(g, i, a, h, f, c, other, j, b, o, e, d):
    """Find the greatest g with what belongs to it; of equals the earlier one."""
    second = (other > g) | ((other == g) & (j < i))
    return (
        tl.where(second, other, g), tl.where(second, j, i), tl.where(second, b, a),
        tl.where(second, o, h), tl.where(second, e, f), tl.where(second, d, c),
    )  # fmt: skip


@triton.jit
def pairs_program(
    K, W, A, LOW, HIGH, F, CHANGE, n, part, least, most,
    FLAT: tl.constexpr, Q: tl.constexpr, TYPE: tl.constexpr,
):  # fmt: skip
    """Run `climb_pairs` of `solvers/working_set.py`, for the working set of one machine."""
    who = tl.program_id(0)
    k = tl.arange(0, Q)
    at = who.to(tl.int64) * n + tl.load(W + who * Q + k)
    K += who.to(tl.int64) * Q * Q
    begin = tl.load(A + at).to(TYPE)
    low, high, f = tl.load(LOW + at).to(TYPE), tl.load(HIGH + at).to(TYPE), tl.load(F + at).to(TYPE)
    a = begin
    diagonal = tl.load(K + k * (Q + 1))
    step, going, tolerance = 0, 1, 0.0
    while going > 0:
        up = tl.where(a < high, f, float("inf"))
        down = tl.where(a > low, f, float("-inf"))
        fi, i, ai, hi, kii, top = tl.reduce((up, k, a, high, diagonal, down), 0, first_and_last)
        violation = top - fi
        if step == 0:
            tolerance = tl.maximum(part * violation, least).to(tl.float32)
        if (violation > tolerance) & (step < most):
            ki = tl.load(K + i.to(tl.int64) * Q + k)
            size = kii + diagonal
            curve = tl.maximum(size - 2 * ki, FLAT * size)
            b = f - fi
            gain = tl.where((a > low) & (b > 0), b * b / curve, -1.0)
            _, j, aj, lj, fj, cj = tl.reduce((gain, k, a, low, f, curve), 0, most_gain)
            kj = tl.load(K + j.to(tl.int64) * Q + k)
            t = tl.minimum((fj - fi) / cj, tl.minimum(hi - ai, aj - lj))
            f += t * (ki - kj)
            a = tl.where(k == i, tl.where(t == hi - ai, hi, a + t), a)
            a = tl.where(k == j, tl.where(t == aj - lj, lj, a - t), a)
            step += 1
        else:
            going = 0
    leave_set(A, LOW, HIGH, CHANGE, who * Q + k, at, begin, a, low, high)


@triton.jit
def singles_program(
    K, W, A, LOW, HIGH, F, CHANGE, n, part, least, most,
    FLAT: tl.constexpr, Q: tl.constexpr, TYPE: tl.constexpr,
):  # fmt: skip
    """Run `climb_singles` of `solvers/working_set.py`, for the working set of one machine."""
    who = tl.program_id(0)
    k = tl.arange(0, Q)
    at = who.to(tl.int64) * n + tl.load(W + who * Q + k)
    K += who.to(tl.int64) * Q * Q
    begin = tl.load(A + at).to(TYPE)
    low, high, f = tl.load(LOW + at).to(TYPE), tl.load(HIGH + at).to(TYPE), tl.load(F + at).to(TYPE)
    a = begin
    diagonal = tl.maximum(tl.load(K + k * (Q + 1)), 1e-30)
    step, going, tolerance = 0, 1, 0.0
    while going > 0:
        moves = ((f < 0) & (a < high)) | ((f > 0) & (a > low))
        slope = tl.where(moves, f, 0.0)
        _, i, ai, hi, fi, li = tl.reduce(
            (slope * slope / diagonal, k, a, high, f, low), 0, most_gain
        )
        violation = 2 * tl.max(tl.abs(slope), axis=0)
        if step == 0:
            tolerance = tl.maximum(part * violation, least).to(tl.float32)
        if (violation > tolerance) & (step < most):
            ki = tl.load(K + i.to(tl.int64) * Q + k)
            kii = tl.maximum(tl.sum(tl.where(k == i, ki, 0.0), axis=0), 1e-30)
            new = tl.minimum(tl.maximum(ai - fi / kii, li), hi)
            f += (new - ai) * ki
            a = tl.where(k == i, new, a)
            step += 1
        else:
            going = 0
    leave_set(A, LOW, HIGH, CHANGE, who * Q + k, at, begin, a, low, high)


@triton.jit
def leave_set(A, LOW, HIGH, CHANGE, here, at, begin, a, low, high):
    """Write a back in double precision, exactly at a bound where it has reached one."""
    before = tl.load(A + at)
    after = tl.where(a <= low, tl.load(LOW + at), a.to(tl.float64))
    after = tl.where(a >= high, tl.load(HIGH + at), after)
    after = tl.where(a == begin, before, after)
    tl.store(A + at, after)
    tl.store(CHANGE + here, after - before)


def climb(
    K: Any, W: Any, a: Any, low: Any, high: Any, F: Any, free_bias: bool, part: float,
    least: float, most: int,
) -> Any:  # fmt: skip
    """Move a of the working set of each machine, the others at rest; return by how much.

    K is (machines, q, q) with q a power of two and W (machines, q) says which rows these are; the
    others are (machines, n) in double precision. A machine ends when its violation is below `part`
    of what it was at first, or below `least`, or after `most` steps.
    """
    n_columns, q = W.shape
    change = torch.empty(W.shape, dtype=torch.float64, device=a.device)
    program = pairs_program if free_bias else singles_program
    program[(n_columns,)](
        K, W, a, low, high, F, change, a.shape[1], part, least, most, FLAT=FLAT[K.dtype], Q=q,
        TYPE=tl.float32 if K.dtype == torch.float32 else tl.float64,
        num_warps=min(16, max(4, q // 256)),
    )  # fmt: skip
    return change
