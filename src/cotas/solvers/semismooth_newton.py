"""The linear support vector machine by Newton's method on its rounded hinge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from cotas.arrays import Each, FloatArray, Matrix
from cotas.design import as_design
from cotas.solvers.dual_coordinate_ascent import CYCLES, dual_coordinate_ascent
from cotas.solvers.interior_point import PrimalDual, Start, factorized, interior_point
from cotas.solvers.iterate import AT_EACH, Checkpoint
from cotas.solvers.newton_round import (
    PATIENCE,
    SHARPER,
    SHARPEST,
    SMOOTHING,
    SMOOTHING_FROM_START,
    RoundedProblem,
    derivative,
    is_small,
    rounds_on_small_table,
    zero,
)
from cotas.solvers.rounded_blocks import BlockRows
from cotas.solvers.rounded_hinge import HingeRows, Response
from cotas.source import Block, Source

# The smoothing of the first round after sweeps of coordinate ascent, as such and by the gap.
SMOOTHING_FROM_SWEEPS, SMOOTHING_BY_GAP = 0.1, 4.0
# A part of the rows this small is solved first, if it has so many rows and rows for each feature.
SAMPLE, FEWEST, FEWEST_BY_FEATURE = 0.1, 1000, 5
SAMPLE_GAP = 0.01
# With more features than this coordinate ascent comes first: a Gram matrix is dearer than sweeps.
# That of sparse rows with no more entries than this, on the average, is not.
FEW_FEATURES, SHORT = 300, 64
# With fewer it does where the eigenvalues of Σ xᵢxᵢᵀ/n are no more than so many λ, on the average,
# so that a few sweeps suffice, and what is known of so many rows stays in the cache of a core. The
# spring of a bias makes each row twice as stiff.
WELL_CONDITIONED, NEAR_AT_HAND = 128.0, 1 << 16
# With more than this the systems are solved by conjugate gradients, to this residual.
LARGEST_SYSTEM, RESIDUAL, DIRECTIONS = 1000, 0.1, 300
# A round of coordinate ascent with more cycles than this does not get on: it is Newton's turn. So
# few take as long as some Newton steps on short sparse rows, which have cheap systems.
CYCLES_BESIDE_A_SYSTEM, CYCLES_BESIDE_A_CHEAP_ONE = 50, 1
# The same where each of the conjugate gradients would have to read all the rows again.
LARGEST_IN_BLOCKS = 2000


def semismooth_newton(
    X: Matrix,
    y: FloatArray,
    weights: FloatArray,
    lam: float,
    bias: float,
    start: Start | None = None,
    each: Each = map,
    checkpoint: Checkpoint = AT_EACH,
    tol: float = 0.0,
) -> Iterator[PrimalDual]:
    """Yield primal–dual iterates for the SVM, one for each Newton step, or `checkpoint` on a small
    table.

        min Σ sᵢ max(0, 1 − yᵢ(θ·xᵢ + θ₀)) + (λ/2)‖θ‖²

    The proximal point method on the dual: each round maximizes D(α) − ν Σ (αᵢ − cᵢ)²/sᵢ, c being
    the α of the round before. In θ that is the primal with a hinge that a parabola rounds off,

        αᵢ = sᵢ clip(cᵢ/sᵢ − eᵢ/2ν, 0, 1),      eᵢ = yᵢ(θ·xᵢ + θ₀) − 1,      λθ = Σ αᵢyᵢxᵢ,

    whose second derivative sees only the rows with 0 < αᵢ < sᵢ: a Newton step costs a Gram matrix
    over those few and a pass over X. The line search is exact. This is the method of Li, Sun and
    Toh 2018 (SSNAL), for the SVM. Departures: ν shrinks from round to round; the start comes from
    a tenth of the rows, solved roughly. With many features, or a large λ, Newton's method takes
    turns with coordinate ascent, which aims at the relative gap `tol`, each as long as it gets on;
    with very many features the systems are solved by conjugate gradients.
    Invariant: 0 ≤ α ≤ s; `primal` is P, and `dual` the dual value of α, or with a free bias about
    what it will be when Σ αᵢyᵢ = 0. Cost: O(nnz) and O(md²) a step, m being the rows with
    0 < αᵢ < sᵢ.
    """
    problem = (y, weights, lam, bias, start)
    if ascent_comes_first(X, lam, bias):
        return _alternating(X, *problem, each, tol)
    if is_small(*X.shape):
        return rounds_on_small_table(as_design(X), X.shape[1], *problem, checkpoint)
    return _newton_alone(X, *problem, each)


def _alternating(
    X: Matrix, y: FloatArray, weights: FloatArray, lam: float, bias: float, start: Start | None,
    each: Each, tol: float,
) -> Iterator[PrimalDual]:  # fmt: skip
    """Run coordinate ascent as long as it gets on, Newton's method from there, and so on."""
    problem, rows = RoundedProblem(lam, bias), HingeRows(as_design(X), y, weights, each)
    cycles = CYCLES_BESIDE_A_CHEAP_ONE if short_and_sparse(X) else CYCLES_BESIDE_A_SYSTEM
    cycles = CYCLES if X.shape[1] > LARGEST_SYSTEM else cycles
    while True:
        given = (rows.rows, y, weights, lam, bias, 0, start, each, tol, cycles)
        for reached in dual_coordinate_ascent(*given):
            yield reached.found
            if not reached.settled:
                break
        found = reached.found
        np.divide(found.alpha, weights, out=rows.state.centre)
        start = Start(found.alpha, found.theta0, found.theta)
        gap = (found.primal - found.dual) / found.primal
        nu = min(max(SMOOTHING_FROM_SWEEPS, SMOOTHING_BY_GAP * gap), SMOOTHING)
        for iterate in _newton_steps(rows, problem, start, nu):
            yield iterate
        start = Start(rows.alpha, iterate.theta0, iterate.theta)


