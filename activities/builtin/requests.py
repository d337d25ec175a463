"""What the caller has asked for, as tools: how each stands, taking one back, hurrying one."""

from collections.abc import Sequence
from datetime import datetime
from itertools import takewhile
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from activities import provided
from activities.builtin.standing import (
    ANY,
    RequestStanding,
    RunMention,
    can_be_taken_back,
    in_short,
    offer_of,
    run_meant,
)
from activities.phrases import OWN, REQUEST, REQUEST_EN, whole
from activities.provided import Connect
from activities.tell_flow import own_share
from router.domain.errors import Conflict, PermanentToolError
from router.domain.locale import Localised
from router.domain.messages import ENDED, FlowStatus
from router.domain.principals import Directory
from router.domain.records import ApprovalRecord, RunRecord
from router.flow.engine.events import Cancelled, Nudged
from router.gateway.run_updates import WHY_NOT, NotNow, RunLocked, RunStanding, tell, to_remind
from router.gateway.withdrawals import Withdrawals
from router.store.flow_runs import Runs
from router.tool.context import Depends, ToolContext
from router.tool.labels import ChineseLabel
from router.tool.tool import tool

MOST_REQUESTS = 20
MOST_NAMES = 5
"""People named for one request; a whole department may be asked, of which anyone decides.
And so many of its files."""


class Awaited(BaseModel):
    """Someone whose decision a request waits for."""

    name: str
    since: datetime
    due: datetime | None
    """When the request expires undecided; null where it doesn't."""


class RequestView(BaseModel):
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
    files: list[str] = []


class Requests(BaseModel):
    """The newest requests; `more` says whether there are older ones."""

    items: list[RequestView]
    more: bool
    summary: str = ""
    """How they stand, in the language of the conversation."""


