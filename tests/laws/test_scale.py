"""Rows in blocks: whatever the source, the same model and the same proof."""

from __future__ import annotations

import inspect
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from operator import mul

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import dump_svmlight_file
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags

import cotas
from cotas import losses
from cotas.certificates import Certificate, binding
from cotas.certificates.block_points import BlockPoint
from cotas.certificates.core.margins import LOSSES
from cotas.certificates.presentation import OPTIMIZATION
from cotas.cli import data as cli_data
from cotas.cli.command import UsageError
from cotas.cli.models import task_of
from cotas.files.claims import rows_of_a_group
from cotas.files.problems import DataFileError
from cotas.preparation import statistics, streamed
from cotas.problem import RegularizedRisk
from cotas.rounds import Rounds
from cotas.running import in_order
from cotas.scale import pages as pages_module
from cotas.scale.decoding import decoded_bytes
from cotas.scale.page_files import PageError
from cotas.scale.pages import page_folders, remove_pages
from cotas.scale.shuffling import Foremost
from cotas.solvers import block_trees, smooth_rows
from cotas.solvers.rounded_blocks import Bend, Diagonal, DualState, Respond
from cotas.source import Arrays, Block, NotInBlocksError, Sums, in_groups, in_pairs
from cotas.stops import InterruptedWarning, Stop
from errors import refuses, says
from in_blocks import EVERY, MIXED, TAKE, made, same_parameters, spoil
from terminal import cotas as terminal
from terminal import customers

RNG = np.random.default_rng(7)
N, D = 600, 5
X = RNG.normal(size=(N, D)) * [1.0, 3.0, 0.2, 1.0, 10.0] + [0.0, 5.0, 0.0, -100.0, 0.0]
Z = (X - X.mean(axis=0)) / X.std(axis=0) @ RNG.normal(size=D) + 0.7 * RNG.normal(size=N)
TWO, THREE = np.where(Z > 0, "yes", "no"), np.digitize(Z, [-1.0, 1.0])
WEIGHTS = RNG.integers(0, 3, size=N).astype(float)
FEW = sparse.csr_matrix(np.where(RNG.random(X.shape) < 0.4, np.round(X, 3), 0.0))
LAYOUTS = {"dense": X, "single": X.astype(np.float32), "sparse": FEW}


def test_these_take_a_source():
    names = {kind.__name__ for kind in TAKE}
    assert names >= {"LinearSVM", "LogisticRegression", "LeastSquares", "Ridge"}
    assert names >= {"Lasso", "ElasticNet", "ForwardStagewise", "RegularizedForwardStagewise"}
    assert names >= {"AdaBoost", "RealAdaBoost", "LogitBoost", "GentleBoost", "LSBoost"}
    assert names >= {kind.__name__ for kind in MIXED}


def several_targets(kind):
    """The y that a regressor may have."""
    several = get_tags(kind()).target_tags.multi_output
    return (Z, np.stack([Z, Z + X[:, 0]], axis=1)) if several else (Z,)


def same(found, expected):
    """Labels are the same, numbers up to rounding."""
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    else:
        np.testing.assert_array_equal(found, expected)


def as_good(kind, other, one):
    """Whether as much is proved; runs that are mixed are others for other blocks."""
    tol = getattr(made(kind), "tol", None)
    return tol is None or other.relative_gap <= max(tol, 2 * one.relative_gap)


