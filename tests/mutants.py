"""Change the trusted core in every way, one at a time, and see that an exact law notices.

`make mutants` prints the survivors and the share that was killed. A mutant swaps up and down, above
and below, largest and smallest; exchanges an operation or turns a comparison round; drops a term, a
rounding or a refusal; doubles a constant. Counts of roundings (`above(x, 3)`, `gamma(n + 6)`) are
left alone: one too many is harmless, and that none is too few is proved, not seen. A single `up`
or `above` less (the last digits) is mostly covered by the next one: these are counted apart.
"""

from __future__ import annotations

import ast
import copy
import importlib
import importlib.util
import math
import multiprocessing
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import scipy.optimize
import scipy.sparse  # noqa: F401  (loaded once, before the processes part)

import cotas.certificates.core as core

FOLDER = Path(str(core.__file__)).parent
MODULES = (
    "rounding",
    "bounds",
    "rows",
    "gap",
    "softmax",
    "curvature",
    "blocks",
)
SWAPS = {
    "up": "down",
    "above": "below",
    "total_up": "total_down",
    "max": "min",
    "maximum": "minimum",
    "high": "low",
    "argmin": "argmax",
    "any": "all",
}
SWAPS |= {b: a for a, b in SWAPS.items()}
ROUNDED = ("up", "down", "above", "below")
OPERATIONS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
OPERATIONS |= {ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult}
COMPARISONS = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
# Seconds of processor time after which a mutant is taken for one that never ends.
SECONDS = 60
SEEDS = 3


