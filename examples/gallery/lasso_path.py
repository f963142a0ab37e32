"""The whole Lasso path with all its corners, and one solution on it, certified."""

from pathlib import Path

from sklearn.datasets import load_diabetes

import cotas
from cotas.plots import coefficient_path

data = load_diabetes()
X, y = data.data, data.target

path = cotas.lasso_path(X, y, method="homotopy", ratio=1e-3)
print(f"{len(path.lams)} breakpoints; the largest gap on them is {path.gaps.max():.1e}.")

model = cotas.Lasso(delta=1000.0).fit(X, y)
print(model.certificate_)
zero = model.certified_zeros(X, y)
print("Proved to be zero:", [name for name, z in zip(data.feature_names, zero, strict=True) if z])

title = f"Lasso path of the diabetes data; ‖β‖₁ ≤ 1000 at λ = {model.lam_:.3g}"
ax = coefficient_path(path, optimum=model, names=data.feature_names, title=title)
Path("out").mkdir(exist_ok=True)
ax.figure.savefig("out/lasso_path.png", dpi=110)
