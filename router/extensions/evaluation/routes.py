"""What the log teaches, for operators: what to mend so that the desk is understood better."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from router.api.dependencies import Audited, Given, Operator
from router.api.errors import problems
from router.api.params import StrictRoute
from router.domain.periods import MOST_DAYS
from router.extensions.evaluation.lessons import LogLessons, unserved_topics

MOST_UNSERVED = 500
"""Different sentences that are put into groups while somebody waits."""

router = APIRouter(prefix="/v1/lessons", tags=["operators"], route_class=StrictRoute)


class LackedExamples(BaseModel):
    """How many sentences meant a capability that its examples lack."""

    capability: str
    title: str
    count: int
    sentences: list[str] | None
    """People's words: None where operators may not read those."""


class FlowMisfire(BaseModel):
    """How often a flow that a pattern began was called off with the next word."""

    flow: str
    title: str
    called_off: int
    began: int
    sentences: list[str] | None


class MistakenCapability(BaseModel):
    """How often one capability was thought nearest, and another one was chosen."""

    offered: str
    meant: str
    times: int
    sentences: list[str] | None


class UnservedTopic(BaseModel):
    """How often something was asked for that nothing serves."""

    times: int
    sentences: list[str] | None
    """The first is the one in its middle."""


class LessonsView(BaseModel):
    """What may be mended, the most frequent first. `intent-router learn` proposes how."""

    days: int
    examples: list[LackedExamples]
    misfires: list[FlowMisfire]
    mistaken: list[MistakenCapability]
    topics: list[UnservedTopic]


@router.get("", responses=problems(404))
async def show(
    services: Given,
    operator: Operator,
    audit: Audited,
    days: Annotated[int, Query(ge=1, le=MOST_DAYS, description="Of how many days.")] = 30,
) -> LessonsView:
    """Say what the last days teach; what was said only where ROUTER_OPERATORS_READ_WORDS is set."""
    await audit.note("lessons.read", detail=f"days={days}")
    kept = LogLessons()
    since = datetime.now(UTC) - timedelta(days=days)
    async for entry in services.store.log.every_exchange(operator.tenant, since):
        kept.take(entry)
    topics = await unserved_topics(kept.unserved, services.index.of(operator.tenant), MOST_UNSERVED)
    there = {one.name: one for one in services.offered.of(operator.tenant).visible_to(operator)}
    titles = {name: one.title.within(operator.locale) for name, one in there.items()}
    words = services.settings.operators_read_words
    known = {name: one.examples for name, one in there.items()}
    return LessonsView(
        days=days,
        examples=_lacked(kept, known, titles, words=words),
        misfires=[
            FlowMisfire(
                flow=one.flow,
                title=titles.get(one.flow, one.flow),
                called_off=one.called_off,
                began=one.began,
                sentences=_shown(one.sentences, words),
            )
            for one in kept.misfires()
        ],
        mistaken=[
            MistakenCapability(
                offered=titles.get(one.offered, one.offered),
                meant=titles.get(one.meant, one.meant),
                times=one.times,
                sentences=_shown(one.sentences, words),
            )
            for one in kept.confusions()
        ],
        topics=[
            UnservedTopic(times=topic.times, sentences=_shown(topic.sentences, words))
            for topic in topics
        ],
    )


def _lacked(
    kept: LogLessons,
    known: Mapping[str, Iterable[str]],
    titles: Mapping[str, str],
    *,
    words: bool,
) -> list[LackedExamples]:
    most_first = sorted(kept.examples(known), key=lambda one: -len(one.sentences))
    return [
        LackedExamples(
            capability=one.capability,
            title=titles[one.capability],
            count=len(one.sentences),
            sentences=_shown(one.sentences, words),
        )
        for one in most_first
    ]


def _shown(sentences: Iterable[str], words: bool) -> list[str] | None:
    return list(sentences) if words else None
