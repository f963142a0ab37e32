"""What is refused where rows come in blocks, of several classes, of curvature and of kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from cotas.certificates.core import gram
from cotas.certificates.core.blocks import Claims, OneBlock, block_bounds
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.curvature import SquaredRisk
from cotas.certificates.core.gap import L2, Claim, Hinge, Margin, Risk
from cotas.certificates.core.margins import HardMargin, Logistic
from cotas.certificates.core.residuals import Squared
from cotas.certificates.core.softmax import softmax_bounds
from cotas.certificates.core.sparse_rows import rows_in
from cotas.certificates.core.sparsity import ElasticNetRegularizer
from cotas.certificates.core.squared_blocks import BlockSquaredRisk
from cotas.source import Arrays

X = np.array([[1.0, 0.5], [2.0, -1.0], [-1.0, 0.0], [0.5, 3.0], [-2.0, 1.0]])
SIGNS = np.array([1.0, 1.0, -1.0, 1.0, -1.0])


def _code(call: Callable[[], Any]) -> str:
    """Why a call is refused, or nothing."""
    try:
        found = call()
    except Objection as objection:
        return objection.code
    found = found[0] if isinstance(found, list) else found
    found = getattr(found, "bounds", found)
    return found.code if isinstance(found, Objection) else ""


def _blocks(change: dict[str, Any]) -> Any:
    """Bounds in blocks of two rows of the problem with some of it changed."""
    given = {
        "risk": Risk(Hinge(), L2(1.0), True), "theta": np.array([0.5, 0.1]), "bias": 0.25, "n": 5,
        "y": SIGNS[:, None], "s": None, "dual": None, "d": 2, "X": X, "bounds": block_bounds,
    } | change  # fmt: skip
    source = Arrays(given["X"], given["X"][:, 0], block_rows=2)

    def read(block: Any) -> Any:
        part = slice(block.start, block.start + len(block.X))
        return given["y"][part], None if given["s"] is None else given["s"][part]

    theta = np.asarray(given["theta"])[:, None]
    claims = (
        given["risk"],
        theta,
        (given["bias"],),
        read,
        (given["dual"],),
        given["n"],
        given["d"],
    )
    return given["bounds"](source, Claims(*claims))


def _squares_in_blocks(source: Any, claims: Any) -> Any:
    return BlockSquaredRisk(source, claims, 10).all_bounds(1e-9, [0.0])


def refused_in_blocks() -> Iterator[str]:
    """Models, targets, weights and rows that are none of the problem's."""
    risk, sigma = Risk(Hinge(), L2(1.0), False), np.array([1.0, 0.0])
    cases: list[tuple[str, dict[str, Any]]] = [
        ("", {}),
        ("shape", {"n": 6}),
        ("shape", {"n": 4}),
        ("shape", {"d": 3}),
        ("shape", {"d": 3, "theta": [0.5, 0.1, 0.2]}),
        ("shape", {"theta": [1.0]}),
        ("shape", {"y": np.column_stack([SIGNS, SIGNS])}),
        ("shape", {"y": SIGNS[:4, None]}),
        ("shape", {"s": np.ones(4)}),
        ("weights", {"s": np.array([1.0, 1.0, -1.0, 1.0, 1.0])}),
        ("weights", {"s": np.array([1.0, math.nan, 1.0, 1.0, 1.0])}),
        ("weights", {"s": np.zeros(5)}),
        ("labels", {"y": 2 * SIGNS[:, None]}),
        ("model not finite", {"theta": [math.nan, 0.0]}),
        ("model not finite", {"bias": math.inf}),
        ("bias", {"risk": risk}),
        ("parameters", {"risk": Risk(HardMargin(), L2(1.0), True)}),
        (
            "parameters",
            {"risk": Risk(Hinge(), ElasticNetRegularizer(1.0, 0.0, False, sigma), True)},
        ),
        ("parameters", {"risk": Risk(Hinge(), L2(-1.0), True)}),
        ("dual point", {"dual": lambda X, y, s: y[:1]}),
        ("dual point", {"dual": lambda X, y, s: y * math.nan}),
        ("targets", {"risk": Risk(Squared(), L2(1.0), True), "y": SIGNS[:, None] * math.inf}),
        ("rows", {"X": X * math.nan}),
    ]
    for code, change in cases:
        if (found := _code(lambda change=change: _blocks(change))) != code:
            yield f"in blocks: {found!r}, not {code!r}, of {change}"
    squared = {"risk": Risk(Squared(), L2(0.1), True), "bounds": _squares_in_blocks}
    for code, change in cases:
        asked = code in ("shape", "weights", "model not finite", "")
        if asked and (found := _code(lambda change=change: _blocks(squared | change))) != code:
            yield f"squares in blocks: {found!r}, not {code!r}, of {change}"


