"""One step of a skill's sub-agent: what the model is asked, and what its answer comes to."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from router.domain.commands import StartFlow
from router.domain.messages import SpokenLine, Usage
from router.domain.value import Value
from router.flow.definition import FlowDefinition
from router.llm.types import (
    AssistantMessage,
    ChatAnswer,
    ChatMessage,
    ChatRequest,
    Function,
    FunctionCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from router.routing import interpretation
from router.routing.addresses import UNGIVEN, ungiven
from router.routing.faithfulness import unmarked
from router.routing.front_end_tools import FrontEndTool
from router.routing.message_files import NO_FILES, MessageFiles
from router.routing.offer import FLOW, dispatch, function
from router.routing.prompts import Prompt, material, shown
from router.routing.skill_memory import AgentMemory, Measure
from router.skill.loop import Stop
from router.skill.plan import StepBrief
from router.skill.skill import Skill, listed
from router.tool.tool import Tool

ASK_USER, DONE, HAND_BACK, NOTE = "ask_user", "done", "hand_back", "note"
HAND_OVER = "hand_over"
CREATE_SUBAGENT = "create_subagent"
MOST_HAND_OVERS = 2
"""From the employee's skill to another, and from that to a third."""
MISSING = "say_missing"
ENDINGS = {ASK_USER: "text", DONE: "result", MISSING: "text"}
"""The functions that end a run, and the argument of each that is said to the employee."""
_ASKING = {ASK_USER, MISSING}
MOST_CALLS = 6
"""Calls of one answer."""
LONGEST_ANSWER = 2048
"""Tokens of one answer: a page of text."""
LONGEST_CALLS = 16_000
"""Characters of their arguments together: more than a server writes that keeps to its limit."""
_TEXT = {"type": "string", "maxLength": 4000}
_ENDINGS = (
    function(ASK_USER, "Ask the employee one question that only they can answer.", text=_TEXT),
    function(DONE, "End, with the answer for the employee.", result=_TEXT),
)
_ENDINGS_OF_A_STEP = (
    function(MISSING, "End, for want of something that only the employee knows.", text=_TEXT),
    function(DONE, "End, with what you found.", result=_TEXT),
)
_NOTE = function(
    NOTE,
    "Keep something for your later steps, under a key; an empty value forgets it.",
    key={"type": "string", "maxLength": 80},
    value={"type": "string", "maxLength": 1000},
)
_CREATE = function(
    CREATE_SUBAGENT,
    "Have a sub-agent of your own find out one thing that takes several steps, and tell you in "
    "short. Several that are created at once work side by side. It knows the request and its task, "
    "and has your tools that only read.",
    task=_TEXT,
)
_HAND_BACK = function(
    HAND_BACK, "What the employee said last has nothing to do with your task: the desk takes it."
)
ASK, PLAN = "ask", "plan"
"""The question of a run that works by a plan, and a plan that the employee is shown."""
FOUND_BEFORE = "Found out before:"
WAITED_FOR = {ASK_USER, FLOW, ASK, PLAN}
"""What the employee answers."""
OUTWARD = (
    "{tool} carries what it is given out of the house, and others' words have been read by now: "
    "then it is called only where the skill's allowed-tools names it. Go on with what you have."
)
NOT_DONE = f"Plain text is no end here: call `{DONE}` with the answer, or go on."
PART = "Only what is between <part> tags is yours to do: another specialist has the rest."
LAST_STEP = "This is your last step: answer now, with what you have, and say what is still open."


class SkillTask(Value):
    """What a skill was chosen for: the same through all of its steps.

    The `request` is in the person's own words; `summary` says what the desk made of it. With a
    `part` it is one step of a plan, which can neither ask the employee nor leave. It was handed
    over along the `chain` of skills, the employee's own first: then the `summary`, in the words of
    the last of these, is the part that it has to do.
    """

    skill: Skill
    request: str
    summary: str = ""
    history: list[SpokenLine] = []
    now: datetime
    part: StepBrief | None = None
    chain: tuple[str, ...] = ()
    front_end: list[FrontEndTool] = []
    """Tools that came with the message, of those that the skill may use."""


class HandedPart(Value):
    """What a skill hands over: to which other one, and in what words."""

    skill: Skill
    request: str


