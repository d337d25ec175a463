"""Messages on their way to a conversation's workflow, and turns on their way back.

A message is an Update with start: the workflow is begun by its first message, and again by the
first one after it was closed. The turn runs on in Temporal whatever happens here, so that a
request may give up waiting, or be repeated, without harm.
"""

import asyncio
from asyncio import FIRST_COMPLETED
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator
from temporalio.client import Client, WithStartWorkflowOperation
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy

from router.api.intake import PATIENCE_FOR_ANSWERS, Intake
from router.api.limits import BUSY_RETRY, Backlog, TurnLimits
from router.api.message_delivery import Delivery
from router.api.params import IS_SCHEMA, PLAIN_JSON, KeyParameter, SaidText, check_plain
from router.contracts.conversation import (
    MAX_OPEN_TURNS,
    WORKFLOW,
    ConversationStart,
    Submission,
    update_id,
    workflow_id,
)
from router.contracts.start_options import Fairness, task_timeout
from router.domain.errors import (
    FaultyValue,
    FieldProblem,
    InvalidInput,
    TooManyRequests,
    Unavailable,
    Unconfirmed,
)
from router.domain.file_types import MOST_FILES
from router.domain.locale import Localised
from router.domain.messages import Action, Message, ToolResultAction, Turn
from router.domain.records import ConversationRecord
from router.domain.summaries import cut_summary
from router.formats.strict_json import strict_json
from router.routing.excerpt import excerpt
from router.routing.response_schema import ResponseSchema
from router.telemetry import tracing
from router.telemetry.logs import about
from router.telemetry.loop_stalls import LATENESS
from router.telemetry.metrics import ROUTES, TURNS


def _plain(action: Action) -> Action:
    check_plain(action.model_dump(mode="json"))
    return action


def _different(files: list[str]) -> list[str]:
    for place, file in enumerate(files):
        if file in files[:place]:
            first = files.index(file)
            raise FaultyValue(f"files.{place} is the same as files.{first}", "name it once")
    return files


def _written_out(schema: dict[str, JsonValue] | None) -> dict[str, JsonValue] | None:
    if schema is None:
        return None
    check_plain(schema)
    return ResponseSchema.read(schema).schema


_OBJECT: dict[str, JsonValue] = {
    "required": ["type"],
    "properties": {"type": {"const": "object"}},
    "examples": [{"type": "object", "properties": {"days": {"type": "integer"}}}],
}

FileIds = Annotated[
    list[KeyParameter],
    Field(min_length=1, max_length=MOST_FILES, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_different),
]


LONGEST_RESULT = 32_000
"""Characters of a front end's result that are kept, as JSON: a model is shown no more of one."""


def tool_result(call: str, content: str, where: str, error: str | None = None) -> Message:
    """The message by which a front end that speaks a protocol of its own answers this call.

    What is JSON is taken as such, and any other text as it is. Raises `InvalidInput` of the field
    `where` that it came in, where it has control characters.
    """
    result: JsonValue = content
    with suppress(ValueError):
        result = strict_json(content.encode())
    try:
        check_plain([result, error])
    except ValueError as fault:
        raise InvalidInput.at(where, str(fault)) from None
    kept = excerpt(result, LONGEST_RESULT).value
    why = error[:MOST_OF_ERROR] if error else None
    about = {"tool_call_id": call, "result": kept, "error": why}
    return Message(action=ToolResultAction(type="tool_result", **about))


MOST_OF_ERROR = 2_000


