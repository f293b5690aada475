"""Settings hold for the block alone, and an engine that refuses one is not asked to set it back."""

from typing import Any

import pytest

from anonymize.spark.engine import SETTINGS, tuned


def values_of(session: Any) -> list[str | None]:
    return [session.conf.get(name, None) for name in SETTINGS]


def test_settings_are_set_back(session: Any) -> None:
    before = values_of(session)
    with tuned(session):
        assert values_of(session) == [*SETTINGS.values()]
    assert values_of(session) == before


def test_what_a_user_has_set_is_set_back(session: Any) -> None:
    name = next(iter(SETTINGS))
    session.conf.set(name, "1000000")
    with pytest.raises(KeyError), tuned(session):
        raise KeyError
    assert session.conf.get(name) == "1000000"
    session.conf.unset(name)


def test_an_engine_that_refuses() -> None:
    class Refusing:
        """A session whose settings nobody may set."""

        @property
        def conf(self) -> Any:
            raise PermissionError

    with tuned(Refusing()):
        pass
