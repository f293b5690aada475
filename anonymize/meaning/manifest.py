"""The manifest: the public file that says what the columns of a release mean.

`released.manifest.json`, or `released.params.json` next to a randomized release, whose recipients rely on that name. Of
a release that has none, the spec says it: quasi-identifiers span values, and whatever else is released passed through.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from anonymize.errors import Caution, DataError, Problem, UsageError
from anonymize.files import manifest_of, sensitive_table_of
from anonymize.meaning.kinds import DEFINED, Changed, Channel, Detached, Exact, Meaning, Named, Spanning
from anonymize.places import is_uri
from anonymize.records import dataclass
from anonymize.spec import Spec
from anonymize.spec.columns import WITHHELD

FORMAT, RANDOMIZED = "anonymize-manifest", "anonymize-randomization"
VERSION = 1
TABLES = "manifest.json"
"""The name of the manifest in a folder of tables."""
CHANGED = ("aggregate", "channel", "moved", "spans")
"""Kinds of meaning of columns that a step of `treatments` changed."""
NOTHING_SENSITIVE = "{}: is randomized, and the spec has no sensitive attribute to reconstruct"
TWO_KINDS = "--st and --group are about a bucketized release, --parameters about a randomized one"

Kind = TypeVar("Kind", bound=Meaning)


@dataclass(frozen=True)
class Manifest:
    """`meanings`: by the name of a column of the input. `rows`: of the release; `separator`: of its CSV; None where
    that is not said. `path`: of the file that says it all, None where the spec does. `files`: what the release has
    in addition to its rows, such as a table of counts: by the name of the file, the meaning of each of its columns."""

    meanings: Mapping[str, Meaning]
    rows: int | None = None
    separator: str | None = None
    path: str | None = None
    files: Mapping[str, Mapping[str, Meaning]] = field(default_factory=dict)
    synthetic: Mapping[str, Any] | None = None
    """How a table of invented rows was drawn: all that the mechanism put out."""

    # --- what it says ---

    @property
    def invented_numbers(self) -> frozenset[str]:
        """The columns of invented rows that are numbers: those that were counted in bins."""
        domain = {} if self.synthetic is None else self.synthetic.get("domain", {})
        return frozenset(name for name, each in domain.items() if isinstance(each, Mapping))

    @property
    def channels(self) -> dict[str, Channel]:
        """The columns of a randomized release, also those that were left alone; empty for others."""
        return self._of(Channel)

    @property
    def detached(self) -> Detached | None:
        """How the sensitive attribute is detached from its rows; None where none is."""
        return next(iter(self._of(Detached).values()), None)

    @property
    def spans(self) -> bool:
        """Whether some column shows spans, so that rows that read the same are a class."""
        own = [*self._of(Spanning), *(self.changed.keys() - self.replaced.keys())]
        return self.detached is None and not self.channels and bool(own)

    @property
    def labelled(self) -> frozenset[str]:
        """The columns whose numbers are shown as nodes of their hierarchies."""
        return frozenset(name for name, each in self._of(Spanning).items() if each.labels)

    @property
    def changed(self) -> dict[str, Changed]:
        """The columns whose values a step of `treatments` changed."""
        return self._of(Changed)

    @property
    def replaced(self) -> dict[str, Changed]:
        """Those of them that show other values, and not the original ones or suppressed cells."""
        return {name: each for name, each in self.changed.items() if each.kind != Spanning.kind}

    @property
    def unread(self) -> dict[str, str]:
        """The columns whose meaning nothing reads, with what it is called."""
        return {name: each.kind for name, each in self.meanings.items() if not each.read}

    @property
    def recoding(self) -> dict[str, Any]:
        """What a report says of cells that may show anything: the channels, as far as a file has them, or the columns
        that nothing reads."""
        if not self.channels:
            return {"unread": self.unread} if self.unread else {}
        odds = {name: each.odds for name, each in self.channels.items() if each.values is not None}
        return {"kind": "randomized"} | ({"distortion": odds} if odds and self.path is not None else {})

    def check_rows(self, rows: int | None, file: str) -> None:
        """Raises DataError for a release of another number of rows than its file says, or of none."""
        if rows != self.rows or not rows:
            raise DataError(Problem(f"has {rows} rows, and its parameters are of {self.rows}", file=file))

    def check_judged(self, path: str | None) -> None:
        """Raises UsageError for a release through channels: its risk depends on the original."""
        if self.channels:
            raise unjudged(path, self.path)

    def check_method(self, method: str | None, *, grouped: bool) -> None:
        """Raises UsageError for a method of undoing channels where there are none; `grouped`: options say that the
        release has groups."""
        if method is not None and not self.channels:
            raise UsageError(TWO_KINDS if grouped else "--method: is about a randomized release, name its --parameters")

    def kinds(self, names: Iterable[str]) -> set[str]:
        """What some columns are, as far as it is said of them."""
        return {self.meanings[name].kind for name in names if name in self.meanings}

    @property
    def remarks(self) -> list[Caution]:
        """What there is to say of the columns, and of further files, that nothing reads."""
        unread = [] if self.synthetic is not None else list(self.unread.items())
        for file, meanings in self.files.items():
            unread += [(f"{file}: {name}", each.kind) for name, each in meanings.items() if not each.read]
        ask = "ask the publisher of the release what it means"
        return [Caution.of(f"{name}: is {kind}, {DEFINED[kind]}; nothing here reads it", ask) for name, kind in unread]

    def check_read(self, names: Iterable[str], doing: str) -> None:
        """Raises UsageError for columns among `names` whose meaning nothing reads; `doing`: what it cannot be."""
        problems = [
            Problem(f"{name}: is {kind}, {DEFINED[kind]}, and cannot be {doing}", file=self.path)
            for name, kind in self.unread.items()
            if name in set(names)
        ]
        if problems:
            raise UsageError(problems)

    def check_unchanged(self, names: Iterable[str], doing: str) -> None:
        """Raises UsageError for columns among `names` whose values a treatment replaced. `doing`: see `check_read`."""
        changed = {name: each for name, each in self.replaced.items() if name in set(names)}
        problems = [f"{name}: was changed by {each.method}, and cannot be {doing}" for name, each in changed.items()]
        if problems:
            raise UsageError([Problem(each, file=self.path) for each in problems])

    def named(self, names: Sequence[str]) -> list[Channel]:
        """Some of the channels. Raises UsageError for one that there is not, or is named twice."""
        channels = self.channels
        wrong = [
            f"{name!r} is not an attribute of the parameters, which have {', '.join(channels)}"
            for name in names
            if name not in channels
        ]
        wrong += [f"{name!r} is named twice" for name in dict.fromkeys(names) if names.count(name) > 1]
        if wrong:
            raise UsageError(wrong)
        return [channels[name] for name in names]

    def _of(self, kind: type[Kind]) -> dict[str, Kind]:
        return {name: each for name, each in self.meanings.items() if isinstance(each, kind)}

    # --- where it comes from ---

    @classmethod
    def of_spec(
        cls, spec: Spec, others: Mapping[str, Meaning] = MappingProxyType({}), *, labels: bool = False
    ) -> Manifest:
        """What a spec says of a release with classes, but for the columns that mean something else, which are `others`.
        `labels`: as of `Spanning`."""
        known = {**dict.fromkeys(spec.quasi_identifiers, Spanning(labels)), **_changed(spec), **others}
        return cls({name: known.get(name) or Exact() for name in _released(spec)})

    @classmethod
    def of_buckets(cls, spec: Spec, by: str, table: str | None) -> Manifest:
        """The manifest of a bucketized release: quasi-identifiers pass through, the sensitive attributes are detached.
        Where none is named, the column of groups stands for them."""
        detached = Detached(by, table)
        roles = _released(spec) | ({} if spec.sensitive else {by: "sensitive"})
        changed = _changed(spec)
        return cls(
            {name: detached if role == "sensitive" else changed.get(name) or Exact() for name, role in roles.items()}
        )

    @classmethod
    def of(
        cls,
        spec: Spec,
        path: str | None,
        *,
        manifest: str | None = None,
        st: str | None = None,
        group: str | None = None,
    ) -> Manifest:
        """The manifest that was asked for, or that is next to the release, or else what the spec says.

        `manifest`: path of the file, or of the parameters of a randomized release. `st`, `group`: of a bucketized one
        its sensitive table, and the column of groups. Raises UsageError for both kinds at once, DataError for a file
        that is none.
        """
        if manifest is not None and (st is not None or group is not None):
            raise UsageError(TWO_KINDS)
        if manifest is None and st is None and group is None and path is not None:
            manifest = manifest_of(path)
        if manifest is not None:
            return cls.read(manifest)
        st = st or (None if path is None else sensitive_table_of(path))
        return cls.of_spec(spec) if st is None and group is None else cls.of_buckets(spec, group or "group", st)

    # --- the file ---

    @classmethod
    def read(cls, path: str) -> Manifest:
        """The file's. Raises DataError for one that cannot be read or is not such a file, and for a meaning that is not
        known."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(Problem(f"cannot be read: {error.strerror}", file=path)) from None
        except (ValueError, RecursionError):
            raise DataError(Problem("is no JSON", file=path)) from None
        return cls.of_content(content, path)

    @classmethod
    def read_channels(cls, path: str) -> Manifest:
        """The manifest of a release through channels. Raises DataError as `read` does, and for that of another
        release."""
        manifest = cls.read(path)
        if not manifest.channels:
            message = "does not say for any column how it was distorted: there is nothing to reconstruct"
            raise DataError(Problem(message, file=path))
        return manifest

    @classmethod
    def of_content(cls, content: Any, path: str) -> Manifest:
        """What the file at a path has in it; see `read`."""
        randomized = isinstance(content, dict) and content.get("format") == RANDOMIZED
        try:
            if (content["format"], content["version"]) not in ((FORMAT, VERSION), (RANDOMIZED, VERSION)):
                raise ValueError
            entries = content["attributes" if randomized else "columns"]
            if randomized:
                entries = [{**each, "meaning": Channel.kind} for each in entries]
            rows = int(content["rows"]) if randomized or "rows" in content else None
            further = content.get("files", [])
            files = {_file_name(each["name"]): _meanings(each["columns"], path) for each in further}
            if len(files) < len(further):
                raise ValueError
            drawn = content.get("synthetic")
            return cls(_meanings(entries, path), rows, str(content["separator"]), path, files, drawn)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            other = "" if randomized else ", nor a manifest of a release"
            message = f"is not a file of parameters as randomize writes it{other} (version {VERSION})"
            raise DataError(Problem(message, file=path)) from None

    def content(self, separator: str, table: str | None) -> dict[str, Any]:
        """What a file of it has in it. `separator`: of the release; `table`: the path of the other table of a release
        in groups as it is published, of which the name stands there."""
        columns = _entries(self.meanings)
        for column in columns:
            if table is not None and "table" in column:
                column["table"] = Path(table).name
        files = [{"name": name, "columns": _entries(meanings)} for name, meanings in self.files.items()]
        further: dict[str, Any] = {"files": files} if files else {}
        if self.synthetic is not None:
            further["synthetic"] = dict(self.synthetic)
        return {"format": FORMAT, "version": VERSION, "separator": separator, "columns": columns, **further}


