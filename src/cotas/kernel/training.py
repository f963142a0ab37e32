"""The binary problems of a fit, one after the other or side by side."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from cotas.arrays import Each, FloatArray, Matrix
from cotas.certificates.sweep import Facts, gather_facts
from cotas.fitting.data import Examples
from cotas.fitting.pursuit import Ended
from cotas.fitting.threads import one_thread_in_blas, pooled, thread_count
from cotas.kernel.blocks import KernelBlocks
from cotas.kernel.machine import KernelCheck, Machine, Setting, helped
from cotas.kernel.problems import BinaryProblem
from cotas.solvers.iterate import Iterate
from cotas.solvers.kernel_dual import SignedDual
from cotas.solvers.smo import smo
from cotas.solvers.smo_simple import smo_simple
from cotas.solvers.working_set import Move, Watch

# Problems of up to so many rows are solved side by side, one in each thread.
SMALL = 4000


def solve_all(
    setting: Setting,
    problems: list[BinaryProblem],
    starts: list[FloatArray | None],
) -> list[Ended[Machine]]:
    """Solve each problem in all the threads, or many small ones side by side."""
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
    with one_thread_in_blas(), pooled(n_jobs, largest * largest) as each:
        return [solve(part, 1, each) for part in parts]


def iterates(
    setting: Setting,
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


def facts_of(examples: Examples, problems: list[BinaryProblem]) -> dict[Any, Facts]:
    """What the checker wants to know of the data, by the label that counts as +1."""
    labels = list(dict.fromkeys(problem.positive for problem in problems))
    known = gather_facts(examples.X, examples.y, labels)
    return {
        label: Facts(known.longest, [sketch])
        for label, sketch in zip(labels, known.sketches, strict=True)
    }
