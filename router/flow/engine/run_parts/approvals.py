"""Who was asked to approve a run, what they agreed to, and changes of what was handed in."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Annotated, ClassVar, Literal, Self

from router.domain.locale import Localised
from router.domain.run_approvals import RunApproval
from router.domain.value import Value
from router.flow.definition import SlotValues
from router.flow.engine.run_parts.draftable import Bound, Draftable, OnePer

MAX_APPROVERS = 500
"""People whom one approval asks, or tells as `cc`. Each is carried with the run and published with
each of its steps."""
MAX_ASSIGNEES = 1_000
"""People whom one approval asks in all, with those who were asked in place of others."""
MAX_AGREEMENTS = 2_000
MAX_GRANTED = 100
"""Approvals that a run keeps for the tool gate, which needs one that covers the call."""
MAX_COPIED_PEOPLE = 2_000

Verdict = Literal["approve", "reject", "return", "delegate", "add"]
Position = Literal["before", "after"]


class Agreement(Value):
    """That somebody agreed, to which contents."""

    person: str
    contents: str
    counted: Annotated[list[str], OnePer("state")]
    """The states in which it has counted; it counts once in each, until the next return."""
    at: datetime | None = None
    """When: tells it from another of the same person's, where branches tell each other of it."""
    voided: bool = False
    """True once somebody has decided otherwise since: it no longer approves a call of a tool."""

    def counting_in(self, *states: str) -> "Agreement":
        """The same, now that it has counted in these states."""
        return self.replace(counted=list(dict.fromkeys([*self.counted, *states])))

    def counting_anew(self) -> "Agreement":
        """The same, as if it had counted nowhere yet."""
        return self.replace(counted=[])


class Assignee(Value, frozen=False):
    """One person asked to decide, and what they said."""

    id: str
    """The approval's id: opaque, unique for run, visit and person."""
    person: str
    since: datetime
    verdict: Verdict | Literal["escalated", "changed"] | None = None
    """`changed`: nobody decided, since the requester changed what was to be decided on."""
    comment: str | None = None
    at: datetime | None = None
    via: Literal["asked", "stands_in", "carried", "delegated", "added", "escalated"] = "asked"
    stands_in: str | None = None
    """Who is away, and in whose place this person was asked."""
    source: str = ""
    """The expression that names who is asked in this place; empty where a person named them."""
    behind: str | None = None
    """The assignee who has to agree before it is this person's turn."""
    implied: bool = False
    """True where they agreed by adding someone after themselves; they may still say so."""

    @property
    def open(self) -> bool:
        """True while this person's decision is awaited."""
        return self.verdict is None


