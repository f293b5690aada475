"""What the smallest region that covers a person gives away, by method; and whether a recoding can withstand it.

    python benchmarks/regions.py ADULT_FOLDER
    python benchmarks/regions.py --stored

Adult as in `attacks.py`, all rows, k = 10: seven quasi-identifiers. What each method gives is kept in `regions.json`
beside this file, from which `make docs` writes a table on the page of each command; docs/local-recoding.md has what
withstands it. `--stored` prints all of it again. Two kinds of recoding are made of the classes of a local one:

- *drawn*: everybody is put into one of the regions that cover them, drawn among the `m` smallest. Regions of fewer than
  k people are dissolved, and theirs drawn anew among those that are left.
- *closed*: classes of which one covers somebody of another are joined until everybody is covered by one region alone.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from attacks import subjects
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS, parse_options
from anonymize.attacks import ShownRows
from anonymize.attacks.linking import covered
from anonymize.classes import Floats, Ints
from anonymize.domain.taxonomy import Taxonomy
from anonymize.evaluation.attacked import released
from anonymize.evaluation.people import known_people
from anonymize.link import load, released_row_of
from anonymize.request import Request
from anonymize.spec import Spec
from anonymize.table.columns import Attribute

STORED = Path(__file__).with_suffix(".json")
K = 10
METHODS = (
    "mondrian",
    "mondrian relaxed=true",
    "mondrian refine=true",
    "top-down refine=false",
    "top-down",
    "bottom-up refine=false",
    "bottom-up",
    "incognito iterate=true",
    "release",
)
DRAWN_FROM = ("bottom-up refine=false", "incognito iterate=true")
AMONG = (2, 1000)
"""How many of the smallest regions somebody is drawn among; 1,000 are all."""
Stored = dict[str, Any]


class Classes:
    """A recoding of people: `first`, `last` (classes, attributes) codes that each shows, `class_of` (people,)."""

    def __init__(self, attributes: Sequence[Attribute], codes: Ints, first: Ints, last: Ints, class_of: Ints) -> None:
        """The regions as they are to be shown: a category as a node."""
        self.attributes, self.codes, self.class_of = attributes, codes, class_of
        ends = [_node_span(*each) for each in zip(attributes, first.T, last.T, strict=True)]
        self.first, self.last = (np.stack(each, axis=1) for each in zip(*ends, strict=True))
        self.rows = ShownRows(self.first, self.last, class_of)
        self.pairs = self.rows.candidates(codes)

    @property
    def loss(self) -> float:
        """gcp: the mean NCP of a cell."""
        columns = zip(self.attributes, self.first.T, self.last.T, strict=True)
        costs = np.mean([each.domain.cost(low, high) for each, low, high in columns], axis=0)
        return float(costs[self.class_of].mean())

    def figures(self) -> dict[str, float]:
        """What the attacker gets of everybody."""
        each = covered(self.rows, self.pairs, self.class_of)
        return {
            "gcp": self.loss,
            "classes": int((self.rows.sizes > 0).sum()),
            "right": float((each.own_smallest * each.own / np.maximum(each.by_method, 1)).mean()),
            "right_by_rows": float((each.own / np.maximum(each.by_regions, 1)).mean()),
            **{name: float(value or 0) for name, value in each.medians().items()},
        }


def _node_span(attribute: Attribute, first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """The span of what is shown: of categories, that of the lowest node."""
    domain = attribute.domain
    if not isinstance(domain, Taxonomy):
        return first, last
    node = domain.lca(first, last)
    return np.asarray(domain.start[node], np.int64), np.asarray(domain.stop[node], np.int64) - 1


def recoded(spec: Spec, method: str, folder: Path) -> Classes:
    """The classes of a release."""
    name, *pairs = method.split()
    out, link = folder / "released.csv", folder / "link.json"
    options = parse_options(ALGORITHMS[name], pairs)
    release(Request(spec, name, options, output=str(out), save_link=str(link), force=True))
    with ExitStack() as stack:
        people = stack.enter_context(known_people(spec, None, None))
        rows = released(people, str(out), stack).as_rows(people.table.attributes, {})
        row_of = released_row_of(load(str(link)).rows, people.rows)
        return Classes(people.table.attributes, people.codes(), rows.first, rows.last, rows.class_of[row_of])


def drawn(own: Classes, among: int) -> tuple[Classes, float]:
    """Everybody in one of the smallest regions that cover them, and how often an attacker is right who knows the draw.

    What he knows of somebody is the regions that are left and how each was drawn: of n, each with the chance 1/n.
    """
    generator, alive = np.random.default_rng(0), np.ones(len(own.first), np.bool_)
    density = own.rows.density
    while True:
        class_of, choices = _drawn(own, density, alive, among, generator)
        sizes = np.bincount(class_of, minlength=len(alive))
        small = alive & (sizes < K)
        if not small.any() or alive.sum() == 1:
            left, class_of = np.unique(class_of, return_inverse=True)
            return Classes(own.attributes, own.codes, own.first[left], own.last[left], class_of), _known(choices)
        order = np.flatnonzero(small)
        alive[order[np.argsort(sizes[order], kind="stable")][: max(len(order) // 2, 1)]] = False


def _known(choices: Ints) -> float:
    """How often a guess among so many regions, each as likely, is right."""
    return float((1 / choices).mean())


def _drawn(own: Classes, density: Floats, alive: Any, among: int, generator: np.random.Generator) -> tuple[Ints, Ints]:
    """(people,) the class of each, and among how many it was drawn."""
    class_of, choices = np.zeros(len(own.codes), np.int64), np.ones(len(own.codes), np.int64)
    whole = int(np.argmin(density))
    for person in range(len(own.codes)):
        every = own.pairs.indices[own.pairs.indptr[person] : own.pairs.indptr[person + 1]]
        left = every[alive[every]]
        if not len(left):
            class_of[person] = whole
            continue
        smallest = left[np.argsort(-density[left], kind="stable")][:among]
        class_of[person], choices[person] = generator.choice(smallest), len(smallest)
    return class_of, choices


def closed(own: Classes) -> Classes:
    """Classes joined until everybody is covered by one region alone."""
    while True:
        people, classes = own.pairs.shape
        here = csr_array((np.ones(people), (np.arange(people), own.class_of)), shape=(people, classes))
        count, part = connected_components(here.T @ own.pairs, directed=False)
        if count == classes:
            return own
        first = np.full((count, own.first.shape[1]), np.iinfo(np.int64).max)
        last = np.full((count, own.first.shape[1]), -1)
        np.minimum.at(first, part, own.first)
        np.maximum.at(last, part, own.last)
        own = Classes(own.attributes, own.codes, first, last, part[own.class_of].astype(np.int64))


def measure(folder: Path, stored: Stored) -> None:
    """Measures what is not stored, and stores it."""
    adult = subjects(folder)[0]
    spec = adult.spec(adult.path, {"k": K})
    spec = spec.model_copy(update={"workload": type(spec.workload)()})
    with tempfile.TemporaryDirectory() as scratch:
        for method in METHODS:
            if method in stored:
                continue
            own = recoded(spec, method, Path(scratch))
            stored[method] = {"date": date.today().isoformat(), **own.figures()}
            if method in DRAWN_FROM:
                stored[method]["closed"] = closed(own).figures()
                for number in AMONG:
                    other, known = drawn(own, number)
                    stored[method][f"drawn {number}"] = {**other.figures(), "known": known}
            STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf8")
            print(method, stored[method], flush=True)


def tables(stored: Stored) -> Iterator[str]:
    """The tables in Markdown."""
    yield "| method | gcp | rows by regions | by method | right | right by rows |\n|---|---|---|---|---|---|"
    for method, each in stored.items():
        yield _line(f"`{method}`", each)
    yield "\n| recoding | gcp | rows by regions | by method | right | right by rows | right, the draw being known |"
    yield "|---|---|---|---|---|---|---|"
    for method in DRAWN_FROM:
        yield _line(f"`{method}`", stored[method]) + " - |"
        for name, each in stored[method].items():
            if isinstance(each, dict):
                yield _line(name, each) + f" {each['known']:.3f} |" if "known" in each else _line(name, each) + " - |"


def _line(name: str, each: dict[str, float]) -> str:
    sizes = f"{each['by_regions']:,.0f} | {each['by_method']:,.0f}"
    return f"| {name} | {each['gcp']:.4f} | {sizes} | {each['right']:.3f} | {each['right_by_rows']:.3f} |"


def main(arguments: Sequence[str]) -> None:
    """Measures and prints the tables."""
    stored: Stored = json.loads(STORED.read_text(encoding="utf8")) if STORED.exists() else {}
    if list(arguments) != ["--stored"]:
        measure(Path(arguments[0]), stored)
    print("\n".join(tables(stored)))


if __name__ == "__main__":
    main(sys.argv[1:])
