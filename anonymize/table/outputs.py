"""Tables on their way to a form that is not written piece by piece: they are written as an Arrow file first, which is
what is verified, and then converted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from anonymize import temporary
from anonymize.names import OutputFormat
from anonymize.places import is_uri
from anonymize.table.foreign import databases
from anonymize.table.foreign.kinds import KINDS, from_arrow
from anonymize.table.foreign.uris import TableUri
from anonymize.table.lines import Lines
from anonymize.table.write import OutputFile, format_of


def output_table(
    path: str, *, force: bool = False, form: OutputFormat | None = None, separator: str = ","
) -> OutputFile:
    """A table to be written: a file, of the format that `form` or its suffix asks for, or a table of a database."""
    if is_uri(path):
        return DatabaseTable(path, force=force)
    kind = form or format_of(path)
    if kind in KINDS:
        return ConvertedFile(path, kind, force=force)
    return OutputFile(path, force=force, form=form, separator=separator)


class ConvertedFile(OutputFile):
    """A workbook, or a file of SPSS or Stata. `part` is the Arrow file that it is made of."""

    def __init__(self, path: str, kind: OutputFormat, *, force: bool = False) -> None:
        super().__init__(path, force=force, form="arrow")
        self._kind = kind
        self._final = self._temporary()

    @property
    def final(self) -> Path:
        return self._final

    def write(self, frames: Iterable[pl.DataFrame | Lines]) -> None:
        """Writes the table, and reads it again; raises WriteError where it reads differently, too."""
        super().write(frames)
        with self._writing():
            from_arrow(self._kind, self.part, self._final, self.name)

    def discard(self) -> None:
        super().discard()
        temporary.remove(self._final)

    def commit(self) -> None:
        super().commit()
        temporary.remove(self.part)


class DatabaseTable(OutputFile):
    """A table of a database, made in one transaction at `commit`. `part` lies in the system's folder until then."""

    def __init__(self, uri: str, *, force: bool = False) -> None:
        self._uri = TableUri.parse(uri)
        self._database = databases.database_of(self._uri)
        super().__init__("-", force=force, form=self._database.PART)
        self.name = self._uri.name
        try:
            self._database.check_target(self._uri, force=force)
        except BaseException:
            self.discard()
            raise

    def commit(self) -> None:
        """Makes the table and its rows, or nothing."""
        self.sync()
        with self._writing():
            self._published = self._database.write(self._uri, self.part, force=self._force)
        self.discard()

    def retract(self) -> None:
        """Drops a table that was made, unless it replaced another one."""
        if self._published is False:
            self._database.drop(self._uri)
