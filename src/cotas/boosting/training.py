"""How a boosted model is fitted: data, weak learner, rounds, and when they end."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, IntArray
from cotas.boosting.base import Boosted
from cotas.boosting.ensemble import Ensemble, collect
from cotas.boosting.from_source import (
    IN_BLOCKS,
    BlockExamples,
    read_blocks,
    refuse_what_needs_rows,
)
from cotas.boosting.weak_learners import (
    PreparedLearner,
    Stump,
    Tree,
    prepare,
    resolve,
    takes_missing_values,
)
from cotas.certificates import Certificate, no_certificate
from cotas.certificates.categories import categories_of, coded
from cotas.certificates.theorems.block_combinations import in_blocks
from cotas.fitting.data import Examples, read_examples, refuse_source
from cotas.fitting.from_source import note_columns
from cotas.fitting.parameters import check_parameters, check_positive
from cotas.fitting.pursuit import Patience, Pursuit, end_of_share, finished, foremost_of
from cotas.fitting.validation import hold_out
from cotas.refusals import ParameterError
from cotas.running import Monitor, blocks_in_threads, sharing_tasks
from cotas.solvers.boosted_regression import Error, Residuals
from cotas.solvers.boosting import NoDescentLeft, Round, Steps
from cotas.solvers.exponential_weights import ExponentialWeights
from cotas.solvers.iterate import Iterate
from cotas.solvers.logistic_weights import ClassWeights, LogisticWeights
from cotas.solvers.samme import ClassVotes
from cotas.source import MatrixLike, Source, source_of
from cotas.stops import Reason, Stop
from cotas.words import say

# What is kept of each round, and under which name.
RECORDED = {
    "error": "round_errors_",
    "edge": "round_edges_",
    "loss": "round_losses_",
}


@dataclass(frozen=True)
class RoundReport:
    """The report of a round to a callback. Returning True stops the fit of this class.

    Attributes
    ----------
    round, n_estimators : int
        This round, counted from one, and the most there can be.
    label
        The class that is trained against the rest, or None when all are trained together.
    error : float
        The weighted error of this round's learner before the round; for numbers the share of the
        loss that it leaves.
    edge : float
        The inner product −⟨∇H(F), f⟩ before the round; for numbers what f takes off the loss.
    loss : float
        The mean cost after the round.
    validation_loss : float or None
        The mean cost on the validation fraction, with early stopping.
    seconds : float
        How long the round took.
    """

    round: int
    n_estimators: int
    label: Any
    error: float
    edge: float
    loss: float
    validation_loss: float | None
    seconds: float


@dataclass
class BoostingRun:
    """One run of the algorithm: the labels as it sees them, the weights, and F on all rows."""

    label: Any
    y: AnyArray
    s: FloatArray
    F: FloatArray
    before: list[Ensemble] | None

    @property
    def first(self) -> int:
        """Return the number of the next round."""
        return 1 if self.before is None else len(self.before[0]) + 1

    @property
    def n_functions(self) -> int:
        """Tell how many functions a round adds: one, or one for each class."""
        return 1 if self.F.ndim == 1 else int(self.F.shape[1])

    def exponential(self, each: Each) -> ExponentialWeights:
        """Return the weights of the algorithms that descend on E[exp(−yF)]."""
        return ExponentialWeights(self.y, self.s, self.F, each)

    def logistic(self, each: Each) -> LogisticWeights:
        """Return the weights and targets of LogitBoost."""
        return LogisticWeights(self.y, self.s, self.F, each)

    def of_classes(self) -> ClassWeights:
        """Return the same for several classes at once."""
        return ClassWeights(self.y, self.s, self.F)

    def of_votes(self, each: Each) -> ClassVotes:
        """Return the votes for one of several classes."""
        return ClassVotes(self.y, self.s, self.F, each)

    def residuals(self, error: Error) -> Residuals:
        """Return what is left of numbers to be predicted."""
        return Residuals(error, self.y, self.s, self.F)


@dataclass(eq=False, repr=False)
class Booster(Boosted):
    """Base of the boosted models; subclasses name the algorithm and its certificate."""

    weak_learner: Any = "stump"
    n_estimators: int = 100
    _: KW_ONLY
    learning_rate: float = 1.0
    step: Any = 1.0
    class_weight: Any = None
    early_stopping: bool = False
    validation_fraction: Any = 0.1
    n_iter_no_change: int = 10
    warm_start: bool = False
    certify: bool = True
    n_jobs: int | None = None
    max_time: float | None = None
    random_state: Any = None
    callbacks: Any = None
    progress: bool | None = None

    _takes_blocks: ClassVar[bool] = False  # whether X of `fit` may be a source of row blocks
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {}  # the values that some parameters have
    _named_steps: ClassVar[tuple[str, ...]] = ()

    # ---- what a subclass says ----------------------------------------------------------------

    def _rounds(self, weak: PreparedLearner, run: BoostingRun, each: Each) -> Iterator[Round]:
        """Return the algorithm."""
        raise NotImplementedError

    def _losses(self, F: FloatArray, y: Any) -> FloatArray:
        """Return the cost of each of these rows, for early stopping and the record."""
        raise NotImplementedError

    def _prove(self, weak: PreparedLearner, run: BoostingRun, k: int, examples: Examples) -> Any:
        """Return the witness of the k-th ensemble, or a reason why there is none."""
        raise NotImplementedError

    # ---- scikit-learn ------------------------------------------------------------------------

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on X, y and certify the result.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            Stumps and trees take missing values (NaN), and columns of categories of pandas,
            polars or Arrow as they are. Or a source of row blocks, which has y and the weights
            itself: docs/scale.md says what it serves.
        y : array of shape (n_samples,)
            Two classes or more.
        sample_weight : array of shape (n_samples,), optional
            Non-negative; an example of weight zero is left out.
        """
        if self._takes_blocks and (source := source_of(X, y, sample_weight)) is not None:
            return self._fit_source(source)
        refuse_source(self, X)
        began = time.perf_counter()
        self._check_parameters()
        learner = resolve(self.weak_learner)
        resumes = self.warm_start and hasattr(self, "ensembles_")
        finite = "allow-nan" if takes_missing_values(learner) else True
        X, named = self._coded_for(learner, X, resumes)
        examples, held_out = self._examples(X, y, sample_weight, resumes, finite)
        before = self.ensembles_ if resumes else None
        with sharing_tasks(self.n_jobs) as (each, threads):
            rows = (examples.X, examples.used())
            weak = prepare(learner, *rows, each, threads, self.random_state, named)
            runs = self._runs(examples, before)
            reason = self._train(weak, runs, held_out, each, began)
            reason = finished(lambda _: self._finish(weak, runs, examples, each), reason)
        return self._conclude_fit(reason, "Raise n_estimators, max_time or tol.")

    def _fit_source(self, source: Source) -> Self:
        """Return the same from a source of row blocks, each level of a tree being one pass."""
        began = time.perf_counter()
        self._check_parameters()
        learner = resolve(self.weak_learner)
        refuse_what_needs_rows(self, learner)
        with blocks_in_threads(self.n_jobs) as each:
            examples = self._block_examples(source, learner, each)
            note_columns(self, source)
            self.__dict__.pop("categories_", None)
            weak, runs = examples.prepared(learner), self._block_runs(examples)
            reason = self._train(weak, runs, None, each, began)
            reason = finished(lambda _: self._finish(weak, runs, examples, each), reason)
        self._certificates = [c.noted(say(IN_BLOCKS)) for c in self._certificates]
        return self._conclude_fit(reason)

    def _block_examples(self, source: Source, learner: Any, each: Each) -> BlockExamples:
        """Return what one pass tells of the blocks."""
        found = read_blocks(source, learner, each, targets=False, class_weight=self.class_weight)
        self.classes_ = found.classes
        return found

    def _block_runs(self, examples: BlockExamples) -> list[Any]:
        """Return one run for two classes, one against the rest for each of several."""
        return [examples.run(label) for label in examples.positives().tolist()]

    # ---- how a fit goes ----------------------------------------------------------------------

    def _coded_for(self, learner: Any, X: Any, resumes: bool) -> tuple[Any, list[int]]:
        """Return X with numbers for its categories, whose names the model keeps, and which
        columns."""
        found = self._known_categories() if resumes else categories_of(X)
        if found and not isinstance(learner, Stump | Tree):
            raise ParameterError(
                "X",
                f"X has columns of categories, which {learner!r} cannot use: take Stump or Tree, "
                "or cotas.tables.PreparedModel, which spreads them out.",
            )
        X = coded(X, found)
        if hasattr(self, "categories_") and not resumes:
            del self.categories_
        if found and not resumes:
            self.categories_ = [found.get(j) for j in range(X.shape[1])]
        return X, list(found)

    def _check_parameters(self) -> None:
        check_parameters(self, **self._choices)
        check_steps(self.step, self._named_steps)

    def _examples(
        self, X: MatrixLike, y: Any, sample_weight: Any, resumes: bool, finite: bool | str
    ) -> tuple[Any, IntArray | None]:
        """Return the training data, and the rows that early stopping sets aside."""
        examples = read_examples(
            self,
            X,
            y,
            sample_weight,
            self.class_weight,
            classes=self.classes_ if resumes else None,
            reset=not resumes,
            finite=finite,
        )
        held_out = None
        if self.early_stopping:
            examples, held_out = hold_out(examples, self.validation_fraction, self.random_state)
        examples.refuse_one_class()
        self.classes_ = examples.classes
        return examples, held_out

    def _runs(self, examples: Any, before: list[Ensemble] | None) -> list[BoostingRun]:
        """Return one run for two classes, one against the rest for each of several."""
        s = examples.shares()
        runs = []
        for k, code in enumerate(examples.positives()):
            y = np.where(examples.codes == code, 1.0, -1.0)
            old = None if before is None else [before[k]]
            F = np.zeros(len(y)) if old is None else old[0].values(examples.X)
            runs.append(BoostingRun(examples.classes[code], y, s, F, old))
        return runs

    def _train(
        self,
        weak: PreparedLearner,
        runs: list[BoostingRun],
        held_out: IntArray | None,
        each: Each,
        began: float,
    ) -> Reason:
        """Run the algorithm for each machine; why the runs ended."""
        self.ensembles_, records, reasons = [], [], []
        with Monitor(self, "round", self.n_estimators * len(runs)) as monitor:
            for k, run in enumerate(runs):
                source = timed(partial(self._rounds, weak, run, each))
                until = end_of_share(began, self.max_time, k, len(runs))
                limits = (None, self.n_estimators, until, monitor)
                pursuit: Pursuit[Any] = Pursuit(*limits, began=began, label=run.label)
                rounds, reason = self._follow(source, run, held_out, pursuit)
                reasons.append(reason)
                for c in range(run.n_functions):
                    old = None if run.before is None else run.before[c]
                    self.ensembles_.append(collect(rounds, c, old, weak.categories))
                records.append(rounds)
        self._record(records, runs)
        return foremost_of(reasons)

    def _follow(
        self,
        source: Iterator[Iterate],
        run: BoostingRun,
        held_out: IntArray | None,
        pursuit: Pursuit[Any],
    ) -> tuple[list[Round], Reason]:
        """Return the rounds that the model keeps, and why there are no more."""
        rounds: list[Round] = []
        losses: list[float] = []  # on the rows held out
        patience = Patience(int(self.n_iter_no_change))

        def ends(iterate: Iterate) -> Reason | None:
            last, _ = iterate.model
            rounds.append(last)
            pursuit.monitor.show(loss=f"{last.loss:.4g}")
            if held_out is None:
                return None
            losses.append(float(self._losses(run.F[held_out], run.y[held_out]).mean()))
            if patience.lost(-losses[-1]):
                words = "no better validation loss in {stale} rounds"
                return Reason(Stop.STALLED, say(words, stale=patience.stale))
            return None

        def report(iterate: Iterate) -> RoundReport:
            last, seconds = iterate.model
            return RoundReport(
                round=run.first + len(rounds) - 1,
                n_estimators=run.first + self.n_estimators - 1,
                label=run.label,
                error=last.error,
                edge=last.edge,
                loss=last.loss,
                validation_loss=losses[-1] if losses else None,
                seconds=seconds,
            )

        reason = pursuit.follow(source, ends=ends, report=report).reason
        if reason.stop is Stop.ITERATIONS:
            reason = Reason(Stop.ITERATIONS, say("n_estimators reached"))
        return rounds if held_out is None else rounds[: patience.best_check], reason

    def _record(self, records: list[list[Round]], runs: list[BoostingRun]) -> None:
        """Record error, −⟨∇H, f⟩ and loss of each round; lists with several classes."""
        for name, kept_as in RECORDED.items():
            kept = getattr(self, kept_as, None)
            found = [np.array([getattr(r, name) for r in rounds]) for rounds in records]
            if kept is not None and runs[0].before is not None:
                old = kept if isinstance(kept, list) else [kept]
                found = [np.concatenate(pair) for pair in zip(old, found, strict=True)]
            setattr(self, kept_as, found[0] if len(found) == 1 else found)

    def _finish(
        self, weak: PreparedLearner, runs: list[BoostingRun], examples: Any, each: Each
    ) -> None:
        if not self.certify:
            unproved = no_certificate("certify=False was given, so nothing was proved.")
            self._certificates = [unproved] * len(runs)
            return
        self._certificates = [
            self._certificate(weak, run, k, examples, each) for k, run in enumerate(runs)
        ]

    def _certificate(
        self, weak: PreparedLearner, run: BoostingRun, k: int, examples: Any, each: Each
    ) -> Certificate:
        witness = self._prove(weak, run, k, examples)
        if isinstance(witness, str):
            return no_certificate(witness)
        if isinstance(examples, BlockExamples):
            witness = in_blocks(witness, examples.factors)
        return witness.check(examples.X, examples.y, each)  # type: ignore[no-any-return]


def timed(begin: Callable[[], Iterator[Round]]) -> Generator[Iterate, None, Reason | None]:
    """Yield each round with the seconds that it took; where theory ends the run, why."""
    try:
        rounds = begin()  # which may take a pass over the data
        while True:
            began = time.perf_counter()
            one = next(rounds, None)
            if one is None:
                return None
            yield Iterate((one, time.perf_counter() - began))
    except NoDescentLeft as why:
        return Reason(Stop.THEORY, say(str(why)))


def check_steps(step: Any, names: tuple[str, ...]) -> Steps | str:
    """Return one of the names, a number above zero, numbers, or a function of the round."""
    if callable(step) or (isinstance(step, str) and step in names):
        return step  # type: ignore[no-any-return]
    if isinstance(step, Real):
        check_positive(step, "step")
        return float(step)
    try:
        numbers = np.asarray([] if isinstance(step, str) else step, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if not (len(numbers) and np.isfinite(numbers).all() and (numbers > 0).all()):
        known = "".join(f"{name!r}, " for name in names)
        raise ParameterError(
            "step",
            f"step must be {known}a number above zero, several, or a function of the round, "
            f"not {step!r}.",
        )
    return numbers.tolist()
