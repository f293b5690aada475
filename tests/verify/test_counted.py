"""Parts of a table that are measured by themselves make the verdict on the whole."""

import numpy as np
import polars as pl
import pytest

from anonymize.verify import Check, measure
from anonymize.verify.counted import ROWS, CountedValues, MeasuredPart, TextReading, measure_part, merged, verdict_of
from anonymize.verify.verdict import Subject

CHECKS = [
    Check("k-anonymity", None, {"k": 2}),
    Check("distinct-l-diversity", "ill", {"l": 2}),
    Check("t-closeness", "ill", {"t": 0.3}),
    Check("recursive-cl-diversity", "ill", {"c": 2.0, "l": 2}),
    Check("sample-uniqueness", None, {"share": 0.1}),
]
READING = TextReading(("age", "job"), {"ill": "ill"}, ("",), "*")


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Rows of which some are suppressed, some alone, some missing."""
    rng, rows = np.random.default_rng(4), 400
    cells = {
        "age": rng.choice(["30", "40", "*"], rows),
        "job": rng.choice(["cook", "clerk", "*", "vet"], rows),
        "ill": rng.choice(["flu", "gout", "", "cold"], rows),
    }
    return pl.concat([pl.DataFrame(cells), pl.DataFrame({"age": ["50"], "job": ["cook"], "ill": ["flu"]})])


def parts_of(table: pl.DataFrame) -> list[MeasuredPart]:
    """The table in parts, of one age each."""
    known = table.group_by("ill").len().sort("ill")
    values: dict[Subject, CountedValues] = {
        Subject("ill"): CountedValues(Subject("ill"), known["ill"], known["len"], ("",))
    }
    counted = table.group_by("age", "job", "ill").agg(pl.len().alias(ROWS))
    about = [check for check in CHECKS if check.attribute]
    return [measure_part(part, READING, about, values) for part in counted.partition_by("age")]


def test_parts_make_the_whole(table: pl.DataFrame) -> None:
    parts = parts_of(table)
    places = [place for place, check in enumerate(CHECKS) if check.attribute]
    results = {place: merged([part.results[number] for part in parts]) for number, place in enumerate(places)}
    verdict, sizes = verdict_of(pl.concat(part.sizes for part in parts), CHECKS, results, 0.2)
    own = measure(table, ["age", "job"], CHECKS, ("",), null_missing=False)
    for name in ("rows", "suppressed_rows", "results", "classes", "sizes", "risk", "blank"):
        assert getattr(verdict, name) == getattr(own, name), name
    assert sizes.sum() == verdict.rows - verdict.suppressed_rows


def test_an_infinite_figure_stays_the_worst(table: pl.DataFrame) -> None:
    """Where one part cannot be bounded, the table cannot."""
    parts = [part.results[2] for part in parts_of(table)]
    worst = merged(parts)
    assert worst.achieved["c"] is None
    assert worst.failing_rows == sum(part.failing_rows for part in parts)
