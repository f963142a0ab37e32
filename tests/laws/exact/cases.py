"""Problems at random, badly scaled on purpose, and most of them with a known optimum.

An optimum is built, not sought: dual variables are drawn, the regularizer says which θ belongs to
them, and targets (or, for labels, one more column) are chosen so that the losses have just these
slopes. The pair is then optimal up to rounding, which is where a bound is most easily false.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from cotas.certificates.core import gap, margins, residuals, sparsity
from cotas.certificates.core.curvature import WeightedL2
from cotas.certificates.core.gap import Risk

MARGINS = ("hinge", "squared hinge", "modified Huber", "logistic", "exponential", "hard margin")
RESIDUALS = ("squared", "Huber", "epsilon")
PENALTIES = ("l2", "l2 weights", "net", "lasso", "positive net", "positive lasso", "ball", "+ball")
FAMILIES = [(loss, reg) for loss in MARGINS[:-1] + RESIDUALS for reg in PENALTIES]
FAMILIES += [("hard margin", "l2")]


@dataclass
class Case:
    """A problem, a model of it that should be near the best one, and its dual point."""

    family: tuple[str, str]
    style: str
    risk: Risk
    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    theta: np.ndarray
    bias: float
    c: np.ndarray | None
    optimal: bool
    others: list[tuple[np.ndarray, float]] = field(default_factory=list)

    @property
    def dense(self) -> np.ndarray:
        """X as it would be written down."""
        X = self.X.toarray() if hasattr(self.X, "toarray") else self.X
        return np.asarray(X, dtype=np.float64)

    @property
    def s(self) -> np.ndarray:
        """The weights, ones if there are none."""
        return np.ones(len(self.y)) if self.weights is None else self.weights

    @property
    def well_scaled(self) -> bool:
        """Whether the bounds should be near each other."""
        return self.style == "plain" and self.optimal


def draw(rng: np.random.Generator, family: tuple[str, str] | None = None) -> Case:
    """One problem of a family."""
    loss_name, reg_name = family or FAMILIES[rng.integers(len(FAMILIES))]
    style = str(rng.choice(STYLES, p=SHARES))
    n, d = int(rng.integers(1, 61)) if rng.random() < 0.7 else int(rng.integers(1, 6)), 0
    d = int(rng.integers(1, 9)) if rng.random() < 0.6 else 1
    X = _rows(rng, n, d, style)
    s = _weights(rng, n, style)
    kinds = ["free", "none"] + (["penalized"] if reg_name.startswith("l2") else [])
    if loss_name == "hard margin":
        kinds = ["free", "none"]
    try:
        with np.errstate(all="ignore"):
            built = _build(rng, loss_name, reg_name, str(rng.choice(kinds)), X, s, style)
    except ArithmeticError:  # beyond the range of numbers: draw another
        return draw(rng, (loss_name, reg_name))
    case = replace(built, X=_layout(rng, built.X), weights=None if _ones(rng, s) else s)
    case.others = [_nearby(rng, case) for _ in range(2)]
    return case


STYLES = ("plain", "columns", "offsets", "integers", "overall", "repeated", "extreme", "denormal")
SHARES = (0.25, 0.15, 0.2, 0.1, 0.1, 0.08, 0.07, 0.05)


def _rows(rng: np.random.Generator, n: int, d: int, style: str) -> np.ndarray:
    X = rng.normal(size=(n, d))
    if style == "columns":
        X = X * 10.0 ** rng.uniform(-12, 12, size=d)
    elif style == "overall":
        X = X * 10.0 ** rng.uniform(-12, 12)
    elif style == "offsets":
        far = 2.0 ** rng.integers(0, 41, size=d) * rng.choice([-1, 0, 1], size=d)
        X = (np.round(X * 4) if rng.random() < 0.5 else X) + far
    elif style == "integers":
        X = rng.integers(-3, 4, size=(n, d)).astype(float) * 2.0 ** rng.integers(0, 30, size=d)
    elif style == "repeated":
        X = X[rng.integers(0, max(1, n // 3), size=n)]
        X[:, rng.random(d) < 0.3] = rng.normal()
    elif style == "extreme":
        X = X * 10.0 ** rng.uniform(-290, 290, size=d if rng.random() < 0.5 else (n, d))
    elif style == "denormal":
        X = X * 2.0 ** rng.uniform(-1074, -1000, size=d)
    return X


def _weights(rng: np.random.Generator, n: int, style: str) -> np.ndarray:
    s = np.ones(n)
    which = rng.integers(6)
    if which == 1:
        s = rng.random(n) + 0.1
    elif which == 2:
        s = np.where(rng.random(n) < 0.4, 0.0, rng.random(n))
    elif which == 3:
        s = 10.0 ** rng.uniform(-10, 10, size=n) if style != "plain" else rng.random(n) + 0.01
    elif which == 4 and style in ("extreme", "denormal"):
        s = 10.0 ** rng.uniform(-323, 300, size=n if rng.random() < 0.5 else 1) * np.ones(n)
    elif which == 5:
        s = np.full(n, 1.0 / n)
    if not s.any():
        s[rng.integers(n)] = 1.0
    return s


def _ones(rng: np.random.Generator, s: np.ndarray) -> bool:
    return bool((s == 1.0).all() and rng.random() < 0.7)


def _layout(rng: np.random.Generator, X: np.ndarray) -> Any:
    which = rng.integers(8)
    if which == 0:
        return csr_matrix(X)
    if which == 1:
        return np.asfortranarray(X)
    if which == 2 and (np.abs(X) < 1e30).all() and (X.astype(np.float32) == X).all():
        return X.astype(np.float32)
    if which == 3 and (np.abs(X) < 2**50).all() and (np.round(X) == X).all():
        return X.astype(np.int64)
    if which == 4:
        return np.repeat(X, 2, axis=0)[::2]
    return X


def _nearby(rng: np.random.Generator, case: Case) -> tuple[np.ndarray, float]:
    """A model beside the optimum: by a few units in the last place, by a little, or by much."""
    size = 10.0 ** rng.choice([-16, -15, -12, -8, -4, 0])
    with np.errstate(all="ignore"):
        theta = case.theta * (1 + size * rng.normal(size=len(case.theta)))
        if isinstance(case.risk.regularizer, sparsity.Ball):
            theta = case.theta * (1 - size * rng.random())
        if getattr(case.risk.regularizer, "positive", False):
            theta = np.maximum(theta, 0.0)
    has_bias = case.risk.free_bias or case.risk.bias_scale
    bias = case.bias * (1 + size * rng.normal()) if has_bias else 0.0
    if rng.random() < 0.1:
        theta, bias = np.zeros_like(theta), 0.0
    sound = np.isfinite(theta).all() and math.isfinite(bias)
    return (theta, float(bias)) if sound else (np.zeros_like(case.theta), 0.0)


def _build(
    rng: np.random.Generator,
    loss_name: str,
    reg_name: str,
    bias_kind: str,
    X: np.ndarray,
    s: np.ndarray,
    style: str,
) -> Case:
    """A problem around a drawn dual point."""
    n = len(X)
    loss = _loss(rng, loss_name, style)
    free = bias_kind == "free"
    kappa = float(10.0 ** rng.uniform(-2, 2)) if bias_kind == "penalized" else 0.0
    # With weights zero a row has no dual variable.
    if isinstance(loss, gap.Margin):
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        if rng.random() < 0.05:
            y[:] = 1.0
        c = -y * s * _shares(rng, loss_name, n)
    else:
        y = np.zeros(n)
        c = s * _slopes(rng, loss, loss_name, n)
    if free:
        c = _balanced(c, s, loss)
    total = float(s.sum())
    lam = (
        float(10.0 ** rng.uniform(-4, 2)) if style == "plain" else float(10.0 ** rng.uniform(-9, 9))
    )
    if style == "extreme" and rng.random() < 0.5:
        lam = float(10.0 ** rng.uniform(-320, 300))
    optimal, room = True, math.inf
    if isinstance(loss, gap.Margin):
        aim = _margins(rng, loss_name, np.abs(c) / np.where(s > 0, s, 1.0), loss) * y
        X, lam, optimal = _fitted_column(rng, X, c, aim, reg_name, lam, total, kappa)
        room = max(0.0, -float(c @ aim)) / (2 * total)
    reg, theta = _regularizer(rng, reg_name, X, c, total, lam, style, room)
    delta = float(c.sum())
    bias = 0.0
    if free:
        bias = float(rng.normal()) * (1.0 if isinstance(loss, gap.Margin) else 10.0)
        if isinstance(loss, gap.Margin):
            bias = 0.0
    elif kappa:
        bias = -(kappa**2) * delta / (lam * total)
    if isinstance(loss, gap.Margin) and optimal:
        # The last column takes up what is missing in the scores.
        X, theta, reg, optimal = _complete(X, theta, reg, aim, c, bias, total, reg_name)
    elif not isinstance(loss, gap.Margin):
        z = X @ theta + bias
        y = z - _residuals(rng, loss, loss_name, np.where(s > 0, c / np.where(s > 0, s, 1), 0.0))
    given = [X, theta, y, c, bias, lam, *vars(reg).values()]
    if not all(np.isfinite(part).all() for part in given if part is not None):
        X = np.where(np.isfinite(X), X, 1.0)
        theta, bias, c, optimal = np.zeros(X.shape[1]), 0.0, np.zeros(n), False
        y = np.where(np.isfinite(y), y, 1.0)
        reg = gap.L2(1.0)
    risk = Risk(loss, reg, free, kappa)
    return Case((loss_name, reg_name), style, risk, X, y, s, theta, bias, c, optimal)


def _loss(rng: np.random.Generator, name: str, style: str) -> Any:
    scale = 1.0 if style == "plain" else 10.0 ** rng.uniform(-6, 6)
    return {
        "hinge": gap.Hinge(),
        "squared hinge": margins.SquaredHinge(),
        "modified Huber": margins.ModifiedHuber(),
        "logistic": margins.Logistic(),
        "exponential": margins.Exponential(),
        "hard margin": margins.HardMargin(),
        "squared": residuals.Squared(),
        "Huber": residuals.Huber(float(rng.choice([1.0, 1.35, 0.1])) * scale),
        "epsilon": residuals.EpsilonInsensitive(float(rng.choice([0.0, 0.1, 1.0])) * scale),
    }[name]


def _shares(rng: np.random.Generator, name: str, n: int) -> np.ndarray:
    """aᵢ = −φ'(mᵢ) in the domain, at its ends too."""
    a = rng.random(n) ** 3  # mostly small: the scores must fit the labels more often than not
    top = {"modified Huber": 4.0, "squared hinge": 3.0, "exponential": 3.0, "hard margin": 3.0}
    a *= top.get(name, 1.0)
    if name in ("hinge", "modified Huber"):
        a[rng.random(n) < (0.4 if name == "hinge" else 0.05)] = top.get(name, 1.0)
    if name not in ("logistic", "exponential"):
        a[rng.random(n) < 0.3] = 0.0
    return a


