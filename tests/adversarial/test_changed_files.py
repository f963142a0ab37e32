"""A few hundred of the files that `make fuzz` tries a million of, with fresh seeds each time."""

import sys
import time

import pytest

import fuzz


@pytest.mark.skipif(sys.platform == "win32", reason="the children have limits of POSIX")
def test_no_changed_file_does_harm():
    """Crashes, hangs, errors other than ModelFileError, other predictions that verify: none."""
    first = time.time_ns() // 1000 % 10**12
    print(f"COTAS_SEED={first}")
    tally = fuzz.Tally()
    tally.follow(first, 400)
    assert tally.counts.total() == 400
    assert not {name: n for name, n in tally.counts.items() if name in fuzz.BAD}


def test_the_fuzzer_tries_every_estimator_in_both_ways():
    tried = {name.partition(" ")[0] for name in fuzz.names() if not name.endswith(" prepared")}
    prepared = {name.partition(" ")[0] for name in fuzz.names() if name.endswith(" prepared")}
    assert tried == prepared == {cls.__name__ for cls in fuzz.estimators()}
