"""How many mistakes the runs of a mixture made, against how many the theorem of one run allows.

Iterative parameter mixing (McDonald, Hall and Mann 2010): in each round every run goes once over
rows of its own from the common θ, and the mean of where they end, run i with the weight μᵢ, is the
common θ of the next round. With μᵢ the share of run i in the rows, and kᵢ its mistakes in all
rounds, what a theorem allows one run holds here for M = Σ μᵢkᵢ:

- Perceptron: u·θ grows by at least μᵢγ with each mistake, and ‖θ‖² by at most μᵢR², the square of
  a mean being at most the mean of the squares: Mγ ≤ ‖θ‖ ≤ √M R. A row that falls short of γ by d
  has a coordinate of its own in each round, of size Δ/√μᵢ, which the mean makes √μᵢΔ: D² = Σ μᵢd².
- Passive-aggressive: ‖θ − u‖² falls by what Crammer et al. show at each step, and a mean is no
  farther from u than the runs are: M min(1/R², 1/λ) ≤ ‖u‖² + (2/λ) Σ μᵢ H.

With one run it is the theorem as it stands. Nothing that needs one run after another is claimed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, IntArray
from cotas.certificates.blocks import Signs, Watched, as_source, class_factors
from cotas.certificates.certificate import Certificate
from cotas.certificates.core.blocks import Least, Most, Up
from cotas.certificates.core.rounding import TINY, U, above, down, gamma, norm_up, total_up
from cotas.certificates.numbers import whole
from cotas.certificates.passes import (
    MORE,
    as_double,
    outwards,
    products,
    refuse_other_features,
    row_lengths,
)
from cotas.certificates.presentation import other_rows
from cotas.certificates.theorems.mistakes import (
    OVERFLOW,
    PA_THEOREM,
    WITHOUT_SHORTFALL,
    Allowed,
    aggressive,
    best_margin,
    least_step,
    novikoff,
    refuse_other_bias,
)
from cotas.certificates.witnesses import Together
from cotas.source import Block, Source, Sums
from cotas.words import say

MIXED = "{theorem}, for mixed runs as McDonald, Hall and Mann 2010 have it"
HOW = (
    "Trained by iterative parameter mixing: in each round every block of rows has a run of its own "
    "from the common θ, whose mean by rows is the next. What is known of one run after another is "
    "not claimed."
)
RUNS = (
    "The runs of {blocks} blocks made {counted} mistakes in {shown} presentations, "
    "{mean} a block by its rows; the theorem allows any number.",
    "The runs of {blocks} blocks made {counted} mistakes in {shown} presentations, "
    "{mean} a block by its rows; {formula} allows at most {most}.",
    "The runs made more mistakes than the theorem allows.",
)
TRUSTED = "How many rounds there were, the mistakes counted, and that θ comes of these runs."
# Margins of so many rows tell which γ to look for.
SAMPLE = 1000


@dataclass(frozen=True)
class MixtureMargins:
    """Margins yᵢ u·zᵢ of the rows of a block, rounded down, a column for each class.

    Attributes
    ----------
    directions : u of each class, a column
    bias : the last coordinate of a row
    read : gives the labels as ±1 and the weights
    scaled : whether a row counts times its weight
    ends : the row after the last one of each run
    """

    directions: FloatArray
    bias: float
    read: Signs
    scaled: bool
    ends: IntArray

    def rows(self, block: Block) -> _BlockRows:
        """Return what both passes need of a block; rows without a weight are left out."""
        signs, s = self.read(block)
        weights = np.ones(block.n_rows) if s is None else s
        used = np.flatnonzero(weights > 0)
        rows, weights = as_double(block.X)[used], weights[used]
        with np.errstate(all="ignore"):
            lengths = outwards(np.hypot(row_lengths(rows), self.bias))
            values, off = products(rows, self.directions[:-1], lengths)
            beside = self.bias * self.directions[-1]
            off = outwards(off + 4.0 * U * (np.abs(values) + np.abs(beside)))
            lowest = signs[used] * (values + beside) - off
            if self.scaled:
                lowest, lengths, off = (
                    lowest * weights[:, None] - 4.0 * U * np.abs(lowest) * weights[:, None] - TINY,
                    outwards(lengths * weights),
                    outwards(off * weights[:, None]),
                )
        lowest = np.where(np.isfinite(lowest), lowest, -math.inf)
        runs = np.searchsorted(self.ends, block.start + used, side="right")
        return _BlockRows(used, weights, lengths, lowest, off, runs)

    def found(self, step: int, block: Block) -> Sums:
        """Make the first pass: the rows of each run, the longest, the least margins, a sample."""
        found = self.rows(block)
        which, counts = np.unique(found.runs, return_counts=True)
        some = (block.start + found.used) % step == 0
        return Sums(
            block.n_rows,
            Counter(dict(zip(which.tolist(), counts.tolist(), strict=True))),
            Most(found.lengths.max(initial=0.0)),
            Most(found.off.max(initial=0.0)),
            Least(found.weights.min(initial=math.inf)),
            Sums(tuple(map(Least, found.lowest.min(axis=0, initial=math.inf)))),
            [found.lowest[some]],
        )

    @np.errstate(all="ignore")
    def lacking(self, sought: FloatArray, shares: FloatArray, squared: bool, block: Block) -> Sums:
        """Make the second pass: Σ μᵢh of each class, h a margin's lack, squared, or sH."""
        found = self.rows(block)
        missing = np.maximum(0.0, np.nextafter(sought - found.lowest, math.inf))
        cost = missing * (missing if squared else found.weights[:, None])
        cost = outwards(outwards(cost) * shares[found.runs, None])
        return Sums(tuple(Up(total_up(column)) for column in cost.T))


