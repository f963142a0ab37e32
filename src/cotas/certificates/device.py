"""Products with the Gram matrix of a formula on a device, each with a proved bound of its rounding.

The core says what has to be computed, Kw and how far it may be off; here it is computed by
PyTorch's tensors in double precision, and by `device/fused.py` where a kernel falls with the
distance. The bounds are those of `core/gram.py`, from two numbers m and e for each row, with
one centre for all rows, and no pair of rows computed from its differences: rows that are far from
the centre have a larger e instead.

Assumed, besides what `docs/theory/rounding.md` assumes of a processor: double precision on the
device is that of IEEE 754, its exp is within 4 units in the last place, and its products of
matrices add up products of doubles in any order (no emulation by shorter numbers).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from cotas.certificates.core import composites
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.gram import Each, Gram, positive
from cotas.certificates.core.rounding import TINY, FloatArray, U, gamma
from cotas.certificates.kernel import MAKER
from cotas.device.find import WORTH_A_DEVICE, device_for, in_short
from cotas.words import say

# Columns of a product that are added up at a time, where no program of ours adds them.
COLUMNS = 4096


class Maker:
    """A maker of Gram matrices on a device, which keeps the last one: several machines share the
    rows."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self._last: Gram | None = None

    def __call__(self, spec: Any, X: Any, each: Each = map) -> Gram:
        kept = self._last
        if kept is None or kept.X is not X or str(kept.spec) != str(spec):
            self._last = kept = gram_on(self.device, spec, X, each)
        return kept


def maker_on(device: str) -> Maker | None:
    """Return the maker for a device as the user names it; None where that is the processor."""
    found = device_for(device, ("linear",), WORTH_A_DEVICE)
    return None if found is None else Maker(found)


@contextmanager
def computed_by(maker: Maker | None) -> Iterator[None]:
    """Have the maker make the Gram matrices of formulas within the context; None for NumPy."""
    if maker is None:
        yield
        return
    token = MAKER.set(maker)
    try:
        yield
    finally:
        MAKER.reset(token)


def gram_on(device: Any, spec: Any, X: Any, each: Each = map) -> Gram:
    """Compute the Gram matrix on a device; on the processor if it has no formula or that fails."""
    from cotas.device.sides import is_known

    if spec == ("linear",) or not is_known(spec):
        return Gram(spec, X, each)
    try:
        return DeviceGram(device, spec, X, each)
    except RuntimeError as error:  # such as too little memory on the device
        return _on_processor(error, spec, X, each)


def _on_processor(error: Exception, spec: Any, X: Any, each: Each) -> Gram:
    said = say("The proof goes on without the device: {error}", error=in_short(error))
    warnings.warn(said, RuntimeWarning, stacklevel=2)
    return Gram(spec, X, each)


