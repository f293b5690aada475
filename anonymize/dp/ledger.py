"""A ledger about people: what all releases about them have spent together, whatever tables these were made of.

The file is JSON of mode 0600: `format` "anonymize ledger", `format_version` 1, `tool` (version), `id` (drawn at
random), `key` (the fingerprint of the key that seals it), `budget` {`epsilon`, `delta`}: the cap, fixed when the ledger
is made; `individual`: "row", or the column of the `unit` that all charges are about; `counter`; `charges`, the oldest
first; and `seal`, HMAC-SHA256 under the key of the SHA-256 of all of it but the seal. A charge has a `chain`, a hash
of itself and of the chain before it, the first of what the ledger is about. The counter and the last chain stand in the
file of the lock as well, so that a ledger that was put back, cut short or removed is noticed where that file still is.

What is summed. A charge of a differentially private output has a `rho` of zero-concentrated differential privacy (zCDP)
and a `slack`, the probability that is left out of it. Of zCDP the slack is 0. Pure epsilon counts as epsilon^2 / 2 of
rho (Bun and Steinke 2016, proposition 1.4), and (epsilon, delta) as the same with delta as its slack (their section 8:
but for events of probability delta it is pure). Both are added up, and come to an epsilon at the delta of the cap less
the sum of slacks, by opendp's conversion. As each charge has an `epsilon` and a `delta` of its own as well, whose plain
sums bound the same releases, the sum is within the cap where either is. Both are bounds where what a release may spend
was not chosen by what earlier ones showed; where it was, either is one by itself, and both together at twice the delta.

What is not. Local epsilons of distorted values and of PRAM are of single values, and a release with classes, or with
perturbed values, has no epsilon: these are listed, and the bound does not cover them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import reduce
from hmac import compare_digest
from pathlib import Path
from typing import Any

from anonymize import __version__
from anonymize.dp.mechanisms import ROW, SUMMED, TOLERANCE, Charge, Total, epsilon_of, rho_of, still_fits
from anonymize.errors import DataError, InfeasibleError, Problem, UsageError
from anonymize.journal import Journal, lock_of, waiting
from anonymize.key import Key, load
from anonymize.records import dataclass
from anonymize.spec.model import EpsilonDelta
from anonymize.table import OutputFile, files

FORMAT, FORMAT_VERSION = "anonymize ledger", 1
RECORD = "ledger"
"""What the file of the lock has of a ledger, by this name."""
COVERED = (
    "The bound covers the differentially private outputs alone: what generalized or perturbed releases of "
    "the same people tell is not in it, nor does anything bound the two together."
)
REPLACED = ", one in place of another"
"""Behind the individual of a charge whose neighbouring tables have the same number of them: it bounds nothing of tables
that have one more."""
MADE = "the ledger is new: what was released about these people before is not in it"


@dataclass(frozen=True)
class Entries:
    """What a ledger has. `chains`: one for each of the charges, see the module."""

    id: str
    key: str
    budget: EpsilonDelta
    individual: str
    charges: tuple[Charge, ...] = ()
    chains: tuple[str, ...] = ()

    @property
    def head(self) -> str:
        """What the first chain follows: a hash of what the ledger is about."""
        return _digest([FORMAT, self.id, self.key, self.budget.model_dump(), self.individual])

    @property
    def last(self) -> str:
        """The chain that the next charge follows."""
        return self.chains[-1] if self.chains else self.head

    @property
    def total(self) -> Total:
        return Total.of(self.charges, self.budget.delta)

    def left(self, delta: float, *, zcdp: bool = True) -> dict[str, float]:
        """The largest `epsilon` of one more charge that the cap still allows, by either of the two sums, at a `delta`
        of at most the given one; and the `rho` that is left. 0 for what is no more than rounding. `zcdp`: whether the
        charge would be in zCDP, or only an epsilon and a delta of it be known. Of a ledger in which nothing is summed
        yet, the whole cap, and no rho, which takes opendp.
        """
        spent, cap = self.total, self.budget
        if not spent.rho and delta == cap.delta:
            return cap.model_dump()
        free = cap.delta - spent.slack - (0.0 if zcdp else delta)
        whole = rho_of(cap.epsilon, free) if free > cap.delta * TOLERANCE else 0.0
        rho = _beyond_rounding(whole - spent.rho, whole)
        by_rho = 0.0 if not rho else epsilon_of(rho, delta) if zcdp else math.sqrt(2 * rho)
        rest = min(delta, _beyond_rounding(cap.delta - spent.plain[1], cap.delta))
        by_sum = _beyond_rounding(cap.epsilon - spent.plain[0], cap.epsilon) if rest else 0.0
        epsilon, reached = (by_sum, rest) if by_sum > by_rho else (by_rho, delta)
        return {"epsilon": epsilon, "delta": reached, "rho": rho}

    def charged(self, charge: Charge) -> Entries:
        chain = _digest([self.last, len(self.charges) + 1, asdict(charge)])
        return replace(self, charges=(*self.charges, charge), chains=(*self.chains, chain))

    def content(self) -> dict[str, Any]:
        """The file, but for the seal."""
        charges = [asdict(each) | {"chain": chain} for each, chain in zip(self.charges, self.chains, strict=True)]
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "tool": __version__,
            "id": self.id,
            "key": self.key,
            "budget": self.budget.model_dump(),
            "individual": self.individual,
            "counter": len(charges),
            "charges": charges,
        }

    def text(self, key: Key) -> str:
        content = self.content()
        return json.dumps(content | {"seal": _seal(content, key)}, ensure_ascii=False, indent=1) + "\n"


def _refused(message: str, path: Path, hint: str) -> UsageError:
    return UsageError(Problem(message, os.fspath(path), hint=hint))


def _beyond_rounding(left: float, whole: float) -> float:
    return left if left > whole * TOLERANCE else 0.0


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _seal(content: Mapping[str, Any], key: Key) -> str:
    return key.sealed(bytes.fromhex(_digest(content)))


# --- reading ----------------------------------------------------------------------------------------------------------


def entries_of(path: Path, key: Key | None = None) -> Entries:
    """Reads a ledger; with its key, its seal is checked as well.

    Raises UsageError where there is none, where it is one of another key, or was changed, cut short or put back;
    DataError where it cannot be read, or is none.
    """
    try:
        if os.stat(path).st_nlink > 1:
            hint = "copy it to a file of its own: a charge would go to one of the names alone"
            raise _refused("is one file under several names", path, hint)
        content = json.loads(path.read_text(encoding="utf-8"))
        entries = _entries(content)
    except FileNotFoundError:
        raise _refused("there is no ledger", path, "it is made by the first release with --budget") from None
    except OSError as error:
        raise DataError(Problem(f"cannot be read: {files.reason(error)}", os.fspath(path))) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        message = f"is not a ledger of format_version {FORMAT_VERSION}, or is damaged"
        raise _refused(message, path, "take a copy of it that is not") from None
    _check_unchanged(content, entries, path, key)
    _check_last(entries, path)
    return entries


def _entries(content: Mapping[str, Any]) -> Entries:
    """Raises some exception for what is not a ledger of this version."""
    if (content["format"], content["format_version"]) != (FORMAT, FORMAT_VERSION):
        raise ValueError
    charges = [{name: value for name, value in each.items() if name != "chain"} for each in content["charges"]]
    return Entries(
        str(content["id"]),
        str(content["key"]),
        EpsilonDelta.model_validate(content["budget"]),
        str(content["individual"]),
        tuple(_charge(each) for each in charges),
        tuple(str(each["chain"]) for each in content["charges"]),
    )


def _charge(content: Mapping[str, Any]) -> Charge:
    charge = Charge(**content)
    figures = [getattr(charge, name) for name in SUMMED]
    bounded = all(isinstance(each, float) and 0 <= each < math.inf for each in figures)
    if not bounded and any(each is not None for each in figures):
        raise ValueError
    return charge


def _check_unchanged(content: Mapping[str, Any], entries: Entries, path: Path, key: Key | None) -> None:
    """Raises UsageError for a ledger that is not as it was written."""
    again = reduce(Entries.charged, entries.charges, replace(entries, charges=(), chains=()))
    if key is not None and entries.key != key.fingerprint:
        raise _refused("is a ledger of another key", path, "take the key that it was made with")
    body = {name: value for name, value in content.items() if name != "seal"}
    sealed = key is None or compare_digest(str(content.get("seal")), _seal(body, key))
    if again.chains != entries.chains or content.get("counter") != len(entries.charges) or not sealed:
        message = "has been changed since it was written: its charges are not those that were sealed"
        raise _refused(message, path, "take a copy of it that was not")


def _check_last(entries: Entries, path: Path) -> None:
    """Raises UsageError where what the file of the lock records is of a later one, or of charges that it lacks."""
    record = _record(path)
    if record is None:
        return
    if record.get("id") != entries.id:
        message = f"{lock_of(path)} belongs to another ledger, which this one has replaced"
        raise _refused(message, path, "put that one back, or keep this one elsewhere")
    counter = int(record.get("counter", 0))
    known = (entries.head, *entries.chains)
    if counter > len(entries.charges):
        message = f"{lock_of(path)} belongs to a later one: charges are missing from this one"
        raise _refused(message, path, "take the last one")
    if record.get("chain") != known[counter]:
        message = f"{lock_of(path)} records a charge that this one does not have: the ledger was forked"
        raise _refused(message, path, "take the one that has it")


def _record(path: Path) -> dict[str, Any] | None:
    """What is on record of a ledger; None where nothing is."""
    try:
        content = json.loads(lock_of(path).read_text(encoding="utf-8"))[RECORD]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return content if isinstance(content, dict) else None


# --- charging ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ledger:
    """The ledger at a path, under its key. `budget`: the cap that a spec declares, which is needed to make one.

    Nothing is held open between two steps: each reads the ledger as it is then, and a charge does so under the lock, so
    that two processes never pass the cap together.
    """

    path: Path
    key: Key
    budget: EpsilonDelta | None

    @classmethod
    def opened(cls, path: str | Path, key: str | Path | None, budget: EpsilonDelta | None) -> Ledger:
        """The ledger of a release. Raises UsageError without a key, without a cap where there is no ledger yet, with
        another cap than the ledger's, and what reading it raises."""
        if key is None:
            hint = "--key FILE, a file of `anonymize key make`"
            raise UsageError(Problem("--budget: a ledger is sealed with a key", hint=hint))
        ledger = cls(Path(os.path.realpath(path)), load(key), budget)
        if ledger.path.is_dir() or not ledger.path.parent.is_dir():
            what = "is a folder" if ledger.path.is_dir() else f"there is no folder {ledger.path.parent}"
            raise UsageError(f"--budget: {path}: {what}")
        with waiting(ledger.path, RECORD):
            ledger._entries(ROW)
        return ledger

    def check(self, charge: Charge) -> dict[str, Any]:
        """What the ledger comes to with a charge, as a private report has it. Nothing is written, and nothing is known
        to be left when the charge is made: see `charge`.

        Raises InfeasibleError, with what is left, for a charge that would pass the cap; UsageError for one about
        another individual than the ledger is about.
        """
        with waiting(self.path, RECORD):
            return _block(self._with(charge))

    def charge(self, charge: Charge) -> None:
        """Charges, and waits until that is on disk. Raises as `check` does; WriteError where it cannot be written.
        Whatever happens afterwards, the charge stays."""
        with waiting(self.path, RECORD) as journal:
            entries = self._with(charge)
            with OutputFile(self.path, force=True, private=True) as output:
                journal.begin([output])
                output.write_text(entries.text(self.key))
                journal.commit([output])
                journal.record(RECORD, {"id": entries.id, "counter": len(entries.charges), "chain": entries.last})
                journal.end()

    def _with(self, charge: Charge) -> Entries:
        before = self._entries(charge.individual)
        if before.individual != charge.individual:
            own, other = _named(before.individual), _named(charge.individual)
            hint = "name the same people by the same `unit`, or keep a ledger for each"
            raise _refused(f"the ledger is about {own}, and this release about {other}", self.path, hint)
        entries = before.charged(charge)
        if charge.bounded and entries.total.epsilon > entries.budget.epsilon * (1 + TOLERANCE):
            raise InfeasibleError(self._over(before, charge))
        return entries

    def _over(self, before: Entries, charge: Charge) -> Problem:
        spent, cap = before.total, before.budget
        left = before.left(charge.delta or cap.delta, zcdp=not charge.slack)
        message = (
            f"the budget is spent: of epsilon {cap.epsilon:g} at delta {cap.delta:g}, {spent.epsilon:.6g} are spent, "
            f"and this release of epsilon {charge.epsilon:.6g} at delta {charge.delta:.3g} would bring it above: "
            f"{still_fits(left)}"
        )
        none = "release nothing more about these people"
        hint = f"require a smaller epsilon, or {none}" if left["epsilon"] else none
        return Problem(message, os.fspath(self.path), hint=hint)

    def _entries(self, individual: str) -> Entries:
        """What the ledger has, or the first of one that is to be made."""
        if os.path.lexists(self.path):
            entries = entries_of(self.path, self.key)
            if self.budget is not None and self.budget != entries.budget:
                cap = f"epsilon {entries.budget.epsilon:g} at delta {entries.budget.delta:g}"
                message = f"the ledger was made for {cap}, the spec has another"
                raise _refused(message, self.path, "the cap is fixed when a ledger is made")
            return entries
        if _record(self.path) is not None:
            message = f"the ledger is gone: {lock_of(self.path)} has it on record"
            raise _refused(message, self.path, "put it back; a new one would forget its charges")
        if self.budget is None:
            message = "there is no ledger, and the spec has no budget for a new one"
            raise _refused(message, self.path, "budget: {epsilon: 4, delta: 1.0e-8}")
        return Entries(secrets.token_hex(8), self.key.fingerprint, self.budget, individual)


