"""What tools were called for a message in rounds, and what they came to; some of it yet to come."""

from collections.abc import Sequence

from pydantic import JsonValue

from router.contracts.flow import CallLimits
from router.contracts.payload import Payload
from router.domain.commands import CallTool
from router.domain.messages import Message, Usage
from router.llm.types import NO_REASONING, KeptReasoning


class ToolFinding(Payload):
    """What a tool came to, after how many `attempts`.

    It `asks_back` where it first wants to know more from the person, and is `mendable` where
    the arguments were at fault: whoever chose them may choose others. It is `awaited` where the
    front end makes the call, and hasn't said yet what came of it.
    """

    tool: str
    result: JsonValue = None
    error: str | None = None
    attempts: int = 1
    asks_back: bool = False
    mendable: bool = False
    awaited: bool = False
    usage: Usage = Usage()


class ToolRound(Payload):
    """Calls that a model asked for at once, and what each came to, in their order."""

    calls: list[CallTool]
    findings: list[ToolFinding]
    reasoning: KeptReasoning = NO_REASONING
    """What the model thought before them."""

    @property
    def awaited(self) -> list[CallTool]:
        """Those of the calls that the front end is yet to answer."""
        both = zip(self.calls, self.findings, strict=True)
        return [call for call, finding in both if finding.awaited]

    def hearing(self, call: str, finding: ToolFinding) -> "ToolRound":
        """With what the call of this id came to."""
        both = zip(self.calls, self.findings, strict=True)
        return self.replace(findings=[finding if c.id == call else f for c, f in both])


def settled(rounds: Sequence[ToolRound]) -> list[ToolFinding]:
    """What the calls of all rounds came to, less those that were mended and made anew."""
    found = []
    for place, made in enumerate(rounds):
        again = {call.tool for later in rounds[place + 1 :] for call in later.calls}
        asked = (finding for finding in made.findings if not finding.asks_back)
        found += [f for f in asked if not (f.mendable and f.tool in again)]
    return found


class AwaitedRounds(Payload):
    """A message whose answer waits for calls of the front end: what there is to go on from.

    The last of its `rounds` has what the house's own tools found, and the calls that are out.
    `about` is what the model was asked about, `beside` what rules took of the message. The others
    are as in the `RoutingDecision` that asked for the calls.
    """

    message_id: str
    about: Message
    beside: bool = False
    rounds: list[ToolRound]
    tools: dict[str, CallLimits] = {}
    steps: int = 1
    plainly: bool = False
    scope: str = ""
