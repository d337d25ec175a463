"""Slot types, kinds of states and policies of the reader that extensions add."""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from router.cli.schema import text_of
from router.domain.commands import ReplyText
from router.drawing import graph_of, svg_of
from router.extension import Extension
from router.flow.definition import KINDS, FlowDefinition
from router.flow.engine.events import Retried
from router.flow.loader import examine_text
from router.flow.slot_types.slot import SLOT_TYPES
from router.runtime import definitions
from router.runtime.extensions import register_understanding_of
from router.settings import Settings
from router.understanding.policies import POLICIES
from tests.badges import (
    FLOW,
    BadgeNumber,
    Badges,
    StampState,
    extensions,
    find_lost_badge,
    installed,
)
from tests.table import each_row
from tests.unit.flow.definitions import Driver
from tests.unit.understanding.dialogue import read
from tests.unit.understanding.flows import LEAVE

TEXT = json.dumps(FLOW)


@pytest.fixture
def badges() -> Iterator[None]:
    with installed(Badges):
        yield


def examine(text: str) -> list[str]:
    return [str(each) for each in examine_text(Path("badge.yaml"), text).problems]


def test_flow_files_may_use_what_an_extension_has_and_no_others(badges: None) -> None:
    assert examine(TEXT) == []
    with installed():
        KINDS.pop("stamp")
        SLOT_TYPES.pop("badge_number")
        said = "\n".join(examine(f"{TEXT}\n"))  # what was read once is remembered
    assert "slots.badge.type: there is no 'badge_number'" in said
    assert "stamp: there is no such key" in said


def test_a_run_uses_the_code_of_the_extension(badges: None) -> None:
    flow = FlowDefinition.model_validate(FLOW)
    driver = Driver(flow).begin().answer(badge=1000)
    assert driver.said[-1] == BadgeNumber.fits.en
    driver.answer(badge=17)
    assert (driver.run.status, driver.said[-1]) == ("completed", "stamped 17")
    assert flow.is_extended
    assert not LEAVE.is_extended


@each_row(
    ("gone", "why"),
    [
        ("badge_number", "this deployment has no slot type 'badge_number'; deploy it again"),
        ("stamp", "this deployment has no kind of state 'stamp'; deploy it again"),
    ],
)
def test_a_run_that_needs_removed_code_is_held_until_it_is_deployed_again(
    badges: None, gone: str, why: str
) -> None:
    driver = Driver(FlowDefinition.model_validate(FLOW)).begin()
    kept = driver.definition.model_dump_json()
    with installed():
        (SLOT_TYPES if gone in SLOT_TYPES else KINDS).pop(gone)
        driver.definition = FlowDefinition.model_validate_json(kept)
        assert driver.definition.model_dump_json() == kept
        assert driver.definition.is_extended
        driver.answer(badge=17)
        assert (driver.run.recovery.held, driver.run.status) == ("missing", "waiting")
        assert driver.history[-2:] == [("code missing", None, why), ("held", None, None)]
        driver.fire("retry")
        assert driver.run.recovery.held == "missing"
        cancelled = Driver(driver.definition)
        cancelled.run = driver.run
        assert cancelled.cancel().run.status == "cancelled"
        assert "<svg" in svg_of(graph_of(driver.definition, "en"))
    driver.definition = FlowDefinition.model_validate_json(kept)
    driver.take(Retried(by="olga"))
    assert (driver.run.status, driver.said[-1]) == ("completed", "stamped 17")


