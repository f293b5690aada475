"""Dates and times of day: how they are read, and what each level shows."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from anonymize.domain import build
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.domain.text_levels import DateCodes, Moments, zone_of
from anonymize.errors import SpecError, ValuesError
from anonymize.profiling.shapes import date_formats
from anonymize.spec import Codes, NumberBands, QuasiIdentifier, Zip3
from anonymize.spec.codes import SYSTEM_NAMES, SYSTEMS, SystemName, chapter_of, compact, large_areas, ranges
from anonymize.spec.hierarchy import DateLevels, DatePart, Dates, TimePart, Times
from anonymize.verify.labels import NumberLevels, reader_of

MONTHLY = [part for part in get_args(DatePart) if part != "week"]


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
    assert labels(Moments("times", get_args(TimePart), form), text) == expected


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


# --- systems ----------------------------------------------------------------------------------------------------------

SAMPLES: dict[SystemName, list[str]] = {
    "icd10": ["E11.9", "E119", "E11", "I21.0", "U07.1", "c50.9", "M54", "V01.1"],
    "icd10cm": ["E08.9", "C7A.010", "O9A.111", "S72.001A", "I1A.0", "B20"],
    "nace": ["01.11", "10.7", "C10.71", "A01", "99.00", "8621"],
    "isic": ["0111", "011", "A01", "9900"],
    "isco": ["2221", "222", "22", "0110", "9629"],
    "isced": ["3", "ED35", "344", "0", "8"],
    "iscedf": ["0613", "061", "06"],
    "nuts": ["DE212", "DE21", "DE", "FRL04", "SE110"],
}


def paths(domain: Taxonomy) -> dict[str, list[str]]:
    """The labels above each value, level by level, without the root."""
    return {
        text: [domain.labels[node] for node in domain.levels[1:-1, code]]
        for code, text in enumerate(domain.leaf_text())
        if code != domain.missing
    }


def built(source: object, values: list[str]) -> dict[str, list[str]]:
    return paths(build.build("x", QuasiIdentifier.model_construct(hierarchy=source), values, None, "*"))


@pytest.mark.parametrize(
    ("system", "code", "above"),
    [
        ("icd10", "E11.9", ["E11*", "E10-E14", "IV E00-E90"]),
        ("icd10", "f32.1", ["F32*", "F30-F39", "V F00-F99"]),
        ("icd10cm", "E11.9", ["E11*", "E08-E13", "IV E00-E89"]),
        ("icd10cm", "C7A.1", ["C7A*", "C7A-C7A", "II C00-D49"]),
        ("nace", "C10.71", ["10.7*", "10*", "C 10-33"]),
        ("nace", "6831", ["68.3*", "68*", "L 68-68"]),
        ("isic", "8620", ["862*", "86*", "Q 86-88"]),
        ("isco", "2221", ["222*", "22*", "2*"]),
        ("isced", "ED35", ["35*", "3*", "3-4"]),
        ("isced", "7", ["7*", "7*", "5-8"]),
        ("iscedf", "0613", ["061*", "06*"]),
        ("nuts", "DE212", ["DE21*", "DE2*", "DE*"]),
    ],
)
def test_a_code_stands_under_what_its_publication_says(system: SystemName, code: str, above: list[str]) -> None:
    assert built(Codes(codes=system), [code])[code] == above


@pytest.mark.parametrize("system", SYSTEM_NAMES)
def test_the_check_reads_every_label_at_the_levels_where_it_stands(system: SystemName) -> None:
    definition = QuasiIdentifier.model_construct(hierarchy=Codes(codes=system))
    domain = build.build("x", definition, SAMPLES[system], None, "*")
    reader = reader_of(definition, None, None)
    for value, labels in paths(domain).items():
        assert reader.extent([value]).finest[0] == 0
        for level, label in enumerate(labels, 1):
            last = len(labels) - labels[::-1].index(label)  # of a short code, the same label stands on several
            extent = reader.extent([label])
            assert level <= last == extent.finest[0] == extent.widest[0]
            assert level <= reader.extent([value, label]).widest[0] <= last


@pytest.mark.parametrize("system", SYSTEM_NAMES)
def test_codes_of_two_blocks_are_in_no_one_of_them(system: SystemName) -> None:
    definition = QuasiIdentifier.model_construct(hierarchy=Codes(codes=system))
    values = SAMPLES[system]
    above = paths(build.build("x", definition, values, None, "*"))
    for first in values:
        for second in values:
            levels = [level for level, (a, b) in enumerate(zip(above[first], above[second], strict=True), 1) if a == b]
            least = 0 if first == second else min(levels, default=len(above[first]) + 1)
            assert reader_of(definition, None, None).extent([first, second]).widest[0] in (least, 1 if least else 0)


@pytest.mark.parametrize("system", SYSTEM_NAMES)
def test_ranges_of_a_system_are_its_own(system: SystemName) -> None:
    several = sorted((each for each in ranges(system) if each.first != each.last), key=lambda each: each.first)
    assert ranges(system) and all(len(each.first) == SYSTEMS[system].key for each in ranges(system))
    assert all(before.last < after.first for before, after in pairwise(several))
    assert all(chapter_of(system, each.chapter).first <= each.first for each in ranges(system) if system != "nuts")


@pytest.mark.parametrize(
    ("system", "texts"),
    [
        ("icd10", ["A10.1", "E1", "11.9", "E11.9-", ""]),
        ("nace", ["04.11", "1", "Z10", "34"]),
        ("isco", ["2721", "4", "22211"]),
        ("isced", ["9", "ED", "x"]),
        ("nuts", ["XX1", "D", "DE2123"]),
    ],
)
def test_a_text_that_is_no_code_is_counted(system: SystemName, texts: list[str]) -> None:
    assert [compact(system, text) for text in texts] == [None] * len(texts)
    with pytest.raises(ValuesError, match=f"{len(texts)} of {len(texts) + 1} distinct values are not"):
        built(Codes(codes=system), [*texts, SAMPLES[system][0]])


# --- ZIP codes --------------------------------------------------------------------------------------------------------


def test_small_and_unknown_areas_are_one(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text('zip,people\n2138,15000\n02139-0001,"5,001"\n036,20000\n100,30000\n')
    assert large_areas(table) == {"021", "100"}
    above = built(Zip3(zip3=table), ["02141", "10001-1234", "03601", "59001", "021"])
    assert above == {"02141": ["021*"], "021": ["021*"], "10001-1234": ["100*"], "03601": ["000"], "59001": ["000"]}
    reader = reader_of(QuasiIdentifier.model_construct(hierarchy=Zip3(zip3=table)), None, None)
    levels = {text: reader.extent([text]).finest[0] for text in ("021*", "000", "036*", "02141")}
    assert levels == {"021*": 1, "000": 1, "036*": 0, "02141": 0}


@pytest.mark.parametrize("line", ["x,1", "021", "021,-3", "021,many", "021381,5"])
def test_a_line_that_is_no_area_is_named(tmp_path: Path, line: str) -> None:
    table = tmp_path / "people.csv"
    table.write_text(f"zip,people\n100,30000\n{line}\n")
    with pytest.raises(SpecError, match=r"people.csv:3: is no area"):
        large_areas(table)


# --- weeks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("levels", "value", "above"),
    [
        (("year", "decade"), "2020-W53", ["2020", "2020s"]),
        (("week", "year"), "2021-01-03", ["2020-W53", "2020"]),
        (("day", "week", "year"), "2024-12-30", ["2024-12-30", "2025-W01", "2025"]),
        (("week", "year"), "2024W05", ["2024-W05", "2024"]),
        (("week",), "2024-W05-3", ["2024-W05"]),
    ],
)
def test_weeks_are_in_the_years_of_iso_8601(levels: DateLevels, value: str, above: list[str]) -> None:
    source = Dates(dates=levels)
    assert built(source, [value])[value] == above
    reader = reader_of(QuasiIdentifier.model_construct(hierarchy=source), None, None)
    assert [reader.extent([label]).finest[0] for label in above] == list(range(1, len(above) + 1))
    assert all(reader.extent([value, label]).widest[0] <= level for level, label in enumerate(above, 1))


def test_weeks_have_no_months() -> None:
    with pytest.raises(ValuesError, match="1 of 1 distinct values are not ISO dates"):
        built(Dates(dates=("month", "year")), ["2024-W05"])
    with pytest.raises(ValueError, match="weeks are in no month"):
        Dates(dates=("week", "month"))


# --- bands ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "bounds", "labels"),
    [
        ([3, 18, 64, 65, 90], (18, 65), ["17-", "[18-64]", "[18-64]", "65+", "65+"]),
        ([20, 30], (18, 65), ["[18-64]", "[18-64]"]),
        ([-5, 0, 1], (0, 1), ["-1-", "0", "1+"]),
        ([17.5, 18.0, 70.0], (18, 65), ["18-", "[18-65)", "65+"]),
        ([1, 2], (1.5,), ["1.5-", "1.5+"]),
    ],
)
def test_bands_are_open_at_both_ends(values: list[float], bounds: tuple[float, ...], labels: list[str]) -> None:
    domain = build.bands(Numeric("x", np.array(values)), [bounds], "[{low}-{high}]", "*")
    assert [domain.labels[node] for node in domain.levels[1]] == labels


def test_a_level_of_bands_has_some_of_the_bounds_below() -> None:
    with pytest.raises(ValueError, match="each level to have some of the bounds"):
        NumberBands(bands=((18, 65), (18, 60)))


@pytest.mark.parametrize(
    ("low", "high", "without", "least", "most"),
    [
        (18, 29, (False, False), 1, 1),
        (18, 64, (False, False), 2, 2),
        (float("-inf"), 17, (False, False), 2, 0),
        (65, float("inf"), (False, False), 2, 0),
        (18, 65, (False, True), 2, 2),
        (20, 29, (False, False), 0, 1),
        (18, 66, (False, False), 0, 3),
    ],
)
def test_the_check_reads_bands(low: float, high: float, without: tuple[bool, bool], least: int, most: int) -> None:
    levels = NumberLevels(bands=((18, 30, 45, 65), (18, 65)))
    extent = levels.extent(None, low, high, without)
    assert (extent.finest[1], extent.widest[0]) == (least, most)
