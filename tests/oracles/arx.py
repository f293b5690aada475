"""ARX's cases, as specs and options of the command line, and the releases that ARX makes of them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from anonymize.cli.main import cli
from anonymize.errors import AnonymizeError

SHARED = Path(os.environ.get("ANONYMIZE_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
FILE = SHARED / "oracles" / "arx.json"
DATA = SHARED / "data"
USA = 318_857_056
"""People of the region that some cases name."""

MODELS = {
    "KAnonymity": ("k-anonymity", ("k",)),
    "DistinctLDiversity": ("distinct-l-diversity", ("l",)),
    "EntropyLDiversity": ("entropy-l-diversity", ("l",)),
    "RecursiveCLDiversity": ("recursive-cl-diversity", ("c", "l")),
    "EnhancedBLikeness": ("enhanced-beta-likeness", ("beta",)),
    "EqualDistanceTCloseness": ("t-closeness", ("t",)),
    "OrderedDistanceTCloseness": ("t-closeness", ("t",)),
    "HierarchicalDistanceTCloseness": ("t-closeness", ("t",)),
    "KMap": ("k-map", ("k",)),
    "DPresence": ("delta-presence", ("delta_min", "delta_max")),
    "PopulationUniqueness": ("population-uniqueness", ("threshold",)),
}
NAMES = {"delta_min": "min", "delta_max": "max", "threshold": "share"}
"""What parameters are called here, where that is not what they are called there."""
DISTANCES = {"OrderedDistanceTCloseness": "ordered", "HierarchicalDistanceTCloseness": "hierarchical"}
METRICS = {
    "loss": "loss",
    "aecs": "c_avg",
    "discernibility": "discernibility",
    "height": "height",
    "precision": "precision",
    "non_uniform_entropy": "entropy",
}
AGGREGATES = {"geometric_mean": "geometric", "arithmetic_mean": "mean", "sum": "sum", "rank": "rank", "maximum": "max"}
FACTORED = ("loss", "aecs", "precision", "non_uniform_entropy")
AGGREGATED = ("loss", "height", "precision", "non_uniform_entropy")
WHAT = (
    "kind",
    "models",
    "suppression_limit",
    "qi_order",
    "attribute_weights",
    "expected_transformation",
    "expected_scores",
    "expected_no_solution",
)

PRESENCE = (
    "delta-presence: here people of the population who are under no class are in the table with probability 0, which "
    "is below a `min`, and suppressed rows are dropped, as everybody is under a class that shows nothing; ARX looks at "
    "the classes that have rows alone, and publishes the suppressed ones"
)
ABORTED = (
    "ARX ends the sum over the values of a class as soon as it is above its bound, though terms of values that one row "
    "has are negative and may follow: which classes fail depends on the order of a hash table, and more do than by the "
    "formula"
)


def cases() -> list[dict[str, Any]]:
    """The cases, without those that differ in nothing that matters here."""
    if not FILE.is_file():
        return []
    seen, distinct = set(), []
    for case in json.loads(FILE.read_text(encoding="utf-8"))["cases"]:
        key = json.dumps([case.get(name) for name in WHAT] + [{**case["metric"], "java": ""}])
        if key not in seen:
            seen.add(key)
            distinct.append(case)
    return distinct


def missing(case: dict[str, Any]) -> str | None:
    """What the toolkit lacks for a case."""
    metric = case["metric"]
    if case["kind"] == "local_recoding_hash":
        return "a hash of a table"
    if metric["name"] == "precision" and metric.get("monotonic"):
        return "precision that does not look at suppression, which is height by another scale"
    return None


def differs(case: dict[str, Any]) -> str | None:
    """Why ARX's optimum need not be the one here."""
    names = {model["model"] for model in case["models"]}
    if "DPresence" in names:
        return PRESENCE
    if any(model.get("estimator") == "GRASSBERGER" for model in case["models"]):
        return ABORTED
    return None


@cache
def header() -> tuple[str, ...]:
    """The columns of Adult."""
    with open(DATA / "adult.csv", encoding="utf-8") as file:
        return tuple(file.readline().strip().split(";"))


@cache
def lines(members: str | None) -> tuple[str, ...]:
    """The rows of Adult, or of the part that a file of row numbers names."""
    rows = (DATA / "adult.csv").read_text(encoding="utf-8").splitlines()[1:]
    if members is None:
        return tuple(rows)
    return tuple(rows[int(number)] for number in (SHARED / "oracles" / members).read_text(encoding="utf-8").split())


def members_of(case: dict[str, Any]) -> str | None:
    """The file of the rows that are the table; then all of Adult is the population."""
    named = {model["subset"]["members_file"] for model in case["models"] if "subset" in model}
    return next(iter(named), None)


