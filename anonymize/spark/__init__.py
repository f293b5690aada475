"""Releases on an engine: Spark, Spark Connect or Sail; a DataFrame in, a DataFrame and a report out.

    from anonymize import spark
    released, report = spark.release(df, "spec.yaml", checkpoint="s3://bucket/scratch")
    report = spark.audit(released, "spec.yaml")

The classes are those of the release on one machine, row for row. Only the DataFrame API is used, so that the same code
runs wherever a session of `pyspark` comes from. `checkpoint`: a folder that the engine's workers can write to and read;
it is private, as what is in it has not been measured yet, and it is yours to remove.

Workers need this package, and so does the driver; a session that is started from Python takes the interpreter of
`PYSPARK_PYTHON`, which must have it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anonymize.errors import Problem, UsageError
from anonymize.guarding import guarded

if TYPE_CHECKING:
    from anonymize.python import SpecLike
    from anonymize.spark.engine import DataFrame
    from anonymize.spark.road import EngineRelease
    from anonymize.spec import Spec

__all__ = ["audit", "randomize", "recode", "release"]

SETTINGS = ("k", "l", "t", "suppression")
"""What is given over the spec."""


@guarded
def release(
    df: DataFrame,
    spec: SpecLike,
    *,
    checkpoint: str | None = None,
    algorithm: str = "mondrian",
    seed: int | None = None,
    part_rows: int | None = None,
    most_values: int | None = None,
    most_combinations: int | None = None,
    allow_unsafe: bool = False,
    **given: Any,
) -> tuple[DataFrame, dict[str, Any]]:
    """A release of a DataFrame, measured where it was written, and its report.

    `checkpoint`: see the module. `algorithm`: `mondrian`, a local or a full-domain one. `seed`: of what is drawn at
    random; None: 0. `part_rows`: how many rows a worker searches at once; on it depends what is found where parts are
    searched by themselves, but not what Mondrian finds. `most_values`: different values of a column that
    the driver takes; `most_combinations`: combinations of them, for a full-domain search. `given`: `k`, `l`, `t` and
    `suppression`, over the spec, and the algorithm's own options, by the names that `anonymize.release` has for them.

    Raises UsageError for what an engine does not do, or without the extra `spark`; SpecError, DataError,
    InfeasibleError and UnsafeError as `anonymize.release` does.
    """
    from anonymize.spark.engine import require

    require()
    from anonymize.python.releasing import options_of

    if algorithm == "randomize":
        raise UsageError(Problem("randomize makes no classes", hint="anonymize.spark.randomize"))
    model = _model(spec, {name: given.pop(name) for name in SETTINGS if name in given})
    further = {"algorithm": algorithm, "options": options_of(algorithm, given), "seed": seed}
    limits = {"part_rows": part_rows, "most_values": most_values, "most_combinations": most_combinations}
    made = _made(df, model, checkpoint, limits, allow_unsafe=allow_unsafe, **further)
    return made.rows, made.report


@guarded
def randomize(
    df: DataFrame,
    spec: SpecLike,
    *,
    checkpoint: str | None = None,
    on: str = "both",
    p: str = "",
    most_values: int | None = None,
    most_combinations: int | None = None,
    allow_unsafe: bool = False,
    l: int | None = None,  # noqa: E741
) -> tuple[DataFrame, dict[str, Any], dict[str, Any]]:
    """Randomized response: the distorted DataFrame, the recipient's parameters, and the report.

    `checkpoint`: a folder that the engine's workers can write to and read; it is private, and holds the original
    categories next to the distorted ones. `on`, `p`: as the command has them. `most_values`, `most_combinations`: as
    for `release`. `l`: over the spec. Random numbers are those of the workers' operating systems; no seed is taken.

    Raises as `release` does.
    """
    from anonymize.spark.engine import require

    require()
    from anonymize.algorithms.randomize import Options

    limits = {"most_values": most_values, "most_combinations": most_combinations}
    further = {"algorithm": "randomize", "options": Options(on, p), "allow_unsafe": allow_unsafe}
    made = _made(df, _model(spec, {"l": l}), checkpoint, limits, **further)
    return made.rows, made.parameters or {}, made.report


def _model(spec: SpecLike, settings: Mapping[str, Any]) -> Spec:
    """The spec, with `settings` over its own."""
    from anonymize.python import model_of
    from anonymize.spec import override

    return override(model_of(spec), **settings)


def _made(
    df: DataFrame, model: Spec, checkpoint: str | None, limits: Mapping[str, int | None], **further: Any
) -> EngineRelease:
    """The release. `limits`: those of `EngineLimits` that have a value; `further`: further values of the `Request`.
    Raises UsageError without a checkpoint."""
    from anonymize.request import Request
    from anonymize.spark.road import release_on_engine
    from anonymize.spark.searches import EngineLimits

    if checkpoint is None:
        name = "randomize" if further["algorithm"] == "randomize" else "release"
        hint = "checkpoint=FOLDER; what is measured has to be what is read afterwards"
        raise UsageError(Problem(f"spark.{name} needs a folder that workers can write to", hint=hint))
    given: dict[str, Any] = {name: value for name, value in limits.items() if value}
    return release_on_engine(df, Request(model, **further), EngineLimits(checkpoint, **given))


@guarded
def audit(df: DataFrame, spec: SpecLike, *, threshold: float = 0.2, **settings: Any) -> dict[str, Any]:
    """The report of a DataFrame that is measured against a spec, whoever made it: the figures of `anonymize.audit`, but
    for the smallest sets of columns that single rows out.

    `threshold`: a record is at risk when its risk is higher. `settings`: as for `release`. A DataFrame that does not
    meet its requirements raises nothing: `privacy.satisfied` says so.

    Raises UsageError for what an engine does not measure, or without the extra `spark`; SpecError and DataError as
    `anonymize.audit` does.
    """
    from anonymize.spark.engine import require

    require()
    from anonymize.spark.checking import audit_on_engine

    unknown = sorted(set(settings) - set(SETTINGS))
    if unknown:
        raise UsageError(f"spark.audit has no option {', '.join(unknown)}")
    return audit_on_engine(df, _model(spec, settings), threshold).report


@guarded
def recode(df: DataFrame, recoding: Mapping[str, Any] | str | os.PathLike[str]) -> tuple[DataFrame, dict[str, Any]]:
    """A saved recoding, a file or that of `anonymize.Release`, applied to rows that it has not seen, and the report.
    Nothing is measured. Generalized columns are texts.

    Raises UsageError without the extra `spark`, and as `anonymize.recode` does; DataError as it does.
    """
    from anonymize.spark.engine import require

    require()
    from anonymize.recoding.saved import load
    from anonymize.results import saved_at
    from anonymize.spark.checking import recode_on_engine

    with saved_at(recoding) as path:
        saved = load(path)
    return recode_on_engine(df, saved)
