"""Flows that a front end starts by name, looked at before the message is taken in."""

from router.api.deps import Offers
from router.domain.capabilities import Capability
from router.domain.errors import FieldProblem, InvalidInput, NotFound, RouterError
from router.domain.messages import Message, StartAction
from router.domain.principals import Principal


def check_start(message: Message, offered: Offers, caller: Principal) -> None:
    """Return where the message starts nothing by name, or what the caller may start.

    Values that a slot can't hold are the flow's to refuse, in words, as a form's are.

    Raises:
        NotFound: there is no such flow or tool, or it is none of the caller's business.
        InvalidInput: it has no slots of these names, or is listed and can't be started so.
    """
    action = message.action
    if not isinstance(action, StartAction):
        return
    flow = offered.startable(action.flow, caller)
    if flow is None:
        raise _not_started(action.flow, offered, caller)
    unknown = [name for name in action.slots if name.split(".")[0] not in flow.slots]
    if unknown:
        known = ", ".join(flow.slots) or "none"
        raise InvalidInput(
            f"{action.flow} has no such slots; it has: {known}.",
            [FieldProblem(f"action.slots.{name}", "isn't known here") for name in unknown],
        )


def _not_started(name: str, offered: Offers, caller: Principal) -> RouterError:
    """Why not; of what the caller isn't shown, no more than that."""
    shown = next((each for each in offered.visible_to(caller) if each.name == name), None)
    if shown is None or shown.kind != "tool":
        return NotFound(f"There is no flow or tool {name!r} that you may start.")
    why = f"{name} {_obstacle(shown)}"
    return InvalidInput(f"{why}.", [FieldProblem("action.flow", "can't be started by name")])


def _obstacle(tool: Capability) -> str:
    if tool.client:
        return (
            "is called by the front end, when a turn has a tool call that is `waiting`; answer "
            "that with an action `tool_result`"
        )
    return "needs arguments that no form can ask for: say what you want as `text`"
