"""How one is written to, as tools: what holds now, and changing it in one's own words."""

from collections.abc import AsyncIterator
from typing import Annotated

from pydantic import BaseModel, Field

from activities import provided
from activities.phrases import whole
from router.domain.errors import ArgumentsToolError, InvalidInput
from router.domain.principals import PeopleDirectory
from router.extensions.notifications.preferences import NotificationPreferences, described
from router.extensions.notifications.store import Notifications
from router.extensions.notifications.wishes import wished
from router.flow.prompts.field_names import name_in_chinese
from router.store.database import Database
from router.tool.context import Depends, ToolContext, provider
from router.tool.labels import ChineseLabel
from router.tool.tool import tool

name_in_chinese({"wish": "要改的"})


@provider
async def notifications(
    database: Annotated[Database, Depends(provided.database)],
) -> AsyncIterator[Notifications]:
    """What people have chosen, and what is held back for them."""
    yield Notifications(database)


GivenNotifications = Annotated[Notifications, Depends(notifications)]
GivenPeople = Annotated[PeopleDirectory, Depends(provided.directory)]
Wish = Annotated[
    str,
    Field(
        description="What is to change, in the person's own words: quiet hours, days off, by which "
        "channels, a daily digest, news by mail",
        min_length=2,
        max_length=300,
    ),
    ChineseLabel("要改的"),
]

_NOT_ZH = "(?:请?(?:别|不要|不用|请?勿)(?:再)?)"
_CLOCK_ZH = (
    "(?:(?:每天|早上|上午|中午|下午|傍晚|晚上|夜里|半夜|凌晨)*[0-9一二两三四五六七八九十]{1,3}"
    "(?:点半?|时|:[0-9]{2})(?:钟)?)"
)
_WHEN_ZH = (
    f"(?:周末(?:和|跟|、)?(?:节假日|假期)?|(?:节假日|假期|休息日|放假)(?:和|、)?(?:周末)?|下班(?:以|之)?后"
    f"|{_CLOCK_ZH}(?:以|之)?[后前](?:到{_CLOCK_ZH}(?:以|之)?前?)?"
    f"|从?{_CLOCK_ZH}(?:到|至|-|~)(?:第二天|次日)?{_CLOCK_ZH})"
)
_TELL_ZH = (
    "(?:(?:给|跟|向)?我?(?:打扰|发(?:消息|通知|提醒|邮件|审批)?|通知|提醒|推送|催|找|联系)"
    "(?:我|给我)?)"
)
_CHANNEL_ZH = "(?:邮件|邮箱|email|e-mail|mail|slack|飞书|lark|feishu|钉钉|企业微信|企微|teams)"
_CHANNELS_ZH = f"{_CHANNEL_ZH}(?:(?:和|跟|、|,|以及| |与)+{_CHANNEL_ZH})*"
_MATTER_ZH = "(?:审批|提醒|通知|消息|待审批的?(?:申请)?)(?:消息|通知|提醒)?"
_NOT_EN = "(?:(?:please )?(?:don['’]?t|do not|never|stop))"
_TELL_EN = (
    "(?:writ(?:e|ing)(?: to)?|messag(?:e|ing)|notify(?:ing)?|remind(?:ing)?|ping(?:ing)?"
    "|bother(?:ing)?|disturb(?:ing)?|(?:e-?)?mail(?:ing)?|contact(?:ing)?) me"
)
_CLOCK_EN = "(?:[0-9]{1,2}(?::[0-9]{2})?(?: ?[ap]\\.?m\\.?)?|noon|midnight)"
_OFF_EN = "(?:(?:the )?weekends?|(?:public )?holidays?|(?:my )?days? off)"
_AND_EN = "(?:,? and |,? or |, )"
_WHEN_EN = (
    f"(?:(?:after|before|past) {_CLOCK_EN}"
    f"(?: (?:and|or|until|till)(?: before| after)? {_CLOCK_EN})?"
    f"|(?:from|between) {_CLOCK_EN} (?:to|till|until|and) {_CLOCK_EN}"
    f"|(?:on|at|during|over) {_OFF_EN}(?:{_AND_EN}(?:on )?{_OFF_EN})*"
    "|outside (?:of )?(?:my )?work(?:ing)? hours|after work)"
)
_CHANNEL_EN = "(?:e-?mail|mail|slack|feishu|lark|dingtalk|wecom|teams)"
_BY_EN = "(?:by |on |via |through |in |to (?:my )?)?"
_CHANNELS_EN = f"{_BY_EN}{_CHANNEL_EN}(?:{_AND_EN}{_BY_EN}{_CHANNEL_EN})*"
_MATTER_EN = (
    "(?:(?:my |the |all )?(?:approvals?|approval requests|reminders|notifications)(?: to me)?)"
)
_DAILY_EN = "(?: (?:every|each) (?:morning|day))?"


