"""Following the Lasso solver: its gap on a bar, its callbacks, and the best solution so far."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from cotas.certificates import Certificate
from cotas.fitting.floor import at_floor
from cotas.fitting.reporting import Callback, ProgressBar, SolverReport, tell_all
from cotas.problem import relative_gap
from cotas.solvers.lasso_ball import gap_on_ball, inside_ball, lasso_on_ball
from cotas.solvers.lasso_state import LassoIterate
from cotas.solvers.lasso_working_set import WorkingSetLasso
from cotas.stops import Reason, Stop


class LassoRun:
    """One target: the problem for λ, or on the ball of radius δ.

    Parameters
    ----------
    solver : of the penalized problem
    lam : λ of the problem; None on the ball
    delta : δ; None for the penalized problem
    certify : the certificate of an iterate, for the callbacks
    callbacks, bar, label : who is told, and of which target
    """

    def __init__(
        self,
        solver: WorkingSetLasso,
        lam: float | None,
        delta: float | None,
        certify: Callable[[LassoIterate], Certificate],
        callbacks: list[Callback],
        bar: ProgressBar,
        label: Any = None,
    ) -> None:
        self.solver, self.lam, self.delta = solver, lam, delta
        self.certify, self.callbacks, self.bar, self.label = certify, callbacks, bar, label
        self.began, self.looks = time.perf_counter(), 0
        self.best, self.least = self._of_the_problem(solver.latest), np.inf
        self.interrupted = False
        solver.tell = self._see

    def solve(self, tol: float) -> LassoIterate:
        """The solution, or the best so far if something came between."""
        try:
            if self.delta is not None:
                found = lasso_on_ball(self.solver, self.delta, tol)
            else:
                assert self.lam is not None
                found = self.solver.solve(self.lam, tol)
        except KeyboardInterrupt:
            self.interrupted = True
            return self.best
        return self.best if self.solver.ended else found

    def reason(self, certificate: Certificate, tol: float) -> Reason:
        """Why it ended."""
        if self.interrupted:
            return Reason(Stop.INTERRUPTED)
        if self.solver.asked_to_stop:
            return Reason(Stop.CALLBACK)
        if certificate.relative_gap <= tol:
            return Reason(Stop.PROVED)
        if self.solver.ended:
            return Reason(Stop.TIME)
        # The solver may believe in a gap that rounding hides from the checker.
        hidden = self.least < 0.1 * certificate.gap or at_floor(certificate)
        return Reason(Stop.ROUNDING if hidden else Stop.STALLED)

    def _see(self, iterate: LassoIterate) -> bool:
        """Keep what is better than anything before, and tell whoever listens."""
        if self.delta is not None:
            primal, gap = iterate.primal, gap_on_ball(iterate, self.delta)
        else:
            assert self.lam is not None
            primal, gap, _ = self.solver.at(self.lam)
        self.looks += 1
        candidate = self._of_the_problem(iterate)
        if gap <= self.least:
            self.best, self.least = candidate, gap
        self.bar.step(gap=f"{relative_gap(gap, primal):.1e}")
        if not self.callbacks:
            return False
        seconds = time.perf_counter() - self.began
        report = SolverReport(self.label, self.looks, seconds, self.certify(candidate))
        return tell_all(self.callbacks, report)

    def _of_the_problem(self, iterate: LassoIterate) -> LassoIterate:
        """As a solution of the problem at hand: for its λ, or inside its ball."""
        if self.delta is not None:
            return inside_ball(iterate, self.delta)
        assert self.lam is not None
        return iterate._replace(lam=self.lam)
