"""How long until something happens: import, first fit with a warm cache, first fit ever."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

from bench.side_by_side import conditions

DATA = "import numpy as np; X = np.random.default_rng(0).normal(size=(50, 4)); y = X[:, 0] > 0;"
FAMILIES = (
    "Perceptron()",
    "Pegasos()",
    "LinearSVM()",
    "LogisticRegression()",
    "KernelSVM()",
    "Ridge()",
    "Lasso()",
    "AdaBoost()",
    "AdaBoost(weak_learner=cotas.Tree(3))",
)
OURS = {name: f"{DATA} import cotas; cotas.{name}.fit(X, y)" for name in FAMILIES}
PEER = f"{DATA} from sklearn.linear_model import Perceptron; Perceptron().fit(X, y)"


def seconds(code: str, cache: str) -> float:
    """What a fresh process takes of the processor to run the code, start of Python left out."""
    timer = f"import time; t = time.process_time(); {code}\nprint(time.process_time() - t)"
    done = subprocess.run(
        [sys.executable, "-c", timer],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def main(repeats: int = 5) -> None:
    with tempfile.TemporaryDirectory() as cache:
        cold = {name: seconds(code, f"{cache}/{name}") for name, code in OURS.items()}
        for code in OURS.values():
            seconds(code, cache)
        runs: dict[str, list[float]] = {}
        contestants = {
            "import sklearn": "import sklearn",
            "import cotas": "import cotas",
            "first fit, scikit-learn": PEER,
            **{f"first fit, {name}": code for name, code in OURS.items()},
        }
        for _ in range(repeats):
            for name, code in contestants.items():
                runs.setdefault(name, []).append(seconds(code, cache))
    print(f"{conditions()}; time of the processor, medians of {repeats} fresh processes.\n")
    print("| what | seconds |\n|---|---|")
    for name, values in runs.items():
        print(f"| {name} | {statistics.median(values):.3f} |")
    for name, value in cold.items():
        print(f"| first fit with an empty cache, {name} | {value:.2f} |")
