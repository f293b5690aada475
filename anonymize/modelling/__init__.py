"""Models trained on a release, and on its original: what either is worth to those who predict. They are trained on
some rows and tested on others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from anonymize import files, privacy, recoding
from anonymize._recode import recode_frame
from anonymize.algorithms import ALGORITHMS, Context, reads_workload, why_not_reusable, without_effect
from anonymize.classes import Floats, Ints
from anonymize.domain.cells import numbers
from anonymize.domain.numeric import Numeric
from anonymize.errors import Caution, Problem, UsageError
from anonymize.evaluation import RegionRows
from anonymize.families.checks import check_needs
from anonymize.metrics.measures import conditional_entropy, squared_error
from anonymize.modelling.learners import LEARNERS, RegionEnds, check_installed, matrices, scores
from anonymize.reading import as_text, columns_of
from anonymize.reading.regions import read_regions
from anonymize.recoding.saved import Saved
from anonymize.recoding.saved.recoder import Counts
from anonymize.recoding.saved.recoder import save as saved_recoding
from anonymize.records import dataclass
from anonymize.request import Progress, Request
from anonymize.spec import Spec
from anonymize.table import Attribute, Source, Table, read
from anonymize.table.files import spooled
from anonymize.table.named import unnamed

# --- protocol ---------------------------------------------------------------------------------------------------------
# What models make of a release, and of the original: trained on some rows, tested on others.
#
# With an algorithm, the recoding is found on the training part alone and applied to the test part, which nobody has
# looked at; models are trained on the recoded training part and tested on the recoded test part. With a release, they
# are trained on its rows and tested on those of the original, whose values are regions of themselves. Beside them stand
# the same models, trained and tested on the same rows of the original. Predictors are the quasi-identifiers.
#
# Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, sections 4.1 and 4.7.

NUMBER_BINS = 10
"""Numbers are divided into so many parts of about equally many rows."""


def by_information(table: Table, target: str) -> list[int]:
    """The quasi-identifiers but the target, most telling first; of ties the first in the spec.

    A category tells by its leaves, a number by the part that it lies in. What is left to guess is the conditional
    entropy of a label, or the squared error of a number around its mean.
    """
    column = next(each for each in table.targets if each.name == target)
    some = np.ones(table.rows, np.bool_)
    values = None
    if column.values is not None:
        values = column.values[column.codes]
        some = ~np.isnan(values)
    left = {}
    for index, attribute in enumerate(table.attributes):
        if attribute.name == target:
            continue
        parts = _parts(attribute)[some]
        if not some.any():
            left[index] = 0.0
        elif values is not None:
            left[index] = squared_error(parts, values[some])
        else:
            left[index] = conditional_entropy(parts, column.codes, int(parts.max()) + 1, column.size)
    return sorted(left, key=lambda index: (left[index], index))


def _parts(attribute: Attribute) -> Ints:
    """(rows,) which part of the domain each row lies in."""
    codes = attribute.codes.astype(np.int64)
    if not isinstance(attribute.domain, Numeric) or attribute.domain.size <= NUMBER_BINS:
        return codes
    edges = np.unique(np.quantile(codes, np.arange(1, NUMBER_BINS) / NUMBER_BINS, method="lower"))
    return np.searchsorted(edges, codes, "left").astype(np.int64)


# --- a recoding found on some rows ------------------------------------------------------------------------------------


def check_algorithm(algorithm: str, options: Any) -> None:
    """Raises UsageError for one whose recoding is not a function of the values, and cannot be applied to other rows."""
    reason = why_not_reusable(ALGORITHMS[algorithm], options)
    if reason:
        raise UsageError(f"--algorithm: {reason}, so it cannot be applied to the test part")


@dataclass(frozen=True)
class Recoder:
    """A recoding of the rows of `table`, whose file may be gone. Rows that it suppresses are shown suppressed."""

    spec: Spec
    table: Table
    saved: Saved

    @classmethod
    def of(cls, spec: Spec, frame: pl.DataFrame, algorithm: str, options: Any, seed: int, threads: int) -> Recoder:
        """What an algorithm finds on the rows of a frame, of texts with null for missing. Raises what it raises."""
        path = spooled(frame.write_parquet, ".parquet")
        try:
            with Source.open(spec.of_release(), path) as source:
                at_levels = not ALGORITHMS[algorithm].NEEDS.levels
                workload = reads_workload(ALGORITHMS[algorithm], options)
                table = read(spec, source, workload=workload, at_levels=at_levels)
        finally:
            files.remove(path)
        limit = int(np.floor(spec.privacy.suppression * table.rows + 1e-9))
        context = Context(suppression_limit=limit, seed=seed, threads=threads, save=True)
        result = ALGORITHMS[algorithm].run(table, privacy.requirements(spec), options, context)
        assert isinstance(result, recoding.Recoding)
        released = recoding.render(result, table, spec.output, drop=False)
        try:
            return cls(spec, table.as_read, saved_recoding(result, table, released, spec, algorithm, drop=False))
        except UsageError as error:
            message = error.problems[0].message
            raise UsageError(Problem(f"--algorithm {algorithm}: {message}", hint="try --suppression 0")) from None

    def recode(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, Counts]:
        """Rows as they are released, as text with null for missing; and how many are outside."""
        recoded, counts = recode_frame(self.saved, frame)
        return recoded.select(
            as_text(column, self.spec.of_release(), "parquet") for column in recoded.iter_columns()
        ), counts

    def boxes(self, frame: pl.DataFrame) -> tuple[RegionEnds, Counts]:
        """The recoded rows as regions of codes."""
        recoded, counts = self.recode(frame)
        columns = columns_of(self.spec, recoded.columns, "the release")
        return RegionEnds.of_cells(*read_regions(self.spec, self.table.attributes, recoded, columns)), counts


# --- trained on some rows, tested on others ---------------------------------------------------------------------------

Figures = dict[str, float | None]


@dataclass(frozen=True)
class Protocol:
    """How models are made.

    `algorithm`, `options`: what finds the recoding of each training part; None: the release is given. `folds`: of
    cross-validation, at least 2. `test_share`: instead, one split with this share of the rows for testing. `models`: of
    LEARNERS, none for all that suit. `projection`: also without the attributes that tell most.
    """

    algorithm: str | None = None
    options: Any = None
    folds: int = 10
    test_share: float | None = None
    seed: int = 0
    models: Sequence[str] = ()
    projection: bool = False
    threads: int = 1


@dataclass(frozen=True)
class Fold:
    """One training and one test part. `parts`: by what models are trained on, the regions of the training rows and of
    the test rows, each with the frame that has their targets. `outside`: of the `tested` rows, those for which the
    recoding has no answer, or one that was made without them."""

    parts: Mapping[str, tuple[tuple[RegionEnds, pl.DataFrame], tuple[RegionEnds, pl.DataFrame]]]
    outside: int
    tested: int


Training = tuple[Floats, pl.DataFrame]
"""(rows, attributes) the quasi-identifiers of rows that models are trained on, and the frame that has their targets."""


def evaluate_models(
    spec: Spec,
    table: Table,
    released: RegionRows | None,
    protocol: Protocol,
    progress: Progress,
    invented: Training | None = None,
) -> dict[str, Any]:
    """The block `models` of a report, with `warnings`. `invented`: the rows of a synthetic table, on all of which
    models are trained that are tested on each test part. Raises UsageError for what cannot be done, scikit-learn being
    absent included, and what the algorithm raises."""
    check_installed()
    if protocol.algorithm is not None:
        check_needs(Request(spec, protocol.algorithm, protocol.options))
        check_algorithm(protocol.algorithm, protocol.options)
    targets = spec.targets()
    _check(table, targets, protocol)
    results: dict[tuple[str, int], list[dict[str, dict[str, Figures]]]] = {}
    outside = tested = 0
    orders = {name: by_information(table, name) for name in targets}
    folds = list(_splits(table, released, protocol))
    for fold in _folds(spec, table, released, protocol, folds, invented):
        outside, tested = outside + fold.outside, tested + fold.tested
        for name in targets:
            for dropped in range(len(orders[name]) if protocol.projection else 1):
                figures = _figures(table, fold, name, orders[name][:dropped], protocol, targets[name])
                results.setdefault((name, dropped), []).append(figures)
        progress("models", tested, sum(len(test) for _, test in folds))
    block: dict[str, Any] = {"protocol": _protocol_block(protocol, len(folds)), "rows": table.rows}
    if protocol.algorithm is not None:
        block["outside"] = outside / tested if tested else 0.0
    block["targets"] = {
        name: {"type": kind, "models": _summary(results[name, 0])}
        | ({"projection": _projection(table, name, orders[name], results)} if protocol.projection else {})
        for name, kind in targets.items()
    }
    return block | {"warnings": _warnings(released, protocol, invented)}


def _check(table: Table, targets: Mapping[str, str], protocol: Protocol) -> None:
    names = [attribute.name for attribute in table.attributes]
    problems = [
        f"{name}: is the only quasi-identifier, and nothing is left to predict it from"
        for name in targets
        if names == [name]
    ]
    unknown = [name for name in protocol.models if name not in LEARNERS]
    problems += [f"--model {name}: is not one of {', '.join(LEARNERS)}" for name in unknown]
    unsuited = set(protocol.models) and not any(
        LEARNERS[name].predicts in targets.values() for name in protocol.models if name in LEARNERS
    )
    if unsuited and not unknown:
        problems.append(f"--model: none of {', '.join(protocol.models)} predicts a target of this kind")
    fewest = 2 if protocol.test_share is not None else protocol.folds
    if table.rows < fewest:
        problems.append(f"{table.rows} rows are too few for {fewest} folds")
    if problems:
        raise UsageError(problems)


def _splits(table: Table, released: RegionRows | None, protocol: Protocol) -> Iterator[tuple[Ints, Ints]]:
    """The rows of each training and test part, ascending; the seed's shuffle deals them."""
    every = np.arange(table.rows)
    if protocol.algorithm is None and released is not None and released.why_apart is not None:
        yield every, every
        return
    order = np.random.default_rng(protocol.seed).permutation(table.rows)
    if protocol.test_share is not None:
        count = min(max(round(protocol.test_share * table.rows), 1), table.rows - 1)
        parts = [order[:count]]
    else:
        parts = np.array_split(order, protocol.folds)
    for part in parts:
        yield np.setdiff1d(every, part), np.sort(part)


