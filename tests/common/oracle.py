"""The truth about a release, by brute force: plain Python on the text of two CSV files and nothing of the project's.

It knows the spec as the mapping that the YAML file holds. `Truth` compares a release with the table it was made from.
"""

from __future__ import annotations

import csv
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

Path_ = tuple[str, ...]
Spec = dict[str, Any]
Window = tuple[Fraction | float, Fraction | float]
NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"


def read(path: Path, separator: str) -> list[list[str]]:
    """The records of a CSV, the header first. A blank line is an empty value of a single column."""
    with open(path, encoding="utf-8", newline="") as file:
        return [record or [""] for record in csv.reader(file, delimiter=separator, strict=True)]


def compared(text: str) -> str:
    """What a text is compared as: what cannot be seen is not there, and any space within is a space."""
    seen = []
    for character in unicodedata.normalize("NFC", text):
        if unicodedata.category(character) in ("Zs", "Zl", "Zp") or character in "\t\n\v\f\r\x85":
            seen.append(" ")
        elif unicodedata.category(character) != "Cc" and character not in "\u200b\u2060\ufeff\u00ad":
            seen.append(character)
    return unicodedata.normalize("NFC", "".join(seen).strip(" "))


def _sort_number(text: str) -> tuple[float, float] | None:
    """The number that a cell is, as both ends of an interval."""
    bare = text.strip()
    if re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", bare) and math.isfinite(float(bare)):
        return float(bare), float(bare)
    return None


def widest_step(most: Fraction) -> Fraction:
    """The largest 1, 2 or 5 times a power of ten that is not above a positive number."""
    power = Fraction(1)
    while power > most:
        power /= 10
    while power * 10 <= most:
        power *= 10
    return max(power * factor for factor in (1, 2, 5) if power * factor <= most)


def equal_rows(keys: Sequence[Path_]) -> dict[Path_, list[int]]:
    """The equivalence classes: which rows show the same."""
    classes = defaultdict(list)
    for row, key in enumerate(keys):
        classes[key].append(row)
    return classes


# --- privacy ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Whole:
    """A sensitive attribute in the table as a whole: the present values of all rows, the different ones in their order,
    and the path of each from the root."""

    values: Sequence[Any]
    order: Sequence[Any]
    paths: dict[Any, Path_]


Shares = dict[Any, Fraction]


def equal(own: Shares, table: Shares, whole: Whole) -> Fraction:
    return sum((abs(own.get(s, Fraction(0)) - q) for s, q in table.items()), Fraction(0)) / 2


def ordered(own: Shares, table: Shares, whole: Whole) -> Fraction:
    ahead, work = Fraction(0), Fraction(0)
    for s in whole.order:
        ahead += own.get(s, Fraction(0)) - table[s]
        work += abs(ahead)
    return work / max(len(whole.order) - 1, 1)


def hierarchical(own: Shares, table: Shares, whole: Whole) -> Fraction:
    """Every unit of share goes up as far as it has to: what leaves a node goes one level higher."""
    height = max(map(len, whole.paths.values())) - 1
    leaving = Fraction(0)
    for level in range(height):
        extra: dict[Path_, Fraction] = defaultdict(Fraction)
        for s, q in table.items():
            path = whole.paths[s]
            node = path[: max(height + 1 - level, 1)]
            extra[node] += own.get(s, Fraction(0)) - q
        leaving += sum(map(abs, extra.values()), Fraction(0)) / 2
    return leaving / height if height else Fraction(0)


PARAMETER = {
    "k-anonymity": "k",
    "recursive-cl-diversity": "c",
    "squared-error-diversity": "error",
    "p-sensitivity": "p",
    "t-closeness": "t",
    "basic-beta-likeness": "beta",
    "enhanced-beta-likeness": "beta",
    "delta-disclosure": "delta",
    "profitability": "attacker_cost",
    "risk": "prosecutor_max",
    "sample-uniqueness": "share",
}
AT_MOST = (
    "t-closeness",
    "basic-beta-likeness",
    "enhanced-beta-likeness",
    "profitability",
    "risk",
    "sample-uniqueness",
)


