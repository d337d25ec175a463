"""What a run is to do, decided before it begins: what is refused is refused whole."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ag_ui.core import CustomEvent, ToolMessage
from pydantic import JsonValue

from router.api.ag_ui import answers
from router.api.ag_ui.answers import Answer, Verdict
from router.api.ag_ui.attachments import attached
from router.api.ag_ui.run_input import Heard, RunInput, heard_in
from router.api.approving import DecisionBody, own_approval
from router.api.body import strict_json
from router.api.deps import Services
from router.api.handing_in import FileView
from router.api.idempotency import claimed
from router.api.identifiers import derived_id
from router.api.plain import said_text
from router.contracts.conversation import ConversationStatus
from router.domain.errors import Conflict, FieldProblem, InvalidInput
from router.domain.messages import FormReply, Message, ToolResultAction
from router.domain.principals import Principal
from router.domain.records import ApprovalRecord


@dataclass(frozen=True)
class Decision:
    """A decision that is to be made, once: `key` is the same for every repeat of the run."""

    approval: ApprovalRecord
    body: DecisionBody
    key: str


@dataclass
class Plan:
    """Decisions, then messages, in this order; with neither, the run only says how things stand."""

    decisions: list[Decision] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    answered_calls: frozenset[str] = frozenset()
    left_alone: frozenset[str] = frozenset()
    """Approvals that the person doesn't want to decide now."""
    files: list[FileView] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def remarks(self) -> Iterator[CustomEvent]:
        """What the front end should know of what became of its input."""
        for file in self.files:
            yield CustomEvent(name="file", value=file.model_dump(mode="json"))
        for warning in self.warnings:
            yield CustomEvent(name="warning", value=warning)


async def planned(
    services: Services, caller: Principal, run: RunInput, standing: ConversationStatus
) -> Plan:
    """What the input asks for.

    Raises:
        InvalidInput: an answer can't be used, or nothing that was sent can.
        NotFound: it decides on what isn't the caller's to decide.
        Conflict: what it decides on is decided, expired, or not what was shown.
    """
    heard, plan = heard_in(run), Plan()
    answer, verdicts = _sorted(heard, plan)
    for verdict in verdicts:
        await _take_verdict(services, caller, run, verdict, plan)
    plan.answered_calls = frozenset(result.tool_call_id for result in heard.results)
    plan.messages += [_result(result) for result in heard.results]
    if answer is not None and not (answer.abandoned and (heard.text or heard.files)):
        plan.messages.append(answer.message)
        if heard.text:
            plan.warnings.append("what was said beside an answer was left out")
        return plan
    await _take_words(services, caller, run, heard, standing, plan)
    return plan


def _sorted(heard: Heard, plan: Plan) -> tuple[Answer | None, list[Verdict]]:
    """The answer to the question, and the verdicts; what answers nothing is warned of."""
    read = [answers.read(entry, place) for place, entry in enumerate(heard.answers)]
    for entry, meaning in zip(heard.answers, read, strict=True):
        if meaning is None:
            shown = entry.interrupt_id[:80]
            plan.warnings.append(f"{shown!r} is no interrupt of this desk; its answer was left out")
    given = [one for one in read if isinstance(one, Answer)]
    verdicts = [one for one in read if isinstance(one, Verdict)]
    if len(given) > 1:
        raise _unusable("one question is open at a time; answer that one")
    if len({verdict.approval for verdict in verdicts}) < len(verdicts):
        raise _unusable("an approval is decided twice; decide each once")
    return (given[0] if given else None), verdicts


async def _take_verdict(
    services: Services, caller: Principal, run: RunInput, verdict: Verdict, plan: Plan
) -> None:
    record = await own_approval(services, caller, verdict.approval)
    if verdict.body is None:
        plan.left_alone |= {record.id}
        return
    key = derived_id("ag-ui decision", run.thread_id, run.run_id, record.id)
    if not await claimed(services, caller, key):
        _check_open(record, verdict.body)
    plan.decisions.append(Decision(record, verdict.body, key))


def _check_open(record: ApprovalRecord, body: DecisionBody) -> None:
    if record.verdict is not None:
        raise Conflict(f"It is decided already: {record.verdict}.")
    if record.due is not None and record.due <= datetime.now(UTC):
        raise Conflict("This approval has expired; ask again what waits for you.")
    if body.digest != record.digest:
        raise Conflict("What is to be approved has changed since it was shown; look at it again.")


def _result(message: ToolMessage) -> Message:
    """The front end's result: JSON where it is JSON, words where it is words."""
    if isinstance(message.content, str):
        text = message.content
    else:
        text = "".join(part.text for part in message.content if part.type == "text")
    result: JsonValue
    try:
        result = strict_json(text.encode())
    except ValueError:
        result = text
    if message.error is not None:
        result = {"error": message.error}
    action = ToolResultAction(type="tool_result", tool_call_id=message.tool_call_id, result=result)
    return Message(action=action)


async def _take_words(
    services: Services,
    caller: Principal,
    run: RunInput,
    heard: Heard,
    standing: ConversationStatus,
    plan: Plan,
) -> None:
    """What was said or handed over: a file that is asked for, or comes alone, is said by its id."""
    found = await attached(services, caller, heard.files, run.message_id)
    plan.files, plan.warnings = found.files, [*plan.warnings, *found.warnings]
    if found.files and (not heard.text or _wants_file(standing)):
        plan.messages.append(Message(text=found.files[0].id))
        if heard.text or len(found.files) > 1:
            plan.warnings.append("one file was asked for: that alone was answered with")
    elif heard.text:
        plan.messages.append(Message(text=said_text(heard.text, "messages")))
    elif heard.files:
        raise _unusable("; ".join(found.warnings), "messages")


def _wants_file(standing: ConversationStatus) -> bool:
    asked = standing.asked
    return isinstance(asked, FormReply) and any(f.type == "file" for f in asked.fields)


def _unusable(why: str, where: str = "resume") -> InvalidInput:
    return InvalidInput(f"{where}: {why}.", [FieldProblem(where, why)])
