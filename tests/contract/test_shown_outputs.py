"""The tutorials, the cookbook and the home page show what their examples print."""

import matplotlib.pyplot as plt
import pytest

import pages


@pytest.mark.parametrize("page", pages.pages(), ids=lambda page: page.name)
def test_what_is_shown_comes_out(page):
    shown = pages.outputs(page)
    plt.close("all")
    assert shown
    for each in shown:
        assert pages.alike(each.shown, each.printed), each.printed


def test_other_words_and_other_numbers_are_noticed():
    printed = "gap  1.5e-06 (0.00235% lower)\nerror 0.0176 in 0.03 s"
    assert pages.alike("gap 1.5e-06 (0.00235% lower)\nerror 0.0176 in 0.41 s", printed)
    assert not pages.alike(printed.replace("gap", "gaps"), printed)
    assert not pages.alike(printed.replace("0.0176", "0.0186"), printed)
