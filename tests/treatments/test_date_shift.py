"""Date shifting: what stays exact for a person, and what needs a key."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from anonymize.errors import DataError, UsageError
from tests.common.treatments import Made, make_step

DAY = date(2020, 2, 27)
VISITS: dict[str, Any] = {
    "patient": [row // 3 for row in range(300)],
    "came": [str(DAY + timedelta(days=row % 7)) for row in range(300)],
    "left": [str(DAY + timedelta(days=row % 7 + 3)) if row % 5 else None for row in range(300)],
}


def moved(columns: Any = VISITS, /, **entry: Any) -> Made:
    settings = {"method": "date-shift", "columns": ["came", "left"], "by": ["patient"], "days": 30, **entry}
    made = make_step(columns, **settings)
    assert not made.measured().wrong
    return made


def days(made: Made, name: str) -> list[int | None]:
    return [
        None if after is None else (date.fromisoformat(after) - date.fromisoformat(before)).days
        for before, after in zip(VISITS[name], made.texts[name], strict=True)
    ]


def test_all_dates_of_a_person_move_alike_and_never_by_nothing() -> None:
    made = moved()
    came, left = days(made, "came"), days(made, "left")
    for patient in range(100):
        rows = slice(3 * patient, 3 * patient + 3)
        assert len({*came[rows], *left[rows]} - {None}) == 1
    assert set(came) <= set(range(-30, 31)) - {0}
    assert len(set(came)) > 30
    assert [row for row, text in enumerate(made.texts["left"]) if text is None] == list(range(0, 300, 5))


def test_offsets_are_the_keys_and_not_the_seeds() -> None:
    first, again, other = moved(seed=1).texts, moved(seed=2).texts, moved(key=b"another").texts
    assert first == again != other


def test_a_person_moves_alike_in_every_table() -> None:
    alone = moved({name: cells[297:] for name, cells in VISITS.items()})
    assert alone.texts["came"] == moved().texts["came"][297:]


def test_people_who_read_alike_together_are_not_one_person() -> None:
    columns = {"a": ["x", "xy"], "b": ["yz", "z"], "came": ["2020-01-01"] * 2}
    seen = {tuple(moved(columns, columns=["came"], by=["a", "b"], days=10_000).texts["came"])}
    assert all(one != other for one, other in seen)


def test_it_needs_a_key() -> None:
    with pytest.raises(UsageError, match="date-shift needs --key"):
        moved(key=None)


def test_no_offset_is_in_what_is_declared_or_reported() -> None:
    made = moved()
    assert made.change.declared == {"days": 30, "by": ["patient"]}
    assert not made.change.private
    assert made.measured().figures == {"persons": 100, "dates": 540}


def test_times_of_day_stay() -> None:
    columns = {"patient": [1, 1], "came": ["28/02/2020 23:59", "01/03/2020 00:01"]}
    texts = moved(columns, columns=["came"], format="%d/%m/%Y %H:%M").texts["came"]
    one, other = (datetime.strptime(str(text), "%d/%m/%Y %H:%M") for text in texts)
    assert other - one == timedelta(days=1, minutes=2)
    assert str(texts[0]).endswith("23:59")


def test_dates_of_a_typed_table_stay_of_their_type() -> None:
    columns = {"patient": ["a", "b", "b"], "came": [date(2020, 1, 1), None, date(2021, 1, 1)]}
    made = moved(columns, columns=["came"], form="parquet")
    assert made.change.columns["came"].cells.dtype == pl.Date
    assert made.texts["came"][1] is None


@pytest.mark.parametrize("odd", ["2020-02-30", "27.02.2020", "2020-2-7", "soon"])
def test_what_is_no_date_is_an_error_with_column_count_and_line(odd: str) -> None:
    with pytest.raises(DataError, match=r"csv:3: column 'came': no date in the format %Y-%m-%d in 2 rows") as error:
        moved({"patient": [1, 1, 2], "came": ["2020-02-01", odd, odd]}, columns=["came"])
    assert odd not in str(error.value)


def test_a_date_of_nobody_is_an_error_with_its_line() -> None:
    with pytest.raises(DataError, match="csv:3: column 'patient': a date without whose it is in 1 row"):
        moved({"patient": ["1", None], "came": ["2020-02-01", "2020-02-01"]}, columns=["came"])


def test_a_date_that_would_leave_the_calendar_is_an_error() -> None:
    columns = {"patient": list(range(40)), "came": ["9999-12-31"] * 40}
    with pytest.raises(DataError, match="leave the years from 1 to 9999"):
        moved(columns, columns=["came"])
