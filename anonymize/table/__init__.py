"""Reading and writing tables: what counts is encoded, what passes through stays on disk until it is written."""

from anonymize.table.columns import Attribute, Codes, SensitiveColumn, TargetColumn
from anonymize.table.model import Selection, Table
from anonymize.table.read import read
from anonymize.table.source import Source
from anonymize.table.write import OutputFile, commit

__all__ = [
    "Attribute",
    "Codes",
    "OutputFile",
    "Selection",
    "SensitiveColumn",
    "Source",
    "Table",
    "TargetColumn",
    "commit",
    "read",
]
