"""What the models expect at each place of the file: which keys, and whether a plain scalar is meant as text.

Derived from the models' annotations, so that a key is declared once, in `anonymize.spec.model`.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from anonymize.spec.base import KeyPath
from anonymize.spec.model import ModelEntry, Spec

ANY = "*"  # stands for each name of a mapping, or each item of a list


@dataclass
class Shape:
    """What may stand at one place: the keys below it (or `ANY`) and the types of a value there."""

    keys: dict[str, Shape] = field(default_factory=dict)
    leaves: set[type] = field(default_factory=set)
    containers: set[type] = field(default_factory=set)

    @property
    def is_text(self) -> bool:
        """Whether a scalar here is text however it is written."""
        return bool(self.leaves) and self.leaves <= {str, Path}

    @property
    def names(self) -> tuple[str, ...]:
        """The known keys; none where any name will do."""
        return tuple(key for key in self.keys if key != ANY)

    def below(self, key: str | int) -> Shape:
        """The shape below a key or list item; an empty one if nothing is known there."""
        return self.keys.get(str(key)) or self.keys.get(ANY) or Shape()


@cache
def of_spec() -> Shape:
    """The shape of the whole file; the parameters of privacy models are not in it."""
    shape = Shape()
    _add(shape, Spec)
    return shape


def of_parameters(model: type[BaseModel]) -> Shape:
    """The shape of an entry of `privacy.models`: `model`, `attribute` and the parameters of that model."""
    shape = Shape()
    _add(shape, ModelEntry)
    for name in set(ModelEntry.model_fields) - {"model", "attribute"}:
        shape.keys.pop(name, None)
    _add(shape, model)
    return shape


def find(path: KeyPath, root: Shape | None = None) -> Shape:
    """The shape at a path."""
    shape = root or of_spec()
    for key in path:
        shape = shape.below(key)
    return shape


def _add(shape: Shape, annotation: Any) -> None:
    """Adds to a shape what an annotation allows."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        _add(shape, arguments[0])
    elif origin in (Union, types.UnionType):
        for argument in arguments:
            _add(shape, argument)
    elif origin in (tuple, dict):
        shape.containers.add(origin)
        for argument in arguments[1:] if origin is dict else arguments:
            _add(shape.keys.setdefault(ANY, Shape()), argument)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        shape.containers.add(dict)
        for key, inner in _fields(annotation):
            _add(shape.keys.setdefault(key, Shape()), inner)
    elif isinstance(annotation, type) and annotation is not types.NoneType:
        shape.leaves.add(annotation)
    elif origin is not None:
        shape.leaves.update(type(argument) for argument in arguments)


def _fields(model: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    for name, info in model.model_fields.items():
        yield info.alias or name, info.annotation