def _folds(
    spec: Spec,
    table: Table,
    released: RegionRows | None,
    protocol: Protocol,
    splits: Sequence[tuple[Ints, Ints]],
    invented: Training | None,
) -> Iterator[Fold]:
    whole = pl.concat(list(table.source.batches(table.columns)))
    frame = whole.select(as_text(column, spec, table.source.format) for column in whole.iter_columns())
    points = RegionEnds.of_original(table)
    for train, test in splits:
        original = ((points.rows(train), frame[train]), (points.rows(test), frame[test]))
        if protocol.algorithm is not None:
            recoder = Recoder.of(
                spec, frame[train], protocol.algorithm, protocol.options, protocol.seed, protocol.threads
            )
            seen, _ = recoder.boxes(frame[train])
            unseen, counts = recoder.boxes(frame[test])
            recoded = ((seen, frame[train]), (unseen, frame[test]))
            yield Fold({"original": original, "released": recoded}, counts.outside, len(test))
            continue
        if invented is not None:
            training = (RegionEnds(invented[0], invented[0]), invented[1])
            yield Fold({"original": original, "released": (training, original[1])}, 0, len(test))
            continue
        assert released is not None
        boxes = RegionEnds.of_cells(released.regions, released.text_of)
        training = (boxes, released.frame)
        if released.why_apart is None:
            positions = released.positions(train)
            training = (boxes.rows(positions), frame[released.rows[positions]])
        yield Fold({"original": original, "released": (training, original[1])}, 0, len(test))


