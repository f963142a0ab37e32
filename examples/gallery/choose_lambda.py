"""Choose λ by validation: where the model underfits, where it overfits, and whether it is safe."""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cotas
from cotas.plots import loss_against_c

X, y = load_breast_cancer(return_X_y=True)
model = make_pipeline(StandardScaler(), cotas.LinearSVM())

choice = cotas.choose(model, X, y, "lam", np.geomspace(3, 3e-5, 11), folds=5, random_state=0)
print(choice, "\n")
print(choice.best_model_[-1].certificate_)

ax = loss_against_c(choice, title=f"Five folds choose λ = {choice.best_value:.2g}")
Path("out").mkdir(exist_ok=True)
ax.figure.savefig("out/choose_lambda.png", dpi=110)
