"""The command line: it parses, calls a room below, and turns what comes back into text and an exit code."""

from anonymize.cli.main import main

__all__ = ["main"]
