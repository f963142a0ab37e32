"""Change the trusted core in every way, one at a time, and see that an exact law notices.

`make mutants` prints the survivors and the share that was killed; `SHARE=0.2` takes a part of each
module, `DIGITS=0` leaves out the last digits, and names of modules take only those. A mutant swaps
up and down, above and below, largest and smallest; exchanges an operation or turns a comparison
round; drops a term, a rounding or a refusal; doubles a constant. Counts of roundings, those of
`above(x, 3)` or of `gamma(n + 6)`, are left alone: one too many is harmless, and that none is too
few is proved, not seen. A single `up` or `above` less (the last digits) is mostly covered by the
next one: these are counted apart.

Each law is first asked, seed by seed, which functions of the core it calls; a mutant is judged by
the laws that call the function it is in, the quickest first, until one notices. Survivors that are
known to be harmless stand in `harmless.txt` under the reason, line by line. Those of them that are
`equal`, the same value whatever is asked, no law can tell: they are no part of the share.
"""

from __future__ import annotations

import ast
import importlib
import math
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import scipy.optimize
import scipy.sparse  # noqa: F401  (loaded once, before the processes part)

import cotas.certificates.core as core
import cotas.source  # noqa: F401

FOLDER = Path(str(core.__file__)).parent
# Of `choices.py` every answer will do, which is a law of its own.
MODULES = tuple(
    sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in ("__init__", "choices"))
)
HARMLESS = Path(__file__).with_name("harmless.txt")
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
LAST_DIGITS = (*ROUNDED, "total_up", "total_down")
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
# Seconds of processor time after which a law that has not ended is taken for one that never does,
# and more of them in multiples of what it takes while it is watched.
SECONDS, TIMES = 10, 10
Change = tuple[str, Callable[[Any], ast.AST]]
Call = tuple[str, int]  # a law and a seed


class Mutant(NamedTuple):
    """Where the core is changed and how: one of the `changes` of a node of a module's tree."""

    module: str
    function: int  # the first line of the one that it is in, zero outside of all
    line: int
    words: str
    node: int
    which: int

    @property
    def place(self) -> tuple[str, str, str]:
        """The module, the change, and the text of the line, which a new line elsewhere spares."""
        return self.module, self.words, text_of(self.module)[self.line - 1].strip()


def changes(node: ast.AST) -> Iterator[Change]:
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
    """Counts of roundings, annotations, messages, and whether `zip` compares lengths."""
    found: set[int] = set()
    for node in ast.walk(tree):
        kept: list[ast.AST] = []
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", "")
            kept += node.args[1:] if name in ("above", "below") else []
            kept += node.args if name == "gamma" else []
            kept += [word.value for word in node.keywords if word.arg == "strict"]
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


@cache
def text_of(module: str) -> list[str]:
    """The lines of a module of the core."""
    return (FOLDER / f"{module}.py").read_text().splitlines()


@cache
def tree_of(module: str) -> ast.Module:
    """Its tree, which a process that parts may change as it likes."""
    return ast.parse("\n".join(text_of(module)))


def owners(tree: ast.AST) -> dict[int, int]:
    """The first line of the innermost function that each node is in."""
    found: dict[int, int] = {}

    def visit(node: ast.AST, owner: int) -> None:
        found[id(node)] = owner
        for child in ast.iter_child_nodes(node):
            # A default, a decorator or an annotation is no part of what a call runs.
            inside = isinstance(node, ast.FunctionDef) and child in node.body
            if inside:
                first = node.decorator_list[0] if node.decorator_list else node
                visit(child, first.lineno)
            else:
                visit(child, owner)

    visit(tree, 0)
    return found


def mutants(module: str) -> list[Mutant]:
    """All of one module."""
    tree = tree_of(module)
    alone, owner = left_alone(tree), owners(tree)
    return [
        Mutant(module, owner[id(node)], getattr(node, "lineno", 1), words, k, which)
        for k, node in enumerate(ast.walk(tree))
        if id(node) not in alone
        for which, (words, _) in enumerate(changes(node))
    ]


def changed(mutant: Mutant) -> ast.Module:
    """The tree with the change; it is changed in place."""
    tree = tree_of(mutant.module)
    target = next(n for k, n in enumerate(ast.walk(tree)) if k == mutant.node)
    change = next(c for k, (_, c) in enumerate(changes(target)) if k == mutant.which)
    new = ast.copy_location(change(target), target)
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, name, new)
            elif isinstance(value, list):
                setattr(parent, name, [new if item is target else item for item in value])
    return ast.fix_missing_locations(tree)


def every_law() -> dict[str, tuple[Callable[[int], list[str]], int]]:
    """The laws, with the core that is loaded now, and how many seeds of each."""
    found: dict[str, tuple[Callable[[int], list[str]], int]]
    found = importlib.import_module("laws.exact.every").LAWS
    return found


def reached() -> dict[tuple[str, int], list[Call]]:
    """The calls of the laws that reach each function, the quickest first; zero stands for all.

    What stands outside of every function, a default or a constant, any law may read.
    """
    found: dict[tuple[str, int], set[Call]] = {}
    rounding = importlib.import_module(f"{core.__name__}.rounding")
    for name, (law, seeds) in every_law().items():
        for seed in range(seeds):
            seen: set[tuple[str, int]] = set()

            def look(frame: FrameType, event: str, _: Any, seen: Any = seen) -> None:
                path = Path(frame.f_code.co_filename)
                if path.parent == FOLDER:
                    seen |= {(path.stem, frame.f_code.co_firstlineno), (path.stem, 0)}

            rounding.gamma.cache_clear()
            rounding._grown.cache_clear()
            begin = time.process_time()
            sys.settrace(look)
            try:
                failures = law(seed)
            finally:
                sys.settrace(None)
            if failures:
                raise SystemExit(f"The laws do not hold as it is: {failures}")
            SPENT[name, seed] = time.process_time() - begin
            for place in seen:
                found.setdefault(place, set()).add((name, seed))
    order = sorted(SPENT, key=SPENT.__getitem__)
    return {
        place: sorted(order, key=lambda call: call not in calls)  # in this order otherwise
        if place[1] == 0
        else [call for call in order if call in calls]
        for place, calls in found.items()
    }


