"""A flow run as somebody reads it: in their language, with what they may know of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import quote
from zoneinfo import ZoneInfo

from fastapi import Depends
from pydantic import BaseModel, JsonValue

from router.api.dependencies import OPERATOR, Audited, Caller, Given, Offers, Services, known
from router.api.params import derived_id, fresh_id
from router.domain.errors import Forbidden, NotFound
from router.domain.locale import Locale, Localised
from router.domain.messages import ENDED, FlowStatus, FormField, Option
from router.domain.name_lists import say_names
from router.domain.principals import Principal
from router.domain.records import RunRecord
from router.domain.run_history import HistoryEntry, Incident, IncidentKind
from router.domain.visible_text import quoted
from router.flow.definition import FlowDefinition
from router.flow.prompts.question import known_in
from router.flow.slot_types.slot import SLOT_TYPES, Slot, label_of
from router.flow.slot_types.structures import schema_of_slots
from router.settings import Settings


def word_of(
    verb: Literal[
        "withdraw", "amend", "nudge", "decide", "event", "retry", "terminate", "reassign"
    ],
    caller: Principal,
    key: str | None,
) -> str:
    """The update's id: the same for the same caller and key, else a new one."""
    unique = derived_id(caller.tenant, caller.id, key) if key else fresh_id()
    return f"{verb}:{unique}"


async def _visible_run(run: str, services: Given, caller: Caller) -> RunRecord:
    record = await services.store.runs.find(caller.tenant, known(run, "flow run"))
    operates = OPERATOR in caller.roles
    if record is None or not (operates or await _concerns(services, record, caller)):
        raise NotFound("There is no such flow run.")
    return record


async def _concerns(services: Services, record: RunRecord, reader: Principal) -> bool:
    if record.requester == reader.id:
        return True
    return reader.id in await services.store.runs.concerned(record.tenant, record.id)


VisibleRun = Annotated[RunRecord, Depends(_visible_run)]


async def _read_run(
    record: VisibleRun, services: Given, caller: Caller, audit: Audited
) -> RunRecord:
    if OPERATOR in caller.roles and not await _concerns(services, record, caller):
        await audit.note("run.read", record.id, whose=record.requester)
    return record


ReadRun = Annotated[RunRecord, Depends(_read_run)]
"""A visible run that is shown: noted where only an operator may see it."""


async def _own_run(record: VisibleRun, caller: Caller) -> RunRecord:
    if record.requester != caller.id:
        raise Forbidden("Only its requester may do this to a flow run.")
    return record


OwnRun = Annotated[RunRecord, Depends(_own_run)]


class TemporalRun(BaseModel):
    """The workflow behind a run, and where Temporal's own UI shows it."""

    workflow_id: str
    run_id: str
    url: str

    @classmethod
    def of(cls, record: RunRecord, settings: Settings) -> "TemporalRun":
        """The workflow of this run."""
        return cls.named(record.workflow_id, record.run_id, settings)

    @classmethod
    def named(cls, workflow_id: str, run_id: str, settings: Settings) -> "TemporalRun":
        """The workflow of these ids."""
        ids = (settings.temporal_namespace, workflow_id, run_id)
        namespace, workflow, run = (quote(part, safe="") for part in ids)
        url = f"{settings.temporal_ui}/namespaces/{namespace}/workflows/{workflow}/{run}/history"
        return cls(workflow_id=workflow_id, run_id=run_id, url=url)


