"""The commands as they are run from a shell."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from typing import Any

from anonymize.cli.exits import outcome
from anonymize.cli.main import run as run_here


def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, with what it printed: in this process, or where there are options of `subprocess.run`,
    in one of its own."""
    command = [str(argument) for argument in arguments]
    if options:
        whole = [sys.executable, "-m", "anonymize", *command]
        return subprocess.run(whole, capture_output=True, text=True, check=False, timeout=300, **options)
    out, err = io.BytesIO(), io.BytesIO()
    with (
        contextlib.redirect_stdout(io.TextIOWrapper(out, encoding="utf-8", write_through=True)),
        contextlib.redirect_stderr(io.TextIOWrapper(err, encoding="utf-8", write_through=True)),
    ):
        code = outcome(lambda: run_here(command))
        printed = [stream.getvalue().decode() for stream in (out, err)]
    return subprocess.CompletedProcess(command, code, *printed)
