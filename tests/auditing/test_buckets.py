"""Where the groups of a bucketized table are, and its sensitive table."""

from __future__ import annotations

from pathlib import Path

import pytest

from anonymize.auditing.buckets import BucketLayout


@pytest.mark.parametrize(
    ("path", "st", "name", "layout"),
    [
        ("out.qit.csv", None, None, ("group", "out.st.csv")),
        ("out.qit.csv", None, "bucket", ("bucket", "out.st.csv")),
        ("out.qit.csv", "else.csv", None, ("group", "else.csv")),
        ("out.csv", "else.csv", None, ("group", "else.csv")),
        ("out.csv", None, "bucket", ("bucket", None)),
        ("out.csv", None, None, None),
        (None, None, "bucket", ("bucket", None)),
        (None, None, None, None),
    ],
)
def test_the_sensitive_table_lies_beside_unless_another_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str | None,
    st: str | None,
    name: str | None,
    layout: tuple[str, str | None] | None,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("out.st.csv").touch()
    assert BucketLayout.of(path, st, name) == (None if layout is None else BucketLayout(*layout))
