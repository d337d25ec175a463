"""What a model is told, in the order that lets servers keep most of it: what never changes first.

rules and capabilities ▸ state ▸ history ▸ the message, marked as somebody's words.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from importlib.resources import files

from router.deciding.offer import described
from router.domain.capabilities import Capability
from router.domain.messages import Line
from router.flow.view import FlowView
from router.llm.chat import AssistantMessage, Message, SystemMessage, UserMessage

VERSION = "router-1"


@lru_cache
def rules(version: str = VERSION) -> str:
    """The rules of a prompt version, as its file has them."""
    return (files("router.deciding") / "prompts" / f"{version}.md").read_text(encoding="utf-8")


@lru_cache
def fingerprint(version: str = VERSION) -> str:
    """The version with the digest of its text, recorded with every call."""
    return f"{version}@{hashlib.sha256(rules(version).encode()).hexdigest()[:8]}"


def messages(
    text: str,
    capabilities: Sequence[Capability],
    active: FlowView | None,
    history: Sequence[Line],
    now: datetime,
) -> tuple[Message, ...]:
    """The messages of one decision."""
    system = f"{rules()}\nFlows\n{described(capabilities) or '- none'}\n"
    return (
        SystemMessage(text=system),
        *(_said(line) for line in history),
        UserMessage(text=f"{_state(active, now)}\n<message>\n{material(text)}\n</message>"),
    )


def _said(line: Line) -> Message:
    if line.role == "user":
        return UserMessage(text=f"<message>\n{material(line.text)}\n</message>")
    return AssistantMessage(text=line.text)


def _state(active: FlowView | None, now: datetime) -> str:
    today = f"Now: {now:%A %Y-%m-%d %H:%M}."
    if active is None or not active.asking:
        return f"{today} No flow is active."
    asked = ", ".join(active.awaiting) or "a confirmation"
    known = ", ".join(f"{name}={value}" for name, value in active.slots.items()) or "nothing yet"
    return f"{today} Active flow: {active.flow}, asking for {asked}; known: {known}."


def material(text: str) -> str:
    """Somebody's words, unable to end the section that they stand in."""
    return text.replace("</", "<\\/")
