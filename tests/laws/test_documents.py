"""What the documents say in passing, each as a law of the library."""

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.tree import DecisionTreeRegressor

import cotas
from cotas import losses, stops
from cotas.experiments import MemorisingClassifier
from problems import clouds, labelled, plane, regression, separable

# ---- Fuentes Cabrera -----------------------------------------------------------------------------


def test_the_two_training_errors_differ_on_the_boundary_only():
    """⟦h(x) ≠ y⟧ of section 2.2, h being −1 on the boundary, and ⟦y(θ·x + θ₀) ≤ 0⟧ of 3.3."""
    model = cotas.Perceptron(fit_intercept=False).fit([[1.0, 0.0], [-1.0, 0.0]], [1, -1])
    X = [[2.0, 1.0], [2.0, 1.0], [-2.0, 1.0], [0.0, 5.0], [0.0, 5.0]]
    y = [1, -1, -1, 1, -1]
    assert 1 - model.score(X, y) == pytest.approx(2 / 5)
    assert model.training_error(X, y) == pytest.approx(3 / 5)


def test_the_validation_error_is_the_share_of_mistakes_on_new_examples():
    (X, y), (Z, z) = clouds(60, 3, noise=1.5), clouds(45, 3, noise=1.5, seed=1)
    options = {"values": [0.1, 5.0], "validation": (Z, z), "by": "error", "refit": False}
    found = cotas.choose(cotas.LinearSVM(), X, y, "lam", **options)
    for lam, error in zip(found.values, found.validation_error, strict=True):
        h = cotas.LinearSVM(lam=lam).fit(X, y).predict(Z)
        assert 0 < error == np.mean(h != z)


def test_the_memorizer_says_plus_within_eps_of_a_positive_example_and_nowhere_else():
    X, y = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]]), np.array([1, -1, 1])
    model = MemorisingClassifier(eps=0.5).fit(X, y)
    Z = np.random.default_rng(0).uniform(-1, 4, size=(400, 2))
    Z = np.vstack([Z, X, [[0.5, 0.0], [0.3, 0.4]]])  # the last two are ε away
    near = [any(np.hypot(*(z - x)) <= 0.5 for x in X[y > 0]) for z in Z]
    np.testing.assert_array_equal(model.predict(Z), np.where(near, 1, -1))


@settings(max_examples=30)
@given(data=separable(max_rows=12))
def test_the_proof_of_theorem_3_1_step_by_step(data):
    """θ·u ≥ kγ and ‖θ‖ ≤ √k R after k mistakes, and an update raises yθ·x by ‖x‖²."""
    rows = np.column_stack([data.X, np.ones(len(data.y))])
    answer = cotas.separability(*data, widest=True)
    u = np.append(answer.coef, answer.intercept)
    u, R = u / np.linalg.norm(u), np.linalg.norm(rows, axis=1).max()
    gamma = (data.y * (rows @ u)).min()
    *steps, _ = cotas.trace(cotas.Perceptron(max_iter=5), *data)
    for step in steps:
        theta = np.append(step.theta, step.theta0)
        assert theta @ u >= step.mistakes * gamma * (1 - 1e-9) - 1e-9
        assert np.linalg.norm(theta) <= np.sqrt(step.mistakes) * R * (1 + 1e-9)
        if step.updated:
            x = rows[step.row]
            assert step.y * (theta @ x) == pytest.approx(step.margin + x @ x)


@given(data=labelled())
def test_the_bias_is_a_coordinate_of_value_one(data):
    with_bias = cotas.Perceptron(max_iter=3).fit(*data)
    rows = np.column_stack([data.X, np.ones(len(data.y))])
    without = cotas.Perceptron(max_iter=3, fit_intercept=False).fit(rows, data.y)
    np.testing.assert_array_equal(
        np.append(with_bias.coef_, with_bias.intercept_), without.coef_[0]
    )


def test_the_bias_shifts_the_boundary_along_theta():
    """Figure 3.2: the distance of the boundary from the origin is −θ₀/‖θ‖, whatever θ's length."""
    X, y = clouds(60, 2)
    model = cotas.Perceptron(max_iter=5).fit(X, y)
    theta, theta0 = model.coef_[0], model.intercept_[0]
    foot = -theta0 / (theta @ theta) * theta
    across = np.array([-theta[1], theta[0]])
    np.testing.assert_allclose(model.decision_function([foot, foot + across]), 0, atol=1e-9)
    np.testing.assert_allclose(model.margins([foot + theta], [1]), np.linalg.norm(theta))


