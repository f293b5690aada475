"""Random tables with a spec each: small, and as odd as tables in the wild.

`cases(needs)` draws a table that an algorithm with these needs can work on. Text has separators, quotes, line breaks
and other scripts in it, numbers have leading zeros and spaces, columns are constant or nearly unique, rows repeat.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from anonymize import privacy
from anonymize.algorithms import Needs
from anonymize.algorithms.minimality import DISTINCT, FREQUENCY
from tests.common.oracle import compared
from tests.privacy.strategies import parameters

SUPPRESSED = ("*", "(hidden)")
NAMES = ("age", "zip code", "naïve", 'a "b"', "x,y;z", "two\nlines", "1", "x:y", "#", " lead", "yes", "漢字", "-")
MISSING = ([""], ["", "?"], ["?"], ["NA", ""], ["?", "99"])
TEMPLATES = ("[{low}-{high}]", "[{low}..{high}]", "[{low} to {high}]", "span [{low};{high}]")
Parameters = dict[str, st.SearchStrategy[dict[str, Any]]]
MODELS: Parameters = {
    "entropy-l-diversity": st.fixed_dictionaries({"l": st.sampled_from([1, 1.5, 2, 2.5])}),
    "frequency-l-diversity": st.fixed_dictionaries({"l": st.sampled_from([1, 1.5, 2, 3])}),
    "recursive-cl-diversity": st.fixed_dictionaries(
        {"c": st.sampled_from([0.5, 1, 2, 4]), "l": st.integers(1, 3)},
    ),
    "distinct-l-diversity": st.fixed_dictionaries({"l": st.integers(1, 3)}),
    "k-anonymity": st.fixed_dictionaries({"k": st.integers(1, 4)}),
    "alpha-k-anonymity": st.fixed_dictionaries({"alpha": st.sampled_from([0.3, 0.5, 0.8, 1]), "k": st.integers(1, 4)}),
    "p-sensitivity": st.fixed_dictionaries({"p": st.integers(1, 3)}),
    "t-closeness": st.fixed_dictionaries({"t": st.sampled_from([0, 0.1, 0.3, 0.6, 1])}),
    "basic-beta-likeness": st.fixed_dictionaries({"beta": st.sampled_from([0.1, 0.5, 1, 4])}),
    "enhanced-beta-likeness": st.fixed_dictionaries({"beta": st.sampled_from([0.1, 0.5, 1, 4])}),
    "delta-disclosure": st.fixed_dictionaries({"delta": st.sampled_from([0.2, 0.7, 2])}),
    "risk": st.fixed_dictionaries({"prosecutor_max": st.sampled_from([0.2, 0.3, 0.5, 1])}),
    "sample-uniqueness": st.fixed_dictionaries({"share": st.sampled_from([0, 0.1, 1])}),
}
NUMERIC_MODELS: Parameters = {
    "squared-error-diversity": st.fixed_dictionaries({"error": st.sampled_from([0, 0.5, 10, 1000])}),
    "k-e-anonymity": st.fixed_dictionaries({"k": st.integers(1, 3), "e": st.sampled_from([0.5, 6, 30])}),
    "t-closeness": st.fixed_dictionaries({"t": st.sampled_from([0, 0.1, 0.3]), "distance": st.just("ordered")}),
}
TREE_MODELS: Parameters = {
    "t-closeness": st.fixed_dictionaries(
        {"t": st.sampled_from([0, 0.1, 0.2, 0.4]), "distance": st.sampled_from(["ordered", "hierarchical"])}
    )
}
OTHERS: Parameters = {
    name: parameters(model.parameters).map(lambda made: made.model_dump(mode="json", exclude_none=True))
    for name, model in privacy.MODELS.items()
    if name not in {**MODELS, **NUMERIC_MODELS} and model.sensitive == "any" and model.about != "channel"
}
"""Models that nobody has chosen parameters for."""

odd_texts = st.text(st.sampled_from("ab01 ,;|\t'\"\n\r\\{}[]*_-é漢😀\u2028"), max_size=4).filter(
    lambda text: compared(text) not in SUPPRESSED
)
codes = st.text(st.sampled_from("0123"), min_size=1, max_size=3).map(lambda text: "0" + text)
dates = st.dates().map(lambda day: f"{day.year:04}-{day.month:02}-{day.day:02}")
small_numbers = st.sampled_from(["{}", " {} ", "0{}", "+{}"]).flatmap(
    lambda form: st.integers(0, 120).map(lambda number: form.format(number))
)
large_numbers = st.integers(-(2**63), 2**63 - 1).map(str)
fractions = st.decimals(-1000, 1000, places=2).map(str) | st.sampled_from(["1e3", "1e-07", "-0.0", ".5", "2."])
numbers = (small_numbers | st.integers(-50, 50).map(str), large_numbers, fractions)


@dataclass(frozen=True)
class Column:
    """A column: its texts, and what the spec says of it. `hierarchy`: of a hierarchy file, the path of each leaf."""

    name: str
    cells: list[str]
    definition: dict[str, Any]
    hierarchy: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Case:
    """A table and the spec of its release. `hierarchies`: by file name, the paths from leaf to root."""

    header: list[str]
    rows: list[list[str]]
    spec: dict[str, Any]
    hierarchies: dict[str, tuple[tuple[str, ...], ...]]

    def write(self, folder: Path) -> Path:
        """Writes table, hierarchies and spec into a folder; returns the path of the spec."""
        separator = self.spec["input"]["separator"]
        (folder / "table.csv").write_text(_csv([self.header, *self.rows], separator), encoding="utf-8", newline="")
        for name, paths in self.hierarchies.items():
            (folder / name).write_text(_csv(paths, ";"), encoding="utf-8", newline="")
        (folder / "spec.yaml").write_text(json.dumps(self.spec, indent=1), encoding="utf-8")  # JSON is YAML
        return folder / "spec.yaml"


def _csv(rows: Any, separator: str) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=separator).writerows(rows)
    return buffer.getvalue()


# --- columns ---------------------------------------------------------------------------------------------------------


def _cells(pool: list[str], missing: list[str], rows: int) -> st.SearchStrategy[list[str]]:
    """Cells out of a pool of few texts, so that rows repeat: evenly, with missing values, or most of them the same."""
    kinds = st.sampled_from([pool, [*pool, *missing], [*pool[:1] * 9, *pool, *missing]])
    return kinds.flatmap(lambda kind: st.lists(st.sampled_from(kind), min_size=rows, max_size=rows))


@st.composite
def _numeric(draw: st.DrawFn, name: str, missing: list[str], rows: int) -> Column:
    pool = draw(st.lists(draw(st.sampled_from(numbers)), min_size=1, max_size=12))
    return Column(name, draw(_cells(pool, missing, rows)), {"type": "numeric"})


@st.composite
def _binned(draw: st.DrawFn, name: str, missing: list[str], rows: int) -> Column:
    pool = draw(st.lists(draw(st.sampled_from([small_numbers, fractions])), min_size=1, max_size=12))
    widths = draw(st.sampled_from([[10, 50], [0.5], [5, 10, 20]]))
    return Column(name, draw(_cells(pool, missing, rows)), {"type": "numeric", "hierarchy": {"intervals": widths}})


@st.composite
def _flat(draw: st.DrawFn, name: str, missing: list[str], rows: int) -> Column:
    pool = draw(st.lists(odd_texts, min_size=1, max_size=6))
    return Column(name, draw(_cells(pool, missing, rows)), draw(st.sampled_from([{}, {"hierarchy": {"flat": True}}])))


@st.composite
def _built(draw: st.DrawFn, name: str, missing: list[str], rows: int) -> Column:
    texts, builder = draw(
        st.sampled_from(
            [
                (codes, {"mask": "right"}),
                (odd_texts, {"mask": "left"}),
                (codes, {"prefix": [3, 1]}),
                (odd_texts, {"prefix": [1]}),
                (dates, {"dates": ["month", "quarter", "year", "decade"]}),
            ]
        )
    )
    pool = draw(st.lists(texts, min_size=1, max_size=8))
    return Column(name, draw(_cells(pool, missing, rows)), {"hierarchy": builder})


@st.composite
def _filed(draw: st.DrawFn, name: str, missing: list[str], rows: int) -> Column:
    """A column with a hierarchy file, of uneven depth, which may have leaves that do not occur."""
    leaves = draw(st.lists(odd_texts.filter(compared), min_size=1, max_size=10, unique_by=compared))
    root = draw(st.sampled_from(["*", "(hidden)", "anything"]))
    above = draw(st.permutations(_ABOVE))[: draw(st.integers(1, 3))]
    paths = tuple((leaf, *draw(st.sampled_from(above)), root) for leaf in leaves)
    pool = leaves[: draw(st.integers(1, len(leaves)))]
    return Column(name, draw(_cells(pool, missing, rows)), {}, paths)


_ABOVE = [("<A>", "<AB>"), ("<B>", "<AB>"), ("<C>", "<CD, etc>"), ("<D>", "<CD, etc>"), ("<CD, etc>",), ()]


@st.composite
def _quasi_identifiers(draw: st.DrawFn, names: list[str], missing: list[str], rows: int) -> list[Column]:
    kinds = [_binned, _built, _filed, _numeric, _flat]
    found = [draw(draw(st.sampled_from(kinds))(name, missing, rows)) for name in names]
    for column in found:
        column.definition["weight"] = draw(st.sampled_from([1, 0.5, 3]))
    return found


@st.composite
def _sensitive(draw: st.DrawFn, name: str, missing: list[str], rows: int) -> Column:
    if draw(st.integers(0, 3)) == 3:
        return draw(_filed(name, missing, rows))
    numeric = draw(st.booleans())
    texts = st.sampled_from(["1", "1.0", "001", "7", "-2.5", "30"]) if numeric else odd_texts
    pool = draw(st.lists(texts, min_size=1, max_size=5))
    return Column(name, draw(_cells(pool, missing, rows)), {"type": "numeric"} if numeric else {})


# --- the spec --------------------------------------------------------------------------------------------------------


@st.composite
def _privacy(draw: st.DrawFn, sensitive: list[Column], rows: int) -> dict[str, Any]:
    found: dict[str, Any] = {"suppression": draw(st.sampled_from([0, 0, 0.1, 0.5, 1]))}
    kinds = [["k"]] if not sensitive else [["k"], ["k", "l"], ["models"], ["k", "models"], ["k", "l", "models"]]
    kind = draw(st.sampled_from(kinds))
    if "k" in kind:
        found["k"] = draw(st.sampled_from([1, 2, 2, 3, 5, rows, rows + 1]))
    if "l" in kind:
        found["l"] = draw(st.integers(1, 3))
    if "models" in kind:
        found["models"] = draw(st.lists(_model(sensitive), min_size=1, max_size=2))
    return found


@st.composite
def _skewed(draw: st.DrawFn, name: str, rows: int) -> tuple[Column, dict[str, Any]]:
    """A sensitive column of which most rows are the same, and what only suppression can make of it."""
    drawn = draw(st.lists(st.sampled_from("abc"), min_size=rows, max_size=rows))
    cells = [cell if at % 2 == 0 else "a" for at, cell in enumerate(drawn)]
    models = [
        {"model": "frequency-l-diversity", "l": 2},
        {"model": "entropy-l-diversity", "l": 1.8},
        {"model": "recursive-cl-diversity", "c": 2, "l": 2},
    ]
    suppression = draw(st.sampled_from([0.3, 0.5, 1]))
    return Column(name, cells, {}), {"suppression": suppression, "k": 1, "models": [draw(st.sampled_from(models))]}


@st.composite
def _model(draw: st.DrawFn, sensitive: list[Column]) -> dict[str, Any]:
    column = draw(st.sampled_from(sensitive))
    known = (
        MODELS
        | OTHERS
        | (NUMERIC_MODELS if "type" in column.definition else {})
        | (TREE_MODELS if column.hierarchy else {})
    )
    name = draw(st.sampled_from(sorted(known)))
    entry: dict[str, Any] = {"model": name, **draw(known[name])}
    if name in ("k-anonymity", "risk", "sample-uniqueness"):
        return entry
    return entry | draw(st.sampled_from([{}, {"attribute": column.name}]))


output = st.fixed_dictionaries(
    {
        "interval": st.sampled_from(TEMPLATES),
        "numeric": st.sampled_from(["interval", "interval", "bounds", "mean", "median"]),
        "categorical": st.sampled_from(["node", "node", "set"]),
        "suppressed": st.sampled_from(SUPPRESSED),
        "suppressed_rows": st.sampled_from(["keep", "drop"]),
        "edges": st.sampled_from(["tight", "rounded", "rounded", "open"]),
        "row_order": st.sampled_from(["sorted", "sorted", "keep", "shuffle"]),
    }
)


@st.composite
def cases(draw: st.DrawFn, needs: Needs, workload: bool = False) -> Case:
    """A table of 1 to 60 rows and 1 to 4 quasi-identifiers, and a spec for it.

    `workload`: with targets of both kinds, and selections.
    """
    rows = draw(st.integers(1, 60))
    names = draw(st.permutations(NAMES))
    missing = draw(st.sampled_from(MISSING))
    quasi = draw(_quasi_identifiers(names[: draw(st.integers(1, 4))], missing, rows))
    sensitive = [draw(_sensitive(name, missing, rows)) for name in names[4 : 4 + draw(st.integers(needs.sensitive, 2))]]
    privacy = draw(_privacy(sensitive, rows))
    if sensitive and draw(st.integers(0, 3)) == 3:
        sensitive[0], privacy = draw(_skewed(sensitive[0].name, rows))
    others = [Column(name, draw(_cells([*missing, " x", "é\n"], [], rows)), {}) for name in names[6:8]]
    spec: dict[str, Any] = {
        "version": 1,
        "input": {"path": "table.csv", "separator": draw(st.sampled_from(",;\t|")), "missing": missing},
        "quasi_identifiers": {column.name: column.definition for column in quasi},
        "sensitive": {column.name: column.definition for column in sensitive},
        "privacy": privacy,
        "output": draw(output),
    }
    if needs.units and draw(st.integers(0, 2)) == 2:
        others.append(draw(_persons(names[8], rows)))
        spec["unit"] = names[8]
    identifiers, insensitive, targets = _dealt(draw, others[:2], replace(needs, target=needs.target or workload))
    spec |= {"identifiers": _names(identifiers), "insensitive": ["row", *_names(insensitive)]}
    spec |= {"workload": {"targets": _names(targets)}}
    if workload:
        spec["insensitive"].remove("row")
        selections = draw(st.lists(_selection(quasi, missing), min_size=1, max_size=3))
        spec["workload"] = {"targets": [*_names(targets), {"row": {"type": "numeric"}}], "selections": selections}
    numbered = Column("row", [f"{number:03}" for number in range(rows)], {})
    return _assembled(draw, [*quasi, *sensitive, *identifiers, *insensitive, *targets, *others[2:]], numbered, spec)


@st.composite
def _persons(draw: st.DrawFn, name: str, rows: int) -> Column:
    """Whom rows are about: few persons with many rows each, or nearly as many as there are rows."""
    person = st.integers(0, draw(st.sampled_from([0, 2, 2 + rows // 4, 2 * rows]))).map("p{}".format)
    return Column(name, draw(st.lists(person, min_size=rows, max_size=rows)), {})


@st.composite
def _selection(draw: st.DrawFn, quasi: list[Column], missing: list[str]) -> dict[str, Any]:
    """A condition on one or two quasi-identifiers, some values of which occur."""
    found: dict[str, Any] = {}
    for column in draw(st.lists(st.sampled_from(quasi), min_size=1, max_size=2, unique_by=id)):
        present = sorted(cell for cell in set(column.cells) - set(missing) if max(cell, default="") < "\ud800") or ["0"]
        cells = draw(st.lists(st.sampled_from(present), min_size=2, max_size=2))
        if column.definition.get("type") != "numeric":
            found[column.name] = {"in": cells}
            continue
        low, high = sorted(map(float, cells))
        found[column.name] = draw(
            st.sampled_from([{"from": low}, {"to": high}, {"from": low, "to": high}, {"in": [low]}])
        )
    return found


def _dealt(draw: st.DrawFn, others: list[Column], needs: Needs) -> tuple[list[Column], list[Column], list[Column]]:
    """Identifiers, insensitive columns and targets."""
    if needs.target:
        return [], others[:1], others[1:]
    return draw(st.sampled_from([([], [], []), (others[:1], others[1:], []), (others, [], [])]))


def _names(columns: list[Column]) -> list[str]:
    return [column.name for column in columns]


def _assembled(draw: st.DrawFn, columns: list[Column], numbered: Column, spec: dict[str, Any]) -> Case:
    """Columns in any order. Rows are numbered by a column: they may come out in another order, or not at all, also
    where the spec allows no suppression (an option may)."""
    columns = draw(st.permutations([*columns, numbered]))
    files = {f"tree{at}.csv": column for at, column in enumerate(columns) if column.hierarchy}
    for file, column in files.items():
        column.definition["hierarchy"] = file
    rows = [list(row) for row in zip(*(column.cells for column in columns), strict=True)]
    return Case(_names(columns), rows, spec, {file: column.hierarchy for file, column in files.items()})


def played(case: Case) -> Case:
    """The same case with a game between publisher and attacker, which two rows of a class decide."""
    game = {"model": "profitability", "attacker_gain": 2.0, "attacker_cost": 1.0}
    sums = {"publisher_benefit": 3.0, "publisher_loss": 1.0}
    wanted = case.spec["privacy"]
    models = [*wanted.get("models", []), {**game, **sums}]
    return replace(case, spec={**case.spec, "privacy": {**wanted, "models": models}})


def maskable(case: Case) -> Case:
    """The same case without models that `--mask-minimality` refuses."""
    wanted = case.spec["privacy"]
    kept = [
        entry
        for entry in wanted.get("models", [])
        if privacy.MODELS[entry["model"]].sensitive == "none" or entry["model"] in (DISTINCT, FREQUENCY)
    ]
    least = {} if kept or {"k", "l"}.intersection(wanted) else {"k": 1}
    return replace(case, spec={**case.spec, "privacy": {**wanted, **least, "models": kept}})
