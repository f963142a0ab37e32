"""Words that several certificates share, and one sentence for each code of the core."""

from __future__ import annotations

from typing import Any

from cotas.certificates.core.bounds import Bounds, Objection
from cotas.words import say

OBJECTIONS = {
    "contradiction": "The lower bound is above the upper one: the checker itself is wrong.",
    "shape": "The model or the witness is of another size than the data.",
    "labels": "Labels must be told apart as +1 and −1.",
    "unknown label": "y holds labels that the certificate does not know.",
    "targets": "A target is not a finite number.",
    "weights": "Weights must be finite numbers ≥ 0, one for each row, and not all zero.",
    "dual point": "The dual point holds NaN or infinity, or is of another size than the data.",
    "model not finite": "The model holds NaN or infinity.",
    "bias": "The problem has no bias, and the model has one.",
    "sign": "A coefficient is negative, and the problem asks for β ≥ 0.",
    "ball": "‖β‖₁ = {length:.17g} is more than δ = {delta:.17g}.",
    "rows": "A row holds NaN or infinity, or is too long for double precision.",
    "not finite": "The objective of this model is not finite in double precision.",
    "not separated": "The model is not proved to separate the data.",
    "collinear": (
        "The columns are nearly collinear, and from the products of the batches alone nothing can "
        "be proved: cotas.certify(model, X, y) with all the rows can, and so can Ridge."
    ),
    "parameters": "A parameter of the problem is negative, not finite or of another size.",
    "penalty": "λ must be a finite number above zero.",
    "indefinite": "The kernel is not positive semi-definite: nothing bounds the best objective.",
    "square": "A precomputed kernel needs the square matrix of k(xᵢ, xⱼ) at the rows of the fit.",
    "kernel": "The kernel is not one that the checker can evaluate.",
}


def against(one: Any, other: Any) -> str:
    """What a part about two of the classes is called."""
    return say("{one} against {other}", one=str(one), other=str(other))


def against_the_rest(label: Any) -> str:
    """What a part about one class and all others is called."""
    return say("{label} against the rest", label=str(label))


def other_rows(n: int, others: int) -> ValueError:
    """The error of data that have another number of rows than the witness."""
    return ValueError(say("X has {n} rows; the certificate is about {m}.", n=n, m=others))


def in_words(objection: Bounds | Objection) -> str:
    """The sentence for what the core objects to; none where it has proved its bounds."""
    if isinstance(objection, Bounds):
        return ""
    return say(OBJECTIONS.get(objection.code, objection.code), **objection.details)
