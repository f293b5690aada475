"""From a table over its public domain to invented rows: what one individual may change is bounded, marginals are
measured, a model is fitted, and rows are drawn from it. All that leaves this file but the input's codes is output of
the mechanism, and public."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from math import prod
from typing import Any

import numpy as np
import polars as pl

from anonymize.domain import Ints
from anonymize.domain.public import PublicDomain
from anonymize.dp import estimation, ledger, mechanisms, sampler
from anonymize.dp.selection import MOST_CELLS, CountedTable, Drawing, by_error, by_independent, by_list, by_tree
from anonymize.errors import UsageError
from anonymize.records import dataclass
from anonymize.spec import Spec, blocks
from anonymize.spec.model import EpsilonDelta
from anonymize.table.model import Table

KIND = "synthetic"
ORDER = 3
"""The most columns of a marginal of `aim`, where the spec does not say."""


@dataclass(frozen=True)
class DrawingPlan:
    """What is drawn: of which columns, how, at which budget. `individual`: the column that says whom a row is about, or
    `row`; `wanted`: columns that the spec's workload names; `limit`: of the model, in units of 2^20 bytes."""

    domains: tuple[PublicDomain, ...]
    how: blocks.Synthesis
    budget: EpsilonDelta
    individual: str
    wanted: frozenset[str]
    limit: float
    sorted: bool

    @classmethod
    def of(cls, spec: Spec, table: Table, limit: float) -> DrawingPlan:
        """That of a spec. Raises UsageError where the libraries are not installed, or a marginal is too large."""
        mechanisms.require()
        budget = spec.privacy.differential
        assert budget is not None
        selected = [name for selection in spec.workload.selections for name in selection]
        domains = tuple(each.domain for each in table.public)
        plan = cls(
            domains,
            spec.synthesize or blocks.Synthesis(),
            budget,
            spec.unit or "row",
            frozenset((*spec.workload.target_names, *selected)),
            limit,
            spec.output.row_order == "sorted",
        )
        plan._check()
        return plan

    @property
    def charge(self) -> mechanisms.Charge:
        """What is charged to a ledger. With a public count, neighbouring tables have one in place of another."""
        individual = self.individual + (ledger.REPLACED if self.how.count == "public" else "")
        return mechanisms.Charge.of_zcdp(
            "synthesize", individual, self.budget, mechanisms.rho_of(self.budget.epsilon, self.budget.delta)
        )

    @property
    def sizes(self) -> dict[str, int]:
        return {each.name: each.size for each in self.domains}

    def _check(self) -> None:
        """Raises UsageError where what is measured in any case takes more than the limit: each column by itself, and
        the marginals of a list."""
        marginals = [tuple(columns) for columns in self.how.marginals] if isinstance(self.how.marginals, tuple) else []
        cells = max((prod(self.sizes[name] for name in columns) for columns in marginals), default=0)
        if cells <= MOST_CELLS and sampler.size_in_mb(self.sizes, marginals) <= self.limit:
            return
        if marginals and sampler.size_in_mb(self.sizes, []) <= self.limit:
            message, mend = "synthesize.marginals: a model of all of them", "fewer columns that overlap, fewer bins"
        else:
            message, mend = "domains: a model of independent columns", "fewer columns, fewer bins"
        raise UsageError(f"{message} takes more than --model-size ({mend}, or a larger --model-size)")


@dataclass(frozen=True)
class Synthetic:
    """Invented rows as texts, null where a value is missing; and the block of the manifest, which says all of how they
    were made."""

    frame: pl.DataFrame
    block: Mapping[str, Any]


def bounded(table: Table, most: int) -> CountedTable:
    """The rows that count: of each individual no more than `most`, drawn at random where there are more."""
    codes = {each.domain.name: each.codes for each in table.public}
    if table.units is not None:
        kept = mechanisms.rows_that_count(table.units, table.rows, most)
        codes = {name: own[kept] for name, own in codes.items()}
    return CountedTable(codes, {each.domain.name: each.domain.size for each in table.public})


