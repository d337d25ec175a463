"""The desk over MCP with everything real: a leave request from the first call to the decision."""

import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import mcp_types as types
import pytest
from httpx import AsyncClient
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourcesListChanged
from mcp.shared.exceptions import MCPError
from temporalio.client import Client as TemporalClient

from router.runtime.composition import Parts
from tests.workflow.desk import QUEUE
from tests.workflow.test_streaming import served

WHOLE = "我要请年假，12月7日到8日，家里有事"
SLOTS = {"leave_type": "annual", "start": "2026-12-07", "end": "2026-12-08", "reason": "家里有事"}
MODERN, HANDSHAKE = "2026-07-28", "legacy"
REVISIONS = [MODERN, HANDSHAKE]


def accepted(**content: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content=content)


@dataclass
class Person:
    """Who sits at an assistant's program, and what they are shown and answer by forms."""

    answers: list[types.ElicitResult | Mapping[str, Any]] = field(default_factory=list)
    shown: list[types.ElicitRequestFormParams] = field(default_factory=list)

    async def __call__(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestFormParams)
        self.shown.append(params)
        answer = self.answers.pop(0)
        return answer if isinstance(answer, types.ElicitResult) else accepted(**answer)


@asynccontextmanager
async def program(
    url: str, user: str = "alice", person: Person | None = None, mode: str = MODERN, key: str = ""
) -> AsyncIterator[Client]:
    """An assistant's program with the token of somebody; with a person, it shows forms."""
    headers = {"Authorization": f"Bearer {user}"} | ({"Idempotency-Key": key} if key else {})
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=person) as client:
            yield client


@pytest.fixture
def url(api: AsyncClient) -> str:
    return f"{api.base_url}/mcp".replace("//mcp", "/mcp")


