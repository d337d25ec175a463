"""What people were posted on chat platforms, compared with what is on record, and their mails."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.e2e.chaos.checker import Finding, Records, Row
from tests.e2e.chaos.entrances import Shown, bare

UNRECORDED = tuple(
    bare(text)
    for text in (
        *("现在没能记录", "It couldn't be recorded right now"),
        *("还不知道您的决定", "It isn't known yet whether your decision"),
    )
)
"""What is said of a press that comes to nothing, also after its platform was answered."""
FAILED = (bare("这一步没能完成"), bare("That couldn't be done just now"))
"""What a turn says that came to nothing: it is to be said again."""
ASIDES = UNRECORDED + tuple(
    bare(text)
    for text in (
        *("这条消息没有处理成功", "This message couldn't be dealt with"),
        *("这条消息没有收下", "This message wasn't taken in"),
        *("还不知道这条消息有没有收到", "It isn't known yet whether this message arrived"),
        *("正在记录", "It is being recorded"),
        *("正在处理", "It is being dealt with"),
        *("已经处理过了", "This was decided already"),
    )
)
"""What is said of a message or a press, and isn't in any conversation."""
FURNITURE = tuple(map(bare, ("请选择：", "Please choose:")))
"""What a card says whose question stands above it."""


@dataclass
class Word:
    """Something that somebody said, and whether their platform was told that it was taken in.

    A press of a button says nothing: on record it has the words that the desk has for it.
    """

    text: str
    moment: int
    """Which came first; of two that were said at once it is the same."""
    times: int = 0
    """How often it was delivered."""
    taken: bool = False


@dataclass(frozen=True)
class Line:
    """What the desk said at one time: the beginning of each reply, bare, and all of it."""

    parts: tuple[str, ...]
    whole: str


def lines_of(log: Sequence[Row], conversation: str) -> list[Line]:
    """What is to be posted of a conversation, in its order; of "…" nothing would be recognised."""
    said = []
    for row in log:
        # What has no letter can't be told from nothing: a model that was cut short says "…".
        if row["conversation"] == conversation and (texts := [*filter(bare, _told(row))]):
            parts = tuple(filter(None, map(_beginning, texts)))
            said.append(Line(parts, "".join(map(bare, texts))))
    return said


def _told(row: Row) -> Iterator[str]:
    """The texts of an answer, or of news; nothing of what people themselves said."""
    data: dict[str, Any] = row["data"]
    if row["kind"] == "turn":
        yield from (reply["text"] for reply in data["turn"]["replies"])
    elif row["kind"] == "message" and data["role"] != "user" and not row["message_id"]:
        if "author" in data:
            yield f"{data['author']['name']}: {data['text']}"
        else:
            yield from (reply["text"] for reply in data.get("replies", []))


def _beginning(text: str) -> str:
    """Its first line that is no table's: platforms lay those out anew."""
    lines = (bare(line) for line in text.split("\n") if not line.startswith("|"))
    return next(filter(None, lines), "")


@dataclass
class Posted:
    """How often something was read that wasn't to be read then."""

    again: int = 0
    """Posts that were there before."""
    asides: int = 0
    findings: list[Finding] = field(default_factory=list)


def of_posts(about: str, lines: Sequence[Line], posts: Iterable[Shown]) -> Posted:
    """Each line is posted, in order; what comes once more is counted, and anything else is wrong.

    A line may be several posts, and a post that is repeated comes before the next line does.
    """
    found, reader, names = Posted(), _Reader(lines), set[str]()
    for post in posts:
        if post.key and post.key in names:
            found.again += 1
        elif not reader.reads(post):
            if reader.knows(post):
                found.again += 1
            elif any(aside in post.words for aside in ASIDES):
                found.asides += 1
            else:
                what = f"{about} was posted {post.words[:80]!r}, and {reader.next!r} was to come"
                found.findings.append(Finding("wrong", what))
        names |= {post.key} if post.key else set()
    missing = len(lines) - reader.read
    if missing:
        what = f"{missing} posts to {about}, the first of them {reader.next!r}"
        found.findings.append(Finding("lost", what))
    return found


