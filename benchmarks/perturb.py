"""Seconds of CPU that steps of `treatments` take beyond reading and writing, on a made table.

    python benchmarks/perturb.py [ROWS] [METHOD ...]

Columns are read before, as a step gets them; what a step makes of them is measured up to the columns in memory from
which the release is written, texts of new numbers among them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anonymize.privacy import PARAMETERS
from anonymize.spec import make
from anonymize.table.source import Source
from anonymize.treatments import TREATMENTS
from anonymize.treatments.base import InputColumn, Step

STEPS: dict[str, dict[str, Any]] = {
    "pram": {"method": "pram", "columns": ["roof"], "keep": 0.8},
    "pram invariant, by region": {
        "method": "pram",
        "columns": ["roof"],
        "keep": 0.8,
        "invariant": True,
        "by": ["region"],
    },
    "rank-swap": {"method": "rank-swap", "columns": ["wage"]},
    "random-swap": {"method": "random-swap", "columns": ["wage"]},
    "record-swap of households": {
        "method": "record-swap",
        "move": ["area"],
        "by": ["region"],
        "alike": ["size"],
        "risk": ["roof", "size"],
        "households": "household",
    },
    "record-swap of rows": {
        "method": "record-swap",
        "move": ["region", "area"],
        "alike": ["size"],
        "risk": ["roof", "age"],
    },
    "noise, additive": {"method": "noise", "columns": ["wage"], "scale": 0.1},
    "noise, correlated": {"method": "noise", "columns": ["wage", "tax", "hours"], "kind": "correlated", "scale": 0.1},
    "noise, correlated, cents": {
        "method": "noise",
        "columns": ["wage", "tax", "hours"],
        "kind": "correlated",
        "scale": 0.1,
        "round": 0.01,
    },
    "noise, romm": {"method": "noise", "columns": ["wage", "tax", "hours"], "kind": "romm", "scale": 0.1},
    "shuffle": {"method": "shuffle", "columns": ["wage", "tax"], "given": ["age", "hours"]},
    "date-shift": {"method": "date-shift", "columns": ["born"], "by": ["household"], "days": 30},
}


def made(rows: int) -> pl.DataFrame:
    """A table of people in households, in areas of regions."""
    random = np.random.default_rng(1)
    of_household = np.sort(random.integers(0, max(rows // 3, 1), rows))
    households = int(of_household.max()) + 1
    area, size = random.integers(0, 500, households), random.integers(1, 7, households)
    wage = random.lognormal(7, 0.8, rows).round(2)
    return pl.DataFrame(
        {
            "household": of_household,
            "region": area[of_household] // 20,
            "area": area[of_household],
            "size": size[of_household],
            "roof": random.choice(list("abcde"), rows, p=[0.5, 0.25, 0.15, 0.07, 0.03]),
            "age": random.integers(0, 100, rows),
            "wage": wage,
            "tax": (wage * random.uniform(0.1, 0.3, rows)).round(2),
            "hours": random.normal(38, 8, rows).round(1),
            "born": pl.Series(random.integers(0, 30_000, rows)).cast(pl.Int32).cast(pl.Date),
        }
    )


def main(rows: int, chosen: list[str]) -> None:
    """Prints the seconds of each step."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        made(rows).write_csv(path)
        for title, entry in STEPS.items():
            if chosen and entry["method"] not in chosen:
                continue
            spec = make(
                {"version": 1, "input": {"path": str(path)}, "others": "insensitive", "treatments": [entry]}, PARAMETERS
            )
            step = spec.treatments[0]
            names = (*step.treated, *step.read)
            with Source.open(spec) as source:
                whole = pl.concat(list(source.batches(names)))
                columns = {name: InputColumn.of(spec, source, whole[name]) for name in names}
                start = time.process_time()
                reading = {}
                for name, column in columns.items():
                    reading[name] = (
                        column.numbers if step.NUMBERS and name in step.treated else None,
                        column.kept if step.KIND == "moved" or name not in step.treated else None,
                    )
                read = time.process_time()
                random = np.random.Generator(np.random.Philox(1))
                TREATMENTS[step.method].run(step, Step(columns, random, b"key"))
                end = time.process_time()
            print(
                f"{title:<28} {rows:>9} rows: {end - read:6.2f} s CPU; cells to numbers or codes {read - start:5.2f} s"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, sys.argv[2:])
