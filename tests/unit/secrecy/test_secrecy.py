"""What is kept from others: payloads under a key, and secrets in what is written down."""

import base64
import io
import json
import logging
import time
from collections.abc import Callable

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.converter import (
    ActivitySerializationContext,
    DataConverter,
    SerializationContext,
    WorkflowSerializationContext,
)
from temporalio.exceptions import ApplicationError

from router.domain.errors import RouterError, UnreadablePayload
from router.secrecy.codec import EncryptingCodec, data_converter
from router.secrecy.redaction import Redacting, redact
from router.settings.values import PayloadKeys
from router.telemetry.metrics import UNREADABLE
from tests.table import each_row

OLD = f"old:{base64.b64encode(b'o' * 32).decode()}"
NEW = f"new:{base64.b64encode(b'n' * 32).decode()}"
WORDS = "我要请年假 for my 旅行"


def keys(*written: str) -> PayloadKeys:
    return PayloadKeys.read(",".join(written))


async def sealed(value: object = WORDS, written: str = OLD) -> Payload:
    (payload,) = await data_converter(keys(written)).encode([value])
    return payload


def forms(words: str) -> list[bytes]:
    """How words could stand in a file: as they are, in JSON, in base64 at any of three offsets."""
    raw, escaped = words.encode(), json.dumps(words).strip('"').encode()
    return [raw, escaped, *(base64.b64encode(b"x" * n + raw)[4:-4] for n in range(3))]


@each_row(
    ("written", "said"),
    [
        ("", "entry 1 isn't id:base64"),
        ("a", "entry 1 isn't id:base64"),
        (":" + "A" * 43 + "=", "entry 1 isn't id:base64"),
        ("a b:" + "A" * 43 + "=", "entry 1 isn't id:base64"),
        ("x" * 65 + ":" + "A" * 43 + "=", "entry 1 isn't id:base64"),
        ("键:" + "A" * 43 + "=", "entry 1 isn't id:base64"),
        (f"{OLD},", "entry 2 isn't id:base64"),
        ("a:hunter2!", "the key a isn't base64"),
        ("a:密钥", "the key a isn't base64"),
        ("a:", "the key a has 0 bytes and needs 32"),
        ("a:" + base64.b64encode(b"k" * 16).decode(), "the key a has 16 bytes and needs 32"),
        ("a:" + base64.b64encode(b"k" * 33).decode(), "the key a has 33 bytes and needs 32"),
        (f"{OLD},{OLD}", "the key id old is there twice"),
    ],
)
def test_keys_that_cannot_be_used_are_refused_without_showing_them(written: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        PayloadKeys.read(written)
    secret = written.partition(":")[2]
    assert not secret or secret not in str(refused.value)


def test_keys_are_not_shown() -> None:
    assert "oooo" not in repr(keys(OLD))
    assert repr(keys(OLD, NEW)) == "PayloadKeys(current='old')"


async def test_what_is_encrypted_comes_back_shows_nothing_and_is_never_alike() -> None:
    payload = await sealed()
    written = payload.SerializeToString()
    assert not [form for form in forms(WORDS) if form in written]
    assert payload.metadata["encryption-key-id"] == b"old"
    assert await data_converter(keys(OLD)).decode([payload]) == [WORDS]
    assert (await sealed()).data != payload.data


async def test_without_keys_payloads_are_plain_and_old_ones_are_read_with_keys() -> None:
    (plain,) = await data_converter(PayloadKeys()).encode([WORDS])
    assert plain.metadata["encoding"] == b"json/plain"
    assert await data_converter(keys(OLD)).decode([plain]) == [WORDS]


async def test_what_is_not_encrypted_is_refused_once_all_is() -> None:
    of_flow = WorkflowSerializationContext("default", "leave_request/acme/1")
    strict = data_converter(keys(NEW, OLD), only=True)
    plain = await data_converter(PayloadKeys()).encode([WORDS, None, b"raw"])
    named = Payload(metadata={**plain[0].metadata, "encryption-key-id": b"old"})
    for payload in (*plain, named, Payload()):
        for converter in (strict, strict.with_context(of_flow)):
            with pytest.raises(UnreadablePayload, match="ENCRYPTED_PAYLOADS_ONLY"):
                await converter.decode([payload])
    assert await strict.decode([await sealed(), *await strict.encode([None])]) == [WORDS, None]


async def test_the_first_key_writes_and_all_of_them_read() -> None:
    rotated = data_converter(keys(NEW, OLD))
    (written,) = await rotated.encode([WORDS])
    assert written.metadata["encryption-key-id"] == b"new"
    assert await rotated.decode([await sealed(), written]) == [WORDS, WORDS]


@each_row(
    ("there", "said"),
    [(keys(NEW), "doesn't have (it has new)"), (PayloadKeys(), "doesn't have (it isn't set)")],
)
async def test_an_unknown_key_is_named_with_what_to_do(there: PayloadKeys, said: str) -> None:
    counted = UNREADABLE._value.get()
    with pytest.raises(UnreadablePayload) as refused:
        await data_converter(there).decode([await sealed()])
    assert UNREADABLE._value.get() == counted + 1
    for words in ("the key 'old'", said, "add that key behind the others"):
        assert words in str(refused.value)
    assert isinstance(refused.value, RouterError)


@each_row(
    ("data", "metadata"),
    [
        (lambda data: b"", {}),
        (lambda data: data[:27], {}),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), {}),
        (lambda data: bytes([data[0] ^ 1]) + data[1:], {}),
        (bytes, {"messageType": b"another"}),
        (bytes, {"encryption-cipher": b"none"}),
        (bytes, {"encryption-key-id": b"new"}),
        (bytes, {"encryption-tenant": b""}),
    ],
    ids=[
        "nothing",
        "short",
        "flipped",
        "other nonce",
        "more metadata",
        "other cipher",
        "other key",
        "a tenant",
    ],
)
async def test_what_was_changed_is_refused(
    data: Callable[[bytes], bytes], metadata: dict[str, bytes]
) -> None:
    payload = await sealed()
    changed = Payload(metadata={**payload.metadata, **metadata}, data=data(payload.data))
    with pytest.raises(UnreadablePayload, match="isn't what was encrypted"):
        await EncryptingCodec(keys(OLD, NEW)).decode([changed])


