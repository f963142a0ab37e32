"""How many mistakes an online run made, against how many its theorem allows.

All vectors here are extended by the coordinate of the bias, (θ, θ₀) and (x, bias), so that
Theorem 3.1 of document 000 applies as printed, with or without a bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.ledger import Ledger, Survey
from cotas.certificates.sweep import EPS, Block, Tally

THEOREM = "Theorem 3.1 of document 000 (Novikoff 1962)"
SHORTFALL_THEOREM = "Freund and Schapire 1999, Theorem 2"
PA_THEOREM = "Crammer et al. 2006, Theorem 4 (PA-I)"
NOT_ABOUT_NEW_DATA = "It counts mistakes made while learning; it says nothing about new data."


def mistakes_allowed(
    radius: float, margin: float, shortfall: float, aligned: float, length: float
) -> float:
    """The largest k with k·γ + θ⁰·u ≤ ‖θᵏ‖ and ‖θᵏ‖² ≤ ‖θ⁰‖² + k·R², the proof of Theorem 3.1.

    `aligned` is θ⁰·u and `length` is ‖θ⁰‖; both vanish for a run that starts at zero, which
    leaves (R/γ)². A shortfall D > 0 is the case of data that u does not separate: each example
    gets a coordinate Δ of its own, which turns R² into R² + Δ² and divides the margin by
    Z = √(1 + D²/Δ²); with Δ² = RD a run from zero gets ((R + D)/γ)².

    >>> mistakes_allowed(3.0, 1.0, 0.0, 0.0, 0.0)
    9.0
    >>> round(mistakes_allowed(3.0, 1.0, 2.0, 0.0, 0.0), 6)
    25.0
    """
    if not margin > 0:
        return math.inf
    # Everything in units of R, so that no square of it can overflow.
    stretch = math.sqrt(1 + shortfall / radius)
    gamma, along = margin / radius / stretch, aligned / radius / stretch
    half = stretch**2 / 2 - along * gamma
    root = math.sqrt(max(0.0, half**2 + gamma**2 * ((length / radius) ** 2 - along**2)))
    return max(0.0, half + root) / gamma**2


@dataclass(frozen=True)
class PerceptronLedger(Ledger):
    """The ledger of a perceptron: Theorem 3.1, or its extension to data that are not separable."""

    # A weight multiplies the update, which is the plain perceptron on the row s·(x, 1).
    scales_rows: ClassVar[bool] = True

    @classmethod
    def survey_type(cls) -> type[Survey]:
        return PerceptronSurvey

    def conclude(self, survey: PerceptronSurvey, c: int) -> Certificate:
        return _perceptron_certificate(self, survey, c)


class PerceptronSurvey(Survey):
    """Adds the margins of u to what the ledger needs."""

    def choose_directions(self) -> FloatArray:
        """u as a unit vector."""
        directions = super().choose_directions()
        lengths = np.linalg.norm(directions, axis=0)
        return directions / np.where(lengths > 0, lengths, 1.0)

    def prepare(self) -> None:
        """A γ for the bound with shortfall: every γ > 0 gives a valid one, some a good one.

        Chosen among the margins of about a thousand rows spread over the data.
        """
        every, rows = self.sweep.sample(1000)
        margins = rows @ self.directions[:-1] + self.bias * self.directions[-1]
        weights = self.ledgers[0].weights
        if weights is not None:
            margins *= weights[every, None]
        labels = self.sweep.y[every]
        self.margin_sought = np.array(
            [
                best_margin(np.where(labels == ledger.positive, m, -m), ledger.presentations)
                for ledger, m in zip(self.ledgers, margins.T, strict=True)
            ]
        )

    def read(self, block: Block, weights: FloatArray | None) -> Tally:
        margins = self.agreements(block)
        if weights is not None:
            margins = np.where(weights[:, None] > 0, margins * weights[:, None], np.inf)
        missing = np.maximum(0.0, self.margin_sought - margins)
        return {
            "min margin": margins.min(axis=0),
            "sum squared shortfall": np.einsum("ic,ic->c", missing, missing),
        }


def best_margin(margins: FloatArray, presentations: int) -> float:
    """The candidate γ with the least (R + D(γ))/γ, with R and D estimated on these margins."""
    candidates = np.quantile(margins, np.linspace(0.05, 1.0, 39))
    candidates = candidates[candidates > 0]
    if len(candidates) == 0:
        return 0.0
    passes = presentations / len(margins)
    missing = np.maximum(0.0, candidates[:, None] - margins)
    shortfall = np.sqrt(passes * np.einsum("gi,gi->g", missing, missing))
    return float(candidates[np.argmin((np.abs(margins).max() + shortfall) / candidates)])


def _perceptron_certificate(
    ledger: PerceptronLedger, survey: PerceptronSurvey, c: int
) -> Certificate:
    k, radius, unit = ledger.mistakes, survey.radius, survey.directions[:, c]
    margin, sought = float(survey.found["min margin"][c]), float(survey.margin_sought[c])
    squared = float(survey.found["sum squared shortfall"][c])
    shortfall = math.sqrt(squared * survey.passes(c))
    start = (float(ledger.origin @ unit), float(np.linalg.norm(ledger.origin)))
    allowed_short = mistakes_allowed(radius, sought, shortfall, *start)
    separates = 0 < margin < math.inf
    figures = {"R (longest row)": radius}
    if separates:
        reference, allowed = THEOREM, mistakes_allowed(radius, margin, 0.0, *start)
        figures |= {"γ (margin of u)": margin, "((R + D)/γ)² at a larger γ": allowed_short}
    else:
        reference, allowed, margin = SHORTFALL_THEOREM, allowed_short, sought
        figures |= {"γ (margin sought)": margin, "D (shortfall from γ)": shortfall}
    figures |= {"presentations": ledger.presentations, **survey.proof_figures(c, unit)}
    whose = "the model itself" if ledger.separator is None else "the tightest separator"
    remarks = [f"u is {whose}, with the bias as a coordinate." if ledger.bias else f"u is {whose}."]
    if not separates:
        remarks.append(
            "u does not separate the data, so the run may never end; "
            "`cotas.separability(X, y)` tells whether anything does."
        )
    objection = survey.objection(c)
    if k != round(float(survey.found["sum updates"][c])):
        objection = "The ledger holds another number of mistakes."
    elif k > allowed * (1 + 1e-9):
        objection = "The run made more mistakes than the theorem allows."
    return conclude(
        kind="mistakes",
        lower=float(k),
        # Where the theorem allows any number, no more than all presentations can be mistakes.
        upper=allowed if math.isfinite(allowed) else float(ledger.presentations),
        objection=objection,
        vacuous=allowed >= ledger.presentations,
        statement=(
            f"The run made {k} mistakes in {ledger.presentations} presentations; "
            + ("(R/γ)²" if separates else "((R + D)/γ)²")
            + f" allows at most {allowed:.6g}."
        ),
        reference=reference,
        figures=figures,
        remarks=(*remarks, NOT_ABOUT_NEW_DATA),
        # A margin known to ± εR makes (R/γ)² uncertain by the factor 2εR/γ.
        charge=0.0 if math.isinf(allowed) else allowed * (1e-9 + 64 * EPS * radius / margin),
        witness=ledger,
        sketch=survey.sketches[c],
    )


@dataclass(frozen=True)
class PassiveAggressiveLedger(Ledger):
    """The ledger of a passive-aggressive run: the PA-I bound with C = 1/λ."""

    lam: float = field(kw_only=True)

    @property
    def precision(self) -> float:
        """Steps are real numbers, stored in the precision of the data."""
        return float(np.finfo(self.updates.dtype).eps)

    @classmethod
    def survey_type(cls) -> type[Survey]:
        return PassiveAggressiveSurvey

    def conclude(self, survey: PassiveAggressiveSurvey, c: int) -> Certificate:
        return _passive_aggressive_certificate(self, survey, c)


class PassiveAggressiveSurvey(Survey):
    """Adds the hinge losses of u to what the ledger needs."""

    def read(self, block: Block, weights: FloatArray | None) -> Tally:
        losses = np.maximum(0.0, 1.0 - self.agreements(block))
        if weights is None:
            return {"sum hinge": losses.sum(axis=0), "min weight": 1.0}
        return {
            "sum hinge": weights @ losses,
            "min weight": weights[weights > 0].min(initial=np.inf),
        }


def _passive_aggressive_certificate(
    ledger: PassiveAggressiveLedger, survey: PassiveAggressiveSurvey, c: int
) -> Certificate:
    """With weights Cᵢ = sᵢ/λ the proof gives Σ min(1/R², Cᵢ) over mistakes ≤ ‖u − θ⁰‖² + 2ΣCᵢℓᵢ."""
    k, radius, u = ledger.mistakes, survey.radius, ledger.direction
    away = float(np.square(u - ledger.origin).sum())
    passes = survey.passes(c)
    losses = passes * float(survey.found["sum hinge"][c])
    least_step = float(survey.found["min weight"]) / ledger.lam
    if radius > 0:
        least_step = min(least_step, radius**-2)
    allowed = (away + 2 * losses / ledger.lam) / least_step
    total_step = float(survey.found["sum updates"][c])
    plain = ledger.start is None and ledger.weights is None
    formula = "max(R², λ)(‖u‖² + (2/λ)ΣH)" if plain else "the PA-I bound"
    objection = survey.objection(c)
    if k > allowed * (1 + 1e-9):
        objection = "The run made more mistakes than the theorem allows."
    elif k * least_step > total_step * (1 + 64 * ledger.precision * passes):
        # Each mistake costs a step of at least `least_step`, so the ledger limits k as well.
        objection = "The ledger is too small for that many mistakes."
    return conclude(
        kind="mistakes",
        lower=float(k),
        upper=allowed,
        objection=objection,
        vacuous=allowed >= ledger.presentations,
        statement=(
            f"The run made {k} mistakes in {ledger.presentations} presentations; "
            f"{formula} allows at most {allowed:.6g}."
        ),
        reference=PA_THEOREM,
        figures={
            "R (longest row)": radius,
            "‖u − θ⁰‖²": away,
            "ΣH (hinge losses of u)": losses,
            "sum of all steps": total_step,
            "presentations": ledger.presentations,
        },
        remarks=("u is the model itself.", NOT_ABOUT_NEW_DATA),
        charge=1e-9 * allowed,
        witness=ledger,
        sketch=survey.sketches[c],
    )
