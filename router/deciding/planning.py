"""What a model is asked of a plan: to make one, and to reflect on what its steps came to.

Both questions are functions like any other, so that a server which knows none is asked for JSON.
"""

import json
from collections.abc import Iterator

from router.deciding.memory import Memory
from router.deciding.offer import function
from router.deciding.prompt import material
from router.deciding.prompts import Prompt
from router.deciding.thinking import (
    ASK,
    LAST_STEP,
    Means,
    Task,
    handing_back,
    opening,
    recalled,
    rules,
)
from router.llm.chat import (
    AssistantMessage,
    ChatRequest,
    Function,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from router.skill.plan import Plan
from router.skill.plan_problems import MOST_STEPS

PLAN, ACCEPT, RETRY, REPLAN = "plan", "accept", "retry", "replan"
SPOKEN = {ACCEPT: "result", ASK: "text"}
"""What of a reflection is said to the employee."""

_TEXT = {"type": "string", "maxLength": 4000}
_WHY = {"type": "string", "maxLength": 400}
_STEP = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "short, such as a or find_train"},
        "task": {"type": "string", "description": "what to find out, in a sentence of its own"},
        "depends_on": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["id", "task", "depends_on"],
}
_STEPS = {"type": "array", "items": _STEP, "minItems": 1, "maxItems": MOST_STEPS}
_PLAN = function(PLAN, "The steps of the work; those that don't wait run at once.", steps=_STEPS)


def plan_request(prompt: Prompt, task: Task, means: Means, memory: Memory) -> ChatRequest:
    """The question for a plan; where there is one already, for what is left of it."""
    return ChatRequest(
        messages=(
            SystemMessage(text=f"{rules(prompt, task.skill)}\n\n{_tools(means)}"),
            UserMessage(text=opening(task)),
            *recalled(memory),
            *memory.dialogue,
            *([UserMessage(text=_state(memory.plan))] if memory.plan else []),
        ),
        functions=(_PLAN, *handing_back(memory)),
        max_calls=1,
        prompt=prompt.fingerprint,
    )


def reflect_request(
    prompt: Prompt, task: Task, memory: Memory, *, last: bool = False
) -> ChatRequest:
    """The question what to do with the results; the `last` one is for an answer alone."""
    plan = memory.plan or Plan()
    state = f"{_state(plan)}\n{LAST_STEP}" if last else _state(plan)
    return ChatRequest(
        messages=(
            SystemMessage(text=rules(prompt, task.skill)),
            UserMessage(text=opening(task)),
            *recalled(memory),
            *memory.dialogue,
            UserMessage(text=state),
        ),
        functions=tuple(_verdicts(plan, last=last)),
        must_call=False,
        max_calls=1,
        spoken=SPOKEN,
        prompt=prompt.fingerprint,
    )


def _verdicts(plan: Plan, *, last: bool) -> Iterator[Function]:
    """What may be answered: nothing that was done as often as it may be."""
    yield function(ACCEPT, "The results do: end, with the answer for the employee.", result=_TEXT)
    yield function(ASK, "Ask the employee one question that only they can answer.", text=_TEXT)
    if last:
        return
    if again := plan.may_be_retried:
        step = {"type": "string", "enum": again}
        yield function(RETRY, "Have one step done again, better.", step=step, why=_WHY)
    if plan.may_be_replanned:
        yield function(REPLAN, "Plan what is left anew; results that serve are kept.", why=_WHY)


def _tools(means: Means) -> str:
    """What steps can call, each by the first paragraph of what it does."""
    about = {name: tool.description.split("\n\n", 1)[0] for name, tool in means.tools.items()}
    lines = (f"- {name}: {' '.join(about[name].split())}" for name in sorted(about))
    return "\n".join(["Tools of the steps:", *lines])


def _state(plan: Plan) -> str:
    """The plan and its results as the model is told them: somebody's words, all of it."""
    rows = []
    for step in plan.steps:
        result = plan.results.get(step.id)
        row = {**step.model_dump(mode="json"), "status": result.fate if result else "not begun"}
        rows.append({**row, "result": result.text} if result and result.text else row)
    listed = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    why = f"\nTo be planned anew: {material(plan.revising)}" if plan.revising else ""
    return f"<plan>\n{material(listed)}\n</plan>{why}"


def complained(memory: Memory, said: AssistantMessage, complaint: str) -> Memory:
    """With an answer that was of no use and why; for the next try alone."""
    if not said.calls:
        spoken = memory.saying(said) if said.text else memory
        return spoken.hearing(complaint)
    results = (ToolMessage(call_id=c.id, name=c.name, text=complaint) for c in said.calls)
    return memory.saying(said, *results)