def test_the_margin_boundaries_are_one_over_the_length_of_theta_away():
    X, y = clouds(60, 2, noise=0.3)
    model = cotas.LinearSVM(margin="hard").fit(X, y)
    distances = model.margins(X, y)
    assert distances.min() == pytest.approx(1 / np.linalg.norm(model.coef_))
    assert model.margin_width_[0] == pytest.approx(2 / np.linalg.norm(model.coef_))


def test_the_support_vectors_lie_on_the_margins():
    X, y = clouds(60, 2, noise=0.3)
    model = cotas.LinearSVM(margin="hard").fit(X, y)
    held_up = model.certificate_.witness.alpha > 1e-9
    assert held_up.any()
    np.testing.assert_allclose((y * model.decision_function(X))[held_up], 1, rtol=1e-6)


@pytest.mark.parametrize("lam", [0.1, 1.0, 5.0])
def test_a_passive_aggressive_step_is_the_best_of_its_objective(lam):
    """(λ/2)‖θ − θ_k‖² + loss, and a larger λ allows shorter steps."""
    X, y = clouds(30, 3)
    random = np.random.default_rng(0)
    *steps, _ = cotas.trace(cotas.PassiveAggressive(lam=lam, max_iter=2, fit_intercept=False), X, y)
    for step in steps:

        def objective(theta, step=step):
            away = theta - step.theta_before
            return lam / 2 * away @ away + max(0.0, 1 - step.y * (theta @ X[step.row]))

        others = step.theta + random.normal(size=(20, 3)) * random.choice([1e-3, 0.1, 1.0])
        assert objective(step.theta) <= min(map(objective, others)) + 1e-12
        assert step.eta <= 1 / lam


def test_the_risk_of_training_has_a_half_and_that_of_testing_none():
    X, y = plane(40, 3)
    model = cotas.LeastSquares().fit(X, y)
    mean = np.mean((y - model.predict(X)) ** 2)
    assert model.certificate_.upper == pytest.approx(mean / 2)
    Z, z = plane(40, 3, seed=1)
    options = {"values": [0.1], "validation": (Z, z), "refit": False}
    found = cotas.choose(cotas.Ridge(), X, y, "lam", **options)
    away = z - cotas.Ridge(lam=0.1).fit(X, y).predict(Z)
    assert found.validation_error[0] ** 2 == pytest.approx(np.mean(away**2))


# ---- Rugeles Ospina ------------------------------------------------------------------------------


def test_the_best_weak_learner_is_that_of_the_least_weighted_squares():
    """Theorem 1.1.5: −E_w[yf] = E_w[(y − f)²]/2 − 1, both of which are 2 err − 1."""
    X, y = clouds(60, 3, noise=1.5)
    *steps, _ = cotas.trace(cotas.AdaBoost(n_estimators=5), X, y)
    for step in steps:
        w, f = step.weights_before, step.learner.predict(X)
        assert -w @ (y * f) == pytest.approx(w @ (y - f) ** 2 / 2 - 1)
        assert -w @ (y * f) == pytest.approx(2 * step.error - 1)


class WorseThanChance(DecisionTreeRegressor):
    """A tree that says the opposite."""

    def predict(self, X):
        return -super().predict(X)


def test_adaboost_turns_a_bad_model_round_where_algorithm_7_stops():
    X, y = clouds(60, 3, noise=1.5)
    turned = cotas.AdaBoost(WorseThanChance(max_depth=1), n_estimators=3).fit(X, y)
    assert turned.round_errors_[0] > 0.5 > 0 > turned.estimator_weights_[0]
    options = {"step": "printed", "target": "gradient", "n_estimators": 3}
    assert cotas.AnyBoost(WorseThanChance(max_depth=1), **options).fit(X, y).n_rounds_ == 0


def test_gentleboost_changes_F_by_at_most_one_with_trees_alone():
    """E_w[y | x] is within ±1, and so are means of y; a line through them goes on beyond."""
    X, y = clouds(60, 3, noise=1.5)
    X[0] *= 10
    largest = {}
    for learner in ("stump", "tree", "linear"):
        model = cotas.GentleBoost(learner, n_estimators=10).fit(X, y)
        F = np.array(list(model.staged_decision_function(X)))
        largest[learner] = np.abs(np.diff(F, axis=0, prepend=0.0)).max()
        figure = model.certificate_.figures["largest |f|"]
        assert figure == pytest.approx(largest[learner], rel=1e-6)
    assert max(largest["stump"], largest["tree"]) <= 1 + 1e-12 < 1.1 < largest["linear"]


