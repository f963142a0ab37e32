"""LS-Boost and forward stagewise: two walks towards the same least squares solution."""

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

import cotas
from cotas.plots import coefficient_path

data = load_diabetes()
X, y = data.data, data.target
best = cotas.LeastSquares().fit(X, y)

models = {
    "LS-Boost, ε = 0.3": cotas.LSBoost(eps=0.3, max_iter=20_000),
    "Forward stagewise, ε = 2": cotas.ForwardStagewise(eps=2.0, max_iter=4_000),
}
figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    print(model.fit(X, y).certificate_, "\n")
    coefficient_path(model, optimum=best, names=data.feature_names, title=name, ax=ax)
axes[0].get_legend().remove()
axes[1].set_ylabel("")

Path("out").mkdir(exist_ok=True)
figure.savefig("out/stagewise_paths.png", dpi=100)
