"""Under a limit on memory a release is the same bytes, or is refused before anything is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.errors import UsageError
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import make
from anonymize.table import Source, read
from anonymize.table.memory import PROGRAM
from anonymize.table.room import Room
from anonymize.table.scratch import Scratch

ROWS = 3000


@pytest.fixture
def request_of(tmp_path: Path) -> Request:
    rng = np.random.default_rng(5)
    cells = zip(rng.integers(18, 90, ROWS), rng.choice(["a", "b", "c"], ROWS), rng.integers(0, 5000, ROWS), strict=True)
    table = tmp_path / "table.csv"
    table.write_text("age,job,pay\n" + "".join(f"{age},{job},{pay}\n" for age, job, pay in cells))
    quasi = {"age": {"type": "numeric"}, "job": {}}
    content = {"version": 1, "input": {"path": str(table)}, "privacy": {"k": 5}, "quasi_identifiers": quasi}
    spec = make(content | {"insensitive": ["pay"]}, PARAMETERS)
    return Request(spec, "mondrian", ALGORITHMS["mondrian"].Options(), output=str(tmp_path / "out.csv"), threads=2)


def least(request: Request) -> int:
    with Source.open(request.spec) as source:
        return PROGRAM + source.footprint(3).in_files


@pytest.mark.parametrize(
    ("order", "algorithm"),
    [("sorted", "mondrian"), ("keep", "mondrian"), ("shuffle", "mondrian"), ("sorted", "datafly")],
)
def test_the_release_does_not_depend_on_the_limit(
    request_of: Request, tmp_path: Path, order: str, algorithm: str
) -> None:
    spec = request_of.spec
    spec = spec.model_copy(update={"output": spec.output.model_copy(update={"row_order": order})})
    options = ALGORITHMS[algorithm].Options()
    request = replace(request_of, spec=spec, algorithm=algorithm, options=options, seed=7, reports=[])
    release(request)
    limited = replace(request, output=str(tmp_path / "limited.csv"), memory_limit=least(request), tmp=str(tmp_path))
    release(limited)
    assert (tmp_path / "limited.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["limited.csv", "out.csv", "table.csv"]


def test_codes_are_held_in_files_where_memory_leaves_no_room(request_of: Request) -> None:
    with Source.open(request_of.spec) as source:
        assert Room.of(source, least(request_of), Scratch()).in_files
        assert not Room.of(source, 2 * least(request_of), Scratch()).in_files
        assert not Room.of(source, None, Scratch()).in_files


def test_a_limit_that_is_too_low_is_refused_with_what_it_takes(request_of: Request, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--memory-limit: 170 MB are too few .*take about 171 MB at the least"):
        release(replace(request_of, memory_limit=least(request_of) - 1))
    assert not (tmp_path / "out.csv").exists()


def test_a_table_for_which_memory_is_short_says_so(request_of: Request) -> None:
    """What is made in several threads at once takes more of it."""
    with Source.open(request_of.spec) as source:
        in_files = read(request_of.spec, source, room=Room(Scratch(), in_files=True))
        assert in_files.in_files and not read(request_of.spec, source).in_files


def test_a_folder_that_is_none_is_refused(request_of: Request) -> None:
    with pytest.raises(UsageError, match="--tmp /absent"):
        release(replace(request_of, tmp="/absent"))