async def do(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return dict(result.structured_content)


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.content
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


@pytest.mark.parametrize("mode", [MODERN, pytest.param(HANDSHAKE, marks=pytest.mark.slow)])
async def test_a_leave_request_is_asked_for_confirmed_and_approved_by_forms(
    url: str, mode: str
) -> None:
    alice = Person(
        [
            {"choice": "annual"},
            {"start": "2026-12-07"},
            {"end": "2026-12-08"},
            {"answer": "家里有事"},
            {"confirmed": True},
        ]
    )
    bob = Person([{"decision": "approve", "comment": "好"}])
    async with program(url, person=alice, mode=mode) as client:
        done = await do(client, "leave_request")
    run = done["flow"]["id"]
    assert (done["flow"]["status"], alice.answers) == ("waiting_approval", [])
    assert done["flow"]["slots"].items() >= SLOTS.items()
    async with program(url, "bob", bob, mode) as client:
        waiting = (await do(client, "approvals"))["items"]
        (approval,) = [each for each in waiting if each["flow_run"] == run]
        decided = await do(client, "decide", approval=approval["id"])
    assert (decided["decision"], decided["flow_run"]["id"]) == ("approve", run)
    assert "王丽 Alice" in bob.shown[0].message


@pytest.mark.slow
@pytest.mark.parametrize("mode", REVISIONS)
async def test_a_sentence_becomes_a_request_once_its_person_has_agreed(url: str, mode: str) -> None:
    alice = Person([{"confirmed": True}])
    async with program(url, person=alice, mode=mode) as client:
        done = await do(client, "say", text=WHOLE)
    assert done["flow"]["status"] == "waiting_approval"
    (asked,) = alice.shown
    assert "家里有事" in asked.message
    assert asked.requested_schema["required"] == ["confirmed"]


async def told_what_would_happen(client: Client, **slots: Any) -> dict[str, Any]:
    """A leave request that a program without forms has begun, up to its confirmation."""
    told = await do(client, "leave_request", **(slots or SLOTS))
    assert (told["flow"]["status"], told["replies"][-1]["type"]) == ("confirming", "confirm")
    assert told["next"]["tool"] == "confirm"
    return {key: told["next"][key] for key in ("question", "conversation")}


@pytest.mark.slow
@pytest.mark.parametrize("mode", REVISIONS)
async def test_without_forms_a_second_call_brings_the_persons_answer(url: str, mode: str) -> None:
    async with program(url, mode=mode) as client:
        asked = await told_what_would_happen(client)
        done = await do(client, "confirm", value=True, **asked)
        assert done["flow"]["status"] == "waiting_approval"
        again = await do(client, "confirm", value=True, **asked)
        assert again["turn"] == done["turn"]
        assert "不是现在要回答的" in await refused(client, "confirm", value=False, **asked)
        runs = (await do(client, "flow_runs"))["items"]
    assert [each["status"] for each in runs if each["id"] == done["flow"]["id"]] == [
        "waiting_approval"
    ]


@pytest.mark.slow
async def test_a_confirmation_is_bound_to_what_was_shown_and_to_its_person(url: str) -> None:
    async with program(url) as alice, program(url, "frank") as frank:
        asked = await told_what_would_happen(alice)
        longer = await told_what_would_happen(alice, **SLOTS | {"end": "2026-12-09"})
        mixed = {**asked, "question": longer["question"]}
        assert "不是现在要回答的" in await refused(alice, "confirm", value=True, **mixed)
        assert "no such conversation" in await refused(frank, "confirm", value=True, **asked)
        for tool, given in (
            ("say", {"text": "确认"}),
            ("leave_request", {"request": "确认"}),
            ("policy-advisor", {"request": "确认"}),
        ):
            there = {"conversation": asked["conversation"], **given}
            if tool != "leave_request":
                assert "confirm" in await refused(alice, tool, **there)
        pressed = {"value": True, **asked}
        assert "confirm" in await refused(alice, "choose", **pressed)
        done = await do(alice, "confirm", value=True, **asked)
    assert done["flow"]["slots"]["end"] == "2026-12-08"


@pytest.mark.slow
async def test_slots_are_asked_for_and_brought_without_forms(url: str) -> None:
    async with program(url) as client:
        told = await do(client, "leave_request")
        values = [each["value"] for each in told["replies"][-1]["options"]]
        assert (told["next"]["tool"], "annual" in values) == ("choose", True)
        told = await do(client, "choose", value="annual", **answered(told))
        assert told["next"]["tool"] == "fill"
        told = await do(client, "fill", values={"start": "2026-12-07"}, **answered(told))
        told = await do(client, "fill", values={"end": "2026-12-08"}, **answered(told))
        assert told["next"] == {"tool": "say", "conversation": told["conversation"]}
        told = await do(client, "say", text="家里有事", conversation=told["conversation"])
    assert (told["flow"]["status"], told["next"]["tool"]) == ("confirming", "confirm")


def answered(told: Mapping[str, Any]) -> dict[str, Any]:
    return {key: told["next"][key] for key in ("question", "conversation")}


@pytest.mark.slow
@pytest.mark.parametrize("mode", REVISIONS)
async def test_who_declines_has_said_no_and_who_closes_the_form_nothing(
    url: str, mode: str
) -> None:
    closing = Person([types.ElicitResult(action="cancel"), {"confirmed": True}])
    async with program(url, person=closing, mode=mode) as client:
        left = await do(client, "leave_request", **SLOTS)
        assert (left["status"], left["flow"]["status"]) == ("open", "confirming")
        done = await do(client, "say", text="确认", conversation=left["conversation"])
    assert done["flow"]["status"] == "waiting_approval"
    assert closing.shown[1].message == closing.shown[0].message
    no = Person([types.ElicitResult(action="decline"), types.ElicitResult(action="cancel")])
    async with program(url, person=no, mode=mode) as client:
        told = await do(client, "leave_request", **SLOTS)
    assert (told["flow"]["status"], len(no.shown)) == ("collecting", 2)


@pytest.mark.slow
async def test_an_assistant_with_forms_cannot_bring_a_yes_of_its_own(url: str) -> None:
    async with program(url) as without:
        asked = await told_what_would_happen(without)
    async with program(url, person=Person()) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert not names & {"confirm", "choose", "fill"}
        said = await refused(client, "confirm", value=True, **asked)
    assert "本人在表单里" in said


async def waiting_for_bob(url: str) -> tuple[str, str]:
    """A leave request of alice's: its run, and the approval that bob was asked for."""
    async with program(url, person=Person([{"confirmed": True}])) as client:
        run = (await do(client, "leave_request", **SLOTS))["flow"]["id"]
    async with program(url, "bob") as client:
        items = (await do(client, "approvals"))["items"]
    return run, next(each["id"] for each in items if each["flow_run"] == run)


@pytest.mark.slow
async def test_only_who_was_asked_decides_and_only_by_a_form(url: str) -> None:
    _, approval = await waiting_for_bob(url)
    form = {"decision": "approve"}
    for stranger in ("alice", "carol", "frank", "olga"):
        person = Person([form])
        async with program(url, stranger, person) as client:
            assert "no such approval" in (await refused(client, "decide", approval=approval))
            assert person.shown == []
    async with program(url, "bob") as client:
        assert "decide" not in {tool.name for tool in (await client.list_tools()).tools}
        assert "本人" in await refused(client, "decide", approval=approval)
    async with program(url, "bob", Person()) as client:
        assert "isn't known here" in await refused(client, "decide", approval=approval, **form)
    closing = Person([types.ElicitResult(action="decline")])
    async with program(url, "bob", closing) as client:
        assert (await do(client, "decide", approval=approval))["status"] == "open"
        waiting = (await do(client, "approvals"))["items"]
    assert approval in {each["id"] for each in waiting}


@pytest.mark.slow
async def test_a_decision_is_bound_to_the_digest_that_was_shown(url: str) -> None:
    _, approval = await waiting_for_bob(url)
    _, another = await waiting_for_bob(url)
    async with program(url, "bob", Person()) as client:

        async def called(id_: str, **more: Any) -> Any:
            arguments = {"approval": id_}
            return await client.session.call_tool(
                "decide", arguments, allow_input_required=True, **more
            )

        first, other = await called(approval), await called(another)
        yes: types.InputResponses = {"question": accepted(decision="approve")}
        crossed = await called(approval, input_responses=yes, request_state=other.request_state)
        assert crossed.is_error
        stale = first.request_state.replace('"question":"', '"question":"0')
        changed = await called(approval, input_responses=yes, request_state=stale)
        assert changed.is_error
        done = await called(approval, input_responses=yes, request_state=first.request_state)
        repeated = await called(approval, input_responses=yes, request_state=first.request_state)
        late: types.InputResponses = {"question": accepted(decision="reject")}
        second = await called(approval, input_responses=late, request_state=first.request_state)
    assert not done.is_error
    assert repeated.structured_content == done.structured_content
    assert second.is_error


@pytest.mark.slow
async def test_an_answer_that_is_sent_again_is_answered_and_nothing_done_twice(url: str) -> None:
    async with program(url, person=Person()) as client:

        async def called(**more: Any) -> Any:
            return await client.session.call_tool(
                "leave_request", SLOTS, allow_input_required=True, **more
            )

        asked = await called()
        yes: types.InputResponses = {"question": accepted(confirmed=True)}
        done, again = [
            await called(input_responses=yes, request_state=asked.request_state) for _ in "ab"
        ]
    assert done.structured_content["flow"]["status"] == "waiting_approval"
    assert again.structured_content["message_id"] == done.structured_content["message_id"]


@pytest.mark.slow
async def test_who_may_not_use_a_tool_never_hears_of_it(url: str) -> None:
    async with program(url, "dave") as dave, program(url, "alice") as alice:
        hers = {tool.name for tool in (await alice.list_tools()).tools}
        his = {tool.name for tool in (await dave.list_tools()).tools}
        (secret,) = his - hers
        assert await refused(alice, secret) == await refused(alice, "drop_everything")


async def test_tools_say_what_they_are_in_their_persons_language(url: str) -> None:
    async with program(url, "frank") as frank, program(url, "alice") as alice:
        english = {tool.name: tool for tool in (await frank.list_tools()).tools}
        chinese = {tool.name: tool for tool in (await alice.list_tools()).tools}
    assert english.keys() == chinese.keys()
    titles = {name: (tool.title, chinese[name].title) for name, tool in english.items()}
    assert (titles["say"], titles["leave_request"][1]) == (
        ("Say to the desk", "对服务台说"),
        "请假申请",
    )
    assert not [name for name, (en, zh) in titles.items() if not en or en == zh]
    hints = {name: tool.annotations or types.ToolAnnotations() for name, tool in english.items()}
    reads = {name for name, hint in hints.items() if hint.read_only_hint}
    assert reads >= {"turn", "flow_runs", "approvals", "get_leave_balance", "calculate"}
    assert not reads & {"say", "confirm", "leave_request"}
    assert {"confirm", "leave_request"} <= {n for n, h in hints.items() if h.destructive_hint}
    assert english["leave_request"].input_schema["properties"]["start"]["format"] == "date"


@pytest.mark.slow
async def test_what_reads_answers_at_once_and_says_how_far_it_is(url: str) -> None:
    heard: list[str | None] = []

    async def notice(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async with program(url) as client:
        result = await client.call_tool(
            "calculate", {"expression": "2+2"}, progress_callback=notice
        )
    assert "4" in result.structured_content["replies"][-1]["text"]
    assert heard == ["计算器"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", REVISIONS)
async def test_what_waits_is_a_resource_of_its_approvers_alone(url: str, mode: str) -> None:
    run, approval = await waiting_for_bob(url)
    uri = f"desk://approvals/{approval}"
    async with program(url, "bob", mode=mode) as bob, program(url, "carol", mode=mode) as carol:
        listed = {str(each.uri) for each in (await bob.list_resources()).resources}
        assert uri in listed
        (content,) = (await bob.read_resource(uri)).contents
        assert isinstance(content, types.TextResourceContents)
        assert f'"flow_run": "{run}"' in content.text
        (template,) = (await bob.list_resource_templates()).resource_templates
        assert template.uri_template == "desk://approvals/{id}"
        assert uri not in {str(each.uri) for each in (await carol.list_resources()).resources}
        for each in (uri, "desk://approvals/none", "file:///etc/passwd", "desk://approvals/"):
            with pytest.raises(MCPError, match="Resource not found"):
                await carol.read_resource(each)


@pytest.mark.slow
async def test_a_program_hears_that_something_waits(url: str) -> None:
    async with program(url, "bob") as bob, bob.listen(resources_list_changed=True) as news:
        assert news.honored.resources_list_changed
        await waiting_for_bob(url)
        assert isinstance(await anext(aiter(news)), ResourcesListChanged)


class Alternating(httpx2.AsyncBaseTransport):
    """A balancer before two processes: each request goes to the other one."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = itertools.cycle(ports)
        self._inner = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(port=next(self._ports))
        return await self._inner.handle_async_request(request)


@pytest.mark.slow
@pytest.mark.parametrize("mode", REVISIONS)
async def test_any_process_answers_any_request(
    api: AsyncClient, parts: Parts, real_client: TemporalClient, mode: str
) -> None:
    alice = Person([{"choice": "annual"}, {"start": "2026-12-07"}, {"end": "2026-12-08"}])
    alice.answers += [{"answer": "家里有事"}, {"confirmed": True}]
    headers = {"Authorization": "Bearer alice"}
    async with served(parts, real_client, QUEUE) as other:
        ports = [api.base_url.port or 0, other.base_url.port or 0]
        balancer = Alternating(ports)
        async with httpx2.AsyncClient(headers=headers, transport=balancer, timeout=60) as http:
            transport = streamable_http_client("http://127.0.0.1:1/mcp", http_client=http)
            async with Client(transport, mode=mode, elicitation_callback=alice) as client:
                done = await do(client, "leave_request")
    assert done["flow"]["status"] == "waiting_approval"


@pytest.mark.slow
async def test_what_an_assistant_asked_for_stands_in_its_persons_conversation(
    url: str, api: AsyncClient
) -> None:
    async with program(url, person=Person([{"confirmed": True}])) as client:
        done = await do(client, "say", text=WHOLE)
    path = f"/v1/conversations/{done['conversation']}/messages"
    said = (await api.get(path)).json()["items"]
    assert [each["role"] for each in said[:2]] == ["user", "assistant"]
    assert (said[0]["text"], said[-1]["message_id"]) == (WHOLE, done["message_id"])
    run = (await api.get(f"/v1/flow-runs/{done['flow']['id']}")).json()
    assert (run["requester"], run["conversation"]) == ("alice", done["conversation"])


@pytest.mark.slow
async def test_a_tool_that_writes_asks_its_person_first(url: str) -> None:
    given = {"employee": "frank", "leave_type": "annual", "days": 1, "reason": "加班"}
    no = Person([types.ElicitResult(action="cancel")])
    async with program(url, "dave", no) as dave:
        left = await do(dave, "adjust_leave_balance", **given)
    assert left["status"] == "open"
    assert no.shown[0].requested_schema["required"] == ["confirmed"]


@pytest.mark.slow
async def test_words_that_would_confirm_go_to_no_conversation_but_as_a_slots_value(
    url: str,
) -> None:
    async with program(url) as client:
        begun = await do(client, "say", text="你好")
        there = {"conversation": begun["conversation"]}
        for tool, given in (("say", {"text": "确认"}), ("policy-advisor", {"request": "yes"})):
            assert "confirm" in await refused(client, tool, **given, **there)
        days = {name: value for name, value in SLOTS.items() if name != "reason"}
        told = await do(client, "leave_request", **days, **there)
        assert told["flow"]["awaiting"] == ["reason"]
        filled = await do(client, "say", text="好的", **there)
    assert (filled["flow"]["status"], filled["flow"]["slots"]["reason"]) == ("confirming", "好的")


@pytest.mark.slow
@pytest.mark.parametrize("mode", REVISIONS)
async def test_a_refusal_names_what_is_open_and_the_call_that_answers_it(
    url: str, mode: str
) -> None:
    async with program(url, mode=mode) as client:
        asked = await told_what_would_happen(client)
        there = {"conversation": asked["conversation"]}
        calls = [
            ("say", {"text": "我还有几天年假？"}),
            ("policy-advisor", {"request": "年假怎么算？"}),
            ("choose", {"value": "annual", "question": asked["question"]}),
            ("fill", {"values": {"reason": "旅行"}, "question": "another"}),
        ]
        for tool, given in calls:
            told = await client.call_tool(tool, {**given, **there})
            assert told.is_error, tool
            left = dict(told.structured_content or {})
            assert left["next"] == {"tool": "confirm", **asked}, tool
            assert left["replies"][0]["type"] == "confirm"
            assert asked["question"] in str(told.content)
        by = left["next"].pop("tool")
        done = await do(client, by, value=True, **left["next"])
    assert done["flow"]["status"] == "waiting_approval"


@pytest.mark.slow
async def test_a_skill_is_not_asked_over_an_open_confirmation_whose_form_is_shown_again(
    url: str,
) -> None:
    closing = types.ElicitResult(action="cancel")
    async with program(url, person=Person([closing, {"confirmed": True}])) as client:
        there = {"conversation": (await do(client, "leave_request", **SLOTS))["conversation"]}
        done = await do(client, "policy-advisor", request="年假怎么算？", **there)
    assert done["flow"]["status"] == "waiting_approval"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "given", "other"),
    [
        ("say", {"text": "我还有几天年假？"}, {"text": "我还有几天病假？"}),
        ("policy-advisor", {"request": "年假怎么算？"}, {"request": "病假怎么算？"}),
    ],
)
async def test_a_repeat_is_answered_as_it_was_whatever_is_open_by_then(
    url: str, tool: str, given: dict[str, Any], other: dict[str, Any]
) -> None:
    async with program(url) as client, program(url, key=f"once-{tool}") as once:
        there = {"conversation": (await do(client, "say", text="你好"))["conversation"]}
        first = await do(once, tool, **given, **there)
        opened = await do(client, "leave_request", **SLOTS, **there)
        assert opened["next"]["tool"] == "confirm"
        again = await do(once, tool, **given, **there)
        assert (again["turn"], again["replies"]) == (first["turn"], first["replies"])
        assert "Idempotency-Key" in await refused(once, tool, **other, **there)


@pytest.mark.slow
async def test_a_repeated_yes_stays_the_value_that_it_was(url: str) -> None:
    async with program(url) as client, program(url, key="a-yes") as once:
        days = {name: value for name, value in SLOTS.items() if name != "reason"}
        there = {"conversation": (await do(client, "leave_request", **days))["conversation"]}
        first, again = [await do(once, "say", text="好的", **there) for _ in "ab"]
    assert first["flow"]["status"] == "confirming"
    assert again["turn"] == first["turn"]
