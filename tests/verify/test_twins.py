"""Model, twin and plain oracle agree on random tables: three opinions that share no line."""

import math
from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anonymize.errors import DataError
from anonymize.privacy import MODELS, PARAMETERS, Assessment, Groups, Histogram, Requirement, Whole
from anonymize.verify import Check, measure
from anonymize.verify.twins import compares
from tests.common.budgets import OF_EVERY_MODEL
from tests.common.oracle import Demand
from tests.common.oracle import Whole as Overall
from tests.privacy.strategies import parameters

LEAVES = ["flu", "cold", "ulcer", "cancer", "edema"]
PATHS = {
    "flu": ("flu", "lung", "upper", "*"),
    "cold": ("cold", "lung", "upper", "*"),
    "edema": ("edema", "vessel", "upper", "*"),
    "ulcer": ("ulcer", "lower", "*"),
    "cancer": ("cancer", "*"),
}
"""Two branches are shorter: their leaves stand for themselves on the levels that they lack."""
ORDER = list(PATHS)
NODES = np.array([[0, 1, 2, 3, 4], [5, 5, 6, 3, 4], [7, 7, 7, 8, 4], [9, 9, 9, 9, 9]], dtype=np.int32)

cells = st.tuples(st.sampled_from("abcd"), st.sampled_from([*LEAVES, *LEAVES, ""]))
tables = st.lists(cells, min_size=1, max_size=40)
OF_VALUES = [name for name, model in MODELS.items() if model.sensitive == "any" and model.about != "channel"]


def groups_of(rows: list[tuple[str, str]]) -> Groups:
    names = sorted({name for name, _ in rows})
    classes = np.array([names.index(name) for name, _ in rows])
    codes = np.array([ORDER.index(value) if value else len(ORDER) for _, value in rows])
    counts = np.bincount(codes, minlength=len(ORDER) + 1)
    counts[-1] = 0
    nodes = np.column_stack((NODES, NODES[:, -1]))
    histogram = Histogram.from_rows(
        classes, codes, len(names), len(ORDER) + 1, len(ORDER), whole=Whole(counts, nodes, [*ORDER, ""])
    )
    return Groups(np.bincount(classes), {"s": histogram})


def whole_of(rows: list[tuple[str, str]]) -> Overall:
    values = [value for _, value in rows if value]
    full = {leaf: (*path[::-1], *[leaf] * (4 - len(path))) for leaf, path in PATHS.items()}
    return Overall(values, [leaf for leaf in ORDER if leaf in values], full)


@pytest.mark.parametrize("model", OF_VALUES)
@OF_EVERY_MODEL
@given(data=st.data(), rows=tables)
def test_three_opinions(model: str, data: st.DataObject, rows: list[tuple[str, str]]) -> None:
    """Two, of a model that the oracle does not know."""
    wanted = Requirement(model, "s", data.draw(parameters(MODELS[model].parameters)))
    own = Assessment(groups_of(rows), wanted)
    frame = pl.DataFrame(rows, schema={"q": pl.String, "s": pl.String}, orient="row")
    (twin,) = measure(frame, ["q"], [Check(model, "s", wanted.required(), tree=PATHS)]).results
    near = {name: pytest.approx(v) if isinstance(v, int | float) else v for name, v in own.achieved.items()}
    assert twin.achieved == near
    assert (twin.satisfied, twin.failing_rows) == (own.satisfied, own.failing_rows)
    if not knows(model) or "values" in wanted.required():
        return
    demand, whole = Demand(model, "s", wanted.required()), whole_of(rows)
    classes = defaultdict(list)
    for name, value in rows:
        classes[name].append(value)
    figures = {name: demand.figure(len(all_), [v for v in all_ if v], whole) for name, all_ in classes.items()}
    failing = [name for name, figure in figures.items() if not demand.met(figure)]
    for found in (own, twin):
        assert found.satisfied == (not failing)
        assert found.failing_classes == len(failing)
        assert found.failing_rows == sum(len(classes[name]) for name in failing)
    if not demand.several:
        worst = (max if demand.upper else min)(figures.values())
        assert own.achieved[demand.parameter] == (None if worst == math.inf else pytest.approx(worst))


