"""The validation error along λ, and a proof of what no λ in between can reach."""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import cotas
from cotas import plots

X, y = load_breast_cancer(return_X_y=True)
X, X_val, y, y_val = train_test_split(X, y, test_size=0.5, random_state=0)
scaler = StandardScaler().fit(X)
X, X_val = scaler.transform(X), scaler.transform(X_val)

path = cotas.svm_path(X, y, np.geomspace(1e-3, 1, 60), validation=(X_val, y_val))
print(path, "\n")
print(path.certificates[0])

ax = plots.path(path)
Path("out").mkdir(exist_ok=True)
ax.figure.savefig("out/along_lambda.png", dpi=110)
