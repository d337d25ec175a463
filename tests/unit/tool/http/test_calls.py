"""A declared tool that is called: what its server gets, and what the caller gets back."""

import asyncio
import gzip
import json
import zlib
from dataclasses import replace
from typing import Any

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
from tests.fakes.web_server import Answer, Drop, Got, Piece, Reply, WebServer, json_reply
from tests.unit.tool.http.declaring import TEXT, Folder, call, declaration, takes
from tests.unit.tool.samples import context


def says(text: bytes | str, kind: str, status: int = 200, **headers: str) -> Answer:
    body = text.encode() if isinstance(text, str) else text
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Reply([body], status, {"content-type": kind, **named})


def echo(got: Got) -> Reply:
    return json_reply({"target": got.target, "headers": dict(got.headers)})


async def asked(folder: Folder, server: WebServer, data: dict[str, Any], **arguments: Any) -> Got:
    """The request that a call makes."""
    tool = folder.tool(data, server.origin, ROUTER_TOOL_KEY="s3cret key")
    await call(tool, "k1" if tool.writes else "", **arguments)
    return server.requests[-1]


class TestWhatIsSent:
    async def test_arguments_fill_path_query_header_and_body(self, folder: Folder) -> None:
        async with WebServer(echo) as server:
            data = declaration(
                parameters=takes(id=TEXT, tag=TEXT, count={"type": "integer"}, big={}),
                endpoint={
                    "url": f"{server.origin}/v1/{{id}}/things?fixed=1",
                    "method": "POST",
                    "query_params": {"tag": "{tag}", "n": 2},
                    "headers": {"X-Tag": "tag {tag}", "X-Key": "{env.ROUTER_TOOL_KEY}"},
                    "body": {"count": "{count}", "say": "have {count}", "big": ["{big}", 1, None]},
                },
            )
            got = await asked(folder, server, data, id="a b", tag="x&y=z", count=3, big={"a": [1]})
        assert got.method == "POST"
        assert got.target == "/v1/a%20b/things?fixed=1&tag=x%26y%3Dz&n=2"
        assert (got.headers["x-tag"], got.headers["x-key"]) == ("tag x&y=z", "s3cret key")
        assert json.loads(got.body) == {"count": 3, "say": "have 3", "big": [{"a": [1]}, 1, None]}
        assert got.headers["idempotency-key"] == "k1"

    async def test_what_is_left_out_leaves_its_place(self, folder: Folder) -> None:
        async with WebServer(echo) as server:
            data = declaration(
                parameters=takes(id_=TEXT, tags_={"type": "array"}),
                endpoint={
                    "url": f"{server.origin}/things?id={{id}}",
                    "method": "PUT",
                    "query_params": {"tag": "{tags}"},
                    "headers": {"X-Id": "id {id}"},
                    "body": {"id": "{id}", "tags": "{tags}", "list": ["{id}", "b"]},
                },
            )
            got = await asked(folder, server, data, tags=None)
            full = await asked(folder, server, data, tags=["a", "b"])
        assert (got.target, json.loads(got.body)) == ("/things", {"list": ["b"]})
        assert "x-id" not in got.headers
        assert full.target == "/things?tag=a&tag=b"

    async def test_who_calls_is_told_by_the_context_alone(self, folder: Folder) -> None:
        async with WebServer(echo) as server:
            data = declaration(
                parameters=takes(text=TEXT),
                endpoint={
                    "url": f"{server.origin}/{{context.user_id}}",
                    "query_params": {"text": "{text}", "c": "{context.conversation_id}"},
                    "headers": {"X-Tenant": "{context.tenant}", "X-Now": "{context.now}"},
                },
            )
            tool = folder.tool(data, server.origin)
            got = await asked(folder, server, data, text="{context.user_name}{env.HOME}")
        assert got.target == "/alice?text=%7Bcontext.user_name%7D%7Benv.HOME%7D"
        assert (got.headers["x-tenant"], got.headers["x-now"][:10]) == ("default", "2026-11-18")
        assert list(tool.argument_names) == ["text"]
        assert tool.implementation.problems({"text": "a", "context.user_id": "bob"})

    async def test_a_form_is_sent_as_one(self, folder: Folder) -> None:
        async with WebServer(echo) as server:
            data = declaration(
                parameters=takes(q=TEXT),
                endpoint={
                    "url": server.origin,
                    "method": "POST",
                    "headers": {"Content-Type": "application/x-www-form-urlencoded"},
                    "body": {"q": "{q}", "n": 1},
                },
            )
            got = await asked(folder, server, data, q="a&n=2")
        assert got.body == b"q=a%26n%3D2&n=1"
        assert got.headers["content-type"] == "application/x-www-form-urlencoded"

    async def test_proxies_of_the_environment_are_not_used(
        self, folder: Folder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
        async with WebServer(echo) as server:
            await asked(folder, server, declaration(endpoint={"url": server.origin}))
        assert server.targets == ["/"]

    async def test_cookies_of_one_call_are_not_sent_with_the_next(self, folder: Folder) -> None:
        answer = says("{}", "application/json", set_cookie="session=alice")
        async with WebServer(answer) as server:
            data = declaration(endpoint={"url": server.origin})
            await asked(folder, server, data)
            got = await asked(folder, server, data)
        assert "cookie" not in got.headers


class TestValuesThatWouldBeMore:
    """Injection: none of these leaves the place that it was put into."""

    @pytest.mark.parametrize(
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
    async def test_in_the_path_it_stays_one_segment(
        self, folder: Folder, value: Any, target: str
    ) -> None:
        async with WebServer(echo) as server:
            data = declaration(
                parameters=takes(id={}), endpoint={"url": f"{server.origin}/v1/{{id}}/end"}
            )
            got = await asked(folder, server, data, id=value)
        assert got.target == target
        assert "x-evil" not in got.headers

    @pytest.mark.parametrize(
        "value",
        [
            *("..", ".", "../admin", "a/../b", "..\\admin", "a\\..\\b", "./a", "a/.", " .. "),
            *("", "  ", ["a"], {"a": 1}),
        ],
    )
    async def test_in_the_path_it_never_climbs_or_vanishes(
        self, folder: Folder, value: Any
    ) -> None:
        async with WebServer(echo) as server:
            data = declaration(
                parameters=takes(id={}), endpoint={"url": f"{server.origin}/v1/{{id}}"}
            )
            with pytest.raises(ArgumentsToolError, match=r"\{id\}"):
                await asked(folder, server, data, id=value)
        assert server.requests == []

    @pytest.mark.parametrize(
        "value", ["a\r\nX-Evil: 1", "a\nb", "a\x00", "上海", "\x7f", "a\u2028b"]
    )
    async def test_in_a_header_it_stays_on_its_line(self, folder: Folder, value: str) -> None:
        async with WebServer(echo) as server:
            data = declaration(
                parameters=takes(id=TEXT),
                endpoint={"url": server.origin, "headers": {"X-Id": "{id}"}},
            )
            with pytest.raises(ArgumentsToolError, match="header"):
                await asked(folder, server, data, id=value)
        assert server.requests == []

    @pytest.mark.parametrize(
        ("name", "sent"),
        [
            ("王芳", "%E7%8E%8B%E8%8A%B3"),
            ("Zoë (100%)", "Zo%C3%AB (100%25)"),
            ("a\r\nX-Evil: 1", "a%0D%0AX-Evil: 1"),
            ("Alice", "Alice"),
        ],
    )
    async def test_what_the_context_knows_stands_in_a_header_percent_encoded(
        self, folder: Folder, name: str, sent: str
    ) -> None:
        async with WebServer(echo) as server:
            headers = {"X-Name": "{context.user_name}"}
            data = declaration(endpoint={"url": server.origin, "headers": headers})
            asking = context()
            caller = asking.caller.model_copy(update={"name": name})
            tool = folder.tool(data, server.origin)
            await tool.call({}, replace(asking, caller=caller), Dependencies())
        assert server.requests[0].headers["x-name"] == sent
        assert "x-evil" not in server.requests[0].headers

    async def test_what_the_context_knows_and_no_header_takes_is_nobodys_argument(
        self, folder: Folder
    ) -> None:
        async with WebServer(echo) as server:
            headers = {"X-Roles": "roles {context.roles}"}
            data = declaration(endpoint={"url": server.origin, "headers": headers})
            with pytest.raises(PermanentToolError, match=r"\{context\.roles\} is a list"):
                await asked(folder, server, data)
        assert server.requests == []

    @pytest.mark.parametrize(
        "value",
        ['", "admin": true, "x": "', "\\", "\u2028", '"}', "{id}", "{{id}}", "null", "\ud800"],
    )
    async def test_in_a_body_it_stays_a_text(self, folder: Folder, value: str) -> None:
        async with WebServer(echo) as server:
            data = declaration(
                parameters=takes(id=TEXT),
                endpoint={
                    "url": server.origin,
                    "method": "POST",
                    "body": {"id": "{id}", "say": "a {id} b"},
                },
            )
            got = await asked(folder, server, data, id=value)
        sent = value.replace("\ud800", "?")
        assert json.loads(got.body) == {"id": sent, "say": f"a {sent} b"}

    async def test_a_key_of_strange_characters_stays_one_header(self, folder: Folder) -> None:
        async with WebServer(echo) as server:
            data = declaration(endpoint={"url": server.origin, "method": "POST"})
            await call(folder.tool(data, server.origin), "张三/a\r\nX-Evil: 1")
        assert server.requests[0].headers["idempotency-key"].endswith("/a%0D%0AX-Evil:%201")


class TestWhatComesBack:
    @pytest.mark.parametrize(
        ("answer", "value"),
        [
            (says('{"a": [1, null]}', "application/json; charset=utf-8"), {"a": [1, None]}),
            (says('{"a": 1}', "application/vnd.api+json"), {"a": 1}),
            (says("sunny", "text/plain"), "sunny"),
            (says("晴".encode("gb18030"), "text/plain; charset=gb18030"), "晴"),
            (says("晴", "text/plain; charset=nonsense"), "晴"),
            (says("x" * 20_000, "text/plain"), "x" * 16_000 + "…"),
            (says("<p>A <b>b</b><script>x()</script><br>c", "text/html"), "A b\nc"),
            (says("", "image/png", 204), None),
            (
                says(gzip.compress(b'{"a": 1}'), "application/json", content_encoding="gzip"),
                {"a": 1},
            ),
            (
                says(zlib.compress(b"deflated"), "text/plain", content_encoding="deflate"),
                "deflated",
            ),
        ],
    )
    async def test_json_text_and_pages_are_read(
        self, folder: Folder, answer: Answer, value: Any
    ) -> None:
        async with WebServer(answer) as server:
            tool = folder.tool(declaration(endpoint={"url": server.origin}), server.origin)
            assert await call(tool) == value

    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            (says("PNG", "image/png"), "image/png, which isn't read"),
            (says("x", ""), "of no type"),
            (says("x", "application/octet-stream"), "application/octet-stream"),
            (says("{nope", "application/json"), "and isn't"),
            (says('{"a": NaN}', "application/json"), "NaN is no JSON"),
            (says("[" * 100_000, "application/json"), "and isn't"),
            (says(b"\xff\xfe", "application/json"), "and isn't"),
            (says("x" * (1024 * 1024 + 1), "text/plain"), "over 1024 KiB"),
            (
                says(gzip.compress(bytes(200_000_000), 1), "text/plain", content_encoding="gzip"),
                "over 1024 KiB",
            ),
            (says("not gzip", "text/plain", content_encoding="gzip"), "can't be unpacked"),
            (says("x", "text/plain", content_encoding="br"), "packed as 'br'"),
            (says("x", "text/plain", content_encoding="gzip, gzip"), "packed as"),
            (says("secret", "text/plain", 404), "answered 404; in its own words: «secret»"),
            (says("x" * 5000, "text/plain", 403), "x…»"),
            (says("a\r\n«b»\x1b[31m", "text/plain", 410), '«a "b" [31m»'),
        ],
    )
    async def test_anything_else_is_refused(
        self, folder: Folder, answer: Answer, said: str
    ) -> None:
        async with WebServer(answer) as server:
            tool = folder.tool(declaration(endpoint={"url": server.origin}), server.origin)
            with pytest.raises(PermanentToolError) as refused:
                await call(tool)
        assert said in str(refused.value)
        assert len(str(refused.value)) < 450

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            (400, ArgumentsToolError),
            (422, ArgumentsToolError),
            *((status, PermanentToolError) for status in (401, 403, 404, 409)),
            *((status, TransientToolError) for status in (408, 425, 429, 500, 502, 503, 504)),
        ],
    )
    async def test_each_status_is_one_kind_of_error(
        self, folder: Folder, status: int, kind: type[ToolError]
    ) -> None:
        async with WebServer(lambda _: json_reply({"why": "so"}, status)) as server:
            tool = folder.tool(declaration(endpoint={"url": server.origin}), server.origin)
            with pytest.raises(
                kind, match=rf'answered {status}; in its own words: «{{"why": "so"}}»'
            ):
                await call(tool)

    @pytest.mark.parametrize(
        ("header", "seconds"),
        [("7", 7.0), ("Wed, 18 Nov 2020 10:00:00 GMT", 0.0), ("soon", None), ("9" * 400, 86400.0)],
    )
    async def test_how_long_to_wait_is_passed_on(
        self, folder: Folder, header: str, seconds: float | None
    ) -> None:
        async with WebServer(says("busy", "text/plain", 429, retry_after=header)) as server:
            tool = folder.tool(declaration(endpoint={"url": server.origin}), server.origin)
            with pytest.raises(TransientToolError) as busy:
                await call(tool)
        assert busy.value.retry_after == seconds

    async def test_a_server_that_is_gone_or_breaks_off_may_come_back(self, folder: Folder) -> None:
        broken = Reply([b'{"a":', Drop()], 200, {"content-type": "application/json"})
        async with WebServer(lambda _: broken) as server:
            origin = server.origin
            tool = folder.tool(declaration(endpoint={"url": origin}), origin)
            with pytest.raises(TransientToolError, match="broke off"):
                await call(tool)
        with pytest.raises(TransientToolError, match="can't be reached"):
            await call(tool)

    async def test_a_write_that_never_left_was_not_done(self, folder: Folder) -> None:
        async with WebServer(echo) as server:
            origin = server.origin
        data = declaration(endpoint={"url": origin, "method": "POST"})
        with pytest.raises(PermanentToolError, match="nothing was done"):
            await call(folder.tool(data, origin), "k1")
        with pytest.raises(TransientToolError):
            await call(folder.tool({**data, "idempotent": True}, origin), "k1")

    async def test_a_slow_drip_ends_with_the_time_limit(self, folder: Folder) -> None:
        pieces: list[Piece] = [b"x", asyncio.Event()]
        async with WebServer(
            lambda _: Reply(pieces, 200, {"content-type": "text/plain"})
        ) as server:
            data = declaration(endpoint={"url": server.origin, "timeout": "50ms"})
            with pytest.raises(TransientToolError, match=r"took longer than 0\.05 s"):
                await call(folder.tool(data, server.origin))

    async def test_of_an_answer_what_is_wanted_is_given(self, folder: Folder) -> None:
        body = {"data": {"rows": [{"id": n, "x": 1} for n in range(9)], "a/b": {"~": 3}}}
        async with WebServer(lambda _: json_reply(body)) as server:
            url = {"url": server.origin}

            async def found(**wanted: Any) -> Any:
                return await call(folder.tool(declaration(endpoint=url, **wanted), server.origin))

            assert await found(result="/data/rows/0") == {"id": 0, "x": 1}
            assert await found(result="/data/a~1b/~0") == 3
            assert await found(result="/data/rows", items={"most": 2, "keep": ["id"]}) == [
                {"id": 0},
                {"id": 1},
            ]
            assert await found(result={"last": "/data/rows/8/id", "no": "/data/rows/9"}) == {
                "last": 8,
                "no": None,
            }
            with pytest.raises(PermanentToolError, match="nothing at /nope"):
                await found(result="/nope")

    async def test_a_write_whose_answer_is_unusable_was_done_all_the_same(
        self, folder: Folder
    ) -> None:
        async with WebServer(says("PNG", "image/png", 201)) as server:
            data = declaration(endpoint={"url": server.origin, "method": "POST"})
            with pytest.raises(UnusableResult, match="the answer is image/png"):
                await call(folder.tool(data, server.origin), "k1")

    async def test_a_refusal_that_is_too_deep_to_quote_is_a_refusal(self, folder: Folder) -> None:
        body = "[" * 700 + "]" * 700
        async with WebServer(says(body, "application/json", 403)) as server:
            data = declaration(endpoint={"url": server.origin})
            with pytest.raises(PermanentToolError, match=r"answered 403$"):
                await call(folder.tool(data, server.origin))

    async def test_secrets_that_come_back_are_taken_out(self, folder: Folder) -> None:
        key = "s3cret/key=="
        headers = {"X-Key": "{env.ROUTER_TOOL_KEY}"}
        async with WebServer(echo) as server:
            data = declaration(endpoint={"url": f"{server.origin}/?k={{env.ROUTER_TOOL_KEY}}"})
            data["endpoint"]["headers"] = headers
            tool = folder.tool(data, server.origin, ROUTER_TOOL_KEY=key)
            value = await call(tool)
            server.answer = says(f"wrong key {key}", "text/plain", 401)
            with pytest.raises(PermanentToolError) as refused:
                await call(tool)
        assert server.requests[0].headers["x-key"] == key
        assert value["headers"]["x-key"] == "[redacted]"
        assert value["target"] == "/?k=[redacted]"
        assert "«wrong key [redacted]»" in str(refused.value)
        assert key not in f"{tool.capability} {tool.parameters}"

    async def test_nothing_of_a_request_is_logged(
        self, folder: Folder, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("DEBUG")
        async with WebServer(says("{}", "application/json")) as server:
            url = f"{server.origin}/{{id}}?k={{env.ROUTER_TOOL_KEY}}"
            headers = {"X-Key": "{env.ROUTER_TOOL_KEY}"}
            data = declaration(parameters=takes(id=TEXT), endpoint={"url": url, "headers": headers})
            await asked(folder, server, data, id="13800138000")
        assert server.targets == ["/13800138000?k=s3cret%20key"]
        assert "13800138000" not in caplog.text
        assert "s3cret" not in caplog.text


class TestRedirects:
    @staticmethod
    def leads_to(place: str, status: int = 302) -> Answer:
        def answer(got: Got) -> Reply:
            if got.target == "/here":
                return json_reply({"method": got.method, "headers": dict(got.headers)})
            return Reply([b""], status, {"location": place})

        return answer

    async def called(
        self, folder: Folder, server: WebServer, *allowed: str, **endpoint: Any
    ) -> Any:
        key = {"X-Key": "{env.ROUTER_TOOL_KEY}", "Authorization": "Bearer {env.ROUTER_TOOL_KEY}"}
        data = declaration(endpoint={"url": f"{server.origin}/go", "headers": key, **endpoint})
        tool = folder.tool(data, server.origin, *allowed, ROUTER_TOOL_KEY="s3cret")
        return await call(tool, "k1" if tool.writes else "")

    @pytest.mark.parametrize(
        "place",
        [
            "http://169.254.169.254/latest/meta-data/",
            "http://2852039166/",
            "http://[::ffff:169.254.169.254]/",
            "http://localhost:1/",
            "http://127.0.0.1:1/",
            "http://user:pw@127.0.0.1/",
            "https://evil.example/",
            "//evil.example/",
            "file:///etc/passwd",
            "http://0x7f.1/",
            "https://[fe80::1%25eth0]/",
        ],
    )
    async def test_to_anywhere_else_is_refused(self, folder: Folder, place: str) -> None:
        async with WebServer(self.leads_to(place)) as server:
            with pytest.raises((PermanentToolError, TransientToolError)):
                await self.called(folder, server)
        assert server.targets == ["/go"]

    async def test_within_the_place_it_is_followed_three_times_at_most(
        self, folder: Folder
    ) -> None:
        async with WebServer(self.leads_to("/here")) as server:
            found = await self.called(folder, server)
            server.answer = self.leads_to("/round")
            with pytest.raises(PermanentToolError, match="more than 3 times"):
                await self.called(folder, server)
        assert "x-key" in found["headers"]
        assert server.targets[2:] == ["/go", "/round", "/round", "/round"]

    async def test_to_a_place_that_is_named_it_carries_no_credentials(self, folder: Folder) -> None:
        async with (
            WebServer(self.leads_to("/here")) as other,
            WebServer(self.leads_to(f"{other.origin}/here")) as server,
        ):
            found = await self.called(folder, server, other.origin)
        assert not {"x-key", "authorization"} & found["headers"].keys()

    @pytest.mark.parametrize(
        ("status", "kind"),
        [(302, UnknownOutcome), (303, UnknownOutcome), (307, PermanentToolError)],
    )
    async def test_a_write_is_never_sent_elsewhere(
        self, folder: Folder, status: int, kind: type[ToolError]
    ) -> None:
        async with (
            WebServer(echo) as other,
            WebServer(self.leads_to(f"{other.origin}/x", status)) as server,
        ):
            with pytest.raises(kind):
                await self.called(folder, server, other.origin, method="POST", body={"a": 1})
        assert other.requests == []

    async def test_a_write_that_moved_within_the_place_goes_on_whole(self, folder: Folder) -> None:
        async with WebServer(self.leads_to("/here", 307)) as server:
            found = await self.called(folder, server, method="POST", body={"a": 1})
        assert (found["method"], server.requests[1].body) == ("POST", b'{"a": 1}')
        assert found["headers"]["idempotency-key"] == "k1"


async def test_a_path_without_its_context_is_refused(folder: Folder) -> None:
    data = declaration(endpoint={"url": "https://api.example.com/{context.conversation_id}"})
    with pytest.raises(PermanentToolError, match="conversation_id"):
        await folder.tool(data).call({}, context(), Dependencies())
