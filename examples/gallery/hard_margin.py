"""The widest street between two classes, and the few examples that hold it up."""

from pathlib import Path

from sklearn.datasets import make_blobs

import cotas
from cotas.plots import decision_boundary

X, y = make_blobs(n_samples=80, centers=[(-2, -2), (2, 2)], cluster_std=1.1, random_state=7)

model = cotas.LinearSVM(margin="hard").fit(X, y)
print(model.certificate_)
print(f"{len(model.support_)} support vectors; the street is {model.margin_width_[0]:.3f} wide.")

# Only the support vectors matter: without all the others the same hyperplane comes out.
few = cotas.LinearSVM(margin="hard").fit(X[model.support_], y[model.support_])
print("Change of θ without the others:", abs(few.coef_ - model.coef_).max())

ax = decision_boundary(model, X, y, title=f"Hard margin: 2/‖θ‖ = {model.margin_width_[0]:.3f}")
Path("out").mkdir(exist_ok=True)
ax.figure.savefig("out/hard_margin.png", dpi=110)
