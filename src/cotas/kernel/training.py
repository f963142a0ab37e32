"""The binary problems of a kernel machine, how each is proved, and how all are solved."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cotas.arrays import AnyArray, Each, FloatArray, IntArray, Matrix
from cotas.certificates import Certificate, KernelDualPoint, KernelRegion, PairPoint, presentation
from cotas.certificates.device import Maker, computed_by
from cotas.certificates.kernel import check_together
from cotas.certificates.passes import Facts, class_sketches
from cotas.device.find import device_for, in_short
from cotas.fitting.data import Examples
from cotas.fitting.pursuit import Ended, Pursuit, deadline, end_of_share, worst_of
from cotas.kernel.blocks import KernelBlocks
from cotas.kernel.choice import is_precomputed
from cotas.kernel.interface import Kernel
from cotas.losses import Hinge
from cotas.problem import RegularizedRisk
from cotas.refusals import ParameterError
from cotas.running import (
    Monitor,
    blocks_in_threads,
    entries_of,
    rows_in_threads,
    thread_count,
)
from cotas.solvers.bias import best_bias
from cotas.solvers.iterate import AHEAD, Checkpoint, Iterate, KernelIterates
from cotas.solvers.kernel_dual import SignedDual
from cotas.solvers.smo import OneWorkingSet, ascend, smo
from cotas.solvers.smo_simple import smo_simple
from cotas.solvers.working_set import Move, MoveRecorder
from cotas.stops import Reason, Stop
from cotas.words import say

if TYPE_CHECKING:
    from cotas.kernel.svm import KernelSVM


# Problems of up to so many rows are solved side by side, one in each thread.
SMALL = 4000
# The problems of a table with up to so many rows share one Gram matrix, and are proved together if
# nobody watches, if they have no more multipliers than these among all.
FEW, MOST_MULTIPLIERS = 1024, 1 << 16
# Of fewer products of entries a Gram matrix is made before a second thread has begun.
WORTH_A_THREAD = 1 << 25


# ---- the binary problems that several classes are made of ----------------------------------------


def named(negative: Any, positive: Any) -> str:
    """Return the name of what tells two classes apart, or one from the rest."""
    if negative is None:
        return presentation.against_the_rest(positive)
    return presentation.against(negative, positive)


@dataclass(frozen=True)
class BinaryProblem:
    """One class against another, or against the rest.

    Attributes
    ----------
    positive, negative : the two labels; `negative` is None for the rest
    rows : the rows that take part; None stands for all
    signs, weights : ±1 and sᵢ of those rows; the weights sum to one
    equal : whether all the weights are the same
    lam : λ
    """

    positive: Any
    negative: Any
    rows: IntArray | None
    signs: FloatArray
    weights: FloatArray
    equal: bool
    lam: float

    @property
    def label(self) -> Any:
        """Return what reports call it."""
        return self.positive if self.negative is None else (self.negative, self.positive)

    def dual(self, free_bias: bool) -> SignedDual:
        """Return the problem as a solver takes it."""
        return SignedDual.of(self.signs, self.weights, self.lam, free_bias)


def part_of(X: Matrix, rows: IntArray | None, square: bool) -> Matrix:
    """Return some rows of X, and the same columns of a square Gram matrix; None stands for all."""
    if rows is None or len(rows) == X.shape[0]:
        return X
    return X[rows][:, rows] if square else X[rows]


def binary_problems(examples: Examples, model: Any) -> list[BinaryProblem]:
    """Return each pair of classes, the later one being +1, or each class against all the others.

    Two classes are one problem with all the rows.
    """
    codes, k, lam, C = examples.codes, len(examples.classes), float(model.lam), model.C
    if k == 2 or model.multiclass == "ovr":
        return [
            _problem(examples, None, code, None, lam, C) for code in range(1 if k == 2 else 0, k)
        ]
    used = np.ones(len(codes), np.bool_) if examples.weights is None else examples.weights > 0
    members = [np.flatnonzero(used & (codes == code)).astype(np.int32) for code in range(k)]
    return [
        _problem(examples, np.sort(np.concatenate(rows)), second, first, lam, C)
        for (first, second), rows in zip(
            combinations(range(k), 2), combinations(members, 2), strict=True
        )
    ]


def _problem(
    examples: Examples, rows: IntArray | None, positive: int, negative: int | None, lam: float,
    C: float | None,
) -> BinaryProblem:  # fmt: skip
    part = slice(None) if rows is None else rows
    signs = np.where(examples.codes[part] == positive, 1.0, -1.0)
    given = None if examples.weights is None else examples.weights[part]
    total = float(len(signs) if given is None else given.sum())
    return BinaryProblem(
        positive=examples.classes[positive],
        negative=None if negative is None else examples.classes[negative],
        rows=rows,
        signs=signs,
        weights=np.full(len(signs), 1.0 / total) if given is None else given / total,
        equal=given is None,
        lam=lam if C is None else 1.0 / (C * total),
    )


def starts_of(
    model: KernelSVM, examples: Examples, problems: list[BinaryProblem]
) -> list[FloatArray | None]:
    """Return the multipliers of the last fit, if it was on so many rows and on these classes."""
    no_scores: list[FloatArray | None] = [None] * len(problems)
    if not (model.warm_start and hasattr(model, "dual_coef_")):
        return no_scores
    same = model._n_rows == examples.n_rows and len(model.dual_coef_) == len(problems)
    if not (same and np.array_equal(model.classes_, examples.classes)):
        return no_scores
    found: list[FloatArray | None] = []
    for coef, problem in zip(model.dual_coef_, problems, strict=True):
        a = np.zeros(examples.n_rows)
        a[model.support_] = coef
        found.append(a if problem.rows is None else a[problem.rows])
    return found


def maker_for(model: KernelSVM, kernel: Kernel, n: int) -> Maker | None:
    """Return what makes Gram matrices on the device of a fit on n rows; None without one."""
    plain = model.solver == "smo" and model.approximate is None
    if not plain and model.device.startswith("cuda"):
        raise ParameterError(
            "device",
            f"device={model.device!r} has solver='smo' without approximate, and not "
            f"solver={model.solver!r} with approximate={model.approximate!r}.",
        )
    if not plain or model.device == "cpu":
        return None
    device = device_for(model.device, kernel.spec(), n * n)
    return None if device is None else Maker(device)


# ---- from the iterates of a solver to machines that are proved -----------------------------------


@dataclass(frozen=True)
class KernelModel:
    """A kernel machine for two classes or for numbers, with its certificate.

    `coef` holds βᵢ = yᵢαᵢ/λ of each row that takes part, or θ of the features.
    """

    coef: FloatArray
    intercept: float
    certificate: Certificate
    region: KernelRegion | None = None

    @classmethod
    def of(
        cls,
        point: KernelDualPoint | PairPoint,
        certificate: Certificate,
        region: KernelRegion | None,
    ) -> KernelModel:
        """Return what a point is about, proved."""
        own = point.point if isinstance(point, PairPoint) else point
        return cls(own.coef, own.intercept, certificate, region)


# The machines of a fit, the iterations of the longest run, and why it ended.
Outcome: TypeAlias = tuple[list[KernelModel], int, Reason]


def outcome(ended: list[Ended[KernelModel]]) -> Outcome:
    """Return what came of the problems of a fit."""
    return [one.proved for one in ended], max(one.iterations for one in ended), worst_of(ended)


@dataclass(frozen=True)
class KernelSetting:
    """The setting that all the binary problems of a fit share."""

    model: KernelSVM
    kernel: Kernel
    examples: Examples
    facts: dict[Any, Facts]
    monitor: Monitor
    began: float
    moves: list[list[Move]] | None = None  # of each problem, where someone wants to see them
    maker: Maker | None = None  # of Gram matrices on a device; None for NumPy and Numba

    def pursuit(
        self, problem: BinaryProblem, part: int, parts: int, threads: int = 1
    ) -> Pursuit[KernelModel]:
        """Return what follows the solver of one of the problems, of which `threads` go side by
        side."""
        until = end_of_share(self.began, self.model.max_time, part, parts, threads)
        limits = (self.model.tol, self.model.max_iter, until)
        return Pursuit(*limits, self.monitor, began=self.began, label=problem.label)


def helped(run: KernelIterates, check: Any) -> Generator[Iterate, None, Reason | None]:
    """Yield the iterates of a solver that is told the scores of a check, if it listens."""
    check.scores = None
    while True:
        try:
            iterate = run.send(check.scores)
        except StopIteration as end:
            reason: Reason | None = end.value
            return reason
        check.scores = None
        yield iterate


class KernelCheck:
    """The check of yᵢαᵢ/λ, θ₀ being the best bias for them."""

    def __init__(self, setting: KernelSetting, problem: BinaryProblem, each: Each) -> None:
        self.setting, self.problem, self.each = setting, problem, each
        self.free_bias = bool(setting.model.fit_intercept)
        self.scores: FloatArray | None = None  # Ka of the last iterate, if it was checked

    @cached_property
    def X(self) -> Matrix:
        """Return the rows that take part."""
        square = is_precomputed(self.setting.kernel)
        return part_of(self.setting.examples.X, self.problem.rows, square)

    def start(self) -> Iterate:
        """Return all multipliers zero."""
        return Iterate(np.zeros(len(self.problem.signs)), -self.problem.signs, 1.0, steps=0)

    def iterates(
        self, start: FloatArray | None, room: int, K: FloatArray | None, part: int
    ) -> KernelIterates:
        """Yield the run of the solver that the model asks for; K is of all rows, where it is
        known."""
        model, problem, tol = self.setting.model, self.problem, float(self.setting.model.tol)
        moves = None if self.setting.moves is None else self.setting.moves[part]
        dual, watch = problem.dual(self.free_bias), None if moves is None else MoveRecorder(moves)
        if K is not None:
            own = K if problem.rows is None else K[problem.rows][:, problem.rows]
            return ascend(OneWorkingSet(own, dual, watch, start), tol)
        blocks = KernelBlocks(self.setting.kernel, self.X, room // 2)
        if model.solver == "smo-simple":
            given = (problem.signs, problem.weights, problem.lam, self.free_bias)
            return smo_simple(blocks, *given, moves)
        left, shrinking = room - blocks.copied, bool(model.shrinking)
        return smo(blocks, dual, tol, left, self.each, start, shrinking, watch)

    def __call__(self, iterate: Iterate) -> KernelModel:
        problem, y, point = self.problem, self.setting.examples.y, self.point(iterate)
        with computed_by(self.setting.maker):
            found = point.full_check(self.X, y, self.setting.facts[problem.positive], self.each)
        certificate, self.scores, region = found
        return KernelModel.of(point, certificate, region)

    def point(self, iterate: Iterate) -> KernelDualPoint | PairPoint:
        """Return the multipliers with the best bias, to be proved."""
        problem, theta0 = self.problem, 0.0
        signed, slopes = iterate.model.copy(), iterate.dual
        if self.free_bias:
            given = None if problem.equal else problem.weights
            theta0 = best_bias(slopes + problem.signs, problem.signs > 0, given)
        share: AnyArray = np.zeros(len(signed))
        used = problem.weights > 0
        np.divide(problem.signs * signed * problem.lam, problem.weights, out=share, where=used)
        pair = problem.rows is not None
        point = KernelDualPoint(
            RegularizedRisk(Hinge(), problem.lam, self.free_bias),
            self.setting.kernel,
            signed,
            theta0,
            problem.positive,
            share,
            weights=None if problem.equal and not pair else problem.weights,
            subject=named(problem.negative, problem.positive) if pair else "",
        )
        if problem.rows is None:
            return point
        return PairPoint(point, problem.rows, self.setting.examples.n_rows)


def begun_together(
    checks: Sequence[KernelCheck], runs: Sequence[KernelIterates]
) -> list[tuple[Iterate, KernelModel]]:
    """Return each problem of a small table as soon as its solver believes in it, all proved
    together."""
    setting = checks[0].setting
    checkpoint = Checkpoint(min(AHEAD, int(setting.model.max_iter)), float(setting.model.tol))
    with np.errstate(all="ignore"):
        begun = [
            checkpoint.first(run) or check.start() for check, run in zip(checks, runs, strict=True)
        ]
        points = [check.point(iterate) for check, iterate in zip(checks, begun, strict=True)]
        facts = Facts([setting.facts[check.problem.positive].sketches[0] for check in checks])
        found = check_together(points, setting.examples.X, setting.examples.y, facts)
    models = [KernelModel.of(p, *proved) for p, proved in zip(points, found, strict=True)]
    return list(zip(begun, models, strict=True))


# ---- one after the other, or side by side --------------------------------------------------------


def solve_all(
    setting: KernelSetting,
    problems: list[BinaryProblem],
    starts: list[FloatArray | None],
) -> list[Ended[KernelModel]]:
    """Solve each problem in all the threads, or many small ones side by side."""
    if setting.maker is not None:
        return solve_on_device(setting, setting.maker.device, problems, starts)
    n_jobs, room = setting.model.n_jobs, int(setting.model.cache_mb * 2**20)
    monitor, parts = setting.monitor, range(len(problems))
    largest = max(len(problem.signs) for problem in problems)
    K = whole_gram(setting, len(problems), room)
    begun: list[tuple[Iterate, KernelModel]] = []

    def prepared(part: int, threads: int, each: Each) -> tuple[KernelCheck, KernelIterates]:
        # Problems that are solved side by side share the cache out.
        check = KernelCheck(setting, problems[part], each)
        return check, check.iterates(starts[part], room // threads, K, part)

    def solve(part: int, threads: int, each: Each) -> Ended[KernelModel]:
        """Follow the solver and keep its best model, by what is proved of it."""
        check, run = started[part] if started else prepared(part, threads, each)
        pursuit = setting.pursuit(problems[part], part, len(parts), threads)
        if begun:
            pursuit.take(*begun[part])
        return pursuit.follow(helped(run, check), check, start=check.start())

    started = []
    if K is not None and not monitor.watched:
        started = [prepared(part, 1, map) for part in parts]
        try:
            begun = begun_together(*zip(*started, strict=True))
        except KeyboardInterrupt:
            monitor.interrupt()
        if begun and all(m.certificate.relative_gap <= setting.model.tol for _, m in begun):
            seconds = time.perf_counter() - setting.began
            return [Ended(m, Reason(Stop.PROVED), i.steps, seconds) for i, m in begun]
    if len(problems) > 1 and largest <= SMALL and not monitor.callbacks:
        threads = thread_count(n_jobs, len(problems), largest * largest)
        return monitor.for_each(lambda k: solve(k, threads, map), parts, threads)
    jobs = n_jobs if largest * entries_of(setting.examples.X) >= WORTH_A_THREAD else 1
    with blocks_in_threads(jobs) as each:
        return [solve(part, 1, each) for part in parts]


def whole_gram(setting: KernelSetting, problems: int, room: int) -> FloatArray | None:
    """Compute the Gram matrix of all the rows, for all the problems of a small table; None of
    another.

    Of a part of the rows it may be positive semi-definite where that of all is not, if no formula
    says so.
    """
    model, n, kernel = setting.model, setting.examples.n_rows, setting.kernel
    if n > FEW or n * problems > MOST_MULTIPLIERS or model.solver != "smo":
        return None
    if not kernel.known_mercer:
        return None
    return np.asarray(KernelBlocks(kernel, setting.examples.X, room // 2).whole())


def solve_on_device(
    setting: KernelSetting,
    device: Any,
    problems: list[BinaryProblem],
    starts: list[FloatArray | None],
) -> list[Ended[KernelModel]]:
    """Solve all the problems together on a device: what one asks for advances them all."""
    from cotas.device.rows import DeviceRows
    from cotas.solvers.block_ascent import BlockAscent, Box, OneProblem, single
    from cotas.solvers.sample_start import after_samples

    model, X, tol = setting.model, setting.examples.X, float(setting.model.tol)
    try:
        rows = DeviceRows(setting.kernel.spec(), X, device, single(X.shape[0]))
        duals = [
            on_all_rows(problem, X.shape[0], bool(model.fit_intercept)) for problem in problems
        ]
        ascent = BlockAscent(rows, Box.of(duals, device), bool(model.shrinking))
        if started := any(start is not None for start in starts):
            ascent.begin_at(
                [spread(a, p, X.shape[0]) for a, p in zip(starts, problems, strict=True)]
            )
    except RuntimeError as error:
        raise RuntimeError(f"The device could not begin: {in_short(error)}") from error
    with blocks_in_threads(model.n_jobs) as each:

        def solve(part: int, problem: BinaryProblem) -> Ended[KernelModel]:
            check = KernelCheck(setting, problem, each)
            run = ascend(OneProblem(ascent, part, problem.rows, tol), tol)
            pursuit = setting.pursuit(problem, part, len(problems))
            if part == 0 and not started:
                run = after_samples(ascent, run, deadline(pursuit.began, pursuit.max_time))
            return pursuit.follow(helped(guarded(run), check), check, start=check.start())

        return [solve(part, problem) for part, problem in enumerate(problems)]


def guarded(run: KernelIterates) -> KernelIterates:
    """Yield from a run that ends, and says so, when the device fails: what was found is not
    lost."""
    try:
        yield from run
    except RuntimeError as error:
        return Reason(Stop.DEVICE, say("the device failed: {error}", error=in_short(error)))
    return None


def spread(values: FloatArray | None, problem: BinaryProblem, n: int) -> FloatArray | None:
    """Return values of the rows that take part among zeros for the others."""
    if values is None or problem.rows is None:
        return values
    everywhere = np.zeros(n)
    everywhere[problem.rows] = values
    return everywhere


def on_all_rows(problem: BinaryProblem, n: int, free_bias: bool) -> SignedDual:
    """Return the problem with the other rows, if any, at a weight of zero."""
    weights, signs = spread(problem.weights, problem, n), spread(problem.signs, problem, n)
    assert weights is not None
    assert signs is not None
    return SignedDual.of(signs, weights, problem.lam, free_bias)


def facts_of(
    examples: Examples, problems: list[BinaryProblem], n_jobs: int | None
) -> dict[Any, Facts]:
    """Return what the checker wants to know of the data, by the label that counts as +1."""
    labels = list(dict.fromkeys(problem.positive for problem in problems))
    with rows_in_threads(examples.X, n_jobs) as each:
        sketches = class_sketches(examples.X, examples.y, labels, each)
    return {label: Facts([sketch]) for label, sketch in zip(labels, sketches, strict=True)}
