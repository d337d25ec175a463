"""Temporal's remote codec protocol: its UI and command line ask here for plain text.

They send payloads in the JSON form of protobuf and get as many back, in the same order. Whoever
holds a payload can have it decrypted, so that only operators may ask, of their own tenant's.
"""

import base64
import binascii
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import (
    Base64Bytes,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
)
from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec

from router.api.dependencies import OPERATOR, Audited, Caller, Given
from router.api.errors import problems
from router.api.idempotency import IdempotencyKey
from router.api.params import StrictRoute
from router.domain.errors import FieldProblem, Forbidden, InvalidInput, UnreadablePayload
from router.secrecy.codec import EncryptingCodec

PREFIX = "/codec"
MAX_BODY = 8 * 1024 * 1024
BODIES = {f"{PREFIX}/{way}": MAX_BODY for way in ("decode", "encode")}
"""Bytes: a page of history is at most four million, which base64 makes longer by a third."""
MAX_PAYLOADS = 10_000
MAX_METADATA = 32

router = APIRouter(prefix=PREFIX, tags=["codec"], route_class=StrictRoute)

BASE64 = r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"


def _strict(text: object) -> object:
    """Python's own reading passes over whatever isn't of the alphabet."""
    if isinstance(text, str):
        try:
            base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise ValueError(f"it isn't base64: {error}") from error
    return text


Bytes = Annotated[
    Base64Bytes,
    BeforeValidator(_strict),
    WithJsonSchema({"type": "string", "format": "byte", "pattern": BASE64}),
]


class PayloadBody(BaseModel):
    """A payload in the JSON form of protobuf: all bytes are in base64."""

    model_config = ConfigDict(extra="forbid")

    metadata: dict[str, Bytes] = Field({}, max_length=MAX_METADATA)
    data: Bytes = b""

    def payload(self) -> Payload:
        """As Temporal's library has it."""
        return Payload(metadata=self.metadata, data=self.data)

    @classmethod
    def of(cls, payload: Payload) -> "PayloadBody":
        """The other way round."""
        metadata = {name: base64.b64encode(value) for name, value in payload.metadata.items()}
        return cls(metadata=metadata, data=base64.b64encode(payload.data))


class PayloadsBody(BaseModel):
    """Payloads, in order."""

    model_config = ConfigDict(extra="forbid")

    payloads: list[PayloadBody] = Field([], max_length=MAX_PAYLOADS, fail_fast=True)


async def _codec(services: Given, caller: Caller) -> PayloadCodec:
    if OPERATOR not in caller.roles:
        raise Forbidden("Only operators may read what Temporal keeps.")
    return EncryptingCodec(services.settings.payload_keys, caller.tenant)


Codec = Annotated[PayloadCodec, Depends(_codec)]


@router.post("/decode", responses=problems(400, 403, 413, 415))
async def decode(
    codec: Codec, audit: Audited, _key: IdempotencyKey, body: PayloadsBody
) -> PayloadsBody:
    """Decrypt payloads; those that aren't encrypted come back as they are."""
    await audit.note("payloads.decode", detail=f"{len(body.payloads)} payloads")
    try:
        plain = await codec.decode([each.payload() for each in body.payloads])
    except UnreadablePayload as error:
        raise InvalidInput(str(error), [FieldProblem("payloads", "can't be decrypted")]) from error
    return PayloadsBody(payloads=[PayloadBody.of(payload) for payload in plain])


@router.post("/encode", responses=problems(400, 403, 413, 415))
async def encode(
    codec: Codec, audit: Audited, _key: IdempotencyKey, body: PayloadsBody
) -> PayloadsBody:
    """Encrypt payloads with the current key, such as a signal's that is sent from the UI."""
    await audit.note("payloads.encode", detail=f"{len(body.payloads)} payloads")
    sealed = await codec.encode([each.payload() for each in body.payloads])
    return PayloadsBody(payloads=[PayloadBody.of(payload) for payload in sealed])
