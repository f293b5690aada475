"""The lattice as data: every node, whether it is safe, and its score."""

from __future__ import annotations

from typing import Any

from anonymize.algorithms.lattice.scores import Scorer, as_json


def picture(scorer: Scorer) -> dict[str, Any]:
    """What `--output-lattice` writes: the attributes with their heights, and all nodes from the bottom up."""
    checker = scorer.checker
    nodes = []
    for vector in checker.lattice:
        checked = checker.check(vector)
        nodes.append(
            {
                "levels": list(vector),
                "height": sum(vector),
                "safe": checked.safe,
                "suppressed_rows": checked.suppressed,
                "classes": checked.classes,
                "score": as_json(scorer.score(vector)),
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
