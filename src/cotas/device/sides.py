"""Kernels from their plain data, on the tensors of PyTorch: rows as they see them, and blocks.

A kernel is what `Kernel.spec()` says, a tuple such as ("rbf", γ, σ). What depends on the rows of
one side alone is computed once, a `DeviceSide`; `block` compares two sides, and `product`
multiplies such a block by some columns without keeping it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from cotas.refusals import ParameterError

BLOCK_ENTRIES = 1 << 26  # kernel values that are kept at a time, where no program fuses them
CHUNK = 64  # products that are added up in any order, in double precision


class DeviceSide(NamedTuple):
    """Rows as a kernel sees them, a number for each of them, and the sides of its parts."""

    rows: Any
    note: Any = None  # half the squared length, or the root of k(x, x)
    parts: tuple[Any, ...] = ()

    def take(self, which: Any) -> DeviceSide:
        """Return some of the rows."""
        note = None if self.note is None else self.note[which]
        return DeviceSide(self.rows[which], note, tuple(part.take(which) for part in self.parts))

    def shaped(self, shape: Any) -> DeviceSide:
        """Return the rows in another shape, such as (machines, rows)."""
        note = None if self.note is None else self.note.reshape(shape)
        rows = self.rows.reshape(*shape, self.rows.shape[-1])
        return DeviceSide(rows, note, tuple(part.shaped(shape) for part in self.parts))

    @property
    def size(self) -> int:
        """Tell how many rows there are."""
        return int(self.rows.shape[0])


def is_known(spec: Any) -> bool:
    """Tell whether a kernel is all formula: no matrix and no function of the user's own."""
    match spec:
        case ("precomputed",) | ("custom" | "features", _):
            return False
        case ("columns" | "power", k, _):
            return is_known(k)
        case ("sum" | "product" | "exp" | "normalized", *parts):
            return all(is_known(k) for k in parts)
    return True


def see(spec: Any, X: Any, centre: Any) -> DeviceSide:
    """Return the rows of X, in double precision, as the kernel sees them from the centre."""
    match spec:
        case ("linear",):
            return DeviceSide(X)
        case ("constant", _):
            return DeviceSide(X[:, :0])
        case ("rbf", g, sigma):
            return _radial((X - centre) * (math.sqrt(2.0 * g) / sigma))
        case ("gaussian", W):
            return _radial((X - centre) @ torch.as_tensor(W, device=X.device, dtype=X.dtype).T)
        case ("columns", k, j):
            inner = see(k, X[:, list(j)].contiguous(), centre[list(j)])
            return DeviceSide(inner.rows, None, (inner,))
        case ("normalized", k):
            inner = see(k, levelled(X) if k == ("linear",) else X, centre)
            length = diagonal(k, inner).sqrt()
            return DeviceSide(inner.rows, torch.where(length > 0, length, 1.0), (inner,))
        case ("power" | "exp", k, *_):
            inner = see(k, X, centre)
            return DeviceSide(inner.rows, None, (inner,))
        case (_, *kernels):
            parts = tuple(see(k, X, centre) for k in kernels)
            return DeviceSide(parts[0].rows, None, parts)
    raise ParameterError("kernel", f"{spec!r} is no kernel.")


def _radial(u: Any) -> DeviceSide:
    return DeviceSide(u, 0.5 * (u * u).sum(dim=1))


def levelled(X: Any) -> Any:
    """Return each row times a power of two, so that its largest entry is near one."""
    if not X.shape[1]:
        return X
    return torch.ldexp(X, -torch.frexp(X.abs().amax(dim=1, keepdim=True)).exponent)


def converted(side: DeviceSide, dtype: Any) -> DeviceSide:
    """Return the same in another precision, the rows of an RBF padded with zeros for the fused
    program."""
    note = None if side.note is None else side.note.to(dtype)
    if side.parts:
        parts = tuple(converted(part, dtype) for part in side.parts)
        return DeviceSide(parts[0].rows, note, parts)
    rows, d = side.rows.to(dtype), side.rows.shape[1]
    if note is not None and rows.device.type == "cuda" and (more := padded(d) - d):
        rows = torch.nn.functional.pad(rows, (0, more))
    return DeviceSide(rows.contiguous(), note)


