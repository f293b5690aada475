"""Work in threads: all of it is done once, and what goes wrong in one comes out."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest

from anonymize.threads import ahead, in_parts, mapped, meanwhile


@pytest.mark.parametrize("count", [0, 1, 2, 7])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_each_item_is_in_one_part(count: int, threads: int) -> None:
    parts: list[list[int]] = []
    in_parts(lambda part: parts.append(list(part)), range(count), threads)
    assert sorted(item for part in parts for item in part) == list(range(count))
    assert len(parts) == (threads if count > 1 else 1)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_what_is_made_of_items_is_in_their_order(threads: int) -> None:
    def work(item: int) -> int:
        if item > 5:
            raise ValueError(f"{item}")
        return item * item

    assert mapped(work, range(5), threads) == [0, 1, 4, 9, 16]
    assert mapped(work, [], threads) == []
    with pytest.raises(ValueError, match="6"):
        mapped(work, range(9), threads)


def test_an_error_comes_out() -> None:
    def work(part: Sequence[int]) -> None:
        if 3 in part:
            raise ValueError("three")

    with pytest.raises(ValueError, match="three"):
        in_parts(work, range(5), 2)


@pytest.mark.parametrize("threads", [1, 2])
def test_items_come_in_order_whoever_makes_them(threads: int) -> None:
    assert list(ahead(iter(range(5)), threads)) == list(range(5))
    assert list(ahead(iter(()), threads)) == []


def test_the_next_item_is_made_while_the_last_one_is_used() -> None:
    made = [threading.Event() for _ in range(3)]

    def items() -> Iterator[int]:
        for number, event in enumerate(made):
            event.set()
            yield number

    for number in ahead(items(), 2):
        assert number == 2 or made[number + 1].wait(10)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_takes_the_place_of_its_item(threads: int) -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("no second one")

    pieces = ahead(items(), threads)
    assert next(pieces) == 1
    with pytest.raises(ValueError, match="no second one"):
        next(pieces)


def test_pieces_that_nobody_asks_for_are_not_made() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(9):
            made.append(number)
            yield number

    with closing(ahead(items(), 2)) as pieces:
        assert next(pieces) == 0
    assert len(made) <= 2


def test_work_is_done_meanwhile_where_there_are_several_threads() -> None:
    """With one, it is done by whoever asks for the result."""
    for threads, begun in ((1, False), (2, True)):
        started = threading.Event()
        result = meanwhile(lambda started=started: started.set() or 3, threads)  # type: ignore[misc]
        assert started.wait(10 if begun else 0) == begun
        assert result() == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_what_goes_wrong_meanwhile_is_raised_where_the_result_is_asked_for(threads: int) -> None:
    def work() -> None:
        raise ValueError("three")

    result = meanwhile(work, threads)
    with pytest.raises(ValueError, match="three"):
        result()
