"""Several algorithms on one spec and table: what each loses at each k, and what risk it leaves.

spec, input ─▶ cells    one for each algorithm, with its options, and each k
cells       ─▶ results  each made, verified and measured in a process of its own, or taken from the cache
results     ─▶ report   one table, and which cells no other beats in both risk and loss

Every cell is a whole release, of which only the report's figures are kept, and what is measured in addition; nothing is
published unless a folder to keep releases in is given. A result is known by the contents of everything that it follows
from: the program's own files, the input, the spec and the files that it names, the options, what is measured. So a
comparison that was interrupted goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from anonymize import files
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS, parse_options
from anonymize.dp.ledger import Ledger
from anonymize.errors import AnonymizeError, Caution, Problem, UsageError, WriteError
from anonymize.measuring import (
    Measuring,
    ResultKey,
    cached_result,
    figures,
    over_seeds,
    processor_seconds,
    store_result,
    with_front,
)
from anonymize.parallel import workers
from anonymize.places import masked
from anonymize.publication import named_by, report_files
from anonymize.records import dataclass
from anonymize.report.data import spec_block
from anonymize.report.head import head
from anonymize.report.public import public_head, without_paths
from anonymize.request import Progress, Request
from anonymize.spec import Spec, messages, override
from anonymize.table.files import sha256_of

UNSAID = "no release; why is in a report that is not public"
"""In place of a message, which may count rows of the input."""
UNCOVERED = Caution.of(
    "the choice between these releases is made by the people's own data: no epsilon covers it, nor any of the figures "
    "here, and every table under differential privacy that was drawn for them is one more",
    "choose once, on a table of other people if there is one; publish one release, and none of these figures",
)
ALL = "all"
SENSIBLE = ("release", "mondrian", "incognito")


@dataclass(frozen=True)
class Cell:
    """One release of the comparison: an algorithm with its options, k (None: as the spec says), and its seed (None:
    that of the system). `epsilon`: of a table that is drawn under differential privacy, None: as the spec says; such a
    table has no k, and `seed` numbers its draws."""

    algorithm: str
    options: Any
    k: int | None
    seed: int | None = None
    epsilon: float | None = None

    @property
    def private(self) -> bool:
        """Whether it is drawn under differential privacy, of a spec with public domains."""
        return ALGORITHMS[self.algorithm].NEEDS.domains

    @property
    def label(self) -> str:
        """The algorithm with the options that are not its defaults, as `--algorithms` takes them."""
        return self._label(asdict(self.options))

    @property
    def made_by(self) -> list[Any]:
        """What tells it from the others, as JSON."""
        return [self.algorithm, asdict(self.options), self.k, self.seed, self.epsilon]

    def named(self, *, public: bool) -> dict[str, Any]:
        """What a report calls it; a `public` one has no paths."""
        options = without_paths(self.options) if public else asdict(self.options)
        name = {"label": self._label(options), "algorithm": self.algorithm, "options": options, "k": self.k}
        return name | ({"epsilon": self.epsilon} if self.private else {})

    def _label(self, options: Mapping[str, Any]) -> str:
        default = asdict(type(self.options)())
        given = {name: value for name, value in options.items() if value != default[name]}
        return " ".join([self.algorithm, *(f"{name}={str(value).lower()}" for name, value in given.items())])


@dataclass(frozen=True)
class Compare:
    """What `compare` was asked for.

    `algorithms`: each a name, or a name and options (`mondrian refine=true`); none: those that suit the spec; `all`:
    all of them. `ks`: values of k; the spec's for none. `epsilons`: the same of tables that are drawn under
    differential privacy. `seeds`: with how many seeds each release is made. `input`:
    path, None for the spec's. `processes`: releases that are made at the same time; 0: here. `cache`: a folder for
    results, None to keep none. `keep`: a folder for the releases, None to publish none. `measuring`: what is measured
    in addition to the reports. `reports`: paths, the kind by suffix. `budget`, `key`: the ledger about people that is
    charged for each release that is drawn under differential privacy, and for those that are kept. `public`: every
    figure is that of a release's public report, and nothing else is in this one.
    """

    spec: Spec
    algorithms: Sequence[str] = ()
    ks: Sequence[int] = ()
    input: str | None = None
    processes: int = 1
    cache: Path | None = None
    keep: Path | None = None
    measuring: Measuring = field(default_factory=Measuring)
    reports: Sequence[str] = ()
    seeds: int = 1
    epsilons: Sequence[float] = ()
    budget: str | None = None
    key: str | None = None
    public: bool = False
    force: bool = False
    progress: Progress = field(default=lambda stage, count, total: None)


def compare(request: Compare) -> dict[str, Any]:
    """Makes and measures every cell; returns the report.

    A cell without a release (infeasible, unsafe, not for such a spec) is in the report with its exit code and what is
    wrong. Raises UsageError for algorithms, options and paths that make no sense, and WriteError where a release that
    is to be kept cannot be written, which is no fault of its cell.
    """
    cells = cells_of(request)
    path = _input(request)
    if request.keep is not None and not request.keep.is_dir():
        raise UsageError(Problem(f"--keep: there is no folder {request.keep}", hint=f"mkdir {request.keep}"))
    request.measuring.check(request.spec)
    if request.budget is not None:
        Ledger.opened(request.budget, request.key, request.spec.budget)
    private = request.spec.privacy.differential is not None and any(cell.private for cell in cells)
    if private and not request.public:
        request = replace(request, measuring=replace(request.measuring, variation=True))
    if request.public and request.measuring.needed:
        message = "--public-report: queries and models, and what another spec measures, take the original"
        raise UsageError(Problem(message, hint="leave out --queries, --model and --measured-by"))
    with report_files(request.reports, force=request.force, inputs=[path, *named_by(request.spec)]) as publish:
        key = ResultKey(path, request.spec, request.measuring, public=request.public)
        single = [each for cell in cells for each in _seeded(cell, request.seeds)]
        results = dict(_results(request, single, path, key))
        of_files = {"spec": spec_block(request.spec), "input": {"path": path, "sha256": key.input}}
        made = [over_seeds([results[each] for each in _seeded(cell, request.seeds)]) for cell in cells]
        report = {
            **(public_head(request.spec) if request.public else head() | of_files),
            "comparison": with_front(made),
            "warnings": [UNCOVERED] if private else [],
        }
        publish(report)
    return report


def compare_routes(requests: Mapping[str, Compare]) -> dict[str, Any]:
    """One report of several specs on one table, by a name of each, which stands before the label of each release and is
    its `route`. `reports` and `force` are those of the first. Raises as `compare` does, and UsageError for specs of
    different tables, and where releases that are kept would have the same names."""
    first = next(iter(requests.values()))
    if first.keep is not None:
        raise UsageError("--keep: is about one spec, as releases of several would have the same names")
    if len({sha256_of(path) for path in map(_input, requests.values()) if Path(path).is_file()}) > 1:
        raise UsageError(Problem("the specs are about different tables", hint="name the table of all with --input"))
    named = [path for each in requests.values() for path in (_input(each), *named_by(each.spec))]
    with report_files(first.reports, force=first.force, inputs=list(dict.fromkeys(named))) as publish:
        reports = {name: compare(replace(each, reports=())) for name, each in requests.items()}
        results = [
            {**each, "label": f"{name}: {each['label']}", "route": name}
            for name, report in reports.items()
            for each in report["comparison"]
        ]
        cautions = list(dict.fromkeys(each for report in reports.values() for each in report["warnings"]))
        made = {**next(iter(reports.values())), "comparison": with_front(results), "warnings": cautions}
        publish(made)
    return made


def routes_of(request: Compare, specs: Sequence[Spec]) -> dict[str, Compare]:
    """What is wanted of each of several specs, by what the spec is called: the name of its file without the suffix,
    where no other has it; of one without a file, its place among them."""
    paths = [f"spec {number}" if each.path is None else str(each.path) for number, each in enumerate(specs, 1)]
    stems = [Path(each).stem for each in paths]
    names = stems if len(set(stems)) == len(stems) else paths
    return {name: replace(request, spec=spec) for name, spec in zip(names, specs, strict=True)}


def cells_of(request: Compare) -> list[Cell]:
    """Every algorithm at every k, in the order given, each once. Raises UsageError for what there is not."""
    if any(not 0 < epsilon < inf for epsilon in request.epsilons):
        raise UsageError("--epsilon: is above 0")
    if request.seeds < 1:
        raise UsageError("--seeds: must be at least 1")
    if request.public and request.seeds > 1:
        raise UsageError("--seeds: a release with a seed must not be published, and this report is public")
    chosen = []
    for text in _algorithms(request):
        name, *pairs = text.split()
        if name not in ALGORITHMS:
            hint = messages.nearest(name, ALGORITHMS) or f"{ALL}, or of {', '.join(ALGORITHMS)}"
            raise UsageError(Problem(f"--algorithms: there is no {name}", hint=hint))
        if not ALGORITHMS[name].NEEDS.family.compared:
            hint = "draw it once with --budget, and evaluate the release"
            message = f"--algorithms: {name} is not compared: its draws cost, and only one of them is published"
            raise UsageError(Problem(message, hint=hint))
        chosen.append((name, parse_options(ALGORITHMS[name], pairs)))
    cells = []
    for name, own in chosen:
        if ALGORITHMS[name].NEEDS.domains:
            cells += [Cell(name, own, None, epsilon=epsilon) for epsilon in request.epsilons or (None,)]
        else:
            cells += [Cell(name, own, k) for k in request.ks or (None,)]
    return list(dict.fromkeys(cells))


def spec_of(spec: Spec, cell: Cell) -> Spec:
    """The spec by which a release is made: what is required of classes is not asked of invented rows, nor differential
    privacy of classes, which never have it. Raises UsageError for an epsilon where the spec has no delta."""
    if not cell.private:
        privacy = spec.privacy.model_copy(update={"differential": None})
        return override(spec.model_copy(update={"privacy": privacy}), k=cell.k)
    of_classes: dict[str, Any] = {"k": None, "l": None, "models": (), "combinations": (), "passing": None}
    own = spec.privacy.differential
    if cell.epsilon is not None:
        if own is None:
            hint = "privacy: {differential: {epsilon: 1, delta: 1e-9}}"
            raise UsageError(Problem("--epsilon: the spec has no delta", hint=hint))
        own = own.model_copy(update={"epsilon": cell.epsilon})
    privacy = spec.privacy.model_copy(update={**of_classes, "differential": own, "suppression": 0.0})
    return spec.model_copy(update={"privacy": privacy})


def _algorithms(request: Compare) -> Sequence[str]:
    """The algorithms that are named; without any the recommended one, the fastest, the one of whole columns, and what
    suits the spec's targets, or a spec that requires no k."""
    if request.algorithms:
        every = [name for name, each in ALGORITHMS.items() if each.NEEDS.family.compared]
        return every if ALL in request.algorithms else request.algorithms
    spec = request.spec
    if spec.privacy.k is None and not request.ks and spec.privacy.l is not None:
        return [*SENSIBLE, "anatomy"]
    return [*SENSIBLE, "tds"] if spec.workload.target_names else SENSIBLE


