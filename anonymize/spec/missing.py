"""What means that a value is missing: the one place that knows how the spec's list and the format of a file combine.

Everything outside the second opinion asks here, so that whatever else comes to mean missing is added once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Missing:
    """What means that a value is missing in a table of one format.

    Attributes:
        texts: the texts that mean it, in the spec's order; the first one is what a release shows.
        null: whether a null means it. A null of a CSV is an empty field, which is the empty text, and means missing
            only where the spec lists that; in a typed file a null is always missing.
    """

    texts: tuple[str, ...] = ("",)
    null: bool = True

    @classmethod
    def in_format(cls, texts: tuple[str, ...], form: str) -> Missing:
        """In a table of this format: `csv`, `csv.gz`, `parquet` or `arrow`."""
        return cls(texts, not form.startswith("csv") or "" in texts)

    def __contains__(self, text: str) -> bool:
        """Whether a text means missing."""
        return text in self.texts

    @property
    def text(self) -> str:
        """What a release shows for a missing value."""
        return self.texts[0] if self.texts else ""

    @property
    def null_text(self) -> str:
        """The text that says the same as a null."""
        return self.text if self.null else ""

    @property
    def fill(self) -> str | None:
        """What a null is read as where each text is a value of its own; None: it stays one.

        Where null and the empty text both mean missing they are one value.
        """
        return "" if not self.null or "" in self.texts else None

    def filled(self, text: pl.Expr) -> pl.Expr:
        """A column of texts whose nulls all mean missing: the others are the empty text."""
        return text if self.null else text.fill_null("")
