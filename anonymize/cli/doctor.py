"""`doctor`: whether this machine is ready, without a look into any table."""

from __future__ import annotations

import json
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

import click

from anonymize import __version__
from anonymize.cli.exits import put
from anonymize.cli.kinds import file_option, flag_option
from anonymize.cli.options import QUIET, with_options
from anonymize.errors import AnonymizeError, MemoryShortage, UsageError, WriteError, visible

DISTRIBUTION = "anonymize-toolkit"
TOO_LITTLE = 256
"""Megabytes below which no release fits in memory, or in the folder of temporary files."""
MEGABYTE = 1 << 20
_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(?:\[[^]]*\])?(?P<bounds>[^;]*)(?:;.*extra *== *['\"](?P<extra>[\w-]+)['\"])?"
)
_LEAST = re.compile(r">= *(\d+(?:\.\d+)*)")


@dataclass(frozen=True)
class Observation:
    """One thing that was looked at. `state`: `missing` is an extra that is not installed, and no problem."""

    about: str
    state: Literal["ok", "missing", "problem"]
    says: str


@click.command()
@with_options(
    file_option("--tmp", help="The folder of temporary files.  [default: the system's]"),
    file_option("--key", "key_path", help="A key file: whether it is one, and who may read it."),
    flag_option("--json", "as_json", help="Print as JSON."),
    QUIET,
)
def doctor(tmp: str | None, key_path: str | None, as_json: bool, quiet: bool) -> None:
    """Check what a release needs of this machine: versions, extras, memory, temporary folder, and a key's permissions.

    No table is read, and nothing of a key is shown but who may read it. Exit code 2 where a package that is needed is
    missing or too old, or a key is not what it should be; 71 where memory is short; 74 where temporary files cannot be
    written. An extra that is not installed is no problem.
    """
    looked = list(_observations(tmp, key_path))
    if as_json:
        put(visible(json.dumps([asdict(each) for each, _ in looked], indent=2), lines=True), lines=True)
    elif not quiet:
        width = max(len(each.about) for each, _ in looked)
        for each, _ in looked:
            put(f"{each.state:8}{each.about:{width}}  {each.says}")
    wrong = [(f"{each.about}: {each.says}", kind) for each, kind in looked if each.state == "problem"]
    if wrong:
        raise wrong[0][1]([message for message, _ in wrong])


def _observations(tmp: str | None, key_path: str | None) -> Iterator[tuple[Observation, type[AnonymizeError]]]:
    """What was looked at, with the kind of error that each is where it is a problem."""
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield Observation("anonymize", "ok", f"{__version__}; {system}"), UsageError
    for each in _packages():
        yield each, UsageError
    yield _memory(), MemoryShortage
    yield _temporary(Path(tmp or tempfile.gettempdir())), WriteError
    if key_path is not None:
        yield _key(key_path), UsageError


def _packages() -> Iterator[Observation]:
    """Each package that is needed, and each extra as a whole."""
    extras: dict[str, list[str]] = {}
    for text in _requirements():
        match = _REQUIREMENT.match(text)
        if match is None:
            continue
        state, says = _installed(match["name"], match["bounds"])
        if match["extra"] is None:
            yield Observation(match["name"], "ok" if state == "ok" else "problem", says)
        else:
            extras.setdefault(match["extra"], []).extend([] if state == "ok" else [f"{match['name']}: {says}"])
    for extra, lacking in extras.items():
        if extra not in ("bench", "browser", "dev", "peers", "site"):
            hint = f"pip install '{DISTRIBUTION}[{extra}]'"
            says = f"{'; '.join(lacking)} ({hint})" if lacking else "installed"
            yield Observation(f"extra {extra}", "missing" if lacking else "ok", says)


def _requirements() -> list[str]:
    """Those of the package; none where it was not installed, but is run from a folder."""
    try:
        return metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []


def _installed(name: str, bounds: str) -> tuple[Literal["ok", "missing", "problem"], str]:
    """Whether a package is there, and new enough."""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing", "is not installed"
    least = _LEAST.search(bounds)
    if least is not None and _numbers(version) < _numbers(least[1]):
        return "problem", f"{version} is installed, and {least[1]} is the least"
    return "ok", version


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _memory() -> Observation:
    from anonymize.table.memory import available

    free = available()
    if free is None:
        return Observation("memory", "ok", "the system does not say how much is free")
    state: Literal["ok", "problem"] = "ok" if free >= TOO_LITTLE * MEGABYTE else "problem"
    return Observation("memory", state, f"{free // MEGABYTE:,} MB are free for this process")


def _temporary(folder: Path) -> Observation:
    """Whether files can be written there, and how much room there is."""
    name = f"temporary files in {folder}"
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0")
        free = shutil.disk_usage(folder).free // MEGABYTE
    except OSError as error:
        return Observation(name, "problem", f"cannot be written: {error.strerror}")
    return Observation(name, "ok" if free >= TOO_LITTLE else "problem", f"{free:,} MB are free")


def _key(path: str) -> Observation:
    """Whether it is a key file that only its owner may read."""
    from anonymize.series import key

    try:
        key.load(path)
    except AnonymizeError as error:
        return Observation(
            f"key {path}", "problem", "; ".join(str(each).removeprefix(f"{path}: ") for each in error.problems)
        )
    return Observation(f"key {path}", "ok", "a key, which only its owner may read")