@dataclass(frozen=True)
class Means:
    """What a sub-agent may call, the forms it may send the employee to, and to whom it may hand.

    It `creates` others where its skill lets it, and it isn't one of those itself.
    """

    tools: Mapping[str, Tool] = field(default_factory=dict)
    flows: Mapping[str, FlowDefinition] = field(default_factory=dict)
    skills: Mapping[str, Skill] = field(default_factory=dict)
    creates: bool = False


class Thought(Value):
    """What one answer of the model comes to.

    `said` goes into the dialogue, with `refused` as the answers to those of its calls that
    aren't made; `calls` are those that are. Where `text` is set the sub-agent has ended: with
    its answer, said `plainly` or by a function, or with a question where `asks`; with `flow` it
    leaves for a form, with `hands_over` it waits for another skill, and where it `hands_back` the
    message was none for it. `complaint` is for
    the model, where its answer was of no use at all, and `aside` where part of it was. `measure`
    is how large the question was. `spent` says to the employee that no budget paid for an
    answer; `last` why there can't be another one.
    """

    said: AssistantMessage = AssistantMessage()
    calls: tuple[FunctionCall, ...] = ()
    refused: tuple[ToolMessage, ...] = ()
    notes: dict[str, str] = {}
    text: str | None = None
    asks: bool = False
    plainly: bool = False
    flow: StartFlow | None = None
    hands_over: HandedPart | None = None
    hands_back: bool = False
    complaint: str | None = None
    aside: str = ""
    spent: str = ""
    last: Stop | None = None
    usage: Usage = Usage()
    measure: Measure | None = None

    @property
    def is_step(self) -> bool:
        """True where it ends nothing: its calls are to be made."""
        ends = (self.text, self.flow, self.hands_over)
        return all(end is None for end in ends) and not self.hands_back


def request(
    prompt: Prompt,
    task: SkillTask,
    means: Means,
    memory: AgentMemory,
    *,
    last: bool = False,
    files: MessageFiles = NO_FILES,
) -> ChatRequest:
    """The question of one step; what never changes within a run comes first.

    In four layers: rules, with the skill's instructions; what can be called; what was said and
    found; and what is to be heeded right now, such as `files` that have just been handed in. The
    `last` step has nothing to call.
    """
    now = heeded(memory, files, last=last)
    return ChatRequest(
        messages=messages(rules(prompt, task.skill), task, memory, now),
        functions=_endings(task) if last else _functions(task, means, memory),
        must_call=False,
        max_calls=MOST_CALLS,
        spoken=ENDINGS,
        max_tokens=LONGEST_ANSWER,
        prompt=prompt.fingerprint,
    )


def messages(
    rules: str, task: SkillTask, memory: AgentMemory, now: Sequence[ChatMessage]
) -> tuple[ChatMessage, ...]:
    """What every question of a run has in common, and what is said in this one alone."""
    opened = (SystemMessage(text=rules), UserMessage(text=opening(task)))
    return (*opened, *recalled(memory), *memory.dialogue, *now)


def rules(prompt: Prompt, skill: Skill) -> str:
    """What holds for the skill, its instructions, and the files that it brings."""
    return f"{prompt.text}\n{skill.instructions}{listed(skill)}"


def opening(task: SkillTask) -> str:
    """When it is, what was said before, and what is wanted: the same at every question of a run."""
    before = "\n".join(line.told for line in task.history)
    sections = {"history": material(before), "request": material(task.request)}
    if task.summary:
        sections["part" if task.chain else "summary"] = material(task.summary)
    if part := task.part:
        found = "\n".join(f"{id_}: {material(text)}" for id_, text in part.results.items())
        tried = "\n".join(f"- {material(why)}" for why in part.tries)
        sections |= {"step": material(part.task), "results": found, "tried": tried}
    told = (f"<{name}>\n{text}\n</{name}>" for name, text in sections.items())
    handed = [PART] if task.chain else []
    return "\n".join([f"Now: {task.now:%A %Y-%m-%d %H:%M}.", *told, *handed])


def recalled(memory: AgentMemory) -> list[ChatMessage]:
    """What is gone from the dialogue, in short."""
    text = f"<earlier>\n{material(memory.earlier)}\n</earlier>"
    return [UserMessage(text=text)] if memory.earlier else []