def padded(columns: int) -> int:
    """Count the columns that the fused program reads: a power of two up to 64, then a multiple of
    32."""
    if columns > 64:
        return -(-columns // 32) * 32
    return max(16, 1 << max(0, columns - 1).bit_length())


def joined(sides: list[DeviceSide]) -> DeviceSide:
    """Return one side of several, one after the other."""
    first = sides[0]
    if len(sides) == 1:
        return first
    parts = tuple(joined([side.parts[k] for side in sides]) for k in range(len(first.parts)))
    rows = parts[0].rows if parts else torch.cat([side.rows for side in sides])
    note = None if first.note is None else torch.cat([side.note for side in sides])
    return DeviceSide(rows, note, parts)


def diagonal(spec: Any, side: DeviceSide) -> Any:
    """Compute k(x, x) of each row."""
    match spec:
        case ("linear",):
            return (side.rows * side.rows).sum(dim=1)
        case ("constant", c):
            return torch.full((side.size,), c, dtype=side.rows.dtype, device=side.rows.device)
        case ("rbf" | "gaussian", *_):
            return torch.ones_like(side.note)
        case ("sum", *kernels):
            return sum(diagonal(k, part) for k, part in zip(kernels, side.parts, strict=True))
        case ("product", *kernels):
            return math.prod(diagonal(k, part) for k, part in zip(kernels, side.parts, strict=True))
        case ("power", k, p):
            return diagonal(k, side.parts[0]) ** p
        case ("exp", k):
            return diagonal(k, side.parts[0]).exp()
        case ("columns", k, _):
            return diagonal(k, side.parts[0])
        case ("normalized", k):
            return diagonal(k, side.parts[0]) / side.note / side.note
    raise ParameterError("kernel", f"{spec!r} is no kernel.")


def block(spec: Any, left: DeviceSide, right: DeviceSide) -> Any:
    """Compute k of each row on the left with each on the right, a new tensor."""
    match spec:
        case ("linear",):
            return left.rows @ right.rows.mT
        case ("constant", c):
            shape = (*left.rows.shape[:-1], right.rows.shape[-2])
            return torch.full(shape, c, dtype=left.rows.dtype, device=left.rows.device)
        case ("rbf" | "gaussian", *_):
            K = left.rows @ right.rows.mT
            K -= left.note.unsqueeze(-1)
            K -= right.note.unsqueeze(-2)
            return K.clamp_(max=0.0).exp_()
        case ("columns", k, _):
            return block(k, left.parts[0], right.parts[0])
        case ("exp", k):
            return block(k, left.parts[0], right.parts[0]).exp_()
        case ("power", k, p):
            return _power(block(k, left.parts[0], right.parts[0]), p)
        case ("normalized", k):
            K = block(k, left.parts[0], right.parts[0])
            K /= left.note.unsqueeze(-1)
            K /= right.note.unsqueeze(-2)
            return K
        case ("sum" | "product", *kernels):
            pairs = zip(kernels, left.parts, right.parts, strict=True)
            first, *others = (block(k, a, b) for k, a, b in pairs)
            for other in others:
                first = first.add_(other) if spec[0] == "sum" else first.mul_(other)
            return first
    raise ParameterError("kernel", f"{spec!r} is no kernel.")


def _power(base: Any, p: int) -> Any:
    """Raise to a power by squaring, so that it is a few products; an odd power needs the base once
    more."""
    if p == 1:
        return base
    half = _power(base, p // 2)
    square = half * half
    return square.mul_(base) if p % 2 else square


def is_fused(spec: Any, side: DeviceSide) -> bool:
    """Tell whether a program of ours makes the product without the block."""
    return spec[0] in ("rbf", "gaussian") and side.rows.device.type == "cuda"


def product(spec: Any, left: DeviceSide, right: DeviceSide, W: Any) -> Any:
    """Compute Σⱼ k(xᵢ, zⱼ) w[j, c] of each row i on the left and each column c of W."""
    if is_fused(spec, left):
        from cotas.device.fused import radial_product

        return radial_product(left.rows, left.note, right.rows, right.note, W)
    step = max(1, BLOCK_ENTRIES // max(1, right.size))
    parts = [slice(start, start + step) for start in range(0, left.size, step)]
    return torch.cat([_added(block(spec, left.take(part), right), W) for part in parts])


def _added(K: Any, W: Any) -> Any:
    """Compute K·W in sums of `CHUNK` products, which keeps their rounding small."""
    if K.dtype is not torch.float64:
        return K @ W
    whole = K.shape[1] - K.shape[1] % CHUNK
    chunks = K[:, :whole].reshape(len(K), -1, CHUNK).transpose(0, 1)
    sums = torch.bmm(chunks, W[:whole].reshape(-1, CHUNK, W.shape[1])).sum(dim=0)
    return sums + K[:, whole:] @ W[whole:]
