"""The league's tables: what is known of them, where they are, and by which specs they are released and measured."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parents[2] / "shared" / "data"
"""A folder of reference data beside the checkout, which need not be there."""


def tables() -> dict[str, dict[str, str]]:
    """By name, in the order of the page: `package`, `licence` and `use`."""
    known: dict[str, dict[str, str]] = yaml.safe_load((HERE / "tables.yaml").read_text(encoding="utf8"))
    return known


def measuring(doc: str | None) -> tuple[argparse.Namespace, dict[str, Any]]:
    """The arguments of a script that measures tables at several k, and what it has measured before; both are about the
    tables `only`, at each `k`, of which `file_of` finds those in the folder `tables` and the `reference`."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path)
    parser.add_argument("--reference", type=Path, default=REFERENCE, help="the folder that has adult.csv")
    parser.add_argument("--only", default=",".join(tables()))
    parser.add_argument("-k", default="5,25")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    return options, json.loads(options.output.read_text(encoding="utf8")) if options.output.exists() else {}


def file_of(name: str, *folders: Path) -> Path | None:
    """The table in the first folder that has it; None where none does."""
    return next((folder / f"{name}.csv" for folder in folders if (folder / f"{name}.csv").is_file()), None)


def measuring_spec(name: str) -> dict[str, Any]:
    """The spec of a table as it is written, with the weights and the target that releases are measured by. Paths of
    hierarchies are absolute, so that the spec may be written anywhere."""
    folder = HERE / "specs"
    spec: dict[str, Any] = yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf8"))
    for about in spec["quasi_identifiers"].values():
        if isinstance(about.get("hierarchy"), str):
            about["hierarchy"] = str((folder / about["hierarchy"]).resolve())
    return spec


def releasing_spec(name: str) -> dict[str, Any]:
    """The same without weights and target: what releases are made with."""
    spec = measuring_spec(name)
    spec.pop("workload", None)
    for about in spec["quasi_identifiers"].values():
        about.pop("weight", None)
    return spec


def written(spec: dict[str, Any], path: Path) -> Path:
    """The path, at which the spec now is."""
    path.write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf8")
    return path
