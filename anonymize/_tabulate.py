"""The road of tables, from a spec and a table to a folder of counts, shares, sums and means that has been verified.

spec, input ─▶ grid      the columns that tables group by, as nodes of hierarchies; what each cell comes to
grid        ─▶ shown     what each table shows, by the mechanism (`anonymize.tabulating`, a file each)
shown       ─▶ folder    a temporary one, next to its target, with a manifest (`anonymize.publication`)
folder      ─▶ verdict   read again, and attacked, by code that shares nothing with the mechanism
publish                  reports and folder take their places; or none does
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any

import polars as pl

from anonymize.claims import overall
from anonymize.dp.mechanisms import ROW, Charge
from anonymize.errors import Caution, Problem, UnsafeError, UsageError
from anonymize.families.steps import Charging, Rehearsal
from anonymize.publication import Files, OutputFolder, Paths, named_by, opened
from anonymize.records import dataclass
from anonymize.report import Clock, data
from anonymize.report.head import head, table_block
from anonymize.report.public import public_head
from anonymize.request import Progress, Request
from anonymize.spec import Spec, patterns, resolve
from anonymize.spec.tabulation import Tabulation
from anonymize.table import OutputFile, Source, Table, columns, commit, read, roles
from anonymize.table.named import column
from anonymize.tabulating import CHECKS, GRIDS, MECHANISMS, Tabulated, cells, counting
from anonymize.tabulating.written import MANIFEST, ShownTable, file_name, manifest
from anonymize.verify import differential, recount
from anonymize.verify.tabulated import audit as attack_tables


@dataclass(frozen=True)
class Tabulate:
    """What `tabulate` was asked for. `output`: a folder. `key`: the file of the key of cell keys, and of the ledger,
    `budget`. Everything else is as of `anonymize.request.Request`."""

    spec: Spec
    output: str
    input: str | None = None
    reports: Sequence[str] = ()
    key: str | None = None
    budget: str | None = None
    force: bool = False
    public: bool = False
    dry_run: bool = False
    progress: Progress = field(default=lambda stage, count, total: None)


def tabulate(request: Tabulate) -> dict[str, Any]:
    """Walks the road; returns the report that was published.

    Raises what is wrong as an AnonymizeError; then nothing has been written. UnsafeError: the tables were made,
    attacked and found to tell too much. InfeasibleError: no blanks, or no budget, protect them.
    """
    settings = _settings(request)
    try:
        return _walked(request, settings)
    except Rehearsal as rehearsal:
        return rehearsal.report


def _walked(request: Tabulate, settings: Tabulation) -> dict[str, Any]:
    clock, paths, charging = Clock(), _paths(request), _charging(request)
    with opened(request.spec, paths) as files, OutputFolder(request.output, MANIFEST, force=request.force) as folder:
        _refuse_inside(request, folder)
        spec = resolve(request.spec, files.source.columns).of_types(files.source.numeric)
        check_drawn(spec, settings)
        run = TableRun(request, spec, settings, files, folder, clock, charging)
        with run.stage("read"):
            table, grid = _gridded(spec, settings, files.source)
            run.read_alike.extend(_read_alike(counting.reading(spec, settings), files.source))
        with run.stage("search"):
            make = MECHANISMS[settings.mechanism]
            tabulated = make(spec, settings, grid, table, _secret(request), run.charge)
        with run.stage("write"):
            written = _write(run, grid, tabulated)
        with run.stage("verify"):
            declared = json.loads((folder.part / MANIFEST).read_text(encoding="utf-8"))
            audit = attack_tables(_recount(run, grid, table), written, declared)
        if failing := [each for each in audit.results if each.state.fails]:
            raise UnsafeError([Problem(str(each)) for each in failing])
        report = _report(run, tabulated, audit)
        bill = charging.beside({}, files.source.sha256)
        report |= {} if request.public else bill.block
        report["warnings"] += bill.said
        folders = [] if request.dry_run else [folder]
        files.publish(report, bill.committing(lambda outputs: commit([*outputs, *folders])))
    return report


@dataclass(frozen=True)
class TableRun:
    """A run: what was asked for, with the spec as the table resolves it, and its open files."""

    request: Tabulate
    spec: Spec
    settings: Tabulation
    files: Files
    folder: OutputFolder
    clock: Clock
    charging: Charging
    read_alike: list[Caution] = field(default_factory=list)
    """Of the columns that were read, those with labels that are one group."""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.request.progress(name, 0, 0)
        with self.clock(name):
            yield

    def charge(self, rho: float) -> None:
        """Charges the ledger: before the first draw of a run, and after all that can fail has been tried. `rho`: of
        zero-concentrated differential privacy, that all tables together cost."""
        bound = self.spec.privacy.differential
        assert bound is not None
        charge = Charge.of_zcdp("tabulate", self.spec.unit or ROW, bound, rho)
        self.charging.before_draw(self.files.source.sha256, charge)


# --- what was asked for -----------------------------------------------------------------------------------------------


def check_tables(spec: Spec, source: Source | None) -> None:
    """Raises what keeps the tables of a spec from being made, before anything is searched or drawn; without a table, as
    far as the spec says it."""
    settings = settings_of(spec)
    if source is None:
        expanded = patterns.expand(spec, (*settings.grouped_by, *settings.measured), lenient=True)
        CHECKS[settings.mechanism](expanded, settings, None)
    else:
        spec = resolve(spec, source.columns).of_types(source.numeric)
        table, grid = _gridded(spec, settings, source)
        CHECKS[settings.mechanism](spec, settings, (grid, table))
    check_drawn(spec, settings)


def check_drawn(spec: Spec, settings: Tabulation) -> None:
    """Raises UnsafeError where differential privacy is required, and the tables are by a mechanism that has none."""
    required = spec.privacy.differential
    if required is not None and settings.mechanism != "dp":
        result = differential.differential_result(required.model_dump(), differential.UNDRAWN)
        hint = "`mechanism: dp` spends it; or leave `privacy.differential` out of a spec of these tables"
        raise UnsafeError([spec.problem(("tabulate", "mechanism"), str(result), hint)])


def settings_of(spec: Spec) -> Tabulation:
    """The tables of a spec. Raises UsageError where there are none, and for what they would not do justice to."""
    if spec.tabulate is None:
        message = "`tabulate` is missing: the spec says of no table what it counts"
        hint = "tabulate: {mechanism: suppression, tables: [{by: [...], count: true}]}"
        raise UsageError(spec.problem((), message, hint))
    if spec.weight_column is not None:
        message = "`sampling_weight`: tables count the rows of the input, and not the population that they stand for"
        raise UsageError(spec.problem(("sampling_weight",), message, "take it out, and list the column elsewhere"))
    if spec.treatments:
        message = "`treatments`: tables are made of the values as they are"
        raise UsageError(spec.problem(("treatments",), message, "tabulate a release of `perturb`, or take them out"))
    if spec.tabulate.mechanism == "dp" and spec.privacy.differential is None:
        message = "`privacy.differential` is missing: `mechanism: dp` spends it"
        hint = "privacy: {differential: {epsilon: 1, delta: 1e-9}}"
        raise UsageError(spec.problem(("tabulate", "mechanism"), message, hint))
    return spec.tabulate


def _settings(request: Tabulate) -> Tabulation:
    """The tables of the spec. Raises UsageError as `settings_of` does, and for options that they have no use for."""
    settings = settings_of(request.spec)
    if settings.mechanism == "dp" and request.dry_run and request.reports:
        raise UsageError("--dry-run: nothing is drawn, so that there is nothing to report (-r)")
    if request.key is not None and request.budget is None and settings.mechanism != "cell-keys":
        raise UsageError(f"--key: is about cell keys, and `tabulate.mechanism` is {settings.mechanism}")
    return settings


def _charging(request: Tabulate) -> Charging:
    """The ledger that is charged, if any. Raises UsageError as `Ledger.opened` does."""
    charged = Request(request.spec, "tabulate", None, public=request.public, dry_run=request.dry_run)
    return Charging.of(replace(charged, budget=request.budget, key=request.key))


def _paths(request: Tabulate) -> Paths:
    """Where the request reads and writes, but for the folder. Raises UsageError as `Paths.check` does."""
    paths = Paths(request.input, reports=request.reports, force=request.force)
    paths.check([request.input or request.spec.input.path, request.key, request.budget], named_by(request.spec))
    return paths


def _refuse_inside(request: Tabulate, folder: OutputFolder) -> None:
    """Raises UsageError for files that are in the folder, which takes its place whole."""
    named = [request.input or request.spec.input.path, request.key, *request.reports, *named_by(request.spec)]
    if inside := [str(each) for each in named if each not in (None, "-") and folder.inside(str(each))]:
        raise UsageError([f"{each}: is in the folder that the tables are written to" for each in inside])


# --- reading ----------------------------------------------------------------------------------------------------------


def _gridded(spec: Spec, settings: Tabulation, source: Source) -> tuple[Table, cells.TableGrid]:
    """The columns that tables are made of, and their groups. Raises DataError as `read` does, for the columns of the
    whole spec too, and what the mechanism raises of its groups."""
    roles.check_columns(spec, source)
    CHECKS[settings.mechanism](spec, settings, None)
    own = counting.reading(spec, settings)
    table = read(own, source)
    return table, GRIDS[settings.mechanism](own, settings, table)


def _read_alike(spec: Spec, source: Source) -> Iterator[Caution]:
    """Columns of which different texts are one group, as they differ in white space and the like: how many."""
    for name, definition in spec.quasi_identifiers.items():
        if definition.type == "categorical" and spec.normalizes(name):
            texts = source.scan().select(column(name).cast(pl.String).unique()).collect().to_series()
            labels = columns.compared(texts, spec.missing(source.format, name)).drop_nulls()
            if alike := len(labels) - labels.n_unique():
                are = "1 label reads like another and is" if alike == 1 else f"{alike} labels read like others and are"
                said = f"{name}: {are} counted with {'it' if alike == 1 else 'them'}"
                yield Caution.of(said, "write each in one way, or `input: {normalize: false}` counts them apart")


def _recount(run: TableRun, grid: cells.TableGrid, table: Table) -> recount.Recount:
    source = run.files.source
    return recount.Recount(
        source.scan(),
        source.format,
        counting.reading(run.spec, run.settings),
        {each.name: each.paths for each in grid.columns},
        run.settings.total,
        run.spec.fewest,
        None if table.units is None else pl.Series(table.units),
        _secret(run.request),
        run.spec.privacy.differential,
    )


def _secret(request: Tabulate) -> bytes | None:
    """The secret of the key, where there is one. Raises what `load` of a key raises."""
    if request.key is None or request.spec.tabulate is None or request.spec.tabulate.mechanism != "cell-keys":
        return None
    from anonymize.key import load

    return load(request.key).secret


# --- writing ----------------------------------------------------------------------------------------------------------


def _write(run: TableRun, grid: cells.TableGrid, tabulated: Tabulated) -> list[recount.WrittenTable]:
    written, separator, decimal = [], run.files.source.separator, _decimal(run)
    for number, table in enumerate(tabulated.tables, 1):
        path = run.folder.part / file_name(number, table.measured)
        with OutputFile(path, separator=separator) as output:
            output.write([table.frame(grid, decimal)])
            output.commit()
        written.append(recount.WrittenTable(path, separator, table.measured, decimal))
    details = {} if decimal == "." else {"decimal": decimal}
    details |= {} if run.spec.unit is None else {"counted": run.settings.counted}
    content = manifest(run.settings, grid, tabulated.tables, {**details, **tabulated.details}, separator)
    with OutputFile(run.folder.part / MANIFEST) as output:
        output.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n")
        output.commit()
    return written


def _decimal(run: TableRun) -> str:
    """The sign before the fractions of all figures: a comma where the input has numbers that are written with one."""
    notations = [run.spec.notation(name) for name in run.files.source.columns]
    return "," if any(each.decimal == "," for each in notations) else "."


# --- the report -------------------------------------------------------------------------------------------------------


def _report(run: TableRun, tabulated: Tabulated, audit: recount.TableAudit) -> dict[str, Any]:
    """The report. A public one has what the tables and the spec say, and nothing that was counted in the input."""
    public, mechanism = run.request.public, run.settings.mechanism
    state = overall(result.state for result in audit.results)
    models = [(replace(each, achieved={}) if public else each).as_dict() for each in audit.results]
    tables = [_table(number, each) for number, each in enumerate(tabulated.tables, 1)]
    private = {} if public else {"private": {**tabulated.private, "measures": audit.figures}}
    details = {**tabulated.details}
    details.pop("measurements", None)  # the manifest has them
    blocks = {
        "algorithm": {"name": "tabulate", "family": "tables", "options": {"mechanism": mechanism}, "seed": None},
        "privacy": {"satisfied": state.satisfied, "state": str(state), "verified": True, "models": models},
        "tabulation": {"mechanism": mechanism, "tables": tables, "details": details, **private},
    }
    warnings = [*_unjudged(run.spec), *tabulated.warnings]
    if public:
        return {**public_head(run.spec), **blocks, "warnings": warnings}
    source = run.files.source
    once = run.settings.once(run.spec.unit) and run.settings.counts
    warnings += [*run.read_alike, *_truncated(tabulated, "counted: rows, " if once else "")]
    return {
        **head(run.clock),
        "spec": data.spec_block(run.spec),
        "input": table_block(source, source.rows),
        "output": {"path": run.folder.name},
        **blocks,
        "timing": run.clock.timing(),
        "memory": {"peak_mb": data.peak_mb()},
        "warnings": warnings,
    }


def _truncated(tabulated: Tabulated, also: str) -> list[Caution]:
    """A warning, for private reports, of rows that do not count because their individuals have too many. `also`: what
    the spec has to say in addition to a larger `rows_per_unit`."""
    if not (left_out := tabulated.private.get("rows_left_out")):
        return []
    most = tabulated.details["rows_per_unit"]
    why = f"as individuals have more than {most}: figures are of the rest"
    setting = f"`tabulate: {{{also}dp: {{rows_per_unit: {most + 1}}}}}`"
    more = f"{setting}, or more, counts more of them, with noise that grows alike"
    return [Caution.of(f"rows_per_unit: {left_out:,} rows were left out, {why}", more)]


def _table(number: int, table: ShownTable) -> dict[str, Any]:
    """A table, as far as its file shows it."""
    return {
        "file": file_name(number, table.measured),
        "by": list(table.measured.by),
        "measure": table.measured.measure,
        "column": table.measured.column,
        "groups": len(table.values),
        "blank": sum(each is None for each in table.values),
        **table.accuracy,
    }


def _unjudged(spec: Spec) -> list[Caution]:
    """A warning of requirements that are about rows, of which tables have none; k is the fewest of a group that is safe
    where the rules of suppression do not say."""
    tabulate = spec.tabulate
    fewest = tabulate is not None and tabulate.mechanism == "suppression" and tabulate.rules.minimum is None
    names = [*(["k"] if spec.privacy.k and not fewest else []), *(["l"] if spec.privacy.l else [])]
    names += [entry.model for entry in spec.privacy.models]
    said = f"{', '.join(names)}: required of a release of rows, and not judged here; tables have no rows"
    return [Caution.of(said, "`tabulate` says what protects them")] if names else []
