"""What a model is told, in the order that lets servers keep most of it: what never changes first.

rules and capabilities ▸ state ▸ history ▸ the message, marked as somebody's words.
"""

from collections.abc import Sequence

from router.deciding.offer import described
from router.deciding.prompts import Prompt
from router.domain.capabilities import Capability
from router.domain.messages import Line
from router.flow.situation import Situation
from router.flow.view import FlowView
from router.llm.chat import AssistantMessage, Message, SystemMessage, UserMessage

LONGEST_QUESTION = 200
"""Characters of what a flow asks that a model is told."""


def messages(
    prompt: Prompt,
    text: str,
    capabilities: Sequence[Capability],
    history: Sequence[Line],
    state: str,
) -> tuple[Message, ...]:
    """The messages of one decision; `state` is what `state_of` gives."""
    system = f"{prompt.text}\nFlows and skills\n{described(capabilities) or '- none'}\n"
    return (
        SystemMessage(text=system),
        *(_said(line) for line in history),
        UserMessage(text=f"{state}\n<message>\n{material(text)}\n</message>"),
    )


def _said(line: Line) -> Message:
    if line.role == "user":
        return UserMessage(text=f"<message>\n{material(line.text)}\n</message>")
    return AssistantMessage(text=line.text)


def state_of(situation: Situation, earlier: Sequence[str] = ()) -> str:
    """When it is, which flows are under way, and what was wanted long before, in a line each."""
    lines = [f"Now: {situation.now:%A %Y-%m-%d %H:%M}."]
    active = situation.active
    if active is None or not active.asking:
        lines.append("No flow is active.")
    else:
        lines.append(_active(active))
    if situation.paused:
        lines.append(f"Paused, to be taken up after it: {', '.join(situation.paused)}.")
    if earlier:
        lines += ["Before all that, in short:", *(f"- {material(gist)}" for gist in earlier)]
    return "\n".join(lines)


def _active(view: FlowView) -> str:
    asked = ", ".join(view.awaiting) or "a confirmation"
    question = material(view.replies[-1].text)[:LONGEST_QUESTION] if view.replies else ""
    known = ", ".join(f"{name}={value}" for name, value in view.slots.items()) or "nothing yet"
    return (
        f"Active flow: {view.flow}, asking for {asked}"
        f"{f' ({question})' if question else ''}; known: <known>{material(known)}</known>."
    )


def material(text: str) -> str:
    """Somebody's words, unable to end the section that they stand in, whatever it is called."""
    return text.replace("</", "<\\/")
