"""Yes and no, in all usual forms: `好的`, `没问题`, `算了`, `yep`, `no thanks`."""

from router.entities.grammar import compiled, group_span
from router.lexicon import BOTH

_FILLER = f"(?:{BOTH.around_answer}|[~!.,。;、?…😀-🙏]| )"
_YES_ONLY = compiled(f"^{_FILLER}*(?:{BOTH.yes}{_FILLER}*){{1,4}}$")
_NO_ONLY = compiled(f"^{_FILLER}*(?:{BOTH.no}{_FILLER}*){{1,4}}$")
# A yes to "is there more?", and no leave to hand in what there is.
_THERE_IS_MORE = compiled(f"^{_FILLER}*还?有(?:的|啊|呀)?{_FILLER}*$")
_GO_ONLY = compiled(f"^{_FILLER}*(?:{BOTH.yes}{_FILLER}*)*{BOTH.send_off}{_FILLER}*$")
_WAIT_ONLY = compiled(f"^{_FILLER}*(?:{BOTH.no}{_FILLER}*)*(?:{BOTH.wait}{_FILLER}*)+$")
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
    f"^(?:{_FILLER}*)(?:(?P<no>{BOTH.no})|(?P<yes>{BOTH.yes}))(?:[,.。;、!~]+ ?| (?:but|only|just) "
    "|但是?)(?P<rest>.+)$"
)

# A longer text may begin with a yes, but isn't one.
_LONGEST = 60


def yes_or_no(text: str) -> bool | None:
    """What a normalised text says that is nothing but yes or no; None for any other."""
    if not text or len(text) > _LONGEST:
        return None
    # Yes comes first: 没错 is made of two words for no.
    if _YES_ONLY.search(text):
        return True
    return False if _NO_ONLY.search(text) else None


def numbered(text: str) -> bool | None:
    """Which of yes and no, listed in this order, a bare number picks: `2.` is False, `3` None."""
    return {"1": True, "2": False}.get(text.rstrip(".。)、"))


def consent(text: str) -> bool | None:
    """Yes or no to what is about to be handed in: also `发吧`, `go for it`, `等等`, `hold on`."""
    if _THERE_IS_MORE.search(text):
        return None
    said = yes_or_no(text)
    if said is not None or not text or len(text) > _LONGEST:
        return said
    if _GO_ONLY.search(text):
        return True
    return False if _WAIT_ONLY.search(text) else None


def leaning(text: str) -> bool | None:
    """Yes or no with what it is said of: `no video`, `我们需要视频`, in answer to just that."""
    said = yes_or_no(text)
    if said is not None or len(text) > _LONGEST or _BOTH_WAYS.search(text):
        return said
    if _LED_BY_NO.search(text):
        return False
    return True if _LED_BY_YES.search(text) else None


def opening_answer(text: str) -> tuple[bool, int] | None:
    """The yes or no that a text opens with, `不对,是下周二`, and where the rest of it starts."""
    match = _OPENING.search(text[:_LONGEST])
    if match is None:
        return None
    return match.group("no") is None, group_span(match, "rest")[0]
