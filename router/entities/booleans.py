"""Yes and no, in all usual forms: `好的`, `没问题`, `算了`, `yep`, `no thanks`."""

from router.entities.grammar import compiled, group_span

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
# Words by which something is sent off or held back; of any other question they are no answer.
_GO = (
    "(?:就?(?:这么|这样))?(?:发|发送|发出去?|交|交上去|送审|报上去|提上去)(?:吧|了|出去)"
    "|就这么(?:办|定|提交)吧?|走起|办吧|弄吧"
    "|(?:ok|okay|yes|yeah|great|good|perfect),? (?:go|send|submit)\\b.*|(?:please )?send(?: it"
    "| this)?"
    "(?: off| out| in| through| over| away)*(?: for approval)?|(?:let'?s )?go(?: for it| on"
    "| with it)?"
    "|let'?s do (?:it|this)|make it so|(?:please )?(?:file|submit) (?:it|this)(?: for approval)?"
    "|off it goes"
)
_WAIT = (
    "(?:先|请)?(?:别|不要|不用|不能|暂不)(?:急|忙)?(?:着)?(?:提交|发|发送|交|送|报|动)(?:了|呢)?"
    "|(?:请)?(?:等等|等一等|等一?下|等会儿?|稍等(?:一?下)?|慢着|且慢|别急|先等等|先等一?下)"
    "|(?:no,? )?(?:please )?(?:wait|hold on|hang on|hold it|hold off|one moment|just a (?:moment"
    "|second|sec|minute)"
    "|not so fast)(?: (?:a|one) (?:moment|second|sec|minute|bit))?"
    "|(?:no,? )?(?:please )?(?:do not|don'?t) (?:send|submit|file|do)(?: (?:it|this"
    "|that))?(?: (?:yet|now|off))*"
)
# A yes to "is there more?", and no leave to hand in what there is.
_THERE_IS_MORE = compiled(f"^{_FILLER}*还?有(?:的|啊|呀)?{_FILLER}*$")
_GO_ONLY = compiled(f"^{_FILLER}*(?:(?:{_YES}){_FILLER}*)*(?:{_GO}){_FILLER}*$")
_WAIT_ONLY = compiled(f"^{_FILLER}*(?:(?:{_NO}){_FILLER}*)*(?:(?:{_WAIT}){_FILLER}*)+$")
_LED_BY_NO = compiled(
    r"^(?:no|nope|without|not|(?:no,? )?(?:i|we) (?:do not|don'?t) (?:need|want)|don'?t need)\b"
    "|^(?:我们?)?(?:不|没有?|无需|别)(?:要|用|需要|必|想|开)?"
)
_LED_BY_YES = compiled(
    r"^(?:yes|yeah|yep|sure|please|with|(?:i|we) (?:do |'ll |will )?(?:need|want))\b"
    "|^(?:我们?)?(?:是的|是|要|需要|好的?|有|得|对)"
)
_BOTH_WAYS = compiled(
    r"[?吗么或]|要不要|是不是|\b(?:but|change|actually|or|if|maybe|perhaps|know|think|matter)\b"
    r"|\b(?:not (?:sure|certain|decided)|no (?:idea|clue|preference|opinion)|depends)\b"
    "|改|但|不过|知道|清楚|不确定|想好|好像|好多|好难|有问题|有点|随便|也许|可能|无所谓"
)

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


def numbered(text: str) -> bool | None:
    """Which of yes and no, listed in this order, a bare number picks; None for any other text.

    >>> numbered("1"), numbered("2."), numbered("3"), numbered("12")
    (True, False, None, None)
    """
    return {"1": True, "2": False}.get(text.rstrip(".。)、"))


def consent(text: str) -> bool | None:
    """Yes or no to what is about to be handed in: also `发吧`, `go for it`, `等等`, `hold on`.

    >>> consent("发吧"), consent("先别提交"), consent("家里有事")
    (True, False, None)
    """
    if _THERE_IS_MORE.search(text):
        return None
    said = yes_or_no(text)
    if said is not None or not text or len(text) > _LONGEST:
        return said
    if _GO_ONLY.search(text):
        return True
    return False if _WAIT_ONLY.search(text) else None


def leaning(text: str) -> bool | None:
    """Yes or no with what it is said of: `no video`, `我们需要视频`, in answer to just that.

    >>> leaning("no video"), leaning("yes we need video"), leaning("video")
    (False, True, None)
    """
    said = yes_or_no(text)
    if said is not None or len(text) > _LONGEST or _BOTH_WAYS.search(text):
        return said
    if _LED_BY_NO.search(text):
        return False
    return True if _LED_BY_YES.search(text) else None


def opening_answer(text: str) -> tuple[bool, int] | None:
    """The yes or no that a text opens with, and where the rest of it starts.

    >>> opening_answer("不对,是下周二")
    (False, 3)
    """
    match = _OPENING.search(text[:_LONGEST])
    if match is None:
        return None
    return match.group("no") is None, group_span(match, "rest")[0]
