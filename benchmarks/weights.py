"""What a weight does: Adult, k = 10, the weight of one quasi-identifier after the other doubled.

Prints a Markdown table, and writes it to `weights.md`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import yaml
from runs import ADULT_QIS, DATA, HERE, TABLES, Section, Tables, released, tell

METHODS = {"top-down": ("--no-refine",), "mondrian": ()}
"""Commands with their options."""
SEED = "0"


def penalties(spec: Path, method: str) -> dict[str, float]:
    """Mean NCP of each quasi-identifier, unweighted."""
    attributes = released(spec, "--seed", SEED, *METHODS[method], command=method).report["utility"]["attributes"]
    return {name: attributes[name]["ncp"] for name in ADULT_QIS}


def doubled(spec: Path, name: str) -> Path:
    """The spec with the weight of one quasi-identifier at 2."""
    content = yaml.safe_load(spec.read_text(encoding="utf8"))
    content["quasi_identifiers"][name]["weight"] = 2
    path = TABLES / f"{spec.stem}-weight.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf8")
    return path


def section(tables: Tables) -> Section:
    """A line a quasi-identifier: its NCP at weight 1 and at weight 2, by each method."""
    spec = tables.adult()
    plain = {method: penalties(spec, method) for method in METHODS}
    rows = []
    for name in ADULT_QIS:
        cells = [name]
        for method in METHODS:
            before, after = plain[method][name], penalties(doubled(spec, name), method)[name]
            cells += [f"{before:.4f}", f"{after:.4f}", f"{after / before - 1:+.0%}"]
        rows.append(tuple(cells))
        tell(" ".join(cells))
    names = [" ".join((method, *options)) for method, options in METHODS.items()]
    header = [f"`{name}`, {what}" for name in names for what in ("weight 1", "weight 2", "change")]
    return Section("NCP of one quasi-identifier, mean over its cells", ("weight of", *header), rows)


def main() -> None:
    """Measures and writes."""
    TABLES.mkdir(exist_ok=True)
    tables = Tables(DATA if DATA.is_dir() else None)
    about = f"{tables.adult_name}, k = 10, `--seed {SEED}`. One weight at a time is doubled; the others are 1."
    text = "\n".join(["# Weights", "", about, "", section(tables).markdown()])
    (HERE / "weights.md").write_text(text, encoding="utf8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
