"""The widest margin for `LinearSVM(margin="hard")`, or the proof that there is none."""

from __future__ import annotations

import numpy as np

from cotas.certificates import HardMarginPoint, Separability
from cotas.fitting.data import Examples, Moved
from cotas.linear.separability import as_witness
from cotas.refusals import ParameterError
from cotas.solvers.hard_margin import hard_margin
from cotas.solvers.separating_plane import ConvexCombination, separate


class NotSeparableError(ValueError):
    """A hard margin was asked for and there is none; `proof` is the answer of `separability`."""

    def __init__(self, proof: Separability) -> None:
        super().__init__(
            "margin='hard' needs data that a hyperplane separates, and none does: "
            f"{len(proof.support if proof.support is not None else [])} rows prove it "
            "(see `proof` on this error). Use margin='soft'."
        )
        self.proof = proof


def widest_margin(
    examples: Examples, near: Moved, label: object, free_bias: bool
) -> HardMarginPoint:
    """Return the separator with the largest margin; raises `NotSeparableError` with the proof."""
    if examples.used() is not None:
        raise ParameterError(
            "margin", "margin='hard' has no use for weights of zero: leave those rows out."
        )
    positive, bias = examples.y == label, float(free_bias)
    signs = np.where(positive, 1.0, -1.0)
    known = separate(near.X, signs, bias)
    if isinstance(known, ConvexCombination):
        witness = as_witness(known, examples.X, True, bias)
        raise NotSeparableError(Separability.from_witness(witness, examples.X, positive))
    theta, theta0, alpha = hard_margin(near.X, signs, bias, known)
    return HardMarginPoint(theta, near.given(theta, theta0), label, free_bias, alpha)
