"""A method that nothing here knows: its release says what its columns mean, and whoever reads it needs no change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from anonymize._attack import Attack, attack
from anonymize._audit import audit
from anonymize._evaluate import Evaluate, evaluate
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS, Algorithm, mondrian
from anonymize.algorithms.base import Family
from anonymize.auditing.request import Audit
from anonymize.claims import Basis, State
from anonymize.errors import Caution, UsageError
from anonymize.families import FAMILIES, Draft, Measured
from anonymize.families.classes import ClassedDraft
from anonymize.files import manifest_beside
from anonymize.meaning import Exact, Manifest, Named
from anonymize.privacy import PARAMETERS, Requirement, requirements
from anonymize.publication import Files, ReleasePaths
from anonymize.records import dataclass
from anonymize.report.data import Blocks, verdict_blocks
from anonymize.report.verdict import KNOWN_BY, known_by
from anonymize.request import Request
from anonymize.spec import Spec, load
from anonymize.verify import Result, Verdict

COUNT = Named("aggregate", {"mechanism": "discrete laplace", "epsilon": 1.0})
BESIDE = "out.counts.csv: count: is aggregate, a count or a sum that a mechanism released; nothing here reads it"
NOISE = Named("channel", {"mechanism": "laplace", "scale": 2})


@dataclass(frozen=True)
class NoisyDraft(Draft):
    """The table with three more in each cell of a column."""

    column: str

    @staticmethod
    def required(spec: Spec) -> tuple[Requirement, ...]:
        return requirements(spec)

    @staticmethod
    def paths(request: Request) -> ReleasePaths:
        return ReleasePaths([request.output])

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


@dataclass(frozen=True)
class CountingDraft(ClassedDraft):
    """A release with classes, and beside it how many rows have each value of a column, with noise."""

    @staticmethod
    def paths(request: Request) -> ReleasePaths:
        output = str(request.output)
        return ReleasePaths([output, output.replace(".csv", ".counts.csv")], [manifest_beside(output)])

    def manifest(self, files: Files) -> Manifest:
        beside = {Path(files.release[1].name).name: {"sex": Exact(), "count": COUNT}}
        return replace(super().manifest(files), files=beside)

    def write(self, files: Files) -> None:
        super().write(files)
        frame, p = pl.concat(list(files.source.batches(["sex"]))), 1 - np.exp(-1.0)
        counts, random = frame.group_by("sex", maintain_order=True).len("count"), np.random.default_rng()
        noise = random.geometric(p, counts.height) - random.geometric(p, counts.height)
        files.release[1].write(iter([counts.with_columns((pl.col("count") + noise).cast(pl.String))]))

    def measure(self, files: Files) -> Measured:
        measured = super().measure(files)
        epsilon: dict[str, Any] = {"epsilon": 1.0}
        claim = Result("differential-privacy", None, epsilon, epsilon, State.MET, 0, 0, basis=Basis.DERIVED)
        return replace(measured, verdict=replace(measured.verdict, results=(*measured.verdict.results, claim)))


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Request]:
    """A request for a release of Mondrian with a table of noisy counts beside it."""
    needs = replace(mondrian.NEEDS, family=Family("counting"))
    module = SimpleNamespace(ID="counting", Options=mondrian.Options, NEEDS=needs, run=mondrian.run)
    monkeypatch.setitem(ALGORITHMS, "counting", cast(Algorithm, module))
    monkeypatch.setitem(FAMILIES, "counting", CountingDraft)
    return lambda **more: Request(
        small_spec(tmp_path), "counting", mondrian.Options(), output=str(tmp_path / "out.csv"), **more
    )


def small_spec(folder: Path) -> Spec:
    """That of a table of four people."""
    (folder / "t.csv").write_text("age,sex,pay\n1,M,10\n1,M,20\n8,F,30\n8,F,40\n", encoding="utf-8")
    (folder / "s.yaml").write_text(
        "version: 1\ninput: {path: t.csv}\nquasi_identifiers: {age: {type: numeric}, sex: {}}\n"
        "insensitive: [pay]\nprivacy: {k: 2}\n"
    )
    return load(folder / "s.yaml", PARAMETERS)


@pytest.fixture
def noisy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Request]:
    """A request for a release in which a column was noised."""

    def asked(column: str, **more: Any) -> Request:
        needs = replace(mondrian.NEEDS, family=Family("noise"))
        module = SimpleNamespace(ID="noise", Options=mondrian.Options, NEEDS=needs, run=lambda *_: column)
        monkeypatch.setitem(ALGORITHMS, "noise", cast(Algorithm, module))
        monkeypatch.setitem(FAMILIES, "noise", NoisyDraft)
        spec, at = small_spec(tmp_path), str(tmp_path / "out")
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
    assert report["classes"]["count"] == 2 and report["utility"]["gcp"] == 0
    assert told in [each.text for each in report["warnings"]]
    assert [told] == [each.text for each in attack(Attack(request.spec, request.output)).report["warnings"]]
    assert audit(Audit(request.spec, request.output)).satisfied


def test_attackers_of_the_spec_refuse_it_before_it_is_published(noisy: Callable[..., Request]) -> None:
    request = noisy("age")
    risk = request.spec.risk.model_copy(update={"attacks": ["prosecutor"]})
    with pytest.raises(UsageError, match=r"age: is channel, .*, and cannot be attacked"):
        release(replace(request, spec=request.spec.model_copy(update={"risk": risk})))
    assert not Path(request.output).exists() and not Path(str(request.manifest)).exists()


def test_a_noisy_count_beside_a_release_stands_in_the_manifest(counted: Callable[..., Request]) -> None:
    request = counted()
    release(request)
    said = Manifest.of(request.spec, request.output)
    assert said.files == {"out.counts.csv": {"sex": Exact(), "count": COUNT}} and said.spans
    assert said.meanings == Manifest.of_spec(request.spec).meanings


WARNINGS: dict[str, Callable[[Request], list[str]]] = {
    "evaluate": lambda request: evaluate(Evaluate(request.spec, request.output))["warnings"],
    "public": lambda request: evaluate(Evaluate(request.spec, request.output, public=True))["warnings"],
    "attack": lambda request: attack(Attack(request.spec, request.output)).report["warnings"],
    "audit": lambda request: audit(Audit(request.spec, request.output)).checked.report["warnings"],
}


@pytest.mark.parametrize("reader", WARNINGS)
def test_what_reads_a_release_names_the_count_that_it_does_not_read(
    counted: Callable[..., Request], reader: str
) -> None:
    request = counted()
    release(request)
    assert BESIDE in [Caution(each).text for each in WARNINGS[reader](request)]


def test_the_classes_beside_a_count_are_measured_as_ever(counted: Callable[..., Request]) -> None:
    request = counted()
    report = release(request)
    assert report["classes"]["count"] == 2 and audit(Audit(request.spec, request.output)).satisfied
    assert evaluate(Evaluate(request.spec, request.output))["utility"]["gcp"] == 0


@pytest.mark.parametrize("public", [False, True])
def test_reports_name_the_count_and_never_call_it_measured(counted: Callable[..., Request], public: bool) -> None:
    report = release(counted(public=public))
    assert BESIDE in [Caution(each).text for each in report["warnings"]] and report["privacy"]["satisfied"]
    of_count = [each for each in report["privacy"]["models"] if each["model"] == "differential-privacy"]
    assert len(of_count) == (not public)  # a public report has what follows from the released rows
    assert all(known_by([each]) == KNOWN_BY[Basis.DERIVED] for each in of_count)


def test_a_claim_says_how_it_is_known() -> None:
    with pytest.raises(TypeError, match="basis"):
        Result("differential-privacy", None, {}, {}, State.MET, 0, 0)  # type: ignore[call-arg]
