"""Whether a hyperplane separates two classes, with the proof of the answer.

With zᵢ = yᵢ(xᵢ, bias), for every u and every convex combination α

    minᵢ zᵢ·u / ‖u‖  ≤  γ*  ≤  ‖Σ αᵢ zᵢ‖,

γ* being the largest margin of all. A u with a positive left side proves that the data are
separable. An α with Σ αᵢzᵢ = 0 proves that they are not; in floating-point arithmetic it proves
that no separator has a margin above rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.ledger import plain_fields
from cotas.certificates.sweep import EPS, Block, Sketch, Sweep, Tally, gather_facts

# ‖Σ αᵢzᵢ‖ counts as zero below this fraction of the longest row for each coordinate.
ZERO = 16 * EPS


@dataclass(frozen=True)
class SeparationWitness:
    """A separator (θ, θ₀), a convex combination α of the rows, or both."""

    coef: FloatArray
    intercept: float
    positive: Any
    bias: float
    alpha: FloatArray | None = field(default=None, repr=False)

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        """Both sides of the inequality above, recomputed from the data."""
        sweep = Sweep(X, y, [self.positive], self.coef[:, None])
        n = sweep.X.shape[0]
        if self.alpha is not None and len(self.alpha) != n:
            raise ValueError(f"X has {n} rows; the certificate is about {len(self.alpha)}.")
        alpha = None if self.alpha is None else _normalised(self.alpha)

        def read(block: Block) -> Tally:
            signs = block.signs[:, 0]
            lengths = np.hypot(block.norms(), self.bias)
            agreements = signs * (block.products[:, 0] + self.bias * self.intercept)
            # What the sum of d + 1 products can lose by rounding.
            size = abs(block.rows) @ np.abs(self.coef) + abs(self.bias * self.intercept)
            found = {
                "min agreement": agreements.min(),
                "min proved": (agreements - (len(self.coef) + 1) * EPS * size).min(),
                "min length": lengths.min(),
                "max length": lengths.max(),
            }
            if alpha is not None:
                factors = (signs * alpha[block.span])[:, None]
                bias = self.bias * factors.sum(axis=0)
                found["sum rows"] = np.count_nonzero(factors)
                found["sum combination"] = np.vstack([block.combine(factors), bias])
            return found

        facts = gather_facts(X, y, [self.positive])
        return self._conclude(sweep.tally(read), facts.sketches[0])

    def _conclude(self, found: Tally, sketch: Sketch) -> Certificate:
        smallest, longest = float(found["min agreement"]), float(found["max length"])
        # One row alone is a convex combination too: γ* ≤ min ‖zᵢ‖.
        ceiling = float(found["min length"])
        if self.alpha is not None:
            ceiling = float(np.linalg.norm(found["sum combination"]))
        length = float(np.hypot(np.linalg.norm(self.coef), self.bias * self.intercept))
        margin = smallest / length if length > 0 else 0.0
        separable = float(found["min proved"]) > 0
        vanishing = ceiling <= ZERO * (len(self.coef) + 1) * longest
        inseparable = not separable and self.alpha is not None and vanishing
        figures = {"longest row": longest}
        if separable:
            theta = float(np.linalg.norm(self.coef))
            if theta > 0:
                figures["distance of the nearest row to the boundary"] = smallest / theta
            statement = "The data are linearly separable: this hyperplane separates them."
        elif inseparable:
            figures["rows in the combination"] = float(found["sum rows"])
            statement = (
                f"No hyperplane separates the data with a margin above {ceiling:.1g}, which is "
                "zero up to rounding: a convex combination of the rows yᵢ(xᵢ, 1) vanishes, and a "
                "separator would have to be positive on it."
            )
        else:
            statement = "This witness proves neither that the data are separable nor the contrary."
        return conclude(
            kind="separation",
            lower=margin,
            upper=ceiling,
            objection="" if separable or inseparable else statement,
            statement=statement,
            reference="Definitions 3.1–3.3 of document 000; Gordan's theorem",
            figures=figures,
            remarks=("Margins are those of (θ, θ₀) over rows (x, 1).",) if self.bias else (),
            charge=1e-13 * longest,
            witness=self,
            sketch=sketch,
        )

    def about(self, coef: FloatArray, intercept: float) -> Self:
        """The same witness with another separator."""
        return replace(self, coef=np.array(coef), intercept=float(intercept))

    def to_dict(self) -> dict[str, Any]:
        """The witness in plain Python types."""
        return plain_fields(self)


def _normalised(alpha: FloatArray) -> FloatArray:
    """α as a convex combination: no negative entries, sum one."""
    positive = np.maximum(alpha, 0.0)
    if not positive.sum() > 0:
        raise ValueError("The combination must have a positive entry.")
    return np.asarray(positive / positive.sum())


@dataclass(frozen=True)
class Separability:
    """The answer to "is there a hyperplane between these classes?", with its proof.

    Attributes
    ----------
    separable : bool
        The answer. The object itself is true or false accordingly.
    coef, intercept : array and float, or None
        The separator: `y * (X @ coef + intercept) > 0` for every row, y being ±1.
    margin : float or None
        The smallest distance y(θ·x + θ₀)/‖θ‖ of a row to the separating hyperplane.
    combination : array or None
        Where there is no separator: α ≥ 0 with sum 1 and Σ αᵢyᵢxᵢ = 0, Σ αᵢyᵢ = 0.
    support : array of int or None
        The rows with αᵢ > 0.
    certificate : Certificate
        The proof; `verify(X, y)` recomputes it.
    """

    separable: bool
    certificate: Certificate
    coef: FloatArray | None = None
    intercept: float | None = None
    margin: float | None = None
    combination: FloatArray | None = field(default=None, repr=False)
    support: IntArray | None = field(default=None, repr=False)

    @classmethod
    def from_witness(cls, witness: SeparationWitness, X: Matrix, y: AnyArray) -> Separability:
        """Read the answer off the checked certificate, never off the witness."""
        certificate = witness.check(X, y)
        if certificate.holds and certificate.lower > 0:
            distance = certificate.figures.get("distance of the nearest row to the boundary")
            return cls(True, certificate, witness.coef, witness.intercept, distance)
        alpha = witness.alpha
        support = None if alpha is None else np.flatnonzero(alpha > 0)
        return cls(False, certificate, combination=alpha, support=support)

    def __bool__(self) -> bool:
        return self.separable

    def verify(self, X: Matrix, y: AnyArray) -> bool:
        """Whether the proof comes out again from the data."""
        return self.certificate.verify(X, y)

    def to_dict(self) -> dict[str, Any]:
        """The answer and its certificate in plain Python types, witness included."""
        return {"separable": self.separable, "certificate": self.certificate.to_dict(witness=True)}

    def __str__(self) -> str:
        return str(self.certificate)

    def _repr_html_(self) -> str:
        return self.certificate._repr_html_()
