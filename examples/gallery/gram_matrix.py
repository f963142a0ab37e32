"""What a kernel sees: two kernels on the same digits, and whether each is one."""

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import cotas
from cotas.kernels import RBF, Linear
from cotas.plots import gram_matrix

X, y = load_digits(return_X_y=True)
chosen = (y < 4).nonzero()[0][:80]
X, y = X[chosen] / 16, y[chosen]

figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for ax, kernel in zip(axes, (Linear(), RBF(1.5)), strict=True):
    model = cotas.KernelSVM(kernel, lam=1e-2).fit(X, y)
    print(f"{kernel}: a Mercer kernel: {bool(cotas.kernels.is_mercer(kernel, X))}")
    print(model.certificate_.parts[0], "\n")
    gram_matrix(kernel, X, y, ax=ax)

Path("out").mkdir(exist_ok=True)
figure.savefig("out/gram_matrix.png", dpi=80)
