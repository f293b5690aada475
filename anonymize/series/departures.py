"""Who of the people that were released before is shown again, decided by numbers and by what was published.

**Unseen** (the default). The people of a history who are in the input are shown where the models hold of any so many of
those who had it; else they are *withheld*, all of them.

**Deferred.** People who left are shown as they were last until k people of their history have left. What is promised is
that of everybody who was ever released at least k people have the same history, those counted who are not shown any
more: a chain of rows that ends is one of k that end there. So those who left go together, once the models hold of any
so many and of any so many as stay, or nobody stays; until then they are rows of the table like any other. Where a
history is not in the last release, nobody of it is kept: it comes back where all of it is there, or under the same
condition. Whoever would be left out for another reason takes all others of the history along.
"""

from __future__ import annotations

import numpy as np

from anonymize.classes import Bools, Ints
from anonymize.series.guarantee import PublishedValues
from anonymize.series.people import CurrentPeople

DEFERRED = "deferred"


def shown_again(published: PublishedValues, current: CurrentPeople) -> Bools:
    """(rows,) who of those that were released before is shown; people who left are rows of their own where departures
    are deferred."""
    members = published.members
    present = np.bincount(current.history[~current.newcomers & ~current.gone], minlength=len(members))
    if published.state.departures != DEFERRED:
        return _of_histories(published, present)[current.history] & ~current.newcomers
    absent = members - present
    parted = (absent == members) | (_of_histories(published, present) & _of_histories(published, absent))
    whole = _of_histories(published, members)
    here = published.state.histories[:, -1] >= 0
    stays = np.where(absent == 0, whole, parted | (whole & here))
    goes = parted | ~(whole & here)
    return np.asarray(np.where(current.gone, ~goes[current.history], stays[current.history]) & ~current.newcomers)


def _of_histories(published: PublishedValues, sizes: Ints) -> Bools:
    """(H,) whether the models hold of any `sizes` (H,) people of each history."""
    return published.hold(np.arange(len(sizes)), sizes)


def torn(current: CurrentPeople, expected: Bools, released: Bools) -> Bools:
    """(rows,) whose history is `released` (rows,) in part, of the rows that were to be shown."""
    size = int(current.history.max(initial=0)) + 1
    wanted, there = (np.bincount(current.history[some], minlength=size) for some in (expected, expected & released))
    return np.asarray(expected & ((there > 0) & (there < wanted))[current.history])
