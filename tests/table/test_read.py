from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize.domain.numeric import Numeric
from anonymize.errors import DataError
from anonymize.spec import make
from anonymize.spec.base import KeyPath, Place
from anonymize.spec.blocks import Input, Target, Workload
from anonymize.spec.columns import QuasiIdentifier
from anonymize.spec.model import Spec
from anonymize.table import Source, Table, read

Read = Callable[..., Table]


def messages(error: pytest.ExceptionInfo[DataError]) -> list[str]:
    return [problem.message for problem in error.value.problems]


def test_a_table(read_text: Read) -> None:
    content = 'name,age,sex,ward,diagnosis,charges\nZ,31,M,1,flu,10.5\nY,30,F,2,,2\nX,?,,3,"a, b",\nW,31,M,4,flu,2\n'
    table = read_text(
        content,
        "name:id age:n sex:c ward:in diagnosis:s charges:sn",
        input=Input(missing=("?", "")),
        workload=Workload(),
    )
    age, sex = table.attributes
    assert (table.rows, table.columns) == (4, ("name", "age", "sex", "ward", "diagnosis", "charges"))
    assert (age.name, age.codes.tolist(), age.codes.dtype, age.weight) == ("age", [1, 0, 2, 1], np.dtype(np.uint8), 1)
    assert isinstance(age.domain, Numeric)
    assert (age.domain.size, age.domain.missing, age.domain.leaf_text()) == (3, 2, ["30", "31", "?"])
    texts = sex.domain.leaf_text()
    assert [texts[code] for code in sex.codes] == ["M", "F", "?", "M"]
    assert sex.domain.missing == texts.index("?")
    diagnosis, charges = table.sensitive
    assert (diagnosis.codes.tolist(), diagnosis.size, diagnosis.missing, diagnosis.values) == ([1, 2, 0, 1], 3, 2, None)
    assert (charges.codes.tolist(), charges.size, charges.missing) == ([1, 0, 2, 0], 3, 2)
    assert charges.values is not None
    np.testing.assert_array_equal(charges.values, [2, 10.5, np.nan])
    assert table.warnings == ()


def test_targets(read_text: Read) -> None:
    content = "age,sex,ward,stay,readmitted\n31,M,b,1.5,no\n30,,a,?,?\n?,F,b,2,no\n"
    columns, missing = "age:n sex:c ward:in", Input(missing=("?", ""))
    names: list[str | dict[str, Target]] = ["sex", "ward", {"stay": Target(type="numeric")}, "readmitted", "age"]
    workload = Workload(targets=tuple(names))
    table = read_text(content, columns, input=missing, workload=workload, read_workload=True)
    assert [target.name for target in table.targets] == ["sex", "ward", "stay", "readmitted", "age"]
    sex, ward, stay, readmitted, age = table.targets
    assert (sex.codes.tolist(), sex.size, sex.numeric) == (table.attributes[1].codes.tolist(), 3, False)
    assert sex.missing == table.attributes[1].domain.missing
    assert (ward.codes.tolist(), ward.size, ward.missing, ward.values) == ([1, 0, 1], 2, None, None)
    assert (stay.codes.tolist(), stay.missing, stay.numeric) == ([0, 2, 1], 2, True)
    np.testing.assert_array_equal(stay.values, [1.5, 2, np.nan])
    assert (readmitted.codes.tolist(), readmitted.missing, readmitted.numeric) == ([0, 1, 0], 1, False)
    np.testing.assert_array_equal(age.values, [30, 31, np.nan])
    assert (age.codes.tolist(), age.missing) == ([1, 0, 2], 2)


def test_targets_are_not_encoded_unasked(read_text: Read) -> None:
    workload = Workload(targets=({"y": Target(type="numeric")},))
    assert read_text("a,y\n1,x\n", "a:n", workload=workload).targets == ()
    with pytest.raises(DataError, match="numeric column 'y': 1 value is not a number"):
        read_text("a,y\n1,x\n", "a:n", workload=workload, read_workload=True)


def test_columns_without_missing_values(read_text: Read) -> None:
    table = read_text("a,b,c,d\n1,x,y,2\n2,z,y,3\n", "a:n b:c c:s d:sn")
    assert [a.domain.missing for a in table.attributes] == [None, None]
    assert [(s.missing, s.size) for s in table.sensitive] == [(None, 1), (None, 2)]


def test_texts_that_look_like_numbers_are_texts(read_text: Read) -> None:
    table = read_text("zip,b\n02138,1\n2138,2\n2138.0,3\n 2138,4\n", "zip:c b:in")
    assert table.attributes[0].domain.leaf_text() == ["02138", "2138", "2138.0"]


def test_weights_come_from_the_spec(spec_of: Callable[..., Spec], file_of: Callable[[str], Path]) -> None:
    spec = Spec(version=1, quasi_identifiers={"a": QuasiIdentifier(type="numeric", weight=2.5)})
    with Source.open(spec, file_of("a\n1\n")) as source:
        assert read(spec, source).attributes[0].weight == 2.5


