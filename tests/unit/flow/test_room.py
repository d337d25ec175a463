"""What a run carries is bounded, and a run that has no room for more waits for an operator."""

from typing import Any

from pydantic import JsonValue

from router.domain.sizes import measure_bytes
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Nudged, Retried
from router.flow.engine.room import TOO_MUCH, read_results, shrink_run
from router.flow.engine.run import MAX_HISTORY_LINES, Run
from router.flow.engine.run_parts.approvals import MAX_AGREEMENTS, Agreement
from router.flow.engine.run_parts.recovery import MAX_LASTING, Visit
from tests.table import each_row
from tests.unit.flow.definitions import NOW, Driver, flow_of, text
from tests.unit.flow.test_approvals import BOB, asking

LARGEST_RESULT: JsonValue = "x" * 64_000


def calling(number: int, read: str) -> FlowDefinition:
    """A flow that saves so many results, then says `read`."""
    states: dict[str, dict[str, Any]] = {
        f"s{n}": {"call": "fetch", "save": f"r{n}", "next": f"s{n + 1}"} for n in range(number)
    }
    states[f"s{number}"] = {"say": text(read), "end": "completed"}
    return flow_of("fetching", states)


def begun(definition: FlowDefinition, result: JsonValue = LARGEST_RESULT) -> Driver:
    driver = Driver(definition)
    driver.world.results = {"fetch": result}
    return driver.begin()


def held(driver: Driver) -> bool:
    return driver.run.open_incident is not None


def test_results_that_nothing_reads_make_room_for_others() -> None:
    driver = begun(calling(45, "{{ results.r44 }}"))
    assert (driver.run.status, len(driver.called)) == ("completed", 45)
    assert driver.run.work.results["r44"] == LARGEST_RESULT
    assert measure_bytes(driver.run) < Run.max_bytes + 65_536


ALL_READ = "".join(f"{{{{ results.r{n} }}}}" for n in range(45))


@each_row("read", [ALL_READ, "{{ results }}", "{{ results.items() }}", "{{ results[name] }}"])
def test_a_run_whose_results_are_all_read_waits_before_the_next_call(read: str) -> None:
    driver = begun(calling(45, read))
    assert (driver.run.status, held(driver)) == ("waiting", True)
    assert 10 < len(driver.called) < 14
    assert len(driver.called) == len(driver.run.work.results)
    (why,) = (comment for event, _, comment in driver.history if event == "over limit")
    assert "results.r0 (64,002 bytes), results.r1 (64,002 bytes)" in str(why)
    assert driver.said[-1].startswith("This step didn't work out. An administrator has to look")

    calls = len(driver.called)
    driver.take(Retried(by="olga"))
    assert (held(driver), len(driver.called)) == (True, calls)
    assert driver.cancel().run.status == "cancelled"


def test_an_operators_retry_goes_on_once_there_is_room() -> None:
    driver = begun(calling(20, ALL_READ))
    driver.run.work.results = {}
    driver.world.results = {"fetch": "short"}
    assert driver.take(Retried(by="olga")).run.status in ("completed", "failed")
    assert len(driver.called) == 20


@each_row(
    ("texts", "read"),
    [
        (["{{ results.a.b }}", "x"], {"a"}),
        (["{{ results['a-b'] }} {{ results[\"c\"] }}"], {"a-b", "c"}),
        (["has(results.a) && results.b == 1"], {"a", "b"}),
        (["{{ results.decision|remark }}"], set()),
        (["{{ results.get('a') }}"], None),
        (["{{ results|tojson }}"], None),
        (["no such thing"], set()),
    ],
)
def test_which_results_a_flow_reads(texts: list[str], read: set[str] | None) -> None:
    states = {f"s{n}": {"say": text(said), "next": f"s{n + 1}"} for n, said in enumerate(texts)}
    states[f"s{len(texts)}"] = {"say": text("Done."), "end": "completed"}
    found = read_results(flow_of("reading", states), {"s0"})
    assert found == (None if read is None else {*read, "decision", "error"})


def test_a_part_of_another_run_keeps_what_that_one_may_read() -> None:
    driver = Driver(calling(45, "Done."))
    driver.world.results = {"fetch": LARGEST_RESULT}
    driver.run.parent = "whole/default/r0"
    driver.begin()
    assert held(driver)
    assert len(driver.run.work.results) == len(driver.called)


def test_a_history_keeps_its_beginning_and_its_end_and_says_what_is_left_out() -> None:
    driver = asking(BOB)
    before = list(driver.run.history)
    for _ in range(MAX_HISTORY_LINES + 500):
        driver.take(Nudged(by="alice"))
    kept = list(driver.run.history)
    assert len(kept) <= MAX_HISTORY_LINES + 1
    assert kept[: len(before)] == before
    (left,) = (line for line in kept if line.event == "left out")
    number = int((left.comment or "").split()[0])
    assert len(kept) - 1 + number == len(before) + MAX_HISTORY_LINES + 500


def test_lists_of_a_run_keep_their_last_entries() -> None:
    driver = asking(BOB)
    visits = [Visit(state="record", visit=n) for n in range(5_000)]
    agreements = [
        Agreement(person="bob", contents=str(n), counted=[], at=NOW) for n in range(5_000)
    ]
    driver.run.recovery.lasting, driver.run.approvals.agreements = visits, agreements
    driver.take(Nudged(by="alice"))
    assert driver.run.recovery.lasting == visits[-MAX_LASTING:]
    assert driver.run.approvals.agreements == agreements[-MAX_AGREEMENTS:]


def test_what_a_requester_gives_is_bounded_in_all() -> None:
    states = {"ask": {"collect": ["a", "b"], "next": "done"}, "done": {"end": "completed"}}
    slots = {n: {"type": "text", "ask": text(f"{n}?"), "max_length": 200_000} for n in ("a", "b")}
    driver = Driver(flow_of("long", states, slots)).begin().answer(a="x" * 200_000)
    said = driver.answer(b="y" * 200_000).said[-1]
    assert said == "That is more than one request can hold; please make it shorter."
    assert set(driver.run.form.slots) == {"a"}
    assert driver.answer(b="y").run.status == "completed"


def test_an_opening_sentence_that_names_too_much_fills_in_nothing() -> None:
    states = {"ask": {"collect": ["a"], "next": "done"}, "done": {"end": "completed"}}
    slots = {"a": {"type": "text", "ask": text("a?"), "max_length": 300_000}}
    driver = Driver(flow_of("long", states, slots)).begin(a="x" * 270_000)
    assert driver.said == [TOO_MUCH.en]
    assert (driver.run.status, driver.run.form.slots) == ("collecting", {})


def test_a_run_that_cant_be_carried_is_shortened() -> None:
    driver = begun(calling(5, "{{ results.r4 }}"))
    smaller = shrink_run(driver.definition, driver.run)
    assert measure_bytes(smaller) < measure_bytes(driver.run)
    assert smaller.state == driver.run.state
