"""The key of a series: pseudonyms of people that nobody can compute without it.

A key file is JSON of mode 0600: `{"format": "anonymize key", "format_version": 1, "key": "<64 hexadecimal digits>"}`.

The pseudonym of a person is the first 16 bytes of HMAC-SHA256 under the key over the UTF-8 text of a JSON array of the
texts of the columns that name the person (`unit` alone, or `series.person` in the order of the spec), without white
space and without escapes of characters beyond ASCII. Texts are normalized as they are everywhere when the spec's
`input.normalize` is true: Unicode NFC, no outer or invisible space. Example, for a unit "p7": the text is `["p7"]`.

Whoever has the key and a list of people can tell who is in the state. Whoever loses it can continue no series: the
people of the next night could not be recognized.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from json.encoder import encode_basestring
from pathlib import Path

from anonymize.errors import DataError, Problem, UsageError
from anonymize.table.files import reason

FORMAT, FORMAT_VERSION = "anonymize key", 1
KEY_BYTES, PSEUDONYM_BYTES = 32, 16
_FINGERPRINT = b"anonymize series"
_BLOCK = 64  # bytes, of SHA-256


@dataclass(frozen=True)
class Key:
    """A secret of 32 bytes."""

    secret: bytes

    @classmethod
    def new(cls) -> Key:
        """A key from the system's entropy."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @property
    def text(self) -> str:
        """The key file."""
        return json.dumps({"format": FORMAT, "format_version": FORMAT_VERSION, "key": self.secret.hex()}) + "\n"

    @property
    def fingerprint(self) -> str:
        """What a state knows of the key, in hexadecimal digits: HMAC-SHA256 of `anonymize series`."""
        return self._hmac(_FINGERPRINT).hex()

    def pseudonyms(self, people: Iterable[Sequence[str]]) -> list[bytes]:
        """The pseudonym of each person, from the texts that name each, normalized."""
        messages = (f"[{','.join(map(encode_basestring, texts))}]".encode() for texts in people)
        return [self._hmac(message)[:PSEUDONYM_BYTES] for message in messages]

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
    """Reads a key file. Raises UsageError where there is none, DataError where it cannot be read or is damaged."""
    hint = "one is made with `anonymize key make`"
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if (content["format"], content["format_version"]) != (FORMAT, FORMAT_VERSION):
            raise ValueError
        secret = bytes.fromhex(content["key"])
        if len(secret) != KEY_BYTES:
            raise ValueError
    except FileNotFoundError:
        raise UsageError(Problem("there is no key file", str(path), hint=hint)) from None
    except OSError as error:
        raise DataError(Problem(f"cannot be read: {reason(error)}", str(path))) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError(Problem("is not a key file, or is damaged", str(path), hint=hint)) from None
    return Key(secret)
