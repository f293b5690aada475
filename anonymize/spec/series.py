"""The spec's `series`: what releases that follow each other promise, and whom their rows are about."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from anonymize.spec.base import Entry, Text


class SeriesOptions(Entry):
    """Releases of a table that has been released before, with --start-series and --after."""

    person: tuple[Text, ...] = ()
    """Identifiers that together name a person, the same at every release. Left out: the `unit`."""
    reserve: Annotated[int, Field(ge=0)] | None = None
    """Classes are made for k and so many people more, so that some may leave before those who stay are too few. Left
    out: by how many leave."""
    known: Annotated[float, Field(ge=0, le=1)] | None = None
    """The share of the people of the last release who have to be in the table, so that people who were given other
    names are not taken for others. Left out: half of the smallest share so far, from the fourth release on."""
    departures: Literal["unseen", "deferred"] = "unseen"
    """Those who leave. unseen: they are gone at once, so that what the disappearance of one known person tells is not
    bounded, and counted. deferred: they are shown as they were last until k people of their history have left, which is
    not compatible with erasure."""
    wait: Annotated[int, Field(ge=0)] = 3
    """For how many releases newcomers wait for others, so that their classes lose less; 0: they come as soon as there
    are enough for a class."""
