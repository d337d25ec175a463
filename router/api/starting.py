"""Flows that a front end starts by name, looked at before the message is taken in."""

from router.api.deps import Offers
from router.domain.errors import FieldProblem, InvalidInput, NotFound
from router.domain.messages import Message, StartAction
from router.domain.principals import Principal


def check_start(message: Message, offered: Offers, caller: Principal) -> None:
    """Return where the message starts nothing by name, or what the caller may start.

    Values that a slot can't hold are the flow's to refuse, in words, as a form's are.

    Raises:
        NotFound: there is no such flow or tool, or it is none of the caller's business.
        InvalidInput: it has no slots of these names.
    """
    action = message.action
    if not isinstance(action, StartAction):
        return
    flow = offered.startable(action.flow, caller)
    if flow is None:
        raise NotFound(f"There is no flow or tool {action.flow!r} that you may start.")
    unknown = [name for name in action.slots if name.split(".")[0] not in flow.slots]
    if unknown:
        known = ", ".join(flow.slots) or "none"
        raise InvalidInput(
            f"{action.flow} has no such slots; it has: {known}.",
            [FieldProblem(f"action.slots.{name}", "isn't known here") for name in unknown],
        )
