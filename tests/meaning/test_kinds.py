"""Conditions as people write them, and where those that make no sense are refused."""

from __future__ import annotations

import pytest

from anonymize.errors import UsageError
from anonymize.meaning.kinds import Comparison, Span, conditions_in


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age in 30-40 and sex = M", [Comparison("age", span=Span(30, 40)), Comparison("sex", ("M",))]),
        ("sex=M", [Comparison("sex", ("M",))]),
        ("sex != M", [Comparison("sex", ("M",), negated=True)]),
        ("job in (a, 'b c', \"d\")", [Comparison("job", ("a", "b c", "d"))]),
        ("t in -5--1.5", [Comparison("t", span=Span(-5, -1.5))]),
        ("age >= 30", [Comparison("age", span=Span(30, None))]),
        ("age < 1e3", [Comparison("age", span=Span(None, 1000, open=True))]),
        (
            "'zip code' = '02138' AND age > 3",
            [Comparison("zip code", ("02138",)), Comparison("age", span=Span(3, None, True))],
        ),
        ("name = 'O''Brien'", [Comparison("name", ("O'Brien",))]),
        ("salary-class = '<=50K'", [Comparison("salary-class", ("<=50K",))]),
        ("age = [30-39]", [Comparison("age", ("[30-39]",))]),
        ("x in (30-40)", [Comparison("x", ("30-40",))]),
        ("and = and and in in (in)", [Comparison("and", ("and",)), Comparison("in", ("in",))]),
    ],
)
def test_conditions(text: str, expected: list[Comparison]) -> None:
    assert list(conditions_in(text)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the name of an attribute, before character 1"),
        ("age", "expected =, !=, <, <=, >, >= or in"),
        ("age =", "expected a value"),
        ("age = 3 sex = M", "expected `and`"),
        ("age = 3 and", "expected the name of an attribute"),
        ("age in", "expected a range such as 30-40, or values such as (A, B)"),
        ("age in 40-30", "from the lower number to the higher"),
        ("age in M", "expected a range"),
        ("age in (3", "expected , or )"),
        ("age in ()", "expected a value"),
        ("age > M", "expected a number"),
        ("age = 'M", "a quote is not closed"),
        ("(age = 3)", "expected the name of an attribute"),
        ("age = 3 or sex = M", "expected `and`"),
    ],
)
def test_what_makes_no_sense(text: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        conditions_in(text)
    assert message in str(raised.value)
