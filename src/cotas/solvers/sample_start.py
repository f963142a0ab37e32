"""A start for the machines of `block_ascent.py`: what a sample of the rows says of all of them.

With many rows most of the rounds are spent on finding out where most multipliers end. A machine
that was trained on a sample knows that of many rows. There are two ways to use it:

- It fits other rows as well as its own, each row of the sample standing for several: then most
  multipliers end at a bound, and the side of the margin on which a row lies tells at which.
- It knows its own rows by heart, and errs in few others: then most multipliers end at zero, and
  those of the sample are the start.

The rounds that follow mend what the sample got wrong. In all other cases it is left at that.
"""

from __future__ import annotations

import math
import time
from typing import Any

import torch

from cotas.solvers.block_ascent import FEWEST_TO_SHRINK, BlockAscent, Box
from cotas.solvers.iterate import KernelIterates

# One row of so many is in the sample: the first sample starts the second, and that the whole.
PARTS = (32, 8)
# The gap to which a sample is solved, in at most so many looks: a start, not a solution.
CLOSE, CHECKS = 1e-2, 64
# The loss of all rows, against that of the sample's own, up to which it fits others as well; and
# the loss up to which it errs in few.
AS_WELL, FEW = 1.25, 0.2


def after_samples(
    ascent: BlockAscent, run: KernelIterates, until: float = math.inf
) -> KernelIterates:
    """Yield the run of one of the machines, after a start for all of them; see
    `begin_with_samples`."""
    begin_with_samples(ascent, until)
    yield from run


def begin_with_samples(ascent: BlockAscent, until: float = math.inf) -> bool:
    """Move a to where samples place it; False, and nothing moved, if they do not know it.

    Nor is anything moved if they are not solved at `until`, by `time.perf_counter`.
    """
    order = torch.randperm(ascent.n, generator=torch.Generator().manual_seed(0))
    before: BlockAscent | None = None
    for part in (part for part in PARTS if ascent.n >= part * FEWEST_TO_SHRINK):
        rows = torch.sort(order[: ascent.n // part]).values.to(ascent.a.device)
        sample = _sample(ascent, rows, ascent.n / len(rows))
        if before is not None:
            _place(sample, _scores(before, sample))
        if not _solve(sample, until):
            return False
        F = _scores(sample, ascent)
        own, everywhere = _losses(sample, rows, ascent.box, F)
        if not (everywhere <= AS_WELL * own).all():
            return bool((everywhere <= FEW).all()) and _begin_at_some(ascent, order, until)
        before = sample
    if before is None:
        return False
    _place(ascent, F)
    return True


def _begin_at_some(ascent: BlockAscent, order: Any, until: float) -> bool:
    """Start at the solution of a sample in which each row stands for itself."""
    rows = torch.sort(order[: ascent.n // PARTS[-1]]).values.to(ascent.a.device)
    sample = _sample(ascent, rows, 1.0)
    begin_with_samples(sample, until)
    if not _solve(sample, until):
        return False
    ascent.a[:, rows] = sample.a
    ascent.follow_start()
    return True


def _sample(ascent: BlockAscent, rows: Any, each: float) -> BlockAscent:
    """Return the problem of some of the rows, each standing for so many."""
    box = ascent.box
    low, high = each * box.low[:, rows], each * box.high[:, rows]
    box = box._replace(y=box.y[:, rows], low=low, high=high)
    return BlockAscent(ascent.rows.part(rows), box, ascent.shrinking)


def _solve(sample: BlockAscent, until: float) -> bool:
    """Run rounds until the gaps are small, or nothing moves; False if the time is up before."""
    for _ in range(CHECKS):
        if time.perf_counter() >= until:
            return False
        sample.live = [c for c, gap in enumerate(sample.gaps) if gap > CLOSE]
        if not sample.live or not sample.improve(CLOSE):
            break
        sample.evaluate()
    sample.bring_up_to_date()
    return True


def _scores(of: BlockAscent, at: BlockAscent) -> Any:
    """Compute F = f − y at all the rows of one problem, for the machines of another."""
    moved = of.a.any(dim=0).nonzero().ravel()
    if not len(moved):
        return -at.box.y
    D = of.a[:, moved].T.to(of.rows.dtype).contiguous()
    return at.rows.times(of.rows.take(moved), D).T.double() - at.box.y


def _losses(sample: BlockAscent, rows: Any, box: Box, F: Any) -> tuple[Any, Any]:
    """Return the mean loss of each machine of a sample, of its own rows and of all."""
    left = -F - sample.box.biases(sample.F)
    losses = torch.maximum(box.high * left, box.low * left)
    weights = box.high - box.low
    own = losses[:, rows].sum(dim=1) / weights[:, rows].sum(dim=1)
    return own, losses.sum(dim=1) / weights.sum(dim=1)


def _place(ascent: BlockAscent, F: Any) -> None:
    """Put a at its upper bound where F is least, at its lower one elsewhere; its sum is zero."""
    box = ascent.box
    if box.free_bias:
        order = torch.argsort(F, dim=1, stable=True)
        weights = torch.gather(box.high - box.low, 1, order)
        room = -box.low.sum(dim=1, keepdim=True) - (torch.cumsum(weights, dim=1) - weights)
        above = torch.minimum(room.clamp(min=0.0), weights)
        above = torch.zeros_like(F).scatter_(1, order, above)
        # Exactly at the bound, where it is meant to be.
        ascent.a = torch.where(above == box.high - box.low, box.high, box.low + above)
    else:
        ascent.a = torch.where(F < 0, box.high, box.low)
    ascent.follow_start()
