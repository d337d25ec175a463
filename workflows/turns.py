"""A turn: the message that it answers, what is decided about it, and what comes of that."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from router.contracts import activities
from router.contracts.activities import Account, RoutingDecision, Structured
from router.contracts.conversation import Submission
from router.contracts.conversation_state import ConversationState, News
from router.contracts.document import DocumentsOf
from router.contracts.failures import from_failure
from router.contracts.hook_calls import NO_ANSWER, PREFIX, HookAnswer
from router.contracts.tool_rounds import ToolFinding
from router.domain import commands
from router.domain.commands import in_order
from router.domain.documents import FileDocument
from router.domain.errors import SetAside
from router.domain.file_types import MOST_FILES
from router.domain.hooks import LONGEST_TEXT, REFUSING, DecisionEvent, ErrorEvent, TurnEvent
from router.domain.locale import Locale, Localised
from router.domain.messages import (
    ASKING,
    FlowSummary,
    Message,
    Reply,
    Route,
    SpokenLine,
    TextReply,
    ToolCallView,
    ToolResultAction,
    Turn,
    Usage,
    as_plain_text,
    question_in,
)
from router.domain.principals import Principal
from router.flow.paused import Situation, known_in_short
from router.flow.view import FlowView, FormView
from router.routing.structured import refused
from workflows import front_end_calls, notices, open_flows, open_skills
from workflows import transcript as transcripts
from workflows.activity import ends_turn, perform
from workflows.hook_runs import HookRuns, at


@dataclass(frozen=True)
class TurnContext:
    """A message while it is being answered; `seen` is the question that its sender had seen."""

    conversation: str
    locale: Locale
    submission: Submission
    began: datetime
    seen: str
    hooks: HookRuns = field(default_factory=HookRuns)

    @property
    def id(self) -> str:
        """The message's."""
        return self.submission.message_id

    @property
    def text(self) -> str:
        """What it says; nothing, where it is a button or a form."""
        return self.submission.message.text or ""

    @property
    def files(self) -> list[str]:
        """The ids of the files that came with it."""
        return list(self.submission.message.files)

    def named(self, files: Sequence[str]) -> list[str]:
        """What these of its files are called."""
        return [self.submission.file_names.get(file, file) for file in files]

    @property
    def caller(self) -> Principal:
        """Whoever sent it."""
        return self.submission.caller

    @property
    def advice(self) -> HookAnswer:
        """What hooks said of it; nothing, as long as they weren't asked."""
        return self.hooks.advice if self.hooks.advised == self.id else NO_ANSWER

    @property
    def decided_for(self) -> Principal:
        """Whoever sent it, without what hooks hide: what is begun by then goes on with all."""
        hidden, caller = self.advice.hide, self.caller
        return caller.having(caller.entitlement.without(hidden)) if hidden else caller

    @property
    def now(self) -> datetime:
        """When the turn began, in the caller's time zone.

        Everything in a turn reads dates against this one time: "tomorrow" must not become another
        day because midnight passes between two questions to a model.
        """
        return self.began.astimezone(ZoneInfo(self.caller.timezone))

    def account(self, spent: Usage) -> Account:
        """On whose account models are asked in this turn, which has spent so much already."""
        gone = (workflow.now() - self.began).total_seconds()
        return Account(
            caller=self.decided_for,
            now=self.now,
            conversation=self.conversation,
            message_id=self.id,
            seconds=max(0.0, self.submission.seconds - gone),
            spent=spent,
            files=self.files,
        )

    def says(self, text: Localised, *, notice: bool = False) -> TextReply:
        """The text as a reply to it; a `notice` is no part of the talk."""
        return TextReply(text=text.within(self.locale), notice=notice)


