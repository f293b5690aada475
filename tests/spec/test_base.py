"""Parameters of privacy models are known by what they mean."""

from typing import Annotated

from pydantic import Field

from anonymize.spec.base import Means, ModelParameters


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
