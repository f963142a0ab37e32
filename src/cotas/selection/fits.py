"""Fitting one value after another on one part of the data, and measuring each fit.

And all fits of a choice: in threads, along warm starts, until done or interrupted.
"""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import validation

from cotas.arrays import AnyArray, Matrix
from cotas.boosting.base import Boosted
from cotas.certificates import Certificate
from cotas.fitting.certified import Certified
from cotas.foreign.certify import certify
from cotas.kernel.svm import KernelSVM
from cotas.linear.logistic import LogisticRegression
from cotas.linear.svm import LinearSVM
from cotas.regression.stagewise import StagewiseRegressor
from cotas.running import Monitor
from cotas.selection.enclosure import Enclosure, enclose
from cotas.selection.parameter import Parameter, final_step, inside, is_number, is_whole
from cotas.selection.splits import DataSplit
from cotas.selection.yardstick import Counted, Yardstick
from cotas.stops import InterruptedWarning, Stop


def has_prefixes(model: Any, parameter: Parameter) -> bool:
    """Tell whether a run with fewer rounds is the beginning of one with more."""
    last = final_step(model)
    if parameter.field is not None or "__" in parameter.path.removeprefix(_last_name(model)):
        return False
    if _has_rounds(last):
        fixed = not (getattr(last, "early_stopping", False) or getattr(last, "warm_start", False))
        return parameter.name == "n_estimators" and fixed and not last.callbacks
    # A sequence of rates is as long as the run.
    plain = callable(getattr(last, "eps", None)) or np.ndim(getattr(last, "eps", 0.0)) == 0
    return isinstance(last, StagewiseRegressor) and parameter.name == "max_iter" and plain


def _has_rounds(model: Any) -> bool:
    """Tell whether it is made of weak learners; LS-Boost on columns has none."""
    on_columns = isinstance(model, StagewiseRegressor) and getattr(model, "weak_learner", 0) is None
    return isinstance(model, Boosted) and not on_columns


def _last_name(model: Any) -> str:
    return f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""


def prefix(model: Any, k: int) -> Any:
    """Return the model as it was after k rounds or iterations; it shares what it can with the
    whole."""
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        short = copy.copy(model)
        short.steps = [*model.steps[:-1], (name, prefix(last, k))]
        return short
    if _has_rounds(model):
        return model[:k]
    short = copy.copy(model)
    m = min(k, len(model.path_) - 1)
    short.max_iter, short.n_iter_ = k, m
    short.coef_, short.intercept_ = model.path_.coef(m), model.path_.intercept(m)
    return short


def certificate_of_prefix(model: Any, whole: Any, X: Matrix, y: AnyArray) -> Certificate:
    """Prove anew for the shorter run; X are the rows as the estimator itself sees them."""
    if _has_rounds(model):
        found = certify(model, X, y)
        model._certificates = list(found.singles)
    else:
        run, m = whole.path_.run, model.n_iter_
        parts = {"eps": run.eps[:m], "chosen": run.chosen[:m], "steps": run.steps[:m]}
        short = replace(run, coef=model.coef_, intercept=model.intercept_, **parts)
        model._certificates = [short.check(X, y)]
    proved: Certificate = model._sealed().certificate_
    return proved


# Of these kinds the difference of the two sides is how far the model is from the best one.
WITH_A_GAP = ("duality", "gradient")
# Seconds for the proof about a model of another library, for each class.
FOR_FOREIGN_PROOFS = 5.0
# At each level a fit asks for this part of the gap, with so many times the effort, but not for
# less than FINEST.
TIGHTER, MORE_EFFORT, FINEST = 1e-2, 4, 1e-12
EFFORTS = ("max_iter", "max_time")


