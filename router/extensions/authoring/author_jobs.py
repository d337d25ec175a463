"""What is done with authors' texts in a child process (`router.api.isolated_work`).

Each function takes and returns plain data, and raises nothing but `InvalidInput` and
`DefinitionError`.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from router.api.flow_reading import read_flow_text
from router.domain.errors import (
    DefinitionError,
    Fault,
    FieldProblem,
    InvalidInput,
    Problem,
)
from router.domain.locale import Locale, Localised
from router.domain.principals import EVERYONE, Capability
from router.drawing import bpmn_of
from router.extensions.authoring.drafts import LARGEST_STORIES, LARGEST_TEXT
from router.extensions.authoring.flow_examination import MOST_TOLD, PlacedProblem
from router.extensions.authoring.flow_impact import BothReaders, Impact, KnownSentence, impact_of
from router.extensions.authoring.new_name import doubts, renames, with_new_name
from router.flow.definition import FlowDefinition
from router.flow.loader import Vocabulary, examine_text, sub_flow_faults
from router.flow.validation.phrases import said_in, told
from router.formats.data_edit import (
    Edit,
    EditRefused,
    InsertValue,
    RenameKey,
    SetValue,
)
from router.formats.yaml_document import Place, read_yaml
from router.formats.yaml_edit import edited
from router.understanding.reader import Reader
from router.understanding.triggers.patterns import ToolPhrases

MAX_PROBLEMS = 50
"""Of a text, that a refusal names."""
MAX_EDIT_SECONDS = 5.0
"""After which no further edit of a request is begun: a text may be long, and edits many."""


def read_flow_among(
    path: str, text: str, known: Vocabulary, others: Mapping[str, FlowDefinition]
) -> FlowDefinition:
    """Read a flow that may start these others; raises `DefinitionError` with every problem."""
    file = examine_text(Path(path), text, known)
    flow = file.definition
    faults = sub_flow_faults(flow, {**others, Path(path).stem: flow})
    if found := file.problems or tuple(file.problem(place, *fault) for place, fault in faults):
        raise DefinitionError(list(found))
    return flow


def draw_bpmn(flow: str, text: str, known: Vocabulary, locale: Locale) -> str:
    """Write a flow as BPMN 2.0; raises `InvalidInput` where the text can't be read as one."""
    read = read_flow_text(f"{flow}.yaml", text, known)
    if read.definition is None:
        raise unsound(read.problems, locale, _UNREADABLE)
    return bpmn_of(read.definition, locale)


def unsound(found: Sequence[Problem], locale: Locale, why: Localised) -> InvalidInput:
    """Return the refusal of a text that has these problems, in the language of `locale`."""
    said = [
        FieldProblem(f"text:{each.line}", said_in(locale, each.what))
        for each in found[:MAX_PROBLEMS]
    ]
    return InvalidInput(why, said)


@dataclass(frozen=True)
class RuleSources:
    """What a tenant's messages are read by, for rules to be made of it in another process."""

    flows: Sequence[FlowDefinition]
    """All that a message may start, tools as flows included."""
    phrases: Sequence[ToolPhrases]
    listed: Sequence[Capability]

    def with_flow(self, flow: FlowDefinition) -> "RuleSources":
        """Return these sources with that flow in its namesake's place, or in addition."""
        others = [each for each in self.flows if each.flow != flow.flow]
        capability = flow.capability
        named = [
            each
            for each in self.listed
            if (each.kind, each.name) != (capability.kind, capability.name)
        ]
        return RuleSources([flow, *others], self.phrases, [capability, *named])

    def reader(self) -> Reader:
        """Make the rules."""
        return Reader(self.flows, self.phrases, self.listed)


def find_impact(
    rules: RuleSources,
    own_flows: Mapping[str, FlowDefinition],
    draft: FlowDefinition,
    sentences: Sequence[KnownSentence],
    now: datetime,
    locale: Locale,
) -> Impact:
    """Say which sentences go another way with the draft among the tenant's own flows."""
    flows = {**own_flows, draft.flow: draft}
    wanted = (role for each in flows.values() for role in each.triggers.roles)
    versions = tuple(filter(None, [own_flows.get(draft.flow), draft]))
    roles = frozenset({EVERYONE, *wanted})
    readers = BothReaders(rules.reader(), rules.with_flow(draft).reader(), versions, roles)
    return impact_of(readers, sentences, now, locale)


@dataclass(frozen=True)
class EditedFlow:
    """A text after its edits, and what they leave to its author."""

    text: str
    stories: str
    look: list[PlacedProblem]
    """What may mean a choice that was renamed, and was left as it is."""


def edit_flow(text: str, stories: str, edits: Sequence[Edit], locale: Locale) -> EditedFlow:
    """Make the edits, all of them or none; raises `InvalidInput` for the first that can't be."""
    found: list[tuple[Place, Fault]] = []
    until = time.monotonic() + MAX_EDIT_SECONDS
    for number, each in enumerate(edits):
        if time.monotonic() > until:
            raise _refused(number, _TOO_MANY)
        try:
            _check_value(each)
            if isinstance(each, RenameKey) and renames(each):
                found += doubts(text, each)
                text, stories = with_new_name(text, stories, each)
            else:
                text = edited(text, each)
            _check_sizes(text, stories)
        except EditRefused as refused:
            raise _refused(number, refused.fault) from None
    look = _placed(text, found, locale)[:MOST_TOLD] if found else []
    return EditedFlow(text, stories, look)


def set_version(text: str, version: int) -> str | None:
    """Return the text with this version; None where it can't be written into it."""
    try:
        return edited(text, SetValue(place=("version",), value=version))
    except EditRefused:
        return None


def _placed(text: str, found: Iterable[tuple[Place, Fault]], locale: Locale) -> list[PlacedProblem]:
    """Return the doubts by their lines in what the edits have made."""
    document = read_yaml(text)
    return [
        PlacedProblem(
            place=list(place),
            line=document.line(place),
            what=said_in(locale, fault.what),
            remedy=said_in(locale, fault.remedy),
        )
        for place, fault in found
    ]


def _refused(number: int, fault: Fault) -> InvalidInput:
    why = told(*fault)
    zh = f"第 {number + 1} 处改动做不了，什么都没有改变：{why.zh}。"
    en = f"Edit {number + 1} can't be made, and nothing was changed: {fault}."
    return InvalidInput(Localised(zh=zh, en=en), [FieldProblem.of(f"edits.{number}", why)])


def _check_value(edit: Edit) -> None:
    """Refuse what can't fit before it is written and read, which takes long where it is large."""
    value = edit.value if isinstance(edit, SetValue | InsertValue) else None
    if len(json.dumps(value, ensure_ascii=False)) > LARGEST_TEXT:
        raise EditRefused(Fault("the value is longer than a flow may be", "say it in fewer words"))


def _check_sizes(text: str, stories: str) -> None:
    for written, most in ((text, LARGEST_TEXT), (stories, LARGEST_STORIES)):
        if (size := len(written.encode())) > most:
            what = f"the text would have {size} bytes; {most} are the most"
            raise EditRefused(Fault(what, "say it in fewer words"))


_TOO_MANY = Fault("so many edits of so long a text take too long", "send fewer of them at once")
_UNREADABLE = Localised(
    zh="这份草稿还读不成流程，先改好再导出。",
    en="The draft can't be read as a flow yet: mend it first.",
)
