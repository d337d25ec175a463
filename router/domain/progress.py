"""What happens in a turn while it runs: told to whoever watches.

What of it is kept, so that it can be read again later, is in `router.domain.happenings`.
"""

from typing import Literal, Self

from pydantic import JsonValue, model_validator

from router.domain.messages import Value

ProgressType = Literal["text_delta", "tool_started", "tool_finished", "thinking", "recorded"]
ToolStatus = Literal["done", "failed", "skipped", "unknown"]


class Progress(Value):
    """One thing that happened in a conversation.

    | type            | data                                                |
    | --------------- | --------------------------------------------------- |
    | `text_delta`    | `{text, attempt}`                                   |
    | `tool_started`  | `{id, name, progress?}`                             |
    | `tool_finished` | `{id, name, status, milliseconds}`                  |
    | `thinking`      | `{status, task, skill, step, attempt}`, at its end  |
    |                 | `{…, milliseconds, prompt_tokens, completion_tokens, model}` |
    | `recorded`      | `{}`: the event log has more of the conversation,   |
    |                 | or for the `person`                                 |

    A text is its deltas put together. An `attempt` above the one before begins it anew; one
    below is a straggler's, of a text that was begun anew meanwhile. `message_id` is empty
    where it happened without a message, as when a flow goes on after an approval. A tool that
    says how far it is has started once more, with its words as `progress`. `person` is set, and
    `conversation` empty, where it is of nobody's conversation but for somebody.
    """

    tenant: str
    conversation: str
    message_id: str
    person: str = ""
    type: ProgressType
    data: dict[str, JsonValue]

    @model_validator(mode="after")
    def _readable(self) -> Self:
        """Refuse a text that nobody could put together."""
        if self.type == "text_delta":
            text, attempt = self.data.get("text"), self.data.get("attempt")
            if not isinstance(text, str) or not isinstance(attempt, int):
                raise ValueError(f"a text_delta has a text and an attempt, not {list(self.data)}")
        return self
