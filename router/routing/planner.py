"""What a model is asked of a plan (to make one, to reflect on its results), and its answers.

Where there is no plan it may be asked to reflect on an answer, before that is given.

Both questions are functions like any other, so that a server which knows none is asked for
JSON. Nothing in an answer is believed: what doesn't fit goes back to the model, with why.
"""

import json
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from router.domain.messages import Usage
from router.domain.value import Value
from router.llm.types import (
    AssistantMessage,
    ChatAnswer,
    ChatRequest,
    Function,
    FunctionCall,
    ToolMessage,
    UserMessage,
)
from router.routing.offer import function
from router.routing.prompts import Prompt, material, shown
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import (
    ASK,
    HAND_BACK,
    LAST_STEP,
    PLAN,
    Means,
    SkillTask,
    handing_back,
    messages,
    rules,
)
from router.skill.plan import (
    MOST_STEPS,
    Accept,
    Ask,
    GoOn,
    Plan,
    PlanStep,
    PlanVerdict,
    Replan,
    RetryStep,
    problems,
)

ACCEPT, RETRY, REPLAN, GO_ON = "accept", "retry", "replan", "go_on"
NOT_ACCEPTED = f"Plain text is no end here: call `{ACCEPT}` with the answer, or go on."
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


def plan_request(prompt: Prompt, task: SkillTask, means: Means, memory: AgentMemory) -> ChatRequest:
    """The question for a plan; where there is one already, for what is left of it."""
    about = {name: tool.description.split("\n\n", 1)[0] for name, tool in means.tools.items()}
    tools = (f"- {name}: {' '.join(about[name].split())}" for name in sorted(about))
    told = "\n".join([rules(prompt, task.skill), "\nTools of the steps:", *tools])
    state = [UserMessage(text=_state(memory.plan))] if memory.plan else []
    return ChatRequest(
        messages=messages(told, task, memory, state),
        functions=(_PLAN, *handing_back(memory)),
        max_calls=1,
        prompt=prompt.fingerprint,
    )


