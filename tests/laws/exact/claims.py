"""What must be true of the bounds of one problem, whatever the data: each failure in words."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import numpy as np
from scipy import sparse

from cotas.certificates.core import margins, residuals, sparsity
from cotas.certificates.core.blocks import Claims, block_bounds
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.gap import Claim, Weights, all_bounds
from cotas.certificates.core.rows import Rows
from cotas.certificates.core.sparse_rows import rows_in
from cotas.source import Arrays
from laws.exact.cases import Case, draw
from laws.exact.oracle import Exact, Rational, at_least, at_most, near, rational

# A dual point, or a reason that is none of the data's.
BAD_DUALS = ("nan", "inf", "huge", "denormal", "random", "infeasible", "zero", "short", "wrong way")
TIGHT = 1e-9
# Losses whose slope at the best model is the best dual point.
SMOOTH = (margins.SquaredHinge, margins.Logistic, margins.Exponential, residuals.Huber)


def failures(seed: int, family: tuple[str, str] | None = None) -> list[str]:
    """What is false of the problem of this seed."""
    rng = np.random.default_rng(seed)
    case = draw(rng, family)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return [f"{case.family} {case.style} seed {seed}: {words}" for words in _claims(case, rng)]


def _claims(case: Case, rng: np.random.Generator) -> Iterator[str]:
    exact = Exact(case.risk, case.X, case.y, case.weights)
    models = [(case.theta, case.bias), *case.others]
    values = [exact.value(rational(theta), Rational(bias)) for theta, bias in models]
    best = _least([*values, *_line_values(exact, case, rng)])
    rows = rows_in(case.X, case.risk.free_bias)
    asked = [
        Claim(case.risk, case.y, *models[0], case.c),
        Claim(case.risk, case.y, *models[1], None),
    ]
    try:
        found: list[Any] = [f.bounds for f in all_bounds(rows, asked, case.weights)]
    except Exception as error:  # every exception is a failure here
        yield f"all_bounds raised {error!r}"
        return
    for claim, value, bound in zip(asked, values[:2], found, strict=True):
        yield from _of_claim(case, claim, value, best, bound)
    block_rows = int(rng.integers(1, len(case.y) + 1))
    yield from _in_blocks(case, asked, values, best, found, block_rows)
    if case.well_scaled and isinstance(found[0], Bounds):
        yield from _tightness(case, found[0], values[0])
        yield from _other_duals(case, rows, values[0])
    if isinstance(found[0], Bounds):
        yield from _in_another_order(case, asked[0], found[0], rng)
    yield from _of_bad_dual(case, rows, models, values, best, rng)


def _in_blocks(
    case: Case,
    asked: list[Claim],
    values: list[Any],
    best: Any,
    in_memory: list[Any],
    block_rows: int,
) -> Iterator[str]:
    """The same, when the rows come in blocks of some size, whose dual points come in turn."""
    if isinstance(case.risk.loss, margins.HardMargin) or len(
        getattr(case.risk.regularizer, "free", tuple)()
    ):
        return
    source = Mixed(case.X, case.y, case.weights, block_rows=block_rows)
    for claim, value, whole in zip(asked, values[:2], in_memory, strict=True):
        spans = cycle(range(0, len(case.y), block_rows))

        def dual(X: Any, y: Any, s: Any, claim: Claim = claim, spans: Any = spans) -> Any:
            return claim.c[(start := next(spans)) : start + len(s)]

        given = None if claim.c is None else dual
        theta = np.asarray(claim.theta)[:, None]
        read = Targets(case.weights is not None)
        claims = Claims(case.risk, theta, (claim.bias,), read, (given,), *case.X.shape)
        [found] = block_bounds(source, claims)
        for words in _of_claim(case, claim, value, best, found.bounds):
            yield f"in blocks of {block_rows}: {words}"
        if case.well_scaled and given is not None and isinstance(found.bounds, Bounds):
            for words in _tightness(case, found.bounds, value, 10 * TIGHT):
                yield f"in blocks of {block_rows}: {words}"
        # Of other losses fewer multiples of c are tried, or c is balanced in another way.
        squared = type(case.risk.loss) is residuals.Squared
        if case.style == "plain" and isinstance(whole, Bounds) and squared:
            apart = found.bounds.lower - whole.lower, found.bounds.upper - whole.upper
            room = 1e-4 * whole.upper + found.bounds.charge + whole.charge + 1e-290
            if not max(map(abs, apart)) <= room:
                yield f"in blocks of {block_rows}: {found.bounds}, and in memory {whole}"


class Mixed(Arrays):
    """Dense blocks, of which every other one is sparse, in some format: all are the same rows."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._read: dict[int, Any] = {}  # every pass reads the same blocks

    def _block(self, start: int) -> Any:
        if start not in self._read:
            self._read[start] = self._made(start)
        return self._read[start]

    def _made(self, start: int) -> Any:
        block, turn = super()._block(start), start // self.block_rows
        if turn % 2 == 0 or sparse.issparse(block.X):
            return block
        formats = (sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix)
        return block._replace(X=formats[turn // 2 % 3](block.X))


class Targets:
    """y of a block as a column, and its weights."""

    def __init__(self, weighed: bool) -> None:
        self.weighed = weighed

    def __call__(self, block: Any) -> Any:
        return block.y[:, None], block.weights if self.weighed else None


def bounds(rows: Rows, claim: Claim, weights: Any = None) -> Bounds:
    """Both bounds of one model; raises what speaks against it."""
    found = all_bounds(rows, [claim], weights)[0].bounds
    if isinstance(found, Objection):
        raise found
    return found


def _line_values(exact: Exact, case: Case, rng: np.random.Generator) -> list[Any]:
    """The smallest values along a few lines through the model; in one dimension, the smallest."""
    if rng.random() > 0.3 or len(exact.rows) * len(case.theta) > 100:
        return []
    theta, d = rational(case.theta), len(case.theta)
    lines = [([Rational(int(j == k)) for j in range(d)], Rational(0)) for k in range(min(d, 2))]
    if case.risk.free_bias or case.risk.bias_scale:
        lines.append(([Rational(0)] * d, Rational(1)))
    return [exact.smallest_on_line(theta, Rational(case.bias), *line) for line in lines]


def _least(values: list[Any]) -> Any:
    known = [value for value in values if value is not None]
    return min(known) if known else None


def _of_claim(case: Case, claim: Claim, value: Any, best: Any, found: Any) -> Iterator[str]:
    if isinstance(found, Objection):
        if found.code not in _reasons(case, claim, value):
            yield f"objection {found.code!r} to a model of value {value and near(value)}"
        return
    if value is None:
        # The core cannot decide by less than a rounding whether a model lies inside.
        yield f"a bound {found} of a model outside of the problem"
        return
    if not (math.isfinite(found.lower) and math.isfinite(found.upper)):
        yield f"bounds that are no numbers: {found}"
        return
    if not at_least(found.upper, value):
        yield f"upper {found.upper!r} below P = {near(value)!r} by {near(value) - found.upper:.3g}"
    if best is not None and not at_most(found.lower, best):
        yield f"lower {found.lower!r} above {near(best)!r} by {found.lower - near(best):.3g}"
    if not (math.isfinite(found.charge) and found.charge >= 0):
        yield f"charge {found.charge}"


@np.errstate(all="ignore")
def _reasons(case: Case, claim: Claim, value: Any) -> set[str]:
    """Objections that are in order."""
    # Of several models that are checked together, one may be too large for all.
    theta, risk = np.abs([case.theta, *(theta for theta, _ in case.others)]), case.risk
    sums = math.fsum(case.s / 1024)
    sigma = () if risk.regularizer.weights is None else risk.regularizer.weights
    parts = (case.dense, theta, case.y, case.s, sigma, claim.bias, risk.regularizer.value(theta[0]))
    largest = max(float(np.abs(part).max()) for part in parts if np.size(part))
    found = set()
    if not largest < 1e140:  # whose square is no number of double precision any more
        found |= {"not finite", "rows"}
    if value is not None and near(value) > 1e290:
        found |= {"not finite"}
    if isinstance(risk.loss, margins.Exponential) and np.abs(case.dense).max() * theta.max() > 1e12:
        found |= {"not finite"}  # e to the power of a rounding
    if case.style == "extreme":
        found |= {"rows"}
    if sums < 1e-150 or sums > 1e300:
        found |= {"weights"}
    if value is None:
        found |= {"sign", "ball", "not separated"}
    if isinstance(risk.regularizer, sparsity.Ball) and risk.regularizer.weights is not None:
        found |= {"ball"}  # within a rounding of its edge
    if isinstance(risk.loss, margins.HardMargin):
        found |= {"not separated"} if _barely(case, claim) else set()
    return found


def _barely(case: Case, claim: Claim) -> bool:
    """Whether the smallest margin is within rounding of zero."""
    X = case.dense
    with np.errstate(all="ignore"):
        z = X @ claim.theta + claim.bias
        size = np.abs(X) @ np.abs(claim.theta) + abs(claim.bias)
        unit = np.abs(X).max(axis=0) @ np.abs(claim.theta)
    least = np.min(np.where(case.s > 0, case.y * z, np.inf))
    return not least > 1e-12 * (size.max() + unit * len(claim.theta)) or least < 1e-140


def _other_duals(case: Case, rows: Rows, value: Any) -> Iterator[str]:
    """As tight from the slopes at the best model, and from a multiple of the best dual point."""
    duals = {}
    if isinstance(case.risk.loss, SMOOTH):
        duals["slopes"] = None
    loss, reg = case.risk.loss, case.risk.regularizer
    if math.isinf(loss.reach) and loss.quadratic and reg.degree == 2:
        duals |= {"3c": 3.0 * case.c, "c/3": case.c / 3.0}
    for name, c in duals.items():
        claim = Claim(case.risk, case.y, case.theta, case.bias, c)
        room = _felt_by_slopes(case) if c is None else 0.0
        for words in _tightness(case, bounds(rows, claim, case.weights), value, room=room):
            yield f"{name}: {words}"


def _felt_by_slopes(case: Case) -> float:
    """What the bound may lose by slopes at scores that are rounded: residuals of 1 beside 1e7."""
    return 2.0**-50 * float(_sizes(case).max()) ** 2


def _in_another_order(
    case: Case, claim: Claim, found: Bounds, rng: np.random.Generator
) -> Iterator[str]:
    """Rows in another order prove about the same bounds: these were moved apart for sums in one."""
    order = rng.permutation(len(case.y))
    weights = None if case.weights is None else case.weights[order]
    turned = claim._replace(y=case.y[order], c=case.c[order])
    try:
        other = bounds(rows_in(case.X[order], case.risk.free_bias), turned, weights)
    except Objection:
        return
    room = [8 * max(pair) for pair in zip(other.moved, found.moved, strict=True)]
    if case.style == "plain" and not (
        found.lower <= other.lower + room[0] and other.upper - room[1] <= found.upper
    ):
        yield f"{found}, and in another order {other}"


def _sizes(case: Case) -> Any:
    """How large the parts are that a residual is left of."""
    return np.abs(case.dense) @ np.abs(case.theta) + np.abs(case.y) + abs(case.bias) + 1


def _tightness(
    case: Case, found: Bounds, value: Any, tight: float = TIGHT, room: float = 0.0
) -> Iterator[str]:
    """No wider than 1e-9 of the value, and of what the scores themselves are rounded by."""
    slope = np.abs(case.c / np.maximum(case.s, 1e-9)).max()
    room += tight * (found.upper + 1e-3 * (slope + 1) * _sizes(case).max())
    if not found.charge <= 10 * room:
        yield f"charge {found.charge:.3g} of {found.upper:.6g}"
    if not found.gap <= room:
        yield f"gap {found.gap:.3g} of {found.upper:.6g} at an optimal pair, well scaled"
    if not found.upper <= near(value) + room:
        yield f"upper {found.upper!r} far above {near(value)!r}"


def _of_bad_dual(
    case: Case, rows: Rows, models: Any, values: Any, best: Any, rng: np.random.Generator
) -> Iterator[str]:
    """No dual point makes a bound false, or anything but an objection be raised."""
    kind = str(rng.choice(BAD_DUALS))
    k = int(rng.integers(len(models)))
    claim = Claim(case.risk, case.y, *models[k], _bad_dual(kind, case, rng))
    try:
        found: Any = bounds(rows, claim, case.weights)
    except Objection as objection:
        in_order = {"dual point"} if kind in ("nan", "inf", "short") else set()
        if objection.code not in in_order | _reasons(case, claim, values[k]):
            yield f"objection {objection.code!r} to a dual point: {kind}"
        return
    except Exception as error:  # every other exception is a failure here
        yield f"a dual point ({kind}) raised {error!r}"
        return
    if kind in ("nan", "inf", "short"):
        yield f"a dual point ({kind}) was accepted"
    for words in _of_claim(case, claim, values[k], best, found):
        yield f"dual point {kind}: {words}"


def _bad_dual(kind: str, case: Case, rng: np.random.Generator) -> np.ndarray:
    n = len(case.y)
    c = np.array(case.c)
    at = rng.integers(n)
    if kind == "nan":
        c[at] = np.nan
    elif kind == "inf":
        c[at] = rng.choice([-np.inf, np.inf])
    elif kind == "huge":
        c = rng.normal(size=n) * 10.0 ** rng.uniform(20, 307)
    elif kind == "denormal":
        c = rng.normal(size=n) * 10.0 ** rng.uniform(-323, -290)
    elif kind == "random":
        c = rng.normal(size=n) * Weights.of(None, n).s
    elif kind == "infeasible":
        c = c * 10.0 ** rng.uniform(0, 3) + rng.normal(size=n) * 10.0 ** rng.uniform(-3, 1)
    elif kind == "zero":
        c = np.zeros(n)
    elif kind == "short":
        c = np.zeros(n + 1)
    elif kind == "wrong way":
        c = -c
    return c
