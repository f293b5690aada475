"""The files of one run: which of them cannot be together, and that they take their places together."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import polars as pl
import pytest

from anonymize.errors import DataError, UsageError
from anonymize.publication import OutputFolder, Paths, ReleasePaths, named_by, opened
from anonymize.spec import Spec, make


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    (tmp_path / "t.csv").write_text("q\n1\n")
    return make({"version": 1, "input": {"path": str(tmp_path / "t.csv")}, "quasi_identifiers": {"q": {}}}, {})


def paths(folder: Path, **more: object) -> Paths:
    """Every kind of file, in a folder."""
    return Paths(
        None,
        ReleasePaths([str(folder / "out.csv"), str(folder / "st.csv")], [str(folder / "parameters")]),
        [str(folder / "r.json")],
        private={"save-recoding": str(folder / "recoding")},
        further={"picture": str(folder / "picture")},
        **more,  # type: ignore[arg-type]
    )


NAMES = {"out.csv", "st.csv", "parameters", "r.json", "recoding", "picture"}


def written(spec: Spec, asked: Paths, *, dry_run: bool = False) -> None:
    with opened(spec, asked) as files:
        assert files.source.columns == ("q",) and files.table.name == asked.release.tables[0]
        files.table.write(iter([pl.DataFrame({"q": ["*"]})]))
        with files.sealing():
            assert files.table.part.exists()
        files.publish({"figure": 1}, dry_run=dry_run)


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"t.csv"}


def test_everything_takes_its_place(spec: Spec, tmp_path: Path) -> None:
    written(spec, paths(tmp_path))
    assert left(tmp_path) == NAMES
    assert (tmp_path / "r.json").read_text() == '{\n  "figure": 1\n}\n'
    assert (tmp_path / "out.csv").read_text() == "q\n*\n"


def test_only_the_owner_reads_what_is_private(spec: Spec, tmp_path: Path) -> None:
    written(spec, paths(tmp_path))
    assert stat.S_IMODE((tmp_path / "recoding").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "picture").stat().st_mode) != 0o600


def test_on_a_dry_run_no_file_of_the_release_takes_its_place(spec: Spec, tmp_path: Path) -> None:
    written(spec, paths(tmp_path), dry_run=True)
    assert left(tmp_path) == NAMES - {"out.csv", "st.csv", "parameters"}


def test_nothing_is_left_where_a_block_fails(spec: Spec, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), opened(spec, paths(tmp_path)) as files:
        files.table.write(iter([pl.DataFrame({"q": ["*"]})]))
        raise ZeroDivisionError
    assert left(tmp_path) == set()


def test_nothing_is_published_of_an_input_that_has_changed(spec: Spec, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="changed"), opened(spec, paths(tmp_path)) as files:
        files.source.check()
        (tmp_path / "t.csv").write_text("q\n1\n2\n")
        files.publish({})
    assert left(tmp_path) == set()


@pytest.mark.parametrize("last", sorted(NAMES))
def test_one_file_that_exists_refuses_all(spec: Spec, tmp_path: Path, last: str) -> None:
    (tmp_path / last).write_text("before")
    with pytest.raises(UsageError, match="exists already"):
        written(spec, paths(tmp_path))
    assert left(tmp_path) == {last} and (tmp_path / last).read_text() == "before"
    written(spec, paths(tmp_path, force=True))
    assert left(tmp_path) == NAMES and (tmp_path / last).read_text() != "before"


def test_the_format_is_that_of_the_tables_alone(spec: Spec, tmp_path: Path) -> None:
    with opened(spec, paths(tmp_path, output_format="parquet")) as files:
        assert [output.format for output in files.release] == ["parquet", "parquet"]
        assert [output.format for output in files.texts] == ["csv"]
        assert {output.format for output in files.reports} == {"csv"}


# --- what cannot be together -----------------------------------------------------------------------------------------


def test_paths_that_go_together(tmp_path: Path) -> None:
    paths(tmp_path).check(["-", None, str(tmp_path / "t.csv")], [tmp_path / "s.yaml"])


@pytest.mark.parametrize("name", sorted(NAMES))
def test_an_output_that_is_an_input(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name}: is given twice, as an input or an output"):
        paths(tmp_path).check([str(tmp_path / "." / name)])


@pytest.mark.parametrize("name", sorted(NAMES))
def test_an_output_that_the_spec_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name}: is the spec, or a file that it names"):
        paths(tmp_path, force=True).check([None], [tmp_path / "x" / ".." / name])


def test_standard_input_and_output_are_two_things() -> None:
    Paths("-", ReleasePaths(["-"])).check(["-"])


def test_files_of_options_are_not_standard_output() -> None:
    with pytest.raises(UsageError, match="--save-recoding: is a file; it holds values"):
        Paths(None, private={"save-recoding": "-"}).check([])
    with pytest.raises(UsageError, match=r"^--the-picture: is a file$"):
        Paths(None, further={"the_picture": "-", "other": "x"}).check([])


def test_a_report_of_no_known_kind() -> None:
    with pytest.raises(UsageError, match="a report is one of"):
        Paths(None, reports=["r.txt"]).check([])


def test_the_files_that_a_spec_names(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("")
    given = make(
        {
            "version": 1,
            "input": {"path": "t.csv"},
            "quasi_identifiers": {"q": {"hierarchy": "q.csv"}, "age": {"hierarchy": {"mask": "right"}}},
            "sensitive": {"ill": {"hierarchy": "ill.csv"}},
        },
        {},
    )
    assert [path.name for path in named_by(given)] == ["q.csv", "ill.csv"]


# --- a folder ---------------------------------------------------------------------------------------------------------


def folder_of(path: Path, *names: str, force: bool = False) -> OutputFolder:
    """A folder with these files and the index that lists them, on its way."""
    made = OutputFolder(str(path), "index.json", force=force)
    made.__enter__()
    (made.part / "index.json").write_text(json.dumps({"files": [{"name": name} for name in names]}))
    for name in names:
        (made.part / name).write_text(name)
    return made


def test_a_folder_takes_its_place_as_a_whole(tmp_path: Path) -> None:
    made = folder_of(tmp_path / "out", "a", "b")
    assert not (tmp_path / "out").exists()
    made.sync()
    made.commit()
    made.__exit__()
    assert {each.name for each in (tmp_path / "out").iterdir()} == {"index.json", "a", "b"}
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_is_not_committed_leaves_nothing(tmp_path: Path) -> None:
    folder_of(tmp_path / "out", "a").__exit__()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_taken_back_gives_its_place_to_what_was_there(tmp_path: Path) -> None:
    first = folder_of(tmp_path / "out", "a")
    first.commit()
    first.__exit__()
    second = folder_of(tmp_path / "out", "b", force=True)
    second.commit()
    assert (tmp_path / "out/b").exists() and not (tmp_path / "out/a").exists()
    second.retract()
    second.__exit__()
    assert (tmp_path / "out/a").read_text() == "a" and not (tmp_path / "out/b").exists()
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_a_folder_with_files_of_others_is_never_replaced(tmp_path: Path) -> None:
    first = folder_of(tmp_path / "out", "a")
    first.commit()
    first.__exit__()
    (tmp_path / "out/mine").write_text("mine")
    with pytest.raises(UsageError, match="no earlier run has made"):
        OutputFolder(str(tmp_path / "out"), "index.json", force=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/mine").write_text("mine")
    for force in (False, True):
        with pytest.raises(UsageError):
            OutputFolder(str(tmp_path / "other"), "index.json", force=force)
    with pytest.raises(UsageError, match="is a file"):
        OutputFolder(str(tmp_path / "other/mine"), "index.json")


def test_what_came_into_a_folder_in_the_meantime_is_left_there(tmp_path: Path) -> None:
    made = folder_of(tmp_path / "out", "a")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine").write_text("mine")
    with pytest.raises(UsageError):
        made.commit()
    made.__exit__()
    assert (tmp_path / "out/mine").read_text() == "mine"
