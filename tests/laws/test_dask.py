"""Rows in partitions: the same fit and the same proof as from the same blocks in memory."""

import contextlib
import os
import pickle
import signal
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier

import cotas
from cotas.certificates.presentation import OPTIMIZATION
from cotas.source import Arrays, NotInBlocksError
from errors import refuses

cloudpickle = pytest.importorskip("cloudpickle")
da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

from cotas.scale import allocation, from_dask  # noqa: E402
from in_blocks import EVERY, TAKE, made, same_parameters  # noqa: E402

N, D, CHUNK = 600, 4, 90


def problem(classes=2):
    """Rows, labels, numbers and weights."""
    random = np.random.default_rng(7)
    X = random.normal(size=(N, D))
    score = X @ np.arange(1.0, D + 1) + random.normal(size=N)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    return X, y, score, random.integers(0, 3, N).astype(float)


def target(kind, y, score):
    return y if is_classifier(kind()) else score


@pytest.mark.parametrize("kind", EVERY)
def test_each_estimator_takes_partitions_or_says_that_it_does_not(kind):
    X, y, score, _ = problem()
    rows = da.from_array(X, chunks=(CHUNK, D))
    labels = da.from_array(target(kind, y, score), chunks=CHUNK)
    if kind in TAKE:
        assert made(kind).fit(rows, labels).certificate_.holds
        return
    with pytest.raises(NotInBlocksError):
        made(kind).fit(rows, labels)