def unjudged(path: str | None, parameters: str | None) -> UsageError:
    """That a release through channels is not judged by itself."""
    message = f"{path}: is randomized according to {parameters}, and cannot be judged without its original"
    hint = "randomize has checked it; evaluate and reconstruct measure what it shows"
    return UsageError(Problem(message, hint=hint))


def _released(spec: Spec) -> dict[str, str]:
    return {name: role for name, role in spec.roles().items() if role not in WITHHELD}


def _changed(spec: Spec) -> dict[str, Meaning]:
    """What columns mean that steps of the spec's `treatments` change."""
    return {name: Changed(step.KIND, step.method) for name, step in spec.treated.items()}


def _entries(meanings: Mapping[str, Meaning]) -> list[dict[str, Any]]:
    return [{"name": name, "meaning": each.kind, **each.entry()} for name, each in meanings.items()]


def _meanings(entries: Sequence[Mapping[str, Any]], path: str) -> dict[str, Meaning]:
    """By name, the meaning of the columns that stand in a file at `path`. Raises DataError for meanings that are not
    known, and what `_meaning` raises; ValueError for a column that is there twice."""
    kinds = {str(each["name"]): str(each["meaning"]) for each in entries}
    unknown = [
        f"the meaning of {name} is {kind!r}, which is not known here ({', '.join(DEFINED)})"
        for name, kind in kinds.items()
        if kind not in DEFINED
    ]
    if unknown:
        raise DataError([Problem(each, file=path) for each in unknown])
    if len(kinds) < len(entries):
        raise ValueError
    return {str(each["name"]): _meaning(each, path) for each in entries}


