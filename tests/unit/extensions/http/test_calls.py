"""A declared tool that is called: what its server gets, and what the caller gets back."""

import asyncio
import gzip
import json
import zlib
from dataclasses import replace
from typing import Any
from unittest.mock import ANY

import pytest

from router.domain.errors import (
    ArgumentsToolError,
    PermanentToolError,
    ToolError,
    TransientToolError,
    UnknownOutcome,
    UnusableResult,
)
from router.tool.context import Dependencies
from tests.fakes.web_server import Answer, Drop, Got, Reply, WebServer, json_reply
from tests.table import each_row
from tests.unit.extensions.http.declaring import KEY, TEXT, Desk, Folder, call, declaration, takes
from tests.unit.tool.samples import context


def says(text: bytes | str, kind: str, status: int = 200, **headers: str) -> Answer:
    body = text.encode() if isinstance(text, str) else text
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Reply([body], status, {"content-type": kind, **named})


async def test_arguments_fill_path_query_header_and_body(desk: Desk) -> None:
    tool = desk.tool(
        "/v1/{id}/things?fixed=1",
        takes=takes(id=TEXT, tag=TEXT, count={"type": "integer"}, big={}),
        method="POST",
        query_params={"tag": "{tag}", "n": 2},
        headers={"X-Tag": "tag {tag}", "X-Key": "{env.ROUTER_TOOL_KEY}"},
        body={"count": "{count}", "say": "have {count}", "big": ["{big}", 1, None]},
    )
    got = await desk.asked(tool, id="a b", tag="x&y=z", count=3, big={"a": [1]})
    assert (got.method, got.target) == ("POST", "/v1/a%20b/things?fixed=1&tag=x%26y%3Dz&n=2")
    assert (got.headers["x-tag"], got.headers["x-key"]) == ("tag x&y=z", KEY)
    assert json.loads(got.body) == {"count": 3, "say": "have 3", "big": [{"a": [1]}, 1, None]}
    assert got.headers["idempotency-key"] == "k1"


async def test_what_is_left_out_leaves_its_place(desk: Desk) -> None:
    tool = desk.tool(
        "/things?id={id}",
        takes=takes(id_=TEXT, tags_={"type": "array"}),
        method="PUT",
        query_params={"tag": "{tags}"},
        headers={"X-Id": "id {id}"},
        body={"id": "{id}", "tags": "{tags}", "list": ["{id}", "b"]},
    )
    got = await desk.asked(tool, tags=None)
    assert (got.target, json.loads(got.body)) == ("/things", {"list": ["b"]})
    assert "x-id" not in got.headers
    assert (await desk.asked(tool, tags=["a", "b"])).target == "/things?tag=a&tag=b"


async def test_a_default_stands_for_what_is_not_given(desk: Desk) -> None:
    unit = {"type": "string", "enum": ["c", "f"], "default": "c"}
    of_no_use = {"type": "integer", "default": "many"}
    tool = desk.tool(
        takes=takes(unit=unit, days={"type": "integer", "default": 3}, more_=of_no_use),
        query_params={"unit": "{unit}", "days": "{days}", "more": "{more}"},
    )
    assert tool.defaults == {"unit": "c", "days": 3}
    assert tool.implementation.problems({}) == []
    assert (await desk.asked(tool)).target == "/?unit=c&days=3"
    assert (await desk.asked(tool, unit=None, days=5)).target == "/?unit=c&days=5"


async def test_who_calls_is_told_by_the_context_alone(desk: Desk) -> None:
    tool = desk.tool(
        "/{context.user_id}",
        takes=takes(text=TEXT),
        query_params={"text": "{text}", "c": "{context.conversation_id}"},
        headers={"X-Tenant": "{context.tenant}", "X-Now": "{context.now}"},
    )
    got = await desk.asked(tool, text="{context.user_name}{env.HOME}")
    assert got.target == "/alice?text=%7Bcontext.user_name%7D%7Benv.HOME%7D"
    assert (got.headers["x-tenant"], got.headers["x-now"][:10]) == ("default", "2026-11-18")
    assert list(tool.argument_names) == ["text"]
    assert tool.implementation.problems({"text": "a", "context.user_id": "bob"})


async def test_a_form_is_sent_as_one(desk: Desk) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    body = {"q": "{q}", "n": 1}
    tool = desk.tool(takes=takes(q=TEXT), method="POST", headers=form, body=body)
    got = await desk.asked(tool, q="a&n=2")
    assert (got.body, got.headers["content-type"]) == (b"q=a%26n%3D2&n=1", form["Content-Type"])


