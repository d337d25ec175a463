"""What Temporal keeps, encrypted: its server and whoever reads its database see no word of it.

A payload goes whole, its own metadata included, into the data of another one:

    metadata  encoding: binary/encrypted · encryption-cipher: AES-256-GCM · encryption-key-id: …
              encryption-tenant: whose it is
    data      12 bytes of nonce · the ciphertext · 16 bytes that vouch for it and the metadata

That adds some 180 bytes, whatever the size. A payload is of its workflow's tenant, and read as
nobody else's. One that isn't encrypted is read as it is, so that keys can be set for a house that
has been running without, until it is said that nothing of that time is left.
"""

import os
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from google.protobuf.message import DecodeError
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import PydanticPayloadConverter, pydantic_data_converter
from temporalio.converter import (
    DataConverter,
    DefaultFailureConverterWithEncodedAttributes,
    PayloadCodec,
    SerializationContext,
    WithSerializationContext,
)

from router.domain.errors import UnreadablePayload
from router.settings.values import PayloadKeys
from router.telemetry.metrics import UNREADABLE

ENCODING = "encoding"
ENCRYPTED = b"binary/encrypted"
CIPHER = "encryption-cipher"
AES_256_GCM = b"AES-256-GCM"
KEY_ID = "encryption-key-id"
TENANT = "encryption-tenant"

NONCE_BYTES = 12
_TAG_BYTES = 16


class EncryptingCodec(PayloadCodec, WithSerializationContext):
    """Encrypts with the current key, decrypts with any; without keys it only reads plain ones.

    What it encrypts is `tenant`'s, and it decrypts no other's; "" is for what is no workflow's.
    With `only` it refuses what isn't encrypted: anybody who reaches Temporal can have written that.
    """

    def __init__(self, keys: PayloadKeys, tenant: str = "", *, only: bool = False) -> None:
        self._keys = keys
        self._current = keys.current
        self._ciphers = {id_: AESGCM(key) for id_, key in keys.keys.items()}
        self._tenant = tenant
        self._only = only

    def with_context(self, context: SerializationContext) -> Self:
        """The same for the tenant of the workflow whose payloads they are."""
        tenant = tenant_of(getattr(context, "workflow_id", None) or "")
        if not self._ciphers or tenant == self._tenant:
            return self
        return type(self)(self._keys, tenant, only=self._only)

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Each of them encrypted; as it is where there is no key."""
        return [self._encrypted(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Each as it was before; `UnreadablePayload`: not with a key of ours, or changed."""
        try:
            return [self._decrypted(payload) for payload in payloads]
        except UnreadablePayload:
            UNREADABLE.inc()
            raise

    def _encrypted(self, payload: Payload) -> Payload:
        if not self._ciphers:
            return payload
        metadata = {ENCODING: ENCRYPTED, CIPHER: AES_256_GCM, KEY_ID: self._current.encode()}
        if self._tenant:
            metadata[TENANT] = self._tenant.encode()
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._ciphers[self._current].encrypt(
            nonce, payload.SerializeToString(), _bound(metadata)
        )
        return Payload(metadata=metadata, data=nonce + sealed)

    def _decrypted(self, payload: Payload) -> Payload:
        if payload.metadata.get(ENCODING) != ENCRYPTED:
            if self._only:
                raise UnreadablePayload(
                    "a payload isn't encrypted, and ROUTER_ENCRYPTED_PAYLOADS_ONLY says that none "
                    "is left: find out who wrote it, or unset that until all from before has ended"
                )
            return payload
        id_ = payload.metadata.get(KEY_ID, b"").decode(errors="replace")
        if id_ not in self._ciphers:
            there = f"it has {', '.join(self._ciphers)}" if self._ciphers else "it isn't set"
            raise UnreadablePayload(
                f"a payload was encrypted with the key {id_[:64]!r}, which ROUTER_PAYLOAD_KEYS "
                f"doesn't have ({there}): add that key behind the others, as id:base64"
            )
        if payload.metadata.get(TENANT, b"") != self._tenant.encode():
            raise UnreadablePayload(
                "a payload was encrypted for another tenant than the one that it is read for "
                f"({self._tenant[:64]!r}): only that tenant's operators may read it"
            )
        nonce, sealed = payload.data[:NONCE_BYTES], payload.data[NONCE_BYTES:]
        if len(sealed) < _TAG_BYTES:
            raise _changed(id_)
        try:
            opened = self._ciphers[id_].decrypt(nonce, sealed, _bound(payload.metadata))
            return Payload.FromString(opened)
        except (InvalidTag, DecodeError):
            raise _changed(id_) from None


def sealed_with(keys: PayloadKeys, id_: str) -> bytes:
    """What only the key behind this id opens: kept once, it tells that key from any other."""
    nonce = os.urandom(NONCE_BYTES)
    return nonce + AESGCM(keys.keys[id_]).encrypt(nonce, b"", id_.encode())


def opens(keys: PayloadKeys, id_: str, seal: bytes) -> bool:
    """True where the key behind this id is the one that the seal was made with."""
    try:
        AESGCM(keys.keys[id_]).decrypt(seal[:NONCE_BYTES], seal[NONCE_BYTES:], id_.encode())
    except InvalidTag:
        return False
    return True


class SharedConverter(PydanticPayloadConverter):
    """Pydantic's JSON, one a process: Temporal makes one a step, a twentieth of its Python."""

    _shared: ClassVar["SharedConverter | None"] = None

    def __new__(cls) -> "SharedConverter":  # noqa: PYI034
        """The one there is."""
        if cls._shared is None:
            made = super().__new__(cls)
            PydanticPayloadConverter.__init__(made)
            cls._shared = made
        return cls._shared

    def __init__(self) -> None:
        """Nothing: what is shared was made whole."""


def data_converter(keys: PayloadKeys, *, only: bool = False) -> DataConverter:
    """How values are payloads: pydantic's JSON, encrypted where there are keys, as are failures.

    With `only`, what isn't encrypted is refused.
    """
    failures = DefaultFailureConverterWithEncodedAttributes
    plain = pydantic_data_converter
    return DataConverter(
        payload_converter_class=SharedConverter,
        failure_converter_class=failures if keys else plain.failure_converter_class,
        payload_codec=EncryptingCodec(keys, only=only),
    )


def tenant_of(workflow_id: str) -> str:
    """The tenant that a workflow's id names before its own part; "" where it names none.

    >>> tenant_of("skill/policy-advisor/acme/4f2k")
    'acme'
    """
    parts = workflow_id.rsplit("/", 2)
    return parts[1] if len(parts) > 2 else ""  # noqa: PLR2004 - kind, tenant, id


def _bound(metadata: Mapping[str, bytes]) -> bytes:
    """The metadata, whole and in one order: nobody can add to it or change it unnoticed."""
    parts = [part for name in sorted(metadata) for part in (name.encode(), metadata[name])]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def _changed(id_: str) -> UnreadablePayload:
    return UnreadablePayload(
        f"a payload isn't what was encrypted with the key {id_!r}: it was changed since, or "
        f"another key has the same id; see which key {id_!r} was when it was written"
    )
