"""What a message is said in: all that its meaning may depend on besides its words."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from router.domain.messages import Option
from router.domain.texts import Locale
from router.flow.put_aside import PutAside
from router.flow.view import FlowView


class Situation(BaseModel):
    """Everything besides the message that its meaning may depend on.

    `now` is aware and in the user's time zone. `offered` are the options of a question that
    the router itself asked last (which flow is meant?), about a message whose words are
    `offered_for`; `active` is the run being talked about, if any, and `paused` names the
    flows that wait for it to end, the next one last; `put_aside` are those that can be taken up
    by name, the latest last. `at_work` is the run that was last said to
    be still at work, `handed_in` the one that last came to wait for approval. `skill` names the
    sub-agent that asked something, and is empty where none did.
    """

    model_config = ConfigDict(frozen=True)

    now: datetime
    locale: Locale
    roles: frozenset[str]
    active: FlowView | None = None
    paused: list[str] = []
    put_aside: list[PutAside] = []
    at_work: FlowView | None = None
    handed_in: FlowView | None = None
    skill: str = ""
    offered: list[Option] = []
    offered_for: str = ""
