"""What comes of a message, as far as it has come."""

from dataclasses import dataclass, field

from router.contracts.conversation import ConversationState, News
from router.domain.messages import FlowSummary, Reply, Route, ToolCallView, Usage


@dataclass
class Outcome:
    """What came of a message's commands.

    `void`: the flow they were for has ended already. `stopped`: not all of them were carried out.
    """

    state: ConversationState
    """The conversation's, after them."""
    replies: list[Reply] = field(default_factory=list)
    flow: FlowSummary | None = None
    tool_calls: list[ToolCallView] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    routes: list[Route] = field(default_factory=list)
    """What came of it besides what was decided."""
    heard: list[News] = field(default_factory=list)
    """The news that are part of this turn, and needn't be told again."""
    void: bool = False
    stopped: bool = False

    def change(self, **fields: object) -> None:
        """Have these fields of the conversation's state be others."""
        self.state = self.state.model_copy(update=fields)
