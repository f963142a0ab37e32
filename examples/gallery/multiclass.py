"""Three classes: one machine for each pair, each with its own certificate."""

from pathlib import Path

from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

import cotas
from cotas.kernels import RBF
from cotas.plots import decision_boundary

data = load_iris()
X = StandardScaler().fit_transform(data.data[:, 2:])
y = data.target_names[data.target]

model = cotas.KernelSVM(RBF(1.0), lam=1e-2).fit(X, y)
print(model.certificate_, "\n")
for part in model.certificate_.parts:
    print(part.label)
    print(part, "\n")

title = "Iris by its petals: three machines vote"
ax = decision_boundary(model, X, y, title=title, resolution=500)
ax.set(xlabel="length of the petals (standardized)", ylabel="width of the petals (standardized)")
Path("out").mkdir(exist_ok=True)
ax.figure.savefig("out/multiclass.png", dpi=110)
