"""How good `--model auto` is on rows it has not seen, beside scikit-learn's defaults.

Each table is cut into three quarters to train on and a quarter to judge by, small ones several
times, until 600 rows have judged, at most three times. `COTAS_SECONDS` is the
time that auto has for each (60 by default), and `COTAS_ONLY` names tables; the peers take what they
take. The loops are compiled before, as they are once on every machine.
"""

from __future__ import annotations

import os
import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from bench.data import load
from bench.side_by_side import conditions
from cotas.cli.auto import candidates, parts_of, search_of
from cotas.selection.halving import Halving

CLASSES = (
    *("adult", "spambase", "magic", "german_credit", "higgs11k", "digits", "ionosphere", "glass"),
    *("breast_cancer_wdbc", "waveform21", "wine", "banana", "phishing_uci", "heart_scale"),
)
# A table judged by fewer rows is cut again, so often at most.
JUDGES, MOST_CUTS = 600, 3
NUMBERS = (
    *("california_housing", "ames", "diabetes", "abalone", "wine_quality", "bike_sharing"),
    *("protein_casp", "hitters", "tecator", "prostate_esl"),
)


def main() -> None:
    """Print the table, and on how many sets auto is at or above both peers."""
    seconds = float(os.environ.get("COTAS_SECONDS", "60"))
    warm_up()
    print(f"{conditions('polars')}; {seconds:g} s for auto, loops compiled before.\n")
    print("| table | auto | boosting | linear | auto chose | seconds |\n|---|---|---|---|---|---|")
    level = worse = 0
    only = os.environ.get("COTAS_ONLY", ",".join(CLASSES + NUMBERS)).split(",")
    wanted = [(n, "classification" if n in CLASSES else "regression") for n in only]
    for name, task in wanted:
        X, y = load(name)
        times = max(1, min(MOST_CUTS, round(JUDGES / (0.25 * len(y)))))
        found = joined([compare(np.asarray(X), y, task, seconds, cut) for cut in range(times)])
        level += found.scores[0] >= max(found.scores[1:])
        worse += found.worse
        cells = " | ".join(f"{score:.4f}" for score in found.scores)
        mark = " (worse)" if found.worse else ""
        print(f"| {name}{mark} | {cells} | {found.choice} | {found.seconds:.0f} |", flush=True)
    print(f"\nAt or above both peers: {level} of {len(wanted)}.")
    print(f"Worse than one of them by more than the 95% interval: {worse} of {len(wanted)}.")


class Found(NamedTuple):
    """Accuracy or R² of auto, boosting and the linear model, and what auto chose."""

    scores: list[float]
    losses: np.ndarray
    choice: str
    seconds: float

    @property
    def worse(self) -> bool:
        """Whether auto is worse than one of them by more than a 95% interval."""
        return any(is_worse(self.losses[0] - other) for other in self.losses[1:])


def joined(cuts: list[Found]) -> Found:
    """The means of several cuts, and the choice of the first."""
    return Found(
        np.mean([cut.scores for cut in cuts], axis=0).tolist(),
        np.concatenate([cut.losses for cut in cuts], axis=1),
        cuts[0].choice,
        sum(cut.seconds for cut in cuts) / len(cuts),
    )


def warm_up() -> None:
    """Compile the loops of every family, so that auto's seconds are spent on trials."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    for task, y in (
        ("classification", np.arange(80) % 2),
        ("classification", np.arange(80) % 3),
        ("regression", X @ [1.0, 2.0, 3.0] + rng.normal(size=80)),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = candidates(task, X, y, 0)
            Halving(X, y, parts_of(y, task, 0)).run(wanted)


def compare(X: np.ndarray, y: np.ndarray, task: str, seconds: float, cut: int) -> Found:
    """Auto and both peers on the same rows."""
    classes = task == "classification"
    train, test = train_test_split(
        np.arange(len(y)), test_size=0.25, random_state=cut, stratify=y if classes else None
    )
    scaler = StandardScaler().fit(X[train])
    Z = scaler.transform(X)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = search_of(task, Z[train], y[train], 0, max_time=seconds)
        best = search.run(candidates(task, Z[train], y[train], 0))
        mine = best.settled.fit(Z[train], y[train])
        took = time.perf_counter() - began
        kinds = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
        peers = [kinds[not classes](random_state=0)]
        peers.append(LogisticRegression(max_iter=1000) if classes else RidgeCV())
        fitted = [mine, *(peer.fit(Z[train], y[train]) for peer in peers)]
    said = [model.predict(Z[test]) for model in fitted]
    losses = [
        np.asarray(each != y[test] if classes else (each - y[test]) ** 2, float) for each in said
    ]
    scores = [
        1 - one.mean() if classes else r2_score(y[test], s)
        for one, s in zip(losses, said, strict=True)
    ]
    return Found([float(one) for one in scores], np.array(losses), best.label, took)


def is_worse(more: np.ndarray) -> bool:
    """Whether the loss is larger row by row, by more than a 95% interval of the mean difference."""
    return bool(more.mean() > 1.96 * more.std(ddof=1) / np.sqrt(len(more)))


if __name__ == "__main__":
    main()
