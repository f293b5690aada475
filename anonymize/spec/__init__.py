"""The spec: what a table's columns are, and what a release of it has to meet. Read from YAML, validated once."""

from anonymize.spec.base import KeyPath, Place
from anonymize.spec.columns import QuasiIdentifier, Role, Sensitive
from anonymize.spec.hierarchy import (
    Codes,
    Dates,
    Flat,
    HierarchySource,
    Intervals,
    Mask,
    NumberBands,
    Parts,
    Prefix,
    Rare,
    Zip3,
)
from anonymize.spec.load import load, make
from anonymize.spec.missing import UNKNOWN, Missing, remarks
from anonymize.spec.model import FEWEST, Input, ModelEntry, Output, Privacy, Spec
from anonymize.spec.notation import POINT, Notation
from anonymize.spec.override import override
from anonymize.spec.require import require
from anonymize.spec.resolve import resolve
from anonymize.spec.rules import Rule, RuleRange
from anonymize.spec.workload import Condition, Workload

__all__ = [
    "FEWEST",
    "POINT",
    "UNKNOWN",
    "Codes",
    "Condition",
    "Dates",
    "Flat",
    "HierarchySource",
    "Input",
    "Intervals",
    "KeyPath",
    "Mask",
    "Missing",
    "ModelEntry",
    "Notation",
    "NumberBands",
    "Output",
    "Parts",
    "Place",
    "Prefix",
    "Privacy",
    "QuasiIdentifier",
    "Rare",
    "Role",
    "Rule",
    "RuleRange",
    "Sensitive",
    "Spec",
    "Workload",
    "Zip3",
    "load",
    "make",
    "override",
    "remarks",
    "require",
    "resolve",
]
