"""What a sub-agent has in its head, from step to step and turn to turn, and telling it in short."""

import json
from collections.abc import Sequence

from router.domain.value import Value
from router.llm.types import (
    AssistantMessage,
    Author,
    ChatMessage,
    ChatRequest,
    FunctionCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from router.routing.prompts import Prompt, material
from router.skill.plan import Plan

MOST_NOTES = 40
LONGEST_NOTE = 1000
LONGEST_KEY = 80
LONGEST_NOTES = 6000
"""Characters of all notes together, which every step is sent."""
LONGEST_EARLIER = 2000
"""Characters of what tells in short what is gone."""
NEVER_CAME = "no result came: the employee said something else instead"
AGREED = "The employee agrees to this plan."
LEAST_RATIO, MOST_RATIO = 0.3, 3.0
"""Tokenizers differ by less: what a server counts beyond that is a mistake of its own."""


class Measure(Value):
    """How large a question was in tokens: by estimate, and as the server counted where it did.

    `fixed` is the estimate of all that stands in it whatever the memory has: rules, functions,
    history and request.
    """

    estimated: int
    fixed: int
    counted: int | None = None

    @property
    def ratio(self) -> float | None:
        """Tokens that the server counts for one that is estimated; None where it counted none."""
        if not self.counted or not self.estimated:
            return None
        return min(MOST_RATIO, max(LEAST_RATIO, self.counted / self.estimated))


class AgentMemory(Value):
    """The dialogue with the model, and what it keeps beside it.

    `awaited` are calls that the front end makes, by the ids that it knows them by; `aside` is told
    once their results are there. `notes` is its own, by key. `earlier` tells in short what stood
    in the dialogue before its present beginning. `waiting` is the call of the last message whose
    result isn't there yet: a question to the employee, or a form they were sent to. `ratio` is how
    many tokens the server counts for each that is estimated, and `fixed` the estimate of what every
    question has beside the memory: 0 before the first was measured. `most` are the tokens of a
    question that the server takes, where it has refused a longer one; 0 is not known. `plan` is
    there where it works by one. The employee was asked `question` last, `times_asked` in a row. It
    is `exposed` once a stranger's words were read, though they may be gone by now, and gone on with
    `again` once it had answered.
    """

    dialogue: tuple[ChatMessage, ...] = ()
    notes: dict[str, str] = {}
    earlier: str = ""
    waiting: FunctionCall | None = None
    awaited: dict[str, FunctionCall] = {}
    aside: str = ""
    ratio: float = 1.0
    fixed: int = 0
    most: int = 0
    plan: Plan | None = None
    question: str = ""
    times_asked: int = 0
    exposed: bool = False
    again: bool = False

    def saying(self, said: AssistantMessage, *results: ToolMessage) -> "AgentMemory":
        """With one more answer of the model, and what its calls came to in their order."""
        order = {call.id: place for place, call in enumerate(said.calls)}
        ordered = sorted(results, key=lambda result: order[result.call_id])
        done = {result.call_id for result in results} | {c.id for c in self.awaited.values()}
        waiting = next((call for call in said.calls if call.id not in done), None)
        dialogue = (*self.dialogue, said, *ordered)
        return self.replace(dialogue=dialogue, waiting=waiting)

    def hearing(
        self, text: str, *, author: Author = "person", again: bool = False
    ) -> "AgentMemory":
        """With something that somebody said: the result that is waited for, where one is.

        `again`: it had answered, and this may go on from the answer, or be none for it.
        """
        if self.awaited:
            given_up = [
                ToolMessage(call_id=call.id, name=call.name, text=NEVER_CAME)
                for call in self.awaited.values()
            ]
            return self.receiving(given_up).hearing(text, author=author, again=again)
        message: ChatMessage = UserMessage(text=text, author=author)
        if self.waiting is not None:
            message = ToolMessage(call_id=self.waiting.id, name=self.waiting.name, text=text)
        dialogue = (*self.dialogue, message)
        return self.replace(dialogue=dialogue, waiting=None, again=self.again or again)

    def awaiting(self, calls: dict[str, FunctionCall], aside: str = "") -> "AgentMemory":
        """Waiting for the front end to make these calls, which the next thing said makes."""
        return self.replace(awaited=calls, aside=aside)

    def receiving(self, results: Sequence[ToolMessage]) -> "AgentMemory":
        """With what all those calls came to."""
        told = [UserMessage(text=self.aside, author="router")] if self.aside else []
        dialogue = (*self.dialogue, *results, *told)
        return self.replace(dialogue=dialogue, awaited={}, aside="")

    def telling(self, text: str) -> "AgentMemory":
        """With what the employee was told at the end, where they aren't waited for anyway.

        It stands for what the model said last, where that was to be told them.
        """
        if not text or self.waiting is not None or self.awaited:
            return self
        *before, last = self.dialogue or (UserMessage(text=""),)
        is_draft = isinstance(last, AssistantMessage) and not last.calls
        kept = tuple(before) if is_draft else self.dialogue
        return self.replace(dialogue=(*kept, AssistantMessage(text=text)))

    def agreeing(self) -> "AgentMemory":
        """With the employee's consent to the plan that they were shown."""
        agreed = self.plan.agreeing() if self.plan else None
        return self.hearing(AGREED).replace(plan=agreed)

    def being_exposed(self, exposed: bool) -> "AgentMemory":
        """Exposed by now; what once was stays so."""
        return self.replace(exposed=self.exposed or exposed)

    def asking(self, question: str) -> "AgentMemory":
        """With one more question to the employee; the same one is counted."""
        times = self.times_asked + 1 if question == self.question else 1
        return self.replace(question=question, times_asked=times)

    def noting(self, notes: dict[str, str]) -> "AgentMemory":
        """With these notes; an empty one goes, and the oldest go where there are too many."""
        if not notes:
            return self
        kept = {k: v for k, v in self.notes.items() if k not in notes}
        new = {k[:LONGEST_KEY]: v[:LONGEST_NOTE] for k, v in notes.items() if v}
        every = [*kept.items(), *new.items()][-MOST_NOTES:]
        while sum(len(key) + len(value) for key, value in every) > LONGEST_NOTES:
            every = every[1:]
        return self.replace(notes=dict(every))

    def recalling(self, earlier: str) -> "AgentMemory":
        """With this for all that is gone from the dialogue by now."""
        return self.replace(earlier=earlier[:LONGEST_EARLIER])

    def measured(self, measure: Measure) -> "AgentMemory":
        """Wiser by one question.

        The first ratio is taken as it is, any other by half. The last step of a run has nothing
        to call and so less that is fixed: the larger stands.
        """
        seen = self.ratio if measure.ratio is None else measure.ratio
        ratio = (self.ratio + seen) / 2 if self.fixed else seen
        fixed = max(self.fixed, measure.fixed)
        return self.replace(ratio=ratio, fixed=fixed)


MOST_TOKENS = 1200
"""Of what a model tells: Chinese in the characters that are kept takes no more."""
_SAID, _CALLED, _FOUND = 240, 120, 120
"""Characters of each, where no model tells it."""


def request(prompt: Prompt, earlier: str, gone: Sequence[ChatMessage]) -> ChatRequest:
    """The question to a model: the note so far, and what is to be worked into it."""
    work = "\n".join(_line(message) for message in gone)
    told = f"<earlier>\n{material(earlier)}\n</earlier>\n<work>\n{material(work)}\n</work>"
    return ChatRequest(
        messages=(SystemMessage(text=prompt.text), UserMessage(text=told)),
        must_call=False,
        max_tokens=MOST_TOKENS,
        prompt=prompt.fingerprint,
    )


def plain(earlier: str, gone: Sequence[ChatMessage]) -> str:
    """The same without a model: which calls were made, and what was said, the latest at most.

    >>> plain("", [UserMessage(text="The employee says meanwhile: by train")])
    '- The employee says meanwhile: by train'
    """
    lines = [earlier] if earlier else []
    lines += [f"- {_line(message, shorter=True)}" for message in gone]
    whole = "\n".join(lines)
    return whole if len(whole) <= LONGEST_EARLIER else f"…{whole[1 - LONGEST_EARLIER :]}"


def _line(message: ChatMessage, *, shorter: bool = False) -> str:
    said, called, found = (_SAID, _CALLED, _FOUND) if shorter else (None, None, None)
    if isinstance(message, ToolMessage):
        return f"{message.name} gave: {message.text[:found]}"
    if not isinstance(message, AssistantMessage):
        return message.text[:said]
    calls = (
        f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)[:called]}"
        for call in message.calls
    )
    return "; ".join(filter(None, [message.text[:said], *(f"called {call}" for call in calls)]))
