"""One hundred rounds of stumps and of small trees, against scikit-learn, LightGBM and XGBoost."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np
from joblib import cpu_count
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import cotas
from bench.data import load
from bench.side_by_side import conditions, interleaved

ROUNDS = 100
DEPTHS = (1, 3)
SLOW_PEER_ROWS = 100_000  # AdaBoostClassifier is timed on at most so many


OURS = {
    "AdaBoost": cotas.AdaBoost,
    "GentleBoost": cotas.GentleBoost,
    "LogitBoost": cotas.LogitBoost,
}
PEERS = ("LightGBM", "XGBoost", "sklearn hist")


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Two classes: the second of covtype against the rest, the large digits against the small."""
    X, y = load(name)
    if name == "covtype":
        y = y == 2
    if name == "mnist":
        y = y >= 5
    return np.ascontiguousarray(X, dtype=np.float64), np.asarray(y).astype(np.int64)


def ours(depth: int, boosted: str, certify: bool = True) -> Any:
    learner = cotas.Stump() if depth == 1 else cotas.Tree(depth)
    return OURS[boosted](learner, n_estimators=ROUNDS, certify=certify)


def peers(
    depth: int,
    kind: str = "Classifier",
    besides: Mapping[str, dict[str, Any]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Those that are installed, with the same rounds and depth and no other limit on a tree.

    `kind` is what their names end with, `besides` what each of them gets besides.
    """
    leaves, cores = 2**depth, cpu_count()
    of_lightgbm = {"num_leaves": leaves, "min_child_samples": 1, "n_jobs": cores, "verbose": -1}
    of_sklearn = {"max_leaf_nodes": leaves, "min_samples_leaf": 1, "early_stopping": False}
    known = {
        "sklearn hist": ("sklearn.ensemble", "HistGradientBoosting", "max_iter", of_sklearn),
        "LightGBM": ("lightgbm", "LGBM", "n_estimators", of_lightgbm),
        "XGBoost": ("xgboost", "XGB", "n_estimators", {"tree_method": "hist", "n_jobs": cores}),
    }
    found: dict[str, Any] = {}
    for name, (module, model, rounds, options) in known.items():
        with suppress(ImportError):
            make = getattr(import_module(module), model + kind)
            given = {rounds: ROUNDS, "max_depth": depth, **options, **besides.get(name, {})}
            found[name] = make(**given)
    return found


def fits(models: dict[str, Any], X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], object]]:
    return {name: (lambda model=model: model.fit(X, y)) for name, model in models.items()}


def row(name: str, X: np.ndarray, y: np.ndarray, depth: int, repeats: int) -> None:
    """Seconds of each, everything from X to the proved model included; AUC of the rows left out."""
    X, Z, y, labels = train_test_split(X, y, random_state=0, stratify=y)
    models: dict[str, Any] = {boosted: ours(depth, boosted) for boosted in OURS}
    models |= {f"{boosted} unproved": ours(depth, boosted, certify=False) for boosted in OURS}
    models |= peers(depth)
    times = interleaved(fits(models, X, y), repeats)
    found = [peer for peer in PEERS if peer in times]
    auc = {k: roc_auc_score(labels, models[k].predict_proba(Z)[:, 1]) for k in (*OURS, *found)}
    best = min(times[peer] for peer in found)
    for boosted in OURS:
        shown = (boosted, f"{boosted} unproved", *PEERS)
        cells = [f"{times[k]:.3g}" if k in times else "" for k in shown]
        cells += [f"{best / times[boosted]:.2f}", f"{auc[boosted]:.4f}"]
        cells += [f"{max(auc[peer] for peer in found):.4f}"]
        cells += [slow_peer(X, y, depth) if boosted == "AdaBoost" else ""]
        print(f"| {name} | {depth} | {boosted} | {' | '.join(cells)} |", flush=True)


def slow_peer(X: np.ndarray, y: np.ndarray, depth: int) -> str:
    """How many times as long scikit-learn's AdaBoostClassifier takes on the first rows."""
    if not os.environ.get("COTAS_SLOW_PEERS"):
        return ""
    X, y = X[:SLOW_PEER_ROWS], y[:SLOW_PEER_ROWS]
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=depth), n_estimators=ROUNDS)
    mine = interleaved(fits({"cotas": ours(depth, "AdaBoost")}, X, y), 3)["cotas"]
    began = time.perf_counter()
    theirs.fit(X, y)  # once: it may take minutes
    return f"{(time.perf_counter() - began) / mine:.0f}"


def main(repeats: int = 3) -> None:
    warnings.simplefilter("ignore")
    names = os.environ.get("COTAS_BOOSTING", "higgs11k adult mnist covtype").split()
    print(
        f"{conditions('lightgbm', 'xgboost')}; {ROUNDS} rounds, medians of {repeats} interleaved "
        "fits, in seconds, binning included; cotas proves its result, “unproved” is the same with "
        "certify=False. Ratio: the fastest of the three peers over cotas with its proof. AUC: of a "
        "quarter held out, ours and the best of the peers'. The last column "
        "(with COTAS_SLOW_PEERS set): scikit-learn's AdaBoostClassifier over cotas on at most "
        f"{SLOW_PEER_ROWS:,} rows.\n"
    )
    heads = f"| data | depth | algorithm | cotas | unproved | {' | '.join(PEERS)} | ratio "
    print(f"{heads}| AUC | AUC of the peers | AdaBoostClassifier |")
    print("|---" * 12 + "|")
    for name in names:
        X, y = data(name)
        for depth in DEPTHS:
            row(f"{name}, {X.shape[0]:,} × {X.shape[1]}", X, y, depth, repeats)
