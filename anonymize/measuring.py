"""What `compare` measures of a release in addition to its report, the figures that it compares, and the cache of them.

All of it is as `evaluate` has it, on the release as it is written. What is measured by may be another spec than the one
that the release is made with: then the search knows nothing of the weights and targets that judge it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from anonymize._evaluate import Evaluate, evaluate
from anonymize.attacks import ATTACKERS
from anonymize.errors import DataError, Problem, UsageError
from anonymize.metrics import METRICS
from anonymize.modelling import Protocol, learners
from anonymize.publication import named_by
from anonymize.records import dataclass
from anonymize.report.verdict import Result, by_k, least
from anonymize.spec import Spec
from anonymize.table.files import sha256_of

VARIATION = "variation_"
"""What figures of marginals begin with, before the number of columns."""
TEST_SHARE = 0.3
"""The share of the rows on which a model is tested and not trained."""


@dataclass(frozen=True)
class Measuring:
    """What releases are measured by.

    `spec`: whose weights and workload count; None for that of the release. `queries`: how many random COUNT queries.
    `model`: of LEARNERS, trained for each target of the workload; None for none. `variation`: whether marginals are
    compared with the original's.
    """

    spec: Spec | None = None
    queries: int = 0
    model: str | None = None
    variation: bool = False

    @property
    def needed(self) -> bool:
        """Whether there is anything to measure."""
        return self != Measuring()

    def check(self, spec: Spec) -> None:
        """Raises UsageError for a model that there is not, that has nothing to predict, or that lacks scikit-learn.
        `spec`: that of the releases."""
        if self.model is None:
            return
        if self.model not in learners.LEARNERS:
            raise UsageError(f"--model {self.model}: is not one of {', '.join(learners.LEARNERS)}")
        if not (self.spec or spec).workload.target_names:
            hint = "list what is to be predicted under workload: {targets: [...]}"
            raise UsageError(Problem("--model needs a target, and the spec names none", hint=hint))
        learners.check_installed()

    def key(self) -> list[Any]:
        """What the figures follow from, in addition to the release and its original. Raises OSError for files that the
        spec names and that cannot be read."""
        spec_parts = [] if self.spec is None else [self.spec.model_dump_json(), *map(sha256_of, named_by(self.spec))]
        return [self.queries, self.model, self.variation, *spec_parts]

    def figures(self, spec: Spec, original: str, released: str, link: str | None) -> dict[str, Any]:
        """`gcp_weighted`, `query_error`, `variation_1` to `variation_3` (the means of marginals of so many columns) and
        `models` of a release, as far as they were asked for. `spec`: that it was
        made with, `link`: path of its private link. Raises as `evaluate` does."""
        protocol = None if self.model is None else Protocol(test_share=TEST_SHARE, models=(self.model,))
        request = Evaluate(self.spec or spec, released, original, queries=self.queries, link=link, models=protocol)
        report = evaluate(replace(request, force=True))
        error = report["utility"].get("query_error")
        figures: dict[str, Any] = {} if self.spec is None else {"gcp_weighted": weighted(report["utility"])}
        if self.queries:
            figures["query_error"] = None if error is None else error["median"]
        if self.variation:
            figures |= {f"{VARIATION}{each['columns']}": each["mean"] for each in report["variation"]["ways"]}
        return figures if self.model is None else figures | {"models": _scores(report["models"], self.model)}


def weighted(utility: Mapping[str, Any]) -> float | None:
    """The share of the quasi-identifiers' precision that is lost, each counted by its weight, 0 to 1. None where the
    block has no attributes, or some of them no loss."""
    parts = [(each["weight"], each["ncp"]) for each in utility.get("attributes", {}).values()]
    whole = sum(weight for weight, _ in parts)
    if not whole or any(ncp is None for _, ncp in parts):
        return None
    return float(sum(weight * ncp for weight, ncp in parts) / whole)


def _scores(block: Mapping[str, Any], model: str) -> dict[str, dict[str, Any]]:
    """By target: the `figure` (accuracy or mean_absolute_error) of the model trained on the `original` and on the
    release. Targets that such a model does not predict are left out."""
    scores = {}
    for target, about in block["targets"].items():
        trained = about["models"].get(model, {})
        for name in ("accuracy", "mean_absolute_error"):
            values = {which: figures[name]["mean"] for which, figures in trained.items() if name in figures}
            if values:
                scores[target] = {"figure": name, **values}
    return scores


RISK = ("prosecutor_max", "prosecutor_mean", "records_at_risk")


def processor_seconds() -> float:
    """The seconds of this process and of those that it has waited for, as user and as system."""
    return sum(os.times()[:4])


def figures(report: Mapping[str, Any]) -> dict[str, Any]:
    """What is compared, of a release's report; None for what it does not have."""
    utility, risk = report.get("utility", {}), report.get("risk", {})
    return {
        **{name: utility.get(name) for name in METRICS},
        "gcp_weighted": weighted(utility),
        **{name: risk.get(name) for name in RISK},
        "classes": report.get("classes", {}).get("count"),
        "suppressed_rows": report["output"].get("suppressed_rows"),
        **changed_figures(report),
    }


