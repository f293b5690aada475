"""What `compare` measures of a release beside its report: counts, models, and the loss by weights.

All of it is as `evaluate` has it, on the release as it is written. What is measured by may be another spec than the one
that the release is made with: then the search is told nothing of the weights and targets that judge it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from anonymize._evaluate import Evaluate, evaluate
from anonymize.errors import Problem, UsageError
from anonymize.modelling import Protocol
from anonymize.modelling.learners import LEARNERS, check_installed
from anonymize.publication import named_by
from anonymize.records import dataclass
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
        if self.model not in LEARNERS:
            raise UsageError(f"--model {self.model}: is not one of {', '.join(LEARNERS)}")
        if not (self.spec or spec).workload.target_names:
            hint = "list what is to be predicted under workload: {targets: [...]}"
            raise UsageError(Problem("--model needs a target, and the spec names none", hint=hint))
        check_installed()

    def key(self) -> list[Any]:
        """What the figures follow from, beside the release and its original. Raises OSError for files that the spec
        names and that cannot be read."""
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
