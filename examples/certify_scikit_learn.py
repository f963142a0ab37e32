"""How far are fitted scikit-learn models from the best for their own problem?

Run it with `python examples/certify_scikit_learn.py`. It prints Markdown tables: classifiers,
regressions, and LinearSVC by the problem with a free bias. In the first two each model is measured
by the problem that it states itself: LinearSVC penalizes its bias, the others do not. Machines
with other kernels are in `certify_kernel_machines.py`.
"""

from __future__ import annotations

import warnings
from typing import Any, cast

from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import cotas
from cotas.certificates import DualPoint
from cotas.certificates.presentation import percent
from cotas.foreign.against_the_rest import with_best_bias

RAW, Y = load_breast_cancer(return_X_y=True)
STANDARDIZED = StandardScaler().fit_transform(RAW)
DIGITS, LABELS = load_digits(return_X_y=True)
DIGITS /= 16
DIABETES, PROGRESSION = load_diabetes(return_X_y=True, scaled=False)
DATA = {
    "breast cancer, raw": (RAW, Y),
    "breast cancer, standardized": (STANDARDIZED, Y),
    "digits / 16, worst of ten": (DIGITS, LABELS),
    "diabetes, raw": (DIABETES, PROGRESSION),
    "diabetes, standardized": (StandardScaler().fit_transform(DIABETES), PROGRESSION),
}


def sgd(n: int, **more: Any) -> SGDClassifier:
    """With alpha = 1/n it states the problem of C = 1."""
    return SGDClassifier(alpha=1 / n, random_state=0, **more)


def logistic(solver: str = "lbfgs", **more: Any) -> LogisticRegression:
    """With everything else left as it is."""
    return LogisticRegression(solver=solver, random_state=0, **more)


def cases() -> list[tuple[str, Any, str]]:
    """What the first table calls a model, the model, and its data."""
    raw, standardized, digits = list(DATA)[:3]
    n, m = len(Y), len(LABELS)
    hinge, squared = LinearSVC(loss="hinge", random_state=0), LinearSVC(random_state=0)
    return [
        ('SVC(kernel="linear")', SVC(kernel="linear"), raw),
        ('SVC(kernel="linear", tol=1e-5)', SVC(kernel="linear", tol=1e-5), raw),
        ('LinearSVC(loss="hinge")', hinge, raw),
        ("StandardScaler + LinearSVC", make_pipeline(StandardScaler(), hinge), raw),
        ("cotas.LinearSVM(lam=1/n, tol=1e-6)", cotas.LinearSVM(lam=1 / n, tol=1e-6), raw),
        ('SVC(kernel="linear")', SVC(kernel="linear"), standardized),
        ('LinearSVC(loss="hinge")', hinge, standardized),
        ("SGDClassifier(alpha=1/n)", sgd(n), standardized),
        ("SGDClassifier(alpha=1/n, average=True)", sgd(n, average=True), standardized),
        ("cotas.LinearSVM(lam=1/n, tol=1e-6)", cotas.LinearSVM(lam=1 / n, tol=1e-6), standardized),
        ('LinearSVC(loss="hinge")', hinge, digits),
        ("SGDClassifier(alpha=1/n)", sgd(m), digits),
        ("cotas.LinearSVM(lam=1/n, tol=1e-6)", cotas.LinearSVM(lam=1 / m, tol=1e-6), digits),
        ("LinearSVC()", squared, raw),
        ("LinearSVC()", squared, standardized),
        ("LinearSVC()", squared, digits),
        ("LogisticRegression()", logistic(), raw),
        ("LogisticRegression(max_iter=10_000)", logistic(max_iter=10_000), raw),
        ('LogisticRegression(solver="sag")', logistic("sag"), raw),
        ('LogisticRegression(solver="saga")', logistic("saga"), raw),
        ('LogisticRegression(solver="liblinear")', logistic("liblinear"), raw),
        ('LogisticRegression(solver="newton-cholesky")', logistic("newton-cholesky"), raw),
        ("LogisticRegression()", logistic(), standardized),
        ('LogisticRegression(solver="sag")', logistic("sag"), standardized),
        ('LogisticRegression(solver="saga")', logistic("saga"), standardized),
        ('SGDClassifier(loss="log_loss", alpha=1/n)', sgd(n, loss="log_loss"), standardized),
        ("LogisticRegression()", logistic(), digits),
        ('LogisticRegression(solver="saga")', logistic("saga"), digits),
        ('SGDClassifier(loss="log_loss", alpha=1/n)', sgd(m, loss="log_loss"), digits),
    ]


def regressions() -> list[tuple[str, Any, str]]:
    """The same for the second table."""
    raw, standardized = list(DATA)[3:]
    return [
        ("LinearRegression()", LinearRegression(), raw),
        ("Ridge()", Ridge(), raw),
        ('Ridge(solver="sparse_cg")', Ridge(solver="sparse_cg"), raw),
        ('Ridge(solver="sag")', Ridge(solver="sag", random_state=0), raw),
        ('Ridge(solver="saga")', Ridge(solver="saga", random_state=0), raw),
        ("Lasso(alpha=0.01)", Lasso(alpha=0.01), raw),
        ("cotas.Lasso(lam=0.01)", cotas.Lasso(lam=0.01), raw),
        ("ElasticNet(alpha=0.01)", ElasticNet(alpha=0.01), raw),
        ('Ridge(solver="sag")', Ridge(solver="sag", random_state=0), standardized),
        ("SGDRegressor()", SGDRegressor(random_state=0), standardized),
        ("Lasso(alpha=0.01)", Lasso(alpha=0.01), standardized),
        ("cotas.Lasso(lam=0.01)", cotas.Lasso(lam=0.01), standardized),
    ]


def row(name: str, model: Any, data: str) -> str:
    """One line of the first or the second table."""
    X, y = DATA[data]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    found = cotas.certify(model, X, y)
    data = data if found.parts else data.removesuffix(", worst of ten")
    return (
        f"| `{name}` | {data} | {found.upper:.6g} | {found.lower:.6g} "
        f"| {percent(found.relative_gap)} | {'yes' if warned else 'no'} |"
    )


def free_bias_row(loss: str, data: str) -> str:
    """One line of the third table."""
    X, y = DATA[data]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LinearSVC(loss=loss, random_state=0).fit(X, y)
    free = cotas.certify(model, X, y, problem="free-bias")
    witness = with_best_bias(cast(DualPoint, free.witness), X, y)
    better = witness.check(X, y).upper
    return (
        f'| `LinearSVC(loss="{loss}")` | {data} | {free.upper:.7f} | {better:.7f} '
        f"| {free.lower:.7f} | {percent(1 - free.lower / better)} |"
    )


if __name__ == "__main__":
    for table in (cases(), regressions()):
        print("| model | data | objective | best is at least | relative gap | warned? |")
        print("|---|---|---|---|---|---|")
        for case in table:
            print(row(*case), flush=True)
        print()
    print("| model | data | with its bias | with the best bias | best is at least | above |")
    print("|---|---|---|---|---|---|")
    for data in list(DATA)[:2]:
        for loss in ("hinge", "squared_hinge"):
            print(free_bias_row(loss, data), flush=True)
