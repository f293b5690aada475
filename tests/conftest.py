"""How hypothesis runs: the same examples every time, as they are found, or new ones, shrunk, with
HYPOTHESIS_PROFILE=explore. Tests whose examples are costly take a share of the profile's number of examples.

Linear algebra has one thread, as in every command: more of them mostly wait for each other, and take the processor
meanwhile. Garbage is looked for as seldom as in every command. And Ctrl-C reaches the commands that tests start, where
a job in the background would have them ignore it."""

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from anonymize.cli import COLLECT_AFTER
from anonymize.cli.early import ONE_THREAD

os.environ.update(ONE_THREAD)  # before anything imports numpy
gc.set_threshold(COLLECT_AFTER)

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
FOUND = [Phase.explicit, Phase.reuse, Phase.generate, Phase.target]

settings.register_profile(
    "same", max_examples=20, derandomize=True, deadline=None, suppress_health_check=SLOW, phases=FOUND
)
settings.register_profile("explore", max_examples=2000, deadline=None, suppress_health_check=SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A new key, in a file that only its owner may read."""
    from anonymize.key import Key

    path = tmp_path / "key"
    path.write_text(Key.new().text)
    path.chmod(0o600)
    return path
