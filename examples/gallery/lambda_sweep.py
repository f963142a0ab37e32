"""What λ does to the margin, with labels in Spanish (Figure 3.5 of Fuentes Cabrera)."""

from pathlib import Path

from sklearn.datasets import make_blobs

import cotas
from cotas import plots

X, y = make_blobs(n_samples=100, centers=[(-1, -1), (1, 1)], cluster_std=0.9, random_state=1)
lams = [1.0, 0.1, 0.001]

for lam in lams:
    model = cotas.LinearSVM(lam=lam).fit(X, y)
    wrong = 1 - model.score(X, y)
    print(f"λ = {lam:g}: {len(model.support_)} support vectors, training error {wrong:.1%}")
    print(model.certificate_, "\n")

with plots.language("es"):
    axes = plots.lambda_sweep(X, y, lams)
Path("out").mkdir(exist_ok=True)
axes[0].figure.savefig("out/lambda_sweep.png", dpi=110)
