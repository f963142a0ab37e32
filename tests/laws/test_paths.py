"""What a path claims is checked to the last example: none that is forged verifies."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from cotas import lasso_path, logistic_path, svm_path
from problems import clouds, three_clouds

LAMS = np.geomspace(0.08, 0.1, 6)
DATA = {
    2: (clouds(100, 4, noise=1.5), clouds(50, 4, noise=1.5, seed=9)),
    3: (three_clouds(90), three_clouds(60, seed=5)),
}
# The maker of a path with validation data, its options, and how many classes there are.
CHOSEN = [
    (svm_path, {"tol": 1e-9}, 2),
    (svm_path, {"tol": 1e-9, "fit_intercept": False}, 2),
    (svm_path, {"tol": 1e-9}, 3),
    (logistic_path, {}, 2),
    (logistic_path, {}, 3),
    (logistic_path, {"multiclass": "ovr", "penalty": "l1"}, 3),
]
LENGTHS = [{}, {"standardize": True}, {"method": "homotopy"}, {"fit_intercept": False}]


@pytest.fixture(scope="module", params=CHOSEN, ids=lambda case: f"{case[0].__name__}-{case[2]}")
def chosen(request):
    make, options, k = request.param
    train, validation = DATA[k]
    return make(*train, LAMS, validation=validation, **options), train, validation


def test_a_path_verifies_in_every_layout(chosen):
    path, (X, y), (X_val, y_val) = chosen
    for rows in (np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csc_array):
        assert path.verify(rows(X), y, validation=(rows(X_val), y_val))


def nudged(values, place):
    """The numbers with one of them changed by as little as there is."""
    changed = values.copy()
    changed.flat[place] = np.nextafter(changed.flat[place], np.inf)
    return changed


def forged_models(path):
    """Changes of a path, each of which makes it say what its certificates do not prove."""
    yield {"lams": nudged(path.lams, 3)}
    yield {"lams": path.lams[:-1]}
    yield {"coefs": nudged(path.coefs, 5)}
    yield {"coefs": path.coefs[::-1]}
    yield {"intercepts": nudged(path.intercepts, 1)}
    yield {"certificates": path.certificates[1:]}
    yield {"certificates": path.certificates[::-1]}
    fields = ("lams", "coefs", "intercepts", "certificates")
    yield {name: getattr(path, name)[:0] for name in fields}


def forged_errors(path, n_rows):
    for change in (1 / n_rows, -1 / n_rows, 1e-9, np.nan):
        errors = path.validation_errors.copy()
        errors[4] += change
        yield {"validation_errors": errors}
    known = path.validation_bound
    if known is None:
        return
    claims = (
        {"n_rows": n_rows + 1},
        {"lams": nudged(known.lams, 2)},
        {"lower": known.lower[:-1]},
        {"lower": known.lower[:1]},
        {"lower": np.full(len(known.lower), np.nan)},
    )
    yield from ({"validation_bound": replace(known, **changes)} for changes in claims)


def test_no_forged_path_verifies(chosen):
    path, (X, y), validation = chosen
    named = ({"classes": classes} for classes in (path.classes[::-1], path.classes + 1, None))
    for changes in (*forged_models(path), *forged_errors(path, len(validation[1])), *named):
        assert not replace(path, **changes).verify(X, y, validation=validation), changes


def test_no_bound_is_off_by_an_example(chosen):
    path, (X, y), validation = chosen
    known, n_rows = path.validation_bound, len(validation[1])
    if known is None:
        return
    # The fits are as good as optimal, so no more than their own errors can be proved.
    ends = np.rint(np.minimum(path.validation_errors[1:], path.validation_errors[:-1]) * n_rows)
    assert not known.vacuous
    for k, count in enumerate(ends):
        for claim in ((count + 1) / n_rows, count / n_rows + 1e-9):
            lower = known.lower.copy()
            lower[k] = claim
            forged = replace(path, validation_bound=replace(known, lower=lower))
            assert not forged.verify(X, y, validation=validation), (k, claim)
    weaker = replace(known, lower=np.maximum(0, np.rint(known.lower * n_rows) - 1) / n_rows)
    assert replace(path, validation_bound=weaker).verify(X, y, validation=validation)


@pytest.mark.parametrize("options", LENGTHS, ids=str)
def test_no_forged_path_of_the_lasso_verifies(options):
    (X, _), _ = DATA[2]
    y = X @ [1.0, 2.0, 0.0, 0.5] + np.sin(np.arange(len(X)))
    path = lasso_path(X, y, **options)
    assert path.verify(X, y)
    assert path.verify(sparse.csr_array(X), y)
    forged = ({"deltas": path.deltas * (1 + 1e-6)}, {"deltas": path.deltas[:-1]}, {"classes": [1]})
    for changes in (*forged_models(path), *forged):
        assert not replace(path, **changes).verify(X, y), changes
