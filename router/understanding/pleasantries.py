"""What people say around a request and mean nothing by: greetings, thanks, pardons, farewells.

Whom they greet, what they ask back and the words with which they put themselves right are of the
same kind: none of them is ever a reason, and a request still begins a message that has them first.
"""

from router.understanding.grammar import compiled, group_span
from router.understanding.normalise import Normalised

_WHOM_ZH = (
    "领导|老板|上级|主管|经理|总监|老师|同事们?|同学们?|各位|大家|小?助手|机器人|人事|亲爱的"
    "|hr|您|你"
)
_TITLE_ZH = "[^去看陪见找送接给帮替,]{1,2}(?:总|经理|主任|老师|主管|总监|哥|姐|工)"
_GREETING_ZH = (
    f"(?:(?:{_WHOM_ZH}|{_TITLE_ZH})(?:们)?[, ]*)*(?:好|早|(?:早上|上午|中午|下午|晚上)好?)(?:啊"
    f"|呀|哈)?"
    f"|(?:尊敬的|亲爱的)?(?:(?:{_WHOM_ZH})(?:们)?|{_TITLE_ZH})|哈喽|哈罗|嗨|喂|在吗|在不在|在么"
    f"|早安|晚安"
)
_GREETING_EN = (
    "(?:hi+|hello|hey+|hiya|howdy|yo|greetings|dear|good (?:morning|afternoon|evening|day))"
    "(?:,? (?:there|all|team|everyone|everybody|folks|guys|boss|bot|again|to you"
    "|[a-z][a-z.'-]*)){0,2}"
    "|(?:morning|afternoon|evening)(?: (?:all|team|everyone|everybody|folks|guys|boss|there))?"
    "|(?:i )?(?:really )?hope (?:you|all|this|that|everything|everyone|it)\\b.*"
    "|how are you(?: (?:doing|today))*|how's it going|(?:just )?a? ?quick (?:one|request|ask"
    "|thing|favou?r)"
)
_THANKS = (
    "(?:非常|十分)?(?:多谢|感谢|谢谢|谢|辛苦|麻烦|拜托|有劳|劳驾|烦请|打扰|冒昧|不好意思|抱歉"
    "|对不起)"
    f"(?:一下|你们?|您|啦|了|打扰|{_WHOM_ZH}|{_TITLE_ZH})*"
    "|(?:many |so many )?thank(?:s|ing)?(?: you)?(?: (?:so|very) much| a lot| a million| again"
    "| in advance| for .*)*|thx|ta|tia|cheers|please|pls|plz|kindly|excuse me|pardon(?: me)?"
    "|(?:much|really) appreciated|(?:i )?(?:would |'d )?(?:really )?appreciate (?:it|that|your .*)"
    "|(?:i'm |i am )?(?:so |very |really )?(?:sorry|apologi[sz]e|apologies)"
    "(?: (?:to|for|about|if) (?:both?er|disturb|trouble|bug|interrupt|ask|the|this|short|late).*)?"
    "|(?:if|when|whenever) (?:you|possible|that|it)\\b.*|let me know\\b.*|no (?:rush|hurry|worries)"
    "|(?:would|is|hope) (?:that|this|it)(?:'s| is| be)? (?:ok|okay|fine|alright|possible|works?).*"
    "|as soon as possible|asap|(?:please |kindly )+(?:approve|help|advise|confirm).*"
)
_ASKED_ZH = (
    "可以吗|可以么|行吗|好吗|好不好|行不行|ok吗|批准一下|(?:请|望|恳请|希望|麻烦)(?:领导|经理"
    "|您)?(?:予以)?"
    "(?:批准|批一?下|审批|同意)|盼复|如题|帮个?忙|帮帮忙|有(?:个|件)事(?:情|儿)?|尽快|急"
    "|帮我(?:一下|办一下|处理一下|弄一下|提一下)?"
)
_CORRECTING = (
    "(?:哦|啊|呃|额|哎|噢)?(?:不对|不是|不不+|不|错了|说错了?|写错了?|搞错了?|打错了?"
    "|弄错了?)(?:的|了|啊|呀)*"
    "|我(?:说|写|打|搞|弄)错了?|应该是|更正(?:一下)?|等等|等一下"
    "|no+|no,? wait|oh no|oh|wait|oops|whoops|actually|i mean|i meant|rather|instead|scratch that"
    "|correction|my (?:bad|mistake)|hang on|hold on|well|hmm+|u+m+|u+h+|yes|yeah|yep|nope|sure"
)
_FILLING = (
    "ok|okay|好的?|嗯+|那个?|就是|请问|呃|额|一个人|我(?:想|要)?|先|再|然后|另外|顺便|对了|还有"
    "|首先"
    "|我(?:想|要|需要|得)?先|(?:我)?(?:想|要)?(?:请)?(?:你|您)?(?:帮我)"
    "|want|i want|i need|i'd like|i would like|i|to|and|then|first|also|but|by the way|btw"
    "|before that"
    "|(?:can|could|would) you|can i|的|了|吧|哦|啊|呀|一下|嘛|呢"
    "|共|一共|总共|合计|total|大概|左右"
    "|只|仅|就|而已|only|just|in total|altogether|all in all|exactly|about|roughly"
)
_CLOSING_EN = (
    "(?:(?:best|kind|warm|many|with|my)[, ]*)*(?:regards|wishes)|best|sincerely(?: yours)?"
    "|yours(?: (?:sincerely|truly|faithfully))?|br|cheers|(?:many )?thanks|thank you|thx"
)
_CLOSING_ZH = "此致|敬礼|此致敬礼|祝好|祝商祺|顺祝.*|祝(?:您|你|工作).*"
_NOTHING = compiled(
    f"^(?:(?:{_GREETING_ZH}|{_GREETING_EN}|{_THANKS}|{_ASKED_ZH}|{_CORRECTING}|{_FILLING}"
    f"|{_CLOSING_EN}|{_CLOSING_ZH})(?:[ !.~,:]+|$|))*$"
)
_NOTHING_EN = compiled(
    f"^(?:(?:{_GREETING_EN}|{_THANKS}|{_CORRECTING}|{_FILLING}|{_CLOSING_EN})(?:[ !.~,:]+|$))*$"
)
_TOTAL = compiled("^(?:一共|总共|合计|共计?|总计|in total|total)")
_NAME = r"(?P<name>[a-z][a-z.'-]*(?: [a-z][a-z.'-]*)?[.!]?)"
_FAREWELL = compiled(
    "(?:^|[,.;!?\n] ?)(?:(?:(?:best|kind|warm|many|with|my)[, ]*)*(?:regards|wishes)"
    "|sincerely(?: yours)?|yours(?: (?:sincerely|truly|faithfully))?),? ?[,.!\n]? ?" + _NAME + "$"
)
_THANKS_AND_NAME = compiled(
    "(?:^|[,.;!?\n] ?)(?:best|br|cheers|(?:many )?thanks|thank you|thx)(?:[,.!\n] ?| )"
    r"(?P<name>[a-z][a-z.'-]*[.!]?)$"
)
_QUESTION = compiled(
    "^(?:(?:顺便|另外|还有|对了|也)*(?:想|要)?再?请?(?:问|咨询|了解|确认)(?:问|一?下|你|您)*"
    "|怎么(?:样|办|请|填|申请|算|弄|走|提|写)|如何|为什么|为啥|什么是|能不能|可不可以|是不是"
    "|是否|要不要"
    "|需不需要|(?:我)?需要(?:带|准备|提交|交)?(?:什么|哪些)|要多久|什么时候)"
    "|[?]$|(?:吗|呢)[!. ]*$"
    r"|^(?:(?:and|also|but|so|by the way|btw),? )*(?:how|what(?:'s)?|why|who|which"
    r"|(?:when|where) (?:is|are|do|does|can|should|will)|(?:can|could) (?:i|you|we|it)"
    r"|is (?:there|it|that)|do (?:i|you|we)|does|should i|will (?:i|you|it)|may i)\b"
)


def says_nothing(text: str) -> bool:
    """True where a normalised text is nothing but greeting, thanks and the like.

    >>> says_nothing("hi bob"), says_nothing("王经理好"), says_nothing("high fever")
    (True, True, False)
    """
    said = text.strip(" ,.!?;:~")
    nothing = _NOTHING_EN if said.isascii() else _NOTHING
    return nothing.search(said) is not None or _TOTAL.search(said) is not None


def asks(text: str) -> bool:
    """True where a normalised clause is a question."""
    return _QUESTION.search(text.strip()) is not None


def farewell(text: Normalised) -> int:
    """Where the name begins with which a text is signed; its end where it isn't.

    After mere thanks only a capital tells a name from a reason.

    >>> farewell(normalise("one day, best regards, frank")), farewell(normalise("thanks, family"))
    (23, 14)
    """
    signed = _FAREWELL.search(text.text)
    if signed is not None:
        return group_span(signed, "name")[0]
    thanked = _THANKS_AND_NAME.search(text.text)
    if thanked is None:
        return len(text.text)
    start, end = group_span(thanked, "name")
    return start if text.as_typed(start, end)[0].isupper() else len(text.text)
