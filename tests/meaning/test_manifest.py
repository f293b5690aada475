"""What the columns of a release mean: by its files, by the spec, and refused where nobody knows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anonymize.errors import DataError, UsageError
from anonymize.meaning import DEFINED, Detached, Exact, Manifest, Named, Spanning
from anonymize.privacy import PARAMETERS
from anonymize.spec import Spec, make

CHANNEL = {"name": "age", "role": "quasi-identifier", "p": 0.8, "values": ["1", "2"]}
RANDOMIZED = {"format": "anonymize-randomization", "version": 1, "rows": 4, "separator": ",", "attributes": [CHANNEL]}


def spec_of(**more: Any) -> Spec:
    given = {
        "version": 1,
        "identifiers": ["name"],
        "quasi_identifiers": {"age": {"type": "numeric"}},
        "sensitive": ["ill"],
        "insensitive": ["ward"],
        "privacy": {"k": 2},
    }
    return make({**given, **more}, PARAMETERS)


def manifest(*columns: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"format": "anonymize-manifest", "version": 1, "separator": ",", "columns": list(columns), **more}


def test_a_spec_says_what_a_release_with_classes_means() -> None:
    said = Manifest.of_spec(spec_of())
    assert said.meanings == {"age": Spanning(), "ill": Exact(), "ward": Exact()}
    assert said.spans and not said.channels and said.detached is None and not said.labelled
    assert Manifest.of_spec(spec_of(), labels=True).labelled == {"age"}


@pytest.mark.parametrize(
    ("file", "given", "expected"),
    [
        ("c.csv", {}, None),
        ("-", {}, None),
        (None, {}, None),
        ("a.qit.csv", {}, ("group", "a.st.csv")),
        ("a.qit.csv", {"group": "bucket"}, ("bucket", "a.st.csv")),
        ("a.qit.csv", {"st": "else.csv"}, ("group", "else.csv")),
        ("c.csv", {"st": "else.csv"}, ("group", "else.csv")),
        ("c.csv", {"group": "bucket"}, ("bucket", None)),
        (None, {"group": "bucket"}, ("bucket", None)),
        ("b.csv", {"group": "g"}, ("g", None)),
    ],
)
def test_groups_are_told_by_files_and_by_options(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str | None,
    given: dict[str, str],
    expected: tuple[str, str | None] | None,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.qit.csv", "a.st.csv", "b.csv", "c.csv"):
        Path(name).touch()
    Path("b.params.json").write_text(json.dumps(RANDOMIZED))
    said = Manifest.of(spec_of(), file, **given)
    assert said.detached == (None if expected is None else Detached(*expected))
    assert said.spans == (expected is None)
    assert said.meanings["age"] == (Spanning() if expected is None else Exact())


def test_parameters_and_a_manifest_are_found_beside_a_release(tmp_path: Path) -> None:
    at: Callable[[str], str] = lambda name: str(tmp_path / name)  # noqa: E731
    Path(at("b.params.json")).write_text(json.dumps(RANDOMIZED))
    said = Manifest.of(spec_of(), at("b.csv"))
    assert list(said.channels) == ["age"] and said.rows == 4 and said.path == at("b.params.json")
    assert Manifest.of(spec_of(), at("c.csv"), manifest=at("b.params.json")) == said
    Path(at("a.st.csv")).touch()
    assert Manifest.of(spec_of(), at("a.qit.csv")).detached == Detached("group", at("a.st.csv"))
    detached = {"name": "ill", "meaning": "detached", "by": "bucket", "table": "a.st.csv"}
    Path(at("a.manifest.json")).write_text(json.dumps(manifest(detached)))
    assert Manifest.of(spec_of(), at("a.qit.csv")).detached == Detached("bucket", at("a.st.csv"))
    assert Manifest.of(spec_of(), at("a.qit.csv"), group="g").detached == Detached("g", at("a.st.csv"))
    Path(at("b.manifest.json")).write_text(json.dumps(manifest({"name": "age", "meaning": "exact"})))
    assert Manifest.of(spec_of(), at("b.csv")).meanings == {"age": Exact()}
    with pytest.raises(UsageError, match="--st and --group are about a bucketized release"):
        Manifest.of(spec_of(), at("c.csv"), manifest=at("b.params.json"), st="x.csv")


@pytest.mark.parametrize("table", ["x.st.csv", None])
def test_what_is_written_is_read(tmp_path: Path, table: str | None) -> None:
    said = Manifest.of_buckets(spec_of(), "bucket", None if table is None else str(tmp_path / "part"))
    path = tmp_path / "x.manifest.json"
    path.write_text(json.dumps(said.content(";", None if table is None else f"elsewhere/{table}")))
    read = Manifest.read(str(path))
    assert read.separator == ";" and read.rows is None
    assert read.detached == Detached("bucket", None if table is None else str(tmp_path / table))
    labelled = Manifest.of_spec(spec_of(), labels=True)
    path.write_text(json.dumps(labelled.content(",", None)))
    assert Manifest.read(str(path)).meanings == labelled.meanings


@pytest.mark.parametrize("kind", sorted({*DEFINED} - {"exact", "spans", "detached"}))
def test_what_nothing_reads_is_known_by_name_and_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(manifest({"name": "age", "meaning": kind, "scale": 2})))
    said = Manifest.read(str(path))
    assert said.meanings == {"age": Named(kind, {"scale": 2})} and said.unread == {"age": kind}
    said.check_read(["ill"], "attacked")
    with pytest.raises(UsageError, match=f"age: is {kind}, .*, and cannot be attacked"):
        said.check_read(["ill", "age"], "attacked")
    assert said.content(",", None)["columns"] == [{"name": "age", "meaning": kind, "scale": 2}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (manifest({"name": "age", "meaning": "dreamt"}), "the meaning of age is 'dreamt', which is not known here"),
        (manifest({"name": "age", "meaning": "exact"}, {"name": "age", "meaning": "spans"}), "nor a manifest"),
        (manifest({"name": "age"}), "nor a manifest"),
        (manifest({"meaning": "exact"}), "nor a manifest"),
        (manifest({"name": "ill", "meaning": "detached"}), "nor a manifest"),
        (manifest({"name": "ill", "meaning": "detached", "by": "g", "table": "../x.csv"}), "nor a manifest"),
        (manifest({"name": "ill", "meaning": "detached", "by": "g", "table": 3}), "nor a manifest"),
        (manifest(version=2), "nor a manifest"),
        (manifest(columns=3), "nor a manifest"),
        ({"format": "else"}, "nor a manifest"),
        ([], "nor a manifest"),
        (None, "nor a manifest"),
    ],
    ids=str,
)
def test_what_is_no_manifest(tmp_path: Path, content: Any, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match=message):
        Manifest.read(str(path))


COUNTS = {"name": "c.counts.csv", "columns": [{"name": "n", "meaning": "aggregate", "epsilon": 1.0}]}


def test_files_beside_the_rows_are_read_as_they_are_written() -> None:
    said = Manifest.of_content(manifest(files=[COUNTS]), "c.manifest.json")
    assert said.files == {"c.counts.csv": {"n": Named("aggregate", {"epsilon": 1.0})}}
    assert said.content(",", None)["files"] == [COUNTS] and "files" not in Manifest({}).content(",", None)
    assert [each.text for each in said.remarks] == [
        "c.counts.csv: n: is aggregate, a count or a sum that a mechanism released; nothing here reads it"
    ]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([{**COUNTS, "columns": [{"name": "n", "meaning": "guess"}]}], "the meaning of n is 'guess'"),
        ([{**COUNTS, "name": "../c.csv"}], "is not a file of parameters"),
        ([COUNTS, COUNTS], "is not a file of parameters"),
        ([{"name": "c.csv"}], "is not a file of parameters"),
    ],
)
def test_files_that_nobody_knows_are_refused(files: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Manifest.of_content(manifest(files=files), "c.manifest.json")
