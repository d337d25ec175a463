"""A flow run as somebody reads it: in their language, with what they may know of it."""

from collections.abc import Iterable
from datetime import datetime

from pydantic import BaseModel, JsonValue

from router.api.deps import Offers, Services
from router.api.temporal import history_url
from router.domain.messages import ENDED, FlowStatus
from router.domain.principals import Principal
from router.domain.records import HistoryLine, RunRecord, is_held
from router.domain.texts import Locale
from router.flow.model import FlowDefinition
from router.flow.showing import known_in


class TemporalRun(BaseModel):
    """The workflow behind a run, and where Temporal's own UI shows it."""

    workflow_id: str
    run_id: str
    url: str


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
    parent: str | None
    """The run that started this one and waits for it."""
    history: list[HistoryLine]
    files: dict[str, str] = {}
    """What the files in the slots are called, by id."""
    withdraws: str | None = None
    """The completed run that this one takes back."""
    withdrawn_by: str | None = None
    """The run that takes this one back, or was refused to."""
    held: bool = False
    """Whether it waits for an operator."""
    waiting_for: list[str] = []
    """Whose decision it waits for; told to operators."""
    temporal: TemporalRun
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(
        cls,
        record: RunRecord,
        services: Services,
        reader: Principal,
        waiting_for: Iterable[str] = (),
    ) -> "FlowRun":
        """The row as this reader sees it."""
        settings = services.settings
        shown = record.model_dump(exclude={"title", "history", "parent", "conversation"})
        parent = record.parent.rsplit("/", 1)[-1] if record.parent else None
        url = history_url(settings, record.workflow_id, record.run_id)
        temporal = TemporalRun(workflow_id=record.workflow_id, run_id=record.run_id, url=url)
        title = record.title.within(reader.locale)
        summary = _summary(record, services.offered, reader.locale)
        return cls(
            title=title,
            summary=summary,
            conversation=record.conversation if record.requester == reader.id else None,
            can_be_withdrawn=_can_be_withdrawn(record),
            held=is_held(record.status, record.history),
            waiting_for=list(waiting_for),
            history=record.history,
            temporal=temporal,
            parent=parent,
            **shown,
        )


def _can_be_withdrawn(record: RunRecord) -> bool:
    if record.status in ENDED:
        return record.remedy is not None and record.withdrawn_by is None
    return True


def _summary(record: RunRecord, offered: Offers, locale: Locale) -> dict[str, str]:
    """What the run knows, as people read it, where its flow of that version is today's too."""
    definition = todays_definition(record, offered)
    return known_in(definition.slots, record.slots, locale, record.files) if definition else {}


def todays_definition(record: RunRecord, offered: Offers) -> FlowDefinition | None:
    """The run's flow as it is today; None where it has moved on to another version."""
    definition = offered.definition(record.flow)
    return definition if definition and definition.version == record.version else None