def changed_figures(report: Mapping[str, Any]) -> dict[str, Any]:
    """Of a release with `treatments`: `linkage`, the highest rate of the attackers of `risk.attacks` who link rows by
    numbers; `il1s`, how far numbers moved, a mean over cells; `total_variation`, of frequencies that were changed, the
    largest. Nothing of what the report does not have."""
    rates = [
        each["rate"]["value"]
        for each in report.get("attacks", {}).get("results", ())
        if ATTACKERS[each["attacker"]].CAPABILITIES.numbers
    ]
    variations = [each["total_variation"] for each in report.get("categories", {}).values()]
    figures = {
        "linkage": max(rates, default=None),
        "il1s": report.get("numbers", {}).get("il1s"),
        "total_variation": max(variations, default=None),
    }
    return {name: value for name, value in figures.items() if value is not None}


def with_front(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results, each with whether it is `efficient`: no other has both less or equal risk and loss, and less of one.

    The risk is the highest of a row, the loss gcp.
    """
    points: list[tuple[Any, Any]] = [(each.get("prosecutor_max"), each.get("gcp")) for each in results]
    measured = [(risk, loss) for risk, loss in points if None not in (risk, loss)]

    def beaten(risk: float, loss: float) -> bool:
        return any(r <= risk and g <= loss and (r, g) != (risk, loss) for r, g in measured)

    efficient = [None not in point and not beaten(*point) for point in points]
    return [{**each, "efficient": known} for each, known in zip(results, efficient, strict=True)]


def pick(report: Mapping[str, Any], within: float | None) -> list[Result]:
    """For each k the result of least loss; with `within`, the fastest of those whose loss is at most that share higher.

    Ties go to the first. Raises UsageError where no release was made that has a loss.
    """
    releases = list(by_k(report).values())
    if not releases:
        raise UsageError("--pick: no release with a known loss (gcp) was made")
    if within is None:
        return [least(results) for results in releases]
    near = ([each for each in own if each["gcp"] <= least(own)["gcp"] * (1 + within)] for own in releases)
    return [min(results, key=lambda each: float(each["seconds"])) for results in near]


class ResultKey:
    """What a result follows from, as hashes of contents. `input`: that of the table."""

    def __init__(self, path: str, spec: Spec, measuring: Measuring, *, public: bool) -> None:
        try:
            self.input = sha256_of(path)
            named = [sha256_of(each) for each in named_by(spec)]
            measured = measuring.key()
        except OSError as error:
            raise DataError(Problem(f"cannot be read: {error.strerror}", file=str(error.filename))) from None
        self._rest = [_program(), self.input, *named, spec.model_dump_json(), measured, public]

    def of(self, made_by: Sequence[Any]) -> str:
        """The name of the result of a release that is made so."""
        return hashlib.sha256(json.dumps([*self._rest, *made_by]).encode()).hexdigest()


@cache
def _program() -> str:
    """The hash of the program's own files: another version may find something else."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def cached_result(folder: Path | None, name: str) -> dict[str, Any] | None:
    """A result that was stored; None where there is none that can be read."""
    if folder is None:
        return None
    with suppress(OSError, ValueError):
        stored = json.loads((folder / f"{name}.json").read_text(encoding="utf8"))
        return stored if isinstance(stored, dict) else None
    return None


def store_result(folder: Path | None, name: str, result: Mapping[str, Any]) -> None:
    """Keeps a result, readable by its owner alone; a cache that cannot be written is no cache. Only what a rerun would
    find again is kept."""
    if folder is None or result["code"] not in (0, 1, 4):
        return
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = folder / f"{name}.{os.getpid()}.part"
        descriptor = os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf8") as file:
            json.dump(result, file)
        part.replace(folder / f"{name}.json")


def default_cache() -> Path:
    """Where results are kept unless said otherwise: the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "anonymize" / "compare"


def over_seeds(made: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What was made, once for each seed: the means of its figures with their standard deviations in `spread`. What
    could not be made with some seed is listed by the first such."""
    failed = next((result for result in made if result["code"] != 0), None)
    if len(made) == 1 or failed is not None:
        return failed or made[0]
    names = [name for name in made[0] if all(_is_figure(name, result[name]) for result in made)]
    values = {name: [result[name] for result in made] for name in names}
    means, spread = ({name: of(each) for name, each in values.items()} for of in (fmean, stdev))
    return {**made[0], **means, "seeds": len(made), "spread": spread}


def _is_figure(name: str, value: Any) -> bool:
    return name not in ("k", "code") and isinstance(value, int | float) and not isinstance(value, bool)
