"""Parameters of a privacy model, drawn from what its fields allow: no model needs a line here."""

from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

PEOPLE = Path("people.csv")
NAMES = ("flu", "cold", "ulcer", "absent")
"""Sensitive values that may be protected."""
REACH = 8
"""How far above its lowest value a number goes, where nothing bounds it."""


def parameters(model: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Parameters that the model takes."""
    fields = st.fixed_dictionaries({name: _field(field) for name, field in model.model_fields.items()})
    return fields.map(lambda values: _made(model, values)).filter(lambda made: made is not None)


def _made(model: type[BaseModel], values: dict[str, Any]) -> BaseModel | None:
    try:
        return model(**values)
    except ValidationError:
        return None


def _field(field: FieldInfo) -> st.SearchStrategy[Any]:
    kinds = [kind for kind in get_args(field.annotation) or (field.annotation,) if kind is not NoneType]
    if get_origin(field.annotation) is Literal:
        return st.sampled_from(kinds)
    if get_origin(kinds[0]) is tuple:
        return st.none() | st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True).map(tuple)
    if kinds[0] is bool:
        return st.booleans()
    drawn = _number(kinds[0], field.metadata) if kinds[0] in (int, float) else st.just(PEOPLE)
    return st.none() | drawn if NoneType in get_args(field.annotation) else drawn


def _number(kind: type, metadata: list[Any]) -> st.SearchStrategy[Any]:
    """Numbers between the bounds; round ones often, so that figures are equal to them."""
    bounds = {name: getattr(each, name) for each in metadata for name in ("ge", "gt", "le") if hasattr(each, name)}
    low = bounds.get("ge", bounds.get("gt", 0))
    top = bounds.get("le", low + REACH)
    if kind is int:
        return st.integers(low, top)
    steps = st.sampled_from([low + (top - low) * step / 20 for step in range("gt" in bounds, 21)])
    return steps | st.floats(low, top, exclude_min="gt" in bounds)
