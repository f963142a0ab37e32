"""Every claim of the documents comes out as the page on claims says."""

import pytest

import cotas
from findings.claims import CLAIMS, PAGES, noisy_plane, quadratic_program, timed_rows, times

TEXTS = {lang: path.read_text(encoding="utf-8") for lang, path in PAGES.items()}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_the_verdict_is_that_of_the_page(claim):
    judged = claim.judge()
    assert judged.verdict == claim.verdict, judged
    for lang, text in TEXTS.items():
        rows = [row for row in text.splitlines() if claim.sentences(lang)[1] in row]
        assert len(rows) == 1, "run: python tests/findings/claims.py"
        assert rows[0].endswith(f"| {judged.cells(lang)}")


@pytest.mark.parametrize("lang", PAGES)
def test_the_run_times_are_the_same_in_each_language(lang):
    assert TEXTS[lang].endswith(times(timed_rows(TEXTS["en"]), lang))


def test_the_program_as_printed_and_the_machine_have_the_same_value():
    """What the run times of both compare."""
    X, y = noisy_plane(0, 300, 20)
    value = quadratic_program(X, y, 0.01)
    proved = cotas.LinearSVM(lam=0.01, tol=1e-7).fit(X, y).certificate_
    assert value == pytest.approx(proved.upper, rel=1e-5)