class FlowRun(BaseModel):
    """A run of a flow, with everything that happened to it."""

    id: str
    flow: str
    title: str
    version: int
    status: FlowStatus
    state: str
    slots: dict[str, JsonValue]
    summary: dict[str, str] = {}
    """The slots as people read them, by label, in the reader's language; empty where the flow of
    this version isn't known any more."""
    requester: str
    conversation: str | None = None
    """Where it was begun, for its requester."""
    can_be_withdrawn: bool = False
    """Whether its requester may take it back now."""
    can_be_changed: bool = False
    """Whether its requester may change it now, while it waits for approval."""
    changeable: list[str] = []
    """What of it can be changed then, by the names that it has in a message, too."""
    parent: str | None
    """The run that started this one and waits for it."""
    history: list[HistoryEntry]
    files: dict[str, str] = {}
    """What the files in the slots are called, by id."""
    withdraws: str | None = None
    """The completed run that this one takes back."""
    withdrawn_by: str | None = None
    """The run that takes this one back, or was refused to."""
    held: bool = False
    """Whether it waits for an operator."""
    held_because: str | None = None
    """What was tried, what came back, since when, and what can be done about it, in the reader's
    language; told to operators and to its requester."""
    waiting_for: list[str] = []
    """Whose decision it waits for; told to operators."""
    temporal: TemporalRun
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(
        cls, record: RunRecord, services: Services, reader: Principal, waiting_for: Iterable[str]
    ) -> "FlowRun":
        """The row as this reader sees it."""
        apart = {"title", "history", "parent", "conversation", "incident"}
        shown = record.model_dump(exclude=apart)
        offered, locale = services.offered.of(record.tenant), reader.locale
        known = todays_definition(record, offered)
        summary = known_in(known, record.slots, locale, record.files) if known else {}
        operates = OPERATOR in reader.roles
        is_told = operates or record.requester == reader.id
        why = held_because(record, reader, offered.title_of, operates=operates)
        done_for_good = record.remedy is None or record.withdrawn_by is not None
        return cls(
            title=record.title.within(locale),
            summary=summary,
            conversation=record.conversation if record.requester == reader.id else None,
            can_be_changed=_can_be_changed(record, known),
            changeable=_changeable(record, known, locale),
            can_be_withdrawn=record.status not in ENDED or not done_for_good,
            held=record.is_held,
            held_because=why if is_told else None,
            waiting_for=list(waiting_for),
            history=record.history,
            temporal=TemporalRun.of(record, services.settings),
            parent=record.parent.rsplit("/", 1)[-1] if record.parent else None,
            **shown,
        )


def _can_be_changed(record: RunRecord, known: FlowDefinition | None) -> bool:
    waits = record.status == "waiting_approval" and record.withdraws is None
    return waits and (known is None or known.amend)


def _changeable(record: RunRecord, known: FlowDefinition | None, locale: Locale) -> list[str]:
    """What was asked for, and has a value; what follows from that changes with it."""
    if known is None or not _can_be_changed(record, known):
        return []
    asked = {name for state in known.states.values() for name in state.collects}
    return [
        label_of(name, slot).within(locale)
        for name, slot in known.slots.items()
        if name in asked and record.slots.get(name) is not None
        # Of what is made of parts, and of files, words say more than one value.
        if slot.of is None and not slot.fields and not slot.kind.is_file
    ]


def todays_definition(record: RunRecord, offered: Offers) -> FlowDefinition | None:
    """The run's flow as it is today; None where it has moved on to another version."""
    definition = offered.definition(record.flow)
    return definition if definition and definition.version == record.version else None


def schema_of_fillable(slots: Mapping[str, Slot], locale: Locale) -> dict[str, JsonValue]:
    """An object of the slots that a person may fill, titled for the reader; none is required."""
    return schema_of_slots({n: slot for n, slot in slots.items() if slot.is_fillable}, locale)


def schema_of_form(fields: Sequence[FormField]) -> dict[str, JsonValue]:
    """An object of a form's values, by its fields' names."""
    properties: dict[str, JsonValue] = {}
    for field in fields:
        if field.options is None:
            stored = SLOT_TYPES.get(field.type, SLOT_TYPES["text"]).stored
        else:
            stored = schema_of_options(field.options)
        properties[field.name] = {"title": field.label, **stored}
    needed: list[JsonValue] = [field.name for field in fields if field.required]
    return {"type": "object", "properties": properties, "required": needed}


