"""Giving up what is under way: `取消`, `算了不请了`, `never mind`."""

from router.understanding.grammar import compiled

_ZH = (
    "取消|算了|(?:我)?(?:改|变)(?:变)?(?:了)?主意了?|撤回|撤销|不(?:想|用|要|打算"
    "|准备)?(?:再)?(?:请假|休假|报销|请|休|报|办|弄|填|申请|提交|搞"
    "|继续)(?:假)?了|先不(?:请假|报销|请|休|报|办|弄|填|申请|提交|搞)(?:假)?了?"
    "|放弃|退出|终止|停止|作罢|拉倒|中止|别(?:请|报|办|弄|填|申请|提交)了|不(?:办|弄|搞)"
)
_ZH_AROUND = (
    "我|想|要|那|就|还是|请|帮我|给我|麻烦|把|直接|先|吧|了|掉|一下|下|啊|呀|啦|嘛|这个|这次|这条"
    "|本次|此次|的|流程|申请|请假|休假|报销|操作|谢谢|好的|嗯|哦|不用了|不要了|它|刚才|刚刚|那个"
    "|这份|现在|暂时"
)
_EN = (
    "cancel(?: (?:it|this|that|everything|all))?|never ?mind|forget (?:it|about it|this|that)"
    "|abort|quit|stop|exit|drop (?:it|this)"
    "|scrap (?:it|that|this)|call it off|i(?:'ve| have)? changed my mind|don'?t bother"
    "|no longer needed|i (?:don'?t|do not|no longer) (?:want|need|wish) (?:it|this|that|to"
    "|(?:to )?(?:take |request |book "
    "|apply for |file |submit |make |claim )?(?:the |this |that |any |my |a )?(?:annual |sick "
    "|personal )?"
    "(?:leave|time off|day off|days off|vacation|holiday|claim|expenses?"
    "|reimbursement))(?: any ?more)?"
    "|not any ?more"
    "|leave it"
)
_EN_AROUND = (
    "please|pls|just|can you|could you|i want to|i'd like to|let'?s|ok|okay|oh|actually|sorry|no"
    "|thanks|thank you|then|the|my|this|that|whole|thing|request|leave|claim|expense|application"
    "|flow|process|for now|it|on (?:second|2nd) thoughts?|well|hmm"
)
_CALLED_OFF = compiled(
    rf"^(?:(?:{_ZH_AROUND}|[,.!~ ])*(?:{_ZH})(?:{_ZH_AROUND}|{_ZH}|[,.!~ ])*"
    rf"|(?:(?:{_EN_AROUND})\b[,.! ]*)*(?:{_EN})\b(?:[,.! ]*(?:{_EN_AROUND}|{_EN})\b)*[,.! ]*)$"
)

_CALLS_EN = compiled(rf"\b(?:{_EN})\b")

_LONGEST = 60


def kinds_in(text: str) -> str:
    """What a text that calls something off says besides: what kind of thing that is, if any.

    >>> kinds_in("leave it, cancel my expense claim").split()
    ['my', 'expense', 'claim']
    """
    return str(_CALLS_EN.sub(" ", text)).replace(",", " ")


def calls_off(text: str) -> bool:
    """True where a normalised text says to give up, and says nothing else.

    >>> calls_off("算了不请了"), calls_off("航班取消了,要改签")
    (True, False)
    """
    return len(text) <= _LONGEST and _CALLED_OFF.search(text) is not None
