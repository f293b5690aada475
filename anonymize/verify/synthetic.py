"""Twin of a synthetic table under differential privacy: what its manifest declares, accounted for and tested once more.

Nothing is taken from what made the table: the budget is added up by the formulas of this file, with their sources, and
not by the library that drew the noise. From the written table, its manifest and the public domain are checked:

- the mechanisms: every measurement has noise for the sensitivity that its neighbours imply, every chosen marginal the
  selection that chose it, and all of them together stay within the epsilon and delta that are claimed;
- the measurements: as many values as the declared domain has cells, whether or not anybody is in them, so that which
  cells there are tells nothing;
- the model: marginals that are distributions, agree where they overlap, and lie as close to the measurements as the
  noise explains. They cannot equal them: the measurements are noisy and contradict each other, and the model does not;
- the table: declared columns and values, and nothing else: the rows that the sampler draws from the model, again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import polars as pl

from anonymize.records import dataclass
from anonymize.verify.differential import Spent
from anonymize.verify.moved import SURPRISE, Settings
from anonymize.verify.resampled import CLOSE, DeclaredDomain, Marginal, resampled
from anonymize.verify.table import by_position

__all__ = ["DeclaredDomain", "Marginal", "Neighbours", "SyntheticManifest", "epsilon_of", "faults"]

CHOOSING = ("mst", "aim")
"""Methods that choose what they measure of several columns by the data."""
_MILLIONTH = 1e-6
"""To which counts of a model are rounded."""
ROUNDING = 1e-9
"""How far a sum of declared costs may pass the claim, as a share of it."""


# --- the budget -------------------------------------------------------------------------------------------------------


def rho_of_gaussian(sensitivity: float, sigma: float) -> float:
    """The cost of a discrete Gaussian of scale `sigma` on counts of that L2 sensitivity, in zero-concentrated
    differential privacy (Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", 2020,
    theorem 4)."""
    return sensitivity**2 / (2 * sigma**2)


def rho_of_selection(sensitivity: float, scale: float) -> float:
    """The cost of the largest of scores with Gumbel noise of that scale, where one individual changes each by at most
    `sensitivity`: the exponential mechanism at epsilon = 2 sensitivity / scale, whose privacy loss has a range of that
    width, and so costs epsilon^2 / 8 (Cesar and Rogers, "Bounding, concentrating, and truncating", 2021, lemma 3.4),
    a quarter of the epsilon^2 / 2 of any other mechanism with that epsilon."""
    return (2 * sensitivity / scale) ** 2 / 8


def epsilon_of(rho: float, delta: float) -> float:
    """The smallest epsilon at `delta` that a cost of rho implies (Canonne, Kamath and Steinke, 2020, proposition 12):
    the least over orders a > 1 of a rho + (ln(1 / delta) - ln a + (a - 1) ln(1 - 1 / a)) / (a - 1).

    Every order gives an epsilon that holds, so that one which is missed by a little is never too small.
    """
    if rho <= 0:
        return 0.0

    def bound(exponent: float) -> float:
        over = math.exp(exponent)  # the order, less one
        return (1 + over) * rho + (math.log(1 / delta) - math.log1p(over)) / over - math.log1p(1 / over)

    low, high = -40.0, 40.0
    golden = (math.sqrt(5) - 1) / 2
    while high - low > 1e-10:
        first, second = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, second) if bound(first) < bound(second) else (first, high)
    return max(0.0, bound((low + high) / 2))


@dataclass(frozen=True)
class Neighbours:
    """How much one individual changes, who has at most `rows` rows: who is added or removed, or, where the number of
    rows is public, replaced by another."""

    rows: int
    replaced: bool

    @property
    def l2(self) -> float:
        """Of the counts of a marginal, their L2 distance."""
        return self.rows * math.sqrt(2) if self.replaced else float(self.rows)

    @property
    def l1(self) -> float:
        return 2.0 * self.rows if self.replaced else float(self.rows)


# --- what a manifest declares -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoisyMarginal:
    """A marginal that was measured, and the rho that is said to have been spent on it."""

    counts: Marginal
    sigma: float
    sensitivity: float
    rho: float

    @property
    def label(self) -> str:
        return f"the measurement of {' x '.join(self.counts.columns)}"

    @property
    def own_rho(self) -> float:
        """What it costs by the formulas of this file."""
        return rho_of_gaussian(self.sensitivity, self.sigma)


@dataclass(frozen=True)
class PrivateChoice:
    """A marginal that was chosen for its noisy score, one of so many `candidates`, and what is said to have been
    spent on that."""

    chosen: tuple[str, ...]
    scale: float
    sensitivity: float
    rho: float
    candidates: int

    @property
    def label(self) -> str:
        return f"the selection of {' x '.join(self.chosen)}"

    @property
    def own_rho(self) -> float:
        return rho_of_selection(self.sensitivity, self.scale)


@dataclass(frozen=True)
class SyntheticManifest:
    """What the manifest of a synthetic table declares. `claim`: epsilon, delta and rho. `domain`: the public values of
    each column. `model`: the marginals of the cliques of a junction tree. `sampler`: how rows were drawn from it."""

    method: str
    neighbours: Neighbours
    claim: Mapping[str, float]
    domain: Mapping[str, DeclaredDomain]
    measured: Sequence[NoisyMarginal]
    chosen: Sequence[PrivateChoice]
    model: Sequence[Marginal]
    sampler: Settings

    @classmethod
    def of(cls, declared: Settings) -> SyntheticManifest:
        """That of the block. Raises an error of these kinds for what is none: lookup, type, value, attribute,
        arithmetic."""
        domain = {str(name): DeclaredDomain.of(entry) for name, entry in declared["domain"].items()}

        def marginal(entry: Settings) -> Marginal:
            columns = _names(entry["columns"])
            sizes = tuple(domain[name].size for name in columns)
            return Marginal(columns, sizes, pl.Series(entry["values"], dtype=pl.Float64))

        def choice(entry: Settings) -> PrivateChoice:
            return PrivateChoice(_names(entry["chosen"]), *_costs(entry, "scale"), int(entry["candidates"]))

        neighbours = Neighbours(int(declared["rows_per_unit"]), {"private": False, "public": True}[declared["count"]])
        return cls(
            str(declared["method"]),
            neighbours,
            {name: _positive(declared["differential"][name]) for name in ("epsilon", "delta", "rho")},
            domain,
            [NoisyMarginal(marginal(each), *_costs(each, "sigma")) for each in declared["measurements"]],
            [choice(each) for each in declared["selections"]],
            [marginal(each) for each in declared["model"]["cliques"]],
            declared["sampler"],
        )

    @property
    def mechanisms(self) -> list[NoisyMarginal | PrivateChoice]:
        return [*self.measured, *self.chosen]

    @property
    def rho(self) -> float:
        """What all mechanisms cost together, by the formulas of this file."""
        return math.fsum(each.own_rho for each in self.mechanisms)

    @property
    def spent(self) -> Spent:
        """The same as an epsilon, at the delta that is claimed."""
        delta = self.claim["delta"]
        return Spent(epsilon_of(self.rho, delta), delta)


def _names(columns: Sequence[Any]) -> tuple[str, ...]:
    """Names of columns, each once. Raises ValueError for one that is there twice, and where there is none."""
    names = tuple(map(str, columns))
    if not names or len(set(names)) < len(names):
        raise ValueError
    return names


def _positive(value: Any) -> float:
    """A number that is above 0 and finite. Raises ValueError for what is none."""
    number = float(value)
    if isinstance(value, bool) or not 0 < number < math.inf:
        raise ValueError
    return number


def _costs(entry: Settings, scale: str) -> tuple[float, float, float]:
    """The scale of the noise, the sensitivity that it is for, and the declared cost."""
    return _positive(entry[scale]), _positive(entry["sensitivity"]), _positive(entry["rho"])


# --- faults -----------------------------------------------------------------------------------------------------------


def faults(
    manifest: SyntheticManifest,
    domain: Mapping[str, DeclaredDomain],
    table: pl.LazyFrame,
    absent: Sequence[str] = ("",),
) -> Iterator[str]:
    """How a synthetic table is not what its manifest declares, or that not what its guarantee needs. `domain`: the
    public one, as the spec has it; `table`: as it was written; `absent`: how missing values are written."""
    yield from budget_faults(manifest)
    yield from domain_faults(manifest, domain)
    yield from measurement_faults(manifest)
    of_model = list(model_faults(manifest))
    yield from of_model
    if fault := table_fault(manifest, table, absent) or (None if of_model else row_fault(manifest, table, absent)):
        yield fault


# --- the mechanisms ---


def budget_faults(manifest: SyntheticManifest) -> Iterator[str]:
    """How the declared mechanisms do not cost what they are said to cost, or are not for what one individual changes.

    The sensitivity of a score is at least the L1 distance by which one individual changes the counts that it is of.
    """
    neighbours = manifest.neighbours
    for each in manifest.mechanisms:
        own, least = each.own_rho, neighbours.l2 if isinstance(each, NoisyMarginal) else neighbours.l1
        if abs(each.rho - own) > CLOSE * own:
            yield f"{each.label}: its noise costs rho = {own:.9g}, and {each.rho:.9g} is declared"
        if each.sensitivity < least * (1 - ROUNDING):
            change = f"a change of {each.sensitivity:.6g}, and one individual changes it by {least:.6g}"
            yield f"{each.label}: its noise is for {change}"
    claim = manifest.claim
    for name, own in {"rho": manifest.rho, "epsilon": manifest.spent.epsilon}.items():
        if own > claim[name] * (1 + ROUNDING):
            yield f"the mechanisms cost {name} = {own:.9g}, and {claim[name]:.9g} is claimed"


def domain_faults(manifest: SyntheticManifest, domain: Mapping[str, DeclaredDomain]) -> Iterator[str]:
    """Where the declared domain is not the public one."""
    if list(manifest.domain) != list(domain):
        yield "the domain is of other columns than the spec's"
    for name in domain.keys() & manifest.domain.keys():
        if manifest.domain[name] != domain[name]:
            yield f"{name}: the domain is not the public one"


def measurement_faults(manifest: SyntheticManifest) -> Iterator[str]:
    """Where measurements are not of the cells of the domain, or were chosen in no declared way.

    What is measured of single columns is so whatever the data are. What is measured of several was chosen, and each
    choice costs: but for a list of the spec.
    """
    for each in manifest.measured:
        if not each.counts.is_whole:
            yield f"{each.label}: has {len(each.counts.values)} values, and the domain {each.counts.size} cells"
        elif not (each.counts.values == each.counts.values.round()).all():
            yield f"{each.label}: has values that no discrete noise gives"
    several = Counter(frozenset(each.counts.columns) for each in manifest.measured if len(each.counts.columns) > 1)
    chosen = Counter(frozenset(each.chosen) for each in manifest.chosen)
    if manifest.method in CHOOSING:
        for columns in several - chosen:
            yield f"{' x '.join(sorted(columns))}: was measured, and no selection of it is declared"
    for columns in chosen - several:
        yield f"{' x '.join(sorted(columns))}: was selected, and never measured"
    if manifest.method == "independent" and several:
        yield "columns were measured together, but the method measures each separately"


# --- the model ---


def model_faults(manifest: SyntheticManifest) -> Iterator[str]:
    """How the model is no distribution over the domain, or not what the measurements say."""
    model = manifest.model
    if not all(each.is_whole for each in model):
        yield "the model has marginals that are not of the cells of the domain"
        return
    if {name for each in model for name in each.columns} != set(manifest.domain):
        yield "the model is of other columns than the domain"
        return
    if any(each.values.min() < 0 for each in model):  # type: ignore[operator]
        yield "the model has counts below 0"
    if not _is_tree([set(each.columns) for each in model]):
        yield "the model is no junction tree: its parts do not make one distribution"
    total = float(model[0].values.sum())
    for one, other in combinations(model, 2):
        shared = [name for name in one.columns if name in other.columns]
        rounding = (one.size + other.size) * _MILLIONTH
        if one.onto(shared).distance(other.onto(shared)) > CLOSE * total + rounding:
            yield f"the model contradicts itself in {' x '.join(shared) or 'its total'}"
    yield from _fit_faults(manifest, total)


def _is_tree(parts: Sequence[set[str]]) -> bool:
    """Whether of each part the columns that are in any before it are together in one of these."""
    seen: set[str] = set()
    for number, part in enumerate(parts):
        shared = part & seen
        if shared and not any(shared <= before for before in parts[:number]):
            return False
        seen |= part
    return True


def _fit_faults(manifest: SyntheticManifest, total: float) -> Iterator[str]:
    """Where the model is further from the measurements than their noise explains.

    The true counts are one of the distributions that the fit could have been, so that it is at least as near to the
    measurements as they are: the sum of squares of all noise, each by its variance, which is at most that of so many
    Gaussians but with a probability of exp(-SURPRISE) (Laurent and Massart, "Adaptive estimation of a quadratic
    functional", 2000, lemma 1).
    """
    squares, cells = 0.0, 0
    for each in manifest.measured:
        clique = next((one for one in manifest.model if set(each.counts.columns) <= set(one.columns)), None)
        if clique is None:
            yield f"{each.label}: is in no part of the model"
        elif each.counts.is_whole:
            apart = clique.onto(each.counts.columns).values - each.counts.values
            squares += float((apart**2).sum()) / each.sigma**2
            cells += each.counts.size
    most = cells + 2 * math.sqrt(cells * SURPRISE) + 2 * SURPRISE
    if squares > most:
        yield f"the model is {squares / most:.3g} times further from the measurements than their noise explains"


# --- the table ---


def table_fault(manifest: SyntheticManifest, table: pl.LazyFrame, absent: Sequence[str]) -> str | None:
    """Where the table has other columns, or other values, than the domain; None where it has not."""
    cells = _cells(table)
    if list(cells) != list(manifest.domain):
        return "the table has other columns than the domain"
    outside = [(~manifest.domain[name].covers(cell, absent)).sum().alias(name) for name, cell in cells.items()]
    counts = table.select(outside).collect(engine="streaming").row(0, named=True)
    strange = [f"{name}: {count} cells are outside the public domain" for name, count in counts.items() if count]
    return "; ".join(strange) or None


def row_fault(manifest: SyntheticManifest, table: pl.LazyFrame, absent: Sequence[str]) -> str | None:
    """How the rows are not those that the sampler draws, cell by cell; None where they are."""
    plain = [pl.when(~cell.is_in(list(absent))).then(cell).alias(name) for name, cell in _cells(table).items()]
    written = table.select(plain).collect(engine="streaming")
    rows, total = int(manifest.sampler["rows"]), float(manifest.model[0].values.sum())
    if written.height != rows or abs(rows - max(total, 1)) > 0.5 + CLOSE * total:
        return f"the table has {written.height} rows, the model {total:.6g}"
    seed, ordered = int(manifest.sampler["seed"]), bool(manifest.sampler["sorted"])
    drawn = resampled(manifest.model, manifest.domain, rows, seed, ordered=ordered)
    apart = pl.DataFrame([written[name].ne_missing(drawn[name]).alias(name) for name in drawn.columns])
    differ = int(apart.select(pl.any_horizontal(pl.all())).to_series().sum())
    return f"{differ} rows are not those that the sampler draws from the model with its seed" if differ else None


def _cells(table: pl.LazyFrame) -> dict[str, pl.Expr]:
    """Each column of the table, as text."""
    return {name: cell.cast(pl.String) for name, cell in by_position(table).items()}
