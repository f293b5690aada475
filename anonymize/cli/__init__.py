"""The command line: it parses, calls a room below, and turns what comes back into text and an exit code."""

import gc

from anonymize.cli import early

__all__ = ["main"]

COLLECT_AFTER = 100_000
"""So many new objects Python looks for garbage in at a time. By default they are 700, and a sixth of the time that a
command takes to start goes into looking through modules, which are none."""


def main() -> None:
    """The console script."""
    early.install()
    gc.set_threshold(COLLECT_AFTER)
    from anonymize.cli.main import main as command_line

    command_line()
