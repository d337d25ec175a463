"""What people say about the dialogue itself, giving up a flow and going on with one among it.

An act is the whole message, but for what is said around it: `帮助搬家` is a reason for leave. Words
of politeness are never a reason. A flow is given up by words for anything, and by its file's own:
of what is called a trip and is travelled, `cancel my trip`, `I don't want to travel any more`,
`不出差了`.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from router.domain.locale import Localised
from router.entities.grammar import compiled, group_span
from router.entities.normalisation import Normalised
from router.flow.paused import ALL, PausedRun
from router.lexicon import BOTH, EN, ZH, Words
from router.understanding.names import FlowNames

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
    """True where a normalised text is nothing but greeting, thanks and the like: `王经理好`."""
    said = text.strip(" ,.!?;:~")
    nothing = _NOTHING_EN if said.isascii() else _SAYS_NOTHING
    return nothing.search(said) is not None or _TOTAL.search(said) is not None


def asks(text: str) -> bool:
    """True where a normalised clause is a question."""
    return _QUESTION.search(text.strip()) is not None


def farewell(text: Normalised) -> int:
    """Where the name begins that signs a text, after mere thanks a capital one; else its end."""
    signed = _FAREWELL.search(text.text)
    if signed is not None:
        return group_span(signed, "name")[0]
    thanked = _THANKS_AND_NAME.search(text.text)
    if thanked is None:
        return len(text.text)
    start, end = group_span(thanked, "name")
    return start if text.as_typed(start, end)[0].isupper() else len(text.text)


DialogueAct = Literal["skip", "help", "repeat", "start_over", "person"]

AROUND = (
    f"(?:{ZH.filler}|{ZH.courtesy}|{ZH.wish}"
    rf"|\b(?:{EN.filler}|{EN.courtesy}|{EN.hesitation}|{EN.hello})\b|{MARKS})"
)


def _whole(*words: Words) -> Any:
    return compiled(f"^{AROUND}*(?:{'|'.join(map(str, words))}){AROUND}*$")


_ASKS_WHAT_IS_HERE = _whole(BOTH.abilities)
_ASKS_WHO_THIS_IS = _whole(BOTH.identity)
_WITHDRAWS = _whole(BOTH.withdraw)
_SKIPS, _SKIPS_TO_NEXT, _HAS_NONE = _whole(BOTH.skip), _whole(BOTH.next), _whole(BOTH.nothing)
_ASKS_AGAIN = _whole(BOTH.repeat)
_FOR_A_PERSON = _whole(BOTH.person)
_LEAVES_PERSON = _whole(BOTH.leaves_person)
_CLAUSES = compiled("[,.;!?~\n]+")
_ACTS: tuple[tuple[Any, DialogueAct], ...] = (
    (_whole(BOTH.start_over), "start_over"),
    (_ASKS_AGAIN, "repeat"),
    (_whole(BOTH.abilities, BOTH.help), "help"),
    (_FOR_A_PERSON, "person"),
)

LONGEST = 60


def act_of(text: str, *, optional: bool = False, listed: bool = False) -> DialogueAct | None:
    """The act that a normalised text is, where a flow has asked something; None for any other.

    `optional`: what is asked may be left empty, and `没有` leaves it so. `listed`: another item
    was asked for, and `下一个` is a yes to that.
    """
    if not text or len(text) > LONGEST:
        return None
    # 不填了 is said of the whole, where what is asked is needed.
    skips = _SKIPS.search(text) and (optional or not text.endswith("填了"))
    leaves = (optional and _HAS_NONE.search(text)) or (not listed and _SKIPS_TO_NEXT.search(text))
    if skips or leaves:
        return "skip"
    return next((act for pattern, act in _ACTS if pattern.search(text)), None)


_GREETS = compiled(rf"^(?:{BOTH.hello}|{EN.everyone}|[啊呀哦]|{MARKS})+$")
_THANKS = compiled(f"^(?:{AROUND}|{BOTH.praise})*{BOTH.thanks}(?:{AROUND}|{BOTH.praise})*$")


def greets(text: str) -> bool:
    """True where a normalised text is nothing but a greeting."""
    return len(text) <= LONGEST and _GREETS.search(text) is not None


def thanks(text: str) -> bool:
    """True where a normalised text is nothing but thanks."""
    return len(text) <= LONGEST and _THANKS.search(text) is not None


def asks_who_this_is(text: str) -> bool:
    """True where a normalised text asks who answers here: `who are you`, `你是谁`."""
    return len(text) <= LONGEST and _ASKS_WHO_THIS_IS.search(text) is not None


def asks_what_is_here(text: str) -> bool:
    """True where a normalised text asks what can be done here: `help`, `你能做什么`."""
    return len(text) <= LONGEST and _ASKS_WHAT_IS_HERE.search(text) is not None


_REFERS = compiled(rf"(?:{ZH.refers}|{ZH.alters})|\b(?:{EN.refers}|{EN.alters})\b")
_MOST_REFERRING = 120


def refers(text: str) -> bool:
    """True where a normalised text is about what was said before it: `再短一点`, `the second one`.

    A long one says by itself what it is about.
    """
    return 0 < len(text) <= _MOST_REFERRING and _REFERS.search(text) is not None


def asks_again(text: str) -> bool:
    """True where a normalised text asks to have the last words said again."""
    return len(text) <= LONGEST and _ASKS_AGAIN.search(text) is not None


def asks_for_a_person(text: str) -> bool:
    """True where a clause of a normalised text is wholly a wish for a person: `转人工，工资算错了`.

    `人工成本` and `客服系统` are words of other wishes.
    """
    if len(text) > LONGEST:
        return False
    return any(_FOR_A_PERSON.search(clause) for clause in _CLAUSES.split(text) if clause.strip())


def hands_back(text: str) -> bool:
    """True where a person who helps gives a conversation back to the desk: `/back`, `交还助手`."""
    return len(text) <= LONGEST and _LEAVES_PERSON.search(text) is not None


def leaves_person(text: str) -> bool:
    """True where a normalised text goes back from a person to the desk: `/back`, `交还`, `取消`.

    Whatever else is said to a person is theirs to hear: `取消我周五的假` too.
    """
    return hands_back(text) or cancels(text)


def withdraws(text: str) -> bool:
    """True where a normalised text takes back what was handed in, and doesn't say which."""
    return len(text) <= LONGEST and _WITHDRAWS.search(text) is not None


