"""Print the numbers that the README and the pages in docs/ show.

Run it with `python examples/figures_in_the_docs.py`; it takes less than a minute. There is one
function for each table or figure, named after its page. Other numbers come from elsewhere: speeds
and the memory on covtype from `make bench`; the times of decision 5 compare with code that is gone.
"""

from __future__ import annotations

import ast
import io
import re
import tracemalloc
from collections.abc import Callable
from contextlib import redirect_stdout
from contextvars import copy_context
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import cotas
from cotas.solvers.semismooth_newton import (
    SHARPER,
    SHARPEST,
    SMOOTHING_FROM_START,
    semismooth_newton,
)

ROOT = Path(__file__).resolve().parent.parent
RAW, Y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(RAW)
DIGITS, LABELS = load_digits(return_X_y=True)
DIGITS /= 16


def pegasos(lam: float = 1e-2, max_iter: int = 200, **more: Any) -> cotas.Pegasos:
    """The model of the page on certificates, unless told otherwise."""
    return cotas.Pegasos(lam=lam, max_iter=max_iter, random_state=0, **more)


def digits(value: float) -> str:
    """Two digits, without an exponent."""
    return np.format_float_positional(value, precision=2, fractional=False, trim="k").rstrip(".")


def snippets(page: str, **given: Any) -> None:
    """Run the code of a page as a prompt would, and tell which outputs it shows do not come out."""
    text, out = (ROOT / page).read_text(encoding="utf-8"), io.StringIO()
    with redirect_stdout(out), np.printoptions(threshold=8):
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            for statement in ast.parse(block).body:
                exec(compile(ast.Interactive([statement]), page, "single"), given)
    print(out.getvalue(), end="")
    for shown in re.findall(r"```text\n(.*?)```", text, re.DOTALL):
        if not all(line in out.getvalue() for line in shown.splitlines()):
            print(f"!! {page} shows something else:\n{shown}")


def readme_and_index() -> None:
    for page in ("README.md", "README.es.md", "docs/index.md"):
        copy_context().run(snippets, page)  # one of them speaks Spanish


def certificates() -> None:
    snippets("docs/certificates.md")
    raw = pegasos().fit(RAW, Y).certificate_
    print(f"raw: objective {raw.upper:.3g}, lower {raw.lower:.0e}, vacuous {raw.vacuous}")


def how_to_choose() -> None:
    given = {"np": np, "cotas": cotas, "X": X, "y": Y, "batches": [(X[:300], Y[:300])]}
    snippets("docs/how-to-choose.md", X_val=X[::3], y_val=Y[::3], **given)


def how_to_choose_accuracy() -> None:
    data = make_classification(2000, 20, n_informative=5, flip_y=0.2, random_state=0)
    train, test, y, y_test = train_test_split(*data, random_state=0)
    models = [cotas.Perceptron(), cotas.AveragedPerceptron(), cotas.PassiveAggressive()]
    models += [cotas.PassiveAggressive(average=True), cotas.PassiveAggressive(lam=100), pegasos()]
    for model in models:
        print(f"| {model} | {model.fit(train, y).score(test, y_test):.3f} |")


def how_to_choose_separator() -> None:
    margin = cotas.separability(X, Y, widest=True).margin
    longest = np.linalg.norm(X, axis=1).max()
    run = cotas.Perceptron(max_iter=100_000, certify=False).fit(X, Y)
    print(f"margin {margin:.4f}, longest row {longest:.1f}, perceptron: {run.stop_reason_}")


def how_to_choose_scale() -> None:
    for name, data in {"raw": RAW, "standardized": X}.items():
        c = pegasos().fit(data, Y).certificate_
        print(f"{name}: objective {digits(c.upper)}, gap {digits(c.gap)}")


def how_to_choose_lam() -> None:
    for lam in (0.1, 0.01, 0.001, 0.0001):
        found = [pegasos(lam, epochs).fit(X, Y).certificate_ for epochs in (20, 200, 2000)]
        gaps = " | ".join(digits(c.gap) for c in found)
        print(f"| {lam:g} | {gaps} | {found[-1].upper:.4f} |")