def _seeded(cell: Cell, seeds: int) -> list[Cell]:
    return [cell] if seeds == 1 else [replace(cell, seed=seed) for seed in range(seeds)]


def _input(request: Compare) -> str:
    path = request.input or (None if request.spec.input.path is None else str(request.spec.input.path))
    if path is None:
        raise UsageError("no input: give --input, or input.path in the spec")
    if path == "-" or not Path(path).is_file():
        message = f"{masked(path)}: compare reads a file, once for each release"
        raise UsageError(Problem(message, hint="save the table first"))
    return path


# --- the releases -----------------------------------------------------------------------------------------------------


def _results(
    request: Compare, cells: Sequence[Cell], path: str, key: ResultKey
) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """The results of all cells, as they come: those of the cache first. Raises what ends a worker for no fault of a
    cell's.

    What is drawn under differential privacy is drawn anew each time. They are made k by k: what is left for the end is
    then one release of each algorithm, and not those of the slowest one alone, for which a single process would be
    waited for.
    """
    missing = []
    for cell in cells:
        made_anew = request.keep is not None or cell.private
        cached = None if made_anew else cached_result(request.cache, key.of(cell.made_by))
        if cached is None:
            missing.append(cell)
        else:
            yield cell, cached
    missing.sort(key=lambda cell: request.ks.index(cell.k) if cell.k is not None else 0)
    finished = len(cells) - len(missing)
    request.progress("compare", finished, len(cells))
    for cell, result in _results_of(request, missing, path):
        if not cell.private:
            store_result(request.cache, key.of(cell.made_by), result)
        finished += 1
        request.progress("compare", finished, len(cells))
        yield cell, result


