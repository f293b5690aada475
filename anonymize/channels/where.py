"""Conditions on attributes, as a recipient writes them: `age in 30-40 and sex = M`.

    condition   comparison {"and" comparison}
    comparison  NAME "=" VALUE | NAME "!=" VALUE | NAME "in" RANGE | NAME "in" "(" VALUE {"," VALUE} ")"
                | NAME ("<" | "<=" | ">" | ">=") NUMBER

A range is two numbers with a hyphen between them, both ends included: 30-40, -5--1. Names and values with spaces or
signs in them stand in single or double quotes; a quote inside is doubled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from anonymize.domain.cells import NUMBER
from anonymize.errors import UsageError
from anonymize.records import dataclass

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


def parse(text: str) -> tuple[Comparison, ...]:
    """The comparisons, all of which have to hold. Raises UsageError that says at which character it goes wrong.

    >>> parse("age in 30-40 and 'zip code' != 02138")
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
