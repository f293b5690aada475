from __future__ import annotations

from typing import Annotated

from pydantic import Field

from anonymize.spec.base import Entry, Means, ModelParameters, descriptions


class Common(Entry):
    """What both have."""

    first: int = 1
    """What comes
    first."""
    second: int = 2


class Further(Common):
    """One that has more."""

    first: int = 3
    from_: int = Field(default=4, alias="from")
    """Where it begins."""


class Silent(Entry):
    """One whose keys nobody explains."""

    first: int = 1


def test_a_docstring_is_one_line_and_a_base_class_has_its_own() -> None:
    assert descriptions(Common, Entry) == {"first": "What comes first."}
    assert descriptions(Further, Common) == {"from_": "Where it begins."}
    assert descriptions(Further, Entry) == {"first": "What comes first.", "from_": "Where it begins."}


def test_a_class_whose_source_is_gone_has_none() -> None:
    assert descriptions(type("Made", (Common,), {"__module__": "builtins"}), Common) == {}


def test_the_schema_says_it_of_keys_as_files_have_them() -> None:
    properties = Further.model_json_schema()["properties"]
    assert {key: value.get("description") for key, value in properties.items()} == {
        "first": "What comes first.",
        "second": None,
        "from": "Where it begins.",
    }
    assert "description" not in Silent.model_json_schema()["properties"]["first"]


# --- base -------------------------------------------------------------------------------------------------------------


class Crowded(ModelParameters):
    k: int = 9
    heads: Annotated[int, Means.PEOPLE] = Field(default=3, ge=1)
    among: Annotated[tuple[str, ...] | None, Means.PROTECTED] = None


def test_a_parameter_is_what_its_type_says_and_not_what_it_is_called() -> None:
    assert Crowded.name_of(Means.PEOPLE) == "heads" and Crowded().given(Means.PEOPLE) == 3
    assert Crowded.name_of(Means.DISTANCE) is None and Crowded().given(Means.DISTANCE) is None


def test_what_is_left_out_is_none() -> None:
    assert Crowded().given(Means.PROTECTED) is None
    assert Crowded(among=("a",)).given(Means.PROTECTED) == ("a",)
