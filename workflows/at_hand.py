"""The message that a turn is about."""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from temporalio import workflow

from router.contracts.activities import Account
from router.contracts.conversation import Submission
from router.domain.messages import TextReply, Usage
from router.domain.principals import Principal
from router.domain.texts import Locale, Localised


@dataclass(frozen=True)
class AtHand:
    """A message while it is being answered: in which conversation, and since when.

    `seen` is the question that the person had before them when they sent it.
    """

    conversation: str
    locale: Locale
    submission: Submission
    began: datetime
    seen: str

    @property
    def id(self) -> str:
        """The message's."""
        return self.submission.message_id

    @property
    def text(self) -> str:
        """What it says; nothing, where it is a button or a form."""
        return self.submission.message.text or ""

    @property
    def caller(self) -> Principal:
        """Whoever sent it."""
        return self.submission.caller

    @property
    def now(self) -> datetime:
        """The workflow's time, where the caller is."""
        return workflow.now().astimezone(ZoneInfo(self.caller.timezone))

    def account(self, spent: Usage) -> Account:
        """On whose account models are asked in this turn, which has spent so much already."""
        gone = (workflow.now() - self.began).total_seconds()
        return Account(
            caller=self.caller,
            now=self.now,
            conversation=self.conversation,
            message_id=self.id,
            seconds=max(0.0, self.submission.seconds - gone),
            spent=spent,
        )

    def says(self, text: Localised) -> TextReply:
        """The text as a reply to it."""
        return TextReply(text=text.within(self.locale))
