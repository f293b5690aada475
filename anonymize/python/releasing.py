"""Releases of frames and files, and rows that a saved recoding is applied to."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import polars as pl

from anonymize import files, results
from anonymize import spec as specs
from anonymize._recode import Recode
from anonymize._recode import recode as recode_road
from anonymize._release import release as release_road
from anonymize._tabulate import Tabulate
from anonymize._tabulate import tabulate as tabulate_road
from anonymize.algorithms import ALGORITHMS, why_not_reusable
from anonymize.errors import Problem, UsageError
from anonymize.families import release_paths
from anonymize.guarding import nearest, public, refuse_unknown
from anonymize.python.preparing import SpecLike, model_of
from anonymize.report.terminal import Following, following
from anonymize.request import Request


@public
def release(
    data: results.Frame | str | os.PathLike[str],
    spec: SpecLike,
    algorithm: str | None = None,
    *,
    k: int | None = None,
    l: int | None = None,  # noqa: E741
    t: float | None = None,
    suppression: float | None = None,
    seed: int | None = None,
    threads: int | None = None,
    memory_limit: int | None = None,
    tmp: str | os.PathLike[str] | None = None,
    progress: Following = None,
    public: bool = False,
    show_values: bool = False,
    bound: bool = False,
    allow_unsafe: bool = False,
    start_series: str | os.PathLike[str] | None = None,
    after: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    budget: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    save_link: str | os.PathLike[str] | None = None,
    save_risk: str | os.PathLike[str] | None = None,
    manifest: str | os.PathLike[str] | None = None,
    force: bool = False,
    **options: Any,
) -> results.Release:
    """Anonymize a table: a release that meets what the spec requires, measured from what was written.

    The same data, spec, options and seed give the same frame, with any number of threads.

    Args:
        data: the table: a path, or a frame of polars, pandas, pyarrow, or whatever exports an Arrow stream.
        spec: a `Spec`, the path of a YAML file, or a mapping: the columns' roles, and what is required.
        algorithm: a release command, such as "mondrian"; None takes the recommended one.
        k: over the spec's k.
        l: over the spec's l.
        t: of every t-closeness model of the spec.
        suppression: the share of rows that may be suppressed, over the spec's.
        seed: of what is drawn at random; None takes the system's entropy.
        threads: None for one per core.
        memory_limit: bytes that the process may take; None for what there is.
        tmp: the folder of temporary files.
        progress: True shows a bar, False none; None where standard error is a terminal, or in a notebook that has
            ipywidgets. A function is called with (stage, rows done, rows in all).
        public: the report is made from what is published alone, and may be published.
        show_values: values of the input may be in the (private) report.
        bound: the report says below which gcp no release with classes can be.
        allow_unsafe: return the release even where a requirement is not met.
        start_series: the folder of a new state: this is the first release of a series.
        after: the state of the series that this release continues.
        key: the key file of the series, and of the ledger.
        budget: the ledger of the people that the release is charged to, made if there is none; private.
        output: where the release is written (.csv, .csv.gz, .parquet, .arrow); required in a series.
        save_link: where to write which row is whose; private.
        save_risk: where to write the risk of every row of the input, before and after (.csv); private. See
            `anonymize.explain("save-risk")`.
        manifest: where to write what the columns mean; public.
        force: replace files that exist.
        **options: the algorithm's own, by the names of its command's: `--time-limit` is `time_limit`. See
            `anonymize.explain(algorithm)`.

    Returns:
        A `Release`: `frame` (of the kind of `data`; polars for a path), `report`, `recoding`, `further`; `save`,
        `to_html` and `summary`.

    Raises:
        UnsafeError: the release was made and measured, and does not meet its requirements.
        InfeasibleError: there is no such release; the message names the nearest that is feasible.
        SpecError: the spec is wrong.
        DataError: the table is not what the spec says.
        UsageError: an algorithm or option that there is not, or an output that exists.
        WriteError: an output cannot be written.
        MemoryShortage: the memory does not suffice.

    Example:
        >>> import anonymize
        >>> import polars as pl
        >>> people = pl.DataFrame({"age": [31, 34, 52, 58], "job": ["cook", "cook", "clerk", "clerk"]})
        >>> spec = anonymize.Spec(quasi_identifiers={"age": {"type": "numeric"}, "job": {}}, privacy={"k": 2})
        >>> released = anonymize.release(people, spec)
        >>> released.frame["age"].to_list(), released.report["privacy"]["satisfied"]
        (['34-', '34-', '52+', '52+'], True)
    """
    name = algorithm or "release"
    series = start_series is not None or after is not None
    with results.table_of(data) as path, files.folder() as folder, following(progress) as tell:
        request = Request(
            specs.override(model_of(spec), k=k, l=l, t=t, suppression=suppression),
            name,
            options_of(name, options),
            input=path,
            output=results.kept_at(output, in_series=series) or f"{folder}/release.arrow",
            reports=(f"{folder}/report.json",),
            seed=seed,
            threads=threads or os.cpu_count() or 1,
            memory_limit=memory_limit,
            tmp=results.path_of(tmp),
            progress=tell,
            public=public,
            show_values=show_values,
            bound=bound,
            allow_unsafe=allow_unsafe,
            save_link=results.path_of(save_link),
            save_risk=results.path_of(save_risk),
            manifest=results.path_of(manifest),
            start_series=results.path_of(start_series),
            after=results.path_of(after),
            key=results.path_of(key),
            budget=results.path_of(budget),
            force=force,
        )
        return _released(request, data, folder)


def _released(request: Request, data: results.Frame, folder: Path) -> results.Release:
    """The release, made and read again, with the recoding that can be saved of it."""
    reusable = not (request.in_series or request.spec.treatments)
    reusable = reusable and why_not_reusable(ALGORITHMS[request.algorithm], request.options) is None
    saved = folder / "recoding.json"
    request = replace(request, save_recoding=str(saved) if reusable else None)
    report = results.without_paths(release_road(request), data)
    paths = release_paths(request)
    first, *others = (results.of_kind(results.written(path, request.spec), data) for path in paths.tables)
    further = dict(zip([Path(each).name for each in paths.tables[1:]], others, strict=True))
    further |= {Path(each).name: json.loads(Path(each).read_text()) for each in paths.texts}
    recoding = json.loads(saved.read_text()) if reusable else None
    return results.Release(report, first, recoding, further, request.spec.input.separator)


def options_of(name: str, given: Mapping[str, Any]) -> Any:
    """The algorithm's options. Raises UsageError for an unknown algorithm or option."""
    if name not in ALGORITHMS:
        hint = nearest(name.replace("_", "-"), list(ALGORITHMS)) or f"one of {', '.join(ALGORITHMS)}"
        raise UsageError(Problem(f"there is no algorithm {name}", hint=hint))
    refuse_unknown(name, given, [each.name for each in fields(ALGORITHMS[name].Options)])
    return ALGORITHMS[name].Options(**given)