def test_code_of_an_extension_that_fails_holds_the_run_with_its_reason(
    badges: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bool:
        raise KeyError("no ink")

    monkeypatch.setattr(StampState, "execute", fail)
    driver = Driver(FlowDefinition.model_validate(FLOW)).begin(badge=17)
    assert (driver.run.recovery.held, driver.history[-2][2]) == ("data", "KeyError: 'no ink'")


def kind(base: type, **attributes: Any) -> type:
    """Return a class like this one, in this module, with these attributes."""
    return type(base.__name__, (base,), {"__module__": __name__, **attributes})


def words(base: type) -> dict[str, Any]:
    return {"label": base.label, "about": base.about}  # type: ignore[attr-defined]


def local() -> type:
    class Local(BadgeNumber):
        name = "local"
        label, about = BadgeNumber.label, BadgeNumber.about

    return Local


def two_way(message: object, view: object) -> None: ...


async def slow(message: object) -> None: ...


def request(message: object) -> None: ...


def not_deployed() -> Any:
    raise RuntimeError("no badge printer")


OTHER_STAMP = kind(StampState, **words(StampState))
WAIT_KEY = kind(StampState, kind="collect", **words(StampState))


@each_row(
    ("member", "value", "reason"),
    [
        ("slot_types", not_deployed, "RuntimeError: no badge printer"),
        ("slot_types", lambda: None, "TypeError"),
        ("slot_types", lambda: [17], "17 is no subclass of router.sdk.SlotType"),
        ("slot_types", lambda: [BadgeNumber()], "is no subclass of router.sdk.SlotType"),
        ("slot_types", lambda: [kind(BadgeNumber)], "has no label of its own"),
        (
            "slot_types",
            lambda: [kind(BadgeNumber, name="Badge No")],
            "needs a name of up to 40 lower",
        ),
        ("slot_types", lambda: [local()], "is defined in a function"),
        (
            "slot_types",
            lambda: [kind(BadgeNumber, name="date", **words(BadgeNumber))],
            "router.flow.slot_types.dates.DateType is called 'date' already",
        ),
        (
            "slot_types",
            lambda: [kind(BadgeNumber, made_of="of", name="rows", **words(BadgeNumber))],
            "router.flow.slot_types.structures.ListType is made of of already",
        ),
        (
            "slot_types",
            lambda: [BadgeNumber, kind(BadgeNumber, **words(BadgeNumber))],
            "is called 'badge_number' already",
        ),
        ("state_kinds", not_deployed, "RuntimeError: no badge printer"),
        ("state_kinds", lambda: ["stamp"], "'stamp' is no subclass of router.sdk.State"),
        ("state_kinds", lambda: [kind(StampState)], "has no label of its own"),
        ("state_kinds", lambda: [StampState, OTHER_STAMP], "'stamp' is a key of both"),
        ("state_kinds", lambda: [WAIT_KEY], "has the kind 'collect'; declare the field"),
        ("policies", not_deployed, "RuntimeError: no badge printer"),
        ("policies", lambda: ["find_lost_badge"], "is no plain function"),
        ("policies", lambda: [slow], "is no plain function"),
        ("policies", lambda: [lambda message: None], "is a lambda"),
        ("policies", lambda: [two_way], "can't be called with one message"),
        ("policies", lambda: [find_lost_badge, request], "there is a policy 'request' already"),
    ],
)
def test_an_extension_whose_member_cant_be_used_is_left_out_and_nothing_of_it_stays(
    member: str, value: Callable[[], Any], reason: str
) -> None:
    class Broken(Extension):
        name = "badges"

    setattr(Broken, member, lambda _: value())
    before = dict(SLOT_TYPES), dict(KINDS), [*POLICIES["open"]]

    with installed():
        found = extensions(Broken)
        (fault,) = found.find_faults(register_understanding_of)
        assert (dict(SLOT_TYPES), dict(KINDS), POLICIES["open"]) == before

    assert reason in fault.reason


def test_a_policy_that_cant_be_used_takes_the_kinds_of_its_extension_with_it() -> None:
    class Broken(Badges):
        def policies(self) -> Sequence[Any]:
            return [request]

    before = dict(SLOT_TYPES), dict(KINDS)

    with installed():
        assert len(extensions(Broken).find_faults(register_understanding_of)) == 1
        assert (dict(SLOT_TYPES), dict(KINDS)) == before


def test_every_process_that_reads_flow_files_has_the_code_of_extensions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = SimpleNamespace(load=list, add_extension=lambda _: None)
    monkeypatch.setattr(definitions, "ToolSources", lambda *_: sources)
    monkeypatch.setattr(definitions, "load_packages", lambda _: [])
    monkeypatch.setattr("router.runtime.extensions.load_configured", lambda _: extensions(Badges))
    with installed():
        definitions.load_tools(Settings(_env_file=None))
        assert ("badge_number" in SLOT_TYPES, "stamp" in KINDS) == (True, True)
        assert [each.__name__ for each in POLICIES["open"]][-1] == "find_lost_badge"


def test_the_schema_of_flow_files_has_what_extensions_add(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("router.cli.schema.load_configured", lambda _: extensions(Badges))
    with installed():
        found = json.loads(text_of("flow"))
    assert "badge_number" in found["$defs"]["Slot"]["properties"]["type"]["enum"]
    stamp = found["$defs"]["StampState"]
    assert stamp["properties"]["save"]["description"] == "The name of the result."
    monkeypatch.setattr("router.cli.schema.load_configured", lambda _: extensions())
    assert "StampState" not in text_of("flow")


def test_what_is_registered_again_changes_nothing(badges: None) -> None:
    before = [*POLICIES["open"]]
    faults = extensions(Badges).find_faults(register_understanding_of)
    assert (faults, POLICIES["open"]) == ([], before)


def test_a_policy_is_asked_after_those_of_the_core_and_named_in_the_route(badges: None) -> None:
    reading = read("I lost my badge", locale="en")
    assert reading.route is not None
    assert reading.route.policy == "find_lost_badge"
    assert reading.commands == [ReplyText(text="Ask at the gate.")]
    other = read("I need annual leave next Monday, I lost my badge", locale="en")
    assert other.route is not None
    assert other.route.policy == "request"


def test_a_policy_that_fails_or_returns_something_else_is_logged_and_passed_over(
    badges: None, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(message: Any) -> Any:
        raise KeyError("no gate")

    def chat(message: Any) -> Any:
        return "at the gate"

    class Broken(Extension):
        name = "gates"

        def policies(self) -> list[Any]:
            return [fail, chat]

    with installed(Broken), caplog.at_level(logging.ERROR, "router.understanding"):
        assert read("where is the gate", locale="en").route is None
    failed, returned = caplog.messages
    assert failed == "extension gates: the policy fail failed"
    assert returned.startswith("extension gates: the policy chat returned 'at the gate'")
