"""What a theorem allows LS-Boost, and what it did: the two curves of each iteration."""

from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

import cotas
from cotas.plots import certificate_trace

rng = np.random.default_rng(0)
X = StandardScaler().fit_transform(rng.normal(size=(100, 5)))
y = X @ [3.0, -2.0, 0.0, 1.0, 0.0] + rng.normal(size=100)

model = cotas.LSBoost(eps=0.5, max_iter=100).fit(X, y)
print(model.certificate_)
for item in model.certificate_.at(20):
    print(f"  k = 20, {item.name}: {item.measured:.3g} ≤ {item.bound:.3g}")

ax = certificate_trace(model, title="LS-Boost(0.5): theorem and run")
Path("out").mkdir(exist_ok=True)
ax.figure.savefig("out/theorem_and_run.png", dpi=110)
