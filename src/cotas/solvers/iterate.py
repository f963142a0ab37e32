"""What every solver yields."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple, TypeAlias

from cotas.arrays import FloatArray


class Iterate(NamedTuple):
    """An iterate: what a solver has reached at some moment.

    Attributes
    ----------
    model : the parameters, in the form in which the solver has them
        The solver may go on with the same arrays: copy what has to stay.
    dual : what proves a lower bound, for solvers that have it
    believed_gap : float or None
        The relative gap that the solver believes to have reached, if it knows; only the core
        proves one. Infinite where the solver ends by itself, and need not be asked before.
    steps : int
        How many iterations led here from the last iterate that was shown.
    """

    model: Any
    dual: Any = None
    believed_gap: float | None = None
    steps: int = 1


# Of a kernel solver: who asks may send back Ka of the last iterate, as it was computed exactly.
KernelIterates: TypeAlias = Generator[Iterate, FloatArray | None, Any]


class Checkpoint(NamedTuple):
    """The moment to look at the iterates of a small table: each takes longer to see than to make.

    After `most` iterations, or as soon as the solver believes in a relative gap of `target_gap`.
    """

    most: int = 1
    target_gap: float = math.inf

    def next(self) -> Checkpoint:
        """Return a look at every iteration from the first on, so that there are no more than were
        allowed."""
        return self._replace(most=1)

    def first(self, run: Iterator[Iterate]) -> Iterate | None:
        """Find the first iterate to look at, also of a solver that shows more; None if none
        comes."""
        steps, last = 0, None
        for last in run:
            steps += last.steps
            if steps >= self.most or (last.believed_gap or 0.0) <= self.target_gap:
                break
        return last and last._replace(steps=steps)


AT_EACH = Checkpoint()
# So many iterations on a small table come before the first proof, if nobody wants to see them.
AHEAD = 20
