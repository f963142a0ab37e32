"""One bound for every booster: the training error is at most the mean of a surrogate.

F = Σ cₘfₘ is computed again from the functions, one F with two classes and F_k for each of several.
The margin of an example is yF, or F of its class less the largest of the others, and a mistake has
a margin ≤ 0. So whatever F is and wherever it comes from

    training error  ≤  Σ sᵢ ⟦marginᵢ ≤ 0⟧  ≤  Σ sᵢ surrogateᵢ,      surrogate ≥ ⟦margin ≤ 0⟧.

Rounding: F computed with k rounds is off by at most δ = γ(k + 8)·Σ|cₘ||fₘ|; everything is measured
at margin − δ, from which both sides only grow. exp, log and log1p are taken to be right within
4 units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from cotas.arrays import Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.core.bounds import Objection
from cotas.certificates.core.rounding import U, above, down, gamma, total_down, up
from cotas.certificates.passes import as_sketches, signs_of
from cotas.certificates.presentation import at_most
from cotas.certificates.theorems.combinations import (
    ExampleWeights,
    Labelled,
    LongPass,
    RoundWeights,
    weighted_total,
)
from cotas.certificates.theorems.products import Totals
from cotas.certificates.theorems.weak_learners import StumpClass
from cotas.words import say

ABOUT_TRAINING = "It is about the training data; it says nothing about new data."
MARGIN_BRACKET = (
    "The largest margin that any combination of {stumps} can reach lies between the smallest "
    "margin and the largest edge above."
)
SURROGATES = {
    "exponential": "exp(−yF)",
    "likelihood": "−log₂ p of the right class",
    "votes": "exp(−θ·margin) with θ ≈ {theta}",
}
REFERENCES = {
    "exponential": "docs/theory/boosting.md; Rugeles Ospina, section 1.1 and Theorem 1.1.5",
    "likelihood": "docs/theory/boosting.md: a class that is not chosen has p at most ½",
    "votes": "docs/theory/boosting.md, SAMME (Zhu, Zou, Rosset and Hastie 2009, Algorithm 2)",
}
AFTER_A_ROUND = "largest |err − ½| after a round"
AFTER_A_VOTE = "largest |err − (1 − 1/K)| after a round"
OPERATIONS = 64  # units u that a surrogate may be off: three functions of 8 and a few operations
FOLLOWED_UP_TO = 300.0  # Σ|c| for which no weight of a round over- or underflows
HALVINGS = 24  # of the interval that holds the best θ


class Margins(NamedTuple):
    """Margins from one pass over the data, of each example, and of all together."""

    least: FloatArray  # rounded down
    costs: FloatArray  # the surrogate of the margin rounded down, but for "votes"
    final: FloatArray  # the weight after the last round, where it was followed
    totals: Totals


@dataclass(frozen=True, kw_only=True)
class SurrogateBound(Labelled):
    """The training error of a booster and the surrogate that bounds it.

    `surrogate` is "exponential" (e^{−yF}), "likelihood" (−log₂ of the probability of the right
    class, p = 1/(1 + e^{−2F}) or softmax of (K−1)/K·F) or "votes" (e^{−θ·margin} with the best θ).
    `discrete` says that every f is ±1, and of several classes that each round names one; then the
    weights of the rounds are followed too, and with `stumps` the margins are compared with the
    largest that these stumps can reach.
    """

    surrogate: str
    discrete: bool = False
    stumps: StumpClass | None = None

    kind: ClassVar[str] = "training error"

    def refuse_unsound(self) -> None:
        super().refuse_unsound()
        several = len(self.combinations) > 1
        if self.surrogate not in (("votes", "likelihood") if several else SURROGATES):
            raise Objection("This surrogate does not belong to so many classes.")

    def margins(self, data_pass: LongPass, weights: ExampleWeights, each: Each) -> Margins:
        """Return the margin and the cost of each example, and the weights of the rounds."""
        n = data_pass.X.shape[0]
        margins, costs, final = np.empty(n), np.empty(n), np.zeros(n)
        c = np.asarray(self.combinations[0].coefficients, dtype=np.float64)
        follows = self.discrete and np.abs(c).sum() <= FOLLOWED_UP_TO

        @np.errstate(over="ignore", invalid="ignore", under="ignore")
        def read(span: slice, rows: Matrix, signs: FloatArray) -> Totals:
            rounds = RoundWeights(weights.w[span], c) if follows else None
            lead = self.lead(rows, signs, rounds)
            least = lead.ahead - lead.slack
            margins[span] = least.min(axis=0)
            if self.surrogate != "votes":
                costs[span] = self._cost(least)
            found = {
                "max largest": lead.largest,
                "max slack": lead.slack.min(),  # of rows whose functions are all told
                "min votes": lead.votes,
                "max open": lead.open,
            }
            if rounds is not None:
                final[span] = rounds.w
                found |= rounds.totals()
            return found

        totals = data_pass.totals(read, each)
        if self.discrete and not totals["min votes"]:
            raise Objection("A function is not ±1, or a round does not name exactly one class.")
        return Margins(margins, costs, final, totals)

    def _cost(self, least: FloatArray) -> FloatArray:
        """Return the surrogate at these leads, right within `OPERATIONS` and K units."""
        if self.surrogate == "exponential":
            return np.asarray(np.exp(-least[0]))
        K = len(least)
        odds = exp_up(least, 2.0 if K == 1 else (K - 1) / K).sum(axis=0)
        return np.asarray(np.log1p(odds) / math.log(2))

    @np.errstate(all="ignore")
    def sums(self, found: Margins, weights: ExampleWeights, thetas: Sequence[float] = ()) -> Totals:
        """Compute what the bound is made of, as sums over examples; for "votes" the costs at θ."""
        w, operations = weights.w, OPERATIONS + len(self.combinations)
        wrong = (found.least <= 0) & (w > 0)  # one whose sign rounding leaves open is a mistake
        costs = {theta: exp_up(found.least, theta) for theta in thetas} or {1.0: found.costs}
        used = found.least[w > 0]
        return found.totals | {
            "sum rows": len(w),
            "sum mistakes": np.count_nonzero(wrong),
            "up mistakes": 0.0
            if weights.uniform
            else weighted_total(w, wrong.astype(np.float64))[1],
            "min margin": used.min(initial=math.inf),
            "sum strange": np.count_nonzero(~np.isfinite(used)),
            **{f"up {t}": weighted_total(w, c, operations)[1] for t, c in costs.items()},
        }

    def _edge(self, data_pass: LongPass, final: FloatArray, each: Each) -> float:
        """Bound the largest edge of a stump at the last weights; infinite if it is not known."""
        mass = total_down(final)
        learners = self.combinations[0].learners
        if self.stumps is None or not mass > 0 or not self.stumps.contains(learners):
            return math.inf
        signs = signs_of(data_pass.y, self.classes[0])
        return above(self.stumps.largest_edge(data_pass.X, signs * final, each) / mass)

    def measure(self, data_pass: LongPass, weights: ExampleWeights, each: Each) -> Certificate:
        found, used = self.margins(data_pass, weights, each), weights.w > 0
        votes = self.surrogate == "votes"
        thetas = [_best_theta(found.least[used], weights.w[used])] if votes else []
        sums = self.sums(found, weights, thetas)
        edge = self._edge(data_pass, found.final, each)
        return self.in_certificate(sums, weights, data_pass.X.shape, edge, thetas)

    def in_certificate(
        self, sums: Totals, weights: ExampleWeights, shape: tuple[int, int],
        edge: float = math.inf, thetas: Sequence[float] = (),
    ) -> Certificate:  # fmt: skip
        """Return what was found in words; `edge` is infinite where it is not known."""
        if sums["sum strange"]:
            raise Objection("F is not a finite number for some example.")
        wrong = int(sums["sum mistakes"])
        cost, theta = min((float(sums[f"up {t}"]), t) for t in thetas or [1.0])
        bound = weights.quotient(0.0, cost)[1]
        upper = bound if bound < math.inf else 1.0  # no error is larger
        error = min(upper, weights.share(wrong, sums["up mistakes"], shape[0]))
        slack, bracket = float(sums["max slack"]), []
        if self.stumps is not None and math.isfinite(edge):
            bracket = [say(MARGIN_BRACKET, stumps=self.stumps.described())]
        return conclude(
            self.kind,
            error,
            upper,
            vacuous=upper >= 1.0,
            statement=lambda: self._statement(weights, wrong, shape[0], error, bound, theta),
            reference=REFERENCES[self.surrogate],
            figures=self._figures(sums, weights, theta, edge),
            remarks=[*bracket, ABOUT_TRAINING],
            trusted=self.trusted(),
            charge=upper * (8 * slack + gamma(4 * OPERATIONS)),
            witness=self,
            sketch=as_sketches(sums["sum sketch"], shape)[0],
        )

    def _statement(
        self, weights: ExampleWeights, wrong: int, n: int, error: float, bound: float, theta: float
    ) -> str:
        K = len(self.combinations)
        text = "F > 0 means class {label}" if K == 1 else "{K} classes"
        who = say(text, label=str(self.classes[0]), K=K)
        how = say("{wrong} of {n} examples", wrong=wrong, n=n)
        limit = "allows at most {bound}" if bound < math.inf else "overflows"
        return say(
            "The training error ({who}) is at most {how}; the {mean} of {name} {limit}."
            if weights.uniform
            else "The weighted training error ({who}) is at most {how}; the {mean} of {name} "
            "{limit}.",
            who=who,
            how=how if weights.uniform else at_most(error),
            mean=say("mean" if weights.uniform else "weighted mean"),
            name=say(SURROGATES[self.surrogate], theta=f"{theta:.4g}"),
            limit=say(limit, bound=at_most(bound)),
        )

    def _figures(
        self, sums: Totals, weights: ExampleWeights, theta: float, edge: float
    ) -> dict[str, float]:
        K, k = len(self.combinations), self.rounds
        figures = {"rounds": float(k)} if K == 1 else {"classes": float(K), "rounds": float(k)}
        if self.surrogate == "votes":
            figures["θ"] = theta
        if k:
            figures["largest |f|"] = float(sums["max largest"])
        low, high = self.size()
        if k and self.discrete and low > 0:
            # As a share of the votes, at least.
            least = float(sums["min margin"])
            name = (
                "smallest margin yF/Σ|c|" if K == 1 else "smallest margin, as a share of all votes"
            )
            votes = (high if least > 0 else low) * min(K, 2)
            figures[name] = max(-1.0, down(least / votes))
            if "sum wrong" in sums and not sums["max open"]:
                figures |= self._round_figures(sums, weights)
        if math.isfinite(edge):
            figures["largest edge of a stump at the last weights"] = edge
        return figures

    def _round_figures(self, found: Totals, weights: ExampleWeights) -> dict[str, float]:
        """Compute Corollary 1 and the product of the rounds, each at most what is told.

        The weights of round m are products of m factors, so their sums are off by a share ρ.
        """
        K, c = len(self.combinations), np.asarray(self.combinations[0].coefficients)
        rho = gamma(24 * (len(c) + 2) + 2 * int(found["sum rows"]))
        sums, wrong = found["sum weights"], found["sum wrong"]
        err, after = wrong / sums[:-1], wrong * np.exp(c) / sums[1:]
        chance = 0.5 if K == 1 else 1 - 1 / K
        far = up(float(np.abs(after - chance).max()) + 4 * rho)
        figures = {AFTER_A_ROUND if K == 1 else AFTER_A_VOTE: far}
        if K == 1:
            factors = 2 * np.sqrt((err + 4 * rho) * (1 - err + 4 * rho))
            return figures | {"Π 2√(err(1−err))": above(float(np.prod(factors)), 8 * len(c))}
        half = above(float(sums[-1]) / weights.mass * (1 + 4 * rho), 4)
        shrunk = half * math.exp(-(1 - 2 / K) * total_down(c))
        figures["bound if the right class needs half of the votes"] = half
        return figures | {"multiclass exponential loss": above(shrunk, int(8 * FOLLOWED_UP_TO))}


def exp_up(x: FloatArray, scale: float) -> FloatArray:
    """Compute exp(−scale·x), no less than that but for the rounding of exp itself."""
    exponents = -scale * x
    return np.asarray(np.exp(np.where(exponents > 0, 1 + 4 * U, 1 - 4 * U) * exponents))


def _best_theta(margins: FloatArray, s: FloatArray) -> float:
    """Tell where Σ sᵢ exp(−θμᵢ), convex in θ, is smallest in [0, ½]; any θ ≥ 0 would be true."""

    def falls(theta: float) -> bool:
        exponents = -theta * margins
        return bool((s * margins) @ np.exp(exponents - exponents.max()) > 0)

    if not np.isfinite(margins).all() or not falls(0.0):
        return 0.0
    if falls(0.5):
        return 0.5
    low, high = 0.0, 0.5
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if falls(middle) else (low, middle)
    return low
