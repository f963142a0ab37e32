"""The same program with compiled loops and with plain Python."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stdout
from typing import Any


def compiled_and_plain(program: str) -> tuple[Any, Any]:
    """What a program prints as JSON: compiled, in this process, and plain, in one of its own."""
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(program, "<program>", "exec"), {})
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(out.getvalue()), json.loads(done.stdout)
