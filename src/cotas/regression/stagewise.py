"""Forward stagewise regression and its regularized form; what LS-Boost shares with them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d

from cotas.arrays import FloatArray, Matrix
from cotas.certificates.blocks import TargetColumns, Watched
from cotas.certificates.theorems.stagewise import StagewiseCertificate, StagewiseRun
from cotas.design.blocks import times
from cotas.design.centred import CentredColumns
from cotas.fitting.data import read_observations, rows_to_predict
from cotas.fitting.from_source import bound_to, note_columns, shift_of
from cotas.fitting.parameters import check_parameters, check_positive
from cotas.fitting.pursuit import Pursuit, StepReport, finished
from cotas.refusals import ParameterError
from cotas.regression.base import LinearRegressor
from cotas.regression.from_source import read_moments_and_ends
from cotas.running import (
    Monitor,
    blocks_in_threads,
    rows_in_threads,
    thread_count,
)
from cotas.solvers.iterate import Iterate
from cotas.solvers.moments import targets
from cotas.solvers.stagewise import GramOfAll, Schedule, Stagewise
from cotas.source import (
    Arrays,
    Block,
    Changed,
    MatrixLike,
    Source,
    double,
    shape_of_targets,
    source_of,
)
from cotas.stops import Reason, Stop
from cotas.words import say


@dataclass(frozen=True)
class StagewisePath:
    """The path βᵏ and what belongs to it, for k = 0 (β = 0) to the last iteration.

    Attributes
    ----------
    run : StagewiseRun
        The index and the step of each iteration.
    scale : array of shape (n_features,)
        The length of each centred column: a coefficient for columns of unit length, divided by
        it, is the coefficient in the units of X.
    losses, lengths, nonzeros : arrays of shape (n_iter_ + 1,)
        L_n(βᵏ) = ‖y − Xβᵏ‖²/(2n), ‖βᵏ‖₁ for columns of unit length, and how many coefficients are
        not zero.
    """

    run: StagewiseRun
    scale: FloatArray
    x_mean: FloatArray
    y_mean: float
    losses: FloatArray
    lengths: FloatArray
    nonzeros: FloatArray

    def __len__(self) -> int:
        return len(self.run.chosen) + 1

    def unit_coef(self, k: int) -> FloatArray:
        """Compute βᵏ for centred columns of unit length, as Rugeles Ospina writes it."""
        if not 0 <= k < len(self):
            raise ParameterError(
                "k", f"k must lie between 0 and {len(self) - 1}, the iterations made."
            )
        keeps = self.run.keeps()[:k]
        # What later steps leave of each step: the product of their factors.
        left = np.append(np.cumprod(keeps[:0:-1])[::-1], 1.0) if k else keeps
        steps = self.run.steps[:k] * left
        found = np.bincount(self.run.chosen[:k], weights=steps, minlength=len(self.scale))
        return found.astype(np.float64)

    def coef(self, k: int) -> FloatArray:
        """Compute βᵏ in the units of X and y."""
        return np.asarray(self.unit_coef(k) / self.scale)

    def intercept(self, k: int) -> float:
        """Return the bias that goes with `coef(k)`."""
        return float(self.y_mean - self.x_mean @ self.coef(k))


TIES = ("first", "random")
# At most so many steps, and so many changed correlations, between two looks at the clock.
STEPS_BETWEEN_CHECKS, WORK_BETWEEN_CHECKS = 10_000, 1 << 24
# So many spreads away from zero, the products of a column would lose a thousandth of their digits.
FAR = 8.0


def _nearer(X: Matrix, centred: bool) -> tuple[Matrix, FloatArray]:
    """Return X and what its columns were shifted by: those far from zero for their spread lose no
    digits.

    The means of a column come off anyway, so the run is the same. Only then is X copied.
    """
    low, high = (
        np.asarray(end.todense() if sparse.issparse(end) else end, dtype=np.float64).ravel()
        for end in (X.min(axis=0), X.max(axis=0))
    )
    middle = np.where(low == high, low, np.asarray(X.mean(axis=0, dtype=np.float64)).ravel())
    far = np.abs(middle) > FAR * (high - low)
    shift = np.where(far & centred, middle, 0.0)
    if not shift.any():
        return X, shift
    if not sparse.issparse(X):
        return X.astype(np.float64) - shift, shift
    # Zero is not among the entries of such a column, so that all of them are stored.
    moved = sparse.csc_matrix(X, dtype=np.float64, copy=True)
    moved.data -= np.repeat(shift, np.diff(moved.indptr))
    return moved, shift


class Centred(NamedTuple):
    """Data as the algorithms see them: columns of unit length, and their correlations with y.

    `scale` are the lengths of the centred columns; the means are those that came off.
    """

    columns: CentredColumns | GramOfAll
    c0: FloatArray
    scale: FloatArray
    x_mean: FloatArray
    y_mean: float

    @classmethod
    def of(cls, columns: CentredColumns, y: FloatArray, size: float, shift: FloatArray) -> Centred:
        """Return columns in memory, which were moved by `shift`; Σ of the weights is `size`."""
        y_shift = float(np.mean(y) if np.ptp(y) else y[0]) if columns.centre else 0.0
        y, root = y - y_shift, math.sqrt(size)
        c0 = root * columns.correlations(columns.centred(y))
        y_mean = y_shift + float(columns.weights @ y) * columns.centre
        return cls(columns, c0, root * columns.scale, shift + columns.mean, y_mean)


@dataclass(frozen=True)
class Nearer:
    """Columns and targets less what they lie far from zero by, so that means lose no digits."""

    shift: FloatArray
    y_shift: float

    @classmethod
    def to(cls, source: Source) -> Nearer:
        """Shift as the rows with a weight tell of the first block that has such."""
        found = source.of_first(cls.to_block)
        if found is None:
            found = next(filter(None, map(cls.to_block, source.blocks())), None)
        return found or cls(np.zeros(source.n_features), 0.0)

    @classmethod
    def to_block(cls, block: Block) -> Nearer | None:
        """Shift as the rows with a weight tell; None if there are none."""
        used = block.shares() > 0
        if not used.any():
            return None
        y = targets(block)[used]
        shift = shift_of(Arrays(block.X[used], y))
        far = abs(float(y.mean())) > FAR * float(y.std())
        empty = np.zeros(block.X.shape[1])
        return cls(empty if shift is None else shift, float(y.mean()) if far else 0.0)

    def __call__(self, block: Block) -> Block:
        X = double(block.X) - self.shift if self.shift.any() else block.X
        return block._replace(X=X, y=np.asarray(block.y, np.float64) - self.y_shift)


def centred_in_blocks(source: Source, free_bias: bool) -> Centred:
    """Return the same from the products of a source, in one pass."""
    d = source.n_features
    nearer = Nearer.to(source) if free_bias else Nearer(np.zeros(d), 0.0)
    moments, ends = read_moments_and_ends(Changed(source, nearer))
    products, slope = moments.hessian(free_bias), moments.slope(free_bias)[:, 0]
    root = math.sqrt(moments.weight)
    flat = (ends.low == ends.high) & (free_bias | (ends.low == 0))
    scale = np.sqrt(np.maximum(np.diagonal(products), 0.0))
    scale[flat[:d] | (scale == 0.0)] = 1.0
    c0 = np.zeros(d) if flat[d] else root * slope / scale
    columns = GramOfAll(products, scale, np.flatnonzero(flat[:d]))
    # What does not vary has no rounding of a mean in it.
    mean = np.where(flat, ends.low, np.append(moments.mean, moments.target_mean)) * free_bias
    y_mean = float(mean[d]) + nearer.y_shift
    return Centred(columns, c0, root * scale, mean[:d] + nearer.shift, y_mean)


@dataclass(eq=False, repr=False, kw_only=True)
class StagewiseRegressor(LinearRegressor):
    """The base of the three algorithms: the rate, the run, the path and the certificate."""

    eps: Any = 0.1
    max_iter: int = 1000
    fit_intercept: bool = True
    ties: str = "first"
    random_state: Any = None
    n_jobs: int | None = None
    max_time: float | None = None
    callbacks: Any = None
    progress: bool | None = None

    algorithm: ClassVar[str]
    _certificates: list[StagewiseCertificate] = field(init=False)  # type: ignore[assignment]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        tags.target_tags.single_output = True
        return tags

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Follow the algorithm for `max_iter` steps and check what its theorem promises.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or a source of row blocks
            A source, such as `cotas.tables.open_pages` gives, has y and the weights itself.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            How often each row counts; n is their sum.
        """
        began = time.perf_counter()
        self._check_parameters()
        eps = self._rates()
        if (source := source_of(X, y, sample_weight)) is not None:
            return self._fit_in_blocks(source, eps, began)
        seen = read_observations(self, X, y, sample_weight, layout="csc")
        target = seen.y if seen.single else column_or_1d(seen.y, warn=True)
        with rows_in_threads(seen.X, self.n_jobs) as each:
            threads = 1 if each is map else thread_count(self.n_jobs)
            options = (bool(self.fit_intercept), True, each, threads)
            near, shift = _nearer(seen.X, bool(self.fit_intercept))
            columns = CentredColumns(near, seen.shares(), *options)
            centred = Centred.of(columns, target, seen.total_weight(), shift)
            path, reason = self._run(centred, eps, seen.weights, began)
            return self._proved(path, reason, lambda: path.run.check(seen.X, target, each))

    def _fit_in_blocks(self, source: Source, eps: FloatArray, began: float) -> Self:
        """Fit from a source of row blocks: one pass for the products, two for the proof."""
        with blocks_in_threads(self.n_jobs) as each:
            bound = bound_to(source, each, targets=True)
            shape = bound.of_first(shape_of_targets)
            if len(shape) != 1:
                raise ParameterError(
                    "y",
                    f"y must be a vector of numbers, and in the first block its shape is {shape}.",
                )
            watched = Watched(bound, TargetColumns((None,)))
            centred = centred_in_blocks(watched, bool(self.fit_intercept))
            path, reason = self._run(centred, eps, None, began)
            note_columns(self, source)
            return self._proved(path, reason, lambda: path.run.check(watched))

    def _proved(
        self, path: StagewisePath, reason: Reason, check: Callable[[], StagewiseCertificate]
    ) -> Self:
        """Return the model at the end of a run, with its certificate."""

        def finish(interrupted: bool) -> None:
            self._certificates = [check()]

        reason = finished(finish, reason)
        self.coef_, self.intercept_ = path.run.coef.copy(), path.run.intercept
        self.n_iter_ = len(path.run.chosen)
        proof = self._certificates[0].proof
        self.path_ = replace(
            path, losses=proof.losses, lengths=proof.lengths, nonzeros=proof.nonzeros
        )
        return self._conclude_fit(reason)

    def staged_predict(self, X: MatrixLike) -> Iterator[FloatArray]:
        """Yield what `predict` would say after each iteration.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        X = rows_to_predict(self, X)
        for k in range(1, len(self.path_)):
            yield np.asarray(times(X, self.path_.coef(k)) + self.path_.intercept(k))

    def _run(
        self, data: Centred, eps: FloatArray, weights: FloatArray | None, began: float
    ) -> tuple[StagewisePath, Reason]:
        solver = Stagewise(data.columns, data.c0, self._schedule(eps))
        reason = self._follow_steps(solver, began)
        path = solver.finished()
        m = len(path.chosen)
        delta = self._delta()
        shell = StagewiseRun(
            "FS" if self.algorithm == "R-FS" and math.isinf(delta) else self.algorithm,
            eps[:m],
            delta,
            path.chosen.copy(),
            path.steps.copy(),
            np.zeros(data.columns.p),
            0.0,
            weights,
            bool(self.fit_intercept),
        )
        empty = np.zeros(0)
        whole = StagewisePath(shell, *data[2:], empty, empty, empty)
        return replace(whole, run=shell.about(whole.coef(m), whole.intercept(m))), reason

    def _follow_steps(self, solver: Stagewise, began: float) -> Reason:
        """Make the steps, or as many as there is time for; why they ended."""

        def iterates() -> Iterator[Iterate]:
            some = min(STEPS_BETWEEN_CHECKS, 1 + WORK_BETWEEN_CHECKS // solver.columns.p)
            going = True
            while going:
                going = solver.advance(some)
                monitor.show()
                yield Iterate(solver.done)

        def report(iterate: Iterate) -> StepReport:
            return StepReport(solver.done, self.max_iter, pursuit.seconds)

        with Monitor(self) as monitor:
            pursuit: Pursuit[Any] = Pursuit(None, None, self.max_time, monitor, began=began)
            reason = pursuit.follow(iterates(), report=report).reason
        if reason.stop is not Stop.STALLED:
            return reason
        if solver.done < self.max_iter:
            return Reason(Stop.THEORY, say("no column is correlated with the residual"))
        return Reason(Stop.ITERATIONS)

    def _check_parameters(self) -> None:
        check_parameters(self, ties=TIES)
        self._rates()

    def _rates(self) -> FloatArray:
        """Compute ε for each iteration, whatever it was given as."""
        m = int(self.max_iter)
        if callable(self.eps):
            eps = np.array([float(self.eps(k)) for k in range(m)])
        elif np.ndim(self.eps) == 0:
            check_positive(self.eps, "eps")
            eps = np.full(m, float(self.eps))
        else:
            eps = np.asarray(self.eps, dtype=np.float64)
            if eps.shape != (m,):
                raise ParameterError(
                    "eps", f"eps has {len(eps)} values for {m} iterations: give one for each."
                )
        if not (np.isfinite(eps).all() and (eps > 0).all()):
            raise ParameterError("eps", "eps must be above zero and finite at every iteration.")
        self._check_rates(eps)
        return eps

    def _check_rates(self, eps: FloatArray) -> None:
        """Check what the algorithm asks of ε besides being positive."""

    def _delta(self) -> float:
        return math.inf

    def _schedule(self, eps: FloatArray) -> Schedule:
        m = len(eps)
        draws = np.zeros(m)
        if self.ties == "random":
            draws = check_random_state(self.random_state).random_sample(m)
        empty = np.zeros(m)
        boost = self.algorithm == "LS-Boost"
        keep = 1.0 - eps / self._delta()
        return Schedule(eps if boost else empty, empty if boost else eps, keep, draws)


class ForwardStagewise(StagewiseRegressor):
    """Incremental forward stagewise regression, FS_ε and FS_εₖ (Rugeles Ospina, section 2).

    The column most correlated with the residual gets a step of ±ε, for columns centred and of
    unit length. Small ε traces a path close to that of the Lasso.

    Parameters
    ----------
    eps : float, sequence or function of k, default=0.1
        The step, in the units of y: FS_ε, or FS_εₖ if it varies with k.
    max_iter : int, default=1000
    fit_intercept, ties, random_state, n_jobs, max_time, callbacks, progress : as in `LSBoost`

    Attributes
    ----------
    coef_, intercept_, path_, n_iter_, stop_, stop_reason_ : as in `LSBoost`
    certificate_ : StagewiseCertificate
        Theorem 2.2.1, about the best iteration so far; it covers ε that vary too.

    Examples
    --------
    >>> import cotas
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = cotas.ForwardStagewise(eps=10.0, max_iter=300).fit(X, y)
    >>> model.certificate_.holds
    True
    >>> float(model.path_.lengths[3])
    30.0
    """

    algorithm = "FS"


@dataclass(eq=False, repr=False, kw_only=True)
class RegularizedForwardStagewise(StagewiseRegressor):
    """Forward stagewise regression inside the L1-ball, R-FS_ε,δ: Algorithm 9 of Rugeles Ospina.

    As `ForwardStagewise`, but all coefficients shrink by 1 − ε/δ before each step, so that
    ‖β‖₁ ≤ δ always. It is the Frank–Wolfe method for the Lasso on the ball of radius δ, and ω_δ
    certifies how far each iteration is from that optimum.

    Parameters
    ----------
    eps : float, sequence or function of k, default=0.1
        The step, in the units of y, at most δ.
    delta : float, default=inf
        The radius, for columns centred and of unit length; infinite gives FS_ε. For n rows it is
        √n times the `delta` of `Lasso(standardize=True)`.
    max_iter : int, default=1000
    fit_intercept, ties, random_state, n_jobs, max_time, callbacks, progress : as in `LSBoost`

    Attributes
    ----------
    coef_, intercept_, path_, n_iter_, stop_, stop_reason_ : as in `LSBoost`
    certificate_ : StagewiseCertificate
        Theorem 2.2.3 and Proposition 2.2.2: the gap of the Lasso on the ball.
    omegas_ : array of shape (n_iter_ + 1,)
        ω_δ(βᵏ) for every k: L_n(βᵏ) is within (δ/n)·ω_δ(βᵏ) of the best in the ball.

    Examples
    --------
    >>> import cotas
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = cotas.RegularizedForwardStagewise(eps=1.0, delta=1000.0, max_iter=5000).fit(X, y)
    >>> model.certificate_.holds and model.certificate_.gap < 0.01 * model.certificate_.upper
    True
    """

    delta: float = math.inf

    algorithm = "R-FS"

    @property
    def omegas_(self) -> FloatArray:
        """Return ω_δ at every iteration."""
        check_is_fitted(self)
        return self._certificates[0].proof.omegas

    def _check_rates(self, eps: FloatArray) -> None:
        if np.ndim(self.delta) or self.delta != math.inf:
            check_positive(self.delta, "delta")
        if (eps > self.delta).any():
            raise ParameterError(
                "eps", f"eps must not exceed delta={self.delta:g}; it is {eps.max():g}."
            )

    def _delta(self) -> float:
        return float(self.delta)
