"""How Numba compiles what only other loops call: as a part of them.

By itself Numba makes a program of every function, optimized and ready to be called from Python and
from C, and then copies it into each loop that calls it, where all of it is optimized again. Of a
loop with five levels of calls the innermost is optimized five times and translated into machine
code as often. Here such a function stays as it was written until the loop that Python calls is
finished, and is optimized in it, once.

That is told to Numba by methods of its own that are not documented; a version that has others
compiles these functions in its usual way, which takes longer and computes the same.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class InlinedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into the code of its callers and never run by itself."""

    def _optimize_functions(self, module: Any) -> None:
        if layout := getattr(self._codegen, "_data_layout", None):
            module.data_layout = layout

    def _optimize_final_module(self) -> None:
        """Leave that to the callers."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Say that there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> InlinedLibrary:
        """Return who gets the environment of the function."""
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Keep nothing: only code that goes back to Python asks for it."""


class PartCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, for parts."""

    def define_pipelines(self) -> Any:
        """Return the usual steps, with a part to put the code into."""
        state = self.state
        state.library = InlinedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


KNOWN = (
    "_optimize_functions",
    "_optimize_final_module",
    "_finalize_final_module",
    "_finalize_dynamic_globals",
    "_ensure_finalized",
)
INSIDE: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
}
if all(hasattr(JITCodeLibrary, name) for name in KNOWN):
    INSIDE |= {
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "pipeline_class": PartCompiler,
    }
