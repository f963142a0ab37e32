"""Successive halving: what is tried, on how many rows, and what decides."""

import numpy as np
import pytest

import cotas
from cotas.cli.auto import beside, candidates, parts_of, search_of
from cotas.selection.halving import (
    BLEND,
    FEWEST,
    MORE_ROUNDS,
    SHARE,
    Candidate,
    Halving,
    Subsample,
    Trial,
    leaders,
)
from errors import refuses
from problems import clouds


def ridges(*lams):
    return [Candidate("ridge", cotas.Ridge(lam=lam), f"ridge {lam:g}") for lam in lams]


def noisy_line(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, X @ np.arange(6.0) + rng.normal(size=n)


def one_part(n, seed=0):
    order = np.random.default_rng(seed).permutation(n)
    return [Subsample(order[: 3 * n // 4], order[3 * n // 4 :])]


def test_each_stage_keeps_a_third_on_three_times_the_rows():
    X, y = noisy_line(8 * FEWEST)
    search = Halving(X, y, one_part(len(y)))
    search.run(ridges(*np.geomspace(1e-6, 1e6, 9)))
    rows = [trial.rows for trial in search.trials]
    most = 6 * FEWEST
    assert rows == [most // SHARE] * 9 + [most] * 3


def test_the_choice_has_the_smallest_validation_error_of_the_last_stage():
    X, y = noisy_line()
    parts = one_part(len(y))
    search = Halving(X, y, parts)
    best = search.run(ridges(1e-3, 10.0, 1e3))
    errors = [
        np.sqrt(
            np.mean(
                (
                    cotas.Ridge(lam=lam)
                    .fit(X[parts[0].train], y[parts[0].train])
                    .predict(X[parts[0].validation])
                    - y[parts[0].validation]
                )
                ** 2
            )
        )
        for lam in (1e-3, 10.0, 1e3)
    ]
    assert best.candidate.label == "ridge 0.001"
    found = {trial.candidate.label: trial.error for trial in search.trials}
    np.testing.assert_allclose([found[f"ridge {lam:g}"] for lam in (1e-3, 10.0, 1e3)], errors)


def test_a_family_that_is_behind_on_few_rows_is_tried_on_all():
    """Its best setting, since on more rows another family may be ahead."""
    X, y = noisy_line(8 * FEWEST)
    bad = [Candidate("lasso", cotas.Lasso(lam=lam), f"lasso {lam:g}") for lam in (1.0, 90.0)]
    search = Halving(X, y, one_part(len(y)))
    search.run([*bad, *ridges(*np.geomspace(1e-6, 1e-3, 9))])
    most = max(trial.rows for trial in search.trials)
    last = [trial.candidate.label for trial in search.trials if trial.rows == most]
    assert len(last) == 5
    assert "lasso 1" in last


def test_the_finals_are_judged_by_all_parts_if_there_is_time():
    X, y = noisy_line()
    parts = [one_part(len(y), seed)[0] for seed in range(4)]
    search = Halving(X, y, parts, first=1)
    best = search.run(ridges(1e-3, 1e3, 2e3, 3e3))
    assert [trial.parts for trial in search.trials] == [1] * 4 + [4] * 2
    assert best.parts == 4
    errors = [
        float(np.sqrt(np.mean((cotas.Ridge(lam=1e-3).fit(X[t], y[t]).predict(X[v]) - y[v]) ** 2)))
        for t, v in parts
    ]
    assert best.error == pytest.approx(np.mean(errors))


def test_settings_beside_the_best_are_tried_until_none_is_better():
    X, y = noisy_line()
    search = Halving(
        X, y, one_part(len(y)), beside=lambda c: ridges(c.model.lam / 10, c.model.lam * 10)
    )
    best = search.run(ridges(1e3))
    tried = {trial.candidate.model.lam: trial.error for trial in search.trials}
    assert best.error == min(tried.values()) < tried[1e3]
    assert len(tried) == len(search.trials)
    # A gain in the last digits is none: λ does not go on falling.
    assert len(tried) < 10


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_candidate_has_settings_beside_it_that_differ(task):
    X, y = clouds(60, 3)
    for candidate in candidates(task, X, y, 0):
        near = beside(candidate, y, 0)
        labels = {candidate.label, *(other.label for other in near)}
        assert len(labels) == len(near) + 1 >= 3
        assert {other.name for other in near} == {candidate.name}


def test_without_time_the_first_one_is_tried_and_no_other():
    X, y = noisy_line(400)
    search = Halving(X, y, one_part(len(y)), max_time=0.0)
    best = search.run(ridges(1.0, 1e-3))
    assert best.candidate.label == "ridge 1"
    assert len(search.trials) == 1


def test_only_what_finalists_answered_is_kept():
    X, y = noisy_line(8 * FEWEST)
    parts = [one_part(len(y), seed)[0] for seed in range(3)]
    search = Halving(X, y, parts, first=1)
    search.run(ridges(*np.geomspace(1e-6, 1e6, 9)))
    whole = [trial for trial in search.trials if trial.candidate.name != BLEND]
    most = max((trial.rows, trial.parts) for trial in whole)
    last = {trial.label for trial in whole if (trial.rows, trial.parts) == most}
    assert search._answers.keys() == last
    assert len(last) < len(whole)


def test_whoever_is_told_can_end_it():
    X, y = noisy_line(400)
    search = Halving(X, y, one_part(len(y)), tell=lambda trial: True)
    search.run(ridges(1.0, 1e-3))
    assert len(search.trials) == 1


def test_an_interrupt_ends_the_search_with_the_best_so_far():
    X, y = noisy_line(400)

    class Interrupted(cotas.Ridge):
        def fit(self, X, y):
            raise KeyboardInterrupt

    last = [Candidate("ridge", Interrupted(), "interrupted")]
    search = Halving(X, y, one_part(len(y)), beside=lambda c: ridges(c.model.lam / 10))
    best = search.run([*ridges(10.0, 1e-3), *last, *ridges(1e-4)])
    assert search.interrupted
    assert best.candidate.label == "ridge 0.001"
    assert len(search.trials) == 2
    with pytest.raises(KeyboardInterrupt):
        Halving(X, y, one_part(len(y))).run(last)


def test_early_stopping_settles_the_number_of_rounds():
    X, y = clouds(600, 4)
    model = cotas.LogitBoost(
        cotas.Tree(2), n_estimators=200, learning_rate=0.3, early_stopping=True, random_state=0
    )
    search = Halving(X, y, one_part(len(y)))
    best = search.run([Candidate("logitboost", model, "trees")])
    # The others are not judged by the rows that stopped the first.
    stopped, *settled = (trial for trial in search.trials if trial.candidate.name != BLEND)
    assert not any(trial.settled.early_stopping for trial in search.trials)
    assert best in settled
    rounds = [trial.settled.n_estimators for trial in settled]
    assert rounds == [stopped.rounds, MORE_ROUNDS * stopped.rounds]
    assert stopped.rounds < 200


def test_what_was_cut_short_does_not_win():
    """However many rows it was tried on."""
    X, y = noisy_line(8 * FEWEST)

    class Slow(cotas.Ridge):
        def fit(self, X, y):
            super().fit(X, y)
            if len(y) > 2 * FEWEST:
                self.coef_, self._stop = 0 * self.coef_, "TIME"
            return self

    found = [Candidate("ridge", Slow(lam=lam), f"slow {lam:g}") for lam in (1e-3, 1.0, 10.0)]
    best = Halving(X, y, one_part(len(y))).run(found)
    assert best.whole
    assert best.rows <= 2 * FEWEST


def test_a_setting_that_the_rows_do_not_allow_loses():
    X, y = clouds(60, 2)
    alone = [Subsample(np.flatnonzero(y == y[0])[:20], np.arange(30, 60))]
    both = [Candidate("svm", cotas.LinearSVM(), "svm")]
    trial = Halving(X, y, alone).run(both)
    assert trial.error == np.inf
    assert not trial.whole


@pytest.mark.parametrize("rare", [1, 3, 10])
def test_each_beginning_of_a_part_has_every_class(rare):
    y = np.r_[np.zeros(8000), np.ones(rare)]
    for part in parts_of(y, "classification", 0):
        count = np.bincount(y[part.train[:900]].astype(int), minlength=2)
        assert count[1] >= min(1, (y[part.train] == 1).sum())
        assert count[1] <= 2


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_what_is_tried_and_chosen_does_not_depend_on_the_clock(task):
    X, y = clouds(90, 3, seed=1)
    y = y if task == "classification" else X[:, 0] + y
    some = [each for each in candidates(task, X, y, 0) if "boost" not in each.name][:8]
    runs = []
    for _ in range(2):
        search = search_of(task, X, y, 0)
        best = search.run(some)
        runs.append([*((t.candidate.label, t.parts, t.error) for t in search.trials), best.error])
    assert runs[0] == runs[1]


def test_one_large_group_leaves_the_other_folds_their_rows():
    y = np.arange(400) % 2
    groups = np.where(np.arange(400) < 300, 0, np.arange(400))
    parts = parts_of(y, "classification", 0, groups)
    search = Halving(np.zeros((400, 1)), y, parts)
    assert search.stages(1) == [max(len(part.train) for part in parts)]


def test_groups_stay_whole_in_the_folds():
    groups = np.repeat(np.arange(30), 4)
    y = np.tile([0, 1, 1, 0], 30)
    for part in parts_of(y, "classification", 0, groups):
        assert not set(groups[part.train]) & set(groups[part.validation])


def test_nothing_to_choose_from_is_an_error():
    X, y = noisy_line(100)
    with refuses("candidates"):
        Halving(X, y, one_part(len(y))).run([])


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_candidate_can_be_fitted_and_has_a_label_of_its_own(task):
    X, y = clouds(60, 3)
    y = y if task == "classification" else X[:, 0] + y
    found = candidates(task, X, y, 0)
    assert len({candidate.label for candidate in found}) == len(found)
    for candidate in found:
        quick = {"n_estimators": 2, "early_stopping": False}
        known = candidate.model.get_params()
        candidate.model.set_params(**{k: v for k, v in quick.items() if k in known})
        assert np.isfinite(candidate.model.fit(X, y).score(X, y))


def test_the_rows_held_out_play_no_part_in_the_choice(tmp_path, monkeypatch):
    """Their targets may be anything: the model is the same."""
    from cotas.cli.auto import train_auto
    from cotas.cli.session import Session
    from cotas.cli.training import Settings, SplitTable
    from cotas.tables import read_table

    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=120)
    lines = ["a,b,c", *(",".join(map(str, row)) for row in X)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    table = read_table(tmp_path / "t.csv")
    split = np.arange(90), np.arange(90, 120)
    settings = Settings("auto", "regression", trials=4)
    coefs = []
    for scale in (1.0, -50.0):
        targets = np.concatenate([y[:90], scale * y[90:]])
        best, board = train_auto(
            Session("fit", quiet=True), SplitTable(table, targets, *split), settings
        )
        coefs.append(best.model.predict(table.features))
        assert len(board) == 4
    np.testing.assert_array_equal(*coefs)


def test_the_leaders_are_the_best_of_each_family_the_best_family_first():
    def tried(name, error):
        return Trial(Candidate(name, None, name), None, 1, 1, error, error, 0.0, None, None)

    found = [tried("a", 0.1), tried("b", 0.2), tried("b", 0.3), tried("a", 0.4)]
    assert leaders(found) == found[:2]
