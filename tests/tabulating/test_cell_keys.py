"""Cell keys: perturbation tables, published examples, and that one group reads the same everywhere."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from anonymize._tabulate import Tabulate, tabulate
from anonymize.errors import DataError, SpecError, UsageError
from anonymize.key import Key
from anonymize.privacy import PARAMETERS
from anonymize.spec import make
from anonymize.tabulating.cell_keys import PerturbationTable, most_entropy, read_table


def probabilities(table: PerturbationTable, size: int) -> dict[int, float]:
    assert table.ends is not None
    shares = np.diff(table.ends[size], prepend=0.0)
    return {int(v): float(p) for v, p in zip(table.changes[size], shares, strict=True) if p > 1e-15}


# --- perturbation tables ----------------------------------------------------------------------------------------------


def test_of_large_counts_it_is_symmetric_and_as_worked_out_by_hand() -> None:
    """D = 2, V = 1: with x = exp(b), the variance 2 x + 8 x^4 over 1 + 2 x + 2 x^4 is 1 where 6 x^4 = 1."""
    x = (1 / 6) ** 0.25
    whole = 1 + 2 * x + 2 / 6
    expected = {-2: 1 / 6 / whole, -1: x / whole, 0: 1 / whole, 1: x / whole, 2: 1 / 6 / whole}
    assert probabilities(most_entropy(2, 1.0, 0), 3) == pytest.approx(expected, abs=1e-9)


def test_small_counts_where_two_changes_are_left() -> None:
    """A 1 that may become 0, or 3 and no more, has one distribution of mean 0."""
    assert probabilities(most_entropy(2, 2.5, 2), 1) == pytest.approx({-1: 2 / 3, 2: 1 / 3}, abs=1e-9)


def test_nobody_stays_nobody() -> None:
    assert probabilities(most_entropy(5, 3.0, 2), 0) == {0: 1.0}


@pytest.mark.parametrize(("maximum", "variance", "smallest"), [(4, 3.0, 2), (3, 0.7, 0)])
def test_no_other_distribution_has_more_entropy(maximum: int, variance: float, smallest: int) -> None:
    """Another solver's optimum, over probabilities as they are."""
    table = most_entropy(maximum, variance, smallest)
    for size in (1, maximum + smallest + 1):
        own = probabilities(table, size)
        changes = np.array([v for v in range(-maximum, maximum + 1) if size + v == 0 or size + v > smallest])
        shares = np.array([own.get(int(v), 0.0) for v in changes])
        assert changes @ shares == pytest.approx(0, abs=1e-9) and changes**2 @ shares <= variance + 1e-9
        assert not any(0 < size + v <= smallest or size + v < 0 for v in own)

        def entropy(p: Any) -> float:
            return float((p * np.log(np.maximum(p, 1e-300))).sum())

        conditions = (
            {"type": "eq", "fun": lambda p: p.sum() - 1},
            {"type": "eq", "fun": lambda p, v=changes: v @ p},
            {"type": "ineq", "fun": lambda p, v=changes: variance - v**2 @ p},
        )
        start = np.full(len(changes), 1 / len(changes))
        best = minimize(entropy, start, bounds=[(1e-12, 1)] * len(changes), constraints=conditions, tol=1e-12)
        assert entropy(shares) <= best.fun + 1e-5


def test_a_variance_that_small_counts_cannot_have() -> None:
    with pytest.raises(UsageError, match="counts of 1 cannot be changed to 0 or more than 2 with a variance below 2"):
        most_entropy(5, 1.0, 2)
    with pytest.raises(UsageError, match="within the `maximum`"):
        most_entropy(2, 9.0, 4)


# --- published examples -----------------------------------------------------------------------------------------------

ONS_RULE = [(n, -n if n < 10 else 5 * round(n / 5) - n) for n in range(1, 751)]
"""The 10-5 rule of `ptable_10_5_rule.csv` of the Office for National Statistics' package cell-key-perturbation: counts
below 10 become 0, others multiples of 5, whatever the cell key is."""
ONS_EXAMPLE = [(16, 64, -1, 15), (5, 196, -5, 0), (10, 123, 0, 10), (10, 3, 0, 10), (12, 149, -2, 10)]
"""Count, cell key, change and changed count of five groups, from "Method Output" of the package's documentation, Cell
Key Perturbation in Python (SML_UserDocs_CellKeyPerturbation_Py.md, version 1.1.1)."""


