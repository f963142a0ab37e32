"""No line parts two rings. In the feature space of an RBF a hyperplane does."""

from pathlib import Path

from sklearn.datasets import make_circles

import cotas
from cotas.kernels import RBF
from cotas.plots import decision_boundary

X, y = make_circles(n_samples=200, factor=0.45, noise=0.12, random_state=0)

print(cotas.separability(X, y), "\n")

model = cotas.KernelSVM(RBF(0.5), lam=1e-2).fit(X, y)
print(f"k(x, x′) = {model.kernel_}: training error {1 - model.score(X, y):.1%}")
print(model.certificate_)

ax = decision_boundary(model, X, y, title=f"KernelSVM, k = {model.kernel_}")
Path("out").mkdir(exist_ok=True)
ax.figure.savefig("out/rbf_on_rings.png", dpi=110)