def how_to_choose_options() -> None:
    options: list[dict[str, Any]] = [{}, {"project": True}, {"average": True}]
    options += [{"sampling": s} for s in ("replacement", "order")]
    options += [{"step": s} for s in ("1/(1+t)", "1/t")]
    for option in options:
        c = pegasos(**option).fit(X, Y).certificate_
        print(f"| {option or 'default'} | {digits(c.gap)} | {c.upper:.4f} |")


def how_to_choose_memory() -> None:
    """Also for decision 4: what a fit allocates beside X at its worst moment."""
    for n, d in ((400_000, 200), (600_000, 54)):
        rows = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
        y = np.arange(n) % 2
        for model in (cotas.Perceptron(), cotas.AveragedPerceptron(), cotas.Pegasos()):
            model.set_params(max_iter=2).fit(rows[:1000], y[:1000])  # compiles
            tracemalloc.start()
            model.fit(rows, y)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            name = type(model).__name__
            print(f"{n:,} × {d} {name}: {peak / rows.nbytes:.1%}, {peak / n:.0f} bytes a row")


def pegasos_bias_steps() -> None:
    """Also for decision 6: digit 0 against the rest, λ = 0.01, 20 epochs, two steps for θ₀."""
    y, lam = np.where(LABELS == 0, 1.0, -1.0), 0.01
    rules: dict[str, Callable[[int], float]] = {
        "1/(λt)": lambda t: 1 / (lam * t),
        "min(1/(λt), 1/√t)": lambda t: min(1 / (lam * t), t**-0.5),
    }

    def objective(theta: np.ndarray, theta0: float) -> float:
        losses = np.maximum(0, 1 - y * (DIGITS @ theta + theta0))
        return float(losses.mean() + lam / 2 * theta @ theta)

    for name, rule in rules.items():
        theta, theta0, t, random = np.zeros(64), 0.0, 0, np.random.RandomState(0)
        for _ in range(20):
            for i in random.permutation(len(y)):
                t += 1
                violated = y[i] * (DIGITS[i] @ theta + theta0) <= 1
                theta *= 1 - 1 / t
                if violated:
                    theta += y[i] / (lam * t) * DIGITS[i]
                    theta0 += rule(t) * y[i]
        k = np.count_nonzero(y > 0)
        best = np.sort(y - DIGITS @ theta)[k - 1 : k + 1].mean()
        ends = f"{objective(theta, theta0):.4f} | {objective(theta, best):.4f}"
        print(f"| {name} | {theta0:.3g} | {ends} |")
    print(f"cotas: {pegasos(max_iter=20).fit(DIGITS, LABELS == 0).certificate_.upper:.4f}")


def pegasos_bias_gaps() -> None:
    """Also for decision 6 and for How to choose."""
    for bias in (True, False):
        model = pegasos(fit_intercept=bias).fit(DIGITS, LABELS)
        c, score = model.certificate_, model.score(DIGITS, LABELS)
        worst = int(np.argmax([one.gap for one in c]))
        least = pegasos(max_iter=5000, fit_intercept=bias).fit(DIGITS, worst == LABELS)
        floor, two = least.certificate_.lower, pegasos(fit_intercept=bias).fit(X, Y).certificate_
        print(f"bias {bias}: digit {worst}, gap {digits(c[worst].gap)}, accuracy {score:.3f}")
        above = digits(c[worst].upper - floor)
        print(f"  objective {c[worst].upper:.4f}, best at least {floor:.4f}: {above} apart")
        print(f"  breast cancer: gap {digits(two.gap)}")


def pegasos_theory() -> None:
    model = pegasos(average=True, sampling="replacement", fit_intercept=False)
    c = model.fit(X, Y).certificate_
    theory = c.figures["mean gap in theory, at most"]
    print(f"mean gap {digits(theory)}, gap proved {digits(c.gap)}")


