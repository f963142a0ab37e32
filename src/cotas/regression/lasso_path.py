"""The Lasso for many penalties: a grid of λ, or the exact path with all its breakpoints."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cotas.arrays import FloatArray
from cotas.certificates import Certificate
from cotas.certificates.lasso import LassoPoint, LassoProblem
from cotas.fitting.certified import outside
from cotas.fitting.data import read_observations, refuse_source
from cotas.fitting.parameters import (
    check_count,
    check_fraction,
    check_jobs,
    check_positive,
    check_time,
)
from cotas.fitting.path import Path, falling, spread
from cotas.fitting.pursuit import Pursuit, SolverReport, deadline
from cotas.problem import relative_gap
from cotas.refusals import ParameterError
from cotas.regression.lasso import Lasso
from cotas.regression.lasso_data import (
    LassoData,
    in_memory,
    in_units_of_the_data,
    penalty_scale,
)
from cotas.regression.products import moments_of, products_of_all
from cotas.regression.sparse import SHARE
from cotas.running import Monitor, rows_in_threads
from cotas.solvers.homotopy import Homotopy
from cotas.solvers.iterate import Iterate
from cotas.solvers.lasso_state import LassoIterate
from cotas.solvers.lasso_working_set import WIDEST_GRAM, WorkingSetLasso
from cotas.solvers.penalties import ElasticNetPenalty
from cotas.source import MatrixLike
from cotas.stops import InterruptedWarning, Reason, Stop
from cotas.words import say

METHODS = ("working-sets", "homotopy")
# Where time is short, so many solutions are proved together: one at a time would cost a pass over
# the data each, and all of them at the end would come after the time is up.
TOGETHER = 16


def lasso_path(
    X: MatrixLike,
    y: ArrayLike | None,
    lams: Sequence[float] | None = None,
    n_lams: int = 50,
    *,
    ratio: float = 1e-2,
    method: str = "working-sets",
    positive: bool = False,
    standardize: bool = False,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    sample_weight: ArrayLike | None = None,
    max_time: float | None = None,
    n_jobs: int | None = None,
    callbacks: Any = None,
    progress: bool | None = None,
) -> Path:
    """Return the solutions of the penalized Lasso for many λ, each with a proved gap.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    lams : sequence of float, optional
        The penalties, in any order; they come back falling. Not for method="homotopy", which
        finds its own.
    n_lams, ratio : the grid where `lams` is not given: from λ_max, where β = 0, down to
        ratio·λ_max, evenly in the logarithm
    method : "working-sets" for a grid, "homotopy" for all the breakpoints down to ratio·λ_max
    positive, standardize, fit_intercept, tol : as in `Lasso`
    sample_weight : array of shape (n_samples,), optional
    max_time : float, optional
        Seconds after the call, proofs included, after which the path ends with the last λ that was
        solved.
    n_jobs : int, optional
        As in `Lasso`.
    callbacks : callable or list of callables, optional
        Called with a `SolverReport` after each λ, which is its label; True ends the path there.
        Each report costs a pass of the checker over the data.
    progress : bool or None
        Show a bar over the values of λ with the present gap, as in `Lasso`.

    Returns
    -------
    Path
        After Ctrl-C, the path up to there, with its certificates.

    Examples
    --------
    >>> import cotas
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> path = cotas.lasso_path(X, y, method="homotopy", ratio=1e-3)
    >>> path.deltas[:4].round(1).tolist()
    [0.0, 60.1, 663.7, 888.9]
    >>> lam = path.lam_at(1000.0)
    >>> round(path.delta_at(lam), 6)
    1000.0
    """
    began = time.perf_counter()
    if method not in METHODS:
        raise ParameterError("method", f"method must be one of {METHODS}, not {method!r}.")
    check_fraction(ratio, "ratio")
    check_count(n_lams, "n_lams")
    check_positive(tol, "tol")
    check_time(max_time)
    check_jobs(n_jobs)
    refuse_source("lasso_path", X)
    seen = read_observations(Lasso(), X, y, sample_weight)
    if not seen.single:
        raise ParameterError("y", "y must be a vector: a path is about one target.")
    problem = LassoProblem(
        positive=bool(positive), standardize=bool(standardize), free_bias=bool(fit_intercept)
    )
    with rows_in_threads(seen.X, n_jobs) as each:
        # All λ are proved from the same products, but what the homotopy finds is sharper than they.
        grid = method == "working-sets"
        products = products_of_all(seen, each, WIDEST_GRAM) if grid else None
        moments = None if products is None else moments_of(products)
        [data] = in_memory(seen, problem, each, n_jobs, tol, products, moments)
        penalty = ElasticNetPenalty(1.0, positive=bool(positive))
        if method == "homotopy":
            if lams is not None:
                raise ParameterError(
                    "method", "method='homotopy' finds its own λ; use coef_at for others."
                )
            follower = Homotopy(data.columns, data.y, penalty)
            # Where no column is correlated with y, β = 0 for every λ.
            most = follower.largest_lam or 1.0
            # A grid down to the same λ lies on the path, however its λ_max is rounded.
            total, solutions = None, follower.knots(most, ratio * most * (1.0 - 2.0**-40))
            ahead: Any = SimpleNamespace(deadline=np.inf)  # its steps are short
        else:
            solver = WorkingSetLasso(data.columns, data.y, penalty, deadline(began, max_time))
            most = solver.largest_lam or 1.0
            values = spread(n_lams, ratio * most, most) if lams is None else falling(lams)
            total, solutions, ahead = len(values), solver.path(values, SHARE * tol), solver
        points = _Points(data, problem, tol)
        watching = SimpleNamespace(callbacks=callbacks, progress=progress)
        with Monitor(watching, "λ", total, "lasso_path") as monitor:
            found = _walk(solutions, points, monitor, max_time, began, ahead)
        return points.certified(found, exact=method == "homotopy")


def _walk(
    solutions: Iterator[LassoIterate],
    points: _Points,
    monitor: Monitor,
    max_time: float | None,
    began: float,
    solver: Any,
) -> list[LassoIterate]:
    """Return the solutions up to the last λ, or up to where someone asked to stop; at least one.

    With a limit of time they are proved along the way, so that the proofs count too: the solver has
    to end before it by as long as the last proof took.
    """
    found: list[LassoIterate] = []

    def ends(iterate: Iterate) -> Reason | None:
        solution = iterate.model
        late = time.perf_counter() > solver.deadline
        if found and late and not points.settled(solution):
            return Reason(Stop.TIME)  # in the middle of this λ
        found.append(solution)
        figures = {}
        if monitor.bar.is_shown:
            figures = {"λ": f"{solution.lam:.2g}"}
            if np.isfinite(solution.gap):  # the homotopy leaves it to the checker
                figures["gap"] = f"{relative_gap(solution.gap, solution.primal):.1e}"
        monitor.show(**figures)
        if max_time is not None:
            if len(found) == 1 or len(found) % TOGETHER == 0:
                points.prove(found)
            solver.deadline = deadline(began, max_time) - points.seconds
        return None

    def report(iterate: Iterate) -> SolverReport:
        [certificate] = points.certificates(found[-1:], *points.coefs(found[-1:]))
        return SolverReport(found[-1].lam, len(found), pursuit.seconds, certificate)

    pursuit: Pursuit[Any] = Pursuit(None, None, max_time, monitor, began=began)
    reason = pursuit.follow(map(Iterate, solutions), ends=ends, report=report).reason
    if reason.stop is Stop.TIME and not found:
        return [next(solutions)]
    if reason.stop is Stop.INTERRUPTED:
        if not found:
            raise KeyboardInterrupt
        warnings.warn(
            say(
                "Interrupted: the path ends at λ={lam:.4g}, and its certificates are about what is "
                "there.",
                lam=found[-1].lam,
            ),
            InterruptedWarning,
            stacklevel=outside(),
        )
    return found


class _Points:
    """Solutions as the checker sees them."""

    def __init__(self, data: LassoData, problem: LassoProblem, tol: float) -> None:
        self.data, self.problem, self.tol = data, problem, tol
        self._proved: list[tuple[FloatArray, FloatArray, list[Certificate]]] = []
        self._count, self.seconds = 0, 0.0  # those of the last proof, most of which is one pass

    def settled(self, solution: LassoIterate) -> bool:
        """Tell whether the solver has come near enough for this λ."""
        return relative_gap(solution.gap, solution.primal) <= self.tol

    def coefs(self, found: list[LassoIterate]) -> tuple[FloatArray, FloatArray]:
        coefs = in_units_of_the_data(self.data.columns, found)
        return coefs, self.data.biases(coefs)

    def certificates(
        self, found: list[LassoIterate], coefs: FloatArray, biases: FloatArray
    ) -> list[Certificate]:
        points = [
            LassoPoint(
                replace(self.problem, lam=iterate.lam),
                coef,
                float(bias),
                self.data.weights,
                penalty_scale=penalty_scale(self.data.columns),
            )
            for iterate, coef, bias in zip(found, coefs, biases, strict=True)
        ]
        return self.data.prove(points)

    def prove(self, found: list[LassoIterate]) -> None:
        """Prove those that have not been proved yet."""
        rest = found[self._count :]
        if rest:
            began = time.perf_counter()
            coefs, biases = self.coefs(rest)
            self._proved.append((coefs, biases, self.certificates(rest, coefs, biases)))
            self._count, self.seconds = len(found), time.perf_counter() - began

    def certified(self, found: list[LassoIterate], exact: bool) -> Path:
        self.prove(found)
        coefs, biases, certificates = zip(*self._proved, strict=True)
        return Path(
            "Lasso regressions",
            lams=np.array([iterate.lam for iterate in found]),
            deltas=np.array([iterate.length for iterate in found]),
            coefs=np.concatenate(coefs),
            intercepts=np.concatenate(biases),
            certificates=[one for some in certificates for one in some],
            exact=exact,
        )
