"""The texts of the lab by their keys; the catalogue has them in Spanish."""

from __future__ import annotations

from collections.abc import Callable

from cotas.words import lang as speaking
from cotas.words import say as in_the_language_of_the_moment

Wording = Callable[..., str]

TEXTS: dict[str, str] = {
    # ---- the house
    "lab": "The lab",
    "rooms": "Rooms",
    "welcome": (
        "The documents, to be tried out: everything that is drawn and written here is computed "
        "by the library while you watch, and proved where there is something to prove."
    ),
    "other language": "Español",
    "to dark": "Dark",
    "to light": "Light",
    "skip": "To the picture",
    "code": "Show the code",
    "save": "Save picture:",
    "copy": "Copy the link to this state",
    "copied": "Copied",
    "reset": "Start again",
    "solving": "Solving…",
    "solving gap": "Solving… the gap proved so far is {gap}",
    "answered": "Solved, proved and drawn in {milliseconds:.0f} ms",
    # ---- what is refused
    "bad link": "The link asks for {name} = {value}, which there is not; the default is taken.",
    "bad points": "The points in the link cannot be read; those of the sample are shown.",
    "too many rows": (
        "These are {rows} rows; the lab takes {most} at most. `cotas fit` takes any number."
    ),
    "too many classes": (
        "There are {classes} classes; {most} can be told apart by colour and marker."
    ),
    "too large": "The file is too large: {most} MB at most.",
    "not finite": (
        "There is a missing value, NaN or infinity among the points; fill it in or leave the row "
        "out."
    ),
    "one class": (
        "All the points are of one class; there is nothing to tell apart. Add a point of another."
    ),
    "no plane": "The file needs two columns of numbers, and a last column with the class.",
    "bad file": "The file cannot be used: {why}",
    "not separable": "No line separates these classes, so there is no hard margin. Proved: {why}",
    "library refuses": "The library refuses: {why}",
    # ---- the rooms
    "room steps": "Step by step",
    "title steps": "The algorithms, one update at a time",
    "lead steps": (
        "Press step, and see which line of the printed algorithm is executed, with which numbers "
        "(of four of the documents)."
    ),
    "room descent": "Descent",
    "title descent": "Gradient descent on the prices of houses",
    "lead descent": (
        "J(θ) of Moreno Chávez from above: drag the start, choose step, batch and stopping rule, "
        "and watch it arrive, or run away."
    ),
    "room penalty": "λ and c",
    "title penalty": "What the penalty does",
    "lead penalty": (
        "Training and validation loss against c = 1/(λn), where under- and overfitting begin, "
        "and the path of the Lasso beside the stagewise ones (Clasificación lineal, "
        "Rugeles Ospina)."
    ),
    "room boosting": "Boosting regression",
    "title boosting": "Boosting for regression, and what the theorems allow",
    "lead boosting": (
        "LS-Boost(ε), FS_ε and R-FS of Rugeles Ospina: each run against the bound of its theorem."
    ),
    "room done": "Is your fit done?",
    "title done": "Is your fit done?",
    "lead done": (
        "A model of scikit-learn, what cotas.certify proves of it, and what more iterations "
        "would do."
    ),
    # ---- room 1
    "room boundary": "Boundary",
    "title boundary": "The boundary, the margin and the proof",
    "lead boundary": (
        "Drag a point, and see boundary, margin, support vectors and certificate "
        "follow. A click adds a point, Backspace takes the selected one away."
    ),
    "data": "Data",
    "data groups": "Two groups (Fuentes Cabrera)",
    "data overlap": "Overlapping groups",
    "data moons": "Moons (Fuentes-Pineda)",
    "data rings": "Rings (Fuentes-Pineda)",
    "data xor": "Exclusive or",
    "data clouds": "Ten clouds (Rugeles Ospina)",
    "data gaussians": "Two Gaussians (Rugeles Ospina)",
    "data iris": "Iris, three species",
    "data own": "A CSV of one's own",
    "csv": "CSV: two columns of numbers, then the class",
    "seed": "Another draw",
    "model": "Classifier",
    "penalty": "Penalty given as",
    "penalty lam": "λ",
    "penalty C": "C",
    "lam": "λ",
    "C": "C",
    "kernel": "Kernel",
    "kernel rbf": "Radial (RBF)",
    "kernel poly": "Polynomial",
    "kernel linear": "Linear",
    "kernel cosine": "Cosine",
    "sigma": "Width σ of the kernel",
    "degree": "Degree",
    "coef0": "Constant of the kernel",
    "loss": "Loss",
    "loss hinge": "Hinge",
    "loss squared_hinge": "Squared hinge",
    "margin": "Margin",
    "margin soft": "Soft",
    "margin hard": "Hard",
    "step": "Step η",
    "step 1/(lam*t)": "1/(λt), of Fuentes-Pineda",
    "step 1/t": "1/t, of Fuentes Cabrera",
    "step 1/(1+t)": "1/(1+t), of Clasificación lineal",
    "epochs": "Epochs",
    "rounds": "Rounds",
    "learning_rate": "Learning rate",
    "depth": "Depth of the trees",
    "show": "Show also",
    "show certified": "certified predictions",
    "show none": "nothing",
    "new class": "Class of new points",
    "uncertified": "not certified",
    "by hand": "Points by keyboard",
    "add": "Add",
    "number": "Point",
    "set": "Move",
    "remove": "Remove",
    "certificate": "The certificate",
    "part": "The worst of {count} parts: {label}",
    "lower": "at least",
    "upper": "at most",
    "measured": "measured",
    "allowed": "allowed by the theorem",
    "steps of proof": "What was proved while it solved, from top to bottom",
    "statement": "The statement, and where it is proved",
    "training error": "Training error",
    "validation error": "Validation error",
    "support": "Support vectors",
    "violated": "Margins violated",
    "width": "Width of the margin, 2/‖θ‖",
    "certified share": "Training points certified",
    "stopped": "Ended because",
    "relative gap": "Relative gap",
    # ---- numbers
    "numbers": "Data",
    "numbers document": "Ten covariates",
    "numbers diabetes": "Diabetes, 442 patients",
    "numbers own": "A CSV of one's own",
    "csv numbers": "CSV: columns of numbers, the target last",
    "no numbers": (
        "The file needs columns of numbers, at most {most}, and the target in the last one."
    ),
    "too few rows": "Three rows are the least.",
    # ---- room 5
    "algorithm": "Algorithm",
    "algorithm LSBoost": "LS-Boost(ε), Algorithm 8",
    "algorithm ForwardStagewise": "FS_ε",
    "algorithm RegularizedForwardStagewise": "R-FS_ε,δ, Algorithm 9",
    "rate": "Learning rate ε",
    "eps": "Step ε",
    "delta": "Length δ of ‖β‖₁",
    "iterations": "Iterations",
    "against": "Coefficients against",
    "against norm": "‖β‖₁",
    "against iteration": "the iteration",
    "item": "Item of the theorem",
    "k": "Look at this part of the run",
    "loss at k": "Training error L_n",
    "theorem at k": "The theorem at iteration {k}",
    "allowed short": "allowed",
    "open": "open",
    "says nothing": "vacuous",
    "holds": "holds",
    # ---- room 2
    "procedure": "Algorithm",
    "procedure perceptron": "Perceptron",
    "procedure averaged": "Averaged perceptron",
    "procedure passive-aggressive": "Passive-aggressive",
    "procedure pegasos": "PEGASOS, η = 1/(λt)",
    "procedure pegasos-000": "PEGASOS, η = 1/t",
    "procedure pegasos-004": "PEGASOS, η = 1/(1+t)",
    "procedure kernel-perceptron": "Kernel perceptron",
    "procedure smo": "SMO, pair by pair",
    "procedure adaboost": "AdaBoost, round by round",
    "at": "Step",
    "back": "Back",
    "play": "Play",
    "pause": "Pause",
    "next": "Step",
    "printed": "{title}, as {author} prints it",
    "mistakes": "mistakes",
    "mistake bound": "mistakes allowed by the theorem",
    "product": "Π 2√(err(1 − err))",
    "before it": "before this step",
    "stump": "the stump of this round",
    "this step": "this step",
    "step of": "Step {number} of {total}",
    "nothing yet": "Nothing has been learnt yet: press Step.",
    "epoch and row": "Epoch, example",
    "rows": "Examples",
    "above zero": "Multipliers above zero",
    "heaviest": "Largest weight after it",
    "updated": "θ moved",
    "yes": "yes",
    "no": "no",
    "mistakes so far": "Mistakes so far",
    # ---- room 3
    "way": "Descent",
    "way gradient": "All examples (batch)",
    "way stochastic": "One example at a time",
    "way mini-batch": "Mini-batches of four",
    "scale": "Area",
    "scale normalized": "normalized",
    "scale raw": "in square metres",
    "pace": "Step η, in multiples of 1/L",
    "rule": "Stop when",
    "rule change of J": "J changes little",
    "rule change of θ": "θ moves little",
    "rule iterations": "the iterations are over",
    "small": "Little is less than",
    "most": "Iterations at most",
    "start x": "Start, θ₀ in the picture",
    "start y": "Start, θ₁ in the picture",
    "start": "start: drag it",
    "walk": "the steps",
    "least J": "least J, in closed form",
    "equal J": "lines of equal J",
    "step η": "Step η",
    "steps made": "Steps made",
    "ended": "Ended",
    "stop PROVED": "the gap asked for is proved",
    "stop ROUNDING": "rounding leaves no more to prove",
    "stop CALLBACK": "it was told to stop",
    "stop INTERRUPTED": "it was interrupted",
    "stop TIME": "the time was over",
    "stop ITERATIONS": "the iterations were over",
    "stop STALLED": "the rule was met",
    "stop THEORY": "no step can change it",
    "ran away": "it ran away",
    # ---- room 4
    "part of": "Which of the two",
    "part of loss": "Loss against c",
    "part of lasso": "Lasso and stagewise",
    "classes": "Data",
    "classes noisy": "Noisy plane",
    "classes tumours": "Tumours, scaled",
    "classes overlap": "Overlapping groups",
    "judged by": "Choose by",
    "judged by loss": "hinge loss",
    "judged by error": "error",
    "at lam": "Look at λ",
    "share of delta": "Length δ, as a part of the path",
    "chosen": "ĉ = {c:.4g}, that is λ = {lam:.4g}",
    "regime": "Regime at this λ",
    "regime under": "underfitting",
    "regime best": "chosen",
    "regime level": "as good as the one chosen",
    "regime over": "overfitting",
    "proved choice": (
        "Proved: whatever the fits left undone, no other value has a smaller validation loss."
    ),
    "open choice": "Another of these values could be better by {regret:.2g} at most, proved.",
    "unknown choice": "Nothing is proved about the choice between these values.",
    "future": "Error on future rows, at most (95%)",
    "margin of it": "width of the margin, 2/‖θ‖",
    "lasso at": "Lasso at δ = {delta:.4g}",
    "of lasso": "{name}, Lasso",
    "other path": "Beside the Lasso",
    "other path ForwardStagewise": "FS_ε",
    "other path LSBoost": "LS-Boost(ε)",
    "other path RegularizedForwardStagewise": "R-FS_ε,δ",
    "lasso path": "The Lasso",
    "lam at": "λ there",
    "loss there": "Training error of the Lasso there",
    "loss of other": "Training error of {name} there",
    # ---- room 6
    "written": "The model, as you would write it",
    "example": "Pick one",
    "known": "Known: {known}.",
    "table": "Data",
    "table breast-cancer": "Tumours, raw",
    "table breast-cancer-scaled": "Tumours, scaled",
    "table wine": "Wine, three cultivars",
    "table diabetes": "Diabetes (numbers)",
    "table own": "A CSV of one's own",
    "csv any": "CSV: columns of numbers, the target last",
    "bad model": (
        'Write one call with named arguments, such as SVC(kernel="linear", C=1). Known are {known}.'
    ),
    "too much": "Whole numbers up to {most} are taken, and no n_jobs.",
    "ended by the system": (
        "The process in which the library computed was ended, perhaps for want of memory."
    ),
    "needs classes": (
        "This model tells classes apart, and the target is a quantity; choose other data."
    ),
    "needs numbers": "This model predicts numbers, and the target is a class; choose other data.",
    "library said": "scikit-learn says",
    "silence": "nothing: no warning",
    "warned": "a warning",
    "silent": "nothing",
    "n_iter": "Iterations made",
    "more": "What more would do",
    "objective of it": "objective",
    "far": "proved, but the best may be {gap} lower",
    "no refits": "There is nothing to vary here: this model has no iterations, or no duality gap.",
    # ---- as the pictures have it
    "boundary": "decision boundary",
    "c": "c = 1/(λn)",
    "coefficient": "coefficient",
    "error": "error",
    "excess": "J − best that is possible",
    "gap": "relative gap proved",
    "item coefficients": "distance of the coefficients",
    "item coefficients that are not zero": "coefficients that are not zero",
    "item correlation": "correlation with the residual",
    "item gradient": "gradient",
    "item length of the coefficients": "‖β‖₁",
    "item predictions": "distance of the predictions",
    "item training error": "training error above the best",
    "iteration": "iteration",
    "lower bound": "proved: none is below",
    "margins": "margins ±1",
    "norm": "‖β‖₁",
    "round": "round",
    "support vectors": "support vectors",
    "training": "training",
    "unit coefficient": "coefficient (unit columns)",
    "validation": "validation",
    "margin violated": "margin violated",
}


def speak(lang: str) -> Wording:
    """A function from a key to its text in one language, whatever the language of the moment.

    >>> speak("es")("support")
    'Vectores de soporte'
    """

    def wording(key: str, **values: object) -> str:
        with speaking(lang):
            return str(in_the_language_of_the_moment(TEXTS[key], **values))

    wording("lab")  # refuses an unknown language here rather than later
    return wording
