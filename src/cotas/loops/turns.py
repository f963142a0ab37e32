"""Numbers that several threads read and change at once, in compiled loops.

So threads that share the work of a loop can tell each other how far they are, without going back to
Python, where each word takes as long as the work.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

from cotas.arrays import IntArray
from cotas.loops.inside import INSIDE


def add_atomically(numbers: IntArray, k: int, more: int) -> int:
    """Add to the k-th number before any other thread sees it; what it was."""
    before = int(numbers[k])
    numbers[k] += more
    return before


def read_atomically(numbers: IntArray, k: int) -> int:
    """The k-th number as it is now: whatever was written before it is seen, too."""
    return int(numbers[k])


def _place(context: Any, builder: Any, kind: Any, array: Any, k: Any) -> Any:
    return builder.gep(make_array(kind)(context, builder, array).data, [k])


@intrinsic  # type: ignore[untyped-decorator]
def _add(typing: Any, numbers: Any, k: Any, more: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], *arguments[:2])
        return builder.atomic_rmw("add", place, arguments[2], "seq_cst")

    return types.int64(numbers, types.intp, types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def _read(typing: Any, numbers: Any, k: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(place, "seq_cst", 8)

    return types.int64(numbers, types.intp), code


@overload(add_atomically, jit_options=INSIDE, strict=False)  # type: ignore[untyped-decorator]
def _compiled_add(numbers: Any, k: Any, more: Any) -> Any:
    return lambda numbers, k, more: _add(numbers, k, more)


@overload(read_atomically, jit_options=INSIDE, strict=False)  # type: ignore[untyped-decorator]
def _compiled_read(numbers: Any, k: Any) -> Any:
    return lambda numbers, k: _read(numbers, k)