async def test_no_proxy_of_the_machine_is_used(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert (await desk.asked(desk.tool())).target == "/"


async def test_cookies_of_one_call_are_not_sent_with_the_next(desk: Desk) -> None:
    desk.server.answer = says("{}", "application/json", set_cookie="session=alice")
    tool = desk.tool()
    await desk.asked(tool)
    assert "cookie" not in (await desk.asked(tool)).headers


@each_row(
    ("value", "target"),
    [
        ("a/b", "/v1/a%2Fb/end"),
        ("a?admin=1", "/v1/a%3Fadmin%3D1/end"),
        ("a#b", "/v1/a%23b/end"),
        ("@evil.example", "/v1/%40evil.example/end"),
        ("//evil.example", "/v1/%2F%2Fevil.example/end"),
        ("http://evil.example", "/v1/http%3A%2F%2Fevil.example/end"),
        ("a\r\nX-Evil: 1", "/v1/a%0D%0AX-Evil%3A%201/end"),
        ("%2e%2e%2f", "/v1/%252e%252e%252f/end"),
        ("...", "/v1/.../end"),
        ("上海", "/v1/%E4%B8%8A%E6%B5%B7/end"),
        ("a;b=c,d", "/v1/a%3Bb%3Dc%2Cd/end"),
        ("a\x00b", "/v1/a%00b/end"),
        (True, "/v1/true/end"),
        (1.5, "/v1/1.5/end"),
    ],
)
async def test_in_the_path_a_value_stays_one_segment(desk: Desk, value: Any, target: str) -> None:
    got = await desk.asked(desk.tool("/v1/{id}/end", takes=takes(id={})), id=value)
    assert got.target == target
    assert "x-evil" not in got.headers


CLIMBING = ["..", ".", "../admin", "a/../b", "..\\admin", "a\\..\\b", "./a", "a/.", " .. "]


@each_row("value", [*CLIMBING, "", "  ", ["a"], {"a": 1}])
async def test_in_the_path_a_value_never_climbs_or_vanishes(desk: Desk, value: Any) -> None:
    with pytest.raises(ArgumentsToolError, match=r"\{id\}"):
        await desk.asked(desk.tool("/v1/{id}", takes=takes(id={})), id=value)
    assert desk.server.requests == []


@each_row("value", ["a\r\nX-Evil: 1", "a\nb", "a\x00", "上海", "\x7f", "a\u2028b"])
async def test_in_a_header_a_value_stays_on_its_line(desk: Desk, value: str) -> None:
    with pytest.raises(ArgumentsToolError, match="header"):
        await desk.asked(desk.tool(takes=takes(id=TEXT), headers={"X-Id": "{id}"}), id=value)
    assert desk.server.requests == []


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("王芳", "%E7%8E%8B%E8%8A%B3"),
        ("Zoë (100%)", "Zo%C3%AB (100%25)"),
        ("a\r\nX-Evil: 1", "a%0D%0AX-Evil: 1"),
        ("Alice", "Alice"),
    ],
)
async def test_in_a_header_the_context_is_percent_encoded(desk: Desk, name: str, sent: str) -> None:
    tool = desk.tool(headers={"X-Name": "{context.user_name}"})
    caller = context().caller.model_copy(update={"name": name})
    await tool.call({}, replace(context(), caller=caller), Dependencies())
    (got,) = desk.server.requests
    assert got.headers["x-name"] == sent
    assert "x-evil" not in got.headers


async def test_what_the_context_knows_and_no_header_takes_is_nobodys_argument(desk: Desk) -> None:
    with pytest.raises(PermanentToolError, match=r"\{context\.roles\} is a list"):
        await desk.asked(desk.tool(headers={"X-Roles": "roles {context.roles}"}))
    assert desk.server.requests == []


@each_row(
    "value", ['", "admin": true, "x": "', "\\", "\u2028", '"}', "{id}", "{{id}}", "null", "\ud800"]
)
async def test_in_a_body_a_value_stays_a_text(desk: Desk, value: str) -> None:
    body = {"id": "{id}", "say": "a {id} b"}
    got = await desk.asked(desk.tool(takes=takes(id=TEXT), method="POST", body=body), id=value)
    sent = value.replace("\ud800", "?")
    assert json.loads(got.body) == {"id": sent, "say": f"a {sent} b"}


