"""Gradient descent on house prices: three steps, their proved rate, and one that runs away."""

from pathlib import Path

import cotas
from cotas.plots import convergence

X, price = cotas.datasets.houses()
setting = {"solver": "gradient", "standardize": True, "tol": 1e-8}

automatic = cotas.LeastSquares(**setting).fit(X, price)
print(automatic.certificate_, "\n")
largest = automatic.certificate_.figures["step · largest curvature"]
step = automatic.certificate_.witness.descent.step
longest = 2 * step / largest  # 2/L: from here on the steps overshoot more than they gain
print(f"step = 1/L = {step:.4g}; it converges below 2/L = {longest:.4g}.")

runs = {
    "step = 1/L": automatic,
    "step = 0.2/L": cotas.LeastSquares(step=0.2 * step, **setting).fit(X, price),
    "step = 1.95/L": cotas.LeastSquares(step=1.95 * step, **setting).fit(X, price),
}

grown: list[float] = []
try:
    cotas.LeastSquares(
        step=2.1 * step, callbacks=lambda report: grown.append(report.objective), **setting
    ).fit(X, price)
except cotas.exceptions.DivergedError as error:
    print(error)

ax = convergence(runs, data=(X, price), title="House prices: how far J is from the best")
lowest = automatic.certificate_.lower
ax.plot(range(1, 41), [J - lowest for J in grown[:40]], "k-", label="step = 2.1/L: diverges")
ax.set(xlim=(0, 250), ylim=(1e-5, 1e7))
ax.legend(loc="upper right", ncols=2, fontsize=7.5)
Path("out").mkdir(exist_ok=True)
ax.figure.savefig("out/gradient_descent.png", dpi=110)
