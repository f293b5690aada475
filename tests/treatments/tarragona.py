"""834 companies, 13 numeric columns, on which microaggregation is compared; and what sdcMicro makes of them."""

from __future__ import annotations

import csv
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SHARED = Path(os.environ.get("ANONYMIZE_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
TABLE = SHARED / "data" / "tarragona.csv"
needs_tarragona = pytest.mark.skipif(not TABLE.is_file(), reason="tarragona.csv is not there: set ANONYMIZE_SHARED")


@cache
def tarragona() -> tuple[tuple[str, ...], np.ndarray]:
    """The names of the columns, and the values (rows, columns)."""
    with TABLE.open(newline="") as lines:
        names, *rows = csv.reader(lines)
    return tuple(names), np.array(rows, float)


@cache
def oracle(name: str) -> dict[str, Any]:
    """What sdcMicro found, by the name of the file."""
    content: dict[str, Any] = json.loads((SHARED / "oracles" / "sdc" / f"{name}.json").read_text())
    return content
