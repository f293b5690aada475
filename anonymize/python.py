"""The commands for Python users: frames or files in, frames and reports out, the same roads and the same verification.

    >>> import anonymize
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [31, 34, 52, 58], "job": ["cook", "cook", "clerk", "clerk"]})
    >>> spec = anonymize.Spec(quasi_identifiers={"age": {"type": "numeric"}, "job": {}}, privacy={"k": 2})
    >>> released = anonymize.release(people, spec)
    >>> released.frame["age"].to_list(), released.report["privacy"]["satisfied"]
    (['34-', '34-', '52+', '52+'], True)

A table is a path, or a frame: of polars, pandas (2.2 or newer), pyarrow, or anything else that exports an Arrow stream.
A frame is written to a file without a name first, as the release is verified from what was written; what comes back is
of the kind that went in. A null is a missing value.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from anonymize import privacy, temporary
from anonymize import spec as specs
from anonymize._attack import Attack
from anonymize._attack import attack as attack_road
from anonymize._audit import Against, Audit
from anonymize._audit import audit as audit_road
from anonymize._evaluate import Evaluate
from anonymize._evaluate import evaluate as evaluate_road
from anonymize._init import Init
from anonymize._init import init as init_road
from anonymize._recode import Recode
from anonymize._recode import recode as recode_road
from anonymize._release import release as release_road
from anonymize.algorithms import ALGORITHMS, why_not_reusable
from anonymize.auditing.sample import Deeper
from anonymize.auditing.series import SeriesAudit, audit_series
from anonymize.errors import Problem, UsageError, guarded
from anonymize.families import family_of
from anonymize.frames import Frame, kept_at, of_kind, path_of, saved_at, table_of, written
from anonymize.names import FRAME
from anonymize.places import is_uri
from anonymize.remake import Remake
from anonymize.remake import remake as made_again
from anonymize.request import Request
from anonymize.results import Attacked, AuditReport, Evaluated, RecodedTable, Release


class Spec:
    """What a table's columns are, and what a release has to meet: a YAML file, a mapping, or keywords.

    `Spec("spec.yaml")`, `Spec({"quasi_identifiers": ...})` and `Spec(quasi_identifiers=..., privacy={"k": 5})` are the
    same; `version` is 1 where it is left out. Keywords replace the keys of a mapping.

    Raises SpecError with everything that is wrong.
    """

    @guarded
    def __init__(self, source: str | os.PathLike[str] | Mapping[str, Any] | None = None, /, **keys: Any) -> None:
        if isinstance(source, str | os.PathLike):
            if keys:
                raise UsageError(f"Spec: a file takes no keywords beside it: {', '.join(keys)}")
            self.model = specs.load(Path(source), privacy.PARAMETERS)
        else:
            self.model = specs.make({"version": 1, **(source or {}), **keys}, privacy.PARAMETERS)

    def __repr__(self) -> str:
        where = "" if self.model.path is None else f"{str(self.model.path)!r}: "
        return f"<Spec {where}{len(self.model.quasi_identifiers)} quasi-identifiers>"


SpecLike: TypeAlias = "Spec | specs.Spec | str | os.PathLike[str] | Mapping[str, Any]"


def model_of(spec: SpecLike) -> specs.Spec:
    """The validated spec, from whatever describes one. Raises SpecError."""
    if isinstance(spec, specs.Spec):
        return spec
    return (spec if isinstance(spec, Spec) else Spec(spec)).model


# --- what is called --------------------------------------------------------------------------------------------------


@guarded
def release(
    data: Frame | str | os.PathLike[str],
    spec: SpecLike,
    algorithm: str | None = None,
    *,
    k: int | None = None,
    l: int | None = None,  # noqa: E741
    t: float | None = None,
    suppression: float | None = None,
    seed: int | None = None,
    threads: int | None = None,
    public: bool = False,
    show_values: bool = False,
    bound: bool = False,
    allow_unsafe: bool = False,
    start_series: str | os.PathLike[str] | None = None,
    after: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    save_link: str | os.PathLike[str] | None = None,
    manifest: str | os.PathLike[str] | None = None,
    force: bool = False,
    **options: Any,
) -> Release:
    """A release of a table, made by an algorithm (the recommended one for None), verified as the command verifies it.

    `k`, `l`, `t`, `suppression`: over the spec. `public`: the report is made from what is published alone. `bound`: it
    has a gcp that no release with classes can be below. `options`: the algorithm's own, by the names of its command's
    (`--time-limit` is `time_limit`). The same data, spec, options and seed give the same frame.

    `start_series`, `after`: the state of the series that the release begins, or continues; `key`: the key file of the
    series. The release of a series is a file, `output` (CSV, Parquet or Arrow by its suffix), which appears together
    with the state; any other may be. `save_link`: the private file that says which row is whose; `manifest`: the public
    one that says what the columns mean. `force` replaces files that exist. The original is kept nowhere: `audit
    --series` finds one only where `data` is a path.

    Raises UnsafeError for a release that does not meet its requirements, unless `allow_unsafe`; InfeasibleError where
    there is none; SpecError, DataError and UsageError as the command does. Then nothing is returned.
    """
    name = algorithm or "release"
    chosen = _options(name, options)
    model = specs.override(model_of(spec), k=k, l=l, t=t, suppression=suppression)
    series = start_series is not None or after is not None
    with table_of(data) as path, temporary.folder() as folder:
        reusable = not series and why_not_reusable(ALGORITHMS[name], chosen) is None
        request = Request(
            model,
            name,
            chosen,
            input=path,
            output=kept_at(output, in_series=series) or f"{folder}/release.arrow",
            reports=(f"{folder}/report.json",),
            seed=seed,
            threads=threads or os.cpu_count() or 1,
            public=public,
            show_values=show_values,
            bound=bound,
            allow_unsafe=allow_unsafe,
            save_recoding=f"{folder}/recoding.json" if reusable else None,
            save_link=path_of(save_link),
            manifest=path_of(manifest),
            start_series=path_of(start_series),
            after=path_of(after),
            key=path_of(key),
            force=force,
        )
        report = _without_paths(release_road(request), data)
        tables, texts = (getattr(family_of(name).paths(request), part) for part in ("tables", "texts"))
        first, *others = (of_kind(written(path, model), data) for path in tables)
        further = dict(zip([Path(each).name for each in tables[1:]], others, strict=True))
        further |= {Path(each).name: json.loads(Path(each).read_text()) for each in texts}
        recoding = json.loads((folder / "recoding.json").read_text()) if reusable else None
    return Release(report, first, recoding, further)


@guarded
def audit(
    data: Frame | str | os.PathLike[str] | None = None,
    spec: SpecLike | None = None,
    *,
    series: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    original: Frame | str | os.PathLike[str] | None = None,
    previous: Frame | str | os.PathLike[str] | None = None,
    by_position: bool = False,
    baseline: str | os.PathLike[str] | None = None,
    no_regress: bool = False,
    subsets: int | None = None,
    sampling_fraction: float | None = None,
    population: str | os.PathLike[str] | None = None,
    **options: Any,
) -> AuditReport:
    """Measures any table against a spec, or against `k`, `l` and further models on the columns that `quasi_identifiers`
    and `sensitive` name.

    `options`: those of the command by their names, among them `k`, `l`, `t`, `require`, `quasi_identifiers`,
    `sensitive`, `numeric`, `missing`, `unit`, `threshold`, `missing_as`. A table that does not meet its requirements
    raises nothing: `satisfied` says so. Without `data` it is the spec's input that is measured. `original`: the table
    that it was made from, in which columns that pass through are compared with the quasi-identifiers.

    `series`, `key`: the state of a series of releases and its key file, in place of `data`. All releases are measured,
    by everybody's history; of the options `k`, `l`, `t` and `require` go with them.

    Raises UsageError, SpecError and DataError as the command does.
    """
    own = {"spec", "path", "original", "further", "against", "reports", "force"}
    names = {each.name for each in fields(Audit)} - own
    _refuse_unknown("audit", options, names)
    if series is not None or key is not None:
        table = [data, original, previous, by_position, baseline, no_regress, subsets, sampling_fraction, population]
        if any(each is not None and each is not False for each in table):
            raise UsageError("series: all releases are measured, and not `data`, nor anything about one table")
        return _series_audited(spec, path_of(series), path_of(key), options)
    with table_of(data) as path, table_of(original) as source, table_of(previous) as earlier:
        against = Against(path_of(baseline), no_regress, earlier, by_position)
        further = Deeper(subsets, sampling_fraction, path_of(population))
        model = None if spec is None else model_of(spec)
        result = audit_road(Audit(model, path, original=source, against=against, further=further, **options))
    problems = tuple(str(each) for each in result.problems)
    return AuditReport(_without_paths(result.report, data), result.state, problems)


def _series_audited(
    spec: SpecLike | None, series: str | None, key: str | None, options: Mapping[str, Any]
) -> AuditReport:
    """Raises UsageError where the spec, the state or the key is lacking, and for options about one table."""
    _refuse_unknown("audit with series", options, ["k", "l", "t", "require"])
    if spec is None or series is None or key is None:
        raise UsageError("series: is measured by the spec of the releases, the state and its key, all three")
    thresholds = {name: options[name] for name in ("k", "l", "t") if name in options}
    result = audit_series(SeriesAudit(model_of(spec), series, key, thresholds, options.get("require", ())))
    return AuditReport(result.report, result.state, tuple(str(each) for each in result.problems))


@guarded
def evaluate(
    released: Frame | str | os.PathLike[str],
    spec: SpecLike,
    original: Frame | str | os.PathLike[str] | None = None,
    *,
    queries: int = 1000,
    seed: int = 0,
    public: bool = False,
    **options: Any,
) -> Evaluated:
    """What a release has lost, beside its original (the spec's input for None). `public`: as far as the release shows
    it; no original is read.

    `options`: those of the command that name files or columns: `st`, `group`, `link`, `manifest` (or `parameters`),
    `method`, `tree`.

    Raises UsageError, SpecError and DataError as the command does.
    """
    options = _by_manifest(options)
    _refuse_unknown("evaluate", options, {"st", "group", "link", "manifest", "method", "tree"})
    with table_of(released) as path, table_of(original) as source:
        request = Evaluate(
            model_of(spec),
            path,
            source,
            queries=queries,
            seed=seed,
            public=public,
            threads=os.cpu_count() or 1,
            **options,
        )
        report = evaluate_road(request)
    return Evaluated(_without_paths(report, original))


@guarded
def attack(
    released: Frame | str | os.PathLike[str],
    spec: SpecLike,
    original: Frame | str | os.PathLike[str] | None = None,
    *,
    control: Frame | str | os.PathLike[str] | None = None,
    previous: Frame | str | os.PathLike[str] | None = None,
    series: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    remake: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    **options: Any,
) -> Attacked:
    """What attackers learn because of a release. `control`: people who are not in it. `previous`: an earlier release;
    `series`, with or without its `key`: the state of a series that `released`, a file, is in. `remake`: the report of
    the release, or its path: it is made again without a fifth of the people, who are the control.

    `options`: those of the command by their names: `attackers`, `max_excess`, `targets`, `seed`, `link`, `st`, `group`,
    `manifest` (or `parameters`). An excess above `max_excess` raises nothing: `satisfied` says so.

    Raises UsageError, SpecError and DataError as the command does.
    """
    options = _by_manifest(options)
    names = {"attackers", "max_excess", "targets", "seed", "link", "st", "group", "manifest"}
    _refuse_unknown("attack", options, names)
    options |= {"series": path_of(series), "key": path_of(key)}
    with (
        table_of(released) as path,
        table_of(original) as source,
        table_of(control) as others,
        table_of(previous) as earlier,
    ):
        assert path is not None
        request = Attack(model_of(spec), path, source, control=others, previous=earlier, **options)
        result = attack_road(request) if remake is None else made_again(Remake(request, remake))
    report = result.report if remake is not None else _without_paths(result.report, released)
    if original is not None and not isinstance(original, str | os.PathLike):
        report["original"] = {**report["original"], "path": FRAME}
    return Attacked(report, result.state, tuple(str(each) for each in result.problems))


@guarded
def recode(
    data: Frame | str | os.PathLike[str],
    recoding: Mapping[str, Any] | str | os.PathLike[str],
    *,
    seed: int | None = None,
) -> RecodedTable:
    """Applies a saved recoding, that of a `Release` or a file, to rows that it has not seen. Nothing is measured.

    Raises DataError and UsageError as the command does.
    """
    with (
        table_of(data) as path,
        saved_at(recoding) as saved,
        temporary.folder() as folder,
    ):
        assert path is not None
        output = f"{folder}/release.arrow"
        report = recode_road(Recode(saved, path, output, seed=seed))
        frame = of_kind(pl.read_ipc(output), data)
    return RecodedTable(_without_paths(report, data), frame)


@guarded
def init(
    data: Frame | str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    show_values: bool = False,
    force: bool = False,
    separator: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> str:
    """A first spec for a table, as YAML with a comment for each guess; written to `output` where one is named.

    `header`: whether the first line of a CSV names its columns; one that looks like a row is refused where it is None.

    It runs as it is, and whoever knows the data has to decide on each guess. For a frame it names no input.
    `show_values`: some values of each column stand in its comment; the file has mode 0600 then.

    Raises UsageError, DataError and WriteError as the command does.
    """
    with table_of(data) as path, temporary.folder() as folder:
        assert path is not None
        is_file = isinstance(data, str | os.PathLike)
        place = path_of(output) or f"{folder}/spec.yaml"
        table = os.path.abspath(path) if is_file and output is None and not is_uri(path) else path
        called = None if is_file else "-"
        return init_road(Init(table, place, show_values, None, force, separator, encoding, header, input_path=called))


def _without_paths(report: dict[str, Any], data: Frame) -> dict[str, Any]:
    """The report without names of files that are gone."""
    report = dict(report)
    for block in ("input", "output"):
        gone = block == "output" or not isinstance(data, str | os.PathLike)
        if gone and "path" in report.get(block, {}):
            report[block] = {**report[block], "path": FRAME}
    return report


# --- options ---------------------------------------------------------------------------------------------------------


def _options(name: str, given: Mapping[str, Any]) -> Any:
    """The algorithm's options. Raises UsageError for an unknown algorithm or option."""
    if name not in ALGORITHMS:
        raise UsageError(f"{name}: is not one of {', '.join(ALGORITHMS)}")
    names = [each.name for each in fields(ALGORITHMS[name].Options)]
    _refuse_unknown(name, given, names)
    return ALGORITHMS[name].Options(**given)


def _by_manifest(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options, with the parameters of a release through channels as its manifest, which they are."""
    return {"manifest" if name == "parameters" else name: value for name, value in options.items()}


def _refuse_unknown(command: str, given: Mapping[str, Any], names: Sequence[str] | set[str]) -> None:
    unknown = [name for name in given if name not in names]
    if unknown:
        message = f"{command} has no option {', '.join(unknown)}"
        raise UsageError(Problem(message, hint=f"it has {', '.join(sorted(names))}"))
