"""Whether a message speaks of days that are over: `补请11月11日的病假`, `I was sick on Monday`."""

from datetime import date, datetime, timedelta

from router.understanding.grammar import compiled

_TEN_MONTHS = timedelta(days=300)
_OVER = compiled(
    "补(?:请|个|一?下|一?张|办|交|提|填|录|登记|上|报)|补[^休,.]{0,16}假|(?:事后|后)补|(?:当时"
    "|那天)(?:没|忘)"
    r"|\b(?:i|we) (?:felt|fell|got) (?:sick|ill|unwell)\b|\bcame down with\b|\bmissed work\b"
    r"|\bstayed (?:at )?home\b|\bi took (?:sick|the day|a day|leave)\b"
    r"|\b(?:was|were) (?:very |really |so )?(?:sick|ill|unwell|off|out|absent|away|on leave"
    r"|in hospital|not feeling well)\b"
    r"|\b(?:i|we) had (?:an? |the )?(?:bad |high |terrible )?(?:fever|flu|cold|covid|migraine"
    r"|headache"
    r"|food poisoning|surgery|accident|stomach|emergency)|\b(?:back-?dated?|retroactive(?:ly)?"
    r"|after the fact|belated(?:ly)?)\b"
)
# What nobody knows of the better part of a year before.
_UNPLANNED = compiled(
    "病|发烧|感冒|住院|不舒服|急诊"
    r"|\b(?:sick|ill|unwell|fever|flu|covid|medical)\b"
)


def is_over(text: str) -> bool:
    """True where a normalised text speaks of days that were, so that it means the last such.

    >>> is_over("补请11月11日的病假"), is_over("11月30日补休")
    (True, False)
    """
    return _OVER.search(text) is not None


def is_far(day: str, now: datetime) -> bool:
    """True where an ISO date is so far ahead that the same day of last year is the nearer one."""
    return date.fromisoformat(day) - now.date() > _TEN_MONTHS


def is_unplanned(text: str) -> bool:
    """True where a normalised text speaks of illness, which nobody announces for next year."""
    return _UNPLANNED.search(text) is not None
