"""Commands that run on an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from anonymize.cli.kinds import choice_option, file_option
from anonymize.errors import UsageError

MEASURED = ("k", "l", "t", "threshold", "reports", "force")
"""Options of `audit` that an engine has."""
RECODED = ("recoding", "input", "output", "reports", "force")
"""Those of `recode`."""

ENGINE = (
    choice_option(
        "--engine",
        choices=["local", "spark"],
        default="local",
        help="Where the work runs: here; or on Spark, Spark Connect or Sail, from Parquet to a folder of Parquet.",
    ),
    click.option(
        "--master",
        help="The engine: sc://HOST:PORT, sail, or a master of Spark.  [default: SPARK_REMOTE, else Sail if installed]",
    ),
)
CHECKPOINT = (
    file_option(
        "--checkpoint",
        help="Folder that the engine's workers can write to. It is private.  [default: one of this machine]",
    ),
)


def check_engine(engine: str, **given: Any) -> None:
    """Raises UsageError for options that have no effect where the work runs: of an engine's elsewhere, and of the
    number of threads there."""
    idle = [each for each in given if given[each] is not None and (each == "threads") == (engine == "spark")]
    reason = "has no effect with --engine spark" if engine == "spark" else "goes with --engine spark"
    if idle:
        raise UsageError([f"--{each}: {reason}" for each in idle])


def release_there(request: Any, master: str | None, checkpoint: str | None) -> dict[str, Any]:
    """Makes a release on an engine; returns its report."""
    files = _files()
    report: dict[str, Any] = files.release_files(request, files.Engine(master, checkpoint))
    return report


def audit_there(spec: Any, path: str | None, master: str | None, given: Mapping[str, Any]) -> Any:
    """Measures a table on an engine; returns what was checked. `given`: the options of `audit` that have a value."""
    files = _files()
    if spec is None:
        raise UsageError("audit --engine spark: needs a spec")
    _refuse_others(given, MEASURED, "audit the table on one machine")
    from anonymize import spec as specs

    changed = specs.override(spec, **{name: given.get(name) for name in ("k", "l", "t")})
    settings = {name: given[name] for name in ("threshold", "reports", "force") if name in given}
    return files.audit_files(files.EngineCheck(changed, path, **settings), files.Engine(master))


def recode_there(master: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Recodes a table on an engine; returns the report. `given`: the options of `recode`."""
    files = _files()
    _refuse_others(given, RECODED, "recode the table on one machine")
    settings = {name: given[name] for name in RECODED}
    report: dict[str, Any] = files.recode_files(files.EngineRecode(**settings), files.Engine(master))
    return report


def _files() -> Any:
    """The roads of an engine. Raises UsageError where a library is not there that talks to one."""
    from anonymize.spark.engine import require

    require()
    from anonymize.spark import files

    return files


def _refuse_others(given: Mapping[str, Any], accepted: Sequence[str], hint: str) -> None:
    """Raises UsageError for options that have a value and that an engine does not have."""
    from anonymize.spark.checking import refuse

    others = {f"--{name.replace('_', '-')}": value for name, value in given.items() if name not in accepted}
    refuse({flag: value not in (None, False, [], ()) for flag, value in others.items()}, hint)