@dataclass
class TurnOutcome:
    """What came of a message's commands; `void` where the flow they were for has ended already."""

    state: ConversationState
    """The conversation's, after them."""
    replies: list[Reply] = field(default_factory=list)
    flow: FlowSummary | None = None
    tool_calls: list[ToolCallView] = field(default_factory=list)
    findings: list[ToolFinding] = field(default_factory=list)
    """What the calls came to, whole."""
    usage: Usage = field(default_factory=Usage)
    routes: list[Route] = field(default_factory=list)
    """What came of it besides what was decided."""
    heard: list[News] = field(default_factory=list)
    """The news that are part of this turn, and needn't be told again."""
    files_left: list[str] = field(default_factory=list)
    """Of the message's files those that nothing has taken so far."""
    documents: list[FileDocument] = field(default_factory=list)
    """What was read of them."""
    void: bool = False
    stopped: bool = False
    silent: bool = False
    """Nothing is to be said yet: more is to come of it by itself."""


def about_call(message: TurnContext, state: ConversationState, call: str) -> TurnContext:
    """The message that the waiting call of this id was made for, in place of its result."""
    wanted = next(waiting.text for waiting in state.front_end.calls if waiting.id == call)
    asked = message.submission.replace(message=Message(text=wanted))
    return replace(message, submission=asked)


TAKES_VALUES = {"start_flow", "fill_slots", "amend"}
"""Commands whose values rules read in the message, or compare with it."""


def of(message: TurnContext, number: int, decided: RoutingDecision, outcome: TurnOutcome) -> Turn:
    """The turn of a message that something was decided for, and came of."""
    stopped = [message.says(notices.STOPPED, notice=True)] if outcome.stopped else []
    routes = [decided.route, *decided.others, *outcome.routes]
    replies = [*outcome.replies, *stopped]
    first = [message.says(words, notice=True) for words in message.advice.say]
    takes_values = any(command.type in TAKES_VALUES for command in decided.commands)
    if decided.unread and (takes_values or decided.others):
        first.append(message.says(notices.unread(decided.unread), notice=True))
    return Turn(
        message_id=message.id,
        turn=number,
        status="cancelled" if outcome.stopped else "done",
        route=decided.route,
        routes=routes if len(routes) > 1 else None,
        replies=[
            *first,
            *(replies if replies or outcome.silent else [message.says(notices.DONE)]),
        ],
        flow=outcome.flow,
        tool_calls=outcome.tool_calls,
        files_left=outcome.files_left or None,
        documents=outcome.documents or None,
        usage=decided.usage + outcome.usage,
    )


async def structured(
    message: TurnContext, turn: Turn, outcome: TurnOutcome, before: FlowView | None
) -> Turn:
    """The turn with its answer in the schema that was asked for, if any; or with why it isn't.

    `before` is the flow that was active before it. Whatever comes of this, the turn stands.
    """
    schema = message.submission.response_schema
    if schema is None or turn.status != "done" or outcome.state.hand_offs.ongoing is not None:
        return turn
    given = activities.Structure(
        response_schema=schema,
        text=message.text,
        said=turn.replies,
        asks=asks(turn, outcome, before),
        route=turn.route,
        findings=outcome.findings,
        flow=turn.flow,
        locale=message.locale,
        account=message.account(turn.usage),
        history=outcome.state.transcript.history,
    )
    try:
        made = await perform(activities.STRUCTURE, given)
    except (asyncio.CancelledError, ActivityError) as error:
        stopped = is_cancelled_exception(error)
        if not stopped:
            workflow.logger.exception("the answer to %s isn't put into its schema", message.id)
        made = Structured(refusal=refused("stopped" if stopped else "unfit", message.locale))
    return turn.replace(
        structured=made.value, structured_refusal=made.refusal, usage=turn.usage + made.usage
    )


def asks(turn: Turn, outcome: TurnOutcome, before: FlowView | None) -> bool:
    """Whether the person has to answer first; a question asked again beside an answer waits."""
    kinds = {route.kind for route in turn.routes or [turn.route]}
    if any(call.status == "waiting" for call in turn.tool_calls) or "clarify" in kinds:
        return True
    skill, flow = outcome.state.skill, turn.flow
    if "skill" in kinds and skill is not None and skill.asking:
        return True
    if flow is None:
        return question_in(turn.replies) is not None
    answered = kinds <= {"tool", "skill", "reply"} and before is not None and flow.id == before.id
    return flow.status in ASKING and not answered


def with_refusal(message: TurnContext, turn: Turn) -> Turn:
    """The turn, which says so where a schema was asked for and nothing came of that."""
    made = turn.structured is not None or turn.structured_refusal is not None
    if message.submission.response_schema is None or made:
        return turn
    said = refused("unanswered", message.locale)
    return turn.replace(structured_refusal=said)


