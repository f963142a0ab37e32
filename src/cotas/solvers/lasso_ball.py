"""The Lasso on the L1-ball, through the penalized problem whose solution has that length."""

from __future__ import annotations

from collections.abc import Iterator

from cotas.solvers.lasso_gram import is_solved
from cotas.solvers.lasso_state import LassoIterate
from cotas.solvers.lasso_working_set import WorkingSetLasso

MAX_STEPS = 200


def iterates_on_ball(
    penalized: WorkingSetLasso, delta: float, tol: float
) -> Iterator[LassoIterate]:
    """Look for a solution with ‖β‖₁ ≤ δ and (δ/n)ω_δ small enough, as far as the solver can see.

        min  ½⟨y − X̃β, y − X̃β⟩    s.t. ‖β‖₁ ≤ δ

    ‖β(λ)‖₁, or Σ wⱼ|βⱼ| with weights, is continuous, piecewise linear and falls as λ grows, and a
    solution of the penalized problem solves the one on the ball of its own length (Rugeles Ospina,
    eq. 2.4 and Prop. 2.2.2).
    So λ is found by Newton's method on ‖β(λ)‖₁ = δ, kept inside the bracket known so far.
    Cost: some solutions of the penalized problem, each started from the one before.
    """
    low, high = 0.0, penalized.largest_lam
    lam = 0.5 * high
    for _ in range(MAX_STEPS):
        if lam <= 0:
            return
        yield from penalized.iterates(lam, 0.1 * tol)
        found = penalized.latest
        length, loss = found.length, found.primal - lam * found.length
        if is_solved(gap_on_ball(found, delta), loss, penalized.square, tol):
            return
        if high - low <= 1e-15 * high or penalized.ended:
            return
        low, high = (lam, high) if length > delta else (low, lam)
        slope = penalized.slope_of_length()
        lam = lam + (length - delta) / slope if slope > 0 else low
        if not low < lam < high:
            lam = 0.5 * (low + high) if low > 0 else 0.1 * high


def gap_on_ball(found: LassoIterate, delta: float) -> float:
    """Tell where the penalized problem is solved exactly, (δ/n)ω_δ is λ(δ − ‖β‖₁)."""
    return found.gap + found.lam * abs(delta - found.length)


def inside_ball(found: LassoIterate, delta: float) -> LassoIterate:
    """Scale back onto the ball, where rounding or an early end left it outside."""
    if found.length <= delta:
        return found
    return found._replace(beta=found.beta * (delta / found.length), length=delta)
