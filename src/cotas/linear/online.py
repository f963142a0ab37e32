"""What the four online classifiers share: everything but the algorithm and its theorem."""

from __future__ import annotations

import math
import time
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from cotas.arrays import FloatArray, IntArray
from cotas.certificates import Certificate, no_certificate
from cotas.certificates.blocks import Signs, Watched
from cotas.certificates.passes import Facts, gather_facts
from cotas.design import as_design
from cotas.design.blocks import times
from cotas.fitting.data import Examples, read_examples, refuse_infinite, refuse_source
from cotas.fitting.from_source import bound_to, note_columns
from cotas.fitting.pursuit import NOTHING_CHANGED, Patience, deadline, finished, follow_epochs
from cotas.fitting.validation import hold_out
from cotas.linear.base import LinearClassifier
from cotas.linear.history import History
from cotas.linear.mixing import Algorithm, Mixture, Shape, shape_of
from cotas.refusals import ParameterError
from cotas.running import (
    aside,
    blocks_in_threads,
    entries_of,
    one_thread_in_blas,
    sharing_tasks,
    thread_count,
)
from cotas.solvers.online import Epoch, Sampling, Training
from cotas.solvers.run import new_average, new_run
from cotas.source import MatrixLike, Source, source_of
from cotas.stops import Reason, Stop
from cotas.words import say

