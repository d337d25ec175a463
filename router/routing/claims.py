"""What a text claims that no figure shows: somebody's name, and that something was done.

Only what can be told by its form: a capital within a sentence, a surname beside a title, a verb of
the kind that changes something after `has been` or `已为您`.
"""

import re
from collections.abc import Iterator

from router.entities.grammar import compiled

_CAPITAL = re.compile(r"(?<![\w.'’-])[A-Z][a-z]+(?:-[A-Z][a-z]+)?(?![\w-]|\.\w)")
_BEGINS = compiled(r"(?:^|[.!?:：。！？…\n\"“”‘’'(（*#>|-])[ *_\"“‘]*$")
_NO_NAMES = (
    "i i'm monday tuesday wednesday thursday friday saturday sunday january february march april "
    "may june july august september october november december jan feb mar apr jun jul aug sep sept "
    "oct nov dec mon tue wed thu fri sat sun english chinese mandarin ok okay please yes no the a "
    "an and or you your if for in on at to of"
)
_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩冯邓曹彭曾肖田董潘袁蔡蒋余于杜叶程魏苏吕丁任卢姚沈"
    "钟姜崔谭陆范汪廖石金贾夏韦付方邹熊白孟秦邱侯江尹薛阎雷龙史陶贺毛郝顾龚邵万覃武钱戴严莫孔向常汤"
)
_HONORIFIC = "先生|女士|小姐|经理|总监|主管|老师|主任"
_ROLES = "审批人|负责人|联系人|申请人|上级|主管|经理|姓名|同事"
_ENDS = r"[，。,.；;、（(\s已会在正将和审批处确]"
_HAN_NAMES = tuple(
    compiled(source)
    for source in (
        rf"(?:{_ROLES})[是为：:]?(?P<name>[{_SURNAMES}]\p{{Han}}{{1,2}}?)(?:{_ENDS}|$)",
        rf"(?:^|[，。,.；;、：:（(\s由找给是])(?P<name>[{_SURNAMES}]\p{{Han}}{{0,2}}?)(?:{_HONORIFIC})",
    )
)
_NO_HAN_NAMES = frozenset(("高级", "任何", "方便", "常务", "万一", "何人", "何时", "向您", "于是"))


def names(said: str) -> Iterator[str]:
    """What is told as a name: capitalised within a sentence, or beside a title in Chinese."""
    for match in _CAPITAL.finditer(said):
        begins = _BEGINS.search(said[max(0, match.start() - 8) : match.start()])
        if not begins and match[0].casefold() not in _NO_NAMES.split():
            yield match[0]
    for beside in _HAN_NAMES:
        for match in beside.finditer(said):
            if match["name"] not in _NO_HAN_NAMES:
                yield match["name"]


_DEEDS: tuple[tuple[str, ...], ...] = (
    ("rais", "increas", "涨", "加薪", "提高", "上调"),
    ("submit", "fil", "sent in", "提交", "递交", "申请"),
    ("approv", "agree", "批准", "通过", "同意"),
    ("book", "reserv", "预订", "预定", "订好", "订了"),
    ("cancel", "withdr", "revok", "取消", "撤销", "撤回"),
    ("chang", "updat", "adjust", "modif", "修改", "更新", "更改", "调整", "变更"),
    ("send", "sent", "notif", "emailed", "发送", "发出", "通知", "转达"),
    ("delet", "remov", "删除", "清除", "移除"),
    ("pay", "paid", "transfer", "支付", "付款", "打款", "转账"),
    ("creat", "regist", "record", "创建", "登记", "录入", "记录"),
    ("schedul", "arrang", "安排"),
    ("grant", "extend", "延长", "授予", "开通"),
)
_EN_STEMS = "|".join(stem for family in _DEEDS for stem in family if stem.isascii())
_ZH_STEMS = "|".join(stem for family in _DEEDS for stem in family if not stem.isascii())
_JUST = "(?:just |now |already |successfully )*"
_SHORTLY = r"[^，。！？；,.!?;\s]"
_DONE = compiled(
    rf"\b(?:i|we)(?: have|['’]ve)? {_JUST}(?P<own>{_EN_STEMS})[a-z]*\b"
    rf"|(?:\b(?:has|have|is|are|was|were)|['’]s) {_JUST}(?:been )?{_JUST}"
    rf"(?P<passive>{_EN_STEMS})(?:\w*(?:ed|d|t|wn)\b|\b)"
    rf"|(?:已经?|成功|现已)(?:成功)?[为帮替给将把被]?(?:[您你]的?)?{_SHORTLY}{{0,6}}?(?P<zh>{_ZH_STEMS})"
    rf"|[为帮替给][您你]{_SHORTLY}{{0,8}}?(?P<zh_done>{_ZH_STEMS})(?:了|好了|成功|完毕|完成)"
)
_NEGATED = compiled(
    r"(?:\b(?:not|never|no|nothing|hasn't|haven't|isn't|cannot|can't|if|once|until|unless)\b"
    r"[^.!?]{0,30}|(?:没|未|不|无|如果|若)[^，。！？]{0,6})$"
)


def deeds(said: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """What is told as done, with the family of words that would have to stand in a result."""
    for match in _DONE.finditer(said):
        if _NEGATED.search(said[: match.start()]):
            continue
        stem = next(s for s in match.groups() if s).casefold()
        yield next(family for family in _DEEDS if stem in family), match.group()
