"""The ledger of a budget: what is summed, what is refused, and what a crash or a second process leaves of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anonymize.dp.ledger import Ledger, contents
from anonymize.dp.mechanisms import ROW, Charge, epsilon_of, rho_of
from anonymize.errors import AnonymizeError, DataError, InfeasibleError, UsageError
from anonymize.journal import lock_of
from anonymize.key import Key
from anonymize.spec.model import EpsilonDelta

CAP = EpsilonDelta(epsilon=4, delta=1e-8)
ONE = EpsilonDelta(epsilon=1, delta=1e-9)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "key").write_text(Key.new().text)
    (tmp_path / "key").chmod(0o600)
    return tmp_path


def ledger(folder: Path, budget: EpsilonDelta | None = CAP, name: str = "ledger") -> Ledger:
    return Ledger.opened(folder / name, folder / "key", budget)


def zcdp(bound: EpsilonDelta = ONE, individual: str = ROW) -> Charge:
    return Charge.of_zcdp("synthesize", individual, bound, rho_of(bound.epsilon, bound.delta))


def sampled(bound: EpsilonDelta) -> Charge:
    return Charge.of_approximate("safepub", ROW, bound.epsilon, bound.delta)


def beside(individual: str = ROW) -> Charge:
    return Charge("mondrian", individual)


# --- sums -------------------------------------------------------------------------------------------------------------


def test_rho_is_summed_and_comes_to_an_epsilon_at_the_delta_of_the_cap(folder: Path) -> None:
    for _ in range(3):
        ledger(folder).charge(zcdp())
    spent = contents(folder / "ledger", folder / "key")["spent"]
    assert spent["rho"] == pytest.approx(3 * rho_of(1, 1e-9), rel=1e-12)
    assert spent["epsilon"] == pytest.approx(epsilon_of(3 * rho_of(1, 1e-9), 1e-8), rel=1e-12)
    assert spent["epsilon"] < 3


def test_pure_epsilon_is_half_its_square_and_delta_is_slack(folder: Path) -> None:
    wide = EpsilonDelta(epsilon=100, delta=1e-5)
    for epsilon, delta in ((0.5, 0.0), (0.2, 1e-6), (0.1, 2e-6)):
        ledger(folder, wide).charge(Charge.of_approximate("safepub", ROW, epsilon, delta))
    spent = contents(folder / "ledger")["spent"]
    assert (spent["rho"], spent["slack"]) == (pytest.approx((0.25 + 0.04 + 0.01) / 2), pytest.approx(3e-6))
    assert spent["epsilon"] == pytest.approx(min(0.8, epsilon_of(0.15, 7e-6)))


@pytest.mark.parametrize("bound", [CAP, ONE])
def test_the_whole_cap_can_be_spent_at_once_and_then_nothing_more(folder: Path, bound: EpsilonDelta) -> None:
    for charge in (zcdp(bound), sampled(bound)):
        name = charge.what
        ledger(folder, bound, name).charge(charge)
        with pytest.raises(InfeasibleError, match="would bring it above: nothing more fits"):
            ledger(folder, bound, name).check(zcdp(EpsilonDelta(epsilon=0.01, delta=1e-10)))


@pytest.mark.parametrize("spent", [1, 3])
def test_what_is_said_to_be_left_fits_and_more_does_not(folder: Path, spent: int) -> None:
    for _ in range(spent):
        ledger(folder).charge(zcdp(EpsilonDelta(epsilon=2, delta=1e-9)))
    left = contents(folder / "ledger", folder / "key")["left"]
    assert left["delta"] == CAP.delta and left["epsilon"] > 4 - spent
    assert left["rho"] == pytest.approx(rho_of(4, 1e-8) - spent * rho_of(2, 1e-9))
    ledger(folder).check(zcdp(EpsilonDelta(epsilon=left["epsilon"], delta=CAP.delta)))
    with pytest.raises(InfeasibleError):
        ledger(folder).check(zcdp(EpsilonDelta(epsilon=left["epsilon"] * 1.001, delta=CAP.delta)))


@pytest.mark.parametrize("charged", [zcdp, sampled])
def test_a_refusal_says_what_fits_at_the_delta_of_the_charge(
    folder: Path, charged: Callable[[EpsilonDelta], Charge]
) -> None:
    ledger(folder).charge(zcdp(EpsilonDelta(epsilon=2, delta=1e-9)))
    with pytest.raises(InfeasibleError, match="at delta 1e-09 still fits") as refusal:
        ledger(folder).check(charged(EpsilonDelta(epsilon=3.9, delta=1e-9)))
    (number,) = re.findall(r"up to epsilon (\S+) at", str(refusal.value))
    fits = EpsilonDelta(epsilon=float(number), delta=1e-9)
    assert ledger(folder).check(charged(fits))["left"]["epsilon"] < 0.1
    with pytest.raises(InfeasibleError):
        ledger(folder).check(charged(EpsilonDelta(epsilon=fits.epsilon * 1.002, delta=1e-9)))


def test_of_an_empty_sum_the_whole_cap_is_left(folder: Path) -> None:
    ledger(folder).charge(beside())
    assert contents(folder / "ledger")["left"] == CAP.model_dump()


def test_slack_beyond_the_delta_of_the_cap_is_refused_however_small_epsilon_is(folder: Path) -> None:
    with pytest.raises(InfeasibleError):
        ledger(folder).charge(Charge.of_approximate("safepub", ROW, 1e-6, 1e-7))
    assert not (folder / "ledger").exists()


def test_what_has_no_epsilon_stands_beside_and_is_never_refused(folder: Path) -> None:
    ledger(folder).charge(zcdp(CAP))
    ledger(folder).charge(beside())
    ledger(folder).charge(Charge("randomize", ROW, local={"ill": 1.5, "age": None}))
    content = contents(folder / "ledger")
    assert content["beside"] == {"unbounded": 1, "local": 1}
    assert content["spent"]["rho"] == pytest.approx(rho_of(4, 1e-8))
    assert content["covered"].startswith("The bound covers the differentially private outputs alone")


# --- what is refused --------------------------------------------------------------------------------------------------


def test_a_check_writes_nothing(folder: Path) -> None:
    assert ledger(folder).check(zcdp())["spent"]["epsilon"] == pytest.approx(
        min(1, epsilon_of(rho_of(1, 1e-9), 1e-8)), rel=1e-9
    )
    assert [path.name for path in folder.iterdir()] == ["key"]


def test_it_is_its_owners_alone(folder: Path) -> None:
    ledger(folder).charge(beside())
    (folder / "ledger").chmod(0o644)
    ledger(folder).charge(beside())
    assert (folder / "ledger").stat().st_mode & 0o777 == 0o600


def test_the_cap_is_fixed_when_it_is_made(folder: Path) -> None:
    with pytest.raises(UsageError, match="no budget for a new one"):
        ledger(folder, None)
    ledger(folder).charge(beside())
    ledger(folder, None).charge(beside())
    with pytest.raises(UsageError, match="was made for epsilon 4"):
        ledger(folder, EpsilonDelta(epsilon=5, delta=1e-8))


@pytest.mark.parametrize(("first", "then"), [(ROW, "patient"), ("patient", ROW), ("patient", "pid")])
def test_rows_of_another_individual_are_refused(folder: Path, first: str, then: str) -> None:
    ledger(folder).charge(beside(first))
    with pytest.raises(UsageError, match="the ledger is about"):
        ledger(folder).charge(beside(then))


def test_another_key_is_refused(folder: Path) -> None:
    ledger(folder).charge(beside())
    (folder / "other").write_text(Key.new().text)
    (folder / "other").chmod(0o600)
    with pytest.raises(UsageError, match="another key"):
        Ledger.opened(folder / "ledger", folder / "other", CAP)
    with pytest.raises(UsageError, match="sealed with a key"):
        Ledger.opened(folder / "ledger", None, CAP)


def _edited(content: dict[str, Any]) -> None:
    content["charges"][0]["epsilon"] = 0.5


def _raised(content: dict[str, Any]) -> None:
    content["budget"]["epsilon"] = 40.0


def _cut(content: dict[str, Any]) -> None:
    content["charges"].pop()
    content["counter"] -= 1


def _turned(content: dict[str, Any]) -> None:
    content["charges"].reverse()


def _renamed(content: dict[str, Any]) -> None:
    content["individual"] = "patient"


def _unsealed(content: dict[str, Any]) -> None:
    del content["seal"]


def _beside(content: dict[str, Any]) -> None:
    for name in ("rho", "slack", "epsilon", "delta"):
        content["charges"][0][name] = None


CHANGES = [_edited, _raised, _cut, _turned, _renamed, _beside]


@pytest.mark.parametrize("change", [*CHANGES, _unsealed])
def test_a_changed_ledger_is_refused(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    for charge in (zcdp(), beside()):
        ledger(folder).charge(charge)
    lock_of(folder / "ledger").unlink()  # what is on record is no help
    content = json.loads((folder / "ledger").read_text())
    change(content)
    (folder / "ledger").write_text(json.dumps(content))
    with pytest.raises(UsageError, match=r"has been changed"):
        ledger(folder, None)
    if change not in (_cut, _unsealed):  # which only the seal shows
        with pytest.raises(UsageError, match="has been changed"):
            contents(folder / "ledger")


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "{", '{"format": "anonymize ledger"}', "\0"])
def test_what_is_no_ledger_is_refused(folder: Path, text: str) -> None:
    (folder / "ledger").write_text(text)
    with pytest.raises((UsageError, DataError)):
        ledger(folder)
    assert (folder / "ledger").read_text() == text


def test_an_old_copy_that_was_put_back_is_refused(folder: Path) -> None:
    ledger(folder).charge(zcdp())
    shutil.copy(folder / "ledger", folder / "copy")
    ledger(folder).charge(zcdp())
    shutil.copy(folder / "copy", folder / "ledger")
    with pytest.raises(UsageError, match="belongs to a later one"):
        ledger(folder)
    with pytest.raises(UsageError, match="belongs to a later one"):
        contents(folder / "ledger")


def test_two_that_began_as_one_are_told_apart(folder: Path) -> None:
    ledger(folder).charge(zcdp())
    shutil.copy(folder / "ledger", folder / "fork")
    ledger(folder).charge(zcdp())
    ledger(folder, name="fork").charge(beside())
    shutil.copy(folder / "fork", folder / "ledger")
    with pytest.raises(UsageError, match="the ledger was forked"):
        ledger(folder)


def test_a_new_one_does_not_take_the_place_of_one_that_is_gone(folder: Path) -> None:
    ledger(folder).charge(zcdp())
    (folder / "ledger").rename(folder / "aside")
    with pytest.raises(UsageError, match="the ledger is gone"):
        ledger(folder)
    ledger(folder, name="new").charge(beside())
    shutil.copy(folder / "new", folder / "ledger")
    with pytest.raises(UsageError, match="belongs to another ledger"):
        ledger(folder)


def test_two_names_are_one_ledger(folder: Path) -> None:
    ledger(folder).charge(zcdp(CAP))
    (folder / "name").symlink_to(folder / "ledger")
    with pytest.raises(InfeasibleError):
        ledger(folder, name="name").charge(zcdp())
    os.link(folder / "ledger", folder / "hard")
    with pytest.raises(UsageError, match="several names"):
        ledger(folder, name="hard")


def test_a_folder_is_none(folder: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        ledger(folder, name=".")
    with pytest.raises(UsageError, match="there is no folder"):
        ledger(folder, name="none/ledger")
    with pytest.raises(UsageError, match="there is no ledger"):
        contents(folder / "none")


# --- crashes and others -----------------------------------------------------------------------------------------------

CHILDREN = """
import os, signal, sys
from anonymize.dp.mechanisms import epsilon_of
from anonymize.dp.ledger import Ledger
from anonymize.dp.mechanisms import ROW, Charge
from anonymize.spec.model import EpsilonDelta
folder, moments = sys.argv[1], [int(each) for each in sys.argv[2:]]
cap = EpsilonDelta(epsilon=4, delta=1e-8)
epsilon_of(0.1, 1e-8)
def charged(name, charge):
    Ledger.opened(f"{folder}/{name}", f"{folder}/key", cap).charge(charge)
