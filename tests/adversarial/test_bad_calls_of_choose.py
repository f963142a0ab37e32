"""Calls of `choose` and its kin that cannot work, and runs that are cut short."""

import threading

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cotas
from cotas.stops import InterruptedWarning
from errors import refuses
from problems import noisy_clouds, plane, regression

X, Y = noisy_clouds(60)


def choose(model=None, rows=X, labels=Y, over="lam", values=(1.0, 0.1), **options):
    model = cotas.LinearSVM() if model is None else model
    return cotas.choose(model, rows, labels, over, values, random_state=0, **options)


@pytest.mark.parametrize("model", [cotas.LinearSVM, "svm", None.__class__, 3, StandardScaler()])
def test_what_is_not_an_estimator(model):
    with refuses("model", TypeError):
        cotas.choose(model, X, Y)


@pytest.mark.parametrize("values", [[], (), np.array([])])
def test_no_values(values):
    with refuses("values"):
        choose(values=values)


@pytest.mark.parametrize("values", [0.1, "0.1", b"1"])
def test_values_that_are_no_sequence(values):
    with refuses("values", TypeError):
        choose(values=values)


@pytest.mark.parametrize("model", [cotas.LinearSVM(), cotas.Ridge(), cotas.Lasso()])
def test_nan_in_the_data_is_not_blamed_on_the_values(model):
    X, y = np.array(noisy_clouds()[0], dtype=float), np.arange(len(noisy_clouds()[0])) % 2
    X[3, 0] = np.nan
    with pytest.raises(ValueError, match="X"):
        cotas.choose(model, X, y)


def test_a_single_class_is_named_as_one_writes_it():
    with refuses("y", naming="7"):
        cotas.LinearSVM().fit(np.eye(3), np.full(3, 7))


def test_nan_among_the_values():
    with refuses("values"):
        choose(values=[0.1, float("nan")])


@pytest.mark.parametrize("rounds", [0, -1, 2.5])
def test_rounds_that_there_are_not(rounds):
    with refuses("n_estimators"):
        choose(cotas.AdaBoost(), over="n_estimators", values=[1, rounds])


def test_a_value_that_the_model_refuses_is_named():
    with refuses("lam") as caught:
        choose(values=[0.1, -1.0], n_jobs=1)
    assert any("lam=-1.0" in note for note in caught.value.__notes__)


def test_doubles_are_tried_once():
    found = choose(values=[0.1, 1.0, 0.1, np.float64(1.0)])
    assert found.values == (1.0, 0.1)
    assert found.hold_out.figures["models to choose from"] == 2 * 5


@pytest.mark.parametrize(
    ("over", "meant"), [("lamb", "lam"), ("max_iteration", "max_iter"), ("tool", "tol")]
)
def test_an_unknown_parameter_with_a_suggestion(over, meant):
    with refuses("over", naming=meant):
        choose(over=over)


def test_an_unknown_parameter_of_a_pipeline():
    model = make_pipeline(StandardScaler(), cotas.LinearSVM())
    with refuses("over", naming="linearsvm__lam"):
        choose(model, over="linearsvm__lamb")


def test_a_name_that_two_steps_have():
    model = make_pipeline(StandardScaler(), StandardScaler(), cotas.LinearSVM())
    with refuses("over", naming="standardscaler-1__with_mean"):
        choose(model, over="with_mean", values=[True, False])


def test_a_parameter_that_is_no_name():
    with refuses("over", TypeError):
        choose(over=3)


def test_values_are_needed_where_no_grid_is_known():
    with refuses("values"):
        choose(over="tol", values=None)


@pytest.mark.parametrize("validation", [1.5, 0.0, 1.0, -0.2, "a fifth", True, float("nan")])
def test_a_share_that_is_none(validation):
    with refuses("validation"):
        choose(validation=validation)


@pytest.mark.parametrize("validation", [0.05, 0.6])
def test_an_unusual_share_is_told(validation):
    with pytest.warns(UserWarning, match="usual"):
        choose(validation=validation)


def test_validation_and_folds_together():
    with refuses("folds"):
        choose(validation=0.2, folds=3)


