"""Keys and pseudonyms."""

from __future__ import annotations

import hmac
from pathlib import Path

import pytest

from anonymize.cli.main import run
from anonymize.errors import DataError, UsageError
from anonymize.key import Key, load
from tests.auditing.nights import SECRET

KEY = Key(SECRET)


@pytest.mark.parametrize(("texts", "message"), [(["p7"], '["p7"]'), (["Zoë", 'a"b'], '["Zoë","a\\"b"]')])
def test_a_pseudonym_is_an_hmac(texts: list[str], message: str) -> None:
    assert KEY.pseudonyms([texts]) == [hmac.digest(KEY.secret, message.encode(), "sha256")[:16]]


def test_columns_are_kept_apart() -> None:
    first, second = KEY.pseudonyms([["ab", "c"], ["a", "bc"]])
    assert first != second


def test_the_fingerprint_is_no_pseudonym_and_differs_by_key() -> None:
    assert KEY.fingerprint == hmac.digest(KEY.secret, b"anonymize series", "sha256").hex()
    assert Key.new().fingerprint != KEY.fingerprint


def test_key_make_writes_a_private_file_once(tmp_path: Path) -> None:
    path = tmp_path / "series.key"
    run(["key", "make", str(path), "-q"])
    assert path.stat().st_mode & 0o777 == 0o600
    first = load(path)
    with pytest.raises(UsageError, match="exists already"):
        run(["key", "make", str(path)])
    assert load(path) == first
    run(["key", "make", str(path), "--force", "-q"])
    assert load(path) != first


def test_a_key_is_a_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="file"):
        run(["key", "make", "-"])
    with pytest.raises(UsageError, match="there is no key file"):
        load(tmp_path / "series.key")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        KEY.text.replace(SECRET.hex(), SECRET.hex()[2:]),
        KEY.text.replace("make", "x").replace("key", "k"),
    ],
)
def test_what_is_no_key_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "key").write_text(text)
    with pytest.raises(DataError, match="not a key file"):
        load(tmp_path / "key")


@pytest.mark.parametrize(
    "secret",
    [
        bytes(32),
        b"\xff" * 32,
        bytes(range(32)),
        bytes.fromhex("deadbeef") * 8,
        b"correct horse battery staple 123",
        bytes(range(200, 136, -2)),
    ],
)
def test_a_key_that_was_not_drawn_is_refused(tmp_path: Path, secret: bytes) -> None:
    path = tmp_path / "key.json"
    for key in (Key(secret), Key(Key.new().secret, before=(secret,))):
        path.write_text(key.text)
        path.chmod(0o600)
        with pytest.raises(UsageError, match="no secret"):
            load(path)


def test_keys_that_were_drawn_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    for number in range(200):
        secret = hmac.digest(b"drawn", str(number).encode(), "sha256")
        path.write_text(Key(secret).text)
        path.chmod(0o600)
        assert load(path).secret == secret