def killed(name, moment):
    count = 0
    def strike(event, arguments):
        nonlocal count
        if event in ("os.rename", "os.chmod", "os.remove") or (event == "open" and "/.ledger-" in str(arguments[0])):
            count += 1
            if count == moment:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(strike)
    charged(name, Charge("mondrian", ROW))
children = []
for moment in moments:
    if (child := os.fork()) == 0:
        try:
            if moment:
                killed(f"ledger-{moment}", moment)
            else:
                charged("ledger", Charge.of_approximate("safepub", ROW, 1.5, 1e-9))
        except Exception as error:
            print(error)
            os._exit(4)
        os._exit(0)
    children.append(child)
print(*(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""
"""Charges by children of one process: of one ledger together, or each of one of its own, of whom those are killed at
their n-th rename, change of mode, removal or opening of a file of the ledger."""


MOMENTS = (1, 5, *range(8, 22))


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    """The folder and the exit codes of four that charge one ledger together, and of those that are killed."""
    folder = tmp_path_factory.mktemp("ledgers")
    (folder / "key").write_text(Key.new().text)
    (folder / "key").chmod(0o600)
    arguments = [sys.executable, "-c", CHILDREN, str(folder), "0", "0", "0", "0", *map(str, MOMENTS)]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": "."})
    return folder, [int(each) for each in ended.stdout.split("\n")[-2].split()]


def test_processes_never_pass_the_cap_together(ended: tuple[Path, list[int]]) -> None:
    folder, codes = ended
    assert sorted(codes[:4]) == [0, 0, 4, 4]
    content = contents(folder / "ledger", folder / "key")
    assert (content["charges"], content["spent"]["epsilon"]) == (2, pytest.approx(3))


def test_a_kill_leaves_a_charge_or_none(ended: tuple[Path, list[int]]) -> None:
    folder, codes = ended
    assert codes.count(-9) >= 12 and set(codes[4:]) <= {0, -9}
    charges = []
    for moment, code in zip(MOMENTS, codes[4:], strict=True):
        name = f"ledger-{moment}"
        try:
            charges.append(contents(folder / name, folder / "key")["charges"])
        except AnonymizeError as error:
            assert "there is no ledger" in str(error)
            charges.append(0)
        assert code == -9 or charges[-1] == 1
        ledger(folder, name=name).charge(beside())
        assert contents(folder / name, folder / "key")["charges"] == charges[-1] + 1
        left = [path.name for path in folder.iterdir() if path.name.startswith(f".{name}.")]
        assert left == [f".{name}.lock"]
    assert charges == sorted(charges) and set(charges) == {0, 1}
