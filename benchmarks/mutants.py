"""Mutation testing: changes the code in one place at a time, and tells which changes no test notices.

    make mutants ARGS="anonymize/cli/init.py anonymize/report --tests tests/cli tests/report"

The tests are run once under coverage, for which tests come by each line (reached.py). Then, for every mutation
(mutations.py says what they are), the tests that come by its line are run until one fails, or until `--most` seconds of
them are over: those that found others first, then of every file of tests the fastest. What becomes of a mutation:

- killed: a test failed. timeout: a test did not end, which tells as well, if by nobody's intent.
- survived: no test failed. One is missing, or too slow to be tried within `--most`, or the code is needless, or the
  change makes no difference. Those that make none stand in equivalent.yaml with the reason, and count as equivalent.
- unreached: no test comes by in its own process. Commands that tests start in another process are not seen.

A third of a second of the processor is enough for most, because tests are collected once, each mutation is tried in a
fork of that process, and there the code of a running function is exchanged. What runs at import is changed in a fork of
a process that has not imported the project. polars starts threads with its first query, and a fork has none of its
parent's threads, so no process is forked that has asked polars anything.

mutmut (3.8) leaves functions with decorators alone, which is every command here, and what runs at import, and collects
tests anew for every mutation; cosmic-ray (8.7) starts a fresh pytest for each. Collecting takes 2 to 10 s here.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib.abc
import importlib.util
import os
import pickle
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

import pytest
import yaml
from _pytest.runner import runtestprotocol
from mutations import Mutation, mutations
from reached import FAILED, PYTEST, STORE, cpu, forked, measured, module_of, relative

EQUIVALENT = Path(__file__).with_name("equivalent.yaml")
PRELOADED = ["numpy", "polars", "pydantic", "click", "rich.table", "jinja2", "scipy.optimize", "hypothesis", "yaml"]
SURVIVED, KILLED, UNSWAPPED = 0, FAILED, 3
QUICK = 1.0
"""Seconds that a test of the file's own takes at most to be tried before all others."""


def alarm(seconds: float) -> None:
    """Ends this process if it takes much longer than a test of some seconds; machines may be slow."""
    signal.setitimer(signal.ITIMER_REAL, 15 + 15 * seconds)


class Swapping:
    """Tries mutations of functions, in forks of the process that has collected the tests."""

    def __init__(self, tried: list[tuple[Mutation, list[str]]], known: dict[str, Any], most: float) -> None:
        self.tried, self.known, self.most = tried, known, most
        self.fates: dict[Mutation, str] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of running the tests."""
        for name in self.known["modules"]:
            if name.startswith("anonymize"):
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)
        items = {item.nodeid: item for item in session.items}
        functions = [each for each in gc.get_objects() if isinstance(each, FunctionType)]
        gc.freeze()
        found: Counter[str] = Counter()
        for mutation, names in self.tried:
            chosen = within(mutation, [name for name in names if name in items], self.known, self.most, found)
            fate = self.fates[mutation] = self.fate(mutation, functions, [items[name] for name in chosen], found)
            print(
                f"  {mutation.line} {fate}: {mutation.change}" if fate == "survived" else ".",
                file=sys.stderr,
                flush=True,
            )
        return True

    def fate(
        self, mutation: Mutation, functions: list[FunctionType], items: list[pytest.Item], found: Counter[str]
    ) -> str:
        """What becomes of a mutation; counts the test that finds it."""
        told, tell = os.pipe()

        def trying() -> int:
            if not swapped(mutation, functions):
                return UNSWAPPED
            for item, following in zip(items, [*items[1:], None], strict=True):
                alarm(self.known["seconds"][item.nodeid])
                if any(report.failed for report in runtestprotocol(item, nextitem=following, log=False)):
                    os.write(tell, item.nodeid.encode())
                    return KILLED
            return SURVIVED

        code = forked(trying)
        os.close(tell)
        with os.fdopen(told, "rb") as pipe:
            found[pipe.read().decode()] += 1
        return {SURVIVED: "survived", UNSWAPPED: "", None: "timeout"}.get(code, "killed")


def within(
    mutation: Mutation,
    names: list[str],
    known: dict[str, Any],
    most: float,
    found: Mapping[str, int] = MappingProxyType({}),
) -> list[str]:
    """As many tests as take some seconds together, the most promising first: those that found others, quick ones of the
    file's own, then of every file of tests the fastest, of every file the next, as those of one file are much alike."""
    own, turns, seconds = f"test_{mutation.path.stem}.py", Counter[str](), known["seconds"]
    ordered = []
    for name in sorted(names, key=seconds.__getitem__):
        file = name.split("::")[0]
        turn = 0 if file.endswith(own) and seconds[name] < QUICK else 1 + turns[file]
        ordered.append((-found.get(name, 0), turn, seconds[name], name))
        turns[file] += 1
    total = 0.0
    chosen: list[str] = []
    for *_, name in sorted(ordered):
        total += seconds[name]
        if chosen and total > most:
            break
        chosen.append(name)
    return chosen


