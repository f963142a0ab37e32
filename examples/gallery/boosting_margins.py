"""AdaBoost after its training error is zero: the margins go on growing."""

from pathlib import Path

from sklearn.datasets import load_breast_cancer

import cotas
from cotas.plots import margin_distribution

X, y = load_breast_cancer(return_X_y=True)
model = cotas.AdaBoost("stump", n_estimators=200).fit(X, y)
print(model.certificate_)

stages = {k: model[:k] for k in (5, 20, 200)}
for k, stage in stages.items():
    proof = cotas.certify(stage, X, y)
    smallest = proof.figures["smallest margin yF/Σ|c|"]
    print(f"{k} rounds: training error {proof.lower:.3%}, smallest margin {smallest:+.3f}")

named = {f"{k} rounds": stage for k, stage in stages.items()}
ax = margin_distribution(named, X, y, title="AdaBoost with stumps, breast cancer")
Path("out").mkdir(exist_ok=True)
ax.figure.savefig("out/boosting_margins.png", dpi=110)
