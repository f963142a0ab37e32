"""Would more data help? The error for growing parts of the training data."""

from pathlib import Path

from sklearn.datasets import load_digits

import cotas
from cotas import plots

X, y = load_digits(return_X_y=True)
X, y = X / 16, y % 2

model = cotas.LinearSVM(lam=1e-3)
sizes = [50, 100, 200, 400, 800, 1400]
curves = cotas.learning_curves(model, X, y, sizes, folds=5, random_state=0)
print(curves, "\n")
print(curves.certificates[-1][0])

ax = plots.learning_curve(curves, title="Odd or even digits, by a linear machine")
Path("out").mkdir(exist_ok=True)
ax.figure.savefig("out/learning_curve.png", dpi=110)