class MessageBody(BaseModel):
    """A text, files or both; or an action."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"text": "我的申请呢？"},
                {"text": "这是收据", "files": ["k3v5q0y7a1b2c3d4e5f6g7h8"]},
                {"action": {"type": "confirm", "value": True, "question": "review:4::ab"}},
            ],
            "oneOf": [
                {
                    "anyOf": [
                        {"required": ["text"], "properties": {"text": {"type": "string"}}},
                        {"required": ["files"], "properties": {"files": {"type": "array"}}},
                    ],
                    "properties": {"action": {"type": "null"}},
                },
                {
                    "required": ["action"],
                    "properties": {
                        "action": {"type": "object"},
                        "text": {"type": "null"},
                        "files": {"type": "null"},
                    },
                },
            ],
        },
    )

    text: SaidText | None = None
    files: FileIds | None = None
    """Ids of files of the sender's own, from `POST /v1/files`: they fill what takes files."""
    action: Annotated[
        Annotated[Action, AfterValidator(_plain)] | None,
        Field(json_schema_extra={"allOf": [{IS_SCHEMA: PLAIN_JSON}]}),
    ] = None
    message_id: KeyParameter | None = None
    """Chosen by the client, so that a repeat is answered and nothing done twice."""
    on_busy: Literal["queue", "steer", "reject"] = "queue"
    response_schema: Annotated[
        dict[str, JsonValue] | None, AfterValidator(_written_out), Field(json_schema_extra=_OBJECT)
    ] = None
    """A JSON Schema of an object that the answer is put into besides: `structured` of the turn."""

    @model_validator(mode="after")
    def _said_or_done(self) -> Self:
        said = self.text is not None or self.files is not None
        if not said and self.action is None:
            raise FaultyValue("neither text, files nor action is given", "send one of them")
        if said and self.action is not None:
            both = "text" if self.text is not None else "files"
            raise FaultyValue(f"both {both} and action are given", "send one of them")
        return self

    @property
    def message(self) -> Message:
        """What was said or done, without how it was sent."""
        return Message(text=self.text, action=self.action, files=tuple(self.files or ()))

    def id_with(self, key: str | None) -> str | None:
        """The message's id, or else the key; `InvalidInput` where both are given and differ."""
        if key is not None and self.message_id not in {None, key}:
            raise InvalidInput(
                "message_id and Idempotency-Key are the same thing for a message, but differ.",
                [FieldProblem("message_id", "differs from Idempotency-Key")],
            )
        return self.message_id or key


RESTART_S = 30.0
"""Seconds that a restart of Temporal, or of the workers, takes: so long a message is delivered
again before its sender is told that it isn't known to be accepted."""
MIN_ACCEPTANCE_S = 5.0
"""Seconds within which a worker accepts a message, where there is one: a request waits for that
however short its `wait` is."""
FULL = Localised(
    zh=f"这个对话已有 {MAX_OPEN_TURNS} 条消息正在处理，请等其中一条完成后再发",
    en=f"{MAX_OPEN_TURNS} turns of this conversation wait or run; wait for one to end.",
)
NOT_ACCEPTED = Localised(
    zh="还没有收到确认，不知道这条消息有没有收下。请用同一个 message_id 再发一次，不会重复处理。",
    en="It isn't known whether the message was accepted: nothing has confirmed it yet. Send it "
    "again with the same message_id; it is never done twice.",
)


class TurnPending(Unavailable):
    """The message was accepted; its turn isn't over yet, or can't be asked for right now."""

    def __init__(self) -> None:
        super().__init__(
            Localised(
                zh="消息已经收下，还在处理，结果稍后可以查到。",
                en="The message was accepted and is still being worked on; ask for its turn later.",
            )
        )


MessageLookup = Callable[[str, str, str], Awaitable[object | None]]
"""Finds the recorded turn of a message, by tenant, conversation and message id."""


async def _nothing_recorded(_tenant: str, _conversation: str, _message_id: str) -> None:
    return None


class _Place(NamedTuple):
    """Whose turns they are, and of which conversation."""

    tenant: str
    owner: str
    conversation: str


class _OpenTurn(NamedTuple):
    """A turn that is awaited here, and the delivery of its message."""

    task: "asyncio.Task[Turn | None]"
    delivery: Delivery