class _Reader:
    """Somebody who reads posts and has the record beside them."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._missing = [*lines[0].parts] if lines else []
        self.read = 0

    @property
    def next(self) -> str:
        """What is to come."""
        return self._lines[self.read].whole[:80] if self.read < len(self._lines) else "nothing"

    def reads(self, post: Shown) -> bool:
        """True of what is to come now, or goes on with it."""
        there = [part for part in self._missing if part in post.words]
        self._missing = [part for part in self._missing if part not in there]
        if there and not self._missing:
            self.read += 1
            following = self._lines[self.read : self.read + 1]
            self._missing = [*following[0].parts] if following else []
        return bool(there) or self._goes_on(post)

    def _goes_on(self, post: Shown) -> bool:
        near = self._lines[max(0, self.read - 1) : self.read + 1]
        begins = any(part in post.words for line in near for part in line.parts)
        inside = any(post.words in line.whole for line in near)
        return not begins and (inside or post.words in FURNITURE)

    def knows(self, post: Shown) -> bool:
        """True of what came just before."""
        near = self._lines[max(0, self.read - 1) : self.read + 1]
        return any(part in post.words for line in near for part in line.parts)


def of_words(about: str, words: Sequence[Word], log: Sequence[Row]) -> Iterator[Finding]:
    """Each word that a platform was told of is on record and answered once, in the order said."""
    spoken = [row for row in log if row["kind"] == "message" and row["data"]["role"] == "user"]
    yield from _of_counts(about, words, [row["data"]["text"] for row in spoken])
    answered = Counter(row["message_id"] for row in log if row["kind"] == "turn")
    for row in spoken:
        if answered[row["message_id"]] != 1:
            count = answered[row["message_id"]]
            yield Finding("lost", f"{count} turns answer {row['data']['text']!r} of {about}")
    sent = Counter(word.text for word in words)
    alone = [w for w in words if w.taken and w.text and sent[w.text] == 1]
    moments = {word.text: word.moment for word in alone}
    order = [moments[row["data"]["text"]] for row in spoken if row["data"]["text"] in moments]
    if order != sorted(order):
        yield Finding("wrong", f"what {about} said is on record in this order: {order}")


def _of_counts(about: str, words: Sequence[Word], recorded: Sequence[str]) -> Iterator[Finding]:
    """What was taken in is there, and no more than was sent."""
    sent = Counter(word.text for word in words)
    taken = Counter(word.text for word in words if word.taken)
    # Whatever stands there and nobody wrote was pressed.
    there = Counter(text if text in sent else "" for text in recorded)
    for text, count in (taken - there).items():
        what = repr(text) if text else "presses"
        yield Finding("lost", f"{count} × {what} of {about}, which its platform was told of")
    for text, count in (there - sent).items():
        what = repr(text) if text else "presses"
        yield Finding("doubled", f"{count} × {what} of {about} too many")


OUTCOMES = {"approve": ("已同意", "approved"), "reject": ("已拒绝", "rejected")}


@dataclass(frozen=True)
class Card:
    """An approver's card, or mail, and what it says at last, bare."""

    approval: str
    where: str
    says: str


def of_cards(cards: Iterable[Card], records: Records) -> Iterator[Finding]:
    """Each says what came of it: what is on record, where somebody decided by it."""
    verdicts = {row["id"]: row["verdict"] or "" for row in records.approvals}
    for card in cards:
        about = f"the card of {card.approval} on {card.where}"
        verdict = verdicts.get(card.approval)
        wanted = OUTCOMES.get(verdict or "", ("",))
        if verdict is None:
            yield Finding("wrong", f"{about} is about nothing on record")
        elif not card.says:
            yield Finding("lost", f"{about} never says what came of it")
        elif not any(word in card.says for word in wanted):
            yield Finding("wrong", f"{about} says {card.says!r}, and it was {verdict}")


def besides(records: Records, conversations: set[str]) -> Records:
    """The same without what was said in these conversations."""
    log = [row for row in records.log if row["conversation"] not in conversations]
    return replace(records, log=log)