def both(kind, layout, y, weights, **given):
    model = made(kind).set_params(**given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = clone(model).fit(LAYOUTS[layout], y, sample_weight=weights)
        source = Arrays(LAYOUTS[layout], y, weights, block_rows=170)
        return here, clone(model).fit(source), source


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_memory_and_blocks_prove_the_same(kind, layout):
    several = (TWO, THREE) if is_classifier(kind()) else several_targets(kind)
    for y, weights in ((several[0], None), (several[-1], WEIGHTS)):
        here, there, source = both(kind, layout, y, weights)
        pairs = zip(here.certificate_.singles, there.certificate_.singles, strict=True)
        for one, other in pairs:
            assert other.holds
            assert one.kind == other.kind
            if one.kind not in OPTIMIZATION:  # another run, which has counted its own mistakes
                continue
            assert max(one.lower, other.lower) <= min(one.upper, other.upper)
            assert as_good(kind, other, one)
            assert one.statement.split(" than ")[0] == other.statement.split(" than ")[0]
        assert there.certificate_.discrepancies(source) == []
        if not is_classifier(kind()) or hasattr(here, "ensembles_"):
            same_parameters(here, there, digits=10)  # from the Gram matrix, or histograms
        given = LAYOUTS[layout]
        same(there.predict(source), there.predict(given))
        score = there.score(given, y, weights)
        assert there.score(source) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_what_is_proved_in_blocks_is_verified_in_memory_and_survives_a_file(kind, tmp_path):
    y = TWO if is_classifier(kind()) else Z
    model = made(kind).fit(Arrays(X, y, block_rows=170))
    assert model.certificate_.verify(X, y)
    model.save(tmp_path / "model.cotas")
    again = cotas.load(tmp_path / "model.cotas")
    assert again.certificate_.verify(Arrays(X, y, block_rows=170))
    spoil(model)
    assert not model.certificate_.holds
    swapped = y.copy()
    swapped[0], swapped[1] = y[np.argmax(y != y[0])], y[0]
    assert not again.certificate_.verify(Arrays(X, swapped, block_rows=170))


@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_no_bit_depends_on_the_number_of_threads(kind):
    source = Arrays(X, TWO if is_classifier(kind()) else Z, block_rows=31)
    models = [made(kind).set_params(n_jobs=jobs).fit(source) for jobs in (1, 2, 5)]
    for model in models[1:]:
        same_parameters(model, models[0])
        assert str(model.certificate_.to_dict()) == str(models[0].certificate_.to_dict())


@pytest.mark.parametrize("weight", ["balanced", {"yes": 3.0}])
def test_weights_of_classes(weight):
    for kind in (kind for kind in TAKE if is_classifier(kind())):
        here, there, source = both(kind, "dense", TWO, WEIGHTS, class_weight=weight)
        one, other = here.certificate_, there.certificate_
        if one.kind in OPTIMIZATION:
            assert max(one.lower, other.lower) <= min(one.upper, other.upper)
        assert other.verify(source)


@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_what_a_source_may_not_hold(kind):
    y = TWO if is_classifier(kind()) else Z
    gaps = get_tags(made(kind)).input_tags.allow_nan
    for poison in (np.inf,) if gaps else (np.nan, np.inf):
        bad = X.copy()
        bad[400, 2] = poison
        with refuses("X", naming="340"):
            made(kind).fit(Arrays(bad, y, block_rows=170))
    with refuses("y"):
        made(kind).fit(Arrays(X, y), y)
    with refuses("sample_weight"):
        made(kind).fit(Arrays(X, y), None, WEIGHTS)
    with refuses("sample_weight"):
        made(kind).fit(Arrays(X, y, -np.ones(N)))
    with refuses("sample_weight"):
        made(kind).fit(Arrays(X, y, np.zeros(N)))
    with refuses("The weight of a row"):
        made(kind).fit(Arrays(X, y, np.full(N, 1e300)))
    fitted = made(kind).fit(Arrays(X, y))
    with refuses("X"):
        fitted.predict(Arrays(X[:, :4], y))
    if is_classifier(kind()):
        with refuses("y"):
            made(kind).fit(Arrays(X, np.ones(N)))


def test_sums_run_in_one_order_whoever_makes_them():
    source = Arrays(X, Z, block_rows=7)
    with ThreadPoolExecutor(3) as pool:
        spread = source.map_reduce(_first_column, in_order(pool, 3))
    assert source.map_reduce(_first_column) == spread
    assert in_pairs(_first_column(block) for block in source.blocks()) == spread
    assert spread[1] == N


def test_sums_of_groups_are_those_of_pairs():
    for n in (*range(1, 70), 257):
        parts = [Nested(str(k)) for k in range(n)]
        assert in_groups(parts, in_pairs) == in_pairs(parts)


class Nested(str):
    """Shows in which order things are added."""

    def __add__(self, other):
        return Nested(f"({self} {other})")


def _first_column(block: Block) -> Sums:
    return Sums(float(block.X[:, 0].sum()), block.n_rows)


# ---- other ways to fit the same kinds ----------------------------------------------------------

WAYS = {
    "LS-Boost on columns": cotas.LSBoost(max_iter=40),
    "LS-Boost without a bias": cotas.LSBoost(eps=0.5, max_iter=20, fit_intercept=False),
    "softmax": cotas.LogisticRegression(lam=0.01),
    "softmax, l1": cotas.LogisticRegression(lam=0.01, penalty="l1"),
    "softmax, elastic net, balanced": cotas.LogisticRegression(
        lam=0.01, penalty="elasticnet", class_weight="balanced", fit_intercept=False
    ),
    "l1, one against the rest": cotas.LogisticRegression(lam=0.01, penalty="l1", multiclass="ovr"),
    "SAMME": cotas.AdaBoost(n_estimators=4, multiclass="samme"),
    "SAMME of trees": cotas.AdaBoost(
        cotas.Tree(2, categorical_features=[2]), 3, multiclass="samme", class_weight="balanced"
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_other_ways_prove_the_same_in_blocks_and_in_threads(way, tmp_path):
    model, some = WAYS[way], slice(0, 300)
    rows, y = np.round(X[some], 1), (THREE if is_classifier(model) else Z)[some]
    for weights in (None, WEIGHTS[some]):
        here = clone(model).fit(rows, y, weights)
        source = Arrays(rows, y, weights, block_rows=77)
        there = [clone(model).set_params(n_jobs=jobs).fit(source) for jobs in (1, 3)]
        same_parameters(*there)
        found = [str(one.certificate_.to_dict()) for one in there]
        assert found[0] == found[1]
        proved = there[0].certificate_
        for one, other in zip(here.certificate_.singles, proved.singles, strict=True):
            assert other.holds
            assert (one.kind, one.reference) == (other.kind, other.reference)
            if one.kind in OPTIMIZATION:
                assert max(one.lower, other.lower) <= min(one.upper, other.upper)
                assert other.relative_gap <= max(getattr(model, "tol", 0.0), 2 * one.relative_gap)
            else:
                assert other.upper == pytest.approx(one.upper, rel=1e-3)
        if not isinstance(model, cotas.LogisticRegression):
            same_parameters(here, there[0], digits=10)
        assert proved.discrepancies(source) == []
        assert proved.discrepancies(Arrays(rows, y, weights, block_rows=200)) == []
        np.testing.assert_array_equal(there[0].predict(source), there[0].predict(rows))
    there[0].save(tmp_path / "model.cotas")
    again = cotas.load(tmp_path / "model.cotas")
    assert again.certificate_.verify(source)
    other = y.copy()
    other[0] = y[np.argmax(y != y[0])]
    assert not again.certificate_.verify(Arrays(rows, other, WEIGHTS[some], block_rows=77))
    spoil(there[0])
    assert not there[0].certificate_.holds


def test_rows_that_a_softmax_is_sure_of_do_not_end_the_fit():
    """Where p rounds to one, p − p² may round to less than zero, of which there is no root.

    The parts of the blocks are large enough for products with such roots.
    """
    random = np.random.default_rng(1)
    rows = random.normal(size=(1500, 60))
    y, weights = np.digitize(rows[:, 0], [-0.5, 0.5]), random.random(1500)
    model = cotas.LogisticRegression(lam=1e-7)
    assert model.fit(Arrays(rows, y, weights)).certificate_.relative_gap <= model.tol


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_systems_too_large_for_a_matrix_are_solved_all_the_same(penalty, monkeypatch):
    """By conjugate gradients, or over a working set."""
    monkeypatch.setattr(smooth_rows, "LARGEST_SYSTEM", 8)
    rows, y = X[:200], THREE[:200]
    source = Arrays((rows - rows.mean(axis=0)) / rows.std(axis=0), y, block_rows=77)
    model = cotas.LogisticRegression(lam=0.01, penalty=penalty).fit(source)
    assert model.certificate_.relative_gap <= 1e-4
    assert model.certificate_.verify(source)


@pytest.mark.parametrize("columns", [3, 20, 400])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sparse_rows_answer_to_a_newton_step_as_dense_ones(columns, kind):
    """Whether curved rows are summed up in their block, on the way, or at the end."""
    random = np.random.default_rng(columns)
    rows = np.where(random.random((300, columns)) < 0.3, random.normal(size=(300, columns)), 0.0)
    rows, y = sparse.csr_matrix(rows.astype(kind)), np.where(random.random(300) < 0.5, 1.0, -1.0)
    rounds = Rounds.none(columns).followed_by(random.normal(size=columns), 0.3, 2.0)
    place = DualState(rounds, 0.1 * random.normal(size=columns), -0.2, 0.5, WEIGHTS[:300].sum())
    found = []
    for given in (rows, rows.toarray()):
        source = Arrays(given, y, WEIGHTS[:300], block_rows=20)
        *sums, system = source.map_reduce(Respond(place, with_gram=True))
        direction = np.cos(np.arange(columns + 1.0))
        bent = [source.map_reduce(part) for part in (Diagonal(place), Bend(place, direction))]
        gram = np.tril(system.total())
        whole = gram + np.tril(gram, -1).T
        np.testing.assert_allclose(bent, [np.diag(whole), whole @ direction], atol=1e-12)
        found.append([*sums, gram, *bent])
        with ThreadPoolExecutor(3) as pool:
            again = source.map_reduce(Respond(place, with_gram=True), in_order(pool, 3))
        np.testing.assert_array_equal(again[-1].total(), system.total())
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("far", [0.0, 1e9])
def test_a_stagewise_run_is_the_same_wherever_the_columns_lie(far):
    """Also with a column that does not vary, and with fewer rows than columns."""
    rows = np.column_stack([X, np.full(N, 3.0)])[:200] + far
    for some, block_rows in ((slice(0, 200), 77), (slice(0, 4), 3)):
        y = Z[some] + far
        for model in (cotas.LSBoost(max_iter=30), cotas.ForwardStagewise(max_iter=30)):
            here = clone(model).fit(rows[some], y)
            source = Arrays(rows[some], y, block_rows=block_rows)
            there = clone(model).fit(source)
            np.testing.assert_array_equal(there.path_.run.chosen, here.path_.run.chosen)
            assert there.certificate_.holds
            for found in (there.certificate_, here.certificate_):
                assert found.discrepancies(source) == []
                assert found.discrepancies(rows[some], y) == []


def test_a_model_is_compared_with_its_witnesses_in_one_pass():
    """Whatever the classes, and as often as there are none."""
    source = Counted(X, THREE, block_rows=170)
    model = made(cotas.LinearSVM).fit(source)
    witnesses = [part.witness for part in model.certificate_.parts]
    for given in (witnesses, [None] * len(witnesses)):
        source.passes = 0
        assert binding.contradictions(model, given, source, None) == []
        assert source.passes == 1
    model.classes_ = model.classes_[::-1].copy()
    found = binding.contradictions(model, witnesses, source, None)
    assert found == [binding.OTHER_LABELS]


@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_all_classes_or_targets_are_proved_again_in_the_passes_of_one(kind):
    passes = set()
    for y in (TWO, THREE) if is_classifier(kind()) else several_targets(kind):
        source = Counted(X, y, block_rows=170)
        model = made(kind).fit(source)
        if not hasattr(model.certificate_.singles[0].witness, "shared"):
            return
        source.passes = 0
        assert model.certificate_.verify(source)
        verified, source.passes = source.passes, 0
        assert cotas.certify(model, source).holds
        passes.add((verified, source.passes))
    assert len(passes) == 1, passes


def test_classes_that_do_not_belong_together_are_told_each_by_itself():
    source = Arrays(X, THREE, block_rows=170)
    first, second, third = cotas.LinearSVM(lam=0.01).fit(source).certificate_.parts
    labels = [part.label for part in (first, second, third)]
    other = cotas.LinearSVM(lam=0.1).fit(source).certificate_.parts[1]
    assert Certificate.of_parts([first, other, third], labels).discrepancies(source) == []
    for coef in (np.zeros(D + 1), np.full(D, np.nan)):
        false = replace(second, witness=replace(second.witness, coef=coef))
        found = Certificate.of_parts([first, false, third], labels).discrepancies(source)
        assert found
        assert all(words.startswith(str(second.label)) for words in found)


def test_a_witness_does_not_say_itself_what_it_has_in_common():
    source = Arrays(X, THREE, block_rows=170)
    first, second, third = cotas.LinearSVM(lam=0.01).fit(source).certificate_.parts
    problem = replace(second.witness.problem, lam=0.1)
    false = replace(
        second,
        witness=replace(second.witness, problem=problem),
        figures={**second.figures, "λ": 0.1},
    )
    object.__setattr__(first.witness, "shared", ())
    parts = [first, false, third]
    assert not Certificate.of_parts(parts, [part.label for part in parts]).verify(source)


@pytest.mark.parametrize(
    "loss", [kind() for kind in vars(losses).values() if getattr(kind, "name", None) in LOSSES]
)
def test_other_blocks_prove_the_same_of_a_poor_model(loss):
    """Its dual value moves to first order with the slopes, which are to be known to all digits."""
    few, nothing = 30, np.zeros(0)
    rows, labels = X[:few, :3], TWO[:few]
    for lam, stretch in product((1.0, 1e-6), (1.0, 1.3, 1.7)):
        problem = RegularizedRisk(loss, lam, False)
        coef = stretch * np.array([1.3, 0.1, -0.1])
        point = BlockPoint(problem, coef, 0.0, "yes", np.zeros((0, 3)), nothing, nothing)
        first, *others = (point.check(Arrays(rows, labels, block_rows=k)) for k in (few, 1, 7))
        for other in others:
            assert first.beside(other) == other.beside(first) == []


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    "loss", [kind() for kind in vars(losses).values() if getattr(kind, "name", None) in LOSSES]
)
def test_other_blocks_prove_the_same_far_from_zero(loss, bias):
    """What rounding Xᵀc is worth to a poor model is what it is worth to the one that c gives."""
    n, nothing = 24, np.zeros(0)
    labels = np.where(np.arange(n) % 2 == 0, "yes", "no")
    for seed, lam in product(range(4), (10.0, 1e3)):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(n, 2)) + 1e9
        coef = rng.normal(size=2) * 10.0 ** rng.uniform(-17, -10)
        intercept = -float(rows.mean(axis=0) @ coef) + 0.1 if bias else 0.0
        problem = RegularizedRisk(loss, lam, bias)
        point = BlockPoint(problem, coef, intercept, "yes", np.zeros((0, 2)), nothing, nothing)
        first, *others = (point.check(Arrays(rows, labels, block_rows=k)) for k in (n, 1, 7))
        for other in others:
            assert first.beside(other) == other.beside(first) == []


@pytest.mark.parametrize("size", [1e-80, 1e-120, 1e-160, 1e-290, 1e-300, 1e-305])
@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_weights_prove_the_same_in_any_blocks_or_are_refused(kind, size):
    rows, y = X[:60], (TWO if is_classifier(kind()) else Z)[:60]
    heavy = np.full(60, 2.0)
    heavy[::3] = 1.0
    source = Arrays(rows, y, size * heavy, block_rows=20)
    if size < 1e-100:
        with refuses("The weight of all rows"):
            made(kind).fit(source)
        return
    certificate = made(kind).fit(source).certificate_
    for block_rows in (20,) if kind in MIXED else (60, 20, 7, 1):
        assert certificate.verify(Arrays(rows, y, size * heavy, block_rows=block_rows))


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e154, 1e160])
@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
@pytest.mark.filterwarnings("ignore")
def test_what_holds_is_verified_at_any_size_of_the_columns(kind, size):
    y = (TWO if is_classifier(kind()) else Z)[:60]
    source = Arrays(size * X[:60], y, block_rows=20)
    try:
        certificate = made(kind).fit(source).certificate_
    except ValueError:
        return
    assert certificate.holds == certificate.verify(source)


