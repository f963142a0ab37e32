"""When an online fit ends: validation score, proved gap, callbacks."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING

import numpy as np

from cotas.arrays import IntArray
from cotas.certificates.sweep import Facts
from cotas.design.blocks import times
from cotas.fitting.data import Examples
from cotas.fitting.reporting import EpochReport, as_callbacks, tell_all
from cotas.linear.history import History
from cotas.solvers.online import Epoch

if TYPE_CHECKING:
    from cotas.linear.online import OnlineClassifier


class Watch:
    """Decides after each epoch whether to go on: validation score, proved gap, callbacks."""

    def __init__(
        self,
        model: OnlineClassifier,
        examples: Examples,
        history: History,
        held_out: IntArray | None,
        max_iter: int,
        facts: Future[Facts] | None,
    ) -> None:
        self.facts = facts
        self.model, self.examples, self.history = model, examples, history
        self.held_out, self.max_iter = held_out, max_iter
        self.callbacks = as_callbacks(model.callbacks)
        self.best, self.stale = -np.inf, 0

    def reason_to_stop(self, epoch: Epoch) -> str | None:
        """Why the fit ends here, or None if it goes on."""
        score = self._validation_score()
        if score is not None:
            self.stale = 0 if score > self.best else self.stale + 1
            self.best = max(self.best, score)
            if self.stale >= self.model.n_iter_no_change:
                return f"no better validation score in {self.stale} epochs"
        if self.facts is not None and self.model._should_certify() and self._proved(self.facts):
            return "the gap asked for is proved"
        if self.callbacks:
            theta, theta0 = self.model._read_off(self.history)
            report = EpochReport(
                epoch.number,
                self.max_iter,
                epoch.mistakes,
                epoch.updates,
                epoch.seconds,
                theta,
                theta0,
                score,
            )
            if tell_all(self.callbacks, report):
                return "a callback asked to stop"
        return None

    def _proved(self, facts: Future[Facts]) -> bool:
        model = self.model
        model.coef_, model.intercept_ = model._model(self.examples, self.history)
        certificates = model._certify(self.examples, self.history, facts.result())
        return all(c.relative_gap <= model.tol for c in certificates)

    def _validation_score(self) -> float | None:
        if self.held_out is None:
            return None
        theta, theta0 = self.model._read_off(self.history)
        right = 0
        for start in range(0, len(self.held_out), 4096):
            rows = self.held_out[start : start + 4096]
            values = times(self.examples.X[rows], theta.T) + theta0
            codes = self.examples.codes[rows]
            chosen = (values[:, 0] > 0) if values.shape[1] == 1 else values.argmax(axis=1)
            right += int(np.sum(chosen == codes))
        return right / len(self.held_out)