@dataclass(frozen=True)
class Turns:
    """The turns awaited here, six of a conversation and as many of a person as `limits` allow.

    None begins with a long `backlog`, nor while messages wait too long for a worker (`intake`).
    """

    _temporal: Client
    _task_queue: str
    _backlog: Backlog | None = None
    _fairness: Fairness = field(default_factory=Fairness)
    _limits: TurnLimits = field(default_factory=TurnLimits)
    _open: defaultdict[_Place, dict[str, _OpenTurn]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    intake: Intake = field(default_factory=Intake)
    _recorded_turn: MessageLookup = _nothing_recorded

    async def submit(
        self, conversation: ConversationRecord, submission: Submission, wait: float
    ) -> Turn | None:
        """Deliver a message and return its turn.

        Returns `None` for a message that was accepted and whose turn isn't over within `wait`
        seconds.

        Raises:
            TooManyRequests: too many turns of the conversation, or of the person or their tenant,
                wait or run already.
            Unavailable: the workers are too far behind to try.
            Unconfirmed: it isn't known in time whether the message was accepted.
            RouterError: the conversation refuses it.
        """
        await self.admit(conversation, submission)
        began, turn = monotonic(), self._begin(conversation, submission)
        await self._accepted(turn, min(RESTART_S, max(wait, MIN_ACCEPTANCE_S)))
        await asyncio.wait({turn.task}, timeout=max(0.0, wait - (monotonic() - began)))
        return outcome(turn.task) if turn.task.done() else None

    async def take(
        self, conversation: ConversationRecord, submission: Submission, sign: "asyncio.Future[Any]"
    ) -> asyncio.Task[Turn | None]:
        """The turn while it runs, once it is certain that the message was accepted.

        Anything heard of it, when `sign` is done, is certainty enough. Raises what `submit` raises.
        """
        await self.admit(conversation, submission)
        turn = self._begin(conversation, submission)
        await self._accepted(turn, RESTART_S, sign)
        if turn.task.done():
            outcome(turn.task)
        return turn.task

    async def close(self) -> None:
        """Stop waiting; the turns go on without."""
        tasks = [turn.task for waiting in self._open.values() for turn in waiting.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def admit(self, record: ConversationRecord, submission: Submission) -> None:
        """Return if the message can be taken now.

        A message that was taken before is let through: its sender asks for the answer.

        Raises:
            TooManyRequests: messages wait too long until a worker takes them in.
            Unavailable: the workers are too far behind to try.
        """
        under_way = self._open.get(_place(record))
        if under_way and _update_of(submission) in under_way:
            return
        action = submission.message.action
        answers = action is not None and action.type != "start"
        try:
            self.intake.check(PATIENCE_FOR_ANSWERS if answers else 1.0)
            if self._backlog is not None:
                await self._backlog.check()
        except (TooManyRequests, Unavailable):
            known = (record.tenant, record.id, submission.message_id)
            if submission.fresh or await self._recorded_turn(*known) is None:
                raise

    def _begin(self, record: ConversationRecord, submission: Submission) -> _OpenTurn:
        place, message_id = _place(record), submission.message_id
        update, waiting = _update_of(submission), self._open.get(place, {})
        if (under_way := waiting.get(update)) is not None:
            return under_way
        messages = {each.rpartition(":")[0] for each in waiting}
        if message_id not in messages and len(messages) >= MAX_OPEN_TURNS:
            raise TooManyRequests(FULL, retry_after=BUSY_RETRY)
        of_tenant = {at: len(held) for at, held in self._open.items() if at.tenant == place.tenant}
        of_user = sum(held for at, held in of_tenant.items() if at.owner == place.owner)
        self._limits.check(of_user, sum(of_tenant.values()))
        start = partial(self._start, record)
        note_taken = partial(self.intake.note_taken, place, update)
        delivery = Delivery(self._temporal, submission, update, start, note_taken)
        task = asyncio.create_task(self._observed(record, submission, delivery))
        turn = self._open[place][update] = _OpenTurn(task, delivery)
        self.intake.begin(place, update)
        task.add_done_callback(partial(self._forget, place, update))
        return turn

    def _forget(self, place: _Place, update: str, task: asyncio.Task[Turn | None]) -> None:
        waiting = self._open[place]
        del waiting[update]
        if not waiting:
            del self._open[place]
        # `exception` is asked for in any case: nobody may be left to hear of it.
        is_taken = not task.cancelled() and not isinstance(task.exception(), Unavailable)
        is_plain = is_taken and task.exception() is None and _is_plain(task.result())
        self.intake.end(place, update, is_taken=is_taken, is_plain=is_plain)

    async def _accepted(
        self, turn: _OpenTurn, seconds: float, sign: "asyncio.Future[Any] | None" = None
    ) -> None:
        """Return once the message is accepted or its turn is over; raise `Unconfirmed` in time.

        A message that nobody waits for any more, and that wasn't accepted, is delivered no longer:
        its sender is asked to send it again.
        """
        task, delivery = turn
        accepting = asyncio.create_task(delivery.accepted.wait())
        signs = {sign} if sign is not None else set()
        try:
            with delivery.awaited():
                await asyncio.wait(
                    {task, accepting, *signs}, timeout=seconds, return_when=FIRST_COMPLETED
                )
        finally:
            accepting.cancel()
        if sign is not None and sign.done():
            delivery.note_accepted()
        if task.cancelled() and delivery.accepted.is_set():
            return
        if task.cancelled() or not (task.done() or delivery.accepted.is_set()):
            if not delivery.waiting:
                task.cancel()
            raise Unconfirmed(NOT_ACCEPTED)

    async def _observed(
        self, record: ConversationRecord, submission: Submission, delivery: Delivery
    ) -> Turn | None:
        attributes = {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": WORKFLOW,
            "gen_ai.conversation.id": record.id,
            "router.message.id": submission.message_id,
        }
        began = monotonic()
        with (
            about(record.id, submission.message_id),
            tracing.span(f"invoke_workflow {WORKFLOW}", attributes=attributes) as span,
        ):
            turn = await delivery.turn()
            if turn is None:
                return None
            route = turn.route
            span.set_attributes({"router.route.kind": route.kind, "router.route.by": route.by})
        TURNS.labels(route.kind, route.by, turn.status).observe(monotonic() - began)
        for each in turn.routes or [route]:
            ROUTES.labels(each.kind, each.by).inc()
        return turn

    def _start(self, record: ConversationRecord) -> WithStartWorkflowOperation[Any, Any]:
        start = ConversationStart(
            tenant=record.tenant, conversation=record.id, owner=record.owner, locale=record.locale
        )
        return WithStartWorkflowOperation(
            WORKFLOW,
            start,
            id=workflow_id(record.tenant, record.id),
            task_queue=self._task_queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            task_timeout=task_timeout(LATENESS.seconds),
            priority=self._fairness.share(record.tenant, record.owner),
            static_summary=cut_summary(f"Conversation of {record.owner}"),
        )


def _is_plain(turn: Turn | None) -> bool:
    """Tell whether the answer is known and took neither a model, nor a tool, nor a document."""
    return turn is not None and not (
        turn.usage.llm_calls or turn.tool_calls or turn.documents or turn.files_left
    )


def _place(record: ConversationRecord) -> _Place:
    return _Place(record.tenant, record.owner, record.id)


def _update_of(submission: Submission) -> str:
    return update_id(submission.message_id, submission.digest)


def outcome(task: "asyncio.Task[Turn | None]") -> Turn | None:
    """Return the turn of a finished task; `None` where it isn't known yet.

    Raises the conversation's refusal, or why it isn't reached.
    """
    return None if task.cancelled() else task.result()
