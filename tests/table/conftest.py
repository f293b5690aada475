"""Tables small enough to be written in the test that reads them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from anonymize.spec.columns import Kind, QuasiIdentifier, Sensitive
from anonymize.spec.model import Spec
from anonymize.table import Source, Table, read


def make_spec(columns: str = "", **more: Any) -> Spec:
    """A spec from words such as `age:n sex:c charges:s pay:sn name:id ward:in`; `more` are further keys of the spec."""
    words = [word.split(":") for word in columns.split()]
    quasi = {name: QuasiIdentifier(type=kind) for name, kind in _typed(words, {"n": "numeric", "c": "categorical"})}
    sensitive = {name: Sensitive(type=kind) for name, kind in _typed(words, {"sn": "numeric", "s": "categorical"})}
    return Spec(
        version=1,
        quasi_identifiers=quasi,
        sensitive=sensitive,
        identifiers=tuple(name for name, role in words if role == "id"),
        insensitive=tuple(name for name, role in words if role == "in"),
        **more,
    )


def _typed(words: list[list[str]], kinds: dict[str, Kind]) -> list[tuple[str, Kind]]:
    return [(name, kinds[role]) for name, role in words if role in kinds]


@pytest.fixture(scope="session")
def spec_of() -> Callable[..., Spec]:
    return make_spec


@pytest.fixture
def file_of(tmp_path: Path) -> Callable[..., Path]:
    """Writes bytes or text to a file of a fresh folder."""

    def write(content: bytes | str, name: str = "table.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def read_text(file_of: Callable[..., Path]) -> Callable[..., Table]:
    """Reads a table whose content stands in the test. The file stays, so that batches can still be read."""

    def reading(
        content: bytes | str, columns: str, name: str = "table.csv", read_workload: bool = False, **more: Any
    ) -> Table:
        spec = make_spec(columns, **more)
        with Source.open(spec, file_of(content, name)) as source:
            return read(spec, source, workload=read_workload)

    return reading


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """For the length of a test, not root, who may read and write everywhere."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    yield
    os.seteuid(before)
