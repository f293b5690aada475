"""Two privacy models that are not part of the project, as a contributor would add them: a file, a line of the registry,
a twin. In a copy of the package, every part of it has to know them without any other change."""

import shutil
from pathlib import Path

MANUAL = '''"""{title}: {sentence}

Guarantees: a bound on how alike the sensitive values of a class are.

Does not bound: what a class tells to whoever knows the values of others in it, or has several releases.

Formula: {formula} in every class, p(s) the share of the sensitive value s.

Parameters: `{parameter}`.

Example: with {parameter}: {value}, the class (flu, cold) passes and the class (flu, flu) fails.

Monotone: yes. The sum of squares is convex.

Missing values: do not count.

Reference: E. Simpson, "Measurement of diversity", Nature 163, 1949.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from anonymize.privacy import base
from anonymize.privacy.groups import Groups


class Parameters(base.Parameters):
    {field}


def measure(groups: Groups, attribute: str | None, parameters: Any) -> base.Measured:
    histogram = groups.of(attribute)
    squares = histogram.sum(histogram.shares() ** 2)
    {figure}


MODEL = base.Model(
    id="{id}",
    parameters=Parameters,
    measure=measure,
    limits=({limit},),
    {facts}
)
'''

SIMPSON = MANUAL.format(
    id="simpson-l-diversity",
    title="Simpson l-diversity",
    sentence="the values of every class are as diverse as l equally frequent ones.",
    formula="1 / sum over s of p(s)^2 >= l",
    parameter="l",
    value=2,
    field='l: float = Field(ge=1, description="equally frequent values that every class is as diverse as")',
    figure="return np.divide(1, squares, out=np.zeros_like(squares), where=squares > 0)",
    limit='base.Limit("l", rows=base.as_many)',
    facts="diverse=True,",
)
COLLISION = MANUAL.format(
    id="collision",
    title="Collision",
    sentence="two draws from a class are seldom the same value.",
    formula="sum over s of p(s)^2 <= collision",
    parameter="collision",
    value=0.5,
    field='collision: float = Field(gt=0, le=1, description="probability that two draws are the same value")',
    figure="return np.where(histogram.distinct() > 0, squares, np.inf)",
    limit='base.Limit("collision", "at most", rows=base.one_in)',
    facts="",
)
TWINS = """TWINS: dict[str, tuple[TwinBound, ...]] = {
    "simpson-l-diversity": (TwinBound("l", lambda given: 1 / (COUNT / TOTAL).pow(2).sum()),),
    "collision": (TwinBound("collision", lambda given: (COUNT / TOTAL).pow(2).sum(), "at most"),),
"""
EDITS = {
    "privacy/registry.py": (
        ("    local_dp,\n    p_sens", "    local_dp,\n    simpson_l_diversity,\n    collision,\n    p_sens"),
        (
            "        local_dp,\n    )",
            "        local_dp,\n        simpson_l_diversity,\n        collision,\n    )",
        ),
    ),
    "verify/twins.py": (("TWINS: dict[str, tuple[TwinBound, ...]] = {\n", TWINS),),
}


def add_to(package: Path, folder: Path) -> Path:
    """A copy of the package in a folder, with both."""
    copy = folder / package.name
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "privacy" / "simpson_l_diversity.py").write_text(SIMPSON, encoding="utf-8")
    (copy / "privacy" / "collision.py").write_text(COLLISION, encoding="utf-8")
    for name, edits in EDITS.items():
        text = (copy / name).read_text(encoding="utf-8")
        for before, after in edits:
            assert text.count(before) == 1, f"{name} has changed: {before!r}"
            text = text.replace(before, after)
        (copy / name).write_text(text, encoding="utf-8")
    return copy
