"""The option `--outliers`: how many rows a full-domain search may give up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from anonymize.algorithms.base import Context, option
from anonymize.algorithms.feasibility import minimum_size
from anonymize.privacy import Requirement


def outliers_option(what: str, share: str) -> Any:
    """The field of an algorithm's options: `what` happens to the rows, and whose `share` is the limit."""
    help = f"How many rows may {what}: limit, the spec's share of {share}; k, as many as a class has to have."
    return option("limit", help, ("limit", "k"))


def allowed_rows(outliers: str, requirements: Iterable[Requirement], context: Context) -> int:
    """How many rows may be given up."""
    return context.suppression_limit if outliers == "limit" else minimum_size(requirements)
