"""How two texts of a flow differ, for people: in words, as text, and as two pictures."""

from pathlib import Path

from pydantic import BaseModel

from router.domain.errors import DefinitionError, RouterError
from router.domain.locale import Locale
from router.drawing import can_be_drawn, graph_of, svg_of
from router.drawing.svg import Marks
from router.extensions.authoring.difference import FlowDifference, difference
from router.extensions.authoring.drafts import FlowText
from router.extensions.authoring.effects import describe_effects
from router.extensions.authoring.flow_examination import Surroundings
from router.extensions.authoring.flow_vocabulary import approver_names
from router.extensions.authoring.patch import unified
from router.flow.definition import FlowDefinition
from router.flow.loader import Vocabulary, examine_text
from router.story.loader import story_names


class DifferenceView(BaseModel):
    """What a text of a flow does otherwise than the one before."""

    effects: list[str]
    """To be read first, in the caller's language: each call that writes with everyone who approves
    before it, or that nobody does, and who may start the flow; what changed of it is marked."""
    words: list[str]
    """Sentences in the caller's language."""
    text: str
    """A unified difference of the two files."""
    stories: str
    """The same of the stories, which are approved and published with it; empty: they are alike."""
    stories_removed: list[str]
    """The names of stories that it does without."""
    before: str | None
    """SVG, with what is gone or another marked; null: nothing held, or it can't be drawn."""
    after: str | None
    """SVG, with what is new or another marked."""


def difference_of(
    flow: str, was: FlowText | None, now: FlowText, around: Surroundings, locale: Locale
) -> DifferenceView:
    """The difference between two texts; their authors decide how long it takes.

    Neither has to be sound: of what can't be read as a flow there are no words and no picture.
    """
    path, stories = f"flows/{flow}.yaml", f"flows/tests/{flow}.yaml"
    after = _read(path, now.text, around.known)
    before = _read(path, was.text, around.known) if was is not None else None
    names = approver_names(sorted(around.roles or ()))
    # What was fit once may name what isn't there any more.
    found = difference(before, after, locale, names) if after is not None else FlowDifference()
    then, kept = was or FlowText(""), set(story_names(now.stories))
    return DifferenceView(
        effects=describe_effects(before, after, around.known.reads, locale, names) if after else [],
        words=list(found.sentences),
        text=unified(then.text, now.text, f"a/{path}", f"b/{path}"),
        stories=unified(then.stories, now.stories, f"a/{stories}", f"b/{stories}"),
        stories_removed=[each for each in story_names(then.stories) if each not in kept],
        before=_picture(before, locale, found.marks_before),
        after=_picture(after, locale, found.marks_after),
    )


def undetermined(why: RouterError, locale: Locale) -> DifferenceView:
    """Return the view of a difference that couldn't be worked out, with the reason read first."""
    return DifferenceView(
        effects=[why.said.within(locale)],
        words=[],
        text="",
        stories="",
        stories_removed=[],
        before=None,
        after=None,
    )


def _read(path: str, text: str, known: Vocabulary) -> FlowDefinition | None:
    try:
        return examine_text(Path(path), text, known).definition
    except DefinitionError:
        return None


def _picture(flow: FlowDefinition | None, locale: Locale, marks: Marks) -> str | None:
    graph = graph_of(flow, locale, plain=True) if flow is not None else None
    return svg_of(graph, marks=marks) if graph is not None and can_be_drawn(graph) else None
