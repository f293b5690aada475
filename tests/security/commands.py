"""The commands as they are run from a shell."""

from __future__ import annotations

import subprocess
import sys
from typing import Any


def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, with what it printed."""
    command = [sys.executable, "-m", "anonymize", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **options)