def svm_path() -> None:
    train, held_out, y, y_held_out = train_test_split(RAW, Y, test_size=0.4, random_state=0)
    scaler = StandardScaler().fit(train)
    validation = (scaler.transform(held_out), y_held_out)
    for n in (10, 50, 200):
        lams = np.geomspace(1e-3, 1, n)
        path = cotas.svm_path(scaler.transform(train), y, lams, validation=validation, tol=1e-8)
        best, proved = path.validation_errors.min(), path.validation_bound.error
        print(f"| {n} | {best:.4f} | {proved:.4f} |")


def svm_rounds_of_newton() -> None:
    """The last step of each round, until the gap is 1e-7."""
    rows, y = make_classification(20_000, 20, n_informative=5, flip_y=0.1, random_state=0)
    rows, signs = StandardScaler().fit_transform(rows), np.where(y == 1, 1.0, -1.0)
    lam, s, last, finished = 1e-4, np.full(len(y), 1.0 / len(y)), None, 0
    for steps, now in enumerate(semismooth_newton(rows, signs, s, lam, 0.0)):
        # A new round begins where the last one ended.
        if last is not None and np.array_equal(last.theta, now.theta):
            gap, share = last.primal - last.dual, last.alpha / s
            lack = lam * last.theta - (last.alpha * signs) @ rows
            nu = max(SMOOTHING_FROM_START * SHARPER**finished, SHARPEST)
            curved = np.count_nonzero((share > 0) & (share < 1))
            finished += 1
            # A round shows where it begins, and then what each of its systems leads to.
            print(f"| {finished} | {nu:.2g} | {steps - finished} | {gap:.1e} ", end="")
            print(f"| {lack @ lack / (2 * lam):.1e} | {curved:,} |")
            if gap <= 1e-7:
                break
        last = now
    model = cotas.LinearSVM(lam=lam, fit_intercept=False, solver="interior-point", tol=1e-7)
    print(f"interior point: {model.fit(rows, y).n_iter_} steps")


def svm_support_vectors() -> None:
    model = cotas.LinearSVM(lam=1 / len(Y), tol=1e-8).fit(X, Y)
    some = model.support_
    alone = cotas.LinearSVM(lam=1 / len(some), tol=1e-8).fit(X[some], Y[some])
    apart = np.linalg.norm(model.coef_ - alone.coef_)
    print(f"{len(some)} support vectors of {len(Y)}; θ without the others differs by ", end="")
    print(f"{apart:.0e}, its length is {np.linalg.norm(model.coef_):.2f}")


def svm_certified_predictions() -> None:
    for tol in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        model = cotas.LinearSVM(lam=1e-2, tol=tol).fit(X, Y)
        share = model.certified_predict(X)[1].mean()
        print(f"| {tol:g} | {model.certificate_.gap:.1e} | {share:.1%} |")


def passive_aggressive() -> None:
    for lam in (1, 100):
        c = cotas.PassiveAggressive(lam=lam).fit(X, Y).certificate_
        radius, shown = c.figures["R (longest row)"], c.figures["presentations"]
        print(f"λ = {lam}: {c.lower:,.0f} mistakes in {shown:,} presentations, ", end="")
        print(f"bound {c.upper:,.0f}, vacuous {c.vacuous}, R² {radius**2:.0f}")


def separability() -> None:
    c = cotas.separability(X, Y, widest=True).certificate
    longest = c.figures["longest row"]
    print(f"margin {c.lower:.6g}, none above {c.upper:.6g}, R {longest:.4g}, (R/γ)² ", end="")
    print(f"{(longest / c.lower) ** 2 / 1e6:.0f} million")
    rows, y = load_iris(return_X_y=True)
    print(cotas.separability(rows[y > 0], y[y > 0]))


if __name__ == "__main__":
    pages = ("readme", "certificates", "how_to", "pegasos_", "svm_", "passive", "separability")
    for name in [name for name in globals() if name.startswith(pages)]:
        print(f"\n## {name}\n")
        globals()[name]()
