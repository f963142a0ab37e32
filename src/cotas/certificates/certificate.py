"""What a certificate is: a claim with its two bounds, and the witness that proves it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from cotas.arrays import AnyArray, FloatArray, Matrix
from cotas.certificates.core.bounds import Bounds, Objection
from cotas.certificates.passes import Sketch
from cotas.certificates.presentation import (
    OPTIMIZATION,
    against_the_rest,
    as_html,
    as_text,
    in_words,
)
from cotas.certificates.verification import (
    UNCHECKED,
    OtherData,
    as_meant,
    contradictions,
    in_the_other_layout,
    left_out,
    read_labels,
    read_rows,
    refuse_no_numbers,
    same,
)
from cotas.certificates.witnesses import Witness
from cotas.certificates.witnesses import plain as plain_types
from cotas.problem import relative_gap
from cotas.source import Source, source_of
from cotas.words import Spoken, in_one, say

NOT_FINITE = "One of the two bounds is not a finite number, so nothing is proved."
CONTRADICTION = "The lower bound is above the upper one, so one of the two is wrong."
NOT_IN_BLOCKS = "This certificate is about rows in memory: verify it with X and y as arrays."
MEAN = "mean"  # the kind of the composite of a blend
CHANGED = "The model was changed after it was certified."
PLAIN = ("kind", "lower", "upper", "gap", "relative_gap", "holds", "vacuous", "statement",
         "objection", "reference")  # fmt: skip


class Predictor(Protocol):
    """The model that handed out a certificate."""

    def contradictions(self, witness: Witness | None, X: Matrix, y: AnyArray) -> list[str]:
        """Say in words where it predicts other than the witness says on these rows."""
        ...


@dataclass(frozen=True, eq=False)
class Certificate:
    """A statement about a fitted model, its bounds, and the witness to check it again.

    Two are equal if they say the same by the same witness, arrays compared entry by entry.

    Certificates are made by `conclude`, `no_certificate` and `Certificate.of_parts` only.

    Attributes
    ----------
    kind : str
        What sort of statement this is: "duality", "gradient", "stagewise", "training error",
        "mistakes", "separation", "stationary", "hold-out", "mean" (of the models of a blend) or
        "none".
    lower, upper : float
        The two sides. For "duality" and "gradient": the best objective lies between them, and
        `upper` is the objective of the model. For "mistakes": what was measured, and what the
        theorem allows.
        For "separation": the margin found, and the margin that no separator can exceed.
        For "stationary": zero, and how far the model is from a stationary point.
        For "hold-out": the error measured on rows held out, and the bound for future rows.
    holds : bool
        Whether the statement is true of the data and the witness.
    statement, reference : str
        The statement in words, and where it is proved.
    figures : mapping
        The numbers the statement is made of, by name.
    remarks : tuple of str
        What a reader should know besides, such as what was not proved.
    vacuous : bool
        Whether the bound says nothing that was not known without it.
    objection : str
        Why the statement does not hold, where it does not.
    trusted : tuple of str
        What the proof takes on trust, such as a kernel function of the user's own.
    notes : tuple of str
        What the estimator says about its run; `verify` does not look at it.
    zero_objective : float or None
        The objective of the zero model, which gives the scale where the best may be zero.
    label : str
        Which part of a composite this is: "setosa against the rest", "target 0".
    member : str
        Which model of a blend it is about; its name only, of which nothing is proved.
    parts : tuple of Certificate
        The certificates a composite is made of; empty in all others.
    """

    kind: str
    lower: float
    upper: float
    holds: bool
    statement: Spoken[str] = Spoken()
    reference: Spoken[str] = Spoken()
    figures: Mapping[str, float] = field(default_factory=dict)
    remarks: Spoken[tuple[str, ...]] = Spoken(())
    vacuous: bool = False
    objection: Spoken[str] = Spoken("")
    trusted: Spoken[tuple[str, ...]] = Spoken(())
    notes: Spoken[tuple[str, ...]] = Spoken(())
    zero_objective: float | None = None
    label: Spoken[str] = Spoken("")
    member: str = field(default="", compare=False, metadata={"stored": False})
    # What rounding cost the bounds. Not a part of what is said: only a fresh certificate's own
    # is used, as the tolerance in comparing a claimed one with it, and so it is never stored.
    charge: float = field(default=0.0, repr=False, compare=False, metadata={"stored": False})
    # How far the bounds were moved apart; what lies between is proved all the same.
    moved: tuple[float, float] = field(
        default=(0.0, 0.0), repr=False, compare=False, metadata={"stored": False}
    )
    # How far single figures were moved to the safe side, where that is more than a part of them.
    room: Mapping[str, float] = field(
        default_factory=dict, repr=False, compare=False, metadata={"stored": False}
    )
    witness: Witness | None = field(default=None, repr=False)
    sketch: Sketch | None = field(default=None, repr=False)
    parts: tuple[Certificate, ...] = field(default=(), repr=False, metadata={"stored": False})
    # The model that handed it out; it is never stored.
    predictor: Predictor | None = field(
        default=None, repr=False, compare=False, metadata={"stored": False}
    )

    @property
    def gap(self) -> float:
        """Return upper − lower; never below zero, and infinite where one of them is not known."""
        difference = self.upper - self.lower
        return math.inf if math.isnan(difference) else max(0.0, difference)

    @property
    def relative_gap(self) -> float:
        """Return gap / upper: the best objective is lower by at most that share of this one.

        Of a mean of models the largest that one of them has.

        Where the best may be zero, as in interpolation, upper counts as no less than 1e-9 times
        the objective of the zero model.
        """
        if self.kind == MEAN:
            return self.upper
        return relative_gap(self.gap, self.upper, self.zero_objective)

    @property
    def title(self) -> str:
        """Return which part of a composite this is, with the model that it is about in a blend."""
        return in_one([word for word in (self.member, self.label) if word], ": ")

    @property
    def singles(self) -> tuple[Certificate, ...]:
        """Return the parts of a composite, or this certificate alone."""
        return self.parts or (self,)

    @classmethod
    def of_parts(cls, parts: Sequence[Certificate], labels: Sequence[str]) -> Certificate:
        """Return the composite of one certificate for each class, pair of classes or target.

        It holds if all parts hold. Its bounds, and so its gap and its relative gap, are those of
        the worst part: one that does not hold, else one that is vacuous, else the one with the
        largest relative gap, or, where there is no gap, the largest bound. Its kind is that of
        this part, which is nearly always the kind of all.
        """
        named = tuple(p._but(label=label) for p, label in zip(parts, labels, strict=True))
        if any(part.member for part in named):
            return _of_a_mean(named)
        worst = max(named, key=badness)
        whole = conclude(
            worst.kind,
            worst.lower,
            worst.upper,
            statement=say(
                "Each of {count} parts has its own proof, and the bounds of the whole are those of "
                "the worst one, {label}. {statement}",
                count=len(named),
                label=worst.title,
                statement=worst.statement,
            ),
            reference=worst.reference,
            witness=None,
            sketch=None,
            vacuous=any(part.vacuous for part in named),
            scale=worst.zero_objective,
            charge=worst.charge,
            moved=worst.moved,
            **_said_by(named),
        )
        return whole._but(parts=named)

    # ---- checked again -------------------------------------------------------------------------

    def verify(self, X: Any, y: Any = None, *, device: str = "cpu") -> bool:
        """Tell whether everything this certificate says comes out again from the data.

        X and y are the data of the fit, in any form that `fit` takes, with the rows in the same
        order; a source of row blocks has its own y. The numbers are computed from them and from
        the witness; none is taken from the fit, and neither is any tolerance. With
        `device="cuda"` the products with the Gram matrix of a kernel machine are computed on a GPU;
        whatever proved the certificate, "cpu" serves.
        """
        return not self.discrepancies(X, y, device=device)

    def discrepancies(self, X: Any, y: Any = None, *, device: str = "cpu") -> list[str]:
        """Say in words each point in which the data contradict the certificate; empty if none."""
        if device != "cpu":
            from cotas.certificates.device import computed_by, maker_on

            with computed_by(maker_on(device)):
                found = self.discrepancies(X, y)
            # Its bounds of rounding can be wider: what it does not confirm, the processor decides.
            return found and self.discrepancies(X, y)
        source = source_of(X, y)
        try:
            if source is not None:
                return self._discrepancies(source, None)
            rows, labels = read_rows(X), read_labels(y)
            found = self._discrepancies(rows, labels)
            # What was proved of sparse rows may just not be of dense ones, and the reverse.
            other = in_the_other_layout(rows) if found else None
            return found if other is None or self._discrepancies(other, labels) else []
        except OtherData as error:
            return [str(error)]

    def _discrepancies(self, rows: Any, labels: Any) -> list[str]:
        """Return the discrepancies with rows of this layout, or with a source that has labels."""
        if not self.parts:
            return self._against(rows, labels)
        whole = Certificate.of_parts(self.parts, [part.label for part in self.parts])
        # There is nothing to round, and what the parts say of their own accuracy is not used.
        found = contradictions(self, replace(whole, charge=0.0, moved=(0.0, 0.0)))
        if self.witness is not None or self.member:
            found.append(say("Only the parts of a composite have witnesses and models."))
        at_once = checked_at_once([part.witness for part in self.parts], rows)
        for part, fresh in zip(self.parts, at_once, strict=True):
            found += [f"{part.title}: {words}" for words in part._against(rows, labels, fresh)]
        return found or left_out(self.parts, rows, labels)

    def _against(self, X: Any, y: AnyArray, fresh: Certificate | None = None) -> list[str]:
        """Return what the data contradict of one part; `fresh` is computed unless it is given."""
        if self.witness is None:
            return [say("There is nothing to verify: {statement}", statement=self.statement)]
        if isinstance(X, Source) and not getattr(self.witness, "takes_blocks", False):
            return [say(NOT_IN_BLOCKS)]
        try:
            y = y if isinstance(X, Source) else as_meant(y, self.witness)
            refuse_no_numbers(self.witness)
            fresh = fresh or self.witness.check(X, y)
        except ValueError as error:
            return [str(error)]
        except UNCHECKED as error:
            return [say("The witness cannot be checked: {error}", error=str(error))]
        found = self.beside(fresh)
        # What products proved, rows far from zero may just not, which are rounded in another way.
        otherwise = getattr(self.witness, "check_from_products", None)
        if found and otherwise is not None and not isinstance(X, Source):
            with suppress(*UNCHECKED):
                another = otherwise(X, y)
                found = found if another is None else self.beside(another)
        if self.predictor is not None:
            found += self.predictor.contradictions(self.witness, X, y)
        return found

    def beside(self, fresh: Certificate) -> list[str]:
        """Say in words all that is said here and not by a certificate computed afresh."""
        return contradictions(self, fresh)

    def __eq__(self, other: object) -> bool:
        return same(self, other) if isinstance(other, Certificate) else NotImplemented

    def __hash__(self) -> int:
        bounds = (None if math.isnan(side) else side for side in (self.lower, self.upper))
        return hash((self.kind, self.holds, self.vacuous, len(self.parts), *bounds))

    def __getstate__(self) -> dict[str, Any]:
        said = {name: getattr(self, name) for name in ("statement", "label")}  # by functions
        return {**vars(self), **said, "predictor": None}

    # ---- the same, said otherwise --------------------------------------------------------------

    def about(self, coef: FloatArray, intercept: Any) -> Certificate:
        """Return this certificate as it is when its model has the given parameters.

        If they are not the ones that were certified, nothing has been proved of them: the
        certificate no longer holds, and `verify` measures the parameters it was asked about.
        """
        witness = self.witness
        if witness is None or (
            np.array_equal(witness.coef, coef) and np.array_equal(witness.intercept, intercept)
        ):
            return self
        return self.objected(CHANGED, witness.about(coef, intercept))

    def objected(self, objection: str, witness: Witness | None) -> Certificate:
        """Return the same claim with the witness given, which does not hold for that reason."""
        return self._but(holds=False, objection=objection, witness=witness)

    def withdrawn(self, objection: str) -> Certificate:
        """Return the same when it no longer holds; what already did not keeps its own objection."""
        parts = tuple(part.withdrawn(objection) for part in self.parts)
        objection = objection if self.holds else self.objection
        return self._but(holds=False, objection=objection, parts=parts)

    def noted(self, *notes: str) -> Certificate:
        """Return the same with more said by the estimator, which nobody proves."""
        if self.parts:
            parts = [part.noted(*notes) for part in self.parts]
            return Certificate.of_parts(parts, [part.label for part in parts])
        return self._but(notes=(*vars(self)["notes"], *notes))

    def _but(self, **changes: Any) -> Certificate:
        """Return a copy with other fields; `replace` would make all of its texts anew."""
        made = object.__new__(type(self))
        vars(made).update(vars(self), **changes)
        return made

    def to_dict(self, witness: bool = False) -> dict[str, Any]:
        """Return everything in plain Python types, ready for JSON; the witness only on request."""
        plain = {name: getattr(self, name) for name in PLAIN}
        plain |= {name: str(plain[name]) for name in ("statement", "objection", "reference")}
        plain["relative_gap"] = self.relative_gap if self.kind in OPTIMIZATION else None
        for name in ("remarks", "trusted", "notes"):
            plain[name] = [str(text) for text in getattr(self, name)]
        plain["figures"] = {name: float(value) for name, value in self.figures.items()}
        plain |= {k: str(v) for k in ("label", "member") if (v := getattr(self, k))}
        if self.sketch is not None:
            plain["data"] = self.sketch.to_dict()
        if witness and self.witness is not None:
            plain["witness"] = plain_types(self.witness)
        if self.parts:
            plain["parts"] = [part.to_dict(witness) for part in self.parts]
        return plain

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def checked_at_once(witnesses: Sequence[Any], X: Any) -> Sequence[Certificate | None]:
    """Return fresh certificates of all classes or targets of one fit, from common passes.

    The kind of a witness names in `shared` what those of one fit have in common. None stands for
    each where they differ in that, or one is not proved: then each is checked by itself, and told
    about.
    """
    one, apart = witnesses[0], [None] * len(witnesses)
    shared = getattr(type(one), "shared", None)  # a witness does not choose it for itself
    if not isinstance(X, Source) or shared is None or len(witnesses) == 1:
        return apart
    try:
        alike = all(
            type(other) is type(one)
            and other.takes_blocks
            and all(same(getattr(one, name), getattr(other, name)) for name in shared)
            for other in witnesses
        )
        found: list[Certificate] = type(one).check_all(witnesses, X) if alike else []
    except UNCHECKED:
        return apart
    return found if found and all(fresh.holds for fresh in found) else apart


def conclude(
    kind: str,
    lower: float,
    upper: float,
    *,
    statement: str | Callable[[], str],
    reference: str,
    witness: Witness | None,
    sketch: Sketch | None,
    objection: str = "",
    figures: Mapping[str, float] | None = None,
    remarks: Sequence[str] = (),
    trusted: Sequence[str] = (),
    notes: Sequence[str] = (),
    vacuous: bool = False,
    charge: float = 0.0,
    moved: tuple[float, float] = (0.0, 0.0),
    room: Mapping[str, float] | None = None,
    scale: float | None = None,
) -> Certificate:
    """Return the certificate of what a checker found: the one door through which all of them come.

    It holds if there is no objection and the bounds are finite and in order. `scale` is the
    objective of the zero model, `charge` what rounding cost the two bounds, and `room` how far
    figures were moved so that the same sums in another order prove them too. The statement may
    come as a function that makes it: to write it down takes longer than to prove a small one. So
    does the label, which nobody reads while a model is fitted.
    """
    # What is not a number is not known.
    lower = -math.inf if math.isnan(lower) else float(lower)
    upper = math.inf if math.isnan(upper) else float(upper)
    if not objection and not (math.isfinite(lower) and math.isfinite(upper)):
        objection = NOT_FINITE
    if not objection and kind in OPTIMIZATION and not lower <= upper:
        objection = CONTRADICTION
    made = object.__new__(Certificate)
    vars(made).update(  # setting one attribute after the other takes several times as long
        kind=kind,
        lower=lower,
        upper=upper,
        holds=not objection,
        statement=statement,
        reference=reference,
        figures={name: float(value) for name, value in (figures or {}).items()},
        remarks=tuple(remarks),
        vacuous=bool(vacuous),
        objection=objection,
        trusted=tuple(trusted),
        notes=tuple(notes),
        zero_objective=None if scale is None else float(scale),
        label=partial(_label, witness),
        member="",
        charge=float(charge) if math.isfinite(charge) else 0.0,
        moved=moved,
        room=dict(room or {}),
        witness=witness,
        sketch=sketch,
        parts=(),
        predictor=None,
    )
    return made


def conclude_bounds(
    found: Bounds | Objection, *, kind: str = "duality", objection: str = "",
    vacuous: bool | None = None, **said: Any,
) -> Certificate:  # fmt: skip
    """Make a certificate of the bounds that the core has found, or of what it objects.

    Unless told otherwise it is vacuous if it does not exclude a model with an objective a hundred
    times smaller.
    """
    sides = (kind, found.lower, found.upper)
    vacuous = found.lower < 0.01 * found.upper if vacuous is None else vacuous
    said |= {"vacuous": vacuous, "charge": found.charge, "moved": found.moved}
    objection = in_words(found) if isinstance(found, Objection) else objection
    return conclude(*sides, objection=objection, **said)


def no_certificate(
    reason: str, remarks: Sequence[str] = (), witness: Witness | None = None
) -> Certificate:
    """Return the honest answer of an algorithm that has no bound, or of a run that spoiled it.

    >>> print(no_certificate("This algorithm has no bound."))
    Certificate: none
      This algorithm has no bound.
    """
    return conclude(
        "none", -math.inf, math.inf, statement=reason, objection=reason, reference="",
        witness=witness, sketch=None, remarks=remarks, vacuous=True,
    )  # fmt: skip


def _label(witness: Any) -> str:
    """Tell which part of a model a witness is about, where it says so."""
    if getattr(witness, "subject", ""):
        return witness.subject  # type: ignore[no-any-return]
    if getattr(witness, "column", None) is not None:
        return say("target {column}", column=witness.column)
    return against_the_rest(witness.positive) if hasattr(witness, "positive") else ""


def badness(part: Certificate) -> tuple[bool, bool, float]:
    """Rank how bad a part of a composite is: whether it fails, is vacuous, how much it leaves."""
    size = part.relative_gap if part.kind in OPTIMIZATION else part.upper
    return not part.holds, part.vacuous, size


def _said_by(parts: Sequence[Certificate]) -> dict[str, Any]:
    """Collect what a composite repeats of its parts: why it does not hold, and what else is
    said."""
    against = [in_one([part.title, part.objection], ": ") for part in parts if not part.holds]
    said: dict[str, Any] = {"objection": in_one(against) if against else ""}
    for name in ("remarks", "trusted", "notes"):  # each once
        said[name] = tuple(dict.fromkeys(text for part in parts for text in getattr(part, name)))
    return said


def _of_a_mean(parts: tuple[Certificate, ...]) -> Certificate:
    """Return the composite of the models of a mean, about which nothing is proved itself.

    No bound of a model is one of the mean. Its own is the largest relative gap of a model; one that
    proves none counts as 1.
    """
    gaps = [part.relative_gap if part.kind in OPTIMIZATION else 1.0 for part in parts]
    whole = conclude(
        MEAN,
        0.0,
        min(1.0, max(gaps)) if np.isfinite(gaps).all() else 1.0,
        statement=say(
            "The model is a blend of {count} models. Each has its own proof, in {parts} parts; of "
            "the blend itself nothing is proved.",
            count=len({part.member for part in parts}),
            parts=len(parts),
        ),
        reference="",
        witness=None,
        sketch=None,
        vacuous=all(part.vacuous for part in parts),
        **_said_by(parts),
    )
    return whole._but(parts=parts)
