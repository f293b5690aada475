"""What the columns of an unknown table seem to be, and a spec that says so.

`measure` reads the table once: exact counts of what singles people out, and a sample of rows. `shapes` knows texts by
their form, `words` columns by their names; `roles` and `hierarchies` guess from both, `joint` counts what columns give
away together, `capacity` what anonymity costs, `document` writes the spec. How a file is laid out is guessed here.
Nothing is shown but names, counts and guesses; a cell's value only where it is asked for.
"""

from __future__ import annotations

from typing import Any

from anonymize.places import is_uri

# --- layout of a file -------------------------------------------------------------------------------------------------

SEPARATORS = (",", ";", "\t", "|")
SPACE = " "
"""A separator where there is no other, and the first rows have as many of it: R's write.table. A header of one name has
none: `170 cm` is one value."""
HEAD = 1 << 16
LINES = 20
_MAGIC = (b"PAR1", b"ARROW1", b"\x1f\x8b")


def layout_of(path: str, separator: str | None, encoding: str | None) -> dict[str, Any]:
    """The keys of the spec's `input` that differ from the defaults; what is given is not guessed.

    Standard input, and what is compressed, cannot be looked at in advance: a comma and UTF-8, unless given.
    """
    head = b""
    if path != "-" and not is_uri(path):
        try:
            with open(path, "rb") as file:
                head = file.read(HEAD)
        except OSError:
            pass  # whoever opens it says what is wrong
    if head.startswith(_MAGIC):
        head = b""
    encoding = encoding or _encoding(head)
    text = head.decode(encoding, errors="replace").removeprefix("\ufeff")
    separator = separator or _separator(text)
    given = {"separator": separator, "encoding": encoding}
    return {key: value for key, value in given.items() if value not in (",", "utf8")}


def _encoding(head: bytes) -> str:
    """UTF-8 if the first bytes are that, but for a character that is cut short; UTF-16 by its mark, or where every
    other byte is nothing; else the one that takes any byte."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    for first, name in enumerate(("utf-16-be", "utf-16-le")):
        if head[first::2].count(0) > len(head) / 4:
            return name
    try:
        head[: HEAD - 4].decode("utf-8")
    except UnicodeDecodeError as error:
        if len(head) < HEAD or error.start < HEAD - 8:
            return "cp1252" if not any(byte in head for byte in b"\x81\x8d\x8f\x90\x9d") else "latin-1"
    return "utf8"


def _separator(text: str) -> str:
    """The mark that parts the header into most fields, outside of quotes; of equal ones the first."""
    first = _unquoted(text, 1)[0]
    best = max(SEPARATORS, key=first.count)
    if best in first:
        return best
    header, *rows = [line.count(SPACE) for line in _unquoted(text, LINES)]
    alike = len(rows) > 1 and len(set(rows)) == 1 and rows[0] > 0
    return SPACE if header and alike and rows[0] - header in (0, 1) else ","


def _unquoted(text: str, count: int) -> list[str]:
    """The first lines without what stands in quotes; the last one may be cut short, and is left out of several."""
    lines, quoted = [""], False
    for character in text:
        quoted ^= character == '"'
        if character == "\n" and not quoted:
            lines.append("")
            if len(lines) > count:
                break
        else:
            lines[-1] += "" if quoted else character
    return lines if len(lines) == 1 else lines[:-1]
