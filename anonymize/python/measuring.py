"""What a table gives away, what it has lost, and what attackers learn from it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any, Literal

from anonymize._attack import Attack
from anonymize._attack import attack as attack_road
from anonymize._audit import audit as audit_road
from anonymize._evaluate import Evaluate
from anonymize._evaluate import evaluate as evaluate_road
from anonymize.auditing.request import Against, Audit, Deeper
from anonymize.auditing.series import SeriesAudit, audit_series
from anonymize.channels.estimate import Method
from anonymize.errors import UsageError
from anonymize.evaluation.patterns import TreePlan
from anonymize.files import FRAME
from anonymize.guarding import public
from anonymize.modelling import Protocol
from anonymize.python.preparing import SpecLike, model_of
from anonymize.remake import remake as made_again
from anonymize.report.terminal import Following, following
from anonymize.results import Attacked, AuditReport, Evaluated, Frame, path_of, table_of, without_paths
from anonymize.risk.population import Terms
from anonymize.verify import THRESHOLD

THRESHOLDS = ("k", "l", "t")
DESCRIBED = (
    *THRESHOLDS,
    *("require", "quasi_identifiers", "sensitive", "numeric", "unit", "sampling_weight", "separator", "encoding"),
    *("missing", "suppressed", "missing_as", "no_normalize", "no_header", "link", "st", "group", "manifest"),
    "threshold",
)
"""Arguments of `audit` that are called the same in its request."""


@public
def audit(
    data: Frame | str | os.PathLike[str] | None = None,
    spec: SpecLike | None = None,
    *,
    k: int | None = None,
    l: int | None = None,  # noqa: E741
    t: float | None = None,
    require: Sequence[str] = (),
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    numeric: Sequence[str] = (),
    unit: str | None = None,
    sampling_weight: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] | None = None,
    suppressed: str | None = None,
    missing_as: Literal["own-category", "wildcard"] | None = None,
    no_normalize: bool = False,
    no_header: bool = False,
    original: Frame | str | os.PathLike[str] | None = None,
    unit_from: Frame | str | os.PathLike[str] | None = None,
    link: str | os.PathLike[str] | None = None,
    st: str | None = None,
    group: str | None = None,
    manifest: str | None = None,
    previous: Frame | str | os.PathLike[str] | None = None,
    previous_link: str | os.PathLike[str] | None = None,
    by_position: bool = False,
    baseline: str | os.PathLike[str] | None = None,
    no_regress: bool = False,
    threshold: float = THRESHOLD,
    subsets: int | None = None,
    risky_cells: Sequence[int] = (),
    log_linear: Terms | None = None,
    sampling_fraction: float | None = None,
    population: str | os.PathLike[str] | None = None,
    series: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    save_risk: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> AuditReport:
    """Measure any table against privacy models, whoever made it.

    A table that does not meet its requirements raises nothing: `satisfied` says so. Where nothing is required, what the
    table reaches is measured and nothing is judged.

    Args:
        data: the table, as a path or a frame; None for the spec's input.
        spec: a `Spec`, the path of a YAML file, or a mapping; None where the next arguments describe the table.
        k: of k-anonymity, over the spec's.
        l: of distinct l-diversity of every sensitive attribute, over the spec's.
        t: of every t-closeness model of the spec.
        require: further models, each as text: "t-closeness t=0.3 attribute=diagnosis".
        quasi_identifiers: columns by which people may be known; without a spec.
        sensitive: columns that nobody is to learn of a person; without a spec.
        numeric: the sensitive columns that are compared as numbers; without a spec.
        unit: the column that says whom a row is about; without a spec.
        sampling_weight: the column of sampling weights; without a spec.
        separator: of a CSV; without a spec.
        encoding: of a CSV.
        missing: texts that mean missing; without a spec.
        suppressed: what a suppressed cell reads; without a spec.
        missing_as: "wildcard" adds a figure where a missing or suppressed cell matches everything.
        no_normalize: compare texts as they stand; without a spec.
        no_header: the first line of a CSV is a row.
        original: the table this one was made from: columns that are kept are judged with its quasi-identifiers.
        unit_from: the table this one was made from, which has the unit; with `link`. None: that of the spec.
        link: the file that says which row of it each row is.
        st: the sensitive table of a bucketized release.
        group: the column of groups of a bucketized release.
        manifest: the file that says what the columns mean; None for the one next to the table.
        previous: an earlier release of the same people.
        previous_link: which row of its input each row of `previous` is.
        by_position: row n is about the same individual in `previous`, or `unit_from`.
        baseline: an earlier JSON report to compare with.
        no_regress: nothing may be worse than in the baseline.
        threshold: a row whose risk is higher is at risk.
        subsets: the largest size of the subsets of quasi-identifiers that are looked at; 0: as many as are feasible.
        risky_cells: with `subsets`, of how many rows a combination is risky: in subsets of one, two, and so on.
        log_linear: "main" or "pairs": population uniqueness by a log-linear model with these terms.
        sampling_fraction: the share of its population that the table is.
        population: a table of the population, for the journalist's risk.
        series: the state of a series of releases, in place of `data`: all its releases are measured. Only `spec`,
            `key`, `k`, `l`, `t` and `require` go with it.
        key: the key file of the series.
        save_risk: where to write the risk of every row (.csv); private. See `anonymize.explain("save-risk")`.
        force: replace a file that exists.

    Returns:
        An `AuditReport`: `satisfied` (True, False, or None where it is not known or nothing is required), `problems`
        (what is not met) and `report`.

    Raises:
        UsageError: arguments that make no sense together.
        SpecError: the spec, or a model of `require`, is wrong.
        DataError: the table cannot be read, or is not what the spec says.

    Example:
        >>> import anonymize
        >>> import polars as pl
        >>> people = pl.DataFrame({"age": ["30-39", "30-39", "50-59"], "job": ["cook", "cook", "clerk"]})
        >>> audited = anonymize.audit(people, quasi_identifiers=["age", "job"], k=2)
        >>> audited.satisfied, audited.report["classes"]["min_size"]
        (False, 1)
    """
    given = locals()
    if series is not None or key is not None:
        return _series_audited(given)
    with (
        table_of(data) as path,
        table_of(original) as source,
        table_of(unit_from) as whose,
        table_of(previous) as earlier,
    ):
        against = Against(path_of(baseline), no_regress, earlier, by_position, path_of(previous_link))
        further = Deeper(subsets, risky_cells, log_linear, sampling_fraction, path_of(population))
        model = None if spec is None else model_of(spec)
        described = {name: given[name] for name in DESCRIBED} | {"save_risk": path_of(save_risk), "force": force}
        result = audit_road(Audit(model, path, whose, source, against=against, further=further, **described))
    return AuditReport(without_paths(result.report, data), result.state, tuple(map(str, result.problems)))


def _series_audited(given: Mapping[str, Any]) -> AuditReport:
    """Raises UsageError where the spec, the state or the key is lacking, and for arguments about one table."""
    spec, series, key = (given[name] for name in ("spec", "series", "key"))
    defaults = {name: each.default for name, each in signature(audit).parameters.items()}
    changed = [name for name, value in given.items() if value is not defaults[name] and value != defaults[name]]
    if apart := [name for name in changed if name not in ("spec", "series", "key", *THRESHOLDS, "require")]:
        raise UsageError(f"series: all releases are measured, and {', '.join(apart)} is about one table")
    if spec is None or series is None or key is None:
        raise UsageError("series: is measured by the spec of the releases, the state and its key, all three")
    thresholds = {name: given[name] for name in THRESHOLDS if given[name] is not None}
    result = audit_series(SeriesAudit(model_of(spec), os.fspath(series), os.fspath(key), thresholds, given["require"]))
    return AuditReport(result.report, result.state, tuple(map(str, result.problems)))


@public
def evaluate(
    released: Frame | str | os.PathLike[str],
    spec: SpecLike,
    original: Frame | str | os.PathLike[str] | None = None,
    *,
    queries: int = 1000,
    seed: int = 0,
    models: bool | Sequence[str] = False,
    tree: str | TreePlan | None = None,
    public: bool = False,
    st: str | None = None,
    group: str | None = None,
    link: str | None = None,
    manifest: str | None = None,
    parameters: str | None = None,
    method: Method | None = None,
    threads: int | None = None,
    progress: Following = None,
) -> Evaluated:
    """Measure what a release has lost, compared with its original. Nothing is judged: `audit` says whether it is safe.

    Args:
        released: the release, as a path or a frame.
        spec: a `Spec`, the path of a YAML file, or a mapping: that of the release.
        original: the table that it was made of, as a path or a frame; None for the spec's input.
        queries: how many random COUNT queries are answered from both.
        seed: of these.
        models: train models for the targets of the workload on the release, and test them on the original: True for
            all that suit, or their names. It takes scikit-learn (the extra `ml`).
        tree: a target of the workload: the first splits of a decision tree on both tables, and what is left of its
            patterns, which name values.
        public: as far as the release shows it; no original is read, and the report may be published.
        st: the sensitive table of a bucketized release.
        group: the column of groups of a bucketized release in one table.
        link: the file that says which row of the original each released row is.
        manifest: the file that says what the columns mean; None for the one next to the release.
        parameters: the file of the channels of distorted values, which stands in for the manifest.
        method: how the original of distorted values is estimated.
        threads: None for one per core.
        progress: see `release`.

    Returns:
        An `Evaluated`, with the `report`: its block `utility` has every metric.

    Raises:
        UsageError: arguments that make no sense together.
        SpecError: the spec is wrong.
        DataError: a table cannot be read, lacks a column, or has cells that are no release of it.

    Example:
        >>> import anonymize
        >>> import polars as pl
        >>> people = pl.DataFrame({"age": [31, 34, 52, 58], "job": ["cook", "cook", "clerk", "clerk"]})
        >>> spec = {"quasi_identifiers": {"age": {"type": "numeric"}, "job": {}}, "privacy": {"k": 2}}
        >>> released = anonymize.release(people, spec).frame
        >>> round(anonymize.evaluate(released, spec, people).report["utility"]["gcp"], 3)
        0.083
    """
    cores = threads or os.cpu_count() or 1
    chosen = () if isinstance(models, bool) else tuple(models)
    with table_of(released) as path, table_of(original) as source, following(progress) as tell:
        request = Evaluate(
            model_of(spec),
            path,
            source,
            queries=queries,
            seed=seed,
            models=Protocol(seed=seed, models=chosen, threads=cores) if models else None,
            tree=TreePlan(tree) if isinstance(tree, str) else tree,
            public=public,
            st=st,
            group=group,
            link=link,
            manifest=manifest or parameters,
            method=method,
            threads=cores,
            progress=tell,
        )
        report = evaluate_road(request)
    return Evaluated(without_paths(report, original))


@public
def attack(
    released: Frame | str | os.PathLike[str],
    spec: SpecLike,
    original: Frame | str | os.PathLike[str] | None = None,
    *,
    attackers: Sequence[str] = (),
    max_excess: float | None = None,
    targets: int = 2000,
    seed: int = 0,
    control: Frame | str | os.PathLike[str] | None = None,
    previous: Frame | str | os.PathLike[str] | None = None,
    series: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    remake: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    st: str | None = None,
    group: str | None = None,
    link: str | None = None,
    manifest: str | None = None,
    parameters: str | None = None,
    progress: Following = None,
) -> Attacked:
    """Try attackers on a release: what they learn because of it, compared with what they would know without it.

    An excess above `max_excess` raises nothing: `satisfied` says so.

    Args:
        released: the release, as a path or a frame.
        spec: a `Spec`, the path of a YAML file, or a mapping: that of the release.
        original: the table that it was made of, as a path or a frame; None for the spec's input.
        attackers: their names; () for all that suit. `anonymize.explain(name)` says what one knows and does.
        max_excess: how much more often than without the release an attacker may be right, from 0 to 1; None judges
            nothing.
        targets: how many people are attacked.
        seed: of which people these are.
        control: people who are not in the release, in the original's columns.
        previous: an earlier release of the same people.
        series: the state of a series that `released`, a file, is in.
        key: the key file of the series.
        remake: the report of the release, or its path: it is made again without a fifth of the people, who are the
            control.
        st: the sensitive table of a bucketized release.
        group: the column of groups of a bucketized release in one table.
        link: the file that says which row of the original each released row is.
        manifest: the file that says what the columns mean; None for the one next to the release.
        parameters: the file of the channels of distorted values, which stands in for the manifest.
        progress: see `release`.

    Returns:
        An `Attacked`: `satisfied` (True, False, or None where nothing is judged), `problems`, and the `report`.

    Raises:
        UsageError: attackers that there are not, or arguments that make no sense together.
        SpecError: the spec is wrong.
        DataError: a table cannot be read, or is not what the spec says.

    Example:
        >>> import anonymize
        >>> import polars as pl
        >>> people = pl.DataFrame({"age": [31, 34, 52, 58], "job": ["cook", "cook", "clerk", "clerk"]})
        >>> spec = {"quasi_identifiers": {"age": {"type": "numeric"}, "job": {}}, "privacy": {"k": 2}}
        >>> released = anonymize.release(people, spec).frame
        >>> anonymize.attack(released, spec, people, attackers=["prosecutor"], max_excess=1).satisfied
        True
    """
    with (
        table_of(released) as path,
        table_of(original) as source,
        table_of(control) as others,
        table_of(previous) as earlier,
        following(progress) as tell,
    ):
        assert path is not None
        request = Attack(
            model_of(spec),
            path,
            source,
            control=others,
            previous=earlier,
            series=path_of(series),
            key=path_of(key),
            attackers=attackers,
            max_excess=max_excess,
            targets=targets,
            seed=seed,
            st=st,
            group=group,
            link=link,
            manifest=manifest or parameters,
            progress=tell,
        )
        result = attack_road(request) if remake is None else made_again(request, remake)
    report = result.report if remake is not None else without_paths(result.report, released)
    if original is not None and not isinstance(original, str | os.PathLike):
        report["original"] = {**report["original"], "path": FRAME}
    return Attacked(report, result.state, tuple(map(str, result.problems)))
