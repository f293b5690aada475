"""The lattice as data: every node, whether it is safe, and its score."""

from __future__ import annotations

from typing import Any

from anonymize.algorithms.lattice.scores import Scorer


def picture(scorer: Scorer) -> dict[str, Any]:
    """What `--output-lattice` writes: the attributes with their heights, and all nodes from the bottom up."""
    checker = scorer.checker
    nodes = []
    for vector in checker.lattice:
        checked, score = checker.check(vector), scorer.score(vector)
        nodes.append(
            {
                "levels": list(vector),
                "height": sum(vector),
                "safe": checked.safe,
                "suppressed_rows": checked.suppressed,
                "classes": checked.classes,
                "score": score[0] if len(score) == 1 else list(score),
            }
        )
    names = [attribute.name for attribute in checker.table.attributes]
    return {
        "attributes": [
            {"name": name, "height": height} for name, height in zip(names, checker.lattice.heights, strict=True)
        ],
        "metric": scorer.metric,
        "nodes": nodes,
    }
