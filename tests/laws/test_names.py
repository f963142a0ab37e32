"""One name is one thing: no two classes of the package have the same."""

import ast
from collections import defaultdict
from pathlib import Path

import cotas

HOME = Path(cotas.__file__).parent
# A loss is one thing, written twice on purpose: the core trusts no solver and counts roundings,
# and what a solver compiles is a value of its own. Both have the name of the field.
LOSSES = {
    *("EpsilonInsensitive", "Exponential", "Hinge", "Huber", "Logistic", "ModifiedHuber"),
    *("Squared", "SquaredHinge"),
}
HOMES_OF_LOSSES = {"losses.py", "solvers/losses.py"}
# Public, and asked for with their module: `kernels.Constant`, `schedules.Constant`.
PUBLIC = {"Constant"}


def test_no_two_classes_have_one_name():
    found = defaultdict(list)
    for path in sorted(HOME.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(path.relative_to(HOME)))
    assert len(found) > 500
    twice = {name: places for name, places in found.items() if len(places) > 1}
    assert set(twice) - LOSSES - PUBLIC == set()
    for name in LOSSES & set(twice):
        core = [place for place in twice[name] if place.startswith("certificates/core/")]
        assert set(twice[name]) - set(core) <= HOMES_OF_LOSSES
        assert len(core) <= 1
