"""A support vector machine of scikit-learn on unscaled data stops 2% above the best, silently."""

import warnings
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

import cotas
from cotas.plots import certificate_trace

X, y = load_breast_cancer(return_X_y=True)

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    theirs = SVC(kernel="linear").fit(X, y)
proof = cotas.certify(theirs, X, y)
print(proof)
print(f"Warnings of the fit: {len(caught)}\n")

# C = 1 is λ = 1/n: the same problem, until a gap of 1e-6 is proved.
records = []
ours = cotas.LinearSVM(lam=1 / len(y), tol=1e-6, callbacks=records.append).fit(X, y)
print(ours.certificate_)

ax = certificate_trace(records, against="iteration", title="Breast cancer, unscaled, C = 1")
ax.axhline(proof.relative_gap, color="#D55E00", linestyle="--", label="SVC, as certified")
ax.lines[1].set_label("cotas.LinearSVM, the best so far")
ax.legend()
Path("out").mkdir(exist_ok=True)
ax.figure.savefig("out/unscaled_svc.png", dpi=110)
