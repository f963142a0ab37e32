"""Bins, histogram trees and exact stumps: what they must do whatever the data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.tree import DecisionTreeRegressor

from cotas.certificates.theorems.weak_learners import PlainTrees, StumpClass, places
from cotas.solvers.binning import Scale, make_bins
from cotas.solvers.bundles import make_bundles, readings_of, units_of
from cotas.solvers.exponential_weights import parts_of
from cotas.solvers.radix_sort import sorted_numbers
from cotas.solvers.sparse_binning import make_small_bins, make_sparse_bins
from cotas.solvers.stump_search import ExactStumps
from cotas.solvers.tree_growing import Grower
from cotas.solvers.trees import evaluate_trees, join_trees, list_categories
from cotas.solvers.weak_learners import BinnedTrees
from errors import refuses


def binned(X, categorical=(), used=None):
    mask = np.zeros(X.shape[1], dtype=bool)
    mask[list(categorical)] = True
    return (make_sparse_bins if sparse.issparse(X) else make_bins)(X, used, mask, map)


def learner(X, depth, categorical=(), gini=False):
    bins, scale = binned(X, categorical)
    return BinnedTrees(bins, scale, depth, map, 1, gini), scale


def codes_of(bins, j):
    """The codes of a feature, however they are stored."""
    k = bins.place[j]
    if k >= 0:
        return bins.codes[k]
    codes = np.full(bins.codes.shape[1], bins.usual[j])
    part = slice(bins.starts[-k - 1], bins.starts[-k])
    codes[bins.rows[part]] = bins.listed[part]
    return codes


def mixed(n=300, seed=0):
    """Numbers with ties, gaps, a rare feature, and categories."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.integers(0, 5, n),
            np.where(rng.random(n) < 0.1, rng.normal(size=n), np.nan),
            (rng.random(n) < 0.05).astype(float),
            rng.integers(0, 6, n) * 3.0 - 2,
        ]
    )
    X[rng.random(n) < 0.2, 0] = np.nan
    return X, rng.normal(size=n)


def test_codes_are_the_places_among_the_edges():
    X, _ = mixed(2000)
    bins, scale = binned(X, categorical=[4])
    for j in range(5):
        x, codes = X[:, j], codes_of(bins, j)
        present = ~np.isnan(x)
        np.testing.assert_array_equal(
            codes[present], np.searchsorted(scale.edges[j], x[present]), f"feature {j}"
        )
        assert (codes[~present] == bins.sizes[j]).all()
    assert (bins.place < 0).tolist() == [False, False, True, True, False]


def test_bins_hold_similar_shares_and_are_at_most_256():
    x = np.random.default_rng(0).normal(size=(20_000, 1))
    bins, _ = binned(x)
    shares = np.bincount(codes_of(bins, 0), minlength=256)
    assert len(shares) == 256
    assert shares.max() < 2 * shares.mean()
    with_gap = np.vstack([x, [[np.nan]]])
    bins, _ = binned(with_gap)
    assert bins.sizes[0] <= 255
    assert codes_of(bins, 0)[-1] == bins.sizes[0]


def test_a_rare_value_outside_the_sample_still_gets_its_bin(monkeypatch):
    monkeypatch.setattr("cotas.solvers.binning.SAMPLE", 50)
    x = np.zeros((1001, 1))
    x[1:500, 0], x[7, 0] = 1.0, 2.0
    x[11, 0] = np.nan
    bins, scale = binned(x)
    np.testing.assert_allclose(scale.edges[0], [0.5, 1.5])
    assert codes_of(bins, 0)[7] == 2
    assert codes_of(bins, 0)[11] == 3


def test_layouts_and_precisions_give_the_same_bins():
    X = np.round(np.random.default_rng(0).normal(size=(200, 4)), 2).astype(np.float32)
    X[np.abs(X) < 0.8] = 0
    reference, _ = binned(X.astype(np.float64))
    for other in (X, np.asfortranarray(X), sparse.csr_matrix(X), sparse.csc_matrix(X)):
        found, _ = binned(other)
        for j in range(4):
            np.testing.assert_array_equal(codes_of(found, j), codes_of(reference, j))