def _results_of(request: Compare, cells: Sequence[Cell], path: str) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """The cells' results in the order in which they are done, each made in one of a few processes.

    Leaving early ends them.
    """
    if not cells:
        return
    with files.folder() as folder:
        shared = (replace(request, progress=_silent), path, folder)
        if not request.processes:
            yield from ((cell, _Making(*shared).measure(cell)) for cell in cells)
            return
        with workers(min(request.processes, len(cells)), _Making, *shared) as pool:
            yield from pool.completed(_Making.measure, cells)


def _silent(stage: str, count: int, total: int) -> None:
    """Nothing is said of the progress of single releases; unlike a lambda, it goes to other processes."""


@dataclass(frozen=True)
class _Making:
    """What all cells' releases have in common. `path`: of the table; `scratch`: a folder for files that are gone
    afterwards."""

    comparison: Compare
    path: str
    scratch: Path

    def measure(self, cell: Cell) -> dict[str, Any]:
        """One cell: released, verified, and, unless it is to be kept, gone. What a user may mend is part of the
        result."""
        result = cell.named(public=self.comparison.public)
        try:
            with TemporaryDirectory(dir=self.scratch) as folder:
                return result | self._figures(cell, self._request(cell, Path(folder)))
        except WriteError:
            raise
        except AnonymizeError as error:
            why = [UNSAID] if self.comparison.public else [str(each) for each in error.problems]
            return result | {"code": error.exit_code, "error": why}

    def _figures(self, cell: Cell, request: Request) -> dict[str, Any]:
        """The figures of the release's report, what making it took, and what is measured in addition."""
        start, before = perf_counter(), processor_seconds()
        report = release(request)
        seconds, busy = perf_counter() - start, processor_seconds() - before
        took = {} if self.comparison.public else {"seconds": round(seconds, 3), "cpu_seconds": round(busy, 3)}
        row = {"k": report["settings"].get("k", {}).get("value"), "code": 0, **took, **figures(report)}
        if cell.private:
            row |= {"k": None, "epsilon": report["differential"]["epsilon"]}
        if self.comparison.measuring.needed:
            row |= self.comparison.measuring.figures(request.spec, self.path, request.output, request.save_link)
        return row if cell.private or self.comparison.public else row | self._without_levels(request)

    def _without_levels(self, request: Request) -> dict[str, Any]:
        """The loss of the same release where the spec declares no levels, so that their price is seen; nothing where it
        declares none, and None where no such release can be made. It is none of those that are compared, and a public
        comparison has nothing of it."""
        spec = request.spec.without_levels()
        if spec is request.spec:
            return {}
        try:
            free = release(replace(request, spec=spec, dry_run=True, save_link=None, budget=None, key=None))
        except WriteError:
            raise
        except AnonymizeError:
            return {"gcp_without_levels": None}
        return {"gcp_without_levels": free["utility"].get("gcp")}

    def _request(self, cell: Cell, folder: Path) -> Request:
        """The release of a cell; with its private link where models have to know which rows they were trained on."""
        bound = f"epsilon{cell.epsilon or 'spec'}" if cell.private else f"k{cell.k or 'spec'}"
        seed = "" if cell.seed is None else f"-seed{cell.seed}"
        name = f"{cell.label.replace(' ', '-').replace('=', '-')}-{bound}{seed}.csv"
        wanted, measuring = self.comparison, self.comparison.measuring
        charged = cell.private or wanted.keep is not None
        return Request(
            spec_of(wanted.spec, cell),
            cell.algorithm,
            cell.options,
            input=self.path,
            output=str((wanted.keep or folder) / name),
            dry_run=not (charged or measuring.needed),
            save_link=None if measuring.model is None or cell.private else str(folder / "link.json"),
            seed=None if cell.private else cell.seed,
            public=wanted.public,
            budget=wanted.budget if charged else None,
            key=wanted.key if charged else None,
        )
