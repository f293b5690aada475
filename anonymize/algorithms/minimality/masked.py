"""The option `--mask-minimality`, and what it can be asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from anonymize.algorithms.base import option
from anonymize.algorithms.feasibility import minimum_size
from anonymize.algorithms.minimality.refusals import DISTINCT, FREQUENCY
from anonymize.errors import Problem, UsageError
from anonymize.privacy import MODELS, Requirement
from anonymize.table import Table

FLAG = "--mask-minimality"


def mask_option() -> Any:
    """The field of an algorithm's options."""
    return option(False, "Bound what is learnt by who knows the method, under distinct and frequency l; more is lost.")


def check_maskable(table: Table, requirements: Iterable[Requirement]) -> None:
    """Raises UsageError for what the option does not bound: models of sensitive values beyond l-diversity, and
    individuals of several rows."""
    if table.units is not None:
        raise UsageError(Problem(f"{FLAG} counts rows, and the spec has a `unit`", hint="leave one of the two out"))
    others = {each.model for each in requirements if MODELS[each.model].sensitive != "none"} - {FREQUENCY, DISTINCT}
    if others:
        message = f"{FLAG} bounds {FREQUENCY} and {DISTINCT}, and not {', '.join(sorted(others))}"
        raise UsageError(Problem(message, hint="leave the model out, or the option"))


def by_rows(requirements: tuple[Requirement, ...]) -> tuple[Requirement, ...]:
    """What the requirements ask for whatever the sensitive values are: of all that look at these, enough rows."""
    plain = tuple(each for each in requirements if MODELS[each.model].sensitive == "none")
    parameters = MODELS["k-anonymity"].parameters.model_validate({"k": minimum_size(requirements)})
    return (*plain, Requirement("k-anonymity", None, parameters))
