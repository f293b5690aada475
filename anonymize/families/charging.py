"""What a release charges to the ledger of its people, and when: before the first draw of what is private, and else
before anything of it takes its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

from anonymize.dp.ledger import ROW, Charge, Ledger, sentence
from anonymize.errors import Caution
from anonymize.meaning.kinds import Changed
from anonymize.publication import Committing
from anonymize.records import dataclass
from anonymize.request import Request
from anonymize.table import OutputFile


class Rehearsal(Exception):
    """A dry run of what is private has come to its first draw. `report`: what it would be charged."""

    def __init__(self, report: dict[str, Any]) -> None:
        super().__init__()
        self.report = report


@dataclass
class Charging:
    """The ledger of a request; `ledger` None where it has none, and nothing is charged. `drawn`: what was charged
    before the first draw."""

    request: Request
    ledger: Ledger | None
    drawn: Bill | None = None

    @classmethod
    def of(cls, request: Request) -> Charging:
        """Raises UsageError as `Ledger.opened` does."""
        if request.budget is None:
            return cls(request, None)
        return cls(request, Ledger.opened(request.budget, request.key, request.spec.budget))

    def before_draw(self, table: str, charge: Charge) -> None:
        """Charges what is private, everything that can fail having been tried. `table`: the hash of the input. Raises
        Rehearsal on a dry run, which draws nothing."""
        charge = replace(charge, what=self.request.algorithm, input=table)
        bill = self.bill(charge)
        if self.request.dry_run:
            none = "nothing was drawn, and there is no ledger that would be charged (--budget)"
            said = bill.block["budget"]["said"] if bill.block else none
            raise Rehearsal({"rehearsal": True, "warnings": [Caution(said), *bill.said], **bill.block})
        if self.ledger is not None:
            self.ledger.charge(charge)
        self.drawn = replace(bill, charging=replace(self, ledger=None))

    def beside(self, local: Mapping[str, float | None], table: str) -> Bill:
        """What a release is charged that is not differentially private. `local`: see `Charge`; `table`: the hash of the
        input. What was charged before the first draw is charged once. Raises as `Ledger.check` does."""
        if self.drawn is not None:
            return self.drawn
        return self.bill(Charge(self.request.algorithm, self.request.spec.unit or ROW, local=local, input=table))

    def bill(self, charge: Charge) -> Bill:
        """The same of any charge."""
        if self.ledger is None:
            return Bill(self, charge)
        block = self.ledger.check(charge) | {"charged": not self.request.dry_run}
        remarks = [Caution(each) for each in block.pop("remarks")]
        block["said"] = sentence(block)
        return Bill(self, charge, {"budget": block}, [] if self.request.public else remarks)


@dataclass(frozen=True)
class Bill:
    """What a release is charged. `block`: of a private report; `said`: what it warns of."""

    charging: Charging
    charge: Charge
    block: dict[str, Any] = field(default_factory=dict)
    said: Sequence[Caution] = ()

    def committing(self, commit: Committing) -> Committing:
        """What gives outputs their places once the charge is on disk; on a dry run nothing is charged."""
        ledger, dry_run = self.charging.ledger, self.charging.request.dry_run
        return commit if ledger is None or dry_run else partial(_charged, ledger, self.charge, commit)


def _charged(ledger: Ledger, charge: Charge, commit: Committing, outputs: Sequence[OutputFile]) -> None:
    for output in outputs:
        output.sync()
    ledger.charge(charge)
    commit(outputs)


def local_epsilons(own: Mapping[str, float | None], meanings: Mapping[str, Changed]) -> dict[str, float | None]:
    """By column, the epsilon of values that are distorted one by one: by the family's `own` account, and as steps of
    `treatments` change them; None for one without bound."""
    steps = {name: each.details.get("epsilon") for name, each in meanings.items() if each.kind == "channel"}
    return {**own, **steps}
