"""A method that nothing here knows: its release says what its columns mean, and whoever reads it needs no change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from anonymize._attack import Attack, attack
from anonymize._audit import Audit, audit
from anonymize._evaluate import Evaluate, evaluate
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS, Algorithm, mondrian
from anonymize.errors import UsageError
from anonymize.families import FAMILIES, Draft, Family, Measured
from anonymize.meaning import Manifest, Named
from anonymize.privacy import PARAMETERS, requirements
from anonymize.publication import Files, ReleasePaths
from anonymize.report.data import Blocks, verdict_blocks
from anonymize.request import Request
from anonymize.spec import load
from anonymize.verify import Verdict

NOISE = Named("channel", {"mechanism": "laplace", "scale": 2})


@dataclass(frozen=True)
class NoisyDraft(Draft):
    """The table with three more in each cell of a column."""

    column: str

    def manifest(self, files: Files) -> Manifest:
        return Manifest.of_spec(self.request.spec, {self.column: NOISE})

    def write(self, files: Files) -> None:
        frame = pl.concat(list(files.source.batches(self.table.columns)))
        files.table.write(iter([frame.with_columns((pl.col(self.column).cast(pl.Int64) + 3).cast(pl.String))]))

    def measure(self, files: Files) -> Measured:
        return Measured(Verdict(4, 0, (), {}, {}))

    def blocks(self, files: Files, measured: Measured) -> Blocks:
        measured_blocks = verdict_blocks(measured.verdict)
        return Blocks(output={}, measured=measured_blocks, utility={}, recoding={}, warnings=measured.verdict.cautions)


@pytest.fixture
def noisy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Request]:
    """A request for a release in which a column was noised."""

    def asked(column: str, **more: Any) -> Request:
        family = SimpleNamespace(
            requirements=requirements,
            paths=lambda request: ReleasePaths([request.output]),
            draft=lambda request, required, table, result: NoisyDraft(request, required, table, column),
        )
        needs = replace(mondrian.NEEDS, family="noise")
        module = SimpleNamespace(ID="noise", Options=mondrian.Options, NEEDS=needs, run=lambda *_: ())
        monkeypatch.setitem(ALGORITHMS, "noise", cast(Algorithm, module))
        monkeypatch.setitem(FAMILIES, "noise", cast(Family, family))
        (tmp_path / "t.csv").write_text("age,sex,pay\n1,M,10\n1,M,20\n8,F,30\n8,F,40\n", encoding="utf-8")
        (tmp_path / "s.yaml").write_text(
            "version: 1\ninput: {path: t.csv}\nquasi_identifiers: {age: {type: numeric}, sex: {}}\n"
            "insensitive: [pay]\nprivacy: {k: 2}\n"
        )
        spec, at = load(tmp_path / "s.yaml", PARAMETERS), str(tmp_path / "out")
        options = mondrian.Options()
        return Request(spec, "noise", options, output=f"{at}.csv", manifest=f"{at}.manifest.json", **more)

    return asked


READERS: dict[str, tuple[str, Callable[[Request], object]]] = {
    "evaluate": ("measured", lambda request: evaluate(Evaluate(request.spec, request.output))),
    "public": ("measured", lambda request: evaluate(Evaluate(request.spec, request.output, public=True))),
    "attack": ("attacked", lambda request: attack(Attack(request.spec, request.output))),
    "audit": ("judged without its original", lambda request: audit(Audit(request.spec, request.output))),
}


@pytest.mark.parametrize("reader", READERS)
def test_noise_on_a_quasi_identifier_is_refused_by_name(noisy: Callable[..., Request], reader: str) -> None:
    request = noisy("age")
    release(request)
    doing, read = READERS[reader]
    with pytest.raises(UsageError, match=f"age: is channel, .*, and cannot be {doing}"):
        read(request)


def test_a_public_report_does_not_clear_what_it_cannot_read(noisy: Callable[..., Request]) -> None:
    report = release(noisy("age", public=True))
    assert report["privacy"]["state"] == "unknown" and report["privacy"]["satisfied"] is None
    (model,) = report["privacy"]["models"]
    assert model["model"] == "k-anonymity" and model["basis"] == "unknown" and model["achieved"] == {}
    assert report["recoding"] == {"unread": {"age": "channel"}} and "classes" not in report


def test_noise_beside_the_classes_leaves_them_as_they_are(noisy: Callable[..., Request]) -> None:
    request = noisy("pay")
    release(request)
    told = "pay: is channel, what a mechanism with known probabilities made of the value; nothing here reads it"
    report = evaluate(Evaluate(request.spec, request.output))
    assert report["classes"]["count"] == 2 and report["utility"]["gcp"] == 0 and told in report["warnings"]
    assert told in attack(Attack(request.spec, request.output)).report["warnings"]
    assert audit(Audit(request.spec, request.output)).satisfied


def test_attackers_of_the_spec_refuse_it_before_it_is_published(noisy: Callable[..., Request]) -> None:
    request = noisy("age")
    risk = request.spec.risk.model_copy(update={"attacks": ["prosecutor"]})
    with pytest.raises(UsageError, match=r"age: is channel, .*, and cannot be attacked"):
        release(replace(request, spec=request.spec.model_copy(update={"risk": risk})))
    assert not Path(request.output).exists() and not Path(str(request.manifest)).exists()