class Approval(Value, frozen=False):
    """The approval under way: who was asked what. A decision is bound to `digest`."""

    visit: int
    mode: Literal["any", "all", "sequential"]
    title: Localised
    summary: Annotated[dict[str, Localised], OnePer("slot")]
    """What the approver is shown: label by slot name, value by language."""
    labels: Annotated[dict[str, Localised], OnePer("slot")]
    digest: str
    assignees: Annotated[list[Assignee], Bound(MAX_ASSIGNEES, "hold")]
    due: datetime | None = None
    cc: Annotated[list[str], Bound(MAX_APPROVERS, "hold")] = []
    contents: str = ""
    """Stands for what the requester said and what came of it, whichever state shows it."""
    slots_digest: str = ""
    """The digest of all slots as they are shown: `router.flow.engine.approval`."""
    bulk: bool = False

    def draft(self) -> "Approval":
        """The same, for a step to change: what people said of it can be written into it."""
        draft = self.replace()
        draft.assignees = [person.replace() for person in self.assignees]
        return draft

    @property
    def asked(self) -> list[Assignee]:
        """Those whom the file asks, or who stand in for them; not those added on the way."""
        return [a for a in self.assignees if a.via != "added"]

    @property
    def agreed(self) -> bool:
        """True where those asked have agreed as `mode` wants, and everyone added has too."""
        verdicts = [a.verdict for a in self.asked if a.verdict in (None, "approve")]
        enough = "approve" in verdicts if self.mode == "any" else None not in verdicts
        # Whoever passed it on, or was passed over, is stood for by the one it went to.
        gone_on = ("approve", "delegate", "escalated")
        return enough and all(a.verdict in gone_on for a in self.assignees if a.via == "added")

    @property
    def carried_over(self) -> bool:
        """True where it came to what it did by what people had agreed to before."""
        ways = {a.via for a in self.assignees if a.verdict is not None}
        return ways == {"carried"}

    def waiting_for(self) -> list[Assignee]:
        """Those whose decision is awaited now: in sequence the first, else everyone still open.

        Whoever comes behind somebody isn't asked before that one has agreed.
        """
        added = [a for a in self.assignees if a.open and a.via == "added"]
        still = [a for a in self.asked if a.open]
        if self.mode == "any" and any(a.verdict == "approve" for a in self.asked):
            still = []
        turns = (still[:1] if self.mode == "sequential" else still) + added
        agreed = {a.id for a in self.assignees if a.verdict == "approve"}
        return [a for a in turns if a.behind is None or a.behind in agreed]

    def pass_on(self, before: Assignee, after: Assignee) -> None:
        """Have those who come behind one person come behind another."""
        for one in self.assignees:
            if one.behind == before.id and one is not after:
                one.behind = after.id


class Amendment(Value):
    """A change of what was handed in, from its wish until it is made or dropped."""

    slots: Annotated[SlotValues, OnePer("value")]
    """What is to be other, by slot name or path."""
    number: int
    """Names the question whether to make it."""
    visit: int
    word: str = ""
    """By what a front end waits to hear what comes of it: nobody is asked again then."""
    after: Annotated[SlotValues | None, OnePer("slot")] = None
    """What the slots would be; None while that is looked up."""
    tasks: Annotated[list[str], Bound(1, "replace")] = []
    """The lookup that it waits for."""