def ons_table(path: Path, span: int = 256, largest: int = 60) -> Path:
    rows = (f"{n},{key},{change}" for n, change in ONS_RULE[:largest] for key in range(span))
    path.write_text("pcv,ckey,pvalue\n" + "\n".join(rows) + "\n")
    return path


def test_the_example_of_the_office_for_national_statistics(tmp_path: Path) -> None:
    table = read_table(ons_table(tmp_path / "ptable.csv"))
    counts, keys, changes, after = (np.array(each) for each in zip(*ONS_EXAMPLE, strict=True))
    assert table.keys == 256
    assert table.change(counts, keys, 256).tolist() == changes.tolist()
    assert (counts + changes).tolist() == after.tolist()


def test_larger_counts_take_the_last_250_rows_in_turn(tmp_path: Path) -> None:
    """As the same documentation has it: 751, 1001, 1251 take row 501, and 750 is its own."""
    table = read_table(ons_table(tmp_path / "ptable.csv", span=2, largest=750))
    rows = table.row_of(np.array([0, 1, 500, 501, 750, 751, 1001, 1251, 1000, 100_001]))
    assert rows.tolist() == [0, 1, 500, 501, 750, 501, 501, 501, 750, 501]


def test_the_example_from_rows_to_tables(tmp_path: Path) -> None:
    """The same five groups as rows with record keys, of which the first takes up what the key is to come to."""
    lines = []
    for group, (size, key, _, _) in enumerate(ONS_EXAMPLE):
        keys = [(key - 7 * (size - 1)) % 256, *[7] * (size - 1)]
        lines += [f"g{group},{each}" for each in keys]
    (tmp_path / "rows.csv").write_text("group,key\n" + "\n".join(lines) + "\n")
    noise = {"record_key": "key", "table": str(ons_table(tmp_path / "ptable.csv"))}
    counts = run(tmp_path, noise, {"insensitive": ["group", "key"]})
    assert [counts[f"g{group}",] for group in range(5)] == [after for *_, after in ONS_EXAMPLE]


def test_tables_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "ptable.csv"
    for text, says in (
        ("a,b\n1,2\n", "neither the columns"),
        ("i,v,p\n0,0,1\n1,0,0.5\n1,1,0.4\n", "do not sum to 1"),
        ("i,v,p\n0,0,1\n1,-2,1\n", "below 0"),
        ("i,v,p\n0,0,1\n2,0,1\n", "counts of 1 are changed"),
        ("pcv,ckey,pvalue\n1,0,0\n1,1,0\n2,0,0\n", "counts of 2 are changed"),
        ("pcv,ckey,pvalue\n1,0,-2\n", "below 0"),
    ):
        path.write_text(text)
        with pytest.raises(SpecError, match=says):
            read_table(path)


def test_a_table_of_probabilities(tmp_path: Path) -> None:
    """Changes in rising order, each for its share of the range of keys."""
    (tmp_path / "p.csv").write_text("i,v,p\n0,0,1\n1,-1,0.5\n1,1,0.5\n2,-1,0.25\n2,0,0.5\n2,1,0.25\n")
    table = read_table(tmp_path / "p.csv")
    keys = np.array([0, 249, 250, 749, 750, 999])
    assert table.change(np.full(6, 2), keys, 1000).tolist() == [-1, -1, 0, 0, 1, 1]
    assert table.change(np.full(6, 77), keys, 1000).tolist() == [-1, -1, 0, 0, 1, 1]
    assert table.change(np.array([1, 1]), np.array([499, 500]), 1000).tolist() == [-1, 1]


# --- one group, one value ---------------------------------------------------------------------------------------------


