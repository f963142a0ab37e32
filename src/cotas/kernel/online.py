"""What the online kernel classifiers share: everything but the algorithm and its theorem."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from cotas.arrays import Each, FloatArray, IntArray
from cotas.certificates import Certificate
from cotas.fitting.data import Examples, read_examples
from cotas.fitting.pursuit import NOTHING_CHANGED, deadline, follow_epochs
from cotas.kernel.base import KernelClassifier
from cotas.kernel.choice import as_kernel, refuse_indefinite
from cotas.running import blocks_in_threads, one_thread_in_blas
from cotas.solvers.kernel_online import KernelRun, KernelTraining, RowsAtHand, new_kernel_run
from cotas.solvers.online import Epoch, Sampling
from cotas.source import MatrixLike
from cotas.stops import Reason, Stop


@dataclass(eq=False, repr=False)
class OnlineKernelClassifier(KernelClassifier):
    """Base of the online kernel classifiers; subclasses name the algorithm and its theorem."""

    kernel: Any = None
    _: KW_ONLY
    fit_intercept: bool = True
    random_state: Any = None
    class_weight: Any = None
    cache_mb: float = 200.0
    indefinite: str = "refuse"
    n_jobs: int | None = None
    max_time: float | None = None
    callbacks: Any = None
    progress: bool | None = None
    max_iter: int = 20

    # ---- what a subclass says ----------------------------------------------------------------

    def _rule(self) -> Any:
        """Return the algorithm, with its parameters."""
        raise NotImplementedError

    def _sampling(self) -> Sampling:
        raise NotImplementedError

    # Whether nothing can happen to a class any more after an epoch without an update.
    _rests = False

    def _run_weights(self, weights: FloatArray) -> FloatArray:
        """Return what multiplies the updates, from the weights of the examples in use."""
        return weights

    def _coefficients(self, run: KernelRun, weights: FloatArray) -> FloatArray:
        """Compute β of the rows in use, one row for each class."""
        raise NotImplementedError

    def _intercepts(self, run: KernelRun, weights: FloatArray) -> FloatArray:
        return run.bias.copy()

    def _certify(
        self, examples: Examples, run: KernelRun, counts: FloatArray, beta: FloatArray, each: Each
    ) -> list[Certificate]:
        """Return the certificates of (β, `intercept_`); both arrays are over all the rows."""
        raise NotImplementedError

    def _proved(self, examples: Examples, used: IntArray, run: KernelRun, epoch: int) -> bool:
        """Tell whether the fit can end because enough is proved."""
        return False

    # ---- how a fit goes ----------------------------------------------------------------------

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on X, y and certify the result.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The Gram matrix itself for a precomputed kernel.
        y : array of shape (n_samples,)
            Two classes or more; more than two are trained one against the rest.
        sample_weight : array of shape (n_samples,), optional
            Non-negative; an example of weight zero is left out.
        """
        began = time.perf_counter()
        self._check_parameters()
        examples = read_examples(self, X, y, sample_weight, self.class_weight)
        self.classes_ = examples.classes
        self.kernel_ = as_kernel(self.kernel, examples.X, examples.weights)
        some = examples.used()
        used = np.arange(examples.n_rows) if some is None else some
        refuse_indefinite(self.kernel_, examples.X, used, self.indefinite)
        run = self._begin(examples, used)
        with one_thread_in_blas():
            reason = self._run(examples, used, run, began)
            self._conclude(examples, used, run)
        return self._conclude_fit(reason, "Raise max_iter, max_time or tol.")

    def _begin(self, examples: Examples, used: IntArray) -> KernelRun:
        """Return a run from zero."""
        codes, positives = examples.codes[used], examples.positives()
        return new_kernel_run(np.where(codes == positives[:, None], 1.0, -1.0))

    def _run(self, examples: Examples, used: IntArray, run: KernelRun, began: float) -> Reason:
        training = self._training(examples, used, run)
        training.deadline = deadline(began, self.max_time)

        def ends(epoch: Epoch) -> Reason | None:
            if self._rests and not epoch.updates.any():
                return NOTHING_CHANGED
            proved = self._proved(examples, used, run, epoch.number)
            return Reason(Stop.PROVED) if proved else None

        def reached() -> tuple[FloatArray, FloatArray]:
            weights = self._weights_in_use(examples, used)
            beta = over_all_rows(self._coefficients(run, weights), used, examples.n_rows)
            return beta, run.bias.copy()

        given = (self, training.epochs(self.max_iter), self.max_iter, len(run.bias), began)
        reason, done = follow_epochs(*given, ends, reached, max_time=self.max_time)
        updates = np.array([epoch.updates for epoch in done], np.int64)
        self.updates_per_epoch_ = updates.reshape(len(done), len(run.bias))
        return reason

    def _training(self, examples: Examples, used: IntArray, run: KernelRun) -> KernelTraining:
        """Return the algorithm on these data, before its first example."""
        prepared = self.kernel_.prepare(examples.X, None if len(used) == examples.n_rows else used)
        return KernelTraining(
            rule=self._rule(),
            rows=RowsAtHand(prepared.rows, len(used), int(self.cache_mb * 2**20)),
            weights=self._run_weights(self._weights_in_use(examples, used)),
            run=run,
            sampling=self._sampling(),
            random=check_random_state(self.random_state),
            rest=self._rests,
        )

    def _conclude(self, examples: Examples, used: IntArray, run: KernelRun) -> None:
        weights = self._weights_in_use(examples, used)
        beta = over_all_rows(self._coefficients(run, weights), used, examples.n_rows)
        counts = over_all_rows(run.counts, used, examples.n_rows)
        self._keep_model(examples, beta, self._intercepts(run, weights))
        with blocks_in_threads(self.n_jobs) as each:
            self._certificates = self._certify(examples, run, counts, beta, each)

    def _weights_in_use(self, examples: Examples, used: IntArray) -> FloatArray:
        return np.ones(len(used)) if examples.weights is None else examples.weights[used]


def over_all_rows(values: FloatArray, used: IntArray, n: int) -> FloatArray:
    """Return values of the rows in use, beside zeros for the others."""
    out = np.zeros((len(values), n))
    out[:, used] = values
    return out
