"""Every classifier of the library, with what can be set in the lab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cotas.lab.state import Call, Menu, Slider, decades

KERNEL_MACHINES = ("KernelSVM", "KernelPegasos", "KernelPerceptron")
BOOSTERS = ("AdaBoost", "RealAdaBoost", "LogitBoost", "GentleBoost", "AnyBoost", "ConvexAnyBoost")
# Those that go over the examples one by one, for a number of epochs.
ONLINE = ("Perceptron", "AveragedPerceptron", "PassiveAggressive", "Pegasos", "KernelPegasos",
          "KernelPerceptron")  # fmt: skip
NAMES = ("LinearSVM", "LogisticRegression", "KernelSVM", *ONLINE, *BOOSTERS)

FIELDS = (
    Menu("model", "KernelSVM", "Classifier", {name: name for name in NAMES}),
    Menu("penalty", "lam", "Penalty given as", {"lam": "λ", "C": "C"}),
    Slider("lam", 0.01, "λ", decades(-6, 3)),
    Slider("C", 1.0, "C", decades(-4, 6)),
    Menu("kernel", "rbf", "Kernel", {"rbf": "Radial (RBF)", "poly": "Polynomial",
                                     "linear": "Linear", "cosine": "Cosine"}),
    Slider("sigma", 0.562, "Width σ of the kernel", decades(-2, 2, 8)),
    Slider("degree", 3, "Degree", range(1, 9)),
    Slider("coef0", 1.0, "Constant of the kernel", (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)),
    Menu("loss", "hinge", "Loss", {"hinge": "Hinge", "squared_hinge": "Squared hinge"}),
    Menu("margin", "soft", "Margin", {"soft": "Soft", "hard": "Hard"}),
    Menu("step", "1/(lam*t)", "Step η", {
        "1/(lam*t)": "1/(λt), of Fuentes-Pineda",
        "1/t": "1/t, of Fuentes Cabrera",
        "1/(1+t)": "1/(1+t), of Clasificación lineal",
    }),
    Slider("epochs", 20, "Epochs", (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    Slider("rounds", 50, "Rounds", (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 200)),
    Slider("learning_rate", 1.0, "Learning rate", (0.05, 0.1, 0.2, 0.5, 1.0)),
    Slider("depth", 1, "Depth of the trees", (1, 2, 3, 4)),
)  # fmt: skip


def relevant(values: Mapping[str, Any]) -> set[str]:
    """Return the names of what makes a difference to the model that is chosen."""
    name, found = values["model"], {"model"}
    if name in ("LinearSVM", "LogisticRegression", "KernelSVM", "Pegasos", "KernelPegasos"):
        found |= {"penalty", values["penalty"]}
    if name == "PassiveAggressive":
        found |= {"lam"}
    if name in KERNEL_MACHINES:
        shapes = {"rbf": {"sigma"}, "poly": {"degree", "coef0"}}
        found |= {"kernel", *shapes.get(values["kernel"], set())}
    if name == "LinearSVM":
        found |= {"margin"} if values["margin"] == "hard" else {"margin", "loss"}
        if values["margin"] == "hard":
            found -= {"penalty", "lam", "C"}
    if name == "Pegasos":
        found |= {"step"}
    if name in ONLINE:
        found |= {"epochs"}
    if name in BOOSTERS:
        found |= {"rounds", "learning_rate", "depth"}
    return found


def call_of(values: Mapping[str, Any]) -> Call:
    """Return the call that makes the classifier with these settings."""
    used, given = relevant(values), dict[str, Any]()
    if "kernel" in used:
        given["kernel"] = kernel_of(values)
    for name in ("lam", "C", "loss", "margin", "step", "learning_rate"):
        if name in used:
            given[name] = values[name]
    if "epochs" in used:
        given["max_iter"] = int(values["epochs"])
    if "rounds" in used:
        given["n_estimators"] = int(values["rounds"])
    if "depth" in used and values["depth"] > 1:
        given["weak_learner"] = Call("Tree", {"depth": int(values["depth"])})
    if values["model"] in ("Pegasos", "KernelPegasos"):
        given["random_state"] = 0
    return Call(values["model"], given)


def kernel_of(values: Mapping[str, Any]) -> Call:
    """Return the call that makes the kernel."""
    if values["kernel"] == "rbf":
        return Call("kernels.RBF", {"sigma": values["sigma"]})
    if values["kernel"] == "poly":
        return Call(
            "kernels.Polynomial", {"degree": int(values["degree"]), "coef0": values["coef0"]}
        )
    return Call(f"kernels.{values['kernel'].capitalize()}")
