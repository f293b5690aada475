"""An earlier report, of a release or of an audit, and what is worse than it was."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anonymize.errors import UsageError

LOWER_IS_BETTER = frozenset(
    {"alpha", "beta", "c", "delta", "journalist_max", "marketer", "max", "prosecutor_max", "records_at_risk", "share"}
    | {"t"}
)
HIGHER_IS_BETTER = frozenset({"e", "error", "k", "l", "min", "p"})
"""What is achieved of the models' parameters; any other tells what was measured, and has to be the same."""
RISKS = ("prosecutor_max", "prosecutor_mean", "journalist_max", "marketer", "records_at_risk", "uniques")
"""Figures of the block `risk` that are compared; of all of them less is better."""
RANKS = {"recursive-cl-diversity": ("l",)}
"""Parameters that are given and not achieved: figures for different ones are not compared."""
_TOLERANCE, _NEGLIGIBLE = 1e-9, 1e-12

Key = tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """A figure that is not what it was. `was` and `now` are None where there is no bound."""

    figure: str
    was: float | None
    now: float | None
    worse: bool

    def __str__(self) -> str:
        return f"{self.figure} is {_told(self.now)}, and was {_told(self.was)}"


def _told(value: float | None) -> str:
    return "none" if value is None else format(value, ".6g")


def read(path: str | Path) -> dict[str, Any]:
    """A report. Raises UsageError for a file that is none."""
    try:
        report = json.loads(Path(path).read_text(encoding="utf-8"))
        figures(report)
    except OSError as error:
        raise UsageError(f"--baseline: {path}: cannot be read: {error.strerror}") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise UsageError(f"--baseline: {path}: is no JSON report of a release or an audit") from None
    assert isinstance(report, dict)
    return report


def compare(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    """The figures of two reports that differ, in the order of the first.

    Raises UsageError for a figure of the first that the second does not have: nothing can be said about it.
    """
    old, new = figures(before), figures(now)
    lacking = [_name(key) for key in old if key not in new]
    if lacking:
        hint = "ask for it with --require, and give the threshold that the baseline has"
        raise UsageError(
            [f"--baseline: {name} is in the baseline and is not measured here ({hint})" for name in lacking]
        )
    return [change for key, was in old.items() if (change := _change(key, was, new[key])) is not None]


def figures(report: Mapping[str, Any]) -> dict[Key, float | None]:
    """What a report has of figures that can be compared, by what they are.

    Raises ValueError, LookupError, TypeError or AttributeError for what is no report.
    """
    found: dict[Key, float | None] = {}
    for model in report["privacy"]["models"]:
        found |= dict(_achieved(model))
    risk = report["risk"]
    found |= {
        ("risk", name, f"threshold={risk['threshold']:g}" * (name == "records_at_risk")): risk[name] for name in RISKS
    }
    if not all(value is None or (type(value) in (int, float) and math.isfinite(value)) for value in found.values()):
        raise ValueError("a figure is no number")
    return found


def _achieved(model: Mapping[str, Any]) -> Iterator[tuple[Key, float | None]]:
    achieved = model["achieved"]
    given = RANKS.get(model["model"], ())
    compared = [name for name in achieved if name in LOWER_IS_BETTER | HIGHER_IS_BETTER and name not in given]
    rest = sorted(f"{name}={value}" for name, value in achieved.items() if name not in compared)
    for name in compared:
        yield (model["model"], name, model["attribute"] or "", *rest), achieved[name]


def _change(key: Key, was: float | None, now: float | None) -> Change | None:
    lower = key[0] == "risk" or key[1] in LOWER_IS_BETTER
    unbounded = math.inf if lower else -math.inf
    before, after = (unbounded if value is None else value for value in (was, now))
    if before == after or math.isclose(before, after, rel_tol=_TOLERANCE, abs_tol=_NEGLIGIBLE):
        return None
    return Change(_name(key), was, now, worse=(after > before) == lower)


def _name(key: Key) -> str:
    model, name, attribute, *rest = (*key, "")
    told = f"{model} {name}" + (f" of {attribute}" if attribute and model != "risk" else "")
    given = [each for each in rest if each]
    return told + (f" ({', '.join(given)})" if given else "")
