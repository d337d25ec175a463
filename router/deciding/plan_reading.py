"""What a model's answers about a plan come to: steps, or a verdict on their results.

Nothing in an answer is believed: what doesn't fit goes back to the model, with why.
"""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, JsonValue

from router.deciding.planning import ACCEPT, PLAN, REPLAN, RETRY
from router.deciding.said import shown
from router.deciding.thinking import ASK, HAND_BACK
from router.domain.messages import Usage
from router.llm.chat import AssistantMessage, ChatAnswer, FunctionCall
from router.skill.plan import Accept, Ask, Plan, Replan, Retry, Step, Verdict
from router.skill.plan_problems import problems

MOST_PROBLEMS = 5
"""Of one answer, that the model is told."""


class Planned(BaseModel):
    """What the answer to a plan's question comes to.

    Either `steps`, or a `complaint` for the model about what it `said`. `text` ends the run
    with those words; one that `hands_back` gives the message to the desk. `spent` says to the
    employee that no budget paid for an answer.
    """

    model_config = ConfigDict(frozen=True)

    steps: tuple[Step, ...] = ()
    said: AssistantMessage = AssistantMessage()
    complaint: str | None = None
    text: str | None = None
    hands_back: bool = False
    spent: str = ""
    usage: Usage = Usage()


class Reflected(BaseModel):
    """What the answer to a reflection comes to: a verdict, or a `complaint` about what it `said`.

    `text` ends the run with those words. `spent` says to the employee that no budget paid for an
    answer.
    """

    model_config = ConfigDict(frozen=True)

    verdict: Verdict | None = None
    said: AssistantMessage = AssistantMessage()
    complaint: str | None = None
    text: str | None = None
    spent: str = ""
    usage: Usage = Usage()


def read_plan(answer: ChatAnswer, plan: Plan | None) -> Planned:
    """What the answer comes to, where it goes on from `plan`. Nothing in it is believed."""
    call = next((one for one in answer.calls if one.name in {PLAN, HAND_BACK}), None)
    if call is None:
        wrong = [*answer.problems, f"call {PLAN} with the steps"]
        return Planned(said=_whole(answer), complaint=_complaint(wrong))
    said = AssistantMessage(calls=(call,))
    if call.name == HAND_BACK:
        return Planned(said=said, hands_back=True)
    steps = _steps(call.arguments.get("steps"))
    if isinstance(steps, str):
        return Planned(said=said, complaint=_complaint([steps]))
    wrong = problems((plan or Plan()).revised(steps).steps)
    if wrong:
        return Planned(said=said, complaint=_complaint(wrong))
    return Planned(steps=tuple(steps))


def read_verdict(answer: ChatAnswer, plan: Plan, *, last: bool = False) -> Reflected:
    """What the answer comes to; plain text is an answer that is accepted."""
    call = next(iter(answer.calls), None)
    if call is None:
        said = shown(answer.text) or shown(answer.refusal or "")
        if said:
            return Reflected(verdict=Accept(result=said))
        wrong = [*answer.problems, "it called nothing and said nothing"]
        return Reflected(said=_whole(answer), complaint=_complaint(wrong))
    verdict = _verdict(call, plan, last=last)
    said_too = AssistantMessage(calls=(call,))
    if isinstance(verdict, str):
        return Reflected(said=said_too, complaint=_complaint([verdict]))
    return Reflected(verdict=verdict, said=said_too)


def _verdict(call: FunctionCall, plan: Plan, *, last: bool) -> Verdict | str:
    """The verdict, or why it is none."""
    given = {key: shown(one) for key, one in call.arguments.items() if isinstance(one, str)}
    if call.name == ACCEPT:
        return Accept(result=given["result"]) if given.get("result") else "result has to be text"
    if call.name == ASK:
        return Ask(text=given["text"]) if given.get("text") else "text has to be text"
    if last or call.name not in {RETRY, REPLAN}:
        return f"there is no {call.name[:60]!r} here; accept or ask"
    return _more_work(call.name, given, plan)


def _more_work(name: str, given: Mapping[str, str], plan: Plan) -> Verdict | str:
    """What is to be done again, or why it can't be."""
    if name == REPLAN:
        if plan.may_be_replanned:
            return Replan(why=given.get("why") or "the results don't do")
        return f"it was replanned {plan.replans} times, and that is all; accept or ask"
    step, again = given.get("step", ""), plan.may_be_retried
    if step in again:
        return Retry(step=step, why=given.get("why") or "the result doesn't do")
    there = ", ".join(again) or "none any more"
    return f"step {step[:40]!r} can't be tried again; of those that can there are: {there}"


def _steps(given: JsonValue) -> list[Step] | str:
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


def _step(given: Mapping[str, JsonValue]) -> Step | None:
    """The step; ids that are numbers stand for themselves."""
    id_, task = _id(given.get("id")), given.get("task") or ""
    on = given.get("depends_on") or []
    if id_ is None or not isinstance(task, str) or not isinstance(on, list):
        return None
    others = [_id(other) for other in on]
    known = tuple(other for other in others if other is not None)
    return Step(id=id_, task=shown(task), depends_on=known) if len(known) == len(others) else None


def _id(given: JsonValue) -> str | None:
    if isinstance(given, bool) or not isinstance(given, str | int):
        return None
    return str(given).strip()


def _whole(answer: ChatAnswer) -> AssistantMessage:
    return AssistantMessage(text=answer.text, calls=answer.calls)


def _complaint(wrong: list[str]) -> str:
    return f"error: {'; '.join(wrong[:MOST_PROBLEMS])}"
