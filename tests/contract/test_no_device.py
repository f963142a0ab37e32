"""Without a GPU, or without PyTorch: nothing of it is imported, and errors say what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cotas.device import find

FIT = """
import sys, cotas
for device in ("cpu", "auto"):
    model = cotas.KernelSVM(device=device).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert model.certificate_.verify([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    print(device, [name for name in sys.modules if name in ("torch", "triton")])
"""


def test_a_small_fit_imports_no_pytorch() -> None:
    command = [sys.executable, "-c", FIT]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["cpu []", "auto []"]


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="gpu"):
        find.device_for("cuda", ("linear",), 1)
    assert find.device_for("auto", ("linear",), 1 << 40) is None
