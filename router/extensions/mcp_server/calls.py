"""Calls of the desk's tools, each as its person: messages of theirs, and decisions.

A call that starts something has a conversation of its own, so that its words never answer what
another one asked. What it asks goes to the program's person as a form where the program shows
any; the answer is a message of the same conversation, and the run goes on from there, in
whichever process it arrives. A program that shows none is told what would happen and how its
person's answer is brought.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as types

from router.api import approvals
from router.api.approvals import already_decided, own_approval
from router.api.conversations import live_standing, standing, thread
from router.api.dependencies import Ownership, Services, known
from router.api.params import derived_id, fresh_id, said_text
from router.api.routes.messages import check_start
from router.api.streams import MessageInProgress, TurnFailed
from router.api.turns import TurnPending, Turns
from router.contracts.conversation import ConversationStatus, Submission
from router.domain.errors import Conflict, DuplicateKey, Forbidden, InvalidInput, NotFound
from router.domain.locale import Localised
from router.domain.messages import (
    ChooseAction,
    ConfirmAction,
    ConfirmReply,
    FlowSummary,
    FormAction,
    Message,
    StartAction,
    TextReply,
    Turn,
    digest_of,
)
from router.domain.principals import Principal
from router.domain.progress import Progress
from router.domain.records import ApprovalRecord, ConversationRecord
from router.extensions.mcp_server.questions import (
    ASKED,
    McpQuestion,
    OpenQuestion,
    WordsAsked,
    answer_to,
    approval_form,
    asked_by,
    decision_of,
    form_of,
    name_of,
    next_call,
    said_by,
    says_yes,
)
from router.flow.definition import FlowDefinition
from router.flow.engine.decisions import DONE

CHANNEL = "mcp"
SECONDS = 60.0
"""How long a turn is waited for; one that takes longer goes on, and can be asked for."""

McpArguments = Mapping[str, Any]
McpResult = dict[str, Any]
McpOutcome = McpResult | types.InputRequiredResult
"""What a call comes to: an object, or what its person has to be asked first."""
AnsweringAction = ChooseAction | ConfirmAction | FormAction
ReportProgress = Callable[[float, str], Awaitable[None]]
"""Tells the program how far a call is: a number that grows, and words."""

LEFT_OPEN = Localised(
    zh="问题没有回答，什么也没有做。要接着办，就在这个对话里说。",
    en="The question was left unanswered, and nothing was done. Go on in this conversation.",
)
DECIDED_ALREADY = Localised(
    zh="它已经不等你的决定了。", en="It doesn't wait for your decision any more."
)
LEFT_WAITING = Localised(zh="没有决定，它还在等。", en="Nothing was decided; it still waits.")
CHANGED_MEANWHILE = Localised(
    zh="这个问题已经不是现在要回答的了，什么也没有做。看看它现在怎么样，再接着办。",
    en="That question isn't open any more, and nothing was done. See how it stands, and go on.",
)
KEY_OF_ANOTHER = Localised(
    zh="这个 Idempotency-Key 已经用在另一句话上了；换一个再发。",
    en="This Idempotency-Key came with other words before; take a new one for these.",
)
FOR_ITS_PERSON = Localised(
    zh="这里等的是本人的确认，不能用话代替。请用 confirm 带上这个 question；要改就先回答否。",
    en="What is open is a confirmation, which words don't give: answer it by `confirm` with its "
    "question, or answer false first where something has to change.",
)
ASKS_ITSELF = Localised(
    zh="确认由本人在表单里给出：再调用一次原来的工具，或用 say 带上这个对话。",
    en="This program's person confirms by a form: call `say` with this conversation to be asked.",
)
NO_FORMS = Localised(
    zh="审批要由本人看过再决定，而这个程序没有办法问本人。请在聊天页面或审批卡片上决定。",
    en="A decision is its person's own, and this program can't ask them: it shows no forms "
    "(elicitation). Decide on the chat page, or on the card in your chat.",
)


@dataclass(frozen=True)
class McpCall:
    """One request of a program's: what it can show, and what came back with it."""

    revision: str
    asks: bool
    """Whether it shows its person forms."""
    report: ReportProgress
    key: str | None = None
    """The request's `Idempotency-Key`, by which a repeat does nothing twice."""
    answer: types.ElicitResult | None = None
    open: OpenQuestion | None = None


