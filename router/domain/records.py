"""Rows as the rest of the house sees them; nothing above the store knows a table."""

import hashlib
from datetime import datetime, timedelta
from typing import Any, Literal, Self, get_args

from pydantic import BaseModel, JsonValue, ValidationError

from router.domain.file_types import safe_name, type_of
from router.domain.locale import Locale, Localised
from router.domain.messages import ENDED, FlowStatus, RouteBy, RouteKind, Turn
from router.domain.principals import Principal
from router.domain.run_history import HistoryEntry, Incident
from router.domain.value import Value

LogKind = Literal[
    "message",
    "route",
    "flow",
    "turn",
    "approval",
    "tool_started",
    "tool_finished",
    "thinking",
    "plan",
    "model",
    "handoff",
]


class Record(Value):
    """Base of all rows."""


class ConversationRecord(Record):
    """A conversation belongs to one person of one tenant, for ever."""

    id: str
    tenant: str
    owner: str
    locale: Locale
    created_at: datetime
    metadata: dict[str, JsonValue] = {}


class LogEntry(Record):
    """One row of the append-only event log.

    `key` is unique within the tenant: appending it again does nothing, so that a retry
    writes once. Entries of kind `message` make up the transcript; their data is
    `{role, text, replies?, route?, message_id?}`. Those of kind `turn` hold
    `{digest, turn}` and answer a repeated message id. Those of tools and of thinking are made
    by `router.domain.progress`. `recipient` is set where the entry is news for a person, as an
    approval is; with a `conversation` besides it is part of both, as what is said there is.
    """

    key: str
    kind: LogKind
    at: datetime
    conversation: str | None = None
    recipient: str | None = None
    message_id: str | None = None
    data: dict[str, JsonValue]
    sequence: int | None = None
    """Assigned by the log: the order of appending, and the cursor to read on from."""


class ConversationPreview(Record):
    """What a list shows of a conversation in which something was said."""

    opening: str
    latest: int
    """The number of the last `message` entry: higher than the one last seen, there is news."""
    latest_at: datetime


class RecordedTurn(Record):
    """What a message id was answered with, and the digest of the body it came with."""

    digest: str
    turn: Turn


class Remedy(Record):
    """What a completed run is taken back with: its definition by fingerprint, and what it did."""

    definition: str
    done: list[dict[str, JsonValue]]
    tools: dict[str, dict[str, JsonValue]] = {}
    results: dict[str, JsonValue] = {}


class RunRecord(Record):
    """A flow run as it was last published. `events` orders publications: the highest wins."""

    id: str
    tenant: str
    workflow_id: str
    run_id: str
    flow: str
    title: Localised
    version: int
    status: FlowStatus
    state: str
    slots: dict[str, JsonValue]
    requester: str
    conversation: str | None
    parent: str | None = None
    """The workflow id of the run that started this one, where it waits for it."""
    history: list[HistoryEntry]
    incident: Incident | None = None
    """Why the run waits for an operator, if it does."""
    asked: dict[str, int] = {}
    """How often each slot was asked for."""
    events: int
    created_at: datetime
    updated_at: datetime
    readers: list[str] = []
    """Who may look at it besides requester and approvers: those who were told of approvals."""
    files: dict[str, str] = {}
    """What the files in its slots are called, by id."""
    withdraws: str | None = None
    """The completed run, by public id, that this one is there to take back."""
    withdrawn_by: str | None = None
    """The run that takes this one back, or tried to."""
    remedy: Remedy | None = None
    """How it is taken back; of a completed run that can be."""

    @property
    def is_held(self) -> bool:
        """True if the run waits for an operator."""
        return self.incident is not None and self.status not in ENDED

    @property
    def is_lost(self) -> bool:
        """True if the run is known to have no workflow, and nobody has closed it yet."""
        return self.is_held and self.incident is not None and self.incident.kind == "lost"

    @property
    def is_branch(self) -> bool:
        """True for a part of another run of the same flow: people know the two as one request."""
        return self.parent is not None and self.parent.startswith(f"{self.flow}/")


class RunHead(Record):
    """Where a run stands, without what it is about."""

    id: str
    tenant: str
    workflow_id: str
    requester: str
    status: FlowStatus
    state: str
    events: int
    updated_at: datetime
    held: bool


LOST = "lost"
"""The event in the history of a run that was found to have no workflow any more."""


