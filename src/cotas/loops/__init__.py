"""The decorators that every compiled algorithm is written with.

`@loop` compiles a function that walks over examples, `@loop_in_place` one of many arrays that makes
none. `@generic` declares an operation whose
implementation depends on the type of its first argument: in plain Python it is chosen at run
time, inside a loop Numba chooses it while compiling. One loop therefore serves every layout of
the data, and reads like the page it comes from.
"""

from cotas.loops.compiled import loop, loop_in_place
from cotas.loops.generic import EXACT, REORDERED, generic

__all__ = ["EXACT", "REORDERED", "generic", "loop", "loop_in_place"]
