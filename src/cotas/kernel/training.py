"""The binary problems of a fit, one after the other or side by side."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

from cotas.arrays import FloatArray, Matrix
from cotas.certificates.sweep import Facts, gather_facts
from cotas.fitting.data import Examples
from cotas.fitting.reporting import as_callbacks
from cotas.fitting.threads import cpu_count, one_thread_in_blas
from cotas.kernel.blocks import KernelBlocks
from cotas.kernel.problems import BinaryProblem
from cotas.kernel.search import KernelSearch, Machine, Setting, say_interrupted
from cotas.solvers.kernel_dual import KernelCandidate, SignedDual
from cotas.solvers.smo import smo
from cotas.solvers.smo_simple import smo_simple

Candidates: TypeAlias = Generator[KernelCandidate, FloatArray | None, None]

# Problems of up to so many rows are solved side by side, one in each thread.
SMALL = 4000


def solve_all(
    setting: Setting,
    problems: list[BinaryProblem],
    starts: list[FloatArray | None],
) -> list[Machine]:
    """Each problem in all the threads, or many small ones side by side."""
    largest = max(len(problem.signs) for problem in problems)
    side_by_side = (
        len(problems) > 1 and largest <= SMALL and not as_callbacks(setting.model.callbacks)
    )
    machines = []
    with ThreadPoolExecutor(cpu_count()) as pool, one_thread_in_blas():
        if not side_by_side:
            for number, (problem, start) in enumerate(zip(problems, starts, strict=True)):
                machines.append(solve(setting, problem, start, number, pool.map))
            return machines
        running = [
            pool.submit(solve, setting, problem, start, None, map)
            for problem, start in zip(problems, starts, strict=True)
        ]
        try:
            for number, future in enumerate(running):
                machine = future.result()
                setting.bar.reach(number + 1, machine.certificate.relative_gap)
        except KeyboardInterrupt:
            say_interrupted(setting)
        return [future.result() for future in running]


def solve(
    setting: Setting,
    problem: BinaryProblem,
    start: FloatArray | None,
    number: int | None,
    each: Any,
) -> Machine:
    """Follow the solver and keep its best model, by what the checker makes of it."""
    search = KernelSearch(setting, problem, each)
    return search.follow(candidates(setting, problem, search.X, start, each), number)


def candidates(
    setting: Setting, problem: BinaryProblem, X: Matrix, start: FloatArray | None, each: Any
) -> Candidates:
    """The run of the solver that the model asks for, on the rows that take part."""
    model = setting.model
    # Problems side by side share the cache out among them.
    size = int(model.cache_mb * 2**20) // (cpu_count() if each is map else 1)
    blocks = KernelBlocks(setting.kernel, X, size // 2)
    bias = bool(model.fit_intercept)
    given = (problem.signs, problem.weights, problem.lam, bias)
    if model.solver == "smo-simple":
        return smo_simple(blocks, *given)
    tol, room = float(model.tol), size - blocks.copied
    dual = SignedDual.of(*given)
    return smo(blocks, dual, tol, room, each, start, shrinking=bool(model.shrinking))


def facts_of(examples: Examples, problems: list[BinaryProblem]) -> dict[Any, Facts]:
    """What the checker wants to know of the data, by the label that counts as +1."""
    labels = list(dict.fromkeys(problem.positive for problem in problems))
    known = gather_facts(examples.X, examples.y, labels)
    return {
        label: Facts(known.longest, [sketch])
        for label, sketch in zip(labels, known.sketches, strict=True)
    }
