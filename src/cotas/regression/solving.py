"""Which solver fits the data: as asked, or by their shape."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cotas.regression.base import refuse_overflow
from cotas.regression.closed_form import by_dual_equations, by_normal_equations, by_triangle
from cotas.regression.iterations import LARGEST_GRAM, by_conjugate_gradients, by_gradient
from cotas.regression.stochastic import by_stochastic_steps
from cotas.regression.task import Outcome, Task
from cotas.words import say

SOLVERS = {
    "normal-equations": by_normal_equations,
    "dual": by_dual_equations,
    "qr": by_triangle,
    "gradient": by_gradient,
    "stochastic": by_stochastic_steps,
    "conjugate-gradients": by_conjugate_gradients,
}
# So many rows squared still fit, and take about as long to factor as to fill.
MOST_ROWS = 4000


def choose(task: Task) -> tuple[str, str]:
    """The name of the solver, and why it was chosen."""
    if task.model.solver != "auto":
        return task.model.solver, say("Solved by {solver}, as asked.", solver=task.model.solver)
    n, d = task.data.X.shape
    if n < d and n <= MOST_ROWS and not sparse.issparse(task.data.X):
        return "dual", "Solved with an unknown for each row: there are more columns than rows."
    if d <= LARGEST_GRAM:
        return "normal-equations", "Solved by the normal equations: there are few columns."
    return "conjugate-gradients", "Solved by conjugate gradients: there are many columns."


def solve(task: Task, solver: str) -> Outcome:
    """By the solver of this name."""
    X = task.data.X
    # The others see it in what they compute; a sparse X has been looked at already.
    if solver in ("dual", "qr", "conjugate-gradients") and not sparse.issparse(X):
        with np.errstate(over="ignore", invalid="ignore"):
            refuse_overflow(task.model, X, X.sum(axis=1, dtype=np.float64))
    found: Outcome = SOLVERS[solver](task)
    return found
