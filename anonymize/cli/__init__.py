"""The command line: it parses, calls a room below, and turns what comes back into text and an exit code."""

from anonymize.cli import early

__all__ = ["main"]


def main() -> None:
    """The console script."""
    early.install()
    from anonymize.cli.main import main as command_line

    command_line()