ANYTHING = FlowNames("", Localised(zh="", en=""))
"""What has no names of its own."""


def cancels(text: str, names: FlowNames = ANYTHING) -> bool:
    """True where a normalised text says to give up what is called so, and says nothing else."""
    if not text or len(text) > LONGEST:
        return False
    return _cancelling(names.words, tuple(names.verbs)).search(text) is not None


@lru_cache(maxsize=512)
def _cancelling(names: Words, verbs: tuple[str, ...]) -> Any:
    zh, beside_zh = _in_chinese(*_of(names, verbs, latin=False))
    en, beside_en = _in_english(*_of(names, verbs, latin=True))
    around_zh, around_en = f"(?:{beside_zh}|{MARKS})*", rf"(?:{beside_en}\b|{MARKS})*"
    return compiled(f"^(?:{around_zh}(?:{zh}{around_zh})+|{around_en}(?:{en}\\b{around_en})+)$")


def _of(names: Words, verbs: tuple[str, ...], *, latin: bool) -> tuple[Words, Words]:
    return (
        Words(name for name in names if name.isascii() == latin),
        Words(verb for verb in verbs if verb.isascii() == latin),
    )


def _in_chinese(names: Words, verbs: Words) -> tuple[Words, Words]:
    """What gives it up, and what may stand around that."""
    does = ZH.do + verbs + names
    gives_up = [f"{ZH.no_more}{does}{{1,2}}了", f"先不{does}{{1,2}}了?"]
    if names:
        gives_up += [
            f"{names}[我就先也]*不{Words(('要', *does))}了",
            f"不要[这那]?[个台次些]?{names}了",
        ]
    return ZH.cancel + Words(gives_up), ZH.filler + ZH.courtesy + ZH.around_cancel + names


def _in_english(names: Words, verbs: Words) -> tuple[Words, Words]:
    does = EN.do + verbs
    things = ["it|this|that|to"]
    if verbs:
        things.append(f"to {verbs}")
    if names:
        things.append(rf"(?:to )?(?:{does} )?{EN.determiner}?(?:[a-z]+ )?(?:{names}s?\b ?)+")
    gives_up = f"{EN.not_wanted} (?:{'|'.join(reversed(things))})(?: ?{EN.any_more})?"
    around = EN.filler + EN.courtesy + EN.hesitation + EN.around_cancel
    return EN.cancel + Words((gives_up,)), around + Words(f"{name}s?" for name in names)


_RESUMES = compiled(
    f"^(?:{ZH.filler}|[,.! ])*{ZH.resume}(?P<zh>.*)$"
    rf"|^(?:(?:{EN.filler}|{EN.courtesy}|{EN.hesitation})\b|[,.! ])*{EN.resume}\b(?P<en>.*)$"
)
_AROUND_NAME = compiled(
    rf"^(?:{ZH.around_paused}|{EN.around_paused}\b|[,.! ])*"
    f"(?P<name>.*?)(?:{ZH.after_paused}|{EN.courtesy}|{EN.filler}|[,.!~ ])*$"
)
_NONE = compiled(f"^{BOTH.none_of_them}[.! ]*$")


def what_to_resume(text: str) -> str | None:
    """What a normalised text goes on with: a name, or nothing where it says none; else None."""
    found = _RESUMES.search(text) if len(text) <= LONGEST else None
    if found is None:
        return None
    said = _AROUND_NAME.search((found.group("zh") or found.group("en") or "").strip())
    return str(said.group("name")) if said else ""


def resumed(
    text: str, paused: Sequence[tuple[PausedRun, FlowNames]], *, asked: bool, busy: bool
) -> str | None:
    """The run that the text takes up, `ALL` where it leaves all of them; None for neither.

    `asked`: which of them was the question. `busy`: a flow or a skill asks something, so that to
    go on with nothing in particular is to go on with that. Of two with one name the latest.
    """
    if asked and _NONE.search(text):
        return ALL
    name = text if asked and what_to_resume(text) is None else what_to_resume(text)
    if name is None or (not name and busy):
        return None
    fits = [one.run for one, names in paused if not name or names.is_only(name)]
    return fits[-1] if fits else None


def resumes(text: str, active: FlowNames) -> bool:
    """True where the text wants to go on with what is being talked about."""
    name = what_to_resume(text)
    return name is not None and (not name or active.is_only(name))