def changes(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    """The ways to change one node of the tree."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in SWAPS:
        yield f"{node.id} → {SWAPS[node.id]}", lambda n: ast.Name(SWAPS[n.id], ast.Load())
    if isinstance(node, ast.Attribute) and node.attr in SWAPS:
        yield (
            f".{node.attr} → .{SWAPS[node.attr]}",
            lambda n: ast.Attribute(n.value, SWAPS[n.attr], n.ctx),
        )
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ROUNDED:
        yield f"{node.func.id}(x) → x", lambda n: n.args[0]
    if isinstance(node, ast.BinOp):
        if type(node.op) in OPERATIONS:
            other = OPERATIONS[type(node.op)]
            yield (
                f"{type(node.op).__name__} → {other.__name__}",
                lambda n: ast.BinOp(n.left, other(), n.right),
            )
        if isinstance(node.op, ast.Add | ast.Sub):
            yield "first term only", lambda n: n.left
            yield "second term only", lambda n: n.right
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        turned = COMPARISONS[type(node.ops[0])]
        yield (
            f"{type(node.ops[0]).__name__} → {turned.__name__}",
            lambda n: ast.Compare(n.left, [turned()], n.comparators),
        )
    if isinstance(node, ast.BoolOp):
        yield "first condition only", lambda n: n.values[0]
        yield "last condition only", lambda n: n.values[-1]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "not negated", lambda n: n.operand
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield f"{node.value} → {2 * node.value + 1}", lambda n: ast.Constant(2 * n.value + 1)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "negated", lambda n: ast.Constant(not n.value)
    if isinstance(node, ast.Raise | ast.Continue | ast.Break):
        yield f"no {type(node).__name__.lower()}", lambda n: ast.Pass()


def left_alone(tree: ast.AST) -> set[int]:
    """Counts of roundings, annotations, and messages."""
    found: set[int] = set()
    for node in ast.walk(tree):
        kept: list[ast.AST] = []
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", "")
            kept += node.args[1:] if name in ("above", "below") else []
            kept += node.args if name == "gamma" else []
        if isinstance(node, ast.FunctionDef):
            kept += [a.annotation for a in node.args.args if a.annotation]
            kept += [node.returns] if node.returns else []
        if isinstance(node, ast.AnnAssign):
            kept.append(node.annotation)
        if isinstance(node, ast.Raise):
            kept += [part for part in (node.exc,) if part]
        for part in kept:
            found |= {id(inner) for inner in ast.walk(part)}
    return found


def mutants(module: str) -> list[tuple[str, int, str, str]]:
    """Each as the module, the line, what is changed, and the text of the changed module."""
    text = (FOLDER / f"{module}.py").read_text()
    tree = ast.parse(text)
    alone, found = left_alone(tree), []
    for k, node in enumerate(ast.walk(tree)):
        if id(node) in alone:
            continue
        for words, change in changes(node):
            other = copy.deepcopy(tree)
            target = next(n for i, n in enumerate(ast.walk(other)) if i == k)
            new = ast.copy_location(change(target), target)
            _replace(other, target, new)
            line = getattr(node, "lineno", 0)
            found.append((module, line, words, ast.unparse(ast.fix_missing_locations(other))))
    return found


def _replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
            elif isinstance(value, list):
                setattr(parent, name, [new if item is old else item for item in value])


def survives(module: str, text: str) -> bool:
    """Whether all laws hold with this text of the module; called in a process of its own."""
    for name in [n for n in sys.modules if n.startswith((core.__name__ + ".", "laws."))]:
        del sys.modules[name]
    order = [m for m in MODULES if m != module]
    spec = importlib.util.spec_from_loader(f"{core.__name__}.{module}", loader=None)
    changed = importlib.util.module_from_spec(spec)
    changed.__file__ = str(FOLDER / f"{module}.py")
    sys.modules[changed.__name__] = changed
    setattr(core, module, changed)
    exec(compile(text, changed.__file__, "exec"), changed.__dict__)
    for name in order:
        importlib.import_module(f"{core.__name__}.{name}")
    rounding = importlib.import_module("laws.exact.rounding_claims").rounding_failures
    if module == "rounding" and any(rounding(seed) for seed in range(60)):
        return False
    own = importlib.import_module("laws.exact.more_claims")
    if module in ("softmax", "curvature", "rows", "rounding"):
        for seed in range(150 if module in ("softmax", "curvature") else 30):
            if own.softmax_failures(seed) and module != "curvature":
                return False
            if module != "softmax" and own.squares_failures(seed):
                return False
        if module in ("softmax", "curvature"):
            return True
    contracts = importlib.import_module("laws.exact.contracts")
    if any(contracts.contract_failures(seed) for seed in range(60)):
        return False
    claims = importlib.import_module("laws.exact.claims")
    cases = importlib.import_module("laws.exact.cases")
    pointed = importlib.import_module("laws.exact.pointed")
    return not pointed.pointed_failures() and not any(
        claims.failures(seed * 1000 + k, family)
        for seed in range(SEEDS)
        for k, family in enumerate(cases.FAMILIES)
    )


def judge(mutant: tuple[str, int, str, str]) -> str:
    """What becomes of one: killed, survived, or endless (which is noticed as well)."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            code = 0 if survives(mutant[0], mutant[3]) else 1
        except BaseException:
            code = 1
        os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "endless" if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else "killed"
    return "survived" if os.WEXITSTATUS(status) == 0 else "killed"


def _judged(found: list[tuple[str, int, str, str]], workers: int) -> Iterator[str]:
    """The fates in turn, so many at a time."""
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        yield from pool.imap(judge, found)


def main() -> int:
    """All mutants of all modules, or a random share of them, or those of the modules named."""
    share = float(os.environ.get("SHARE", "1"))
    seconds = float(os.environ.get("LIMIT", "inf"))
    modules = [m for m in sys.argv[1:] if m in MODULES] or list(MODULES)
    found = [m for module in modules for m in mutants(module)]
    random.Random(os.environ.get("COTAS_SEED", "1")).shuffle(found)
    found = found[: math.ceil(share * len(found))]
    for module in modules:
        if judge((module, 0, "", (FOLDER / f"{module}.py").read_text())) != "survived":
            print(f"The laws do not hold of {module} as it is.")
            return 2
    begin, counts = time.monotonic(), dict.fromkeys(("killed", "survived", "endless"), 0)
    digits = dict(counts)
    workers = int(os.environ.get("WORKERS", "2"))
    for k, (mutant, fate) in enumerate(zip(found, _judged(found, workers), strict=False)):
        last = mutant[2].startswith(ROUNDED)
        (digits if last else counts)[fate] += 1
        if fate == "survived":
            line = (FOLDER / f"{mutant[0]}.py").read_text().splitlines()[mutant[1] - 1].strip()
            print(f"survived: {mutant[0]}.py:{mutant[1]} {mutant[2]}    {line}", flush=True)
        if k % 50 == 49:
            print(f"{k + 1} of {len(found)}: {counts}, last digits {digits}", flush=True)
        if time.monotonic() - begin > seconds:
            break
    for name, kind in (("of the algebra", counts), ("of the last digits", digits)):
        done = max(1, sum(kind.values()))
        share = 100 * (1 - kind["survived"] / done)
        print(f"{done} mutants {name}, {share:.1f}% killed: {kind}")
    return 0 if counts["survived"] <= 0.05 * sum(counts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
