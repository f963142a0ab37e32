"""Linear classifiers from a source of row blocks: the same solver and proof, and no array of X."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates import Certificate
from cotas.certificates.blocks import BlockPoint, Signs, Watched
from cotas.fitting.from_source import (
    AgainstTheRest,
    Classes,
    blocks_in_threads,
    bound_to,
    draw_sample,
    note_columns,
    read_classes,
    shift_of,
)
from cotas.fitting.parameters import penalty_of
from cotas.fitting.pursuit import Ended, Pursuit, end_of_turn, worst_of
from cotas.problem import RegularizedRisk, relative_gap
from cotas.progress import Monitor
from cotas.rounds import Rounds
from cotas.solvers.iterate import Iterate
from cotas.solvers.losses import SMOOTH
from cotas.solvers.newton_blocks import smooth_over_blocks
from cotas.solvers.semismooth_newton import FEWEST, FEWEST_BY_FEATURE, newton_over_blocks
from cotas.source import Block, Changed, Source
from cotas.words import say

IN_BLOCKS = "Solved by newton, the rows coming in blocks."


@dataclass(frozen=True)
class BlockSolution:
    """A model of one class against the rest, with its certificate."""

    point: BlockPoint
    certificate: Certificate


@dataclass(frozen=True)
class BlockCheck:
    """Proves what it can of (θ, θ₀) and the rounds that make α."""

    source: Source
    classes: Classes
    label: Any
    problem: RegularizedRisk

    def __call__(self, iterate: Iterate) -> BlockSolution:
        theta, theta0 = iterate.model
        rounds = iterate.dual or Rounds.none(len(theta))
        classes = self.classes
        point = BlockPoint(
            problem=self.problem,
            coef=theta,
            intercept=float(theta0),
            positive=self.label,
            thetas=rounds.thetas,
            biases=rounds.biases,
            smoothings=rounds.smoothings,
            labels=None if classes.factors is None else classes.labels,
            factors=classes.factors,
        )
        return BlockSolution(point, BlockPoint.check_all([point], self.source)[0])

    def start(self) -> Iterate:
        """θ = 0, where every solver begins."""
        return Iterate((np.zeros(self.source.n_features), 0.0))


def fit_in_blocks(
    model: Any,
    source: Source,
    problem_of: Callable[[float], RegularizedRisk],
    against_several: str | None = None,
) -> list[Ended[BlockSolution]]:
    """Find the best model of each class; `model` is a classifier with `lam`, `tol` and limits.

    `problem_of` makes the problem of λ. What speaks against more than two classes is raised.
    """
    began = time.perf_counter()
    with Monitor(model) as monitor, blocks_in_threads(model.n_jobs) as each:
        bound = bound_to(source, each, targets=False)
        classes = read_classes(bound, model.class_weight)
        if against_several is not None and len(classes.labels) > 2:
            raise ValueError(against_several)
        note_columns(model, source)
        model.classes_, model.lam_ = classes.labels, penalty_of(model, classes.total)
        problem = problem_of(model.lam_)
        fewest = max(FEWEST, FEWEST_BY_FEATURE * source.n_features)
        sample = draw_sample(bound, fewest)
        labels = classes.positives().tolist()
        ended = []
        for c, label in enumerate(labels):
            until = end_of_turn(began, model.max_time, c, len(labels))
            limits = (model.tol, model.max_iter, until, monitor)
            pursuit: Pursuit[BlockSolution] = Pursuit(*limits, began=began, label=label)
            watched = Watched(bound, Signs((label,), classes.pairs))
            check = BlockCheck(watched, classes, label, problem)
            method = hinge_iterates if problem.gain_is_linear else smooth_iterates
            iterates = method(bound, classes, label, problem, sample)
            ended.append(pursuit.follow(iterates, check, start=check.start()))
    return ended


def hinge_iterates(
    source: Source, classes: Classes, label: Any, problem: RegularizedRisk, sample: Block | None
) -> Iterator[Iterate]:
    """Newton's method on the rounded hinge, with α as rounds."""
    change, signed, start = _moved(source, classes, label, problem, sample)
    given = (classes.total, problem.lam, float(problem.free_bias), start)
    for found in newton_over_blocks(signed, *given):
        believed = relative_gap(found.primal - found.dual, found.primal)
        theta, theta0, alpha = found.theta, found.theta0, found.alpha
        if change.shift is not None:
            theta0 = theta0 - float(theta @ change.shift)
            alpha = alpha._replace(biases=alpha.biases - alpha.thetas @ change.shift)
        yield Iterate((theta, theta0), alpha, believed)


def _moved(
    source: Source, classes: Classes, label: Any, problem: RegularizedRisk, sample: Block | None
) -> tuple[AgainstTheRest, Source, Block | None]:
    """The source and the sample with y = ±1, their columns moved near zero if the bias is free."""
    shift = shift_of(source) if problem.free_bias else None
    change = AgainstTheRest(label, classes.pairs, shift)
    return change, Changed(source, change), None if sample is None else change(sample)


def smooth_iterates(
    source: Source, classes: Classes, label: Any, problem: RegularizedRisk, sample: Block | None
) -> Iterator[Iterate]:
    """Newton's method on a smooth loss, whose slopes are α."""
    change, signed, start = _moved(source, classes, label, problem, sample)
    given = (SMOOTH[problem.loss.name], problem.lam, problem.free_bias, start)
    for found in smooth_over_blocks(signed, classes.total, *given):
        theta0 = found.theta0
        if change.shift is not None:
            theta0 -= float(found.theta @ change.shift)
        yield Iterate((found.theta, theta0), None, relative_gap(found.gap, found.objective))


def keep(model: Any, ended: list[Ended[BlockSolution]], note: str) -> Any:
    """Keep what was found as an ordinary linear classifier does."""
    solutions = [one.proved for one in ended]
    model.coef_ = np.array([solution.point.coef for solution in solutions])
    model.intercept_ = np.array([solution.point.intercept for solution in solutions])
    model._certificates = [solution.certificate.noted(say(note)) for solution in solutions]
    model.n_iter_ = max(one.iterations for one in ended)
    return worst_of(ended)


def margin_widths(coef: FloatArray) -> FloatArray:
    """2/‖θ‖ of each class."""
    lengths = np.linalg.norm(coef, axis=1)
    wide = np.full_like(lengths, np.inf)
    return np.asarray(np.divide(2.0, lengths, out=wide, where=lengths > 0))
