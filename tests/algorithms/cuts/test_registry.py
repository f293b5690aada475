from __future__ import annotations

import pytest

from anonymize.algorithms.cuts import BY_TARGET, RULES
from anonymize.algorithms.cuts.targets import ByTarget


@pytest.mark.parametrize("name", RULES)
def test_a_rule_has_the_id_by_which_it_is_known(name: str) -> None:
    assert name == RULES[name].ID and RULES[name] is RULES[name]


def test_rules_of_targets() -> None:
    assert set(BY_TARGET) == {name for name, rule in RULES.items() if issubclass(rule, ByTarget)}


def test_what_is_no_rule() -> None:
    assert "none" not in RULES and len(RULES) == len(list(RULES))
    with pytest.raises(KeyError):
        RULES["none"]