async def test_a_key_of_strange_characters_stays_one_header(desk: Desk) -> None:
    await call(desk.tool(method="POST"), "张三/a\r\nX-Evil: 1")
    assert desk.server.requests[0].headers["idempotency-key"].endswith("/a%0D%0AX-Evil:%201")


PACKED = gzip.compress(b'{"a": 1}')
UNENDED = (
    *(
        "<!--",
        "<a ",
        "<![",
        "<!",
        "</",
        "<?",
        "&",
        "&#9",
        "<a b='",
        '<a b="',
        "<script>",
        "<svg><a",
    ),
    *(" <p", "<a\t/", "<title>", "<!doctype ", "<script></", "9&#9999999999999"),
)
STRANGE = ("nonsense", "punycode", "idna", "utf-7", "unicode_escape", "rot13", "base64")


@pytest.mark.slow
@each_row(
    ("answer", "value"),
    [
        (says('{"a": [1, null]}', "application/json; charset=utf-8"), {"a": [1, None]}),
        (says('{"a": 1}', "application/vnd.api+json"), {"a": 1}),
        (says("sunny", "text/plain"), "sunny"),
        (says("晴".encode("gb18030"), "text/plain; charset=gb18030"), "晴"),
        *((says("晴-", f"text/plain; charset={each}"), "晴-") for each in STRANGE),
        (says("x" * 20_000, "text/plain"), "x" * 16_000 + "…"),
        (says("<p>A <b>b</b><script>x()</script><br>c", "text/html"), "A b\nc"),
        (says("<!-- <p> -->1 < 2 &amp; <a title='>'>3</A>", "text/html"), "1 < 2 & 3"),
        (says("<head><title>x</title></header></HEAD >a<svg/>b", "text/html"), "ab"),
        (says("a<script>b<p>c", "text/html"), "ab\nc"),
        (says(f"&#{'9' * 5000}", "text/html"), f"&#{'9' * 5000}"),
        *((says(f"a{part * 50_000}", "text/html"), ANY) for part in UNENDED),
        (says("", "image/png", 204), None),
        (says(PACKED, "application/json", content_encoding="gzip"), {"a": 1}),
        (says(zlib.compress(b"flat"), "text/plain", content_encoding="deflate"), "flat"),
    ],
)
async def test_json_text_and_pages_are_read(desk: Desk, answer: Answer, value: Any) -> None:
    desk.server.answer = answer
    assert await call(desk.tool()) == value


@each_row("kind", ["application/json", "text/plain", "text/html"])
async def test_what_nobody_sees_is_in_no_answer(desk: Desk, kind: str) -> None:
    hidden = "\u202e\u2066\u200b\u00ad\ufeff\U000e0041\u034f"
    said = f"{hidden}¥9{hidden},001 \U0001f469\u200d\U0001f4bb"
    as_json = kind == "application/json"
    desk.server.answer = says(
        json.dumps({said: [said]}, ensure_ascii=as_json) if as_json else said, kind
    )
    seen = "¥9,001 \U0001f469\u200d\U0001f4bb"
    assert await call(desk.tool()) == ({seen: [seen]} if as_json else seen)


async def test_a_write_whose_answer_is_of_a_strange_charset_is_done(desk: Desk) -> None:
    desk.server.answer = says("a" * 70 + ".", "text/plain; charset=idna", 201)
    assert await call(desk.tool(method="POST"), "k1") == "a" * 70 + "."


BOMB = gzip.compress(bytes(200_000_000), 1)


@each_row(
    ("answer", "said"),
    [
        (says("PNG", "image/png"), "image/png, which isn't read"),
        (says("x", ""), "of no type"),
        (says("x", "application/octet-stream"), "application/octet-stream"),
        (says("{nope", "application/json"), "and isn't"),
        (says('{"a": NaN}', "application/json"), "NaN is no JSON"),
        (says("[" * 100_000, "application/json"), "and isn't"),
        (
            says(f"[{'{},' * 300_000}0]", "application/json"),
            "more than 100000 values",
        ),
        (says(b"\xff\xfe", "application/json"), "and isn't"),
        (says("x" * (1024 * 1024 + 1), "text/plain"), "over 1024 KiB"),
        (says(BOMB, "text/plain", content_encoding="gzip"), "over 1024 KiB"),
        (says("not gzip", "text/plain", content_encoding="gzip"), "can't be unpacked"),
        (says("x", "text/plain", content_encoding="br"), "packed as 'br'"),
        (says("x", "text/plain", content_encoding="gzip, gzip"), "packed as"),
        (says("secret", "text/plain", 404), "answered 404; in its own words: «secret»"),
        (says("x" * 5000, "text/plain", 403), "x…»"),
        (says("a\r\n«b»\x1b[31m", "text/plain", 410), '«a "b" [31m»'),
    ],
)
async def test_anything_else_is_refused(desk: Desk, answer: Answer, said: str) -> None:
    desk.server.answer = answer
    with pytest.raises(PermanentToolError) as refused:
        await call(desk.tool())
    assert said in str(refused.value)
    assert len(str(refused.value)) < 450