@public
def recode(
    data: results.Frame | str | os.PathLike[str],
    recoding: Mapping[str, Any] | str | os.PathLike[str],
    *,
    seed: int | None = None,
    progress: Following = None,
) -> results.RecodedTable:
    """Apply a saved recoding to rows that it has not seen. Nothing is measured: `audit` says whether they are safe.

    Args:
        data: the rows, as a path or a frame, with the columns of the table that the recoding was made of.
        recoding: the `recoding` of a `Release`, or the path of a file that `release` saved.
        seed: of the order of the rows, where that of the release was shuffled; None takes the system's entropy.
        progress: see `release`.

    Returns:
        A `RecodedTable`: `frame`, of the kind of `data`, and `report`.

    Raises:
        DataError: a column is missing, or a value has no place in the recoding.
        SpecError: the file is no saved recoding.
        UsageError: `recoding` is none, as where classes are not a function of the values.

    Example:
        >>> import anonymize
        >>> import polars as pl
        >>> people = pl.DataFrame({"age": [31, 34, 52, 58]})
        >>> spec = {"quasi_identifiers": {"age": {"type": "numeric"}}, "privacy": {"k": 2}}
        >>> released = anonymize.release(people, spec, "mondrian")
        >>> anonymize.recode(pl.DataFrame({"age": [33, 60]}), released.recoding).frame["age"].to_list()
        ['34-', '52+']
    """
    with (
        results.table_of(data) as path,
        results.saved_at(recoding) as saved,
        files.folder() as folder,
        following(progress) as tell,
    ):
        assert path is not None
        output = f"{folder}/release.arrow"
        report = recode_road(Recode(saved, path, output, seed=seed, progress=tell))
        frame = results.of_kind(pl.read_ipc(output), data)
    return results.RecodedTable(results.without_paths(report, data), frame)


