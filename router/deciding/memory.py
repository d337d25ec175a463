"""What a sub-agent has in its head: carried from step to step, run to run, and turn to turn."""

from pydantic import BaseModel, ConfigDict

from router.llm.chat import AssistantMessage, FunctionCall, Message, ToolMessage, UserMessage
from router.skill.plan import Plan

MOST_NOTES = 40
LONGEST_NOTE = 1000
LONGEST_KEY = 80


class Memory(BaseModel):
    """The dialogue with the model, and what it keeps beside it.

    `notes` is its own, by key. `earlier` tells in short what stood in the dialogue before its
    present beginning. `waiting` is the call of the last message whose result isn't there yet:
    a question to the employee, or a form they were sent to. `ratio` is how many tokens the
    server counts for each that is estimated. `plan` is there where it works by one.
    """

    model_config = ConfigDict(frozen=True)

    dialogue: tuple[Message, ...] = ()
    notes: dict[str, str] = {}
    earlier: str = ""
    waiting: FunctionCall | None = None
    ratio: float = 1.0
    plan: Plan | None = None

    def saying(self, said: AssistantMessage, *results: ToolMessage) -> "Memory":
        """With one more answer of the model, and what its calls came to in their order."""
        order = {call.id: place for place, call in enumerate(said.calls)}
        ordered = sorted(results, key=lambda result: order[result.call_id])
        done = {result.call_id for result in results}
        waiting = next((call for call in said.calls if call.id not in done), None)
        return self.model_copy(
            update={"dialogue": (*self.dialogue, said, *ordered), "waiting": waiting}
        )

    def hearing(self, text: str) -> "Memory":
        """With something that somebody said: the result that is waited for, where one is."""
        message: Message = UserMessage(text=text)
        if self.waiting is not None:
            message = ToolMessage(call_id=self.waiting.id, name=self.waiting.name, text=text)
        return self.model_copy(update={"dialogue": (*self.dialogue, message), "waiting": None})

    def noting(self, notes: dict[str, str]) -> "Memory":
        """With these notes; an empty one goes, and the oldest go where there are too many."""
        if not notes:
            return self
        kept = {k: v for k, v in self.notes.items() if k not in notes}
        new = {k[:LONGEST_KEY]: v[:LONGEST_NOTE] for k, v in notes.items() if v}
        return self.model_copy(update={"notes": dict([*kept.items(), *new.items()][-MOST_NOTES:])})