class Counted(Arrays):
    """A source that counts how often it is gone over."""

    passes = 0

    def blocks(self):
        self.passes += 1
        return super().blocks()

    def map_reduce(self, function, each=map):
        self.passes += 1
        return super().map_reduce(function, each)

    def of_first(self, function):
        return function(self._block(0))


# ---- boosters ----------------------------------------------------------------------------------

BOOSTERS = [kind for kind in TAKE if "weak_learner" in kind().get_params()]
GAPS = np.where(np.random.default_rng(1).random(X.shape) < 0.05, np.nan, X)
GAPS[:, 2] = np.round(GAPS[:, 2] * 5)
LEARNERS = [
    cotas.Tree(3),
    cotas.Stump(criterion="gini"),
    cotas.Stump(categorical_features=[2]),
    cotas.Tree(2, categorical_features=[2]),
]


@pytest.mark.parametrize("weak", LEARNERS, ids=repr)
@pytest.mark.parametrize("kind", BOOSTERS, ids=lambda kind: kind.__name__)
def test_trees_gaps_and_categories_are_those_of_memory(kind, weak):
    for y in (TWO, THREE) if is_classifier(kind()) else (Z,):
        for weights in (None, WEIGHTS):
            source = Arrays(GAPS, y, weights, block_rows=170)
            here, there = kind(weak, 3).fit(GAPS, y, weights), kind(weak, 3).fit(source)
            same_parameters(here, there, digits=9)
            losses = [np.ravel(model.round_losses_) for model in (there, here)]
            np.testing.assert_allclose(*losses, rtol=1e-9)
            pairs = zip(here.certificate_.singles, there.certificate_.singles, strict=True)
            for one, other in pairs:
                assert other.upper == pytest.approx(one.upper, rel=1e-9)
                assert one.statement.split(" than ")[0] == other.statement.split(" than ")[0]
            assert there.certificate_.discrepancies(source) == []


@pytest.mark.parametrize("kind", BOOSTERS, ids=lambda kind: kind.__name__)
def test_the_end_of_a_run_is_that_of_memory(kind):
    """A learner without mistakes, and one that finds nothing, end it as they do in memory."""
    rows = np.round(X, 1)
    clear = np.where(rows[:, 0] > 0.3, 1.0, -1.0)
    for y in (clear,) if is_classifier(kind()) else (clear, np.ones(N)):
        for weak in (cotas.Stump(), cotas.Tree(2)):
            here = kind(weak, 5).fit(rows, y)
            there = kind(weak, 5).fit(Arrays(rows, y, block_rows=170))
            assert (there.stop_, there.stop_reason_) == (here.stop_, here.stop_reason_)
            same(there.predict(rows), here.predict(rows))


IN_BATCHES = [
    kind
    for kind in (getattr(cotas, name) for name in cotas.__all__)
    if hasattr(kind, "partial_fit")
]


@pytest.mark.parametrize("kind", IN_BATCHES, ids=lambda kind: kind.__name__)
def test_a_batch_is_no_source(kind):
    """Whatever else is given, the message is about the source."""
    y = np.sign(Z)
    for more in ((), (y,), (None,), (y, [-1.0, 1.0])):
        with pytest.raises(NotInBlocksError):
            made(kind).partial_fit(Arrays(X, y), *more)
    more = {"classes": [-1, 1]} if is_classifier(kind()) else {}
    with pytest.raises(ValueError, match="y"):
        made(kind).partial_fit(X, **more)


@pytest.mark.parametrize("kind", BOOSTERS, ids=lambda kind: kind.__name__)
def test_boosters_say_what_needs_arrays(kind):
    y = THREE if is_classifier(kind()) else Z
    wishes = [
        {"early_stopping": True},
        {"warm_start": True},
        {"weak_learner": "linear"},
        {"weak_learner": cotas.Stump(search="exact")},
        {"weak_learner": DecisionTreeRegressor()},
    ]
    wishes += [{"loss": "absolute"}] if kind is cotas.LSBoost else []
    for wish in wishes:
        with pytest.raises(NotInBlocksError):
            made(kind, **wish).fit(Arrays(X, y))
    wide = np.tile(X, 200)
    with refuses("weak_learner"):
        made(kind, weak_learner=cotas.Tree(8)).fit(Arrays(wide, y))
    if kind is cotas.AdaBoost:  # histograms for each class
        with refuses("weak_learner"):
            made(kind, weak_learner=cotas.Tree(4), multiclass="samme").fit(Arrays(wide, y))


def test_f_is_the_same_remembered_or_computed_anew(monkeypatch):
    source, found = Arrays(X, TWO, block_rows=100), []
    for room in (0, 2000, 1 << 20):
        monkeypatch.setattr(block_trees, "REMEMBERED", room)
        found.append(cotas.LogitBoost("tree", 4).fit(source))
    for model in found[1:]:
        same_parameters(model, found[0])


# ---- what needs arrays -------------------------------------------------------------------------


class DaskFrame:
    """A frame of Dask's as far as its type goes; whoever takes it for an array pulls it in."""

    shape = (N, D)

    def __len__(self):
        raise AssertionError("a frame that may not fit was asked for its rows")

    def __array__(self, *_, **__):
        raise AssertionError("a frame that may not fit was pulled into memory")


DaskFrame.__module__ = "dask_expr._collection"


def asked_for(function):
    """The arguments that a call must be given, X and y aside; None where it takes no X."""
    known = inspect.signature(function).parameters
    if "X" not in known:
        return None
    return [n for n, p in known.items() if p.default is p.empty and p.kind < p.VAR_POSITIONAL]


def is_refused(call, given, **more):
    """Whether a call refuses rows in blocks, and says so; generators are followed."""
    try:
        found = call(X=given, **more)
        list(found) if inspect.isgenerator(found) else found
    except NotInBlocksError:
        return True
    return False


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_every_method_takes_rows_in_blocks_or_refuses_them(kind):
    few = slice(0, 60)
    y = TWO[few] if is_classifier(kind()) else Z[few]
    source = Arrays(X[few], y, block_rows=17)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        [short] = [k for k in ("max_iter", "n_estimators") if k in kind().get_params()][:1] or [
            None
        ]
        model = kind(**({short: 3} if short else {})).fit(X[few], y)
        for name in (name for name in dir(kind) if not name.startswith("_") and name != "fit"):
            method = getattr(model, name) if callable(getattr(kind, name)) else None
            asked = None if method is None else asked_for(method)
            if asked is None or name.startswith("set_"):
                continue
            more = {"y": y} if "y" in asked else {}
            if is_refused(method, source, **more):
                assert is_refused(method, DaskFrame(), **more), name
                continue
            known = {"y": y} if "y" in inspect.signature(method).parameters else {}
            np.testing.assert_allclose(
                *_comparable(method(X=source, **more), method(X=X[few], **known)), atol=1e-9
            )


def _comparable(*found):
    """Labels as codes."""
    return [
        np.unique(f, return_inverse=True)[1] if np.asarray(f).dtype.kind == "U" else f
        for f in found
    ]


def test_functions_of_rows_refuse_blocks_that_they_do_not_take():
    calls = {name: getattr(cotas, name) for name in cotas.__all__}
    calls = {k: f for k, f in calls.items() if inspect.isfunction(f) and asked_for(f)}
    assert set(calls) >= {"choose", "svm_path", "lasso_path", "logistic_path", "learning_curves"}
    more = {"model": cotas.LinearSVM(), "y": TWO, "over": "lam", "values": [0.1], "sizes": [0.5]}
    more["estimator"] = cotas.Perceptron()
    del calls["certify"]  # which takes them
    for name, call in calls.items():
        given = {key: value for key, value in more.items() if key in asked_for(call)}
        for rows in (Arrays(X, TWO), DaskFrame()):
            assert is_refused(call, rows, **given), name
        if "validation" in inspect.signature(call).parameters:
            with pytest.raises(NotInBlocksError, match="validation"):
                call(**given, X=X, validation=(DaskFrame(), TWO))


