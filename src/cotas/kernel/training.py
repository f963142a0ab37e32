"""The binary problems of a fit, one after the other or side by side."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from cotas.arrays import Each, FloatArray, Matrix
from cotas.blas import one_thread_in_blas
from cotas.certificates.sweep import Facts, gather_facts
from cotas.device.find import in_short
from cotas.fitting.data import Examples
from cotas.fitting.pursuit import Ended, deadline
from cotas.fitting.threads import entries_of, pooled, rows_in_threads, thread_count
from cotas.kernel.blocks import KernelBlocks
from cotas.kernel.machine import KernelCheck, KernelSetting, Machine, helped
from cotas.kernel.problems import BinaryProblem
from cotas.solvers.iterate import Iterate
from cotas.solvers.kernel_dual import SignedDual
from cotas.solvers.smo import ascend, smo
from cotas.solvers.smo_simple import smo_simple
from cotas.solvers.working_set import Move, Watch
from cotas.stops import Reason, Stop
from cotas.words import say

# Problems of up to so many rows are solved side by side, one in each thread.
SMALL = 4000
# Of fewer products of entries a Gram matrix is made before a second thread has begun.
WORTH_A_THREAD = 1 << 25


def solve_all(
    setting: KernelSetting,
    problems: list[BinaryProblem],
    starts: list[FloatArray | None],
) -> list[Ended[Machine]]:
    """Solve each problem in all the threads, or many small ones side by side."""
    if setting.maker is not None:
        return solve_on_device(setting, setting.maker.device, problems, starts)
    n_jobs, room = setting.model.n_jobs, int(setting.model.cache_mb * 2**20)
    largest, parts = max(len(problem.signs) for problem in problems), range(len(problems))

    def solve(part: int, threads: int, each: Each) -> Ended[Machine]:
        """Follow the solver and keep its best model, by what is proved of it."""
        problem, start = problems[part], starts[part]
        check = KernelCheck(setting, problem, each)
        # Problems that are solved side by side share the cache out.
        moves = None if setting.moves is None else setting.moves[part]
        run = iterates(setting, problem, check.X, start, room // threads, each, moves)
        pursuit = setting.pursuit(problem, part, len(parts), threads)
        return pursuit.follow(helped(run, check), check, start=check.start())

    if len(problems) > 1 and largest <= SMALL and not setting.monitor.callbacks:
        threads = thread_count(n_jobs, len(problems), largest * largest)
        with one_thread_in_blas():
            return setting.monitor.for_each(lambda k: solve(k, threads, map), parts, threads)
    jobs = n_jobs if largest * entries_of(setting.examples.X) >= WORTH_A_THREAD else 1
    with one_thread_in_blas(), pooled(jobs) as each:
        return [solve(part, 1, each) for part in parts]


def solve_on_device(
    setting: KernelSetting,
    device: Any,
    problems: list[BinaryProblem],
    starts: list[FloatArray | None],
) -> list[Ended[Machine]]:
    """Solve all the problems together on a device: what one asks for advances them all."""
    from cotas.device.rows import DeviceRows
    from cotas.solvers.block_ascent import Ascent, Box, OneMachine, single
    from cotas.solvers.sample_start import after_samples

    model, X, tol = setting.model, setting.examples.X, float(setting.model.tol)
    try:
        rows = DeviceRows(setting.kernel.spec(), X, device, single(X.shape[0]))
        duals = [
            on_all_rows(problem, X.shape[0], bool(model.fit_intercept)) for problem in problems
        ]
        ascent = Ascent(rows, Box.of(duals, device), bool(model.shrinking))
        if started := any(start is not None for start in starts):
            ascent.begin_at(
                [spread(a, p, X.shape[0]) for a, p in zip(starts, problems, strict=True)]
            )
    except RuntimeError as error:
        raise RuntimeError(f"The device could not begin: {in_short(error)}") from error
    with one_thread_in_blas(), pooled(model.n_jobs) as each:

        def solve(part: int, problem: BinaryProblem) -> Ended[Machine]:
            check = KernelCheck(setting, problem, each)
            run = ascend(OneMachine(ascent, part, problem.rows, tol), tol)
            pursuit = setting.pursuit(problem, part, len(problems))
            if part == 0 and not started:
                run = after_samples(ascent, run, deadline(pursuit.began, pursuit.max_time))
            return pursuit.follow(helped(guarded(run), check), check, start=check.start())

        return [solve(part, problem) for part, problem in enumerate(problems)]


def guarded(
    run: Generator[Iterate, FloatArray | None, None],
) -> Generator[Iterate, FloatArray | None, Reason | None]:
    """A run that ends, and says so, when the device fails: what was found so far is not lost."""
    try:
        yield from run
    except RuntimeError as error:
        return Reason(Stop.DEVICE, say("the device failed: {error}", error=in_short(error)))
    return None


def spread(values: FloatArray | None, problem: BinaryProblem, n: int) -> FloatArray | None:
    """Values of the rows that take part among zeros for the others."""
    if values is None or problem.rows is None:
        return values
    everywhere = np.zeros(n)
    everywhere[problem.rows] = values
    return everywhere


def on_all_rows(problem: BinaryProblem, n: int, free_bias: bool) -> SignedDual:
    """The problem with the other rows, if any, at a weight of zero."""
    weights, signs = spread(problem.weights, problem, n), spread(problem.signs, problem, n)
    assert weights is not None
    assert signs is not None
    return SignedDual.of(signs, weights, problem.lam, free_bias)


def iterates(
    setting: KernelSetting,
    problem: BinaryProblem,
    X: Matrix,
    start: FloatArray | None,
    room: int,
    each: Each,
    moves: list[Move] | None = None,
) -> Generator[Iterate, FloatArray | None, None]:
    """The run of the solver that the model asks for, on the rows that take part."""
    model = setting.model
    blocks = KernelBlocks(setting.kernel, X, room // 2)
    given = (problem.signs, problem.weights, problem.lam, bool(model.fit_intercept))
    if model.solver == "smo-simple":
        return smo_simple(blocks, *given, moves)
    dual, left = SignedDual.of(*given), room - blocks.copied
    shrinking, watch = bool(model.shrinking), None if moves is None else Watch(moves)
    return smo(blocks, dual, float(model.tol), left, each, start, shrinking, watch)


def facts_of(
    examples: Examples, problems: list[BinaryProblem], n_jobs: int | None
) -> dict[Any, Facts]:
    """What the checker wants to know of the data, by the label that counts as +1."""
    labels = list(dict.fromkeys(problem.positive for problem in problems))
    with rows_in_threads(examples.X, n_jobs) as each:
        known = gather_facts(examples.X, examples.y, labels, each=each)
    return {
        label: Facts(known.longest, [sketch])
        for label, sketch in zip(labels, known.sketches, strict=True)
    }