_EARLIER = (
    "(?:(?:上|这|本)(?:周|个?月|次|星期)|前(?:几|两)?天|昨天|今天|刚才|刚刚|之前|早上|上午)?"
    "(?:提|交|申请|报|请|提交)(?:了)?"
)
_STANDS = (
    "(?:审?批|通过|批准)(?:完|好|过|下来)?(?:了)?(?:吗|没有?|么)|(?:有没有|有)(?:结果|消息|进展)(?:了)?(?:吗|没有?|么)?"
    "|[到在卡停](?:在|到|了)*(?:谁|哪)(?:那?[里儿]|那|手[里上]|一?步)?|怎么样|什么情况"
)
_BY_NOW = "(?:现在|到底|已经|被|领导|老板|经理|还)*"
_DECIDED = "(?:审?批|通过|批准|同意)(?:完|好|过|下来|通过)?"


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
        # 我的申请怎么样了
        whole(f"{OWN}(?P<kind>{REQUEST})(?:都|现在|进行|办理?|处理|审批|得)*(?:怎么?样|如何|咋样)"),
        whole(
            f"how (?:is|are) my (?P<kind>{REQUEST_EN})"
            "(?: (?:doing|going|coming along|getting on|looking))?"
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
        # With what people put around it: 我上周提的那个假批下来没、那个单子卡在谁手里
        whole(
            f"(?:我|我们)?{_EARLIER}(?:的|那|个|条|份|笔)*(?:{REQUEST}|单子|东西)?"
            f"(?:现在|到底|审批)*(?:{_STANDS})"
        ),
        whole(
            "(?:is there )?any (?:news|updates?|word|progress) (?:on|about|of) my "
            f"(?P<kind>{REQUEST_EN})"
        ),
        whole(
            f"(?:did|has|is) my (?P<kind>{REQUEST_EN}) (?:go(?:ne)? (?:through|thru)|come through"
            "|get approved|done)(?: yet)?"
        ),
        whole(f"who(?:'s| is)? (?:sitting on|holding(?: up)?|got|has) my (?P<kind>{REQUEST_EN})"),
        whole(
            f"(?:(?:i )?haven'?t heard(?: back)?(?: anything)? (?:on|about) my {REQUEST_EN},? ?)?"
            "where(?:'s|s| is) (?:it|that)(?: at| now)*"
        ),
        # Of whatever there is: 进度怎么样了、到谁那了、批了吗、卡在哪了、有消息吗
        whole(f"{OWN}(?:审批|现在|目前)*(?:进度|进展)(?:怎么样|如何|咋样|到哪)?"),
        whole(
            f"{OWN}(?:单子|东西)?(?:现在|审批|流程|批|走|审)*[到在卡停](?:在|到|了)*(?:谁|哪)(?:那?[里儿]|那|手[里上]|一?步)?"
        ),
        whole(f"{OWN}{_BY_NOW}(?:有没有|是不是){_BY_NOW}(?:{_DECIDED})了?"),
        whole(f"{OWN}{_BY_NOW}(?:{_DECIDED})(?:了(?:吗|么|没有?|不)|没有?)"),
        whole(f"{OWN}还没有?(?:{_DECIDED})"),
        whole(
            f"{OWN}(?:大概|还要|得|要)*(?:什么时候|几时|何时|多久)(?:才|能|会)*(?:{_DECIDED}|有结果)"
        ),
        whole(
            "(?:审批|申请)?(?:有没有?|有)(?:新的?)?(?:消息|结果|进展|回复|回音)(?:了|没|没有)*|(?:审批)?结果(?:怎么样|出来)"
        ),
        whole("any (?:news|updates?|progress|word)(?: yet| on (?:it|that|this|my request))*"),
        whole(
            "(?:has|is|was) (?:it|that|this)(?: been| already| still)* "
            "(?:approved|rejected|decided|through|pending|granted|signed off)(?: yet| already)?"
        ),
        whole(
            "(?:who|where)(?:'s| has| is) (?:it|that|this)(?: now| at| with| stuck| waiting| for)*"
        ),
        whole(
            "(?:what(?:'s| is) )?(?:the |its )?(?:approval )?(?:status|progress)"
            "(?: of (?:it|that))?"
        ),
        whole("when (?:will|is) (?:it|that|this)(?: going to)?(?: be)? (?:approved|decided|done)"),
    ],
)
async def get_my_requests(
    ctx: ToolContext,
    runs: Annotated[Runs, Depends(provided.runs)],
    people: Annotated[Directory, Depends(provided.directory)],
    kinds: provided.Kinds,
    status: Annotated[
        FlowStatus | None,
        Field(description="Only those of this status; all where left out"),
        ChineseLabel("申请状态"),
    ] = None,
    flow: Annotated[
        str | None,
        Field(
            description='Only those of this flow, such as "leave_request"; all where left out',
            pattern="^[a-z0-9_]{1,64}$",
        ),
        ChineseLabel("流程"),
    ] = None,
    kind: Annotated[
        str | None,
        Field(description='Only those called so, in words such as "leave"', max_length=60),
        ChineseLabel("哪一类"),
    ] = None,
) -> Requests:
    """Your requests (leave, expense claims and others), how each stands and who it waits for.

    The newest 20 come first. `waiting_approval` is awaiting a decision, by those whom
    `waits_for` names; `collecting` and `confirming` wait for you.
    """
    caller = ctx.caller
    kinds = kinds.of(caller.tenant, caller.id)
    found, older = await runs.listed(
        caller.tenant, caller.id, status, flow, None, MOST_REQUESTS, kinds.look_ups()
    )
    whole = {run.id: _whole_of(run) for run in found}
    awaited: dict[str, list[ApprovalRecord]] = {id_: [] for id_ in whole.values()}
    for approval in await runs.awaited(caller.tenant, list(whole)):
        awaited[whole[approval.run]].append(approval)
    said = RunMention(kind or ANY, ctx.now, kinds)
    asked = [run for run in found if not run.is_branch and said.is_kind(run)]
    items = [await _request(ctx, run, awaited[run.id], people) for run in asked]
    stand = (_standing(run, item) for run, item in zip(asked, items, strict=True))
    return Requests(items=items, more=older is not None, summary=in_short(stand, ctx.locale))


def _standing(run: RunRecord, item: RequestView) -> RequestStanding:
    people, since = [one.name for one in item.waits_for], item.since.isoformat()
    return RequestStanding(item.title, item.status, run.slots, people, since, item.files)


def _whole_of(run: RunRecord) -> str:
    return str(run.parent).rsplit("/", 1)[-1] if run.is_branch else run.id


