"""The mistakes of a kernel perceptron: Theorem 3.1 in feature space, z = (φ(x), bias)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, no_certificate
from cotas.certificates.core.gram import Gram
from cotas.certificates.core.rounding import U, above, gamma, total_up
from cotas.certificates.kernel import KernelFunction, examine
from cotas.certificates.passes import MORE, Facts, class_sketches, signs_of
from cotas.certificates.theorems.mistakes import (
    ANOTHER_MODEL,
    MistakeStatistics,
    PerceptronLedger,
    or_vacuous,
    pass_of,
    used_by,
)
from cotas.words import say


@dataclass(frozen=True)
class KernelPerceptronLedger(PerceptronLedger):
    """The ledger of a kernel perceptron: `coef` holds βᵢ = updatesᵢ sᵢ yᵢ of each row."""

    kernel: KernelFunction = field(kw_only=True)

    @classmethod
    def _statistics(
        cls, ledgers: Sequence[Self], X: Matrix, y: AnyArray, facts: Facts | None, each: Each
    ) -> MistakeStatistics:
        """Measure the same in feature space: ‖z‖² = k(x, x) + bias², θ·φ(xᵢ) = (Kβ)ᵢ, ‖θ‖² =
        βᵀKβ."""
        first, positives = ledgers[0], [ledger.positive for ledger in ledgers]
        data_pass = pass_of(ledgers, X, y, np.zeros((np.shape(X)[1], 1)))
        used, given = used_by(first), first.weights
        weights = np.ones(len(used)) if given is None else np.asarray(given, dtype=np.float64)
        signs = np.stack([signs_of(data_pass.y, p) for p in positives], axis=1)
        beta = np.stack([np.asarray(ledger.coef) for ledger in ledgers], axis=1)
        theta0 = first.bias * np.array([ledger.intercept for ledger in ledgers])
        gram = Gram(first.kernel.spec(), data_pass.X, each)
        values, error = gram.times(beta, used)
        squares = [
            gram.length(b, v, e).most + above(t * t)
            for b, v, e, t in zip(beta.T, values.T, error.T, theta0, strict=True)
        ]
        most, heaviest = error[used].max(axis=0, initial=0.0), float(weights.max())
        room = zip(most, theta0, strict=True)
        off = np.array([above((e + 4.0 * U * abs(t)) * heaviest, 3) for e, t in room])
        rows = weights[used, None] * signs[used] * (values[used] + theta0)
        longest = (weights * np.sqrt(gram.squares + first.bias**2))[used].max(initial=0.0)
        missed = [
            ledger.impossible() or _other_beta(ledger, weights * signs[:, c])
            for c, ledger in enumerate(ledgers)
        ]
        return MistakeStatistics(
            used,
            or_vacuous(rows - off - 4.0 * U * np.abs(rows)),
            off,
            [above(math.sqrt(max(0.0, s))) if s < math.inf else math.inf for s in squares],
            above(float(longest), 8),
            missed,
            facts.sketches if facts else class_sketches(X, y, positives, each),
            examine(first.kernel, data_pass.X, np.flatnonzero(used | beta.any(axis=1))),
        )

    def _conclude(self, statistics: MistakeStatistics, c: int) -> Certificate:
        evidence = statistics.evidence
        if evidence is not None and not evidence.semidefinite:
            text = (
                "The kernel is not positive semi-definite: there is no feature space, and the "
                "theorem says nothing ({evidence})."
            )
            return no_certificate(say(text, evidence=evidence.in_words))
        return super()._conclude(statistics, c)

    def _remarks(self, separates: bool) -> list[str]:
        remarks = [f"k(x, x′) = {self.kernel}", *super()._remarks(True)]
        if not separates:
            remarks.append("The model does not separate the data, so the run may never end.")
        return remarks


def _other_beta(ledger: KernelPerceptronLedger, signed: FloatArray) -> str:
    """Say so where β is not the ledger's; θ₀ is its sum, rounded once at each mistake."""
    beta = ledger.updates * signed
    slack = above(gamma(len(beta) + ledger.mistakes + MORE) * total_up(np.abs(beta)), 2)
    same = np.array_equal(beta, ledger.coef)
    away = abs(ledger.bias * float(beta.sum()) - ledger.intercept)
    return "" if same and away <= slack else ANOTHER_MODEL
