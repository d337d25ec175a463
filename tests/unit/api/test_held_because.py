"""Why a run is held, in a sentence."""

from collections.abc import Sequence
from datetime import UTC, datetime

from router.api.runs import held_because
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.domain.records import RunRecord
from router.domain.run_history import HistoryEntry, Incident, IncidentKind
from tests.integration.api.test_runs import run_record
from tests.table import each_row

AT = datetime(2026, 11, 25, 11, 4, tzinfo=UTC)
OLGA = Principal(id="olga", name="Olga", locale="en", timezone="Asia/Shanghai")
TITLES = {"pay_out": Localised(zh="付款", en="Pay out")}


def held(
    kind: IncidentKind, detail: str = "", name: str = "", people: Sequence[str] = ()
) -> RunRecord:
    """Build a run that waits for an operator because of this incident."""
    incident = Incident(kind=kind, at=AT, name=name, detail=detail, people=[*people])
    return run_record("r1", incident=incident, status="waiting")


def why(run: RunRecord, locale: str = "en", *, operates: bool = True) -> str | None:
    reader = OLGA.model_copy(update={"locale": locale})
    return held_because(run, reader, TITLES.get, operates=operates)


CALL = held("call", "account closed", "pay_out")
UNDO = held("undo", "no such booking", "pay_out")
LOOKUP = held("lookup", "no answer: timed out", "pay_out")
GONE = held("approver", people=["bob", "carol"])
DATA = held("data", "OverflowError: date value out of range")
CODE = held("code", "this deployment has no slot type 'badge'; deploy it")
OVER_LIMIT = held("over_limit", "role('crowd') names 612 people")
LOST = held("lost", "its workflow was terminated")


@each_row(
    ("run", "zh", "en"),
    [
        (
            CALL,
            "“付款”没有办成，得到的是“account closed”；从2026-11-25 19:04起等管理员，可以重试",
            "“Pay out” failed with “account closed”; it has waited since 2026-11-25 19:04: retry",
        ),
        (
            UNDO,
            "撤回时“付款”没有办成，得到的是“no such booking”",
            "Taking a step back, “Pay out” failed",
        ),
        (LOOKUP, "要用“付款”查一项信息，没有查成", "failed with “no answer: timed out”; it has"),
        (
            GONE,
            "（bob、carol）；从2026",
            "(bob, carol); it has waited since 2026-11-25 19:04: reassign",
        ),
        (
            OVER_LIMIT,
            "它超过了一次办理能带的上限（role('crowd') names 612 people）；从2026",
            "It has reached a limit of what one run can carry (role('crowd') names 612 people); it",
        ),
        (
            CODE,
            "下一步需要的代码没有部署（this deployment has no slot type 'badge'; deploy it）；从",
            "The next step needs code that isn't deployed (this deployment has no slot type 'badge",
        ),
        (LOST, "intent-router reconcile", "can't go on (its workflow was terminated); it has"),
        (
            DATA,
            "按现有的数据，下一步走不下去（OverflowError: date value out of range）；从",
            "The next step can't be made with the values at hand (OverflowError: date value",
        ),
    ],
)
def test_it_says_what_was_tried_what_came_back_and_what_can_be_done(
    run: RunRecord, zh: str, en: str
) -> None:
    assert zh in (why(run, "zh") or "")
    assert en in (why(run) or "")


def test_the_call_that_failed_is_named_whatever_has_happened_since() -> None:
    events = ("call failed", "nudged", "held", "reminded")
    history = [HistoryEntry(at=AT, state="pay", event=event) for event in events]
    run = CALL.replace(history=history)
    assert (why(run) or "").startswith("“Pay out” failed with “account closed”")


def test_a_tool_that_is_gone_is_told_by_its_name() -> None:
    said = why(held("call", "gone", "old_tool"))
    assert (said or "").startswith("“old_tool” failed with “gone”")


def test_its_requester_reads_what_was_tried_and_not_what_came_back() -> None:
    said = why(CALL, operates=False)
    assert said == (
        "“Pay out” failed; it has waited since 2026-11-25 19:04: an administrator has to see to it."
    )


def test_an_answer_is_one_line_of_bounded_length_and_fills_in_nothing_else() -> None:
    said = why(held("call", f"{{since}}\n{'x' * 999}”. {{tool}}", "pay_out"))
    assert said is not None
    assert "\n" not in said
    assert len(said) < 420
    assert "failed with “{since} xxx" in said


@each_row(
    "run",
    [
        run_record("r1", status="waiting"),
        CALL.replace(incident=None),
        CALL.replace(status="failed"),
    ],
)
def test_what_waits_for_no_operator_has_no_reason(run: RunRecord) -> None:
    assert why(run) is None
