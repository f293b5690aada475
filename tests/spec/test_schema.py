from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from anonymize.privacy import PARAMETERS
from anonymize.spec import schema
from anonymize.spec.base import Entry
from anonymize.spec.messages import Shape, of_spec
from anonymize.spec.model import ModelEntry, NoParameters
from tests.spec.conftest import Models


def test_the_committed_schema_is_fresh() -> None:
    assert schema.FILE.read_text(encoding="utf-8") == schema.text(PARAMETERS)


def test_names_its_dialect(models: Models) -> None:
    assert schema.json_schema(models)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema.json_schema(models)["$id"] == "urn:anonymize-toolkit:spec:1"


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _nodes(child)


def test_every_key_is_explained() -> None:
    made = schema.json_schema(PARAMETERS)
    properties = [(name, value) for node in _nodes(made) for name, value in node.get("properties", {}).items()]
    assert len(properties) > 40
    assert [name for name, value in properties if not value.keys() & {"description", "$ref", "const"}] == []


def test_references_resolve() -> None:
    made = schema.json_schema(PARAMETERS)
    targets = {node["$ref"].removeprefix("#/$defs/") for node in _nodes(made) if "$ref" in node}
    assert targets and targets <= made["$defs"].keys()


def _classes(base: type[Entry]) -> Iterator[type[Entry]]:
    for child in base.__subclasses__():
        yield child
        yield from _classes(child)


@pytest.mark.parametrize("model", [c for c in _classes(Entry) if c not in (ModelEntry, NoParameters)])
def test_every_mapping_is_described_and_closed(model: type[Entry]) -> None:
    assert model.__doc__
    assert model.model_config["extra"] == "forbid" and model.model_config["frozen"]


def test_one_alternative_per_privacy_model(models: Models) -> None:
    entry = schema.json_schema(models)["$defs"]["ModelEntry"]
    closeness = next(a for a in entry["oneOf"] if a["properties"]["model"] == {"const": "t-closeness"})
    assert entry["properties"]["model"]["enum"] == list(models)
    assert closeness["properties"].keys() == {"model", "attribute", "t", "distance"}
    assert closeness["required"] == ["model", "t"]
    assert closeness["additionalProperties"] is False


def test_null_only_where_a_file_may_be_empty(models: Models) -> None:
    made = schema.json_schema(models)
    empty = {name for name, value in made["properties"].items() if {"type": "null"} in value.get("anyOf", [])}
    assert empty == {
        "input",
        "identifiers",
        "sensitive",
        "insensitive",
        "undecided",
        "privacy",
        "risk",
        "budget",
        "synthesize",
        "domains",
        "series",
        "tabulate",
        "treatments",
        "workload",
        "output",
    }
    assert "null" in made["$defs"]["Output"]["properties"].pop("suppressed")["type"]
    assert '"null"' not in json.dumps(made["$defs"])


def test_shape_and_schema_have_the_same_keys(models: Models) -> None:
    """The keys known to the reader and those shown to editors come from one declaration."""
    made, shape = schema.json_schema(models), of_spec()
    assert made["properties"].keys() == shape.keys.keys()
    attribute = shape.below("quasi_identifiers").below("anything")
    assert made["$defs"]["QuasiIdentifier"]["properties"].keys() == attribute.keys.keys()
    assert made["$defs"]["Condition"]["properties"].keys() == {"from", "to", "in"}


@pytest.mark.parametrize(
    ("path", "is_text"),
    [
        (("identifiers", 0), True),
        (("input", "path"), True),
        (("input", "missing", 0), True),
        (("quasi_identifiers", "a", "hierarchy"), True),
        (("quasi_identifiers", "a", "weight"), False),
        (("quasi_identifiers", "a", "rules", 0, "keep_apart", 0), False),
        (("privacy", "k"), False),
        (("privacy", "models", 0, "attribute"), True),
        (("nobody",), False),
    ],
)
def test_where_text_is_wanted(path: tuple[str | int, ...], is_text: bool) -> None:
    shape: Shape = of_spec()
    for key in path:
        shape = shape.below(key)
    assert shape.is_text is is_text
