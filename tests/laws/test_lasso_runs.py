"""The Lasso while it runs: what callbacks are told, and what is left when someone ends it."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from cotas import Lasso, lasso_path
from cotas.stops import InterruptedWarning, Stop
from problems import regression

X, Y = regression(30, 200, seed=9)
BOTH = np.column_stack([Y, X[:, 1] - Y])
PROBLEMS = [{"lam": 1e-3}, {"delta": 2.0}, {"lam": 1e-2, "positive": True}, {}]


class Spectator:
    """Keeps the reports; after so many it asks to stop, or presses Ctrl-C."""

    def __init__(self, patience=np.inf, interrupts=False):
        self.reports, self.patience, self.interrupts = [], patience, interrupts

    def __call__(self, report):
        self.reports.append(report)
        if len(self.reports) < self.patience:
            return False
        if self.interrupts:
            raise KeyboardInterrupt
        return True


@pytest.mark.parametrize("parameters", PROBLEMS, ids=str)
def test_every_report_is_proved_and_they_change_nothing(parameters):
    spectator = Spectator()
    model = Lasso(**parameters, callbacks=spectator).fit(X, Y)
    expected = Lasso(**parameters).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.stop_ is expected.stop_ is Stop.PROVED
    assert [report.iteration for report in spectator.reports] == [
        *range(1, 1 + len(spectator.reports))
    ]
    assert len(spectator.reports) > 3
    for report in spectator.reports:
        assert report.certificate.holds
        assert report.certificate.verify(X, Y)
        # All of them are about the problem that was asked for, also those on the way to it.
        assert report.certificate.lower <= model.certificate_.upper
    last = spectator.reports[-1].certificate
    assert last.upper == pytest.approx(model.certificate_.upper)


@pytest.mark.parametrize("interrupts", [False, True], ids=["asked to stop", "Ctrl-C"])
@pytest.mark.parametrize("parameters", PROBLEMS, ids=str)
def test_the_best_model_so_far_with_its_own_certificate(parameters, interrupts):
    spectator = Spectator(4, interrupts)
    with pytest.warns(InterruptedWarning if interrupts else ConvergenceWarning):
        model = Lasso(**parameters, tol=1e-12, callbacks=spectator).fit(X, Y)
    assert len(spectator.reports) == 4
    assert model.stop_ is (Stop.INTERRUPTED if interrupts else Stop.CALLBACK)
    certificate = model.certificate_
    assert certificate.holds
    assert certificate.verify(X, Y)
    seen = [report.certificate.upper for report in spectator.reports]
    assert certificate.upper <= min(seen) + 1e-9
    assert certificate.upper >= Lasso(**parameters, tol=1e-10).fit(X, Y).certificate_.lower


def test_interrupted_before_it_has_looked_it_is_the_constant_model():
    def stop(report):
        raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning):
        model = Lasso(lam=1e-3, callbacks=stop).fit(X, BOTH)
    assert [c.holds for c in model.certificate_.singles] == [True, True]
    assert not model.coef_[1].any()  # the second target was never begun
    assert all(c.verify(X, BOTH) for c in model.certificate_.singles)


def test_no_time_at_all_is_said_to_be_the_reason():
    with pytest.warns(ConvergenceWarning):
        model = Lasso(lam=1e-3, max_time=1e-9).fit(X, Y)
    assert model.stop_ is Stop.TIME
    assert model.certificate_.verify(X, Y)


@pytest.mark.parametrize("data", [(X, Y), regression(60, 8)], ids=["sets", "whole"])
@pytest.mark.parametrize("method", ["working-sets", "homotopy"])
def test_paths_report_each_value(data, method):
    spectator = Spectator()
    path = lasso_path(*data, n_lams=7, method=method, callbacks=[spectator])
    assert [report.label for report in spectator.reports] == path.lams.tolist()
    for report, certificate in zip(spectator.reports, path.certificates, strict=True):
        assert report.certificate.upper == pytest.approx(certificate.upper, rel=1e-9)
        assert report.certificate.verify(*data)


@pytest.mark.parametrize("interrupts", [False, True], ids=["asked to stop", "Ctrl-C"])
@pytest.mark.parametrize("data", [(X, Y), regression(60, 8)], ids=["sets", "whole"])
@pytest.mark.parametrize("method", ["working-sets", "homotopy"])
@pytest.mark.filterwarnings("default:Interrupted")
def test_a_path_that_is_ended_is_a_path_up_to_there(data, method, interrupts):
    options = {"n_lams": 12, "method": method}
    whole = lasso_path(*data, **options)
    spectator = Spectator(3, interrupts)
    if interrupts:
        with pytest.warns(InterruptedWarning):
            path = lasso_path(*data, callbacks=spectator, **options)
    else:
        path = lasso_path(*data, callbacks=spectator, **options)
    assert len(path.lams) == len(path.certificates) == 3
    np.testing.assert_array_equal(path.lams, whole.lams[:3])
    np.testing.assert_allclose(path.coefs, whole.coefs[:3], atol=1e-9)
    assert all(c.holds and c.verify(*data) for c in path.certificates)


def test_bars_show_the_gap(monkeypatch):
    """Both count up and show numbers; a bar that is not wanted is not made."""
    import cotas.running as reporting

    shown = []
    monkeypatch.setattr(reporting.ProgressBar, "step", lambda self, **now: shown.append(now))
    monkeypatch.setattr(reporting.ProgressBar, "is_shown", True)
    Lasso(lam=1e-3, progress=False).fit(X, Y)
    gaps = [float(now["gap"]) for now in shown]
    assert gaps[-1] <= 1e-6 < gaps[0]
    shown.clear()
    path = lasso_path(X, Y, n_lams=5, progress=False)
    assert [float(now["gap"]) <= 1e-6 for now in shown] == [True] * len(path.lams)
