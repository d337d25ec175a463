"""What the company's rules make of one request, told nothing but the words that were accepted.

Written from the rules as people know them, not from the flow files and not with the machine: what
both agree on is right twice. Leave of more than three days goes to the manager's manager as well;
claims above 1,000 CNY to finance and above 10,000 to the director as well; nobody is asked twice
about the same thing; a claim stands on record while it is asked for, leave only once it is granted.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

Flow = Literal["leave_request", "reimbursement"]

MANAGERS = {"alice": "bob", "frank": "bob", "bob": "carol", "gina": "carol", "erin": "carol"}
FINANCE, DIRECTOR = "erin", "carol"
ENTITLED = 5000
"""Days of leave a year: nobody runs out of them in a storm."""
WORDS = {
    *("approve", "reject", "return", "delegate", "add before", "add after", "withdrawn"),
    *("agreement carried over", "withdrawal asked", "withdrawal rejected", "changed"),
}
"""The lines of a history that come of what people said."""
SUBMIT, TAKE_BACK = "submit_claim", "withdraw_claim"
RECORD, REVERT = "record_leave", "revert_leave"


@dataclass
class Expected:
    """How one request stands, as far as anybody has been told that it does."""

    flow: Flow
    requester: str
    size: int
    """Working days, or CNY."""
    managers: Mapping[str, str] = field(default_factory=lambda: MANAGERS)
    """Who decides on what somebody asks for."""
    status: str = "confirming"
    asked: list[str] = field(default_factory=list)
    """Who has to agree before the present stage is over; the first of them is awaited."""
    later: list[str] = field(default_factory=list)
    agreed: set[str] = field(default_factory=set)
    words: list[tuple[str, str]] = field(default_factory=list)
    """What its history has to say of people's words: the event, and whose it was."""
    unsure: int = 0
    """How many of the words before the last one may never have come."""
    calls: Counter[str] = field(default_factory=Counter)
    """The writes that happened, by tool: each once."""
    perhaps: Counter[str] = field(default_factory=Counter)
    """Writes that were or weren't under way when it was taken back."""
    taken_back_by: str | None = None
    """Whose word decides whether what was completed is taken back."""

    @property
    def is_leave(self) -> bool:
        return self.flow == "leave_request"

    @property
    def ended(self) -> bool:
        return self.status in ("completed", "rejected", "cancelled")

    @property
    def holds(self) -> bool:
        """True where something stands on record in the end."""
        return self.status == "completed"

    @property
    def histories(self) -> list[list[tuple[str, str]]]:
        """The words, and where the last one came at once with another, without what it cut off."""
        before, last = self.words[:-1], self.words[-1:]
        return [before[: len(before) - cut] + last for cut in range(self.unsure + 1)]

    @property
    def claims(self) -> Counter[str]:
        """Its claims on record, by what became of them: one for every time it was sent."""
        withdrawn = self.calls[TAKE_BACK]
        ended = {"completed": "settled", "rejected": "rejected"}.get(self.status)
        if self.is_leave:
            return Counter()
        return +Counter({"withdrawn": withdrawn}) + Counter([ended] if ended else [])

    def sent(self) -> None:
        """The requester has confirmed it, for the first time or after changes."""
        self.agreed, self.later = set(), self._stages()
        self.status = "waiting_approval"
        if not self.is_leave:
            self.calls[SUBMIT] += 1
        self._next_stage()

    def approved(self, by: str) -> None:
        self.words.append(("approve", by))
        self.agreed.add(self.asked.pop(0))
        if not self.asked:
            self._next_stage()

    def rejected(self, by: str) -> None:
        self.words.append(("reject", by))
        self.status = "rejected"
        if not self.is_leave:
            self.calls["reject_claim"] += 1

    def returned(self, by: str) -> None:
        self.words.append(("return", by))
        self.status = "collecting"
        self._take_claim_back()

    def delegated(self, by: str, to: str) -> None:
        self.words.append(("delegate", by))
        self.asked[0] = to

    def amended(self) -> None:
        """The requester has changed it: all that happened since it was sent happens once more."""
        self.words.append(("changed", self.requester))
        self._take_claim_back()
        self.sent()

    def added(self, by: str, to: str, position: str) -> None:
        """One more is asked: before the one who adds them, or after, who agrees by that."""
        self.words.append((f"add {position}", by))
        if position == "after":
            self.agreed.add(self.asked.pop(0))
        self.asked.insert(0, to)

    def withdrawn(self, by: str, *, at_once: bool = False) -> None:
        """Taken back on the way: whatever stands on record no longer does.

        `at_once` with an agreement, it may come before anybody has looked whom to ask next.
        """
        if at_once:
            carried = (event == "agreement carried over" for event, _ in reversed(self.words))
            self.unsure = sum(1 for _ in takewhile(bool, carried))
        self.words.append(("withdrawn", by))
        if self.status == "completed":
            self._was_perhaps_under_way()
        elif self.status == "waiting_approval":
            self._take_claim_back()
        self.status = "cancelled"

    def withdrawal_asked(self) -> None:
        """What was completed is to be taken back, where its approver agrees."""
        self.words.append(("withdrawal asked", self.requester))
        self.taken_back_by = self.managers[self.requester]

    def withdrawal_decided(self, verdict: str) -> None:
        agreed = verdict == "approve"
        self.words.append(("withdrawn" if agreed else "withdrawal rejected", self.requester))
        if agreed:
            self.status = "cancelled"
            self.calls[REVERT if self.is_leave else TAKE_BACK] += 1

    def may_be_asked(self, person: str) -> bool:
        """True where somebody may pass the decision to this person."""
        return person not in (*self.asked, self.requester)

    def _stages(self) -> list[str]:
        manager = self.managers[self.requester]
        if not self.is_leave:
            return [manager, *[FINANCE] * (self.size > 1000), *[DIRECTOR] * (self.size > 10000)]
        above = self.managers.get(manager)
        return [manager, above] if above and self.size > 3 else [manager]

    def _next_stage(self) -> None:
        while self.later:
            person = self.later.pop(0)
            if person not in self.agreed:
                self.asked = [person]
                return
            self.words.append(("agreement carried over", person))
        self.status = "completed"
        self.calls[RECORD if self.is_leave else "settle_claim"] += 1

    def _take_claim_back(self) -> None:
        if not self.is_leave:
            self.calls[TAKE_BACK] += 1

    def _was_perhaps_under_way(self) -> None:
        done = RECORD if self.is_leave else "settle_claim"
        self.calls[done] -= 1
        self.perhaps[done] += 1
        if self.is_leave:
            self.perhaps[REVERT] += 1
        self._take_claim_back()
