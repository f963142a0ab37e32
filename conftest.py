"""Modules that need PyTorch are looked at for examples only where it is installed."""

from importlib.util import find_spec

collect_ignore_glob = (
    [] if find_spec("torch") else ["src/cotas/device/*.py", "src/cotas/solvers/block_ascent.py"]
)
