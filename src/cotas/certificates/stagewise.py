"""LS-Boost, FS_ε and R-FS: the theorems of document 001, chapter 2, at every iteration."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, IntArray, Matrix
from cotas.certificates.certificate import Certificate, conclude
from cotas.certificates.duality import OPTIMISATION_ONLY
from cotas.certificates.ledger import plain_fields
from cotas.certificates.replay import replay
from cotas.certificates.stagewise_bounds import THEOREMS, Setting
from cotas.certificates.stagewise_proof import Item, Proof
from cotas.certificates.sweep import EPS
from cotas.certificates.unit_columns import Spectrum, UnitColumns


@dataclass(frozen=True)
class StagewiseCertificate(Certificate):
    """The certificate of a stagewise run; `at(k)` has the theorem at iteration k, item by item."""

    proof: Proof = field(kw_only=True, repr=False)

    @classmethod
    def of(cls, found: Certificate, proof: Proof) -> StagewiseCertificate:
        """What was concluded, with the items of the proof beside it."""
        return cls(**{f.name: getattr(found, f.name) for f in fields(found)}, proof=proof)

    def at(self, k: int) -> list[Item]:
        """For each item of the theorem at iteration k: the bound, what was measured, the verdict.

        k = 0 is the start, β = 0; the last is `n_iter_`.
        """
        return self.proof.items(k)


@dataclass(frozen=True)
class StagewiseRun:
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
        """What is left of β in each step: 1 − ε/δ."""
        return 1.0 - self.eps / self.delta

    def sizes(self, correlations: FloatArray) -> FloatArray:
        """The steps that the rule gives for the correlations of the chosen columns."""
        if self.algorithm == "LS-Boost":
            return self.eps * correlations
        return np.asarray(self.eps * np.sign(correlations))

    def check(self, X: Matrix, y: AnyArray, each: Each = map) -> StagewiseCertificate:
        """The certificate of this run, every number of it computed from the data."""
        data = UnitColumns(X, y, self.weights, self.free_bias, each)
        if data.p != len(self.coef):
            raise ValueError(f"X has {data.p} features; the certificate is about {len(self.coef)}.")
        spectrum = data.spectrum()
        trace, beta, objection = replay(self, data, spectrum)
        varying = int(data.varies.sum())
        reference, theorem = THEOREMS[self.algorithm]
        setting = Setting(data.n, varying, self.eps, self.delta, spectrum)
        proof = Proof(
            self.algorithm,
            data.n,
            varying,
            self.delta,
            spectrum.known,
            spectrum.smallest,
            spectrum.fitted,
            data.square,
            _rounding(data, spectrum, len(self.chosen)),
            theorem(setting, trace.losses),
            trace,
        )
        coef = beta / data.scale
        bias = data.moments.y_mean - float(data.moments.x_mean @ coef)
        objection = objection or self._other_model(coef, bias) or proof.violation()
        return _conclude(self, proof, objection, reference, data)

    def _other_model(self, coef: FloatArray, bias: float) -> str:
        size = float(np.abs(coef).max(initial=0.0)) or 1.0
        near = np.abs(coef - self.coef) <= 1e-9 * np.maximum(np.abs(coef), 1e-3 * size)
        tolerance = 1e-9 * (abs(bias) + abs(self.intercept) + size)
        if near.all() and abs(bias - self.intercept) <= tolerance:
            return ""
        return "The steps of the run do not give back the model from these data."

    def about(self, coef: FloatArray, intercept: float) -> Self:
        """The same run, said to end at another model."""
        return replace(self, coef=np.array(coef), intercept=float(intercept))

    def to_dict(self) -> dict[str, Any]:
        """The witness in plain Python types."""
        return plain_fields(self)


def _rounding(data: UnitColumns, spectrum: Spectrum, iterations: int) -> float:
    condition = 1.0
    if len(spectrum.values):
        condition = math.sqrt(float(spectrum.values[-1] / spectrum.values[0]))
    roundings = 64 * math.sqrt(data.rows + iterations) + 8 * data.p * condition
    return float(EPS * data.square * roundings)


def _conclude(
    run: StagewiseRun, proof: Proof, objection: str, reference: str, data: UnitColumns
) -> StagewiseCertificate:
    k = proof.last
    first = proof.items(k)[0]
    lower, upper, kind = first.measured, first.bound, "stagewise"
    about = f"After {k} iterations the training error is {lower:.6g} above that of least squares"
    statement = f"{about}; the theorem allows {upper:.6g}."
    figures = {
        "iterations": float(k),
        "ε (last)": float(run.eps[-1]) if k else math.nan,
        "λ_pmin": proof.smallest,
        "‖β‖₁ (unit columns)": float(proof.trace.lengths[k]),
        "coefficients that are not zero": float(proof.trace.nonzeros[k]),
    }
    if proof.algorithm == "R-FS":
        omega = max(0.0, float(proof.omegas[k]))
        upper, kind = float(proof.trace.losses[k]) / (2 * proof.n), "duality"
        lower = max(0.0, upper - proof.delta * omega / proof.n)
        figures |= {
            "δ": proof.delta,
            "ω_δ": omega,
            "best iteration": float(proof.best(np.array([k]))[0]),
        }
        statement = (
            f"No linear model with ‖β‖₁ ≤ δ (columns centred, of unit length) has a training error "
            f"L_n below {lower:.6g}; this one has {upper:.6g}."
        )
    elif proof.algorithm == "FS":
        figures["best iteration"] = float(first.iteration)
        statement = statement.replace("the training", f"iteration {first.iteration} has a training")
        statement = statement.replace("error is", "error")
    found = conclude(
        kind=kind,
        lower=lower,
        upper=upper,
        objection=objection,
        vacuous=lower < 0.01 * upper if kind == "duality" else first.vacuous,
        statement=statement,
        reference=reference,
        figures=figures,
        remarks=(OPTIMISATION_ONLY,),
        charge=proof.rounding / (2 * proof.n) + 1e-9 * abs(upper),
        witness=run,
        sketch=data.moments.sketch,
    )
    return StagewiseCertificate.of(found, proof)