class _BlockRows(NamedTuple):
    used: IntArray
    weights: FloatArray
    lengths: FloatArray
    lowest: FloatArray
    off: FloatArray
    runs: IntArray


class MixtureStatistics(NamedTuple):
    """Statistics of a first pass; `n` are the rows of each run, `most` those with weighted μᵢ."""

    n: FloatArray
    shares: FloatArray
    radius: float
    off: float
    least_weight: float
    least: list[float]
    some: FloatArray
    objection: str

    @property
    def most(self) -> float:
        """Compute Σ μᵢnᵢ, the mistakes that a round can bring to M at most."""
        return above(total_up(self.shares * self.n), 2)


@dataclass(frozen=True)
class MixtureLedger(Together):
    """Counts of the runs of a mixture.

    Attributes
    ----------
    coef, intercept : the model that is certified
    positive : the label that counts as +1; every other label counts as −1
    bias : 1.0 if θ₀ was trained, 0.0 if not
    mistakes : of each run, in all rounds
    ends : the row after the last one of each run
    rounds : how many there were
    last : (θ, θ₀) at the end, where the model is the mean over all rounds
    labels, factors : the weight that each class has besides those of its rows; none for ones
    """

    coef: FloatArray
    intercept: float
    positive: Any
    bias: float
    mistakes: IntArray = field(repr=False)
    ends: IntArray = field(repr=False)
    rounds: int
    last: FloatArray | None = field(default=None, repr=False)
    labels: AnyArray | None = None
    factors: FloatArray | None = None

    takes_blocks: ClassVar[bool] = True  # X of `check` may be a source
    shared: ClassVar[tuple[str, ...]] = ("bias", "ends", "labels", "factors")
    scales_rows: ClassVar[bool] = False
    squared: ClassVar[bool] = False

    @classmethod
    def check_all(
        cls, ledgers: Sequence[Self], X: Any, y: Any = None, each: Each = map
    ) -> list[Certificate]:
        """Return the certificates of several classes of one fit, from two passes over the
        blocks."""
        one, source = ledgers[0], as_source(X, y)
        one._refuse(source, ledgers)
        weights = class_factors(one.labels, one.factors)
        read = Signs(tuple(ledger.positive for ledger in ledgers), weights)
        watched = Watched.over(source, read, each)
        u = np.stack([np.append(one_.coef, one_.intercept) for one_ in ledgers], axis=1)
        ends = np.asarray(one.ends, np.int64)
        margins = MixtureMargins(u.astype(np.float64), float(one.bias), read, cls.scales_rows, ends)
        statistics = one._statistics(watched, margins, source.n_rows)
        with np.errstate(all="ignore"):
            sought = np.array([ledger._sought(statistics, c) for c, ledger in enumerate(ledgers)])
            second = partial(margins.lacking, sought, statistics.shares, cls.squared)
            lacks = watched.map_reduce(second)
            sketches = watched.sketches()
            return [
                ledger._conclude(statistics, c, float(sought[c]), float(lacks[c]), sketches[c])
                for c, ledger in enumerate(ledgers)
            ]

    def _refuse(self, source: Source, ledgers: Sequence[Self]) -> None:
        """Raise if these runs cannot be about these data."""
        ends = np.asarray(self.ends)
        rising = ends.ndim == 1 and len(ends) and ends.dtype.kind in "iu"
        if not (rising and ends[0] > 0 and (np.diff(ends) > 0).all()):
            raise ValueError("The ends of the runs must be whole numbers that rise.")
        if ends[-1] != source.n_rows:
            raise other_rows(source.n_rows, int(ends[-1]))
        if any(not np.array_equal(one.ends, ends) for one in ledgers):
            raise ValueError("The classes of one fit have other runs.")
        for one in ledgers:
            refuse_other_features(source.n_features, len(one.coef))
        refuse_other_bias(ledgers)

    def _statistics(
        self, watched: Watched, margins: MixtureMargins, n_rows: int
    ) -> MixtureStatistics:
        first_pass = partial(margins.found, max(1, n_rows // SAMPLE))
        rows, runs, radius, off, least_weight, least, some = watched.map_reduce(first_pass)
        n = np.array([runs[i] for i in range(len(self.ends))], dtype=np.float64)
        objection = "" if rows == n_rows and n.sum() > 0 else "There are no rows with a weight."
        shares = n / max(1.0, n.sum())
        lowest = [float(value) for value in least]
        found = (float(radius), float(off), float(least_weight), lowest, np.concatenate(some))
        return MixtureStatistics(n, shares, *found, objection)

    def _sought(self, statistics: MixtureStatistics, c: int) -> float:
        """Return the margin from which it is counted what rows lack."""
        raise NotImplementedError

    def _allowed(
        self, statistics: MixtureStatistics, c: int, sought: float, lack: float
    ) -> Allowed:
        raise NotImplementedError

    def _impossible(self, statistics: MixtureStatistics) -> str:
        """Return what no runs can have counted, or nothing."""
        counts = np.asarray(self.mistakes)
        if not whole(self.rounds) or counts.dtype.kind not in "iu":
            return "Mistakes and rounds are whole numbers."
        if counts.shape != (len(self.ends),) or (counts < 0).any():
            return "Each run has its own count of mistakes."
        if (counts > self.rounds * statistics.n).any():
            return "There were more mistakes than presentations."
        if not self.bias and self.intercept:
            return "The model has a bias, and the problem has none."
        if not np.isfinite(np.append(self.coef, self.intercept)).all():
            return "The model holds NaN or infinity."
        if not statistics.radius * norm_up(np.append(self.coef, self.intercept)) < math.inf:
            return OVERFLOW
        return statistics.objection

    def _mean(self, statistics: MixtureStatistics) -> Fraction:
        """Compute M = Σ μᵢkᵢ."""
        counts = zip(np.asarray(self.mistakes).tolist(), statistics.n.tolist(), strict=True)
        return Fraction(sum(k * int(n) for k, n in counts), int(statistics.n.sum()))

    def _conclude(
        self, statistics: MixtureStatistics, c: int, sought: float, lack: float, sketch: Any
    ) -> Certificate:
        objection, counted, mean, rounds = self._impossible(statistics), 0, Fraction(0), 0
        if not objection:
            counted, mean = sum(np.asarray(self.mistakes).tolist()), self._mean(statistics)
            rounds = int(self.rounds)
        shown, blocks = rounds * int(statistics.n.sum()), int(np.count_nonzero(statistics.n))
        about = {"counted": counted, "shown": shown, "blocks": blocks, "mean": f"{float(mean):.6g}"}
        figures = {"presentations": float(shown), "rounds": float(rounds)}
        found = self._allowed(statistics, c, sought, lack)
        found, most = found._replace(remarks=[HOW, *found.remarks]), rounds * statistics.most
        whose: dict[str, Any] = {"witness": self, "sketch": sketch}
        return found.against(mean, most, RUNS, figures, objection, about, **whose)


@dataclass(frozen=True)
class PerceptronMixture(MixtureLedger):
    """The runs of a perceptron, mixed: Theorem 3.1, or its extension to what is not separable."""

    # A weight multiplies the update, which is the plain perceptron on the row s·(x, 1).
    scales_rows: ClassVar[bool] = True
    squared: ClassVar[bool] = True

    def _sought(self, statistics: MixtureStatistics, c: int) -> float:
        some = statistics.some[:, c]
        rounds = self.rounds if whole(self.rounds) else 0
        return best_margin(some, rounds * statistics.most / max(1, len(some)))

    def _allowed(
        self, statistics: MixtureStatistics, c: int, sought: float, lack: float
    ) -> Allowed:
        size, least = norm_up(np.append(self.coef, self.intercept)), statistics.least[c]
        rounds = int(self.rounds) if whole(self.rounds) else 0
        shortfall = above(math.sqrt(above(lack * rounds, 2)), 2) if lack < math.inf else math.inf
        given = (statistics.radius, size, statistics.off, least, sought, shortfall)
        found = novikoff(*given, rounds * statistics.most)
        found.figures.pop(WITHOUT_SHORTFALL, None)
        text = "u is {whose}, with the bias as a coordinate." if self.bias else "u is {whose}."
        remarks = [say(text, whose=say("the model itself"))]
        if not 0 < least < math.inf:
            remarks.append("u does not separate the data, so the rounds may never end.")
        reference = say(MIXED, theorem=say(found.reference))
        return found._replace(
            reference=reference,
            trusted=TRUSTED,
            objection=self._too_far(statistics),
            remarks=remarks,
        )

    def _too_far(self, statistics: MixtureStatistics) -> str:
        """Compute ‖θ‖² ≤ MR², up to what the runs have rounded, or the counts are too small."""
        if self._impossible(statistics):
            return ""
        end = np.append(self.coef, self.intercept) if self.last is None else self.last
        mean = above(float(self._mean(statistics)), 2)
        runs = int(statistics.n.max(initial=0)) + len(statistics.n)
        steps = 2 * (self.rounds * runs + len(end) + MORE)  # a mistake is one up to rounding
        slack = gamma(steps) if steps * U < 0.25 else math.inf
        reach = above(statistics.radius * (math.sqrt(mean) + slack * mean), 6)
        length = down(norm_up(end) * (1.0 - 4.0 * gamma(len(end) + MORE)))
        return "" if length <= reach else "Runs with so few mistakes do not go as far as θ."


@dataclass(frozen=True)
class PassiveAggressiveMixture(MixtureLedger):
    """The runs of a passive-aggressive classifier, mixed: the PA-I bound with C = 1/λ."""

    lam: float = field(kw_only=True)

    def _sought(self, statistics: MixtureStatistics, c: int) -> float:
        return 1.0  # the hinge loss

    def _allowed(
        self, statistics: MixtureStatistics, c: int, sought: float, lack: float
    ) -> Allowed:
        lam, radius = self.lam if self.lam > 0 else math.nan, statistics.radius
        rounds = int(self.rounds) if whole(self.rounds) else 0
        away = norm_up(np.append(self.coef, self.intercept))
        total = above(lack * rounds)
        least = least_step(radius, lam, statistics.least_weight)
        allowed = aggressive(away, total, lam, least)
        objection = "" if math.isfinite(lam) else "λ is not a positive number."
        figures = {"R (longest row)": radius, "‖u‖²": above(away * away)}
        figures["ΣμH (hinge losses of u)"] = total
        lost = 8.0 * rounds * statistics.off * statistics.most / lam / least if least > 0 else 0.0
        charge = allowed * gamma(64) + lost
        plain = statistics.least_weight == 1.0 and self.factors is None
        formula = "max(R², λ)(‖u‖² + (2/λ)ΣμH)" if plain else say("the PA-I bound")
        reference, remarks = say(MIXED, theorem=say(PA_THEOREM)), ["u is the model itself."]
        return Allowed(
            allowed, formula, reference, TRUSTED, objection, charge, figures, {}, remarks
        )
