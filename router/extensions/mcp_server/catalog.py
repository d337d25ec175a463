"""What an assistant can call: the desk's own tools, and what its person may use by its name."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from mcp_types import Tool, ToolAnnotations
from pydantic import JsonValue

from router.api.dependencies import Offers, PageParams
from router.api.params import MAX_TEXT
from router.api.routes.approvals import index as approvals_index
from router.api.routes.capabilities import CapabilityView
from router.api.runs import FlowRun
from router.domain.locale import Locale, Localised
from router.domain.messages import (
    LONGEST_QUESTION,
    ChooseAction,
    ConfirmAction,
    FlowStatus,
    FormAction,
)
from router.domain.principals import Principal
from router.extensions.mcp_server.calls import McpArguments, McpCall, McpDesk, McpOutcome
from router.tool.implementation import ArgumentSchema

LISTED = 50
"""Runs and approvals that a list has, the newest."""

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
ACTS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
"""Begins something or goes on with it; nothing is done before its person has agreed."""
COMMITS = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)
"""Makes something happen that others see: for a person to say yes to."""

RunTool = Callable[[McpDesk, McpCall, McpArguments], Awaitable[McpOutcome]]

_ID: JsonValue = {"type": "string", "minLength": 1, "maxLength": 128}
WORDS: dict[str, JsonValue] = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}
CONVERSATION: dict[str, JsonValue] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 128,
    "description": "The conversation to go on with, as an answer named it.",
}
QUESTION: dict[str, JsonValue] = {
    "type": "string",
    "minLength": 1,
    "maxLength": LONGEST_QUESTION,
    "description": "The question that is answered, as the reply named it: no later one is.",
}


@dataclass(frozen=True)
class OfferedTool:
    """A tool of the desk, in its caller's language."""

    name: str
    title: str
    description: str
    properties: Mapping[str, JsonValue]
    annotations: ToolAnnotations
    run: RunTool
    required: tuple[str, ...] = ()
    shared: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the properties refer to."""

    @property
    def schema(self) -> ArgumentSchema:
        """Of its arguments."""
        whole = {"type": "object", "properties": dict(self.properties), **self.shared}
        return ArgumentSchema({**whole, "required": list(self.required)})

    @property
    def listed(self) -> Tool:
        """The tool as the protocol lists it."""
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.schema.schema,
            annotations=self.annotations,
        )


@dataclass(frozen=True)
class DeskTool:
    """A tool that the desk has for everybody; `forms` says whether only beside forms, or without.

    True: where the program shows its person forms; False: where it doesn't; None: always.
    """

    name: str
    title: Localised
    description: Localised
    properties: Mapping[str, JsonValue]
    annotations: ToolAnnotations
    run: RunTool
    required: tuple[str, ...] = ()
    forms: bool | None = None

    def within(self, locale: Locale) -> OfferedTool:
        """The tool in this language."""
        return OfferedTool(
            self.name,
            self.title.within(locale),
            self.description.within(locale),
            self.properties,
            self.annotations,
            self.run,
            self.required,
        )


async def _choose(desk: McpDesk, call: McpCall, given: McpArguments) -> McpOutcome:
    action = ChooseAction(type="choose", value=given["value"], question=given["question"])
    return await desk.act(call, given, action)


async def _fill(desk: McpDesk, call: McpCall, given: McpArguments) -> McpOutcome:
    action = FormAction(type="form", values=given["values"], question=given["question"])
    return await desk.act(call, given, action)


async def _confirm(desk: McpDesk, call: McpCall, given: McpArguments) -> McpOutcome:
    action = ConfirmAction(type="confirm", value=given["value"], question=given["question"])
    return await desk.act(call, given, action)


async def _runs(desk: McpDesk, _: McpCall, given: McpArguments) -> McpOutcome:
    services, caller = desk.services, desk.caller
    look_ups = services.offered.of(caller.tenant).look_ups()
    narrowed = (caller.tenant, caller.id, given.get("status"), None, None, LISTED, look_ups)
    found, _following = await services.store.runs.listed(*narrowed, branches=False)
    items = [FlowRun.of(run, services, caller, ()).model_dump(mode="json") for run in found]
    return {"items": [{k: v for k, v in item.items() if k != "temporal"} for item in items]}


async def _approvals(desk: McpDesk, _: McpCall, __: McpArguments) -> McpOutcome:
    page = await approvals_index(desk.services, desk.caller, PageParams(after=None, limit=LISTED))
    return page.model_dump(mode="json", exclude_none=True)


_ANSWERED: dict[str, JsonValue] = {"question": QUESTION, "conversation": CONVERSATION}

DESK: tuple[DeskTool, ...] = (
    DeskTool(
        "say",
        Localised(zh="对服务台说", en="Say to the desk"),
        Localised(
            zh="用中文或英文对服务台说一句话，得到它的回答。没有对应名字的工具时用它；"
            "带上 conversation 就接着那个对话说。",
            en="Says something to the desk in Chinese or English and gives its answer. For what no "
            "other tool here is named after; with `conversation` it goes on there.",
        ),
        {"text": WORDS, "conversation": CONVERSATION},
        ACTS,
        McpDesk.say,
        ("text",),
    ),
    DeskTool(
        "choose",
        Localised(zh="选一项", en="Choose"),
        Localised(
            zh="选中上一个回答里给出的一项，用它的 value。",
            en="Picks one of the options that an answer offered, by its value.",
        ),
        {"value": {}, **_ANSWERED},
        ACTS,
        _choose,
        ("value", "question", "conversation"),
        forms=False,
    ),
    DeskTool(
        "fill",
        Localised(zh="填表", en="Fill in"),
        Localised(
            zh="填写上一个回答里的表单，按字段名给值。",
            en="Fills in the form that an answer asked for: values by the names of its fields.",
        ),
        {"values": {"type": "object"}, **_ANSWERED},
        ACTS,
        _fill,
        ("values", "question", "conversation"),
        forms=False,
    ),
    DeskTool(
        "confirm",
        Localised(zh="确认", en="Confirm"),
        Localised(
            zh="把本人对待确认内容的回答带回来。只有本人看过摘要并且同意，才能给 true："
            "之后就会以本人的名义去办。",
            en="Brings what its person answered to a summary. Say true only where they have seen "
            "the summary and agreed to it: it is then done in their name.",
        ),
        {"value": {"type": "boolean"}, **_ANSWERED},
        COMMITS,
        _confirm,
        ("value", "question", "conversation"),
        forms=False,
    ),
    DeskTool(
        "turn",
        Localised(zh="取回答", en="Get an answer"),
        Localised(
            zh="取之前一条还在处理的消息的回答。",
            en="Gives the answer to an earlier message, for one that was still running.",
        ),
        {"conversation": CONVERSATION, "message_id": _ID},
        READS,
        McpDesk.turn_of,
        ("conversation", "message_id"),
    ),
    DeskTool(
        "flow_runs",
        Localised(zh="我的申请", en="My requests"),
        Localised(
            zh="列出本人申请过的事，最新的在前，以及各自到了哪一步。",
            en="Lists what this person has asked for, newest first, and how each stands.",
        ),
        {"status": {"type": "string", "enum": list(get_args(FlowStatus))}},
        READS,
        _runs,
    ),
    DeskTool(
        "approvals",
        Localised(zh="待我审批", en="Waiting for my decision"),
        Localised(
            zh="列出等本人决定的审批。",
            en="Lists what waits for this person's decision.",
        ),
        {},
        READS,
        _approvals,
    ),
    DeskTool(
        "decide",
        Localised(zh="审批", en="Decide"),
        Localised(
            zh="请本人在表单里看过并决定一个审批。怎么决定由本人填，这里给不了。",
            en="Has this person see an approval in a form and decide it. What they decide they "
            "fill in themselves; it can't be given here.",
        ),
        {"approval": _ID},
        COMMITS,
        McpDesk.decide,
        ("approval",),
        forms=True,
    ),
)

_SAID = Localised(
    zh="要什么，用一句话把知道的都说出来：{title}，……",
    en="What is wanted in one sentence that says all that is known: {title}, …",
)
_ASKS = Localised(
    zh="没有给的它会问本人；要办的事本人确认以后才办。",
    en="What is left out its person is asked for, and nothing is done before they confirm it.",
)


def of_capability(capability: CapabilityView, locale: Locale) -> OfferedTool:
    """A flow, skill or tool as a tool that starts it; a skill is asked in words."""
    name, parameters = capability.name, capability.parameters or {}
    declared: Any = parameters.get("properties") or {}
    own = dict(declared)
    said = _SAID.within(locale).replace("{title}", capability.title)
    ours: dict[str, JsonValue] = {
        "request": {**WORDS, "description": said},
        "conversation": CONVERSATION,
    }

    async def ask(desk: McpDesk, call: McpCall, given: McpArguments) -> McpOutcome:
        return await desk.ask_skill(call, name, given)

    async def start(desk: McpDesk, call: McpCall, given: McpArguments) -> McpOutcome:
        mine = {key: value for key, value in given.items() if key in ours and key not in own}
        slots = {key: value for key, value in given.items() if key in own and value is not None}
        return await desk.start(call, name, slots, mine)

    about = f"{capability.description} {_ASKS.within(locale)}"
    if capability.kind == "skill":
        return OfferedTool(
            name, capability.title, capability.description, ours, ACTS, ask, ("request",)
        )
    reads = capability.permission == "read"
    named = ("$defs", "definitions")
    shared: dict[str, JsonValue] = {key: parameters[key] for key in named if key in parameters}
    return OfferedTool(
        name,
        capability.title,
        capability.description if reads else about,
        {**ours, **own},
        READS if reads else COMMITS,
        start,
        shared=shared,
    )


def offered_to(caller: Principal, offered: Offers, *, forms: bool) -> dict[str, OfferedTool]:
    """Every tool that this person's program may call, by name; those of the desk itself win.

    What people call by name alone, and what only a front end can run, isn't among them.
    """
    locale = caller.locale
    usable = (c for c in offered.choosable_by(caller) if c.by_name and not c.client)
    views = [CapabilityView.of(each, offered, caller) for each in usable]
    startable = [v for v in views if v.kind == "skill" or offered.startable(v.name, caller)]
    named = [of_capability(view, locale) for view in startable]
    own = [tool.within(locale) for tool in DESK if tool.forms in {None, forms}]
    return {tool.name: tool for tool in (*named, *own)}
