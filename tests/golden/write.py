"""Writes the golden files of the present format; those of an older one are never written again.

    python tests/golden/write.py

Each file comes with a few rows and what its model said about them when it was written.
"""

import json
from pathlib import Path

import numpy as np
from scipy import sparse

import cotas
from cotas import kernels
from cotas.files.models import FORMAT_VERSION

FOLDER = Path(__file__).parent


def data():
    rng = np.random.default_rng(7)
    X = np.round(rng.normal(size=(24, 3)), 2)
    X[:, 2] = rng.integers(0, 4, 24)
    return X, rng.integers(0, 3, 24), np.round(X @ [1.0, -2.0, 0.5], 2)


def models():
    X, y, target = data()
    gaps = np.where((np.arange(24) % 5 == 0)[:, None] & (np.arange(3) == 0), np.nan, X)
    two = np.where(y > 0, "año", "no")
    algebra = kernels.RBF(1.0) * 2 + kernels.Polynomial(2).on([0, 1])
    tree = cotas.Tree(2, categorical_features=[2])
    yield "linear-svm", cotas.LinearSVM(lam=0.1).fit(X, two), X
    yield "pegasos", cotas.Pegasos(lam=0.1, max_iter=3, random_state=0).fit(X, y), X
    yield "kernel-svm", cotas.KernelSVM(algebra, lam=0.1).fit(sparse.csr_matrix(X), y), X
    yield "lasso", cotas.Lasso(lam=0.05).fit(X, target), X
    yield "stagewise", cotas.LSBoost(max_iter=20).fit(X, target), X
    yield "logitboost", cotas.LogitBoost(tree, n_estimators=3).fit(gaps, y), gaps
    yield "adaboost", cotas.AdaBoost(n_estimators=3).fit(gaps, two), gaps


def main():
    for name, model, X in models():
        path = FOLDER / f"v{FORMAT_VERSION}-{name}.cotas"
        model.save(path)
        rows = X[:6]
        scores = model.decision_function if hasattr(model, "classes_") else model.predict
        expected = {
            "class": type(model).__name__,
            "X": [[None if np.isnan(x) else x for x in row] for row in rows.tolist()],
            "predict": model.predict(rows).tolist(),
            "scores": scores(rows).tolist(),
            "certificates": [[c.kind, c.holds] for c in model.certificate_.singles],
        }
        path.with_suffix(".json").write_text(json.dumps(expected) + "\n", "utf-8")


if __name__ == "__main__":
    main()
