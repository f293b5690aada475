"""The manual page: roff takes it as it is meant, and every command and option is on it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from anonymize.cli.main import COMMANDS, cli
from anonymize.errors import MEANINGS

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
try:
    import manpage
finally:
    sys.path.remove(str(DOCS))

PAGE = DOCS / "anonymize.1"
NAMES = [name for group in COMMANDS.values() for name in group]
CALLED = click.Context(cli, info_name="anonymize", **cli.context_settings)


def test_every_command_option_and_exit_code_is_there() -> None:
    text = PAGE.read_text(encoding="utf8").replace("\\-", "-")
    for name in NAMES:
        command = cli.get_command(CALLED, name)
        assert command is not None and f'.SH "ANONYMIZE {name.upper()}"' in text
        flags = [option.opts[-1] for option in command.params if isinstance(option, click.Option) and not option.hidden]
        assert [flag for flag in flags if not re.search(rf'^\.B ".*{flag}\b', text, re.MULTILINE)] == []
    assert all(f'.TP\n.B "{code}"\n' in text for code in MEANINGS)


def test_text_is_no_command_of_roff() -> None:
    assert manpage.escaped('.SH it\'s a \\ "quoted" -l') == "\\&.SH it\\(aqs a \\e \\(dqquoted\\(dq \\-l"


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_roff_has_nothing_to_say_about_it() -> None:
    ended = subprocess.run(["groff", "-man", "-Tutf8", "-ww", str(PAGE)], capture_output=True, check=True)
    assert ended.stderr == b""
    shown = re.sub(r"\x1b\[\d*m|.\x08", "", ended.stdout.decode())
    assert "anonymize init TABLE -o spec.yaml" in shown and "`" not in shown