class RunFilter(Record):
    """Which runs are wanted, besides what every list narrows by."""

    person: str | None = None
    waiting_for: str | None = None
    held: bool | None = None
    since: datetime | None = None
    quiet_since: datetime | None = None
    expires_before: datetime | None = None
    """An approval that it waits for expires before then."""


EVERY_RUN = RunFilter()


class RoutedTurn(Record):
    """A recorded turn, and whose conversation it is of."""

    tenant: str
    conversation: str
    message_id: str
    sequence: int
    at: datetime
    person: str
    locale: Locale
    turn: Turn


class TurnFilter(Record):
    """Which turns are wanted; each field that isn't None narrows them."""

    person: str | None = None
    conversation: str | None = None
    message_id: str | None = None
    since: datetime | None = None
    kind: RouteKind | None = None
    by: RouteBy | None = None
    target: str | None = None


class WithdrawalNote(Record):
    """What a run that takes back a completed one has to say of it; `status` once it has."""

    tenant: str
    run: str
    withdrawn_by: str
    status: FlowStatus | None = None
    line: HistoryEntry


class Waiting(Record):
    """Approvals that wait for a decision: how many, and `since` when the oldest; None for none."""

    count: int
    since: datetime | None
    expiring: int = 0
    """How many of them expire within `EXPIRING`."""


EXPIRING = timedelta(days=1)
"""Approvals that expire within that are listed as about to."""


class Orphaned(Record):
    """How many approvals wait for, or requests are of, somebody who isn't in the directory."""

    tenant: str
    person: str
    count: int


class ChangedField(Record):
    """What was said of one thing, by its label, and is now; empty where nothing was."""

    label: str
    before: str
    now: str

    @property
    def worded(self) -> str:
        """Both in a line."""
        return f"{self.before or '-'} → {self.now or '-'}"


class ApprovalRecord(Record):
    """A decision that a person was asked for. `verdict` is None while it is awaited."""

    id: str
    tenant: str
    run: str
    workflow_id: str
    flow: str
    person: str
    requester: str
    title: Localised
    summary: dict[str, Localised]
    labels: dict[str, Localised]
    digest: str
    since: datetime
    due: datetime | None = None
    """Until when they may decide: before it goes to somebody else, or expires."""
    expires: datetime | None = None
    """When nobody may decide any more."""
    active: bool = True
    """True while this person's decision is what the run waits for."""
    verdict: str | None = None
    comment: str | None = None
    decided_at: datetime | None = None
    """When the verdict was given."""
    bulk: bool = False
    """True where it may be decided together with others."""

    def summary_in(self, locale: Locale) -> dict[str, str]:
        """What is decided on, by label, as its person reads it: what the digest stands for."""
        return {
            self.labels[slot].within(locale): value.within(locale)
            for slot, value in self.summary.items()
        }

    def changes_since(self, earlier: "ApprovalRecord", locale: Locale) -> list[ChangedField]:
        """How what is decided on differs from what was decided on then, as its person reads it."""
        then, now = earlier.summary_in(locale), self.summary_in(locale)
        return [
            ChangedField(label=label, before=then.get(label, ""), now=now.get(label, ""))
            for label in {**now, **then}
            if then.get(label, "") != now.get(label, "")
        ]


class FileRecord(Record):
    """A file that somebody handed in or had made, without its content. It never changes."""

    id: str
    """Opaque and URL-safe: see `router.domain.file_types.is_file_id`."""
    tenant: str
    owner: str
    name: str
    type: str
    size: int
    sha256: str
    at: datetime

    @classmethod
    def of(
        cls, id_: str, owner: Principal, name: str, content: bytes, at: datetime, said: str = ""
    ) -> Self:
        """The row of a file of `owner`'s; `name` and the type that was `said` are but claims."""
        return cls(
            id=id_,
            tenant=owner.tenant,
            owner=owner.id,
            name=safe_name(name, content),
            type=type_of(content, said),
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            at=at,
        )


class EffectRecord(Record):
    """What the ledger knows of one write: `begun`, then `done` or for good `failed`."""

    key: str
    tool: str
    digest: str
    status: Literal["begun", "done", "failed"]
    result: JsonValue = None
    failure: dict[str, JsonValue] | None = None
    """Why it failed, as `router.contracts.failures.to_json` writes it."""


class AuditRecord(Record):
    """One call of a tool, refused, `checked` or made; `detail` says why it came to nothing."""

    at: datetime
    person: str
    tool: str
    digest: str
    decision: Literal["admitted", "refused", "checked"]
    outcome: Literal["done", "cached", "failed", "unknown", ""] = ""
    detail: str = ""
    key: str = ""
    flow_run: str | None = None
    conversation: str | None = None


