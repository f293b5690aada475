"""Records: `dataclass` of the standard library for what does not change, compiled only where it is used.

The library compiles six functions for every frozen class, when its module is imported: a third of the time that a
command takes before it begins, as a release has some four hundred records. Here comparing, hashing, printing and the
refusal of changes are written once for all of them, and `__init__` is compiled when the first record of its class is
made. A type checker sees the library's own decorator. Records differ from the library's frozen classes in this:

- A class with fields that derives from a record has to be a record: the library itself takes records for classes
  that change, and what it makes of them fails when its first object is made. No subclass can set attributes.
- Values are compared as tuples are, so that the same object equals itself, as a NaN does; since Python 3.13 the library
  compares them field by field.
- The signature of a class shows no types, and that of its `__init__` is `(*values, **named)` until the first record is
  made or the signature of the class is read.
- `InitVar` and `field(hash=...)` are refused, as are the decorator's other arguments.
"""

from __future__ import annotations

import dataclasses
import inspect
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, repr=True, kw_only=False):
        """The decorator, as the standard library has it; only frozen classes are made here."""

        def decorated(cls):
            if not frozen:
                if any(vars(base).get("__setattr__") is _refuse_to_assign for base in cls.__mro__):
                    raise TypeError("cannot inherit non-frozen dataclass from a frozen one")
                return dataclasses.dataclass(repr=repr, kw_only=kw_only)(cls)
            return _record(dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls), repr)

        return decorated if cls is None else decorated(cls)


def _record(cls: Any, printed: bool) -> Any:
    """The class with the methods of a frozen dataclass, but for those that it has of its own."""
    _check(cls)
    methods: dict[str, Any] = {
        "__init__": _first_init(cls),
        **_comparing(cls),
        **({"__repr__": _repr} if printed else {}),
    }
    own = dict(vars(cls))
    if own.get("__hash__") is None:
        own.pop("__hash__", None)
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    cls.__signature__ = _LazySignature()
    cls.__setattr__, cls.__delattr__ = _refuse_to_assign, _refuse_to_delete
    return cls


def _check(cls: Any) -> None:
    """TypeError for what the library refuses when it compiles `__init__`, and for what records do not have."""
    optional = False
    for each in fields(cls):
        if each.hash is not None:
            raise TypeError(f"field {each.name!r} of {cls.__qualname__}: a record has no field(hash=...)")
        if each.init and not each.kw_only:
            required = each.default is MISSING and each.default_factory is MISSING
            if required and optional:
                raise TypeError(f"non-default argument {each.name!r} of {cls.__qualname__} follows default argument")
            optional = not required
    for each in cls.__dataclass_fields__.values():
        if each._field_type.name == "_FIELD_INITVAR":
            raise TypeError(f"field {each.name!r} of {cls.__qualname__}: a record has no InitVar")


# --- what all records share -------------------------------------------------------------------------------------------


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    texts = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(texts)})"


def _refuse_to_assign(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _tuple(names: Sequence[str], record: object) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in names)


def _comparing(cls: Any) -> dict[str, Callable[..., Any]]:
    """Equal are records of one class with equal values, in a tuple: what is the same object is not compared."""
    names = [each.name for each in fields(cls) if each.compare]
    values: Callable[[Any], Any] = attrgetter(*names) if len(names) > 1 else partial(_tuple, names)

    def equal(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: object) -> int:
        return hash(values(self))

    return {"__eq__": equal, "__hash__": hashed}


# --- what each is compiled for ----------------------------------------------------------------------------------------


def _first_init(cls: Any) -> Callable[..., None]:
    """An `__init__` that is replaced by the compiled one when the first record is made."""

    def first_init(self: object, *values: object, **named: object) -> None:
        if cls.__init__ is first_init:
            cls.__init__ = _init(cls)
        cls.__init__(self, *values, **named)

    first_init.record = cls  # type: ignore[attr-defined]
    return first_init


class _LazySignature:
    """`__signature__` of a class, for `inspect` and `help`: `__init__` is compiled when it is read."""

    def __get__(self, record: object, cls: Any) -> inspect.Signature:
        if record is not None:
            raise AttributeError("__signature__")
        owner = getattr(cls.__init__, "record", None)
        if owner is not None:
            owner.__init__ = _init(owner)
        _, *parameters = inspect.signature(cls.__init__).parameters.values()
        return inspect.Signature(parameters)


def _init(cls: Any) -> Callable[..., None]:
    """`__init__` of a class, compiled: defaults are those of its fields, and values are set past the refusal."""
    scope: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": MISSING}
    ordered = sorted(fields(cls), key=lambda each: bool(each.kw_only))
    parameters, body = ["self"], []
    for each in ordered:
        if each.init and each.kw_only and "*" not in parameters:
            parameters.append("*")
        parameter, value = _parameter(each, scope)
        parameters += [parameter] if each.init else []
        body += [f" _set(self, {each.name!r}, {value})"] if value else []
    body += [" self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    exec(f"def __init__({', '.join(parameters)}):\n" + ("\n".join(body) or " pass"), scope)
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _parameter(each: Field[Any], scope: dict[str, Any]) -> tuple[str, str]:
    """A field as a parameter, and the expression of its value; an empty one where nothing is set."""
    name, default = each.name, f"_default_{each.name}"
    if each.default_factory is not MISSING:
        scope[default] = each.default_factory
        return f"{name}=_MISSING", f"{default}() if {name} is _MISSING else {name}" if each.init else f"{default}()"
    if each.default is not MISSING:
        scope[default] = each.default
        return f"{name}={default}", name if each.init else ""
    return name, name if each.init else ""
