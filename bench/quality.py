"""How good `--model auto` is on rows it has not seen, beside scikit-learn's defaults.

Each table is cut into three quarters to train on and a quarter to judge by. `COTAS_SECONDS` is the
time that auto has for each (20 by default); the peers take what they take.
"""

from __future__ import annotations

import os
import time
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from bench.data import load
from cotas.cli.auto import candidates, parts_of
from cotas.selection.halving import Halving

CLASSES = (
    *("adult", "spambase", "magic", "german_credit", "higgs11k", "digits", "ionosphere", "glass"),
    *("breast_cancer_wdbc", "waveform21", "wine", "banana", "phishing_uci", "heart_scale"),
)
NUMBERS = (
    *("california_housing", "ames", "diabetes", "abalone", "wine_quality", "bike_sharing"),
    *("protein_casp", "hitters", "tecator", "prostate_esl"),
)


def main() -> None:
    """Print the table, and on how many sets auto is at or above both peers."""
    seconds = float(os.environ.get("COTAS_SECONDS", "20"))
    print(f"{'table':<20} {'auto':>8} {'boosting':>9} {'linear':>8}  choice ({seconds:g} s)")
    level = 0
    for name, task in [(n, "classification") for n in CLASSES] + [
        (n, "regression") for n in NUMBERS
    ]:
        X, y = load(name)
        scores, choice, took = compare(np.asarray(X), y, task, seconds)
        best = scores[0] >= max(scores[1:]) - spread(scores[0], len(y) // 4, task)
        level += best
        cells = " ".join(f"{score:>8.4f}" for score in scores)
        print(
            f"{name:<20} {cells}  {choice} in {took:.0f} s{'' if best else '  BELOW'}", flush=True
        )
    print(f"at or above both, up to a standard error: {level} of {len(CLASSES) + len(NUMBERS)}")


def compare(
    X: np.ndarray, y: np.ndarray, task: str, seconds: float
) -> tuple[list[float], str, float]:
    """Accuracy or R² of auto, boosting and the linear model, and what auto chose."""
    classes = task == "classification"
    train, test = train_test_split(
        np.arange(len(y)), test_size=0.25, random_state=0, stratify=y if classes else None
    )
    scaler = StandardScaler().fit(X[train])
    Z = scaler.transform(X)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = Halving(Z[train], y[train], parts_of(y[train], task, 0), seconds)
        best = search.run(candidates(task, Z[train], y[train], 0))
        mine = best.settled.fit(Z[train], y[train])
        took = time.perf_counter() - began
        kinds = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
        peers = [kinds[not classes](random_state=0)]
        peers.append(LogisticRegression(max_iter=1000) if classes else RidgeCV())
        fitted = [mine, *(peer.fit(Z[train], y[train]) for peer in peers)]
    predictions = [model.predict(Z[test]) for model in fitted]
    judge = r2_score if not classes else lambda truth, said: float(np.mean(truth == said))
    return [float(judge(y[test], said)) for said in predictions], best.candidate.label, took


def spread(score: float, n: int, task: str) -> float:
    """The standard error of an accuracy; nothing is allowed to R²."""
    return float(np.sqrt(max(score * (1 - score), 0.0) / n)) if task == "classification" else 0.0


if __name__ == "__main__":
    main()
