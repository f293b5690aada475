import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.spec import Missing
from anonymize.table.encode import LARGEST, Field, NumberColumn, TextColumn, code_type

TEXT = Field("x", pl.String(), Missing(("", "?")))


def fed(encoder: NumberColumn | TextColumn, values: list[object], dtype: pl.DataType, size: int = 3) -> None:
    frame = pl.DataFrame({"x": pl.Series(values, dtype=dtype)}).select(encoder.expressions)
    for start in range(0, len(frame), size):
        encoder.add(frame[start : start + size])


AS_THEY_STAND = Field("x", pl.String(), Missing(("", "?"), normalize=False))


def numbers(values: list[object], field: Field = TEXT, size: int = 3) -> NumberColumn:
    column = NumberColumn(field, "0")
    fed(column, values, field.dtype, size)
    return column


def decoded(column: NumberColumn) -> list[float | None]:
    values, codes, missing = column.encode()
    assert codes.dtype == code_type(len(values) + (missing is not None))
    assert (values[1:] > values[:-1]).all()
    return [None if code == missing else values[code].item() for code in codes]


@pytest.mark.parametrize(("size", "dtype"), [(1, "u1"), (256, "u1"), (257, "u2"), (65536, "u2"), (65537, "u4")])
def test_codes_take_the_smallest_type(size: int, dtype: str) -> None:
    assert code_type(size) == np.dtype(dtype)


def test_whole_numbers_stay_whole() -> None:
    column = numbers(["007", "+7", "-3", " 12 ", "?", None, "", "-0", "0"])
    values, codes, missing = column.encode()
    assert (values.dtype, values.tolist(), missing) == (np.dtype(np.int64), [-3, 0, 7, 12], 4)
    assert codes.tolist() == [2, 2, 0, 3, 4, 4, 4, 1, 1]


@pytest.mark.parametrize("written", ["1.0", "1e0", "1.", "+1.0", " 1.00 "])
def test_a_fraction_makes_a_column_of_fractions(written: str) -> None:
    values, codes, _ = numbers(["1", "2", "3", "4", "5", written]).encode()
    assert (values.dtype, values.tolist(), codes.tolist()) == (
        np.dtype(np.float64),
        [1, 2, 3, 4, 5],
        [0, 1, 2, 3, 4, 0],
    )


def test_negative_zero_is_zero() -> None:
    values, codes, _ = numbers(["-0.0", "0.0", "0", "0.5"]).encode()
    assert [str(value) for value in values] == ["0.0", "0.5"]
    assert codes.tolist() == [0, 0, 0, 1]


NO_NUMBERS = ["x", "nan", "NaN", "inf", "-Infinity", "1e999", "1,5", "1 000", "1_000", "0x1f", "--1", "1e", "true"]
NO_NUMBERS += ["9223372036854775808", "-99999999999999999999", "٣", "1;"]


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number(text: str) -> None:
    column = numbers(["1", "2", "3", "?", "4.5", text, "5", text])
    assert (column.bad.count, column.bad.row) == (2, 5)


@pytest.mark.parametrize("text", [" ", "\u00a0", "\u200b\t"])
def test_a_blank_is_missing_unless_texts_are_taken_as_they_stand(text: str) -> None:
    assert decoded(numbers(["1", text, " 2\u200b"])) == [1, None, 2]
    column = numbers(["1", text], Field("x", pl.String(), Missing(("", "?"), normalize=False)))
    assert (column.bad.count, column.bad.row) == (1, 1)


def test_an_empty_text_is_no_number_where_it_does_not_mean_missing() -> None:
    column = numbers(["1", None, ""], Field("x", pl.String(), Missing(("?",), null=False)))
    assert (column.bad.count, column.bad.row) == (2, 1)


def test_numbers_that_mean_missing() -> None:
    field = Field("x", pl.String(), Missing(("", "-9", "99.5")))
    assert decoded(numbers(["1", "-9", "-9.0", "", "99.5", "0"], field)) == [1, None, -9, None, None, 0]
    assert decoded(numbers([1, -9, None], Field("x", pl.Int64(), Missing(("-9",))))) == [1, None, None]
    column = numbers(["1", "-9", None], Field("x", pl.String(), Missing(("-9",), null=False)))
    assert (column.bad.count, column.bad.row) == (1, 2)