def _margins(rng: np.random.Generator, name: str, a: np.ndarray, loss: Any) -> np.ndarray:
    """Margins at which the slope of φ is −a."""
    more = rng.exponential(size=len(a))
    if name == "logistic":
        a = np.clip(a, 1e-12, 1 - 1e-12)
        return np.log1p(-a) - np.log(a)
    if name == "exponential":
        return -np.log(np.maximum(a, 1e-12))
    if name in ("hinge", "hard margin"):
        m = np.where(a >= loss.steepest, 1 - more / 2, 1.0)
    else:
        m = np.where(a >= loss.steepest, -1 - more, 1 - a / 2)
    return np.where(a <= 0, 1 + more, m)


def _slopes(rng: np.random.Generator, loss: Any, name: str, n: int) -> np.ndarray:
    v = rng.normal(size=n)
    if name == "squared":
        return v * 10.0 ** rng.uniform(-2, 2)
    top = loss.k if name == "Huber" else 1.0
    v = np.clip(v * top, -top, top)
    if name == "epsilon":
        v[rng.random(n) < 0.3] = 0.0
    return v


def _residuals(rng: np.random.Generator, loss: Any, name: str, v: np.ndarray) -> np.ndarray:
    """Residuals z − y at which the slope of the loss is v."""
    more = rng.exponential(size=len(v))
    if name == "squared":
        return v
    if name == "Huber":
        return np.where(np.abs(v) >= loss.k, np.sign(v) * loss.k * (1 + more), v)
    edge = np.sign(v) * loss.epsilon
    inside = loss.epsilon * rng.uniform(-1, 1, size=len(v))
    return np.where(v == 0, inside, np.where(np.abs(v) >= 1, edge + np.sign(v) * more, edge))


