"""A spec against the columns of a table: what it says of patterns and of other columns, said of each column."""

from __future__ import annotations

from collections.abc import Sequence

from anonymize.errors import SpecError
from anonymize.spec import checks
from anonymize.spec.model import Spec
from anonymize.spec.patterns import expand


def resolve(spec: Spec, columns: Sequence[str]) -> Spec:
    """The spec with a name in place of every pattern, and every column in a section that `others` speaks of.

    A spec without patterns and `others` is returned as it is, and so is one that has been resolved. Raises DataError
    for columns that patterns give two roles; SpecError, with all problems, for what is wrong between the keys of the
    spec once its columns are known.
    """
    expanded = expand(spec, columns)
    if expanded is not spec:
        problems = [expanded.problem(fault.path, fault.message, fault.hint) for fault in checks.check(expanded)]
        if problems:
            raise SpecError(problems)
    return expanded