def reflect_request(
    prompt: Prompt, task: SkillTask, memory: AgentMemory, *, last: bool = False
) -> ChatRequest:
    """The question what to do with the results; the `last` one is for an answer alone."""
    plan = memory.plan or Plan()
    state = UserMessage(text=f"{_state(plan)}\n{LAST_STEP}" if last else _state(plan))
    return ChatRequest(
        messages=messages(rules(prompt, task.skill), task, memory, [state]),
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


REVIEW = (
    "Before your answer is given: does it do what was asked, by these instructions? If not, what "
    "is missing?"
)
_REVIEWS = (
    Function(
        name=ACCEPT,
        description="The answer does; with a result where it has to read otherwise.",
        parameters={"type": "object", "properties": {"result": _TEXT}, "required": []},
    ),
    function(GO_ON, "The answer isn't given yet: go on, for what is missing.", missing=_WHY),
)


def review_request(prompt: Prompt, task: SkillTask, memory: AgentMemory) -> ChatRequest:
    """The question whether the answer that the dialogue ends with does what was asked."""
    return ChatRequest(
        messages=messages(rules(prompt, task.skill), task, memory, [UserMessage(text=REVIEW)]),
        functions=_REVIEWS,
        max_calls=1,
        spoken=SPOKEN,
        prompt=prompt.fingerprint,
    )


def complained(memory: AgentMemory, said: AssistantMessage, complaint: str) -> AgentMemory:
    """With an answer that was of no use and why; for the next try alone."""
    if not said.calls:
        spoken = memory.saying(said) if said.text else memory
        return spoken.hearing(complaint, author="router")
    results = (ToolMessage(call_id=c.id, name=c.name, text=complaint) for c in said.calls)
    return memory.saying(said, *results)


MOST_PROBLEMS = 5
"""Of one answer, that the model is told."""


class Planned(Value):
    """What the answer for a plan comes to: `steps`, or a `complaint` about what it `said`.

    `text` ends the run with those words; one that `hands_back` gives the message to the desk.
    `spent` says to the employee that no budget paid for an answer; nothing was asked where a plan
    is `unaffordable`.
    """

    steps: tuple[PlanStep, ...] = ()
    said: AssistantMessage = AssistantMessage()
    complaint: str | None = None
    text: str | None = None
    hands_back: bool = False
    unaffordable: bool = False
    spent: str = ""
    usage: Usage = Usage()


class Reflected(Value):
    """What the answer to a reflection comes to: a verdict, or a `complaint` about what it `said`.

    An answer may be said `plainly`, without a function. `text` ends the run with those words.
    `spent` says to the employee that no budget paid for an answer; `last` that none pays for more
    work.
    """

    verdict: PlanVerdict | None = None
    plainly: bool = False
    said: AssistantMessage = AssistantMessage()
    complaint: str | None = None
    text: str | None = None
    spent: str = ""
    last: bool = False
    usage: Usage = Usage()


def read_plan(answer: ChatAnswer, plan: Plan | None) -> Planned:
    """What the answer comes to, where it goes on from `plan`. Nothing in it is believed."""
    call = next((one for one in answer.calls if one.name in {PLAN, HAND_BACK}), None)
    if call is None:
        wrong = [*map(str, answer.problems), f"call {PLAN} with the steps"]
        return Planned(said=answer.said, complaint=_complaint(wrong))
    said = answer.calling(call)
    if call.name == HAND_BACK:
        return Planned(said=said, hands_back=True)
    steps = _steps(call.arguments.get("steps"))
    if isinstance(steps, str):
        return Planned(said=said, complaint=_complaint([steps]))
    wrong = problems((plan or Plan()).revised(steps).steps)
    if wrong:
        return Planned(said=said, complaint=_complaint(wrong))
    return Planned(steps=tuple(steps), said=said)


def read_verdict(answer: ChatAnswer, plan: Plan, *, last: bool = False) -> Reflected:
    """What the answer comes to; plain text is an answer that is accepted."""
    call = next(iter(answer.calls), None)
    if call is None:
        said = shown(answer.text) or shown(answer.refusal or "")
        if said:
            plainly = answer.refusal is None
            return Reflected(verdict=Accept(result=said), plainly=plainly, said=answer.said)
        wrong = [*map(str, answer.problems), "it called nothing and said nothing"]
        return Reflected(said=answer.said, complaint=_complaint(wrong))
    verdict, called = _verdict(call, plan, last=last), answer.calling(call)
    if isinstance(verdict, str):
        return Reflected(said=called, complaint=_complaint([verdict]))
    return Reflected(verdict=verdict, said=called)


def read_review(answer: ChatAnswer, draft: str) -> Reflected:
    """What the answer comes to; one that is no verdict leaves the draft as it is."""
    call = next(iter(answer.calls), None)
    argument = {ACCEPT: "result", GO_ON: "missing"}.get(call.name) if call else None
    given = call.arguments.get(argument) if call and argument else None
    said = shown(given) if isinstance(given, str) else ""
    if argument == "missing" and said:
        return Reflected(verdict=GoOn(missing=said))
    return Reflected(verdict=Accept(result=said if argument == "result" and said else draft))


def _verdict(call: FunctionCall, plan: Plan, *, last: bool) -> PlanVerdict | str:
    """The verdict, or why it is none."""
    given = {key: shown(one) for key, one in call.arguments.items() if isinstance(one, str)}
    if call.name == ACCEPT:
        return Accept(result=given["result"]) if given.get("result") else "result has to be text"
    if call.name == ASK:
        return Ask(text=given["text"]) if given.get("text") else "text has to be text"
    if last or call.name not in {RETRY, REPLAN}:
        return f"there is no {call.name[:60]!r} here; accept or ask"
    return _more_work(call.name, given, plan)


def _more_work(name: str, given: Mapping[str, str], plan: Plan) -> PlanVerdict | str:
    """What is to be done again, or why it can't be."""
    if name == REPLAN:
        if plan.may_be_replanned:
            return Replan(why=given.get("why") or "the results don't do")
        return f"it was replanned {plan.replans} times, and that is all; accept or ask"
    step, again = given.get("step", ""), plan.may_be_retried
    if step in again:
        return RetryStep(step=step, why=given.get("why") or "the result doesn't do")
    there = ", ".join(again) or "none any more"
    return f"step {step[:40]!r} can't be tried again; of those that can there are: {there}"


def _steps(given: JsonValue) -> list[PlanStep] | str:
    """The steps in the answer, or why they can't be read."""
    if not isinstance(given, list):
        return "steps has to be a list of {id, task, depends_on}"
    steps = []
    for place, one in enumerate(given):
        if not isinstance(one, dict):
            return f"steps[{place}] has to be an object {{id, task, depends_on}}"
        step = _step(one)
        if step is None:
            return f"steps[{place}]: id and task have to be text, depends_on a list of ids"
        steps.append(step)
    return steps


def _step(given: Mapping[str, JsonValue]) -> PlanStep | None:
    """The step; ids that are numbers stand for themselves."""
    id_, task = _id(given.get("id")), given.get("task") or ""
    on = given.get("depends_on") or []
    if id_ is None or not isinstance(task, str) or not isinstance(on, list):
        return None
    known = tuple(other for each in on if (other := _id(each)) is not None)
    return PlanStep(id=id_, task=shown(task), depends_on=known) if len(known) == len(on) else None


def _id(given: JsonValue) -> str | None:
    if isinstance(given, bool) or not isinstance(given, str | int):
        return None
    return str(given).strip()


def _complaint(wrong: list[str]) -> str:
    return f"error: {'; '.join(wrong[:MOST_PROBLEMS])}"
