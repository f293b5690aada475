"""Dates and times of day: how they are read, and what each level shows."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from anonymize.domain.moments import DateCodes, Moments, zone_of
from anonymize.profiling.shapes import date_formats
from anonymize.spec.hierarchy import DATE_PARTS, TIME_PARTS, Dates, Times

MONTHLY = [part for part in DATE_PARTS if part != "week"]


def labels(moments: Moments, text: str) -> list[str]:
    return [step(text) for step in moments.steps]


@pytest.mark.parametrize(
    ("text", "form", "labels_of"),
    [
        ("2016/05/03 14:35:59", "%Y/%m/%d %H:%M:%S", ["2016-05-03T14:35", "2016-05-03T14", "2016-05-03"]),
        ("3.5.2016 7:05", "%d.%m.%Y %H:%M", ["2016-05-03T07:05", "2016-05-03T07", "2016-05-03"]),
        ("May 03, 2016 02:35 PM", "%b %d, %Y %I:%M %p", ["2016-05-03T14:35", "2016-05-03T14", "2016-05-03"]),
        ("2016-05-03T14:35:00Z", None, ["2016-05-03T14:35", "2016-05-03T14", "2016-05-03"]),
        ("2016-05-03", None, ["2016-05-03", "2016-05-03", "2016-05-03"]),
    ],
)
def test_dates(text: str, form: str | None, labels_of: list[str]) -> None:
    moments = Moments("dates", MONTHLY, form)
    assert moments.fits(text) and labels(moments, text) == [*labels_of, "2016-05", "2016-Q2", "2016", "2010s"]


@pytest.mark.parametrize("text", ["", "2016/13/01", "2016-05-03", "03/05/2016", "2016/02/30", "2016/05/03 "])
def test_texts_of_another_format(text: str) -> None:
    assert not Moments("dates", ("year",), "%Y/%m/%d").fits(text)


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("14:35:10", None, ["14:35", "14:00-14:59", "12:00-17:59", "12:00-23:59"]),
        ("0:00", None, ["00:00", "00:00-00:59", "00:00-05:59", "00:00-11:59"]),
        ("02:35 PM", "%I:%M %p", ["14:35", "14:00-14:59", "12:00-17:59", "12:00-23:59"]),
    ],
)
def test_times(text: str, form: str | None, expected: list[str]) -> None:
    assert labels(Moments("times", TIME_PARTS, form), text) == expected


@pytest.mark.parametrize("text", ["24:00", "12:60", "noon", "12", "12:5"])
def test_no_times(text: str) -> None:
    assert not Moments("times", ("hour",), None).fits(text)


@given(st.datetimes(datetime(1969, 1, 1), datetime(2068, 12, 31)), st.sampled_from(list(date_formats())))
def test_what_a_format_writes_is_read_as_the_same_day(moment: datetime, known: tuple[str, str]) -> None:
    form, finest = known
    level = "month" if finest == "month" else "day"
    (shown,) = labels(Moments("dates", (level,), form), moment.strftime(form))
    assert shown == moment.strftime("%Y-%m" if level == "month" else "%Y-%m-%d")


@given(st.datetimes(datetime(1, 1, 1), datetime(9998, 1, 1)), st.integers(0, 86399))
def test_levels_are_nested(first: datetime, seconds: int) -> None:
    texts = [(first + timedelta(seconds=own)).isoformat(timespec="seconds") for own in (0, seconds)]
    paths = [labels(Moments("dates", MONTHLY, None), text) for text in texts]
    alike = [one == other for one, other in zip(*paths, strict=True)]
    assert alike == sorted(alike)


@pytest.mark.parametrize(
    "content",
    [
        {"format": "%m-%d", "levels": ["month"]},
        {"format": "%Y", "levels": ["month"]},
        {"format": "%Y-%m-%d", "levels": ["hour"]},
        {"format": "%Y-%m-%d %M", "levels": ["minute"]},
        {"format": "%Y-%Q", "levels": ["year"]},
        {"format": "%Y %Y", "levels": ["year"]},
        {"format": "year", "levels": ["year"]},
        {"format": "%Y %", "levels": ["year"]},
        {"format": "%Y-%m-%d", "levels": ["year", "month"]},
        {"format": "%Y-%m-%d", "levels": []},
    ],
)
def test_formats_that_do_not_tell_a_level_are_refused(content: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Dates.model_validate({"dates": content})


def test_a_time_needs_an_hour() -> None:
    with pytest.raises(ValidationError, match="nothing for the level half-day"):
        Times.model_validate({"times": {"format": "%M", "levels": ["half-day"]}})


BOUNDED = Moments("dates", ["month", "year", "decade"], None, codes=DateCodes("1934", "1999-06-15"))


@pytest.mark.parametrize(
    ("text", "labels_of"),
    [
        ("1920-05-03", ["1934-", "1934-", "1934-", "1930s-"]),
        ("1934-12-31", ["1934-", "1934-", "1934-", "1930s-"]),
        ("1935-01-01", ["1935-01-01", "1935-01", "1935", "1930s-"]),
        ("1950-01-01", ["1950-01-01", "1950-01", "1950", "1950s"]),
        ("1999-06-14", ["1999-06-14", "1999-06+", "1999+", "1990s+"]),
        ("1999-06-15", ["1999-06-15+", "1999-06+", "1999+", "1990s+"]),
        ("2024-02-29", ["1999-06-15+", "1999-06+", "1999+", "1990s+"]),
    ],
)
def test_dates_beyond_a_code_are_one_value(text: str, labels_of: list[str]) -> None:
    own = BOUNDED.coded(text)
    assert [own, *labels(BOUNDED, own)] == labels_of


def test_a_node_with_both_codes_in_it_shows_everything() -> None:
    moments = Moments("dates", ["year", "decade"], None, codes=DateCodes("1934", "1937"))
    assert [labels(moments, moments.coded(f"{year}-05-01"))[1] for year in (1900, 1935, 2000)] == ["*"] * 3


@pytest.mark.parametrize(
    ("text", "form", "day", "zone"),
    [
        ("2021-03-28T00:30:00+01:00", None, "2021-03-27", "+0100"),
        ("2021-03-28 23:30-02", None, "2021-03-29", "-0200"),
        ("2021-03-28T00:30:00Z", None, "2021-03-28", "+0000"),
        ("28.03.2021 00:30 +0100", "%d.%m.%Y %H:%M %z", "2021-03-27", "+0100"),
    ],
)
def test_a_zone_is_read_and_taken_off_where_it_is_asked_for(text: str, form: str | None, day: str, zone: str) -> None:
    assert labels(Moments("dates", ["day"], form, utc=True), text) == [day]
    assert labels(Moments("dates", ["day"], form), text) == ["2021-03-28"]
    assert zone_of(text, form) == zone


def test_what_has_no_zone_is_not_in_utc() -> None:
    assert not any(Moments("dates", ["day"], None, utc=True).fits(each) for each in ("2021-03-28", "2021-03-28T00:30"))
    with pytest.raises(ValidationError, match="no zone"):
        Dates.model_validate({"dates": {"format": "%Y-%m-%d", "levels": ["day"], "utc": True}})