@each_row(
    "context",
    [
        WorkflowSerializationContext("default", "leave_request/acme/r1"),
        ActivitySerializationContext(
            *("default", "1", "notify", "router", "skill/a/acme/r2", "skill"), is_local=True
        ),
    ],
)
async def test_a_tenants_payloads_are_read_for_that_tenant_alone(
    context: SerializationContext,
) -> None:
    converter = data_converter(keys(OLD))
    (theirs,) = await converter.with_context(context).encode([WORDS])
    own = WorkflowSerializationContext("default", "conversation/acme/c1")
    assert await converter.with_context(own).decode([theirs]) == [WORDS]
    for other in ("conversation/default/c1", "conversation/acme.cn/c1", "acme", ""):
        elsewhere = converter.with_context(WorkflowSerializationContext("default", other))
        with pytest.raises(UnreadablePayload, match="another tenant"):
            await elsewhere.decode([theirs])


@each_row("size", [0, 1, 256 * 1024, 2 * 1024 * 1024])
async def test_encrypting_adds_little_whatever_the_size(size: int) -> None:
    plain = Payload(metadata={"encoding": b"json/plain"}, data=b"x" * size)
    (payload,) = await EncryptingCodec(keys(OLD)).encode([plain])
    assert payload.ByteSize() - plain.ByteSize() < 200


async def failure_of(converter: DataConverter) -> Failure:
    failure, error = Failure(), ApplicationError(WORDS, {"zh": WORDS}, type="Conflict")
    await converter.encode_failure(error, failure)
    return failure


async def test_failures_hold_no_words_outside_of_what_is_encrypted() -> None:
    converter = data_converter(keys(OLD))
    failure = await failure_of(converter)
    written = failure.SerializeToString()
    assert not [form for form in forms(WORDS) if form in written]
    assert not failure.stack_trace
    assert failure.application_failure_info.type == "Conflict"
    assert str(await converter.decode_failure(failure)) == f"Conflict: {WORDS}"


