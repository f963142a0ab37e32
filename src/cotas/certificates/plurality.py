"""The training error of a weighted vote among several classes (SAMME).

Let A = Σα ≥ 0 and V the votes for the right class. If another class wins, it has at least V votes,
so V ≤ A/2 and the votes against the right class weigh A − V ≥ V. Hence

    ⟦wrong⟧ ≤ exp(½((A − V) − V)) = Π exp(½α) over the wrong votes · Π exp(−½α) over the right ones,

and the mean of the right side bounds the training error. With two classes it is AdaBoost's bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.boosting import NOT_ABOUT_NEW_DATA, read_sketch, sketch_block
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.sweep import Block, Sweep, Tally

REFERENCE = "docs/theory/boosting.md, the vote of several classes"


@dataclass(frozen=True, kw_only=True)
class VoteLedger:
    """Voters that name a class for each row, the weights of their votes, and all the classes."""

    voters: Sequence[Callable[[FloatArray], AnyArray]]
    votes: FloatArray
    classes: AnyArray
    weights: FloatArray | None = None

    @property
    def coef(self) -> FloatArray:
        return self.votes

    @property
    def intercept(self) -> float:
        return 0.0

    def about(self, coef: FloatArray, intercept: float) -> VoteLedger:
        return replace(self, votes=np.asarray(coef, dtype=np.float64))

    def to_dict(self) -> dict[str, Any]:
        return {"votes": self.votes.tolist(), "classes": self.classes.tolist()}

    def check(self, X: Matrix, y: AnyArray, each: Each = map) -> Certificate:
        n, d = np.shape(X)
        s = np.full(n, 1.0 / n) if self.weights is None else self.weights / self.weights.sum()
        if len(s) != n:
            raise ValueError(f"The certificate is about {len(s)} rows, not {n}.")
        sweep = Sweep(X, y, list(self.classes), np.zeros((d, 1)))

        def read(block: Block) -> Tally:
            rows, own = block.rows, block.signs.argmax(axis=1)
            tallied, exponent = np.zeros((len(own), len(self.classes))), np.zeros(len(own))
            for vote, voter in zip(self.votes, self.voters, strict=True):
                named = np.searchsorted(self.classes, voter(rows))
                tallied[np.arange(len(own)), named] += vote
                exponent += np.where(named == own, -0.5, 0.5) * vote
            weights = s[block.span]
            with np.errstate(over="ignore"):
                return {
                    **sketch_block(
                        rows, block.signs @ np.arange(1.0, tallied.shape[1] + 1), block.span
                    ),
                    "sum bound": weights @ np.exp(exponent),
                    "sum error": weights @ (tallied.argmax(axis=1) != own),
                }

        return self._conclude(sweep.tally(read, each), n, d)

    def _conclude(self, tally: Tally, n: int, d: int) -> Certificate:
        error, bound = float(tally["sum error"]), float(tally["sum bound"])
        rounding = 1e-9 * (1 + bound) if math.isfinite(bound) else 0.0
        objection = ""
        if (self.votes < 0).any():
            objection = "A vote has a negative weight, which the bound does not allow."
        elif not error <= bound + rounding:
            objection = "The training error is above its bound."
        return conclude(
            kind="training error",
            lower=error,
            upper=bound if math.isfinite(bound) else 1.0,  # no error is larger
            objection=objection,
            vacuous=bound >= 1.0,
            statement=(
                f"The training error is {error:.6g}; the mean of exp(½(wrong − right votes)) "
                f"allows at most {bound:.6g}."
            ),
            reference=REFERENCE,
            figures={"classes": float(len(self.classes)), "rounds": float(len(self.votes))},
            remarks=(NOT_ABOUT_NEW_DATA,),
            charge=rounding,
            witness=self,
            sketch=read_sketch(tally, n, d),
        )
