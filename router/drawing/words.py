"""What is written in a picture besides the file's own words, in both languages.

A kind of state or an exit that isn't here is shown under the name that it has in the file.
"""

from datetime import timedelta

from router.domain.texts import Locale, Localised
from router.flow.status_words import STATUSES

KINDS = {
    "collect": Localised(zh="收集", en="collects"),
    "check": Localised(zh="检查", en="checks"),
    "call": Localised(zh="调用", en="calls"),
    "flow": Localised(zh="办理另一流程", en="starts a flow"),
    "parallel": Localised(zh="同时进行", en="side by side"),
    "confirm": Localised(zh="请申请人确认", en="asks to confirm"),
    "approve": Localised(zh="审批", en="asks for approval"),
    "wait": Localised(zh="等待", en="waits"),
    "say": Localised(zh="告知", en="says"),
}
EXITS = {
    "next": Localised(zh="", en=""),
    "on_error": Localised(zh="出错", en="on error"),
    "confirmed": Localised(zh="确认", en="confirmed"),
    "declined": Localised(zh="不确认", en="declined"),
    "approved": Localised(zh="同意", en="approved"),
    "rejected": Localised(zh="拒绝", en="rejected"),
    "returned": Localised(zh="退回", en="sent back"),
    "expired": STATUSES["expired"],
    "late": Localised(zh="逾期", en="late"),
    "completed": STATUSES["completed"],
    "otherwise": Localised(zh="没有办成", en="otherwise"),
    "join": Localised(zh="汇合", en="joined"),
}
OTHERWISE = Localised(zh="否则", en="otherwise")
UNDONE_BY = Localised(zh="撤销用 {}", en="undone by {}")
REMINDS = Localised(zh="每 {}提醒一次", en="reminds every {}")
ESCALATES = Localised(zh="{}后升级给 {}", en="after {} goes to {}")
EXPIRES = Localised(zh="{}后过期", en="expires after {}")
UNTIL = Localised(zh="直到 {}", en="until {}")
FOR = Localised(zh="{}", en="for {}")
HERE = Localised(zh="现在在这里", en="it is here now")
TIMES = Localised(zh="{} 次，最近 {}", en="{}×, last {}")
SUMMARY = Localised(
    zh="{} 第 {} 版的流程图：{} 个状态，从 {} 开始，结束于 {}。",
    en="The flow {}, version {}: {} states; it begins with {} and ends with {}.",
)
WENT = Localised(zh="这一次经过：{}。", en="This run went through {}.")

_UNITS = (
    (86400, Localised(zh="{} 天", en="{} d")),
    (3600, Localised(zh="{} 小时", en="{} h")),
    (60, Localised(zh="{} 分钟", en="{} min")),
    (1, Localised(zh="{} 秒", en="{} s")),
)


def said(words: Localised, locale: Locale, *values: object) -> str:
    """The words with the values in their places."""
    return words.within(locale).format(*values)


def named(known: dict[str, Localised], name: str, locale: Locale) -> str:
    """What a kind, exit or status is called; its own name where nobody gave it another."""
    return known[name].within(locale) if name in known else name


def span(length: timedelta, locale: Locale) -> str:
    """A length of time, in the largest unit that it is a whole number of.

    >>> span(timedelta(hours=72), "en"), span(timedelta(minutes=90), "zh")
    ('3 d', '90 分钟')
    """
    seconds = int(length.total_seconds())
    size, words = next((each for each in _UNITS if seconds % each[0] == 0), _UNITS[-1])
    return said(words, locale, seconds // size)