@dataclass(frozen=True)
class Demand:
    """A privacy model that the spec asks for, on one sensitive attribute or on none."""

    model: str
    attribute: str | None
    given: dict[str, Any]

    def figure(self, size: int, values: Sequence[Any], whole: Whole) -> float:
        """What a class of so many rows, or units, reaches; `values` are its present sensitive values.

        Of a model with several parameters, how far it is from the bounds: below 1 where one is not met.
        """
        counts = sorted(Counter(values).values(), reverse=True)
        total = sum(counts)
        shares = {value: Fraction(n, total) for value, n in Counter(values).items()}
        table = {value: Fraction(n, len(whole.values)) for value, n in Counter(whole.values).items()}
        match self.model:
            case "k-anonymity":
                return size
            case "distinct-l-diversity":
                return len(counts)
            case "entropy-l-diversity":
                return math.exp(-sum(n / total * math.log(n / total) for n in counts)) if counts else 0
            case "frequency-l-diversity":
                return total / counts[0] if counts else 0
            case "recursive-cl-diversity":
                rest = sum(counts[self.given["l"] - 1 :])
                return counts[0] / rest if rest else math.inf
            case "squared-error-diversity":
                return float(sum((value - sum(values) / total) ** 2 for value in values))
            case "p-sensitivity":
                return len(counts)
            case "alpha-k-anonymity":
                return min(size / self.given["k"], self.given["alpha"] * total / counts[0]) if counts else 0
            case "k-e-anonymity":
                span = max(values) - min(values) if values else 0
                return float(min(len(counts) / self.given["k"], float(span / Fraction(self.given["e"]))))
            case "t-closeness":
                distance = {"equal": equal, "ordered": ordered, "hierarchical": hierarchical}[self.given["distance"]]
                return float(distance(shares, table, whole)) if counts else math.inf
            case "basic-beta-likeness":
                return float(max([Fraction(0), *(p / table[s] - 1 for s, p in shares.items())])) if counts else math.inf
            case "enhanced-beta-likeness":
                gains = [(p / table[s] - 1, -math.log(table[s])) for s, p in shares.items()]
                beyond = any(gain > most * (1 + 1e-9) + 1e-12 for gain, most in gains)
                return math.inf if beyond or not counts else float(max([Fraction(0), *(gain for gain, _ in gains)]))
            case "delta-disclosure":
                if not counts or len(shares) < len(table):
                    return math.inf
                return max(abs(math.log(shares[s] / table[s])) for s in table)
            case "profitability":
                return float(self.given["attacker_gain"]) / size
            case "risk":
                return 1 / size
            case "sample-uniqueness":
                return float(size == 1)
        raise NotImplementedError(self.model)

    @property
    def known(self) -> bool:
        """Whether there is an opinion of this model here; of another one the twin's alone."""
        try:
            self.figure(1, [], Whole([], [], {}))
        except NotImplementedError:
            return False
        return True

    @property
    def parameter(self) -> str:
        """The parameter that the figure is compared with."""
        return PARAMETER.get(self.model, "l")

    @property
    def several(self) -> bool:
        """Whether the model has several parameters, and `figure` says how far it is from their bounds."""
        return self.model in ("alpha-k-anonymity", "k-e-anonymity")

    @property
    def upper(self) -> bool:
        """Whether the parameter bounds the figure from above."""
        return self.model in ("recursive-cl-diversity", "delta-disclosure", *AT_MOST)

    def met(self, figure: float) -> bool:
        """Whether the figure is enough."""
        if self.several:
            return figure >= 1 - 1e-9
        if self.model in AT_MOST:
            return figure <= float(self.given[self.parameter]) * (1 + 1e-9) + 1e-12
        bound = float(self.given[self.parameter]) * (1 - 1e-9)
        return figure < bound if self.upper else figure >= bound


def _depth_first(path: Path_, paths: Sequence[Path_]) -> list[int]:
    """Where a leaf stands among all, siblings in the order in which they first appear."""
    return [next(at for at, other in enumerate(paths) if other[:depth] == path[:depth]) for depth in range(len(path))]


def demands(spec: Spec) -> list[Demand]:
    """Everything that a spec's `privacy` asks for, each once."""
    privacy, sensitive = spec["privacy"], spec["sensitive"]
    entries = [{"model": "k-anonymity", "k": privacy["k"]}] if "k" in privacy else []
    entries += [{"model": "distinct-l-diversity", "l": privacy["l"]}] if "l" in privacy else []
    found = []
    for entry in entries + privacy.get("models", []):
        given = {key: value for key, value in entry.items() if key not in ("model", "attribute")}
        if entry["model"] == "t-closeness":
            given = {"t": given["t"], "distance": given.get("distance", "equal")}
        for attribute in _attributes(entry, sensitive):
            demand = Demand(entry["model"], attribute, given)
            found += [demand] if demand not in found else []
    return found


