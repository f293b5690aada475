"""The journalist's and the marketer's risk against a table of the population.

Somebody who does not know that a person is in the table has to choose among the F people of the population who lie
under what the person's class shows, not among the f rows of the table. For a class, the journalist's risk is 1 / F, and
the marketer's expected correct links are f / F.

F. Dankar, K. El Emam, "A method for evaluating marketer re-identification risk", PAIS 2010.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import polars as pl

from anonymize.risk.sample import Text
from anonymize.table.texts import tidy
from anonymize.verify import People


@dataclass(frozen=True)
class Journalist:
    """`population`: its rows. `journalist_max`: the highest 1 / F. `marketer`: the share of rows expected to be linked
    correctly. `records_at_risk`: the share of rows with 1 / F above the threshold. `absent`: rows of the table that
    show what nobody in the population shows; they enter these figures only through the number of rows."""

    population: int
    journalist_max: float
    marketer: float
    records_at_risk: float
    absent: int

    def as_dict(self) -> dict[str, Any]:
        """The figures in a report."""
        return dict(self.__dict__)


def journalist(table: Text, people: People, threshold: float) -> Journalist:
    """The risks of a table whose columns are those by which people are looked up.

    A missing value is a value of its own. Where several rows may be about one individual, the table's individuals are
    counted.
    """
    texts, sizes = _classes(table)
    classes = pl.DataFrame({"size": sizes, "all": people.under(texts)[0]}).sort("size", "all")
    matched, rows = classes.filter(pl.col("all") > 0), int(classes["size"].sum())
    risks = 1 / matched["all"]
    at_risk = int(matched.filter(risks > threshold)["size"].sum())
    return Journalist(
        population=people.count(),
        journalist_max=float(risks.to_numpy().max(initial=0.0)),
        marketer=math.fsum(matched["size"] / matched["all"]) / rows,
        records_at_risk=at_risk / rows,
        absent=rows - int(matched["size"].sum()),
    )


def _classes(text: Text) -> tuple[pl.DataFrame, pl.Series]:
    """One row per class: the text of each column; and (classes,) the sizes."""
    names = {f"q{number}": name for number, name in enumerate(name for columns in text.columns for name in columns)}
    units = [] if text.units is None else [pl.lit(text.units.cast(pl.String)).alias("unit")]
    count = pl.col("unit").n_unique() if units else pl.len()
    frame = text.frame.select(*(text.text(name).alias(key) for key, name in names.items()), *units)
    if text.spec.input.normalize:
        frame = frame.with_columns(pl.col(list(names)).map_batches(tidy, return_dtype=pl.String))
    classes = frame.group_by(list(names)).agg(size=count.cast(pl.Int64)).collect(engine="streaming")
    return classes.drop("size").rename(names), classes["size"]