def _whole_wish(source: str) -> str:
    return whole(f"(?P<wish>{source})")


class NotificationSettings(BaseModel):
    """How somebody is written to, in words, a line for each that can be chosen."""

    summary: str


def _shown(preferences: NotificationPreferences, ctx: ToolContext) -> NotificationSettings:
    lines = described(preferences, ctx.caller, ctx.locale)
    return NotificationSettings(summary="\n".join(lines))


@tool(
    permission="read",
    title={"zh": "我的通知设置", "en": "My notification settings"},
    description_zh="审批和提醒发到哪里、什么时候不打扰、有没有每日汇总。",
    examples=["我的通知设置是什么", "什么时候会提醒我", "what are my notification settings?"],
    phrases=[
        # 我的通知设置是什么
        whole(
            "我?(?:现在)?的?(?:通知|提醒|免打扰|消息提醒)的?(?:设置|偏好|时段)"
            "(?:是|有)?(?:什么|哪些|怎样|怎么样|怎么设的)?"
        ),
        # what are my notification settings?
        whole(
            "(?:what(?:['’]?s| is| are) )?my (?:notifications?|reminders?|quiet hours?)"
            "(?: settings?| preferences?)?"
        ),
        whole("when (?:do|will|can) you (?:write to|message|notify|remind) me"),
    ],
)
async def get_notification_settings(
    ctx: ToolContext, kept: GivenNotifications
) -> NotificationSettings:
    """Where you are written to unasked, when you are left alone, and whether you get a digest."""
    return _shown(await kept.chosen(ctx.caller.tenant, ctx.caller.id), ctx)


async def _is_understood(
    wish: Wish, ctx: ToolContext, kept: GivenNotifications, people: GivenPeople
) -> None:
    await _wished(wish, ctx, kept, people)


async def _wished(
    wish: str, ctx: ToolContext, kept: Notifications, people: PeopleDirectory
) -> NotificationPreferences:
    caller = ctx.caller
    now = await kept.chosen(caller.tenant, caller.id)
    theirs = sorted(people.accounts_of(caller.tenant, caller.id))
    try:
        return wished(wish, now, caller, theirs)
    except InvalidInput as error:
        raise ArgumentsToolError(error.said) from None


