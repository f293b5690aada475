"""`attack --series`: earlier releases from the state, rows that belong together from links, originals and the key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from anonymize import privacy
from anonymize._attack import Attack, attack
from anonymize.errors import UsageError
from anonymize.formats import Concluded
from anonymize.key import Key
from anonymize.spec import load
from tests.auditing.nights import laid_out

AREAS = dict(zip("abcdefghijkl", ["a1", "a2"] * 3 + ["b1", "b2"] * 3, strict=True))
VALUES = dict(zip(AREAS, "xxyyzzxxyyzz", strict=True))
REGIONS = {who: area[0].upper() for who, area in AREAS.items()}


def night(shown: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Everybody's region, or what else is shown of them."""
    return {who: (shown.get(who, REGIONS[who]), VALUES[who]) for who in AREAS}


FINER = night({who: AREAS[who] for who in "abcdef"})
NIGHTS = [night({}), FINER, FINER]


def attacked(folder: Path, released: str = "out.2.csv", **given: Any) -> Concluded:
    spec = load(folder / "spec.yaml", privacy.PARAMETERS)
    original = released.replace("out", "in")
    names = {"series": str(folder / "state"), "key": str(folder / "key.json")} | given
    return attack(Attack(spec, str(folder / released), str(folder / original), **names))


def results(result: Concluded) -> dict[tuple[str, str | None], dict[str, Any]]:
    return {(each["attacker"], each["about"]): each for each in result.report["attacks"]["results"]}


def test_attackers_have_all_earlier_releases_and_the_link_of_the_last(tmp_path: Path) -> None:
    laid_out(tmp_path, NIGHTS, areas=AREAS)
    result = attacked(tmp_path)
    assert (result.report["attacks"]["truth"], result.report["warnings"]) == ("link", [])
    rates = results(result)
    assert ("composition", "ill") in rates
    assert rates["histories", None]["figures"]["fewest"] == 3
    assert rates["histories", None]["rate"]["value"] == pytest.approx(1 / 4)


def test_a_history_of_one_is_found_by_the_gate(tmp_path: Path) -> None:
    # Six in A; on the next night one of them is shown as a1, and five as A.
    laid_out(tmp_path, [night({}), night({"a": "a1"})], areas=AREAS)
    result = attacked(tmp_path, "out.1.csv", attackers=["histories"], max_excess=0.15)
    assert result.satisfied is False
    assert results(result)["histories", None]["figures"]["max"] == 1


def test_without_the_key_releases_are_put_together_by_regions_alone(tmp_path: Path) -> None:
    laid_out(tmp_path, NIGHTS, areas=AREAS)
    result = attacked(tmp_path, key=None)
    assert "histories" in result.report["attacks"]["left_out"]
    (warning,) = result.report["warnings"]
    assert warning.text == "of 2 of 2 earlier releases it is not known which rows belong together"
    assert ("composition", "ill") in results(result)


def test_what_is_gone_is_left_out_and_said(tmp_path: Path) -> None:
    laid_out(tmp_path, NIGHTS, areas=AREAS)
    (tmp_path / "out.0.csv").unlink()
    (tmp_path / "link.1.json").unlink()
    warnings = attacked(tmp_path).report["warnings"]
    assert [text.split(" ", 3)[:3] for text in warnings] == [["1", "of", "2"], ["of", "1", "of"]]


def test_the_first_release_has_none_before(tmp_path: Path) -> None:
    laid_out(tmp_path, NIGHTS, areas=AREAS)
    assert {"composition", "histories"} <= set(attacked(tmp_path, "out.0.csv").report["attacks"]["left_out"])


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    laid_out(tmp_path, NIGHTS, areas=AREAS)
    (tmp_path / "out.9.csv").write_text("area,ill\nA,x\n")
    (tmp_path / "in.9.csv").write_text("id,area,ill\na,a1,x\n")
    (tmp_path / "other.json").write_text(Key.new().text)
    (tmp_path / "other.json").chmod(0o600)
    with pytest.raises(UsageError, match="is not one of this series"):
        attacked(tmp_path, "out.9.csv")
    with pytest.raises(UsageError, match="is one of those that --series names"):
        attacked(tmp_path, previous=str(tmp_path / "out.0.csv"))
    with pytest.raises(UsageError, match="--key: needs"):
        attacked(tmp_path, series=None)
    with pytest.raises(UsageError, match="is not the key of this series"):
        attacked(tmp_path, key=str(tmp_path / "other.json"))