@public
def tabulate(
    data: results.Frame | str | os.PathLike[str],
    spec: SpecLike,
    *,
    key: str | os.PathLike[str] | None = None,
    public: bool = False,
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Following = None,
) -> results.ReleasedTables:
    """Make tables of counts, shares, sums and means by groups, as the spec's `tabulate` says, protected together.

    Args:
        data: the table, as a path or a frame.
        spec: see `release`; with `tabulate`.
        key: the key file of cell keys.
        public: the report is made from what is published alone, and may be published.
        output: the folder that the tables are written to; None: they are in memory alone.
        force: replace the tables of an earlier run in that folder.
        progress: see `release`.

    Returns:
        A `ReleasedTables`: `frames` by the name of the file, each of the kind of `data`, `manifest` and `report`.

    Raises:
        UnsafeError: the tables were made and attacked, and tell too much.
        InfeasibleError: no blanks protect what is unsafe.
        SpecError: the spec is wrong.
        DataError: the table is not what the spec says.
        UsageError: the spec has no tables, or a folder with other files in it.

    Example:
        >>> import anonymize
        >>> import polars as pl
        >>> people = pl.DataFrame({"sex": ["F"] * 12 + ["M"] * 9, "job": (["cook", "clerk", "nurse"] * 7)})
        >>> tables = {"mechanism": "suppression", "tables": [{"by": ["sex"], "count": True}]}
        >>> spec = anonymize.Spec(insensitive=["sex", "job"], tabulate=tables)
        >>> anonymize.tabulate(people, spec).frames["table-1-count.csv"]["count"].to_list()
        [12, 9, 21]
    """
    with results.table_of(data) as path, files.folder() as folder, following(progress) as tell:
        place = Path(folder) / "tables" if output is None else Path(output)
        request = Tabulate(
            model_of(spec), str(place), path, key=results.path_of(key), force=force, public=public, progress=tell
        )
        report = results.without_paths(tabulate_road(request), data)
        manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
        frames = {
            each["name"]: results.of_kind(_of_table(place / each["name"], each, manifest), data)
            for each in manifest["files"]
        }
        return results.ReleasedTables(report, frames, manifest)


def _of_table(path: Path, entry: Mapping[str, Any], manifest: Mapping[str, Any]) -> pl.DataFrame:
    """A table as it was written: its groups are texts, its figures and margins numbers."""
    frame = pl.read_csv(path, separator=manifest["separator"], infer_schema=False)
    kind = pl.Int64 if entry["measure"] == "count" else pl.Float64
    groups = [pl.nth(place).fill_null("") for place in range(len(entry["by"]))]
    kinds = {place: each for place, each in enumerate((kind, None, pl.Float64), len(groups)) if each is not None}
    figures = (
        pl.nth(place).str.replace(manifest.get("decimal", "."), ".", literal=True).cast(each)
        for place, each in kinds.items()
        if place < frame.width
    )
    return frame.with_columns(*groups, *figures)
