"""The prompts that models are asked with, for operators: versions, their shares, how they went.

Shares are a tenant's own. Every process takes them up within seconds; those of the settings hold
until somebody sets others, and again once all that was set is rolled back.
"""

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from router.api.dependencies import Audited, Given, Operator, Services
from router.api.errors import problems
from router.api.idempotency import IdempotencyKey, claim, claimed
from router.api.params import StrictRoute
from router.domain.errors import Conflict, InvalidInput, NotFound
from router.domain.locale import LOCALES, Locale
from router.domain.periods import MOST_DAYS, Period
from router.domain.principals import Principal
from router.domain.rates import Rate
from router.store.prompt_shares import SetShares, VersionCounts

MOST_SHARE = 1_000_000
MOST_VERSIONS = 20
"""That get something at once: more tell nothing apart."""

router = APIRouter(prefix="/v1/prompts", tags=["operators"], route_class=StrictRoute)


class PromptVersion(BaseModel):
    """One version of a job's prompt."""

    version: str
    weight: int
    share: float
    """Of the conversations, 0 to 1."""
    origin: Literal["shipped", "folder"]
    """Whether it is the project's own, or stands in `ROUTER_PROMPTS`."""
    fingerprints: dict[Locale, str]
    """By which the log knows its texts of now."""


class PromptJob(BaseModel):
    """What models are asked to do, with which versions of the rules for it."""

    job: str
    source: Literal["settings", "operator"]
    """Whose shares hold."""
    set_by: str | None = None
    set_at: datetime | None = None
    versions: list[PromptVersion]


class PromptOutcome(BaseModel):
    """How it went where a model was asked with one version, over some days.

    Rates are of turns; those of runs are of the runs that its decisions began, by how they stand
    now. All have the interval in which the true share lies, at 95 %.
    """

    version: str
    fingerprints: list[str]
    """Several where it was edited, or is asked with in both languages."""
    conversations: int
    turns: int
    unused: Rate
    """The model's answer was of no use, and it was decided without."""
    missed: Rate
    asked_back: Rate
    handed_off: Rate
    started: int
    completed: Rate
    cancelled: Rate

    @classmethod
    def of(cls, counts: VersionCounts) -> "PromptOutcome":
        """What was counted, as rates."""
        whole = counts._asdict()
        turns = {n: Rate.of_counts(whole[n], counts.turns) for n in _OF_TURNS}
        runs = {n: Rate.of_counts(whole[n], counts.started) for n in ("completed", "cancelled")}
        return cls.model_validate({**whole, **turns, **runs})


_OF_TURNS = ("unused", "missed", "asked_back", "handed_off")


class PromptPage(BaseModel):
    """Every job's versions; there is never a next page."""

    items: list[PromptJob]
    next: None = None
    days: int
    outcomes: list[PromptOutcome]
    """Of the last `days`, in one's own tenant; of versions that decide alone."""


class SharesBody(BaseModel):
    """Weights by version; a version that isn't named gets nothing."""

    model_config = ConfigDict(extra="forbid")

    shares: Annotated[
        dict[str, Annotated[int, Field(ge=0, le=MOST_SHARE, strict=True)]],
        Field(min_length=1, max_length=MOST_VERSIONS, examples=[{"router-1": 9, "router-2": 1}]),
    ]


@router.get("", responses=problems(404))
async def index(
    services: Given,
    operator: Operator,
    audit: Audited,
    days: Annotated[int, Query(ge=1, le=MOST_DAYS, description="Of how many days.")] = 7,
) -> PromptPage:
    """List versions, with their shares, and how conversations with each of them went."""
    await audit.note("prompts.read", detail=f"days={days}")
    store, tenant = services.store, operator.tenant
    period = Period.read(None, None, operator.timezone, datetime.now(UTC), days)
    held = {each.job: each for each in await store.prompt_shares.holding(tenant)}
    counts = await store.prompt_outcomes.counted(tenant, period)
    return PromptPage(
        items=[_job(services, job, held.get(job)) for job in services.prompts.jobs],
        days=days,
        outcomes=[PromptOutcome.of(each) for each in counts],
    )


@router.put("/{job}/shares", responses=problems(400, 404, 413, 415))
async def put_shares(
    job: str, body: SharesBody, services: Given, operator: Operator, audit: Audited
) -> PromptJob:
    """Give the versions of a job other shares, from the next question of every process on."""
    known = _known(services, job)
    if why_not := services.prompts.why_unfit(known, body.shares):
        raise InvalidInput.at("shares", f"it {why_not}")
    given = {version: share for version, share in body.shares.items() if share}
    before = await _shares_of(services, operator, known)
    await audit.note("prompts.share", known, detail=f"{_told(before)} ▸ {_told(given)}")
    about = {"tenant": operator.tenant, "job": known, "set_by": operator.id}
    wanted = SetShares(**about, shares=given, set_at=datetime.now(UTC))
    await services.store.prompt_shares.put(wanted)
    return await _now(services, operator, known)


@router.post("/{job}/rollback", responses=problems(400, 404, 409))
async def roll_back(
    job: str, services: Given, operator: Operator, audit: Audited, key: IdempotencyKey
) -> PromptJob:
    """Take the shares back that were set last, so that those before them hold."""
    known = _known(services, job)
    if await claimed(services, operator, key):
        await claim(services, operator, key, f"roll back {known}")
        return await _now(services, operator, known)
    holding = await _held(services, operator, known)
    if holding is None:
        raise Conflict(f"Nothing was set for {known}: the shares are those of the settings.")
    await claim(services, operator, key, f"roll back {known}")
    await audit.note("prompts.rollback", known, detail=_told(holding.shares))
    await services.store.prompt_shares.roll_back(holding, operator.id, datetime.now(UTC))
    return await _now(services, operator, known)


def _known(services: Services, job: str) -> str:
    if job not in services.prompts.jobs:
        raise NotFound("There is no such job of prompts.")
    return job


async def _held(services: Services, reader: Principal, job: str) -> SetShares | None:
    held = await services.store.prompt_shares.holding(reader.tenant)
    return next((each for each in held if each.job == job), None)


async def _shares_of(services: Services, reader: Principal, job: str) -> dict[str, int] | None:
    held = await _held(services, reader, job)
    return held.shares if held else None


async def _now(services: Services, reader: Principal, job: str) -> PromptJob:
    return _job(services, job, await _held(services, reader, job))


def _job(services: Services, job: str, held: SetShares | None) -> PromptJob:
    prompts = services.prompts
    weights = prompts.holding(job, held.shares if held else {})
    whole = sum(weights.values())
    return PromptJob(
        job=job,
        source="operator" if held else "settings",
        set_by=held.set_by if held else None,
        set_at=held.set_at if held else None,
        versions=[
            PromptVersion(
                version=version,
                weight=weights.get(version, 0),
                share=weights.get(version, 0) / whole,
                origin="shipped" if prompts.is_shipped(version) else "folder",
                fingerprints={each: prompts.written(version, each).fingerprint for each in LOCALES},
            )
            for version in prompts.of_job(job)
        ],
    )


def _told(shares: dict[str, int] | None) -> str:
    """The shares as the trail has them: `router-1=9 router-2=1`."""
    return " ".join(f"{v}={n}" for v, n in shares.items()) if shares else "settings"