@dataclass(frozen=True)
class Fit:
    """One value on one part: the model, how it does, and what is proved of it."""

    value: Any
    model: Any
    training: Counted
    validation: Counted
    certificate: Certificate
    enclosure: Enclosure | None
    tol: float | None
    seconds: float
    tightened: int = 0
    first: Fit | None = None

    @property
    def gap(self) -> float:
        """Return the relative gap that was proved; NaN where there is none."""
        gaps = [c.relative_gap for c in self.certificate.singles if c.kind in WITH_A_GAP]
        return max(gaps) if gaps else math.nan

    @property
    def status(self) -> str:
        """Return what may be relied on, in a few words."""
        if all(c.kind == "none" for c in self.certificate.singles):
            return "no certificate"
        if not self.certificate.holds:
            return "does not hold"
        if math.isnan(self.gap):
            return "holds, no gap"
        if self.tol is None:
            return "gap measured"
        return "proved" if self.gap <= self.tol else "MISSED tol"

    @property
    def missed(self) -> bool:
        """Tell whether it was to prove a gap and did not."""
        return self.tol is not None and self.gap > self.tol


@dataclass(frozen=True)
class Fitter:
    """The base of all fits."""

    model: Any
    parameter: Parameter
    measure: Yardstick
    alone: bool = True  # whether no other fit runs at the same time

    @property
    def goes_by_prefixes(self) -> bool:
        """Tell whether one fit serves all values."""
        return has_prefixes(self.model, self.parameter)

    @property
    def starts_warm(self) -> bool:
        """Tell whether each fit can begin where the one before it ended, without changing its
        aim."""
        last = final_step(self.model)
        path_of_lam = inside(self.model) + "lam"
        warm = isinstance(last, LinearSVM | KernelSVM | LogisticRegression)
        return warm and self.parameter.path == path_of_lam

    def fresh(self) -> Any:
        """Return a model to be fitted: silent, and with one thread if it is not alone."""
        model, last = clone(self.model), inside(self.model)
        known = model.get_params(deep=True)
        changes: dict[str, Any] = {"progress": False}
        if not self.alone and isinstance(final_step(model), Certified):
            changes["n_jobs"] = 1
        if self.starts_warm:
            changes["warm_start"] = True
        return model.set_params(**{last + k: v for k, v in changes.items() if last + k in known})

    def as_given(self, model: Any) -> Any:
        """Return a fitted model with those parameters put back that only served the fitting."""
        last, known = inside(self.model), self.model.get_params(deep=True)
        names = [last + name for name in ("progress", "n_jobs", "warm_start")]
        return model.set_params(**{name: known[name] for name in names if name in known})

    def run(self, values: list[Any], part: DataSplit, monitor: Monitor) -> list[Fit]:
        """Fit the values in turn, until the monitor is interrupted."""
        if self.goes_by_prefixes and all(is_whole(value) and value > 0 for value in values):
            return self._prefixes(values, part, monitor)
        found: list[Fit] = []
        model = self.fresh()
        for value in values:
            if monitor.interrupted:
                break
            model = model if self.starts_warm else self.fresh()
            began = time.perf_counter()
            try:
                self.train(self.parameter.set(model, value), value, part)
            except KeyboardInterrupt:
                monitor.interrupt()
                break
            kept = apart(model) if self.starts_warm else model
            found.append(self.measured(value, kept, part, time.perf_counter() - began))
            monitor.show(gap=found[-1].gap)
        return found

    def _prefixes(self, values: list[Any], part: DataSplit, monitor: Monitor) -> list[Fit]:
        most = max(values)
        whole = self.parameter.set(self.fresh(), most)
        began = time.perf_counter()
        self.train(whole, most, part)
        seconds = (time.perf_counter() - began) / len(values)
        found, rows = [], seen_by_last(whole, part.X)
        for value in values:
            short = prefix(whole, int(value))
            proved = certificate_of_prefix(final_step(short), final_step(whole), rows, part.y)
            found.append(self.measured(value, short, part, seconds, proved))
            monitor.show(gap=found[-1].gap)
        return found

    def tighter(self, fit: Fit, part: DataSplit, level: int) -> Fit:
        """Return the same value with a smaller gap to prove, and more time to do it.

        It always begins where the first fit of this value ended, so that the result depends on
        the level alone and not on the way to it.
        """
        began, first = time.perf_counter(), fit.first or fit
        model = apart(first.model) if self.starts_warm else clone(first.model)
        last, known = inside(model), model.get_params(deep=True)
        changes = {last + "tol": self.tol_at(fit, level)}
        for path in (last + name for name in EFFORTS):
            if known.get(path) is not None and path != self.parameter.path:
                changes[path] = MORE_EFFORT**level * known[path]
        self.train(model.set_params(**changes), fit.value, part)
        seconds = fit.seconds + time.perf_counter() - began
        measured = self.measured(fit.value, model, part, seconds)
        if not measured.gap <= fit.gap:  # no better: what was proved stays
            return replace(fit, seconds=seconds, tightened=level)
        return replace(measured, tol=fit.tol, tightened=level, first=first)

    def tol_at(self, fit: Fit, level: int) -> float:
        """Return the gap that a fit has to prove at this level."""
        model = (fit.first or fit).model
        tol = float(model.get_params(deep=True)[inside(model) + "tol"])
        return max(FINEST, tol * TIGHTER**level)

    def can_be_tighter(self, fit: Fit) -> bool:
        """Tell whether it has a gap and a tol that can be lowered, and what for.

        A gap that says nothing of the predictions is worth it only where it has missed its tol.
        """
        path = inside(fit.model) + "tol"
        tol = fit.model.get_params(deep=True).get(path)
        lower = is_number(tol) and tol > FINEST and path != self.parameter.path
        useful = fit.enclosure is not None or fit.missed
        return lower and useful and not math.isnan(fit.gap) and not self.goes_by_prefixes

    def train(self, model: Any, value: object, part: DataSplit) -> None:
        """Fit on the training rows; an error says at which value it happened.

        An estimator answers Ctrl-C by the model so far, which is not what was asked for: it is
        raised again.
        """
        try:
            model.fit(part.X, part.y, **weights_for(model, part.weights))
        except Exception as error:
            error.add_note(f"This happened with {self.parameter.over}={value!r}.")
            raise
        if getattr(final_step(model), "stop_", None) is Stop.INTERRUPTED:
            raise KeyboardInterrupt

    def measured(
        self,
        value: object,
        model: Any,
        part: DataSplit,
        seconds: float,
        proved: Certificate | None = None,
    ) -> Fit:
        """Tell how the fitted model does on both sides of the split, and what is proved of it."""
        last = final_step(model)
        rows = seen_by_last(model, part.X)
        if proved is None:
            proved = proof_of(last, rows, part)
        judged = (seen_by_last(model, part.X_val), part.y_val, part.weights_val)
        return Fit(
            value,
            model,
            self.measure.counts(model, part.X, part.y, part.weights),
            self.measure.counts(model, part.X_val, part.y_val, part.weights_val),
            proved,
            enclose(self.measure, last, proved.singles, (rows, part.y), judged),
            tol_of(last),
            seconds,
        )