def test_fractions_beside_whole_numbers_that_floats_cannot_hold() -> None:
    assert numbers(["0.5", "1", "2", str(2**53 + 1)]).inexact
    assert not numbers(["0.5", "1", "2", str(2**53)]).inexact
    assert not numbers(["5", "1", "2", str(2**53 + 1)]).inexact


def test_numbers_far_apart() -> None:
    column = numbers([str(2**63 - 1), str(-(2**63)), "", "0", str(2**62), "0"])
    assert decoded(column) == [2**63 - 1, -(2**63), None, 0, 2**62, 0]


@pytest.mark.parametrize("dtype", [pl.String(), pl.Int32(), pl.Float64()])
def test_nothing_but_missing_values(dtype: pl.DataType) -> None:
    values, codes, missing = numbers([None] * 4, Field("x", dtype, Missing(("",)))).encode()
    assert (len(values), codes.tolist(), missing) == (0, [0] * 4, 0)


@pytest.mark.parametrize("dtype", [pl.Int8(), pl.UInt64(), pl.Float32(), pl.Float64(), pl.Decimal(10, 2)])
def test_typed_numbers(dtype: pl.DataType) -> None:
    column = numbers([1, None, 7, 1, 3, 3, 100], Field("x", dtype, Missing(("", "?", "9"))))
    assert column.bad.count == 0
    assert decoded(column) == [1, None, 7, 1, 3, 3, 100]


def test_typed_values_that_are_no_numbers() -> None:
    assert numbers([1.0, math.nan, None, math.inf], Field("x", pl.Float64(), Missing(()))).bad.count == 2
    assert numbers([1, 2**63, None], Field("x", pl.UInt64(), Missing(()))).bad.count == 1


whole = st.integers(-(2**63), 2**63 - 1) | st.integers(-40, 400)


@given(st.lists(whole | st.none(), min_size=1, max_size=30), st.integers(1, 10))
def test_whole_numbers_survive(values: list[int | None], size: int) -> None:
    assert decoded(numbers([None if v is None else str(v) for v in values], size=size)) == values


@given(st.lists(st.floats(-LARGEST, LARGEST) | st.none(), min_size=1, max_size=30), st.integers(1, 10))
def test_fractions_survive(values: list[float | None], size: int) -> None:
    assert decoded(numbers([None if v is None else repr(v) for v in values], size=size)) == values


def text_column(values: list[object], field: Field = TEXT) -> TextColumn:
    column = TextColumn(field, "0")
    fed(column, values, field.dtype)
    return column


def test_texts_are_sorted_and_missing_is_apart() -> None:
    values: list[object] = ["b", "?", "a", None, "", "b ", "B"]
    column = text_column(values)
    assert column.distinct() == (["B", "a", "b"], True)
    codes = column.codes({"a": 5, "b": 3, "B": 0}, 300, 301)
    assert (codes.dtype, codes.tolist()) == (np.dtype(np.uint16), [3, 300, 5, 300, 300, 3, 0])
    assert text_column(values, AS_THEY_STAND).distinct() == (["B", "a", "b", "b "], True)


def test_an_empty_text_is_a_value_where_it_does_not_mean_missing() -> None:
    column = text_column([None, "", "x"], Field("x", pl.String(), Missing(("?",), null=False)))
    assert column.distinct() == (["", "x"], False)


def test_texts_without_missing_values() -> None:
    assert text_column(["x", "y"]).distinct() == (["x", "y"], False)
    assert text_column([None, "?"]).distinct() == ([], True)


@given(st.lists(st.text(max_size=3) | st.none(), min_size=1, max_size=30))
def test_texts_survive(values: list[str | None]) -> None:
    column = text_column(list(values), AS_THEY_STAND)
    texts, any_missing = column.distinct()
    codes = column.codes({text: code for code, text in enumerate(texts)}, len(texts), len(texts) + 1)
    assert [[*texts, None][code] for code in codes] == [None if v in ("", "?") else v for v in values]
    assert any_missing == bool({None, "", "?"} & set(values))
