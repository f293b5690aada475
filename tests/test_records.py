"""Records are what frozen dataclasses of the standard library are, class by class beside their twins."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import pytest

from anonymize import records
from anonymize.algorithms import ALGORITHMS

Decorator = Callable[..., Any]


def twins(make: Callable[[Decorator], Any]) -> tuple[Any, Any]:
    """A class as a record, and as the standard library makes it."""
    return make(records.dataclass), make(dataclasses.dataclass)


def point(dataclass: Decorator) -> Any:
    @dataclass(frozen=True)
    class Point:
        """Fields of every kind."""

        unit: ClassVar[str] = "cm"
        x: int
        y: list[int] = field(default_factory=list)
        name: str = field(default="p", compare=False)
        hidden: int = field(default=0, repr=False, kw_only=True)
        total: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", self.x + sum(self.y))

        @cached_property
        def double(self) -> int:
            return 2 * self.x

    return Point


def derived(dataclass: Decorator) -> Any:
    @dataclass(frozen=True, kw_only=True)
    class Base:
        """A base."""

        low: int = 1

    @dataclass(frozen=True)
    class Derived(Base):
        """One field more."""

        high: tuple[int, ...]

    return Derived


def single(dataclass: Decorator) -> Any:
    @dataclass(frozen=True)
    class Single:
        """One field."""

        x: float

    return Single


def peculiar(dataclass: Decorator) -> Any:
    @dataclass(frozen=True, repr=False)
    class Peculiar:
        """Methods of its own."""

        x: float

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "peculiar"

    return Peculiar


@pytest.mark.parametrize("arguments", [((1,), {}), ((1, [2], "q"), {"hidden": 4}), ((), {"x": 3, "y": [1]})])
def test_values_and_texts_are_those_of_the_library(arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    positional, named = arguments
    record, library = (made(*positional, **named) for made in twins(point))
    assert vars(record) == vars(library) and asdict(record) == asdict(library)
    assert repr(record) == repr(library) and record.double == library.double
    assert [each.name for each in fields(record)] == [each.name for each in fields(library)]
    assert type(record).__match_args__ == type(library).__match_args__


@pytest.mark.parametrize("positional", [(), (1, [], "p", 0), (1, [], "p", 0, 5)])
def test_wrong_arguments_are_refused_in_the_same_words(positional: tuple[Any, ...]) -> None:
    texts = set()
    for made in twins(point):
        with pytest.raises(TypeError) as refused:
            made(*positional)
        texts.add(str(refused.value))
    assert len(texts) == 1


def test_equal_are_records_of_one_class_by_the_fields_that_are_compared() -> None:
    for made in twins(derived):
        assert made((1,), low=3) == made((1,), low=3) != made((1,), low=4)
        assert hash(made((1,))) == hash(made((1,))) and made((1,)) != (2, (1,))
        assert repr(made((1,))).endswith("Derived(low=1, high=(1,))")
    record, library = twins(point)
    assert record(1, name="a") == record(1, name="b") and record(1) != library(1)
    for made in (record, library):
        with pytest.raises(TypeError, match="unhashable"):
            hash(made(1))


def test_what_is_the_same_object_is_equal() -> None:
    nan = float("nan")
    record = single(records.dataclass)
    assert record(nan) == record(nan) and record(nan) != record(float("nan"))


def test_a_record_does_not_change_and_is_replaced() -> None:
    for made in twins(point):
        record = made(1, [2])
        for name in ("x", "other"):
            with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
                setattr(record, name, 2)
        with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
            del record.x
        assert replace(record, x=5).total == 7 and record.total == 3


def test_methods_of_its_own_stay() -> None:
    for made in twins(peculiar):
        assert made(1.0) == made(2.0) and repr(made(1.0)) == "peculiar" and hash(made(1.0)) == hash(made(1.0))


def test_a_record_goes_to_another_process() -> None:
    options = ALGORITHMS["mondrian"].Options()
    assert pickle.loads(pickle.dumps(options)) == options == copy.deepcopy(options)


def test_a_record_that_changes_is_the_library_s() -> None:
    @records.dataclass
    class Changing:
        """Not frozen."""

        x: int

    made = Changing(1)
    made.x = 2
    assert made == Changing(2) and Changing.__hash__ is None


def test_a_required_field_after_a_default_is_refused_with_the_class() -> None:
    for dataclass in (records.dataclass, dataclasses.dataclass):
        with pytest.raises(TypeError, match=r"non-default argument 'y'.* follows default argument"):
            dataclass(frozen=True)(type("Disordered", (), {"__annotations__": {"x": int, "y": int}, "x": 0}))


def test_fields_that_records_do_not_have_are_refused_with_the_class() -> None:
    with pytest.raises(TypeError, match=r"'x' of .*: a record has no InitVar"):
        records.dataclass(frozen=True)(type("Passing", (), {"__annotations__": {"x": dataclasses.InitVar(int)}}))
    hashed = {"__annotations__": {"x": int}, "x": field(hash=False)}
    with pytest.raises(TypeError, match=r"'x' of .*: a record has no field\(hash=...\)"):
        records.dataclass(frozen=True)(type("Hashed", (), hashed))


def test_a_class_that_changes_does_not_derive_from_a_record() -> None:
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
        records.dataclass(type("Changing", (single(records.dataclass),), {"__annotations__": {"y": int}}))


def test_the_signature_of_a_class_is_known_before_its_first_record() -> None:
    record, library = (inspect.signature(cls).parameters for cls in twins(point))
    assert [(each.name, each.kind) for each in record.values()] == [(e.name, e.kind) for e in library.values()]
    assert record["name"].default == "p" and record["x"].default is inspect.Parameter.empty


def test_nothing_is_compiled_before_the_first_record_is_made() -> None:
    made = point(records.dataclass)
    first = made.__init__
    assert first.__code__.co_filename == importlib.import_module("anonymize.records").__file__
    made(1)
    assert made.__init__ is not first and made.__init__.__code__.co_filename == "<string>"
