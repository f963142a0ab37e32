"""Which solver fits the data: as asked, or by their shape."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cotas.regression.base import refuse_infinite
from cotas.regression.closed_form import by_normal_equations, by_triangle
from cotas.regression.iterations import LARGEST_GRAM, by_conjugate_gradients, by_gradient
from cotas.regression.stochastic import by_stochastic_steps
from cotas.regression.task import Outcome, Task

SOLVERS = {
    "normal-equations": by_normal_equations,
    "qr": by_triangle,
    "gradient": by_gradient,
    "stochastic": by_stochastic_steps,
    "conjugate-gradients": by_conjugate_gradients,
}
# So few rows are cheaper to triangularize than to iterate on, whatever the number of columns.
FEW_ROWS = 1000


def choose(task: Task) -> tuple[str, str]:
    """The name of the solver, and why it was chosen."""
    if task.model.solver != "auto":
        return task.model.solver, f"Solved by {task.model.solver}, as asked."
    n, d = task.data.X.shape
    if d <= LARGEST_GRAM and (n >= d or task.lam > 0):
        return "normal-equations", "Solved by the normal equations: there are few columns."
    few = n <= FEW_ROWS and not sparse.issparse(task.data.X)
    if task.lam == 0 and (few or d <= LARGEST_GRAM):
        return "qr", "Solved by orthogonal triangularization: there are few rows."
    return "conjugate-gradients", "Solved by conjugate gradients: there are many columns."


def solve(task: Task, solver: str) -> Outcome:
    """By the solver of this name."""
    X = task.data.X
    # The others see it in what they compute; a sparse X has been looked at already.
    if solver in ("qr", "conjugate-gradients") and not sparse.issparse(X):
        with np.errstate(over="ignore", invalid="ignore"):
            refuse_infinite(task.model, X, X.sum(axis=1, dtype=np.float64))
    found: Outcome = SOLVERS[solver](task)
    return found
