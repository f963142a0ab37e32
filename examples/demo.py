"""Train the four online classifiers, print their certificates, and draw what they learnt.

Run it with `make demo`. The pictures go to the folder `out`.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.preprocessing import StandardScaler

import cotas
from cotas.plots import decision_boundary

OUT = Path("out")


def models() -> list[object]:
    """The four algorithms, each with parameters that suit small standardised data."""
    return [
        cotas.Perceptron(separator="tightest"),
        cotas.AveragedPerceptron(separator="tightest"),
        cotas.PassiveAggressive(lam=1.0),
        cotas.Pegasos(lam=1e-2, max_epochs=300, random_state=0),
    ]


def breast_cancer() -> None:
    """569 tumours, 30 measurements: is there a hyperplane between the two kinds?"""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    print("Breast cancer, 569 × 30, standardised\n")
    print(cotas.separability(X, y), "\n")
    for model in models():
        model.fit(X, y)
        print(f"{type(model).__name__}: training error {model.training_error(X, y):.3%}")
        print(model.certificate_)
        print(f"  verified again from the data: {model.certificate_.verify(X, y)}\n")


def two_clouds(path: Path) -> None:
    """Two clouds in the plane, separable: one picture for each algorithm."""
    X, y = make_blobs(n_samples=120, centers=[(-2, -1), (2, 1.5)], random_state=3)
    figure, axes = plt.subplots(2, 2, figsize=(11, 9), layout="constrained")
    for model, ax in zip(models(), axes.flat, strict=True):
        model.fit(X, y)
        certificate = model.certificate_
        if certificate.kind == "duality":
            proved = f"gap {certificate.gap:.2g} proved"
        else:
            proved = f"{certificate.lower:.0f} mistakes, at most {certificate.upper:.0f} allowed"
        decision_boundary(model, X, y, ax=ax, title=f"{type(model).__name__}: {proved}")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    breast_cancer()
    two_clouds(OUT / "decision_boundary.png")
    print(f"Picture: {OUT / 'decision_boundary.png'}")
