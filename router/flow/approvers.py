"""Who is asked to decide, and who is told of it."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from router.flow.events import Remind
from router.flow.model import Approve
from router.flow.rules import STAND_INS_AND_SKIPS
from router.flow.run import Assignee
from router.flow.walk import Walk

Via = Literal["asked", "stands_in", "carried", "delegated", "added", "escalated"]


@dataclass(frozen=True)
class Asked:
    """Somebody to be asked; `stands_in` is who is away, where it is for someone else."""

    person: str
    stands_in: str | None = None


def to_ask(walk: Walk, ask: Approve) -> list[Asked]:
    """Those whom the file asks, else those it asks otherwise; perhaps nobody."""
    people = others(walk, (walk.evaluate(by) for by in ask.by))
    if not people and ask.otherwise:
        people = others(walk, [walk.evaluate(ask.otherwise)])
    return present(walk, people)


def others(walk: Walk, answers: Iterable[JsonValue]) -> list[str]:
    """User ids without doubles, in order, and without the requester."""
    lists = (answer if isinstance(answer, list) else [answer] for answer in answers)
    people = dict.fromkeys(one for some in lists for one in some if isinstance(one, str))
    return [person for person in people if person and person != walk.run.requester.id]


def present(walk: Walk, people: list[str]) -> list[Asked]:
    """These people, or whoever stands in for those of them who are away; nobody twice."""
    if not people or walk.definition.rules < STAND_INS_AND_SKIPS:
        return [Asked(person) for person in people]
    requester = walk.run.requester.id
    at = (walk.run.opening or walk.now).isoformat()
    answer = walk.look_up("stand_ins", list(people), requester, at)
    instead = answer if isinstance(answer, list) and len(answer) == len(people) else people
    asked: dict[str, Asked] = {}
    for person, other in zip(people, instead, strict=True):
        found = other if isinstance(other, str) and other not in ("", requester) else person
        asked.setdefault(found, Asked(found, person if found != person else None))
    return list(asked.values())


def copied(walk: Walk, ask: Approve, asked: list[Asked]) -> list[str]:
    """Those who are told of it without being asked, in the order of the file."""
    answers = [
        walk.evaluate(source, approver=one.stands_in or one.person)
        for source in ask.cc
        for one in asked
    ]
    known = {one.person for one in asked}
    return [person for person in others(walk, answers) if person not in known]


def assignee(walk: Walk, asked: Asked, via: Via = "asked") -> Assignee:
    """The person with an approval of their own, whose id nobody else's is."""
    run = walk.run
    taken = len(run.approval.assignees) if run.approval else 0
    place = f"{walk.definition.flow}/{run.requester.tenant}/{run.id}/{run.visit}"
    id_ = hashlib.sha256(f"{place}/{asked.person}/{taken}".encode()).hexdigest()[:20]
    if via == "asked" and asked.stands_in:
        via = "stands_in"
    return Assignee(id=id_, person=asked.person, since=walk.now, via=via, stands_in=asked.stands_in)


def tell_those_awaited(walk: Walk, reason: str) -> None:
    """Tell those whose decision is awaited now that it is, and why they hear of it."""
    approval = walk.run.approval
    tell(walk, [a.person for a in approval.waiting_for()] if approval else [], reason)


def tell_if_awaited(walk: Walk, asked: Assignee, reason: str) -> None:
    """Tell whoever was just asked besides; one whose turn comes later hears of it then."""
    approval = walk.run.approval
    if approval is not None and asked in approval.waiting_for():
        tell(walk, [asked.person], reason)


def tell(walk: Walk, people: list[str], reason: str) -> None:
    """Tell these people of the approval."""
    if people:
        walk.effects.append(Remind.model_validate({"people": people, "reason": reason}))
