"""Somebody says something, at a given moment and of what is asked: what is made of it."""

from datetime import datetime
from typing import Any

from router.domain.commands import Command, Confirm, FillSlots
from router.domain.messages import FlowStatus, Message
from router.entities.utterance import Utterance
from router.flow.definition import FlowDefinition
from router.flow.paused import Situation
from router.flow.slot_types.slot import name_slots
from router.flow.view import FormView
from router.understanding.corrections.values import correction
from router.understanding.reader import Reader
from router.understanding.reading import Reading
from router.understanding.slots.answers import answer
from tests.unit.understanding.flows import EMPLOYEE, FLOWS

NOW = datetime.fromisoformat("2026-11-18T10:00+08:00")
SUNDAY = datetime.fromisoformat("2026-11-22T10:00+08:00")
READER = Reader(FLOWS)


def yuan(amount: str) -> dict[str, str]:
    return {"amount": amount, "currency": "CNY"}


def item(category: str, amount: str, **more: str) -> dict[str, Any]:
    """Of a claim, in yuan."""
    return {"category": category, "amount": yuan(amount), **more}


TAXI = item("transport", "30.00", date="2026-11-17", invoice="A1")


def asking(
    flow: FlowDefinition,
    path: str | None,
    /,
    slots: dict[str, Any] | None = None,
    status: FlowStatus = "collecting",
    **changed: Any,
) -> FormView:
    """A run that asks for the slot at the path."""
    view = FormView(
        id="run",
        flow=flow.flow,
        title=flow.title,
        version=1,
        status=status,
        state="details",
        question="details:1",
        awaiting=[path] if path else [],
        slots=slots or {},
        fillable={n: s for n, s in flow.slots.items() if s.lookup is None or s.ask is not None},
    )
    view = view.model_copy(update=changed)
    return view.replace(slot_set=name_slots(view.fillable))


def answered(view: FormView, typed: str) -> dict[str, Any] | None:
    return answer(view, Utterance.of(typed, NOW))


def corrected(view: FormView, typed: str) -> dict[str, Any] | None:
    return correction(view, Utterance.of(typed, NOW))


def read(
    said: Any, active: FormView | None = None, *, reader: Reader = READER, **more: Any
) -> Reading:
    """Words, an action or a whole message, read in a situation of which `more` is changed."""
    if not isinstance(said, Message):
        said = Message(text=said) if isinstance(said, str) else Message(action=said)
    given = {"now": NOW, "locale": "zh", "roles": EMPLOYEE} | more
    handed_in = more.get("handed_in", [])
    return reader.read(said, Situation.model_validate(given).showing(active, handed_in))


def command(said: Any, active: FormView | None = None, **more: Any) -> Command | None:
    commands = read(said, active, **more).commands
    assert len(commands) <= 1
    return commands[0] if commands else None


def filled(said: Any, active: FormView | None = None, **more: Any) -> dict[str, Any]:
    """The slots that it fills, or confirms with."""
    given = command(said, active, **more)
    return dict(given.slots) if isinstance(given, FillSlots | Confirm) else {}


def routed(reading: Reading) -> tuple[str, str | None, str]:
    """What kind of thing it went to, which, and by what means."""
    assert reading.route is not None
    return reading.route.kind, reading.route.target, reading.route.by
