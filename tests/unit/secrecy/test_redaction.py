import io
import json
import logging
import time

import pytest
from temporalio.exceptions import ApplicationError

from router.secrecy.redaction import Redacting, redact

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl"


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "piece",
    ["a", "eyJ-", "1 ", "+1 ", "a@", "a.", "password", "password=", "-", "(", "://a:", "Bearer "],
)
def test_hostile_texts_take_no_time(piece: str) -> None:
    began = time.process_time()
    redact(piece * 100_000)
    assert time.process_time() - began < 2


@pytest.fixture
def written(request: pytest.FixtureRequest) -> tuple[logging.Logger, io.StringIO]:
    logger, stream = logging.getLogger(request.node.name), io.StringIO()
    logger.propagate = False
    handler = logging.StreamHandler(stream)
    handler.addFilter(Redacting())
    logger.addHandler(handler)
    return logger, stream


def test_logs_are_redacted_arguments_and_tracebacks_included(
    written: tuple[logging.Logger, io.StringIO],
) -> None:
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


def test_of_a_failure_raised_on_purpose_only_the_type_is_logged(
    written: tuple[logging.Logger, io.StringIO],
) -> None:
    logger, stream = written
    error = ApplicationError("家里有事", type="PermanentToolError")
    logger.warning("Completing activity as failed", exc_info=error)
    assert stream.getvalue() == "Completing activity as failed: PermanentToolError\n"
