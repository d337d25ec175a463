"""What a message turned out to ask for. Rules and models both answer with these."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from router.domain.locale import Localised
from router.domain.messages import Option, ValueObject


class StartFlow(ValueObject):
    """Begin a flow, with the slots that the message already named."""

    type: Literal["start_flow"] = "start_flow"
    flow: str
    slots: dict[str, JsonValue] = {}


class FillSlots(ValueObject):
    """Answer what the active flow asked (`question`, if known), or correct what it knows.

    Keys are slot names; a field of an item is `items.0.amount`.
    """

    type: Literal["fill_slots"] = "fill_slots"
    slots: dict[str, JsonValue]
    question: str | None = None


class Confirm(ValueObject):
    """Answer the active flow's confirmation, with what should be other where it is no."""

    type: Literal["confirm"] = "confirm"
    value: bool
    slots: dict[str, JsonValue] = {}
    question: str | None = None


class CancelFlow(ValueObject):
    """Give up the active flow."""

    type: Literal["cancel_flow"] = "cancel_flow"


class Skip(ValueObject):
    """Leave empty what the active flow asks."""

    type: Literal["skip"] = "skip"


class Explain(ValueObject):
    """Say what can be said to what the active flow asks, and ask it again."""

    type: Literal["explain"] = "explain"


class Repeat(ValueObject):
    """Ask again what the active flow asks; where none does, say the last reply again."""

    type: Literal["repeat"] = "repeat"


class StartOver(ValueObject):
    """Forget everything that the active flow was told, and begin it anew."""

    type: Literal["start_over"] = "start_over"


class Withdraw(ValueObject):
    """Take back the run that is at work, or the one handed in last that waits for approval."""

    type: Literal["withdraw"] = "withdraw"


class Amend(ValueObject):
    """Change what was handed in and waits for approval; keys are as in `FillSlots`."""

    type: Literal["amend"] = "amend"
    run: str
    flow: str
    slots: dict[str, JsonValue]


class Resume(ValueObject):
    """Go on with a paused flow, or with what one was told that is put away."""

    type: Literal["resume"] = "resume"
    run: str


class KeepPaused(ValueObject):
    """Go on with none of the paused flows, for now."""

    type: Literal["keep_paused"] = "keep_paused"


class Misunderstood(ValueObject):
    """The active flow asked and this doesn't answer it; it asks again, with a hint."""

    type: Literal["misunderstood"] = "misunderstood"


class Clarify(ValueObject):
    """Ask which of several things is meant; an option's value is a flow's name.

    `about` are the words that it is asked about, where that isn't the whole message.
    """

    type: Literal["clarify"] = "clarify"
    text: str
    options: list[Option]
    about: str = ""


class CallTool(ValueObject):
    """Call a tool that only reads, for the caller, and say what it found."""

    type: Literal["call_tool"] = "call_tool"
    id: str
    tool: str
    arguments: dict[str, JsonValue] = {}


class RunSkill(ValueObject):
    """Have a skill's sub-agent begin or go on with a request, in words that need no context.

    Where they have `agreed` to the plan that it showed, there are no words to it. `about` are the
    person's own for it, where they wish for something else in the same message.
    """

    type: Literal["run_skill"] = "run_skill"
    skill: str
    request: str
    agreed: bool = False
    about: str = ""
    addressed_by: Literal["name", "answer"] | None = None
    """How the person addressed the skill: by its name, or by answering its question; `None` if it
    was chosen for them."""


class LeaveSkill(ValueObject):
    """Give up what a skill's sub-agent was asked for."""

    type: Literal["leave_skill"] = "leave_skill"


MemorySign = Literal["remember", "forget"]
"""What words of a message ask to have done with what is remembered."""


class Remember(ValueObject):
    """Keep what the person asked to have remembered, in their own words."""

    type: Literal["remember"] = "remember"
    text: str


class Forget(ValueObject):
    """Forget the one of this `id`; else what these words are about; `all`: everything, if `sure`.

    Without being sure it is asked first.
    """

    type: Literal["forget"] = "forget"
    text: str = ""
    id: str = ""
    all: bool = False
    sure: bool = False


class ListMemories(ValueObject):
    """Say what the person asked to have remembered."""

    type: Literal["list_memories"] = "list_memories"


MemoryCommand = Remember | Forget | ListMemories
"""What is about what the person asked to have remembered."""


class HandOff(ValueObject):
    """Hand the conversation to a person, for the reason given, or say whom to ask.

    `asked`: the message asks for a person; else the desk gives up on it. `why` is the reason for
    those who speak another language, where it is the desk's and no model's.
    """

    type: Literal["hand_off"] = "hand_off"
    reason: str
    why: Localised | None = None
    asked: bool = False


class PassOn(ValueObject):
    """Have whoever the conversation was handed to hear it; nobody else does."""

    type: Literal["pass_on"] = "pass_on"


class LeavePerson(ValueObject):
    """Take the conversation back from whoever it was handed to."""

    type: Literal["leave_person"] = "leave_person"


class ReplyText(ValueObject):
    """Say something; nothing is done."""

    type: Literal["reply"] = "reply"
    text: str


Command = Annotated[
    StartFlow
    | FillSlots
    | Confirm
    | CancelFlow
    | Skip
    | Explain
    | Repeat
    | StartOver
    | Withdraw
    | Amend
    | Resume
    | KeepPaused
    | Misunderstood
    | Clarify
    | CallTool
    | RunSkill
    | LeaveSkill
    | Remember
    | Forget
    | ListMemories
    | HandOff
    | PassOn
    | LeavePerson
    | ReplyText,
    Field(discriminator="type"),
]


def in_order(given: Iterable[Command]) -> list[Command]:
    """The commands of one message: what is only said, or asked by the desk, before flows are told.

    So a flow's question stands last, and is the one that is open.
    """
    said = (Clarify, HandOff, ReplyText, Remember, Forget, ListMemories)
    return sorted(given, key=lambda command: not isinstance(command, said))