def schema_of_options(options: Sequence[Option]) -> dict[str, JsonValue]:
    """One of these values, each under the words that are shown for it."""
    return {"oneOf": [{"const": option.value, "title": option.label} for option in options]}


TitleOf = Callable[[str], Localised | None]
TRIED: frozenset[IncidentKind] = frozenset({"call", "undo", "lookup"})
"""Incidents whose detail is what something answered."""

HAPPENED: Mapping[IncidentKind, Localised] = {
    "call": Localised(zh="{tool}没有办成", en="{tool} failed"),
    "undo": Localised(zh="撤回时{tool}没有办成", en="taking a step back, {tool} failed"),
    "lookup": Localised(zh="要用{tool}查一项信息，没有查成", en="looking up {tool} failed"),
    "approver": Localised(
        zh="该审批的人已不在通讯录里，也没有指定别人",
        en="who should decide is gone from the directory, with nobody in their place",
    ),
    "data": Localised(
        zh="按现有的数据，下一步走不下去",
        en="the next step can't be made with the values at hand",
    ),
    "code": Localised(
        zh="下一步需要的代码没有部署", en="the next step needs code that isn't deployed"
    ),
    "lost": Localised(
        zh="它在 Temporal 里的工作流没有了", en="its workflow in Temporal can't go on"
    ),
    "over_limit": Localised(
        zh="它超过了一次办理能带的上限", en="it has reached a limit of what one run can carry"
    ),
}
CAME_BACK = Localised(zh="，得到的是{answer}", en=" with {answer}")
FOUND = Localised(zh="（{answer}）", en=" ({answer})")
RETRY = Localised(zh="可以重试，或者终止", en="retry it, or terminate the run")
REMEDIES: Mapping[IncidentKind, Localised] = {
    "approver": Localised(zh="可以改派审批人，或者终止", en="reassign it, or terminate the run"),
    "lost": Localised(
        zh="请运行 intent-router reconcile 核对", en="run intent-router reconcile to see to it"
    ),
}
"""What an operator can do about incidents that a retry doesn't end."""
SEEN_TO = Localised(zh="正等管理员处理", en="an administrator has to see to it")
SENTENCE = Localised(
    zh="{happened}；从{since}起等管理员，{remedy}。",
    en="{happened}; it has waited since {since}: {remedy}.",
)


def held_because(
    run: RunRecord, reader: Principal, title_of: TitleOf, *, operates: bool
) -> str | None:
    """What was tried, what came back, since when, and what can be done; None where it isn't held.

    Who doesn't operate is told what was tried, and that an administrator sees to it: what came back
    may name what is nobody's business but theirs.
    """
    incident = run.incident if run.is_held else None
    if incident is None:
        return None
    locale = reader.locale
    remedy = REMEDIES.get(incident.kind, RETRY) if operates else SEEN_TO
    happened = _what_happened(incident, locale, title_of, operates=operates)
    return (
        SENTENCE.within(locale)
        .replace("{since}", _moment(incident.at, reader))
        .replace("{remedy}", remedy.within(locale))
        .replace("{happened}", happened[:1].upper() + happened[1:])
    )


def _what_happened(incident: Incident, locale: Locale, title_of: TitleOf, *, operates: bool) -> str:
    title = title_of(incident.name)
    name = quoted(title.within(locale) if title else incident.name)
    happened = HAPPENED[incident.kind].within(locale).replace("{tool}", name)
    detail = incident.detail or say_names(incident.people).within(locale)
    if not operates or not detail:
        return happened
    tried = incident.kind in TRIED
    answer = quoted(detail) if tried else detail
    return happened + (CAME_BACK if tried else FOUND).within(locale).replace("{answer}", answer)


def _moment(at: datetime, reader: Principal) -> str:
    return f"{at.astimezone(ZoneInfo(reader.timezone)):%Y-%m-%d %H:%M}"
