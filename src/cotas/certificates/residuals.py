"""Robust linear regression: the duality gap of the Huber and the ε-insensitive loss."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, conclude_bounds
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.core.gap import L2, Claim, Risk, all_bounds
from cotas.certificates.core.residuals import EpsilonInsensitive, Huber
from cotas.certificates.passes import (
    Sketch,
    constant_model,
    refuse_other_rows,
    rows_of,
    sketches_in_passing,
    targets_of,
)
from cotas.certificates.presentation import OPTIMIZATION_ONLY, bias_in_words, ends, mean_of
from cotas.certificates.witnesses import Parametric
from cotas.words import say

# By name, and the letter of the threshold.
LOSSES = {"Huber": (Huber, "k"), "ε-insensitive": (EpsilonInsensitive, "ε")}


@dataclass(frozen=True)
class ResidualPoint(Parametric):
    """A linear model, and the slopes v of the losses that are the dual point; any will do.

        P(θ, θ₀) = Σ sᵢ ℓ(yᵢ, θ·xᵢ + θ₀)/S + (λ/2)‖θ‖²

    Attributes
    ----------
    loss, threshold : "Huber" with its k, or "ε-insensitive" with its ε
    lam, free_bias : the penalty, and whether there is a bias
    coef, intercept : the model
    slopes : vᵢ; None takes those of the losses at the model
    weights : sᵢ ≥ 0, of any sum; None stands for ones
    column : of y, where y has several; None where it is a vector
    """

    loss: str
    threshold: float
    lam: float
    free_bias: bool
    coef: FloatArray
    intercept: float
    slopes: FloatArray | None = field(default=None, repr=False)
    weights: FloatArray | None = field(default=None, repr=False)
    column: int | None = None

    def check(self, X: Matrix, y: AnyArray, each: Each = map) -> Certificate:
        rows = rows_of(X, self.free_bias, each=each)
        targets = targets_of(rows.n, y, [self.column])
        target = np.ascontiguousarray(targets[:, 0])
        refuse_other_rows(rows.n, *(a for a in (self.slopes, self.weights) if a is not None))
        sketches = sketches_in_passing(rows, targets)
        loss = LOSSES[self.loss][0](self.threshold)
        risk = Risk(loss, L2(self.lam), bool(self.free_bias))
        claim = Claim(risk, target, np.asarray(self.coef, np.float64), float(self.intercept))
        if self.slopes is not None:
            v = np.asarray(self.slopes, np.float64)
            with np.errstate(all="ignore"):
                claim = claim._replace(c=v if self.weights is None else v * self.weights)
        found = all_bounds(rows, [claim], self.weights)[0].bounds
        constant = constant_model(target, self.weights, self.free_bias, loss)[0]
        return self._conclude(found, constant, sketches()[0])

    def _conclude(self, found: Bounds | Objection, constant: float, sketch: Sketch) -> Certificate:
        letter, lower, upper = LOSSES[self.loss][1], found.lower, found.upper
        return conclude_bounds(
            found,
            statement=say(
                "No linear model has a smaller {mean} {loss} loss + (λ/2)‖θ‖² ({bias}) than "
                "{lower}; this one has {upper}.",
                mean=mean_of(self.weights),
                loss=say(self.loss),
                bias=bias_in_words(self.free_bias),
                **ends(lower, upper),
            ),
            reference="weak duality, theory/robust.md",
            figures={
                "λ": self.lam,
                letter: self.threshold,
                "‖θ‖": float(np.linalg.norm(self.coef)),
                "objective of the constant model": constant,
            },
            remarks=(OPTIMIZATION_ONLY,),
            scale=constant,
            witness=self,
            sketch=sketch,
        )
