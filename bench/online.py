"""Five epochs in document order, the same updates, against scikit-learn and Vowpal Wabbit."""

from __future__ import annotations

import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import Perceptron as PeerPerceptron
from sklearn.linear_model import SGDClassifier

import cotas
from bench.data import load, made_one_hot, standardized
from bench.side_by_side import conditions, interleaved, read_bandwidth

EPOCHS = 5


def peers(bias: bool) -> dict[str, Any]:
    """scikit-learn's estimators, told to do the same work."""
    shared = {"max_iter": EPOCHS, "tol": None, "shuffle": False, "fit_intercept": bias}
    return {
        "scikit-learn Perceptron": PeerPerceptron(n_jobs=2, **shared),
        "scikit-learn SGDClassifier": SGDClassifier(
            loss="perceptron", penalty=None, learning_rate="constant", eta0=1.0, n_jobs=2, **shared
        ),
    }


def ours(bias: bool, certify: bool) -> cotas.Perceptron:
    return cotas.Perceptron(max_iter=EPOCHS, fit_intercept=bias, certify=certify)


def check_same_updates(X: Any, y: np.ndarray, bias: bool) -> None:
    """The comparison is void unless both end at the same vector."""
    theta = ours(bias, False).fit(X, y).coef_
    for name, peer in peers(bias).items():
        theirs = peer.fit(X, y).coef_
        difference = np.linalg.norm(theta - theirs) / np.linalg.norm(theta)
        # In single precision the peers also accumulate in it, and part ways at near ties.
        if difference > 1e-6:
            print(f"(the vectors of {name} and cotas differ by {difference:.1e})", file=sys.stderr)


def vowpal_wabbit(X: sparse.csr_matrix, y: np.ndarray) -> Callable[[], object] | None:
    """Five passes over its own binary cache with hinge loss and plain steps, if it is installed."""
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        return None
    folder = Path(tempfile.mkdtemp())
    lines = []
    for i in range(X.shape[0]):
        span = slice(X.indptr[i], X.indptr[i + 1])
        pairs = zip(X.indices[span], X.data[span], strict=True)
        label = 1 if y[i] == y.max() else -1
        lines.append(f"{label} | " + " ".join(f"{j}:{v:g}" for j, v in pairs))
    (folder / "train.vw").write_text("\n".join(lines))
    options = (
        f"-d {folder / 'train.vw'} --cache_file {folder / 'cache'} --loss_function hinge --sgd "
        f"-l 1 --power_t 0 --noconstant --holdout_off --passes {EPOCHS} --quiet -b 18"
    )
    Workspace(options).finish()  # writes the cache
    return lambda: Workspace(options).finish()


def peak_memory(fit: Callable[[], object]) -> int:
    """Bytes allocated at the worst moment of a fit, beyond what was there before."""
    fit()
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def row(name: str, X: Any, y: np.ndarray, bias: bool, repeats: int) -> None:
    check_same_updates(X, y, bias)
    contestants: dict[str, Callable[[], object]] = {
        "fit": lambda: ours(bias, True).fit(X, y),
        "train": lambda: ours(bias, False).fit(X, y),
    }
    for peer_name, peer in peers(bias).items():
        contestants[peer_name] = lambda peer=peer: peer.fit(X, y)
    if sparse.issparse(X) and (wabbit := vowpal_wabbit(X, y)) is not None:
        contestants["Vowpal Wabbit"] = wabbit
    times = interleaved(contestants, repeats)
    size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
    memory = peak_memory(contestants["fit"]) / size
    others = [n for n in contestants if n not in ("fit", "train")]
    for other in others:
        print(
            f"| {name} | {other} | {times[other] * 1e3:.1f} | {times['train'] * 1e3:.1f} "
            f"| {times[other] / times['train']:.2f} | {times['fit'] * 1e3:.1f} "
            f"| {times[other] / times['fit']:.2f} | {memory:.1%} |"
        )
    if isinstance(X, np.ndarray) and len(np.unique(y)) == 2:
        rate = EPOCHS * X.nbytes / loop_seconds(X, y)
        limit = read_bandwidth(X)
        NOTES.append(
            f"{name}: the loop alone reads {rate / 1e9:.1f} GB/s, {rate / limit:.0%} of the "
            f"{limit / 1e9:.1f} GB/s at which one core reads this array."
        )


NOTES: list[str] = []


def loop_seconds(X: np.ndarray, y: np.ndarray) -> float:
    """Five epochs without validation and certificate."""
    seconds: list[float] = []
    model = ours(True, False).set_params(callbacks=lambda report: seconds.append(report.seconds))
    totals = []
    for _ in range(9):
        seconds.clear()
        model.fit(X, y)
        totals.append(sum(seconds))
    return float(np.median(totals))


def main(repeats: int = 11) -> None:
    print(
        f"{conditions('vowpalwabbit')}; medians of {repeats} interleaved runs of {EPOCHS} epochs "
        "in document order, in milliseconds. `train` is `fit` with certify=False. Peers get two "
        "threads where they can use them. On CSR all run without bias, since scikit-learn scales "
        "the steps of the bias down there.\n"
    )
    print("| data | peer | peer | train | ratio | fit | ratio | extra memory of fit |")
    print("|---|---|---|---|---|---|---|---|")
    X, y = load("covtype")
    X, y = standardized(X), (y == 2).astype(np.int64)
    row("covtype, 581,012 × 54, float64", X, y, True, repeats)
    row("covtype, 581,012 × 54, float32", X.astype(np.float32), y, True, repeats)
    for name in ("wiki_toxicity_48k", "clothing_reviews"):
        X, y = load(name)
        title = f"{name}, {X.shape[0]:,} × {X.shape[1]:,} CSR"
        row(f"{title}, float64", X, y, False, 2 * repeats)
        row(f"{title}, float32", X.astype(np.float32), y, False, 2 * repeats)
    X, signal = made_one_hot(199_523, 510)
    row("made-one-hot, 199,523 × 510 CSR, float64", X, (signal > 0).astype(int), False, repeats)
    X, y = load("mnist")
    row("mnist, 70,000 × 784, ten classes, float64", X / 255.0, y, True, 3)
    row("mnist, 70,000 × 784, ten classes, float32", (X / 255).astype(np.float32), y, True, 3)
    print()
    for note in NOTES:
        print(f"- {note}")