async def _request(
    ctx: ToolContext, run: RunRecord, awaited: Sequence[ApprovalRecord], people: Directory
) -> RequestView:
    zone, waits_for = ctx.now.tzinfo, []
    for one in awaited[:MOST_NAMES]:
        person = await people.find(ctx.caller.tenant, one.person)
        name, due = person.name if person else one.person, one.due and one.due.astimezone(zone)
        waits_for.append(Awaited(name=name, since=one.since.astimezone(zone), due=due))
    # Reminders publish a run anew, so that `updated_at` is no answer; its history is.
    here = takewhile(lambda line: line.state == run.state, reversed(run.history))
    moments = [line.at for line in here] or [run.updated_at]
    since = moments[0] if run.status in ENDED else moments[-1]
    return RequestView(
        id=run.id,
        flow=run.flow,
        title=run.title.within(ctx.locale),
        status=run.status,
        state=run.state,
        asked=run.created_at.astimezone(zone),
        since=since.astimezone(zone),
        waits_for=waits_for,
        others=max(len(awaited) - MOST_NAMES, 0),
        files=list(dict.fromkeys(run.files.values()))[:MOST_NAMES],
    )


Which = Annotated[
    str,
    Field(
        description="Which request: its id, or what it is called and when it is for, such as"
        " leave for next Monday or 上周的请假; left out where the caller names none",
        min_length=1,
        max_length=100,
    ),
    ChineseLabel("哪个申请"),
]
Temporal = Annotated[Connect, Depends(provided.temporal)]
AllRuns = Annotated[Runs, Depends(provided.runs)]
GivenQueue = Annotated[str, Depends(provided.task_queue)]
RequestOutcome = Literal["withdrawn", "under_way", "asked", "reminded"] | NotNow

_SAID: dict[RequestOutcome, Localised] = {
    "withdrawn": Localised(zh="已经撤回。", en="It is taken back."),
    "under_way": Localised(
        zh="正在撤回，已经办了的事还在取消。",
        en="It is being taken back; what it did is being undone.",
    ),
    "asked": Localised(
        zh="这项已经办完了，撤回要先经过审批，有结果会告诉你。",
        en="It was completed, so taking it back has to be approved first; you'll hear.",
    ),
    "reminded": Localised(zh="已经提醒审批人。", en="The approvers were reminded."),
    "reminded_lately": WHY_NOT["reminded_lately"],
    "nobody_awaited": WHY_NOT["nobody_awaited"],
    "already_over": WHY_NOT["already_over"],
}


_TAKE_BACK = "(?:撤回|撤销|撤掉|取消|收回)"
_WHOSE = "(?:我|我们)?(?:的|上次|刚才|刚刚|之前|最近|已经|提交|交|申请|那|这|个|条|份|笔|次)*"
_TIME = "[0-9零一二三四五六七八九十两上下个这本前昨今明后大天日周月号年星期礼拜初底至到和~-]"
_WHEN = f"(?:{_TIME}{{1,16}}(?:的|那[个次条份笔]|提交的|申请的)*)?"
_NAMED = f"(?P<request>{_WHEN}{{NAME_ZH}})(?:申请|单|流程)?"
"""Which request: its kind, and the days that it is for or was made on."""
_DAY_EN = (
    "(?:next|last|this|the|coming|week|month|today|tomorrow|yesterday|to|until|till|and|from"
    "|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    "|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*|[0-9]{1,4}(?:st|nd|rd|th)?)"
)
_MY = "(?:(?:my|the|that|this|our) )?(?:(?:latest|pending|open|recent) )*"
_SUBMITTED = "(?: (?:that )?(?:i )?(?:just )?(?:submitted|sent|filed|made))?"
_NAMED_EN = (
    "(?P<request>(?:(?:last|yesterday's|(?:last|next|this) week's) )*"
    f"{{NAME_EN}}(?: (?:{{NAME_EN}}|request|application))*{_SUBMITTED}"
    f"(?:(?: (?:for|on|from|of|in|starting))?(?:[ ,]+{_DAY_EN})+)?)"
)
_APPROVER = "(?:我的?)?(?:直属)?(?:经理|领导|老板|审批人|主管|上级|财务|人事|他们|他|她)"
_APPROVER_EN = (
    "(?:(?:my |the )?(?:approvers?|manager|boss|supervisor|director)|him|her|them"
    "|whoever has (?:it|my request))"
)


class Told(BaseModel):
    """What came of a word to a request, and how it stands now."""

    request: str
    title: str
    outcome: RequestOutcome
    status: FlowStatus
    waits_for: list[str] = []
    others: int = 0
    """How many more it waits for than `waits_for` names."""
    said: str
    """The outcome in the language of the conversation."""
    summary: str
    """The same with the request's title: all that a person is told without a model."""