class Mailbox(Record):
    """Where a chat platform (`platform`) gets what is said in a conversation, or to a person.

    `place` is the platform's own; what comes after `position` may be posted from `due` on. `news`
    is the number of the last that there was to post when the mailbox was read.
    """

    tenant: str
    platform: str
    kind: Literal["conversation", "person"]
    subject: str
    place: dict[str, str]
    position: int = 0
    due: datetime
    news: int = 0


READ_ON = "read_more"
"""The tool that gives the next page: it takes a `handle` and the number of a `page`."""


class ResultPage(BaseModel):
    """A part of a result's JSON. `read_more` is the handle to read on with, if it goes on.

    It comes first: whoever cuts what is shown of a page cuts behind it.
    """

    read_more: str | None = None
    page: int
    pages: int
    text: str


def page_in(value: Any) -> ResultPage | None:
    """The page that a result is; None where it is anything else."""
    if not isinstance(value, dict) or value.keys() != ResultPage.model_fields.keys():
        return None
    try:
        return ResultPage.model_validate(value, strict=True)
    except ValidationError:
        return None


Act = Literal[
    "run.read",
    "run.retry",
    "run.terminate",
    "run.reassign",
    "run.lost",
    "run.reconcile",
    "runs.list",
    "route.read",
    "routes.list",
    "traffic.read",
    "flow.statistics",
    "spending.read",
    "lessons.read",
    "flow_drafts.impact",
    "prompts.read",
    "prompts.share",
    "prompts.rollback",
    "workflows.list",
    "webhooks.list",
    "webhooks.retry",
    "configuration.write",
    "configuration.activate",
    "configuration.retire",
    "review.submit",
    "review.decide",
    "review.withdraw",
    "publication.publish",
    "publication.share",
    "publication.rollback",
    "publication.call_off",
    "file.read",
    "payloads.decode",
    "payloads.encode",
    "person.sign_in",
    "person.speak_for",
    "person.erase",
    "legal_hold.place",
    "legal_hold.release",
    "conversation.forget",
    "handoff.take",
    "handoff.close",
    "conversations.expire",
    "conversations.export",
]
ACTS: tuple[Act, ...] = get_args(Act)

SHELL = "shell:"
"""Before the account of whoever typed a command on the house's own machine: no user id has one."""
UPKEEP = "process:upkeep"
"""Who notes what a process does by itself."""