def _balanced(c: np.ndarray, s: np.ndarray, loss: Any) -> np.ndarray:
    """Σ cᵢ near zero."""
    if isinstance(loss, residuals.Squared) and type(loss) is residuals.Squared:
        return c - s * (c.sum() / s.sum())
    plus, minus = c[c > 0].sum(), -c[c < 0].sum()
    if min(plus, minus) <= 0:
        return np.zeros_like(c)
    return np.where(c > 0, c * min(1.0, minus / plus), c * min(1.0, plus / minus))


def _fitted_column(
    rng: np.random.Generator,
    X: np.ndarray,
    c: np.ndarray,
    aim: np.ndarray,
    reg_name: str,
    lam: float,
    total: float,
    kappa: float,
) -> tuple[np.ndarray, float, bool]:
    """A column that will make scores what they should be, and a λ that leaves it room."""
    X = np.hstack([X, np.zeros((len(X), 1))])
    room = -float(c @ aim)
    if not room * total > 0:
        return X, lam, False
    if reg_name.startswith("l2"):
        used = float(np.square(X.T @ c).sum()) + (kappa * float(c.sum())) ** 2
        lam = max(lam, 2 * used / (total * room)) if used else lam
    return X, lam, bool(math.isfinite(lam))


def _regularizer(
    rng: np.random.Generator,
    name: str,
    X: np.ndarray,
    c: np.ndarray,
    total: float,
    lam: float,
    style: str,
    room: float,
) -> tuple[Any, np.ndarray]:
    """A regularizer with weights under which some θ belongs to u = Xᵀc, and that θ.

    θ·u stays below `room`, so that one more column can do the rest.
    """
    d = X.shape[1]
    pull = -(X.T @ c) / total
    size = np.abs(pull)
    sigma = (
        2.0 ** rng.integers(-3, 4, size=d) * (1 + rng.random(d)) if style != "denormal" else None
    )
    if name == "l2":
        return gap.L2(lam), pull / lam
    if name == "l2 weights":
        sigma = np.ones(d) if sigma is None else sigma
        return WeightedL2(lam, sigma), pull / (lam * sigma**2)
    positive = name.startswith(("positive", "+"))
    able = (pull > 0) if positive else (size > 0)
    if "net" in name:
        sigma = np.where(size > 0, size, 1.0) / lam * rng.uniform(0.5, 2.0, size=d)
        lam2 = float(10.0 ** rng.uniform(-3, 2)) * lam
        theta = np.where(
            able, np.sign(pull) * np.maximum(size / sigma - lam, 0) / (lam2 * sigma), 0
        )
        much = float(np.abs(theta) @ size) / room if room > 0 else 1.0
        return sparsity.ElasticNetRegularizer(
            lam, lam2 * max(1.0, much), positive, sigma
        ), theta / max(1.0, much)
    active = able & (rng.random(d) < 0.7)
    sigma = np.where(able, size, 1.0) / lam
    sigma = np.where(active | ~able, sigma, sigma * rng.uniform(1.0, 3.0, size=d))
    theta = np.where(
        active, np.sign(pull) * rng.exponential(size=d) / np.where(size > 0, size, 1), 0
    )
    much = float(np.abs(theta) @ size) / room if room > 0 else 1.0
    theta = theta / max(1.0, much)
    if "lasso" in name:
        return sparsity.ElasticNetRegularizer(lam, 0.0, positive, sigma), theta
    length = math.fsum(np.nextafter(np.abs(theta * sigma), np.inf).tolist())
    delta = math.nextafter(length, math.inf)
    return sparsity.Ball(delta, positive, sigma), theta