def entry(model: dict[str, Any]) -> dict[str, Any]:
    """A model as a spec has it."""
    name, keys = MODELS[model["model"]]
    given = {"model": name, **{NAMES.get(key, key): model[key] for key in keys}}
    if "attribute" in model:
        given["attribute"] = model["attribute"]
    if "subset" in model:
        given["population"] = str(DATA / model["subset"]["of"])
    if name == "t-closeness":
        given["distance"] = DISTANCES.get(model["model"], "equal")
    if "population" in model:
        given["fraction"] = 30162 / USA
        given["estimator"] = model["estimator"].lower().replace("_poisson", "").replace("_", "-")
    elif model.get("estimator", "SHANNON").upper() != "SHANNON":
        given["estimator"] = "stammler"  # what ARX calls GRASSBERGER
    if "significance_level" in model and "population" in model:
        given["significance"] = model["significance_level"]
    return given


def spec(case: dict[str, Any], folder: Path, suppression: float, levels: list[int] | None = None) -> dict[str, Any]:
    """The spec of a case; `levels`: of the one node that may be released."""
    names, weights = case["qi_order"], case.get("attribute_weights") or {}
    quasi: dict[str, dict[str, Any]] = {
        name: {"hierarchy": str(DATA / f"adult_hierarchy_{name}.csv")} for name in names
    }
    for index, name in enumerate(names):
        quasi[name] |= {"weight": weights[name]} if name in weights else {}
        quasi[name] |= {} if levels is None else {"levels": {"min": levels[index], "max": levels[index]}}
    attribute = next((model["attribute"] for model in case["models"] if model.get("attribute")), None)
    hierarchy = next((model["hierarchy_file"] for model in case["models"] if "hierarchy_file" in model), None)
    ordered = any(model["model"] in DISTANCES for model in case["models"])
    order: Any = str(DATA / hierarchy) if hierarchy else {"flat": True}  # ARX sorts texts that have no hierarchy
    sensitive = {attribute: {"hierarchy": order} if ordered else {}} if attribute else {}
    members = members_of(case)
    path = DATA / "adult.csv" if members is None else folder / Path(members).name
    if members is not None and not path.exists():
        path.write_text("\n".join([";".join(header()), *lines(members)]) + "\n", encoding="utf-8")
    return {
        "version": 1,
        "input": {"path": str(path), "separator": ";"},
        "quasi_identifiers": quasi,
        "sensitive": sensitive,
        "insensitive": [name for name in header() if name not in quasi and name != attribute],
        "privacy": {"models": [entry(model) for model in case["models"]], "suppression": suppression},
    }


def options(case: dict[str, Any]) -> list[str]:
    """The metric of a case."""
    metric = case["metric"]
    name, monotonic = metric["name"], bool(metric.get("monotonic"))
    given = ["--metric", "discernibility-star" if name == "discernibility" and monotonic else METRICS[name]]
    if name in FACTORED:
        free = name == "non_uniform_entropy" and monotonic
        given += ["--gs-factor", str(0.0 if free else metric.get("gs_factor", 0.5))]
    if name in AGGREGATED and metric.get("aggregate") in AGGREGATES:
        given += ["--aggregate", AGGREGATES[metric["aggregate"]]]
    return given


@dataclass(frozen=True)
class Outcome:
    """What the command line answered: its exit code, the `recoding` block of the report, and what it said."""

    code: int
    recoding: dict[str, Any]
    text: str

    @property
    def score(self) -> list[float]:
        """Of a score of several figures, all."""
        score = self.recoding["score"]
        return score if isinstance(score, list) else [score]


def released(
    case: dict[str, Any], folder: Path, levels: list[int] | None = None, suppression: float | None = None
) -> Outcome:
    """`anonymize incognito` of a case, in this process."""
    limit = case["suppression_limit"] if suppression is None else suppression
    path, report = folder / "spec.yaml", folder / "report.json"
    path.write_text(json.dumps(spec(case, folder, limit, levels)), encoding="utf-8")
    command = ["incognito", str(path), "-o", str(folder / "released.csv"), "-r", str(report), "--force", "-q"]
    result = CliRunner().invoke(cli, [*command, "--threads", "1", *options(case)])
    code = result.exception.exit_code if isinstance(result.exception, AnonymizeError) else result.exit_code
    recoding = json.loads(report.read_text())["recoding"] if code == 0 else {}
    return Outcome(code, recoding, result.output)


def figures(expected: Any) -> list[float]:
    """The figures of a score of ARX."""
    return expected if isinstance(expected, list) else [expected]


def agrees(outcome: Outcome, expected: Any) -> bool:
    """Equality of scores, of rank in all its figures."""
    return outcome.score == pytest.approx(figures(expected), rel=1e-9, abs=1e-9)
