"""The programs for a GPU, and fits on one; skipped without a card."""

from __future__ import annotations

import numpy as np
import pytest

import cotas
from cotas import kernels as k
from cotas.certificates.core.gram import Gram
from cotas.solvers.working_set import climb_pairs, climb_singles
from cotas.stops import Stop

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("There is no CUDA GPU here.", allow_module_level=True)

from cotas.certificates.device import DeviceGram  # noqa: E402
from cotas.device import fused, rows  # noqa: E402
from cotas.device.rows import DeviceRows  # noqa: E402
from cotas.device.sides import padded  # noqa: E402
from cotas.solvers import block_ascent  # noqa: E402

KERNELS = [
    k.RBF(0.8),
    k.Gaussian(np.diag([1.0, 2.0, 3.0, 1.0])),
    k.Polynomial(3, gamma=0.1, coef0=1.0),
    k.Cosine(),
    k.RBF(1.0) + 0.1 * k.Linear(),
    2 * k.RBF(1.0) * k.Polynomial(2, gamma=0.2),
]


def data(n: int, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(n)
    X = random.normal(size=(n, 4))
    y = (X[:, 0] + X[:, 1] ** 2 + 0.3 * random.normal(size=n) > 1).astype(int)
    return X, y + (classes > 2) * (X[:, 2] > 0.5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("machines", [1, 3, 17])
@pytest.mark.parametrize("columns", [3, 54, 70])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (130, 64), (1000, 3001), (40_000, 65)])
def test_a_fused_product_is_that_of_the_values(
    n: int, m: int, columns: int, machines: int, dtype: object
) -> None:
    random = torch.Generator("cuda").manual_seed(n + m)

    def drawn(*shape: int) -> object:
        return torch.randn(shape, generator=random, dtype=torch.float64, device="cuda")

    U, V = drawn(n, columns) / columns**0.5, drawn(m, columns) / columns**0.5
    W = drawn(m, machines)
    exact = torch.exp(-0.5 * ((U[:, None] - V[None]) ** 2).sum(-1)) @ W if n * m < 1e6 else None
    pad = (0, padded(columns) - columns)
    U, V = (torch.nn.functional.pad(part, pad).to(dtype).contiguous() for part in (U, V))
    half = [0.5 * (part * part).sum(1) for part in (U, V)]
    found = fused.radial_product(U, half[0], V, half[1], W.to(dtype))
    again = fused.radial_product(U, half[0], V, half[1], W.to(dtype))
    assert found.shape == (n, machines)
    assert torch.equal(found, again)
    if exact is None:
        exact = fused.radial_product(
            U[-999:].double(), half[0][-999:].double(), V.double(), half[1].double(), W
        )
        found = found[-999:]
    size = 1e-5 if dtype is torch.float32 else 1e-13
    assert float((found - exact).abs().max()) <= size * float(W.abs().sum(0).max())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("free_bias", [True, False])
