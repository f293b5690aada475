"""The key of a private state: pseudonyms of people in a series that nobody can compute without it, and seals.

A key file is JSON of mode 0600: `{"format": "anonymize key", "format_version": 1, "key": "<64 hexadecimal digits>"}`.
One that took the place of others has `"before": [...]`, these, the oldest first. One that others may read is refused.

The pseudonym of a person is the first 16 bytes of HMAC-SHA256 under the key over the UTF-8 text of a JSON array of the
texts of the columns that name the person (`unit` alone, or `series.person` in the order of the spec), without white
space and without escapes of characters beyond ASCII. Texts are normalized as they are everywhere when the spec's
`input.normalize` is true: Unicode NFC, no outer or invisible space. Example, for a unit "p7": the text is `["p7"]`.
Where a key took the place of others, this is done under the oldest; then, key by key, the 16 bytes of HMAC-SHA256 over
the 16 bytes so far are taken. So a state is put under a new key without anybody's name, and whoever has an old key, but
not the new one, recognizes nobody in it.

Whoever has the key and a list of people can tell who is in the state. Whoever loses it can continue no series: the
people of the next input could not be recognized.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any

from anonymize.errors import DataError, Problem, UsageError
from anonymize.records import dataclass
from anonymize.table.files import reason

FORMAT, FORMAT_VERSION = "anonymize key", 1
KEY_BYTES, PSEUDONYM_BYTES = 32, 16
DIFFERENT_BYTES = 16
"""A key has as many at least, and as many different steps from a byte to the next."""
_FINGERPRINT = b"anonymize series"
_BLOCK = 64  # bytes, of SHA-256


@dataclass(frozen=True)
class Key:
    """A secret of 32 bytes. `before`: those whose place it took, the oldest first."""

    secret: bytes
    before: tuple[bytes, ...] = ()

    @classmethod
    def new(cls) -> Key:
        """A key from the system's entropy."""
        return cls(secrets.token_bytes(KEY_BYTES))

    def successor(self) -> Key:
        """A new key that takes the place of this one."""
        return Key(secrets.token_bytes(KEY_BYTES), self.secrets)

    @property
    def secrets(self) -> tuple[bytes, ...]:
        """All secrets under which pseudonyms are computed, one after the other."""
        return (*self.before, self.secret)

    @property
    def text(self) -> str:
        """The key file."""
        content: dict[str, Any] = {"format": FORMAT, "format_version": FORMAT_VERSION, "key": self.secret.hex()}
        content |= {"before": [each.hex() for each in self.before]} if self.before else {}
        return json.dumps(content) + "\n"

    @property
    def fingerprint(self) -> str:
        """What a state knows of the key, in hexadecimal digits: HMAC-SHA256 of `anonymize series`."""
        return self._hmac(_FINGERPRINT).hex()

    def pseudonyms(self, people: Iterable[Sequence[str]]) -> list[bytes]:
        """The pseudonym of each person, from the texts that name each, normalized."""
        messages: Iterable[bytes] = (f"[{','.join(map(encode_basestring, texts))}]".encode() for texts in people)
        for secret in self.before:
            messages = Key(secret).of_messages(messages)
        return self.of_messages(messages)

    def of_messages(self, messages: Iterable[bytes]) -> list[bytes]:
        """The first bytes of the HMAC of each message under this secret alone."""
        return [self._hmac(message)[:PSEUDONYM_BYTES] for message in messages]

    def published(self, people: Iterable[bytes], series: str) -> list[str]:
        """What recipients follow people by, in hexadecimal digits: of each pseudonym one of this `series` alone."""
        return [each.hex() for each in self.of_messages(f"{series} ".encode() + person for person in people)]

    def sealed(self, digest: bytes) -> str:
        """What a state with this hash is sealed with, in hexadecimal digits."""
        return self._hmac(b"state " + digest).hex()

    def _hmac(self, message: bytes) -> bytes:
        """HMAC-SHA256, RFC 2104; the two halves of the key are hashed once, which is twice as fast as `hmac`."""
        halves = self._halves
        inner, outer = halves[0].copy(), halves[1].copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()

    @cached_property
    def _halves(self) -> tuple[hashlib._Hash, hashlib._Hash]:
        padded = self.secret.ljust(_BLOCK, b"\0")
        inner, outer = (hashlib.sha256(bytes(byte ^ mask for byte in padded)) for mask in (0x36, 0x5C))
        return inner, outer


def load(path: str | Path) -> Key:
    """Reads a key file. Raises UsageError where there is none, where anybody could guess it, and where others may read
    it; DataError where it cannot be read or is damaged."""
    hint = "one is made with `anonymize key make`"
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if (content["format"], content["format_version"]) != (FORMAT, FORMAT_VERSION):
            raise ValueError
        secret, *before = (bytes.fromhex(text) for text in (content["key"], *content.get("before", ())))
        if any(len(each) != KEY_BYTES for each in (secret, *before)):
            raise ValueError
    except FileNotFoundError:
        raise UsageError(Problem("there is no key file", str(path), hint=hint)) from None
    except OSError as error:
        raise DataError(Problem(f"cannot be read: {reason(error)}", str(path))) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError(Problem("is not a key file, or is damaged", str(path), hint=hint)) from None
    if any(map(_is_guessable, (secret, *before))):
        raise UsageError(Problem("is no secret: its bytes were not drawn at random", str(path), hint=hint))
    _check_private(path)
    return Key(secret, tuple(before))


def _is_guessable(secret: bytes) -> bool:
    """Whether a key is one that somebody has typed or counted: of few different bytes, in steps of few different
    lengths, or text. One drawn at random is that less often than once in 10^9."""
    steps = {(after - before) % 256 for before, after in pairwise(secret)}
    return min(len(set(secret)), len(steps)) < DIFFERENT_BYTES or secret.isascii()


def load_for(path: str | Path, fingerprint: str) -> Key:
    """The key with a fingerprint, that of a series. Raises UsageError for another one, and what `load` raises."""
    key = load(path)
    if key.fingerprint != fingerprint:
        raise UsageError(Problem("is not the key of this series", str(path)))
    return key


def _check_private(path: str | Path) -> None:
    """Raises UsageError for a key of one's own that others may read or write, as ssh does."""
    status = os.stat(path)
    if status.st_uid == os.getuid() and status.st_mode & 0o077:
        message = f"others may read this key: its mode is {stat.S_IMODE(status.st_mode):04o}"
        raise UsageError(Problem(message, str(path), hint=f"chmod 600 {path}; if somebody may have read it, rotate it"))
