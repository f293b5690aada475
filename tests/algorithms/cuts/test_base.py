"""What all cut rules share: the attribute of highest score is cut, and the next one where it cannot be."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from anonymize.algorithms.cuts import BY_TARGET, RULES
from anonymize.algorithms.cuts.base import Candidates, CutRule, rounded
from anonymize.algorithms.cuts.supervised import ByTarget
from anonymize.algorithms.splitting import Batch
from anonymize.algorithms.splitting.grow import AGAIN, FINISHED
from anonymize.classes import Ints
from anonymize.records import dataclass
from tests.algorithms.tables import domains, numeric, table_of, weights, whole


@dataclass(frozen=True)
class Fixed(CutRule):
    """Attributes in order of their weights."""

    ID: ClassVar[str] = "fixed"

    def candidates(self, batch: Batch, attribute: int, classes: Ints) -> Candidates:
        return Candidates.near_median(np.full(len(classes), self.weights[attribute]))


def fixed(
    minimum: int, *columns: list[float | None], weight: list[float], relaxed: bool = False
) -> tuple[Fixed, Batch]:
    table = table_of(*(numeric(values, f"q{at}", weight[at]) for at, values in enumerate(columns)))
    return Fixed(domains(table), weights(table), minimum, relaxed), whole(table)


def test_registered_rules_are_known_by_their_id() -> None:
    assert all(name == rule.ID for name, rule in RULES.items())


def test_the_highest_score_is_cut_and_the_first_attribute_at_a_tie() -> None:
    values: list[float | None] = [1, 2, 3, 4]
    for weight, chosen in (([1.0, 2.0, 1.0], 1), ([1.0, 1.0, 1.0], 0), ([1.0, 2.0, 2.0], 1)):
        rule, batch = fixed(2, values, values, values, weight=weight)
        assert rule.choose(batch).attribute.tolist() == [chosen]


def test_where_the_best_cannot_be_cut_it_is_closed_and_the_next_is_taken() -> None:
    rule, batch = fixed(2, [1, 2, 2, 2], [1, 1, 2, 2], weight=[2.0, 1.0])
    assert rule.choose(batch).attribute.tolist() == [AGAIN]
    assert batch.closed.tolist() == [[True, False]]
    assert rule.choose(batch).attribute.tolist() == [1]


@pytest.mark.parametrize(
    ("values", "minimum"), [([1, 1, 1, 1], 2), ([1, 2, 3], 2), ([None, None], 1), ([1], 1), ([5, 5], 1)]
)
def test_nothing_to_cut_is_finished(values: list[float | None], minimum: int) -> None:
    rule, batch = fixed(minimum, values, weight=[1.0])
    assert rule.choose(batch).attribute.tolist() == [FINISHED]


def test_after_refusals_other_places_are_tried_and_then_other_attributes() -> None:
    rule, batch = fixed(2, list(range(16)), list(range(16)), weight=[2.0, 1.0])
    places = []
    for attempt in range(rule.tries):
        batch.attempts[0, 0] = attempt
        cuts = rule.choose(batch)
        assert cuts.attribute.tolist() == [0]
        places.append(int(cuts.stop[0]))
    assert places == [8, 4, 12] and not batch.closed.any()
    batch.attempts[0, 0] = rule.tries
    assert rule.choose(batch).attribute.tolist() == [1]


def test_a_place_that_leaves_too_few_rows_closes_nothing_after_the_median_was_refused() -> None:
    rule, batch = fixed(6, list(range(16)), weight=[1.0])
    batch.attempts[0, 0] = 1
    assert rule.choose(batch).attribute.tolist() == [AGAIN]
    assert not batch.closed.any() and batch.attempts.tolist() == [[2]]


def test_relaxed_parts_equal_values_in_the_middle() -> None:
    rule, batch = fixed(2, [1, 2, 2, 2, 2, 3], weight=[1.0], relaxed=True)
    cuts = rule.choose(batch)
    assert (cuts.attribute.tolist(), cuts.stop.tolist(), cuts.ties.tolist()) == ([0], [1], [2])


def test_scores_that_differ_by_the_last_digits_alone_are_equal() -> None:
    """Of a tenth added up ten times, of infinities and of zero; what differs in the twelfth digit stays different."""
    added = np.add.accumulate(np.full(10, 0.1))[-1]
    scores = np.array([added, 1.0, np.inf, -np.inf, 0.0, -added, 1 + 1e-11, 1e300 * added, 1e-300])
    made = rounded(scores)
    assert added != 1.0 and made[0] == made[1] == -made[5] == 1.0
    assert made[6] > 1.0 and made[7] == rounded(np.array([1e300]))[0]
    assert made[2:5].tolist() == [np.inf, -np.inf, 0.0] and made[8] == pytest.approx(1e-300, rel=1e-11)


# --- registry ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
def test_a_rule_has_the_id_by_which_it_is_known(name: str) -> None:
    assert name == RULES[name].ID and RULES[name] is RULES[name]


def test_rules_of_targets() -> None:
    assert set(BY_TARGET) == {name for name, rule in RULES.items() if issubclass(rule, ByTarget)}


def test_what_is_no_rule() -> None:
    assert "none" not in RULES and len(RULES) == len(list(RULES))
    with pytest.raises(KeyError):
        RULES["none"]