# ---- pages on disk -----------------------------------------------------------------------------


def frame(y, name="y"):
    return pl.DataFrame(X, schema=[f"c{j}" for j in range(D)]).with_columns(pl.Series(name, y))


def written(folder, kind, y):
    table, path = frame(y).with_columns(w=pl.Series(WEIGHTS)), folder / f"rows.{kind}"
    {"parquet": table.write_parquet, "arrow": table.write_ipc, "csv": table.write_csv}[kind](path)
    return path


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_pages_hold_the_rows_of_the_file(tmp_path, kind):
    path = written(tmp_path, kind, TWO)
    pages = cotas.tables.open_pages(path, target="y", weights="w", page_bytes=4096)
    assert (pages.n_rows, pages.n_features, len(pages.pages) > 3) == (N, D, True)
    assert pages.feature_names.tolist() == [f"c{j}" for j in range(D)]
    np.testing.assert_array_equal(pages.collect(_rows_of), X)
    np.testing.assert_array_equal(pages.collect(_labels_of), TWO)
    np.testing.assert_array_equal(pages.collect(_weights_of), WEIGHTS)
    first = next(iter(pages.blocks()))
    assert not np.array_equal(first.X, X[: len(first.X)])  # they are shuffled
    assert [block.start for block in pages.blocks()] == [page.start for page in pages.pages]


def _rows_of(block):
    return block.X


def _labels_of(block):
    return block.y


def _weights_of(block):
    return block.shares()


def test_pages_of_libsvm_files_are_sparse(tmp_path):
    y = np.where(Z > 0, 1.0, -1.0)
    dump_svmlight_file(FEW[:300], y[:300], str(tmp_path / "a.svm"), zero_based=False)
    dump_svmlight_file(FEW[300:], y[300:], str(tmp_path / "b.svm"), zero_based=False)
    pages = cotas.tables.open_pages(tmp_path / "*.svm", page_bytes=4096)
    assert all(sparse.issparse(block.X) for block in pages.blocks())
    order = pages.collect(lambda block: block.y)
    np.testing.assert_array_equal(order, y)
    np.testing.assert_array_equal(pages.collect(lambda block: block.X.toarray()), FEW.toarray())
    model = cotas.LinearSVM(tol=1e-3).fit(pages)
    assert model.certificate_.verify(pages)
    np.testing.assert_array_equal(model.predict(pages), model.predict(FEW))
    with says(DataFileError, most="3"):
        cotas.tables.open_pages(tmp_path / "*.svm", n_features=3)
    fitted = cotas.tables.Preparation().fit(X)
    for name, value in (
        ("preparation", cotas.tables.Preparation()),
        ("preparation", fitted),
        ("weights", "w"),
    ):
        with says(DataFileError, name=name):
            cotas.tables.open_pages(tmp_path / "*.svm", **{name: value})


@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_memory_and_pages_prove_the_same(tmp_path, kind):
    y = THREE if is_classifier(kind()) else Z
    frame(y).write_parquet(tmp_path / "rows.parquet")
    pages = cotas.tables.open_pages(tmp_path / "rows.parquet", target="y", page_bytes=4096)
    here, there = made(kind).fit(X, y), made(kind).fit(pages)
    for one, other in zip(here.certificate_.singles, there.certificate_.singles, strict=True):
        if one.kind in OPTIMIZATION:
            assert max(one.lower, other.lower) <= min(one.upper, other.upper)
    assert there.certificate_.verify(pages)
    table = frame(y).drop("y").to_pandas()
    same(there.predict(pages), there.predict(table))


def test_pages_are_reused_until_a_file_changes(tmp_path):
    path = written(tmp_path, "csv", Z)
    given = {"target": "y", "weights": "w", "page_bytes": 4096}
    first = cotas.tables.open_pages(path, **given)
    assert (first.reused, cotas.tables.open_pages(path, **given).reused) == (False, True)
    path.touch()  # another time, the same content
    assert cotas.tables.open_pages(path, **given).reused
    assert not cotas.tables.open_pages(path, **given, seed=1).reused
    path.write_text(path.read_text() + path.read_text().splitlines()[1] + "\n")
    again = cotas.tables.open_pages(path, **given)
    assert (again.reused, again.n_rows) == (False, N + 1)


def damage(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def shorten(path):
    path.write_bytes(path.read_bytes()[:-64])


def remove(path):
    path.unlink()


@pytest.mark.parametrize("harm", [damage, shorten, remove])
def test_a_damaged_page_is_told_and_healed_by_the_next_run(tmp_path, harm):
    path = written(tmp_path, "parquet", TWO)
    given = {"target": "y", "weights": "w", "page_bytes": 4096}
    pages = cotas.tables.open_pages(path, **given)
    model = cotas.LinearSVM(tol=1e-3).fit(pages)
    harmed = pages.folder / pages.pages[2].name
    # In the middle of a fit: it has been read before, and found whole.
    harm(harmed)
    with pytest.raises(PageError):
        cotas.LinearSVM(tol=1e-3).fit(pages)
    healed = cotas.tables.open_pages(path, **given)
    assert not healed.reused
    again = cotas.LinearSVM(tol=1e-3).fit(healed)
    assert np.array_equal(again.coef_, model.coef_)


def test_a_run_that_is_broken_off_leaves_nothing_behind(tmp_path, monkeypatch):
    path = written(tmp_path, "parquet", TWO)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pages_module, "write_page", interrupted)
        with pytest.raises(KeyboardInterrupt):
            cotas.tables.open_pages(path, target="y")
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_clean_removes_pages_and_nothing_else(tmp_path):
    path = written(tmp_path, "csv", Z)
    (tmp_path / "cache").mkdir()
    cotas.tables.open_pages(path, target="y")
    cotas.tables.open_pages(path, target="y", cache=tmp_path / "cache")
    (tmp_path / "mine.cotas-pages").mkdir()
    (tmp_path / "mine.cotas-pages" / "diary.txt").write_text("not a page")
    assert len(page_folders(path)) == 1
    assert len(page_folders(tmp_path)) == 2
    assert remove_pages(tmp_path)[0] == 2
    assert page_folders(tmp_path) == []
    assert (tmp_path / "mine.cotas-pages" / "diary.txt").exists()


def test_pages_refuse_what_is_no_number(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n1,x,0\n2,z,1\n")
    with says(DataFileError, names="b"):
        cotas.tables.open_pages(path, target="y")
    path.write_text("a,b,y\n1,,0\n2,3,1\n")
    with says(DataFileError, name="b", row="1"):
        cotas.tables.open_pages(path, target="y")
    path.write_text("a,b,y\n1,2,\n2,3,1\n")
    with says(DataFileError, name="y", missing="1"):
        cotas.tables.open_pages(path, target="y")
    with says(DataFileError, name="c"):
        cotas.tables.open_pages(path, target="c")
    with pytest.raises(DataFileError):
        cotas.tables.open_pages(path, target=None)
    pl.DataFrame({"a": [2**60 + 1, 2], "y": [0, 1]}).write_parquet(tmp_path / "b.parquet")
    with refuses("a"):
        cotas.tables.open_pages(tmp_path / "b.parquet", target="y")
    with pytest.raises(DataFileError):
        cotas.tables.open_pages(tmp_path / "nothing.csv", target="y")


def test_a_preparation_makes_numbers_of_a_table(tmp_path):
    words = pl.DataFrame({"town": RNG.choice(["Lugo", "Vigo", "Noia"], N), "c": X[:, 0], "y": Z})
    words.write_csv(tmp_path / "rows.csv")
    preparation = cotas.tables.Preparation().fit(words.drop("y"))
    pages = cotas.tables.open_pages(tmp_path / "rows.csv", target="y", preparation=preparation)
    here = cotas.Ridge().fit(preparation.transform(words.drop("y")), Z)
    np.testing.assert_allclose(cotas.Ridge().fit(pages).coef_, here.coef_, atol=1e-12)


def every_kind_of_column(n=N):
    """Words, gaps, dates, truth values, an identifier, free text and a constant."""
    random = np.random.default_rng(5)
    towns = random.choice(["Lugo", "Vigo", "Noia", "Foz"], n, p=[0.6, 0.3, 0.098, 0.002])
    days = np.datetime64("2020-01-01") + random.integers(0, 900, n)
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "town": [None if k % 17 == 0 else town for k, town in enumerate(towns)],
            "age": [None if k % 11 == 0 else float(a) for k, a in enumerate(random.normal(size=n))],
            "far": 1e6 + random.normal(size=n),
            "day": [str(day) for day in days],
            "name": [f"person {k}" for k in range(n)],
            "unit": ["EUR"] * n,
            "y": random.normal(size=n),
        }
    )


LEARNED = ("dropped_", "dates_", "number_names_", "category_names_", "categories_", "pooled_")


