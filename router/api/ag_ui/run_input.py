"""What a run's input says that is new: the history in it is the conversation's own already."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from ag_ui.core import (
    AssistantMessage,
    Message,
    PartSource,
    ReasoningMessage,
    ResumeEntry,
    RunAgentInput,
    TextPart,
    ToolMessage,
    UserMessage,
)
from pydantic import Field, TypeAdapter, ValidationError

from router.api.identifiers import derived_id
from router.api.plain import Key

MAX_NAME = 256
"""Characters of the names that a front end gives threads and runs."""

Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]

_KEY: TypeAdapter[str] = TypeAdapter(Key)


class RunInput(RunAgentInput):
    """The protocol's `RunAgentInput`, with names that aren't without end."""

    thread_id: Name
    run_id: Name

    @property
    def message_id(self) -> str:
        """The id of the run's message: the run's own, where a message can be called that."""
        try:
            return _KEY.validate_python(self.run_id)
        except ValidationError:
            return derived_id("ag-ui run", self.run_id)

    @property
    def wants_approvals(self) -> bool:
        """False where the front end has another place for what waits for its user's decision."""
        props = self.forwarded_props
        return not (isinstance(props, dict) and props.get("approvals") is False)


@dataclass(frozen=True)
class Heard:
    """What is new in an input: said, handed over, found out, or answered."""

    text: str = ""
    files: tuple[PartSource, ...] = ()
    results: tuple[ToolMessage, ...] = ()
    answers: tuple[ResumeEntry, ...] = ()


def heard_in(run: RunAgentInput) -> Heard:
    """What came after the agent's last word: the last thing the person said, and results.

    Who says two things before an answer comes has said the first one in a run before.

    >>> hello = UserMessage(id="1", content="hello")
    >>> heard_in(RunAgentInput(thread_id="t", run_id="r", messages=[hello])).text
    'hello'
    >>> heard_in(RunAgentInput(thread_id="t", run_id="r", messages=[])).text
    ''
    """
    fresh = list(_fresh(run.messages))[::-1]
    said = next((m for m in reversed(fresh) if isinstance(m, UserMessage)), None)
    return Heard(
        text=_text_of(said) if said else "",
        files=tuple(_files_of(said)) if said else (),
        results=tuple(m for m in fresh if isinstance(m, ToolMessage)),
        answers=tuple(run.resume or ()),
    )


def _fresh(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages after the agent's last one, the newest first."""
    for message in reversed(messages):
        if isinstance(message, AssistantMessage | ReasoningMessage):
            return
        yield message


def _text_of(message: UserMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(part.text for part in message.content if isinstance(part, TextPart))


def _files_of(message: UserMessage) -> Iterator[PartSource]:
    if not isinstance(message.content, str):
        for part in message.content:
            if not isinstance(part, TextPart):
                yield part.source