@pytest.mark.parametrize("folds", [1, 0, -3, 61])
def test_too_few_or_too_many_folds(folds):
    with refuses("folds"):
        choose(folds=folds)


@pytest.mark.parametrize("folds", ["three", 2.5, object()])
def test_folds_of_the_wrong_kind(folds):
    with refuses("folds", TypeError):
        choose(folds=folds)


def test_one_class():
    with refuses("y"):
        choose(labels=np.ones(60))


def test_one_class_in_a_fold():
    labels = np.r_[np.ones(30), -np.ones(30)]
    with refuses("y"):
        choose(labels=labels, folds=KFold(2))


def test_a_class_of_one_row():
    labels = np.r_[np.zeros(59), 1.0]
    with refuses("validation"):
        choose(labels=labels)
    with refuses("y"):
        choose(labels=labels, folds=3)


def test_a_class_with_fewer_rows_than_folds():
    labels = np.r_[np.zeros(57), 1.0, 1.0, 1.0]
    with refuses("folds", naming="1.0"):
        choose(labels=labels, folds=5)


def test_one_row():
    with refuses("X"):
        cotas.choose(cotas.Ridge(), [[1.0]], [2.0])


def test_two_rows_are_enough_for_numbers():
    with pytest.warns(UserWarning, match="usual"):
        found = cotas.choose(
            cotas.Ridge(), [[1.0], [2.0]], [1.0, 3.0], values=[1.0], validation=0.5, random_state=0
        )
    assert found.n_training == found.n_validation == 1


def test_rows_and_labels_that_do_not_match():
    with pytest.raises(ValueError, match="inconsistent"):
        choose(labels=Y[:50])
    with refuses("validation", naming="60"):
        choose(validation=(X, Y[:50]))


def test_labels_that_were_not_trained_on():
    with refuses("validation"):
        choose(validation=(X, np.where(Y == 1, 7, -1)))


def test_nan_in_the_answers():
    with refuses("y"):
        cotas.choose(cotas.Ridge(), X, np.full(60, np.nan))


def test_nan_in_the_rows():
    rows = X.copy()
    rows[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        choose(rows=rows)


def test_weights_that_leave_nothing_to_judge_by():
    with refuses("sample_weight"):
        choose(validation=(X[:5], Y[:5], np.zeros(5)))


def test_negative_weights():
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        choose(sample_weight=-np.ones(60))


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"by": "luck"}, "by"),
        ({"loss": "squared"}, "loss"),
        ({"loss": "log"}, "loss"),
        ({"loss": "hinge", "scoring": "accuracy"}, "scoring"),
        ({"complexity": "up"}, "complexity"),
        ({"tighten": -1}, "tighten"),
        ({"tighten": 1.5}, "tighten"),
        ({"enough": -0.1}, "enough"),
        ({"enough": float("nan")}, "enough"),
    ],
)
def test_options_that_make_no_sense(options, parameter):
    with refuses(parameter):
        choose(**options)


@pytest.mark.parametrize("options", [{"folds": 3}, {"over": "tol", "values": [1e-3, 1e-4]}])
def test_a_bound_between_what_is_no_path(options):
    with refuses("between"):
        choose(between=True, **options)


def test_losses_of_the_wrong_shape():
    with refuses("loss"):
        choose(loss=lambda y, predictions: 0.5)


def test_a_largest_loss_that_is_exceeded():
    with refuses("errors"):
        cotas.choose(cotas.Ridge(), *regression(), values=[0.1], largest_loss=1e-9)


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ((5, 3), "errors"),
        ((-1, 3), "errors"),
        ((1.5, 3), "errors"),
        ((0, 0), "n"),
        ((1,), "n"),
        ((1, 3, 1.0), "confidence"),
        ((1, 3, 0.95, 0), "tried"),
        (([0.5, 0.2],), "errors"),
        (([0, 1], 3), "errors"),
    ],
)
def test_bounds_of_nothing(arguments, parameter):
    with refuses(parameter):
        cotas.hold_out_bound(*arguments)