@tool(
    permission="write",
    request=False,
    check=_is_understood,
    title={"zh": "更改通知设置", "en": "Change notification settings"},
    description_zh="改审批和提醒发到哪里、什么时候不打扰、要不要每日汇总邮件。",
    examples=[
        "晚上七点以后别给我发消息",
        "审批发邮件给我",
        "周末别打扰我",
        "don't write to me after 19:00",
        "write to me by mail and Slack",
        "send me a daily digest at 9:00",
    ],
    phrases=[
        # 周末别打扰我、晚上七点以后不要给我发消息、19:00后别提醒我
        _whole_wish(f"{_WHEN_ZH}(?:的?时候)?,?(?:都|就|也)*{_NOT_ZH}{_TELL_ZH}了?"),
        # 别在周末打扰我
        _whole_wish(f"{_NOT_ZH}在?{_WHEN_ZH}(?:的?时候)?{_TELL_ZH}了?"),
        # 周末也可以提醒我、随时都可以通知我
        _whole_wish(f"(?:周末|节假日|休息日|随时)(?:也|都)?(?:可以|能){_TELL_ZH}"),
        # 审批发邮件给我、提醒走飞书和邮件、审批不要发邮件
        _whole_wish(
            f"(?:把|我的)?{_MATTER_ZH}(?:都|就|请|以后|只|也|{_NOT_ZH})*(?:用|通过|走|发到?)"
            f"(?:我的?)?{_CHANNELS_ZH}(?:上|里)?(?:给|通知|提醒|发给)?我?"
        ),
        # 用邮件通知我、不要用飞书提醒我
        _whole_wish(
            f"(?:以后|{_NOT_ZH}|只)*(?:用|通过){_CHANNELS_ZH}(?:给我)?(?:通知|提醒|联系|发审批)我?"
        ),
        # 每天早上九点给我发一封汇总邮件、不要发每日汇总
        _whole_wish(
            f"(?:{_NOT_ZH}|每天|每个?工作日|早上|上午|在|{_CLOCK_ZH})*(?:都|给我|也)*发?我?"
            "(?:一封|一份|一个|个)?(?:每日|每天|审批|待审批|待办)*的?(?:汇总|摘要)(?:邮件)?(?:给我)?"
        ),
        # 申请有进展发邮件给我
        _whole_wish(
            f"(?:我的)?申请(?:有|的)新?(?:进展|结果|消息)(?:也|都|就|{_NOT_ZH})*发?邮件"
            "(?:通知|告诉|给)?我?"
        ),
        # don't write to me after 19:00, nor on weekends
        _whole_wish(
            f"{_NOT_EN} {_TELL_EN}(?: any ?more| again)? {_WHEN_EN}(?:{_AND_EN}{_WHEN_EN})*"
        ),
        _whole_wish(f"no (?:messages|reminders|notifications|mails?) {_WHEN_EN}"),
        # write to me on weekends too, remind me any time
        _whole_wish(
            f"(?:you (?:can|may) )?{_TELL_EN} (?:on {_OFF_EN}|(?:at )?any ?time)(?: too| as well)?"
        ),
        # write to me by mail and Slack
        _whole_wish(
            f"(?:only )?{_TELL_EN}(?: about approvals)? (?:only )?{_CHANNELS_EN}(?: only| alone)?"
        ),
        # send approvals to me by mail, don't send me approvals on Slack
        _whole_wish(
            f"(?:{_NOT_EN} )?(?:send|sending|mail|give)(?: me)? {_MATTER_EN}(?: only)? "
            f"{_CHANNELS_EN}(?: only)?"
        ),
        # send me a daily digest at 9:00, no daily digest
        _whole_wish(
            "(?:(?:send|mail|give)(?: me)? |no |stop |i want )?(?:sending )?(?:a |the |my )?"
            "(?:daily |morning )?(?:digest|daily summary)(?: by e?-?mail)?"
            f"{_DAILY_EN}(?: at {_CLOCK_EN})?{_DAILY_EN}"
        ),
        # mail me news of my requests
        _whole_wish(
            "(?:send|mail) (?:me )?(?:the )?(?:news|updates) (?:of|about|on) my requests?"
            "(?: by e?-?mail)?"
        ),
    ],
)
async def change_notification_settings(
    wish: Wish, ctx: ToolContext, kept: GivenNotifications, people: GivenPeople
) -> NotificationSettings:
    """Change where and when you are written to unasked: hours, days, channels, digest, news."""
    chosen = await _wished(wish, ctx, kept, people)
    await kept.choose(ctx.caller.tenant, ctx.caller.id, chosen)
    return _shown(chosen, ctx)