async def _is_under_way(
    ctx: ToolContext, runs: AllRuns, kinds: provided.Kinds, request: Which = ANY
) -> Localised:
    run = await run_meant(request, ctx, runs, kinds, completed=True)
    if run.status in ENDED and not can_be_taken_back(run):
        raise PermanentToolError(_SAID["already_over"])
    return offer_of(run, ctx.now.tzinfo).label


async def _may_be_hurried(
    ctx: ToolContext, runs: AllRuns, kinds: provided.Kinds, request: Which = ANY
) -> Localised:
    run = await run_meant(request, ctx, runs, kinds, submitted=True)
    _, outcome = await to_remind(runs, run, ctx.now)
    if outcome is not None:
        raise PermanentToolError(_SAID[outcome])
    return offer_of(run, ctx.now.tzinfo).label


@tool(
    permission="write",
    request=False,
    check=_is_under_way,
    timeout="15s",
    title={"zh": "撤回申请", "en": "Withdraw a request"},
    description_zh="撤回你自己的申请，已经办了的会取消；已经办完的先经过审批。",
    examples=[
        "撤回我的请假申请",
        "我的报销不报了，撤回来",
        "取消已经提交的申请",
        "撤回我上周的请假",
        "撤回下周一的年假",
        "withdraw my leave request",
        "take back the expense claim I submitted",
        "withdraw the leave for next Monday",
    ],
    phrases=[
        # 取消、不请了、cancel it: nothing is being asked just now, so a request is meant
        whole(
            "(?:算了,?)?(?:都|还是|先)?取消(?:它|掉|这个|这次|申请)?"
            "|(?:算了,?)?我?不(?:{VERB_ZH}|{NAME_ZH}|申请)"
        ),
        # 撤回、撤回来、把申请撤了
        whole("把?(?:它|这个|申请)?(?:撤回|撤销|撤掉|收回|撤)(?:来|去|掉)?(?:它|这个|申请)?"),
        # 我要销假: leave that was agreed to already
        whole("(?:提前|申请)?销(?P<request>假)(?:申请)?"),
        whole(
            "(?:never ?mind,? ?)?(?:cancel|withdraw|take back)"
            "(?: (?:it|this|that|the request|my request))?"
        ),
        # 撤回我的请假、我要撤销昨天的报销申请
        whole(f"{_TAKE_BACK}{_WHOSE}{_NAMED}"),
        # 把我的请假撤了、我的报销不报了，撤回来
        whole(
            f"把?{_WHOSE}{_NAMED}(?:不(?:{{VERB_ZH}}|要)了)?,?(?:帮我)?(?:{_TAKE_BACK}|撤)(?:来|掉)?"
        ),
        # 取消已经提交的申请
        whole(f"{_TAKE_BACK}(?:我|已经|已|刚才?|刚刚)*(?:的|提交|交)*(?:的)?申请"),
        # withdraw my leave request, take back the expense claim I submitted
        whole(
            "(?:never ?mind,? ?|actually,? ?)?(?:withdraw|cancel|take back|retract|revoke|recall) "
            f"{_MY}{_NAMED_EN}{_SUBMITTED}"
        ),
    ],
)
async def withdraw_request(
    ctx: ToolContext,
    runs: AllRuns,
    kinds: provided.Kinds,
    connect: Temporal,
    queue: GivenQueue,
    request: Which = ANY,
    comment: Annotated[
        str | None, Field(description="Why, if you like", max_length=1000), ChineseLabel("原因")
    ] = None,
) -> Told:
    """Take back a request of your own; what it did already is undone.

    One that was completed is taken back after its approvers have agreed to that.
    """
    run = await run_meant(request, ctx, runs, kinds, completed=True)
    if can_be_taken_back(run):
        withdrawing = Withdrawals(await connect(), queue, runs, own_share())
        begun = await withdrawing.under_way(run)
        if begun is None or begun.status in ENDED:
            word = f"withdraw:{ctx.key}"
            begun = await withdrawing.begin(run, ctx.caller, ctx.locale, comment, word)
        return _told(ctx, run, "asked", begun.status)
    if run.status in ENDED:
        return _told(ctx, run, "already_over", run.status)
    standing = await _tell(ctx, run, connect, Cancelled(by=ctx.caller.id, comment=comment))
    if standing is None:
        ended = await _status(ctx, run, runs)
        # A try before this one may have done it, and was cut short before it could say so.
        return _told(ctx, run, "withdrawn" if ended == "cancelled" else "already_over", ended)
    outcome: RequestOutcome = "already_over" if standing.status in ENDED else "under_way"
    if standing.status == "cancelled":
        outcome = "withdrawn"
    return _told(ctx, run, outcome, standing.status)


