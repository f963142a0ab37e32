"""What the documents claim beside their figures, measured over seeds: writes docs/claims.md.

The Spanish page has the same numbers, with the sentences of claims_in_spanish.py.

python tests/findings/claims.py           # the table of verdicts
python tests/findings/claims.py --times   # and the run times, which depend on the machine
"""

from __future__ import annotations

import re
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures

import cotas
from cotas import stops
from cotas.experiments import ThreeModels

try:
    from findings import claims_in_spanish as spanish
except ModuleNotFoundError:  # run as a script
    import claims_in_spanish as spanish

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"en": DOCS / "claims.md", "es": DOCS / "claims.es.md"}
SEEDS = tuple(range(10))
AGREES, DIFFERS, DEPENDS = "agrees", "differs", "depends on the seed"
SOURCES = {
    "000": "Fuentes Cabrera",
    "001": "Rugeles Ospina",
    "003": "Moreno Chávez",
    "004": "*Clasificación lineal y generalización*",
}


class Judged(NamedTuple):
    """What the seeds say of a claim."""

    verdict: str
    held: tuple[int, int]
    shown: tuple[str, ...]

    def cells(self, lang: str) -> str:
        """The last cells of its row in a language."""
        english = lang == "en"
        verdict = self.verdict if english else spanish.VERDICTS[self.verdict]
        return f"{self.held[0]} {'of' if english else 'de'} {self.held[1]} | {verdict} |"