def test_every_column_has_a_role(read_text: Read) -> None:
    with pytest.raises(DataError) as error:
        read_text("age,ssn,wrad,sex\n1,2,3,4\n", "age:n sex:c ward:in name:id")
    assert messages(error)[2:] == ["2 columns have no role in the spec: ssn, wrad"]
    assert [m.split(" is not in ")[0] for m in messages(error)[:2]] == ["column 'name'", "column 'ward'"]
    hints = [problem.hint for problem in error.value.problems]
    assert hints[1] == "did you mean 'wrad'?"
    assert hints[2] is not None and hints[2].startswith("list them under identifiers")


def test_one_column_without_a_role_may_be_a_misspelt_one(read_text: Read) -> None:
    with pytest.raises(DataError) as error:
        read_text("age,wrad\n1,2\n", "age:n ward:in")
    assert messages(error)[1] == "column 'wrad' has no role in the spec"
    hint = error.value.problems[1].hint
    assert hint is not None and hint.startswith("did you mean 'ward'?; list it under identifiers")


def test_many_columns_without_a_role_are_one_problem(read_text: Read) -> None:
    names = [f"c{number}" for number in range(164)]
    with pytest.raises(DataError) as error:
        read_text(f"age,{','.join(names)}\n1{',2' * 164}\n", "age:n")
    assert messages(error) == [f"164 columns have no role in the spec: {', '.join(names)}"]


def test_another_separator_is_one_problem(read_text: Read) -> None:
    with pytest.raises(DataError) as error:
        read_text("age;sex;ward\n1;2;3\n", "age:n sex:c ward:in")
    assert messages(error) == ["the header is one column when ',' is the separator"]


def test_a_missing_column_is_placed_in_the_spec(spec_of: Callable[..., Spec], file_of: Callable[[str], Path]) -> None:
    places: dict[KeyPath, Place] = {
        ("quasi_identifiers", "age"): (3, 3),
        ("insensitive", 0): (9, 15),
        ("workload", "targets", 0): (7, 1),
    }
    spec = spec_of("age:n ward:in name:id", workload=Workload(targets=("y",))).located(Path("spec.yaml"), places)
    with Source.open(spec, file_of("name,x\nAnn,1\n")) as source, pytest.raises(DataError) as error:
        read(spec, source)
    assert [(p.file, p.line, p.column) for p in error.value.problems[:3]] == [
        ("spec.yaml", 3, 3),
        ("spec.yaml", 9, 15),
        ("spec.yaml", 7, 1),
    ]


def test_values_that_are_no_numbers(read_text: Read) -> None:
    content = 'age,pay,note\n1,x,"two\nlines"\n"o\nne",2,\n3,4,\ntwo,5,\n'
    with pytest.raises(DataError) as error:
        read_text(content, "age:n pay:sn note:in")
    assert messages(error) == [
        "numeric column 'age': 2 values are not numbers",
        "numeric column 'pay': 1 value is not a number",
    ]
    assert [problem.line for problem in error.value.problems] == [4, 2]


def test_whole_numbers_that_would_lose_digits(read_text: Read) -> None:
    with pytest.raises(DataError, match="fractions beside whole numbers beyond 2"):
        read_text("a\n0.5\n9007199254740993\n", "a:n")


def test_a_table_of_missing_values(read_text: Read) -> None:
    table = read_text("a,b,c,d\n,,,\n,,,\n", "a:n b:c c:s d:sn")
    assert [(a.codes.tolist(), a.domain.size, a.domain.missing) for a in table.attributes] == [([0, 0], 1, 0)] * 2
    assert [(s.codes.tolist(), s.size, s.missing) for s in table.sensitive] == [([0, 0], 1, 0)] * 2


def test_warnings(read_text: Read) -> None:
    rows = "".join(f"1,{row},{row},{row % 50},{row}\n" for row in range(200))
    table = read_text("a,b,id,ward,name\n" + rows, "a:n b:n id:in ward:in name:id")
    assert [warning.split("'")[1] for warning in table.warnings] == ["id", "a"]


def test_targets_pass_through(read_text: Read) -> None:
    rows = "".join(f"{row % 9},{row}\n" for row in range(200))
    table = read_text("a,y\n" + rows, "a:n", workload=Workload(targets=("y",)))
    assert len(table.warnings) == 1


def test_a_single_value_is_constant_and_a_missing_one_is_not(read_text: Read) -> None:
    assert len(read_text("a\nx\nx\n", "a:c").warnings) == 1
    assert len(read_text("a\n7\n7.0\n", "a:n").warnings) == 1
    assert len(read_text("a,b\nx,1\n,1\n", "a:c b:in").warnings) == 0


def test_values_outside_of_hierarchies(file_of: Callable[..., Path]) -> None:
    path = file_of("x;*\ny;*\n", "hierarchy.csv")
    spec = Spec(version=1, quasi_identifiers={name: QuasiIdentifier(hierarchy=path) for name in "abc"})
    table = file_of("a,b,c\nx,x,z\ny,w,v\n")
    with Source.open(spec, table) as source, pytest.raises(DataError) as error:
        read(spec, source)
    assert ["b" in messages(error)[0], "c" in messages(error)[1]] == [True, True]


