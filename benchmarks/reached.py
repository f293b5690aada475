"""Which tests come by each line of some files, and how long each test takes.

Tests are run under coverage, each as a context of its own. What was found is kept in `build/mutants.json`: the next
time, only tests of changed files are run again, and those that came by lines of changed files. What tests share, such
as fixtures of a module, is counted for the first of them alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import coverage
import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).parents[1]
STORE = ROOT / "build" / "mutants.json"
PYTEST = ["-q", "-s", "-p", "no:cacheprovider", "--no-header", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
FAILED = 1


def relative(path: str | Path) -> str:
    return str(Path(path).resolve().relative_to(ROOT))


def module_of(file: str) -> str:
    """The name by which a file is imported."""
    return file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def digest(path: str) -> str:
    file = ROOT / path
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else ""


def forked(work: Callable[[], int], *, silent: bool = True) -> int | None:
    """The exit code of some work in a child, None if a signal ended it. What processes it started end with it."""
    child = os.fork()
    if not child:
        code = FAILED
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2) if silent else (0, 1):
                os.dup2(nothing, stream)
            code = work()
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None


def cpu() -> float:
    """Seconds of the processor, those of ended children included."""
    return sum(os.times()[:4])


class Covering:
    """Runs tests under coverage, each as a context of its own: those that changed, or that come by changed files."""

    def __init__(self, files: list[str], known: dict[str, Any]) -> None:
        self.known, self.files = known, files
        self.coverage = coverage.Coverage(
            data_file=None, config_file=False, include=[str(ROOT / file) for file in files]
        )
        sources = known["sources"]
        changed = self.changed = [file for file in files if sources.get(file) != digest(file)]
        self.again = {name for file in changed for names in known["lines"].get(file, {}).values() for name in names}
        self.all = any(file not in sources for file in changed)
        for file in changed:
            sources[file] = digest(file)
            known["imported"].pop(file, None)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leaves what is known already."""
        now = {file: digest(file) for file in {item.nodeid.split("::")[0] for item in items}}
        fresh = {file for file in now if self.known["tests"].get(file) != now[file]}
        self.known["tests"] |= now
        items[:] = [
            each for each in items if self.all or each.nodeid in self.again or each.nodeid.split("::")[0] in fresh
        ]
        self.again = {item.nodeid for item in items}
        for file in self.files:
            importlib.import_module(module_of(file))  # here, and not in the first test that needs it
        for name in [*self.known["seconds"]]:
            if name in self.again or name.split("::")[0] in fresh:
                del self.known["seconds"][name]
        print(f"{len(items)} tests to run under coverage", file=sys.stderr)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Runs one test."""
        start = cpu()
        self.coverage.switch_context(item.nodeid)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        self.coverage.switch_context("")
        if any(report.failed for report in reports):
            print(f"fails without any change: {item.nodeid}", file=sys.stderr)
        elif any(report.when == "call" and report.passed for report in reports):
            self.known["seconds"][item.nodeid] = round(cpu() - start, 4)
        return True

    def kept(self) -> dict[str, Any]:
        """What is known now: tests by file and line; their seconds; modules that they imported."""
        seconds, data = self.known["seconds"], self.coverage.get_data()
        for file in self.files:
            found = data.contexts_by_lineno(str(ROOT / file))
            old = {} if file in self.changed else self.known["lines"].get(file, {})
            imported = {line for line, names in found.items() if "" in names}
            self.known["imported"][file] = sorted(imported.union(self.known["imported"].get(file, ())))
            self.known["lines"][file] = {
                line: sorted(
                    {name for name in old.get(line, []) if name in seconds and name not in self.again}
                    | {name for name in found.get(int(line), []) if name in seconds}
                )
                for line in sorted({*old, *map(str, found)}, key=int)
            }
        self.known["modules"] = sorted({*self.known["modules"], *(name for name in sys.modules if "anonymize" in name)})
        return self.known


def measured(files: list[str], tests: list[str]) -> dict[str, Any]:
    """Tests by file and line, measured where they are not known."""
    known = json.loads(STORE.read_text()) if STORE.exists() else {}
    known = {"sources": {}, "tests": {}, "lines": {}, "imported": {}, "seconds": {}, "modules": []} | known

    def measuring() -> int:
        plugin = Covering(files, known)
        plugin.coverage.start()
        pytest.main([*PYTEST, *tests], plugins=[plugin])
        plugin.coverage.stop()
        STORE.write_text(json.dumps(plugin.kept()))
        return 0

    STORE.parent.mkdir(exist_ok=True)
    if forked(measuring, silent=False) != 0:
        raise SystemExit("the tests did not run to their end")
    return json.loads(STORE.read_text())  # type: ignore[no-any-return]
