"""How far are fitted kernel machines of scikit-learn from the best for their own problem?

Run it with `python examples/certify_kernel_machines.py`. It prints a Markdown table; with more
than two classes, of the pair that is furthest away.
"""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import cotas
from cotas.certificates.presentation import percent

RAW, Y = load_breast_cancer(return_X_y=True)
DIGITS, LABELS = load_digits(return_X_y=True)
DATA = {
    "breast cancer, raw": (RAW, Y),
    "breast cancer, standardized": (StandardScaler().fit_transform(RAW), Y),
    "digits / 16": (DIGITS / 16, LABELS),
}
# Entries of the Gram matrix of the raw data then reach from 49 to six million.
QUADRATIC = {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 1e-4}


def cases() -> list[tuple[str, Any, str]]:
    """What the table calls a model, the model, and its data."""
    raw, standardized, digits = DATA
    return [
        ("SVC()", SVC(), raw),
        ('SVC(kernel="poly")', SVC(kernel="poly"), raw),
        ('SVC(kernel="poly", degree=2, coef0=1, gamma=1e-4)', SVC(**QUADRATIC), raw),
        ('SVC(kernel="poly", degree=2, coef0=1, gamma=1e-4, C=100)', SVC(C=100, **QUADRATIC), raw),
        ('SVC(kernel="sigmoid")', SVC(kernel="sigmoid"), raw),
        ("SVC()", SVC(), standardized),
        ("SVC(C=1000)", SVC(C=1000), standardized),
        ('SVC(kernel="poly")', SVC(kernel="poly"), standardized),
        ('SVC(kernel="sigmoid")', SVC(kernel="sigmoid"), standardized),
        ("SVC()", SVC(), digits),
        ('SVC(kernel="poly")', SVC(kernel="poly"), digits),
    ]


def row(name: str, model: Any, data: str) -> str:
    X, y = DATA[data]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    worst = cotas.certify(model, X, y)  # of several pairs, that with the largest relative gap
    if worst.kind != "duality":
        numbers = f"{worst.kind}: KKT violated by {worst.upper:.2g} | |"
    else:
        numbers = f"{worst.upper:.6g} | {worst.lower:.6g} | {percent(worst.relative_gap)}"
    return f"| `{name}` | {data} | {numbers} | {'yes' if warned else 'no'} |"


if __name__ == "__main__":
    print("| model | data | objective | best is at least | relative gap | warned? |")
    print("|---|---|---|---|---|---|")
    for case in cases():
        print(row(*case), flush=True)
