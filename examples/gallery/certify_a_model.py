"""How good is a model of scikit-learn? Certify it, and put the best one beside it."""

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs
from sklearn.linear_model import SGDClassifier

import cotas
from cotas.certificates.presentation import percent
from cotas.plots import decision_boundary

X, y = make_blobs(n_samples=120, centers=[(-1.5, -1), (1.5, 1)], random_state=3)
lam = 1e-2

theirs = SGDClassifier(alpha=lam, random_state=0).fit(X, y)
ours = cotas.LinearSVM(lam=lam, tol=1e-6).fit(X, y)
proofs = {theirs: cotas.certify(theirs, X, y), ours: ours.certificate_}

figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for ax, (model, proof) in zip(axes, proofs.items(), strict=True):
    print(f"# {type(model).__name__}\n{proof}\n")
    title = f"{type(model).__name__}: the best is at most {percent(proof.relative_gap)} lower"
    decision_boundary(model, X, y, ax=ax, title=title)

Path("out").mkdir(exist_ok=True)
figure.savefig("out/certify_a_model.png", dpi=100)