def _meaning(entry: Mapping[str, Any], path: str) -> Meaning:
    """The meaning of an entry of a file. Raises an error of these kinds for what is none: lookup, type, value,
    attribute, arithmetic."""
    name, kind = str(entry["name"]), str(entry["meaning"])
    details = {key: value for key, value in entry.items() if key not in ("name", "meaning", "method")}
    if kind in CHANGED and isinstance(entry.get("method"), str):
        return Changed(kind, entry["method"], details)
    if kind == Exact.kind:
        return Exact()
    if kind == Spanning.kind:
        return Spanning(bool(entry.get("labels", False)))
    if kind == Channel.kind and "p" in entry:
        return Channel.of_entry(name, entry)
    if kind == Detached.kind:
        return Detached(str(entry["by"]), _beside(path, entry.get("table")))
    return Named(kind, {key: value for key, value in entry.items() if key not in ("name", "meaning")})


def _beside(path: str, name: Any) -> str | None:
    """The path of another file of the release, which is in the manifest's own folder. Raises ValueError for another
    place: a manifest names nothing else to read."""
    return None if name is None else str(Path(path).with_name(_file_name(name)))


def _file_name(name: Any) -> str:
    """The name of a file in the manifest's own folder. Raises ValueError for a path that leads elsewhere."""
    if not isinstance(name, str) or Path(name).name != name:
        raise ValueError
    return name


