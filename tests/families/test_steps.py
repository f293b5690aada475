"""When the columns that follow from quasi-identifiers are looked for."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from anonymize.algorithms import ALGORITHMS
from anonymize.families.steps import MANY_ROWS, deriving
from anonymize.parallel import SMALL
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import make
from anonymize.table import Source, read


@pytest.mark.parametrize(
    ("rows", "threads", "in_files", "begun"),
    [
        (SMALL + 1, 2, False, True),
        (MANY_ROWS, 2, False, True),
        (SMALL, 2, False, False),
        (MANY_ROWS + 1, 2, False, False),
        (SMALL + 1, 1, False, False),
        (SMALL + 1, 2, True, False),
    ],
)
def test_what_follows_is_looked_for_beside_the_search_where_that_is_worth_its_memory(
    rows: int, threads: int, in_files: bool, begun: bool, tmp_path: Path
) -> None:
    (tmp_path / "table.csv").write_text("x,y\n" + "".join(f"n{row // 2},c{row // 2}\n" for row in range(40)))
    content = {"version": 1, "quasi_identifiers": {"x": {}}, "insensitive": ["y"], "privacy": {"k": 2}}
    spec = make(content | {"input": {"path": str(tmp_path / "table.csv")}}, PARAMETERS)
    request = Request(spec, "mondrian", ALGORITHMS["mondrian"].Options(), threads=threads)
    with Source.open(spec) as source:
        table = replace(read(spec, source), rows=rows, in_files=in_files)
        derivations = deriving(request, source, table)
        assert isinstance(derivations, partial) is not begun
        assert [str(each) for each in derivations()] == ["y follows from x"]
