"""What operators did, and what was done past the usual doors: the lines of the audit trail."""

from datetime import datetime
from typing import Literal, get_args

from router.domain.records import Record
from router.domain.texts import Localised

Act = Literal[
    "run.read",
    "run.retry",
    "run.terminate",
    "run.reassign",
    "runs.list",
    "route.read",
    "routes.list",
    "file.read",
    "payloads.decode",
    "payloads.encode",
    "person.sign_in",
    "person.speak_for",
    "person.erase",
    "conversations.export",
]
ACTS: tuple[Act, ...] = get_args(Act)

SHELL = "shell:"
"""Before the account of whoever typed a command on the house's own machine: no user id has one."""

TITLES: dict[Act, Localised] = {
    "run.read": Localised(zh="查看他人的流程实例", en="looked at somebody else's run"),
    "run.retry": Localised(zh="让流程重试", en="had a run tried again"),
    "run.terminate": Localised(zh="终止流程", en="ended a run"),
    "run.reassign": Localised(zh="改派审批", en="had somebody else decide"),
    "runs.list": Localised(zh="列出所有人的流程实例", en="listed everyone's runs"),
    "route.read": Localised(zh="查看一次路由的依据", en="looked at why a turn went where it did"),
    "routes.list": Localised(zh="列出所有人的路由", en="listed where everyone's turns went"),
    "file.read": Localised(zh="打开他人的文件", en="opened somebody else's file"),
    "payloads.decode": Localised(zh="解密 Temporal 内容", en="had Temporal's payloads decrypted"),
    "payloads.encode": Localised(zh="加密 Temporal 内容", en="had payloads for Temporal encrypted"),
    "person.sign_in": Localised(zh="免密登录（dev）", en="signed in without a proof (dev)"),
    "person.speak_for": Localised(zh="服务账号代人发言", en="spoke for a person, as a service"),
    "person.erase": Localised(zh="删除一个人的数据", en="erased a person"),
    "conversations.export": Localised(zh="导出对话", en="exported what people said"),
}


class Deed(Record):
    """One line of the trail: added before the act is done, and never changed or deleted.

    So a line says that somebody set about it; what came of it is in what it was done to, such as
    the history of a run. `who` is a user id, or `SHELL` and an account of the machine.
    """

    id: str
    tenant: str
    at: datetime
    who: str
    act: Act
    subject: str = ""
    """The public id of what it was done to: a run, a file, `conversation/message id`."""
    whose: str = ""
    """Whose that is, where it is anybody's."""
    reason: str = ""
    """What the person said why."""
    detail: str = ""
    """What else there is to the act, such as `bob ▸ carol`; never anybody's words."""
    request_id: str = ""
    trace_id: str = ""


class DeedFilter(Record):
    """Which lines are wanted; each field that isn't None narrows them."""

    who: str | None = None
    act: Act | None = None
    subject: str | None = None
    whose: str | None = None
    since: datetime | None = None
