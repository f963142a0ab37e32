"""Whether a hyperplane separates two classes, with the proof of the answer.

With zᵢ = yᵢ(xᵢ, bias), for every u and every convex combination α

    minᵢ zᵢ·u / ‖u‖  ≤  γ*  ≤  ‖Σ αᵢ zᵢ‖ / Σ αᵢ,

γ* being the largest margin of all over the rows (x, 1), or (x) without a bias. A u with a positive
left side proves that the data are separable. An α with Σ αᵢzᵢ = 0 proves that they are not; in
floating-point arithmetic it proves that no separator has a margin above a number near zero. The
left side is rounded down, the right side up. γ of Definition 3.3 divides by ‖θ‖ instead of ‖u‖: it
is the distance of the nearest row to the hyperplane, and a figure of its own. For it

    minᵢ yᵢ(θ·xᵢ + θ₀)/‖θ‖  ≤  ‖Σ αᵢyᵢxᵢ‖/Σ αᵢ + |Σ αᵢyᵢ|/Σ αᵢ · max‖xᵢ‖,

since a hyperplane between two classes has |θ₀| ≤ ‖θ‖ max‖xᵢ‖.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from cotas.arrays import AnyArray, FloatArray, IntArray, Matrix
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.core.rounding import (
    TINY,
    above,
    below,
    dot,
    down,
    gamma,
    norm_up,
    total_down,
    total_up,
    up,
)
from cotas.certificates.core.rows import pairwise
from cotas.certificates.core.sparse_rows import flipped
from cotas.certificates.passes import (
    MORE,
    Sketch,
    as_double,
    as_rows,
    gather_facts,
    outwards,
    read_span,
    refuse_other_features,
    refuse_other_rows,
    signs_of,
    spans_of,
)
from cotas.certificates.presentation import at_most
from cotas.certificates.witnesses import Parametric
from cotas.words import say

# α is rounded, and so is Σ αᵢzᵢ in each coordinate: so many roundings of the longest row for each
# coordinate, and no solver can do better, count as zero. It decides which answer is given, not
# whether it is true: the margin stated is proved.
ROUNDINGS = 32
# Rows of a combination that are added up at a time, few for short sums.
AT_A_TIME = 256
DISTANCE = "distance of the nearest row to the hyperplane (γ of Definition 3.3), at least"
FARTHEST = "largest γ of Definition 3.3 that any hyperplane has, at most"


@dataclass(frozen=True)
class SeparationWitness(Parametric):
    """A separator (θ, θ₀), a convex combination α of the rows, or both."""

    coef: FloatArray
    intercept: float
    positive: Any
    bias: float
    alpha: FloatArray | None = field(default=None, repr=False)

    def check(self, X: Matrix, y: AnyArray) -> Certificate:
        """Return both sides of the inequality above, recomputed from the data."""
        u, X, y = self._scaled(), as_rows(X), np.asarray(y)
        refuse_other_features(X.shape[1], len(u) - 1)
        facts, signs = gather_facts(X, y, [self.positive]), signs_of(y, self.positive)
        lengths = facts.measured
        least = [
            _least_margin(read_span(X, span), signs[span], lengths[span], u, self.bias)
            for span in spans_of(X)
        ]
        found = {"margin": np.min(least), "shortest": lengths.min(), "longest": lengths.max()}
        if self.alpha is not None:
            alpha = _combination(self.alpha, len(y))
            found["rows in the combination"] = np.count_nonzero(alpha)
            found["ceiling"], farthest = _ceilings(X, lengths, alpha, signs, self.bias)
            if self.bias and len(np.unique(signs)) == 2:
                found["farthest"] = farthest
        return self._conclude(found, u, facts.sketches[0])

    def _scaled(self) -> FloatArray:
        """Compute (θ, bias·θ₀) in units of a power of two, in which nothing underflows."""
        if self.bias not in (0.0, 1.0) or (not self.bias and self.intercept):
            raise ValueError("The separator has a bias, and the problem has none.")
        u = np.append(np.asarray(self.coef, dtype=np.float64), self.intercept)
        if not np.isfinite(u).all():
            raise ValueError("The separator is not finite.")
        return np.asarray(np.ldexp(u, -math.frexp(float(np.abs(u).max()))[1]))

    def _conclude(self, found: dict[str, Any], u: FloatArray, sketch: Sketch) -> Certificate:
        smallest = float(found["margin"])
        longest = above(math.hypot(float(found["longest"]), self.bias), 4)
        # One row alone is a convex combination too: γ* ≤ min ‖zᵢ‖.
        ceiling = above(math.hypot(float(found["shortest"]), self.bias), 4)
        ceiling = min(ceiling, found.get("ceiling", math.inf))
        separable = smallest > 0
        rounding = gamma(ROUNDINGS * len(u)) * longest + ROUNDINGS * TINY
        figures = {"longest row": longest}
        objection, margin = "", 0.0
        if separable:
            margin = below(smallest / norm_up(u), 2)
            if u[:-1].any():
                figures[DISTANCE] = below(smallest / norm_up(u[:-1]), 2)
            if "farthest" in found:  # of two rows on either side the nearer is within max‖x‖
                figures[FARTHEST] = min(found["farthest"], up(float(found["longest"])))
            statement = "The data are linearly separable: this hyperplane separates them."
        elif "ceiling" in found and ceiling <= rounding:
            figures["rows in the combination"] = float(found["rows in the combination"])
            statement = say(
                "No hyperplane separates the data with a margin above {ceiling} over the rows "
                "(x, 1): a convex combination of the rows yᵢ(xᵢ, 1) is no longer than that, and a "
                "separator would have to be positive on it."
                if self.bias
                else "No hyperplane separates the data with a margin above {ceiling}: a convex "
                "combination of the rows yᵢxᵢ is no longer than that, and a separator would have "
                "to be positive on it.",
                ceiling=at_most(ceiling, 2),
            )
        else:
            statement = "This witness proves neither that the data are separable nor the contrary."
            objection = statement
        return conclude(
            "separation",
            margin,
            ceiling,
            statement=statement,
            reference="Definitions 3.1–3.3 of Fuentes Cabrera; Gordan's theorem",
            witness=self,
            sketch=sketch,
            objection=objection,
            figures=figures,
            remarks=("Margins are those of (θ, θ₀) over the rows (x, 1).",) if self.bias else (),
            charge=rounding,
        )


def _least_margin(
    rows: Matrix, signs: FloatArray, lengths: FloatArray, u: FloatArray, bias: float
) -> float:
    """Return the least zᵢ·u of some rows, rounded down; not a number where something overflowed.

    The rows that plain arithmetic leaves lowest are summed up exactly, until the lowest is one of
    them, or is not positive in any case.
    """
    tiny = TINY * lengths  # what u may have lost by its scaling
    with np.errstate(over="ignore", invalid="ignore"):
        margins = signs * (np.asarray(rows @ u[:-1]) + bias * u[-1])
        size = np.asarray(abs(rows) @ np.abs(u[:-1])) + abs(bias * u[-1])
        off = outwards(gamma(len(u) + MORE) * size + tiny)
        lowest, highest = margins - off, margins + off
    if not (np.isfinite(lowest).all() and np.isfinite(highest).all()):
        return math.nan
    while lowest[i := int(np.argmin(lowest))] < highest[i] > 0:
        row = rows[i]
        row = row.toarray().ravel() if sparse.issparse(row) else row
        value, slack = dot(row, u[:-1], [bias * u[-1]])
        lowest[i] = highest[i] = down(down(signs[i] * value - slack) - tiny[i])
    return float(lowest[i])


def _combination(alpha: FloatArray, n: int) -> FloatArray:
    """Compute α of n rows in units of a power of two near its largest entry."""
    alpha = np.asarray(alpha, dtype=np.float64)
    refuse_other_rows(n, alpha)
    if not (np.isfinite(alpha).all() and (alpha >= 0).all() and alpha.any()):
        raise ValueError("A convex combination is finite, not negative, and not zero.")
    return np.ldexp(alpha, -math.frexp(float(alpha.max()))[1])


def _ceilings(
    X: Matrix, lengths: FloatArray, alpha: FloatArray, signs: FloatArray, bias: float
) -> tuple[float, float]:
    """Compute ‖Σ αᵢzᵢ‖ / Σ αᵢ, and what no distance of Definition 3.3 exceeds, rounded up."""
    factors, used = signs * alpha, np.flatnonzero(alpha)  # adding zeros rounds nothing
    some = [used[start : start + AT_A_TIME] for start in range(0, len(used), AT_A_TIME)]
    with np.errstate(over="ignore", invalid="ignore"):
        parts = (np.asarray(flipped(as_double(X[rows])) @ factors[rows]) for rows in some)
        combination, additions = pairwise(parts)
    adds, longest = len(some[0]) + additions + MORE, float(lengths.max())
    off = above(gamma(adds) * total_up(alpha * lengths), 2) + up(TINY * longest)
    balance, slack = dot(signs, alpha)
    length, tilt = up(norm_up(combination) + off), up(abs(balance) + slack)
    whole = total_down(alpha)
    return (
        above(above(math.hypot(length, bias * tilt), 4) / whole, 2),
        above(above(length + tilt * longest, 3) / whole, 2),
    )


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
        The smallest distance y(θ·x + θ₀)/‖θ‖ of a row to the separating hyperplane, which is γ of
        Definition 3.3; rounded down.
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
            distance = certificate.figures.get(DISTANCE)
            return cls(True, certificate, witness.coef, witness.intercept, distance)
        alpha = witness.alpha
        support = None if alpha is None else np.flatnonzero(alpha > 0)
        return cls(False, certificate, combination=alpha, support=support)

    def __bool__(self) -> bool:
        return self.separable

    def verify(self, X: Matrix, y: AnyArray) -> bool:
        """Tell whether the proof comes out again from the data."""
        return self.certificate.verify(X, y)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer and its certificate in plain Python types, witness included."""
        return {"separable": self.separable, "certificate": self.certificate.to_dict(witness=True)}

    def __str__(self) -> str:
        return str(self.certificate)

    def _repr_html_(self) -> str:
        return self.certificate._repr_html_()