def _figures(
    table: Table, fold: Fold, target: str, dropped: Sequence[int], protocol: Protocol, kind: str
) -> dict[str, dict[str, Figures]]:
    """By model and what it was trained on: how it does."""
    names = [attribute.name for attribute in table.attributes]
    left_out = [*dropped, *(index for index, name in enumerate(names) if name == target)]
    of_models: dict[str, dict[str, Figures]] = {}
    for trained, parts in fold.parts.items():
        if target not in parts[0][1].columns:
            continue
        (seen, y), (unseen, truth) = (_present(boxes.without(left_out), frame[target], kind) for boxes, frame in parts)
        if not len(y) or not len(truth):
            continue
        x, tested = matrices(seen, unseen)
        for model, learner in LEARNERS.items():
            if learner.predicts == kind and (model in protocol.models or not protocol.models):
                of_models.setdefault(model, {})[trained] = scores(learner, protocol.seed, (x, y), (tested, truth))
    return of_models


def _present(boxes: RegionEnds, column: pl.Series, kind: str) -> tuple[RegionEnds, Any]:
    """The rows and their target; without those that have no number."""
    column = unnamed(column)
    if kind == "categorical":
        return boxes, column.fill_null("").to_numpy().astype(str)
    values = numbers(column).fill_null(np.nan).to_numpy()
    some = ~np.isnan(values)
    return boxes.rows(some), values[some]


