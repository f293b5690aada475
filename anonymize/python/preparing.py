"""What precedes a release: a spec from whatever describes one, a first spec for a table, a check of it, algorithms
side by side, and the manual."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, cast

from anonymize import files, privacy
from anonymize import spec as specs
from anonymize._compare import Compare, compare_routes, routes_of
from anonymize._compare import compare as compare_road
from anonymize._explain import Manual, explained, manuals
from anonymize._init import Init
from anonymize._init import init as init_road
from anonymize._validate import Validated, validated
from anonymize.errors import UsageError
from anonymize.files import FRAME
from anonymize.guarding import guarded, public, reworded
from anonymize.measuring import Measuring
from anonymize.places import is_uri
from anonymize.report.terminal import Following, following
from anonymize.results import ComparedReleases, Frame, about_frame, path_of, table_of, without_paths

# --- a spec from what describes one -----------------------------------------------------------------------------------
# A spec, from whatever describes one.


class Spec:
    """What a table's columns are, and what a release has to meet: a YAML file, a mapping, or keywords.

    `version` is 1 where it is left out. Keywords replace the keys of a mapping. `anonymize.init` writes a first spec,
    and `anonymize.explain` says what a key means.

    Args:
        source: the path of a YAML file, or a mapping with its keys.
        **keys: keys of the spec, over those of a mapping; none along with a file.

    Raises:
        SpecError: with everything that is wrong, each with the nearest key that there is.

    Example:
        >>> import anonymize
        >>> anonymize.Spec(quasi_identifiers={"age": {"type": "numeric"}, "job": {}}, privacy={"k": 2})
        <Spec 2 quasi-identifiers>
    """

    @guarded
    def __init__(self, source: str | os.PathLike[str] | Mapping[str, Any] | None = None, /, **keys: Any) -> None:
        if isinstance(source, str | os.PathLike):
            if keys:
                raise UsageError(f"Spec: keywords cannot be combined with a file: {', '.join(keys)}")
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


# --- before a release -------------------------------------------------------------------------------------------------
# What precedes a release: a first spec, a check of it, algorithms side by side, and the manual.


@public
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
    """Write a first spec for a table: YAML with a comment for each guess. Whoever knows the data decides on each.

    It runs as it is. For a frame it names no input.

    Args:
        data: the table, as a path or a frame.
        output: where to write it; None writes no file.
        show_values: some values of each column stand in its comment; the file has mode 0600 then.
        force: replace a file that exists.
        separator: of a CSV; None to find out.
        encoding: of a CSV; None to find out.
        header: whether the first line of a CSV names its columns; None refuses one that looks like a row.

    Returns:
        The text of the spec.

    Raises:
        UsageError: the output exists, or no column could be a quasi-identifier.
        DataError: the table cannot be read.
        WriteError: the output cannot be written.

    Example:
        >>> import anonymize
        >>> import polars as pl
        >>> people = pl.DataFrame({"age": [31, 34, 52, 58], "job": ["cook", "cook", "clerk", "clerk"]})
        >>> "quasi_identifiers:" in anonymize.init(people)
        True
    """
    with table_of(data) as path, files.folder() as folder:
        assert path is not None
        is_file = isinstance(data, str | os.PathLike)
        place = path_of(output) or f"{folder}/spec.yaml"
        table = os.path.abspath(path) if is_file and output is None and not is_uri(path) else path
        called = None if is_file else "-"
        return init_road(Init(table, place, show_values, None, force, separator, encoding, header, input_path=called))


@public
def validate(spec: SpecLike, data: Frame | str | os.PathLike[str] | None = None) -> Validated:
    """Check a spec, alone or against a table. What is wrong raises nothing: it is in the result.

    Alone: keys, values, roles, privacy models and hierarchy files. With a table, also: every column has a role, numbers
    are numbers, hierarchies cover every value, what is required can be met, and no kept column gives away another.

    Args:
        spec: a `Spec`, the path of a YAML file, or a mapping.
        data: a table, as a path or a frame; None checks the spec alone.

    Returns:
        A `Validated`, true where nothing is wrong: `valid`, `problems` (each with its `message`, `file`, `line`,
        `column` and `hint`), `warnings`, and `error`, which may be raised.

    Example:
        >>> import anonymize
        >>> bool(anonymize.validate({"quasi_identifiers": {"age": {"type": "numeric"}}, "privacy": {"k": 2}}))
        True
        >>> anonymize.validate({"quasi_identifers": ["age"], "quasi_identifiers": ["age"]}).problems[0].hint
        'did you mean `quasi_identifiers`?'
    """
    name = str(spec) if isinstance(spec, str | os.PathLike) else "the spec"
    with table_of(data) as path:
        result = validated({name: lambda: model_of(spec)}, path)
    if result.error is not None:
        reworded(result.error)
    if path is None or isinstance(data, str | os.PathLike):
        return result
    if result.error is not None:
        about_frame(result.error, path)
    return replace(result, statements=tuple(each.replace(path, FRAME) for each in result.statements))


@public
def compare(
    data: Frame | str | os.PathLike[str],
    spec: SpecLike | Sequence[SpecLike],
    algorithms: str | Sequence[str] = (),
    *,
    k: int | Sequence[int] = (),
    seeds: int = 1,
    queries: int = 0,
    model: str | None = None,
    measured_by: SpecLike | None = None,
    keep: str | os.PathLike[str] | None = None,
    public: bool = False,
    processes: int | None = None,
    progress: Following = None,
) -> ComparedReleases:
    """Release a table by several algorithms, and say what each loses at each k, and what risk it leaves.

    Every release is verified and measured; none is published. One that cannot be made is listed with its exit code and
    the reason.

    Args:
        data: the table, as a path or a frame.
        spec: a `Spec`, the path of a YAML file, or a mapping; or several of them in a list: each release is then listed
            by the name of its spec as well, that of its file, or "spec 1", "spec 2".
        algorithms: names, with options behind one: ["mondrian", "mondrian refine=true"]. () takes the few that suit
            the spec, "all" takes all of them.
        k: values of k; () for the spec's.
        seeds: releases with so many seeds each: figures are means, and `spread` has their standard deviations.
        queries: random COUNT queries: also the median of their relative errors.
        model: a model that is trained for the targets of the workload.
        measured_by: a spec whose weights and workload measure, and tell the search nothing.
        keep: a folder in which the releases are kept.
        public: every figure is that of a public report.
        processes: releases that are made at the same time, each in a process of its own: a script that starts them
            needs `if __name__ == "__main__":`. None makes them here, one after the other.
        progress: see `release`.

    Returns:
        A `ComparedReleases`: `frame`, a polars frame with a row for each release, and `report`.

    Raises:
        UsageError: algorithms or options that there are not, or a list without a spec.
        SpecError: the spec is wrong.
        DataError: the table cannot be read.

    Example:
        >>> import anonymize
        >>> import polars as pl
        >>> people = pl.DataFrame({"age": [31, 34, 52, 58], "job": ["cook", "cook", "clerk", "clerk"]})
        >>> spec = {"quasi_identifiers": {"age": {"type": "numeric"}, "job": {}}, "privacy": {"k": 2}}
        >>> compared = anonymize.compare(people, spec, ["mondrian", "datafly"], progress=False)
        >>> compared.frame["label"].to_list(), compared.frame["code"].to_list()
        (['mondrian', 'datafly'], [0, 0])
    """
    names = [algorithms] if isinstance(algorithms, str) else list(algorithms)
    measuring = Measuring(None if measured_by is None else model_of(measured_by), queries, model)
    given = cast("Sequence[SpecLike]", spec if isinstance(spec, list | tuple) else [spec])
    several = [model_of(each) for each in given]
    if not several:
        raise UsageError("spec: the list has none")
    with table_of(data, shared=True) as path, following(progress) as tell:
        request = Compare(
            several[0],
            names,
            (k,) if isinstance(k, int) else tuple(k),
            path,
            processes or 0,
            keep=None if keep is None else Path(keep),
            measuring=measuring,
            seeds=seeds,
            public=public,
            progress=tell,
        )
        made = compare_road(request) if len(several) == 1 else compare_routes(routes_of(request, several))
        report = without_paths(made, data)
    return ComparedReleases(report)


@public
def explain(name: str | None = None) -> Manual:
    """Give the manual of a privacy model, metric, algorithm, cut rule, attacker, exit code, figure or key of the spec.

    Args:
        name: as specs, reports and options have it; None lists all names.

    Returns:
        The manual, a text that a prompt shows as it reads.

    Raises:
        UsageError: for a name that nothing has, with the nearest that there is.

    Example:
        >>> import anonymize
        >>> anonymize.explain("gcp").splitlines()[0]
        'gcp (metric)'
    """
    if name is None:
        return Manual("\n\n".join(f"{kind}: {', '.join(entries)}" for kind, entries in manuals().items()))
    return Manual("\n\n".join(f"{title}\n\n{manual}" for title, manual in explained(name)))
