"""What `audit` was asked for: the spec by which a table is read and measured, its own or one made of options, and the
risk beyond the verdict: what subsets of the quasi-identifiers reveal, what a sample says about its population."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import field
from os.path import realpath
from pathlib import Path
from typing import Any, Literal

from anonymize.auditing import Audited
from anonymize.declared import people
from anonymize.errors import DataError, Problem, UsageError
from anonymize.privacy import PARAMETERS
from anonymize.profiling import SEPARATORS, layout_of
from anonymize.records import dataclass
from anonymize.risk import (
    Analysis,
    Text,
    TextFrequencySet,
    analyse,
    households,
    journalist,
    population_uniques,
    record_risks,
    sampled,
)
from anonymize.risk.population import TERMS, Terms, global_risk
from anonymize.spec import Spec, make, override, require
from anonymize.spec.override import with_meaning, with_populations
from anonymize.table import OutputFile, scan
from anonymize.verify import THRESHOLD


@dataclass(frozen=True)
class Deeper:
    """What else is measured. `subsets`: the largest size of the subsets that are looked at (0: as many as are
    feasible; None: no subsets). `risky_cells`: a combination of at most so many rows is risky, in subsets of one
    attribute, two, and so on. `log_linear`: the terms of the model of population uniqueness. `fraction`: the share of
    the population that the table is a sample of. `population`: a table of the population, with the same
    quasi-identifiers."""

    subsets: int | None = None
    risky_cells: Sequence[int] = ()
    log_linear: Terms | None = None
    fraction: float | None = None
    population: str | Path | None = None

    def check(self) -> None:
        """Raises UsageError for a fraction, numbers of rows, a number of columns, or terms that are not valid."""
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise UsageError("--sampling-fraction: must be above 0 and at most 1")
        if any(each < 1 for each in self.risky_cells):
            raise UsageError("--risky-cells: numbers of rows, from 1")
        if self.risky_cells and self.subsets is None:
            raise UsageError("--risky-cells: needs --subsets, whose cells they are")
        if not isinstance(self.subsets, int | None):
            raise UsageError("--subsets: a number of quasi-identifiers, 0 for as many as are feasible")
        if self.log_linear not in (None, *TERMS):
            raise UsageError(f"--log-linear: must be one of {', '.join(TERMS)}")


def deeper(table: Audited, further: Deeper, threshold: float, records: OutputFile | None = None) -> dict[str, Any]:
    """Keys of the report's block `risk`: `sample` where there are weights, `journalist` with a population,
    `population` where the fraction is known, `household` with a unit, `log_linear`, `subsets` and `special_uniques` on
    request; under `wildcard`, `sample` in that meaning of missing. `records`: where the risk of every row is written.

    Raises UsageError for more subsets than can be looked at, DataError for a population that cannot be one.
    """
    weight = table.spec.weight_column
    if weight is None and further == Deeper() and records is None and table.units is None:
        return {}
    if not table.columns_of:
        _refuse_without(further, records)
        return {}
    text = Text(table.frame, list(table.columns_of.values()), table.spec, table.missing, table.units)
    frequency = text.frequency(by_row=records is not None or table.units is not None)
    risks = sampled(text, threshold, frequency)
    if further.population is not None:
        risks["journalist"] = _journalist(table, text, further.population, threshold)
    if table.units is not None:
        risks["household"] = households(frequency, table.units, threshold)
    analysis = _analysed(table, frequency, further, cells=records is not None)
    if records is not None:
        risk = record_risks(text, list(table.columns_of), frequency, analysis, further.fraction)
        records.write_text(risk.write_csv())
    fraction = further.fraction
    if fraction is None and "sample" in risks:
        fraction = min(frequency.rows / risks["sample"]["population"], 1.0)
    if fraction is not None:
        risks["population"] = population_uniques(frequency.counts, fraction)
    if further.log_linear is not None:
        risks["log_linear"] = _log_linear(frequency, further.log_linear, fraction)
    if further.subsets is not None and analysis is not None:
        risks |= analysis.as_dict()
    return risks


def _refuse_without(further: Deeper, records: OutputFile | None) -> None:
    """Raises UsageError for what is measured of quasi-identifiers, of a table that has none."""
    wanted: dict[str, object] = {
        "subsets": further.subsets,
        "log-linear": further.log_linear,
        "population": further.population,
    }
    wanted |= {"sampling-fraction": further.fraction, "save-risk": records}
    names = [f"--{name}" for name, value in wanted.items() if value is not None]
    if names:
        raise UsageError(f"{', '.join(names)}: is measured of quasi-identifiers, and the spec has none")


def _journalist(table: Audited, text: Text, path: str | Path, threshold: float) -> dict[str, Any]:
    """Raises DataError for a population without a quasi-identifier, or without somebody whom the table has."""
    with ExitStack() as opened:
        measured = journalist(text, people(table.spec, path, table.columns_of, opened), threshold)
    if absent := measured.pop("absent"):
        hint = "everybody who is in the table has to be in the population, with original values or with those shown"
        message = f"has nobody under what {absent} rows of {table.source.name} show"
        raise DataError(Problem(message, file=str(path), hint=hint))
    return measured


def _log_linear(frequency: TextFrequencySet, terms: Terms, fraction: float | None) -> dict[str, Any]:
    """Raises UsageError without a sampling fraction, or for a table of too many cells."""
    if fraction is None:
        hint = "give --sampling-fraction, or sampling weights"
        raise UsageError(Problem("--log-linear: what share of the population the table is, is not known", hint=hint))
    try:
        return global_risk(frequency, terms, fraction)
    except ValueError as error:
        raise UsageError(f"--log-linear: {error}") from None


def _analysed(table: Audited, frequency: TextFrequencySet, further: Deeper, *, cells: bool) -> Analysis | None:
    """The subsets of at most a size; None where they are not looked at. Raises UsageError for too many."""
    size = further.subsets
    if size is None and not cells:
        return None
    try:
        return analyse(frequency, list(table.columns_of), size or None, cells=cells, thresholds=further.risky_cells)
    except ValueError as error:
        raise UsageError(f"--subsets: {error}") from None


OPTION = {"quasi_identifiers": "qi", "sampling_weight": "sampling-weight", "no_normalize": "no-normalize"}
"""What the command line calls an option, where it is not its name."""
APART = (
    *("quasi_identifiers", "sensitive", "numeric", "separator", "missing", "suppressed", "sampling_weight", "unit"),
    "no_normalize",
)
"""What describes a table without a spec; with one it comes from the spec."""


@dataclass(frozen=True)
class Against:
    """What a table is compared with: an earlier report (`baseline`), of which nothing may have become worse if
    `no_regress`; an earlier release of the same people (`previous`), of which row n is about the same individual as row
    n of this table if `by_position`; `previous_link`: which row of their common input each row of it is, where the
    request has the same of this table."""

    baseline: str | Path | None = None
    no_regress: bool = False
    previous: str | Path | None = None
    by_position: bool = False
    previous_link: str | Path | None = None


@dataclass(frozen=True)
class Audit:
    """What `audit` was asked for: a table, and what to measure it against.

    `path`: of the table ("-": standard input; None: the spec's input). `original`: the table that this one was made of,
    in which columns that pass through are compared with quasi-identifiers. `unit_from`: the same, which has the unit
    where this one does not; `link`: which row of it each row is. `st`: the sensitive table, where the table is the QIT
    of a bucketized release; `group`: the column of groups, where the table is bucketized; without it `group`, if there
    is an ST. `manifest`: the file that says what its columns mean, None for the one next to it, if there is one.
    `threshold`: risk above which a record counts as at risk. `further`: what else is measured of the risk.

    `reports`: paths, the kind by suffix; `save_risk`: of the risk of every row, private; `force`: files that exist are
    replaced. They are written whatever the verdict.

    `k`, `l`, `t` and `missing_as` (what a missing or suppressed cell is) replace those of the spec; `require`: further
    privacy models, as `anonymize.spec.override` reads them. `encoding`: of the table; `no_header`: its first line is a
    row, and its columns are column_1, column_2, ... The rest describes a table without a spec; `numeric`: those of
    `sensitive` that are compared as numbers.
    """

    spec: Spec | None = None
    path: str | Path | None = None
    unit_from: str | Path | None = None
    original: str | Path | None = None
    link: str | Path | None = None
    st: str | None = None
    group: str | None = None
    manifest: str | None = None
    threshold: float = THRESHOLD
    further: Deeper = field(default_factory=Deeper)
    against: Against = field(default_factory=Against)
    reports: Sequence[str] = ()
    save_risk: str | Path | None = None
    force: bool = False

    k: int | None = None
    l: int | None = None  # noqa: E741
    t: float | None = None
    missing_as: Literal["own-category", "wildcard"] | None = None
    require: Sequence[str] = ()
    encoding: str | None = None

    quasi_identifiers: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    numeric: Sequence[str] = ()
    separator: str | None = None
    missing: Sequence[str] | None = None
    suppressed: str | None = None
    sampling_weight: str | None = None
    unit: str | None = None
    no_normalize: bool = False
    no_header: bool = False

    @property
    def thresholds(self) -> dict[str, float]:
        """The thresholds that were given, of k, l and t."""
        given = {"k": self.k, "l": self.l, "t": self.t}
        return {name: value for name, value in given.items() if value is not None}


def is_input(request: Audit, spec: Spec) -> bool:
    """Whether the table is the spec's own input, and not a release of it."""
    own = spec.input.path
    return own is not None and (request.path is None or realpath(request.path) == realpath(own))


def unit_from_of(request: Audit) -> str | Path | None:
    """The table that has the unit: the one that is named, or with a link alone that of a spec with a unit."""
    spec = request.spec
    if request.unit_from is not None or request.link is None or spec is None or spec.unit is None:
        return request.unit_from
    return None if is_input(request, spec) else spec.input.path


def check(request: Audit) -> None:
    """Raises UsageError for what makes no sense, whatever the spec."""
    request.further.check()
    against = request.against
    if not 0 < request.threshold <= 1:
        raise UsageError("--threshold: must be above 0 and at most 1")
    if against.no_regress and against.baseline is None:
        raise UsageError("--no-regress: needs a --baseline")
    _check_links(request)
    if against.by_position and against.previous is None and request.unit_from is None:
        raise UsageError("--by-position: needs a --previous or --unit-from")
    inputs = [request.path, request.original, against.previous, request.unit_from, request.further.population]
    inputs.append(request.st)
    if inputs.count("-") > 1:
        raise UsageError("two tables cannot both come from standard input")


def _check_links(request: Audit) -> None:
    """Raises UsageError for links that lead nowhere."""
    against, linked = request.against, request.against.previous_link is not None
    if linked and (against.previous is None or request.link is None):
        raise UsageError("--previous-link: needs --previous, the release that it belongs to, and --link for this table")
    if request.link is not None and unit_from_of(request) is None and not linked:
        raise UsageError("--link: needs --unit-from, the table that it refers to, or --previous-link")
    if against.by_position and request.link is not None and (linked or against.previous is None):
        raise UsageError("--by-position: rows are matched by --link")


def effective(request: Audit) -> Spec:
    """The spec by which the table is read and measured: its own, or one made of the options, with what replaces it."""
    spec = with_meaning(_required(request), request.missing_as)
    return _readable(with_populations(spec, request.further.population), request)


def _required(request: Audit) -> Spec:
    """The spec with the options' thresholds and models; without one, a spec made of the options."""
    if request.spec is None:
        made = require(_spec_of(request), request.require, PARAMETERS)
        _refuse_stray_t(request, made)
        return override(made, t=request.t)
    extra = sorted(name for name in APART if getattr(request, name))
    if extra:
        raise UsageError(
            [f"--{OPTION.get(name, name)}: cannot be given together with a spec, which contains it" for name in extra]
        )
    changed = require(request.spec, request.require, PARAMETERS)
    _refuse_stray_t(request, changed)
    return override(changed, k=request.k, l=request.l, t=request.t)


def _refuse_stray_t(request: Audit, spec: Spec) -> None:
    """Raises UsageError for a t where no t-closeness is required."""
    if request.t is not None and not any("t" in type(each.parameters).model_fields for each in spec.privacy.models):
        hint = f'add one: --require "t-closeness t={request.t:g}", or under `privacy.models` of a spec'
        raise UsageError(Problem("-t: there is no t-closeness model", hint=hint))


def _readable(spec: Spec, request: Audit) -> Spec:
    """The spec as it reads the table at hand: a release is UTF-8 and has names, whatever the spec's own input is."""
    header = not request.no_header and (spec.input.header or not is_input(request, spec))
    if request.path is None and request.encoding is None:
        return spec.reading(header=header)
    return spec.reading(encoding=request.encoding or _encoding(spec, request.path), header=header)


def _encoding(spec: Spec, path: str | Path | None) -> str:
    """UTF-8, which a release is; that of the spec's own input for a CSV file which is not."""
    own = spec.input.encoding
    if own == "utf8" or path is None or not Path(path).is_file() or Path(path).suffix in (".gz", ".parquet", ".arrow"):
        return "utf8"
    try:
        scan.check_bytes(Path(path), str(path))
    except (OSError, DataError):
        return own
    return "utf8"


def _spec_of(request: Audit) -> Spec:
    if not request.quasi_identifiers:
        raise UsageError("nothing to audit: give a spec, or the quasi-identifiers")
    strange = [name for name in request.numeric if name not in request.sensitive]
    if strange:
        raise UsageError([f"--numeric: {name} is not a sensitive attribute" for name in strange])
    table = {"separator": _separator(request), **{name: getattr(request, name) for name in ("encoding", "missing")}}
    values = {
        "version": 1,
        "input": {name: value for name, value in table.items() if value is not None}
        | {"normalize": not request.no_normalize},
        "quasi_identifiers": {name: {} for name in request.quasi_identifiers},
        **{name: value for name in ("unit", "sampling_weight") if (value := getattr(request, name))},
        "sensitive": {
            name: {"type": "numeric" if name in request.numeric else "categorical"} for name in request.sensitive
        },
        "privacy": {name: value for name, value in request.thresholds.items() if name != "t"},
        "output": {"suppressed": request.suppressed or "*"},
    }
    return make(values, PARAMETERS)


def _separator(request: Audit) -> str | None:
    """The separator that is given, or as `init` guesses it, but for a space; None for the default."""
    if request.separator is not None or request.path is None:
        return request.separator
    guess = layout_of(str(request.path), None, request.encoding).get("separator")
    return guess if guess in SEPARATORS else None