class Approvals(Draftable):
    """Every decision that was asked for, and what is in force of them.

    An approval in `granted` covers a call of a tool while the slots are those that the approvers
    saw. A rejection, a return or an expiry voids all approvals before it, and at a join those that
    other branches have got meanwhile.
    """

    max_bytes: ClassVar[int] = 640 * 1024

    current: Approval | None = None
    """The approval that is asked for now."""
    last: Approval | None = None
    """The approval before that, as it ended."""
    before_last: Annotated[list[Approval], Bound(2, "drop_oldest")] = []
    """The approvals from which what people agreed to there was carried over, as they ended."""
    agreements: Annotated[list[Agreement], Bound(MAX_AGREEMENTS, "drop_oldest")] = []
    """Whoever's older agreement is dropped is asked once more."""
    granted: Annotated[list[RunApproval], Bound(MAX_GRANTED, "drop_oldest")] = []
    """The approvals in force, for the tool gate."""
    declined: bool = False
    """True from a rejection, a return or an expiry until somebody approves."""
    copied_people: Annotated[list[str], Bound(MAX_COPIED_PEOPLE, "drop_oldest")] = []
    """Everyone who was ever told of an approval as `cc`: they may read the run."""
    amendment: Amendment | None = None
    """The change of what was handed in that is looked up, or asked about."""
    confirmed_slots: Annotated[SlotValues | None, OnePer("slot")] = None
    """The slots that a change was confirmed to: while they are these, and nothing is asked, what
    was confirmed before isn't asked to be confirmed again."""
    slots_before: Annotated[SlotValues | None, OnePer("slot")] = None
    """The slots as they were when the run was last sent back for changes."""

    def draft(self) -> Self:
        """Copy the part, and the current approval: what people say of it is written into it."""
        draft = super().draft()
        if self.current is not None:
            draft.current = self.current.draft()
        return draft

    def for_branch(self) -> "Approvals":
        """Return what a branch of the run knows as it begins."""
        return Approvals(agreements=self.agreements, granted=self.granted)

    @property
    def asks_to_amend(self) -> bool:
        """True while the requester is asked whether a change of what waits is to be made."""
        return self.amendment is not None and self.amendment.after is not None

    @property
    def ended(self) -> list[Approval]:
        """The last that ended, behind those that led to it without anybody's being asked."""
        return [*self.before_last, *([self.last] if self.last else [])]

    @property
    def known(self) -> list[Approval]:
        """The approvals that ended, and the current one."""
        return [*self.ended, *([self.current] if self.current else [])]

    def add_copied(self, people: Iterable[str]) -> None:
        """Add those who are told of an approval as `cc`."""
        self.copied_people = list(dict.fromkeys([*self.copied_people, *people]))

    def close(self) -> None:
        """Ask nobody any longer: what was decided until then is on record as it stands."""
        closed, self.current = self.current, None
        if closed is not None:
            # What ends as soon as it is opened mustn't hide whose decision had led to it.
            self.before_last = self.ended if closed.carried_over else []
            self.last = closed

    def close_as_changed(self, now: datetime) -> None:
        """Ask nobody any longer, since what they were to decide on is changed."""
        for one in self.current.assignees if self.current else ():
            if one.open:
                one.verdict, one.at = "changed", now
        self.close()

    def grant(self, state: str) -> None:
        """Record everyone who approved in the current approval, with what they approved.

        An agreement from before a return spares a person the question, but approves no call.
        """
        if self.current is None:
            return
        approval = self.current
        in_force = {(each.person, each.contents) for each in self.agreements if not each.voided}
        people = [
            one.person
            for one in approval.assignees
            if one.verdict == "approve"
            and (one.via != "carried" or (one.person, approval.contents) in in_force)
        ]
        self._add_granted(
            self.granted,
            [RunApproval(digest=approval.slots_digest, person=p, state=state) for p in people],
        )

    def take_over(self, inherited: Collection[RunApproval], ended: Sequence[RunApproval]) -> None:
        """Take over what a branch ended with: what it voided of what it began with is void here.

        What it merely began with isn't brought back where another branch has voided it since. An
        approval that it got makes up for one that was declined before the branches.
        """
        kept = [each for each in self.granted if each in ended or each not in inherited]
        self._add_granted(kept, [each for each in ended if each not in inherited])

    def _add_granted(self, kept: Iterable[RunApproval], new: Sequence[RunApproval]) -> None:
        self.granted = list(dict.fromkeys([*kept, *new]))[-MAX_GRANTED:]
        self.declined = self.declined and not new

    def void(self, *, returned: bool = False) -> None:
        """Forget every approval: somebody decided otherwise, or nobody has decided.

        Whoever has agreed is asked again, unless the request was merely `returned`.
        """
        self.granted, self.declined = [], True
        kept = self.agreements if returned else []
        self.agreements = [each.replace(voided=True) for each in kept]

    def count_agreements_again(self) -> None:
        """Have each agreement count in every state, as if it had counted in none yet."""
        self.agreements = [each.counting_anew() for each in self.agreements]

    def count_agreement(self, person: str, contents: str, state: str) -> None:
        """Have what the person agreed to before count in this state too."""
        self.agreements = [
            each.counting_in(state) if (each.person, each.contents) == (person, contents) else each
            for each in self.agreements
        ]

    def merge_agreements(self, others: Iterable[Agreement]) -> list[Agreement]:
        """Add the agreements of a branch, and return those that weren't known.

        Each is there once, and counts in each state in which it counted in either.
        """
        merged = {_identify(each): each for each in self.agreements}
        new = []
        for each in others:
            known = merged.get(_identify(each))
            if known is None:
                new.append(each)
            merged[_identify(each)] = (known or each).counting_in(*each.counted)
        self.agreements = list(merged.values())
        return new


def _identify(agreement: Agreement) -> tuple[object, ...]:
    return agreement.person, agreement.contents, agreement.at