def test_codes_follow_the_hierarchy(file_of: Callable[..., Path]) -> None:
    path = file_of("z;*\ny;*\nx;*\n", "hierarchy.csv")
    spec = Spec(version=1, quasi_identifiers={"a": QuasiIdentifier(hierarchy=path)})
    with Source.open(spec, file_of("a\nx\ny\nx\n")) as source:
        assert read(spec, source).attributes[0].codes.tolist() == [2, 1, 2]


@pytest.fixture
def read_frame(spec_of: Callable[..., Spec], tmp_path: Path) -> Callable[..., Table]:
    def reading(frame: pl.DataFrame, columns: str, kind: str, **more: Any) -> Table:
        path = tmp_path / f"t.{kind}"
        frame.write_parquet(path) if kind == "parquet" else frame.write_ipc(path)
        spec = spec_of(columns, **more)
        with Source.open(spec, path) as source:
            return read(spec, source)

    return reading


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_typed_inputs(read_frame: Read, kind: str) -> None:
    frame = pl.DataFrame(
        {
            "age": pl.Series([30, None, 7], dtype=pl.UInt8),
            "pay": [1.5, None, 2.0],
            "text": ["4", "?", None],
            "day": [date(2024, 1, 2), None, date(2024, 1, 1)],
            "kind": pl.Series(["b", None, "a"], dtype=pl.Enum(["b", "a"])),
            "flag": [True, False, None],
            "note": [1, 2, 3],
        }
    )
    table = read_frame(frame, "age:n pay:sn text:n day:c kind:c flag:s note:in", kind, input=Input(missing=("", "?")))
    age, text, day, enum = table.attributes
    assert (age.codes.tolist(), text.codes.tolist()) == ([1, 2, 0], [0, 1, 1])
    assert [[attribute.domain.leaf_text()[code] for code in attribute.codes] for attribute in (day, enum)] == [
        ["2024-01-02", "", "2024-01-01"],
        ["b", "", "a"],
    ]
    assert [column.codes.tolist() for column in table.sensitive] == [[0, 2, 1], [1, 0, 2]]
    assert table.source.sha256


def test_typed_columns_that_cannot_be_used(read_frame: Read) -> None:
    columns = {"age": [date(2024, 1, 1)], "flag": [True], "list": [[1]], "id": [[1]], "stay": [timedelta(days=1)]}
    with pytest.raises(DataError) as error:
        read_frame(pl.DataFrame(columns), "age:n flag:n list:in id:id stay:in", "parquet")
    assert [message.split("'")[1] for message in messages(error)] == ["list", "stay"]
    with pytest.raises(DataError) as error:
        read_frame(pl.DataFrame(columns), "age:n flag:n list:id id:id stay:id", "parquet")
    assert [message.split("'")[1] for message in messages(error)] == ["age", "flag"]


def test_typed_values_that_are_no_numbers(read_frame: Read) -> None:
    with pytest.raises(DataError) as error:
        read_frame(pl.DataFrame({"a": [1.0, 2.0, float("nan")]}), "a:n", "parquet")
    assert messages(error) == ["numeric column 'a': 1 value is not a number, the first in row 3"]
    assert error.value.problems[0].line is None


def test_a_typed_input_without_rows(read_frame: Read) -> None:
    with pytest.raises(DataError, match="no rows"):
        read_frame(pl.DataFrame({"a": pl.Series([], dtype=pl.Int64)}), "a:n", "parquet")


@pytest.mark.parametrize(
    ("keys", "texts", "line", "says"),
    [
        ({}, ["79", "6.461,64", "1.128,57"], 3, '2 of 3 have a comma: `input: {decimal: ",", thousands: "."}`'),
        ({}, ["6,5", "1,25", ""], 2, '2 of 2 have a comma: `input: {decimal: ","}`'),
        ({}, ["12", "$7,116", "$1,105"], 3, '2 of 3 have a comma: `thousands: ","`'),
        ({}, ["165 cm", "170cm", "17"], 2, "2 of 3 have a unit or a sign next to the number"),
        ({}, ["17", "18", "1 234"], 4, "1 of 3 have a sign between digits"),
        ({"decimal": ","}, ["1,5", "8.984", "2"], 3, '1 of 3 have a point: `thousands: "."`'),
        ({"decimal": ","}, ["1,5", "8.5", "2"], 3, '1 of 3 have a point: `input: {decimal: "."}`'),
    ],
)
def test_numbers_in_another_notation_are_counted(
    keys: dict[str, str], texts: list[str], line: int, says: str, tmp_path: Path
) -> None:
    pl.DataFrame({"a": texts, "b": "x"}).write_csv(tmp_path / "table.csv", separator=";")
    table = {"path": str(tmp_path / "table.csv"), "separator": ";", **keys}
    content = {"version": 1, "input": table, "quasi_identifiers": {"a": {"type": "numeric"}}, "insensitive": ["b"]}
    spec = make(content, {})
    with Source.open(spec) as source, pytest.raises(DataError) as error:
        read(spec, source)
    (problem,) = error.value.problems
    assert says in (problem.hint or "")
    assert problem.line == line
