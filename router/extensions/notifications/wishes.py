"""What somebody wishes about being written to, by words alone: hours, days, channels, digest, news.

What the words don't name stays as it was. Nothing is guessed: where they name nothing of the kind,
whoever said them is told what can be said.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import time
from typing import Any

from router.domain.errors import InvalidInput
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.entities.durations import find_times
from router.entities.grammar import Found
from router.entities.normalisation import normalise
from router.extensions.notifications.preferences import (
    USUAL_DIGEST,
    NotificationPreferences,
    QuietHours,
)

CHANNEL_WORDS = {
    "mail": re.compile(r"邮件|邮箱|(?<![a-z])e-?mails?(?![a-z])|(?<![a-z])mails?(?![a-z])"),
    "slack": re.compile(r"(?<![a-z])slack(?![a-z])"),
    "feishu": re.compile(r"飞书|(?<![a-z])(?:feishu|lark)(?![a-z])"),
    "dingtalk": re.compile(r"钉钉|(?<![a-z])dingtalk(?![a-z])"),
    "wecom": re.compile(r"企业微信|企微|(?<![a-z])wecom(?![a-z])"),
    "teams": re.compile(r"(?<![a-z])teams(?![a-z])"),
}
"""What people call platforms that a directory may name accounts on."""
NOT = re.compile(
    r"别|不要|不用|不必|不再|不想|请勿|勿|免打扰|停止|关掉|关闭|取消|只在"
    r"|\b(?:don['’]?t|do not|never|no|not|stop|without|unsubscribe|quiet|cancel|disable)\b"
)
_DAYS_OFF = re.compile(
    r"周末|双休|节假日|节日|假日|假期|休息日|放假|\b(?:weekends?|(?:public )?holidays?|days? off)\b"
)
_DIGEST = re.compile(r"汇总|摘要|每日清单|\b(?:digests?|daily (?:summary|overview))\b")
_NEWS = re.compile(
    r"进展|新消息|申请的?结果|\b(?:news|updates?|progress)\b(?! (?:to|in|on) (?:approve|decide))"
)
_ALWAYS = re.compile(
    r"随时(?:都)?(?:可以|能)|什么时候都(?:可以|行)|不用免打扰|(?:取消|关闭|关掉)免打扰"
    r"|\b(?:at )?any ?time\b|\bno quiet hours\b|\baround the clock\b"
)
_USUAL_HOURS = re.compile(r"(?:下班|非工作时间)|\b(?:outside|after) (?:of )?(?:my )?work(?:ing)?\b")
_REQUESTS = re.compile(
    r"新的?(?:审批|申请)也|(?:审批|申请)也(?:别|不要|等)|\b(?:new )?requests? (?:too|as well)\b"
    r"|\bnot even (?:new )?(?:requests?|approvals?)\b"
)
_EVERYWHERE = re.compile(
    r"(?:所有|全部)(?:的)?(?:渠道|地方)|哪里都|各处|\b(?:everywhere|all (?:my )?channels)\b"
)
_TO = re.compile(r"(?: ?(?:到|至|-|–|~|to|till|until|and) ?)(?:第二天|次日|the next day )?")
_AFTER = re.compile(r"(?:\b(?:after|from|past) ?$)")
_BEFORE = re.compile(r"(?:\b(?:before|until|till) ?$)")
_ZH_AFTER, _ZH_BEFORE = re.compile("^ ?(?:以|之)?后"), re.compile("^ ?(?:以|之)?前")
_MORNING = re.compile(r"每(?:天|日|个?工作日)|\b(?:every|each) (?:morning|day)\b")

UNCLEAR = Localised(
    zh="wish：没看出要怎么改。可以说：晚上七点以后别打扰我、周末别打扰、审批发邮件给我、"
    "每天早上九点发一封汇总邮件、申请有进展也发邮件、随时都可以。",
    en="wish: what is to change isn't clear. Say such as: don't write to me after 19:00, not on "
    "weekends, write to me by mail and Slack, a daily digest at 9:00, news by mail, any time.",
)
NO_ACCOUNT = Localised(
    zh="通讯录里没有您的{channel}账号，请让管理员加上。",
    en="The directory has no {channel} account of yours; have an administrator add it.",
)
DIGEST_IN_QUIET = Localised(
    zh="汇总的时间 {at} 在不打扰时段里，请换一个时间。",
    en="A digest at {at} would be within your quiet hours; choose another time.",
)


def wished(
    text: str, now: NotificationPreferences, person: Principal, channels: Sequence[str]
) -> NotificationPreferences:
    """The preferences as they are once the words are heeded.

    `channels` are the platforms on which the person has an account. Raises `InvalidInput` where the
    words name nothing that can be chosen, or what can't be had.

    >>> bob = Principal(id="bob", name="Bob")
    >>> wished("don't write to me after 19:00", NotificationPreferences(), bob, []).quiet
    QuietHours(begins='19:00', ends='09:00')
    """
    reading = _Reading.of(text)
    changes = {
        **reading.hours(person),
        **reading.days(),
        **reading.requests(),
        **reading.digest(),
        **reading.news(),
        **reading.channels(now, channels),
    }
    if not changes:
        raise InvalidInput(UNCLEAR)
    return checked(now.replace(**changes), channels)


def checked(wishes: NotificationPreferences, channels: Sequence[str]) -> NotificationPreferences:
    """The same; `InvalidInput` where they name a channel that isn't theirs, or can't all hold."""
    wanted = [*wishes.channels, *(["mail"] if wishes.digest or wishes.news else [])]
    for channel in wanted:
        if channel not in channels:
            said = (NO_ACCOUNT.zh.format(channel=channel), NO_ACCOUNT.en.format(channel=channel))
            raise InvalidInput(Localised(zh=said[0], en=said[1]))
    if wishes.digest and isinstance(wishes.quiet, QuietHours):
        at = time.fromisoformat(wishes.digest)
        spans = wishes.quiet.open_spans()
        if not any(begins <= at and (ends is None or at < ends) for begins, ends in spans):
            zh, en = (
                each.format(at=wishes.digest) for each in (DIGEST_IN_QUIET.zh, DIGEST_IN_QUIET.en)
            )
            raise InvalidInput(Localised(zh=zh, en=en))
    return wishes


def named_channels(text: str) -> list[str]:
    """The platforms that the normalised text names, in its order."""
    found = {name: words.search(text) for name, words in CHANNEL_WORDS.items()}
    places = {name: match.start() for name, match in found.items() if match is not None}
    return sorted(places, key=lambda name: places[name])


@dataclass(frozen=True)
class _Reading:
    text: str
    times: Sequence[Found[time]]
    denies: bool

    @classmethod
    def of(cls, typed: str) -> "_Reading":
        text = normalise(typed).text
        return cls(text, find_times(text), NOT.search(text) is not None)

    @property
    def _is_of_digest(self) -> bool:
        return _DIGEST.search(self.text) is not None

    def hours(self, person: Principal) -> dict[str, Any]:
        if self._is_of_digest:
            return {}
        if _ALWAYS.search(self.text):
            return {"quiet": "never"}
        if self.times and self.denies:
            begins, ends = self._span(person)
            if begins == ends:
                raise InvalidInput(UNCLEAR)
            quiet = QuietHours(begins=f"{begins:%H:%M}", ends=f"{ends:%H:%M}")
            return {"quiet": quiet}
        return {"quiet": None} if self.denies and _USUAL_HOURS.search(self.text) else {}

    def _span(self, person: Principal) -> tuple[time, time]:
        """From when until when: what isn't said is when their working day begins, or ends."""
        first, *rest = self.times
        between = self.text[first.end : rest[0].start] if rest else ""
        if rest and _TO.fullmatch(between):
            return first.value, rest[0].value
        begins, ends = person.hours[-1].ends, person.hours[0].begins
        sides = [(each, self._side(each)) for each in self.times]
        afters = [each.value for each, side in sides if side == "after"]
        befores = [each.value for each, side in sides if side == "before"]
        if not afters and not befores:
            raise InvalidInput(UNCLEAR)
        return (afters or [begins])[0], (befores or [ends])[0]

    def _side(self, at: Found[time]) -> str:
        ahead, behind = self.text[: at.start], self.text[at.end :]
        if _AFTER.search(ahead) or _ZH_AFTER.search(behind):
            return "after"
        return "before" if _BEFORE.search(ahead) or _ZH_BEFORE.search(behind) else ""

    def days(self) -> dict[str, Any]:
        return {"days_off": not self.denies} if _DAYS_OFF.search(self.text) else {}

    def requests(self) -> dict[str, Any]:
        return {"requests_wait": True} if _REQUESTS.search(self.text) else {}

    def digest(self) -> dict[str, Any]:
        if not self._is_of_digest:
            return {}
        if self.denies:
            return {"digest": None}
        at = f"{self.times[0].value:%H:%M}" if self.times else USUAL_DIGEST
        return {"digest": at}

    def news(self) -> dict[str, Any]:
        return {"news": not self.denies} if _NEWS.search(self.text) else {}

    def channels(self, now: NotificationPreferences, theirs: Sequence[str]) -> dict[str, Any]:
        if _EVERYWHERE.search(self.text) and not self.denies:
            return {"channels": ()}
        if self._is_of_digest or _NEWS.search(self.text):
            return {}
        named = named_channels(self.text)
        if not named or (self.denies and self.times):
            return {}
        if not self.denies:
            return {"channels": tuple(named)}
        left = tuple(self._left(now.channels or theirs, named))
        if not left:
            raise InvalidInput(UNCLEAR)
        return {"channels": left}

    @staticmethod
    def _left(current: Sequence[str], named: Sequence[str]) -> Iterator[str]:
        return (each for each in current if each not in named)
