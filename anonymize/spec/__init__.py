"""The spec: what a table's columns are, and what a release of it has to meet. Read from YAML, validated once."""

from anonymize.spec.base import KeyPath, Place
from anonymize.spec.blocks import Condition, Input, Output, Workload
from anonymize.spec.columns import QuasiIdentifier, Role, Rule, RuleRange, Sensitive
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
from anonymize.spec.model import FEWEST, ModelEntry, Privacy, Spec
from anonymize.spec.notation import POINT, UNKNOWN, Missing, Notation, remarks
from anonymize.spec.override import override, require, resolve

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