@dataclass(frozen=True)
class Claim:
    """A claim, how a seed measures it, and what comes out.

    `measure` gives numbers for one seed, `holds` judges them, `found` is a sentence with a place
    for the mean of each number. With `sometimes` the document claims that it happens, not that it
    always does. `remark` says why it came out so.
    """

    place: str
    says: str
    measure: Callable[[int], tuple[float, ...]]
    holds: Callable[..., bool]
    found: str
    verdict: str = AGREES
    sometimes: bool = False
    remark: str = ""

    def judge(self, seeds: tuple[int, ...] = SEEDS) -> Judged:
        """What all seeds say: the verdict, how many of them agree, and the means."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            numbers = np.array([self.measure(seed) for seed in seeds], dtype=np.float64)
        held = [bool(self.holds(*row)) for row in numbers]
        enough = any(held) if self.sometimes else all(held)
        verdict = AGREES if enough else DIFFERS if not any(held) else DEPENDS
        spread = numbers.std(axis=0, ddof=1) / np.sqrt(len(numbers))
        shown = tuple(map(written, numbers.mean(axis=0), spread))
        return Judged(verdict, (sum(held), len(held)), shown)

    def sentences(self, lang: str) -> tuple[str, str, str, str]:
        """Place, claim, finding and remark in a language."""
        source, _, where = self.place.partition(", ")
        if lang == "es":
            return (f"{SOURCES[source]}, {spanish.place(where)}", *spanish.SAID[self.name])
        return f"{SOURCES[source]}, {where}", self.says, self.found, self.remark

    @property
    def name(self) -> str:
        """The name of what measures it."""
        return self.measure.__name__


def written(mean: float, error: float) -> str:
    """A mean with its standard error, where there is one beside rounding."""
    return f"{mean:.3g} ± {error:.1g}" if error > 1e-9 * abs(mean) else f"{mean:.3g}"


# ---- data ----------------------------------------------------------------------------------------


def noisy_plane(seed: int, n: int, d: int = 5, wrong: float = 0.15):
    """Labels of a plane, some of them wrong; the plane is the same for the same seed."""
    rng = np.random.default_rng(seed)
    u, X = rng.normal(size=d), rng.normal(size=(n, d))
    y = np.where(X @ u > 0, 1, -1)
    return X, np.where(rng.random(n) < wrong, -y, y)


def split(seed: int, n: int, more: int = 4000):
    """The first n rows, and the others, which are new."""
    X, y = noisy_plane(seed, n + more)
    return (X[:n], y[:n]), (X[n:], y[n:])


def separated(seed: int, n: int = 40):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    return rng.normal(size=(n, 2)) * 0.5 + 1.5 * y[:, None], y


def linear(seed: int, n: int = 60, d: int = 20):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] - X[:, 1] + rng.normal(size=n)


# ---- Fuentes Cabrera -----------------------------------------------------------------------------


def averaged_perceptron(seed):
    train, new = split(seed, 200)
    models = cotas.Perceptron(max_iter=10), cotas.AveragedPerceptron(max_iter=10)
    return tuple(100 * model.fit(*train).score(*new) for model in models)


def averaged_passive_aggressive(seed):
    train, new = split(seed, 200)
    models = [cotas.PassiveAggressive(max_iter=10, average=mean) for mean in (False, True)]
    return tuple(100 * model.fit(*train).score(*new) for model in models)


def passive_norms(seed):
    """‖θ‖ after 1, 10, 100 and 1000 epochs with λ = 1000, and the first three with λ = 1."""
    X, y = noisy_plane(seed, 200)
    runs = [(1000.0, T) for T in (1, 10, 100, 1000)] + [(1.0, T) for T in (1, 10, 100)]
    models = [cotas.PassiveAggressive(lam=lam, max_iter=T).fit(X, y) for lam, T in runs]
    return tuple(float(np.linalg.norm(model.coef_)) for model in models)


def longest_steps(seed):
    X, y = noisy_plane(seed, 100)
    X = 0.2 * X
    steps = [
        max(step.eta for step in list(cotas.trace(model, X, y))[:-1])
        for model in (
            cotas.Perceptron(max_iter=3, fit_intercept=False),
            cotas.PassiveAggressive(lam=0.1, max_iter=3, fit_intercept=False),
        )
    ]
    return tuple(steps)


def more_examples(seed):
    def gap(n):
        train, new = split(seed, n)
        model = cotas.AveragedPerceptron(max_iter=10).fit(*train)
        return 100 * abs(model.score(*train) - model.score(*new))

    return gap(20), gap(2000)


def one_classifier(seed):
    (X, y), (Z, z) = split(seed, 50)
    rng = np.random.default_rng(seed + 1000)
    H = rng.normal(size=(1000, 5))
    training = np.mean((X @ H.T > 0) == (y[:, None] > 0), axis=0)
    new = np.mean((Z @ H.T > 0) == (z[:, None] > 0), axis=0)
    best = int(training.argmax())
    return 100 * abs(training[0] - new[0]), 100 * (training[best] - new[best])


def ridge_over_lambda(seed):
    X, y = linear(seed, 24)
    Z, z = linear(seed + 1000, 2000)
    lams = (1e-4, 0.5, 100.0)
    fits = [cotas.Ridge(lam=lam).fit(X, y) for lam in lams]
    return tuple(float(np.mean((z - model.predict(Z)) ** 2)) for model in fits)


def degrees(seed):
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(-1, 1, 25), rng.uniform(-1, 1, 1000)
    y = np.sin(3 * x) + 0.2 * rng.normal(size=25)
    errors = []
    for degree in (1, 4, 16):
        lift = PolynomialFeatures(degree, include_bias=False)
        model = cotas.LeastSquares(solver="qr").fit(lift.fit_transform(x[:, None]), y)
        away = model.predict(lift.transform(z[:, None])) - np.sin(3 * z)
        errors.append(float(np.mean(away**2)))
    return tuple(errors)


# ---- Rugeles Ospina ------------------------------------------------------------------------------


def majority_of_three(seed):
    """Accuracy on new data of the best of the three, and of what two of them say."""
    train, (Z, z) = split(seed, 3000)
    model = ThreeModels(random_state=seed).fit(*train)
    alone = [np.mean(f.predict(Z) == z) for f in model.estimators_]
    return 100 * float(max(alone)), 100 * float(model.score(Z, z))


def rounds_until(model, X, y, loss):
    losses = model.fit(X, y).round_losses_
    below = np.flatnonzero(losses <= loss)
    return float(below[0] + 1) if len(below) else np.inf


def real_against_discrete(seed):
    X, y = noisy_plane(seed, 300, wrong=0.05)
    tree = cotas.Tree(2)
    kinds = cotas.AdaBoost, cotas.RealAdaBoost
    return tuple(rounds_until(kind(tree, n_estimators=60), X, y, 0.5) for kind in kinds)


def largest_changes(seed):
    X, y = noisy_plane(seed, 300, wrong=0.05)
    found = []
    for kind in (cotas.GentleBoost, cotas.RealAdaBoost, cotas.LogitBoost):
        F = np.array(
            list(kind(cotas.Tree(3), n_estimators=30).fit(X, y).staged_decision_function(X))
        )
        found.append(float(np.abs(np.diff(F, axis=0, prepend=0.0)).max()))
    return tuple(found)


def known_distribution(seed):
    """x takes five values; a tree that tells them apart knows P(y|x) of the sample."""
    rng = np.random.default_rng(seed)
    x = rng.integers(5, size=400)
    y = np.where(rng.random(400) < 0.15 + 0.15 * x, 1, -1)
    model = cotas.RealAdaBoost(cotas.Tree(5), n_estimators=10).fit(x[:, None] * 1.0, y)
    w = np.exp(-y * model[:1].decision_function(x[:, None] * 1.0))
    left = max(abs((w * y)[x == k].sum() / w[x == k].sum()) for k in range(5))
    return left, float(model.n_rounds_)


def inside_the_mean(seed):
    """min over F of E[e^{−yF}], and E of the least over z of what each x has, x being finite."""
    rng = np.random.default_rng(seed)
    x = rng.integers(5, size=400)
    y = np.where(rng.random(400) < 0.15 + 0.15 * x, 1, -1)
    model = cotas.RealAdaBoost(cotas.Tree(5), n_estimators=10).fit(x[:, None] * 1.0, y)
    J = float(np.mean(np.exp(-y * model.decision_function(x[:, None] * 1.0))))
    shares = [np.mean(y[x == k] > 0) for k in range(5)]
    inner = sum(np.mean(x == k) * 2 * np.sqrt(p * (1 - p)) for k, p in enumerate(shares))
    return J, float(inner)


def precision_of_fs(seed):
    X, y = linear(seed)
    least = cotas.LeastSquares(solver="qr").fit(X, y)
    best = np.mean((y - least.predict(X)) ** 2) / 2
    excess = []
    for eps in (1.0, 0.1, 0.01):
        model = cotas.ForwardStagewise(eps=eps, max_iter=int(60 / eps)).fit(X, y)
        excess.append(float(np.mean((y - model.predict(X)) ** 2) / 2 - best))
    return tuple(excess)


def precision_of_r_fs(seed):
    X, y = linear(seed)
    delta = 6.0  # of the columns of unit length, which `standardize` makes √n times as long
    best = cotas.Lasso(delta=delta / np.sqrt(len(y)), standardize=True, tol=1e-12).fit(X, y)
    excess = []
    for eps in (1.0, 0.1, 0.01):
        options = {"eps": eps, "delta": delta, "max_iter": int(200 / eps)}
        model = cotas.RegularizedForwardStagewise(**options).fit(X, y)
        loss = np.mean((y - model.predict(X)) ** 2) / 2
        excess.append(float(loss - best.certificate_.lower))
    return tuple(excess)


def subgradient_bound(seed):
    """(A.3) for FS_ε on ‖Xᵀr‖_∞, whose least value is 0, at r* = y − Xβ_LS, and G = 1."""
    X, y = linear(seed)
    X, y = X - X.mean(axis=0), y - y.mean()
    X = X / np.linalg.norm(X, axis=0)
    eps, k = 0.2, 200
    path = cotas.ForwardStagewise(eps=eps, max_iter=k).fit(X, y).path_
    fitted = X @ np.linalg.lstsq(X, y, rcond=None)[0]
    values = [np.abs(X.T @ (y - X @ path.unit_coef(i))).max() for i in range(k + 1)]
    return min(values), float(fitted @ fitted / (2 * (k + 1) * eps) + eps / 2)


# ---- Moreno Chávez and Clasificación lineal ------------------------------------------------------


def starts(seed):
    """How far two runs from different starts end apart: columns of full rank, and one repeated."""
    X, y = linear(seed, 60, 3)
    ends = []
    for rows in (X, np.column_stack([X, X[:, 0]])):
        d = rows.shape[1]
        models = [
            cotas.LeastSquares(
                solver="gradient",
                start=start * np.arange(1.0, d + 1),
                stop=stops.MaxIterations(500),
            ).fit(rows, y)
            for start in (-3.0, 3.0)
        ]
        ends.append(float(np.linalg.norm(models[0].coef_ - models[1].coef_)))
    return tuple(ends)


def giant_sets(seed):
    """What is left of J − J*: after a twentieth of the examples, and after one step over all."""
    X, y = linear(seed, 20_000, 5)
    best = cotas.LeastSquares().fit(X, y).certificate_.upper
    one = {"stop": stops.MaxIterations(1)}
    some = cotas.LeastSquares(solver="stochastic", step=0.01, shuffle=False, **one)
    whole = cotas.LeastSquares(solver="gradient", **one)

    def left(model):
        return float((np.mean((y - model.predict(X)) ** 2) / 2 - best) / (np.mean(y**2) / 2 - best))

    return left(some.fit(X[:1000], y[:1000])), left(whole.fit(X, y))


def efficient(seed):
    """J above the least: after one look at each example, and after ten steps over all of them."""
    X, y = noisy_plane(seed, 2000)
    options = {"lam": 0.01, "step": "1/(1+t)", "fit_intercept": False}
    best = cotas.LinearSVM(lam=0.01, fit_intercept=False, tol=1e-8).fit(X, y).certificate_.lower
    one_by_one = cotas.Pegasos(sampling="replacement", max_iter=1, random_state=seed, **options)
    together = cotas.Pegasos(sampling="all", max_iter=10, **options)
    return tuple(model.fit(X, y).certificate_.upper - best for model in (one_by_one, together))


def constant_rate(seed):
    """The excess of J: ridge, the SVM with a small constant rate and with 1/(λt), each twice."""
    X, y = noisy_plane(seed, 100)
    ridge = cotas.Ridge(lam=0.1, solver="gradient", stop=stops.MaxIterations(300)).fit(X, y)
    best = cotas.LinearSVM(lam=0.1, tol=1e-9, fit_intercept=False).fit(X, y).certificate_.lower
    excess = [ridge.certificate_.gap]
    for step in (0.05, "1/(lam*t)"):
        for steps in (500, 4000):
            options = {"lam": 0.1, "sampling": "all", "fit_intercept": False, "max_iter": steps}
            model = cotas.Pegasos(**options, step=step).fit(X, y)
            excess.append(model.certificate_.upper - best)
    return tuple(excess)


def support_vectors(seed):
    X, y = separated(seed)
    model = cotas.LinearSVM(margin="hard").fit(X, y)
    on_the_margin = np.abs(y * model.decision_function(X) - 1) < 1e-6

    def moved(rows):
        other = cotas.LinearSVM(margin="hard").fit(X[rows], y[rows])
        return float(np.linalg.norm(other.coef_ - model.coef_) / np.linalg.norm(model.coef_))

    some = np.flatnonzero(~on_the_margin)[::2]
    return moved(~on_the_margin), moved(np.setdiff1d(np.arange(len(y)), some))


def three_differences(seed):
    """Of the steps: the last η over the first, and the share that moves θ, of both algorithms."""
    X, y = noisy_plane(seed, 60)
    *steps, _ = cotas.trace(cotas.Pegasos(lam=0.1, max_iter=3, random_state=seed), X, y)
    *plain, _ = cotas.trace(cotas.Perceptron(max_iter=3), X, y)

    def moves(some):
        return float(np.mean([(s.theta != s.theta_before).any() for s in some]))

    shrunk = [
        np.linalg.norm(s.theta) < np.linalg.norm(s.theta_before) for s in steps[1:] if not s.updated
    ]
    return steps[-1].eta / steps[0].eta, moves(steps[1:]), moves(plain), float(np.mean(shrunk))


CLAIMS = (
    Claim(
        "000, section 2.2",
        "more examples: the training error reflects the validation error better",
        more_examples,
        lambda few, many: many < few,
        "difference of the two: {0} points with 20 examples, {1} with 2000",
    ),
    Claim(
        "000, section 2.2",
        "an $H$ with one classifier has no gap; choosing by the training error opens it",
        one_classifier,
        lambda fixed, chosen: chosen > fixed,
        "gap of a classifier fixed beforehand {0} points, of the best of 1000 {1}",
        verdict=DEPENDS,
        remark="With 50 examples the error of a fixed classifier is off by some points itself, in "
        "either direction; on average the gap of the chosen one is larger.",
    ),
    Claim(
        "000, section 3.4.3",
        "the averaged perceptron is reasonable where no plane separates the data",
        averaged_perceptron,
        lambda last, mean: mean > last,
        "accuracy on new data: last vector {0}%, average {1}%",
    ),
    Claim(
        "000, section 3.6",
        "the average is a better version of the passive-aggressive algorithm too",
        averaged_passive_aggressive,
        lambda last, mean: mean > last,
        "accuracy on new data: last vector {0}%, average {1}%",
    ),
    Claim(
        "000, section 3.6",
        r"$\lVert\theta\rVert$ grows slowly with $T$",
        passive_norms,
        lambda *slow: slow[0] < slow[1] < slow[2],
        r"$\lVert\theta\rVert$ after 1, 10, 100 and 1000 epochs with $\lambda = 1000$: "
        r"{0}, {1}, {2}, {3}; after 1, 10 and 100 with $\lambda = 1$: {4}, {5}, {6}",
        remark=r"True where $\lambda$ keeps the steps short, until the run comes to the same "
        r"places in each epoch; with $\lambda = 1$ it does so from the first one on.",
    ),
    Claim(
        "000, section 3.6",
        "its updates are always more restrained than the perceptron's",
        longest_steps,
        lambda perceptron, passive: passive <= perceptron,
        "longest step: perceptron {0}, passive-aggressive with $\\lambda = 0.1$: {1}",
        verdict=DIFFERS,
        remark=r"$\eta$ may reach $1/\lambda$, so that the sentence is true for $\lambda \ge 1$ "
        "only.",
    ),
    Claim(
        "000, section 4.1",
        "a small $F$ has structural error, a large one estimation error",
        degrees,
        lambda low, middle, high: middle < min(low, high),
        "squared distance from the truth with degree 1, 4, 16: {0}, {1}, {2}",
    ),
    Claim(
        "000, section 4.2",
        "a larger $\\lambda$ helps on new data, and harms where it is too large",
        ridge_over_lambda,
        lambda small, middle, large: middle < min(small, large),
        r"squared error on new data with $\lambda = 10^{{-4}}$, 0.5, 100: {0}, {1}, {2}",
    ),
    Claim(
        "001, section 1.1",
        "the majority of the three models of 1990 is better than each of them",
        majority_of_three,
        lambda alone, together: together > alone,
        "accuracy on new data: best of the three {0}%, majority {1}%",
        verdict=DEPENDS,
        remark="Schapire's bound is about the worst of the three errors, each on the examples of "
        "its own training, and not about the best model.",
    ),
    Claim(
        "001, section 1.1.1",
        "real AdaBoost converges faster in certain cases",
        real_against_discrete,
        lambda discrete, real: real < discrete,
        "rounds until $J \\le 1/2$ with trees of depth 2: discrete {0}, real {1}",
        sometimes=True,
    ),
    Claim(
        "001, Theorem 1.1.4",
        "the least of an expectation is the expectation of the least",
        inside_the_mean,
        lambda outside, inside: abs(outside - inside) < 1e-9,
        "least $J$ {0}, mean of the least of each $x$ {1}",
    ),
    Claim(
        "001, Corollary 2",
        "with the distribution known, one iteration is enough",
        known_distribution,
        lambda left, rounds: left < 1e-9 and rounds == 1,
        r"largest $\lvert E_w[y \mid x]\rvert$ after one round {0}; rounds {1}",
    ),
    Claim(
        "001, section 1.1.2",
        "GentleBoost changes $F$ by at most 1 and is stable; the others change it more",
        largest_changes,
        lambda gentle, real, logit: gentle <= 1 + 1e-12 < min(real, logit),
        "largest change of $F$ in a round: GentleBoost {0}, real AdaBoost {1}, LogitBoost {2}",
    ),
    Claim(
        "001, section 2.2",
        r"FS$_\varepsilon$ has the precision $O(\varepsilon)$",
        precision_of_fs,
        lambda one, tenth, hundredth: tenth <= 0.1 * one and hundredth <= 0.1 * tenth,
        r"training loss above the least for $\varepsilon = 1$, 0.1, 0.01: {0}, {1}, {2}",
    ),
    Claim(
        "001, section 2.2.1",
        r"R-FS$_{\varepsilon,\delta}$ comes to the Lasso with the precision $O(\varepsilon)$",
        precision_of_r_fs,
        lambda one, tenth, hundredth: max(one, 10 * tenth, 100 * hundredth) <= 2 * 6 / 60,
        r"training loss above the least in the ball $\delta = 6$ for $\varepsilon = 1$, 0.1, 0.01: "
        r"{0}, {1}, {2}; Theorem 2.2.3 leaves $2\delta\varepsilon/n = 0.2\varepsilon$",
    ),
    Claim(
        "001, Theorem A.1.5",
        r"the subgradient method is within $\frac{\lVert x^0 - x^*\rVert^2}{2(k+1)\alpha} + "
        r"\frac{\alpha G^2}{2}$ of the least value",
        subgradient_bound,
        lambda value, bound: value <= bound,
        r"FS$_\varepsilon$ with $\varepsilon = 0.2$ after 200 steps: "
        r"$\lVert X^\top r\rVert_\infty$ {0}, allowed {1}",
    ),
    Claim(
        "003, batch gradient descent",
        "it converges to local extremes, which depend on the start",
        starts,
        lambda full, repeated: full < 1e-6 < repeated,
        "distance of the ends of two starts: columns of full rank {0}, one column twice {1}",
        remark="$J$ is convex, so that a local least value is the least; where it is not unique, "
        r"the start decides which $\theta$ is found.",
    ),
    Claim(
        "003, stochastic gradient descent",
        "it is useful for giant training sets, where one step over all of them is dear",
        giant_sets,
        lambda some, whole: some < 0.1,
        "share of $J - J^*$ left, of 20000 examples: {0} after steps at the first 1000; "
        "batch descent has to see all for its first step, which leaves {1} with $\\alpha = 1/L$",
    ),
    Claim(
        "004, gradient descent",
        "a constant rate is enough where the function is strongly convex",
        constant_rate,
        lambda ridge, soon, constant, then, falling: constant <= falling,
        r"$J$ above the least: ridge {0} after 300 steps; SVM after 500 and 4000 steps {1} and "
        r"{2} with $\eta = 1/20$, {3} and {4} with $\eta = 1/(\lambda t)$",
        verdict=DIFFERS,
        remark="True of ridge. The objective of the SVM is strongly convex and not smooth: with a "
        "constant rate it stays some way above, where a falling one goes on.",
    ),
    Claim(
        "004, stochastic gradient descent",
        "unlike the perceptron: a falling rate, always an update, "
        r"a $\lVert\theta\rVert$ that is shortened",
        three_differences,
        lambda rate, always, seldom, shrunk: rate < 1 and always == 1 > seldom and shrunk == 1,
        r"last $\eta$ over the first {0}; share of steps that move $\theta$: PEGASOS {1}, "
        r"perceptron {2}; share of the updates without a violation that shorten $\theta$ {3}",
    ),
    Claim(
        "004, stochastic gradient descent",
        "it is more efficient than descent on the whole objective",
        efficient,
        lambda one_by_one, together: one_by_one < together,
        r"$J$ above the least with $\eta_t = 1/(1 + t)$: {0} after 2000 draws from 2000 examples, "
        "{1} after ten steps over all of them, ten times the work",
    ),
    Claim(
        "004, realizable case",
        "without its support vectors the solution is another, without others it is the same",
        support_vectors,
        lambda without, others: others < 1e-6 < without,
        r"relative change of $\theta$ without all support vectors {0}, "
        "without half of the others {1}",
    ),
)


# ---- run times -----------------------------------------------------------------------------------


def seconds(work: Callable[..., object], *given: object) -> float:
    """The faster of two runs."""
    times = []
    for _ in range(2):
        began = time.perf_counter()
        work(*given)
        times.append(time.perf_counter() - began)
    return min(times)


def quadratic_program(X, y, lam):
    """The program of section 3.7 with its ξ, by an interior point for any such program."""
    import clarabel

    n, d = X.shape
    rows = sparse.csc_matrix(-y[:, None] * np.column_stack([X, np.ones(n)]))
    slacks = sparse.identity(n, format="csc")
    A = sparse.bmat([[rows, -slacks], [sparse.csc_matrix((n, d + 1)), -slacks]], format="csc")
    P = sparse.diags(np.r_[np.full(d, lam), np.zeros(n + 1)], format="csc")
    costs = np.r_[np.zeros(d + 1), np.full(n, 1 / n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(2 * n)]
    right = np.r_[-np.ones(n), np.zeros(n)]
    return clarabel.DefaultSolver(P, costs, A, right, cones, settings).solve().obj_val


def quadratic_programs() -> list[str]:
    """The times of the program as printed and of the library."""
    lines = []
    for n in (1000, 3000, 10_000, 30_000, 100_000):
        X, y = noisy_plane(0, n, 20)
        model = cotas.LinearSVM(lam=0.01)
        lines.append(row(str(n), seconds(quadratic_program, X, y, 0.01), seconds(model.fit, X, y)))
    return lines


def stagewise_times() -> list[str]:
    """The times of stagewise regression and of the exact solution."""
    lines = []
    for n, p in ((1000, 10), (10_000, 10), (1000, 100), (10_000, 100), (10_000, 1000)):
        X, y = linear(0, n, p)
        models = (
            cotas.LSBoost(eps=0.3, max_iter=500),
            cotas.ForwardStagewise(eps=0.1, max_iter=500),
            cotas.LeastSquares(),
        )
        lines.append(row(f"{n} × {p}", *(seconds(model.fit, X, y) for model in models)))
    return lines


def row(size: str, *taken: float) -> str:
    """A row of a table of times."""
    return f"| {size} | " + " | ".join(f"{1000 * t:.0f} ms" for t in taken) + " |"


# ---- the page ------------------------------------------------------------------------------------

HEAD = """# Claims of the documents, measured

