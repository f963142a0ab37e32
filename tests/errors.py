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
    """Expect an error or a warning that says its text with these values, as they are written."""
    if issubclass(kind, Warning):
        with pytest.warns(kind) as caught:
            yield caught
        said = [one.message.args[0] for one in caught if issubclass(one.category, kind)]
    else:
        with pytest.raises(kind) as caught:
            yield caught
        said = [caught.value.args[0]]
    assert any(expected.items() <= values_of(text).items() for text in said), said


def values_of(text):
    """Return the values of a text that was said, and of the texts in it."""
    if not isinstance(text, Said):
        return {}
    inner = [values_of(value) for value in text.values.values()]
    return dict(text.values) | {name: value for one in inner for name, value in one.items()}