# --- what is reported ------------------------------------------------------------------------------------------------


def _summary(folds: Sequence[Mapping[str, Mapping[str, Figures]]]) -> dict[str, Any]:
    """Model -> trained on -> figure -> mean and standard deviation over the folds."""
    summary: dict[str, Any] = {}
    for model in dict.fromkeys(name for fold in folds for name in fold):
        for trained in dict.fromkeys(name for fold in folds for name in fold.get(model, {})):
            each = [fold[model][trained] for fold in folds if trained in fold.get(model, {})]
            figures = {name: _spread([one[name] for one in each]) for name in each[0]}
            summary.setdefault(model, {})[trained] = figures
    return summary


def _spread(values: Sequence[float | None]) -> dict[str, float | None]:
    some = [value for value in values if value is not None]
    return {
        "mean": float(np.mean(some)) if some else None,
        "sd": float(np.std(some, ddof=1)) if len(some) > 1 else None,
    }


def _projection(table: Table, target: str, order: Sequence[int], results: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """A step for each attribute that is dropped, from the one that tells most of the target."""
    names = [table.attributes[index].name for index in order]
    return [{"dropped": names[:count], "models": _summary(results[target, count])} for count in range(len(order))]


def _protocol_block(protocol: Protocol, splits: int) -> dict[str, Any]:
    block: dict[str, Any] = {"folds": splits, "test_share": protocol.test_share, "seed": protocol.seed}
    if protocol.algorithm is not None:
        block |= {"algorithm": protocol.algorithm, "options": asdict(protocol.options)}
    return block


_HELD_OUT = "synthesize from a part of the rows, and `-i` another part for the evaluation"
_APART = "`--algorithm NAME` makes a release of the other rows for each test"


def _warnings(released: RegionRows | None, protocol: Protocol, invented: Training | None) -> list[Caution]:
    if protocol.algorithm is not None:
        return list(without_effect(protocol.options))
    if invented is not None:
        return [Caution.of("the synthetic table was made with the rows that models are tested on", _HELD_OUT)]
    if released is None:
        return []
    if released.why_apart is not None:
        return [Caution.of(f"models were tested on rows that they were trained on: {released.why_apart}", _APART)]
    return [Caution.of("the release was made with the rows that models are tested on", _APART)]