def _newton_alone(
    X: Matrix, y: FloatArray, weights: FloatArray, lam: float, bias: float,
    start: Start | None = None, each: Each = map,
) -> Iterator[PrimalDual]:  # fmt: skip
    """Run Newton's method from what is known, else from a sample, else from nothing."""
    rows, nu = HingeRows(as_design(X), y, weights, each), SMOOTHING_FROM_START
    if start is not None:
        np.divide(start.alpha, weights, out=rows.state.centre)
    else:
        start = _from_a_sample(X, y, weights, lam, bias)
    if start is None:
        start, nu = Start(np.zeros(len(y)), 0.0, np.zeros(X.shape[1])), SMOOTHING
    yield from _newton_steps(rows, RoundedProblem(lam, bias), start, nu)


def ascent_comes_first(X: Matrix, lam: float, bias: float) -> bool:
    """Tell whether coordinate ascent is the start, in turns with which Newton's method goes on.

    It is where few sweeps suffice, and where a Gram matrix is dear. That of short sparse rows is
    only if there is no sample to begin with.
    """
    n, d = X.shape
    if is_small(n, d):
        return bool(d > FEW_FEATURES)
    if not bias and n <= NEAR_AT_HAND and mean_eigenvalue(X) <= WELL_CONDITIONED * lam:
        return True
    if not sparse.issparse(X):
        return bool(d > FEW_FEATURES)
    cheap = d <= FEW_FEATURES or (d <= LARGEST_SYSTEM and short_and_sparse(X))
    return not cheap or sample_size(n, d) == 0


def mean_eigenvalue(X: Matrix) -> float:
    """Compute the mean eigenvalue of Σ xᵢxᵢᵀ/n: the mean square of an entry."""
    n, d = X.shape
    if sparse.issparse(X):
        return float(np.vdot(X.data, X.data) / (n * d))
    return float(np.einsum("ij,ij->", X, X, dtype=np.float64) / (n * d))


def short_and_sparse(X: Matrix) -> bool:
    """Tell whether rows have so few entries that their Gram matrix is cheap."""
    return bool(sparse.issparse(X) and X.nnz <= SHORT * X.shape[0])


def sample_size(n: int, d: int) -> int:
    """Tell how many rows are solved first; none if they are not worth it."""
    size = int(SAMPLE * n)
    return size if size >= max(FEWEST, FEWEST_BY_FEATURE * d) else 0


def to_the_last_digit(
    X: Matrix,
    y: FloatArray,
    weights: FloatArray,
    lam: float,
    bias: float,
    start: Start | None = None,
    each: Each = map,
    checkpoint: Checkpoint = AT_EACH,
    tol: float = 0.0,
) -> Iterator[PrimalDual]:
    """Yield Newton's iterates, and where they end those of the interior point, if its system
    fits."""
    problem = (X, y, weights, lam, bias)
    yield from semismooth_newton(*problem, start, each, checkpoint, tol)
    if X.shape[1] <= LARGEST_SYSTEM:
        yield from interior_point(*problem)


def newton_over_blocks(
    source: Source, total: float, lam: float, bias: float, sample: Block | None
) -> Iterator[PrimalDual]:
    """Yield the same for rows that come in blocks, of which nothing is kept; α comes as `Rounds`.

    y of the source is ±1, and its weights sum to `total`. The start is a rough solution for the
    `sample`. Each Newton step is one pass over the blocks or, where the line search shortens it, a
    few; with very many features each of the conjugate gradients is a pass too.
    """
    rows, problem = BlockRows(source, total, LARGEST_IN_BLOCKS), RoundedProblem(lam, bias)
    found = None if sample is None else _rough(sample.X, sample.y, sample.shares(), lam, bias)
    nu = SMOOTHING_FROM_START
    if found is None:
        found, nu = Start(np.zeros(0), 0.0, np.zeros(source.n_features)), SMOOTHING
    yield from _newton_steps(rows, problem, found, nu)


