"""The kinds of meaning that a column can have, what a manifest says of each, and the conditions by
which a recipient counts."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, ClassVar, TypeAlias

import numpy as np

from anonymize import channels
from anonymize.channels import Floats
from anonymize.domain.cells import NUMBER
from anonymize.errors import UsageError
from anonymize.records import dataclass
from anonymize.spec.notation import as_number

DEFINED = {
    "exact": "the value itself",
    "spans": "an interval, a node or a set that the value lies in, or a suppressed cell",
    "channel": "what a mechanism with known probabilities made of the value",
    "detached": "a value of the row's group, whoever has it",
    "moved": "another person's value",
    "aggregate": "a count or a sum that a mechanism released",
    "invented": "a value of nobody",
}
"""The meanings that there are, in the words of a reader."""


class Meaning(ABC):
    """What a cell of a column says of the person behind it."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """Which of `DEFINED` it is."""

    @property
    def read(self) -> bool:
        """Whether anything here reads cells of it; of others it is only known what they are called."""
        return True

    def entry(self) -> dict[str, Any]:
        """What its reader has to know in addition to the kind, as JSON."""
        return {}


@dataclass(frozen=True)
class Exact(Meaning):
    """The value passed through as it was."""

    kind: ClassVar[str] = "exact"


@dataclass(frozen=True)
class Spanning(Meaning):
    """The value is among those that the cell covers: an interval, a node, a set, or anything where it is suppressed.

    `labels`: numbers, too, are shown as nodes of their hierarchies.
    """

    kind: ClassVar[str] = "spans"
    labels: bool = False

    def entry(self) -> dict[str, Any]:
        """Whether numbers are labels."""
        return {"labels": True} if self.labels else {}


@dataclass(frozen=True)
class Detached(Meaning):
    """The value is one of the row's group, and it is not said which. `by`: the column of groups; `table`: the path of
    the table with the values of each group, None where they are dealt out to the rows."""

    kind: ClassVar[str] = "detached"
    by: str
    table: str | None = None

    def entry(self) -> dict[str, Any]:
        """The column of groups, and the other table by its name in the folder of the manifest."""
        return {"by": self.by} | ({} if self.table is None else {"table": self.table})


@dataclass(frozen=True)
class Changed(Meaning):
    """A step of `treatments` changed the value. `becomes`: which of `DEFINED` a cell is; `method`: of the step;
    `details`: what a recipient may know of it, such as a matrix or a variance."""

    becomes: str
    method: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.becomes

    def entry(self) -> dict[str, Any]:
        """The method, and what else may be known."""
        return {"method": self.method, **self.details}


@dataclass(frozen=True)
class Named(Meaning):
    """A meaning of which it is known what it is called, and that nothing here reads. `details`: what else is said."""

    called: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.called

    @property
    def read(self) -> bool:
        return False

    def entry(self) -> dict[str, Any]:
        """What else is said of it."""
        return dict(self.details)


# --- channels ---------------------------------------------------------------------------------------------------------

Bounds: TypeAlias = tuple[float | None, float | None]


@dataclass(frozen=True)
class Channel(Meaning):
    """A mechanism with known probabilities replaced the values (Warner's design, over categories). A cell shows the
    category that it had with probability p, and each other one of d with (1 - p) / (d - 1), whatever the other columns
    show.

    `p`; `values`: the categories as they are written; `bounds`: what each spans where they are numbers.

    `values` is None where the column was left alone: then they are those of the table, and p is 1.
    """

    kind: ClassVar[str] = "channel"
    name: str
    role: str
    p: float
    values: tuple[str, ...] | None = None
    bounds: tuple[Bounds | None, ...] | None = None
    half_open: bool = False

    @property
    def size(self) -> int:
        """How many categories it is over; 0 where the column was left alone."""
        return len(self.values or ())

    @property
    def likelihood(self) -> channels.Factor:
        """How likely each value is shown, given the true one; one that was left alone is shown for certain."""
        return (1.0, 0.0) if self.size < 2 else channels.matrix(self.p, self.size)

    @property
    def inverse(self) -> channels.Factor:
        """The inverse of the channel; that of a column that was left alone changes nothing."""
        return (1.0, 0.0) if self.p >= 1 or self.size < 2 else channels.inverse(self.p, self.size)

    @property
    def odds(self) -> dict[str, float]:
        """How likely the value itself is shown, and each other one, of how many values."""
        return {"p": self.p, "q": channels.other(self.p, self.size), "values": self.size}

    def entry(self) -> dict[str, Any]:
        """p, the categories, and what they span."""
        block: dict[str, Any] = {"role": self.role, "p": self.p}
        if self.values is None:
            return block
        block["values"] = list(self.values)
        if self.bounds is not None:
            block |= {"bounds": self.bounds, "half_open": self.half_open}
        return block

    @classmethod
    def of_entry(cls, name: str, entry: Mapping[str, Any]) -> Channel:
        """The channel of an entry. Raises an error of these kinds for what is none: lookup, type, value, arithmetic."""
        values = tuple(map(str, entry["values"])) if "values" in entry else None
        spans: list[Bounds | None] = [
            None if pair is None else (_end(pair[0]), _end(pair[1])) for pair in entry.get("bounds") or ()
        ]
        p, size = float(entry["p"]), len(values or ())
        if not (p == 1 or (values is not None and 1 / size < p < 1)) or (spans and len(spans) != size):
            raise ValueError
        if values is not None and len(set(values)) != size:
            raise ValueError
        bounds = tuple(spans) if "bounds" in entry else None
        return cls(name, str(entry["role"]), p, values, bounds, bool(entry.get("half_open", False)))

    def chosen(self, comparison: Comparison, values: tuple[str, ...]) -> Floats:
        """(values,) 1 for each value that a comparison selects, 0 for the others.

        Raises UsageError for a value that there is not, for a range over values that are no numbers, and for one that
        cuts an interval in two.
        """
        if comparison.span is not None:
            bounds = self.bounds or tuple(_as_number(value) for value in values)
            if not any(bounds):
                raise UsageError(f"--where: the values of {self.name} are not numbers")
            return np.array([self._within(comparison.span, each) for each in bounds], np.float64)
        if not set(comparison.values) <= set(values):
            raise UsageError(f"--where: {self.name} has no such value")
        equal = np.array([value in comparison.values for value in values], np.float64)
        return 1 - equal if comparison.negated else equal

    def _within(self, span: Span, bounds: Bounds | None) -> bool:
        """Whether a value lies in a span as a whole."""
        if bounds is None:
            return False
        low = -np.inf if bounds[0] is None else bounds[0]
        high = np.inf if bounds[1] is None else bounds[1]
        start = -np.inf if span.low is None else span.low
        stop = np.inf if span.high is None else span.high
        if low == high:
            return start < low < stop if span.open else start <= low <= stop
        half = self.half_open or span.open
        inside = start <= low and high <= stop
        outside = high < start or low > stop or (half and (high <= start or low >= stop))
        if not inside and not outside:
            hint = "choose bounds at the ends of the intervals"
            raise UsageError(f"--where: the range of {self.name} cuts an interval in two ({hint})")
        return inside


def _as_number(text: str) -> Bounds | None:
    """A value of a table as a number; None where it is none."""
    number = as_number(text)
    return None if number is None or not math.isfinite(number) else (number, number)


def _end(value: object) -> float | None:
    """An end of bounds. Raises TypeError for what is neither a number nor nothing."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise TypeError
    return value


# --- conditions -------------------------------------------------------------------------------------------------------
# Conditions on attributes, as a recipient writes them: `age in 30-40 and sex = M`.
#
#     condition   comparison {"and" comparison}
#     comparison  NAME "=" VALUE | NAME "!=" VALUE | NAME "in" RANGE | NAME "in" "(" VALUE {"," VALUE} ")"
#                 | NAME ("<" | "<=" | ">" | ">=") NUMBER
#
# A range is two numbers with a hyphen between them, both ends included: 30-40, -5--1. Names and values with spaces or
# signs in them stand in single or double quotes; a quote inside is doubled.

_TOKEN = re.compile(
    r"""\s*(?: (?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*") | (?P<sign><=|>=|!=|[=<>(),]) | (?P<word>[^\s=!<>(),'"]+) )""",
    re.VERBOSE,
)
_RANGE = re.compile(rf"({NUMBER})-({NUMBER})")
ORDERS = ("<", "<=", ">", ">=")


@dataclass(frozen=True)
class Span:
    """Numbers from `low` to `high`; None: without an end. The ends belong to it unless they are `open`."""

    low: float | None
    high: float | None
    open: bool = False


@dataclass(frozen=True)
class Comparison:
    """An attribute has one of some values (or none of them, if `negated`), or a number of a span."""

    name: str
    values: tuple[str, ...] = ()
    span: Span | None = None
    negated: bool = False


@dataclass(frozen=True)
class _Token:
    text: str
    kind: str
    """quoted, sign, word or end"""


def conditions_in(text: str) -> tuple[Comparison, ...]:
    """The comparisons, all of which have to hold. Raises UsageError that says at which character it goes wrong.

    >>> conditions_in("age in 30-40 and 'zip code' != 02138")
    (Comparison(name='age', values=(), span=Span(low=30.0, high=40.0, open=False), negated=False),
     Comparison(name='zip code', values=('02138',), span=None, negated=True))
    """
    return tuple(_Parser(text).comparisons())


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def comparisons(self) -> Iterator[Comparison]:
        yield self._comparison()
        while (token := self._next()).kind != "end":
            if token.kind != "word" or token.text.lower() != "and":
                raise self._wrong("expected `and`")
            yield self._comparison()

    def _comparison(self) -> Comparison:
        name = self._value("the name of an attribute")
        sign = self._next()
        if sign.kind == "sign" and sign.text in ("=", "!="):
            return Comparison(name, (self._value("a value"),), negated=sign.text == "!=")
        if sign.kind == "sign" and sign.text in ORDERS:
            return Comparison(name, span=self._beyond(sign.text))
        if sign.kind == "word" and sign.text.lower() == "in":
            return self._within(name)
        raise self._wrong("expected =, !=, <, <=, >, >= or in")

    def _beyond(self, sign: str) -> Span:
        token = self._next()
        if not re.fullmatch(NUMBER, token.text):
            raise self._wrong("expected a number")
        number, is_open = float(token.text), sign in ("<", ">")
        return Span(None, number, is_open) if sign[0] == "<" else Span(number, None, is_open)

    def _within(self, name: str) -> Comparison:
        token = self._next()
        if token.kind == "word" and (range_match := _RANGE.fullmatch(token.text)):
            low, high = float(range_match[1]), float(range_match[2])
            if low > high:
                raise self._wrong("expected a range from the lower number to the higher")
            return Comparison(name, span=Span(low, high))
        if token != _Token("(", "sign"):
            raise self._wrong("expected a range such as 30-40, or values such as (A, B)")
        values = [self._value("a value")]
        while (token := self._next()) == _Token(",", "sign"):
            values.append(self._value("a value"))
        if token != _Token(")", "sign"):
            raise self._wrong("expected , or )")
        return Comparison(name, tuple(values))

    def _value(self, what: str) -> str:
        token = self._next()
        if token.kind not in ("word", "quoted"):
            raise self._wrong(f"expected {what}")
        return token.text

    def _next(self) -> _Token:
        if not self._text[self._position :].strip():
            return _Token("", "end")
        match = _TOKEN.match(self._text, self._position)
        if match is None:
            raise self._wrong("a quote is not closed")
        self._position = match.end()
        kind = match.lastgroup or "end"
        text = match[kind]
        return _Token(text[1:-1].replace(text[0] * 2, text[0]) if kind == "quoted" else text, kind)

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"--where: {what}, before character {self._position + 1}")