@pytest.mark.parametrize("sizes", [[], [0], [49], [1.5], [-3], [float("nan")], "all"])
def test_sizes_that_there_are_not(sizes):
    with refuses("sizes"):
        cotas.learning_curves(cotas.LinearSVM(), X, Y, sizes, random_state=0)


def test_bad_calls_of_bias_variance():
    with refuses("model"):
        cotas.bias_variance(cotas.LinearSVM(), (X, Y))
    with refuses("draw", TypeError):
        cotas.bias_variance(cotas.Ridge(), X)
    with refuses("repeats"):
        cotas.bias_variance(cotas.Ridge(), plane(), repeats=1)
    with refuses("values"):
        cotas.bias_variance(cotas.Ridge(), plane(), "lam")


# ---- cut short -----------------------------------------------------------------------------------


class Impatient(ClassifierMixin, BaseEstimator):
    """Somebody presses Ctrl-C while it learns the value 3."""

    def __init__(self, value=1):
        self.value = value

    def fit(self, X, y):
        if self.value == 3:
            raise KeyboardInterrupt
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[self.value % 2])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_returns_what_is_done(n_jobs):
    with pytest.warns(InterruptedWarning):
        found = choose(Impatient(), over="value", values=[1, 2, 3, 4], n_jobs=n_jobs)
    assert found.interrupted
    assert found.values[:2] == (1, 2)
    assert 3 not in found.values
    assert found.best_model_ is None
    assert found.validated_model_ is not None
    assert "Interrupted" in str(found)


def test_ctrl_c_before_anything_is_done():
    with pytest.raises(KeyboardInterrupt):
        choose(Impatient(), over="value", values=[3, 4], n_jobs=1)


def test_ctrl_c_that_an_estimator_answers_itself():
    """The machine returns its best so far, with a warning; that is no fit to be ranked."""

    def press(report):
        if report.certificate.figures["λ"] < 0.05:
            raise KeyboardInterrupt

    model = cotas.LinearSVM(callbacks=press)
    with pytest.warns(InterruptedWarning):
        found = choose(model, values=[1.0, 0.1, 0.01, 0.001], n_jobs=1, tighten=0)
    assert found.values == (1.0, 0.1)
    assert found.interrupted


def test_ctrl_c_in_learning_curves_and_bias_variance():
    seen = threading.local()

    def press(report):
        seen.count = getattr(seen, "count", 0) + 1
        if seen.count > 60:  # a fit takes some twenty
            raise KeyboardInterrupt

    model = cotas.LinearSVM(callbacks=press, tol=1e-8)
    sizes = list(range(10, 49))
    with pytest.warns(InterruptedWarning):
        curves = cotas.learning_curves(model, X, Y, sizes, n_jobs=1, random_state=0)
    assert curves.interrupted
    assert 0 < len(curves.sizes) < len(sizes)
    draws = []

    def draw(rng):
        draws.append(None)
        if len(draws) > 6:
            raise KeyboardInterrupt
        rows = rng.normal(size=(20, 2))
        return rows, rows.sum(axis=1)

    with pytest.warns(InterruptedWarning):
        found = cotas.bias_variance(cotas.Ridge(), draw, repeats=50, n_jobs=1, random_state=0)
    assert found.interrupted
    assert found.repeats == 5


def test_errors_of_a_thread_are_not_swallowed():
    with refuses("lam"):
        choose(values=[-1.0, 0.1, 0.2, 0.3, 0.4, 0.5], n_jobs=2)


def test_leaving_one_out_works():
    found = cotas.choose(cotas.Ridge(), *plane(20), "lam", [1.0, 0.1], folds=LeaveOneOut())
    assert found.n_validation == 20
    assert found.fold_losses.shape == (2, 20)


def test_the_message_on_what_is_no_estimator_is_short():
    with refuses("model", TypeError, naming="ndarray") as caught:
        cotas.choose(X, Y, cotas.LinearSVM())
    assert len(str(caught.value)) < 100
    with refuses("model", TypeError, naming="the class LinearSVM"):
        cotas.choose(cotas.LinearSVM, X, Y)
