"""One hundred rounds of trees for numbers, against scikit-learn, LightGBM and XGBoost."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import train_test_split

import cotas
from bench.boosting import ROUNDS, fits, peers
from bench.data import load
from bench.side_by_side import conditions, interleaved

PEERS = ("sklearn hist", "LightGBM", "XGBoost")
CASES = ((1, "squared"), (3, "squared"), (6, "squared"), (3, "absolute"))


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A table of COTAS_DATA, or Friedman's function with so many rows: friedman-100000."""
    if name.startswith("friedman-"):
        return make_friedman1(int(name.split("-")[1]), n_features=10, noise=1.0, random_state=0)
    X, y = load(name)
    return X, np.asarray(y, dtype=np.float64)


def of_loss(loss: str) -> dict[str, dict[str, Any]]:
    """How each peer is told the loss; all have the learning rate of cotas."""
    squared = loss == "squared"
    told = {
        "sklearn hist": {"loss": f"{loss}_error"},
        "LightGBM": {"objective": "l2" if squared else "l1"},
        "XGBoost": {"objective": "reg:squarederror" if squared else "reg:absoluteerror"},
    }
    return {name: {"learning_rate": 0.1, **options} for name, options in told.items()}


def row(name: str, depth: int, loss: str, repeats: int) -> None:
    """Seconds of each, everything from X to the proved model included, and the test scores."""
    X, X_test, y, y_test = train_test_split(*data(name), random_state=0)
    learner = cotas.Stump() if depth == 1 else cotas.Tree(depth)
    ours = cotas.LSBoost(learner, ROUNDS, loss=loss)
    models: dict[str, Any] = {
        "cotas": ours,
        "unproved": cotas.LSBoost(learner, ROUNDS, loss=loss, certify=False),
        **peers(depth, "Regressor", of_loss(loss)),
    }
    times = interleaved(fits(models, X, y), repeats)

    def score(model: Any) -> float:
        predicted = model.predict(X_test)
        return (
            r2_score(y_test, predicted)
            if loss == "squared"
            else -mean_absolute_error(y_test, predicted)
        )

    found = [peer for peer in PEERS if peer in times]
    certificate = ours.certificate_
    gap = "vacuous" if certificate.vacuous else f"{100 * certificate.relative_gap:.0f}%"
    cells = [f"{times[k]:.3g}" if k in times else "" for k in ("cotas", "unproved", *PEERS)]
    cells += [f"{min(times[k] for k in found) / times['cotas']:.2f}", f"{score(ours):.4g}"]
    cells += [f"{max(score(models[k]) for k in found):.4g}", gap]
    rows = f"{name}, {len(y):,} × {X.shape[1]}"
    print(f"| {rows} | {depth} | {loss} | {' | '.join(cells)} |", flush=True)


def main(repeats: int = 3) -> None:
    warnings.simplefilter("ignore")
    chosen = "california_housing diamonds bike_sharing friedman-100000"
    names = os.environ.get("COTAS_NUMBERS", chosen).split()
    print(
        f"{conditions()}; {ROUNDS} rounds, learning rate 0.1, medians of {repeats} interleaved "
        "fits, in seconds, binning included; cotas proves its result, “unproved” is the same with "
        "certify=False. Ratio: the fastest of the peers over cotas. Scores on a quarter held out, "
        "ours and the best of the peers': R², or minus the mean absolute error. Gap: the relative "
        "gap proved on the training data.\n"
    )
    heads = f"| data | depth | loss | cotas | unproved | {' | '.join(PEERS)} | ratio "
    print(f"{heads}| score | best score of the peers | gap |")
    print("|---" * 12 + "|")
    for name in names:
        for depth, loss in CASES:
            row(name, depth, loss, repeats)