def _complete(
    X: np.ndarray,
    theta: np.ndarray,
    reg: Any,
    aim: np.ndarray,
    c: np.ndarray,
    bias: float,
    total: float,
    reg_name: str,
) -> tuple[np.ndarray, np.ndarray, Any, bool]:
    """Fill the last column: z = aim, and its weight in θ is what the regularizer wants."""
    lack = aim - X @ theta - bias
    pull = -float(c @ lack) / total  # of the column, times its weight in θ
    if not pull > 0:
        return X, theta, reg, False
    X, theta = X.copy(), theta.copy()
    if isinstance(reg, gap.L2):
        sigma = getattr(reg, "sigma", None)
        theta[-1] = math.sqrt(pull / reg.lam) / (1.0 if sigma is None else float(sigma[-1]))
        X[:, -1] = lack / theta[-1]
        return X, theta, reg, True
    theta[-1] = 1.0
    X[:, -1] = lack
    sigma = reg.weights.copy()
    if isinstance(reg, sparsity.Ball):
        pulls = -(X[:, :-1].T @ c)
        tops = (pulls if reg.positive else np.abs(pulls)) / total / sigma[:-1]
        level = float(tops.max(initial=0.0)) or 1.0
        sigma[-1] = pull / level
        length = math.fsum(np.nextafter(np.abs(theta * sigma), np.inf).tolist())
        reg = replace(reg, delta=math.nextafter(length, math.inf), weights=sigma)
    elif reg.lam2 == 0.0:
        sigma[-1] = pull / reg.lam1
        reg = replace(reg, weights=sigma)
    else:
        # λ₁σ + λ₂σ²θ = pull
        first, second = reg.lam1, reg.lam2
        sigma[-1] = 2 * pull / (first + math.sqrt(first * first + 4 * second * pull))
        reg = replace(reg, weights=sigma)
    return X, theta, reg, bool(np.isfinite(sigma).all())