def run(
    folder: Path,
    noise: dict[str, Any],
    roles: dict[str, Any],
    *,
    key: Key | None = None,
    tables: Any = None,
    **settings: Any,
) -> dict[tuple[str, ...], int]:
    """The first table of a run; everything is checked on the way."""
    content = {
        "version": 1,
        "input": {"path": str(folder / "rows.csv")},
        "tabulate": {
            "mechanism": "cell-keys",
            "tables": tables or [{"by": ["group"], "count": True}],
            "cell_keys": noise,
            **settings,
        },
        **roles,
    }
    path = folder / "series.key"
    if key is not None and not path.exists():
        path.write_text(key.text)
        path.chmod(0o600)
    secret = None if key is None else str(path)
    tabulate(Tabulate(make(content, PARAMETERS), str(folder / "out"), key=secret, force=True))
    with (folder / "out/table-1-count.csv").open(newline="") as file:
        return {tuple(row[:-2]): int(row[-2]) for row in list(csv.reader(file))[1:]}


def people(folder: Path, order: int = 1) -> None:
    lines = [f"{n},{'xyz'[n % 3]},{'pq'[n % 2]},{n % 7 // 6}" for n in range(90)][::order]
    (folder / "rows.csv").write_text("id,group,other,all\n" + "\n".join(lines) + "\n")


ROLES = {"unit": "id", "insensitive": ["group", "other", "all"]}
BOTH = [{"by": ["group", "other"], "count": True}, {"by": ["other"], "count": True}, {"by": ["group"], "share": True}]
KEY = Key(bytes.fromhex("8f1d27c0a3b4956e7f02d8c19ae6534b0d71f8e2c6a95b3417e0d4826b9f3ca5"))


def test_one_group_reads_the_same_in_every_table_and_at_every_run(tmp_path: Path) -> None:
    people(tmp_path)
    first = run(tmp_path, {}, ROLES, key=KEY, tables=BOTH)
    with (tmp_path / "out/table-2-count.csv").open(newline="") as file:
        other = {row[0]: int(row[1]) for row in list(csv.reader(file))[1:]}
    assert {name: count for (group, name), count in first.items() if group == "Total"} == other
    people(tmp_path, -1)  # the same rows in another order
    assert run(tmp_path, {}, ROLES, key=KEY, tables=BOTH) == first
    assert run(tmp_path, {}, {"insensitive": ["id", "group", "other", "all"]}, key=KEY, tables=BOTH) != first


def test_noise_is_within_the_maximum_and_small_counts_do_not_appear(tmp_path: Path) -> None:
    people(tmp_path)
    counts = run(tmp_path, {"maximum": 4, "variance": 3, "smallest": 2}, ROLES, key=KEY, tables=BOTH)
    assert all(abs(counts[group, other] - 15) <= 4 for group in "xyz" for other in "pq")
    assert not {1, 2} & set(counts.values()) and len(set(counts.values())) > 3
    report = json.loads((tmp_path / "out/manifest.json").read_text())
    assert (report["maximum"], report["variance"], report["smallest"], report["additive"]) == (4, 3, 2, False)


def test_rows_of_one_individual_have_one_key(tmp_path: Path) -> None:
    """Twice the rows of the same people: other counts, the same cell keys, so that nothing is drawn anew."""
    people(tmp_path)
    noise = {"maximum": 2, "variance": 1}
    before = run(tmp_path, noise, ROLES, key=KEY)
    text = (tmp_path / "rows.csv").read_text().splitlines()
    (tmp_path / "rows.csv").write_text("\n".join([text[0], *text[1:], *text[1:]]) + "\n")
    assert run(tmp_path, noise, ROLES, key=KEY) == before
    twice = run(tmp_path, noise, ROLES, key=KEY, counted="rows")
    assert all(abs(count - 60) <= 2 for (group,), count in twice.items() if group != "Total")


def test_what_is_no_record_key_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("group,key\na,0.25\nb,1.5\n")
    with pytest.raises(DataError, match="1 record keys that are not a number from 0 to below 1"):
        run(tmp_path, {"record_key": "key"}, {"insensitive": ["group", "key"]})


def test_without_a_key_there_is_no_noise_to_make(tmp_path: Path) -> None:
    people(tmp_path)
    with pytest.raises(UsageError, match="cell keys need --key"):
        run(tmp_path, {}, ROLES)
    with pytest.raises(UsageError, match="are in the column"):
        run(tmp_path, {"record_key": "all"}, {"insensitive": ["id", "group", "other", "all"]}, key=KEY)
