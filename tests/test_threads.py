"""Work in threads: all of it is done once, and what goes wrong in one comes out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from anonymize.threads import in_parts


@pytest.mark.parametrize("count", [0, 1, 2, 7])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_each_item_is_in_one_part(count: int, threads: int) -> None:
    parts: list[list[int]] = []
    in_parts(lambda part: parts.append(list(part)), range(count), threads)
    assert sorted(item for part in parts for item in part) == list(range(count))
    assert len(parts) == (threads if count > 1 else 1)


def test_an_error_comes_out() -> None:
    def work(part: Sequence[int]) -> None:
        if 3 in part:
            raise ValueError("three")

    with pytest.raises(ValueError, match="three"):
        in_parts(work, range(5), 2)
