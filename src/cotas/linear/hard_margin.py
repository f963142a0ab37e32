"""The widest margin for `LinearSVM(margin="hard")`, or the proof that there is none."""

from __future__ import annotations

from cotas.certificates import HardMarginPoint, Separability
from cotas.linear.dispatch import AgainstTheRest, Solution
from cotas.linear.separability import as_witness
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


def widest_margin(part: AgainstTheRest) -> Solution:
    """The separator with the largest margin; raises `NotSeparableError` with the proof."""
    if part.used is not None:
        raise ValueError("margin='hard' has no use for weights of zero: leave those rows out.")
    X, y, near, free = part.examples.X, part.examples.y, part.near, part.problem.free_bias
    signs, bias = part.signs(), float(free)
    known = separate(near.X, signs, bias)
    if isinstance(known, ConvexCombination):
        witness = as_witness(known, X, True, bias)
        raise NotSeparableError(Separability.from_witness(witness, X, y == part.label))
    theta, theta0, alpha = hard_margin(near.X, signs, bias, known)
    point = HardMarginPoint(theta, near.given(theta, theta0), part.label, free, alpha)
    return Solution(point, point.check(X, y))