def survives(module: str, tree: ast.Module, calls: list[Call]) -> bool:
    """Whether all these laws hold with this tree of a module; called in a process of its own."""
    code = compile(tree, str(FOLDER / f"{module}.py"), "exec")
    for name in [n for n in sys.modules if n.startswith((core.__name__ + ".", "laws."))]:
        del sys.modules[name]
        package, stem = name.rsplit(".", 1)
        if package == core.__name__:
            delattr(core, stem)
    made = ModuleType(f"{core.__name__}.{module}")
    made.__file__ = str(FOLDER / f"{module}.py")
    sys.modules[made.__name__] = made
    setattr(core, module, made)
    exec(code, made.__dict__)
    laws = every_law()
    for name, seed in calls:
        signal.setitimer(signal.ITIMER_PROF, SECONDS + TIMES * SPENT.get((name, seed), 0.0))
        if laws[name][0](seed):
            return False
    return True


def refuse_false_kills(modules: list[str]) -> None:
    """Change nothing, and see that no law notices: who loads modules anew may mix two versions."""
    calls = [(name, 0) for name in every_law()]
    for module in modules:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if survives(module, tree_of(module), calls) else 1
            finally:
                os._exit(code)
        if os.WEXITSTATUS(os.waitpid(child, 0)[1]):
            raise SystemExit(f"A law notices a change of {module} that is none.")


def judge(mutant: Mutant) -> str:
    """What becomes of one: killed, survived, or endless (which is noticed as well).

    What is listed counts as listed, whether or not a law would notice it by now.
    """
    if listed := REASONS.get(mutant.place):
        return "equal" if listed.startswith("equal:") else "harmless"
    calls = REACHED.get((mutant.module, mutant.function), [])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if survives(mutant.module, changed(mutant), calls) else 1
        except BaseException:
            code = 1
        os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "endless" if os.WTERMSIG(status) == signal.SIGPROF else "killed"
    return "survived" if os.WEXITSTATUS(status) == 0 else "killed"


REACHED: dict[tuple[str, int], list[Call]] = {}
REASONS: dict[tuple[str, str, str], str] = {}
SPENT: dict[Call, float] = {}


def harmless() -> dict[tuple[str, str, str], str]:
    """The reason why a change makes no bound false, of those that are listed."""
    reason, found = "", {}
    for line in HARMLESS.read_text().splitlines() if HARMLESS.exists() else []:
        if line.startswith("== "):
            reason = line[3:]
        elif line and not line.startswith("#"):
            module, change, text = line.split(" | ", 2)
            found[module, change, text] = reason
    return found


def of_last_digits(mutant: Mutant) -> bool:
    """Whether only a rounding outwards is changed."""
    return mutant.words.startswith(LAST_DIGITS)


def stale(modules: list[str]) -> list[str]:
    """What is listed and is no mutant any more, since its line was changed."""
    known = {one.place for m in modules for one in mutants(m)}
    return [" | ".join(place) for place in REASONS if place[0] in modules and place not in known]


def drawn(modules: list[str], share: float) -> list[Mutant]:
    """The same share of each module, in an order that a seed repeats."""
    order, found = random.Random(os.environ.get("COTAS_SEED", "1")), list[Mutant]()
    for module in modules:
        some = mutants(module)
        if os.environ.get("DIGITS") == "0":
            some = [mutant for mutant in some if not of_last_digits(mutant)]
        order.shuffle(some)
        found += some[: math.ceil(share * len(some))]
    order.shuffle(found)
    return found


def main() -> int:
    """All mutants of all modules, or a random share of them, or those of the modules named."""
    modules = [m for m in sys.argv[1:] if m in MODULES] or list(MODULES)
    found = drawn(modules, float(os.environ.get("SHARE", "1")))
    REASONS.update(harmless())
    for listed in stale(modules):
        print("listed, and no mutant:", listed)
    begin, seconds = time.monotonic(), float(os.environ.get("LIMIT", "inf"))
    refuse_false_kills(modules)
    REACHED.update(reached())
    print(f"{len(found)} mutants; the laws took {time.monotonic() - begin:.0f} s", flush=True)
    counts = dict.fromkeys(("killed", "endless", "equal", "harmless", "survived"), 0)
    digits = dict(counts)
    with multiprocessing.get_context("fork").Pool(int(os.environ.get("WORKERS", "2"))) as pool:
        for k, (mutant, fate) in enumerate(zip(found, pool.imap(judge, found), strict=True)):
            (digits if of_last_digits(mutant) else counts)[fate] += 1
            if fate in ("harmless", "survived"):
                print(f"{fate}:", mutant.line, " | ".join(mutant.place), flush=True)
            if k % 50 == 49:
                print(f"{k + 1} of {len(found)}: {counts}, last digits {digits}", flush=True)
            if time.monotonic() - begin > seconds:
                break
    shares = []
    for name, kind in (("of the algebra", counts), ("of the last digits", digits)):
        telling = max(1, sum(kind.values()) - kind["equal"])
        shares.append((kind["killed"] + kind["endless"]) / telling)
        print(f"{telling} mutants {name} that are not equal, {shares[-1]:.1%} killed: {kind}")
    return 0 if shares[0] >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
