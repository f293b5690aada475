"""Privacy models: what a release must guarantee, measured for all equivalence classes at once.

One model, one file; a model's docstring is its manual. `MODELS` in `registry.py` names them.
"""

from __future__ import annotations

from anonymize.privacy.base import Limit, Model, Requirement, Worse
from anonymize.privacy.groups import Crowd, Groups, Histogram, Members, Pairs, Whole
from anonymize.privacy.registry import (
    MODELS,
    PARAMETERS,
    Assessment,
    check,
    disclosures,
    diversities,
    models_about,
    requirements,
    requirements_if_any,
    searched,
    weigh,
)

__all__ = [
    "MODELS",
    "PARAMETERS",
    "Assessment",
    "Crowd",
    "Groups",
    "Histogram",
    "Limit",
    "Members",
    "Model",
    "Pairs",
    "Requirement",
    "Whole",
    "Worse",
    "check",
    "disclosures",
    "diversities",
    "models_about",
    "requirements",
    "requirements_if_any",
    "searched",
    "weigh",
]