async def test_a_refusal_that_is_too_deep_to_quote_is_a_refusal(desk: Desk) -> None:
    desk.server.answer = says("[" * 700 + "]" * 700, "application/json", 403)
    with pytest.raises(PermanentToolError, match=r"answered 403$"):
        await call(desk.tool())


@each_row(
    ("status", "kind"),
    [
        *((status, ArgumentsToolError) for status in (400, 422)),
        *((status, PermanentToolError) for status in (401, 403, 404, 409)),
        *((status, TransientToolError) for status in (408, 425, 429, 500, 502, 503, 504)),
    ],
)
async def test_a_status_is_a_kind_of_error(desk: Desk, status: int, kind: type[ToolError]) -> None:
    desk.server.answer = lambda _: json_reply({"why": "so"}, status)
    said = rf'answered {status}; in its own words: «{{"why": "so"}}»'
    with pytest.raises(kind, match=said):
        await call(desk.tool())


@each_row(
    ("header", "seconds"),
    [("7", 7.0), ("Wed, 18 Nov 2020 10:00:00 GMT", 0.0), ("soon", None), ("9" * 400, 86400.0)],
)
async def test_how_long_to_wait_is_told(desk: Desk, header: str, seconds: float | None) -> None:
    desk.server.answer = says("busy", "text/plain", 429, retry_after=header)
    with pytest.raises(TransientToolError) as busy:
        await call(desk.tool())
    assert busy.value.retry_after == seconds


async def test_a_server_that_is_gone_or_breaks_off_may_come_back(folder: Folder) -> None:
    broken = Reply([b'{"a":', Drop()], 200, {"content-type": "application/json"})
    async with WebServer(lambda _: broken) as server:
        origin = server.origin
        tool = folder.tool(declaration(endpoint={"url": origin}), origin)
        with pytest.raises(TransientToolError, match="broke off"):
            await call(tool)
    with pytest.raises(TransientToolError, match="can't be reached"):
        await call(tool)
    data = declaration(endpoint={"url": origin, "method": "POST"})
    with pytest.raises(PermanentToolError, match="nothing was done"):
        await call(folder.tool(data, origin), "k1")
    with pytest.raises(TransientToolError):
        await call(folder.tool({**data, "idempotent": True}, origin), "k1")


async def test_a_slow_drip_ends_with_the_time_limit(desk: Desk) -> None:
    plain = {"content-type": "text/plain"}
    desk.server.answer = lambda _: Reply([b"x", asyncio.Event()], 200, plain)
    with pytest.raises(TransientToolError, match=r"took longer than 0\.05 s"):
        await call(desk.tool(timeout="50ms"))


ROWS = [{"id": n, "x": 1} for n in range(9)]


@each_row(
    ("wanted", "given"),
    [
        ({"result": "/data/rows/0"}, {"id": 0, "x": 1}),
        ({"result": "/data/a~1b/~0"}, 3),
        ({"result": "/data/rows", "items": {"most": 2, "keep": ["id"]}}, [{"id": 0}, {"id": 1}]),
        ({"result": {"last": "/data/rows/8/id", "no": "/data/rows/9"}}, {"last": 8, "no": None}),
    ],
)
async def test_what_is_wanted_is_given(desk: Desk, wanted: dict[str, Any], given: Any) -> None:
    desk.server.answer = lambda _: json_reply({"data": {"rows": ROWS, "a/b": {"~": 3}}})
    data = declaration(endpoint={"url": desk.server.origin}, **wanted)
    assert await call(desk.folder.tool(data, desk.server.origin)) == given
    with pytest.raises(PermanentToolError, match="nothing at /nope"):
        await call(desk.folder.tool({**data, "result": "/nope"}, desk.server.origin))


async def test_a_write_whose_answer_is_unusable_was_done_all_the_same(desk: Desk) -> None:
    desk.server.answer = says("PNG", "image/png", 201)
    with pytest.raises(UnusableResult, match="the answer is image/png"):
        await call(desk.tool(method="POST"), "k1")


