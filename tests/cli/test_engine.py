"""Options that have no effect where the work runs."""

from __future__ import annotations

import pytest

from anonymize.cli.engine import check_engine
from anonymize.errors import UsageError
from tests.cli.conftest import Call


@pytest.mark.parametrize(
    ("engine", "given", "message"),
    [
        ("local", {"threads": None, "master": "local[2]", "checkpoint": None}, "--master: goes with --engine spark"),
        ("local", {"threads": 2, "checkpoint": "folder"}, "--checkpoint: goes with --engine spark"),
        ("spark", {"threads": 2, "master": "local[2]"}, "--threads: has no effect with --engine spark"),
    ],
)
def test_an_option_of_elsewhere_is_refused(engine: str, given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        check_engine(engine, **given)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("engine", "given"),
    [("local", {"threads": 2, "master": None}), ("spark", {"threads": None, "master": "local[2]", "checkpoint": "f"})],
)
def test_an_option_that_has_an_effect_is_not(engine: str, given: dict[str, object]) -> None:
    check_engine(engine, **given)


@pytest.mark.parametrize("command", ["mondrian spec.yaml", "audit spec.yaml", "recode spec.yaml -i table.csv"])
def test_every_command_that_has_engines_refuses_what_goes_with_another(call: Call, command: str) -> None:
    ended = call(*command.split(), "--master", "local[2]")
    assert (ended.code, ended.out) == (2, b"") and "--master: goes with --engine spark" in ended.err