@pytest.mark.parametrize("sample", [1 << 16, 512])
@pytest.mark.parametrize("gaps", [0.0, 0.02], ids=["whole", "missing"])
def test_a_sparse_matrix_has_the_bins_of_the_dense_one(monkeypatch, sample, gaps):
    """Few and many distinct values, many and few zeros, categories, rows that are not used."""
    rng = np.random.default_rng(0)
    n, shares = 1500, np.repeat([0.02, 0.1, 0.4, 1.0], 3)
    X = rng.normal(size=(n, 12)) * (rng.random((n, 12)) < shares)
    X[:, 1::3] = np.round(X[:, 1::3])
    X[:, 2::3] = np.round(99 * X[:, 2::3]) / 99
    X[rng.random(X.shape) < gaps] = np.nan
    X[:, 4] = rng.integers(0, 6, n)
    X[:, 5] = np.where(rng.random(n) < 0.9, 0.0, rng.integers(0, 254, n))
    monkeypatch.setattr("cotas.solvers.binning.SAMPLE", sample)
    monkeypatch.setattr("cotas.solvers.sparse_binning.SAMPLE", sample)
    for used in (None, np.sort(rng.permutation(n)[:1100])):
        dense, scale = binned(X, [4], used)
        others = [
            binned(layout, [4], used) for layout in (sparse.csr_matrix(X), sparse.csc_array(X))
        ]
        if sample > n:
            others.append(make_small_bins(X, used, np.arange(12) == 4, map))
        for found, scale_found in others:
            assert 0 < len(found.codes) < 12
            for j in range(12):
                np.testing.assert_array_equal(scale_found.edges[j], scale.edges[j])
                np.testing.assert_array_equal(codes_of(found, j), codes_of(dense, j))
            for name in ("sizes", "missing", "categorical"):
                np.testing.assert_array_equal(getattr(found, name), getattr(dense, name))
            for a, b in zip(found, dense, strict=True):
                assert a.dtype == b.dtype


