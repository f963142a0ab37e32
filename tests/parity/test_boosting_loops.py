"""The loops of boosting say the same as plain Python."""

import numpy as np

from compilers import compiled_and_plain

PROGRAM = """
import json
import numpy as np
from cotas import AdaBoost, GentleBoost, LogitBoost, Stump, Tree
from problems import noisy_clouds
X, y = noisy_clouds(40)
X[::7, 0] = np.nan
X[:, 3] = np.where(np.arange(40) % 11 == 0, X[:, 3], 0.0)
models = [
    AdaBoost(Stump(categorical_features=[1]), n_estimators=4),
    AdaBoost(Stump(search="exact"), n_estimators=4),
    GentleBoost(Tree(3, categorical_features=[1]), n_estimators=3),
    LogitBoost(n_estimators=3),
]
classes = np.arange(40) % 3
for weak in (Stump(categorical_features=[1]), Tree(2, categorical_features=[1])):
    models.append(AdaBoost(weak, n_estimators=3, multiclass="samme"))
print(json.dumps([model.fit(X, classes if "samme" in repr(model) else y).predict_proba(X).tolist()
                   for model in models]))
"""


def test_compiled_and_plain_python_boost_alike():
    for compiled, plain in zip(*compiled_and_plain(PROGRAM), strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-9, atol=1e-12)
