"""What the caller has asked for, as a tool: how each request stands, and who is waited for."""

from collections.abc import Sequence
from datetime import datetime, tzinfo
from itertools import takewhile
from typing import Annotated

from pydantic import BaseModel, Field

from activities import provided
from activities.own_runs import ANY, Said
from activities.saying import OWN, REQUEST, REQUEST_EN, whole
from activities.standing import in_short, standing
from router.domain.messages import ENDED, FlowStatus
from router.domain.ports import Runs
from router.domain.principals import Directory, Principal
from router.domain.records import ApprovalRecord, RunRecord
from router.domain.texts import Locale
from router.tool.context import ToolContext
from router.tool.dependencies import Depends
from router.tool.labels import Labelled
from router.tool.tool import tool

MOST_REQUESTS = 20
MOST_NAMES = 5
"""People named for one request; a whole department may be asked, of which anyone decides.
And so many of its files."""
_LIST: dict[Locale, str] = {"zh": "、", "en": ", "}


class Awaited(BaseModel):
    """Someone whose decision a request waits for."""

    name: str
    since: datetime
    due: datetime | None
    """When the request expires undecided; null where it doesn't."""


class Request(BaseModel):
    """One request of the caller's. Moments are in the caller's time zone."""

    id: str
    flow: str
    title: str
    """What the flow is called, in the language of the conversation."""
    status: FlowStatus
    state: str
    """The state of the flow's file that it stands in."""
    asked: datetime
    since: datetime
    """When it came to stand where it stands; when it ended, where it has."""
    waits_for: list[Awaited]
    others: int
    """How many more it waits for than are named."""
    files: list[str] = []
    """What the files that were handed in with it are called."""


class Requests(BaseModel):
    """The newest requests; `more` says whether there are older ones."""

    items: list[Request]
    more: bool
    summary: str = ""
    """How they stand, in the language of the conversation."""


@tool(
    permission="read",
    title={"zh": "我的申请", "en": "My requests"},
    description_zh="你的申请（请假、报销等）各到哪一步了，在等谁。",
    examples=[
        "我的申请到哪一步了",
        "我的请假批了吗",
        "谁在审批我的报销",
        "what is the status of my request",
        "has my leave been approved",
    ],
    phrases=[
        # 我的请假批了吗、报销审批下来了没
        whole(
            f"{OWN}(?P<kind>{REQUEST})(?:被|有没有|现在)?(?:审?批|审核|同意|通过|批准)+(?:完|好|过|下来)?(?:了|没|没有|吗|不)+"
        ),
        # 报销到哪一步了、我的申请走到哪了
        whole(
            f"{OWN}(?P<kind>{REQUEST})(?:现在|审批|流程|批|走|处理|办)*到(?:了)?哪(?:一?步|里|儿|个环节|一级)?"
        ),
        # 审批进度、我的报销进度怎么样
        whole(
            f"{OWN}(?:(?P<kind>{REQUEST})|审批)(?:的)?(?:审批|处理|办理)?(?:进度|进展|状态)(?:怎么样|如何|是什么|到哪)?"
        ),
        # 谁在审批我的报销、我的请假在等谁
        whole(f"(?:谁|哪位)(?:在|还没)?(?:审批|审|批)(?:我的)(?P<kind>{REQUEST})"),
        whole(f"{OWN}(?P<kind>{REQUEST})(?:现在)?在等谁(?:审?批)?"),
        # 我的申请、我有哪些申请
        whole("我(?:的|有|提交|都|过|了|所有|全部|哪些|什么)+申请(?:记录|列表)?|有哪些申请在审批"),
        whole(
            f"(?:has|have|is|was|were|are) (?:my|the) (?P<kind>{REQUEST_EN})"
            "(?: (?:been|already|now))*"
            " (?:approved|rejected|decided|reviewed|processed|through|granted)(?: yet| already)?"
        ),
        whole(
            "(?:(?:what(?:'s| is)|how is) )?(?:the )?(?:approval )?(?:status|progress|state) of my "
            f"(?P<kind>{REQUEST_EN})"
        ),
        whole(f"(?:what(?:'s| is) )?my (?P<kind>{REQUEST_EN}) (?:approval )?(?:status|progress)"),
        whole(f"(?:where|how far) is my (?P<kind>{REQUEST_EN})(?: at| along)?"),
        whole(f"who (?:is approving|approves|has) my (?P<kind>{REQUEST_EN})"),
        whole(f"(?:has|did) my (?:manager|boss) approved? my (?P<kind>{REQUEST_EN})(?: yet)?"),
        whole(
            "(?:list |what are )?(?:all )?(?:of )?my (?:own |open |pending |current )*"
            "(?:requests|applications)"
        ),
    ],
)
async def get_my_requests(
    ctx: ToolContext,
    runs: Annotated[Runs, Depends(provided.runs)],
    people: Annotated[Directory, Depends(provided.directory)],
    aside: provided.Aside,
    status: Annotated[
        FlowStatus | None,
        Field(description="Only those of this status; all where left out"),
        Labelled("申请状态"),
    ] = None,
    flow: Annotated[
        str | None,
        Field(
            description='Only those of this flow, such as "leave_request"; all where left out',
            pattern="^[a-z0-9_]{1,64}$",
        ),
        Labelled("流程"),
    ] = None,
    kind: Annotated[
        str | None,
        Field(description='Only those called so, in words such as "leave"', max_length=60),
        Labelled("哪一类"),
    ] = None,
) -> Requests:
    """Your requests (leave, expense claims and others), how each stands and who it waits for.

    The newest 20 come first. `waiting_approval` is awaiting a decision, by those whom
    `waits_for` names; `collecting` and `confirming` wait for you.
    """
    caller = ctx.caller
    found, older = await runs.listed(
        caller.tenant, caller.id, status, flow, None, MOST_REQUESTS, aside()
    )
    whole = {run.id: _whole_of(run) for run in found}
    awaited: dict[str, list[ApprovalRecord]] = {id_: [] for id_ in whole.values()}
    for approval in await runs.awaited(caller.tenant, list(whole)):
        awaited[whole[approval.run]].append(approval)
    said = Said(kind or ANY, ctx.now)
    asked = [run for run in found if not run.is_branch and said.is_kind(run)]
    items = [await _request(ctx, run, awaited[run.id], people) for run in asked]
    lines = [_said(ctx, run, item) for run, item in zip(asked, items, strict=True)]
    return Requests(items=items, more=older is not None, summary=in_short(lines, ctx.locale))


