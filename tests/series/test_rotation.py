"""A key that takes the place of another, and keys that are not taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from anonymize import key
from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.errors import UsageError
from anonymize.series import state
from tests.auditing.nights import SECRET
from tests.series.nights import Nights
from tests.series.test_record import DEFERRED, audited, check, shown


def begun(folder: Path) -> Nights:
    """Two nights, with people who are kept."""
    nights = Nights(folder, spec=DEFERRED)
    nights.come(60)
    nights.release()
    nights.leave(2)
    nights.release()
    return nights


def rotated(nights: Nights) -> None:
    """The series of the nights goes on under a new key, which has the name of the old one."""
    old, new = nights.folder / "key", nights.folder / "new"
    run(["key", "rotate", str(nights.folder / "state"), str(new), "--key", str(old), "-q"])
    old.rename(nights.folder / "old")
    new.rename(old)


def test_a_series_goes_on_under_a_new_key_and_not_under_the_old_one(tmp_path: Path) -> None:
    nights = begun(tmp_path)
    before = state.load(tmp_path / "state")
    rotated(nights)
    after = state.load(tmp_path / "state")
    assert not set(before.people["person"]) & set(after.people["person"])
    assert after.people["person"].is_sorted() and after.rows is not None
    nights.leave(2)
    nights.release()
    assert len(shown(nights)[2]) == 60
    check(nights)
    assert audited(nights) == 0
    rotated(nights)
    assert audited(nights) == 0
    (tmp_path / "key").unlink()
    (tmp_path / "old").rename(tmp_path / "key")
    nights.release(refused=2)


def test_old_and_new_key_compute_different_pseudonyms() -> None:
    first = key.Key(SECRET)
    second = first.successor().successor()
    assert second.before[:1] == (first.secret,) and len(second.before) == 2
    names = [["p7"], ["p8"]]
    assert not set(first.pseudonyms(names)) & set(second.pseudonyms(names))
    assert key.Key(second.secret).pseudonyms(names) != second.pseudonyms(names)


def test_rotation_is_refused_without_the_key_and_over_the_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun(tmp_path)
    own, other, series = (str(tmp_path / name) for name in ("key", "other", "state"))
    run(["key", "make", other, "-q"])
    content = Path(series).read_bytes()
    for arguments in (
        [series, str(tmp_path / "new"), "--key", other],
        [series, series, "--key", own, "--force"],
        [series, "-", "--key", own],
    ):
        assert outcome(lambda arguments=arguments: run(["key", "rotate", *arguments])) == 2  # type: ignore[misc]
    assert Path(series).read_bytes() == content and not (tmp_path / "new").exists()
    capsys.readouterr()
    run(["key", "rotate", series, str(tmp_path / "new"), "--key", own])
    assert (
        capsys.readouterr().err == f"the series {series} has a new key, {tmp_path}/new; remove {own} and its copies\n"
    )


def test_a_wrong_key_is_one_error_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights = begun(tmp_path)
    run(["key", "make", str(tmp_path / "key"), "--force", "-q"])
    files = [str(tmp_path / name) for name in ("spec.yaml", "night1.csv", "night1.in.csv", "state", "key")]
    nights.release(refused=2)
    assert audited(nights) == 2
    attack = ["attack", *files[:2], "-i", files[2], "--series", files[3], "--key", files[4]]
    forget = ["series", "forget", files[3], "p1", "--key", files[4], "--force"]
    assert [outcome(lambda each=each: run(each)) for each in (attack, forget)] == [2, 2]  # type: ignore[misc]
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error")]
    assert len(lines) == 4 and len(set(lines)) == 1 and "is not the key of this series" in lines[0]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o602, 0o644])
def test_a_key_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    run(["key", "make", str(tmp_path / "key"), "-q"])
    key.load(tmp_path / "key")
    (tmp_path / "key").chmod(mode)
    with pytest.raises(UsageError, match=f"others may read this key: its mode is 0{mode:o}"):
        key.load(tmp_path / "key")
