"""How a command ends, whatever is raised."""

from __future__ import annotations

import pytest

from anonymize.cli.exits import outcome
from anonymize.errors import DataError, OwnNote


@pytest.mark.parametrize("error", [KeyboardInterrupt(), DataError("out of order")])
def test_what_a_library_notes_of_an_error_is_not_shown(error: BaseException, capfd: pytest.CaptureFixture[str]) -> None:
    error.add_note("while processing 'secret'")
    error.add_note(OwnNote("the best so far"))

    def fail() -> None:
        raise error

    assert outcome(fail) != 0
    lines = capfd.readouterr().err.splitlines()
    assert lines[1:] == ["the best so far"]