def _classes(change: dict[str, Any]) -> Any:
    """Bounds of a softmax regression with some of it changed."""
    given = {
        "y": 2.0 * np.eye(3)[[0, 1, 2, 0, 1]] - 1.0, "W": np.full((2, 3), 0.1), "free": True,
        "b": (0.1, 0.0, -0.1), "penalty": L2(1.0), "reference": None, "s": None, "X": X,
    } | change  # fmt: skip
    rows = OneBlock(rows_in(given["X"], given["free"]), given["y"], given["s"])
    risk, k = Risk(Margin(), given["penalty"], given["free"]), len(given["b"])
    claims = Claims(risk, given["W"], given["b"], rows.read, (None,) * k, 5, 2)
    return softmax_bounds(rows, claims, given["reference"])


def refused_classes() -> Iterator[str]:
    """Models and classes that are none of the problem's."""
    y = 2.0 * np.eye(3)[[0, 1, 2, 0, 1]] - 1.0
    twice, never = y.copy(), y.copy()
    twice[0], never[0] = 1.0, -1.0
    W = np.full((2, 3), 0.1)
    cases: list[tuple[str, dict[str, Any]]] = [
        ("", {}),
        ("unknown label", {"y": twice}),
        ("unknown label", {"y": never}),
        ("labels", {"y": 3 * y}),
        ("shape", {"W": W[:, :2]}),
        ("shape", {"W": W.T}),
        ("shape", {"reference": (W.T, np.zeros(3))}),
        ("", {"reference": (2 * W, np.zeros(3))}),
        ("shape", {"y": y[:4]}),
        ("model not finite", {"W": W * math.nan}),
        ("model not finite", {"b": (0.0, math.inf, 0.0)}),
        ("bias", {"free": False}),
        ("", {"free": False, "b": (0.0, 0.0, 0.0)}),
        ("penalty", {"penalty": ElasticNetRegularizer(1.0, 1.0, False, np.ones(2))}),
        ("parameters", {"penalty": L2(-1.0)}),
        ("weights", {"s": np.array([1.0, -1.0, 1.0, 1.0, 1.0])}),
        ("not finite", {"W": W * 1e200}),
        ("rows", {"X": X * math.nan}),
    ]
    for code, change in cases:
        if (found := _code(lambda change=change: _classes(change))) != code:
            yield f"classes: {found!r}, not {code!r}, of {change}"
    lonely = _classes({"y": 2.0 * np.eye(3)[[0, 1, 0, 0, 1]] - 1.0})
    if lonely.lower != 0.0 or not math.isfinite(lonely.upper):
        yield f"a class without rows, and biases without a bound: {lonely}"
    bound = _classes({"y": 2.0 * np.eye(3)[[0, 1, 0, 0, 1]] - 1.0, "free": False, "b": (0.0,) * 3})
    if not bound.lower > 0.1:
        yield f"a class without rows, and no biases: {bound}"


