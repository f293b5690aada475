"""Randomize: randomized response with the least distortion: 1/l bounds a guess in proportion, not the best one.

What it does. Every row keeps its value of an attribute with probability p; otherwise it shows one of the attribute's
other values, each equally likely. Attributes are distorted independently. `--on qi` distorts the quasi-identifiers
(RR-QI), `--on sensitive` the sensitive attributes (RR-S), and `--on both` whichever are needed (RR-Both). The values of
p minimize the distortion (the product of the squared norms of the inverse distortion matrices) such that Pr(S | QI),
the probability that an attacker who knows a person's quasi-identifiers and guesses in proportion names the sensitive
value, is at most 1/l for every combination that occurs; and, if the models `local-dp` or `amplification` are required,
such that a row discloses no more about its sensitive value than they allow. With `--p` they are given by hand, and the
report has the resulting risk.

What it guarantees. The risk 1/l is that of the paper's attacker, who guesses in proportion to the probabilities of the
original values; it is bounded on average over the randomization. This does not bound an ordinary attacker, who
reconstructs the table as any recipient can, and names the most frequent value for the person's quasi-identifiers: that
succeeds nearly as often as in the original table, whatever l is. On the Adult data (occupation, given education,
salary, sex and race; `--on qi`) it is right for 0.318, 0.314, 0.310 and 0.303 of the people at l = 2, 3, 5 and 7, where
1/l is 0.5, 0.333, 0.2 and 0.143; in the original for 0.322, without quasi-identifiers for 0.134. The private report has
this rate as `risk.attacker`. The models `local-dp` and `amplification` bound how much an observed row can change any
prior belief; they require distorting the sensitive attributes themselves, so `--on qi` cannot meet them. They do not
bound what is learnt about everybody with the same quasi-identifiers. Nor does 1/l bound the posterior given one
observed row, what is learnt from a second release of the same rows, or what columns that pass through disclose. All
values shown occur in the table, so a rare one shows that somebody has it. There is no k-anonymity: `k` is refused.

What is checked. The written text is read again. In each column, values must be kept and replaced as often as p says,
within bounds that a correct release violates once in 10^8; and the risk is recomputed by other code from the original
table and the parameters of the written file. Since this needs the original, a randomized table cannot be audited alone.

For the recipient. `released.params.json`, next to the release or at the path of `--parameters`, contains p and the
values of each distorted attribute; `anonymize reconstruct` uses it to estimate the original distribution.

Random numbers are the operating system's, and are not stored. With `--seed`, anybody who learns the seed can undo the
randomization: the report says that the release is unsafe to publish, and `--public-report` refuses it.

Recoding model. Randomized response over the values of each quasi-identifier, or those of its `level` or `bins` in the
spec. Missing is a value like any other.

Cost. One pass over the rows for each attribute. The search for p depends only on the size of the joint table of the
distorted quasi-identifiers: some milliseconds for hundreds of cells, at most 20 million of them. From two million on it
may end before the optimum, as its work is bounded; the report then calls the `parameters` "best found".

Reference. Guo, Ying, Wu: On attribute disclosure in randomization based privacy preserving data publishing, ICDM
Workshops 2010.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from anonymize import channels
from anonymize.algorithms.base import Context, Family, Needs, option
from anonymize.channels import Bits, problem, replaced, representable, seeded_bits, system_bits
from anonymize.channels.optimum import optimum
from anonymize.classes import Codes, Floats, Ints
from anonymize.domain.levels import Categories
from anonymize.errors import Caution, InfeasibleError, Problem, UsageError
from anonymize.files import parted
from anonymize.meaning import Channel, manifest
from anonymize.privacy import Requirement, amplification, disclosure, local_dp
from anonymize.recoding import SearchResult
from anonymize.records import dataclass
from anonymize.spec.notation import as_number
from anonymize.table import Table
from anonymize.table.encode import code_type

ID = "randomize"
NEEDS = Needs(
    Family("randomization", treats_sensitive=False),
    sensitive=True,
    uses=frozenset({"level or bins"}),
    populations=False,
    reusable=False,
    random=True,
    counted=True,
)


OPTIMAL, BEST_FOUND, BY_HAND = "optimal", "best found", "by hand"
"""How parameters came about; best found: the work of the search was spent before it ended."""

RATIOS = (local_dp.Parameters, amplification.Parameters)
"""Bounds on p / q of a sensitive attribute."""


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""

    on: str = option("both", "What may be distorted.", ("both", "qi", "sensitive"), only_with={"p": ("",)})
    p: str = option("", "Set the parameters by hand, NAME=P,...; attributes that are not named are not distorted.")
    parameters: str = option("", "File for the recipient's parameters; by default next to the release.", path=True)


@dataclass(frozen=True)
class Distorted:
    """One column: the categories it is over, (rows,) codes of them as they were and as they are released, and p.

    `released` is None where the column is left alone: it passes through as the text it came in. `missing`: the category
    of missing sensitive values. `generalized`: the categories are not the values themselves.
    """

    name: str
    role: Literal["quasi-identifier", "sensitive"]
    categories: Categories
    original: Codes
    released: Codes | None = None
    p: float = 1.0
    missing: int | None = None
    generalized: bool = False

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.categories.texts)

    @property
    def meaning(self) -> str:
        """What the column holds where it does not hold what it held."""
        own = "the label of the original value" if self.generalized else "the original value"
        return own if self.p == 1 else f"{own}, or another one at random"

    @property
    def channel(self) -> Channel:
        """What the recipient needs: p, the values, and the numbers that each of them spans where they are intervals."""
        if self.released is None:
            return Channel(self.name, self.role, 1.0)
        categories = self.categories
        return Channel(self.name, self.role, self.p, categories.texts, categories.bounds, categories.half_open)


@dataclass(frozen=True)
class Randomized(SearchResult):
    """A randomized table: its quasi-identifiers and sensitive attributes. `on`: which of them could be distorted.

    `seeded`: the random numbers can be had again by whoever knows the seed. `origin`: how the
    parameters came about.
    `warnings`: for the report.
    """

    KIND: ClassVar[str] = "randomized"

    on: str
    columns: tuple[Distorted, ...]
    seeded: bool
    origin: str
    warnings: tuple[Caution, ...] = ()

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        distortion = {
            each.name: {
                "p": each.p,
                "q": channels.other(each.p, each.size),
                "values": each.size,
                "epsilon": problem.epsilon(each.p, each.size),
            }
            for each in self.columns
        }
        product = 1.0
        for each in self.columns:
            product *= channels.norm_squared(each.p, each.size)
        return {
            "kind": self.KIND,
            "on": self.on,
            "parameters": self.origin,
            "entropy": "seed" if self.seeded else "system",
            "safe_to_publish": not self.seeded,
            "distortion": distortion,
            "norms": product,
        }

    def meanings(self) -> dict[str, dict[str, str]]:
        """What the distorted columns hold, as a codebook has it."""
        return {each.name: {each.name: each.meaning} for each in self.columns if each.released is not None}

    def parameters(self, rows: int, separator: str) -> dict[str, Any]:
        """The file for the recipient."""
        return {
            "format": manifest.RANDOMIZED,
            "version": manifest.VERSION,
            "rows": rows,
            "separator": separator,
            "attributes": [{"name": each.name, **each.channel.entry()} for each in self.columns],
        }


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Randomized:
    """The distorted columns."""
    columns, chosen, origin = planned(table, requirements, options)
    bits = system_bits if context.seed is None else seeded_bits(context.seed)
    released = [_distorted(column, chosen[column.name], bits) for column in columns]
    warnings = tuple(unknown_values(columns, requirements))
    return Randomized(options.on, tuple(released), context.seed is not None, origin, warnings)


def planned(
    table: Table, requirements: tuple[Requirement, ...], options: Options
) -> tuple[list[Distorted], dict[str, float], str]:
    """The columns, not distorted yet, the p of each, and how these came about. Rows may stand for several. Raises
    UsageError for parameters that cannot be or a joint table that is too large, InfeasibleError where none keep the
    bounds."""
    columns = _columns(table)
    given = _by_hand(options.p, columns)
    _check_size([column for column in columns if column.role == "quasi-identifier"], given or _may(columns, options.on))
    chosen, origin = given, BY_HAND
    if not given:
        chosen, ended = _optimal(columns, requirements, options.on, table.counts)
        origin = OPTIMAL if ended else BEST_FOUND
    return columns, {column.name: chosen.get(column.name, 1.0) for column in columns}, origin


# --- columns ---------------------------------------------------------------------------------------------------------


def _columns(table: Table) -> list[Distorted]:
    """Every quasi-identifier and sensitive attribute, over the categories that occur, not distorted yet."""
    columns = []
    for attribute in table.attributes:
        present = np.zeros(attribute.domain.size, np.bool_)
        present[attribute.codes] = True
        categories = attribute.categories.occurring(present)
        original = _categorized(categories, attribute.codes)
        generalized = attribute.categorize is not None
        columns.append(Distorted(attribute.name, "quasi-identifier", categories, original, generalized=generalized))
    for column in table.sensitive:
        present = np.zeros(column.size, np.bool_)
        present[column.codes] = True
        categories = Categories.of(column.texts).occurring(present)
        missing = None if column.missing is None else int(categories.of_code[column.missing])
        original = _categorized(categories, column.codes)
        columns.append(Distorted(column.name, "sensitive", categories, original, missing=missing))
    return columns


def _categorized(categories: Categories, codes: Codes) -> Codes:
    """(rows,) the category of each row, in the smallest type; the codes themselves where these are the categories."""
    if np.array_equal(categories.of_code, np.arange(len(categories.texts))):
        return codes
    return np.maximum(categories.of_code, 0).astype(code_type(len(categories.texts)))[codes]


def _distorted(column: Distorted, p: float, bits: Bits) -> Distorted:
    """The column as it is released: one that is left alone, and is not generalized, is not touched."""
    if p == 1 and not column.generalized:
        return column
    return replace(column, released=replaced(column.original, p, column.size, bits), p=p)


# --- parameters by hand ----------------------------------------------------------------------------------------------


def _by_hand(text: str, columns: Sequence[Distorted]) -> dict[str, float]:
    """The parameters of `--p`, rounded to what can be drawn. Raises UsageError, with all problems."""
    sizes = {column.name: column.size for column in columns}
    parameters: dict[str, float] = {}
    problems = []
    for part in parted(text):
        name, _, value = (piece.strip() for piece in part.rpartition("="))
        if name not in sizes:
            problems.append(f"--p: {name or part!r} is not an attribute of the spec, which has {', '.join(sizes)}")
            continue
        number, least = as_number(value), 1 / sizes[name]
        if number is None or not (least < number <= 1 or number == 1):
            what = (
                f"a number above {least:.6g} (1 / its values) and at most 1"
                if sizes[name] > 1
                else "1: it has one value"
            )
            problems.append(f"--p: {name} takes {what}")
            continue
        parameters[name] = representable(number, sizes[name])
    if problems:
        raise UsageError(problems)
    return parameters


# --- optimal parameters ----------------------------------------------------------------------------------------------


def _optimal(
    columns: list[Distorted], requirements: tuple[Requirement, ...], on: str, counts: Ints | None
) -> tuple[dict[str, float], bool]:
    """The p of each column that may be distorted, and whether the search ended by itself. Raises InfeasibleError."""
    quasi = [column for column in columns if column.role == "quasi-identifier"]
    sensitive = [column for column in columns if column.role == "sensitive"]
    free = _may(columns, on)
    axes = [problem.JointAxis(column.original, column.size, column.name in free) for column in quasi]
    guarded = [
        problem.Guarded(
            column.original,
            column.missing,
            column.name in free,
            _bounds(column, requirements),
            _cap(column, requirements),
        )
        for column in sensitive
    ]
    posed = problem.pose(axes, guarded, counts)
    parameters, ended = optimum(posed)
    if parameters is None:
        capped = {sensitive[number].name for number in posed.beyond_caps}
        raise InfeasibleError(list(_reasons(posed, requirements, on, capped)))
    first = [column.name for column in quasi if column.name in free]
    last = parameters[len(parameters) - len(sensitive) :]
    chosen = dict(zip(first, parameters[: len(first)].tolist(), strict=True))
    return chosen | dict(zip([column.name for column in sensitive], last.tolist(), strict=True)), ended


def _may(columns: Sequence[Distorted], on: str) -> set[str]:
    """The columns that `--on` lets be distorted."""
    roles = {"both": ("quasi-identifier", "sensitive"), "qi": ("quasi-identifier",), "sensitive": ("sensitive",)}[on]
    return {column.name for column in columns if column.role in roles}


def _check_size(quasi: Sequence[Distorted], free: Collection[str]) -> None:
    """Raises UsageError where the joint table of the quasi-identifiers that may be distorted is too large."""
    spanned = math.prod(column.size for column in quasi if column.name in free)
    if spanned > problem.MOST_CELLS:
        sizes = ", ".join(f"{column.name} {column.size}" for column in quasi if column.name in free)
        message = f"the quasi-identifiers span {spanned:.3g} cells, and this is for {problem.MOST_CELLS:.3g} at most"
        raise UsageError(Problem(f"{message}; values: {sizes}", hint="give level or bins in the spec"))


def _bounds(column: Distorted, requirements: tuple[Requirement, ...]) -> Floats:
    """(values,) the largest l that is asked for of each value; 1, which nothing can break, where nothing is."""
    bounds = np.ones(column.size)
    for given in _disclosure_parameters(column, requirements):
        of_values = [given.values.get(text, given.l) for text in column.categories.texts]
        bounds = np.maximum(bounds, of_values)
    return bounds


def _disclosure_parameters(column: Distorted, requirements: tuple[Requirement, ...]) -> Iterator[disclosure.Parameters]:
    for requirement in requirements:
        if requirement.attribute == column.name and isinstance(requirement.parameters, disclosure.Parameters):
            yield requirement.parameters


def unknown_values(columns: Sequence[Distorted], requirements: tuple[Requirement, ...]) -> Iterator[Caution]:
    """Warnings of values with an l of their own that do not occur."""
    for column in columns:
        named = {value for given in _disclosure_parameters(column, requirements) for value in given.values}
        absent = named.difference(column.categories.texts)
        if absent:
            share = f"{len(absent)} of {len(named)} values with an l of their own do not occur in {column.name}"
            yield Caution.of(f"disclosure: {share}", "correct the `values` of the model, or remove them")


def _cap(column: Distorted, requirements: Iterable[Requirement]) -> float:
    """The largest p that bounds on p / q allow a sensitive attribute; 1 where none is asked for."""
    mine = [each.parameters for each in requirements if each.attribute == column.name]
    ratios = [given.gamma for given in mine if isinstance(given, RATIOS)]
    return min((problem.largest_p(gamma, column.size) for gamma in ratios), default=1.0)


def _reasons(
    posed: problem.ChannelProblem, requirements: tuple[Requirement, ...], on: str, capped: Collection[str]
) -> Iterator[Problem]:
    """Why there are no parameters. `capped`: sensitive attributes whose p cannot be as small as it has to."""
    for each in requirements:
        if not capped and isinstance(each.parameters, disclosure.Parameters):
            yield _explain(posed, each, on)
        elif each.attribute in capped and isinstance(each.parameters, RATIOS):
            left = "is left alone, and shows itself" if on == "qi" else "cannot be distorted so much and undone again"
            hint = "distort the sensitive attributes: --on sensitive, or both" if on == "qi" else "allow more"
            yield Problem(f"{each} cannot be met: {each.attribute} {left}", hint=hint)


def _explain(posed: problem.ChannelProblem, requirement: Requirement, on: str) -> Problem:
    """Why even the strongest distortion does not keep the bound, and what would."""
    what = {"qi": "the quasi-identifiers", "sensitive": "the sensitive attributes", "both": "all attributes"}[on]
    cells = posed.sensitive[0]
    excess, broken = posed.risk(posed.full(posed.lowest()))
    message = f"{requirement} cannot be met by distorting {what}: at the strongest {broken} risks exceed the bound"
    single = int(np.count_nonzero(cells.shares == 1))
    if on == "sensitive" and single:
        message += f"; {single} of {len(cells.starts)} groups show one single sensitive value, which nothing hides"
    assert isinstance(requirement.parameters, disclosure.Parameters)
    nearest = requirement.parameters.l / excess
    if nearest > 1:
        return Problem(message, hint=f"nearest feasible: l={nearest * (1 - 1e-6):.4g}")
    other = "distort the quasi-identifiers: --on qi, or both"
    return Problem(message, hint=other if on == "sensitive" else "no setting of it is feasible")
