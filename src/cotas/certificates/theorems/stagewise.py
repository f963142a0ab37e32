"""LS-Boost, FS_ε and R-FS: the theorems of Rugeles Ospina, chapter 2, at every iteration."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from cotas.arrays import AnyArray, BoolArray, Each, FloatArray, IntArray
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.core.bounds import moved_apart
from cotas.certificates.core.rounding import above, below
from cotas.certificates.passes import refuse_other_features
from cotas.certificates.presentation import OPTIMIZATION_ONLY, at_most, ends
from cotas.certificates.theorems.stagewise_bounds import (
    LENGTH,
    SPARSITY,
    TELLING,
    THEOREMS,
    Replayed,
    StagewiseSetting,
    best,
    omegas,
    replay,
)  # fmt: skip
from cotas.certificates.theorems.unit_columns import UnitColumns, columns_in_blocks
from cotas.certificates.witnesses import Parametric
from cotas.refusals import ParameterError
from cotas.source import Source
from cotas.words import say

OTHER_MODEL = "The steps of the run do not give back the model from these data."
WEIGHTS = "the weights of the rows"
OPEN = (
    "λ_pmin cannot be told from zero in double precision, or was not computed: what the theorem "
    "makes of it is left open."
)


# The kind of a certificate, its two numbers, whether they say nothing, and what they say.
_Shown = tuple[str, float, float, bool, str]


@dataclass(frozen=True)
class Item:
    """One item of a theorem at one iteration.

    Attributes
    ----------
    name : what is bounded
    bound, measured : what the theorem allows, and what was found, both rounded up; a distance from
        an optimum that nobody has is bounded by what is known, ‖β − β_LS‖ by ‖X(β − β_LS)‖/√λ_pmin
    holds : whether the inequality is proved; False where rounding, or a λ_pmin that cannot be told
        from zero, leaves it open
    vacuous : whether the bound says nothing, or is left open
    iteration : the iteration measured; for FS_ε and R-FS the best one so far
    """

    name: str
    bound: float
    measured: float
    holds: bool
    vacuous: bool
    iteration: int


@dataclass(frozen=True)
class Proof:
    """The items of a theorem by rows, the iterations by columns and the course of the run."""

    names: tuple[str, ...]
    bounds: FloatArray = field(repr=False)
    measured: FloatArray = field(repr=False)
    holds: BoolArray = field(repr=False)
    vacuous: BoolArray = field(repr=False)
    iterations: IntArray = field(repr=False)
    losses: FloatArray = field(repr=False)  # L_n
    lengths: FloatArray = field(repr=False)  # ‖β‖₁
    nonzeros: IntArray = field(repr=False)
    omegas: FloatArray = field(repr=False)  # ω_δ of R-FS

    @classmethod
    def of(cls, run: StagewiseRun, s: StagewiseSetting, square: float) -> Proof:
        """Return every item of the theorem at every iteration."""
        items = THEOREMS[run.algorithm][1](s)
        first = np.isin(s.ks[:-1], np.unique(run.chosen, return_index=True)[1])
        items[SPARSITY] = (s.ks.astype(np.float64), np.append(0.0, np.cumsum(first)), s.ks >= 0)
        omega = omegas(s.trace, s.delta) if run.algorithm == "R-FS" else np.zeros(0)
        sizes = {"FS": s.trace.largest, "R-FS": omega}.get(run.algorithm)
        i = s.ks if sizes is None else best(s, sizes)
        bounds, measured, holds = (np.array(rows) for rows in zip(*items.values(), strict=True))
        # What is known before the first step: as much as was measured there, and the p columns.
        plain = np.isin(list(items), (LENGTH, SPARSITY))[:, None]
        known = np.where(plain, np.inf, TELLING * measured[:, :1])
        known[-1] = s.p
        vacuous = (bounds >= known) & (plain | (s.ks > 0)) | ~holds
        losses = np.maximum(square - (s.trace.drops + s.trace.drop_error / 2), 0.0) / (2 * s.n)
        return cls(
            tuple(items), bounds, measured, holds, vacuous, i,
            losses, s.trace.lengths, s.trace.nonzeros, omega,
        )  # fmt: skip

    @property
    def last(self) -> int:
        return len(self.iterations) - 1

    def items(self, k: int) -> list[Item]:
        """Return every item of the theorem at iteration k."""
        if not 0 <= k <= self.last:
            raise ParameterError("k", f"k must lie between 0 and {self.last}, the iterations made.")
        table = (self.bounds, self.measured, self.holds, self.vacuous)
        rows = zip(self.names, *(rows[:, k].tolist() for rows in table), strict=True)
        i = int(self.iterations[k])
        return [Item(name, bound, found, ok, empty, i) for name, bound, found, ok, empty in rows]

    def says_no_more_than(self, other: Proof) -> bool:
        """Tell whether another proof, computed afresh, has the same items, and proves as many."""
        mine, theirs = (
            (proof.bounds, proof.measured, proof.holds, ~proof.vacuous) for proof in (self, other)
        )
        if self.names != other.names or [a.shape for a in mine] != [a.shape for a in theirs]:
            return False
        size = 1e-9 * np.max(theirs[1], initial=0.0, where=np.isfinite(theirs[1]))
        same = all(np.allclose(a, b, 1e-6, size) for a, b in zip(mine[:2], theirs[:2], strict=True))
        return same and all((a <= b).all() for a, b in zip(mine[2:], theirs[2:], strict=True))


@dataclass(frozen=True, eq=False)
class StagewiseCertificate(Certificate):
    """The certificate of a stagewise run; `at(k)` has the theorem at iteration k, item by item."""

    proof: Proof = field(kw_only=True, repr=False)

    @classmethod
    def of(cls, found: Certificate, proof: Proof) -> StagewiseCertificate:
        """Return what was concluded, with the items of the proof beside it."""
        return cls(**{f.name: getattr(found, f.name) for f in fields(found)}, proof=proof)

    def at(self, k: int) -> list[Item]:
        """Return for each item of the theorem at iteration k the bound, the measured, the verdict.

        k = 0 is the start, β = 0; the last is `n_iter_`.
        """
        return self.proof.items(k)

    def beside(self, fresh: Certificate) -> list[str]:
        same = isinstance(fresh, StagewiseCertificate) and self.proof.says_no_more_than(fresh.proof)
        return [*super().beside(fresh), *([] if same else ["The items are others."])]


@dataclass(frozen=True)
class StagewiseRun(Parametric):
    """The whole run: which coefficient moved in each step and by how much.

    Attributes
    ----------
    algorithm : "LS-Boost", "FS" or "R-FS"
    eps : the learning rate of each step
    delta : the radius of R-FS; infinite for the others
    chosen, steps : the index and the step of each iteration, for columns of unit length
    coef, intercept : the model at the end, in the units of X and y
    weights : how often each row counts; None stands for once each
    free_bias : whether X and y were centred
    """

    takes_blocks: ClassVar[bool] = True  # X of `check` may be a source

    algorithm: str
    eps: FloatArray = field(repr=False)
    delta: float
    chosen: IntArray = field(repr=False)
    steps: FloatArray = field(repr=False)
    coef: FloatArray = field(repr=False)
    intercept: float
    weights: FloatArray | None = field(default=None, repr=False)
    free_bias: bool = True

    def keeps(self) -> FloatArray:
        """Return what is left of β in each step: 1 − ε/δ."""
        return 1.0 - self.eps / self.delta

    def check(self, X: Any, y: Any = None, each: Each = map) -> StagewiseCertificate:
        """Return the certificate of this run, every number of it computed from the data.

        X may be a source of row blocks, which has y and the weights.
        """
        in_blocks = isinstance(X, Source)
        run = self._checked(X.n_features if in_blocks else X.shape[1])
        weights: AnyArray | None = run.weights
        if in_blocks:
            data, weights = columns_in_blocks(X, bool(run.free_bias), each)
        else:
            data = UnitColumns(X, y, weights, bool(run.free_bias), each)
        with np.errstate(all="ignore"):
            return run._conclude(data, weights)

    def _checked(self, p: int) -> StagewiseRun:
        """Return the same, in double precision; what is no run of the algorithm is refused."""
        eps, steps, coef = (
            np.array(a, dtype=np.float64) for a in (self.eps, self.steps, self.coef)
        )
        chosen, delta, bias = np.asarray(self.chosen), float(self.delta), float(self.intercept)
        refuse_other_features(p, coef.size)
        sound = self.algorithm in THEOREMS and eps.ndim == 1 and delta > 0
        sound &= eps.shape == steps.shape == chosen.shape and chosen.dtype.kind in "iu"
        sound &= coef.ndim == 1
        sound = sound and bool(((chosen >= 0) & (chosen < p) & (eps > 0)).all())
        sound &= all(np.isfinite(a).all() for a in (eps, steps, coef, bias))
        limit = {"LS-Boost": 1.0, "R-FS": delta}.get(self.algorithm, math.inf)
        if not sound or (eps > limit).any() or math.isinf(delta) == (self.algorithm == "R-FS"):
            raise ValueError("The witness is no run of a stagewise algorithm.")
        return replace(
            self, eps=eps, steps=steps, coef=coef, chosen=chosen, delta=delta, intercept=bias
        )

    def _conclude(self, data: UnitColumns, weights: AnyArray | None) -> StagewiseCertificate:
        trace, beta, objection = replay(self, data)
        smallest, fitted = data.curvature()
        s = StagewiseSetting(
            data.n, int(data.varies.sum()), self.eps, self.delta, smallest, fitted, trace
        )
        proof = Proof.of(self, s, data.square)
        apart, whole = data.apart(beta, self.coef, self.intercept)
        k, first = proof.last, proof.items(proof.last)[0]
        if not (apart < math.inf and apart <= 1e-9 * whole):
            objection = objection or OTHER_MODEL
        figures = {
            "iterations": float(k),
            "λ_pmin, at least": smallest,
            "‖Xβ_LS‖², at most": fitted,
            "coefficients that are not zero": float(trace.nonzeros[k]),
            "inequalities that are open": float((~proof.holds).sum()),
        }
        if self.algorithm != "LS-Boost":
            figures["best iteration"] = float(first.iteration)
        charge = 1024 * data.off * data.square / data.n
        if self.algorithm == "R-FS":
            figures["δ"] = self.delta
            lower, upper, moved = moved_apart(*_ball(data, trace, self.delta, apart), charge)
            empty = lower < 0.01 * upper
            shown: _Shown = ("duality", lower, upper, empty, _of_the_ball(lower, upper))
        else:
            # The model is the last iteration, but for the rounding of its coefficients.
            far = math.sqrt(above(float(s.suboptimality()[k]))) + apart
            last, moved = above(far * far / (2 * data.n), 8), (0.0, 0.0)
            if self.algorithm == "FS":
                figures["at the end, at most"] = last
            shown = self._by_the_theorem(first, k, last)
        kind, lower, upper, vacuous, statement = shown
        found = conclude(
            kind,
            lower,
            upper,
            objection=data.objection or objection,
            vacuous=vacuous,
            statement=statement,
            reference=THEOREMS[self.algorithm][0],
            figures=figures,
            remarks=(OPTIMIZATION_ONLY, *([OPEN] if smallest == 0.0 < fitted else [])),
            trusted=() if weights is None or (weights == 1).all() else (WEIGHTS,),
            charge=charge,
            moved=moved,
            witness=self,
            sketch=data.sketch,
        )
        return StagewiseCertificate.of(found, proof)

    def _by_the_theorem(self, first: Item, k: int, last: float) -> _Shown:
        """Compare the training error, of the last or of the best iteration, with its bound."""
        lower, text = last, "After {k} iterations the training error is {beyond}; {allowed}."
        if self.algorithm == "FS":
            lower, text = (
                first.measured,
                "After {k} iterations iteration {best} has a training error {beyond}; {allowed}.",
            )
        proved_by_theorem = first.holds and lower <= below(first.bound, 32 * k + 64)
        # The bound of an open item is still one that the theorem allows, where it is finite.
        upper = max(lower, first.bound) if math.isfinite(first.bound) else lower
        allowed = (
            "the theorem allows {upper}" if proved_by_theorem else "the theorem's bound is open"
        )
        beyond = say("at most {lower} above that of least squares", lower=at_most(lower))
        allowed = say(allowed, upper=at_most(upper))
        statement = say(text, k=k, best=first.iteration, beyond=beyond, allowed=allowed)
        return "stagewise", lower, upper, first.vacuous or not proved_by_theorem, statement


def _of_the_ball(lower: float, upper: float) -> str:
    return say(
        "No linear model with ‖β‖₁ ≤ δ (columns centred, of unit length) has a training "
        "error L_n below {lower}; this one has {upper}.",
        **ends(lower, upper),
    )


def _ball(data: UnitColumns, trace: Replayed, delta: float, apart: float) -> tuple[float, float]:
    """Bound L_n of the model from above, and the least in the ball from below.

    2nL_n(β*) ≥ ‖r‖² − 2δω_δ = ‖y‖² − β·c⁰ + β·c − 2δ‖c‖_∞ for every β* with ‖β*‖₁ ≤ δ.
    """
    most = above(data.square * (1 + data.off), 4)
    drop = float(trace.drops[-1])
    loss = above(max(0.0, most - drop), 2)
    twice = 2 * (float(trace.inner_products[-1]) - float(trace.inner_product_error[-1]))
    terms = below(data.square * (1 - data.off), 4) - drop - float(trace.drop_error[-1]) + twice
    size = most + abs(drop) + abs(twice) + 2 * delta * float(trace.largest[-1])
    lower = terms - 2 * delta * float(trace.largest[-1]) - above(8 * 2.0**-53 * size, 8)
    far = math.sqrt(loss) + apart
    return below(max(0.0, lower) / (2 * data.n), 8), above(far * far / (2 * data.n), 8)