class DeviceGram(Gram):
    """The Gram matrix of a formula, whose products are made on a device."""

    def __init__(self, device: Any, spec: Any, X: Any, each: Each = map) -> None:
        import torch

        from cotas.device.rows import DeviceRows

        self.spec, self.X, self.each, self.shift = spec, X, each, 0.0
        self.positive, self.n = positive(spec), int(X.shape[0])
        with np.errstate(all="ignore"):
            self.rows = DeviceRows(spec, X, device, torch.float64)
            m, e = self._enclosed()
        if not (np.isfinite(m).all() and np.isfinite(e).all()):
            raise Objection("not finite")
        self.errors = np.sqrt(e) * (1.0 + 4 * U)
        self.squares = m * (1.0 + 4 * U)

    def _enclosed(self) -> tuple[FloatArray, FloatArray]:
        """Compute m and e of all rows, piece by piece until all pieces agree on what they share."""
        import torch

        shared, known = Shared(), None
        found: list[Any] = []
        while known != shared.values:
            known, found = list(shared.values), []
            for piece in self.rows.pieces():
                rows = self.X[piece]
                rows = rows.toarray() if hasattr(rows, "toarray") else rows
                A = torch.as_tensor(
                    np.require(rows, requirements=["C", "W"]), device=self.rows.device
                ).double()
                shared.begin()
                sides = enclosed(self.spec, A, self.rows.centre, shared)
                found.append([np.broadcast_to(side, len(A)) for side in sides])
            if len(found) == 1:
                break
        m, e = (np.concatenate(part) for part in zip(*found, strict=True))
        return m, e

    def times(self, W: FloatArray, wanted: Any) -> tuple[FloatArray, FloatArray]:
        """Compute KW, for the rows wanted and the nonzero rows of W, and how far it may be off."""
        support = np.asarray(W.any(axis=1))
        chosen = np.flatnonzero(wanted | support)
        columns = np.flatnonzero(support)
        try:
            values, roundings = self._multiplied(chosen, columns, W)
        except RuntimeError as error:
            return _on_processor(error, self.spec, self.X, self.each).times(W, wanted)
        size, sizes = np.abs(W[columns]), np.sqrt(self.squares)
        out, off = np.zeros_like(W), np.zeros_like(W)
        with np.errstate(over="ignore", invalid="ignore"):
            out[chosen] = values
            off[chosen] = np.multiply.outer(self.errors[chosen], self.errors[columns] @ size)
            off += gamma(roundings) * np.multiply.outer(sizes, sizes[columns] @ size)
            off += self.n * TINY * np.abs(W).max(initial=0.0)
        if not (np.isfinite(out).all() and np.isfinite(off).all()):
            raise Objection("not finite")
        return out, off * (1.0 + 2.0 * gamma(self.n + 32))

    def _multiplied(self, chosen: Any, columns: Any, W: FloatArray) -> tuple[FloatArray, int]:
        """Compute K[chosen, columns]·W, and how many roundings a term of the sums goes through."""
        import torch

        from cotas.device.sides import CHUNK, is_fused

        device, spec = self.rows.device, self.spec
        if not len(columns):
            return np.zeros((len(chosen), W.shape[1])), 1
        factors = torch.as_tensor(W[columns], device=device)
        which = torch.as_tensor(columns, device=device)
        everything = len(chosen) == self.n
        left = self.rows if everything else self.rows.part(torch.as_tensor(chosen, device=device))
        right = self.rows.take(which)
        if is_fused(spec, right):
            from cotas.device.fused import roundings

            found = left.times(right, factors).cpu().numpy()
            sizes = (
                [left.n] if left.whole is not None else [p.stop - p.start for p in left.pieces()]
            )
            shape = W.shape[1], right.rows.shape[1], torch.float64
            return found, max(roundings(n, len(columns), *shape) for n in sizes)
        total = torch.zeros((len(chosen), W.shape[1]), dtype=torch.float64, device=device)
        for start in range(0, len(columns), COLUMNS):
            some = slice(start, start + COLUMNS)
            total += left.times(right.take(some), factors[some])
        chunks = -(-min(COLUMNS, len(columns)) // CHUNK)
        return total.cpu().numpy(), CHUNK + chunks + 2 + -(-len(columns) // COLUMNS)


class Shared:
    """Numbers that must be the same for all pieces of X: the greatest that any of them has."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.at = 0

    def begin(self) -> None:
        """Begin with another piece, which will ask for the same numbers in the same order."""
        self.at = 0

    def __call__(self, value: float) -> float:
        if self.at == len(self.values):
            self.values.append(value)
        self.values[self.at] = max(self.values[self.at], value)
        self.at += 1
        return self.values[self.at - 1]


def enclosed(spec: Any, A: Any, centre: Any, most: Shared) -> tuple[Any, Any]:
    """Compute m and e of `core/gram.py` on a device: |k| ≤ √(mm′), and K is off by √(ee′)."""
    match spec:
        case ("linear",):
            return _squares(A)
        case ("constant", c):
            return c, 0.0
        case ("rbf", g, sigma):
            scale = math.sqrt(g) / sigma
            if not TINY < scale < 1.0 / TINY:
                raise Objection("not finite")
            return _falling(_numpy((((A - centre) * scale) ** 2).sum(dim=1)), A.shape[1], 0.0)
        case ("gaussian", V):
            return _whitened(A - centre, V, most)
        case ("columns", k, j) if max(j) < A.shape[1]:
            return enclosed(k, A[:, list(j)], centre[list(j)], most)
        case ("sum", *parts):
            return composites.side_of_sum([enclosed(k, A, centre, most) for k in parts])
        case ("product", first, *others):
            side = enclosed(first, A, centre, most)
            for k in others:
                side = composites.side_of_product(side, enclosed(k, A, centre, most))
            return side
        case ("power", k, p):
            return _power(enclosed(k, A, centre, most), p)
        case ("exp", k):
            side = enclosed(k, A, centre, most)
            return composites.side_of_exp(side, most(float(np.max(side[1], initial=0.0))))
        case ("normalized", k):
            return _normalized(k, A, centre, most)
    raise Objection("kernel")


def _numpy(values: Any) -> FloatArray:
    return np.asarray(values.cpu().numpy())


def _squares(A: Any) -> tuple[FloatArray, FloatArray]:
    """Bound the error of x·x′: γ‖x‖‖x′‖, and what underflows; zero for a row of zeros."""
    squares, width = _numpy((A * A).sum(dim=1)), A.shape[1]
    off = gamma(width + 2)
    lost = np.where(_numpy((A != 0).any(dim=1)), (width + 1) * TINY, 0.0)
    m = _up(squares * (1.0 + off) + lost)
    return m, _up(off * m + lost)


def _falling(squares: FloatArray, columns: int, off: float) -> tuple[float, FloatArray]:
    """Bound the error of exp(−‖u − v‖²): γ(1.1 + 5‖u‖‖v‖) while γ(‖u‖ + ‖v‖)² ≤ ¼, rows being off
    by `off`."""
    bound = gamma(2 * columns + 20)
    if not 4.0 * bound * float(np.max(squares, initial=0.0)) <= 0.25:
        raise Objection("not finite")
    return 1.0, _up(bound * (1.1 + 5.0 * squares) + 1.8 * off)


def _whitened(A: Any, V: FloatArray, most: Shared) -> tuple[float, FloatArray]:
    import torch

    if A.shape[1] != V.shape[1]:
        raise Objection("kernel")
    W = torch.as_tensor(V, device=A.device)
    longest = float(np.max(_squares(A.abs() @ W.abs().T)[0], initial=0.0))
    off = most(_up(gamma(2 * A.shape[1] + 4) * math.sqrt(longest) + TINY))
    return _falling(_numpy(0.5 * ((A @ W.T) ** 2).sum(dim=1)), V.shape[0], off)


def _power(side: tuple[Any, Any], p: int) -> tuple[Any, Any]:
    """Bound the error of a power by squaring, as the values are."""
    if p == 1:
        return side
    half = _power(side, p // 2)
    square = composites.side_of_product(half, half)
    return composites.side_of_product(square, side) if p % 2 else square


def _normalized(k: Any, A: Any, centre: Any, most: Shared) -> tuple[Any, Any]:
    """Bound the error of k/√(k(x, x)·k(x′, x′)): e/k(x, x), and that of k(x, x), below 1 %."""
    from cotas.device.sides import diagonal, levelled, see

    A = levelled(A) if k == ("linear",) else A
    m, e = (np.broadcast_to(part, len(A)) for part in enclosed(k, A, centre, most))
    own = _numpy(diagonal(k, see(k, A, centre)))
    own = np.where((own == 0) & (e == 0), 1.0, own)
    off = _up(most(float(np.max(e / own, initial=0.0))) + 8 * U)
    if not off <= 0.01:
        raise Objection("not finite")
    return 1.02 * m / own, 1.02 * (e + 1.1 * off * m) / own


def _up(x: Any) -> Any:
    """Return a number above what x ≥ 0 stands for after a few operations; zero stays zero."""
    return x * (1.0 + 64 * U)
