"""What the models of the spec are made of: mappings, texts, numbers, values, paths."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from enum import Enum, auto
from functools import cache
from itertools import pairwise, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    Tag,
    ValidationInfo,
    WithJsonSchema,
)

from anonymize.places import is_uri, relative_to

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


# --- what keys mean ---------------------------------------------------------------------------------------------------
# The docstrings under the attributes of the models, which the JSON Schema alone asks for.
#
# With `use_attribute_docstrings` pydantic reads them itself, as each class is made: a third more CPU time before any
# command does anything.


def descriptions(model: type, root: type) -> dict[str, str]:
    """Attribute -> its docstring on one line, from the classes between `root` and the model as well."""
    classes = [base for base in reversed(model.__mro__) if issubclass(base, root) and base is not root]
    texts: dict[str, str] = {}
    for each in classes:
        texts |= _documented(each.__module__).get(each.__name__, {})
    return texts


@cache
def _documented(module: str) -> dict[str, dict[str, str]]:
    """Class -> attribute -> docstring, for the classes at the top of a module; none where there is no source."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):
        return {}
    return {node.name: _attributes(node.body) for node in tree.body if isinstance(node, ast.ClassDef)}


def _attributes(body: list[ast.stmt]) -> dict[str, str]:
    texts = {}
    for statement, after in pairwise(body):
        match statement, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = " ".join(text.split())
    return texts


# --- mappings ---------------------------------------------------------------------------------------------------------

KeyPath: TypeAlias = tuple[str | int, ...]
Place: TypeAlias = tuple[int, int]


class Entry(BaseModel):
    """A mapping of the spec: unknown keys are errors, values do not change. Validators are built when first used.

    The docstring under an attribute is what the JSON Schema says of its key.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        made = handler(core_schema)
        properties = handler.resolve_ref_schema(made).get("properties", {})
        described = descriptions(cls, Entry)
        for name, text in ((name, described[name]) for name in cls.model_fields if name in described):
            properties[cls.model_fields[name].alias or name]["description"] = text
        return made


# --- parameters of privacy models -----------------------------------------------------------------------------------


class Means(Enum):
    """What a parameter of a privacy model says, whatever it is called; written in its type."""

    PEOPLE = auto()
    """The individuals that every class has at least, or has under it."""
    DISTANCE = auto()
    """How far the values of a class may be from those of the whole table: what `-t` sets."""
    POPULATION = auto()
    """The table of a population."""
    PROTECTED = auto()
    """The sensitive values that are protected, where it is not all of them."""


class ModelParameters(BaseModel):
    """The parameters of a privacy model by what they mean. Validators are built when first used."""

    model_config = ConfigDict(defer_build=True)

    @classmethod
    def name_of(cls, meaning: Means) -> str | None:
        """The parameter that means this; None where none does."""
        return next((name for name, field in cls.model_fields.items() if meaning in field.metadata), None)

    def given(self, meaning: Means) -> Any:
        """The value of the parameter that means this; None where it is left out, or none does."""
        name = self.name_of(meaning)
        return None if name is None else getattr(self, name)


# --- texts, numbers and paths ---------------------------------------------------------------------------------------


def _resolved(path: Path, info: ValidationInfo) -> Path:
    folder = (info.context or {}).get("folder")
    return Path(folder) / path if folder is not None else path


def _table(place: Path | str, info: ValidationInfo) -> Path | str:
    folder = (info.context or {}).get("folder")
    if isinstance(place, Path):
        return _resolved(place, info)
    return place if folder is None else relative_to(folder, place)


def _place_kind(place: object) -> str:
    return "uri" if is_uri(place) else "path"


def by_type(error: str, message: str, **tags: type | tuple[type, ...]) -> Discriminator:
    """Tells the forms of a value apart, by the types that each may be written as; no boolean is a number. The `message`
    of the `error` says what was expected."""

    def kind(value: object) -> str | None:
        fitting = (tag for tag, types in tags.items() if isinstance(value, types) and not isinstance(value, bool))
        return next(fitting, None)

    return Discriminator(kind, custom_error_type=error, custom_error_message=message)


def ordered(fits: Callable[[Any, Any], bool], expected: str) -> AfterValidator:
    """Refuses values of which two that follow each other do not fit."""

    def checked(values: Any) -> Any:
        if not all(starmap(fits, pairwise(values))):
            raise ValueError(f"expected {expected}")
        return values

    return AfterValidator(checked)


TEXT = {"type": ["string", "number", "boolean"]}  # YAML's 1 or true, taken as the text that is written there
Text = Annotated[str, WithJsonSchema(TEXT)]
SpecPath = Annotated[Path, AfterValidator(_resolved), WithJsonSchema({"type": "string"})]
TablePath = Annotated[
    Annotated[Path, Tag("path")] | Annotated[str, Tag("uri")],
    Discriminator(_place_kind),
    AfterValidator(_table),
    WithJsonSchema({"type": "string"}),
]
"""A file, or as a text the URI of a table in a database."""


class Nothing(str):
    """What a suppressed cell reads wherever releases are made and measured, and which is written as nothing: an empty
    field of a CSV, a null of a typed file."""


def _suppressed(text: str) -> str:
    return Nothing("*") if text == "null" else text


Suppressed = Annotated[
    str,
    BeforeValidator(lambda value: "null" if value is None else value),
    AfterValidator(_suppressed),
    PlainSerializer(lambda text: None if isinstance(text, Nothing) else text),
    WithJsonSchema({"type": ["string", "number", "boolean", "null"]}),
]
"""What a suppressed cell reads; null: nothing."""
Number = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Value = Annotated[
    Annotated[Number, Tag("number")] | Annotated[str, Tag("text")],
    by_type("value_kind", "expected a number or text", text=str, number=(int, float)),
    WithJsonSchema(TEXT),
]
