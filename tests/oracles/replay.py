"""All of ARX's cases replayed through the command line, as a Markdown page: how many agree, and each one that does not.

    python -m tests.oracles.replay > benchmarks/arx.md

An optimum is the search as it ships. A listed node is a release of that node alone, of which every failing class is
suppressed. Where a case differs, the node that ARX chose is also demanded here, under the case's own limit: whether it
may be released, its score, and, where the model speaks of a population, how many people of it are under a class without
rows there; and the release that ARX makes of it is audited (`theirs.py`). The cases of fewer and simpler models come
first. Arguments are beginnings of the names of cases, or kinds: `optimum`, `scores`.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.oracles.arx import Outcome, agrees, cases, differs, figures, lines, members_of, missing, released
from tests.oracles.theirs import audited, generalized

NONE = "no release"


def optimum(case: dict[str, Any], folder: Path) -> tuple[str, str]:
    """How a case ended, and what there is to say of it."""
    outcome = released(case, folder)
    if case["expected_no_solution"] or outcome.code:
        agreed = bool(case["expected_no_solution"]) and outcome.code == 4
        return ("equal", "") if agreed else (NONE, _chosen(case, folder))
    if agrees(outcome, case["expected_information_loss"]):
        return "equal", ""
    less = outcome.score < figures(case["expected_information_loss"])
    told = f"{_score(outcome.score)} here, {_score(figures(case['expected_information_loss']))} there"
    return ("lower" if less else "higher"), f"{told}; {_chosen(case, folder)}"


def _chosen(case: dict[str, Any], folder: Path) -> str:
    """What becomes of the node that ARX chose."""
    outcome = released(case, folder, levels=case["expected_transformation"])
    told = f"the node of ARX: {f'exit code {outcome.code}' if outcome.code else _score(outcome.score)}"
    people = absent(case)
    told += "" if people is None else f", {people} people under classes without rows"
    return "; ".join(part for part in (told, audited(case, folder)) if part)


def absent(case: dict[str, Any]) -> int | None:
    """People of the population under classes of ARX's node that have no row; None where there is no population."""
    members = members_of(case)
    if members is None:
        return None
    everybody, there = (Counter(generalized(case, [row.split(";") for row in lines(of)])) for of in (None, members))
    return sum(count for shown, count in everybody.items() if shown not in there)


def _score(score: list[float]) -> str:
    return " ".join(f"{each:.10g}" for each in score)


def nodes(case: dict[str, Any], folder: Path) -> Iterator[tuple[str, str]]:
    """How each listed node ended."""
    for each in case["expected_scores"]:
        outcome: Outcome = released(case, folder, levels=each["transformation"], suppression=1.0)
        node = {**case, "expected_transformation": each["transformation"]}
        if outcome.code == 4:
            accepted = "accepts" in (audited(node, folder) or "")
            yield f"no release, and audit {'accepts' if accepted else 'refuses'} ARX's", ""
        elif agrees(outcome, each["information_loss"]):
            yield "equal", ""
        else:
            told = f"{_score(outcome.score)} here, {outcome.recoding['suppressed_rows']} rows suppressed"
            told += f", {_score(figures(each['information_loss']))} there; {audited(node, folder)}"
            yield "other", f"node {each['transformation']}: {told}"


def replayed(case: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The results of a case: kind, how it ended, what there is to say."""
    if lacking := missing(case):
        yield case["kind"], "not here", lacking
        return
    with tempfile.TemporaryDirectory() as name:
        results = [optimum(case, Path(name))] if case["kind"] == "optimum" else nodes(case, Path(name))
        for end, text in results:
            yield case["kind"], end, "; ".join(part for part in (text, differs(case)) if part) if text else ""


def effort(case: dict[str, Any]) -> tuple[bool, int, int]:
    """How long a replay takes, from little to much."""
    models = [model["model"] for model in case["models"]]
    slow = max(("Hierarchical" in model) + 2 * ("Uniqueness" in model) for model in models)
    return case["kind"] != "optimum", slow, len(models)


def main() -> None:
    """Prints the page; what is done already is told on standard error."""
    counts: Counter[tuple[str, str]] = Counter()
    told, replays = [], 0
    for case in sorted(cases(), key=effort):
        if len(sys.argv) > 1 and not any(case["kind"] == each or case["id"].startswith(each) for each in sys.argv[1:]):
            continue
        replays += 1
        for kind, end, text in replayed(case):
            counts[kind, end] += 1
            print(case["id"], kind, end, text, file=sys.stderr, flush=True)
            told += [f"| {case['id']} | {end} | {text} |"] if text else []
    print("# ARX's own cases, replayed\n\nMade by `python -m tests.oracles.replay`.\n")
    print(f"Of {len(cases())} cases, {replays} were replayed.\n")
    print("| kind | how it ended | how many |\n|---|---|---|")
    for (kind, end), count in sorted(counts.items()):
        print(f"| {kind} | {end} | {count} |")
    print("\n| case | | why |\n|---|---|---|")
    print("\n".join(told))


if __name__ == "__main__":
    main()
