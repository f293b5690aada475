"""A spec, from whatever describes one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from anonymize import privacy
from anonymize import spec as specs
from anonymize.errors import UsageError
from anonymize.guarding import guarded


class Spec:
    """What a table's columns are, and what a release has to meet: a YAML file, a mapping, or keywords.

    `version` is 1 where it is left out. Keywords replace the keys of a mapping. `anonymize.init` writes a first spec,
    and `anonymize.explain` says what a key means.

    Args:
        source: the path of a YAML file, or a mapping with its keys.
        **keys: keys of the spec, over those of a mapping; none beside a file.

    Raises:
        SpecError: with everything that is wrong, each with the nearest key that there is.

    Example:
        >>> import anonymize
        >>> anonymize.Spec(quasi_identifiers={"age": {"type": "numeric"}, "job": {}}, privacy={"k": 2})
        <Spec 2 quasi-identifiers>
    """

    @guarded
    def __init__(self, source: str | os.PathLike[str] | Mapping[str, Any] | None = None, /, **keys: Any) -> None:
        if isinstance(source, str | os.PathLike):
            if keys:
                raise UsageError(f"Spec: a file takes no keywords beside it: {', '.join(keys)}")
            self.model = specs.load(Path(source), privacy.PARAMETERS)
        else:
            self.model = specs.make({"version": 1, **(source or {}), **keys}, privacy.PARAMETERS)

    def __repr__(self) -> str:
        where = "" if self.model.path is None else f"{str(self.model.path)!r}: "
        return f"<Spec {where}{len(self.model.quasi_identifiers)} quasi-identifiers>"


SpecLike: TypeAlias = "Spec | specs.Spec | str | os.PathLike[str] | Mapping[str, Any]"


def model_of(spec: SpecLike) -> specs.Spec:
    """The validated spec, from whatever describes one. Raises SpecError."""
    if isinstance(spec, specs.Spec):
        return spec
    return (spec if isinstance(spec, Spec) else Spec(spec)).model
