"""Set up before cotas is imported anywhere."""

import gc
import hashlib
import os
import signal
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"

if "NUMBA_CACHE_DIR" not in os.environ:
    # Numba's cache does not see an edit in another file: name its folder by the source.
    digest = hashlib.sha256(
        b"".join(path.read_bytes() for path in sorted(SOURCE.rglob("*.py")))
    ).hexdigest()[:16]
    os.environ["NUMBA_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / f"cotas-loops-{digest}")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts the tests in the background makes them deaf to the Ctrl-C they send.
    signal.signal(signal.SIGINT, signal.default_int_handler)

from hypothesis import HealthCheck, settings  # noqa: E402

# Forty examples, the same in every run; with COTAS_EXAMPLES so many, and other ones each time.
EXAMPLES = os.environ.get("COTAS_EXAMPLES")

settings.register_profile(
    "laws",
    deadline=None,
    derandomize=EXAMPLES is None,
    max_examples=int(EXAMPLES or 40),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("laws")


def pytest_collection_finish():
    """Take what is imported by now out of every later search for garbage, and search less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)