@pytest.mark.parametrize("shape", [(50, 6), (20, 60)], ids=["tall", "wide"])
def test_the_least_correlation_is_zero_and_that_of_least_squares(shape):
    """MC (2.10): f(r) = ‖Xᵀr‖_∞ ≥ 0, and 0 for y − Xβ_LS and for no other residual."""
    X, y = regression(*shape, seed=2)
    Z, r = X - X.mean(axis=0), y - y.mean()
    Z = Z / np.linalg.norm(Z, axis=0)
    best = r - Z @ np.linalg.lstsq(Z, r, rcond=None)[0]
    assert np.abs(Z.T @ best).max() == pytest.approx(0, abs=1e-9)
    for away in np.random.default_rng(0).normal(size=(10, shape[1])):
        assert np.abs(Z.T @ (best - Z @ away)).max() > 1e-3
    model = cotas.ForwardStagewise(eps=0.3, max_iter=40).fit(X, y)
    values = [np.abs(Z.T @ (r - Z @ model.path_.unit_coef(i))).max() for i in range(41)]
    correlation = model.certificate_.at(40)[3]
    assert correlation.measured == pytest.approx(min(values), rel=1e-6)
    assert correlation.iteration == np.argmin(values)


def test_the_log_likelihood_is_minus_the_logistic_loss():
    """Lemma 1.1.7: L(y*; p) = −ln(1 + e^{−2yF}), p being that of (1.1)."""
    F = np.linspace(-3, 3, 13)
    p = np.exp(2 * F) / (1 + np.exp(2 * F))
    for y in (-1, 1):
        star = (y + 1) / 2
        likelihood = star * np.log(p) + (1 - star) * np.log(1 - p)
        np.testing.assert_allclose(-losses.Logistic().value(2 * y * F), likelihood)


def test_the_probabilities_of_a_booster_are_those_of_1_1():
    X, y = clouds(60, 3)
    model = cotas.AdaBoost(n_estimators=8).fit(X, y)
    F = model.decision_function(X)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], np.exp(2 * F) / (1 + np.exp(2 * F)), rtol=1e-12
    )
    assert model.round_losses_[-1] == pytest.approx(np.mean(np.exp(-y * F)))


def test_units_and_offsets_of_the_columns_do_not_matter_to_stagewise_regression():
    X, y = regression(50, 6, seed=1)
    moved = X * np.geomspace(0.1, 10, 6) + np.arange(6)
    for kind in (cotas.LSBoost, cotas.ForwardStagewise):
        one, other = kind(eps=0.2, max_iter=30).fit(X, y), kind(eps=0.2, max_iter=30).fit(moved, y)
        np.testing.assert_allclose(one.path_.unit_coef(30), other.path_.unit_coef(30), rtol=1e-7)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("eps", [0.01, 0.3, 1.0])
def test_gamma_lies_between_three_quarters_and_one(eps, seed):
    """γ = 1 − ε(2 − ε)λ_pmin/(4p): the trace of XᵀX is p, so that λ_pmin ≤ p."""
    X, y = regression(50, 6, seed=seed)
    Z = X - X.mean(axis=0)
    Z = Z / np.linalg.norm(Z, axis=0)
    kappa = 6 / np.linalg.eigvalsh(Z.T @ Z)[0]
    certificate = cotas.LSBoost(eps=eps, max_iter=2).fit(X, y).certificate_
    gamma = certificate.at(2)[0].bound / certificate.at(1)[0].bound
    assert gamma == pytest.approx(1 - eps * (2 - eps) / (4 * kappa), rel=1e-7)
    assert 0.75 <= gamma < 1 <= kappa


