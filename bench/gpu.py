"""Seconds to a proved gap of the kernel support vector machine on a GPU, and of its predictions.

`python -m bench.gpu` on a machine with a CUDA GPU; COTAS_DATA names the folder with the data. Each
problem is fitted twice: the first time programs are compiled, the second counts. A time is that of
the whole call of `fit`, from arrays in the memory of the host to a model with its certificate.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import torch

import cotas
from bench.data import load, standardized
from cotas.kernels import RBF

GAP = 1e-3
# Of one H200 by its datasheet, in operations a second: single precision by tensor cores (TF32,
# which take three products for one of single precision), and double precision by tensor cores.
PEAK = {"single": 494e12 / 3, "double": 67e12}


def covtype() -> tuple[np.ndarray, np.ndarray]:
    """The second class against the others, standardized."""
    X, y = load("covtype")
    return standardized(X), np.where(y == 2, 1, -1)


def mnist() -> tuple[np.ndarray, np.ndarray]:
    """The 60,000 training digits, between zero and one."""
    X, y = load("mnist")
    return (X[:60_000] / 255).astype(np.float32), y[:60_000].astype(int)


def deformed(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Digits that were moved, turned, scaled and sheared at random; even against odd."""
    X, y = mnist()
    random = torch.Generator("cuda").manual_seed(0)
    images = torch.as_tensor(X, device="cuda").view(-1, 1, 28, 28)
    rows, labels = np.empty((n, 784), dtype=np.float32), np.empty(n, dtype=int)
    for start in range(0, n, len(y)):
        m = min(len(y), n - start)
        which = torch.randperm(len(y), generator=random, device="cuda")[:m]
        r = torch.rand((m, 6), generator=random, device="cuda") - 0.5
        columns = [1 + 0.3 * r[:, 0], 0.4 * r[:, 1], 0.2 * r[:, 2]]
        columns += [0.4 * r[:, 3], 1 + 0.3 * r[:, 4], 0.2 * r[:, 5]]
        grid = torch.nn.functional.affine_grid(
            torch.stack(columns, 1).view(m, 2, 3), (m, 1, 28, 28), align_corners=False
        )
        moved = torch.nn.functional.grid_sample(images[which], grid, align_corners=False)
        rows[start : start + m] = moved.view(m, 784).cpu().numpy()
        labels[start : start + m] = y[which.cpu().numpy()] % 2
    return rows, labels


def fit(X: np.ndarray, y: np.ndarray, C: float, gamma: float) -> tuple[float, Any]:
    """Seconds of one fit, and the model."""
    model = cotas.KernelSVM(
        RBF(gamma=gamma), C=C, tol=GAP, multiclass="ovr", device="cuda", progress=False
    )
    began = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - began, model


def measure(name: str, X: np.ndarray, y: np.ndarray, C: float, gamma: float, runs: int = 3) -> Any:
    """Print a row of the table: the median of some fits, after one that compiles."""
    if runs > 1:
        fit(X, y, C, gamma)
    found = [fit(X, y, C, gamma) for _ in range(runs)]
    seconds, model = sorted(found, key=lambda pair: pair[0])[len(found) // 2]
    proof = model.certificate_
    assert proof.holds
    same = all(np.array_equal(model.dual_coef_, other.dual_coef_) for _, other in found)
    print(
        f"| {name}, {X.shape[0]:,} × {X.shape[1]} | {C:g}, {gamma:.4g} | "
        f"{proof.relative_gap:.1e} | {seconds:.2f} | {len(model.support_):,} | "
        f"{'same bits' if same else 'OTHER BITS'} |",
        flush=True,
    )
    return model


def predictions(X: np.ndarray, model: Any) -> None:
    """Print the seconds for the scores of a million rows, and the part of the peak."""
    rows = np.vstack([X, X])[:1_000_000]
    seconds = []
    for _ in range(4):
        began = time.perf_counter()
        model.decision_function(rows)
        seconds.append(time.perf_counter() - began)
    best = float(np.median(seconds[1:]))
    work = 2.0 * len(rows) * len(model.support_) * rows.shape[1]
    print(
        f"predict {len(rows):,} × {rows.shape[1]} with {len(model.support_):,} support vectors: "
        f"{best:.2f} s, {100 * work / best / PEAK['double']:.0f} % of the peak in double precision",
        flush=True,
    )


def rates() -> None:
    """Print what the fused products alone reach, without the way to the device."""
    from cotas.device.fused import radial_product
    from cotas.device.sides import padded

    for name, dtype, n, m, d in (
        ("single", torch.float32, 581_012, 4096, 54),
        ("single", torch.float32, 60_000, 4096, 784),
        ("double", torch.float64, 581_012, 4096, 54),
        ("double", torch.float64, 60_000, 4096, 784),
    ):
        U = torch.randn((n, padded(d)), dtype=dtype, device="cuda") / d**0.5
        U[:, d:] = 0
        half, W = 0.5 * (U * U).sum(1), torch.randn((m, 1), dtype=dtype, device="cuda")
        seconds = []
        for _ in range(6):
            torch.cuda.synchronize()
            began = time.perf_counter()
            radial_product(U, half, U[:m], half[:m], W)
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - began)
        rate = 2.0 * n * m * d / float(np.median(seconds[1:]))
        print(
            f"product {n:,} × {m:,}, {d} columns, {name}: {rate / 1e12:.1f} TFLOP/s, "
            f"{100 * rate / PEAK[name]:.0f} % of the peak",
            flush=True,
        )


def main() -> None:
    """Run the parts that are named, or all of them."""
    parts = sys.argv[1:] or ["rates", "covtype", "mnist", "deformed"]
    print(torch.cuda.get_device_name(0), "PyTorch", torch.__version__, flush=True)
    if "rates" in parts:
        rates()
    if "covtype" in parts:
        X, y = covtype()
        measure("covtype", X, y, 1.0, 1 / 54)
        model = measure("covtype", X, y, 10.0, 2.0)
        predictions(X, model)
        predictions(X, some_of(model, 100_000))
    if "mnist" in parts:
        X, y = mnist()
        measure("mnist, ten classes", X, y, 10.0, 0.02)
        measure("mnist, even or odd", X, y % 2, 10.0, 0.02)
    if "deformed" in parts:
        X, y = deformed(1_000_000)
        fit(X[:100_000], y[:100_000], 10.0, 0.02)  # compiles the programs
        measure("mnist deformed", X, y, 10.0, 0.02, runs=1)
    if "8100000" in parts:  # 25 GB, and four minutes: only if it is named
        X, y = deformed(8_100_000)
        fit(X[:150_000], y[:150_000], 10.0, 0.02)
        measure("mnist deformed", X, y, 10.0, 0.02, runs=1)


def some_of(model: Any, count: int) -> Any:
    """A model with the first support vectors only: as fast as one that has no more."""
    model.support_, model.support_vectors_ = model.support_[:count], model.support_vectors_[:count]
    model.dual_coef_ = model.dual_coef_[:, :count]
    return model


if __name__ == "__main__":
    main()