def heard_at_work(message: TurnContext, number: int, skill: str) -> Turn:
    """The turn of a message that a sub-agent heeded while it was at work."""
    reason = notices.heard_at_work(skill).within(message.locale)
    route = Route(kind="skill", target=skill, by="action", reason=reason)
    said = [message.says(notices.ANSWERED_ABOVE, notice=True)]
    if message.files:
        said.append(message.says(notices.files_left(message.named(message.files), asked=False)))
    return Turn(
        message_id=message.id,
        turn=number,
        route=route,
        replies=said,
        files_left=message.files or None,
    )


def ended_early(message: TurnContext, number: int, error: BaseException) -> Turn:
    """The turn of a message that nothing came of: it was stopped, or something broke."""
    said, reason = notices.FAILED, notices.HAS_FAILED
    if is_cancelled_exception(error):
        said, reason = notices.STOPPED, notices.WAS_STOPPED
    elif isinstance(from_failure(error), SetAside):
        said, reason = notices.SET_ASIDE, notices.WAS_SET_ASIDE
    return Turn(
        message_id=message.id,
        turn=number,
        status="cancelled" if said is notices.STOPPED else "failed",
        route=Route(kind="reply", by="fallback", reason=reason.within(message.locale)),
        replies=[message.says(said, notice=True)],
        # One that was taken before it ended isn't taken twice.
        files_left=message.files or None,
    )


def with_calls(
    message: TurnContext, turn: Turn, calls: list[ToolCallView], titles: Mapping[str, Localised]
) -> Turn:
    """The turn that was stopped, or broke, with what it had called by then, which it tells."""
    replies = turn.replies
    if calls:
        named = [
            (titles.get(call.name, Localised(zh=call.name, en=call.name)), call.status)
            for call in calls
        ]
        account = message.says(notices.calls_left(named), notice=True)
        replies = [*replies, account]
    return turn.replace(tool_calls=calls, replies=replies)


def remember_turn(
    message: TurnContext,
    before: ConversationState,
    turn: Turn,
    said: str,
    state: ConversationState,
) -> ConversationState:
    """Return the state with what a model is told of this turn."""
    names = message.named(message.files)
    routes = turn.routes or [turn.route]
    if names and message.text:
        said = f"{said}\n[{', '.join(names)}]"
    answered, action = transcripts.tell_model(turn), message.submission.message.action
    past = state.transcript
    if isinstance(action, ToolResultAction):
        calls = before.front_end.calls
        wanted = next((call.text for call in calls if call.id == action.tool_call_id), "")
        past = transcripts.remember_results(past, wanted, answered, routes)
    else:
        past = transcripts.remember(past, said, answered, routes, message.files)
    skill = open_skills.forget_answered(state.skill, routes)
    front_end = front_end_calls.drop_abandoned(state.front_end, skill)
    return state.replace(transcript=past, skill=skill, front_end=front_end)


def with_left(submission: Submission, left: Mapping[str, str]) -> Submission:
    """The message with what nothing took of the last one, where its front end has it so.

    What is too much for one message is left out by name, for `with_left_out` to say so.
    """
    said = submission.message
    if not submission.brings_left or said.action is not None:
        return submission
    files = tuple(dict.fromkeys([*said.files, *left]))
    names = {**left, **submission.file_names}
    beyond = [names.get(file, file) for file in files[MOST_FILES:]]
    left_out = submission.files_left_out.plus(beyond)
    message = said.replace(files=files[:MOST_FILES])
    return submission.replace(message=message, file_names=names, files_left_out=left_out)


def with_left_out(message: TurnContext, turn: Turn) -> Turn:
    """Return the turn, which says first which files don't go with the message."""
    left_out = message.submission.files_left_out
    if not left_out.count:
        return turn
    said = message.says(notices.files_left_out(left_out.names, left_out.count), notice=True)
    return turn.replace(replies=[said, *turn.replies])


AFTER = timedelta(days=1)
"""Without a word for so long, nobody is expected to know what was asked."""