def few_values(n=5000, seed=0):
    """Features of few values, alone and together, gaps, a rare one, and one of many values."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, [2, 3, 5, 9, 17, 40, 2, 250], (n, 8)).astype(float)
    X[:, 3] = X[:, 4] // 2
    X[rng.random(n) < 0.1, 2] = np.nan
    X[:, 6] *= rng.random(n) < 0.1
    return X, rng.normal(size=n)


def test_a_bundle_tells_the_codes_of_its_features_and_every_feature_is_in_one_unit():
    bins, _ = binned(few_values()[0], categorical=[1])
    made = make_bundles(bins)
    units = units_of(bins, made)
    extras, n_units = units.extras, len(units.width)
    assert sorted(extras.features) == list(range(8))
    assert 0 < len(made) < n_units < 8
    readings = readings_of(units)
    assert sorted(readings[readings >= 0]) == list(range(n_units))
    for u in range(len(made)):
        for m in range(extras.starts[u], extras.starts[u + 1]):
            told = extras.members[m, units.codes[units.column[u]]]
            np.testing.assert_array_equal(told, codes_of(bins, extras.features[m]))
    alone = units_of(bins, [])
    assert alone.codes is bins.codes  # a table has them once
    assert alone.codes.flags.c_contiguous


@given(st.lists(st.floats(allow_nan=False, width=32), max_size=40), st.integers(1, 200))
def test_numbers_in_order_are_sorted(numbers, repeats):
    numbers = np.tile(np.array(numbers), repeats)
    np.testing.assert_array_equal(sorted_numbers(numbers), np.sort(numbers))


def brute_force_edge(X, s, categorical=()):
    """The largest Σ sᵢ f(xᵢ) of a stump, by trying all."""
    best = abs(s.sum())
    for j in range(X.shape[1]):
        x, gap = X[:, j], np.isnan(X[:, j])
        if j in categorical:
            best = max(
                best, sum(abs(s[x == c].sum()) for c in np.unique(x[~gap])) + abs(s[gap].sum())
            )
            continue
        for t in np.unique(x[~gap]):
            left = x <= t
            for side in (left | gap, left):
                best = max(best, abs(s[side].sum()) + abs(s[~side].sum()))
    return best


@given(st.integers(0, 10_000), st.integers(2, 40))
def test_both_searches_and_the_checker_find_the_best_stump(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, 3)).astype(float)
    X[rng.random((n, 3)) < 0.2] = np.nan
    s = rng.normal(size=n)
    best = brute_force_edge(X, s)
    histogram = learner(X, 1)[0].edge(s)
    exact, values = ExactStumps(X, None, map).search(s)
    assert s @ histogram.values == pytest.approx(best)
    assert s @ values == pytest.approx(best)
    np.testing.assert_array_equal(histogram.learner.feature, exact.feature)
    np.testing.assert_allclose(histogram.learner.threshold, exact.threshold)
    np.testing.assert_array_equal(histogram.values, values)
    for thresholds in (None, tuple(binned(X)[1].edges)):
        checked = StumpClass(thresholds, np.zeros(3, dtype=bool)).largest_edge(X, s)
        assert checked == pytest.approx(best)


@given(st.integers(0, 10_000))
def test_categories_are_grouped_in_the_best_way(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (30, 2)) * 1.5
    X[rng.random((30, 2)) < 0.1] = np.nan
    s = rng.normal(size=30)
    found = learner(X, 1, categorical=[1])[0].edge(s)
    best = brute_force_edge(X, s, categorical=[1])
    assert s @ found.values == pytest.approx(best)
    checked = StumpClass(None, np.array([False, True])).largest_edge(X, s)
    assert checked == pytest.approx(best)


def test_pruning_saves_work_and_changes_nothing():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 30))
    s = np.where(X[:, 7] > 0.3, 1.0, -1.0) * rng.exponential(size=400) ** 4
    s[rng.random(400) < 0.1] *= -1
    pruned, plain = ExactStumps(X, None, map), ExactStumps(X, None, map, prune=False)
    for a, b in zip(pruned.search(s)[0], plain.search(s)[0], strict=True):
        np.testing.assert_array_equal(a, b)
    assert pruned.searched < plain.searched == 30


@pytest.mark.parametrize("depth", [1, 2, 3, 6])
def test_trees_fit_like_those_of_scikit_learn(depth):
    rng = np.random.default_rng(depth)
    X = rng.integers(0, 40, (500, 6)).astype(float)
    z, w = np.sin(X[:, 0] / 5) + X[:, 1] * X[:, 2] / 800 + rng.normal(size=500) / 5, rng.random(500)
    ours = learner(X, depth)[0].least_squares(w * z, w)
    theirs = DecisionTreeRegressor(max_depth=depth, random_state=0).fit(X, z, sample_weight=w)
    np.testing.assert_allclose(ours.values, theirs.predict(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("depth", [1, 3, 8])
def test_compiled_and_plain_evaluation_agree_with_growing(depth):
    X, z = mixed()
    weak, scale = learner(X, depth, categorical=[4], gini=True)
    fits = []
    for _ in range(3):
        fitted = weak.least_squares(z, np.ones(len(z)))
        fits.append((fitted.learner, fitted.values.copy()))
        z = z - fitted.values
    trees, categories = join_trees([tree for tree, _ in fits]), list_categories(scale)
    total = sum(c * values for c, (_, values) in zip((1.0, 2.0, -0.5), fits, strict=True))
    coefficients = np.array([1.0, 2.0, -0.5])
    np.testing.assert_allclose(evaluate_trees(X, trees, coefficients, categories), total)
    arrays = {name: a for name, a in trees._asdict().items() if name != "gain"}
    plain = PlainTrees(categories={4: scale.edges[4]}, **arrays)
    for (_, values), again in zip(fits, plain.values(X), strict=True):
        np.testing.assert_array_equal(values, again)


def test_unseen_categories_and_gaps_go_where_they_are_said_to_go():
    X = np.array([[1.0], [2.0], [1.0], [2.0]])
    weak, scale = learner(X, 1, categorical=[0])
    tree = weak.edge(np.array([-1.0, 1.0, -1.0, 1.0])).learner
    new = np.array([[1.0], [2.0], [7.0], [np.nan]])
    np.testing.assert_array_equal(
        evaluate_trees(new, tree, np.ones(1), list_categories(scale)), [-1, 1, 1, 1]
    )
    weak, scale = learner(X, 1)
    tree = weak.edge(np.array([-1.0, 1.0, -1.0, 1.0])).learner
    np.testing.assert_array_equal(
        evaluate_trees(new, tree, np.ones(1), list_categories(scale)), [-1, 1, 1, 1]
    )


def test_threads_and_siblings_do_not_change_the_tree(monkeypatch):
    monkeypatch.setattr("cotas.solvers.tree_growing.WORTH_A_THREAD", 1 << 10)
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(0)
    X, g = rng.normal(size=(9000, 60)), rng.normal(size=9000) + 1j
    X[:, 20:] *= rng.random((9000, 40)) < 0.08
    bins, scale = binned(X)
    from cotas.solvers.split_search import SquaresCriterion

    with ThreadPoolExecutor(3) as pool:
        shared = Grower(bins, scale, 4, pool.map, 3)
        assert len(shared.shares) == 3
        one, leaf, sums = shared.grow(SquaresCriterion(0.0), g, complex(g.sum()))
        leaf = leaf.copy()
    monkeypatch.setattr("cotas.solvers.tree_growing.KEPT_BYTES", 0)
    two, leaf2, sums2 = Grower(bins, scale, 4, map, 1).grow(
        SquaresCriterion(0.0), g, complex(g.sum())
    )
    np.testing.assert_array_equal(one.feature, two.feature)
    np.testing.assert_array_equal(one.threshold, two.threshold)
    np.testing.assert_array_equal(leaf, leaf2)
    np.testing.assert_allclose(sums, sums2)


@pytest.mark.parametrize("depth", [2, 5])
def test_bundles_and_parts_of_the_rows_do_not_change_the_tree(depth, monkeypatch):
    X, z = few_values()
    weak, _ = learner(X, depth, categorical=[1])
    bundled = weak.least_squares(z, np.ones(len(z)))
    monkeypatch.setattr("cotas.solvers.exponential_weights.WORTH_A_THREAD", 100)
    for most in (256, 0):
        monkeypatch.setattr("cotas.solvers.bundles.LARGEST", most)
        weak, _ = learner(X, depth, categorical=[1])
        assert len(parts_of(len(z))) == 4
        assert (len(weak.grower.units.extras.members) > 0) == (most > 0)
        other = weak.least_squares(z, np.ones(len(z)))
        np.testing.assert_array_equal(bundled.learner.feature, other.learner.feature)
        np.testing.assert_array_equal(bundled.learner.threshold, other.learner.threshold)
        np.testing.assert_allclose(bundled.values, other.values, rtol=1e-12)


def test_too_many_categories_are_refused():
    X = np.arange(300.0)[:, None]
    with refuses("X", naming="300"):
        binned(X, categorical=[0])
    assert isinstance(binned(X)[1], Scale)


@pytest.mark.parametrize("n_cuts", [0, 1, 2, 3, 127, 128, 255])
def test_the_checker_finds_the_bin_of_each_value(n_cuts):
    rng = np.random.default_rng(n_cuts)
    cuts = np.unique(np.round(rng.normal(size=n_cuts), 2))
    x = np.r_[np.round(rng.normal(size=20_000), 2), cuts, -np.inf, np.inf]
    other = cuts[: n_cuts // 2] + 0.125
    found = places([cuts, other], np.stack([x, x]))
    np.testing.assert_array_equal(found[0], np.searchsorted(cuts, x))
    np.testing.assert_array_equal(found[1], np.searchsorted(other, x))


@pytest.mark.parametrize("values", [2, 4, 1000])
def test_the_checker_finds_the_rows_that_no_test_tells_apart(values, monkeypatch):
    monkeypatch.setattr("cotas.certificates.theorems.weak_learners.CELLS_AT_A_TIME", 600)
    rng = np.random.default_rng(values)
    X = rng.integers(0, values, (300, 7)).astype(float)
    X[150:] = X[:150][rng.integers(0, 150, 150)]
    used = np.flatnonzero(rng.random(300) < 0.9)
    rows, cells = StumpClass(None, np.zeros(7, dtype=bool)).cells(X, used)
    _, same, counts = np.unique(X[used], axis=0, return_inverse=True, return_counts=True)
    same = same.ravel()
    np.testing.assert_array_equal(rows, used[counts[same] > 1])
    shared = same[counts[same] > 1]
    assert len(np.unique(np.stack([cells, shared]), axis=1).T) == len(np.unique(shared))
    assert len(np.unique(cells)) == len(np.unique(shared))
