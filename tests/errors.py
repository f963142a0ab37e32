"""What tests expect of errors: their class and what they are about, not the words for it."""

from contextlib import contextmanager

import pytest

from cotas.words import Said


@contextmanager
def refuses(parameter, kind=ValueError, naming=""):
    """Expect an error about this parameter, or one of these; its words name the value `naming`."""
    with pytest.raises(kind) as caught:
        yield caught
    names = [parameter] if isinstance(parameter, str) else parameter
    found = getattr(caught.value, "parameter", None)
    assert found in names, f"{found!r}, and not {parameter!r}: {caught.value!r}"
    assert naming in str(caught.value)


@contextmanager
def says(kind, **expected):
    """Expect an error that says its text with these values, as they are written."""
    with pytest.raises(kind) as caught:
        yield caught
    found = values_of(caught.value.args[0])
    assert {name: found.get(name) for name in expected} == expected, caught.value


def values_of(text):
    """Return the values of a text that was said, and of the texts in it."""
    if not isinstance(text, Said):
        return {}
    inner = [values_of(value) for value in text.values.values()]
    return dict(text.values) | {name: value for one in inner for name, value in one.items()}
