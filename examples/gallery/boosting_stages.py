"""Training error, the bound that is proved for it, and the error on other data."""

from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import cotas
from cotas.plots import boosting_stages

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0)

model = cotas.AdaBoost("stump", n_estimators=60).fit(X, y)
print(model.certificate_)

ax = boosting_stages(model, X, y, validation=(X_test, y_test))
Path("out").mkdir(exist_ok=True)
ax.figure.savefig("out/boosting_stages.png", dpi=110)
