"""The league's second opinion: the loss that a script of its own reads in a release is the one that was reported."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
import yaml

import anonymize

ROOT = Path(__file__).parents[1]

SPEC = {
    "version": 1,
    "input": {"missing": [""]},
    "quasi_identifiers": {"age": {"type": "numeric"}, "debt": {"type": "numeric"}, "job": {}},
    "sensitive": ["ill"],
    "output": {"edges": "tight"},
}


@pytest.mark.parametrize("algorithm", ["mondrian", "bottom-up", "incognito"])
@pytest.mark.parametrize("suppression", [0.0, 0.2])
def test_the_loss_is_what_another_script_reads_in_the_text(tmp_path: Path, algorithm: str, suppression: float) -> None:
    rng, rows = np.random.default_rng(2), 60
    debt = [f"{value:.1f}" if value > -8 else "" for value in rng.normal(0, 9, rows).tolist()]
    jobs, ill = rng.choice(["cook", "clerk", ""], rows), rng.choice(["flu", "cold"], rows)
    columns = [rng.integers(18, 90, rows), debt, jobs, ill]
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    original, spec, released = (tmp_path / name for name in ("people.csv", "spec.yaml", "released.csv"))
    original.write_text("\n".join(["age,debt,job,ill", *lines]) + "\n")
    spec.write_text(yaml.safe_dump(SPEC | {"privacy": {"k": 4, "suppression": suppression}}))
    report = anonymize.release(str(original), str(spec), algorithm, output=str(released), seed=1).report
    read = runpy.run_path(str(ROOT / "benchmarks" / "league" / "outside.py"))["gcp"](spec, original, released)
    assert read == pytest.approx(report["utility"]["gcp"], rel=0, abs=1e-9)