def _attributes(entry: dict[str, Any], sensitive: Spec) -> list[str | None]:
    if entry["model"] in ("k-anonymity", "profitability", "risk", "sample-uniqueness"):
        return [None]
    if "attribute" in entry:
        return [entry["attribute"]]
    numeric = entry["model"] in ("squared-error-diversity", "k-e-anonymity")
    distance = entry.get("distance")

    def able(column: dict[str, Any]) -> bool:
        if distance == "hierarchical" or (distance == "ordered" and column.get("type") != "numeric"):
            return "hierarchy" in column
        return not numeric or column.get("type") == "numeric"

    return [name for name, column in sensitive.items() if able(column)]


# --- hierarchies -----------------------------------------------------------------------------------------------------


def root_path(value: str, builder: Any, width: int, root: str) -> Path_:
    """The labels from the root down to a value, by a builder of the spec."""
    steps: list[str] = []
    match builder:
        case {"mask": "right"}:
            steps = [value.rjust(width, "_")[: width - n] + "*" * n for n in range(1, width)]
        case {"mask": "left"}:
            steps = ["*" * n + value.ljust(width, "_")[n:] for n in range(1, width)]
        case {"prefix": lengths}:
            steps = [value[:length] + "*" if value else value for length in lengths]
        case {"dates": _}:
            year, month = value[:4], int(value[5:7])
            steps = [value[:7], f"{year}-Q{1 + (month - 1) // 3}", year, year[:3] + "0s"]
    return (root, *reversed(steps), value)


def _from_root(labels: list[str]) -> Path_:
    """A line of a hierarchy file, which goes from a leaf to the root."""
    return tuple(map(compared, reversed(labels)))


def lowest_common(paths: Sequence[Path_]) -> Path_:
    """The path of the lowest node above all leaves; of one leaf, its own."""
    if len(set(paths)) == 1:
        return paths[0]
    common = []
    for labels in zip(*paths, strict=False):
        if len(set(labels)) > 1:
            break
        common.append(labels[0])
    return tuple(common)


def unescaped_set(text: str) -> list[str]:
    """The values of `{a|b}`, or of one value alone."""
    body = text[1:-1] if text.startswith("{") else text
    values = re.findall(r"((?:[^\\|]|\\.)*)(?:\||\Z)", body, re.DOTALL)
    wanted = len(re.findall(r"(?<!\\)(?:\\\\)*\|", body)) + 1
    return [re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL) for value in values[:wanted]]


# --- a release beside its table --------------------------------------------------------------------------------------