class QuestionOpen(Conflict):
    """Something else is open than what was answered: `left` says what, and by which call."""

    def __init__(self, said: Localised, left: McpResult) -> None:
        super().__init__(said)
        self.left = left


@dataclass(frozen=True)
class McpDesk:
    """The desk as one person's assistant has it."""

    services: Services
    turns: Turns
    ownership: Ownership
    caller: Principal

    async def start(
        self, call: McpCall, name: str, slots: McpArguments, given: McpArguments
    ) -> McpOutcome:
        """Start a flow, or a tool's form; what it still asks for is told in words, if there are.

        Words go there only where it wants to know more: no words of an assistant's are a yes.
        """
        request = said_text(given["request"], "request") if given.get("request") else None
        record = await self._apart(call, given)
        action = StartAction(type="start", flow=name, slots=dict(slots))
        turn = await self._turn(call, record, Message(action=action), _first_id(call))
        flow = turn.flow if isinstance(turn, Turn) else None
        wants_more = flow and (flow.name, flow.status) == (name, "collecting")
        if request and wants_more and not says_yes(request):
            said = Message(text=request)
            turn = await self._turn(call, record, said, _first_id(call, "request"))
        return self._told(call, record, turn)

    async def ask_skill(self, call: McpCall, name: str, given: McpArguments) -> McpOutcome:
        """Ask a skill; what it answers."""
        said = said_text(given["request"], "request")
        record, message = await self._apart(call, given), Message(text=said, skill=name)
        if before := await self._before(call, record, message):
            return self._told(call, record, before)
        stands = await standing(self.services, record.tenant, record.id)
        if isinstance(stands.asked, ConfirmReply) and call.asks:
            return self._asking(call, record, stands.asked, stands.turns)
        confirms = given.get("conversation") and says_yes(said)
        if confirms or isinstance(stands.asked, ConfirmReply):
            raise self._open(call, record, stands, FOR_ITS_PERSON)
        turn = await self._turn(call, record, message, _first_id(call))
        return self._told(call, record, turn)

    async def say(self, call: McpCall, given: McpArguments) -> McpOutcome:
        """Say something; a confirmation that is open is asked for again, for words give none."""
        said, record = said_text(given["text"], "text"), await self._apart(call, given)
        message = Message(text=said)
        if before := await self._before(call, record, message):
            return self._told(call, record, before)
        stands = await standing(self.services, record.tenant, record.id)
        if isinstance(stands.asked, ConfirmReply):
            if not call.asks:
                raise self._open(call, record, stands, FOR_ITS_PERSON)
            return self._asking(call, record, stands.asked, stands.turns)
        if given.get("conversation") and says_yes(said):
            # A confirmation may be asked for before it is heard, by a call that runs beside it.
            asked = self._asked_in(stands)
            if not isinstance(asked, WordsAsked) or asked.path is None:
                raise self._open(call, record, stands, FOR_ITS_PERSON)
            message = answer_to(asked, {"answer": said})
        turn = await self._turn(call, record, message, _first_id(call))
        return self._told(call, record, turn)

    async def _before(
        self, call: McpCall, record: ConversationRecord, message: Message
    ) -> Turn | None:
        """What the same call was answered with, whatever is open by now; None where it is new."""
        id_ = _first_id(call)
        recorded = id_ and await self.services.store.log.turn(record.tenant, record.id, id_)
        if not recorded:
            return None
        # A yes went into the slot that was asked for then, which nothing says any more.
        if recorded.digest != message.digest and not says_yes(message.text or ""):
            raise DuplicateKey(KEY_OF_ANOTHER)
        return recorded.turn

    def _asked_in(self, stands: ConversationStatus) -> McpQuestion | None:
        flow = stands.active_flow
        return asked_by([stands.asked or TextReply(text="")], flow, self._definition(flow))

    def _open(
        self, call: McpCall, record: ConversationRecord, stands: ConversationStatus, why: Localised
    ) -> QuestionOpen:
        """The refusal that names what is open, and the call that answers it."""
        left: McpResult = {"conversation": record.id}
        asked = self._asked_in(stands)
        if asked is not None:
            following = {"tool": "say"} if call.asks else next_call(asked)
            left["next"] = {**left, **following}
        if stands.asked is not None:
            left["replies"] = [stands.asked.model_dump(mode="json", exclude_none=True)]
        return QuestionOpen(why, left)

    async def act(self, call: McpCall, given: McpArguments, action: AnsweringAction) -> McpOutcome:
        """Bring the person's answer to the question that was shown, where no form asks them.

        It is bound to that question, as it was shown, and good for one use.
        """
        if call.asks and isinstance(action, ConfirmAction):
            raise Forbidden(ASKS_ITSELF)
        record = await self._owned(given["conversation"])
        id_ = derived_id("mcp act", record.id, digest_of(action.model_dump(mode="json")))
        recorded = await self.services.store.log.turn(record.tenant, record.id, id_)
        stands = await standing(self.services, record.tenant, record.id)
        if stands.asked is None or name_of(stands.asked) != action.question:
            if recorded is None:
                raise self._open(call, record, stands, CHANGED_MEANWHILE)
            return self._told(call, record, recorded.turn)
        if isinstance(stands.asked, ConfirmReply) and not isinstance(action, ConfirmAction):
            raise self._open(call, record, stands, FOR_ITS_PERSON)
        message = Message(action=action)
        turn = await self._turn(call, record, message, None if recorded else id_)
        return self._told(call, record, turn)

    async def turn_of(self, call: McpCall, given: McpArguments) -> McpOutcome:
        """The turn that answered an earlier message, or that it still runs."""
        record = await self._owned(given["conversation"])
        wanted = known(given["message_id"], "message")
        recorded = await self.services.store.log.turn(record.tenant, record.id, wanted)
        if recorded is not None:
            return self._told(call, record, recorded.turn)
        now = await live_standing(self.services.temporal, record.tenant, record.id)
        if now is None or wanted not in now.running:
            raise NotFound("There is no such message.")
        return self._told(call, record, wanted)

    async def decide(self, call: McpCall, given: McpArguments) -> McpOutcome:
        """Have the person decide what waits for them, by a form that shows it."""
        record = await own_approval(self.services, self.caller, given["approval"])
        locale, answer = self.caller.locale, call.answer
        if not call.asks:
            raise Forbidden(NO_FORMS)
        if call.open is None or answer is None:
            return await self._asking_verdict(call, record)
        if call.open.approval != record.id:
            raise InvalidInput.at("requestState", "is that of another approval")
        if answer.action != "accept":
            return {"id": record.id, "status": "open", "text": LEFT_WAITING.within(locale)}
        body = decision_of(call.open.question, answer.content)
        key = derived_id("mcp decision", record.id, digest_of(body.model_dump(mode="json")))
        stands = await approvals.decide(self.services, self.caller, record, body, key)
        return {"id": record.id, "decision": body.decision, "flow_run": stands.model_dump()}

    async def _asking_verdict(self, call: McpCall, record: ApprovalRecord) -> McpOutcome:
        if record.verdict in DONE:
            raise already_decided(record, self.caller)
        if record.verdict is not None or not record.active:
            raise Conflict(DECIDED_ALREADY)
        before = await self.services.store.runs.shown_before(record.tenant, [record.run])
        locale = self.caller.locale
        changes = record.changes_since(before.get(record.run, record), locale)
        whose = await self.services.directory.find(record.tenant, record.requester)
        name = whose.name if whose else record.requester
        form = approval_form(record, name, changes, locale, call.revision)
        return _required(form, OpenQuestion(approval=record.id, question=record.digest))

    async def answered(self, call: McpCall, question: OpenQuestion) -> McpOutcome:
        """Go on with the person's answer to the question that was shown; once, however often."""
        record = await self._owned(question.conversation or "")
        id_ = derived_id("mcp answer", record.id, question.question, str(question.round))
        recorded = await self.services.store.log.turn(record.tenant, record.id, id_)
        if recorded is not None:
            return self._told(call, record, recorded.turn)
        stands = await standing(self.services, record.tenant, record.id)
        flow, asked = stands.active_flow, self._asked_in(stands)
        if asked is None or name_of(asked) != question.question:
            raise self._open(call, record, stands, CHANGED_MEANWHILE)
        message = said_by(asked, call.answer)
        if message is None:
            shown = {"flow": flow.model_dump(mode="json")} if flow else {}
            left = {"status": "open", "text": LEFT_OPEN.within(record.locale)}
            return {"conversation": record.id, **left, **shown}
        return self._told(call, record, await self._turn(call, record, message, id_))

    async def _apart(self, call: McpCall, given: McpArguments) -> ConversationRecord:
        """The conversation that is named, or one of the call's own."""
        if given.get("conversation"):
            return await self._owned(given["conversation"])
        conversations = self.services.store.conversations
        return await thread(conversations, self.caller, CHANNEL, call.key or fresh_id())

    async def _owned(self, conversation: str) -> ConversationRecord:
        return await self.ownership.owned(self.caller, known(conversation, "conversation"))

    async def _turn(
        self, call: McpCall, record: ConversationRecord, message: Message, id_: str | None
    ) -> Turn | str:
        """The turn that answers the message; its id where that takes long, for it goes on."""
        check_start(message, self.services.offered.of(record.tenant, record.owner), self.caller)
        submission = Submission(
            message_id=id_ or fresh_id(),
            fresh=id_ is None,
            message=message,
            caller=self.caller,
            seconds=self.services.settings.llm_turn_seconds,
        )
        way = MessageInProgress(self.services.store.live, self.turns, record, submission)
        told = 0
        with anyio.move_on_after(SECONDS):
            async with aclosing(way.happenings()) as happenings:
                async for happening in happenings:
                    match happening:
                        case Turn():
                            return happening
                        case TurnFailed(TurnPending()):
                            return submission.message_id
                        case TurnFailed(error):
                            raise error
                        case Progress() if words := self._words(record, happening):
                            told += 1
                            await call.report(told, words)
        return submission.message_id

    def _words(self, record: ConversationRecord, progress: Progress) -> str:
        """What is said of it while it happens; empty where that is nothing to a person."""
        data = progress.data
        if progress.type == "plan" and data["status"] == "started":
            return str(data["title"])
        if progress.type != "tool_started":
            return ""
        if "progress" in data:
            return str(data["progress"])
        title = self.services.offered.of(record.tenant).title_of(str(data["name"]))
        return title.within(record.locale) if title else str(data["name"])

    def _told(self, call: McpCall, record: ConversationRecord, turn: Turn | str) -> McpOutcome:
        """The turn, or what it asks where the program's person can be asked."""
        about: McpResult = {"conversation": record.id}
        if isinstance(turn, str):
            return {**about, "message_id": turn, "status": "running"}
        asked = asked_by(turn.replies, turn.flow, self._definition(turn.flow))
        if asked is None:
            return {**about, **turn.shown()}
        if call.asks:
            return self._asking(call, record, asked, turn.turn)
        return {**about, **turn.shown(), "next": {**about, **next_call(asked)}}

    def _asking(
        self, call: McpCall, record: ConversationRecord, asked: McpQuestion, round_: int
    ) -> types.InputRequiredResult:
        open_ = OpenQuestion(conversation=record.id, question=name_of(asked), round=round_)
        return _required(form_of(asked, record.locale, call.revision), open_)

    def _definition(self, flow: FlowSummary | None) -> FlowDefinition | None:
        offered = self.services.offered.of(self.caller.tenant, self.caller.id)
        return offered.definition(flow.name) if flow else None


def _first_id(call: McpCall, part: str = "") -> str | None:
    return derived_id("mcp call", call.key, part) if call.key else None


def _required(
    form: types.ElicitRequestFormParams, asked: OpenQuestion
) -> types.InputRequiredResult:
    return types.InputRequiredResult(
        input_requests={ASKED: types.ElicitRequest(params=form)}, request_state=asked.written
    )