ANSWERS = {"cancel_flow", "confirm", "fill_slots", "skip", "start_over"}


def forgotten(state: ConversationState, now: datetime) -> FormView | None:
    """The flow whose question has waited so long; None where there is none."""
    view, since = state.flows.active, state.transcript.last_word_at
    if view is None or since is None or not view.asking or now - since < AFTER:
        return None
    return open_flows.show_form(state.flows, view)


def without_miss(decided: RoutingDecision) -> RoutingDecision:
    """Who comes back after days hasn't missed a question that they no longer see."""
    missed = commands.Misunderstood
    again: list[commands.Command] = [
        commands.Repeat() if isinstance(c, missed) else c for c in decided.commands
    ]
    if again == decided.commands:
        return decided
    kind = "flow" if decided.route.kind == "handoff" else decided.route.kind
    return decided.replace(commands=again, route=decided.route.replace(kind=kind))


def reminder(
    view: FormView,
    decided: RoutingDecision,
    active: FlowView | None,
    replies: list[Reply],
    locale: Locale,
) -> Localised:
    """What the turn begins with, where the question isn't asked by `replies` anyway."""
    if any(command.type in ANSWERS for command in decided.commands):
        return notices.on_with(view.title)
    asked = view.replies[0].text if view.replies else ""
    still = active is not None and active.id == view.id
    question = asked if still and all(reply.text != asked for reply in replies) else ""
    return notices.where_we_were(view.title, known_in_short(view, locale), question)


async def decide(message: TurnContext, state: ConversationState) -> RoutingDecision:
    """What is to be done about the message."""
    said, known = message.submission.message, situation(message, state)
    alone = bool(message.files) and not message.text and known.active is None
    read = await documents_of(message, WAIT, types=True) if alone else []
    papers = {each.file: each.type for each in read}
    given = activities.Understand(
        message=said, situation=known, caller=message.decided_for, papers=papers
    )
    reading = await perform(activities.UNDERSTAND, given)
    if state.hand_offs.ongoing is not None and reading.route is not None:
        # It is for a person: no hook keeps it from them, or them from the desk.
        return RoutingDecision.of(reading)
    await _advised(message, known, reading)
    if message.advice.refused is not None:
        return _refused(message, message.advice.refused)
    if message.decided_for != given.caller:
        narrowed = situation(message, state)
        given = given.replace(situation=narrowed, caller=message.decided_for)
        reading = await perform(activities.UNDERSTAND, given)
    if message.files and reading.route is None:
        # A model has to know what they are; a flow that takes them waits by itself.
        await documents_of(message, WAIT)
    undecided = question(message, state, Usage())
    if reading.route is None:
        decided = await perform(activities.DECIDE, undecided)
        return decided.replace(unread=reading.unread)
    decided = RoutingDecision.of(reading)
    return await _with_rest(decided, reading.rest, undecided) if reading.rest else decided


async def _advised(message: TurnContext, known: Situation, reading: activities.Understood) -> None:
    """Ask the hooks of a message what they say of it, once, and know those of its turn."""
    hooks = message.hooks
    hooks.known = tuple(hook for hook in reading.hooks if hook.point not in REFUSING)
    if hooks.advised != message.id:
        asked = at(reading.hooks, "before_decision")
        advice = await hooks.asked(asked, decision_event(message, known)) if asked else NO_ANSWER
        hooks.advised, hooks.advice = message.id, advice


def decision_event(message: TurnContext, known: Situation) -> DecisionEvent:
    """The message, as hooks are told of it before it is decided."""
    action, active = message.submission.message.action, known.active
    return DecisionEvent(
        caller=message.caller,
        locale=message.locale,
        now=message.now,
        conversation=message.conversation,
        message_id=message.id,
        text=message.text,
        action=action.type if action is not None else "",
        files=tuple(message.files),
        active_flow=active.flow if active is not None and active.asking else None,
    )