@pytest.mark.parametrize("rows", [1, 7, 100, N])
def test_a_preparation_learns_of_batches_what_it_learns_of_the_whole(rows):
    table = every_kind_of_column().drop("y")
    here = cotas.tables.Preparation().fit(table)
    there = cotas.tables.Preparation().fit_batches(table.iter_slices(rows), sample=table)
    for name in (*LEARNED, "category_missing_"):
        assert getattr(there, name) == getattr(here, name), name
    np.testing.assert_array_equal(there.indicated_, here.indicated_)
    np.testing.assert_allclose(there.means_, here.means_, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(there.scales_, here.scales_, rtol=1e-9)
    assert {name for name, _ in there.dropped_} >= {"id", "name", "unit"}
    with pytest.raises(DataFileError):
        there.fit_batches([table, table.drop("age")])
    for nothing in ([], [table[:0]]):
        with pytest.raises(DataFileError):
            there.fit_batches(nothing)


def test_words_too_many_to_count_cost_no_frequent_one(monkeypatch):
    monkeypatch.setattr(statistics, "MOST_WORDS", 100)
    random = np.random.default_rng(0)
    words = np.where(random.random(5000) < 0.3, "often", [f"w{k}" for k in range(5000)])
    whole, counted = pl.Series("", words), statistics.WordCounts()
    for start in range(0, 5000, 250):
        counted.add(whole[start : start + 250])
        assert counted.counts.height <= 100 + 250
    kept, different = counted.frequent(0.01, 10)
    assert kept == ["often"]
    assert different > 100
    count = int((words == "often").sum())
    found = counted.counts.filter(pl.col("word") == "often")["count"][0]
    assert count - 2 * 5000 / 100 <= found <= count


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("sample", [200, 10**6])
def test_a_preparation_that_is_not_fitted_is_learned_from_the_files(
    tmp_path, kind, sample, monkeypatch
):
    monkeypatch.setattr(streamed, "SAMPLE_ROWS", sample)
    monkeypatch.setattr(streamed, "BATCH_ROWS", 90)
    table, path = every_kind_of_column(), tmp_path / f"rows.{kind}"
    table.write_csv(path) if kind == "csv" else table.write_parquet(path)
    preparation = cotas.tables.Preparation()
    pages = cotas.tables.open_pages(path, target="y", preparation=preparation)
    expected = clone(preparation).fit(table.drop("y"))
    for name in LEARNED:
        assert getattr(preparation, name) == getattr(expected, name), name
    np.testing.assert_allclose(preparation.means_, expected.means_, rtol=1e-9, atol=1e-12)
    model = cotas.Ridge().fit(pages)
    assert model.certificate_.verify(pages)
    assert cotas.tables.open_pages(path, target="y", preparation=preparation).reused


def test_the_foremost_rows_are_as_many_as_asked_for_however_they_come():
    for n, size, most in ((1000, 1e8, 800), (1000, 1.0, 1), (300, 2e8, 300), (5000, 4e9, 4321)):
        first = Foremost(n, size, 3, most)
        told = [first(np.arange(start, min(n, start + 77))) for start in range(0, n, 77)]
        found = np.concatenate(told)
        assert found.sum() == most
        if 1 < most < n:  # as the seed draws them, which are not those that come first
            other = Foremost(n, size, 4, most)(np.arange(n))
            assert not found[:most].all()
            assert not np.array_equal(found, other)
        some = np.arange(0, n, 3)
        np.testing.assert_array_equal(Foremost(n, size, 3, most).among(some), found[some])


def test_pages_travel_to_other_processes(tmp_path):
    pages = cotas.tables.open_pages(written(tmp_path, "csv", Z), target="y", page_bytes=4096)
    again = pickle.loads(pickle.dumps(pages))
    np.testing.assert_array_equal(again.collect(_labels_of), Z)


def test_single_precision_takes_half_the_space_and_says_what_it_proves(tmp_path):
    path = written(tmp_path, "parquet", TWO)
    whole, half = (
        cotas.tables.open_pages(path, target="y", dtype=d) for d in ("float64", "float32")
    )
    assert half.n_bytes < 0.8 * whole.n_bytes
    model = cotas.LinearSVM(tol=1e-3).fit(half)
    assert model.certificate_.verify(half)
    assert not model.certificate_.verify(whole)


# ---- the command line --------------------------------------------------------------------------


@pytest.fixture
def little_memory(monkeypatch):
    """A machine in which every table is too large."""
    monkeypatch.setattr(cli_data, "free_memory", lambda: 1)


def test_a_table_that_does_not_fit_is_fitted_proved_and_used_all_the_same(tmp_path, little_memory):
    table, where = customers(n=800), tmp_path / "shop.cotas"
    table.write_csv(tmp_path / "shop.csv")
    said = terminal("fit", tmp_path / "shop.csv", "-t", "bought", "-o", where, "--json")
    assert said.code == 0, said.err
    assert "are read from pages on disk" in said.err
    document = said.document
    assert document["certificate"]["holds"]
    assert document["rows"] == 800
    assert 0.0 < document["hold_out"]["error"] <= document["bound"]["upper"] < 0.5
    again = terminal("certify", where, tmp_path / "shop.csv", "--json").document
    assert again["proved"]
    assert again["certificate"]["upper"] == document["certificate"]["upper"]
    predicted = terminal("predict", where, tmp_path / "shop.csv", "--json")
    assert predicted.code == 0, predicted.err
    table.with_columns(age=pl.col("age") + 1).write_csv(tmp_path / "shop.csv")
    assert terminal("certify", where, tmp_path / "shop.csv").code == 1
    assert "2 folders" not in terminal("clean", tmp_path).out
    assert page_folders(tmp_path) == []


@pytest.mark.parametrize("model", ["svm", "logistic"])
def test_pages_say_what_is_said_of_a_table_in_memory(tmp_path, monkeypatch, model):
    """Columns left out, the baseline, each class and the error on rows held out."""
    table = every_kind_of_column().with_columns(
        y=pl.when(pl.col("age").fill_null(0) + pl.col("y") > 0.3)
        .then(pl.lit("yes"))
        .otherwise(pl.lit("no"))
    )
    table.write_csv(tmp_path / "rows.csv")
    call = ("fit", tmp_path / "rows.csv", "-t", "y", "-m", model)
    here = terminal(*call)
    monkeypatch.setattr(cli_data, "free_memory", lambda: 1)
    there = terminal(*call)
    assert (here.code, there.code) == (0, 0), there.err
    names = [[line.split("  ")[0] for line in said.out.splitlines()] for said in (here, there)]
    assert names[1] == names[0]
    left_out = [
        [line for line in said.err.splitlines() if "left out" in line] for said in (here, there)
    ]
    assert left_out[1] == left_out[0] != []
    found = terminal(*call, "--json").document
    assert {"error", "rows"} <= set(found["hold_out"])
    assert set(found["quality"]) >= {"measures", "baseline"}
    assert [remark["column"] for remark in found["remarks"]] == ["id", "name", "unit"]


def test_any_table_in_pages_can_be_split(tmp_path, little_memory):
    """Of few rows, or of one narrow column: in as many pages as needed; very few are not."""
    for n, held_out in ((25, False), (40, True), (N, True)):
        path = tmp_path / f"rows-{n}.csv"
        frame(np.where(Z > 0, 1, 0))[:n].select("c0", "y").write_csv(path)
        said = terminal("fit", path, "-t", "y", "--hold-out", "0.3", "--json")
        assert said.code == 0, said.err
        assert (said.document["hold_out"] is not None) == held_out
    for share in ("1", "-0.1"):
        assert terminal("fit", path, "-t", "y", "--hold-out", share).code == 2


@pytest.mark.parametrize(
    "model",
    [
        *("logistic", "ridge", "lasso", "elastic-net", "least-squares"),
        *("perceptron", "averaged-perceptron", "passive-aggressive", "pegasos"),
    ],
)
def test_these_models_are_trained_from_pages(tmp_path, little_memory, model):
    frame(THREE if task_of(model) == "classification" else Z).write_parquet(
        tmp_path / "rows.parquet"
    )
    call = ("fit", tmp_path / "rows.parquet", "-t", "y", "-m", model, "--hold-out", "0.3")
    said = terminal(*call, "--json")
    assert said.code == 0, said.err
    assert said.document["certificate"]["holds"]


def test_the_size_in_memory_does_not_depend_on_how_a_table_is_written(tmp_path):
    """Eight bytes for a number and twice as many for a word, whatever the file."""
    cells = frame(Z).with_columns(
        pl.lit("one, two; three, four; five\t|\nsix").alias("a,b"),
        c0=pl.when(pl.int_range(pl.len()) % 3 > 0).then("c0"),
    )
    for table in (frame(Z), every_kind_of_column(), frame(TWO).with_columns(c0=pl.lit(7)), cells):
        words = sum(not dtype.is_numeric() for dtype in table.dtypes)
        expected = 8 * table.height * (table.width + words)
        paths = {kind: tmp_path / f"rows.{kind}" for kind in ("csv", "tsv", "parquet", "arrow")}
        table.write_csv(paths["csv"])
        table.write_csv(paths["tsv"], separator="\t")
        table.write_parquet(paths["parquet"])
        table.write_ipc(paths["arrow"])
        for kind, path in paths.items():
            found = decoded_bytes(path, "csv" if kind == "tsv" else kind)
            assert found == pytest.approx(expected, rel=0.1), kind
    dump_svmlight_file(FEW, Z, str(tmp_path / "rows.svm"), zero_based=False)
    found = decoded_bytes(tmp_path / "rows.svm", "libsvm")
    assert found == pytest.approx(12 * FEW.nnz + 16 * N, rel=0.1)


def test_sparse_files_are_trained_from_pages(tmp_path, little_memory):
    dump_svmlight_file(FEW, np.where(Z > 0, 1, -1), str(tmp_path / "a.svm"), zero_based=False)
    said = terminal("fit", tmp_path / "a.svm", "-o", tmp_path / "m.cotas", "--lang", "es")
    assert said.code == 0, said.err
    assert "páginas en disco" in said.err
    assert terminal("certify", tmp_path / "m.cotas", tmp_path / "a.svm").code == 0


def test_what_needs_the_whole_table_says_so(tmp_path, little_memory):
    frame(Z).write_parquet(tmp_path / "rows.parquet")
    call = ("fit", tmp_path / "rows.parquet", "-t", "y")
    for more in (("-m", "auto"), ("--select", "lam"), ("--report", tmp_path / "r.html")):
        said = terminal(*call, *more)
        assert said.code == 2
        assert "needs the whole table in memory" in said.err
    said = terminal(*call, "-m", "huber")
    assert said.code == 2
    assert "takes no source of row blocks" in " ".join(said.err.split())
    for size, words in (("much", "takes a size"), ("10MB", "too little"), ("2", "2GB")):
        said = terminal(*call, "--memory", size)
        assert said.code == 2
        assert words in said.err


def test_memory_too_little_for_a_row_group_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    table = pl.DataFrame({"a": np.zeros(1_500_000, np.int8)})
    table.write_parquet(path, row_group_size=500_000)
    assert rows_of_a_group(path) == 500_000
    small = cli_data.TooBig([path], 1e10, 10**9, piece=1e8)
    assert (small.least, small.threads) == (10**9, 1)
    assert cli_data.TooBig([path], 1e10, 2 * 10**9).threads == 30
    assert cli_data.TooBig([path], 1e10, 2 * 10**9, piece=1e9).least > 2 * 10**9
    monkeypatch.setattr(cli_data, "BASE", 10**12)  # no table fits
    assert cli_data.too_big(str(path), "1GB").threads == 4
    monkeypatch.setattr("cotas.scale.decoding.row_group_bytes", lambda file: 1e9)
    with says(UsageError, piece="1.0", least="2.3"):
        cli_data.too_big(str(path), "1GB")
    whole, broken = path.read_bytes(), tmp_path / "broken.parquet"
    for bad in (b"", b"PAR1", whole[:-1], whole[:-40] + whole[-8:], b"\xff" * 40 + whole[-8:]):
        broken.write_bytes(bad)
        assert rows_of_a_group(broken) in (0, 500_000)


def test_a_footer_that_lies_is_read_no_longer_than_it_is(tmp_path):
    path, endless = tmp_path / "lies.parquet", b"\xff" * 8 + b"\x0f"
    lists = [bytes([0x19, 0xF0 + kind]) + endless for kind in (1, 2, 3, 7)]
    fewer_than_none = b"\x49\x1c\x36\x01\x00\x00"
    for footer in (*lists, b"\x15" + b"\xff" * 1_000_000, fewer_than_none):
        path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
        assert rows_of_a_group(path) == 0


def test_pages_are_split_at_random_and_at_one_place(tmp_path):
    frame(Z).write_parquet(tmp_path / "rows.parquet")
    pages = cotas.tables.open_pages(tmp_path / "rows.parquet", target="y", page_bytes=1024)
    first, last = pages.split(0.25)
    assert first.n_rows + last.n_rows == N
    assert 0.15 * N < last.n_rows < 0.35 * N
    both = np.concatenate([first.collect(_labels_of), last.collect(_labels_of)])
    np.testing.assert_array_equal(np.sort(both), np.sort(Z))
    assert pages.first(first.n_rows).n_rows == first.n_rows
    with refuses("n_rows"):
        pages.first(1)


# ---- whatever a source hands over --------------------------------------------------------------


class Handed(Arrays):
    """A source that changes its blocks before it hands them over."""

    def __init__(self, given, change, block_rows=150):
        super().__init__(*given, block_rows=block_rows)
        self.change = change

    def _block(self, start):
        return self.change(super()._block(start))


def as_sparse(block, others=lambda start: start > 0):
    return block._replace(X=sparse.csr_matrix(block.X)) if others(block.start) else block


def targets_for(kind):
    return TWO if is_classifier(kind()) else Z


@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_dense_and_sparse_blocks_mixed_prove_what_dense_ones_do(kind):
    far, y = X + 100.0, targets_for(kind)
    proved = made(kind).fit(Arrays(far, y, block_rows=150)).certificate_
    for others in (lambda start: start > 0, lambda start: start == 0):
        mixed = Handed((far, y), lambda block, others=others: as_sparse(block, others))
        with refuses("X"):
            made(kind).fit(mixed)
        for one in proved.singles:
            again = one.witness.check(mixed)
            assert again.holds
            assert max(one.lower, again.lower) <= min(one.upper, again.upper)
            assert again.upper == pytest.approx(one.upper, rel=1e-9)


def in_other_formats(block):
    made_by = (sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array, sparse.bsr_matrix)
    return block._replace(X=made_by[block.start // 150](block.X))


@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_sparse_blocks_of_any_format_are_read_as_csr(kind):
    y = targets_for(kind)
    expected = made(kind).fit(Arrays(FEW, y, block_rows=150))
    found = made(kind).fit(Handed((FEW, y), in_other_formats))
    same_parameters(found, expected)
    assert found.certificate_.upper == expected.certificate_.upper


LARGE, FINE = 2**53 + 1, np.longdouble(1) + np.longdouble(2) ** -60


def with_first(values, entry, dtype=object):
    changed = np.array(values, dtype=dtype)
    changed[(300,) if changed.ndim == 1 else (300, 0)] = entry
    return changed


def masked(values):
    mask = np.zeros(np.shape(values), dtype=bool)
    mask[300] = True
    return np.ma.array(values, mask=mask)


TWICE = sparse.csr_matrix(
    (
        np.append([1.0, 2.0**-53], np.ones(N)),
        np.zeros(N + 2, int),
        np.append([0], np.arange(3, N + 3)),
    ),
    shape=(N, D),
)
UNUSABLE_NUMBERS = {
    "whole": lambda v: with_first(np.rint(v), LARGE, np.int64),
    "objects": lambda v: with_first(v, LARGE),
    "list": lambda v: with_first(v, LARGE).tolist(),
    "masked": masked,
    "complex": lambda v: np.asarray(v) + 0j,
    "dates": lambda v: np.rint(v).astype("datetime64[s]"),
    "words": lambda v: with_first(v, "many"),
}
if np.finfo(np.longdouble).nmant > 52:
    UNUSABLE_NUMBERS["fine"] = lambda v: with_first(v, FINE, np.longdouble)


@pytest.mark.parametrize("how", UNUSABLE_NUMBERS)
@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_no_number_is_rounded_or_uncovered(kind, how):
    spoil, y = UNUSABLE_NUMBERS[how], targets_for(kind)
    proved = made(kind).fit(Arrays(X, y)).certificate_
    bad = [(spoil(X), y, None), (X, y, spoil(np.ones(N)))]
    if not is_classifier(kind()):
        bad.append((X, spoil(Z), None))
    for given in bad:
        source = Arrays(*given, block_rows=150)
        with pytest.raises(ValueError, match="rows"):
            made(kind).fit(source)
        assert any("of the source" in words for words in proved.discrepancies(source))


@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_no_sum_of_the_parts_of_an_entry_is_rounded(kind):
    for rows in (TWICE, TWICE.tocsc(), sparse.coo_matrix(_coordinates(TWICE), shape=(N, D))):
        with refuses("X", naming="149"):
            made(kind).fit(Arrays(rows, targets_for(kind), block_rows=150))


def _coordinates(rows):
    return rows.data, (np.repeat(np.arange(N), np.diff(rows.indptr)), rows.indices)


def test_pages_round_no_number_either(tmp_path):
    whole = np.where(np.arange(N) == 300, LARGE, np.arange(N))
    decimals = pl.Series([Decimal(int(v)) for v in whole])
    for name, spoilt in (("csv", whole), ("parquet", whole), ("parquet", decimals)):
        for column in ("c0", "y", "w"):
            table = frame(Z).with_columns(pl.Series("w", WEIGHTS))
            table = table.with_columns(pl.Series(column, spoilt))
            path = tmp_path / f"rows.{name}"
            table.write_csv(path) if name == "csv" else table.write_parquet(path)
            with pytest.raises(ValueError, match="double"):
                cotas.Ridge().fit(cotas.tables.open_pages(path, target="y", weights="w"))


OTHER_LABELS = {
    "text": lambda y: y.astype(str),
    "bytes": lambda y: y.astype(bytes),
    "truth": lambda y: y.astype(bool),
    "dates": lambda y: y.astype("datetime64[s]"),
    "complex": lambda y: y + 0j,
    "none": lambda y: with_some(y, None),
    "nan": lambda y: with_some(y, np.nan),
    "mixed": lambda y: with_some(y, "1"),
}


def with_some(values, entry):
    changed = values.astype(object)
    changed[0] = entry
    return changed


@pytest.mark.parametrize("how", OTHER_LABELS)
@pytest.mark.parametrize("kind", [kind for kind in TAKE if is_classifier(kind())])
def test_labels_are_of_one_kind_in_all_blocks(kind, how):
    y = np.where(Z > 0, 1, 0)
    for others in (lambda start: start > 0, lambda start: start == 0):
        source = Handed(
            (X, y),
            lambda block, others=others: (
                block._replace(y=OTHER_LABELS[how](block.y)) if others(block.start) else block
            ),
        )
        with refuses("y"):
            made(kind).fit(source)


@pytest.mark.parametrize("kind", [kind for kind in TAKE if is_classifier(kind())])
def test_two_labels_never_become_one(kind):
    y = np.where(Z > 0, LARGE, 0)
    source = Handed(
        (X, y),
        lambda block: (
            block._replace(y=np.where(block.y > 0, float(LARGE), 0.0)) if block.start else block
        ),
    )
    with refuses("y"):
        made(kind).fit(source)
    assert made(kind).fit(Arrays(X, y)).classes_.tolist() == [0, LARGE]


@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_rows_without_weight_have_no_part_in_any_figure(kind):
    y, s = targets_for(kind).copy(), np.ones(N)
    s[:200] = 0.0
    quiet = made(kind).fit(Arrays(X, y, s, block_rows=50)).certificate_
    if is_classifier(kind()):
        y[:200] = y[::-1][:200]
    else:
        y[:200] = 1e12
    loud = made(kind).fit(Arrays(X, y, s, block_rows=50)).certificate_
    for one, other in zip(quiet.singles, loud.singles, strict=True):
        assert as_good(kind, other, one)
        for name, figure in one.figures.items():
            if isinstance(figure, float):
                assert other.figures[name] == pytest.approx(figure, rel=1e-6, abs=1e-6), name


@pytest.mark.parametrize("part", ["X", "y", "weights"])
@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_blocks_that_change_between_passes_are_noticed(kind, part):
    y, random = targets_for(kind), np.random.default_rng(0)

    def change(block):
        if part == "X":
            return block._replace(X=block.X + 1e-6 * random.normal(size=block.X.shape))
        if part == "y":
            return block._replace(y=random.permutation(block.y))
        return block._replace(weights=random.uniform(1.0, 2.0, size=block.n_rows))

    with refuses("X"):
        made(kind).fit(Handed((X, y, np.ones(N)), change))


class Miscounted(Arrays):
    """Arrays whose first block is left out of every sum, or added a second time."""

    times = 0

    def map_reduce(self, function, each=map):
        starts = [*range(0, self.n_rows, self.block_rows)]
        read = [0] * self.times + starts[1:]
        return in_pairs(function(self._block(start)) for start in read)


@pytest.mark.parametrize("times", [0, 2])
@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_nothing_is_proved_of_rows_that_are_left_out_or_come_twice(kind, times):
    source = Miscounted(X, targets_for(kind), block_rows=150)
    source.times = times
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = made(kind).fit(source).certificate_
    except ValueError:
        return
    assert not any(one.holds for one in found.singles)


BAD_BLOCKS = {
    "empty": lambda block: block._replace(X=block.X[:0], y=block.y[:0]),
    "narrow": lambda block: block._replace(X=block.X[:, :2]),
    "flat": lambda block: block._replace(X=block.X[:, 0]),
    "short": lambda block: block._replace(y=block.y[:-1]),
    "one number": lambda block: block._replace(y=block.y[0]),
    "column of weights": lambda block: block._replace(weights=np.ones((block.n_rows, 1))),
}


@pytest.mark.parametrize("how", BAD_BLOCKS)
@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_blocks_of_a_wrong_shape_are_named(kind, how):
    def change(block):
        return BAD_BLOCKS[how](block) if block.start == 150 else block

    y = targets_for(kind)
    proved = made(kind).fit(Arrays(X, y)).certificate_
    with refuses(["X", "sample_weight", "y"]):
        made(kind).fit(Handed((X, y), change))
    assert not proved.verify(Handed((X, y), change))


def test_arrays_that_are_no_source():
    for rows in (-1, 0, 2.5, "5"):
        with refuses("block_rows"):
            Arrays(X, Z, block_rows=rows)
    for given in ((X, Z[:5]), (X, 1.0), (X, Z, np.ones(3))):
        with refuses(["y", "weights"], naming=str(N)):
            Arrays(*given)
    with refuses("X"):
        Arrays(Z, Z)


# Rows that come in no good order, and columns of which a block shows little.
ORDERED = {
    "trend": X + 1e3 * np.arange(N)[:, None] / N,
    "steep": X + 1e3 * np.arange(N)[:, None],
    "constant": np.column_stack([np.full(N, 3.0), X[:, 1:]]),
    "late": np.where(np.arange(N)[:, None] > N // 2, X, 0.0),
    "scales": X * 10.0 ** np.linspace(9, -9, X.shape[1]),
}


@pytest.mark.parametrize("how", ORDERED)
@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_a_proof_does_not_depend_on_how_rows_are_divided(kind, how):
    rows, y = ORDERED[how], targets_for(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole, *proved = [
            made(kind).fit(Arrays(rows, y, block_rows=size)).certificate_ for size in (N, 50, 333)
        ]
    for one in proved:
        assert as_good(kind, one, whole)
        if how == "steep" and not is_classifier(kind()):
            continue  # rounding is so large that its last digits are more than is allowed for
        for size in (100, N):
            assert one.discrepancies(Arrays(rows, y, block_rows=size)) == []
        assert one.discrepancies(rows, y) == []


@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_what_is_proved_in_memory_is_verified_in_blocks_or_says_that_it_cannot_be(kind):
    y = targets_for(kind)
    several = [{}, {"solver": "gradient", "standardize": True}]
    for given in several if kind is cotas.LeastSquares else several[:1]:
        proved = made(kind).set_params(**given).fit(X, y).certificate_
        for size in (100, 333, N):
            found = proved.discrepancies(Arrays(X, y, block_rows=size))
            assert not found or "about rows in memory" in found[0]


# ---- online classifiers, whose runs are mixed --------------------------------------------------


@pytest.mark.parametrize("kind", MIXED, ids=lambda kind: kind.__name__)
def test_a_mixture_of_one_run_is_that_run(kind):
    """With one block that is taken in its order nothing is mixed."""
    for y, weights in ((TWO, None), (THREE, WEIGHTS)):
        given = {"sampling": "order"} if kind is cotas.Pegasos else {}
        model = made(kind).set_params(max_iter=5, **given)
        alone, mixed = clone(model).fit(X, y, weights), clone(model).fit(Arrays(X, y, weights))
        np.testing.assert_allclose(mixed.coef_, alone.coef_, rtol=1e-9)
        np.testing.assert_allclose(mixed.intercept_, alone.intercept_, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(mixed.mistakes_per_epoch_, alone.mistakes_per_epoch_)
        for one, other in zip(alone.certificate_.singles, mixed.certificate_.singles, strict=True):
            if one.kind not in OPTIMIZATION:  # the theorem of one run
                assert other.lower == one.lower
                assert other.upper == pytest.approx(one.upper, rel=0.05)


@pytest.mark.parametrize("kind", MIXED[:3], ids=lambda kind: kind.__name__)
def test_mixing_as_it_is_printed(kind):
    """Each block one epoch from the common θ, by `partial_fit`, and their mean by rows."""
    first = made(kind).set_params(max_iter=1).fit(Arrays(X, TWO, block_rows=250))
    runs = [
        made(kind).partial_fit(X[a : a + 250], TWO[a : a + 250], classes=["no", "yes"])
        for a in (0, 250, 500)
    ]
    shares = np.array([250, 250, 100]) / N
    mean = sum(share * run.coef_ for share, run in zip(shares, runs, strict=True))
    np.testing.assert_allclose(first.coef_, mean, rtol=1e-9)
    assert first.mistakes_per_epoch_[0] == sum(run.mistakes_per_epoch_[0] for run in runs)


def test_batch_steps_are_those_of_all_rows():
    """A mean over the blocks of batch steps is the batch step, weights included."""
    model = cotas.Pegasos(lam=0.1, sampling="all", max_iter=30)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    for weights in (None, WEIGHTS):
        here = clone(model).fit(scaled, THREE, weights)
        there = clone(model).fit(Arrays(scaled, THREE, weights, block_rows=170))
        np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(there.intercept_, here.intercept_, rtol=1e-5, atol=1e-6)


def separable():
    """Rows that a line tells apart, and the line."""
    rows = RNG.normal(size=(400, 3))
    score = rows @ [1.0, -2.0, 0.5]
    far = np.abs(score) > 0.3
    return rows[far], np.where(score > 0, 1, -1)[far]


def test_the_bound_of_mixed_runs_holds_for_any_separator():
    """Σ μᵢkᵢ ≤ (R/γ)², with γ of the line that made the labels and of the model."""
    rows, y = separable()
    n, line = len(y), np.array([1.0, -2.0, 0.5, 0.0]) / np.linalg.norm([1.0, -2.0, 0.5])
    extended = np.column_stack([rows, np.ones(n)])
    radius, margin = np.linalg.norm(extended, axis=1).max(), (y * (extended @ line)).min()
    for size in (n, 100, 37):
        model = cotas.Perceptron(max_iter=1000).fit(Arrays(rows, y, block_rows=size))
        found, witness = model.certificate_, model.certificate_.witness
        assert model.score(rows, y) == 1.0
        assert model.stop_ is cotas.stops.Stop.THEORY
        shares = np.diff(np.append(0, witness.ends)) / n
        assert found.lower == pytest.approx(shares @ witness.mistakes)
        assert found.lower <= (radius / margin) ** 2
        assert found.lower <= found.upper
        assert witness.mistakes.sum() == model.mistakes_per_epoch_.sum()


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        ({"rounds": 0}, "more mistakes than presentations"),
        ({"mistakes": np.zeros(4, np.int64)}, "do not go as far"),
        ({"mistakes": np.zeros(3, np.int64)}, "its own count"),
        ({"mistakes": -np.ones(4, np.int64)}, "its own count"),
        ({"mistakes": np.zeros(4)}, "whole numbers"),
        ({"rounds": 2.5}, "whole numbers"),
        ({"coef": np.full(5, 1e6)}, "do not go as far"),
        ({"bias": 0.0}, "has none"),
    ],
)
def test_false_counts_of_a_mixture_are_objected_to(lie, words):
    source = Arrays(X, TWO, block_rows=150)
    witness = made(cotas.Perceptron).fit(source).certificate_.witness
    found = replace(witness, **lie).check(source)
    assert not found.holds
    assert words in found.objection


@pytest.mark.parametrize("kind", MIXED[:2], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("power", [-100, 100])
def test_mixed_perceptrons_do_not_depend_on_the_unit(kind, power):
    """Rows in other units, a power of two apart: the same mistakes, and the same bound."""
    plain, moved = (
        made(kind).set_params(fit_intercept=False).fit(Arrays(rows, TWO, block_rows=170))
        for rows in (X, np.ldexp(X, power))
    )
    np.testing.assert_array_equal(moved.coef_, np.ldexp(plain.coef_, power))
    one, other = plain.certificate_, moved.certificate_
    assert other.holds
    assert other.lower == one.lower
    assert other.upper == pytest.approx(one.upper, rel=1e-6)
    overflows = Arrays(np.ldexp(X, 660), TWO, block_rows=170)
    lost = made(kind).fit(overflows).certificate_  # its scores are no numbers
    assert not lost.holds
    assert not lost.verify(overflows)


@pytest.mark.parametrize("kind", MIXED, ids=lambda kind: kind.__name__)
def test_what_a_mixture_does_not_do_it_says(kind):
    source = Arrays(X, TWO, block_rows=200)
    for given in ({"warm_start": True}, {"early_stopping": True}):
        with refuses(["early_stopping", "warm_start"]):
            made(kind).set_params(**given).fit(source)
    if "separator" in kind().get_params():
        with refuses("separator"):
            kind(separator="tightest").fit(source)
    unproved = made(kind).set_params(certify=False).fit(source)
    assert unproved.certificate_.kind == "none"
    np.testing.assert_array_equal(unproved.coef_, made(kind).fit(source).coef_)


@pytest.mark.parametrize("kind", MIXED, ids=lambda kind: kind.__name__)
def test_a_mixture_goes_on_batch_by_batch(kind, tmp_path):
    """`partial_fit` begins at the mixture, before and after a file."""
    given = {"average": True} if "average" in kind().get_params() else {}
    model = made(kind).set_params(**given).fit(Arrays(X, TWO, block_rows=200))
    before = model.coef_.copy()
    model.save(tmp_path / "model.cotas")
    again = cotas.load(tmp_path / "model.cotas")
    for one in (model, again):
        one.partial_fit(X[:50], TWO[:50])
        assert one.certificate_.holds
    np.testing.assert_array_equal(model.coef_, again.coef_)
    # One batch of fifty after twenty epochs of six hundred moves a mean by little.
    if given or kind is cotas.AveragedPerceptron:
        np.testing.assert_allclose(model.coef_, before, atol=0.05 * np.abs(before).max())


def test_pegasos_of_blocks_stops_as_soon_as_it_has_proved_tol():
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    source = Arrays(scaled, THREE, block_rows=170)
    model = cotas.Pegasos(lam=0.1, tol=0.02, max_iter=500, random_state=0).fit(source)
    assert model.stop_ is cotas.stops.Stop.PROVED
    assert model.n_iter_ < 500
    assert model.certificate_.relative_gap <= 0.02


@pytest.mark.parametrize("seed", range(4))
def test_margins_that_vanish_are_not_rounded_up(seed):
    """A product of weight and margin that is no normal number separates nothing for certain."""
    random = np.random.default_rng(seed)
    X = 0.4 * random.normal(size=(200, 2)) + np.where(np.arange(200) % 2, 1.0, -1.0)[:, None]
    y, s = (X.sum(axis=1) > 0).astype(int), 2.0**-250 * random.uniform(1, 2, 200)
    source = Arrays(X * 2.0**-287, y, s, block_rows=50)
    model = cotas.Perceptron(random_state=0, max_iter=50, fit_intercept=False).fit(source)
    certificate = model.certificate_
    if (
        certificate.holds
        and not certificate.vacuous
        and "γ (margin sought)" not in certificate.figures
    ):
        u = [Fraction(float(v)) for v in model.coef_[0]]
        rows = [[Fraction(float(v)) for v in row] for row in X * 2.0**-287]
        margin = min(
            Fraction(float(w)) * (1 if label else -1) * sum(map(mul, u, row))
            for row, label, w in zip(rows, y.tolist(), s, strict=True)
        )
        longest = max(
            Fraction(float(w)) ** 2 * sum(v * v for v in row)
            for row, w in zip(rows, s, strict=True)
        )
        assert Fraction(certificate.upper) * margin**2 >= longest * sum(v * v for v in u)


def test_labels_that_other_blocks_would_round_are_refused():
    y = np.where(Z > 0, 2**53, 2**53 + 1)
    source = Handed(
        (X, y),
        lambda block: block._replace(y=np.full(len(block.y), 2.0**53)) if block.start else block,
    )
    with refuses("y"):
        cotas.LinearSVM().fit(source)


def test_labels_are_bound_where_a_block_has_one_class():
    X = np.array([[-2.0], [-3], [1], [2], [3], [4], [5], [2.5], [0.5], [0.7]])
    y = np.array([1] * 8 + [0] * 2)
    source = Arrays(X, y, block_rows=8)
    model = cotas.Pegasos(lam=1.0, fit_intercept=False, max_iter=3, random_state=0).fit(source)
    assert model.certificate_.verify(source)
    model.classes_ = np.array([-5, 1])
    model._sealed()  # as whoever writes a file can have it
    assert not model.certificate_.verify(source)


class Interrupted(Arrays):
    """A source in which Ctrl-C is pressed in one pass, counted from the first report on."""

    told, passes, at = False, 0, None

    def tell(self, report):
        self.told = True

    def map_reduce(self, function, each=map):
        self.passes += self.told
        if self.told and self.passes == self.at:
            raise KeyboardInterrupt
        return super().map_reduce(function, each)


@pytest.mark.parametrize(
    "model", [*map(made, TAKE), *WAYS.values()], ids=lambda m: type(m).__name__
)
def test_ctrl_c_in_any_pass_leaves_a_model(model):
    """Once a step is made; the passes before it are those that read what there is to learn."""
    rows, y = np.round(X, 1), THREE if is_classifier(model) else Z
    known = model.get_params()
    steps = [name for name in ("n_estimators", "max_iter") if name in known][:1]
    few = {name: min(3, known[name]) for name in steps if type(model) is not cotas.LSBoost}

    def fitted(at):
        source = Interrupted(rows, y, block_rows=170)
        source.at = at
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = clone(model).set_params(callbacks=source.tell, **few).fit(source)
            except KeyboardInterrupt:
                pytest.fail(f"Ctrl-C in pass {at} lost the model.")
        return found, source, [w.category for w in caught]

    passes = fitted(None)[1].passes
    for at in sorted({*range(1, min(passes, 4) + 1), passes // 2, passes - 1, passes} - {0, -1}):
        found, source, said = fitted(at)
        assert source.passes >= at
        assert found.stop_ is Stop.INTERRUPTED
        assert said.count(InterruptedWarning) == 1
        assert all(one.holds for one in found.certificate_.singles)
        assert found.certificate_.discrepancies(Arrays(rows, y, block_rows=170)) == []
        assert len(found.predict(rows)) == N


@pytest.mark.parametrize("kind", TAKE, ids=lambda kind: kind.__name__)
def test_without_time_a_source_is_hardly_read(kind):
    """Once to learn of what, and for the proof: as often for many iterations as for one."""
    known = kind().get_params()
    name = "n_estimators" if "n_estimators" in known else "max_iter"
    if not {"max_time", name} <= set(known):
        pytest.skip("It has no limits.")
    y, passes = THREE if is_classifier(kind()) else Z, []
    for most in (1, 500):
        source = Interrupted(X, y, block_rows=170)
        source.told = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = made(kind, max_time=1e-9, **{name: most}).fit(source)
        assert all(one.holds for one in model.certificate_.singles)
        passes.append(source.passes)
    assert passes[0] == passes[1]