def proof_of(model: Any, X: Matrix, part: DataSplit) -> Certificate:
    """Return the certificate of a fitted estimator; that of another library is proved now."""
    if isinstance(model, Certified):
        return model.certificate_
    return certify(model, X, part.y, part.weights, max_time=FOR_FOREIGN_PROOFS)


def tol_of(model: Any) -> float | None:
    """Return the gap that the model has to prove; other libraries mean something else by `tol`."""
    return getattr(model, "tol", None) if isinstance(model, Certified) else None


def apart(model: Any) -> Any:
    """Return a copy that keeps what was fitted when the original is fitted again."""
    found = copy.copy(model)
    if isinstance(model, Pipeline):
        found.steps = [(name, apart(step)) for name, step in model.steps]
    return found


def weights_for(model: Any, weights: Any) -> dict[str, Any]:
    """Tell how the weights of the rows are handed to `fit`."""
    if weights is None:
        return {}
    routed = sklearn.get_config()["enable_metadata_routing"]
    if isinstance(model, Pipeline) and not routed:
        return {f"{inside(model)}sample_weight": weights}
    return {"sample_weight": weights}


def seen_by_last(model: Any, X: Matrix) -> Matrix:
    """Return the rows as the last step sees them, in an array."""
    if isinstance(model, Pipeline):
        X = model[:-1].transform(X) if len(model) > 1 else X
        return seen_by_last(model[-1], X)
    return X if hasattr(X, "tocsr") else np.asarray(X)


