"""Going on with what was put aside: `回到报销`, `continue my leave request`, `接着刚才的请假`."""

from collections.abc import Sequence

from router.flow.put_aside import ALL, PutAside
from router.understanding.grammar import compiled
from router.understanding.naming import Named, is_only_name

_TAKES_UP = compiled(
    "^(?:嗯|好的?|那|就|先|我们?|咱们?|我?想|我?要|请|可以|[,.! ])*"
    "(?:回到|接着|继续)(?:来)?(?:办理?|填写?|弄|做|说|搞|走)?(?P<zh>.*)$"
    "|^(?:ok|okay|well|so|now|then|please|let'?s|let us|i(?:'d like| want) to|can (?:we|i)"
    "|could we|just|[,.! ])*(?:(?:go|get|come) back to|back to|continue(?: with)?|resume|return to"
    "|carry on(?: with)?|go on(?: with)?|pick up(?: with)?|take up|keep going(?: with)?|finish)"
    "\\b(?P<en>.*)$"
)
_AROUND = compiled(
    "^(?:刚才|刚刚|之前|先前|前面|前几天|昨天|上次|上回|原来|没(?:有)?(?:办|填|弄|做)?完|放着|收起来"
    "|那个|这个|那件|那份|我|的|事|办|填|一下|吧|了|个"
    "|(?:my|the|that|this|our|earlier|previous|unfinished|open|last|old|where (?:we|i) (?:were"
    "|was|left off|stopped)|it|from before|before)\\b|[,.! ])*"
    "(?P<name>.*?)(?:的?(?:那件事|那个|那份|的事|单子)|吧|了|please|pls|again|now|[,.!~ ])*$"
)
_NONE = compiled(
    "^(?:都|全)?(?:先)?(?:不用|不了|不要|不办|放着|不管|等等|以后再说|算了|不急)(?:了|吧|先)?$"
    "|^都(?:不|先不)(?:要|办|用|接着办)?(?:了|吧)?$|^都先放着(?:吧)?$"
    "|^(?:none(?: of (?:these|them|those))?(?:[:,]? leave them)?|neither|no|nope|no thanks?"
    "|leave (?:it|them|those)|not now|later)[.! ]*$"
)
_LONGEST = 60


def what_to_take_up(text: str) -> str | None:
    """What a normalised text wants to go on with: a name, or nothing where it says none.

    None where it doesn't want to go on with anything.

    >>> [what_to_take_up(said) for said in ("接着刚才的请假", "continue", "回答问题")]
    ['请假', '', None]
    """
    found = _TAKES_UP.search(text) if len(text) <= _LONGEST else None
    if found is None:
        return None
    said = _AROUND.search((found.group("zh") or found.group("en") or "").strip())
    return str(said.group("name")) if said else ""


def meant(text: str, put_aside: Sequence[PutAside], *, asked: bool, busy: bool) -> str | None:
    """The run that the text takes up, `ALL` where it leaves all of them; None for neither.

    `asked`: which of them was the question. `busy`: a flow or a skill asks something, so that to
    go on with nothing in particular is to go on with that. Of two with one name the latest.
    """
    if asked and _NONE.search(text):
        return ALL
    name = text if asked and what_to_take_up(text) is None else what_to_take_up(text)
    if name is None or (not name and busy):
        return None
    fits = [one.run for one in put_aside if not name or is_only_name(name, one)]
    return fits[-1] if fits else None


def goes_on_with(text: str, active: Named) -> bool:
    """True where the text wants to go on with what is being talked about."""
    name = what_to_take_up(text)
    return name is not None and (not name or is_only_name(name, active))