def _newton_steps(
    rows: HingeRows | BlockRows, problem: RoundedProblem, start: Start, nu: float
) -> Iterator[PrimalDual]:
    """Step from the centres of the rows, until the steps no longer get on."""
    lam, theta, theta0 = problem.lam, np.asarray(start.theta, np.float64), start.theta0
    theta0 *= problem.bias
    rows.place(theta, theta0)
    best, idle = np.inf, 0
    while idle < PATIENCE:
        answer = rows.respond(nu)
        # About what it will cost to bring Σ αᵢyᵢ to zero.
        unbalanced = problem.bias * abs(answer.balance) * (1.0 + abs(theta0))
        pull = answer.combination
        primal = answer.loss + 0.5 * lam * float(theta @ theta)
        dual = answer.total - 0.5 * float(pull @ pull) / lam - unbalanced
        yield PrimalDual(theta, theta0, rows.alpha, primal, dual)
        gap = primal - dual
        best, idle = (gap, 0) if gap <= 0.5 * best else (best, idle + 1)
        gradient = np.append(lam * theta - pull, -problem.bias * answer.balance)
        lack = float(gradient[:-1] @ gradient[:-1])
        if lack <= lam * gap and unbalanced <= 0.25 * gap:
            # The gap is what rounding the hinge off costs, no longer what θ and θ₀ lack.
            rows.recentre()
            nu = max(SHARPER * nu, SHARPEST)
            continue
        step = _newton_step(rows, problem, answer, nu, gradient)
        length = 0.0 if step is None else _line_search(rows, problem, theta, step, nu)
        if step is None or not length > 0.0:
            return  # rounding has the upper hand
        rows.move(length)
        theta = theta + length * step[:-1]
        theta0 += length * problem.bias * float(step[-1])


def _from_a_sample(
    X: Matrix, y: FloatArray, weights: FloatArray, lam: float, bias: float
) -> Start | None:
    """Return a rough solution for a part of the rows, which does the same in its turn."""
    n, d = X.shape
    size = sample_size(n, d)
    if not size:
        return None
    some = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    return _rough(X[some], y[some], weights[some], lam, bias)


def _rough(X: Matrix, y: FloatArray, weights: FloatArray, lam: float, bias: float) -> Start | None:
    """Return a rough solution for some rows; none if they are of one class."""
    used = weights > 0
    if not used.all():
        X, y, weights = X[used], y[used], weights[used]
    if not (y > 0).any() or not (y < 0).any():
        return None
    share = weights / weights.sum()
    # A sample is rough work: its rows, few as they are, need no other start.
    alone = X.shape[1] <= FEW_FEATURES and not is_small(*X.shape)
    run = _newton_alone if alone else semismooth_newton
    for iterate in run(X, y, share, lam, bias):
        if iterate.primal - iterate.dual <= SAMPLE_GAP * iterate.primal:
            break
    return Start(iterate.alpha, iterate.theta0, iterate.theta)


def _newton_step(
    rows: HingeRows | BlockRows,
    problem: RoundedProblem,
    answer: Response,
    nu: float,
    gradient: FloatArray,
) -> FloatArray | None:
    """Return the step to the minimum of the parabola that the rounded objective is near by."""
    d, curved = rows.n_features, answer.curved
    own = np.append(np.full(d, problem.lam), 0.0 if problem.bias else 1.0)
    if rows.with_gram if isinstance(rows, BlockRows) else d <= LARGEST_SYSTEM:
        system = rows.gram(curved) / (2.0 * nu)
        if problem.bias:
            # A bias that no curved row holds is held a little by itself.
            system[d, d] = max(system[d, d], 1e-6 / (2.0 * nu))
        else:
            system[d, :] = 0.0
        system[np.arange(d + 1), np.arange(d + 1)] += own
        solve = factorized(system)
        return None if solve is None else solve(-gradient)
    kept = np.append(np.ones(d), problem.bias)
    diagonal = own + kept * np.maximum(rows.diagonal(curved), 1e-6 * (own == 0.0)) / (2.0 * nu)

    def times_hessian(direction: FloatArray) -> FloatArray:
        return own * direction + kept * rows.bend(curved, kept * direction) / (2.0 * nu)

    size = (d + 1, d + 1)
    step, _ = cg(
        LinearOperator(size, matvec=times_hessian, dtype=np.float64),
        -gradient,
        rtol=RESIDUAL,
        maxiter=DIRECTIONS,
        M=LinearOperator(size, matvec=lambda v: v / diagonal, dtype=np.float64),
    )
    return np.asarray(step)


class _LineOfSpans(NamedTuple):
    """The rounded objective along a step, the rows being gone over in spans."""

    rows: HingeRows | BlockRows
    nu: float
    fixed: float
    linear: float


@derivative.when(_LineOfSpans)
def _derivative(line: _LineOfSpans, length: float) -> float:
    return line.fixed + length * line.linear - line.rows.slope(line.nu, length)


def _line_search(
    rows: HingeRows | BlockRows,
    problem: RoundedProblem,
    theta: FloatArray,
    step: FloatArray,
    nu: float,
) -> float:
    """Return the length with the least rounded objective: where its derivative is zero."""
    along = step[:-1]
    rows.set_direction(along, problem.bias * float(step[-1]))
    fixed, linear = problem.lam * float(theta @ along), problem.lam * float(along @ along)
    line = _LineOfSpans(rows, nu, fixed, linear)
    return float(zero.py_func(line))  # type: ignore[attr-defined]
