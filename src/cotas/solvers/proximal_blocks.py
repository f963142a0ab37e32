"""The proximal Newton method when the rows come in blocks: every step is a sum over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import FloatArray, IntArray
from cotas.solvers.newton import LARGEST_SYSTEM
from cotas.solvers.newton_blocks import (
    NEAR,
    Derivatives,
    SmoothPoint,
    SmoothRisk,
    loss_of,
    of_sample,
)
from cotas.solvers.proximal_newton import (
    LAST_STEPS,
    ROUNDINGS,
    SOLVED,
    QuadraticModel,
    dual_value,
    penalty_of,
    proximal_newton,
    second_derivatives,
    working_set,
)
from cotas.source import Block, Source, Sums


@dataclass(frozen=True)
class Curvature:
    """The second derivatives of a block by some coefficients, and by the biases."""

    at: Derivatives
    used: tuple[IntArray, IntArray]

    def __call__(self, block: Block) -> Sums:
        spans = block.spans()
        found = self._of_rows(block, spans[0])
        for span in spans[1:]:
            found = found + self._of_rows(block, span)
        return found

    def _of_rows(self, block: Block, span: slice) -> Sums:
        X, local, _ = self.at.of_rows(block, span)
        return Sums(*second_derivatives(X, local, self.used))


def proximal_over_blocks(
    source: Source,
    total: float,
    losses: Any,
    lam1: float,
    lam2: float,
    bias: bool,
    sample: Block | None,
) -> Iterator[SmoothPoint]:
    """Iterates of the proximal Newton method with a line search.

        min Σ sᵢ ℓᵢ(θᵀxᵢ + θ₀) + λ₁‖θ‖₁ + (λ₂/2)‖θ‖²,      the weights sᵢ sum to `total`

    It is `proximal_newton` with the sums made by the source: one pass for the value, the gradient
    and the Hessian at a point, and one more for each shortening of a step. It begins where the
    `sample` ends. Departures: with very many unknowns the Hessian is that of a working set, and
    another pass. Invariant: the objective never rises, but for rounding. It ends when rounding
    allows no further descent.
    """
    risk, lams = SmoothRisk(source, total, losses, bias), (lam1, lam2)
    point, last_steps = np.zeros(risk.shape), 0
    if sample is not None:
        point = of_sample(proximal_newton(sample.X, loss_of(sample, losses), *lams, bias))

    def at(place: FloatArray) -> tuple[float, Derivatives, Sums]:
        function, found = risk.at(place, corners=True)
        return found[0] + penalty_of(place[:-1], *lams), function, found

    objective, function, (_, slopes, hessian, entropies) = at(point)
    while True:
        theta, theta0, rest = point[:-1], point[-1], slopes[-1]
        gap = objective - dual_value(_entropy_near(entropies), theta, slopes[:-1], *lams)
        gap = max(0.0, gap + float(np.abs(rest) @ (1.0 + np.abs(theta0))))
        yield SmoothPoint(theta.copy(), theta0.copy(), objective, gap)
        gradient = slopes[:-1] + lam2 * theta
        used = working_set(theta, gradient, lam1, LARGEST_SYSTEM)
        model = _model(risk, function, hessian, used)
        enough = SOLVED * min(1.0, gap / objective)
        step = np.zeros(risk.shape)
        step[:-1][used], step[-1] = model.solve(theta[used], gradient[used], rest, *lams, enough)
        promised = float((gradient * step[:-1]).sum() + rest @ step[-1])
        promised += lam1 * float(np.abs(theta + step[:-1]).sum() - np.abs(theta).sum())
        slack, length = ROUNDINGS * objective, 1.0
        last_steps += promised > -slack
        if not promised < slack or last_steps > LAST_STEPS or not step.any():
            return
        while True:
            value, function, found = at(point + length * step)
            if value <= objective + 1e-4 * length * promised + slack:
                break
            length /= 4
            if length < 1e-10:
                return  # the last digits are used up
        point, objective = point + length * step, value
        _, slopes, hessian, entropies = found


def _entropy_near(known: FloatArray) -> Any:
    """The entropy at multiples of the dual point, about, from that at two of them."""
    slope = (known[0] - known[1]) / (NEAR[0] - NEAR[1])
    return lambda t: float(known[0] + (t - NEAR[0]) * slope)


def _model(
    risk: SmoothRisk, function: Derivatives, hessian: FloatArray, used: tuple[IntArray, IntArray]
) -> QuadraticModel:
    """What is minimized in a step, over the coefficients (feature, score) that are used."""
    if not risk.small:
        hessian, border, corner = risk.source.map_reduce(Curvature(function, used))
        return QuadraticModel(hessian, border, corner, risk.bias)
    rows, k = risk.shape
    whole = hessian.reshape(k * rows, k * rows)
    features, classes = used
    some, biases = classes * rows + features, np.arange(k) * rows + rows - 1
    parts = (whole[np.ix_(some, some)], whole[np.ix_(some, biases)], whole[np.ix_(biases, biases)])
    return QuadraticModel(*parts, risk.bias)