TITLES: dict[Act, Localised] = {
    "run.read": Localised(zh="查看他人的流程实例", en="looked at somebody else's run"),
    "run.retry": Localised(zh="让流程重试", en="had a run tried again"),
    "run.terminate": Localised(zh="终止流程", en="ended a run"),
    "run.reassign": Localised(zh="改派审批", en="had somebody else decide"),
    "run.lost": Localised(zh="发现流程中断", en="found a run without its workflow"),
    "run.reconcile": Localised(zh="核对后修正流程", en="put a run right, as Temporal has it"),
    "runs.list": Localised(zh="列出所有人的流程实例", en="listed everyone's runs"),
    "route.read": Localised(zh="查看一次路由的依据", en="looked at why a turn went where it did"),
    "routes.list": Localised(zh="列出所有人的路由", en="listed where everyone's turns went"),
    "flow_drafts.impact": Localised(
        zh="查看流程草稿会改变哪些说法", en="looked at which sentences a draft of a flow changes"
    ),
    "lessons.read": Localised(zh="查看可改进之处", en="looked at what might be mended"),
    "spending.read": Localised(zh="查看模型费用", en="looked at what models cost on some days"),
    "prompts.read": Localised(zh="查看提示词版本", en="looked at the versions of prompts"),
    "prompts.share": Localised(zh="调整提示词份额", en="set the shares of a prompt"),
    "prompts.rollback": Localised(zh="撤回提示词的份额", en="took back the shares of a prompt"),
    "flow.statistics": Localised(zh="查看流程的统计", en="looked at how a flow goes"),
    "traffic.read": Localised(zh="查看业务统计", en="looked at the traffic of some days"),
    "workflows.list": Localised(
        zh="查看卡住的工作流", en="listed workflows whose tasks fail again and again"
    ),
    "webhooks.list": Localised(zh="查看未送达的事件", en="listed events that weren't delivered"),
    "webhooks.retry": Localised(zh="重新发送事件", en="had an event sent again"),
    "configuration.write": Localised(zh="写下配置的新版本", en="wrote a version of a document"),
    "configuration.activate": Localised(
        zh="启用配置的一个版本", en="let a version of a document hold"
    ),
    "configuration.retire": Localised(zh="停用一份配置", en="took a document out of use"),
    "review.submit": Localised(zh="提交流程评审", en="submitted a draft of a flow"),
    "review.decide": Localised(zh="评审流程草稿", en="approved or refused a draft of a flow"),
    "review.withdraw": Localised(zh="撤回流程评审", en="withdrew a draft of a flow"),
    "publication.publish": Localised(zh="发布流程的新版本", en="published a version of a flow"),
    "publication.share": Localised(
        zh="调整新版本对多少人生效", en="gave a version of a flow to another share of people"
    ),
    "publication.rollback": Localised(zh="撤回流程的新版本", en="took back a version of a flow"),
    "publication.call_off": Localised(
        zh="取消等着生效的版本", en="called off a version of a flow that was to come"
    ),
    "file.read": Localised(zh="打开他人的文件", en="opened somebody else's file"),
    "payloads.decode": Localised(zh="解密 Temporal 内容", en="had Temporal's payloads decrypted"),
    "payloads.encode": Localised(zh="加密 Temporal 内容", en="had payloads for Temporal encrypted"),
    "person.sign_in": Localised(zh="免密登录（dev）", en="signed in without a proof (dev)"),
    "person.speak_for": Localised(zh="服务账号代人发言", en="spoke for a person, as a service"),
    "person.erase": Localised(zh="删除一个人的数据", en="erased a person"),
    "legal_hold.place": Localised(zh="设为依法保留", en="placed a legal hold"),
    "legal_hold.release": Localised(zh="解除依法保留", en="released a legal hold"),
    "conversation.forget": Localised(zh="删除自己的对话", en="deleted a conversation"),
    "handoff.take": Localised(zh="接手一个转人工的对话", en="took a conversation handed over"),
    "handoff.close": Localised(zh="结束一个转人工", en="ended a hand-off"),
    "conversations.expire": Localised(zh="确认清理到期内容", en="had much expire at once"),
    "conversations.export": Localised(zh="导出对话", en="exported what people said"),
}


class AuditEntry(Record):
    """A line of the trail, from before the act.

    `who` is a user id, `SHELL` and an account, or `UPKEEP`.
    """

    id: str
    tenant: str
    at: datetime
    who: str
    act: Act
    subject: str = ""
    """The public id of what it was done to: a run, a file, `conversation/message id`."""
    whose: str = ""
    reason: str = ""
    detail: str = ""
    """What else there is to the act, such as `bob ▸ carol`; never anybody's words."""
    request_id: str = ""
    trace_id: str = ""


class AuditFilter(Record):
    """Which lines are wanted; each field that isn't None narrows them."""

    who: str | None = None
    act: Act | None = None
    subject: str | None = None
    whose: str | None = None
    since: datetime | None = None
    besides: tuple[Act, ...] = ()
    """Acts whose lines are left out."""


LONGEST_MEMORY = 500
"""Characters of one thing that somebody asks to have remembered."""
MOST_MEMORIES = 100
"""Of one person."""


class MemoryRecord(Record):
    """One thing that a person asked to have remembered, in the words and language it was said in.

    The same thing said twice is one: the id is made of whose it is and of its words.
    """

    id: str
    text: str
    locale: Locale
    created_at: datetime

    @classmethod
    def of(cls, owner: Principal, text: str, locale: Locale, now: datetime) -> Self:
        """What this person asked for just now.

        >>> bob, at = Principal(id="bob", name="Bob"), datetime(2026, 11, 18)
        >>> one = MemoryRecord.of(bob, "I don't eat meat", "en", at)
        >>> one.id == MemoryRecord.of(bob, "i don't  eat meat.", "en", at).id
        True
        """
        bare = "".join(each for each in text.casefold() if each.isalnum()) or text
        whose = "\n".join([owner.tenant, owner.id, bare])
        id_ = hashlib.sha256(whose.encode()).hexdigest()[:24]
        return cls(id=id_, text=text, locale=locale, created_at=now)


class KeptAnswer(Record):
    """What a model once answered that is the same for everyone who may use these `tools`.

    `scope` is a digest of all that the answer depends on besides its `question`; an answer of
    another version of what the tools say has another one. After `until` it is asked anew.
    """

    id: str
    scope: str
    question: str
    text: str
    tools: list[str]
    kept_at: datetime
    until: datetime
