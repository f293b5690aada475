"""The journalist's and the marketer's risk against a table of the population.

Who does not know that a person is in the table has to choose among the F rows of the population that show what the
person's class shows, not among the f rows of the table. Of a class the journalist's risk is 1 / F, the marketer's
expected correct links are f / F.

F. Dankar, K. El Emam, "A method for evaluating marketer re-identification risk", PAIS 2010.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import polars as pl

from anonymize.risk.sample import Text


@dataclass(frozen=True)
class Journalist:
    """`population`: its rows. `journalist_max`: the highest 1 / F. `marketer`: the share of rows expected to be
    linked correctly. `records_at_risk`: the share of rows with 1 / F above the threshold. `absent`: rows of the table
    that show what nobody in the population shows, which are in none of these but the number of rows."""

    population: int
    journalist_max: float
    marketer: float
    records_at_risk: float
    absent: int

    def as_dict(self) -> dict[str, Any]:
        """The figures in a report."""
        return dict(self.__dict__)


def journalist(table: Text, population: Text, threshold: float) -> Journalist:
    """The risks of a table whose quasi-identifiers the population shows in the same columns, in the same way.

    Rows are compared as text; a missing value is a value of its own. With units, these are counted in the table.
    """
    own, others = _sizes(table), _sizes(population)
    names = [name for name in own.columns if name != "size"]
    both = own.join(others.rename({"size": "all"}), on=names, how="left", nulls_equal=True).sort("size", "all")
    known, rows = both.drop_nulls("all"), int(own["size"].sum())
    risks = 1 / known["all"]
    at_risk = int(known.filter(risks > threshold)["size"].sum())
    return Journalist(
        population=int(others["size"].sum()),
        journalist_max=float(risks.to_numpy().max(initial=0.0)),
        marketer=math.fsum(known["size"] / known["all"]) / rows,
        records_at_risk=at_risk / rows,
        absent=rows - int(known["size"].sum()),
    )


def _sizes(text: Text) -> pl.DataFrame:
    """One row a class: what it shows (`q0`, ...), and its `size`."""
    names = [name for columns in text.shown for name in columns]
    keys = [text.text(name).alias(f"q{at}") for at, name in enumerate(names)]
    units = [] if text.units is None else [pl.lit(text.units.cast(pl.String)).alias("unit")]
    count = pl.col("unit").n_unique() if units else pl.len()
    frame = text.frame.select(*keys, *units)
    sizes = frame.group_by([f"q{at}" for at in range(len(names))]).agg(size=count.cast(pl.Int64))
    return sizes.collect(engine="streaming")