def synthesize(table: Table, plan: DrawingPlan) -> Synthetic:
    """Draws measurements and rows. What can fail has been tried before: from here on the budget is spent."""
    how, budget = plan.how, plan.budget
    spending = mechanisms.Spending(mechanisms.rho_of(budget.epsilon, budget.delta))
    rows = how.rows_per_unit if table.units is not None else 1
    drawing = Drawing(bounded(table, rows), spending, rows, how.count == "public", plan.limit)
    model = _modelled(drawing, plan)
    seed, count = secrets.randbits(48), max(1, round(model.total))
    block = {
        "kind": KIND,
        "method": how.method,
        "individual": plan.individual,
        "rows_per_unit": rows,
        "count": how.count,
        "differential": {"epsilon": budget.epsilon, "delta": budget.delta, "rho": spending.rho},
        "domain": {each.name: each.entry() for each in plan.domains},
        "measurements": [asdict(each) | {"values": each.values.tolist()} for each in drawing.measurements],
        "selections": [asdict(each) for each in drawing.choices],
        "model": {"cliques": [{"columns": each.columns, "values": each.counts.tolist()} for each in model.cliques]},
        "sampler": {"seed": seed, "rows": count, "sorted": plan.sorted},
        "versions": {mechanisms.LIBRARY: version(mechanisms.LIBRARY)},
    }
    return Synthetic(rows_of(model, plan.domains, count, seed, ordered=plan.sorted), block)


def _modelled(drawing: Drawing, plan: DrawingPlan) -> estimation.FittedModel:
    """The model by the method of the plan."""
    marginals = plan.how.marginals
    if isinstance(marginals, tuple):
        return by_list(drawing, marginals)
    if plan.how.method == "aim":
        return by_error(drawing, marginals or ORDER, plan.wanted)
    return by_tree(drawing) if plan.how.method == "mst" else by_independent(drawing)


def rows_of(
    model: estimation.FittedModel, domains: Sequence[PublicDomain], count: int, seed: int, *, ordered: bool
) -> pl.DataFrame:
    """So many rows of a model, as texts; see the sampler."""
    leaves = sampler.sample(model.cliques, count, seed)
    places = {
        each.name: _places(each, leaves[each.name], seed, 2 * len(model.cliques) + number)
        for number, each in enumerate(domains)
        if each.bins is not None
    }
    columns = [_texts(each, leaves[each.name], places.get(each.name)).alias(each.name) for each in domains]
    frame = pl.DataFrame(columns)
    if not ordered:
        return frame
    by = [own for each in domains for own in (leaves[each.name], places.get(each.name)) if own is not None]
    numbered = pl.DataFrame({str(number): own for number, own in enumerate(by)}).with_row_index("row")
    return frame[numbered.sort([str(number) for number in range(len(by))], maintain_order=True)["row"]]


def _places(domain: PublicDomain, leaves: Ints, seed: int, stream: int) -> Ints:
    """(rows,) the number of each row within its bin; 0 where it is missing."""
    assert domain.bins is not None
    ends = np.array([*domain.bins.places, *([(0, 0)] if domain.missing else [])], np.int64)
    return sampler.within(ends[leaves, 0], ends[leaves, 1], seed, stream)


def _texts(domain: PublicDomain, leaves: Ints, places: Ints | None) -> pl.Series:
    """(rows,) the text of each row."""
    if domain.bins is None or places is None:
        texts = pl.Series([*domain.values, *([None] if domain.missing else [])], dtype=pl.String)
        return texts.gather(leaves)
    step, digits = 10**domain.bins.digits, domain.bins.digits
    number = pl.Series(places)
    size = number.abs()
    text = pl.select(
        pl.when(number < 0).then(pl.lit("-")).otherwise(pl.lit(""))
        + (size // step).cast(pl.String)
        + (("." + (size % step).cast(pl.String).str.zfill(digits)) if digits else pl.lit(""))
    ).to_series()
    present = pl.Series(leaves < len(domain.bins.places))
    return pl.select(pl.when(present).then(text)).to_series()
