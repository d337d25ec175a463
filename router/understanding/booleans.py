"""Yes and no, in all usual forms: `好的`, `没问题`, `算了`, `yep`, `no thanks`."""

from router.understanding.grammar import compiled, group_span

_YES = (
    "好(?:的|呀|啊|吧|嘞|滴|哒|了|哦|哈|极了)*|(?:都|当然|也)?(?:可以|行|成)(?:的|了|啊|吧|呀)*"
    "|没(?:有)?问题|没错"
    "|(?:就)?是(?:的|呀|啊|滴|呢)*(?:这样|这样的|这个)?|(?:都|完全|很)?对(?:的|呀|啊|滴|了|头)*"
    "|[嗯恩唔]+(?:哼|呐)?|噢|哦"
    "|(?:我)?(?:确认|确定|同意|肯定|必须)(?:提交|无误|没问题|的|了)*|(?:请)?(?:帮我)?提交(?:吧|了"
    "|申请)*"
    "|(?:我)?(?:要|需要)(?:的|啊|呀)?|(?:还)?有(?:的|啊|呀)?|当然(?:啦|了|的)*|就这样(?:吧)?"
    "|(?:内容|信息)?(?:正确|无误)"
    "|中|得嘞|妥|安排|继续|没毛病|收到|批准|通过"
    "|y|yes|yeah|yea|yep|yup|yah|ya|ok|okay|okey|k|kk|sure(?: thing)?|of course|certainly"
    "|absolutely|definitely"
    "|right|that'?s (?:right|correct|fine|it)|that is (?:right|correct)|correct|confirm(?:ed)?"
    "|i confirm"
    "|affirmative|agreed?|i agree|please do|go ahead|do it|submit(?: it)?|looks? good(?: to me)?"
    "|lgtm|sounds good"
    "|all good|fine|perfect|great|good|exactly|indeed|aye|proceed|why not|i do|it is|true|alright"
    "|all right|ship it"
    "|👍|👌|✅|🆗|[√✓✔]"
)
_NO = (
    "不(?:了|是|是的|要|要了|用|用了|用谢|对|行|好|可以|可|需要|需要了|成|想|同意|确认|确定|提交"
    "|必|必了|太对|太行|大对)?(?:的|啊|呀|哦|吧)*"
    "|否|否定|没有?(?:了|啦|的)*|算了(?:吧)?|别(?:了)?|错(?:了|的|误)?|有误|有错|没(?:了|啦)"
    "|没有其他(?:的)?(?:了)?|先不(?:了|要)?"
    "|拒绝|反对|取消|免了|打住|就这些(?:了)?|没别的了?"
    "|n|no|nope|nah|nay|no way|no,? thanks?(?: you)?|not (?:really|yet|now|correct|right|quite"
    "|that|ok|okay|at all)"
    "|don'?t|do not|negative|never|wrong|incorrect|that'?s (?:wrong|not right|not correct"
    "|incorrect)|i don'?t|it'?s not|it is not"
    "|false|disagree|cancel|stop|👎|❌|[×✗✘]"
)
_FILLER = (
    "(?:那|那就|嗯|哦|噢|呃|额|请|please|pls|thanks?|thank you|thx|谢谢(?:你|您)?|多谢|辛苦了?"
    "|麻烦了?|well|um+|uh+|then|now|just|啊|吧|哈|的|[~!.,。;、?…😀-🙏]| )"
)

_YES_ONLY = compiled(f"^{_FILLER}*(?:(?:{_YES}){_FILLER}*){{1,4}}$")
_NO_ONLY = compiled(f"^{_FILLER}*(?:(?:{_NO}){_FILLER}*){{1,4}}$")
_OPENING = compiled(
    f"^(?:{_FILLER}*)(?:(?P<no>{_NO})|(?P<yes>{_YES}))(?:[,.。;、!~]+ ?| (?:but|only|just) "
    "|但是?)(?P<rest>.+)$"
)

# A longer text may begin with a yes, but isn't one.
_LONGEST = 60


def yes_or_no(text: str) -> bool | None:
    """What a normalised text that is nothing but yes or no says; None for any other.

    >>> yes_or_no("好的,没问题"), yes_or_no("不对"), yes_or_no("好像是周三")
    (True, False, None)
    """
    if not text or len(text) > _LONGEST:
        return None
    # Yes comes first: 没错 is made of two words for no.
    if _YES_ONLY.search(text):
        return True
    return False if _NO_ONLY.search(text) else None


def opening_answer(text: str) -> tuple[bool, int] | None:
    """The yes or no that a text opens with, and where the rest of it starts.

    >>> opening_answer("不对,是下周二")
    (False, 3)
    """
    match = _OPENING.search(text[:_LONGEST])
    if match is None:
        return None
    return match.group("no") is None, group_span(match, "rest")[0]
