"""Kernel support vector machines on the tensors of PyTorch, several machines side by side.

The outer loop is that of `smo.py`; here is what it asks for, on a GPU or on the tensors of a CPU:
the choice of the working sets, the ascent inside, F = f − y of all rows, rows set aside, the gap.
All machines of a fit advance together, so that a row of K that several of them need is computed
once, and several working sets are solved at a time, each by one multiprocessor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from cotas.arrays import FloatArray
from cotas.device.rows import DeviceRows
from cotas.device.sides import block

if TYPE_CHECKING:
    from cotas.solvers.kernel_dual import SignedDual

# Rows of a working set, the largest that is no more than this part of the rows: the larger, the
# more of them move in a round, and the longer a step inside takes.
WORKING_SETS, PART = (1024, 2048, 4096), 16
KEPT = 0.5  # of a working set stays in the next: without them rounds undo each other
ALWAYS_DOUBLE = 1024  # up to so many rows double precision takes no longer
# A working set is solved to this part of its own violation, in at most so many steps for each row.
INNER, STEPS_PER_ROW = 0.3, 4
# No violation below this is worth a step, in units of the margin, in either precision.
LEAST = {torch.float32: 1e-6, torch.float64: 1e-13}
# Rounds between two looks at the gap and at the rows that can be set aside: at first, the fewest
# near the end (within this factor of it), and the most. They are doubled where a look finds the gap
# less than a tenth smaller than the last one did, and halved otherwise.
ROUNDS, ROUNDS_NEAR, NEAR, MOST_ROUNDS, SLOW = 8, 4, 10.0, 64, 0.9
# Single precision believes in a gap that is off by less than this factor, down to a tol of 1e-4.
CAUTION = 1.05
# Rows are set aside only if at least this part of the active ones goes at a time.
WORTH_IT = 0.3
FEWEST_TO_SHRINK = 1 << 14
SPARED = 64  # of the worst violators do not count: the next rounds are about to move them
OUT_OF_REACH = 1e30  # as a slope: of a row that cannot move


def single(n: int) -> Any:
    """Return the precision to begin with: single, unless there are few rows."""
    return torch.float64 if n <= ALWAYS_DOUBLE else torch.float32


class Box(NamedTuple):
    """The problems of several machines: a row of each tensor for each of them."""

    y: Any
    low: Any
    high: Any
    lams: Any
    free_bias: bool

    @classmethod
    def of(cls, duals: list[SignedDual], device: Any) -> Box:
        def stacked(name: str) -> Any:
            found = np.stack([getattr(dual, name) for dual in duals])
            return torch.as_tensor(found, device=device)

        lams = torch.tensor([[dual.lam] for dual in duals], dtype=torch.float64, device=device)
        return cls(stacked("y"), stacked("low"), stacked("high"), lams, duals[0].free_bias)

    def biases(self, F: Any) -> Any:
        """Return the bias with the least loss, of each machine."""
        if not self.free_bias:
            return torch.zeros_like(self.lams)
        corners, order = torch.sort(-F, dim=1, stable=True)
        weights = self.high - self.low
        below = torch.cumsum(torch.gather(weights, 1, order), dim=1)
        target = (weights * (self.y > 0)).sum(dim=1, keepdim=True)
        at = torch.searchsorted(below, target).clamp_(max=F.shape[1] - 1)
        return torch.gather(corners, 1, at)

    def gaps(self, a: Any, F: Any) -> list[float]:
        """Compute (P − D)/P of each machine, by the F at hand and the best bias for it."""
        left = -F - self.biases(F)
        losses = torch.maximum(self.high * left, self.low * left).sum(dim=1, keepdim=True)
        primal = self.lams * (losses + 0.5 * (a * (F + self.y)).sum(dim=1, keepdim=True))
        gap = self.lams * (losses + (a * F).sum(dim=1, keepdim=True))
        return [float(g) for g in (gap / primal.clamp(min=1e-300)).ravel().tolist()]

    def feasible(self, a: Any) -> Any:
        """Compute a moved into the box, the heavier side scaled down where the bias asks for it."""
        a = torch.minimum(torch.maximum(a, self.low), self.high)
        if not self.free_bias:
            return a
        rise, fall = a.clamp(min=0).sum(dim=1, keepdim=True), -a.clamp(max=0).sum(1, keepdim=True)
        least = torch.minimum(rise, fall)
        ratio = torch.where(a > 0, least / rise, least / fall)
        return torch.where(a == 0, a, a * ratio)


class BlockAscent:
    """An ascent: a and F = f − y of all the machines, in double precision, and the rows that take
    part.

    `active` are those rows, None standing for all; `away` are the others, in the order in which
    they were set aside, each time with the a that was then, to which their F belongs. `live` are
    the machines that are not done. Invariant: a lies in its box; Σ a = 0 up to rounding with a
    bias.
    """

    def __init__(self, rows: DeviceRows, box: Box, shrinking: bool) -> None:
        self.rows, self.box, self.shrinking = rows, box, shrinking
        self.a, self.F = torch.zeros_like(box.y), -box.y
        self.n_problems, self.n = box.y.shape
        self.live = list(range(self.n_problems))
        self.active: Any = None
        self.near_rows = rows
        self.away: list[tuple[Any, Any]] = []
        self.settled = torch.zeros_like(box.y, dtype=torch.int8)
        self.gaps, self.worst, self.rounds = [1.0] * self.n_problems, np.inf, ROUNDS

    def begin_at(self, starts: list[FloatArray | None]) -> None:
        """Start at these a, moved into the feasible set."""
        given = [np.zeros(self.n) if start is None else start for start in starts]
        self.a = self.box.feasible(torch.as_tensor(np.stack(given), device=self.a.device))
        self.follow_start()

    def follow_start(self) -> None:
        """Compute F of the a that was just set, and the gaps."""
        self.F = -self.box.y
        self._add(self.a, None)
        self.evaluate()

    def improve(self, tol: float) -> bool:
        """Run some rounds of all the machines that are not done; tell whether anything moved."""
        near, moved = self._near(), False
        worst = max(self.gaps[c] for c in self.live)
        least = ROUNDS_NEAR if worst <= NEAR * tol else ROUNDS
        if worst > SLOW * self.worst:
            self.rounds = min(2 * self.rounds, MOST_ROUNDS)
        else:
            self.rounds = max(self.rounds // 2, least)
        self.worst = worst
        for _ in range(self.rounds):
            if not near.round():
                break
            moved = True
        self._keep(near)
        if moved and self.shrinking and self.n >= FEWEST_TO_SHRINK:
            self._set_aside()
        return moved

    def _near(self) -> Near:
        """Return the rows and the machines that take part."""
        rows = torch.arange(self.n, device=self.a.device) if self.active is None else self.active
        live = torch.tensor(self.live, device=self.a.device)
        at = live[:, None], rows[None, :]
        box = self.box._replace(y=self.box.y[at], low=self.box.low[at], high=self.box.high[at])
        return Near(at, self.near_rows, box, self.a[at], self.F[at])

    def _keep(self, near: Near) -> None:
        self.a[near.at], self.F[near.at] = near.a, near.F

    # ---- rows set aside ------------------------------------------------------------------------

    def _set_aside(self) -> None:
        """Let the rows go that were settled at two looks in all machines, if they are many."""
        k = slice(None) if self.active is None else self.active
        box = self.box.low[:, k], self.box.high[:, k]
        now = settled(self.a[:, k], self.F[:, k], *box, self.box.free_bias)
        staying = ((now == 0) | (now != self.settled[:, k])).any(dim=0)
        self.settled[:, k] = now
        if int(staying.sum()) > (1.0 - WORTH_IT) * len(staying):
            return
        rows = torch.arange(self.n, device=now.device) if self.active is None else self.active
        self.away.append((rows[~staying], self.a.clone()))
        self.active = rows[staying]
        self.near_rows = self.rows.part(self.active)

    def bring_up_to_date(self) -> None:
        """Compute F of the rows that were set aside, by what has moved since; all take part
        again."""
        for rows, then in self.away:
            self._add(self.a - then, rows)
        self.active, self.away, self.near_rows = None, [], self.rows
        self.settled.zero_()

    def _add(self, change: Any, rows: Any) -> None:
        """Update F ← F + K·change over the rows that moved, for all the rows or for these."""
        moved = change.any(dim=0).nonzero().ravel()
        if not len(moved):
            return
        D = change[:, moved].T.to(self.rows.dtype).contiguous()
        left, at = (self.rows, slice(None)) if rows is None else (self.rows.part(rows), rows)
        self.F[:, at] += left.times(self.rows.take(moved), D).T

    def recompute(self, c: int) -> None:
        """Compute F of one machine, from a, in double precision."""
        self.F[c] = -self.box.y[c]
        moved, exact = self.a[c].nonzero().ravel(), self._double()
        if len(moved):
            self.F[c] += exact.times(exact.take(moved), self.a[c, moved].unsqueeze(1))[:, 0]

    def use_double_precision(self) -> bool:
        """Take rows in double precision from now on; tell whether they were not so already."""
        if self.rows.dtype is torch.float64:
            return False
        self.bring_up_to_date()
        self.rows = self.near_rows = self._double()
        return True

    def _double(self) -> DeviceRows:
        rows = self.rows
        if rows.dtype is torch.float64:
            return rows
        return DeviceRows(rows.spec, rows.X, rows.device, torch.float64, rows.centre, rows.room)

    def evaluate(self) -> None:
        """Find the relative gap of each machine, by the F at hand."""
        self.gaps = self.box.gaps(self.a, self.F)


class OneProblem:
    """One of the machines of a `BlockAscent`, as the outer loop of `smo.py` asks for it.

    Whoever improves one improves them all. `rows` are those that take part in its problem, None
    standing for all; a and F are of those.
    """

    def __init__(self, ascent: BlockAscent, c: int, rows: Any, tol: float) -> None:
        self.ascent, self.c, self.tol, self.exact = ascent, c, tol, False
        self.rows = slice(None) if rows is None else torch.as_tensor(rows, device=ascent.a.device)

    @property
    def a(self) -> FloatArray:
        """Return yα/λ of each row."""
        return np.asarray(self.ascent.a[self.c, self.rows].cpu().numpy())

    @property
    def F(self) -> FloatArray:
        """Return f − y of each row."""
        return np.asarray(self.ascent.F[self.c, self.rows].cpu().numpy())

    @property
    def complete(self) -> bool:
        """Tell whether all rows take part."""
        return self.ascent.active is None

    def relative_gap(self, worth: float = 0.0) -> float:
        """Compute (P − D)/P by the F at hand, and a little more where F comes from single
        precision."""
        return self.ascent.gaps[self.c] * (1.0 if self.exact else CAUTION)

    def improve(self, share: float = 1.0) -> bool:
        """Run some rounds of all the machines that are not done; tell whether anything moved."""
        ascent, aim = self.ascent, self.tol / CAUTION
        others = [c for c in range(ascent.n_problems) if c != self.c and ascent.gaps[c] > aim]
        ascent.live = [self.c, *others]
        moved = ascent.improve(aim)
        ascent.evaluate()
        self.exact = False
        if ascent.active is not None and (not moved or ascent.gaps[self.c] <= aim):
            ascent.bring_up_to_date()  # what the rows set aside say to it
            ascent.evaluate()
            return True
        return moved

    def recompute(self, scores: FloatArray | None = None) -> None:
        """Compute F = Ka − y in double precision, for all the rows; Ka may be known already."""
        ascent = self.ascent
        ascent.bring_up_to_date()
        if scores is None:
            ascent.recompute(self.c)
        else:
            given = torch.as_tensor(scores, device=ascent.a.device)
            ascent.F[self.c, self.rows] = given - ascent.box.y[self.c, self.rows]
        self.exact = True
        ascent.evaluate()

    def use_double_precision(self) -> bool:
        """Take rows in double precision from now on; tell whether they were not so already."""
        return self.ascent.use_double_precision()


class Near:
    """The rows and machines that take part in some rounds, with their a and F."""

    def __init__(self, at: Any, rows: DeviceRows, box: Box, a: Any, F: Any) -> None:
        self.at, self.rows, self.box, self.a, self.F = at, rows, box, a, F
        self.n_problems, self.n = a.shape
        sizes = [q for q in WORKING_SETS if PART * q <= self.n] or WORKING_SETS[:1]
        self.q = min(sizes[-1], 1 << (self.n.bit_length() - 1))  # even: there are two classes
        self.last: Any = None

    def round(self) -> bool:
        """Choose, solve inside, bring F up to date; False if nothing moved."""
        W = self.last = self.choose()
        side = self.rows.take(W)
        change = climb(block(self.rows.spec, side, side), W, self.a, self.box, self.F)
        problem, place = change.nonzero(as_tuple=True)
        if not len(place):
            return False
        rows, D = W[problem, place], change[problem, place].to(self.rows.dtype)
        if self.n_problems == 1:
            D = D.unsqueeze(1)
        else:  # a row that several machines need is computed once
            rows, column = torch.unique(rows, return_inverse=True)
            D = D.new_zeros((len(rows), self.n_problems)).index_put((column, problem), D)
        self.F += self.rows.times(self.rows.take(rows), D).T
        return True

    def choose(self) -> Any:
        """Choose the working set of each machine: what was new in the last one, and the worst
        violators.

        As `choose` of `working_set.py`: half of the new ones have the least F among those that may
        rise, half the greatest among those that may fall.
        """
        F = self.F.float()
        up = torch.where(self.a < self.box.high, F, OUT_OF_REACH)
        down = torch.where(self.a > self.box.low, F, -OUT_OF_REACH)
        kept, new = [], self.q
        if self.last is not None:
            new = self.q - int(KEPT * self.q)
            kept = [self.last[:, : new : new // (self.q - new)][:, : self.q - new]]
            up.scatter_(1, kept[0], torch.inf)
            down.scatter_(1, kept[0], -torch.inf)
        rising = torch.topk(up, new // 2, dim=1, largest=False, sorted=False).indices
        down.scatter_(1, rising, -torch.inf)
        falling = torch.topk(down, new - new // 2, dim=1, sorted=False).indices
        return torch.cat([rising, falling, *kept], dim=1)


def climb(K: Any, W: Any, a: Any, box: Box, F: Any) -> Any:
    """Move a of the working sets and return by how much: one program for each set on a GPU.

    On the tensors of a CPU it is the loop of `working_set.py`.
    """
    part, least, most = INNER, LEAST[K.dtype], STEPS_PER_ROW * W.shape[1]
    if a.device.type == "cuda":
        from cotas.device import fused

        return fused.climb(K, W, a, box.low, box.high, F, box.free_bias, part, least, most)
    from cotas.solvers.working_set import solve_working_set

    change = torch.zeros_like(W, dtype=torch.float64)
    for c, rows in enumerate(W):
        inside, low, high, slopes = (v[c, rows].numpy() for v in (a, box.low, box.high, F))
        rising = np.where(inside < high, slopes, np.inf).min()
        falling = np.where(inside > low, slopes, -np.inf).max()
        violation = falling - rising if box.free_bias else 2 * max(-rising, falling)
        tol = max(part * violation, least)
        values = K[c].double().numpy()
        solve_working_set(values, inside, low, high, slopes, None, box.free_bias, tol)
        change[c] = torch.as_tensor(inside) - a[c, rows]
        a[c, rows] = torch.as_tensor(inside)
    return change


def settled(a: Any, F: Any, low: Any, high: Any, free_bias: bool) -> Any:
    """Compute −1 for a row that rests at its lower bound, +1 at its upper one, 0 for all others.

    The rule of `smo.py`, for several machines.
    """
    rank = min(SPARED, F.shape[1])
    rising = torch.topk(torch.where(a < high, F, torch.inf), rank, dim=1, largest=False).values
    falling = torch.topk(torch.where(a > low, F, -torch.inf), rank, dim=1).values
    rising, falling = rising[:, -1:], falling[:, -1:]
    if not free_bias:
        far = torch.maximum(-rising, falling).clamp(min=0.0)
        rising, falling = -far, far
    least, greatest = torch.minimum(rising, falling), torch.maximum(rising, falling)
    found = torch.zeros_like(a, dtype=torch.int8)
    found[(a == low) & (greatest < F)] = -1
    found[(a == high) & (least > F)] = 1
    found[low == high] = -1
    return found
