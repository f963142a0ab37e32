"""Modules that need PyTorch are looked at for examples only where it is installed."""

from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent
collect_ignore = (
    []
    if find_spec("torch")
    else [
        str(path)
        for path in (ROOT / "src").rglob("*.py")
        if "\nimport torch\n" in path.read_text("utf-8")
    ]
)
