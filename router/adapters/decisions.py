"""An approver's press on a card: decided once, and only on what the card shows."""

from dataclasses import dataclass

from router.adapters import words
from router.adapters.port import Decision, Wanted
from router.api.deps import Services
from router.contracts import runs
from router.domain.errors import Conflict, NotFound, RouterError
from router.domain.principals import Principal
from router.domain.records import ApprovalRecord
from router.domain.texts import Localised
from router.flow.run import Decided


@dataclass(frozen=True)
class Outcome:
    """What a press came to, for whoever pressed. `card` is how theirs looks from now on, if known.

    `text` is in their language.
    """

    text: str
    card: Wanted | None = None


async def decided(services: Services, person: Principal, decision: Decision, word: str) -> Outcome:
    """Decide, and say what became of it; of a second press, what became of the first one.

    `word` makes a press one, however often it is delivered. Raises `Unavailable` where the run
    can't be reached.
    """
    record = await services.store.runs.find_approval(person.tenant, decision.approval)
    if record is None or record.person != person.id:
        return Outcome(words.NOT_YOURS.within(person.locale))
    if record.verdict is not None:
        return await _outcome(services, person, record, _already(record.verdict))
    event = Decided(
        by=person.id, approval=record.id, verdict=decision.verdict, digest=decision.digest
    )
    try:
        await runs.decide(services.temporal, record, event, word)
    except (Conflict, NotFound) as error:
        return await _too_late(services, person, decision, error)
    return await _outcome(services, person, record, words.DONE[decision.verdict])


async def card_of(
    services: Services, person: Principal, record: ApprovalRecord, outcome: str = ""
) -> Wanted:
    """The approver's card, in their language."""
    requester = await services.directory.find(record.tenant, record.requester)
    name = requester.name if requester else record.requester
    return Wanted(record, name, person.locale, outcome)


async def _too_late(
    services: Services, person: Principal, decision: Decision, error: RouterError
) -> Outcome:
    """Why it wasn't decided, as far as the approval's row tells by now."""
    record = await services.store.runs.find_approval(person.tenant, decision.approval)
    if record is None:
        return Outcome(words.NOT_YOURS.within(person.locale))
    if record.verdict is not None:
        return await _outcome(services, person, record, _already(record.verdict))
    if record.digest != decision.digest:
        return await _outcome(services, person, record, words.CHANGED)
    if not record.active:
        return await _outcome(services, person, record, words.CLOSED)
    return Outcome(error.said.within(person.locale))


async def _outcome(
    services: Services, person: Principal, record: ApprovalRecord, said: Localised
) -> Outcome:
    text = said.within(person.locale)
    return Outcome(text, await card_of(services, person, record, text))


def _already(verdict: str) -> Localised:
    done = words.DONE.get(verdict, Localised(zh=verdict, en=verdict))
    return Localised(
        zh=words.ALREADY.zh.format(verdict=done.zh), en=words.ALREADY.en.format(verdict=done.en)
    )