UNPROVED = "certify=False was given, so nothing was proved."


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineClassifier(LinearClassifier):
    """Base of the online linear classifiers; subclasses name the algorithm and its theorem."""

    fit_intercept: bool = True
    random_state: Any = None
    warm_start: bool = False
    class_weight: Any = None
    early_stopping: bool = False
    validation_fraction: Any = 0.1
    n_iter_no_change: int = 5
    certify: bool = True
    n_jobs: int | None = None
    max_time: float | None = None
    callbacks: Any = None
    progress: bool | None = None
    max_iter: int = 100

    # ---- what a subclass says ----------------------------------------------------------------

    def _rule(self) -> Any:
        """Return the algorithm, with its parameters."""
        raise NotImplementedError

    def _sampling(self) -> Sampling:
        raise NotImplementedError

    def _averages(self) -> bool:
        """Tell whether the model is the average over the run."""
        return False

    # Whether the theorem needs the ledger of the average too.
    _averages_ledger = True

    def _signature(self) -> tuple[Any, ...]:
        """Return what must not change for a warm start to continue the same run."""
        return (self._rule(), self._sampling(), self._averages())

    def _training_options(self) -> dict[str, Any]:
        return {}

    def _solver_weights(self, weights: FloatArray | None) -> FloatArray | None:
        return weights

    def _read_off(self, history: History) -> tuple[FloatArray, FloatArray]:
        """Compute θ and θ₀ that the run has reached, one row for each class."""
        run, average = history.run, history.average
        theta, theta0 = run.scale[:, None] * run.w, run.b.copy()
        if average is not None:
            seen = np.maximum(run.seen, 1)
            theta = theta - average.w / seen[:, None]
            theta0 = theta0 - average.b / seen
        return theta, theta0

    def _model(self, examples: Examples, history: History) -> tuple[FloatArray, FloatArray]:
        """Return θ and θ₀ of the model; what the run has reached, unless a subclass knows
        better."""
        return self._read_off(history)

    def _certify(self, examples: Examples, history: History, *how: Any) -> list[Certificate]:
        raise NotImplementedError

    def _tol(self) -> float | None:
        """Return the relative gap that ends the fit as soon as an epoch proves it, if one is asked
        for."""
        return None

    # ---- scikit-learn ------------------------------------------------------------------------

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on X, y and certify the result.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
            A source, such as `cotas.tables.open_pages` gives, has y and the weights itself. Each of
            its blocks then has a run of its own, and these are mixed after each epoch.
        y : array of shape (n_samples,)
            Two classes or more; more than two are trained one against the rest.
        sample_weight : array of shape (n_samples,), optional
            Non-negative; an example of weight zero is left out.
        """
        began = time.perf_counter()
        self._check_parameters()
        if (source := source_of(X, y, sample_weight)) is not None:
            return self._fit_in_blocks(source, began)
        resumes = self.warm_start and hasattr(self, "_history")
        examples = read_examples(
            self,
            X,
            y,
            sample_weight,
            self.class_weight,
            classes=self.classes_ if resumes else None,
            reset=not resumes,
            finite=not self.certify,
        )
        self.classes_ = examples.classes
        examples, held_out = self._hold_out(examples)
        history = self._resume(examples) if resumes else self._begin(examples)
        reason = self._train(examples, history, self.max_iter, held_out, began)
        return self._conclude_fit(reason, "Raise max_iter, max_time or tol.")

    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        classes: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Return one pass over a batch, starting from the model so far.

        The certificate then speaks of this batch and of a run that starts at the previous model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        classes : array, required in the first call
            All the labels there will ever be.
        """
        began = time.perf_counter()
        refuse_source(f"partial_fit of {type(self).__name__}", X)
        self._check_parameters()
        first = not hasattr(self, "_history")
        if first:
            if classes is None:
                raise ParameterError(
                    "classes", "classes must be given in the first call to partial_fit."
                )
            known = np.unique(np.asarray(classes))
            if len(known) < 2:
                raise ParameterError("classes", "classes must name at least 2 classes.")
        else:
            known = self.classes_
            if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
                raise ParameterError(
                    "classes", f"classes={classes!r} are not the ones of the first call, {known!r}."
                )
        if self.early_stopping:
            raise ParameterError(
                "early_stopping",
                "early_stopping=True holds rows out over many passes, and partial_fit makes one: "
                "set it to False, or call fit.",
            )
        if self.class_weight == "balanced":
            raise ParameterError(
                "class_weight",
                "class_weight='balanced' needs all the data at once, which partial_fit never "
                "has: compute the weights and give them as a dict.",
            )
        examples = read_examples(
            self,
            X,
            y,
            sample_weight,
            self.class_weight,
            classes=known,
            reset=first,
            finite=not self.certify,
        )
        self.classes_ = known
        history = self._begin(examples) if first else self._next_batch(examples)
        history.batches = True
        return self._conclude_fit(self._train(examples, history, 1, None, began))

    # ---- from a source of row blocks ---------------------------------------------------------

    def _refuse_in_blocks(self) -> None:
        """Raise if a parameter asks for what needs all the rows in memory."""
        if self.warm_start:
            raise ParameterError(
                "warm_start", "warm_start=True needs rows in memory; leave it out for a source."
            )
        if self.early_stopping:
            raise ParameterError(
                "early_stopping",
                "early_stopping=True needs rows in memory: set max_iter, or hold rows out yourself "
                "(`pages.split`) and stop by a callback.",
            )

    def _fit_in_blocks(self, source: Source, began: float) -> Self:
        """Fit by iterative parameter mixing, a run for each block."""
        self._refuse_in_blocks()
        with blocks_in_threads(self.n_jobs) as each:
            bound = bound_to(source, each, targets=False)
            shape = shape_of(bound, self.class_weight)
            note_columns(self, source)
            self.classes_ = shape.classes.labels
            mixture = self._mixture(bound, shape)
            watched = Watched(bound, Signs(tuple(shape.positives()), shape.classes.pairs))
            mixture.until = deadline(began, self.max_time)
            ended = self._follow(mixture, watched, began)
            reason = finished(partial(self._end, mixture, watched), ended)
        self._history = self._end_of(mixture)
        return self._conclude_fit(reason, "Raise max_iter, max_time or tol.")

    def _mixture(self, source: Source, shape: Shape) -> Mixture:
        """Make the mixture before the first round."""
        options = {"steps": None, "rest": True, "carries": False, **self._training_options()}
        rest = bool(options.pop("rest"))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        algorithm = Algorithm(
            self._rule(),
            self._sampling(),
            averages=self._averages(),
            labels=shape.classes.labels,
            codes=shape.codes(),
            factors=shape.classes.pairs,
            times=self._times_weights(shape),
            used=shape.used,
            seed=seed,
            **options,
        )
        return Mixture(source, shape, algorithm, rest)

    def _times_weights(self, shape: Shape) -> float:
        """Return what the weights are multiplied by for the algorithm."""
        return 1.0

    def _follow(self, mixture: Mixture, watched: Watched, began: float) -> Reason:
        """Follow round after round until there is a reason to stop."""

        def ends(epoch: Epoch) -> Reason | None:
            if mixture.resting.all():
                return NOTHING_CHANGED
            tol = self._tol()
            if tol is None:
                return None
            self._settle(mixture, watched)
            proved = all(c.relative_gap <= tol for c in self._certificates)
            return Reason(Stop.PROVED) if proved else None

        epochs, limit = mixture.epochs(self.max_iter), self._time_of_rounds(began)
        given = (self, epochs, self.max_iter, len(mixture.theta0), began)
        reason, _ = follow_epochs(*given, ends, mixture.model, max_time=limit)
        self.n_iter_, self._stop = mixture.done, reason.stop.name
        return reason

    def _end(self, mixture: Mixture, watched: Watched, interrupted: bool) -> None:
        """Settle for good; after Ctrl-C with what is known already."""
        if interrupted:
            mixture.until = -math.inf
        self._settle(mixture, watched)

    def _time_of_rounds(self, began: float) -> float | None:
        """Return the seconds since `began` after which no round begins; the rest is for the
        proof."""
        return self.max_time

    def _settle(self, mixture: Mixture, watched: Watched) -> None:
        """Keep the model of the rounds so far, and prove what there is to prove."""
        self.coef_, self.intercept_ = self._finite(*self._mixed_model(mixture, watched))
        if self.certify:
            self._certificates = self._certify_mixture(mixture, watched)
        else:
            self._certificates = [no_certificate(UNPROVED)] * len(self.coef_)

    def _mixed_model(self, mixture: Mixture, watched: Watched) -> tuple[FloatArray, FloatArray]:
        return mixture.model()

    def _certify_mixture(self, mixture: Mixture, watched: Watched) -> list[Certificate]:
        raise NotImplementedError

    def _mixture_fields(self, mixture: Mixture, c: int) -> dict[str, Any]:
        """Return what the counts of all mixtures have in common."""
        classes = mixture.shape.classes
        fields: dict[str, Any] = {
            "coef": self.coef_[c].copy(),
            "intercept": float(self.intercept_[c]),
            "positive": mixture.shape.positives()[c],
            "bias": float(self.fit_intercept),
            "mistakes": mixture.mistakes[:, c].copy(),
            "ends": mixture.shape.ends,
            "rounds": int(mixture.rounds[c]),
            "labels": None if classes.factors is None else classes.labels,
            "factors": classes.factors,
        }
        if self._averages():
            fields["last"] = np.append(mixture.theta[c], mixture.theta0[c])
        return fields

    def _end_of(self, mixture: Mixture) -> History:
        """Return what `partial_fit` goes on from: the common θ, and no ledger of the rows."""
        run = new_run(mixture.algorithm.codes, mixture.theta.shape[1], 0, np.dtype(np.float64))
        run.w[:], run.b[:] = mixture.theta, mixture.theta0
        run.seen[:] = mixture.in_mean * mixture.shape.used
        average = None
        if self._averages():
            average = new_average(run, keep_ledger=self._averages_ledger)
            self._set_average(run, average, *mixture.model())
        return History(run, average, run.seen.copy(), batches=True, signature=self._signature())

    def _set_average(self, run: Any, average: Any, theta: FloatArray, theta0: FloatArray) -> None:
        """Make the mean over the run be θ, θ₀; see `_read_off`."""
        average.w[:] = (run.w - theta) * run.seen[:, None]
        average.b[:] = (run.b - theta0) * run.seen

    # ---- how a fit goes ----------------------------------------------------------------------

    def _begin(self, examples: Examples) -> History:
        """Return a run from zero."""
        positives = examples.positives()
        kind = np.dtype(np.float32) if examples.X.dtype == np.float32 else np.dtype(np.float64)
        run = new_run(positives, examples.X.shape[1], examples.n_rows, kind)
        average = new_average(run, keep_ledger=self._averages_ledger) if self._averages() else None
        return History(
            run, average, run.seen.copy(), signature=self._signature(), weights=examples.weights
        )

    def _next_batch(self, examples: Examples) -> History:
        """Return a run on other data that starts at the model so far, with a ledger of its own."""
        old = self._history
        fresh = self._begin(examples)
        theta = old.run.scale[:, None] * old.run.w
        fresh.run.w[:], fresh.run.b[:] = old.run.w, old.run.b
        fresh.run.scale[:], fresh.run.seen[:] = old.run.scale, old.run.seen
        fresh.seen_before = old.run.seen.copy()
        fresh.start = np.hstack([theta, old.run.b[:, None]])
        if fresh.average is not None and old.average is not None:
            for kept, value in zip(fresh.average[:3], old.average[:3], strict=True):
                kept[:] = value
            fresh.set_aside_before = np.hstack([old.average.w, old.average.b[:, None]])
        return fresh

    def _resume(self, examples: Examples) -> History:
        """Go on with the same run if the data are the same, else start at the model so far."""
        old: History = self._history
        if (old.average is None) == self._averages():
            raise ParameterError(
                "warm_start", "warm_start cannot continue a run after `average` was changed."
            )
        if self.early_stopping or not self.certify:
            return self._next_batch(examples)
        same = old.continues(self._signature(), examples, self._facts(examples))
        return old if same else self._next_batch(examples)

    def _hold_out(self, examples: Examples) -> tuple[Examples, IntArray | None]:
        """Set the validation fraction aside: weight zero in training, hence in the certificate."""
        if not self.early_stopping:
            return examples, None
        return hold_out(examples, self.validation_fraction, self.random_state)

    def _facts(self, examples: Examples) -> Facts:
        """Return what the checker needs to know of the data whatever the model."""
        labels = list(examples.classes[examples.positives()])
        facts = gather_facts(examples.X, examples.y, labels)
        refuse_infinite(self, examples.X, [sketch.entries for sketch in facts.sketches])
        return facts

    def _train(
        self,
        examples: Examples,
        history: History,
        epochs: int,
        held_out: IntArray | None,
        began: float,
    ) -> Reason:
        """Run the algorithm while another thread, if there may be one, reads for the checker."""
        run = (examples, history, epochs, held_out, began)
        if not self.certify:
            reason = self._run(*run, None)
            self._finish(examples, history, None)
            return reason
        entries = entries_of(examples.X)
        with one_thread_in_blas(), aside(self._facts, examples, self.n_jobs, entries) as facts:
            reason = self._run(*run, facts)
            self._finish(examples, history, facts.result())
        return reason

    def _run(
        self,
        examples: Examples,
        history: History,
        epochs: int,
        held_out: IntArray | None,
        began: float,
        facts: Future[Facts] | None,
    ) -> Reason:
        training = self._training(examples, history)
        training.deadline = deadline(began, self.max_time)
        patience = Patience(int(self.n_iter_no_change))
        scores: list[float] = []

        def ends(epoch: Epoch) -> Reason | None:
            if facts is not None and facts.done():
                facts.result()  # raises if X turned out not to be finite
            if training.resting.all():
                return NOTHING_CHANGED
            if held_out is not None:
                scores.append(self._accuracy(examples, history, held_out))
                if patience.lost(scores[-1]):
                    words = "no better validation score in {stale} epochs"
                    return Reason(Stop.STALLED, say(words, stale=patience.stale))
            proved = facts is not None and self._proves(examples, history, facts)
            return Reason(Stop.PROVED) if proved else None

        given = (self, training.epochs(epochs), epochs, len(history.run.b), began, ends)
        reached = partial(self._read_off, history)
        reason, _ = follow_epochs(*given, reached, max_time=self.max_time, scores=scores)
        self._stop = reason.stop.name  # what is proved may depend on it
        return reason

    def _training(self, examples: Examples, history: History) -> Training:
        """Return the algorithm on these data, before its first example."""
        return Training(
            rule=self._rule(),
            rows=as_design(examples.X),
            labels=examples.codes,
            weights=self._solver_weights(examples.weights),
            run=history.run,
            average=history.average,
            sampling=self._sampling(),
            random=check_random_state(self.random_state),
            examples=examples.used(),
            threads=thread_count(self.n_jobs, len(history.run.b), entries_of(examples.X)),
            **self._training_options(),
        )

    def _proves(self, examples: Examples, history: History, facts: Future[Facts]) -> bool:
        """Tell whether the model so far is proved to be good enough."""
        tol = self._tol()
        if tol is None:
            return False
        self.coef_, self.intercept_ = self._model(examples, history)
        certificates = self._certify(examples, history, facts.result())
        return all(certificate.relative_gap <= tol for certificate in certificates)

    def _accuracy(self, examples: Examples, history: History, rows: IntArray) -> float:
        """Tell how many of these rows are classified as they should be, as a share."""
        theta, theta0 = self._read_off(history)
        right = 0
        for start in range(0, len(rows), 4096):
            some = rows[start : start + 4096]
            values = times(examples.X[some], theta.T) + theta0
            chosen = (values[:, 0] > 0) if values.shape[1] == 1 else values.argmax(axis=1)
            right += int(np.sum(chosen == examples.codes[some]))
        return right / len(rows)

    def _finish(self, examples: Examples, history: History, facts: Facts | None) -> None:
        self.coef_, self.intercept_ = self._finite(*self._model(examples, history))
        theta, self._history = self.coef_, history
        if facts is None:
            self._certificates = [no_certificate(UNPROVED)] * len(theta)
            history.sketches = None
            return
        with sharing_tasks(self.n_jobs, entries_of(examples.X)) as (each, _):
            self._certificates = self._certify(examples, history, facts, each)
        history.sketches = [c.sketch for c in self._certificates if c.sketch is not None]

    def _finite(self, theta: FloatArray, theta0: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the model, if it is one."""
        if not (np.isfinite(theta).all() and np.isfinite(theta0).all()):
            raise ParameterError(
                "X",
                "The coefficients overflowed. Scale the features, for example with scikit-learn's "
                "StandardScaler, or take smaller steps.",
            )
        return theta, theta0

    def _ledger_fields(self, examples: Examples, history: History, c: int) -> dict[str, Any]:
        """Return what the mistake ledgers of all algorithms have in common."""
        run, average = history.run, history.average
        fields: dict[str, Any] = {
            "coef": self.coef_[c].copy(),
            "intercept": float(self.intercept_[c]),
            "positive": self.classes_[run.positive[c]],
            "bias": float(self.fit_intercept),
            "updates": run.ledger[c],
            "mistakes": int(run.mistakes[c]),
            "presentations": history.presentations(c),
            "weights": examples.weights,
            "start": None if history.start is None else history.start[c],
        }
        if average is not None:
            seen = max(1, int(run.seen[c]))
            fields["last"] = np.append(run.w[c], run.b[c])
            fields["averaged_updates"] = run.ledger[c] - average.ledger[c] / seen
            if history.start is not None and history.set_aside_before is not None:
                fields["averaged_start"] = history.start[c] - history.set_aside_before[c] / seen
        return fields