async def test_failures_are_plain_where_there_is_no_key() -> None:
    assert (await failure_of(data_converter(PayloadKeys()))).message == WORDS


JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl"


@each_row(
    ("text", "clean"),
    [
        ("mail alice.w+hr@mail.example.com.", "mail [email]."),
        ("写信给 张三@example.cn", "写信给 [email]"),
        ("打13812345678找我", "打[phone]找我"),
        ("+86 138 1234 5678", "[phone]"),
        ("电话010-12345678。", "电话[phone]。"),
        ("call (415) 555-2671 or 415-555-2671", "call [phone] or [phone]"),
        ("+44 20 7946 0958", "[phone]"),
        ("身份证11010519491231002X。", "身份证[national id]。"),
        ("SSN 123-45-6789", "SSN [national id]"),
        ("卡号6222021234567890128", "卡号[card]"),
        ("card 4111 1111 1111 1111!", "card [card]!"),
        ("卡号4111111111111111", "卡号[card]"),
        ("Authorization: Bearer abcdef.123-x", "Authorization: Bearer [secret]"),
        (f"token {JWT} ended", "token [secret] ended"),
        ("key sk-proj-abcdefghij0123456789 refused", "key [secret] refused"),
        ("xoxb-123456789012-abcdefghijkl", "[secret]"),
        ("password=hunter2&user=a", "password=[secret]&user=a"),
        ('{"api_key": "abc123def"}', '{"api_key": "[secret]"}'),
        ("ROUTER_JWT_SECRET=abcdefgh", "ROUTER_JWT_SECRET=[secret]"),
        ("密码：abc123，谢谢", "密码：[secret]，谢谢"),
        ("postgresql://router:hunter2@db/router", "postgresql://[secret]@db/router"),
    ],
)
def test_what_is_personal_or_secret_is_taken_out(text: str, clean: str) -> None:
    assert redact(text) == clean


@each_row(
    "text",
    [
        "",
        "the API listens on http://127.0.0.1:8000",
        "leave_request/default/7h2k3m is over",
        "2026-11-22 16:05:37,123 INFO",
        "order 4111111111111112",
        "0a4b8c12-1234-1234-1234-123456789012",
        "12,345.67 CNY on 2026-12-07",
        "usage: prompt_tokens=1234 completion_tokens=56",
        "请3天年假",
    ],
)
def test_what_is_neither_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.slow
@each_row(
    "piece",
    ["a", "eyJ-", "1 ", "+1 ", "a@", "a.", "password", "password=", "-", "(", "://a:", "Bearer "],
)
def test_hostile_texts_take_no_time(piece: str) -> None:
    began = time.process_time()
    redact(piece * 100_000)
    assert time.process_time() - began < 2


Written = tuple[logging.Logger, io.StringIO]


@pytest.fixture
def written(request: pytest.FixtureRequest) -> Written:
    logger, stream = logging.getLogger(request.node.name), io.StringIO()
    logger.propagate = False
    handler = logging.StreamHandler(stream)
    handler.addFilter(Redacting())
    logger.addHandler(handler)
    return logger, stream


def test_logs_are_redacted_arguments_and_tracebacks_included(written: Written) -> None:
    logger, stream = written
    try:
        json.loads("alice@example.com")
    except ValueError:
        logger.exception("no mail to %s", "bob@example.com", stack_info=True)
    error = ValueError("call 13812345678")
    logger.error("failed", exc_info=error)
    assert "example.com" not in stream.getvalue().replace('loads("alice@example.com")', "")
    assert "ValueError: call [phone]" in stream.getvalue()
    assert "no mail to [email]" in stream.getvalue()


def test_of_a_failure_raised_on_purpose_only_the_type_is_logged(written: Written) -> None:
    logger, stream = written
    error = ApplicationError("家里有事", type="PermanentToolError")
    logger.warning("Completing activity as failed", exc_info=error)
    assert stream.getvalue() == "Completing activity as failed: PermanentToolError\n"