def codes(code: CodeType) -> Iterator[CodeType]:
    """A piece of compiled code and all in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes(each)


def swapped(mutation: Mutation, functions: list[FunctionType]) -> bool:
    """Gives the functions of a module the code of a mutation; False where that cannot be done to a living function."""
    path = str(mutation.path)
    new: dict[tuple[str, int], list[CodeType]] = {}
    for code in codes(compile(mutation.tree(), path, "exec")):
        new.setdefault((code.co_qualname, code.co_firstlineno), []).append(code)
    old: dict[tuple[str, int], list[CodeType]] = {}
    for code in codes(compile(mutation.path.read_bytes(), path, "exec")):
        old.setdefault((code.co_qualname, code.co_firstlineno), []).append(code)
    done = False
    for function in functions:
        code = function.__code__
        if code.co_filename != path:
            continue
        key = (code.co_qualname, code.co_firstlineno)
        for before, after in zip(old.get(key, []), new.get(key, []), strict=False):
            if before == code and after != code:
                try:
                    function.__code__ = after
                except ValueError:  # it has other variables in common with the functions in it
                    return False
                done = True
    return done


class Importing(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports one module as a mutation has it."""

    def __init__(self, mutation: Mutation) -> None:
        self.mutation = mutation
        self.name = module_of(relative(mutation.path))

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> Any:
        if fullname != self.name:
            return None
        package = [str(self.mutation.path.parent)] if self.mutation.path.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            fullname,
            self.mutation.path,
            loader=self,
            submodule_search_locations=package,
        )

    def get_source(self, fullname: str) -> str:
        return self.mutation.path.read_text(encoding="utf8")

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.mutation.tree(), str(self.mutation.path), "exec")


def imported(mutation: Mutation, names: list[str], known: dict[str, Any]) -> str:
    """What becomes of a mutation of what runs at import."""

    def trying() -> int:
        alarm(sum(known["seconds"][name] for name in names))
        sys.meta_path.insert(0, Importing(mutation))
        return SURVIVED if pytest.main([*PYTEST, "-x", *names]) == 0 else KILLED

    return {SURVIVED: "survived", None: "timeout"}.get(forked(trying), "killed")


def fates(tried: list[tuple[Mutation, list[str]]], known: dict[str, Any], most: float) -> dict[Mutation, str]:
    """What becomes of every mutation."""
    kept = STORE.with_name("fates.pickle")
    inner = [(mutation, names) for mutation, names in tried if names and runs_when_called(mutation, known)]

    def swapping() -> int:
        plugin = Swapping(inner, known, most)
        pytest.main([*PYTEST, *sorted({name.split("::")[0] for _, names in inner for name in names})], plugins=[plugin])
        kept.write_bytes(pickle.dumps(plugin.fates))
        return 0

    assert not inner or forked(swapping, silent=False) == 0, "the tests could not be collected"
    found: dict[Mutation, str] = pickle.loads(kept.read_bytes()) if inner else {}
    for mutation, names in tried:
        if names and not found.get(mutation):
            found[mutation] = imported(mutation, within(mutation, names, known, most), known)
    return {mutation: found.get(mutation, "unreached") for mutation, _ in tried}


def runs_when_called(mutation: Mutation, known: dict[str, Any]) -> bool:
    """Whether it is in a function that is not called at import already, as one that makes decorators is."""
    return mutation.in_function and mutation.line not in known["imported"][relative(mutation.path)]


def tests_of(mutation: Mutation, known: dict[str, Any]) -> list[str]:
    """The tests that come by a mutation: by its file, where it is in what runs at import."""
    lines = known["lines"][relative(mutation.path)]
    if runs_when_called(mutation, known):
        return lines.get(str(mutation.line)) or lines.get(str(mutation.statement)) or []
    return sorted({name for names in lines.values() for name in names})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="files and folders of the project")
    parser.add_argument("--tests", nargs="+", required=True, help="files and folders of tests")
    parser.add_argument("--most", type=float, default=20, metavar="SECONDS", help="of tests for one mutation (20)")
    parser.add_argument("--map-only", action="store_true", help="end when the tests by line are known")
    arguments = parser.parse_args()
    for name in PRELOADED:
        importlib.import_module(name)
    paths = [each for path in arguments.files for each in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    known = measured([relative(path) for path in paths], arguments.tests)
    if arguments.map_only:
        return
    equivalent = {
        (path, each["line"], each["change"])
        for path, every in (yaml.safe_load(EQUIVALENT.read_text()) or {}).items()
        for each in every
    }
    total: Counter[str] = Counter()
    for path in paths:
        made = list(mutations(path.resolve()))
        start = cpu()
        found = fates([(each, tests_of(each, known)) for each in made], known, arguments.most)
        for mutation in found:
            if found[mutation] != "killed" and (relative(path), mutation.source, mutation.change) in equivalent:
                found[mutation] = "equivalent"
        counts = Counter(found.values())
        total += counts
        print(f"{relative(path)}: {len(made)} mutations, {shown(counts)}, {cpu() - start:.0f} s")
        for mutation, fate in found.items():
            if fate in ("survived", "unreached", "timeout"):
                print(f"  {mutation.line} {fate}: {mutation.change}\n      {mutation.source}", flush=True)
    print(f"\nall: {total.total()} mutations, {shown(total)}")


def shown(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {fate}" for fate, count in sorted(counts.items()))


if __name__ == "__main__":
    main()
