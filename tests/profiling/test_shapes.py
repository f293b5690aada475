"""Forms of texts: what is recognized, and what is not taken for something else."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest

from anonymize.profiling.shapes import date_formats, shape_of

CHANCE = random.Random(1)
MOMENTS = [datetime(1990, 1, 1) + timedelta(minutes=CHANCE.randrange(15_000_000)) for _ in range(300)]


@pytest.mark.parametrize("form", [form for form, _ in date_formats()])
def test_dates_of_every_format(form: str) -> None:
    texts = list(dict.fromkeys(moment.strftime(form) for moment in MOMENTS))
    shape = shape_of(texts)
    assert shape is not None and shape.kind == "date"
    assert form in (shape.format, shape.ambiguous) or shape.format is None


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (["2016-05-03", "2017-01-01"], "ISO dates"),
        (["7:05", "23:59:10"], "times of day"),
        (["a@b.org", "c.d@e.com"], "e-mail addresses"),
        (["123-45-6789", "987-65-4321"], "social security numbers"),
        (["J45.1", "I10", "E11.9", "F32"], "ICD-10 codes"),
        (["J45.1", "C7A.010", "E08.9", "S72.001A"], "ICD-10-CM codes"),
        (["DE212", "FRL04", "SE110", "EL30"], "NUTS codes"),
        (["2020-W53", "2021-W01"], "ISO weeks"),
        (["02138", "10001", "94105"], "codes of 5 digits, some with a zero in front"),
        (["CA", "NY", "TX", "WA", "OR"], "US states"),
        (["DE", "FR", "GB", "PL", "CZ"], "ISO country codes"),
        (["SW1A 1AA", "M1 1AE", "B33 8TH"], "British postcodes"),
        ([f"the patient number {n} said that it hurts" for n in range(30)], "free text"),
        (["cook", "clerk"], "text"),
        (["10.5", "11.25", "12.0"], "text"),
        (["10,5", "1.011,25", "12"], "numbers with a comma, a sign or a unit"),
        (["$1,200", "$15.50", "-$3"], "numbers with a comma, a sign or a unit"),
        (["₹1,200", "₹15", "₹3"], "numbers with a comma, a sign or a unit"),
        (["R$ 1.200,50", "R$ 15,00"], "numbers with a comma, a sign or a unit"),
        (["12%", "7 %", "100%"], "numbers with a comma, a sign or a unit"),
        (["a,b", "1,2", "c"], "text"),
        (["31", "99", "7"], "text"),
        (["1-2", "3-4"], "text"),
    ],
)
def test_forms(texts: list[str], name: str) -> None:
    shape = shape_of(texts)
    assert shape is not None and shape.name == name


def test_days_and_months_that_may_be_either_are_said_to_be() -> None:
    shape = shape_of(["01/02/2016", "03/04/2016"])
    assert shape is not None and {shape.format, shape.ambiguous} == {"%d/%m/%Y", "%m/%d/%Y"}


def test_no_text_has_no_form() -> None:
    assert shape_of([]) is None