@pytest.mark.parametrize("q", [2, 64, 1024])
def test_the_ascent_inside_is_that_of_the_loops(q: int, free_bias: bool, dtype: object) -> None:
    random = np.random.default_rng(q)
    machines, n = 3, q + 5
    y = np.where(random.random((machines, n)) < 0.5, 1.0, -1.0)
    low, high = np.minimum(y, 0.0), np.maximum(y, 0.0)
    X = random.normal(size=(n, 3))
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(-1))
    W = np.stack([random.permutation(n)[:q] for _ in range(machines)])
    tensors = [torch.as_tensor(v, device="cuda") for v in (np.zeros((machines, n)), low, high, -y)]
    inside = torch.as_tensor(np.stack([K[np.ix_(w, w)] for w in W]), device="cuda").to(dtype)
    which = torch.as_tensor(W, device="cuda")
    change = fused.climb(inside, which, *tensors, free_bias, 1e-3, 1e-7, 20 * q)
    for c, w in enumerate(W):
        loop = climb_pairs if free_bias else climb_singles
        parts = [K[np.ix_(w, w)], np.zeros(q), low[c, w], high[c, w], -y[c, w]]
        loop(*parts, None, 2e-3, 20 * q)
        a = tensors[0][c, which[c]].cpu().numpy()
        assert np.array_equal(a, change[c].cpu().numpy())
        assert ((a >= low[c, w]) & (a <= high[c, w])).all()

        def value(a: np.ndarray, c: int = c, w: np.ndarray = w) -> float:
            return float(0.5 * a @ K[np.ix_(w, w)] @ a - y[c, w] @ a)

        assert value(a) <= value(parts[1]) + 1e-3 * (1.0 + abs(value(parts[1])))
        assert not free_bias or abs(a.sum()) <= 1e-4


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_enclosures_of_the_card_and_the_core_have_a_value_in_common(kernel: k.RBF) -> None:
    X, _ = data(1500)
    X[0], X[1] = 0.0, 40 * X[1]
    W = np.zeros((len(X), 2))
    W[::3] = np.random.default_rng(1).normal(size=W[::3].shape)
    wanted = np.arange(len(X)) % 2 == 0
    there, off = Gram(kernel.spec(), X).times(W, wanted)
    here, error = DeviceGram("cuda", kernel.spec(), X).times(W, wanted)
    assert (np.abs(there - here) <= off + error).all()


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_fit_on_the_card_proves_the_optimum_of_the_processor(
    kernel: k.RBF, multiclass: str
) -> None:
    X, y = data(3000, classes=3)
    options = {"C": 1.0, "multiclass": multiclass, "tol": 1e-4}
    model = cotas.KernelSVM(kernel, device="cuda", **options).fit(X, y)
    other = cotas.KernelSVM(kernel, **options).fit(X, y)
    for one, two in zip(model.certificate_.parts, other.certificate_.parts, strict=True):
        assert one.relative_gap <= 1e-4
        assert max(one.lower, two.lower) <= min(one.upper, two.upper)
    assert model.certificate_.discrepancies(X, y) == []
    assert other.certificate_.verify(X, y, device="cuda")
    assert cotas.certify(model, X, y, device="cuda").holds
    again = cotas.KernelSVM(kernel, device="cuda", **options).fit(X, y)
    assert np.array_equal(model.dual_coef_, again.dual_coef_)
    scores = model.decision_function(X)
    model.device = "cpu"
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-9, atol=1e-9)


def test_rows_set_aside_and_large_working_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data(70_000)
    options = {"C": 1.0, "tol": 1e-4, "device": "cuda"}
    model = cotas.KernelSVM(k.RBF(1.0), **options).fit(X, y)
    plain = cotas.KernelSVM(k.RBF(1.0), shrinking=False, **options).fit(X, y)
    one, two = model.certificate_, plain.certificate_
    assert max(one.relative_gap, two.relative_gap) <= 1e-4
    assert max(one.lower, two.lower) <= min(one.upper, two.upper)


def test_rows_that_do_not_fit_travel_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data(3000)
    monkeypatch.setattr(rows, "ROOM", 0.0)
    monkeypatch.setattr(rows, "PIECE", 1 << 14)
    assert DeviceRows(("rbf", 1.0, 1.0), X, "cuda", torch.float32).whole is None
    model = cotas.KernelSVM(k.RBF(1.0), C=1.0, tol=1e-4, device="cuda").fit(X, y)
    assert model.certificate_.relative_gap <= 1e-4
    assert model.certificate_.verify(X, y)


def test_a_card_without_memory_leaves_the_best_model(monkeypatch: pytest.MonkeyPatch) -> None:
    works, calls = block_ascent.Near.round, []

    def full(self: object) -> bool:
        calls.append(0)
        if len(calls) > 10:
            torch.empty(1 << 50, device="cuda")
        return works(self)

    monkeypatch.setattr(block_ascent.Near, "round", full)
    X, y = data(3000)
    with pytest.warns(UserWarning, match="memory"):
        model = cotas.KernelSVM(k.RBF(1.0), C=1.0, tol=1e-9, device="cuda").fit(X, y)
    assert model.stop_ is Stop.DEVICE
    assert model.certificate_.verify(X, y)
