"""The bound for future rows: exact for mistakes, valid for losses, honest about the choice."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin

import cotas
from cotas.certificates.theorems.hold_out import HeldOut, upper_mean
from problems import noisy_clouds, regression


@pytest.mark.parametrize(("wrong", "n"), [(0, 1), (0, 50), (3, 100), (49, 50), (50, 50), (7, 1000)])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_it_is_the_exact_binomial_bound(wrong, n, confidence):
    bound = cotas.hold_out_bound(wrong, n, confidence)
    exact = stats.binomtest(wrong, n, alternative="less").proportion_ci(confidence, "exact")
    assert bound.upper == pytest.approx(exact.high, abs=1e-10)
    assert bound.lower == wrong / n
    assert bound.holds
    assert bound.kind == "hold-out"
    if wrong < n:  # at the bound, so few mistakes are as rare as was allowed
        assert stats.binom.cdf(wrong, n, bound.upper) == pytest.approx(1 - confidence)
    else:
        assert bound.vacuous


def test_the_union_bound_shares_the_risk_out():
    assert cotas.hold_out_bound(3, 100, 0.95, tried=10).upper == pytest.approx(
        cotas.hold_out_bound(3, 100, 0.995).upper
    )


def test_marks_and_counts_say_the_same():
    marks = np.arange(40) % 10 == 0
    assert cotas.hold_out_bound(marks).upper == cotas.hold_out_bound(4, 40).upper


@pytest.mark.parametrize("p", [0.01, 0.1, 0.4])
def test_it_holds_as_often_as_it_says(p):
    rng = np.random.default_rng(0)
    n, draws = 80, 4000
    uppers = np.array([cotas.hold_out_bound(k, n, 0.9).upper for k in range(n + 1)])
    held = (p <= uppers[rng.binomial(n, p, size=draws)]).mean()
    assert held >= 0.9 - 3 * np.sqrt(0.09 / draws)


def test_the_choice_has_to_be_paid_for():
    rng = np.random.default_rng(0)
    n, models, draws = 60, 20, 2000
    best = rng.binomial(n, 0.5, size=(draws, models)).min(axis=1)
    naive = np.array([cotas.hold_out_bound(k, n, 0.9).upper for k in range(n + 1)])
    paid = np.array([cotas.hold_out_bound(k, n, 0.9, models).upper for k in range(n + 1)])
    assert (naive[best] >= 0.5).mean() < 0.5  # what happens to those who do not
    assert (paid[best] >= 0.5).mean() >= 0.9 - 3 * np.sqrt(0.09 / draws)


@pytest.mark.parametrize("a", [0.3, 2.0])
def test_the_bound_for_losses_holds_at_least_as_often_as_it_says(a):
    rng = np.random.default_rng(0)
    n, draws = 40, 1500
    losses = 5.0 * rng.beta(a, 3.0, size=(draws, n))
    truth = 5.0 * a / (a + 3.0)
    uppers = [cotas.hold_out_bound(row, confidence=0.9, largest=5.0).upper for row in losses]
    assert (truth <= np.array(uppers)).mean() >= 0.9 - 3 * np.sqrt(0.09 / draws)
    assert max(uppers) <= 5.0


def test_the_bound_for_losses_is_no_sharper_than_the_exact_one_for_mistakes():
    for wrong in (0, 1, 20, 39):
        marks = (np.arange(40) < wrong).astype(float)
        loose = cotas.hold_out_bound(marks, largest=1.0).upper
        exact = cotas.hold_out_bound(wrong, 40).upper
        hoeffding = wrong / 40 + np.sqrt(np.log(20) / 80)
        assert exact * (1 - 1e-12) <= loose <= min(1.0, hoeffding) + 1e-9
    assert upper_mean(1.0, 10, Fraction(1, 20)) == 1.0


def test_predictions_can_be_counted_again():
    y = np.array([0, 1, 1, 0, 1])
    bound = HeldOut(np.array([0, 1, 0, 0, 1]), 0.95, 3).check(None, y)
    assert bound.upper == cotas.hold_out_bound(1, 5, tried=3).upper
    assert bound.verify(None, y)
    assert not bound.verify(None, 1 - y)
    assert not bound.verify(None, y[:4])
    assert cotas.hold_out_bound(1, 5).discrepancies(None, y)  # counts alone prove nothing again


def test_a_choice_carries_the_bound_for_all_it_tried():
    X, y = noisy_clouds(200)
    held_out = X[150:], y[150:]
    found = cotas.choose(
        cotas.LinearSVM(), X[:150], y[:150], values=[1.0, 0.1], validation=held_out, tighten=2
    )
    wrong = int((found.validated_model_.predict(held_out[0]) != held_out[1]).sum())
    assert found.hold_out.upper == cotas.hold_out_bound(wrong, 50, tried=2 * 3).upper
    assert found.hold_out.verify(*held_out)
    once = cotas.choose(
        cotas.LinearSVM(), X[:150], y[:150], values=[1.0, 0.1], validation=held_out, tighten=0
    )
    assert once.hold_out.figures["models to choose from"] == 2
    assert not any("class by class" in note for note in found.hold_out.notes)


def test_where_there_is_no_bound_it_says_why():
    X, y = noisy_clouds(100)
    folds = cotas.choose(cotas.LinearSVM(), X, y, values=[0.1], folds=3, random_state=0)
    assert "have been trained on" in folds.hold_out.statement
    assert folds.validated_model_ is None
    stratified = cotas.choose(cotas.LinearSVM(), X, y, values=[0.1], random_state=0)
    assert any("class by class" in note for note in stratified.hold_out.notes)
    plain = cotas.choose(cotas.LinearSVM(), X, y, values=[0.1], random_state=0, stratify=False)
    assert not any("class by class" in note for note in plain.hold_out.notes)
    numbers = cotas.choose(cotas.Ridge(), *regression(), values=[0.1], random_state=0)
    assert "no largest value" in numbers.hold_out.statement
    bounded = cotas.choose(
        cotas.Ridge(), *regression(), values=[0.1], random_state=0, largest_loss=1e4
    )
    assert bounded.hold_out.kind == "hold-out"
    assert bounded.hold_out.lower == pytest.approx(bounded.validation_loss[0])


class Guess(ClassifierMixin, BaseEstimator):
    """Tosses a coin for each row: it is wrong half of the time, whatever the data."""

    def __init__(self, coin=0):
        self.coin = coin

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[np.random.default_rng(self.coin).integers(2, size=len(X))]


def test_the_best_of_many_guesses_is_seen_through():
    rng = np.random.default_rng(0)
    coins, held, fooled, repeats = range(15), 0, 0, 60
    for r in range(repeats):
        y = rng.integers(2, size=60)
        y[:2] = 0, 1
        found = cotas.choose(
            Guess(), np.zeros((60, 1)), y, "coin", [100 * r + coin for coin in coins],
            validation=(np.zeros((40, 1)), rng.integers(2, size=40)), n_jobs=1, refit=False,
        )  # fmt: skip
        wrong = round(40 * found.validation_error[found.best_index])
        held += found.hold_out.upper >= 0.5
        fooled += cotas.hold_out_bound(wrong, 40).upper < 0.5
        assert found.hold_out.figures["models to choose from"] == 15
    assert held >= 0.95 * repeats - 3 * np.sqrt(0.05 * 0.95 * repeats)
    assert fooled > 0.2 * repeats