@pytest.fixture(scope="module")
def cluster():
    """Two workers in processes of their own."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as made,
    ):
        yield made


SCHEDULERS = [{"scheduler": "synchronous"}, {"scheduler": "threads", "num_workers": 3}]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", TAKE)
def test_partitions_are_blocks(kind, weighted):
    """The same blocks give the same bits in memory and in Dask, for any number of threads."""
    X, y, score, weights = problem()
    y, s = target(kind, y, score), weights if weighted else None
    in_memory = made(kind).fit(Arrays(X, y, s, block_rows=CHUNK))
    rows = da.from_array(X, chunks=(CHUNK, D))
    given = None if s is None else da.from_array(s, chunks=210)
    with dask.config.set(**SCHEDULERS[weighted]):
        found = made(kind).fit(rows, da.from_array(y, chunks=135), sample_weight=given)
        same_parameters(found, in_memory)
        assert found.certificate_.lower == in_memory.certificate_.lower
        assert found.certificate_.verify(from_dask(rows, y, s))
        assert not found.certificate_.verify(from_dask(rows[::-1], y, s))


@pytest.mark.parametrize("kind", TAKE)
def test_memory_and_partitions_prove_the_same(kind):
    X, y, score, _ = problem()
    y = target(kind, y, score)
    a = made(kind).fit(X, y).certificate_
    b = (
        made(kind)
        .fit(da.from_array(X, chunks=(CHUNK, D)), da.from_array(y, chunks=CHUNK))
        .certificate_
    )
    assert a.holds
    assert b.holds
    assert a.kind == b.kind
    if a.kind in OPTIMIZATION:
        assert max(a.lower, b.lower) <= min(a.upper, b.upper)


def kind_of(model):
    return type(model).__name__


class Sent(Arrays):
    """A source whose functions travel as they do to a worker, and come back with their results."""

    def map_reduce(self, function, each=map):
        def there(block):
            return pickle.loads(cloudpickle.dumps(pickle.loads(packed)(block)))

        packed = cloudpickle.dumps(function, protocol=5)
        return super().map_reduce(there, each)


class Elsewhere(Arrays):
    """A source whose blocks are too large to travel."""

    def blocks(self):
        raise AssertionError("a block was asked for")

    def of_first(self, function):
        return function(self._block(0))


@pytest.mark.parametrize("kind", TAKE)
def test_functions_travel_and_not_the_rows(kind):
    X, y, score, _ = problem()
    rows = Elsewhere(X, target(kind, y, score), block_rows=CHUNK)
    model = made(kind).fit(rows)
    assert model.certificate_.verify(rows)
    assert model.score(rows) == pytest.approx(model.score(X, rows.y))


# The ways to fit a kind that the laws of rows in blocks name besides.
OTHERS = [
    cotas.LSBoost(max_iter=20),
    cotas.LogisticRegression(lam=0.01, penalty="l1"),
    cotas.AdaBoost(n_estimators=2, multiclass="samme"),
]


@pytest.mark.parametrize("model", [*map(made, TAKE), *OTHERS], ids=kind_of)
def test_functions_that_travel_give_the_same_bits(model):
    X, y, score, _ = problem(3)
    y = y if is_classifier(model) else score
    source = Sent(X, y, block_rows=210)
    here, there = clone(model).fit(Arrays(X, y, block_rows=210)), clone(model).fit(source)
    same_parameters(there, here)
    assert str(there.certificate_.to_dict()) == str(here.certificate_.to_dict())
    assert there.certificate_.verify(source)


@pytest.mark.parametrize("model", [made(cotas.Ridge), OTHERS[1]], ids=kind_of)
def test_workers_in_processes_of_their_own_give_the_same_bits(cluster, model):
    X, y, score, _ = problem(3)
    y = y if is_classifier(model) else score
    here = clone(model).fit(Arrays(X, y, block_rows=210))
    with distributed.Client(cluster):
        there = clone(model).fit(da.from_array(X, chunks=(210, D)), da.from_array(y, chunks=210))
    same_parameters(there, here)
    assert str(there.certificate_.to_dict()) == str(here.certificate_.to_dict())


STEPWISE = [made(cotas.Perceptron), cotas.LogitBoost(cotas.Tree(2), 3)]


@pytest.mark.skipif(sys.platform == "win32", reason="no kill -9")
@pytest.mark.parametrize("model", STEPWISE, ids=kind_of)
def test_any_number_of_workers_and_one_that_dies(cluster, model):
    """A worker that is killed in the middle of a fit changes no bit."""
    X, y, _, _ = problem()
    plain = clone(model).fit(Arrays(X, y, block_rows=210))
    rows, labels = da.from_array(X, chunks=(210, D)), da.from_array(y, chunks=210)
    if isinstance(model, cotas.Perceptron):
        labels = y  # which is no collection of Dask's
    killed = []

    def kill(report):
        if not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)
        return False

    with distributed.Client(cluster) as client:
        hurt = clone(model).set_params(callbacks=kill).fit(rows, labels)
        assert killed
        same_parameters(hurt, plain)
        assert hurt.certificate_.verify(rows, labels)
        np.testing.assert_array_equal(hurt.predict(rows).compute(), plain.predict(X))


def test_arrays_beside_a_collection_are_sent_once(cluster):
    """No pass has them in its graph."""
    X, y, _, weights = problem()
    rows = da.from_array(X, chunks=(CHUNK, D))
    with distributed.Client(cluster):
        source = from_dask(rows, y, weights)
        for _, _, labels, some in source._blocks:
            for part in (labels, some):
                held = [type(task).__name__ for task in dict(part.dask).values()]
                assert held == ["Future"]
        found = made(cotas.Pegasos).fit(source)
    expected = made(cotas.Pegasos).fit(Arrays(X, y, weights, block_rows=CHUNK))
    np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_partitions_of_one_worker_are_gone_over_together(cluster):
    """Fewer tasks, the same bits; and what was persisted lives as long as the source."""
    X, y, _, _ = problem()
    rows, labels = da.from_array(X, chunks=(15, D)), da.from_array(y, chunks=15)
    with distributed.Client(cluster) as client:
        home = next(iter(client.nthreads()))
        kept = client.persist([rows, labels], workers=home)
        distributed.wait(kept)
        source = from_dask(*kept)
        del kept
        assert {len(run) for run in source._runs} == {1}
        assert len(source._runs) < len(source._blocks)
        found = made(cotas.Pegasos).fit(source)
    expected = made(cotas.Pegasos).fit(Arrays(X, y, block_rows=15))
    same_parameters(found, expected)
    assert found.certificate_.lower == expected.certificate_.lower


def test_partitions_of_all_sorts():
    """Unequal, empty, of unknown size, sparse, and frames: the same model to rounding."""
    X, y, score, weights = problem()
    plain = cotas.LeastSquares().fit(X, score)
    svm = cotas.LinearSVM(lam=0.01, class_weight="balanced").fit(X, y, weights)
    odd = (1, 200, 0, 99, 300)
    known = da.from_array(X, chunks=(odd, (D,))), da.from_array(y, chunks=(odd,))
    unknown = known[0][known[0][:, 0] > -np.inf], known[1][known[0][:, 0] > -np.inf]
    blocks = known[0].map_blocks(sparse.csr_matrix, dtype=float), known[1]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, z=score)
    parts = dd.from_pandas(frame, npartitions=3)
    frames = parts[list("abcd")], parts["y"]
    for rows, labels in (known, unknown, blocks, frames):
        found = cotas.LinearSVM(lam=0.01, class_weight="balanced").fit(rows, labels, weights)
        a, b = found.certificate_, svm.certificate_
        assert max(a.lower, b.lower) <= min(a.upper, b.upper)
        assert np.array_equal(
            found.predict(rows).compute(),
            found.predict(X if rows is not frames[0] else frame[list("abcd")]),
        )
        assert found.score(rows, labels) == pytest.approx(found.score(from_dask(rows, labels)))
        linear = cotas.LeastSquares().fit(rows, score)
        np.testing.assert_allclose(linear.coef_, plain.coef_, rtol=1e-10)
    assert list(found.feature_names_in_) == list("abcd")


def test_predictions_are_lazy():
    X, y, _, _ = problem(3)
    model = cotas.LinearSVM(lam=0.01).fit(X, y)

    def never(block):
        raise AssertionError("computed")

    rows = da.from_array(X, chunks=(CHUNK, D)).map_blocks(never, dtype=float, meta=np.zeros((0, D)))
    scores = model.decision_function(rows)
    assert scores.shape == (N, 3)
    assert model.predict(rows).dtype == model.classes_.dtype
    with pytest.raises(AssertionError, match="computed"):
        scores.compute()


def test_a_model_from_partitions_needs_no_dask(tmp_path):
    X, y, _, _ = problem()
    model = cotas.LinearSVM().fit(da.from_array(X, chunks=(CHUNK, D)), y)
    assert b"dask" not in pickle.dumps(model)
    model.save(tmp_path / "model.cotas")
    np.testing.assert_array_equal(cotas.load(tmp_path / "model.cotas").predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        (lambda X, y: (X.rechunk((CHUNK, 2)), y), "X"),
        (lambda X, y: (X[:0], y[:0]), "X"),
        (lambda X, y: (X, y[:-1]), "y"),
        (lambda X, y: (X, np.asarray(y)[:-1]), "y"),
        (lambda X, y: (X, None), "y"),
        (lambda X, y: (X, y * 0), "y"),
        (lambda X, y: (da.where(X > 2, np.nan, X), y), "X"),
        (lambda X, y: (X[:, 0], y), "X"),
        (lambda X, y: (X.astype(complex), y), "X"),
    ],
)
def test_bad_partitions_are_refused_in_words(change, parameter):
    X, y, _, _ = problem()
    given = change(da.from_array(X, chunks=(CHUNK, D)), da.from_array(y, chunks=CHUNK))
    with refuses(parameter):
        cotas.LinearSVM().fit(*given)


def test_columns_of_words_and_partitions_that_differ_are_refused():
    X, y, _, _ = problem()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(word="a")
    with refuses("X"):
        cotas.LinearSVM().fit(dd.from_pandas(frame, npartitions=3), y)
    rows = dd.from_pandas(frame.drop(columns="word"), npartitions=3)
    labels = dd.from_pandas(pd.Series(y), npartitions=4)
    with refuses("y"):
        cotas.LinearSVM().fit(rows, labels)


def told_to_the_allocator(monkeypatch, **environment):
    """What the allocator is told by two tasks at once, one of which fails."""
    told = []
    for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(allocation, "_mallopt", lambda: lambda *given: told.append(given))
    with contextlib.suppress(ZeroDivisionError), allocation.keeping_what_is_freed():
        with allocation.keeping_what_is_freed():
            told.append("working")
        told.append("working")
        1 / 0  # noqa: B018
    return told


def test_freed_memory_is_kept_during_tasks_and_not_after_them(monkeypatch):
    kept = [(allocation.MMAP, allocation.MOST_MMAP), (allocation.TRIM, allocation.MOST_TRIM)]
    found = told_to_the_allocator(monkeypatch, MALLOC_TRIM_THRESHOLD_="65536")
    back = [(allocation.MMAP, allocation.FIRST_MMAP), (allocation.TRIM, 65536)]
    assert found == [*kept, "working", "working", *back]
    both = {"MALLOC_TRIM_THRESHOLD_": "0", "MALLOC_MMAP_THRESHOLD_": "4096"}
    found = told_to_the_allocator(monkeypatch, **both)
    assert found[-2:] == [(allocation.MMAP, 4096), (allocation.TRIM, 0)]
    for nothing in ({}, {"MALLOC_TRIM_THRESHOLD_": "much"}):
        assert told_to_the_allocator(monkeypatch, **nothing) == ["working"] * 2
