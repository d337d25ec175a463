"""What people say about the dialogue itself, to give it up, and to mean nothing by it.

What people say around a request and mean nothing by: greetings, thanks, pardons, farewells.

Whom they greet, what they ask back and the words with which they put themselves right are of the
same kind: none of them is ever a reason, and a request still begins a message that has them first.

What people say about the dialogue itself: `跳过`, `怎么填`, `再说一遍`, `从头来`, `撤回吧`.

An act is the whole message, but for what is said around it out of politeness: `帮助搬家` is a
reason for leave and `repeat order` a thing to be bought, not calls for help or for a repetition.

Giving up what is under way: `取消`, `算了不请了`, `never mind`.
"""

from typing import Any, Literal

from router.entities.grammar import compiled, group_span
from router.entities.normalisation import Normalised

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
_POLITENESS = (
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
_SAYS_NOTHING = compiled(
    f"^(?:(?:{_GREETING_ZH}|{_GREETING_EN}|{_POLITENESS}|{_ASKED_ZH}|{_CORRECTING}|{_FILLING}"
    f"|{_CLOSING_EN}|{_CLOSING_ZH})(?:[ !.~,:]+|$|))*$"
)
_NOTHING_EN = compiled(
    f"^(?:(?:{_GREETING_EN}|{_POLITENESS}|{_CORRECTING}|{_FILLING}|{_CLOSING_EN})(?:[ !.~,:]+|$))*$"
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
    nothing = _NOTHING_EN if said.isascii() else _SAYS_NOTHING
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


Act = Literal["skip", "help", "repeat", "start_over", "person"]

_BEFORE = (
    "(?:嗯|呃|额|哦|噢|啊|哎|那就?|就|请问?|麻烦(?:你|您)?|劳驾|帮我|给我|我(?:想|要|想要)?"
    "|能(?:不能)?"
    "|可不可以|可以|你(?:可以|能)?|您|咱们?|还是|不好意思|抱歉|好的|先"
    "|please|pls|sorry|u+m+|u+h+|ok(?:ay)?|well|so|hey|hi|hello|actually|wait"
    "|can (?:you|we|i)|could (?:you|we|i)|would you|i(?:'d like| want| need) to|let'?s|let me|just"
    "|then|now|[,.!~ ])*"
)
_AFTER = (
    "(?:吧|了|啊|呀|呢|嘛|吗|哈|啦|一下|下|谢谢(?:你|您)?|多谢|好吗|行吗|可以吗|好不好|行不行"
    "|please|pls|thanks|thank you|thx|for now|then|now|here|[,.!?~ ])*"
)

_SKIP = (
    "(?:直接)?(?:跳过|略过|忽略)(?:这|本)?(?:一)?(?:个|项|题|步|条)?(?:问题)?"
    "|(?:这|本)(?:一)?(?:个|项|题|条)?(?:问题)?(?:就|先)?(?:跳过|略过|不填|空着|留空)"
    "|先?不(?:想|用|需要)?(?:填|写|回答)(?:这个|这项|这一项)?|先?空着|留空|不填写"
    "|skip(?: (?:it|this|that|this one|that one))?(?: (?:question|field|part|step))?|pass"
    "|leave (?:it|this|that|this one) (?:blank|empty|out)|leave (?:blank|empty)"
    "|n/?a|not applicable|(?:i'd |i would )?rather not say|(?:i )?prefer not to (?:say|answer)"
)
_NEXT = (
    "(?:到|看|问|换)?下(?:一)?(?:个|项|题|步)(?:问题)?|next(?: (?:one|question|field|step|please))?"
)
_NOTHING = (
    "(?:暂时|目前|这个)?(?:都)?(?:没有?|无)(?:什么)?|暂无|不用|不需要|不必|没啥(?:说的|可填的)?"
    "|没什么(?:说的|可填的|要填的|要说的)?|不填了|没有这个|空"
    "|none|nothing(?: (?:to (?:add|say)|here|really))?|no|nope|not (?:really|needed|necessary)"
    "|no need|blank|empty|i don'?t have (?:one|any|it)|i have none|don'?t have (?:one|any|it)"
)

_ABLE = (
    "(?:使用)?帮助|(?:使用|操作)说明|菜单|功能(?:列表|菜单)?"
    "|(?:都)?(?:会|(?:能|会|可以)(?:帮(?:我|忙)?)?(?:做|干|办|处理))(?:些|点|到|哪)?(?:什么|啥"
    "|哪些|嘛)"
    "(?:事|事情|东西|业务|工作)?"
    "|你?(?:都)?有(?:些)?(?:什么|哪些|啥)(?:功能|用|本事|能力)"
    "|(?:这里|这儿)(?:都)?(?:能|可以)(?:做|干|办)(?:些)?(?:什么|啥|哪些)(?:事|事情|业务)?"
    "|你?是(?:干|做)(?:什么|啥|嘛)(?:用)?的"
    "|help(?: me)?|i need (?:some |a little )?help|commands|menu"
    "|what (?:can|do|else can) you do(?: for me)?|what can (?:you|this bot|it|this) (?:help me with"
    "|help with|do)(?: for me)?|what are you (?:able to do|capable of|for|good for)"
    "|how can you help(?: me)?|what (?:can|could|else can) i (?:do|ask|ask you|ask you for)"
    "|what can i say|(?:show me )?what you can do|(?:show|list|what are) (?:me )?(?:your|the|all) "
    "(?:commands|capabilities|features|functions)|[?]+"
)
_HELP = (
    "(?:这个|这项|这里|这|该|应该|要)*(?:怎么|如何|咋)(?:填写?|写|回答|答|说|选|弄|用)"
    "|(?:这个|这项|这里|我)*(?:该|应该|要|能|可以|需要)(?:填|写|回答|说|选|输入)(?:些)?(?:什么|啥"
    "|哪些)"
    "|(?:这里|这个|这项|这)?(?:填|写|回答|输入)(?:些)?(?:什么|啥)"
    "|(?:这个|这里|这)?(?:我)?(?:看|听|弄|搞)?(?:也|还)?(?:不|没)(?:太|大|是很)?(?:懂|明白"
    "|会填)(?:怎么填"
    "|填什么|你的意思|什么意思|这个)?"
    "|(?:看|听|弄|搞)不(?:懂|明白)|不知道(?:怎么|该怎么|如何)(?:填|写|回答|答|说|选)"
    "|不知道(?:该)?(?:填|写|回答|说|选)(?:什么|啥|哪个)"
    "|(?:都)?有(?:些)?(?:哪些|什么|啥)(?:可)?(?:选项|选择|选|可以选|能选|可选)(?:的)?|(?:可)?选项"
    "(?:有哪些|有什么|是什么)|(?:都)?有哪几(?:种|个|类|项)(?:可选|选项)?"
    "|(?:这|这个|这里)?(?:是)?(?:什么|啥)意思|这(?:个|里)?(?:是)?(?:干|做)(?:什么|啥|嘛)(?:用)?的"
    "|(?:这|这个)是(?:什么|啥)|怎么办"
    "|what (?:can|should|do|must|could) i (?:say|answer|enter|type|write|put|fill in|choose|pick"
    "|select|reply)|what (?:are|were) (?:my|the) (?:options|choices)"
    "|(?:what|which) (?:options|choices) (?:are there|do i have|can i choose)"
    "|options|(?:show|list|give) (?:me )?(?:the |my |all )?(?:options|choices)"
    "|i (?:don'?t|do not) (?:understand|get|follow)(?: (?:it|this|that|the question))?"
    "|i (?:don'?t|do not) know (?:what|how) to (?:say|enter|put|write|answer|choose|do"
    "|fill (?:this|it) in|answer (?:this|that))"
    "|how (?:do|should|can) i (?:answer|fill (?:this|it)(?: in| out)?|fill in this|fill out this)"
    "(?: this| that| it| question| form)*"
    "|what (?:does|do) (?:that|this|it|you) mean(?: by (?:that|this))?"
    "|what(?: is|'s) (?:this|that|it)(?: for)?|(?:i'm |i am )?(?:stuck|confused|lost)"
)

_REPEAT = (
    "(?:再|重新)(?:说|问|讲|发|念|重复)(?:一?遍|一?次|一下)(?:刚才的|上一个|这个)?(?:问题)?"
    "|(?:再)?重复(?:一?遍|一?次|一?下)?(?:刚才的|上一个|这个)?(?:问题)?"
    "|(?:刚才|刚刚|上一句|上个问题|上一个问题|之前|问题)(?:你|您)?(?:的|是|问|说"
    "|讲)*(?:问题)?(?:是)?(?:什么|啥|哪个)"
    "(?:问题|来着)*"
    "|(?:问|说)(?:的|了)?(?:是)?(?:什么|啥)(?:来着)?|什么|啥"
    "|没(?:听|看)(?:清楚?|见|到)|忘了(?:你|您)?(?:问|说)(?:的)?(?:什么|啥|到哪)?"
    "|repeat(?: (?:it|that|this|the (?:last )?question|the last (?:message|one|reply|answer)"
    "|yourself|your (?:last )?(?:question|message|answer|reply)|what you (?:just )?said))?"
    "|say (?:that|it|this) (?:again|one more time|once more)|come again|what again"
    "|ask (?:me )?(?:(?:that|it|this|the question) )?again"
    "|(?:i )?beg your pardon|pardon(?: me)?"
    "|what(?: did you (?:just )?(?:say|ask)(?: me)?| was that| was the (?:last )?question"
    "|'s the question| is the question| were you asking)?"
    "|huh|(?:i )?(?:didn'?t|did not) (?:catch|hear|get) (?:that|you|it)|(?:i )?missed that"
    "|which question|one more time"
)
_START_OVER = (
    "(?:再|全部|整个)?(?:从头|重头|从零)(?:再)?(?:来|开始|填写?|弄|走|做|说)(?:过|一?遍|一?次)?"
    "|(?:全部|都|整个)?重新(?:再)?(?:来|填写?|开始|弄|录入?|走|做|搞)(?:过|一?遍|一?次|一?个)?"
    "|(?:全部|都|整个)?重(?:来|填|开|做|写)(?:过|一?遍|一?次)?|推倒重来|清空重(?:来|填)|再来一遍"
    "|(?:把)?(?:前面|之前|刚才)(?:的|填的|说的)*(?:全部?|都)?(?:不算|作废|清空|删掉|删了)"
    "|(?:全部?|都)?清空"
    "|start(?:ing)? (?:it |this |all )?(?:over|again|afresh|anew|from (?:scratch|the (?:beginning"
    "|start|top)|zero))|begin (?:again|anew|from (?:the (?:beginning|start)|scratch))"
    "|do (?:it|this) (?:all )?over|re-?start(?: (?:it|this|the (?:form|flow|request|process|whole "
    "thing)|everything))?|(?:all )?from (?:scratch|the (?:beginning|start|top))|reset(?: (?:it|this"
    "|everything|the form|all))?|clear (?:everything|all|it all|the form)"
    "|redo (?:it|this|everything|all of it|the (?:form|whole thing))"
    "|(?:go )?back to (?:the (?:beginning|start)|square one)|(?:all )?over again"
)

_PERSON = (
    "(?:转|找|叫|要|换|接)?(?:到|个|一个)?(?:人工|真人|客服)(?:服务|客服|来)?"
    "|(?:找|换|跟|和)(?:个|一个)人(?:说|聊|谈|来)?"
    "|(?:talk|speak|chat)(?: to| with)? (?:a |an |some )?(?:real |live )?(?:human|person|agent"
    "|someone)|(?:a )?(?:real |live )(?:human|person|agent)|human(?: agent)?|(?:an )?agent"
    "|operator"
)

_REQUEST = (
    "(?:我|这|那|刚才|刚刚|提交|上|一|的|个|条|份|次)*(?:申请|请求|单子?|流程)"
    "|它|这个|那个|刚才那个"
)
_WITHDRAW = (
    f"(?:把)?(?:{_REQUEST})?(?:撤回|撤销|撤掉|收回|撤)(?:来|去|掉)?(?:{_REQUEST})?"
    "|take (?:it|that|this) back|withdraw(?: (?:it|that|this|(?:my|the|that|this) (?:request"
    "|application)))?|retract(?: (?:it|that|this))?|pull (?:it|that|this)(?: back)?"
    "|(?:revoke|recall) (?:it|that|this)"
)


def _whole(*sources: str) -> Any:
    return compiled(f"^{_BEFORE}(?:{'|'.join(sources)}){_AFTER}$")


_SKIPS, _SKIPS_TO_NEXT, _HAS_NONE = _whole(_SKIP), _whole(_NEXT), _whole(_NOTHING)
_ASKS_WHAT_IS_HERE, _ASKS_FOR_HELP = _whole(_ABLE), _whole(_ABLE, _HELP)
_ASKS_FOR_A_PERSON = _whole(_PERSON)
_ASKS_AGAIN, _BEGINS_AGAIN, _WITHDRAWS = _whole(_REPEAT), _whole(_START_OVER), _whole(_WITHDRAW)

_LONGEST = 60


def act_of(text: str, *, optional: bool = False, listed: bool = False) -> Act | None:
    """The act that a normalised text is, where a flow has asked something; None for any other.

    `optional` says that what is asked may be left empty: then `没有` leaves it so. `listed`
    says that another item was asked for: then `下一个` is a yes to that.

    >>> act_of("先跳过吧"), act_of("帮助搬家"), act_of("none"), act_of("none", optional=True)
    ('skip', None, None, 'skip')
    """
    if not text or len(text) > _LONGEST:
        return None
    if _skips(text, optional, listed):
        return "skip"
    acts: tuple[tuple[Any, Act], ...] = (
        (_BEGINS_AGAIN, "start_over"),
        (_ASKS_AGAIN, "repeat"),
        (_ASKS_FOR_HELP, "help"),
        (_ASKS_FOR_A_PERSON, "person"),
    )
    return next((act for pattern, act in acts if pattern.search(text)), None)


def _skips(text: str, optional: bool, listed: bool) -> bool:
    if optional and _HAS_NONE.search(text):
        return True
    if not listed and _SKIPS_TO_NEXT.search(text):
        return True
    # 不填了 is said of the whole, where what is asked is needed.
    return _SKIPS.search(text) is not None and (optional or not text.endswith("填了"))


_GREETS = compiled(
    "^(?:你好|您好|大家好|哈喽|哈啰|嗨|喂|在吗|在不在|有人吗|早|早上好|早安|上午好|中午好|下午好"
    "|晚上好|晚安"
    "|hi|hello|hey|hiya|yo|howdy|good (?:morning|afternoon|evening)|morning|anyone (?:there|here)"
    "|are you there|(?:there|bot|team|everyone|all)|啊|呀|哦|[,.!?~ ])+$"
)
_THANKS = compiled(
    "^(?:好的|嗯|ok|okay|great|perfect|cool|非常|太|多谢|谢谢?|感谢|辛苦|麻烦|你|您|了|啦|啊|哈"
    "|thanks?(?: you)?"
    "|thx|ty|cheers|much appreciated|appreciate it|so much|very much|a lot|[,.!~ ])+$"
)
_THANKING = compiled("谢|感谢|辛苦|thank|thx|\\bty\\b|cheers|appreciate")


def greets(text: str) -> bool:
    """True where a normalised text is nothing but a greeting.

    >>> greets("hi there!"), greets("你好,我想请假")
    (True, False)
    """
    return len(text) <= _LONGEST and _GREETS.search(text) is not None


def thanks(text: str) -> bool:
    """True where a normalised text is nothing but thanks.

    >>> thanks("好的,谢谢你"), thanks("好的")
    (True, False)
    """
    if len(text) > _LONGEST or _THANKS.search(text) is None:
        return False
    return _THANKING.search(text) is not None


def asks_what_is_here(text: str) -> bool:
    """True where a normalised text asks what can be done here: `help`, `你能做什么`."""
    return len(text) <= _LONGEST and _ASKS_WHAT_IS_HERE.search(text) is not None


def asks_again(text: str) -> bool:
    """True where a normalised text asks to have the last words said again."""
    return len(text) <= _LONGEST and _ASKS_AGAIN.search(text) is not None


def withdraws(text: str) -> bool:
    """True where a normalised text takes back what was handed in, and doesn't say which.

    >>> withdraws("撤回吧"), withdraws("撤回我的请假")
    (True, False)
    """
    return len(text) <= _LONGEST and _WITHDRAWS.search(text) is not None


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