def _said(ctx: ToolContext, run: RunRecord, item: Request) -> str:
    people = [one.name for one in item.waits_for]
    since = item.since.isoformat()
    stands = standing(item.title, item.status, run.slots, people, since, ctx.locale)
    if not item.files:
        return stands
    files = _LIST[ctx.locale].join(item.files)
    return f"{stands}；附件：{files}" if ctx.locale == "zh" else f"{stands}; files: {files}"


def _whole_of(run: RunRecord) -> str:
    """The request that the run is, or that it is a branch of: people wait for the one."""
    return str(run.parent).rsplit("/", 1)[-1] if run.is_branch else run.id


async def _request(
    ctx: ToolContext, run: RunRecord, awaited: Sequence[ApprovalRecord], people: Directory
) -> Request:
    zone = ctx.now.tzinfo
    return Request(
        id=run.id,
        flow=run.flow,
        title=run.title.within(ctx.locale),
        status=run.status,
        state=run.state,
        asked=run.created_at.astimezone(zone),
        since=_since(run).astimezone(zone),
        waits_for=[await _awaited(one, ctx.caller, people, zone) for one in awaited[:MOST_NAMES]],
        others=max(len(awaited) - MOST_NAMES, 0),
        files=list(dict.fromkeys(run.files.values()))[:MOST_NAMES],
    )


async def _awaited(
    approval: ApprovalRecord, caller: Principal, people: Directory, zone: tzinfo | None
) -> Awaited:
    person = await people.find(caller.tenant, approval.person)
    return Awaited(
        name=person.name if person else approval.person,
        since=approval.since.astimezone(zone),
        due=approval.due.astimezone(zone) if approval.due else None,
    )


def _since(run: RunRecord) -> datetime:
    """Reminders publish a run anew, so that `updated_at` is no answer; its history is."""
    here = takewhile(lambda line: line.state == run.state, reversed(run.history))
    moments = [line.at for line in here] or [run.updated_at]
    return moments[0] if run.status in ENDED else moments[-1]
