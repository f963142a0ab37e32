"""One hundred rounds of trees for numbers, against scikit-learn's histogram gradient boosting."""

from __future__ import annotations

import os
import warnings

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import train_test_split

import cotas
from bench.boosting import fits
from bench.data import load
from bench.side_by_side import conditions, interleaved

ROUNDS = 100
CASES = ((1, "squared"), (3, "squared"), (6, "squared"), (3, "absolute"))


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A table of COTAS_DATA, or Friedman's function with so many rows: friedman-100000."""
    if name.startswith("friedman-"):
        return make_friedman1(int(name.split("-")[1]), n_features=10, noise=1.0, random_state=0)
    X, y = load(name)
    return X, np.asarray(y, dtype=np.float64)


def row(name: str, depth: int, loss: str, repeats: int) -> None:
    """Seconds of each, everything from X to the proved model included, and the test scores."""
    X, X_test, y, y_test = train_test_split(*data(name), random_state=0)
    learner = cotas.Stump() if depth == 1 else cotas.Tree(depth)
    ours = cotas.LSBoost(learner, ROUNDS, loss=loss)
    models = {
        "cotas": ours,
        "unproved": cotas.LSBoost(learner, ROUNDS, loss=loss, certify=False),
        "sklearn": HistGradientBoostingRegressor(
            loss=f"{loss}_error",
            max_iter=ROUNDS,
            max_depth=depth,
            max_leaf_nodes=2**depth,
            min_samples_leaf=1,
            early_stopping=False,
        ),
    }
    times = interleaved(fits(models, X, y), repeats)
    scores = [
        -mean_absolute_error(y_test, models[k].predict(X_test))
        if loss == "absolute"
        else models[k].score(X_test, y_test)
        for k in ("cotas", "sklearn")
    ]
    certificate = ours.certificate_
    gap = "vacuous" if certificate.vacuous else f"{100 * certificate.relative_gap:.0f} %"
    cells = [f"{times[k]:.2f}" for k in models]
    cells += [f"{times['sklearn'] / times['cotas']:.2f}", *(f"{s:.4g}" for s in scores), gap]
    rows = f"{name} {len(y):,} × {X.shape[1]}"
    print(f"| {rows} | {depth} | {loss} | {' | '.join(cells)} |", flush=True)


def main(repeats: int = 3) -> None:
    warnings.simplefilter("ignore")
    chosen = "california_housing diamonds bike_sharing friedman-100000"
    names = os.environ.get("COTAS_NUMBERS", chosen).split()
    print(
        f"{conditions()}; {ROUNDS} rounds, learning rate 0.1, medians of {repeats} interleaved "
        "fits, in seconds, binning included; cotas proves its result, “unproved” is the same with "
        "certify=False. Ratio: scikit-learn over cotas. Scores on a quarter held out: R², or minus "
        "the mean absolute error. Gap: the relative gap proved on the training data.\n"
    )
    print("| data | depth | loss | cotas | unproved | sklearn | ratio | cotas | sklearn | gap |")
    print("|---" * 10 + "|")
    for name in names:
        for depth, loss in CASES:
            row(name, depth, loss, repeats)