@tool(
    permission="write",
    request=False,
    check=_may_be_hurried,
    timeout="15s",
    title={"zh": "催办审批", "en": "Remind the approver"},
    description_zh="提醒正在等其审批的人，每小时最多一次。",
    examples=[
        "催一下我的请假审批",
        "帮我催催经理批报销",
        "我的申请一直没人批，提醒一下",
        "remind my manager to approve my leave",
        "nudge whoever has my expense claim",
    ],
    phrases=[
        # 催一下、帮我催催经理、催一下我的请假审批
        whole(
            f"(?:催|催催|催办|催促|催一催)(?:一?下)?(?:{_APPROVER})?(?:尽快|快点"
            f"|赶紧)?(?:审?批(?:一下)?)?(?:{_WHOSE}{_NAMED})?(?:的)?(?:审批)?"
        ),
        # 提醒一下审批人、提醒经理审批
        whole(
            f"提醒(?:一?下)?(?:{_APPROVER})(?:尽快|快点"
            f"|赶紧)?(?:审?批(?:一下)?)?(?:{_WHOSE}{_NAMED})?"
        ),
        # nudge my approver, remind my manager to approve my leave
        whole(
            f"(?:nudge|remind|chase(?: up)?|ping|poke|hurry(?: up)?) {_APPROVER_EN}"
            f"(?: again)?(?: (?:about|to (?:approve|decide on|look at)) (?:it|{_MY}{_NAMED_EN}))?"
        ),
        # send a reminder to my manager
        whole(
            f"send (?:{_APPROVER_EN} )?(?:a |another )reminder(?: to {_APPROVER_EN})?"
            f"(?: about {_MY}{_NAMED_EN})?"
        ),
    ],
)
async def nudge_approver(
    ctx: ToolContext,
    runs: AllRuns,
    kinds: provided.Kinds,
    people: Annotated[Directory, Depends(provided.directory)],
    connect: Temporal,
    request: Which = ANY,
) -> Told:
    """Remind those whose decision a request of your own waits for; once an hour at most."""
    run = await run_meant(request, ctx, runs, kinds, submitted=True)
    asking, outcome = await to_remind(runs, run, ctx.now)
    if outcome is not None:
        return _told(ctx, run, outcome, run.status)
    asked = await runs.awaited(ctx.caller.tenant, [one.id for one in asking])
    told = [await _tell(ctx, one, connect, Nudged(by=ctx.caller.id)) for one in asking]
    standings = [standing for standing in told if standing is not None]
    if not standings:
        return _told(ctx, run, "already_over", await _status(ctx, run, runs))
    standing = next((s for s in standings if s.status == "waiting_approval"), None)
    if standing is None:
        return _told(ctx, run, "nobody_awaited", standings[0].status)
    found = [await people.find(one.tenant, one.person) for one in asked]
    names = [one.name for one in found if one is not None]
    return _told(ctx, run, "reminded", standing.status, names)


async def _tell(
    ctx: ToolContext, run: RunRecord, connect: Connect, event: Cancelled | Nudged
) -> RunStanding | None:
    """How the run stands after the word; None where it was over before it heard."""
    try:
        return await tell(await connect(), run, ctx.caller, event, f"{event.type}:{ctx.key}")
    except RunLocked:
        raise
    except Conflict:
        return None


async def _status(ctx: ToolContext, run: RunRecord, runs: Runs) -> FlowStatus:
    now = await runs.find(ctx.caller.tenant, run.id)
    return now.status if now is not None else run.status


def _told(
    ctx: ToolContext,
    run: RunRecord,
    outcome: RequestOutcome,
    status: FlowStatus,
    waits_for: Sequence[str] = (),
) -> Told:
    title, said = run.title.within(ctx.locale), _SAID[outcome].within(ctx.locale)
    return Told(
        request=run.id,
        title=title,
        outcome=outcome,
        status=status,
        waits_for=list(waits_for[:MOST_NAMES]),
        others=max(len(waits_for) - MOST_NAMES, 0),
        said=said,
        summary=f"{title}：{said}" if ctx.locale == "zh" else f"{title}: {said}",
    )
