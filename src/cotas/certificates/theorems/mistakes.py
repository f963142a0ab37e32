"""How many mistakes an online run made, against how many its theorem allows.

All vectors are extended by the coordinate of the bias, (θ, θ₀) and z = (x, bias), so that Theorem
3.1 of Fuentes Cabrera applies as printed, with or without a bias. It speaks of vectors and their
inner products alone, so it holds in the feature space of a kernel too, with z = (φ(x), bias).

Any u of length N or less will do: with γ ≤ yᵢ u·zᵢ and ‖zᵢ‖ ≤ R a run from zero makes (RN/γ)²
mistakes at most. What is rounded is rounded to the side that allows more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, Matrix
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.core.rounding import (
    U,
    above,
    below,
    dot,
    down,
    gamma,
    norm_up,
    total_up,
    up,
)
from cotas.certificates.numbers import whole
from cotas.certificates.passes import MORE, Facts, Sketch, gather_facts, outwards, refuse_other_rows
from cotas.certificates.presentation import at_most
from cotas.certificates.theorems.products import DataPass, SignedBlock, Totals, moved_rows
from cotas.certificates.verification import ROUNDED
from cotas.certificates.witnesses import Together
from cotas.words import say

THEOREM = "Theorem 3.1 of Fuentes Cabrera (Novikoff 1962)"
SHORTFALL_THEOREM = "Freund and Schapire 1999, Theorem 2"
PA_THEOREM = "Crammer et al. 2006, Theorem 4 (PA-I)"
NOT_ABOUT_NEW_DATA = "It counts mistakes made while learning; it says nothing about new data."
TRUSTED = "The number of presentations, and that each entry of the ledger was earned by a mistake."
TRUSTED_STEPS = "The number of presentations and that of mistakes, which the steps only limit."
OVERFLOW = "The scores of the model overflow on these rows: rescale the columns."
WITHOUT_SHORTFALL = "(R/γ)² of Theorem 3.1"
MARGIN, SOUGHT = "γ (margin of u), at least", "γ (margin sought)"
LACKING, LOSSES = "D (shortfall from γ)", "ΣH (hinge losses of u)"
OTHER_COUNT = "The ledger holds another number of mistakes."
RUN = (
    "The run made {k} mistakes in {shown} presentations; the theorem allows any number.",
    "The run made {k} mistakes in {shown} presentations; {formula} allows at most {most}.",
    "The run made more mistakes than the theorem allows.",
)
# Of the margins that are tried as γ.
QUANTILES = np.linspace(0.05, 1.0, 39)
# Binary digits of a root beyond those of whole numbers.
DIGITS = 128
# Lengths below this have lost digits to underflow.
SMALLEST = 2.0**-900
ANOTHER_MODEL = "The ledger of the run does not give back the model from these data."


def mistakes_allowed(
    radius: float, margin: float, shortfall: float, aligned: float, length: float
) -> float:
    """Return the largest k with k·γ + θ⁰·u ≤ ‖θᵏ‖ and ‖θᵏ‖² ≤ ‖θ⁰‖² + k·R², rounded up.

    That is the proof of Theorem 3.1, for ‖u‖ ≤ 1. `aligned` is θ⁰·u and `length` is ‖θ⁰‖; both
    vanish for a run that starts at zero, which leaves (R/γ)². A shortfall D > 0 is the case of
    data that u does not separate: each example gets a coordinate Δ of its own, which turns R²
    into R² + Δ² and divides the margin by Z = √(1 + D²/Δ²); with Δ² = RD a run from zero gets
    ((R + D)/γ)². Otherwise the quadratic in k has, with S = R + D and h = S²/2 − γ θ⁰·u, the root

        k = (h + √(h² + γ²(‖θ⁰‖² S/R − (θ⁰·u)²))) / γ²,

    all in whole numbers of the finest unit of those given, but for one square root.

    >>> mistakes_allowed(3.0, 1.0, 0.0, 0.0, 0.0)
    9.0
    >>> mistakes_allowed(3.0, 1.0, 2.0, 0.0, 0.0)
    25.0
    """
    numbers = (radius, margin, shortfall, aligned, length)
    if not (margin > 0 and radius > 0 and all(map(math.isfinite, numbers))):
        return math.inf
    ratios = [float(number).as_integer_ratio() for number in numbers]
    finest = max(unit for _, unit in ratios)  # a power of two, as they all are
    r, g, d, along, size = (count * (finest // unit) for count, unit in ratios)
    s = r + d
    twice_h = s * s - 2 * along * g
    inside = twice_h * twice_h * r + 4 * g * g * (size * size * s - along * along * r)
    scale = r << DIGITS
    top = max(0, twice_h * scale + _root_up(max(0, inside) * r << 2 * DIGITS))
    bottom = 2 * g * g * scale
    if top > bottom << 1000:
        return math.inf
    allowed = top / bottom
    count, unit = allowed.as_integer_ratio()
    return allowed if count * bottom >= top * unit else up(allowed)


def beyond_rounding(allowed: float, charge: float) -> tuple[float, float]:
    """Return a bound beside which rounding is large, moved up by it, and by how much.

    The same sums in another order then prove it too.
    """
    if not ROUNDED * allowed < 4 * charge < math.inf or not math.isfinite(allowed):
        return allowed, 0.0
    return up(allowed + 4 * charge), 4 * charge


def _root_up(square: int) -> int:
    """Compute √square, rounded up to a whole number."""
    root = math.isqrt(square)
    return root + (root * root < square)


class MistakeStatistics(NamedTuple):
    """Statistics of a pass over the data about the ledgers of all classes, one column for each.

    Attributes
    ----------
    used : which rows have a weight
    margins : yᵢ u·zᵢ of those rows, rounded down (times their weights, for a perceptron)
    off : how far each of them may be off, for each class
    lengths : N, the length of u rounded up
    radius : R, rounded up
    missed : why the ledger does not give back the model, or nothing if it does
    """

    used: AnyArray
    margins: FloatArray
    off: FloatArray
    lengths: list[float]
    radius: float
    missed: list[str]
    sketches: list[Sketch]
    evidence: Any = None  # of a kernel that is no feature space


class Allowed(NamedTuple):
    """The mistakes that a theorem allows at most, by which formula, and what to say of it."""

    most: float
    formula: str
    reference: str
    trusted: str
    objection: str
    charge: float
    figures: dict[str, float]
    room: dict[str, float]
    remarks: list[str]

    def against(
        self,
        made: Fraction | int,
        possible: float,
        said: tuple[str, str, str],
        figures: dict[str, float],
        objection: str,
        about: dict[str, Any],
        **whose: Any,
    ) -> Certificate:
        """Return the mistakes made beside these; where the bound is infinite, all that are
        possible.

        `said` are the statements without a bound and with one, which are `about` these values, and
        what is objected to more mistakes.
        """
        allowed, moved = beyond_rounding(self.most, self.charge)
        objection, known = objection or self.objection, math.isfinite(allowed)
        if not objection and made > allowed:  # both as they are: one may be a fraction
            objection = said[2]
        return conclude(
            "mistakes",
            float(made),
            allowed if known else possible,
            statement=say(said[known], **about, formula=self.formula, most=at_most(allowed)),
            reference=self.reference,
            objection=objection,
            figures={**self.figures, **figures},
            room=self.room,
            remarks=(*self.remarks, NOT_ABOUT_NEW_DATA),
            trusted=(self.trusted,),
            vacuous=not allowed < possible,
            charge=self.charge if known else 0.0,
            moved=(0.0, moved),
            **whose,
        )


@dataclass(frozen=True)
class Ledger(Together):
    """A ledger: how much each example moved the model, θ = θ⁰ + Σ updatesᵢ yᵢ zᵢ.

    Attributes
    ----------
    coef, intercept : the model that is certified
    positive : the label that counts as +1; every other label counts as −1
    bias : 1.0 if θ₀ was trained, 0.0 if not
    updates : for each example, the sum of its steps in multiples of yᵢzᵢ
    mistakes, presentations : of the whole run
    weights : of the examples (0 for examples kept out of the training), or None
    last : (θ, θ₀) at the end of the run, where the model is the average over the run
    averaged_updates : the ledger of that average
    start : (θ, θ₀) at the beginning of the run, where it did not begin at zero
    averaged_start : what the average holds of the time before the run
    separator : the vector u of the bound, where it is not the model itself
    """

    coef: FloatArray
    intercept: float
    positive: Any
    bias: float
    updates: AnyArray = field(repr=False)
    mistakes: int
    presentations: int
    weights: FloatArray | None = field(default=None, repr=False)
    last: FloatArray | None = field(default=None, repr=False)
    averaged_updates: AnyArray | None = field(default=None, repr=False)
    start: FloatArray | None = field(default=None, repr=False)
    averaged_start: FloatArray | None = field(default=None, repr=False)
    separator: FloatArray | None = field(default=None, repr=False)

    # Whether the theorem is about the rows times their weights.
    scales_rows: ClassVar[bool] = False

    @classmethod
    def check_all(
        cls, ledgers: Sequence[Self], X: Matrix, y: AnyArray,
        facts: Facts | None = None, each: Each = map,
    ) -> list[Certificate]:  # fmt: skip
        """Return the certificates of several classes of one fit, in one pass over the data.

        `facts` are those of the same data, if they have been gathered already.
        """
        statistics = cls._statistics(ledgers, X, y, facts, each)
        with np.errstate(all="ignore"):  # what is not finite is no bound
            return [ledger._conclude(statistics, c) for c, ledger in enumerate(ledgers)]

    @classmethod
    def _statistics(
        cls, ledgers: Sequence[Self], X: Matrix, y: AnyArray, facts: Facts | None, each: Each
    ) -> MistakeStatistics:
        """Return one pass over the data for linear models."""
        first, positives, K = ledgers[0], [one.positive for one in ledgers], len(ledgers)
        u = np.stack([ledger.direction for ledger in ledgers], axis=1)
        data_pass = pass_of(ledgers, X, y, u[:-1])
        facts = facts or gather_facts(X, y, positives, each)
        known, used = facts.measured, used_by(first)
        factor = np.broadcast_to(1.0, len(known))
        if first.scales_rows and first.weights is not None:
            factor = np.asarray(first.weights, dtype=np.float64)
        margins = np.empty((len(factor), K))
        entries: list[Any] = [one.updates for one in ledgers]
        if first.averaged_updates is not None:
            entries += [one.averaged_updates for one in ledgers]

        def read(block: SignedBlock) -> Totals:
            scale = factor[block.span, None]
            with np.errstate(over="ignore", invalid="ignore"):
                scores = block.signs * (block.products + first.bias * u[-1])
                margins[block.span] = scores * scale
            columns = np.array([e[block.span] for e in entries], dtype=np.float64).T
            steps = np.tile(block.signs, len(entries) // K) * columns * scale
            moved = moved_rows(steps)
            lengths = known[block.span]
            lengths = outwards(np.hypot(lengths, first.bias) if first.bias else lengths)
            longest = np.max(scale[:, 0] * lengths, where=used[block.span], initial=0.0)
            lengths = lengths[moved]
            lengths[lengths < SMALLEST] = 0.0  # mostly what underflow may have lost
            reach = np.abs(steps[moved]) * lengths[:, None]
            way = [total_up(outwards(column)) for column in reach.T]
            rebuilt = np.vstack([block.combine(steps), first.bias * steps.sum(axis=0)])
            sums = {"sum rebuilt": rebuilt, "sum way": np.array(way), "sum adds": 1}
            return {"max radius": longest, "max adds": len(moved), **sums}  # zeros round nothing

        found = data_pass.totals(read, each)
        adds, sums = int(found["max adds"] + found["sum adds"]), found["sum rebuilt"].T
        radius = above(float(found["max radius"]), 2)
        sizes = [norm_up(column) for column in u.T]
        off = np.array([above(gamma(len(u) + MORE) * radius * size, 3) for size in sizes])
        missed = [
            ledger.impossible(facts.longest())
            or ledger.missed(sums[c], sums[K:][c : c + 1], adds, above(found["sum way"][c], adds))
            for c, ledger in enumerate(ledgers)
        ]
        with np.errstate(invalid="ignore"):
            margins -= off
        lowest = or_vacuous(margins[used])
        return MistakeStatistics(used, lowest, off, sizes, radius, missed, facts.sketches)

    def _allowed(self, statistics: MistakeStatistics, c: int) -> Allowed:
        raise NotImplementedError

    def _conclude(self, statistics: MistakeStatistics, c: int) -> Certificate:
        found, k, shown = self._allowed(statistics, c), self.mistakes, self.presentations
        figures, about = {"presentations": float(shown)}, {"k": k, "shown": shown}
        whose: dict[str, Any] = {"witness": self, "sketch": statistics.sketches[c]}
        return found.against(k, float(shown), RUN, figures, statistics.missed[c], about, **whose)

    @property
    def direction(self) -> FloatArray:
        """Return the vector u of the bound."""
        return np.append(self.coef, self.intercept) if self.separator is None else self.separator

    @property
    def origin(self) -> FloatArray:
        """Return where the run began."""
        return np.zeros(len(self.coef) + 1) if self.start is None else self.start

    def passes(self, used: int) -> int:
        """Count how often an example was presented at most: an epoch begun counts as one."""
        if not whole(self.presentations):
            return 1
        return max(1, -(-self.presentations // max(1, used)))

    def impossible(self, radius: float = 0.0) -> str:
        """Return what no run on rows no longer than `radius` can have counted, or nothing."""
        if not (whole(self.mistakes) and whole(self.presentations)):
            return "Mistakes and presentations are whole numbers."
        if self.mistakes > self.presentations:
            return "There were more mistakes than presentations."
        if not self.bias and self.intercept:
            return "The model has a bias, and the problem has none."
        if not radius * norm_up(np.append(self.coef, self.intercept)) < math.inf:
            return OVERFLOW
        entries, used = np.asarray(self.updates), used_by(self)
        if not (np.isfinite(entries).all() and (entries >= 0).all()):
            return "The entries of a ledger are finite and not negative."
        moved = int(np.count_nonzero(entries))
        if entries[~used].any() or moved > self.presentations:
            return "The ledger holds examples that were never presented."
        return ""

    def missed(self, rebuilt: FloatArray, averaged: FloatArray, adds: int, way: float) -> str:
        """Tell why the ledger does not give back the model, or nothing if it does.

        `way` is Σ updatesᵢ‖zᵢ‖. The run has rounded twice at each step, the checker once for each
        of `adds` additions, and each entry of the ledger, unless it is a count, at each of its
        own steps: they may differ by no more. An average is a difference of two such sums;
        `averaged` holds it, if there is one.
        """
        adds += 2 * (self.mistakes if self.scales_rows else self.presentations) + 2 * MORE
        if not adds * U < 0.25:
            return ANOTHER_MODEL
        before = self.origin if self.averaged_start is None else self.averaged_start
        size = up(up(way + norm_up(self.origin)) + norm_up(before))
        entry = 0.0 if self.scales_rows else _precision(self.updates)
        steps = self.passes(int(np.count_nonzero(used_by(self)))) + 4
        model = np.append(self.coef, self.intercept)
        end = model if self.last is None else self.last
        if size < SMALLEST:  # there underflow would hide everything
            return "" if np.array_equal(self.origin + rebuilt, end) else ANOTHER_MODEL
        slack = above((gamma(adds) + steps * entry) * size, 4)
        if not norm_up(self.origin + rebuilt - end) <= slack < math.inf:
            return ANOTHER_MODEL
        if self.last is None:
            return ""
        if len(averaged) and self.averaged_updates is not None:
            slack = above((gamma(adds) + steps * _precision(self.averaged_updates)) * size, 4)
            if norm_up(before + averaged[0] - model) <= 2.0 * slack:
                return ""
        return "The model is not the average of the run on these data."


def _precision(entries: AnyArray) -> float:
    """Tell how far an entry may be off after one rounding, against its size; counts are exact."""
    return 0.5 * float(np.finfo(entries.dtype).eps) if entries.dtype.kind == "f" else 0.0


def used_by(ledger: Ledger) -> AnyArray:
    weights = ledger.weights
    return np.ones(len(ledger.updates), dtype=np.bool_) if weights is None else weights > 0


def or_vacuous(lowest: FloatArray) -> FloatArray:
    """Return lower bounds; where a number overflowed on the way there is none."""
    return np.where(np.isfinite(lowest), lowest, -math.inf)


def pass_of(ledgers: Sequence[Ledger], X: Matrix, y: AnyArray, directions: FloatArray) -> DataPass:
    """Return the data, if the ledgers can be about them."""
    data_pass = DataPass(X, y, [one.positive for one in ledgers], directions)
    refuse_other_rows(data_pass.X.shape[0], *(one.updates for one in ledgers))
    refuse_other_bias(ledgers)
    return data_pass


def refuse_other_bias(ledgers: Sequence[Any]) -> None:
    """Raise unless the runs of one fit all have the coordinate of the bias, or none has it."""
    if ledgers[0].bias not in (0.0, 1.0) or len({one.bias for one in ledgers}) > 1:
        raise ValueError("The bias is a coordinate of one, or there is none.")


@dataclass(frozen=True)
class PerceptronLedger(Ledger):
    """The ledger of a perceptron: Theorem 3.1, or its extension to data that are not separable."""

    # A weight multiplies the update, which is the plain perceptron on the row s·(x, 1).
    scales_rows: ClassVar[bool] = True

    def _allowed(self, statistics: MistakeStatistics, c: int) -> Allowed:
        size, margins = statistics.lengths[c], statistics.margins[:, c]
        passes, least = self.passes(len(margins)), float(margins.min(initial=math.inf))
        value, off = dot(self.origin, self.direction) if self.start is not None else (0.0, 0.0)
        start = (down(value - off), up(norm_up(self.origin) * size))
        sought = best_margin(margins, passes)
        # D(γ): the root of all that the margins fall short of γ, squared, in each pass.
        missing = sought - margins[margins < sought]
        lacking = above(math.sqrt(above(total_up(outwards(missing * missing)) * passes)), 2)
        given = (statistics.radius, size, float(statistics.off[c]), least, sought, lacking)
        terms = float(len(missing) * passes)
        entries = np.asarray(self.updates, dtype=np.float64)
        counts = bool((entries == np.floor(entries)).all() and (entries <= passes).all())
        objection = "" if counts and entries.sum() == self.mistakes else OTHER_COUNT
        remarks = self._remarks(0 < least < math.inf)
        return novikoff(*given, terms, *start)._replace(objection=objection, remarks=remarks)

    def _remarks(self, separates: bool) -> list[str]:
        whose = say("the model itself" if self.separator is None else "the tightest separator")
        text = "u is {whose}, with the bias as a coordinate." if self.bias else "u is {whose}."
        remarks = [say(text, whose=whose)]
        if not separates:
            remarks.append(
                "u does not separate the data, so the run may never end; "
                "`cotas.separability(X, y)` tells whether anything does."
            )
        return remarks


def novikoff(
    radius: float, size: float, off: float, least: float, sought: float, shortfall: float,
    terms: float, aligned: float = 0.0, length: float = 0.0,
) -> Allowed:  # fmt: skip
    """Compute what Theorem 3.1 allows, or its extension to inseparable data if that is less.

    u is of the length `size`, its smallest margin is `least`, up to `off`, and `shortfall` is what
    margins lack to the one sought, the root of so many `terms`: a larger γ that some fall short of
    may allow fewer mistakes. Of the figures γ and D, which may be as small as `off`, each is moved
    to its safe side by what sums in another order can change it by: margins by 2·`off`.
    """
    reach, figures = up(radius * size), {"R (longest row)": radius}
    room, blur = dict[str, float](), above(2.0 * off / size, 4) if size > 0 else math.inf
    reference, formula, allowed = THEOREM, "(R/γ)²", math.inf
    if 0 < least < math.inf:
        margin = below(least / size, 2)
        figures[MARGIN] = max(0.0, down(margin - blur))
        room[MARGIN] = margin - figures[MARGIN]
        allowed = mistakes_allowed(reach, least, 0.0, aligned, length)
    with_shortfall = mistakes_allowed(reach, sought, shortfall, aligned, length)
    if with_shortfall < allowed:
        if math.isfinite(allowed):
            figures[WITHOUT_SHORTFALL] = allowed
        reference, formula = SHORTFALL_THEOREM, "((R + D)/γ)²"
        allowed, least = with_shortfall, sought
        figures[SOUGHT], room[SOUGHT] = sought / size, blur
        # By that of the margins, and by that of the γ beside it, besides its own.
        room[LACKING] = above(2.0 * blur * math.sqrt(terms), 4)
        figures[LACKING] = above(shortfall / size + 1.5 * room[LACKING], 4)
    charge = allowed * 8.0 * off / least if least > 0 else 0.0
    return Allowed(allowed, formula, reference, TRUSTED, "", charge, figures, room, [])


def least_step(radius: float, lam: float, lightest: float) -> float:
    """Compute min(1/R², s/λ) of the lightest example: what each mistake adds at least."""
    least = below(lightest / lam)
    return min(least, below(1.0 / above(radius * radius), 2)) if radius > 0 else least


def aggressive(away: float, losses: float, lam: float, least: float) -> float:
    """Bound the mistakes of PA-I: (‖u − θ⁰‖² + (2/λ)ΣH) over the least step, rounded up."""
    allowed = above((away * away + 2.0 * losses / lam) / least, 6) if least > 0 else math.inf
    return math.inf if math.isnan(allowed) else allowed


def _quantiles(values: FloatArray, shares: FloatArray) -> FloatArray:
    """Compute quantiles as `np.quantile` does, which takes ten times as long for a few numbers."""
    ordered, place = np.sort(values), (len(values) - 1) * shares
    before = place.astype(np.int64)
    low, high = ordered[before], ordered[np.minimum(before + 1, len(values) - 1)]
    part, apart = place - before, high - low
    return np.where(part < 0.5, low + apart * part, high - apart * (1 - part))


def best_margin(margins: FloatArray, passes: float) -> float:
    """Find a γ with a small (R + D(γ))/γ, estimated on a thousand margins; every γ > 0 is valid."""
    some = margins[:: max(1, len(margins) // 1000)]
    some = some[np.isfinite(some)]
    candidates = _quantiles(some, QUANTILES) if len(some) else some
    candidates = candidates[candidates > 0]
    if len(candidates) == 0:
        return 0.0
    missing = np.maximum(0.0, candidates[:, None] - some)
    share = passes * len(margins) / len(some)
    shortfall = np.sqrt(share * np.einsum("gi,gi->g", missing, missing))
    return float(candidates[np.argmin((np.abs(some).max() + shortfall) / candidates)])


@dataclass(frozen=True)
class PassiveAggressiveLedger(Ledger):
    """The ledger of a passive-aggressive run: the PA-I bound with C = 1/λ.

    With weights Cᵢ = sᵢ/λ its proof gives Σ min(1/R², Cᵢ) over mistakes ≤ ‖u − θ⁰‖² + 2ΣCᵢℓᵢ.
    """

    lam: float = field(kw_only=True)

    def _allowed(self, statistics: MistakeStatistics, c: int) -> Allowed:
        weights = np.ones(len(self.updates)) if self.weights is None else self.weights
        weights, lam = weights[statistics.used], self.lam if self.lam > 0 else math.nan
        passes, radius = self.passes(len(weights)), statistics.radius
        away = above(norm_up(self.direction - self.origin), 2)
        losses = np.maximum(0.0, np.nextafter(1.0 - statistics.margins[:, c], math.inf))
        total = above(total_up(outwards(weights * losses)) * passes)
        least = least_step(radius, lam, float(weights.min(initial=math.inf)))
        allowed = aggressive(away, total, lam, least)
        steps = above(total_up(np.asarray(self.updates, dtype=np.float64)))
        plain = self.start is None and self.weights is None
        objection = "" if math.isfinite(lam) else "λ is not a positive number."
        # Each mistake costs a step of at least `least`, so the ledger limits k as well.
        if self.mistakes * least > steps * (1.0 + 2.0 * (passes + 4) * _precision(self.updates)):
            objection = "The ledger is too small for that many mistakes."
        figures = {"R (longest row)": radius, "‖u − θ⁰‖²": above(away * away)}
        off = float(statistics.off[c])
        # The same losses in another order of sums, on the safe side: each is off twice at most.
        room = {LOSSES: above(2.0 * passes * off * total_up(weights), 4)}
        figures[LOSSES] = above(total + room[LOSSES])
        charge = allowed * gamma(64) + 8.0 * passes * off * weights.sum() / lam / least
        formula = "max(R², λ)(‖u‖² + (2/λ)ΣH)" if plain else say("the PA-I bound")
        said = (PA_THEOREM, TRUSTED_STEPS, objection, charge, figures, room)
        return Allowed(allowed, formula, *said, ["u is the model itself."])
