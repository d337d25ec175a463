"""Why a run waits for an operator is data, which says what failed and with what."""

from router.domain.run_history import HistoryEntry, IncidentKind
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Cancelled, Nudged, Retried
from router.flow.engine.run import History
from tests.table import each_row
from tests.unit.flow.definitions import LEAVE, NOW, Driver, flow
from tests.unit.flow.test_approvals import asking
from tests.unit.flow.test_durations import stuck
from tests.unit.flow.test_incidents import Undos
from tests.unit.flow.test_left_approvers import MANAGER, left
from tests.unit.flow.test_missing_code import PLACES, drive
from tests.unit.flow.test_operators import TestLookupsOfApprovals as Lookups
from tests.unit.flow.test_operators import fails, paying
from tests.unit.flow.test_room import ALL_READ, begun, calling


def taking_back() -> Driver:
    return Undos().cancelled(undo_two="permanent").driver


@each_row(
    ("driver", "kind", "name", "detail"),
    [
        (fails(paying(), "permanent", "no: closed (today)"), "call", "pay", "no: closed (today)"),
        (taking_back(), "undo", "undo_two", "http://10.0.0.7 says 403"),
        (Lookups().asking("manager"), "lookup", "manager", "no directory"),
        (stuck(OverflowError("a")), "data", "", "OverflowError: a"),
        (begun(calling(45, ALL_READ)), "over_limit", "", "in its work, the run carries "),
    ],
)
def test_a_run_says_what_failed_with_what(
    driver: Driver, kind: IncidentKind, name: str, detail: str
) -> None:
    incident = driver.run.open_incident
    assert incident is not None
    assert (incident.kind, incident.name, incident.at) == (kind, name, driver.now)
    assert incident.detail.startswith(detail)


def test_a_run_says_which_approvers_are_gone() -> None:
    incident = left(asking(MANAGER), "bob").fire("remind").run.open_incident
    assert incident is not None
    assert (incident.kind, incident.people) == ("approver", ["bob"])


@each_row(("definition", "place"), [(flow, place) for place, flow in PLACES.items()])
def test_a_run_says_which_tool_or_lookup_is_missing(definition: FlowDefinition, place: str) -> None:
    missing = "rent" if place.startswith("the tool") else "fee_of"
    incident = drive(definition, "fee_of", "rent").run.open_incident
    assert incident is not None
    assert (incident.name, incident.detail) == (missing, f"no {missing} here")


def test_a_later_event_leaves_the_incident_open() -> None:
    driver = fails(paying(), "permanent", "closed")
    before = driver.run.open_incident
    assert before is not None
    assert driver.take(Nudged(by="alice"), answer=False).run.open_incident == before


@each_row(
    "driver",
    [
        fails(paying(), "permanent").take(Retried(by="olga"), answer=False),
        fails(paying(), "permanent").take(Cancelled(by="olga")),
        Undos().cancelled(undo_two="permanent").retried().driver,
        Undos().cancelled(undo_two="permanent").terminated().driver,
        Lookups().unanswered().decide("bob"),
        Driver(flow(LEAVE)).begin(),
    ],
)
def test_an_incident_that_was_seen_to_is_open_no_longer(driver: Driver) -> None:
    assert driver.run.open_incident is None


def test_a_history_that_is_shortened_twice_says_how_many_entries_were_left_out() -> None:
    driver = fails(paying(), "permanent")
    before = len(driver.run.history)
    for _ in range(2):
        entries = [HistoryEntry(at=NOW, state="pay", event="nudged")] * 1_000
        driver.run.history = History([*driver.run.history, *entries])
        driver.take(Nudged(by="alice"), answer=False)
    (left_out,) = [entry for entry in driver.run.history if entry.event == "left out"]
    number = before + 2_000 - (len(driver.run.history) - 1)
    assert left_out.comment == f"{number} lines"
