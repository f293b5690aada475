"""Algorithms: from a table and its requirements to a recoding. One algorithm, one file, one line in `ALGORITHMS`."""

from __future__ import annotations

from anonymize.algorithms import (
    anatomy,
    bottom_up,
    datafly,
    incognito,
    mingen,
    mondrian,
    mu_argus,
    randomize,
    research_value,
    samarati,
    top_down,
)
from anonymize.algorithms.base import Algorithm, Context, Needs

__all__ = ["ALGORITHMS", "Algorithm", "Context", "Needs"]

ALGORITHMS: dict[str, Algorithm] = {
    mondrian.ID: mondrian,
    top_down.ID: top_down,
    bottom_up.ID: bottom_up,
    datafly.ID: datafly,
    mu_argus.ID: mu_argus,
    samarati.ID: samarati,
    mingen.ID: mingen,
    incognito.ID: incognito,
    research_value.ID: research_value,
    anatomy.ID: anatomy,
    randomize.ID: randomize,
}