# ---- all fits of a choice ------------------------------------------------------------------------

# So many values share a warm start, however many threads there are: the threads do not change
# the result.
TOGETHER = 4
Key = tuple[int, int]  # the part of the data, the position of the value
# What the table of the fits tells, or the caller himself.
SHOWN_OTHERWISE = (ConvergenceWarning, InterruptedWarning)


class FitMonitor(Monitor):
    """A monitor that hears the warnings of the fits, too; interrupted, it begins no other."""

    def __init__(self, name: str, progress: bool | None, total: int, unit: str = "fit") -> None:
        asked = SimpleNamespace(callbacks=None, progress=progress)
        super().__init__(asked, unit, total, name)
        self.heard: list[warnings.WarningMessage] = []

    def do(self, work: Callable[[Any], None], tasks: Sequence[Any], threads: int) -> None:
        """Do the tasks; Ctrl-C lets those that run come to their end and begins no other."""

        def unless_interrupted(task: Any) -> None:
            if self.interrupted:
                return
            try:
                work(task)
            except KeyboardInterrupt:
                self.interrupt()

        self.for_each(unless_interrupted, tasks, threads)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Collect the warnings: a gap that was missed is told in the table, the rest afterwards."""
        with warnings.catch_warnings(record=True) as self.heard:
            warnings.simplefilter("always")
            yield

    def pass_on(self) -> None:
        """Pass on each of the other warnings once, with no doubles."""
        heard_before = set()
        for w in self.heard:
            # scikit-learn's check of names: a choice hands over rows without them.
            names = w.category is UserWarning and w.filename == validation.__file__
            heard = (w.category, str(w.message))
            if issubclass(w.category, SHOWN_OTHERWISE) or names or heard in heard_before:
                continue
            heard_before.add(heard)
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


def fit_all(
    fitter: Fitter,
    values: Sequence[Any],
    parts: Sequence[DataSplit],
    threads: int,
    watch: FitMonitor,
) -> dict[Key, Fit]:
    """Return every value on every part; those that were finished, if it was interrupted."""
    together = len(values) if fitter.goes_by_prefixes else TOGETHER if fitter.starts_warm else 1
    starts = range(0, len(values), together)
    # All parts of the first values, then of the next: an early end leaves whole values.
    groups = [
        (p, range(s, min(s + together, len(values)))) for s in starts for p in range(len(parts))
    ]
    found: dict[Key, Fit] = {}

    def work(group: tuple[int, range]) -> None:
        p, span = group
        run = [values[k] for k in span]
        done = fitter.run(run, parts[p], watch)
        found.update({(p, span[k]): fit for k, fit in enumerate(done)})

    watch.do(work, groups, threads)
    return found


def tighten_all(
    fitter: Fitter,
    found: dict[Key, Fit],
    levels: dict[Key, int],
    parts: Sequence[DataSplit],
    threads: int,
    watch: FitMonitor,
) -> None:
    """Fit these again, each with a gap to prove that belongs to its level."""

    def work(key: Key) -> None:
        found[key] = fitter.tighter(found[key], parts[key[0]], levels[key])

    watch.do(work, list(levels), threads)


def gather(
    work: Callable[[Any], Any], tasks: Sequence[Any], threads: int, watch: FitMonitor
) -> dict[Any, Any]:
    """Return the results of the tasks that were finished."""
    found = {}

    def one(task: Any) -> None:
        found[task] = work(task)
        watch.show()

    with watch, watch.listening():
        watch.do(one, tasks, threads)
    watch.pass_on()
    return found
