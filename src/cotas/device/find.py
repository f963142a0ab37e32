"""Which device a kernel machine is computed on; PyTorch is looked for only if one is asked for."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from cotas.refusals import ParameterError

INSTALL = (
    "device={given!r} needs PyTorch for a CUDA GPU: pip install 'cotas[gpu]', or use device='cpu'."
)
NO_CARD = (
    "device={given!r}: PyTorch {version} sees no CUDA GPU. If there is one, its driver may be "
    "missing or too old for this build of PyTorch; device='auto' goes on without."
)
OWN = "device={given!r} computes kernels that are formulas; {what} is none. Use device='cpu'."
# With fewer kernel values than this the processor is done before a device has begun.
WORTH_A_DEVICE = 1 << 28


def check_device(given: object) -> None:
    """Refuse what is no device."""
    known = isinstance(given, str) and (
        given in ("cpu", "auto", "cuda") or (given.startswith("cuda:") and given[5:].isdecimal())
    )
    if not known:
        raise ParameterError(
            "device", f"device must be 'cpu', 'cuda', 'cuda:1' (a number) or 'auto', not {given!r}."
        )


def device_for(given: str, spec: Any, values: int) -> Any:
    """Return the device for so many values of a kernel: of PyTorch, or None for NumPy and Numba."""
    check_device(given)
    if given == "cpu" or (given == "auto" and (values < WORTH_A_DEVICE or not _has_card())):
        return None
    if find_spec("torch") is None:
        raise ImportError(INSTALL.format(given=given))
    import torch

    from cotas.device.sides import is_known

    number = int(given[5:]) if given.startswith("cuda:") else 0
    if not torch.cuda.is_available() or number >= torch.cuda.device_count():
        raise RuntimeError(NO_CARD.format(given=given, version=torch.__version__))
    if not is_known(spec):
        if given == "auto":
            return None
        raise ParameterError("device", OWN.format(given=given, what=f"the kernel {spec[0]!r}"))
    return torch.device("cuda" if given == "auto" else given)


def _has_card() -> bool:
    if find_spec("torch") is None or find_spec("triton") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


def in_short(error: Exception) -> str:
    """Return the first line of an error of a device, which can be a page long."""
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
