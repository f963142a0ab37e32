"""What a user can see of, and do to, the fit of an approximate kernel machine while it runs."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import cotas
from cotas.fitting.pursuit import Pursuit
from cotas.kernels import RBF
from cotas.running import ProgressBar
from cotas.stops import InterruptedWarning
from problems import clouds, three_clouds

X, Y = clouds(300, 3, noise=1.5)
APPROXIMATE = pytest.mark.parametrize("approximate", ["nystroem", "fourier"])


def machine(approximate, **options):
    given = {"lam": 1e-3, "n_components": 40, "random_state": 0, "tol": 1e-8, **options}
    return cotas.KernelSVM(RBF(1.0), approximate=approximate, **given)


@APPROXIMATE
def test_callbacks_see_honest_certificates_and_do_not_change_the_model(approximate):
    seen = []
    model = machine(approximate, callbacks=seen.append).fit(X, Y)
    assert len(seen) == model.n_iter_ > 2
    assert [report.iteration for report in seen] == list(range(1, len(seen) + 1))
    gaps = [report.certificate.relative_gap for report in seen]
    assert gaps[-1] <= 1e-8 < gaps[0]
    for report in (seen[1], seen[-1]):
        assert report.certificate.verify(X, Y)
    best = model.certificate_.lower
    assert all(report.certificate.lower <= best + 1e-8 for report in seen)
    assert all(report.certificate.upper >= best - 1e-12 for report in seen)
    quiet = machine(approximate).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, quiet.coef_)


@APPROXIMATE
def test_a_callback_can_end_the_fit(approximate):
    model = machine(approximate, callbacks=lambda report: report.iteration == 3)
    with pytest.warns(ConvergenceWarning):  # no advice
        model.fit(X, Y)
    assert model.n_iter_ == 3
    assert model.stop_.name == "CALLBACK"
    assert model.certificate_.holds
    assert model.certificate_.verify(X, Y)


@APPROXIMATE
@pytest.mark.parametrize("moment", [1, 4])
def test_an_interrupted_fit_returns_the_best_model_so_far(approximate, moment, monkeypatch):
    """Ctrl-C before the first look at a machine, or later, in the second of three."""
    data, labels = three_clouds(240)
    calls, original = [], Pursuit._see

    def interrupt(self, candidate):
        calls.append(1)
        if len(calls) == moment:
            raise KeyboardInterrupt
        return original(self, candidate)

    monkeypatch.setattr(Pursuit, "_see", interrupt)
    with pytest.warns(InterruptedWarning):
        model = machine(approximate, tol=1e-12).fit(data, labels)
    assert len(model.certificate_.parts) == 3
    assert model.stop_.name == "INTERRUPTED"
    for certificate in model.certificate_.singles:
        assert certificate.holds
        assert certificate.verify(data, labels)
    assert model.predict(data).shape == labels.shape


@APPROXIMATE
def test_limits_end_a_fit_with_an_honest_gap(approximate):
    for limit in ({"max_iter": 2}, {"max_time": 1e-9}):
        with pytest.warns(ConvergenceWarning):
            model = machine(approximate, **limit).fit(X, Y)
        assert model.stop_.name == ("TIME" if "max_time" in limit else "ITERATIONS")
        assert model.certificate_.verify(X, Y)


@APPROXIMATE
def test_the_progress_bar_moves_on_and_is_taken_away(approximate, monkeypatch):
    shown, closed = [], []
    monkeypatch.setattr(ProgressBar, "step", lambda self, **figures: shown.append(figures))
    monkeypatch.setattr(ProgressBar, "close", lambda self: closed.append(True))
    data, labels = three_clouds(150)
    machine(approximate).fit(data, labels)
    assert len(shown) > 3
    assert all("gap" in figures for figures in shown)
    assert closed == [True]


@APPROXIMATE
def test_a_fit_keeps_nothing_of_one_with_the_kernel_itself(approximate):
    model = machine(None).fit(X, Y).set_params(approximate=approximate).fit(X, Y)
    assert vars(model).keys() == vars(machine(approximate).fit(X, Y)).keys()
    model.set_params(approximate=None).fit(X, Y)
    assert vars(model).keys() == vars(machine(None).fit(X, Y)).keys()
