"""Settings of an engine for as long as it works for us: they save time, and change no row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, TypeVar, cast

from anonymize.spark.engine import DataFrame

Road = TypeVar("Road", bound=Callable[..., Any])

SETTINGS = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",
}
"""That no batch of rows may have more bytes than this: so Spark does not add up, after every row, how many it has,
which took a tenth of the time of all tasks; how many rows a batch may have is left as it is. That what is counted has
no small table before the large one: where nearly every row is another, every row is looked up in both."""


@contextmanager
def tuned(session: Any) -> Iterator[None]:
    """Runs the block with these settings, where the engine takes them, and sets them back."""
    before = {}
    try:
        for name, value in SETTINGS.items():
            with suppress(Exception):  # an engine may refuse what it does not know, or does not let anybody set
                own = session.conf.get(name, None)
                session.conf.set(name, value)
                before[name] = own
        yield
    finally:
        for name, own in before.items():
            if own is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, own)


def with_settings(work: Road) -> Road:
    """What works on a DataFrame, its first argument, `tuned`."""

    @wraps(work)
    def run(df: DataFrame, *args: Any, **given: Any) -> Any:
        with tuned(df.sparkSession):
            return work(df, *args, **given)

    return cast("Road", run)