def turn_event(message: TurnContext, turn: Turn) -> TurnEvent:
    """The turn, as hooks are told of it once it is over."""
    flow = turn.flow
    return TurnEvent(
        caller=message.caller,
        locale=message.locale,
        now=message.now,
        conversation=message.conversation,
        message_id=message.id,
        turn=turn.turn,
        text=message.text,
        status=turn.status,
        routes=tuple(route.replace(candidates=[]) for route in turn.routes or [turn.route]),
        said=as_plain_text(turn.replies, message.locale)[:LONGEST_TEXT],
        calls=tuple(call.replace(arguments={}, result_preview="") for call in turn.tool_calls),
        flow_run=flow.id if flow else None,
        flow=flow.name if flow else None,
        flow_status=flow.status if flow else None,
    )


def error_event(message: TurnContext, error: str) -> ErrorEvent:
    """A turn that broke, as hooks are told of it."""
    return ErrorEvent(
        caller=message.caller,
        locale=message.locale,
        now=message.now,
        conversation=message.conversation,
        of="turn",
        name=message.id,
        error=error[:LONGEST_TEXT],
        message_id=message.id,
    )


def _refused(message: TurnContext, words: Localised) -> RoutingDecision:
    by = message.advice.refused_by
    reason = notices.refused_by_hook(by).within(message.locale)
    route = Route(kind="reply", by="fallback", reason=reason, policy=f"{PREFIX}{by}")
    said = commands.ReplyText(text=words.within(message.locale))
    return RoutingDecision(route=route, commands=[said])


WAIT = 2.5
"""Seconds that a turn waits for its files to be read."""


async def documents_of(
    message: TurnContext, seconds: float = 0, *, types: bool = False
) -> list[FileDocument]:
    """What was read of the message's files, with so much patience, for all their `types` too."""
    asked = DocumentsOf(
        tenant=message.caller.tenant, files=message.files, seconds=seconds, types=types
    )
    found = (await perform(activities.DOCUMENTS_OF, asked)).documents
    return [FileDocument.of(file, found[file]) for file in message.files if file in found]


def question(message: TurnContext, state: ConversationState, spent: Usage) -> activities.Decide:
    """What is put to whoever decides about the message, in a turn that has spent so much."""
    return activities.Decide(
        message=message.submission.message,
        situation=situation(message, state),
        account=message.account(spent),
        history=state.transcript.history,
        earlier=transcripts.earlier_gists(state.transcript),
        front_end=state.front_end.tools,
        context=message.advice.context,
    )


async def _with_rest(
    decided: RoutingDecision, words: str, whole: activities.Decide
) -> RoutingDecision:
    """What rules took of a message, and what is decided of the words that are left of it."""
    routes = [decided.route, *decided.others]
    under_way = notices.under_way([route.target or route.kind for route in routes])
    told = [
        SpokenLine(role="user", text=whole.message.text or ""),
        SpokenLine(role="assistant", text=under_way.within(whole.situation.locale)),
    ]
    message = whole.message.replace(text=words)
    rest = whole.replace(message=message, beside=True, history=[*whole.history, *told])
    try:
        return decided.with_rest(await perform(activities.DECIDE, rest), rest)
    except ActivityError as error:
        if ends_turn(error):
            raise
        workflow.logger.exception("nothing was decided of the rest")
        text = notices.not_decided(words).within(whole.situation.locale)
        return decided.replace(
            commands=in_order([*decided.commands, commands.ReplyText(text=text)])
        )


def situation(message: TurnContext, state: ConversationState) -> Situation:
    """Return everything besides the message that its meaning may depend on."""
    flows, skill = state.flows, state.skill
    is_answer = message.submission.message.action is None and not flows.offered
    return Situation(
        now=message.now,
        locale=message.locale,
        roles=message.caller.roles,
        entitlement=message.decided_for.entitlement,
        active=flows.active,
        paused=[view.flow for view in flows.paused],
        resumable=open_flows.list_resumable(flows, message.locale),
        at_work=flows.at_work,
        handed_in=flows.handed_in,
        skill=skill.name if skill and skill.asking else "",
        plan=open_skills.name_plan(skill),
        answered=skill.name if skill and skill.answered else "",
        in_play=transcripts.names_in_play(state.transcript),
        offered=flows.offered,
        offered_for=flows.offered_for,
        handed_off=state.hand_offs.ongoing is not None,
        slot_sets=open_flows.slots_to_read(flows, is_answer=is_answer),
    )