def refused_squares() -> Iterator[str]:
    """Parameters and models that are none of least squares."""
    theta = np.array([0.1, 0.2])

    def asked(lam: float = 0.1, sigma: Any = None, theta: Any = theta, bias: float = 0.0) -> Any:
        risk = SquaredRisk(lam, sigma, rows_in(X, False), False, None, 10)
        return risk.bounds([Claim(risk.risk, SIGNS, theta, bias)], 1e-9)

    cases: list[tuple[str, dict[str, Any]]] = [
        ("", {}),
        ("penalty", {"lam": -1.0}),
        ("penalty", {"lam": math.nan}),
        ("penalty", {"lam": math.inf}),
        ("weights", {"sigma": np.ones(3)}),
        ("weights", {"sigma": np.array([1.0, -1.0])}),
        ("weights", {"sigma": np.array([1.0, math.nan])}),
        ("parameters", {"lam": 1e-200, "sigma": np.array([1e-55, 1.0])}),
        ("parameters", {"lam": 1e200, "sigma": np.array([1e80, 1.0])}),
        ("model not finite", {"theta": theta * math.nan}),
        ("shape", {"theta": theta[:1]}),
        ("bias", {"bias": 1.0}),
        ("not finite", {"theta": theta * 1e200}),
    ]
    for code, change in cases:
        if (found := _code(lambda change=change: asked(**change))) != code:
            yield f"squares: {found!r}, not {code!r}, of {change}"


def refused_kernels() -> Iterator[str]:
    """Kernels that have no values, and matrices that are none of a kernel."""
    rows, linear = np.ones((2, 3)), ("linear",)
    short = ("custom", lambda A, B: A[:1] @ B.T)
    cases: list[tuple[str, Callable[[], Any]]] = [
        ("kernel", lambda: gram.block(short, rows, rows)),
        ("kernel", lambda: gram.block(("gaussian", np.eye(5)), rows, rows)),
        ("kernel", lambda: gram.block(("columns", linear, (5,)), rows, rows)),
        ("kernel", lambda: gram.block(("columns", linear, (0, 5)), rows, rows)),
        ("kernel", lambda: gram.block(("precomputed",), rows, rows)),
        ("not finite", lambda: gram.block(linear, rows * math.nan, rows)),
        ("not finite", lambda: gram.block(linear, rows * 1e200, rows * 1e200)),
        ("not finite", lambda: gram.diagonal(linear, rows * 1e200)),
        ("not finite", lambda: gram.block(("rbf", 1e-300, 1e300), rows, rows)),
        ("not finite", lambda: gram.block(("rbf", 1e300, 1e-300), rows, rows)),
        ("not finite", lambda: gram.block(("rbf", 1.0, 1.0), rows * 1e308, -rows * 1e308)),
        ("not finite", lambda: gram.block(("exp", linear), rows * 1e3, rows)),
        ("not finite", lambda: gram.block(("exp", linear), rows * 1e11, rows * 1e11)),
        ("square", lambda: gram.Gram(("precomputed",), rows)),
        ("not finite", lambda: _times(np.full((2, 2), math.inf), np.ones((2, 1)))),
        ("not finite", lambda: _times(np.full((2, 2), 1e300), np.full((2, 1), 1e300))),
    ]
    for k, (code, call) in enumerate(cases):
        with np.errstate(all="ignore"):
            found = _code(call)
        if found != code:
            yield f"kernels, {k}: {found!r}, not {code!r}"


def _times(K: np.ndarray, w: np.ndarray) -> Any:
    return gram.Gram(("precomputed",), K).times(w, np.ones(2, bool))


def proved_of_easy_rows() -> Iterator[str]:
    """What is not refused is proved: logistic regression, in memory and in blocks, with weights."""
    risk = Risk(Logistic(), L2(1.0), True)
    for s in (None, np.array([1.0, 2.0, 0.0, 1.0, 1.0])):
        [found] = _blocks({"risk": risk, "s": s})
        if not isinstance(found.bounds, Bounds) or not found.bounds.lower > 0:
            yield f"logistic regression: {found.bounds}"
    for rows in (X[:2] * 1e200, csr_matrix(X[:2] * 1e200), csr_matrix(X[:2] * 1e-200)):
        if code := _code(lambda rows=rows: gram.block(("normalized", ("linear",)), rows, rows)):
            yield f"the cosine of long rows: {code}"
    nothing = gram.block(("normalized", ("linear",)), np.zeros((2, 2)), X)[0]
    if nothing.any() or not np.isfinite(nothing).all():
        yield f"the cosine of a row of zeros: {nothing[0]}"


REFUSALS = (
    refused_in_blocks, refused_classes, refused_squares, refused_kernels, proved_of_easy_rows,
)  # fmt: skip