@pytest.mark.parametrize("model", OF_VALUES)
@OF_EVERY_MODEL
@given(data=st.data())
def test_what_a_twin_reads_says_whether_classes_are_compared_with_the_table(model: str, data: st.DataObject) -> None:
    required = Requirement(model, "s", data.draw(parameters(MODELS[model].parameters))).required()
    assert compares(model, required) == MODELS[model].compares


def knows(model: str) -> bool:
    """Whether the plain oracle does."""
    return Demand(model, "s", dict.fromkeys(PARAMETERS[model].model_fields, 1) | {"distance": "equal"}).known


def test_the_oracle_has_an_opinion() -> None:
    assert len([model for model in OF_VALUES if knows(model)]) >= 9


@given(rows=tables)
def test_risks_are_those_of_the_sizes(rows: list[tuple[str, str]]) -> None:
    sizes = np.bincount([ord(name) - ord("a") for name, _ in rows])
    sizes = sizes[sizes > 0]
    given = {"prosecutor_max": 0.3, "journalist_max": 0.3, "marketer": 0.2, "records_at_risk": 0.3, "threshold": 0.25}
    expected = {
        "prosecutor_max": 1 / sizes.min(),
        "journalist_max": 1 / sizes.min(),
        "marketer": len(sizes) / len(rows),
        "records_at_risk": sizes[sizes < 4].sum() / len(rows),
        "threshold": 0.25,
    }
    frame = pl.DataFrame(rows, schema={"q": pl.String, "s": pl.String}, orient="row")
    own = Assessment(groups_of(rows), Requirement("risk", None, PARAMETERS["risk"](**given)))
    (twin,) = measure(frame, ["q"], [Check("risk", None, given)]).results
    for found in (own, twin):
        assert found.achieved == pytest.approx(expected)
        assert found.satisfied == all(expected[name] <= bound + 1e-12 for name, bound in given.items())
    assert (own.failing_classes, own.failing_rows) == (twin.failing_classes, twin.failing_rows)


@pytest.mark.parametrize("model", [name for name, model in MODELS.items() if model.about == "table"])
@given(data=st.data())
def test_of_a_table_without_rows_no_figure_is_bounded(model: str, data: st.DataObject) -> None:
    wanted = Requirement(model, None, data.draw(parameters(MODELS[model].parameters)))
    assume(wanted.population is None)
    frame = pl.DataFrame(schema={"q": pl.String})
    (found,) = measure(frame, ["q"], [Check(model, None, wanted.required())]).results
    assert found.satisfied and found.failing_rows == 0


def test_a_value_that_the_tree_lacks_is_refused_and_not_shown() -> None:
    frame = pl.DataFrame({"q": ["a", "a"], "s": ["flu", "plague"]})
    check = Check("t-closeness", "s", {"t": 0.1, "distance": "hierarchical"}, tree=PATHS)
    with pytest.raises(DataError, match="column s: 1 of its values are not leaves") as caught:
        measure(frame, ["q"], [check])
    assert "plague" not in str(caught.value)


def test_numbers_find_their_leaves_however_they_are_written() -> None:
    frame = pl.DataFrame({"q": ["a", "a", "b", "b"], "s": ["1", "1.0", "07", "7"]})
    tree = {"1": ("1", "low", "*"), "7.0": ("7.0", "high", "*"), "none": ("none", "*")}
    check = Check("t-closeness", "s", {"t": 0.5, "distance": "hierarchical"}, numeric=True, tree=tree)
    assert measure(frame, ["q"], [check]).results[0].achieved["t"] == pytest.approx(0.5)
