from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from anonymize.errors import UsageError
from anonymize.spec import Spec, override
from tests.spec.conftest import Read

TEXT = """\
version: 1
input: {path: in.csv}
quasi_identifiers: [age]
sensitive: [diagnosis]
privacy:
  k: 5
  models:
  - {model: t-closeness, t: 0.3, distance: ordered}
  - {model: entropy-l-diversity, l: 2}
  - {model: t-closeness, t: 0.4, attribute: diagnosis}
"""


@pytest.fixture
def spec(read: Read) -> Spec:
    return read(TEXT)


def test_values_replace_those_of_the_spec(spec: Spec) -> None:
    changed = override(spec, k=10, l=3, suppression=0.2, path="other.csv")
    assert (changed.privacy.k, changed.privacy.l, changed.privacy.suppression) == (10, 3, 0.2)
    assert changed.input.path == Path("other.csv")
    assert changed.overridden == {"k", "l", "suppression", "path"}
    assert changed.path == spec.path


def test_t_replaces_every_t(spec: Spec) -> None:
    changed = override(spec, t=0.1).privacy.models
    assert [getattr(entry.parameters, "t", None) for entry in changed] == [0.1, None, 0.1]
    assert changed[0].parameters.model_dump()["distance"] == "ordered"
    assert [entry.line for entry in changed] == [8, 9, 10]


def test_the_spec_itself_stays(spec: Spec) -> None:
    override(spec, k=10, t=0.1)
    assert spec.privacy.k == 5 and spec.privacy.models[0].parameters.model_dump()["t"] == 0.3
    assert spec.overridden == frozenset()


def test_nothing_given_changes_nothing(spec: Spec) -> None:
    assert override(spec, k=None, t=None, path=None).model_dump() == spec.model_dump()


def test_zero_is_a_value(spec: Spec) -> None:
    assert override(spec, suppression=0).privacy.suppression == 0


def test_a_replaced_key_is_not_in_the_file(spec: Spec) -> None:
    changed = override(spec, k=10)
    assert changed.place("privacy", "k") is None
    assert changed.place("privacy", "models", 0) == (8, 5)


def test_overrides_add_up(spec: Spec) -> None:
    assert override(override(spec, k=10), l=2).overridden == {"k", "l"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"k": 0}, "-k: expected a number of 1 or more, found the number 0"),
        ({"k": 2.5}, "-k: expected a whole number, found the number 2.5"),
        ({"l": -1}, "-l: expected a number of 1 or more"),
        ({"t": 2}, "-t: expected a number of 1 or less, found the number 2"),
        ({"t": float("nan")}, "-t: expected a finite number, found the number .nan"),
        ({"suppression": 1.5}, "--suppression: expected a number of 1 or less"),
    ],
)
def test_values_out_of_bounds(spec: Spec, values: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        override(spec, **values)
    assert [problem.message for problem in caught.value.problems if words in problem.message], str(caught.value)
    assert len(caught.value.problems) == 1


def test_all_problems_at_once(spec: Spec) -> None:
    with pytest.raises(UsageError) as caught:
        override(spec, k=0, l=0, t=5, suppression=-1)
    assert len(caught.value.problems) == 4


def test_t_without_a_model_that_has_one(read: Read) -> None:
    with pytest.raises(UsageError, match="-t: the spec has no t-closeness model"):
        override(read("version: 1\nquasi_identifiers: [age]\n"), t=0.1)


def test_l_without_a_sensitive_attribute(read: Read) -> None:
    with pytest.raises(UsageError, match="needs a sensitive attribute"):
        override(read("version: 1\nquasi_identifiers: [age]\n"), l=2)


def test_unknown_names_are_bugs(spec: Spec) -> None:
    with pytest.raises(TypeError, match="cannot override seed"):
        override(spec, seed=3)  # type: ignore[call-arg]