What the [documents](sources.md) say beside their figures, over the seeds 0 to 9; numbers are means
with their standard errors. Written by `tests/findings/claims.py`; CI computes every verdict again.

| place | the document says | found | seeds that agree | verdict |
|---|---|---|---|---|
"""
TIMES = """
## Run times {{#run-times}}

These depend on the machine: two cores of a shared one, the faster of two runs.

*Fuentes Cabrera, section 3.7: the quadratic program is limited to some ten thousand examples.*

| examples, 20 columns | QP as printed | `LinearSVM` |
|---|---|---|
{programs}

By an interior point that uses the zeros of the program; nothing ends at ten thousand. Its time
grows as the power {power:.2f} of the number of examples.

*Rugeles Ospina, section 2.3: the time of stagewise regression grows moderately, and the exact
solution inverts a matrix.*

| examples × columns | LS-Boost(0.3), 500 iterations | FS, 500 | exact solution |
|---|---|---|---|
{stagewise}

Each with its certificate. The exact solution, found without an inverse, was the faster one in
{wins} of {shapes} rows.
"""


def table(judged: list[Judged], lang: str) -> str:
    """The rows of the page."""
    lines = []
    for claim, answer in zip(CLAIMS, judged, strict=True):
        place, says, found, remark = claim.sentences(lang)
        means = found.format(*answer.shown) + (f". {remark}" if remark else ".")
        lines.append(f"| {place} | {says} | {means} | {answer.cells(lang)}")
    return "\n".join(lines) + "\n"


def times(rows: list[str], lang: str) -> str:
    """The tables of run times, with what the documents say and what follows from the rows."""
    programs = [line for line in rows if "×" not in line]
    stagewise = [line for line in rows if "×" in line]
    cells = np.array([re.findall(r"\d+", line)[:2] for line in programs], dtype=np.float64)
    taken = [[int(ms) for ms in re.findall(r"(\d+) ms", line)] for line in stagewise]
    return (TIMES if lang == "en" else spanish.TIMES).format(
        programs="\n".join(programs),
        power=np.polyfit(*np.log(cells.T), 1)[0],
        stagewise="\n".join(stagewise),
        wins=sum(exact < min(others) for *others, exact in taken),
        shapes=len(stagewise),
    )


def timed_rows(page: str) -> list[str]:
    """The rows of run times on a page."""
    return re.findall(r"^\| \d.* ms \|$", page, re.MULTILINE)


def page(judged: list[Judged], rows: list[str], lang: str) -> str:
    """The whole page in a language."""
    return (HEAD if lang == "en" else spanish.HEAD) + table(judged, lang) + times(rows, lang)


if __name__ == "__main__":
    anew = "--times" in sys.argv
    timed = [*quadratic_programs(), *stagewise_times()] if anew else None
    kept = timed or timed_rows(PAGES["en"].read_text(encoding="utf-8"))
    answers = [claim.judge() for claim in CLAIMS]
    for lang, path in PAGES.items():
        path.write_text(page(answers, kept, lang), encoding="utf-8")
