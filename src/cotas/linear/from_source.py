"""Linear classifiers from a source of row blocks: the same solver and proof, and no array of X."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cotas.arrays import FloatArray
from cotas.certificates import Certificate
from cotas.certificates.block_points import BlockPoint
from cotas.certificates.blocks import Signs, Watched
from cotas.certificates.softmax import SoftmaxPoint
from cotas.fitting.from_source import (
    Recoded,
    SourceClasses,
    bound_to,
    draw_sample,
    note_columns,
    read_classes,
    shift_of,
)
from cotas.fitting.parameters import penalty_of
from cotas.fitting.pursuit import Ended, Pursuit, end_of_share, worst_of
from cotas.problem import RegularizedRisk, SoftmaxRisk, relative_gap
from cotas.rounds import Rounds
from cotas.running import Monitor, blocks_in_threads
from cotas.solvers.iterate import Iterate
from cotas.solvers.losses import SMOOTH
from cotas.solvers.newton import NewtonPoint, rough_solution
from cotas.solvers.proximal_newton import newton_points
from cotas.solvers.semismooth_newton import FEWEST, FEWEST_BY_FEATURE, newton_over_blocks
from cotas.solvers.smooth_rows import RowLosses, SoftmaxLosses
from cotas.source import Block, Changed, Source
from cotas.words import say

IN_BLOCKS = "Solved by newton, the rows coming in blocks."


@dataclass(frozen=True)
class BlockSolution:
    """A model of one class against the rest, or of all classes, with its certificate."""

    point: BlockPoint | SoftmaxPoint
    certificate: Certificate


@dataclass(frozen=True)
class BlockCheck:
    """The check of (θ, θ₀) and the rounds that make α."""

    source: Source
    classes: SourceClasses
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
        """Compute θ = 0, where every solver begins."""
        return Iterate((np.zeros(self.source.n_features), 0.0))


@dataclass(frozen=True)
class SoftmaxCheck:
    """The check of a softmax regression, by its own probabilities."""

    source: Source
    classes: SourceClasses
    problem: SoftmaxRisk

    def __call__(self, iterate: Iterate) -> BlockSolution:
        theta, theta0 = iterate.model
        coef = np.ascontiguousarray(theta.T)
        given = (self.classes.labels, coef, theta0, None, self.classes.factors)
        point = SoftmaxPoint(self.problem, coef, theta0, *given)
        return BlockSolution(point, point.check(self.source))

    def start(self) -> Iterate:
        """Compute W = 0, where every solver begins."""
        k = len(self.classes.labels)
        return Iterate((np.zeros((self.source.n_features, k)), np.zeros(k)))


def fit_in_blocks(
    model: Any,
    source: Source,
    problem_of: Callable[[float], RegularizedRisk],
    softmax_of: Callable[[float], SoftmaxRisk] | None = None,
) -> list[Ended[BlockSolution]]:
    """Find the best model of each class; `model` is a classifier with `lam`, `tol` and limits.

    `problem_of` makes the problem of λ, and `softmax_of` that of more than two classes together.
    """
    began = time.perf_counter()
    with Monitor(model) as monitor, blocks_in_threads(model.n_jobs) as each:
        bound = bound_to(source, each, targets=False)
        classes = read_classes(bound, model.class_weight)
        note_columns(model, source)
        model.classes_, model.lam_ = classes.labels, penalty_of(model, classes.total)
        together = softmax_of is not None and len(classes.labels) > 2
        fewest = max(FEWEST, FEWEST_BY_FEATURE * source.n_features)
        sample = draw_sample(bound, fewest)
        labels = [None] if together else classes.positives().tolist()
        ended = []
        for c, label in enumerate(labels):
            until = end_of_share(began, model.max_time, c, len(labels))
            limits = (model.tol, model.max_iter, until, monitor)
            pursuit: Pursuit[BlockSolution] = Pursuit(*limits, began=began, label=label)
            known = tuple(classes.labels.tolist()) if label is None else (label,)
            watched = Watched(bound, Signs(known, classes.pairs))
            check: BlockCheck | SoftmaxCheck
            if softmax_of is not None and together:
                check = SoftmaxCheck(watched, classes, softmax_of(model.lam_))
            else:
                check = BlockCheck(watched, classes, label, problem_of(model.lam_))
            iterates = iterates_in_blocks(bound, classes, known, check.problem, sample)
            ended.append(pursuit.follow(iterates, check, start=check.start()))
    return ended


def iterates_in_blocks(
    source: Source,
    classes: SourceClasses,
    labels: tuple[Any, ...],
    problem: Any,
    sample: Block | None,
) -> Iterator[Iterate]:
    """Run Newton's method for one label against the rest, or for several together.

    On the hinge α comes as rounds; of a smooth loss the slopes are α. The columns of the source and
    the sample are moved near zero if the bias is free.
    """
    shift = shift_of(source) if problem.free_bias else None
    change = Recoded(labels, classes.pairs, shift)
    moved, some = Changed(source, change), None if sample is None else change(sample)
    if isinstance(problem, RegularizedRisk) and problem.gain_is_linear:
        return _hinge_iterates(moved, classes.total, problem, shift, some)
    if isinstance(problem, SoftmaxRisk):
        points = _points(moved, some, SoftmaxLosses(len(labels), classes.total), problem)
        return (_in_place(found, shift) for found in points)
    points = _points(moved, some, RowLosses(SMOOTH[problem.loss.name], classes.total), problem)
    return (_of_one_class(_in_place(found, shift)) for found in points)


def _hinge_iterates(
    source: Source, total: float, problem: RegularizedRisk, shift: FloatArray | None,
    sample: Block | None,
) -> Iterator[Iterate]:  # fmt: skip
    bias = float(problem.free_bias)
    for found in newton_over_blocks(source, total, problem.lam, bias, sample):
        believed = relative_gap(found.primal - found.dual, found.primal)
        theta, theta0, alpha = found.theta, found.theta0, found.alpha
        if shift is not None:
            theta0 = theta0 - float(theta @ shift)
            alpha = alpha._replace(biases=alpha.biases - alpha.thetas @ shift)
        yield Iterate((theta, theta0), alpha, believed)


def _points(
    source: Source, sample: Block | None, losses: Any, problem: RegularizedRisk | SoftmaxRisk
) -> Iterator[NewtonPoint]:
    """Return the points of Newton's method, which begin where the sample ends."""
    start = None
    if sample is not None:
        known = replace(losses, total=float(sample.shares().sum()))
        loss = known.of(sample.y, sample.shares())
        start = rough_solution(newton_points(sample.X, loss, problem))
    return newton_points(source, losses, problem, start)


def _in_place(found: NewtonPoint, shift: FloatArray | None) -> Iterate:
    """Return a model of columns that were moved, as one of those that were not."""
    theta0 = found.theta0 if shift is None else found.theta0 - shift @ found.theta
    return Iterate((found.theta, theta0), None, relative_gap(found.gap, found.objective))


def _of_one_class(iterate: Iterate) -> Iterate:
    theta, theta0 = iterate.model
    return iterate._replace(model=(theta[:, 0], float(theta0[0])))


def keep(model: Any, ended: list[Ended[BlockSolution]], note: str) -> Any:
    """Keep what was found as an ordinary linear classifier does."""
    solutions = [one.proved for one in ended]
    model.coef_ = np.vstack([solution.point.coef for solution in solutions])
    model.intercept_ = np.hstack([solution.point.intercept for solution in solutions])
    model._certificates = [solution.certificate.noted(say(note)) for solution in solutions]
    model.n_iter_ = max(one.iterations for one in ended)
    return worst_of(ended)