async def test_secrets_that_come_back_are_taken_out(desk: Desk) -> None:
    tool = desk.tool("/?k={env.ROUTER_TOOL_KEY}", headers={"X-Key": "{env.ROUTER_TOOL_KEY}"})
    value = await call(tool)
    desk.server.answer = says(f"wrong key {KEY}", "text/plain", 401)
    with pytest.raises(PermanentToolError, match=r"«wrong key \[redacted\]»"):
        await call(tool)
    assert desk.server.requests[0].headers["x-key"] == KEY
    assert (value["headers"]["x-key"], value["target"]) == ("[redacted]", "/?k=[redacted]")
    assert KEY not in f"{tool.capability} {tool.parameters}"


async def test_nothing_of_a_request_is_logged(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    headers = {"X-Key": "{env.ROUTER_TOOL_KEY}"}
    tool = desk.tool("/{id}?k={env.ROUTER_TOOL_KEY}", takes=takes(id=TEXT), headers=headers)
    assert (await desk.asked(tool, id="13800138000")).target == "/13800138000?k=s3cret%2Fkey%3D%3D"
    assert "13800138000" not in caplog.text
    assert "s3cret" not in caplog.text


def leads_to(place: str, status: int = 302) -> Answer:
    def answer(got: Got) -> Reply:
        if got.target == "/here":
            return json_reply({"method": got.method, "headers": dict(got.headers)})
        return Reply([b""], status, {"location": place})

    return answer


async def redirected(desk: Desk, *allowed: str, **endpoint: Any) -> Any:
    """What comes of a call that carries credentials and is sent on."""
    key = {"X-Key": "{env.ROUTER_TOOL_KEY}", "Authorization": "Bearer {env.ROUTER_TOOL_KEY}"}
    tool = desk.tool("/go", *allowed, headers=key, **endpoint)
    return await call(tool, "k1" if tool.writes else "")


@pytest.mark.parametrize(
    "place",
    [
        *("http://169.254.169.254/latest/meta-data/", "http://[::ffff:169.254.169.254]/"),
        *("http://2852039166/", "http://0x7f.1/", "http://localhost:1/", "http://127.0.0.1:1/"),
        *("http://user:pw@127.0.0.1/", "https://[fe80::1%25eth0]/", "file:///etc/passwd"),
        *("https://evil.example/", "//evil.example/"),
    ],
)
async def test_to_anywhere_else_no_redirect_is_followed(desk: Desk, place: str) -> None:
    desk.server.answer = leads_to(place)
    with pytest.raises((PermanentToolError, TransientToolError)):
        await redirected(desk)
    assert desk.server.targets == ["/go"]


async def test_within_the_place_a_redirect_is_followed_three_times_at_most(desk: Desk) -> None:
    desk.server.answer = leads_to("/here")
    assert "x-key" in (await redirected(desk))["headers"]
    desk.server.answer = leads_to("/round")
    with pytest.raises(PermanentToolError, match="more than 3 times"):
        await redirected(desk)
    assert desk.server.targets[2:] == ["/go", "/round", "/round", "/round"]


async def test_to_a_place_that_is_named_no_credentials_are_carried(desk: Desk) -> None:
    async with WebServer(leads_to("/here")) as other:
        desk.server.answer = leads_to(f"{other.origin}/here")
        found = await redirected(desk, other.origin)
    assert not {"x-key", "authorization"} & found["headers"].keys()


@each_row(
    ("status", "kind"), [(302, UnknownOutcome), (303, UnknownOutcome), (307, PermanentToolError)]
)
async def test_no_write_is_sent_elsewhere(desk: Desk, status: int, kind: type[ToolError]) -> None:
    async with WebServer(leads_to("/here")) as other:
        desk.server.answer = leads_to(f"{other.origin}/x", status)
        with pytest.raises(kind):
            await redirected(desk, other.origin, method="POST", body={"a": 1})
    assert other.requests == []


async def test_a_write_that_moved_within_the_place_goes_on_whole(desk: Desk) -> None:
    desk.server.answer = leads_to("/here", 307)
    found = await redirected(desk, method="POST", body={"a": 1})
    assert (found["method"], desk.server.requests[1].body) == ("POST", b'{"a": 1}')
    assert found["headers"]["idempotency-key"] == "k1"


async def test_a_path_without_its_context_is_refused(desk: Desk) -> None:
    with pytest.raises(PermanentToolError, match="conversation_id"):
        await call(desk.tool("/{context.conversation_id}"))