def _named(individual: str) -> str:
    """How a message names individuals."""
    column = individual.removesuffix(REPLACED)
    return ("rows" if column == ROW else f"the unit {column}") + individual[len(column) :]


# --- what is said -----------------------------------------------------------------------------------------------------


def _block(entries: Entries) -> dict[str, Any]:
    """What a private report has of a ledger, whose last charge is the release's own."""
    own = entries.charges[-1]
    new = [MADE] if len(entries.charges) == 1 else []
    return summary(entries, own.delta) | {"charge": _said(own), "remarks": new}


def summary(entries: Entries, delta: float | None = None) -> dict[str, Any]:
    """What a ledger comes to. `delta`: of one more charge that may be left; that of the cap for None."""
    spent, cap = entries.total, entries.budget
    beside = [each for each in entries.charges if not each.bounded]
    return {
        "id": entries.id,
        "individual": entries.individual,
        "budget": cap.model_dump(),
        "charges": len(entries.charges),
        "spent": {"rho": spent.rho, "slack": spent.slack, "epsilon": spent.epsilon, "delta": spent.delta},
        "left": entries.left(delta or cap.delta),
        "beside": {
            "unbounded": sum(not each.local for each in beside),
            "local": sum(bool(each.local) for each in beside),
        },
        "covered": COVERED,
    }


def _said(charge: Charge) -> dict[str, Any]:
    return {name: value for name, value in asdict(charge).items() if value not in (None, {}, "")}


def contents(path: str | Path, key: str | Path | None = None) -> dict[str, Any]:
    """A ledger with all its charges; what an interrupted run has left is finished first. With its key, its seal is
    checked as well. Raises what reading it raises."""
    place = Path(os.path.realpath(path))
    if not place.exists() and not Journal(place).path.exists():
        entries_of(place)  # which says that there is none, before a lock is made
    with waiting(place, RECORD):
        entries = entries_of(place, None if key is None else load(key))
    return summary(entries) | {"sealed": key is not None, "list": [_said(each) for each in entries.charges]}