class Truth:
    """A table and its release, as text. `dropped` counts the rows that the release lacks.

    `kind`: of its recoding. With `levels` cells show labels of hierarchies, numbers too. With `single-dimensional` what
    a cell shows follows from its value alone, and may be wider than its class.
    """

    def __init__(self, spec: Spec, folder: Path, released: Path, kind: str = "regions") -> None:
        self.spec, self.folder, self.kind = spec, folder, kind
        self.output, self.missing = spec["output"], [*map(compared, spec["input"]["missing"]), ""]
        self.header, *self.rows = read(folder / "table.csv", spec["input"]["separator"])
        self.compared = [[*map(compared, row)] for row in self.rows]
        self.shown_header, *self.shown = read(released, spec["input"]["separator"])
        self.origin = self._origins()
        self.dropped = len(self.rows) - len(self.shown)
        self._windows: dict[str, list[Window]] = {}

    def _origins(self) -> list[int]:
        """Row of the table that each released row came from."""
        if "row" not in self.shown_header:
            return list(range(len(self.shown)))
        at = self.shown_header.index("row")
        return [int(row[at]) for row in self.shown]

    def expected_header(self) -> list[str]:
        """The released columns, in the table's order."""
        found = []
        for name in self.header:
            if name not in (*self.spec["identifiers"], self.spec.get("unit")):
                found += self.columns_of(name)
        return found

    def columns_of(self, name: str) -> list[str]:
        """The released columns of a column."""
        numeric = self.spec["quasi_identifiers"].get(name, {}).get("type") == "numeric"
        if not numeric or self.output["numeric"] != "bounds":
            return [name]
        beside = [column for column in (name + "_missing",) if column in self.shown_header]
        return [name + "_low", name + "_high", *beside]

    def cells(self, name: str) -> list[str]:
        """A released column."""
        at = self.shown_header.index(name)
        return [row[at] for row in self.shown]

    def originals(self, name: str) -> list[str]:
        """The table's cells that the released rows came from."""
        at = self.header.index(name)
        return [self.rows[row][at] for row in self.origin]

    def sources(self, name: str) -> list[str]:
        """What the table's cells that the released rows came from are compared as."""
        at = self.header.index(name)
        return [self.compared[row][at] for row in self.origin]

    @cached_property
    def classes(self) -> dict[Path_, list[int]]:
        """Released rows by what their quasi-identifiers show."""
        columns = [self.cells(column) for column in self._released_names()]
        return equal_rows(list(zip(*columns, strict=True)))

    @cached_property
    def suppressed(self) -> Path_:
        """What the quasi-identifiers of a suppressed row show; where all rows show it, none of them is suppressed."""
        return () if set(self.classes) == {self.hidden} else self.hidden

    @property
    def hidden(self) -> Path_:
        """What quasi-identifiers show where they show nothing."""
        return (self.output["suppressed"],) * len(self._released_names())

    # --- privacy ---

    @cached_property
    def whom(self) -> list[Any]:
        """Whom each released row is about: where the spec has no unit, somebody else each."""
        if "unit" not in self.spec:
            return self.origin
        at = self.header.index(self.spec["unit"])
        return [self.compared[row][at] for row in self.origin]

    def size(self, rows: Iterable[int]) -> int:
        """How many units released rows are about."""
        return len({self.whom[row] for row in rows})

    @property
    def sizes(self) -> list[int]:
        """Units of each class, that of the suppressed rows left out."""
        return [self.size(rows) for key, rows in self.classes.items() if key != self.suppressed]

    def values(self, name: str, rows: Iterable[int]) -> list[Any]:
        """The present values of a sensitive attribute in released rows, each once for a unit, numbers as numbers."""
        numeric, cells = self.spec["sensitive"][name].get("type") == "numeric", [*map(compared, self.cells(name))]
        present = [(cells[row], self.whom[row]) for row in rows if cells[row] not in self.missing]
        held = [(Fraction(text) if numeric else text, unit) for text, unit in present]
        return [value for value, _ in dict.fromkeys(held)]

    def reached(self, demand: Demand) -> list[float]:
        """What each class of the release reaches."""
        return [self.figure(demand, rows) for rows in self.classes.values()]

    def figure(self, demand: Demand, rows: Sequence[int]) -> float:
        """What some released rows reach as one class."""
        name = demand.attribute
        values = self.values(name, rows) if name else []
        return demand.figure(self.size(rows), values, self.whole(name))

    def whole(self, name: str | None) -> Whole:
        """A sensitive attribute in the whole release."""
        if name is None:
            return Whole([], [], {})
        values = self.values(name, range(len(self.shown)))
        source = self.spec["sensitive"][name].get("hierarchy")
        paths = self.sensitive_tree(name) if isinstance(source, str) else {}
        numeric = self.spec["sensitive"][name].get("type") == "numeric"
        order = list(paths) if paths and not numeric else sorted(set(values))
        return Whole(values, [value for value in order if value in set(values)], paths)

    def sensitive_tree(self, name: str) -> dict[Any, Path_]:
        """The path from the root of each leaf of a sensitive attribute's hierarchy file, in the order of the leaves."""
        source = self.spec["sensitive"][name]["hierarchy"]
        paths = [_from_root(path) for path in read(self.folder / source, ";")]
        return {path[-1]: path for path in sorted(paths, key=lambda path: _depth_first(path, paths))}

    def parameters(self, demand: Demand) -> list[tuple[str, float | None]]:
        """What all classes reach of each parameter of a model with several."""
        classes = [self.values(str(demand.attribute), rows) for rows in self.classes.values()]
        if not classes:
            return [(name, None) for name in demand.given]
        if demand.model == "alpha-k-anonymity":
            shares = [max(Counter(values).values()) / len(values) if values else math.inf for values in classes]
            return [("alpha", max(shares)), ("k", min(map(self.size, self.classes.values())))]
        spans = [float(max(values) - min(values)) if values else 0.0 for values in classes]
        return [("k", min(len(set(values)) for values in classes)), ("e", min(spans))]

    def risk(self) -> dict[str, float]:
        """The report's `risk` block, less the threshold."""
        sizes = [self.size(members) for members in self.classes.values()]
        rows = sum(sizes)
        if not rows:
            return dict.fromkeys(("prosecutor_max", "marketer", "records_at_risk", "uniques"), 0)
        return {
            "prosecutor_max": 1 / min(sizes),
            "prosecutor_mean": len(sizes) / rows,
            "journalist_max": 1 / min(sizes),
            "marketer": len(sizes) / rows,
            "records_at_risk": sum(size for size in sizes if 1 / size > 0.2) / rows,
            "uniques": sizes.count(1),
        }

    # --- the order of rows ---

    def in_order(self) -> bool:
        """Whether rows are in the order of what they show: column by column, those of the quasi-identifiers first.

        An empty cell of these may be a null, which comes first, or the text of a missing value.
        """
        quasi = [column in self._released_names() for column in self.shown_header]
        columns = sorted(range(len(quasi)), key=lambda at: not quasi[at])
        for null in (True, False):
            keys = [[self._sort_key(row[at], quasi[at], null) for at in columns] for row in self.shown]
            if keys == sorted(keys):
                return True
        return False

    def _sort_key(self, text: str, quasi: bool, null: bool) -> tuple[Any, ...]:
        """What a cell is sorted by: nulls, then numbers and intervals by their ends, then texts by their bytes."""
        if not text and (null or not quasi):
            return (0,)
        ends = self._sort_ends(text) if quasi else _sort_number(text)
        return (2, text.encode()) if ends is None else (1, *ends, text.encode())

    def _sort_ends(self, text: str) -> tuple[float, float] | None:
        bare = text.removesuffix(f" or {self.missing[0] or 'missing'}")
        if (ends := _sort_number(text) or _sort_number(bare)) is not None:
            return ends
        if (found := re.fullmatch(f"({NUMBER})([+-])", bare)) is not None:
            number = float(found[1])
            return (number, math.inf) if found[2] == "+" else (-math.inf, number)
        templates = [self.output["interval"], re.sub(r"\]$", ")", self.output["interval"])]
        for pattern in map(self._pattern, templates):
            if (found := re.fullmatch(pattern, bare)) is not None:
                return float(found[1]), float(found[2])
        return None

    # --- what the cells show ---

    def wrong_cells(self) -> Iterator[str]:
        """Released cells that do not show what they came from: not at all, or not as closely as the spec has it."""
        text_of: dict[tuple[str, str], list[str]] = {}
        for key, rows in self.classes.items():
            if key == self.hidden:
                continue
            shown = dict(zip(self._released_names(), key, strict=True))
            for name, definition in self.spec["quasi_identifiers"].items():
                texts = [shown[column] for column in self.columns_of(name)]
                sources = self.sources(name)
                cells = [sources[row] for row in rows]
                numeric = definition.get("type") == "numeric"
                others = [text_of.setdefault((name, cell), texts) for cell in cells]
                if self.kind == "single-dimensional" and any(other != texts for other in others):
                    yield f"{name!r}: {texts} for {cells}, of which one reads otherwise in another class"
                if self.kind != "regions":
                    if not self.penalties(name, texts, cells):
                        yield f"{name!r}: {texts} for {cells}"
                elif not (self._shows_numbers(name, texts, cells) if numeric else self._shows(name, texts[0], cells)):
                    yield f"{name!r}: {texts} for {cells}"

    def _released_names(self) -> list[str]:
        return [column for name in self.spec["quasi_identifiers"] for column in self.columns_of(name)]

    def _shows_numbers(self, name: str, texts: list[str], cells: list[str]) -> bool:
        numbers = [Fraction(cell) for cell in cells if cell not in self.missing]
        if not numbers:
            return set(texts[:2]) == {self.missing[0]} and texts[2:] in ([], ["yes"])
        if self.output["edges"] == "tight" or self.output["suppressed"] not in texts:
            texts = self._bare(texts, len(numbers) < len(cells))
        if not texts:
            return False
        low, high = min(numbers), max(numbers)
        if self.output["edges"] != "tight":
            return any(self._shows_window(name, texts, low, high, window) for window in self.windows(name))
        if self.output["numeric"] in ("mean", "median"):
            return self._near(texts[0], low, high)
        return self._ends(texts) == (low, high)

    def _shows_window(self, name: str, texts: list[str], low: Fraction, high: Fraction, window: Window) -> bool:
        """Whether texts are those of numbers from low to high where no end beyond the window is shown."""
        least, most = window
        point = self.output["numeric"] in ("mean", "median")
        if least > most or (not point and low < least and most < high):
            return set(texts) == {self.output["suppressed"]}
        if point:
            return bool(re.fullmatch(NUMBER, texts[0])) and self._near(
                texts[0], min(max(low, least), most), min(max(high, least), most)
            )
        shown = (
            -math.inf if low < least else min(low, most),
            math.inf if most < high else max(high, least),
        )
        if self.output["edges"] == "open":
            return self._ends(texts) == shown
        ends = self._ends(texts)
        return ends is not None and all(
            end == wanted if math.isinf(wanted) or end == wanted else math.isclose(end, wanted, rel_tol=1e-12)
            for end, wanted in zip(ends, self._rounded(name, shown, window), strict=True)
        )

    def _rounded(self, name: str, shown: Window, window: Window) -> Window:
        """Ends of an interval on the grid of its width, which is that within the window."""
        column = self._numbers(name)
        whole = all(number.denominator == 1 for number in column)
        low, high = Fraction(max(shown[0], window[0])), Fraction(min(shown[1], window[1]))
        if low == high:
            return shown
        step = max(widest_step((high - low) / 4), 2 if whole else 0)
        first, last = low // step * step, (high // step + 1) * step - whole
        return (
            first if math.isfinite(shown[0]) else shown[0],
            last if math.isfinite(shown[1]) else shown[1],
        )

    def windows(self, name: str) -> list[Window]:
        """Between which two numbers ends may be shown, by the rows that are shown in classes. Where some rows show
        nothing it is not known which of them are in a class: any window between that of all and that of the others."""
        if name not in self._windows:
            everyone = self._window(name, range(len(self.shown)))
            others = self._window(
                name, [row for key, rows in self.classes.items() if key != self.hidden for row in rows]
            )
            column: list[Fraction | float] = [*self._numbers(name), math.inf, -math.inf]
            self._windows[name] = [
                (least, most)
                for least in dict.fromkeys(column)
                for most in dict.fromkeys(column)
                if everyone[0] <= least <= others[0] and others[1] <= most <= everyone[1]
            ]
        return self._windows[name]

    def _window(self, name: str, rows: Iterable[int]) -> Window:
        """The least and the greatest number that enough units are at or beyond."""
        sources = self.sources(name)
        numbers = [(Fraction(sources[row]), self.whom[row]) for row in rows if sources[row] not in self.missing]

        def enough(units: set[Any]) -> bool:
            return len(units) >= self._fewest

        least = [end for end, _ in numbers if enough({unit for number, unit in numbers if number <= end})]
        most = [end for end, _ in numbers if enough({unit for number, unit in numbers if number >= end})]
        return min(least, default=math.inf), max(most, default=-math.inf)

    @cached_property
    def _fewest(self) -> int:
        """How many units have to be at or beyond an end: the largest k, 5 where none is required."""
        required = [demand.given["k"] for demand in demands(self.spec) if "k" in demand.given]
        return max(required, default=5)

    def _near(self, text: str, low: Fraction | float, high: Fraction | float) -> bool:
        """Whether a number is one of these or between them, as far as it was rounded."""
        rounding = Fraction(1, 10**6) + max(abs(Fraction(low)), abs(Fraction(high))) / 10**13
        return low - rounding <= Fraction(text) <= high + rounding

    def _bare(self, texts: list[str], mixed: bool) -> list[str]:
        """The texts of numbers alone, of cells that say rightly whether they may be missing; none where they do not."""
        if len(texts) == 3:
            return texts[:2] if texts[2] == ("maybe" if mixed else "no") else []
        if len(texts) == 2:
            return [] if mixed else texts
        suffix = f" or {self.missing[0] or 'missing'}"
        if texts[0].endswith(suffix) != mixed:
            return []
        return [texts[0].removesuffix(suffix)] if mixed else texts

    def _ends(self, texts: list[str]) -> tuple[Fraction | float, Fraction | float] | None:
        if all(re.fullmatch(NUMBER, text) for text in texts):
            return Fraction(texts[0]), Fraction(texts[-1])
        if self.output["edges"] != "tight" and (found := re.fullmatch(f"({NUMBER})[+]", "+".join(texts))):
            return Fraction(found[1]), math.inf
        if self.output["edges"] != "tight" and (found := re.fullmatch(f"({NUMBER})-", "-".join(texts[::-1]))):
            return -math.inf, Fraction(found[1])
        template = self.output["interval"]
        if self.output["edges"] == "rounded" and texts[0].endswith(")"):  # without its upper end
            template = re.sub(r"\]$", ")", template)
        found = re.fullmatch(self._pattern(template), texts[0])
        return (Fraction(found[1]), Fraction(found[2])) if found else None

    @staticmethod
    def _pattern(template: str) -> str:
        """An expression of the intervals that read so, with a group for each end."""
        pattern = re.escape(template)
        for end in ("low", "high"):
            pattern = pattern.replace(re.escape("{" + end + "}"), f"({NUMBER})")
        return pattern

    def _shows(self, name: str, text: str, cells: list[str]) -> bool:
        values = {self.missing[0] if cell in self.missing else cell for cell in cells}
        if self.output["categorical"] == "set":
            return set(unescaped_set(text)) == values
        return text == self.common(name, values)[-1]

    def common(self, name: str, values: set[str]) -> Path_:
        """The lowest node above the values, as its path from the root."""
        return lowest_common([self.tree(name)[value] for value in values])

    def tree(self, name: str) -> dict[str, Path_]:
        """The path from the root of each value of a quasi-identifier, and of each leaf of its hierarchy file."""
        cells = {row[self.header.index(name)] for row in self.compared}
        values = cells - set(self.missing)
        source = self.spec["quasi_identifiers"][name].get("hierarchy")
        if isinstance(source, str):
            paths = {path[-1]: path for path in map(_from_root, read(self.folder / source, ";"))}
        else:
            width = max(map(len, values), default=0)
            paths = {value: root_path(value, source, width, self.output["suppressed"]) for value in values}
        if values != cells:
            root = next(iter(paths.values()))[0] if paths else self.output["suppressed"]
            paths.setdefault(self.missing[0], (root, self.missing[0]))
        return paths

    # --- labels, and intervals that are the same for all rows ---

    def penalties(self, name: str, texts: list[str], cells: list[str]) -> list[float]:
        """The penalty of each node or interval that these texts may stand for and that has all the cells; none where
        there is no such."""
        numeric = self.spec["quasi_identifiers"][name].get("type") == "numeric"
        found: list[float] = []
        if len(set(texts)) == 1 or len(set(texts[:2])) == 1:
            found += (self._number_nodes if numeric else self._label_nodes)(name, texts[0], cells)
        if self.kind == "single-dimensional":
            found += self._wide_intervals(name, texts, cells) if numeric else self._wide_sets(name, texts[0], cells)
        return found

    def _wide_sets(self, name: str, text: str, cells: list[str]) -> Iterator[float]:
        shown = set(unescaped_set(text))
        if {self.missing[0] if cell in self.missing else cell for cell in cells} <= shown <= self.tree(name).keys():
            yield self._node_penalty(name, shown)

    def _wide_intervals(self, name: str, texts: list[str], cells: list[str]) -> Iterator[float]:
        column = self._numbers(name)
        numbers = [Fraction(cell) for cell in cells if cell not in self.missing]
        mixed = not self._bare(texts, mixed=False)  # an interval with the missing leaf in it, whatever the class has
        texts = self._bare(texts, mixed)
        if not texts or (not mixed and len(numbers) < len(cells)):
            return
        if self.output["numeric"] in ("mean", "median"):
            if re.fullmatch(NUMBER, texts[0]) and self._near(texts[0], min(column), max(column)):
                yield 0.0
            return
        ends = self._ends(texts)
        tight = ends is not None and (self.output["edges"] != "tight" or {*ends} <= {*column})
        if ends and tight and all(ends[0] <= number <= ends[1] for number in numbers):
            span = max(column) - min(column)
            width = float((ends[1] - ends[0]) / span) if span and self.output["edges"] == "tight" else 0.0
            yield min(width + (1 / (len({*column}) + 1) if mixed else 0.0), 1.0)

    def _label_nodes(self, name: str, text: str, cells: list[str]) -> Iterator[float]:
        leaves = list(self.tree(name).values())
        values = {self.missing[0] if cell in self.missing else cell for cell in cells}
        own = [self.tree(name)[value] for value in values]
        if len(own) == 1 and own[0][-1] == text:
            yield 0.0
        for depth in range(1, max(map(len, own))):
            node = own[0][:depth]
            if node[-1] == text and all(leaf[:depth] == node and len(leaf) > depth for leaf in own):
                under = sum(leaf[:depth] == node for leaf in leaves)
                yield 1.0 if depth == 1 else under / len(leaves) if under > 1 else 0.0

    def _number_nodes(self, name: str, text: str, cells: list[str]) -> Iterator[float]:
        present = {Fraction(cell) for cell in cells if cell not in self.missing}
        absent = any(cell in self.missing for cell in cells)
        if text == self.output["suppressed"]:
            yield 1.0
        if absent and not present and text == self.missing[0]:
            yield 0.0
        if absent:
            return
        if len(present) == 1 and re.fullmatch(NUMBER, text) and {Fraction(text)} == present:
            yield 0.0
        column = self._numbers(name)
        span = max(column) - min(column)
        for width in (self.spec["quasi_identifiers"][name].get("hierarchy") or {}).get("intervals", []):
            low = math.floor(min(present) / Fraction(str(width))) * Fraction(str(width))
            high = low + Fraction(str(width))
            if all(low <= number < high for number in present) and self._reads(text, low, high, column):
                shown = high - low - all(number.denominator == 1 for number in (*column, low, high))
                yield min(float(shown / span), 1.0) if span else float(shown > 0)

    def _reads(self, text: str, low: Fraction, high: Fraction, column: list[Fraction]) -> bool:
        """Whether the text is the interval from low to high."""
        whole = all(number.denominator == 1 for number in (*column, low, high))
        if whole and high - low == 1:
            return bool(re.fullmatch(NUMBER, text)) and Fraction(text) == low
        template = self.output["interval"]
        if not whole and template.endswith("]"):
            template = template[:-1] + ")"
        found = re.fullmatch(self._pattern(template), text)
        return found is not None and (Fraction(found[1]), Fraction(found[2])) == (low, high - whole)

    def _numbers(self, name: str) -> list[Fraction]:
        at = self.header.index(name)
        return [Fraction(row[at]) for row in self.compared if row[at] not in self.missing]

    def ncp_bounds(self) -> tuple[float, float]:
        """The least and the most that the penalties can sum to, by what the texts may stand for: labels may repeat."""
        whole = len(self.spec["quasi_identifiers"])
        least = most = float(self.dropped * whole)
        for key, rows in self.classes.items():
            shown = dict(zip(self._released_names(), key, strict=True))
            for name in self.spec["quasi_identifiers"]:
                texts = [shown[column] for column in self.columns_of(name)]
                found = [1.0]
                if key != self.hidden:
                    sources = self.sources(name)
                    found = self.penalties(name, texts, [sources[row] for row in rows])
                least, most = least + len(rows) * min(found), most + len(rows) * max(found)
        return least, most

    # --- information loss ---

    def ncp(self) -> float:
        """Every row's normalized certainty penalties, summed; for releases that show intervals as they are."""
        whole = len(self.spec["quasi_identifiers"])
        lost = float(self.dropped * whole)
        for key, rows in self.classes.items():
            if key == self.hidden:
                lost += len(rows) * whole
                continue
            shown = dict(zip(self._released_names(), key, strict=True))
            for name in self.spec["quasi_identifiers"]:
                sources = self.sources(name)
                texts = [shown[column] for column in self.columns_of(name)]
                lost += len(rows) * self._penalty(name, texts, [sources[row] for row in rows])
        return lost

    def _penalty(self, name: str, texts: list[str], cells: list[str]) -> float:
        present = [cell for cell in cells if cell not in self.missing]
        if self.spec["quasi_identifiers"][name].get("type") != "numeric":
            return self._node_penalty(name, {*present, *([self.missing[0]] if len(present) < len(cells) else [])})
        if not present:
            return 0.0
        column = self._numbers(name)
        numbers = [Fraction(cell) for cell in present]
        low: Fraction | float = min(numbers)
        high: Fraction | float = max(numbers)
        if self.output["edges"] != "tight":  # as far as the column goes where an end is not shown
            ends = self._ends(self._bare(texts, len(present) < len(cells)) or texts)
            if ends is None:
                return 1.0
            low = ends[0] if math.isfinite(ends[0]) else min(column)
            high = ends[1] if math.isfinite(ends[1]) else max(column)
        span = max(column) - min(column)
        width = float((high - low) / span) if span else 0.0
        return min(1.0, width + (1 / (len({*column}) + 1) if len(present) < len(cells) else 0.0))

    def _node_penalty(self, name: str, values: set[str]) -> float:
        leaves = list(self.tree(name).values())
        node = self.common(name, values)
        return sum(leaf[: len(node)] == node for leaf in leaves) / len(leaves) if len(values) > 1 else 0.0


def whole_table_fails(spec: Spec, folder: Path) -> bool:
    """Whether all rows as one class do not meet the spec's privacy, as far as is known."""
    truth = Truth(spec | {"quasi_identifiers": {}}, folder, folder / "table.csv")
    everyone = range(len(truth.rows))
    return not all(demand.known and demand.met(truth.figure(demand, everyone)) for demand in demands(spec))
