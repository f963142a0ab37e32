"""Whatever needs a fit says so: `NotFittedError` from every method and property before it."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

import cotas
from cotas.fitting.certified import Certified

X, Y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1])
# What works before a fit: training itself, and what is planned for it.
BEFORE = {"fit", "partial_fit", "iterations_for"}


def public_estimators():
    """All public estimators with a certificate, as they are made without arguments."""
    for name in cotas.__all__:
        kind = getattr(cotas, name)
        if inspect.isclass(kind) and issubclass(kind, Certified):
            yield kind()


def needs_a_fit(model):
    """The names of the methods and properties that are about a fitted model."""
    inherited = {name for name, _ in inspect.getmembers(BaseEstimator)}
    for name in dir(type(model)):
        if name.startswith("_") or name in inherited or name in BEFORE:
            continue
        if name.startswith("set_") or name in model.get_params():  # metadata routing, parameters
            continue
        fixed = inspect.getattr_static(model, name)  # such as the name of an algorithm
        if fixed is not None and not isinstance(fixed, str | float):
            yield name


def cases():
    for model in public_estimators():
        for name in needs_a_fit(model):
            yield pytest.param(model, name, id=f"{type(model).__name__}.{name}")


def arguments(method):
    """Something for each argument that must be given."""
    given = {"X": X, "y": Y, "rounds": 1, "path": "never.cotas"}
    return {
        name: given[name]
        for name, parameter in inspect.signature(method).parameters.items()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    }


def use(model, name):
    """Read the property, or call the method; a generator is asked for its first value."""
    found = getattr(model, name)
    if callable(found):
        found = found(**arguments(found))
    if inspect.isgenerator(found):
        next(found)


@pytest.mark.parametrize(("model", "name"), list(cases()))
def test_what_needs_a_fit_says_so(model, name):
    with pytest.raises(NotFittedError):
        use(model, name)


@pytest.mark.parametrize("model", list(public_estimators()), ids=lambda m: type(m).__name__)
def test_a_prefix_of_what_was_not_fitted(model):
    if hasattr(type(model), "__getitem__"):
        with pytest.raises(NotFittedError):
            model[:1]


@pytest.mark.parametrize("model", list(public_estimators()), ids=lambda m: type(m).__name__)
def test_functions_of_models_say_so_too(model):
    with pytest.raises(NotFittedError):
        cotas.certify(model, X, Y)
    with pytest.raises(NotFittedError):
        cotas.to_onnx(model)