def test_lemma_2_2_2():
    """Lₙ(β) is the largest of −rᵀXβ/n − ‖r − y‖²/2n + ‖y‖²/2n, at r = y − Xβ."""
    X, y = regression(30, 4)
    random, n = np.random.default_rng(0), len(y)
    beta = random.normal(size=4)

    def value(r):
        return (-r @ X @ beta - (r - y) @ (r - y) / 2 + y @ y / 2) / n

    loss = np.mean((y - X @ beta) ** 2) / 2
    assert value(y - X @ beta) == pytest.approx(loss)
    for _ in range(20):
        assert value(y - X @ random.normal(size=4)) <= loss + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_of_a_quadratic_bounds_its_excess(seed):
    """Theorem A.1.2, also where Q is singular: ‖∇h‖ ≥ √(λ_pmin(h − h*)/2), where 2λ holds as well.

    And some solution is no farther than √(2(h − h*)/λ_pmin).
    """
    X, y = regression(30, 5, seed=seed)
    X[:, 4] = X[:, 0]
    solution = np.linalg.lstsq(X, y, rcond=None)[0]
    best = np.mean((y - X @ solution) ** 2) / 2
    flat = np.array([1.0, 0, 0, 0, -1]) / np.sqrt(2)  # h does not change along it
    least = np.linalg.eigvalsh(X.T @ X / len(y))[1]
    for beta in np.random.default_rng(seed).normal(size=(20, 5)):
        excess = np.mean((y - X @ beta) ** 2) / 2 - best
        slope = np.linalg.norm(X.T @ (X @ beta - y)) / len(y)
        assert slope >= np.sqrt(2 * least * excess) * (1 - 1e-9) >= np.sqrt(least * excess / 2)
        away = beta - solution
        nearest = np.linalg.norm(away - (away @ flat) * flat)
        assert nearest <= np.sqrt(2 * excess / least) * (1 + 1e-9)


# ---- Fuentes-Pineda ------------------------------------------------------------------------------


def test_the_dual_of_the_slide_in_its_own_letters():
    """max Σα − ½ ΣΣ αᵢαⱼyᵢyⱼk(xᵢ, xⱼ) with 0 ≤ α ≤ C, Σ αy = 0; w = Σ αyx, and the prediction."""
    X, y = clouds(40, 3)
    C, new = 0.7, np.random.default_rng(0).normal(size=(9, 3))
    model = cotas.KernelSVM("linear", C=C, tol=1e-9).fit(X, y)
    alpha = np.zeros(40)
    alpha[model.support_] = model.dual_coef_[0] * y[model.support_]
    assert (alpha >= 0).all()
    assert (alpha <= C * (1 + 1e-12)).all()
    assert alpha @ y == pytest.approx(0, abs=1e-9)
    value = alpha.sum() - sum(
        alpha[i] * alpha[j] * y[i] * y[j] * (X[i] @ X[j]) / 2 for i in range(40) for j in range(40)
    )
    # Divided by C·n it is the dual of the mean loss, and no dual value is above the best primal.
    assert value / (C * 40) == pytest.approx(model.certificate_.upper, rel=1e-6)
    w = (alpha * y) @ X
    np.testing.assert_allclose(w, cotas.LinearSVM(C=C, tol=1e-9).fit(X, y).coef_[0], atol=1e-3)
    scores = [sum(alpha * y * (X @ x)) + model.intercept_[0] for x in new]
    np.testing.assert_allclose(model.decision_function(new), scores, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(new), np.sign(scores))


# ---- Moreno Chávez -------------------------------------------------------------------------------

HOUSES = """
600 3 5 800
190 2 2 205
210 2 2 229
364 2 2 550
325 2 4 450
180 2 2 230
133 2 2 239
500 2 3 650
107 1 2 209
320 2 3 299
500 2 4 750
"""


def test_the_houses_are_those_of_the_page():
    """Area, floors, rooms and price, copied from the slide once more."""
    area, floors, rooms, price = np.array(HOUSES.split(), dtype=np.float64).reshape(11, 4).T
    X, y = cotas.datasets.houses()
    np.testing.assert_array_equal(X, np.column_stack([area, floors, rooms]))
    np.testing.assert_array_equal(y, price)


def test_batches_converge_quickly_and_smoothly_where_j_is_convex():
    """With α = 1/L every step leaves at most (1 − μ/L)² of what is above the minimum."""
    X, y = plane(60, 3)
    rows = np.column_stack([np.ones(60), X])
    least, *_, largest = np.linalg.eigvalsh(rows.T @ rows / 60)
    best = cotas.LeastSquares().fit(X, y).certificate_.upper
    rule = stops.MaxIterations(30)
    model = cotas.LeastSquares(solver="gradient", step=1 / largest, stop=rule).fit(X, y)
    excess = model.history_["J"] - best
    assert (excess[1:] <= (1 - least / largest) ** 2 * excess[:-1] + 1e-12).all()


