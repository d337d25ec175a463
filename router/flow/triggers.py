"""What starts a flow, as its file says it. `router.understanding` reads messages by it."""

from typing import Literal

from pydantic import Field

from router.flow.written import Definition

GuardName = Literal[
    "how-or-what",
    "question",
    "whether",
    "rules",
    "procedure",
    "status",
    "change",
    "negation",
    "past",
    "translation",
    "text",
    "others",
    "named-person",
    "reference",
    "topic",
    "quotation",
]
"""What keeps any flow from starting although its words are there: `router.understanding.guards`."""


class Triggers(Definition):
    """What starts a flow. Patterns are RE2, searched in the normalised message.

    `topics` are what the flow is about: a message that names one starts it where the rest of
    the message plainly asks for something, in whatever words (`router.understanding.asking`).

    `without` names guards that don't hold for this flow: one that is there for questions is
    started by them.

    A file may name pieces of its patterns in `words`. The loader writes them out, so a
    definition that was loaded has none, and none travel.
    """

    patterns: tuple[str, ...] = ()
    """RE2, searched in the normalised message: what starts the flow. A named group fills the slot
    of its name."""
    topics: tuple[str, ...] = ()
    """RE2: what the flow is about; a message that names one starts it where it plainly asks for
    something."""
    unless: tuple[str, ...] = ()
    """RE2: where one is found, the message doesn't start the flow."""
    without: tuple[GuardName, ...] = ()
    """Guards that don't hold for this flow."""
    examples: tuple[str, ...] = ()
    """Sentences people say, for finding it where no pattern matches."""
    roles: frozenset[str] = frozenset()
    """Who may start it; empty for everyone."""
    words: dict[str, str] = Field({}, exclude=True)
    """Pieces of patterns by name, written `{NAME}` in a pattern."""
