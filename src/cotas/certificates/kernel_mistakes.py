"""The mistake bound of the perceptron in feature space.

Theorem 3.1 of document 000 speaks of vectors and their inner products alone, so it holds for the
vectors z = (φ(x), bias): ‖z‖² = k(x, x) + bias², u·z = f(x)/‖(θ, θ₀)‖ and ‖θ‖² = βᵀKβ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, no_certificate
from cotas.certificates.core.gram import Gram
from cotas.certificates.kernel import KernelFunction, examine
from cotas.certificates.ledger import Ledger, Survey
from cotas.certificates.mistakes import (
    NOT_ABOUT_NEW_DATA,
    PerceptronLedger,
    PerceptronSurvey,
    best_margin,
)
from cotas.certificates.sweep import Facts, Sweep, gather_facts


@dataclass(frozen=True)
class KernelPerceptronLedger(PerceptronLedger):
    """The ledger of a kernel perceptron: `coef` holds βᵢ = updatesᵢ sᵢ yᵢ of each row."""

    kernel: KernelFunction = field(kw_only=True)

    @classmethod
    def survey_type(cls) -> type[Survey]:
        return KernelPerceptronSurvey

    def conclude(self, survey: Any, c: int) -> Certificate:
        """Theorem 3.1 in feature space, if there is one."""
        evidence = survey.evidence
        if evidence is not None and not evidence.semidefinite:
            return no_certificate(
                "The kernel is not positive semi-definite: there is no feature space, and the "
                f"theorem says nothing ({evidence.in_words})."
            )
        found = super().conclude(survey, c)
        whose = "u is the model itself" + (", with the bias as a coordinate." if self.bias else ".")
        remarks = [f"k(x, x′) = {self.kernel}", whose]
        if not survey.found["min margin"][c] > 0:
            remarks.append("The model does not separate the data, so the run may never end.")
        if evidence is None and not survey.by_formula:
            remarks.append("It rests on a positive semi-definite kernel, which was not examined.")
        return replace(found, remarks=(*remarks, NOT_ABOUT_NEW_DATA))

    def to_dict(self) -> dict[str, Any]:
        """The ledger in plain Python types; the kernel as its formula."""
        return {**super().to_dict(), "kernel": str(self.kernel)}


class KernelPerceptronSurvey(PerceptronSurvey):
    """What the theorem needs, from the products of the Gram matrix with β."""

    def __init__(
        self,
        ledgers: Sequence[Ledger],
        X: Matrix,
        y: AnyArray,
        facts: Facts | None,
        each: Each,
    ) -> None:
        first, positives = ledgers[0], [ledger.positive for ledger in ledgers]
        assert isinstance(first, KernelPerceptronLedger)
        self.ledgers, self.bias = ledgers, first.bias
        sweep = Sweep(X, y, positives, np.zeros((np.shape(X)[1], 1)))
        n = sweep.X.shape[0]
        if n != len(first.updates):
            raise ValueError(f"X has {n} rows; the certificate is about {len(first.updates)}.")
        self.sketches = (facts or gather_facts(X, y, positives, each=each)).sketches
        self.weights = np.ones(n) if first.weights is None else np.asarray(first.weights)
        used = self.weights > 0
        self.n_used = int(np.count_nonzero(used))
        self.signs = np.stack([np.where(sweep.y == p, 1.0, -1.0) for p in positives], axis=1)
        beta = np.stack([ledger.coef for ledger in ledgers], axis=1)
        theta0 = first.bias * np.array([ledger.intercept for ledger in ledgers])
        gram = Gram(first.kernel.spec(), sweep.X, each)
        values, _ = gram.times(beta, used)
        self.lengths = np.sqrt(np.maximum(0.0, (beta * values).sum(axis=0)) + theta0**2)
        scale = np.where(self.lengths > 0, self.lengths, 1.0)
        rows = self.weights * np.sqrt(gram.squares + first.bias**2)
        self.radius = float(rows[used].max())
        self._measure((self.weights[:, None] * self.signs * (values + theta0) / scale)[used])
        touched = np.flatnonzero(used | beta.any(axis=1))
        self.evidence, self.by_formula = examine(first.kernel, sweep.X, touched), gram.positive
        # A run that starts at zero: there is no θ⁰ for the vectors to meet.
        self.directions = np.zeros((n + 1, len(ledgers)))

    def _measure(self, margins: FloatArray) -> None:
        """The least margin, and the shortfall from one that may be better to ask for."""
        every = slice(None, None, max(1, len(margins) // 1000))
        self.margin_sought = np.array(
            [
                best_margin(column[every], ledger.presentations)
                for column, ledger in zip(margins.T, self.ledgers, strict=True)
            ]
        )
        missing = np.maximum(0.0, self.margin_sought - margins)
        self.found = {
            "min margin": margins.min(axis=0),
            "sum squared shortfall": np.einsum("ic,ic->c", missing, missing),
            "sum updates": np.array([float(np.sum(ledger.updates)) for ledger in self.ledgers]),
        }

    def objection(self, c: int) -> str:
        """Why the ledger does not give back the model, or nothing if it does."""
        ledger = self.ledgers[c]
        beta = ledger.updates * self.weights * self.signs[:, c]
        total = float(np.abs(beta).sum())
        off = np.abs(beta - ledger.coef).sum() + abs(self.bias * beta.sum() - ledger.intercept)
        if off <= 1e-9 * total:
            return ""
        return "The ledger of the run does not give back the model from these data."

    def proof_figures(self, c: int, unit: FloatArray) -> dict[str, float]:
        """‖θ‖ and θ·u are the same, u being the model's own direction."""
        return {"‖θ‖ at the end": float(self.lengths[c])}
