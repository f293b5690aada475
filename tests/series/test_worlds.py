"""Every world of twelve people that agrees with what was published: who is shown or withheld is the same in all.

A world says which of twelve people of one history has which of the values that were published of them, and which of
them have left. There are 12! ways to deal values out, but they need not be gone through one by one:

- What is decided about people who were released before is decided by `shown_again` and by `PublishedValues.hold`, which
  cuts of classes ask. Of values both see those that were published, history by history, and of people how many of each
  history are there. So worlds with the same histogram of published values, the same number of leavers, and leavers with
  the same values, differ by an exchange of people with equal values, and are one case here.
- A case is therefore a histogram H of twelve values and a histogram L within it, that of the leavers. All of them are
  gone through, for histograms of up to three values; where a model does not tell values apart by what they are, those
  with the most frequent value first.
- Somebody who knows what was published and who is there knows H, and how many left, and not L. So what is shown has to
  be the same for all L of one size; and whoever stays is one of the people of H - L, over whom their value is spread as
  this histogram is: it has to meet every model, whatever L is.
- Which algorithm makes the classes decides nothing of this (`test_record.py` runs them), and newcomers are put into
  classes by numbers alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize.privacy import MODELS, PARAMETERS, Groups, Histogram, Requirement, Whole, check
from anonymize.series.guarantee import PublishedValues, check_kept, per_class
from anonymize.series.people import CurrentPeople
from anonymize.series.record import shown_again
from anonymize.series.state import SeriesState
from anonymize.table import SensitiveColumn

PEOPLE, K = 12, 4
VALUES = ("flu", "cold", "ulcer")
NUMBERS = np.array([0.0, 1.0, 5.0])
REQUIRED: list[tuple[str, dict[str, Any]]] = [
    ("k-anonymity", {"k": 5}),
    ("alpha-k-anonymity", {"alpha": 0.7, "k": 4}),
    ("alpha-k-anonymity", {"alpha": 0.4, "k": 4, "values": ("cold",)}),
    ("distinct-l-diversity", {"l": 2}),
    ("entropy-l-diversity", {"l": 1.8}),
    ("frequency-l-diversity", {"l": 1.5, "values": ("ulcer",)}),
    ("recursive-cl-diversity", {"c": 3.0, "l": 2}),
    ("squared-error-diversity", {"error": 0.3}),
    ("p-sensitivity", {"p": 2}),
    ("k-e-anonymity", {"k": 2, "e": 1.0}),
]
Histograms = list[tuple[int, ...]]


def histograms(people: int, *, ordered: bool) -> Histograms:
    """Those of so many people; `ordered`: one of those that differ by the names of values alone."""
    every = [each for each in product(range(people + 1), repeat=len(VALUES)) if sum(each) == people]
    return [each for each in every if not ordered or list(each) == sorted(each, reverse=True)]


def cases(*, ordered: bool) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """What twelve people have, and what those of them have who left."""
    for of_all in histograms(PEOPLE, ordered=ordered):
        for of_leavers in product(*(range(count + 1) for count in of_all)):
            yield of_all, of_leavers


class Worlds:
    """All cases as the histories of one state, twelve people each, of whom those who left come first."""

    def __init__(self, model: str, given: dict[str, Any], departures: str) -> None:
        """With `model` required beside k = 4."""
        requirement = Requirement(model, None if model == "k-anonymity" else "s", PARAMETERS[model](**given))
        self.requirements = per_class([requirement], given["k"] if model == "k-anonymity" else K)
        self.cases = list(cases(ordered=MODELS[model].sensitive != "numeric" and "values" not in given))
        self.all, self.left = (np.array(each) for each in zip(*self.cases, strict=True))
        codes = np.concatenate([self._dealt(*each) for each in self.cases]).astype(np.uint32)
        numbers = NUMBERS if MODELS[model].sensitive == "numeric" else None
        self.column = SensitiveColumn("s", codes, len(VALUES), None, numbers, VALUES, alike=numbers is None)
        self.history = np.repeat(np.arange(1, len(self.cases) + 1), PEOPLE)
        self.gone = np.tile(np.arange(PEOPLE), len(self.cases)) < np.repeat(self.left.sum(axis=1), PEOPLE)
        people = pl.DataFrame({"history": self.history.astype(np.uint32)})
        histories = np.concatenate([[[-1]], np.zeros((len(self.cases), 1))]).astype(np.int32)
        state: Any = SeriesState("", (), departures, {}, {}, {}, (), people, histories)
        self.published = PublishedValues(state, self.requirements, (self.column,))

    @staticmethod
    def _dealt(of_all: tuple[int, ...], of_leavers: tuple[int, ...]) -> np.ndarray:
        staying = np.subtract(of_all, of_leavers)
        return np.concatenate([np.repeat(np.arange(len(VALUES)), each) for each in (of_leavers, staying)])

    def shown(self) -> np.ndarray:
        """(cases, 2) how many are shown of those who left, and of those who stay."""
        order = np.argsort(self.gone, kind="stable")
        departed = int(self.gone.sum()) if self.published.state.departures == "deferred" else 0
        rows = order if departed else order[: int((~self.gone).sum())]
        gone = self.gone[rows]
        people = pl.Series(np.zeros(len(rows)))
        current = CurrentPeople(people, rows, self.history[rows], departed=departed)
        released = shown_again(self.published, current)
        places = (self.history[rows] - 1, (~gone).astype(int))
        counts = np.zeros((len(self.cases), 2), np.int64)
        np.add.at(counts, (places[0][released], places[1][released]), 1)
        return counts

    def meet(self, counts: np.ndarray) -> np.ndarray:
        """(cases,) whether people with so many of each value meet what is required."""
        rows = [np.repeat(np.arange(len(counts)), counts[:, value]) for value in range(len(VALUES))]
        codes = np.repeat(np.arange(len(VALUES)), counts.sum(axis=0))
        groups, whole = np.concatenate(rows), Whole.of(self.column)
        column = self.column
        histogram = Histogram.from_rows(groups, codes, len(counts), column.size, None, column.values, whole=whole)
        return np.asarray(check(Groups(counts.sum(axis=1), {"s": histogram}), self.requirements))


def test_every_model_that_a_series_accepts_is_among_them() -> None:
    own = {
        name
        for name, each in MODELS.items()
        if each.about == "classes" and not each.compares and "population" not in each.parameters.model_fields
    }
    assert {model for model, _ in REQUIRED} == own
    check_kept([Requirement(model, "s", PARAMETERS[model](**given)) for model, given in REQUIRED])


@pytest.mark.parametrize("departures", ["unseen", "deferred"])
@pytest.mark.parametrize(("model", "given"), REQUIRED)
def test_who_is_shown_is_the_same_in_every_world_and_meets_the_model_in_each(
    model: str, given: dict[str, Any], departures: str
) -> None:
    worlds = Worlds(model, given, departures)
    shown, leaving, staying = worlds.shown(), worlds.left.sum(axis=1), worlds.all - worlds.left
    known = np.column_stack([worlds.all, leaving])
    outcomes = np.unique(np.column_stack([known, shown]), axis=0)
    assert len(outcomes) == len(np.unique(known, axis=0))  # one outcome for whatever is known
    stay, kept = shown[:, 1] > 0, shown[:, 0] > 0
    assert (shown[stay, 1] == staying.sum(axis=1)[stay]).all()  # all who stay, or nobody
    parts, whole = worlds.meet(staying), worlds.meet(worlds.all)
    assert stay.any() and parts[stay & ~kept].all()
    if departures == "unseen":
        refused = {tuple(each) for each in known[~parts].tolist()}
        assert {tuple(each) for each in known[~stay].tolist()} <= refused  # withheld only where some world forbids it
        return
    assert whole[kept].all() and worlds.meet(worlds.left)[stay & ~kept & (leaving > 0)].all()
    assert kept.any()
