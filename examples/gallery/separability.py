"""Can a line separate the classes? Either way the answer is a proof."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import cotas
from cotas.plots import decision_boundary

rng = np.random.default_rng(4)
y = np.repeat([-1, 1], 20)
clouds = rng.normal(size=(40, 2))

figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for ax, distance in zip(axes, (2.5, 1.0), strict=True):
    X = clouds + distance * y[:, None] / np.sqrt(2)
    answer = cotas.separability(X, y)
    print(answer, "\n")
    if answer.separable:
        widest = cotas.LinearSVM(margin="hard").fit(X, y)
        decision_boundary(widest, X, y, ax=ax, title="Separable: this hyperplane proves it")
        continue
    # A convex combination of each class, and both are the same point.
    alpha = answer.certificate.witness.alpha
    shown = cotas.LinearSVM(lam=0.1).fit(X, y)
    decision_boundary(shown, X, y, ax=ax, margins=False, rings=False)
    common = (alpha * (y > 0)) @ X / alpha[y > 0].sum()
    for x, share in zip(X, alpha, strict=True):
        if share > 1e-9:
            ax.plot([x[0], common[0]], [x[1], common[1]], color="#D55E00", linewidth=1.5)
    ax.plot(*common, "*", color="#D55E00", markersize=16, label="in both convex hulls")
    ax.set_title("Not separable: the two convex hulls share a point")
    ax.legend(fontsize=8)

Path("out").mkdir(exist_ok=True)
figure.savefig("out/separability.png", dpi=100)
