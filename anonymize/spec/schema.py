"""The JSON Schema of the spec file, for editors: made from the models, committed as `spec.schema.json`.

`python -m anonymize schema` prints it; the committed copy is what `# yaml-language-server: $schema=` lines point at.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from anonymize.spec.model import Spec

FILE = Path(__file__).with_name("spec.schema.json")
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ID = "urn:anonymize-toolkit:spec:1"
"""Names the schema wherever it is kept; 1 is the spec's `version`."""
_NOT_IN_FILES = ("parameters", "line")


def json_schema(models: Mapping[str, type[BaseModel]]) -> dict[str, Any]:
    """The schema (draft 2020-12) of a spec file, for the given privacy models and the classes of their parameters."""
    schema = Spec.model_json_schema(by_alias=True)
    definitions = schema["$defs"]
    definitions.pop("ModelParameters", None)
    definitions["ModelEntry"] = _entries(models, definitions)
    schema = _tidied(schema)
    sections = {name: _section(name, section) for name, section in schema["properties"].items()}
    return {"$schema": _DIALECT, "$id": _ID, "title": "anonymize spec", **schema, "properties": sections}


def text(models: Mapping[str, type[BaseModel]]) -> str:
    """The schema as the text of the committed file."""
    return json.dumps(json_schema(models), indent=2, ensure_ascii=False) + "\n"


# --- privacy models -------------------------------------------------------------------------------------------------


def _entries(models: Mapping[str, type[BaseModel]], definitions: dict[str, Any]) -> dict[str, Any]:
    """An entry of `privacy.models`: one alternative per model."""
    entry = definitions["ModelEntry"]
    shared = {key: value for key, value in entry["properties"].items() if key not in _NOT_IN_FILES}
    return {
        "description": entry["description"],
        "type": "object",
        "required": ["model"],
        "properties": {"model": {**shared["model"], "type": "string", "enum": list(models)}},
        "oneOf": [_alternative(name, model, shared, definitions) for name, model in models.items()],
    }


def _alternative(
    name: str, model: type[BaseModel], shared: dict[str, Any], definitions: dict[str, Any]
) -> dict[str, Any]:
    parameters = model.model_json_schema(by_alias=True, ref_template=f"#/$defs/{name}.{{model}}")
    definitions.update({f"{name}.{key}": value for key, value in parameters.pop("$defs", {}).items()})
    manual = getattr(sys.modules.get(model.__module__), "__doc__", None) or ""
    return {
        "description": parameters.get("description") or manual.partition("\n")[0] or name,
        "type": "object",
        "properties": {**shared, "model": {"const": name}, **parameters.get("properties", {})},
        "required": ["model", *parameters.get("required", [])],
        "additionalProperties": False,
    }


# --- forms that the models do not have ------------------------------------------------------------------------------


def _section(name: str, section: dict[str, Any]) -> dict[str, Any]:
    """A section as files may write it: empty where it has defaults; attributes empty, or as a list of names."""
    if name in ("version", "weights", "others", "sampling_weight", "unit"):
        return section
    description, forms = section.pop("description"), [section]
    if name in ("quasi_identifiers", "sensitive"):
        section["additionalProperties"] = {"anyOf": [section["additionalProperties"], {"type": "null"}]}
        names = {"type": "array", "items": {"type": ["string", "number", "boolean"]}, "uniqueItems": True}
        forms.append({**names, **({"minItems": section["minProperties"]} if "minProperties" in section else {})})
    if name != "quasi_identifiers":
        forms.append({"type": "null"})
    return {"description": description, "anyOf": forms}


def _tidied(node: Any) -> Any:
    """Without pydantic's titles, and without null as a value: a key whose value was forgotten is an error."""
    if isinstance(node, list):
        return [_tidied(item) for item in node]
    if not isinstance(node, dict):
        return node
    keys = {key: value for key, value in node.items() if key != "title" and (key, value) != ("default", None)}
    named = {key: {k: _tidied(v) for k, v in keys.pop(key).items()} for key in ("$defs", "properties") if key in keys}
    forms = [form for form in keys.pop("anyOf", ()) if form != {"type": "null"}]
    if len(forms) == 1:
        keys |= forms[0]
    elif forms:
        keys["anyOf"] = forms
    return {key: _tidied(value) for key, value in keys.items()} | named