# --- tables -----------------------------------------------------------------------------------------------------------


def refuse_tables(path: object) -> None:
    """Raises UsageError for a folder of tables of `tabulate`, its manifest, or one of the tables in it: they have no
    rows of people that could be measured. Of a folder, says which of its files are none of these tables."""
    if not isinstance(path, str | Path) or is_uri(path) or path == "-":
        return
    given = Path(path)
    place = given / TABLES if given.is_dir() else given.with_name(TABLES)
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
        kind, names = content["kind"], [each["name"] for each in content["files"]]
    except (OSError, ValueError, LookupError, TypeError):
        return
    if kind == "tables" and (given.is_dir() or given.name in (TABLES, *names)):
        hint = "`tabulate ... -r report.html` says what was checked; of their loss the report and the manifest tell"
        said = "these are tables of `tabulate`, which were checked when they were made"
        problems = [Problem(said, str(path), hint=hint)]
        if given.is_dir():
            others = sorted(each.name for each in given.iterdir() if each.name not in (TABLES, *names))
            unknown = "is in a folder of tables, and the manifest does not name it: nothing here was checked"
            ask = "publish the folder without it; `audit` of the file itself, if it has rows of people"
            problems += [Problem(unknown, str(given / name), hint=ask) for name in others]
        raise UsageError(problems)
