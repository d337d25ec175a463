"""The protocol's requests, answered for one person: tools, and what waits for them as resources.

A server is made for each request and keeps nothing: whatever it tells apart stands in the request
itself, its token before all.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from router.api import streams
from router.api.approvals import own_approval
from router.api.auth import CallerSession
from router.api.dependencies import PageParams
from router.api.errors import status_of
from router.api.routes.approvals import ApprovalView, index
from router.domain.errors import InvalidInput, NotFound, RouterError
from router.domain.locale import Locale, Localised
from router.extensions.mcp_server.calls import McpCall, McpDesk, McpOutcome, McpResult, QuestionOpen
from router.extensions.mcp_server.catalog import offered_to
from router.extensions.mcp_server.questions import ASKED, OpenQuestion
from router.telemetry.metrics import STREAMS

NAME = "intent-router"
RESOURCE_NOT_FOUND = -32002
"""In the revisions before 2026-07-28; since then it is an invalid parameter."""
MOST_ROUNDS = 100
"""Questions of one call: a flow that asks for more is gone on with by another."""
APPROVALS = "desk://approvals/"
TEMPLATE = "desk://approvals/{id}"
JSON = "application/json"

TITLE = Localised(zh="服务台", en="The front desk")
INSTRUCTIONS = Localised(
    zh="公司的服务台，以本人的身份使用。要办的事用对应名字的工具，其余用 say。缺什么会问本人，"
    "本人确认之前什么也不会以本人的名义去办：不要替本人确认或审批。",
    en="The front desk of a company, as one of its people. Use the tool named after what is "
    "wanted, and `say` for anything else. What is missing its person is asked for, and nothing is "
    "done in their name before they have confirmed it: never confirm or decide for them.",
)
APPROVAL = Localised(zh="等你决定的一个审批", en="An approval that waits for your decision")
NO_SUCH_TOOL = Localised(zh="没有这个工具；先列出工具", en="there is no such tool; list the tools")

Context = ServerRequestContext[Any, Any]
_log = logging.getLogger(__name__)


def shows_forms(context: Context) -> bool:
    """Whether the program says that it shows its person forms."""
    can = context.session.client_capabilities
    elicitation = can.elicitation if can else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


@dataclass(frozen=True)
class McpServer:
    """What one request of a program is answered with."""

    desk: McpDesk
    session: CallerSession
    key: str | None = None
    """The request's `Idempotency-Key`."""

    def protocol(self) -> Server[Any]:
        """The server that speaks it, for any transport."""
        locale = self.desk.caller.locale
        server: Server[Any] = Server(
            NAME,
            version=version(NAME),
            title=TITLE.within(locale),
            instructions=INSTRUCTIONS.within(locale),
            # No parameter is mirrored in a header.
            get_tool_input_schema=lambda _: None,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
            on_subscriptions_listen=self.listen,
        )
        # Its own span would be a second one of each request, and say what exceptions say.
        server.middleware.clear()
        return server

    async def list_tools(
        self, context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """What can be done here, by this person, now."""
        desk = self.desk
        offered = desk.services.offered.of(desk.caller.tenant, desk.caller.id)
        tools = offered_to(desk.caller, offered, forms=shows_forms(context))
        return types.ListToolsResult(tools=[tool.listed for tool in tools.values()])

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """What a call comes to; a refusal is a result too, for whoever asked to read."""
        try:
            outcome = await self._called(context, params)
        except RouterError as error:
            if status_of(error) == HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            return _refusal(error, self.desk.caller.locale)
        return outcome if isinstance(outcome, types.InputRequiredResult) else _result(outcome)

    async def _called(self, context: Context, params: types.CallToolRequestParams) -> McpOutcome:
        """In the older revisions the questions go to the program in the middle of the call."""
        call = self._call(context, params.input_responses, params.request_state)
        outcome = await self._run(call, params)
        if context.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return outcome
        for _ in range(MOST_ROUNDS):
            if not isinstance(outcome, types.InputRequiredResult):
                return outcome
            answers = await self._asked(context, outcome)
            call = self._call(context, answers, outcome.request_state)
            outcome = await self._run(call, params)
        raise InvalidInput(f"It asked {MOST_ROUNDS} questions; go on with another call.")

    async def _asked(
        self, context: Context, outcome: types.InputRequiredResult
    ) -> types.InputResponses:
        (ask,) = (outcome.input_requests or {}).values()
        related = ServerMessageMetadata(related_request_id=context.request_id)
        answer = await context.session.send_request(ask, types.ElicitResult, metadata=related)
        return {ASKED: answer}

    def _call(
        self, context: Context, answers: types.InputResponses | None, state: str | None
    ) -> McpCall:
        given = (answers or {}).get(ASKED)
        answer = given if isinstance(given, types.ElicitResult) else None
        if (answer is None) != (state is None):
            raise InvalidInput.at("requestState", "goes with the answer to what was asked")

        async def report(number: float, words: str) -> None:
            await context.session.report_progress(number, message=words)

        return McpCall(
            revision=context.protocol_version,
            asks=shows_forms(context),
            report=report,
            key=self.key,
            answer=answer,
            open=OpenQuestion.read(state) if state is not None else None,
        )

    async def _run(self, call: McpCall, params: types.CallToolRequestParams) -> McpOutcome:
        desk, arguments = self.desk, params.arguments or {}
        offered = desk.services.offered.of(desk.caller.tenant, desk.caller.id)
        tools = {
            **offered_to(desk.caller, offered, forms=not call.asks),
            **offered_to(desk.caller, offered, forms=call.asks),
        }
        if params.name not in tools:
            raise NotFound(NO_SUCH_TOOL)
        tool = tools[params.name]
        if problems := tool.schema.problems(arguments):
            raise InvalidInput("; ".join(problems[:10]))
        if call.open is not None and call.open.conversation is not None:
            return await desk.answered(call, call.open)
        return await tool.run(desk, call, arguments)

    async def list_resources(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """What waits for this person's decision."""
        first = PageParams(after=None, limit=200)
        page = await index(self.desk.services, self.desk.caller, first)
        described = APPROVAL.within(self.desk.caller.locale)
        resources = [
            types.Resource(
                uri=f"{APPROVALS}{each.id}",
                name=each.id,
                title=each.title,
                description=described,
                mime_type=JSON,
            )
            for each in page.items
        ]
        return types.ListResourcesResult(resources=resources)

    async def list_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """How such a resource is called."""
        described = APPROVAL.within(self.desk.caller.locale)
        template = types.ResourceTemplate(
            uri_template=TEMPLATE, name="approval", description=described, mime_type=JSON
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """An approval that this person was asked for, as they read it."""
        shown = await self._approval(context, params.uri)
        text = json.dumps(shown, ensure_ascii=False)
        contents = types.TextResourceContents(uri=params.uri, mime_type=JSON, text=text)
        return types.ReadResourceResult(contents=[contents])

    async def _approval(self, context: Context, uri: str) -> McpResult:
        services, caller = self.desk.services, self.desk.caller
        legacy = context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
        id_ = uri.removeprefix(APPROVALS) if uri.startswith(APPROVALS) else ""
        try:
            record = await own_approval(services, caller, id_)
        except NotFound:
            code = RESOURCE_NOT_FOUND if legacy else types.INVALID_PARAMS
            raise MCPError(
                code=code, message="Resource not found", data={"uri": uri[:300]}
            ) from None
        before = await services.store.runs.shown_before(record.tenant, [record.run])
        changes = record.changes_since(before.get(record.run, record), caller.locale)
        more = {"decision": record.verdict, "comment": record.comment, "changes": changes}
        view = ApprovalView.of(record, services.offered.of(caller.tenant), caller.locale, **more)
        return view.model_dump(mode="json", exclude_none=True)

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Say whenever something of this person's may wait, or no longer does."""
        bus = InMemorySubscriptionBus()
        handler = ListenHandler(bus)
        uris = params.notifications.resource_subscriptions or []
        with STREAMS.track_inprogress():
            async with self._news(bus, handler, uris):
                return await handler(context, params)

    @asynccontextmanager
    async def _news(
        self, bus: InMemorySubscriptionBus, handler: ListenHandler, uris: list[str]
    ) -> AsyncIterator[None]:
        """Publish them; the stream ends with the caller's token, or once they are gone."""
        caller, live = self.desk.caller, self.desk.services.store.live

        async def publish() -> None:
            async with live.listen_for(caller.tenant, caller.id) as told:
                while await self.session.lasts():
                    with suppress(TimeoutError):
                        async with asyncio.timeout(streams.HEARTBEAT):
                            await anext(told)
                        await bus.publish(ResourcesListChanged())
                        for uri in uris:
                            await bus.publish(ResourceUpdated(uri=uri))

        async def until() -> None:
            try:
                async with asyncio.timeout(self.session.seconds_left):
                    await publish()
            except TimeoutError:
                _log.info("a subscription of %s ends with its token", caller.id)
            except Exception:  # noqa: BLE001 - left open, it would be silent for good
                _log.exception("a subscription of %s ends", caller.id)
            finally:
                handler.close()

        publishing = asyncio.create_task(until(), name="news for an assistant")
        try:
            yield
        finally:
            publishing.cancel()


def _result(answer: McpResult) -> types.CallToolResult:
    """The object, and the same as text for programs that read no other."""
    text = json.dumps(answer, ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=answer)


def _refusal(error: RouterError, locale: Locale) -> types.CallToolResult:
    """What is wrong in words, and what is open instead, where that is named."""
    words, left = error.said.within(locale), None
    if isinstance(error, QuestionOpen):
        left = error.left
        words = f"{words}\n{json.dumps(left, ensure_ascii=False)}"
    content: list[types.ContentBlock] = [types.TextContent(text=words)]
    return types.CallToolResult(content=content, structured_content=left, is_error=True)
