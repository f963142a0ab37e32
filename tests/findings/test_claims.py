"""Every claim of the documents comes out as the page on claims says."""

import pytest

import cotas
from findings.claims import CLAIMS, PAGE, noisy_plane, quadratic_program


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.measure.__name__)
def test_the_verdict_is_that_of_the_page(claim):
    verdict, count, found = claim.judge()
    assert verdict == claim.verdict, (count, found)
    rows = [row for row in PAGE.read_text(encoding="utf-8").splitlines() if claim.says in row]
    assert len(rows) == 1, "run: python tests/findings/claims.py"
    assert rows[0].endswith(f"| {count} | {verdict} |")


def test_the_program_as_printed_and_the_machine_have_the_same_value():
    """What the run times of both compare."""
    X, y = noisy_plane(0, 300, 20)
    value = quadratic_program(X, y, 0.01)
    proved = cotas.LinearSVM(lam=0.01, tol=1e-7).fit(X, y).certificate_
    assert value == pytest.approx(proved.upper, rel=1e-5)