def heeded(memory: AgentMemory, files: MessageFiles = NO_FILES, *, last: bool) -> list[ChatMessage]:
    """Said anew at every step, and kept nowhere."""
    parts = []
    if memory.notes:
        notes = json.dumps(memory.notes, ensure_ascii=False)
        parts.append(f"<notes>\n{material(notes)}\n</notes>")
    if last:
        parts.append(LAST_STEP)
    return [files.beside("\n".join(parts))] if parts or files.files else []


def _endings(task: SkillTask) -> tuple[Function, ...]:
    return _ENDINGS_OF_A_STEP if task.part else _ENDINGS


def _functions(task: SkillTask, means: Means, memory: AgentMemory) -> tuple[Function, ...]:
    offered = (means.tools[name] for name in sorted(means.tools))
    flows = [means.flows[name] for name in sorted(means.flows)]
    tools = (
        Function(name=tool.name, description=tool.description, parameters=dict(tool.parameters))
        for tool in offered
    )
    ways = [*([dispatch(flows)] if flows else []), *_handing_over(means)]
    ways += [_CREATE] if means.creates else []
    return (*tools, *ways, _NOTE, *_endings(task), *handing_back(memory))


def _handing_over(means: Means) -> list[Function]:
    if not means.skills:
        return []
    about = "Have another specialist do a part, and go on with what it comes to:"
    lines = (f"- {name}: {one.description.en}" for name, one in sorted(means.skills.items()))
    skill = {"type": "string", "enum": sorted(means.skills)}
    listed = "\n".join([about, *lines])
    return [function(HAND_OVER, listed, skill_name=skill, request=_TEXT)]


def handing_back(memory: AgentMemory) -> list[Function]:
    """The way back to the desk, where the employee has spoken since: they may say anything."""
    heard = any(isinstance(m, ToolMessage) and m.name in WAITED_FOR for m in memory.dialogue)
    return [_HAND_BACK] if heard or memory.again else []


def answers(memory: AgentMemory) -> list[str]:
    """What the employee has said to it, and nothing that anybody else did."""
    return [
        m.text
        for m in memory.dialogue
        if (isinstance(m, ToolMessage) and m.name in WAITED_FOR)
        or (isinstance(m, UserMessage) and m.author == "person")
    ]


@dataclass(frozen=True)
class CallGuard:
    """What no call of a sub-agent's may do.

    Where it is `closed`, no tool is called that carries its arguments out of the house. Addresses
    in arguments are such as people `said`, or on hosts that the skill's `own` words name.
    """

    closed: bool = False
    said: tuple[str, ...] = ()
    own: str = ""

    @classmethod
    def of(cls, task: SkillTask, memory: AgentMemory) -> "CallGuard":
        """The guard of a run that is so far."""
        before = (line.text for line in task.history if line.role == "user")
        closed = memory.exposed and task.skill.allowed_tools is None
        return cls(closed, (*before, task.request, *answers(memory)), task.skill.instructions)


def read(answer: ChatAnswer, means: Means, guard: CallGuard = CallGuard()) -> Thought:
    """What the answer comes to. Its calls are untrusted: none is made that doesn't fit."""
    if (length := sum(len(json.dumps(call.arguments)) for call in answer.calls)) > LONGEST_CALLS:
        most = f"{length} characters of arguments, where {LONGEST_CALLS} are the most"
        return Thought(complaint=f"That couldn't be used: {most}. Go on.")
    ended = _ending_of(answer) or _leaving(answer, means)
    if ended is not None:
        return ended
    if not answer.calls:
        what = "; ".join(map(str, answer.problems)) or "it called nothing and said nothing"
        return Thought(complaint=f"That couldn't be used: {what}. Go on.")
    problems = {call.id: _problem(call, means, guard) for call in answer.calls}
    fine = [call for call in answer.calls if problems[call.id] is None]
    noted = [call for call in fine if call.name == NOTE]
    # What was dropped before anybody could look at it: calls beyond the most.
    dropped = [each.text for each in answer.problems if each.kind != "unoffered"]
    return Thought(
        said=answer.said,
        calls=tuple(_tidied(call, means.tools) for call in fine if call.name != NOTE),
        refused=(
            *(
                _told(call, f"error: {problem}", refused=True)
                for call in answer.calls
                if (problem := problems[call.id]) is not None
            ),
            *(_told(call, "noted") for call in noted),
        ),
        aside=f"Of your answer was left out: {'; '.join(dropped)}." if dropped else "",
        notes={str(call.arguments["key"]): str(call.arguments["value"]) for call in noted},
    )


