"""The releases of a series, read again, and whom each row is about.

Pseudonyms are compared with whom each row is about. Which key the series had when a release was made is not on record:
a pseudonym is right where it is the person's under one of the keys, the same one in every row of the release.

Releases are read from their own text, and whom each row is about from the links and originals that are still there, by
pseudonyms computed anew.

What is not there any more, or is another file than its hash says, is taken from the state; what is there is compared
with it. So the state is believed where there is nothing else, and is said to have been.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anonymize.auditing import Audited, opened
from anonymize.classes import Ints
from anonymize.errors import Caution, DataError, UsageError
from anonymize.journal import Journal, locked
from anonymize.key import Key
from anonymize.link import load as load_link
from anonymize.records import dataclass
from anonymize.series.state import SeriesRelease, SeriesState, load_sealed, value_column
from anonymize.series.state import load as load_state
from anonymize.spec import Spec
from anonymize.table import Source
from anonymize.table.files import sha256_of
from anonymize.table.named import column
from anonymize.verify.histories import pseudonyms, published
from anonymize.verify.series import SeriesTable

Whose = Callable[[Sequence[bytes]], pl.Series | None]
"""By a secret, (rows,) whom each row is about; None where that is not known."""


@dataclass(frozen=True)
class FollowedRows:
    """The pseudonyms of a release. `column`: where they are; `wrong`: rows that have another one than the person's,
    None where it is not known whom rows are about and nothing speaks against them."""

    column: str
    wrong: int | None

    def block(self) -> dict[str, Any]:
        """Its block in a report."""
        return {"column": self.column, "wrong_rows": self.wrong}


def followed(texts: pl.Series, whose: Whose, secrets: Sequence[bytes], series: str) -> FollowedRows:
    """The pseudonyms `texts` (rows,) of a release of a `series`, compared with those under each of its keys. `secrets`:
    of the keys that followed each other."""
    counts = []
    for count in range(len(secrets), 0, -1):
        people = whose(secrets[:count])
        if people is not None:
            counts.append(int(texts.ne_missing(published(people, secrets[count - 1], series)).sum()))
            if not counts[-1]:
                break
    return FollowedRows(texts.name, min(counts, default=None))


def followed_on_record(texts: pl.Series, people: pl.Series, secrets: Sequence[bytes], series: str) -> FollowedRows:
    """Whom rows follow, where no more is known than who is in the release, `people` (people,), by pseudonyms under the
    last key: how many of them have no row. Before a key was rotated their rows had others, of which nothing is known.
    """
    lacking = int((~published(people, secrets[-1], series).is_in(texts.implode())).sum())
    return FollowedRows(texts.name, lacking if lacking and len(secrets) == 1 else None)


# --- the releases -----------------------------------------------------------------------------------------------------

_CLASS = "class"


def opened_state(path: str) -> SeriesState:
    """The state of a series, after an interrupted run has been finished or taken back. Raises UsageError where there is
    none or another process works on it, DataError where it is damaged."""
    if Journal(Path(path)).path.exists():
        with locked(Path(path)):
            pass
    return load_state(path)


def key_of(path: str, state_path: str) -> Key:
    """The key of a series, under which its state is sealed. Raises UsageError for that of another one, DataError for a
    state that was changed since, and what reading it raises."""
    return load_sealed(state_path, path, unsealed=True)[1]


@dataclass(frozen=True)
class RetracedRelease:
    """A release of a series. `people`: with whom its rows are about; `file`: it was found and read, None where it was
    not; `matches`: whether the state has on record what was found, None where there is nothing to compare it with;
    `lacking`: what was not found, or was another file; `followed`: the pseudonyms of its rows, where it was read and is
    to have some."""

    people: SeriesTable
    file: Audited | None
    matches: bool | None
    lacking: tuple[str, ...]
    followed: FollowedRows | None = None


@dataclass(frozen=True)
class SeriesFiles:
    """Where the files of a series are looked for: where the state says, and in the `folder` of the state. `secrets`: of
    the key. `spec`: that of the releases."""

    spec: Spec
    state: SeriesState
    secrets: Sequence[bytes]
    folder: Path

    def releases(self, stack: ExitStack) -> list[RetracedRelease]:
        """All of them, the oldest first. Raises DataError for a release that is there and cannot be read."""
        return [self._retraced(number, stack) for number in range(len(self.state.releases))]

    def _retraced(self, number: int, stack: ExitStack) -> RetracedRelease:
        release, recorded = self.state.releases[number], self._recorded(number)
        path = self.located(release.path, release.sha256)
        if path is None:
            return RetracedRelease(recorded, None, None, ("release",))
        # A release has neither column, and a pseudonym has no role.
        spec = self.spec.of_release().model_copy(update={"unit": None, "sampling_weight": None})
        read = opened(spec, path, classified=False)
        audited = replace(stack.enter_context(read), declared=True)
        people, lacking = self.people(release)
        if people is None:
            unknown = pl.int_range(release.rows, dtype=pl.UInt32, eager=True)
            same = _same_classes(self._read(audited, release.path, unknown), recorded)
            return RetracedRelease(recorded, audited, same, lacking, self._followed(release, audited, recorded.people))
        from_files = self._read(audited, release.path, people)
        same = _same_people(from_files, recorded)
        return RetracedRelease(from_files, audited, same, (), self._followed(release, audited, None, people))

    def _followed(
        self, release: SeriesRelease, audited: Audited, on_record: pl.Series | None, people: pl.Series | None = None
    ) -> FollowedRows | None:
        """The pseudonyms of a release. `people` (rows,): whom each row is about; or `on_record`: who is in it."""
        name = self.spec.output.pseudonym or self.state.fixed.get("output", {}).get("pseudonym")
        if name is None:
            return None
        if name not in audited.source.columns:
            return FollowedRows(name, release.rows)
        texts = audited.source.scan().select(column(name).cast(pl.String)).collect(engine="streaming").to_series()
        if on_record is not None:
            return followed_on_record(texts, on_record, self.secrets, self.state.series)

        def whose(secrets: Sequence[bytes]) -> pl.Series | None:
            whole = len(secrets) == len(self.secrets)
            return people if whole else replace(self, secrets=secrets).people(release)[0]

        return followed(texts, whose, self.secrets, self.state.series)

    def _read(self, audited: Audited, name: str, people: pl.Series) -> SeriesTable:
        spec, missing = self.spec, audited.missing
        return SeriesTable.of_text(
            name,
            audited.source.scan(),
            people,
            audited.columns,
            list(spec.sensitive),
            missing=missing.texts,
            null_missing=missing.null,
            suppressed=spec.output.suppressed,
            normalize=spec.input.normalize,
        )

    def people(self, release: SeriesRelease) -> tuple[pl.Series | None, tuple[str, ...]]:
        """(rows,) whom each row of a release is about, by its link and its original; None, and what is lacking, where
        one is not there or fits no other."""
        original = self.located(release.input.path, release.input.sha256)
        link = None if release.link is None else self.located(release.link, None)
        lacking = [name for name, path in (("link", link), ("original", original)) if path is None]
        if link is None or original is None:
            return None, tuple(lacking)
        try:
            rows = load_link(link, with_earlier=True)
            rows.check(link, input=release.input.sha256, release=release.sha256)
            whose = {release.input.sha256: self._pseudonyms(original)}
            for sha256 in {sha256 for _, sha256, _ in rows.earlier}:
                place = self._earlier_original(sha256)
                if place is None:
                    return None, ("original",)
                whose[sha256] = self._pseudonyms(place)
        except (DataError, pl.exceptions.PolarsError):
            return None, ("link",)
        row_of = pl.Series(rows.rows).replace(-1, None)
        people = whose[release.input.sha256].gather(row_of)
        return _filled(people, [(place, whose[sha256][row]) for place, sha256, row in rows.earlier]), ()

    def _pseudonyms(self, original: Path) -> pl.Series:
        """(rows,) whom each row of an original is about."""
        with Source.open(self.spec, original) as source:
            columns = [column(name) for name in self.state.person]
            return pseudonyms(source.scan(), columns, self.secrets, normalize=self.spec.input.normalize)

    def _earlier_original(self, sha256: str) -> Path | None:
        """An original with this hash, if it is one of the series and is there."""
        path = next((each.input.path for each in self.state.releases if each.input.sha256 == sha256), None)
        return None if path is None else self.located(path, sha256)

    def located(self, path: str, sha256: str | None) -> Path | None:
        """The file, if it is there and is the one of this hash."""
        for place in dict.fromkeys((Path(path), self.folder / path, self.folder / Path(path).name)):
            if place.is_file() and sha256 in (None, sha256_of(place)):
                return place
        return None

    def _recorded(self, number: int) -> SeriesTable:
        """A release as the state has it on record."""
        state, release = self.state, self.state.releases[number]
        classes = pl.Series(state.histories[state.history_of, number])
        names = list(state.values)
        codes = [state.people[value_column(number, place)] for place in range(len(names))]
        texts = [pl.Series([None, *state.values[name]], dtype=pl.String) for name in names]
        values = [column.gather((code + 1).fill_null(0)) for column, code in zip(texts, codes, strict=True)]
        frame = pl.DataFrame([classes.cast(pl.String).alias(_CLASS), *_named(values)])
        present = classes >= 0
        people = state.people["person"].filter(present)
        released = SeriesTable.of_text(
            release.path,
            frame.filter(present),
            people,
            [_CLASS],
            [each.name for each in _named(values)],
            normalize=self.spec.input.normalize,
            origin="state",
        )
        named = dict(zip(names, released.rows.values.values(), strict=True))
        return replace(released, rows=replace(released.rows, values=named))


def _filled(people: pl.Series, others: list[tuple[int, bytes]]) -> pl.Series:
    """People, with those of some places put where nobody is."""
    if not others:
        return people
    filled = people.to_list()
    for place, person in others:
        filled[place] = person
    return pl.Series(filled, dtype=pl.Binary)


def _named(values: list[pl.Series]) -> list[pl.Series]:
    """Columns of values under names that no other column has."""
    return [each.alias(f"value {number}") for number, each in enumerate(values)]


# --- what is on record, and what the files say ------------------------------------------------------------------------


def _rows(release: SeriesTable) -> pl.DataFrame:
    """A release as one table: `person`, `class`, and the text of each value, null where it is missing."""
    columns = [release.people.alias("person"), release.rows.classes.of_row.alias(_CLASS)]
    for number, each in enumerate(release.rows.values.values()):
        texts = each.by_number.gather(each.numbers.of_row)
        columns.append(texts.alias(f"value {number}"))
    present = [pl.col(each.name).replace(list(release.missing), None) for each in columns[2:]]
    return pl.DataFrame(columns).with_columns(present)


def _same_people(read: SeriesTable, recorded: SeriesTable) -> bool:
    """Whether those on record are in the release, in classes that part them as the text does, with its values. Those
    who are forgotten are not on record."""
    now, other = _rows(read), _rows(recorded)
    both = now.join(other, on="person", suffix=" on record")
    if both.height < other.height:
        return False
    parted = [
        both.select(names).n_unique() for names in ([_CLASS], [f"{_CLASS} on record"], [_CLASS, f"{_CLASS} on record"])
    ]
    values = [name for name in now.columns if name.startswith("value ")]
    alike = [pl.col(name).eq_missing(pl.col(f"{name} on record")).all() for name in values]
    return len(set(parted)) == 1 and (not alike or all(both.select(alike).row(0)))


def _same_classes(read: SeriesTable, recorded: SeriesTable) -> bool | None:
    """Whether as many classes have the same values, whoever they are about; None where people were forgotten."""
    if recorded.rows.count < read.rows.count:
        return None
    return bool(_kinds(read).equals(_kinds(recorded)))


def _kinds(release: SeriesTable) -> pl.DataFrame:
    """How many classes there are of each multiset of values."""
    rows = _rows(release).drop("person")
    values = [name for name in rows.columns if name != _CLASS]
    texts = pl.concat_list([pl.col(name).fill_null("") for name in values]) if values else pl.lit("").implode()
    tuples = rows.select(_CLASS, values=texts.list.eval(pl.element().str.replace_all("\x1f", "")).list.join("\x1f"))
    classes = tuples.sort(_CLASS, "values").group_by(_CLASS).agg("values").select(pl.col("values").list.join("\x1e"))
    return classes.group_by("values").len().sort("values")


def lacking(releases: list[RetracedRelease]) -> Iterator[Caution]:
    """What the reader has to know of files that are not there."""
    for kind in ("release", "link", "original"):
        count = sum(kind in each.lacking for each in releases)
        if count:
            whose = "" if kind == "release" else f"the {kind} of "
            what = f"{whose}{count} of {len(releases)} releases"
            gone = f"{what} could not be found, or is another file than the hash on record says: the state is believed"
            yield Caution.of(gone, "put the files back where the releases were written")


# --- the releases before ----------------------------------------------------------------------------------------------

NOT_IN_IT = "--series: the release is not one of this series, whose files have other hashes"
GONE = "{} of {} earlier releases of the series could not be found, and are left out"
APART = "of {} of {} earlier releases it is not known which rows belong together"


@dataclass(frozen=True)
class PastReleases:
    """Earlier releases, the oldest first. `rows_of`: of each (rows of the last release,) which of its rows is about the
    same person, -1 for none, or None where that is not known. `link`: that of the last release, where it is there.
    `remarks`: what was not found."""

    paths: Sequence[str]
    rows_of: Sequence[Ints | None]
    link: str | None = None
    remarks: Sequence[Caution] = ()


def in_series(spec: Spec, path: str, key: str | None, sha256: str) -> PastReleases:
    """The releases of the series at `path` before the one with this hash. Raises UsageError where that is not in the
    series, DataError for a key of another one."""
    state = opened_state(path)
    number = next((n for n in reversed(range(len(state.releases))) if state.releases[n].sha256 == sha256), None)
    if number is None:
        raise UsageError(NOT_IN_IT)
    series_key = None if key is None else key_of(key, path)
    files = SeriesFiles(spec, state, () if series_key is None else series_key.secrets, Path(path).parent)
    last, before = state.releases[number], state.releases[:number]
    pairs = [(files.located(each.path, each.sha256), each) for each in before]
    located = [(place, each) for place, each in pairs if place is not None]
    people = None if series_key is None else files.people(last)[0]
    rows_of = [None if people is None else _matched(people, files.people(each)[0]) for _, each in located]
    apart = sum(each is None for each in rows_of)
    gone = Caution.of(GONE.format(len(before) - len(located), len(before)), "put them back where they were written")
    unknown = Caution.of(APART.format(apart, len(located)), "keep links (`--save-link`) and originals; name `--key`")
    remarks = [*([gone] if len(located) < len(before) else []), *([unknown] if apart else [])]
    link = None if last.link is None else files.located(last.link, None)
    return PastReleases([str(place) for place, _ in located], rows_of, None if link is None else str(link), remarks)


def _matched(people: pl.Series, others: pl.Series | None) -> Ints | None:
    """(people,) where among the others each one is, -1 for who is not."""
    if others is None:
        return None
    rows = others.alias("person").to_frame().with_row_index("row")
    joined = people.alias("person").to_frame().join(rows, on="person", how="left", maintain_order="left")
    return joined["row"].cast(pl.Int64).fill_null(-1).to_numpy().astype(np.int64)
