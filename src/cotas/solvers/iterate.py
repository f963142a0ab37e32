"""What every solver yields."""

from __future__ import annotations

from typing import Any, NamedTuple


class Iterate(NamedTuple):
    """What a solver has reached at some moment.

    Attributes
    ----------
    model : the parameters, in the form in which the solver has them
        The solver may go on with the same arrays: copy what has to stay.
    dual : what proves a lower bound, for solvers that have it
    believed_gap : float or None
        The relative gap that the solver believes to have reached, if it knows; only the core
        proves one. Infinite where the solver ends by itself, and need not be asked before.
    """

    model: Any
    dual: Any = None
    believed_gap: float | None = None
