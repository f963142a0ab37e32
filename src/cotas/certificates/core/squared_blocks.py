"""Least squares and ridge when the rows come in blocks: the curvature of `curvature.py` as sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from cotas.certificates.core.blocks import (  # isort: skip
    SumArray, Between, Claims, Down, Most, Pulled, Reader, NamedSums, Up, counted, kept_frame,
    objected,
)  # fmt: skip
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.choices import APART

from cotas.certificates.core.curvature import (  # isort: skip
    ResidualSums, Slope, SquaredFound, SquaredRisk, residual_sums,
)  # fmt: skip
from cotas.certificates.core.gap import Weights, blurred, objective
from cotas.certificates.core.hessian import Hessian, in_scale, squares
from cotas.certificates.core.rounding import FloatArray, above, total_up


@dataclass(frozen=True)
class Squares(Reader):
    """The one pass of least squares: the slope of each model, and the Hessian if it is small."""

    with_hessian: bool

    @np.errstate(all="ignore")
    def __call__(self, block: Any) -> NamedSums:
        rows, (y, s) = self.rows(block), self.targets(block)

        def combine(span: slice, part: Any, z: FloatArray) -> FloatArray:
            return np.asarray(rows.combine(part, s[span, None] * (z - y[span])))

        z, off, combined = self.scores(rows, combine)
        whole = NamedSums(
            rows=len(s),
            weights=Between.sum_of(s),
            length=Up(total_up(s * rows.lengths)),
        )
        if self.with_hessian:
            H = SumArray(*squares(rows, rows.spans, s, self.claims.risk.free_bias))
            whole |= {"H": H, "tallest": Most(rows.spans[0].stop)}
        loss, residuals = self.claims.risk.loss, z - y
        for k, pull in enumerate(rows.pull(s[:, None] * residuals, combined)):
            slack = blurred(z[:, k], off[:, k])
            losses = np.where(s > 0, s * loss.value(y[:, k], z[:, k], slack), 0.0)
            sums = residual_sums(s, residuals[:, k], off[:, k], rows.lengths)
            whole |= {
                f"losses {k}": Up(total_up(losses)),
                f"pull {k}": Pulled.of(pull),
                f"mean {k}": Between(*sums.mean),
                f"felt {k}": Up(sums.felt),
                f"near {k}": Down(sums.near),
                f"most {k}": Most(np.abs(y[:, k]).max()),
            }
        return whole


class BlockSquaredRisk(SquaredRisk):
    """Least squares and ridge from blocks, in one pass: the curvature is that of all the rows."""

    ways, room = ((False, 0),), APART

    @np.errstate(all="ignore")
    def __init__(self, source: Any, claims: Claims, largest: int) -> None:
        claims.refuse()
        self.claims, (self.frame, self.middles) = claims, kept_frame(source, claims)
        squares = Squares(claims, self.frame, self.middles, claims.d <= largest)
        self.sums = counted(source.map_reduce(squares), claims.n)
        w = Weights(None, *self.sums["weights"])
        rows = SimpleNamespace(n=claims.n, d=claims.d, unit=self.frame.unit)
        given = (rows, claims.risk.free_bias, w, largest)
        penalty = claims.risk.regularizer
        super().__init__(penalty.lam, getattr(penalty, "sigma", None), *given)
        if "H" in self.sums:
            self._known[False, 0] = self._all_rows()

    def all_bounds(self, close: float, near: Sequence[float]) -> list[SquaredFound]:
        """Compute both bounds of each model."""
        return [
            SquaredFound(found) if isinstance(found, Objection) else found
            for found in (
                objected(self._bounded, k, close, near[k]) for k in range(len(self.claims.biases))
            )
        ]

    @np.errstate(all="ignore")
    def _bounded(self, k: int, close: float, near: float) -> SquaredFound:
        return self._conclude(self._of_model(k), close, near)

    def _of_model(self, k: int) -> Slope:
        sums, claim = self.sums, self.claims.claim(k)
        most = objective(claim, float(sums[f"losses {k}"]), self.w.low)
        pull = sums[f"pull {k}"].whole(self.frame.unit, self.claims.additions)
        felt, near = float(sums[f"felt {k}"]), float(sums[f"near {k}"])
        found = ResidualSums(tuple(sums[f"mean {k}"]), felt, near)
        biases = (claim.bias, -float(self.middles[k]))
        return self._slope(claim, biases, most, pull, found, float(sums[f"most {k}"]))

    def _moved_bias(self, theta: FloatArray, biases: Sequence[float]) -> float:
        shift = self.frame.shift
        return math.fsum(biases) + (0.0 if shift is None else float(shift @ theta))

    def _mean_length(self) -> float:
        return above(float(self.sums["length"]) / self.w.low, 4)

    @cached_property
    def sizes(self) -> FloatArray:
        """Compute the root of the mean square instead, where the squares have been added up."""
        d = self.rows.d + self.risk.free_bias
        squares = self.sums["H"].value.diagonal() if "H" in self.sums else np.ones(d)
        return np.sqrt(np.where(squares > 0, squares / self.w.high, 1.0))

    def _all_rows(self) -> tuple[Hessian, float]:
        """Compute H and a proved lower bound of its eigenvalues."""
        H = self.sums["H"]
        added = np.append(self.added, [0.0] * self.risk.free_bias)
        whole = H.value / self.w.high + np.diag(added)
        if not np.isfinite(whole).all():
            raise Objection("not finite")
        roundings = max(int(self.sums["tallest"]) + H.additions, self.claims.roundings)
        found = Hessian(*in_scale(whole, roundings, self.w.low, self.w.high))
        return found, found.least()
