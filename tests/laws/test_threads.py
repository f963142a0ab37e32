"""Laws of the map over parts of the data that works in threads."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from cotas.running import in_order


def test_results_keep_their_order_and_do_not_pile_up():
    lock, begun, taken, most = threading.Lock(), 0, 0, 0

    def work(part):
        nonlocal begun, most
        with lock:
            begun += 1
            most = max(most, begun - taken)
        return part

    with ThreadPoolExecutor(3) as pool:
        for expected, found in enumerate(in_order(pool, 3)(work, range(100))):
            assert found == expected
            with lock:
                taken += 1
    assert taken == 100
    assert most <= 6


def test_an_error_ends_the_work():
    done = []

    def work(part):
        if part == 2:
            raise ZeroDivisionError
        done.append(part)

    with ThreadPoolExecutor(2) as pool, pytest.raises(ZeroDivisionError):
        list(in_order(pool, 2)(work, range(1000)))
    assert len(done) < 10