@pytest.mark.parametrize("size", [1, 7, 10, 64])
@pytest.mark.filterwarnings("ignore")
def test_an_epoch_has_a_step_for_each_mini_batch(size):
    X, y = plane(40, 3)
    model = cotas.LeastSquares(
        solver="stochastic", batch_size=size, stop=stops.MaxIterations(2), random_state=0
    )
    *steps, _ = cotas.trace(model, X, y)
    for epoch in (1, 2):
        batches = [step.rows for step in steps if step.epoch == epoch]
        assert len(batches) == -(-40 // size)
        assert sorted(np.concatenate(batches)) == list(range(40))


def test_an_epoch_is_a_step_for_each_example_or_one_of_a_batch():
    X, y = plane(40, 3)
    for options, many in ({"solver": "stochastic"}, 40), ({"solver": "gradient"}, 1):
        model = cotas.LeastSquares(stop=stops.MaxIterations(1), step=0.01, **options)
        *steps, _ = cotas.trace(model, X, y)
        assert len(steps) == many


# ---- Clasificación lineal ------------------------------------------------------------------------


def test_the_objective_is_the_mean_loss_and_the_penalty():
    X, y = clouds(50, 3)
    for model in (cotas.LinearSVM(lam=0.3), cotas.Pegasos(lam=0.3, random_state=0)):
        theta, theta0 = model.fit(X, y).coef_[0], model.intercept_[0]
        agreement = y * (X @ theta + theta0)
        loss = np.where(agreement >= 1, 0, 1 - agreement).mean()
        J = loss + 0.3 / 2 * np.linalg.norm(theta) ** 2
        assert model.certificate_.upper == pytest.approx(J, rel=1e-9)


@settings(max_examples=30)
@given(data=separable(max_rows=12))
def test_infinitely_many_separate_and_one_is_shortest(data):
    """All of t(θ, θ₀) with t ≥ 1 satisfy y(θ·x + θ₀) ≥ 1, and so do multiples of others."""
    hard = cotas.LinearSVM(margin="hard").fit(*data)
    theta, theta0 = hard.coef_[0], hard.intercept_[0]
    assert (data.y * (data.X @ theta + theta0)).min() == pytest.approx(1, abs=1e-9)
    other = cotas.separability(*data)
    agreement = data.y * (data.X @ other.coef + other.intercept)
    for t in (1, 2, 10):
        assert (data.y * (data.X @ (t * theta) + t * theta0) >= t * (1 - 1e-9)).all()
        longer = t / agreement.min() * other.coef
        assert np.linalg.norm(longer) >= t * np.linalg.norm(theta) * (1 - 1e-6)


def test_the_whole_penalty_belongs_to_every_example():
    """The penalty inside the mean: J is the mean of the Jᵢ, and its step the mean of theirs."""
    X, y = clouds(25, 3)
    start = np.ones(3)
    options = {"lam": 0.1, "step": "1/(1+t)", "fit_intercept": False, "start": start}
    whole, *_ = cotas.trace(cotas.Pegasos(sampling="all", max_iter=1, **options), X, y)
    ones = []
    for i in range(len(y)):
        order = np.r_[i, np.delete(np.arange(len(y)), i)]
        model = cotas.Pegasos(sampling="order", max_iter=1, **options)
        first, *_ = cotas.trace(model, X[order], y[order])
        ones.append(first.theta)
    np.testing.assert_allclose(whole.theta, np.mean(ones, axis=0), rtol=1e-12)


def test_the_steps_of_the_notes_satisfy_their_two_conditions():
    """η = 1/(1 + t) is a PowerLaw: its sum grows like ln t, that of its squares stays below 1."""
    law, t = cotas.schedules.PowerLaw(0.5, delay=2.0), np.arange(1, 100_001)
    np.testing.assert_allclose(law(t), 1 / (1 + t))
    assert law.is_robbins_monro
    assert np.sum(law(t)) > np.log(len(t) + 2) - np.log(2)
    assert np.sum(law(t) ** 2) < 1
    assert (law(t) <= np.append(1, law(t))[:-1]).all()


def test_stochastic_descent_pushes_where_the_perceptron_rests():
    """On its side of the boundary, but inside the margins: a loss, and so a step along yx."""
    X, y = clouds(40, 3)
    options = {"max_iter": 3, "fit_intercept": False}
    model = cotas.Pegasos(lam=0.1, step="1/(1+t)", random_state=0, **options)
    *steps, _ = cotas.trace(model, X, y)
    *rests, _ = cotas.trace(cotas.Perceptron(**options), X, y)
    inside = [[step for step in some if 0 < step.margin < 1] for some in (steps, rests)]
    assert all(inside)
    for step in inside[0]:
        away = step.theta - (1 - 0.1 * step.eta) * step.theta_before
        np.testing.assert_allclose(away, step.eta * step.y * X[step.row], atol=1e-12)
    assert all((step.theta == step.theta_before).all() for step in inside[1])
