"""The keys that payloads are encrypted with, as they are written in a setting. Pure.

One line of `id:base64`, separated by commas: the first encrypts, all of them decrypt. So a key is
replaced without a moment in which something can't be read: the new one is put last everywhere,
then first, and the old one goes when nothing is left that it encrypted.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

KEY_BYTES = 32
"""AES-256."""

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HOW = "`openssl rand -base64 32` makes one"


@dataclass(frozen=True)
class PayloadKeys:
    """Keys by id. `current` is the id of the one that encrypts; empty, nothing is encrypted."""

    current: str = ""
    keys: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.keys)

    @classmethod
    def read(cls, written: str) -> "PayloadKeys":
        """The keys of a setting. What is wrong is said without a word of a key.

        >>> PayloadKeys.read("k1:" + "A" * 43 + "=").current
        'k1'

        Raises:
            ValueError: an id or a key can't be used, or an id is there twice.
        """
        keys: dict[str, bytes] = {}
        for position, entry in enumerate(written.split(","), start=1):
            id_, key = _entry(entry.strip(), position)
            if id_ in keys:
                raise ValueError(f"the key id {id_} is there twice; give each key an id of its own")
            keys[id_] = key
        return cls(next(iter(keys)), keys)


def _entry(entry: str, position: int) -> tuple[str, bytes]:
    id_, colon, encoded = entry.partition(":")
    if not colon or not _ID.fullmatch(id_):
        raise ValueError(
            f"entry {position} isn't id:base64, with an id of at most 64 letters, digits, "
            "dots, dashes and underscores, such as 2026-11:…"
        )
    try:
        key = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"the key {id_} isn't base64; {_HOW}") from None
    if len(key) != KEY_BYTES:
        raise ValueError(f"the key {id_} has {len(key)} bytes and needs {KEY_BYTES}; {_HOW}")
    return id_, key
