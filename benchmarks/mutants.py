"""Mutation testing: changes the code in one place at a time, and tells which changes no test notices.

    make mutants ARGS="anonymize/cli/init.py anonymize/report --tests tests/cli tests/report"

The tests are run once under coverage, for which tests come by each line; that is kept in `build/mutants.json`, and only
tests and files that changed are looked at again. Then, for every mutation (mutations.py says what they are), the tests
that come by its line are run until one fails: those that found others first, then those of the file's own name, then
the fastest. What becomes of a mutation:

- killed: a test failed. timeout: a test did not end, which tells as well, if by nobody's intent.
- survived: no test failed. One is missing, or the code is needless, or the change makes no difference. Those that make
  none stand in equivalent.yaml with the reason, and count as equivalent.
- unreached: no test comes by in its own process. Commands that tests start in another process are not seen.

Half a second of the processor is enough for most, because tests are collected once, each mutation is tried in a fork of
that process, and there a changed function takes the place of the running one's code. What runs at import is changed in
a fork of a process that has not imported the project. polars starts threads with its first query, and a fork has none
of its parent's threads, so no process is forked that has asked polars anything.

mutmut (3.8) leaves functions with decorators alone, which is every command here, and what runs at import, and collects
tests anew for every mutation; cosmic-ray (8.7) starts a fresh pytest for each. Collecting takes 2 to 10 s here.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import hashlib
import importlib.abc
import importlib.util
import json
import os
import pickle
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

import coverage
import pytest
import yaml
from _pytest.runner import runtestprotocol
from mutations import Mutation, mutations

ROOT = Path(__file__).parents[1]
STORE = ROOT / "build" / "mutants.json"
EQUIVALENT = Path(__file__).with_name("equivalent.yaml")
PYTEST = ["-q", "-s", "-p", "no:cacheprovider", "--no-header", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
PRELOADED = ["numpy", "polars", "pydantic", "click", "rich.table", "jinja2", "scipy.optimize", "hypothesis", "yaml"]
SURVIVED, KILLED, UNSWAPPED = 0, 1, 3


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
        code = KILLED
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


def alarm(seconds: float) -> None:
    """Ends this process if it takes much longer than a test of some seconds; machines may be slow."""
    signal.setitimer(signal.ITIMER_REAL, 15 + 15 * seconds)


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
        changed = [file for file in files if sources.get(file) != digest(file)]
        self.again = {name for file in changed for names in known["lines"].get(file, {}).values() for name in names}
        self.all = any(file not in sources for file in changed)
        for file in changed:
            sources[file] = digest(file)

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
            old = self.known["lines"].get(file, {})
            self.known["imported"][file] = [line for line, names in found.items() if "" in names]
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
    """As many tests as take some seconds together, the most promising first: of every file of tests the fastest, then
    of every file the next, because those of one file are much alike."""
    own, turns, seconds = f"test_{mutation.path.stem}.py", Counter[str](), known["seconds"]
    ordered = []
    for name in sorted(names, key=lambda name: (-found.get(name, 0), seconds[name])):
        file = name.split("::")[0]
        ordered.append((-found.get(name, 0), turns[file] // (3 if own in file else 1), seconds[name], name))
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
    parser.add_argument("--texts", action="store_true", help="change texts, and nothing else")
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
        made = [each for each in mutations(path.resolve()) if not arguments.texts]
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
