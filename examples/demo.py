"""Train classifiers and regressions, print their certificates, and draw what was learnt.

A tour through the families of models. The picture goes to the folder `out`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, make_blobs, make_moons
from sklearn.preprocessing import StandardScaler

import cotas
from cotas import kernels
from cotas.datasets import HOUSE_COLUMNS, houses
from cotas.plots import decision_boundary

OUT = Path("out")


def linear_classifiers() -> list[Any]:
    """Four algorithms, each with parameters that suit small standardized data."""
    return [
        cotas.Perceptron(separator="tightest"),
        cotas.PassiveAggressive(lam=1.0),
        cotas.Pegasos(lam=1e-2, max_iter=300, random_state=0),
        cotas.LinearSVM(lam=1e-2),
    ]


def tell(model: Any, X: Any, y: Any) -> None:
    """The certificate, and whether its numbers come out of the data again."""
    print(model.certificate_)
    print(f"  verified again from the data: {model.certificate_.verify(X, y)}\n")


def breast_cancer() -> None:
    """569 tumours, 30 measurements: is there a hyperplane between the two kinds?"""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    print("# Breast cancer, 569 × 30, standardized\n")
    print(cotas.separability(X, y), "\n")
    for model in linear_classifiers():
        model.fit(X, y)
        print(f"{type(model).__name__}: training error {1 - model.score(X, y):.3%}")
        tell(model, X, y)


def boosted_stumps() -> None:
    """The same tumours without any scaling: a vote of thresholds, one feature at a time."""
    X, y = load_breast_cancer(return_X_y=True)
    model = cotas.AdaBoost("stump", n_estimators=100).fit(X, y)
    print(f"AdaBoost, 100 stumps: training error {1 - model.score(X, y):.3%}")
    tell(model, X, y)


def two_moons() -> None:
    """No line parts two moons. A kernel is a formula, and formulas can be added."""
    X, y = make_moons(400, noise=0.2, random_state=0)
    kernel = kernels.RBF(0.5) + 0.1 * kernels.Linear()
    model = cotas.KernelSVM(kernel, lam=1e-2).fit(X, y)
    print("# Two moons, 400 × 2\n")
    print(f"KernelSVM with k(x, x′) = {kernel}: training error {1 - model.score(X, y):.3%}")
    tell(model, X, y)


def house_prices() -> None:
    """Eleven houses: the price by least squares, and the features that the Lasso leaves out."""
    X, price = houses()
    print("# House prices in thousands of dollars, 11 × 3\n")
    for model in (cotas.LeastSquares(), cotas.Lasso(lam=20.0, standardize=True)):
        model.fit(X, price)
        terms = zip(model.coef_, HOUSE_COLUMNS, strict=True)
        formula = " ".join(f"{value:+.3g}·{name}" for value, name in terms if value)
        print(f"{type(model).__name__}: price = {model.intercept_:.4g} {formula}")
        tell(model, X, price)


def two_clouds(path: Path) -> None:
    """Two clouds in the plane, separable: one picture for each linear classifier."""
    X, y = make_blobs(n_samples=120, centers=[(-2, -1), (2, 1.5)], random_state=3)
    figure, axes = plt.subplots(2, 2, figsize=(11, 9), layout="constrained")
    for model, ax in zip(linear_classifiers(), axes.flat, strict=True):
        certificate = model.fit(X, y).certificate_
        if certificate.kind == "duality":
            proved = f"gap {certificate.gap:.2g} proved"
        else:
            proved = f"{certificate.lower:.0f} mistakes, at most {certificate.upper:.0f} allowed"
        decision_boundary(model, X, y, ax=ax, title=f"{type(model).__name__}: {proved}")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    breast_cancer()
    boosted_stumps()
    two_moons()
    house_prices()
    two_clouds(OUT / "decision_boundary.png")
    print(f"Picture: {OUT / 'decision_boundary.png'}")
