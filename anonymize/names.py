"""The names of the files that a release consists of, where it is more than one; and names in a list of an option."""

from __future__ import annotations

import os
import re
from typing import Literal, TypeAlias

OutputFormat: TypeAlias = Literal["csv", "csv.gz", "parquet", "arrow", "xlsx", "sav", "dta"]
SUFFIXES: dict[str, OutputFormat] = {
    ".csv": "csv",
    ".csv.gz": "csv.gz",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "xlsx",
    ".sav": "sav",
    ".dta": "dta",
}
"""The format that each suffix of a table asks for."""
QIT, ST = ".qit", ".st"
MANIFEST = ".manifest.json"
"""What the name of a manifest ends with."""
FRAME = "<frame>"
"""What a table is called that was no file."""
_LISTED = re.compile(r'\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^,]*?))\s*(?:,|\Z)')


def parted(*texts: str) -> list[str]:
    """Names that are parted by commas, in one text or several. As in a CSV, a name may stand in quotes, and has to
    where it has a comma, or space around it; a quote in it is doubled then.

    >>> parted('age, "leaf, length (cm)"', 'stem = "x"')
    ['age', 'leaf, length (cm)', 'stem = "x"']
    """
    matches = [match for text in texts for match in _LISTED.finditer(text)]
    names = [each["plain"] if each["quoted"] is None else each["quoted"].replace('""', '"') for each in matches]
    return [name for name in names if name]


def as_listed(name: str) -> str:
    """The name as `parted` reads it."""
    return name if parted(name) == [name] else '"' + name.replace('"', '""') + '"'


def split(path: str) -> tuple[str, str]:
    """A path without the suffix of its format, and that suffix."""
    suffix = next((suffix for suffix in SUFFIXES if path.lower().endswith(suffix)), "")
    cut = len(path) - len(suffix)
    return path[:cut], path[cut:]


def parameters_beside(path: str) -> str:
    """The recipient's parameters of a release through channels: `released.csv` has `released.params.json`."""
    return split(path)[0] + ".params.json"


def manifest_beside(path: str) -> str:
    """The manifest of any other release: `released.csv` has `released.manifest.json`, and so has its QIT."""
    return split(path)[0].removesuffix(QIT) + MANIFEST


def manifest_of(path: str) -> str | None:
    """The file that says what the columns of a release mean, by its name, where there is such a file."""
    files = [] if path == "-" else [manifest_beside(path), parameters_beside(path)]
    return next((each for each in files if os.path.isfile(each)), None)


def pair_of(path: str) -> tuple[str, str]:
    """The two files of a bucketized release: `released.csv` stands for `released.qit.csv` and `released.st.csv`."""
    stem, suffix = split(path)
    return f"{stem}{QIT}{suffix}", f"{stem}{ST}{suffix}"


def sensitive_table_of(path: str) -> str | None:
    """The ST of a QIT, by its name, where there is such a file."""
    stem, suffix = split(path)
    other = f"{stem.removesuffix(QIT)}{ST}{suffix}"
    return other if stem.endswith(QIT) and os.path.isfile(other) else None
