"""A trace is the run of the fit: its last model is the fit's to the bit, and its numbers add up."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import cotas
from cotas import stops
from cotas.tracing import TRACED, Return, Step, printed
from errors import refuses
from problems import clouds, plane

SEED = {"random_state": 0}
# The runs of each estimator that can be traced; every option that changes the steps is there once.
RUNS = {
    cotas.Perceptron: [{}, {"fit_intercept": False, "shuffle": True, **SEED}],
    cotas.AveragedPerceptron: [{"max_iter": 4}, {"max_iter": 4, "shuffle": True, **SEED}],
    cotas.PassiveAggressive: [
        {"lam": 0.5, "max_iter": 4},
        {"average": True, "fit_intercept": False, "max_iter": 4},
    ],
    cotas.Pegasos: [
        {"lam": 0.1, "max_iter": 4, **SEED},
        {"lam": 0.1, "max_iter": 4, "step": "1/t", "fit_intercept": False, **SEED},
        {"lam": 0.1, "max_iter": 4, "step": "1/(1+t)", "sampling": "replacement", **SEED},
        {"lam": 0.1, "max_iter": 4, "project": True, "average": True, **SEED},
        {"lam": 0.1, "max_iter": 6, "sampling": "all"},
        {"lam": 0.1, "max_iter": 6, "sampling": "all", "step": 0.5, "average": True},
        {"lam": 0.1, "max_iter": 2, "step": "1/(1+t)", "start": (np.ones(3), 1.0), **SEED},
        {"lam": 0.1, "max_iter": 9, "early_stopping": True, "n_iter_no_change": 1, **SEED},
    ],
    cotas.KernelPerceptron: [{"max_iter": 4}, {"max_iter": 4, "shuffle": True, **SEED}],
    cotas.KernelPegasos: [
        {"lam": 0.1, "max_iter": 4, **SEED},
        {"lam": 0.1, "max_iter": 4, "sampling": "replacement", "fit_intercept": False, **SEED},
    ],
    cotas.KernelSVM: [
        {"lam": 0.1},
        {"lam": 0.1, "solver": "smo-simple"},
        {"lam": 0.1, "solver": "smo-simple", "fit_intercept": False},
        {"lam": 1e-4, "kernel": "linear", "multiclass": "ovr"},
    ],
    cotas.AdaBoost: [
        {"n_estimators": 8},
        {"weak_learner": "tree", "n_estimators": 4, "learning_rate": 0.5},
        {"n_estimators": 8, "multiclass": "samme"},
        {"n_estimators": 30, "early_stopping": True, "n_iter_no_change": 2, **SEED},
    ],
    cotas.RealAdaBoost: [{"n_estimators": 5}],
    cotas.GentleBoost: [{"n_estimators": 5}, {"weak_learner": "linear", "n_estimators": 3}],
    cotas.LeastSquares: [
        {"solver": "gradient", "stop": stops.MaxIterations(7)},
        {"solver": "gradient", "standardize": True, "start": (np.ones(3), 2.0), "tol": 1e-3},
        {"solver": "stochastic", "stop": stops.MaxIterations(3), **SEED},
        {"solver": "stochastic", "batch_size": 7, "stop": stops.MaxIterations(3), **SEED},
        {"solver": "stochastic", "replacement": True, "stop": stops.MaxIterations(2), **SEED},
    ],
    cotas.Ridge: [
        {"lam": 0.1, "solver": "gradient", "stop": stops.MaxIterations(7)},
        {
            "lam": 0.1,
            "solver": "stochastic",
            "replacement": True,
            "standardize": True,
            "stop": stops.MaxIterations(2),
            **SEED,
        },
    ],
}
CASES = [(kind, options) for kind, some in RUNS.items() for options in some]
FITTED = ("coef_", "intercept_", "dual_coef_", "support_", "estimator_weights_")
NUMBERS = (cotas.LeastSquares, cotas.Ridge)
every_case = pytest.mark.parametrize(
    ("kind", "options"), CASES, ids=[f"{kind.__name__}-{k}" for k, (kind, _) in enumerate(CASES)]
)


def data_of(kind, classes=2, seed=3):
    """Rows that no line separates, with two labels or three, or with numbers."""
    if kind in NUMBERS:
        return plane(40, 3, seed=seed)
    X, y = clouds(45, 3, seed=seed)
    if classes == 3:
        y = np.arange(45) % 3
        X = X + y[:, None]
    return X, y


def same_models(a, b, X):
    """Whether all that predicts is equal to the last bit."""
    for name in FITTED:
        if hasattr(b, name):
            found, wanted = getattr(a, name), getattr(b, name)
            pairs = (
                zip(found, wanted, strict=True) if isinstance(wanted, list) else [(found, wanted)]
            )
            for one, other in pairs:
                np.testing.assert_array_equal(one, other)
    decide = "predict" if not hasattr(b, "decision_function") else "decision_function"
    np.testing.assert_array_equal(getattr(a, decide)(X), getattr(b, decide)(X))


def test_every_traced_estimator_is_tested_here():
    assert set(RUNS) == set(TRACED)


@every_case
@pytest.mark.filterwarnings("ignore")
def test_the_last_model_is_that_of_the_fit(kind, options):
    for classes in (2,) if kind in NUMBERS else (2, 3):
        ends_at_the_fit(kind, options, classes)


def ends_at_the_fit(kind, options, classes):
    X, y = data_of(kind, classes)
    run = cotas.trace(kind(**options), X, y)
    steps = list(run)
    same_models(steps[-1].model, kind(**options).fit(X, y), X)
    same_models(steps[-1].model, run.model, X)
    assert isinstance(steps[-1], Return)
    assert not any(isinstance(step, Return) for step in steps[:-1])
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert steps[-1].model.certificate_.holds == run.model.certificate_.holds
    for step in steps:
        assert isinstance(step, Step)
        assert step.lines
        assert set(step.lines) <= set(run.algorithm.lines)
        assert step.text("es")
        assert step.text("en")


@every_case
@pytest.mark.filterwarnings("ignore")
def test_going_through_it_twice_is_the_same(kind, options):
    X, y = data_of(kind)
    run = cotas.trace(kind(**options), X, y)
    for one, other in zip(run, run, strict=True):
        assert one.lines == other.lines
    same_models(one.model, other.model, X)
    in_words(run)
    numbers_are_plain(next(iter(run)))


def in_words(run):
    """A trace says who printed its page, and its notes in both languages."""
    assert repr(run).endswith(f", {run.algorithm.author}>")
    english = run.notes
    with cotas.lang("es"):
        spanish = run.notes
    assert len(english) == len(spanish)
    assert not set(english) & set(spanish)


def numbers_are_plain(step):
    """A step shows its numbers without the page, and no minus before a zero."""
    assert "Line(" not in repr(step)
    for name in ("margin", "eta", "error", "vote"):
        value = getattr(step, name, 0.0)
        assert type(value) is float
        assert not (value == 0 and np.signbit(value))


@pytest.mark.parametrize("kind", TRACED, ids=lambda kind: kind.__name__)
@pytest.mark.filterwarnings("ignore")
def test_weights_and_sparse_rows_make_no_difference_to_the_law(kind):
    X, y = data_of(kind)
    weights = np.arange(len(y)) % 3.0
    estimator = kind(**RUNS[kind][0])
    *_, last = cotas.trace(estimator, sparse.csr_matrix(X), y, weights)
    same_models(last.model, clone(estimator).fit(sparse.csr_matrix(X), y, weights), X)


# ---- the numbers of each kind of step ----------------------------------------------------------


@pytest.mark.parametrize("kind", [cotas.Perceptron, cotas.PassiveAggressive, cotas.Pegasos])
def test_each_online_step_is_its_formula(kind):
    X, y = data_of(kind)
    options = {"fit_intercept": False, "max_iter": 4, **SEED}
    lam = {} if kind is cotas.Perceptron else {"lam": 0.3}
    *steps, _ = cotas.trace(kind(**options, **lam), X, y)
    mistakes = 0
    for step in steps:
        x, label = X[step.row], y[step.row] * 1.0
        assert step.y == label
        np.testing.assert_allclose(step.margin, label * (step.theta_before @ x), atol=1e-12)
        shrink = 1 - step.eta * 0.3 if kind is cotas.Pegasos else 1.0
        moved = step.eta * label * x if step.updated else 0.0
        np.testing.assert_allclose(step.theta, shrink * step.theta_before + moved, atol=1e-10)
        mistakes += step.mistake
        assert step.mistakes == mistakes
        assert step.mistake == (step.margin <= 0)
        if kind is cotas.PassiveAggressive:
            np.testing.assert_allclose(step.eta, min(max(0.0, 1 - step.margin) / (x @ x), 1 / 0.3))
        limit = 0 if kind is cotas.Perceptron else 1
        assert step.updated == (step.margin <= limit)
        np.testing.assert_array_equal(step.model.coef_[0], step.theta)
    if kind is cotas.Perceptron:
        assert all(step.mistakes <= step.bound for step in steps)


@pytest.mark.parametrize("kind", [cotas.KernelPerceptron, cotas.KernelPegasos])
def test_each_kernel_step_counts_one_example(kind):
    X, y = data_of(kind)
    *steps, _ = cotas.trace(kind("linear", max_iter=3, fit_intercept=False, **SEED), X, y)
    K = X @ X.T
    for step in steps:
        change = step.counts - step.counts_before
        assert change[step.row] == step.updated
        assert np.count_nonzero(change) == step.updated
        f = K[step.row] @ (step.counts_before * y)
        np.testing.assert_allclose(step.margin, step.y * step.eta * f, rtol=1e-9, atol=1e-12)
    assert steps[-1].mistakes == sum(step.mistake for step in steps)


@pytest.mark.parametrize("solver", ["smo", "smo-simple"])
def test_each_pair_keeps_the_constraints_and_raises_the_dual(solver):
    X, y = data_of(cotas.KernelSVM)
    lam, K = 0.05, X @ X.T
    *steps, _ = cotas.trace(cotas.KernelSVM("linear", lam=lam, solver=solver), X, y)

    def dual(alpha):
        return alpha.sum() - (alpha * y) @ K @ (alpha * y) / (2 * lam)

    before = np.zeros(len(y))
    for step in steps:
        np.testing.assert_allclose(step.alpha_before, before[step.rows], atol=1e-15)
        after = before.copy()
        after[step.rows] = step.alpha
        np.testing.assert_allclose(after, step.multipliers, atol=1e-15)
        assert (after >= -1e-15).all()
        assert (step.alpha <= step.upper + 1e-15).all()
        assert abs(after @ y) < 1e-12
        assert dual(after) >= dual(before) - 1e-12
        assert step.newton or len(step.rows) <= 2
        before = after
    assert len(steps) > 5


def test_a_step_of_smo_has_a_machine_that_predicts():
    X, y = data_of(cotas.KernelSVM)
    *_, last, _ = cotas.trace(cotas.KernelSVM(lam=0.05, solver="smo-simple"), X, y)
    assert last.model.score(X, y) > 0.8


def test_each_round_of_adaboost_is_the_page():
    X, y = data_of(cotas.AdaBoost)
    *steps, _ = cotas.trace(cotas.AdaBoost(n_estimators=10), X, y)
    w, F, bound = np.full(len(y), 1 / len(y)), np.zeros(len(y)), 1.0
    for step in steps:
        np.testing.assert_allclose(step.weights_before, w, rtol=1e-9)
        f = step.learner.predict(X)
        error = w[f != y].sum()
        c = np.log((1 - error) / error)
        np.testing.assert_allclose([step.error, step.vote], [error, c / 2], rtol=1e-9)
        w = w * np.exp(c * (f != y))
        w, F = w / w.sum(), F + step.vote * f
        np.testing.assert_allclose(step.F, F, rtol=1e-9)
        np.testing.assert_allclose(step.model.decision_function(X), F, rtol=1e-9)
        bound *= 2 * np.sqrt(error * (1 - error))
        np.testing.assert_allclose([step.bound, step.loss], bound, rtol=1e-9)
        assert step.training_error <= step.bound


@pytest.mark.parametrize("batch_size", [None, 1, 6])
@pytest.mark.filterwarnings("ignore")
def test_each_descent_step_is_its_formula(batch_size):
    X, y = data_of(cotas.Ridge)
    rows = np.column_stack([np.ones(len(y)), X])
    how = {"solver": "gradient"} if batch_size is None else {"solver": "stochastic"}
    model = cotas.LeastSquares(
        step=0.01, batch_size=batch_size or 1, stop=stops.MaxIterations(3), **how, **SEED
    )
    *steps, _ = cotas.trace(model, X, y)
    for step in steps:
        some = slice(None) if step.rows is None else step.rows
        theta = np.append(step.theta0_before, step.theta_before)
        gradient = rows[some].T @ (rows[some] @ theta - y[some]) / len(y[some])
        after = theta - step.eta * gradient
        np.testing.assert_allclose(np.append(step.theta0, step.theta), after, rtol=1e-9)
        value = np.mean((rows @ after - y) ** 2) / 2
        np.testing.assert_allclose(step.objective, value, rtol=1e-9)


# ---- pages and errors --------------------------------------------------------------------------

PAGES = [page for page in vars(printed).values() if isinstance(page, printed.Printed)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.english)
def test_every_line_has_words_in_both_languages(page):
    numbers = [line.number for line in page.lines]
    assert len(set(numbers)) == len(numbers)
    assert all(line.text("en") and line.text("es") for line in page.lines)
    assert page.text("es").count("\n") == len(numbers) - 1
    with cotas.lang("es"):
        assert page.text() == page.text("es")
    assert page.text() == page.text("en")
    with refuses("lang"):
        page.text("fr")


def test_what_cannot_be_traced_says_why():
    X, y = data_of(cotas.Perceptron)
    for wrong, parameter in (
        (cotas.LinearSVM(), "estimator"),
        (5, "estimator"),
        (cotas.Perceptron(max_time=1.0), "max_time"),
        (cotas.LeastSquares(), "solver"),
        (cotas.KernelSVM(approximate="nystroem"), "approximate"),
    ):
        with refuses(parameter):
            cotas.trace(wrong, X, y)
    with pytest.raises(ValueError, match="NaN"):
        cotas.trace(cotas.Perceptron(), np.full((3, 2), np.nan), [0, 1, 1])
    with refuses("y"):
        cotas.trace(cotas.AdaBoost(), X, np.ones(len(y)))


def test_the_estimator_is_left_alone():
    X, y = data_of(cotas.Pegasos)
    model = cotas.Pegasos()
    list(cotas.trace(model, X, y))
    assert not hasattr(model, "coef_")
    assert model.random_state is None


@pytest.mark.parametrize("language", ["en", "es"])
def test_what_is_repeated_stands_inside_its_loop(language):
    pages = [page for page in vars(printed).values() if isinstance(page, printed.Printed)]
    opens = re.compile(r"procedure|repeat$|.* (do|then)$|else$")
    assert pages
    for page in pages:
        shown = page.text(language).splitlines()
        bare = [line.split(": ", 1)[1] for line in shown]
        assert [line.strip() for line in bare] == [line.text(language) for line in page.lines]
        depths = [len(line) - len(line.lstrip()) for line in bare]
        assert depths[0] == 0
        step = len(printed.INDENT)
        for line, depth, following in zip(page.lines, depths, depths[1:], strict=False):
            within = depth + step if opens.match(line.english) else depth
            assert following == within if within > depth else following <= within, page.english


# ---- the page, by hand: its lines and the notes give every number of a step ----------------------


def traced(model, X, y):
    """The notes of a run, and its steps without the end."""
    run = cotas.trace(model, X, y)
    *steps, _ = run
    return run.notes, steps


@pytest.mark.parametrize("bias", [False, True])
def test_a_bias_that_the_passive_aggressive_page_has_not_is_noted(bias):
    X, y = data_of(cotas.PassiveAggressive)
    notes, steps = traced(cotas.PassiveAggressive(lam=0.5, fit_intercept=bias, max_iter=2), X, y)
    assert len(notes) == bias
    for step in steps:
        x = np.append(X[step.row], 1.0) if bias else X[step.row]
        np.testing.assert_allclose(step.eta, min(step.loss / (x @ x), 1 / 0.5))
        moved = step.theta0 - step.theta0_before
        np.testing.assert_allclose(moved, bias * step.eta * step.y, atol=1e-12)


@pytest.mark.parametrize("kind", [cotas.Pegasos, cotas.KernelPegasos])
def test_how_the_bias_of_pegasos_moves_is_noted(kind):
    X, y = data_of(kind)
    how = {"lam": 0.1, "max_iter": 2, **SEED}
    notes, steps = traced(kind(**how), X, y)
    assert any("min(η, 1/√t)" in note for note in notes)
    assert not any("θ₀" in note for note in traced(kind(fit_intercept=False, **how), X, y)[0])
    for t, step in enumerate(steps, start=1):
        moved = min(step.eta, 1 / np.sqrt(t)) * step.y if step.updated else 0.0
        np.testing.assert_allclose(step.theta0 - step.theta0_before, moved, atol=1e-12)


def test_a_pair_is_computed_from_its_slopes_and_its_curvature():
    X, y = data_of(cotas.KernelSVM)
    lam = 0.05
    notes, steps = traced(cotas.KernelSVM("linear", lam=lam, solver="smo-simple"), X, y)
    assert len(notes) == 1
    free = 0
    for step in steps:
        moved = step.y * (step.alpha - step.alpha_before)
        if (step.alpha > 0).all() and (step.alpha < step.upper).all():
            wanted = lam * (step.slopes[1] - step.slopes[0]) / step.curvature
            np.testing.assert_allclose(moved, [wanted, -wanted], rtol=1e-6, atol=1e-12)
            free += 1
    assert free


def test_the_vote_is_half_the_letter_of_the_page():
    X, y = data_of(cotas.AdaBoost)
    notes, steps = traced(cotas.AdaBoost(n_estimators=3), X, y)
    assert any("½cₘ" in note for note in notes)
    for step in steps:
        np.testing.assert_allclose(2 * step.vote, np.log((1 - step.error) / step.error))


@pytest.mark.filterwarnings("ignore")
def test_the_rate_of_batch_descent_and_its_penalty_are_noted():
    X, y = data_of(cotas.Ridge)
    rows = np.column_stack([np.ones(len(y)), X])
    how = {"solver": "gradient", "step": 0.01, "stop": stops.MaxIterations(3)}
    for model, lam in ((cotas.LeastSquares(**how), 0.0), (cotas.Ridge(lam=0.3, **how), 0.3)):
        notes, steps = traced(model, X, y)
        assert len(notes) == 1 + (lam > 0)
        for step in steps:
            theta = np.append(step.theta0_before, step.theta_before)
            page = theta - step.eta / len(y) * rows.T @ (rows @ theta - y)
            shrunk = step.eta * lam * np.append(0.0, step.theta_before)
            np.testing.assert_allclose(np.append(step.theta0, step.theta), page - shrunk)
