"""What the tests of stories read and compare."""

from datetime import datetime

from router.documents.document import read_document
from router.flow.definition import FlowDefinition
from router.flow.engine.run import Happening
from router.story.loader import read_stories
from router.story.story import Story, StoryNames

BADGE = FlowDefinition.model_validate(
    {
        "flow": "badge",
        "title": {"zh": "门卡", "en": "Badge"},
        "description": {"zh": "办门卡", "en": "A badge"},
        "slots": {"name": {"type": "text", "ask": {"zh": "谁？", "en": "Who?"}}},
        "start": "details",
        "states": {
            "details": {"collect": ["name"], "next": "review"},
            "review": {
                "confirm": {"zh": "办吗？", "en": "Shall I?"},
                "confirmed": [{"if": "slots.name == 'bob'", "to": "make"}, {"to": "tell_no"}],
                "declined": "details",
            },
            "make": {"call": "make_badge", "next": "tell_yes", "on_error": "tell_no"},
            "tell_yes": {"say": {"zh": "好了", "en": "Done"}, "end": "completed"},
            "tell_no": {"say": {"zh": "不行", "en": "No"}, "end": "rejected"},
        },
    }
)
KNOWN = StoryNames(("alice", "bob"), ("make_badge", "find_badge"), {"badge": BADGE})


def read(text: str) -> tuple[list[Story], list[str]]:
    """The stories in the text, and its faults as `line: what; remedy`."""
    stories, faults = read_stories(read_document(text), "badge.yaml", KNOWN)
    return stories, [f"{line}: {fault}" for line, fault in faults]


def history(*moves: str) -> list[Happening]:
    """A history of `event state`, in that order."""
    at = datetime.fromisoformat("2026-11-18T10:00+08:00")
    pairs = (move.split() for move in moves)
    return [Happening(at=at, state=state, event=event) for event, state in pairs]
