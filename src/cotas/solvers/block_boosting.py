"""What the algorithms of boosting know of rows in blocks: F is the model, and the rest are sums.

Each stands in the place of the arrays that the algorithm has in memory. A step is one pass,
after which the loss is known; the functions come as trees with the sums over their leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cotas.arrays import AnyArray, FloatArray
from cotas.solvers.block_trees import (
    SIGNED,
    BlockRounds,
    Leaves,
    Quantity,
    Target,
    TreePassResult,
    votes_of,
)
from cotas.solvers.exponential_weights import advance_rows
from cotas.solvers.logistic_weights import HALVINGS, LARGEST_Z, ClassWeights, LogisticWeights
from cotas.solvers.moments import Lowest
from cotas.solvers.weak_learners import Fitted, Named, WeakLearner
from cotas.source import Sums

# ---- E[exp(−yF)], and votes for one of several classes -----------------------------------------


class ExponentialCost(NamedTuple):
    """The cost with w = s·exp(shift − yF): Σ w and the smallest yF; with several classes, of the
    votes for y."""

    shift: float
    n_functions: int = 1

    def evaluate(
        self, y: AnyArray, s: FloatArray, F: FloatArray, f: FloatArray | None, a: float
    ) -> tuple[Sums, Callable[[Quantity], AnyArray]]:
        signed, w, several = np.empty_like(s), np.empty_like(s), self.n_functions > 1
        mine = (y, np.arange(len(y))) if several else (0,)
        values = np.zeros_like(s) if f is None else f[mine]
        signs = np.ones_like(s) if several else y
        total, lowest = advance_rows(F[mine], signs, s, values, a, self.shift, signed, w)
        return Sums(
            total, Lowest(lowest)
        ), lambda quantity: np.where(y == quantity.of_class, signed, 0.0) if several else signed


class BlockExponential:
    """A stand-in for `ExponentialWeights`; the shift is the smallest margin before a step, less
    it."""

    def __init__(self, rounds: BlockRounds, n_classes: int = 1) -> None:
        self.rounds, self.n_classes = rounds, n_classes
        self.signed, self.w = Target(rounds, SIGNED), None
        rounds.expect(*((SIGNED,) if n_classes == 1 else votes_of(n_classes)))
        self._advance(0.0)

    def _advance(self, shift: float, *step: Any) -> None:
        self.shift = shift
        found = self.rounds.evaluate(ExponentialCost(shift, self.n_classes), *step)
        self.total, self.lowest = (float(number) for number in found.sums)
        self.rounds.adopt(found)

    def advance(self, f: Leaves, a: float, largest: float) -> None:
        """Update F ← F + a·f, |f| being at most `largest`."""
        self._advance(self.lowest - abs(a) * largest, (f.tree,), a)

    def advance_signs(self, f: Leaves, a: float) -> None:
        """Update F ← F + a·f for f = ±1."""
        self.advance(f, a, 1.0)

    @property
    def log_loss(self) -> float:
        """Compute ln Σ sᵢ exp(−yᵢF(xᵢ))"""
        return math.log(self.total) - self.shift if self.total > 0 else -math.inf

    def error(self, f: Any) -> float:
        """Compute Σ w|f| over the rows where f is wrong, over Σ w: the weighted error, if f =
        ±1."""
        return float(f.wrong()) / self.total

    def judged(self, f: Leaves) -> tuple[float, float, float]:
        """Compute Σ wyf/Σ w, the weighted error of the sign of f, and the largest |f|."""
        edge = float(f.value @ (f.parts.real - f.parts.imag)) / self.total
        return edge, self.error(f.sign()), float(np.abs(f.value).max())


class BlockVotes(BlockExponential):
    """A stand-in for `ClassVotes`."""

    def named(self, weak: WeakLearner) -> Named:
        """Return the class that a learner names in each leaf, with what each class weighs there."""
        return weak.name(self.rounds, None, self.n_classes)  # type: ignore[arg-type]

    def error(self, f: Named) -> float:
        """Compute the weighted error of a learner: what is in its leaves of classes not named
        there."""
        weights = f.codes.copy()
        weights[np.arange(len(weights)), weights.argmax(axis=1)] = 0.0
        return float(weights.sum()) / self.total

    def cast(self, f: Named, c: float) -> None:
        """Give the class that each row was given 2c more votes than the others."""
        self._advance(self.lowest - abs(c), f.learners, c)


# ---- the likelihood ----------------------------------------------------------------------------

CLIPPED, PLAIN = "clipped", "plain"


class LogisticCost(NamedTuple):
    """The loss after a step, −⟨∇H, f⟩ before it, the weight of what f has wrong, and all of it."""

    n_functions: int = 1

    def evaluate(
        self, y: AnyArray, s: FloatArray, F: FloatArray, f: FloatArray | None, a: float
    ) -> tuple[Sums, Callable[[Quantity], AnyArray]]:
        weights, edge, wrong, mass = LogisticWeights(y, s, F[0]), 0.0, 0.0, 0.0
        if f is not None:
            edge, mass = float(weights.g @ f[0]), float(weights.w.sum())
            wrong = float(weights.w[(y * f[0]) < 0].sum())
            weights.advance(f[0], a)

        def targets(quantity: Quantity) -> AnyArray:
            wz, w, _ = weights.targets(quantity.name == CLIPPED)
            return wz + 1j * w

        return Sums(weights.loss, edge, wrong, mass), targets


class ClassCost(NamedTuple):
    """The same for several classes: the loss, −⟨∇H, f⟩ and the weight of the mistakes after it."""

    n_functions: int

    def evaluate(
        self, y: AnyArray, s: FloatArray, F: FloatArray, f: FloatArray | None, a: float
    ) -> tuple[Sums, Callable[[Quantity], AnyArray]]:
        weights, edge, wrong = ClassWeights(y, s, np.ascontiguousarray(F.T)), 0.0, 0.0
        if f is not None:
            _, edge, wrong = weights.step([*f], a, False)

        def targets(quantity: Quantity) -> AnyArray:
            wz, w, _ = weights.targets(quantity.of_class, quantity.name == CLIPPED)
            return wz + 1j * w

        return Sums(weights.loss, edge, wrong), targets


class BlockLikelihood:
    """A stand-in for `LogisticWeights`, and with several classes for `ClassWeights`."""

    def __init__(self, rounds: BlockRounds, n_classes: int = 1) -> None:
        self.rounds, self.n_classes = rounds, n_classes
        self.cost: Any = LogisticCost() if n_classes == 1 else ClassCost(n_classes)
        rounds.expect(*(Quantity(CLIPPED, k) for k in range(n_classes)))
        self._adopt(rounds.evaluate(self.cost))

    def _adopt(self, found: TreePassResult) -> None:
        self.loss = float(found.sums[0])
        self.rounds.adopt(found)

    def kept(self, f: Leaves) -> Leaves:
        """Return a function, which no other one overwrites."""
        return f

    def targets(self, *of: Any) -> tuple[Target, None, float]:
        """Return what trees are fitted to, and the largest value that a leaf may have.

        `of` is the class, where there are several, and whether z is clipped.
        """
        *k, clipped = of
        quantity = Quantity(CLIPPED if clipped else PLAIN, *k)
        return Target(self.rounds, quantity), None, math.inf if clipped else LARGEST_Z

    def step(
        self, f: Leaves | Sequence[Leaves], a: float, safeguard: bool
    ) -> tuple[float, float, float]:
        """Compute F ← F + a·f, or a part of it: the step taken, −⟨∇H, f⟩ and the weighted error."""
        trees = (f.tree,) if isinstance(f, Leaves) else tuple(one.tree for one in f)
        edge = 0.0
        for _ in range(HALVINGS):
            found = self.rounds.evaluate(self.cost, trees, a)
            loss, edge, wrong, *mass = (float(number) for number in found.sums)
            if loss < self.loss or not safeguard:
                self._adopt(found)
                return a, edge, wrong / (mass[0] if mass else 1.0)
            if not edge > 0:
                break
            a /= 2
        return 0.0, edge, math.nan


# ---- numbers -----------------------------------------------------------------------------------

RESIDUAL = Quantity("residual")


class SquaresCost(NamedTuple):
    """The cost Σ ½sr² of r = y − F."""

    n_functions: int = 1

    def evaluate(
        self, y: AnyArray, s: FloatArray, F: FloatArray, f: FloatArray | None, a: float
    ) -> tuple[Sums, Callable[[Quantity], AnyArray]]:
        r = y - (F[0] if f is None else F[0] + a * f[0])
        return Sums((float(0.5 * (s * r * r).sum()),)), lambda quantity: s * r + 1j * s


class BlockResiduals:
    """A stand-in for `Residuals` of squares."""

    def __init__(self, rounds: BlockRounds) -> None:
        self.rounds = rounds
        rounds.expect(RESIDUAL)
        self._evaluate()

    def _evaluate(self, *step: Any) -> None:
        found = self.rounds.evaluate(SquaresCost(), *step)
        self.loss = float(found.sums[0])
        self.rounds.adopt(found)

    def fit(self, weak: WeakLearner) -> Fitted:
        """Return a function with a small Σ s(r − f)²."""
        target: Any = Target(self.rounds, RESIDUAL)
        return weak.least_squares(target, target)

    def left(self, f: Leaves) -> float:
        """Compute Σ ½s(r − f)², from the sums over the leaves."""
        value = f.value
        return self.loss - float(value @ f.parts.real - 0.5 * value**2 @ f.parts.imag)

    def advance(self, f: Leaves, a: float) -> None:
        """Update F ← F + a·f"""
        self._evaluate((f.tree,), a)
