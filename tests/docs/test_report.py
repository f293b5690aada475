"""What the page on the report says of figures is what the code has."""

from __future__ import annotations

from pathlib import Path

from anonymize.privacy import base
from anonymize.verify import twins, unclassed

PAGE = Path(__file__).parents[2] / "docs" / "report.md"


def test_the_tolerance_is_that_of_search_and_check() -> None:
    (told,) = [text for text in PAGE.read_text(encoding="utf-8").split("\n\n") if text.startswith("**Tolerance.**")]
    assert (base.TOLERANCE, base.NEGLIGIBLE) == (twins.TOLERANCE, twins.NEGLIGIBLE)
    relative, absolute = (f"{each:.0e}".replace("e-0", "e-") for each in (twins.TOLERANCE, twins.NEGLIGIBLE))
    assert f"from\nb (1 - {relative}) on" in told and f"b (1 + {relative}) + {absolute}" in told
    assert f"{unclassed._TOLERANCE:.0e}".replace("e-0", "e-") in told
