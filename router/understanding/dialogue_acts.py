"""What people say about the dialogue itself, and what they mean nothing by.

An act is the whole message, but for what is said around it: `帮助搬家` is a reason for leave and
`repeat order` a thing to be bought, not calls for help or for a repetition. Greetings, thanks and
the words with which people put themselves right are never a reason, and a request still begins a
message that has them first. The words stand in `router.lexicon`.
"""

from typing import Any, Literal

from router.entities.grammar import compiled, group_span
from router.entities.normalisation import Normalised
from router.lexicon import BOTH, EN, ZH, Words

MARKS = "[,.!?~: ]"
_EMPTY_ZH = f"(?:{ZH.greeting}|{ZH.politeness}|{ZH.wish}|{ZH.repair}|{ZH.filler}|{ZH.closing})"
_EMPTY_EN = f"(?:{EN.greeting}|{EN.politeness}|{EN.wish}|{EN.repair}|{EN.filler}|{EN.closing})"
_SAYS_NOTHING = compiled(f"^(?:(?:{_EMPTY_ZH}|{_EMPTY_EN})(?:{MARKS}+|$|))*$")
_NOTHING_EN = compiled(f"^(?:{_EMPTY_EN}(?:{MARKS}+|$))*$")
_TOTAL = compiled("^(?:一共|总共|合计|共计?|总计|in total|total)")
_NAME = r"(?P<name>[a-z][a-z.'-]*(?: [a-z][a-z.'-]*)?[.!]?)"
_FAREWELL = compiled(rf"(?:^|[,.;!?\n] ?){EN.farewell},? ?[,.!\n]? ?{_NAME}$")
_THANKS_AND_NAME = compiled(
    rf"(?:^|[,.;!?\n] ?){EN.closing}(?:[,.!\n] ?| )(?P<name>[a-z][a-z.'-]*[.!]?)$"
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

    >>> from router.entities.normalisation import normalise
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

AROUND = (
    f"(?:{ZH.filler}|{ZH.courtesy}|{ZH.wish}"
    rf"|\b(?:{EN.filler}|{EN.courtesy}|{EN.hesitation}|{EN.hello})\b|{MARKS})"
)


def _whole(*words: Words) -> Any:
    return compiled(f"^{AROUND}*(?:{'|'.join(map(str, words))}){AROUND}*$")


_ASKS_WHAT_IS_HERE = _whole(BOTH.abilities)
_WITHDRAWS = _whole(BOTH.withdraw)
_SKIPS, _SKIPS_TO_NEXT, _HAS_NONE = _whole(BOTH.skip), _whole(BOTH.next), _whole(BOTH.nothing)
_ASKS_AGAIN = _whole(BOTH.repeat)
_ACTS: tuple[tuple[Any, Act], ...] = (
    (_whole(BOTH.start_over), "start_over"),
    (_ASKS_AGAIN, "repeat"),
    (_whole(BOTH.abilities, BOTH.help), "help"),
    (_whole(BOTH.person), "person"),
)

LONGEST = 60


def act_of(text: str, *, optional: bool = False, listed: bool = False) -> Act | None:
    """The act that a normalised text is, where a flow has asked something; None for any other.

    `optional` says that what is asked may be left empty: then `没有` leaves it so. `listed`
    says that another item was asked for: then `下一个` is a yes to that.

    >>> act_of("先跳过吧"), act_of("帮助搬家"), act_of("none"), act_of("none", optional=True)
    ('skip', None, None, 'skip')
    """
    if not text or len(text) > LONGEST:
        return None
    if _skips(text, optional, listed):
        return "skip"
    return next((act for pattern, act in _ACTS if pattern.search(text)), None)


def _skips(text: str, optional: bool, listed: bool) -> bool:
    if optional and _HAS_NONE.search(text):
        return True
    if not listed and _SKIPS_TO_NEXT.search(text):
        return True
    # 不填了 is said of the whole, where what is asked is needed.
    return _SKIPS.search(text) is not None and (optional or not text.endswith("填了"))


_GREETS = compiled(rf"^(?:{BOTH.hello}|{EN.everyone}|[啊呀哦]|{MARKS})+$")
_THANKS = compiled(f"^(?:{AROUND}|{BOTH.praise})*{BOTH.thanks}(?:{AROUND}|{BOTH.praise})*$")


def greets(text: str) -> bool:
    """True where a normalised text is nothing but a greeting.

    >>> greets("hi there!"), greets("你好,我想请假")
    (True, False)
    """
    return len(text) <= LONGEST and _GREETS.search(text) is not None


def thanks(text: str) -> bool:
    """True where a normalised text is nothing but thanks.

    >>> thanks("好的,谢谢你"), thanks("好的")
    (True, False)
    """
    return len(text) <= LONGEST and _THANKS.search(text) is not None


def asks_what_is_here(text: str) -> bool:
    """True where a normalised text asks what can be done here: `help`, `你能做什么`."""
    return len(text) <= LONGEST and _ASKS_WHAT_IS_HERE.search(text) is not None


def asks_again(text: str) -> bool:
    """True where a normalised text asks to have the last words said again."""
    return len(text) <= LONGEST and _ASKS_AGAIN.search(text) is not None


def withdraws(text: str) -> bool:
    """True where a normalised text takes back what was handed in, and doesn't say which.

    >>> withdraws("撤回吧"), withdraws("撤回我的请假")
    (True, False)
    """
    return len(text) <= LONGEST and _WITHDRAWS.search(text) is not None
