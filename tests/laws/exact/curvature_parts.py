"""What the parts of least squares promise, asked with large errors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.sparse import csr_matrix

from cotas.certificates.core import curvature
from cotas.certificates.core import hessian as curved
from cotas.certificates.core.bounds import Pull
from cotas.certificates.core.curvature import (
    ResidualSums,
    Slope,
    SquaredRisk,
    fall,
    residual_sums,
)
from cotas.certificates.core.gap import Claim, Weights
from cotas.certificates.core.sparse_rows import rows_in
from laws.exact.oracle import Rational, near, rational


def _fractions(values: Any) -> Any:
    """An array of fractions, which NumPy adds and multiplies as they are."""
    return np.array(rational(values), dtype=object).reshape(np.shape(values))


def _positive(A: Any) -> bool:
    """Whether a symmetric matrix of fractions is positive definite, by elimination."""
    A = A.copy()
    for i in range(len(A)):
        if not A[i, i] > 0:
            return False
        for o in range(i + 1, len(A)):
            A[o] = A[o] - A[o, i] / A[i, i] * A[i]
    return True


def hessians(rng: np.random.Generator) -> Iterator[str]:
    """Ĥ is off by no more than it says, and H ⪰ μ, in a basis of the rows or in their own."""
    n, d, free = int(rng.integers(1, 12)), int(rng.integers(1, 4)), bool(rng.random() < 0.5)
    X = rng.normal(size=(n, d)) * 2.0 ** rng.integers(-20, 20, size=d)
    if d > 1 and rng.random() < 0.5:  # nearly collinear
        X[:, 1] = X[:, 0] * (1 + 10.0 ** rng.uniform(-9, -1) * rng.normal(size=n))
    rows = rows_in(csr_matrix(X) if rng.random() < 0.3 else X, free)
    s, added = rng.random(n) + 0.1, rng.choice([0.0, 0.1, 1.0], size=d)
    w, shift = Weights.of(s, n), np.zeros(d) if rows.shift is None else rows.shift
    A = (_fractions(X) - _fractions(shift)) / _fractions(rows.unit)
    A = np.column_stack([A, _fractions(np.ones((n, int(free))))])
    bent = _fractions(np.append(added, [0.0] * free))
    # Sparse rows by the entries that they store, too, whether or not that is worth it.
    stored = patch.object(curved, "worth_storing", lambda A: bool(rng.random() < 0.7))
    with stored:
        found = curved.hessian(rows, w, added, free, False, None)
    weighed = _fractions(s)[:, None] / sum(rational(s))
    yield from _of_hessian(A.T @ (weighed * A) + np.diag(bent), found, n)
    T, before = found.basis(), float(np.linalg.cond(found.matrix))
    if T is None or not np.isfinite(T).all() or len(T) > n:
        return
    turned, basis = curved.hessian(rows, w, added, free, False, T), _fractions(T)
    B = A @ basis
    H = B.T @ (weighed * B) + basis.T @ (bent[:, None] * basis)
    yield from _of_hessian(H, turned, n)
    if before < 1e12 and not np.linalg.cond(turned.matrix) <= max(50.0, 1e-3 * before):
        yield f"another basis does not help: {before}"
    computed = [curved.in_units(rows, span, free, T) for span in rows.spans]
    spill = (weighed * (_fractions(np.concatenate(computed)) - B) ** 2).sum()
    long = math.sqrt(float(s @ (rows.lengths**2 + 1)) / float(s.sum()))
    most = (len(T) + 20) * 2.0**-52 * float(np.linalg.norm(T)) * long + 1e-140
    if not spill <= Rational(turned.spill) ** 2 or not 0.2 * most <= turned.spill <= most:
        yield f"spill {turned.spill} of {most}"


def known_squares(rng: np.random.Generator) -> Iterator[str]:
    """Σ sᵢaᵢaᵢᵀ is computed once and nearly exact, and a Hessian is that of what is known."""
    n, d, free = int(rng.integers(2, 12)), int(rng.integers(1, 4)), bool(rng.random() < 0.5)
    X, s = rng.normal(size=(n, d)), rng.random(n) + 0.1
    rows = rows_in(csr_matrix(X) if rng.random() < 0.3 else X, False)
    risk = SquaredRisk(0.5, None, rows, free, s, 10)
    squares, additions = risk.squares()
    A = np.column_stack(
        [_fractions(X) / _fractions(rows.unit), _fractions(np.ones((n, int(free))))]
    )
    apart = np.abs(A.T @ (_fractions(s)[:, None] * A) - _fractions(squares))
    sizes = np.abs(A).T @ (_fractions(s)[:, None] * np.abs(A))
    if (apart > (n + additions + 8) * Rational(1, 2**53) * sizes).any():
        yield f"squares of {n} rows: {squares}"
    if risk.squares()[0] is not squares:
        yield "squares that are known were computed again"
    other = (2.0 * squares, additions + 3)
    found, plain = (
        curved.hessian(rows, risk.w, risk.added, free, False, None, known)
        for known in (other, (squares, additions))
    )
    bent = np.diag(np.append(risk.added, [0.0] * free))
    for H, whole in ((found, 2.0 * squares), (plain, squares)):
        exact = (whole / risk.w.high + bent) * H.scale * H.scale[:, None]
        if not np.allclose(H.matrix, exact, rtol=1e-12, atol=1e-12):
            yield f"a Hessian {H.matrix} of the squares {whole}"


def _of_hessian(H: Any, found: Any, n: int) -> Iterator[str]:
    scale, eye = _fractions(found.scale), _fractions(np.eye(len(H)))
    H = H * scale * scale[:, None]
    apart, off = H - _fractions(found.matrix), Rational(found.off) * eye
    if not (_positive(off + apart) and _positive(off - apart)):
        yield f"a Hessian ± {found.off}"
    size = float(np.trace(found.matrix))
    if found.T is None and not n * 2.0**-53 * size <= found.off <= (n + 60) * 2.0**-52 * size:
        yield f"a Hessian ± {found.off} of the size {size}"
    diagonal = np.diag(found.matrix)
    if not (((diagonal > 0.4) & (diagonal < 2.5)) | (diagonal == 0)).all():
        yield f"a diagonal of {diagonal}"
    mu, least = found.least(), float(np.linalg.eigvalsh(found.matrix)[0])
    if mu and not _positive(H - Rational(mu) * eye):
        yield f"no curvature of {mu}"
    room = found.off + found.rounding()
    # Nothing below 1e-12 is tried.
    if not mu >= min(0.24, (least - 4 * room) / 101) and least - 4 * room > 1.1e-12:
        yield f"a curvature of {mu}, and it is {least}"
    if not 2.0**-53 * size <= found.rounding() <= (len(H) + 8) * 2.0**-50 * size:
        yield f"an error of {found.rounding()}"


def falls(rng: np.random.Generator) -> Iterator[str]:
    """P − min P at most, for every slope and every curvature that are possible."""
    m = int(rng.integers(1, 4))
    B = rng.normal(size=(m, m))
    Q = np.linalg.qr(B)[0]
    mu = float(rng.choice([0.25, 0.01]))
    values = mu * 1.5 + rng.random(m)
    values[0] = mu * 1.5
    matrix = Q @ np.diag(values) @ Q.T
    matrix = 0.5 * (matrix + matrix.T)
    scale, g = 2.0 ** rng.integers(-4, 5, size=m), rng.normal(size=m)
    off, wrong = float(rng.choice([0.0, 0.1, 1.0])), mu * float(rng.choice([0.0, 0.2, 0.4]))
    H = curved.Hessian(matrix, scale, wrong)
    found = fall(H, mu, g, off)
    worst = 0.0
    aims = [*np.eye(m), *-np.eye(m), rng.normal(size=m), Q[:, 0] / scale, -Q[:, 0] / scale, g]
    for aim in aims:
        slope = (g + off * aim / np.linalg.norm(aim) * (1 - 1e-12)) * scale
        other = matrix - wrong * (1 - 1e-12) * np.outer(Q[:, 0], Q[:, 0])
        worst = max(worst, 0.5 * float(slope @ np.linalg.solve(other, slope)))
    if not found.most >= worst * (1 - 1e-11):
        yield f"a fall of {found.most}, and {worst} is possible"
    # As it is derived, at a = Ĥ⁻¹g.
    size = float(np.linalg.norm(np.linalg.solve(matrix, g * scale)))
    left = off * float(scale.max()) + wrong * size
    quadratic = float(g * scale @ np.linalg.solve(matrix, g * scale)) + wrong * size**2
    right = 0.5 * quadratic + left * (size + left / (2 * mu))
    if not right * (1 - 1e-12) <= found.most <= right * (1 + 1e-9):
        yield f"a fall of {found.most}, not {right}"
    if not found.most - worst <= found.blur + 1e-9 * worst <= found.most + 1e-9 * worst:
        yield f"a blur of {found.blur}"
    yield from _of_a_way(rng, H, g, off)


def _of_a_way(rng: np.random.Generator, H: Any, g: Any, off: float) -> Iterator[str]:
    """The same for models no farther than `reach`, whatever the curvature."""
    m, reach = len(g), float(rng.uniform(0.1, 10))
    flat = H.matrix.copy()
    if m > 1 and rng.random() < 0.5:
        flat[0] = flat[:, 0] = 0.0
    flat = flat + 1e-3 * np.eye(m)  # so that Ĥ less its error may have no curvature at all
    H = H._replace(matrix=flat, off=min(H.off, 1e-3))
    most = fall(H, 0.0, g, off, reach).most
    slope = g * H.scale
    aims = [*np.eye(m), *-np.eye(m), -slope, -np.linalg.solve(flat, slope), rng.normal(size=m)]
    for aim in aims:
        v = aim / np.linalg.norm(aim)
        for length in (reach, 0.5 * reach, min(reach, 1e-3)):
            turned = g - off * v / H.scale / np.linalg.norm(v / H.scale) * (1 - 1e-12)
            fallen = -float(turned * H.scale @ v) * length - 0.5 * length**2 * (
                float(v @ flat @ v) - H.off
            )
            if not most >= fallen * (1 - 1e-11):
                yield f"a fall of {most} within {reach}, and {fallen} is possible"
    if off == H.off == 0.0 and m == 1 and H.matrix[0, 0] > 0.1:
        best = 0.5 * float(slope[0] ** 2 / H.matrix[0, 0])
        if not most <= best * (1 + 1e-6) + 1e-9 * reach * abs(float(slope[0])):
            yield f"a fall of {most} within {reach}, not {best}"


def residual_parts(rng: np.random.Generator) -> Iterator[str]:
    """Σ sᵢrᵢ, what doubt of r is worth, and Σ sᵢrᵢ² at least, for every r within `off`."""
    n = int(rng.integers(1, 9))
    s, r, lengths = rng.random(n), rng.normal(size=n), rng.random(n) * 3
    off = rng.choice([0.0, 0.2, 2.0], size=n)
    found = residual_sums(s, r, off, lengths)
    # Each product is rounded, which is counted as a doubt of its residual.
    exact = sum(rational(s * r))
    low, high = map(Rational, found.mean)
    if not low <= exact <= high <= low + Rational(1, 10**14):
        yield f"mean {found.mean} for {near(exact)}"
    felt = float(s @ ((off + 2.0**-51 * np.abs(r)) * np.hypot(lengths, 1.0)))
    if not felt * (1 - 1e-15) <= found.felt <= felt * (1 + 1e-9) + 1e-290:
        yield f"felt {found.felt}, not {felt}"
    least = float(s @ np.maximum(np.abs(r) - off, 0.0) ** 2)
    if not least * (1 - 1e-9) - 1e-290 <= found.near <= least:
        yield f"at least {found.near}, not {least}"


class _Problem:
    """Least squares with a sum of weights that is hardly known, and its quadratic in floats."""

    def __init__(self, rng: np.random.Generator, lam: float, size: float = 1.0) -> None:
        self.n, self.d = int(rng.integers(3, 9)), int(rng.integers(1, 4))
        self.free = bool(rng.random() < 0.5)
        X = rng.normal(size=(self.n, self.d)) * 2.0 ** rng.integers(-9, 9, size=self.d)
        self.s = rng.random(self.n) + 0.1
        if rng.random() < 0.5:  # a short row that weighs much: its columns have another scale
            X[0], self.s[0] = X[0] / 16, 500.0
        self.rows = rows_in(X, self.free)
        whole = float(self.s.sum())
        ends = (0.8, 1.3) if rng.random() < 0.6 else (1.0, 1.0)
        self.w = Weights(self.s, ends[0] * whole, ends[1] * whole)
        sigma = rng.uniform(0.5, 2.0, size=self.d)
        self.risk = curvature.SquaredRisk(lam, sigma, self.rows, self.free, self.w, 2000)
        shift = np.zeros(self.d) if self.rows.shift is None else self.rows.shift
        A = (X - shift) / self.rows.unit * size
        self.A = np.column_stack([A, np.ones(self.n)]) if self.free else A
        self.added = np.append(lam * sigma**2 / self.rows.unit**2, [0.0] * self.free)
        self.theta, self.bias = rng.normal(size=self.d) / self.rows.unit, 0.3 * self.free
        self.shift = shift

    def place(self) -> np.ndarray:
        """The model in the units of the columns."""
        moved = self.bias + self.shift @ self.theta
        return np.append(self.theta * self.rows.unit, [moved] * self.free)

    def hessian(self, whole: float) -> np.ndarray:
        """H where the weights sum to that."""
        return self.A.T @ (self.s[:, None] * self.A) / whole + np.diag(self.added)


def _aims(rng: np.random.Generator, m: int, *more: np.ndarray) -> list[np.ndarray]:
    """Directions in which something may be off."""
    found = [*np.eye(m), *-np.eye(m), rng.normal(size=m), *more]
    return [aim / np.linalg.norm(aim) for aim in found if aim.any()]


def slopes(rng: np.random.Generator) -> Iterator[str]:
    """∇P for all sums and residuals that are possible."""
    p = _Problem(rng, float(rng.choice([0.0, 0.7])))
    off, felt = float(rng.choice([0.0, 0.2])), float(rng.choice([0.0, 0.3]))
    low, high = np.sort(rng.normal(size=2)) if rng.random() < 0.5 else (0.4, 0.4)
    u, near_ = rng.normal(size=p.d) * p.rows.unit, float(rng.random())
    pull = Pull(u, p.rows.unit, off)
    claim = Claim(p.risk.risk, np.zeros(p.n), p.theta, p.bias)
    sums = ResidualSums((float(low), float(high)), felt, near_)
    found = p.risk._slope(claim, (p.bias, 0.0), 2.0, pull, sums, 1.5)
    bent = p.added[: p.d] * p.theta * p.rows.unit
    m = p.d + p.free
    for whole in (p.w.low, p.w.high):
        for end in (low, high):
            exact = np.append(u / p.rows.unit / whole + bent, [end / whole] * p.free)
            for aim in _aims(rng, m, exact - found.g, np.append(u / p.rows.unit, [end] * p.free)):
                part = np.append(aim[: p.d], [0.0] * p.free)
                moved = exact + (aim * felt + part * off) / whole * (1 - 1e-12)
                if not np.linalg.norm(moved - found.g) <= found.off * (1 + 1e-12):
                    yield f"a slope off by {np.linalg.norm(moved - found.g)}, not {found.off}"
    summed = np.linalg.norm(u / p.rows.unit) + max(abs(low), abs(high))
    sizes = summed / p.w.low + np.linalg.norm(bent)
    most = (off + felt + 0.5 * (high - low)) / p.w.low + (p.w.high / p.w.low - 1) * sizes
    if not found.off <= most * (1 + 1e-7) + 1e-11 * (1 + sizes):
        yield f"a slope off by {found.off}, not {most}"
    if not np.allclose(found.model, p.place()) or not math.isclose(found.reach, 3.5):
        yield f"the place {found.model}, the reach {found.reach}"
    least = 0.5 * near_ / p.w.high + 0.5 * float(p.added[: p.d] @ (p.theta * p.rows.unit) ** 2)
    if not least * (1 - 1e-9) <= found.least <= least or found.upper != 2.0:
        yield f"at least {found.least}, not {least}"


def penalties(rng: np.random.Generator) -> Iterator[str]:
    """How far P falls by the curvature of the penalty alone."""
    size = float(rng.choice([0.0, 0.3, 1.0]))
    p = _Problem(rng, float(rng.choice([0.1, 2.0])), size)
    m, off = p.d + p.free, float(rng.choice([0.0, 0.1, 1.0]))
    g = rng.normal(size=m)
    found = p.risk._by_penalty(Slope(1.0, 0.5, g, off, p.place(), 1.0))
    worst = 0.0
    for whole in (p.w.low, p.w.high):
        H = p.hessian(whole)
        H[-1, -1] = 1.0 if p.free else H[-1, -1]
        if p.free:  # the mean of the rows, and a bias whose curvature is one
            weights = p.s / p.s.sum()
            H = p.A.T @ (weights[:, None] * p.A) + np.diag(p.added)
        for aim in _aims(rng, m, g, -g, np.append(1 / np.sqrt(p.added[: p.d]), [0.0] * p.free)):
            slope = g + off * aim * (1 - 1e-12)
            worst = max(worst, 0.5 * float(slope @ np.linalg.solve(H, slope)))
    if not found.most >= worst * (1 - 1e-9):
        yield f"a fall of {found.most}, and {worst} is possible"
    if not p.free and off == 0.0:
        exact = 0.5 * float(g**2 @ (1 / p.added))
        if not exact <= found.most <= exact * (1 + 1e-9):
            yield f"a fall of {found.most}, not {exact}"
    root = math.sqrt(float(p.added[: p.d].min()))
    bias = (abs(float(g[-1])) + off) * p.free
    mean = float(p.s @ p.rows.lengths) / p.w.low
    both = float(np.linalg.norm(g[: p.d] / np.sqrt(p.added[: p.d]))) + (off + mean * bias) / root
    if not found.most <= 0.5 * (both**2 + bias**2) * (1 + 1e-9):
        yield f"a fall of {found.most}, far too much"
    exact = 0.5 * float(g[: p.d] ** 2 @ (1 / p.added[: p.d]))
    if not found.most - exact <= found.blur * (1 + 1e-9) + 1e-9 * exact:
        yield f"a blur of {found.blur}"
    if not math.isclose(p.risk._mean_length(), mean, rel_tol=1e-9) or p.risk._mean_length() < mean:
        yield "the mean length"


def turned_slopes(rng: np.random.Generator) -> Iterator[str]:
    """∇P in another basis, for all residuals and sums of weights that are possible."""
    p = _Problem(rng, float(rng.choice([0.0, 0.7])))
    m = p.d + p.free
    T = np.eye(m) + 0.3 * rng.normal(size=(m, m))
    H = curved.hessian(p.rows, p.w, p.added[: p.d], p.free, False, T)
    H = H._replace(spill=float(rng.choice([H.spill, 0.2])))
    r, doubt = rng.normal(size=p.n), rng.choice([0.0, 0.3, 1.0], size=p.n)
    slope = Slope(1.0, 0.0, np.zeros(m), 0.0, p.place(), 1.0, r, doubt)
    g, off = p.risk._seen(slope, H)
    bent = p.added * p.place()
    for whole in (p.w.low, p.w.high):
        for aim in _aims(rng, m, T.T @ (p.A.T @ (p.s * r))):
            # Residuals that pull this way, and rows that are off by the spill in the mean square.
            signs = np.sign(p.A @ T @ aim)
            moved = r + doubt * signs
            spilt = H.spill * math.sqrt(float(p.s @ moved**2) / whole) * (H.spill > 0.1)
            exact = T.T @ (p.A.T @ (p.s * moved) / whole + bent)
            apart = abs(float(aim @ (exact - g)))
            close = apart + spilt * math.sqrt(float(p.s.sum()) / whole) * 0.5
            if not close <= off * (1 + 1e-9) and p.w.low <= whole:
                yield f"a turned slope off by {close}, not {off}"
    root = [math.sqrt(float(p.s @ part**2) / p.w.low) for part in (r, doubt)]
    wide = math.sqrt(float(p.s @ np.square(p.A @ T).sum(axis=1)) / p.w.low)
    sizes = np.linalg.norm(T.T @ (p.A.T @ (p.s * r))) / p.w.low + np.linalg.norm(T.T @ bent)
    most = (wide + H.spill) * root[1] + H.spill * root[0] + (p.w.high / p.w.low - 1) * sizes
    if not most <= off <= most * (1 + 1e-6) + 1e-12:
        yield f"a turned slope off by {off}, not {most}"
    if p.risk._seen(slope, H._replace(T=None)) != (slope.g, slope.off):
        yield "a slope that was not turned"


def ways(rng: np.random.Generator) -> Iterator[str]:
    """How far P falls on the way to a model within ρ, where no curvature is proved."""
    p = _Problem(rng, 0.0)
    m, off = p.d + p.free, float(rng.choice([0.0, 0.2, 30.0]))
    p.risk.largest = int(rng.choice([0, 2000]))
    g, place = rng.normal(size=m) * 10.0 ** rng.uniform(-1, 3), rng.normal(size=m) * 3
    kept, curvature.WITHIN = curvature.WITHIN, 2.0  # so that the way to zero counts
    try:
        rho, found = p.risk._within(Slope(1.0, 0.0, g, off, place, float(rng.random()), None))
        # A slope that may be none is not seen in the units of a curvature.
        bent = p.risk.largest and float(np.linalg.norm(g)) > off
        scale = p.risk.curvature(False, 0)[0].scale if bent else np.ones(m)
    finally:
        curvature.WITHIN = kept
    length = float(np.linalg.norm(place / scale))
    if not 2 * length <= rho <= 2 * (max(length, 1.0) + 1e-9):
        yield f"within {rho} of zero, and the model is {length} long"
    H = p.hessian(p.w.high)
    for aim in _aims(rng, m, -g * scale, place, -np.linalg.pinv(H) @ g / scale):
        v = aim * scale * rho
        slope = g - off * (v - place) / np.linalg.norm(v - place) * (1 - 1e-12)
        fallen = -float(slope @ (v - place)) - 0.5 * float((v - place) @ H @ (v - place))
        if not found.most >= fallen * (1 - 1e-9):
            yield f"a fall of {found.most} within {rho}, and {fallen} is possible"
    far = (np.linalg.norm(g * scale) + off * scale.max()) * (rho + length)
    if not found.most <= far * (1 + 1e-9):
        yield f"a fall of {found.most} within {rho}, far too much"


CURVATURE_PARTS = (
    hessians, known_squares, falls, residual_parts, slopes, penalties, turned_slopes, ways,
)  # fmt: skip
