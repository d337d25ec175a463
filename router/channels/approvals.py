"""An approver's press on a card: decided once, and only on what the card shows."""

from dataclasses import dataclass

from router.api.approvals import settle
from router.api.dependencies import Services
from router.api.params import said_text
from router.channels import cards
from router.channels.base import LONGEST_COMMENT, CardDecision, DecisionRequest
from router.domain.errors import Conflict, InvalidInput, NotFound, RouterError
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.domain.records import ApprovalRecord
from router.flow.engine.events import Decided


@dataclass(frozen=True)
class DecisionOutcome:
    """What a press came to, for whoever pressed. `card` is how theirs looks from now on, if known.

    `text` is in their language. One that `failed` came to nothing yet: they may press again.
    """

    text: str
    card: DecisionRequest | None = None
    failed: bool = False


async def decided(
    services: Services, person: Principal, decision: CardDecision, comment: str, word: str
) -> DecisionOutcome:
    """Decide, and say what became of it; of a second press, what became of the first one.

    Nothing is returned without a `comment`: whoever is to change something has to know what.
    `word` makes a press one, however often it is delivered. Raises `Unavailable` where the run
    can't be reached.
    """
    record = await services.store.runs.find_approval(person.tenant, decision.approval)
    if record is None or record.person != person.id:
        return DecisionOutcome(cards.NOT_YOURS.within(person.locale))
    if record.verdict is not None:
        return await _outcome(services, person, record, _already(record.verdict))
    remark = comment.strip() or None
    if not _may_be_said(remark, decision):
        return DecisionOutcome(cards.WORD_NEEDED.within(person.locale))
    event = Decided(
        by=person.id,
        approval=record.id,
        verdict=decision.verdict,
        comment=remark,
        digest=decision.digest,
    )
    try:
        await settle(services, record, event, word)
    except (Conflict, NotFound) as error:
        return await _too_late(services, person, decision, error)
    return await _outcome(services, person, record, cards.DONE[decision.verdict])


def _may_be_said(remark: str | None, decision: CardDecision) -> bool:
    if remark is None:
        return decision.verdict != "return"
    try:
        return len(said_text(remark, "comment")) <= LONGEST_COMMENT
    except InvalidInput:
        return False


async def card_of(
    services: Services, person: Principal, record: ApprovalRecord, outcome: str = ""
) -> DecisionRequest:
    """The approver's card, in their language."""
    requester = await services.directory.find(record.tenant, record.requester)
    name = requester.name if requester else record.requester
    return DecisionRequest(record, name, person.locale, outcome)


async def _too_late(
    services: Services, person: Principal, decision: CardDecision, error: RouterError
) -> DecisionOutcome:
    record = await services.store.runs.find_approval(person.tenant, decision.approval)
    if record is None:
        return DecisionOutcome(cards.NOT_YOURS.within(person.locale))
    if record.digest != decision.digest:
        return await _outcome(services, person, record, cards.CHANGED)
    if record.verdict is None and record.active:
        return DecisionOutcome(error.said.within(person.locale))
    return await _outcome(services, person, record, await _what_happened(services, record))


async def _what_happened(services: Services, record: ApprovalRecord) -> Localised:
    if record.verdict is not None:
        return _already(record.verdict)
    run = await services.store.runs.find(record.tenant, record.run)
    since = [line for line in run.history if line.at >= record.since] if run else []
    made = next((line for line in since if line.event in cards.DONE and line.by), None)
    if made is None or made.by is None:
        return cards.CLOSED
    decider = await services.directory.find(record.tenant, made.by)
    return _already(made.event, decider.name if decider else made.by)


async def _outcome(
    services: Services, person: Principal, record: ApprovalRecord, said: Localised
) -> DecisionOutcome:
    text = said.within(person.locale)
    return DecisionOutcome(text, await card_of(services, person, record, text))


def _already(verdict: str, by: str = "") -> Localised:
    done, whose = cards.DONE.get(verdict, Localised(zh=verdict, en=verdict)), f" ({by})" * bool(by)
    return Localised(
        zh=cards.ALREADY.zh.format(verdict=f"{done.zh}{whose}"),
        en=cards.ALREADY.en.format(verdict=f"{done.en}{whose}"),
    )
