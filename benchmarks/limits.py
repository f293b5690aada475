"""What a limit on memory costs: the same release with and without it, and with one thread and two.

    python benchmarks/limits.py [--rows N] [--limit SIZE]

Prints wall and processor seconds of whole processes and of their searches, peaks, and whether the bytes are the same.
One run of each, as a release of 10,000,000 rows takes a while. With `make bench` it is run where `--full` is given.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from runs import DATA, TABLES, Run, Section, Tables, child, report_of

LIMIT = "1GB"
HEADER = ("options", "wall, s", "CPU, s", "CPU ratio", "search, s", "peak, MB", "bytes")


def limits(tables: Tables, rows: int, limit: str) -> Section:
    """The section of the results."""
    title = f"A limit on memory: {rows:,} rows, 6 quasi-identifiers, k = 10, one run each"
    return Section(title, HEADER, list(_rows(tables.scale(rows), limit)))


def _rows(spec: Path, limit: str) -> Iterator[tuple[str, ...]]:
    plain, expected = _released(spec)
    yield _row("none", plain, plain, "")
    for options in (("--memory-limit", limit), ("--memory-limit", limit, "--threads", "1")):
        run, digest = _released(spec, *options)
        yield _row(f"`{' '.join(options)}`", run, plain, "same" if digest == expected else "DIFFER")


def _row(name: str, run: Run, plain: Run, same: str) -> tuple[str, ...]:
    search, peak = f"{run.report['timing']['search_s']:.2f}", f"{run.peak_mb:,.0f}"
    return name, f"{run.seconds:.1f}", f"{run.cpu:.1f}", f"{run.cpu / plain.cpu:.2f}", search, peak, same


def _released(spec: Path, *options: str) -> tuple[Run, str]:
    """A run with its report, and the hash of what it released."""
    with tempfile.TemporaryDirectory(dir=TABLES) as folder:
        report, output = Path(folder, "report.json"), Path(folder, "released.csv")
        arguments = ["-m", "anonymize", "mondrian", str(spec), "-o", str(output), "-r", str(report), "-q", *options]
        run = report_of(child(arguments), report)
        with output.open("rb") as file:
            return run, hashlib.file_digest(file, "sha256").hexdigest()


def main() -> None:
    """Prints the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--limit", default=LIMIT)
    given = parser.parse_args()
    print(limits(Tables(DATA if DATA.is_dir() else None), given.rows, given.limit).markdown())


if __name__ == "__main__":
    main()
