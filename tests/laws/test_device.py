"""Kernel machines on the tensors of PyTorch: the same problem, the same proof, on a CPU here.

Everything but the programs for a GPU is covered: those have `test_cuda.py`.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import cotas
from cotas import kernels as k
from cotas.certificates.core.gram import Gram
from cotas.device import find
from cotas.stops import InterruptedWarning, Stop
from errors import refuses

torch = pytest.importorskip("torch")

from cotas.certificates.device import DeviceGram, Maker, computed_by  # noqa: E402
from cotas.device import rows as device_rows  # noqa: E402
from cotas.device.rows import DeviceRows  # noqa: E402
from cotas.device.sides import block, converted, see  # noqa: E402
from cotas.solvers import block_ascent, sample_start  # noqa: E402
from cotas.solvers.kernel_dual import SignedDual  # noqa: E402

KERNELS = [
    k.RBF(0.8),
    k.Gaussian(np.diag([1.0, 2.0, 3.0, 1.0])),
    k.Polynomial(3, gamma=0.1, coef0=1.0),
    k.Linear(),
    k.Cosine(),
    k.RBF(1.0) + 0.1 * k.Linear(),
    2 * k.RBF(1.0) * k.Polynomial(2, gamma=0.2),
    k.RBF(1.0).on([0, 2]),
    (0.5 * k.Cosine()).exp(),
    (k.RBF(1.0) + k.Linear()).normalized(),
]


@pytest.fixture(autouse=True)
def on_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any device is the tensors of the CPU, with small working sets and early shrinking."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)

    def tensors(given: str, spec: object, values: int) -> object:
        return None if given == "cpu" else torch.device("cpu")

    for module in ("cotas.kernel.training", "cotas.kernel.base", "cotas.certificates.device"):
        monkeypatch.setattr(f"{module}.device_for", tensors)
    monkeypatch.setattr(block_ascent, "WORKING_SETS", (64,))
    monkeypatch.setattr(block_ascent, "FEWEST_TO_SHRINK", 100)
    monkeypatch.setattr(block_ascent, "ALWAYS_DOUBLE", 50)
    yield
    torch.set_num_threads(before)


def data(n: int = 300, classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    y = (X[:, 0] + X[:, 1] ** 2 + 0.3 * random.normal(size=n) > 1).astype(int)
    return X, y + (classes > 2) * (X[:, 2] > 0.5)


def bounds(model: cotas.KernelSVM) -> list[tuple[float, float]]:
    proof = model.certificate_
    return [(part.lower, part.upper) for part in proof.parts or [proof]]


def overlap(one: cotas.KernelSVM, other: cotas.KernelSVM) -> bool:
    """Whether both can be right about the best objective of each problem."""
    pairs = zip(bounds(one), bounds(other), strict=True)
    return all(max(a[0], b[0]) <= min(a[1], b[1]) for a, b in pairs)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_block_has_the_values_of_the_kernel(kernel: k.RBF) -> None:
    X, _ = data(40)
    rows = torch.as_tensor(X)
    side = converted(see(kernel.spec(), rows, rows.mean(dim=0)), torch.float64)
    np.testing.assert_allclose(block(kernel.spec(), side, side).numpy(), kernel(X), atol=1e-12)


@pytest.mark.parametrize("piece", [1 << 28, 1 << 10])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_enclosures_of_the_device_and_the_core_have_a_value_in_common(
    kernel: k.RBF, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_rows, "PIECE", piece)
    X, _ = data(90)
    X[0], X[1] = 0.0, 40 * X[1]
    W = np.zeros((len(X), 2))
    W[::3] = np.random.default_rng(1).normal(size=W[::3].shape)
    wanted = np.arange(len(X)) % 2 == 0
    there, off = Gram(kernel.spec(), X).times(W, wanted)
    here, error = DeviceGram("cpu", kernel.spec(), X).times(W, wanted)
    assert (np.abs(there - here) <= off + error).all()
    assert (error[wanted] < 1e-4 * (1.0 + np.abs(here[wanted]))).all()


@pytest.mark.parametrize("layout", [np.asarray, np.float32, sparse.csr_matrix])
def test_rows_that_are_sent_piece_by_piece_give_the_same_products(
    layout: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = layout(data(100)[0])
    which, W = torch.arange(7), torch.ones((7, 2), dtype=torch.float64)
    found = []
    for room in (1 << 40, 0):
        rows = DeviceRows(("rbf", 0.5, 1.0), X, "cpu", torch.float64, room=room)
        some = rows.part(torch.arange(3, 50))
        found.append([rows.times(rows.take(which), W), some.times(some.take(which), W)])
        monkeypatch.setattr(device_rows, "PIECE", 1 << 9)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("kernel", [KERNELS[0], KERNELS[4], KERNELS[5]], ids=str)
def test_both_solvers_prove_the_same_optimum(
    kernel: k.RBF, multiclass: str, fit_intercept: bool
) -> None:
    X, y = data(classes=3)
    weights = np.random.default_rng(2).integers(0, 3, size=len(y)).astype(float)
    options = {"C": 2.0, "multiclass": multiclass, "fit_intercept": fit_intercept, "tol": 1e-5}
    model = cotas.KernelSVM(kernel, device="cuda", **options).fit(X, y, weights)
    other = cotas.KernelSVM(kernel, **options).fit(X, y, weights)
    assert model.certificate_.relative_gap <= 1e-5
    assert overlap(model, other)
    assert model.certificate_.discrepancies(X, y) == []
    assert model.certificate_.discrepancies(X, y, device="cuda") == []
    assert other.certificate_.discrepancies(X, y, device="cuda") == []
    assert cotas.certify(model, X, y, device="cuda").holds
    again = cotas.KernelSVM(kernel, device="cuda", **options).fit(X, y, weights)
    assert np.array_equal(model.dual_coef_, again.dual_coef_)
    model.device = "cpu"
    np.testing.assert_allclose(
        model.decision_function(X), again.decision_function(X), rtol=1e-9, atol=1e-9
    )


def test_f_is_the_product_with_k_after_rows_were_set_aside() -> None:
    X, y = data(800, seed=3)
    kernel, problem = k.RBF(1.0), cotas.solvers.kernel_dual.SignedDual
    signs, n = 2.0 * y - 1.0, len(y)
    box = block_ascent.Box.of([problem.of(signs, np.full(n, 1 / n), 1 / n, True)], "cpu")
    rows = DeviceRows(kernel.spec(), X, "cpu", torch.float32)
    ascent = block_ascent.BlockAscent(rows, box, shrinking=True)
    machine, least = block_ascent.OneProblem(ascent, 0, None, 1e-6), n
    while machine.relative_gap() > 1e-6 and machine.improve():
        least = min(least, n if ascent.active is None else len(ascent.active))
    ascent.bring_up_to_date()
    assert least < n
    np.testing.assert_allclose(kernel(X) @ machine.a - signs, machine.F, atol=1e-3)
    assert abs(machine.a.sum()) <= 1e-3
    assert ((machine.a >= box.low[0].numpy()) & (machine.a <= box.high[0].numpy())).all()


def test_a_tolerance_beyond_single_precision_is_proved_in_double() -> None:
    X, y = data()
    model = cotas.KernelSVM(k.RBF(1.0), C=1.0, tol=1e-9, device="cuda").fit(X, y)
    assert model.certificate_.relative_gap <= 1e-9


def test_integer_weights_are_repeated_rows() -> None:
    X, y = data(150)
    weights = np.random.default_rng(4).integers(0, 4, size=len(y))
    options = {"kernel": k.RBF(1.0), "lam": 1e-2, "tol": 1e-6, "device": "cuda"}
    one = cotas.KernelSVM(**options).fit(X, y, weights)
    other = cotas.KernelSVM(**options).fit(np.repeat(X, weights, 0), np.repeat(y, weights))
    assert overlap(one, other)


def test_a_warm_start_begins_at_the_last_model() -> None:
    X, y = data(classes=3)
    model = cotas.KernelSVM(k.RBF(1.0), C=1.0, tol=1e-5, device="cuda", warm_start=True)
    first = model.fit(X, y).n_iter_
    assert model.fit(X, y).n_iter_ < first
    assert model.certificate_.holds


@pytest.mark.parametrize("failing", ["round", "evaluate"])
def test_a_device_that_fails_leaves_the_best_model_so_far(
    failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = {"round": block_ascent.Near, "evaluate": block_ascent.BlockAscent}[failing]
    works, calls = getattr(owner, failing), []

    def breaks(self: object) -> object:
        calls.append(0)
        if len(calls) > 2:
            raise RuntimeError("CUDA error: an illegal memory access\nand a page of advice")
        return works(self)

    monkeypatch.setattr(owner, failing, breaks)
    X, y = data()
    with pytest.warns(UserWarning, match="memory"):
        model = cotas.KernelSVM(k.RBF(1.0), C=1.0, tol=1e-9, device="cuda").fit(X, y)
    assert model.stop_ is Stop.DEVICE
    assert "page of advice" not in model.stop_reason_
    assert model.certificate_.verify(X, y)


def test_a_proof_goes_on_without_a_device_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> object:
        raise RuntimeError("CUDA out of memory.")

    X, y = data()
    model = cotas.KernelSVM(k.RBF(1.0), C=1.0).fit(X, y)
    monkeypatch.setattr(DeviceRows, "times", breaks)
    with pytest.warns(RuntimeWarning, match="memory"):
        assert model.certificate_.verify(X, y, device="cuda")
    model.device = "cuda"
    with pytest.warns(RuntimeWarning, match="memory"):
        scores = model.decision_function(X)
    model.device = "cpu"
    assert np.array_equal(scores, model.decision_function(X))


def test_callbacks_time_and_interruptions_end_a_fit() -> None:
    X, y = data()
    options = {"kernel": k.RBF(1.0), "C": 1.0, "tol": 1e-12, "device": "cuda"}
    seen = []
    model = cotas.KernelSVM(
        **options, callbacks=lambda report: len(seen) > 0 or seen.append(report)
    )
    with pytest.warns(ConvergenceWarning):
        assert model.fit(X, y).stop_ is Stop.CALLBACK
    with pytest.warns(ConvergenceWarning):
        assert cotas.KernelSVM(**options, max_time=1e-9).fit(X, y).stop_ is Stop.TIME

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning):
        model = cotas.KernelSVM(**options, callbacks=interrupt).fit(X, y)
    assert model.stop_ is Stop.INTERRUPTED
    assert model.certificate_.holds


def test_a_maker_keeps_the_rows_of_one_fit_only() -> None:
    X, _ = data(20)
    maker = Maker(torch.device("cpu"))
    first = maker(("rbf", 1.0, 1.0), X)
    assert maker(("rbf", 1.0, 1.0), X) is first
    assert maker(("rbf", 2.0, 1.0), X) is not first
    assert maker(("rbf", 2.0, 1.0), X.copy()) is not first
    with computed_by(None):
        assert type(cotas.certificates.kernel.MAKER.get()(("linear",), X)) is Gram


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", 0, None])
def test_what_is_no_device_is_refused(device: object) -> None:
    X, y = data(30)
    with refuses("device"):
        cotas.KernelSVM(device=device).fit(X, y)


def test_a_device_wants_a_formula_and_the_one_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data(30)
    for option in ({"solver": "smo-simple"}, {"approximate": "nystroem"}):
        with refuses("device"):
            cotas.KernelSVM(device="cuda", **option).fit(X, y)
        cotas.KernelSVM(device="auto", n_components=10, **option).fit(X, y)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    for spec in (("precomputed",), ("sum", ("linear",), ("custom", len))):
        with refuses("device"):
            find.device_for("cuda", spec, 1 << 40)
        assert find.device_for("auto", spec, 1 << 40) is None
    assert find.device_for("auto", ("linear",), 100) is None
    with pytest.raises(RuntimeError, match="CUDA"):
        find.device_for("cuda:7", ("linear",), 100)


def drawn(n: int, lam: float, noise: float, free_bias: bool) -> tuple[np.ndarray, list[SignedDual]]:
    """A problem and the one with the classes exchanged."""
    random = np.random.default_rng(n)
    X = random.normal(size=(n, 3))
    y = np.where(X[:, 0] + noise * random.normal(size=n) > 0.3, 1.0, -1.0)
    return X, [SignedDual.of(s, np.full(n, 1 / n), lam, free_bias) for s in (y, -y)]


@pytest.mark.parametrize("free_bias", [True, False])
@pytest.mark.parametrize(
    ("way", "gamma", "lam", "noise"),
    [("place", 0.1, 1e-2, 1.0), ("some", 0.1, 1e-7, 0.0), ("none", 300.0, 1e-6, 1.0)],
)
def test_samples_place_all_rows_or_some_or_leave_them(
    way: str, gamma: float, lam: float, noise: float, free_bias: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(sample_start, "FEWEST_TO_SHRINK", 200)
    X, duals = drawn(2000, lam, noise, free_bias)
    rows = DeviceRows(k.RBF(gamma=gamma).spec(), X, "cpu", torch.float64)
    box = block_ascent.Box.of(duals, "cpu")
    ascent = block_ascent.BlockAscent(rows, box, True)
    assert sample_start.begin_with_samples(ascent) is (way != "none")
    assert ((box.low <= ascent.a) & (ascent.a <= box.high)).all()
    at_bound = ((ascent.a == box.low) | (ascent.a == box.high)).sum(dim=1)
    if way == "none":
        assert not ascent.a.any()
    elif way == "place":
        assert (at_bound >= 2000 - 1).all()
        assert (ascent.a != 0).sum() > 2000 // 4  # of both problems: more than any sample has
    else:
        assert ((ascent.a != 0).sum(dim=1) <= 2000 // 8).all()
    if free_bias:
        assert ascent.a.sum(dim=1).abs().max() <= 1e-9 * box.high.sum()
    K = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(-1))
    np.testing.assert_allclose(
        ascent.F.numpy(), ascent.a.numpy() @ K - box.y.numpy(), atol=1e-9 * float(box.high.sum())
    )


@pytest.mark.parametrize(("lam", "noise"), [(1e-2, 1.0), (1e-6, 0.0)])
def test_a_fit_after_samples_proves_the_same(
    lam: float, noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_start, "FEWEST_TO_SHRINK", 150)
    X, (dual, _) = drawn(1500, lam, noise, True)
    proofs = [
        cotas.KernelSVM(k.RBF(gamma=0.1), lam=lam, tol=1e-4, device=device)
        .fit(X, dual.y)
        .certificate_
        for device in ("cpu", "cuda")
    ]
    assert all(proof.holds and proof.relative_gap <= 1e-4 for proof in proofs)
    assert max(proof.lower for proof in proofs) <= min(proof.upper for proof in proofs)


@pytest.mark.parametrize(("lam", "noise"), [(1e-2, 1.0), (1e-7, 0.0)])
@pytest.mark.parametrize("rounds", range(4))
def test_samples_that_time_does_not_allow_move_nothing(
    rounds: int, lam: float, noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time is counted in rounds here, of which there are no more than it allows."""
    monkeypatch.setattr(sample_start, "FEWEST_TO_SHRINK", 200)
    made: list[float] = []
    improve = block_ascent.BlockAscent.improve

    def counted(ascent: block_ascent.BlockAscent, tol: float) -> bool:
        made.append(tol)
        return improve(ascent, tol)

    monkeypatch.setattr(block_ascent.BlockAscent, "improve", counted)
    monkeypatch.setattr(sample_start, "time", SimpleNamespace(perf_counter=lambda: len(made)))
    X, duals = drawn(2000, lam, noise, True)
    rows = DeviceRows(k.RBF(gamma=0.1).spec(), X, "cpu", torch.float64)
    ascent = block_ascent.BlockAscent(rows, block_ascent.Box.of(duals, "cpu"), True)
    moved = sample_start.begin_with_samples(ascent, rounds)
    assert len(made) <= rounds
    assert moved is bool(ascent.a.any())
    assert rounds or not moved