def _ending_of(answer: ChatAnswer) -> Thought | None:
    """Where the answer ends the run. Calls beside the ending aren't made: it has its result."""
    for call in answer.calls:
        argument = ENDINGS.get(call.name)
        said = call.arguments.get(argument) if argument else None
        text = unmarked(shown(said)) if isinstance(said, str) else ""
        if text:
            if call.name in _ASKING:
                return Thought(text=text, asks=True, **_waiting_on(call, answer))
            return _answering(text, plainly=False)
    said = unmarked(shown(answer.text)) or shown(answer.refusal or "")
    if not said or answer.calls:
        return None
    return _answering(said, plainly=answer.refusal is None)


def _answering(text: str, *, plainly: bool) -> Thought:
    return Thought(text=text, said=AssistantMessage(text=text), plainly=plainly)


def _leaving(answer: ChatAnswer, means: Means) -> Thought | None:
    """Where the answer sends the employee to a form, or the message back to the desk."""
    for call in answer.calls:
        if call.name == HAND_BACK:
            return Thought(hands_back=True, **_waiting_on(call, answer))
        if (part := _part(call, means)) is not None:
            return Thought(hands_over=part, **_waiting_on(call, answer))
        name, slots = call.arguments.get("flow_name"), call.arguments.get("slots")
        if call.name == FLOW and isinstance(name, str) and name in means.flows:
            given = slots if isinstance(slots, dict) else {}
            return Thought(flow=StartFlow(flow=name, slots=given), **_waiting_on(call, answer))
    return None


def _part(call: FunctionCall, means: Means) -> HandedPart | None:
    """What the call hands over; None where it doesn't, or to nobody."""
    name, request = call.arguments.get("skill_name"), call.arguments.get("request")
    if call.name != HAND_OVER or not isinstance(name, str) or not isinstance(request, str):
        return None
    skill = means.skills.get(name)
    return HandedPart(skill=skill, request=shown(request)) if skill and shown(request) else None


def _waiting_on(call: FunctionCall, answer: ChatAnswer) -> dict[str, Any]:
    """What goes into the dialogue where one call's result comes later, and no other is made."""
    others = (other for other in answer.calls if other.id != call.id)
    return {
        "said": answer.said,
        "refused": tuple(_told(other, "skipped: one thing at a time") for other in others),
    }


def _told(call: FunctionCall, text: str, *, refused: bool = False) -> ToolMessage:
    return ToolMessage(call_id=call.id, name=call.name, text=text, refused=refused)


def _tidied(call: FunctionCall, tools: Mapping[str, Tool]) -> FunctionCall:
    if call.name == CREATE_SUBAGENT:
        return call.replace(arguments={"task": shown(str(call.arguments["task"]))})
    given = interpretation.known(tools[call.name], call.arguments)
    return call.replace(arguments=given)


def _problem(call: FunctionCall, means: Means, guard: CallGuard) -> str | None:
    """Why the call can't be made."""
    if call.name in ENDINGS:
        return f"{ENDINGS[call.name]} has to be text"
    if call.name == NOTE:
        texts = (call.arguments.get("key"), call.arguments.get("value"))
        return None if all(isinstance(t, str) for t in texts) else "key and value have to be text"
    if call.name == CREATE_SUBAGENT and means.creates:
        told = call.arguments.get("task")
        return None if isinstance(told, str) and shown(told) else "task has to be text"
    named = {
        FLOW: ("flow_name has to be", means.flows),
        HAND_OVER: ("request has to be text, and skill_name", means.skills),
    }
    what, names = named.get(call.name, ("", {}))
    if names:
        return f"{what} one of: {', '.join(sorted(names))}"
    tool = means.tools.get(call.name)
    if tool is None:
        return f"there is no tool {call.name[:60]!r}; there are: {', '.join(sorted(means.tools))}"
    wrong = interpretation.problem(tool, interpretation.known(tool, call.arguments))
    return _forbidden(call, tool, guard) or wrong


def _forbidden(call: FunctionCall, tool: Tool, guard: CallGuard) -> str | None:
    if guard.closed and tool.outward and not tool.options.client:
        return OUTWARD.format(tool=tool.name)
    foreign = ungiven(call.arguments, guard.said, guard.own)
    return UNGIVEN.format(addresses=", ".join(foreign)[:200]) if foreign else None
