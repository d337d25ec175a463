"""One step of a skill's sub-agent: what the model is asked, and what its answer comes to."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from router.deciding import arguments
from router.deciding.prompt import material
from router.deciding.prompts import Prompt
from router.deciding.said import shown
from router.domain.messages import Line, Usage
from router.llm.chat import (
    AssistantMessage,
    ChatAnswer,
    ChatRequest,
    Function,
    FunctionCall,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from router.skill.skill import Skill
from router.tool.tool import Tool

ASK_USER, DONE = "ask_user", "done"
ENDINGS = {ASK_USER: "text", DONE: "result"}
"""The functions that end a run, and the argument of each that is said to the employee."""
MOST_CALLS = 6
"""Calls of one answer."""

_TEXT = {"type": "string", "maxLength": 4000}


class Task(BaseModel):
    """What a skill was chosen for: the same through all of its steps."""

    model_config = ConfigDict(frozen=True)

    skill: Skill
    request: str
    history: list[Line] = []
    now: datetime


class Thought(BaseModel):
    """What one answer of the model comes to.

    `said` goes into the dialogue, with `refused` as the answers to those of its calls that
    can't be made; `calls` are those that can. Where `text` is set the sub-agent has ended: with
    its answer, or with a question where `asks`. `complaint` is for the model, where its answer
    was of no use at all.
    """

    model_config = ConfigDict(frozen=True)

    said: AssistantMessage = AssistantMessage()
    calls: tuple[FunctionCall, ...] = ()
    refused: tuple[ToolMessage, ...] = ()
    text: str | None = None
    asks: bool = False
    complaint: str | None = None
    usage: Usage = Usage()


def request(
    prompt: Prompt, task: Task, tools: Mapping[str, Tool], dialogue: Sequence[Message]
) -> ChatRequest:
    """The question of one step; what never changes within a run comes first."""
    before = "\n".join(f"{line.role}: {line.text}" for line in task.history)
    first = (
        f"Now: {task.now:%A %Y-%m-%d %H:%M}.\n<history>\n{material(before)}\n</history>\n"
        f"<request>\n{material(task.request)}\n</request>"
    )
    return ChatRequest(
        messages=(
            SystemMessage(text=f"{prompt.text}\n{task.skill.instructions}"),
            UserMessage(text=first),
            *dialogue,
        ),
        functions=_functions(tools),
        must_call=False,
        max_calls=MOST_CALLS,
        spoken=ENDINGS,
        prompt=prompt.fingerprint,
    )


def _functions(tools: Mapping[str, Tool]) -> tuple[Function, ...]:
    offered = (tools[name] for name in sorted(tools))
    return (
        *(
            Function(name=t.name, description=t.description, parameters=dict(t.parameters))
            for t in offered
        ),
        _ending(ASK_USER, "Ask the employee one question that only they can answer."),
        _ending(DONE, "End, with the answer for the employee."),
    )


def _ending(name: str, description: str) -> Function:
    argument = ENDINGS[name]
    schema = {"type": "object", "properties": {argument: _TEXT}, "required": [argument]}
    return Function(name=name, description=description, parameters=schema)


def read(answer: ChatAnswer, tools: Mapping[str, Tool]) -> Thought:
    """What the answer comes to. Its calls are untrusted: none is made that doesn't fit."""
    ended = _ending_of(answer)
    if ended is not None:
        return ended
    if not answer.calls:
        what = "; ".join(answer.problems) or "it called nothing and said nothing"
        return Thought(complaint=f"That couldn't be used: {what}. Go on.")
    problems = {call.id: _problem(call, tools) for call in answer.calls}
    return Thought(
        said=AssistantMessage(text=answer.text, calls=answer.calls),
        calls=tuple(_tidied(call, tools) for call in answer.calls if problems[call.id] is None),
        refused=tuple(
            ToolMessage(call_id=call.id, name=call.name, text=f"error: {problem}")
            for call in answer.calls
            if (problem := problems[call.id]) is not None
        ),
    )


def _ending_of(answer: ChatAnswer) -> Thought | None:
    """Where the answer ends the run. Calls beside the ending aren't made: it has its result."""
    for call in answer.calls:
        argument = ENDINGS.get(call.name)
        said = call.arguments.get(argument) if argument else None
        if isinstance(said, str) and shown(said):
            return Thought(text=shown(said), asks=call.name == ASK_USER)
    said = shown(answer.text) or shown(answer.refusal or "")
    return Thought(text=said) if said and not answer.calls else None


def _tidied(call: FunctionCall, tools: Mapping[str, Tool]) -> FunctionCall:
    given = arguments.known(tools[call.name], call.arguments)
    return call.model_copy(update={"arguments": given})


def _problem(call: FunctionCall, tools: Mapping[str, Tool]) -> str | None:
    """Why the call can't be made."""
    if call.name in ENDINGS:
        return f"{ENDINGS[call.name]} has to be text"
    tool = tools.get(call.name)
    if tool is None:
        return f"there is no tool {call.name[:60]!r}; there are: {', '.join(sorted(tools))}"
    return arguments.problem(tool, arguments.known(tool, call.arguments))
