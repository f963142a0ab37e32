"""All public estimators with a certificate, and data for each."""

import inspect

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import cotas
from cotas.fitting.certified import Certified
from problems import clouds, plane, three_clouds

SETTINGS = {
    "LinearSVM": [{"lam": 0.1}, {"C": 1.0, "loss": "squared_hinge"}, {"margin": "hard"}],
    "LogisticRegression": [
        {"lam": 0.1},
        {"lam": 0.05, "penalty": "l1"},
        {"lam": 0.05, "penalty": "elasticnet", "multiclass": "ovr"},
    ],
    "KernelSVM": [
        {"kernel": cotas.kernels.RBF(0.5) + cotas.kernels.Linear(), "C": 1.0},
        {"C": 1.0, "multiclass": "ovr"},
        {"approximate": "nystroem", "n_components": 6, "random_state": 0},
        {"approximate": "fourier", "n_components": 6, "random_state": 0},
    ],
    "AdaBoost": [
        {"n_estimators": 4},
        {"n_estimators": 3, "multiclass": "samme"},
        {"weak_learner": "tree", "n_estimators": 2},
        {"weak_learner": "linear", "n_estimators": 2},
        {"weak_learner": DecisionTreeClassifier(max_depth=1), "n_estimators": 2},
    ],
    "ConvexAnyBoost": [{"n_estimators": 5}],
    "LSBoost": [
        {"max_iter": 20},
        {"weak_learner": "stump", "n_estimators": 4},
        {"weak_learner": "tree", "n_estimators": 3, "loss": "absolute"},
        {"weak_learner": "linear", "n_estimators": 2},
    ],
    "RegularizedForwardStagewise": [{"delta": 2.0, "max_iter": 20}],
    "KernelPegasos": [{"max_iter": 2, "random_state": 0}],
    "Blend": [
        {
            "estimators": [
                ("svm", cotas.LinearSVM(lam=0.1)),
                ("sum", cotas.LogitBoost(cotas.Tree(2), n_estimators=2)),
            ],
            "weights": [2, 1],
        },
        {"estimators": [("θ", cotas.Ridge()), ("k", cotas.KernelRidge())]},
    ],
}
SHORTER = {"n_estimators": 4, "max_iter": 20, "random_state": 0}


def every_estimator():
    """All public estimators with a certificate, in the forms that predict in different ways."""
    for name in (*cotas.__all__, *cotas.tables.__all__):
        kind = getattr(cotas if name in cotas.__all__ else cotas.tables, name)
        if not (inspect.isclass(kind) and issubclass(kind, Certified)):
            continue
        known = inspect.signature(kind).parameters
        shorter = {key: value for key, value in SHORTER.items() if key in known}
        for settings in SETTINGS.get(name, [shorter]):
            yield kind(**settings)


def problems_of(model):
    """Data of each kind that the model takes."""
    if not hasattr(model, "decision_function"):
        return [plane(30, 3)]
    X, y = clouds(30, 3)
    if getattr(model, "margin", "") == "hard":
        return [(X + 3 * y[:, None], y)]
    three, codes = three_clouds(36, 3)
    names = np.array(["no", "perhaps", "yes"])
    return [(X, names[y + 1]), (three, names[codes])]
