"""What is said of a flow file that deals with the world around it, and can't."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from router.domain.errors import DefinitionError
from router.domain.locale import Localised
from router.flow.definition import FlowDefinition
from router.flow.loader import load_all, load_flow
from tests.table import each_row
from tests.unit.flow.wider_flows import BOOKINGS, DELIVERY, SIGN_OFF, TRIP, WIDER, wider


def written(folder: Path, definition: FlowDefinition, **states: dict[str, Any] | None) -> Path:
    """The definition as a file, with these states changed key by key; a key of None is removed."""
    data = definition.model_dump(mode="json", exclude_defaults=True)
    for name, changes in states.items():
        state = data["states"].setdefault(name, {})
        for key, value in (changes or {}).items():
            state.pop(key, None) if value is None else state.update({key: value})
    for slot in data.get("slots", {}).values():
        slot.pop("=skippable", None)
    file = folder / f"{definition.flow}.yaml"
    with file.open("w") as out:
        YAML().dump(data, out)
    return file


def faults(file: Path, *beside: Path) -> list[str]:
    with pytest.raises(DefinitionError) as refused:
        load_all([file, *beside]) if beside else load_flow(file)
    return [f"{p.what}; {p.remedy}" for p in refused.value.problems]


@each_row("definition", WIDER, ids=lambda d: d.flow)
def test_what_is_written_well_is_taken(tmp_path: Path, definition: FlowDefinition) -> None:
    assert load_flow(written(tmp_path, definition)).states.keys() == definition.states.keys()


def wait(**changes: Any) -> dict[str, Any]:
    whole = DELIVERY.model_dump(mode="json", exclude_defaults=True)["states"]["arrival"]["wait"]
    return {"wait": {k: v for k, v in (whole | changes).items() if v is not None}}


FAULTY: list[tuple[FlowDefinition, dict[str, Any], str]] = [
    (DELIVERY, {"arrival": wait(roles=None)}, "nobody may tell that arrived happened; add roles"),
    (DELIVERY, {"arrival": {"late": None}}, "nothing is said for when arrived comes too late"),
    (DELIVERY, {"arrival": wait(**{"for": None})}, "arrival is never late"),
    (DELIVERY, {"arrival": wait(event=None)}, "roles and fields are an event's"),
    (DELIVERY, {"arrival": wait(event="Arrived")}, "'Arrived' can't be an event's name"),
    (DELIVERY, {"arrival": wait(event="decision")}, "'decision' can't be an event's name"),
    (DELIVERY, {"arrival": wait(until="now")}, "a wait has one end"),
    (DELIVERY, {"arrival": wait(fields={"a": {"type": "file"}})}, "an event brings no file"),
    (DELIVERY, {"arrival": wait(fields={"a": {"type": "choice"}})}, "type choice needs choices"),
    (
        DELIVERY,
        {"arrival": wait(fields={"a": {"type": "text", "lookup": "manager(requester)"}})},
        "lookup does nothing in an event's field",
    ),
    (DELIVERY, {"order": {"save": "arrived"}}, "another state saves its result as arrived"),
    (
        DELIVERY,
        {"order": {"next": [{"if": "results.arived.boxes > 0", "to": "good"}, {"to": "arrival"}]}},
        "reads results.arived, which isn't there; did you mean arrived",
    ),
    (BOOKINGS, {"book": {"each": "slots.itms"}}, "slots.itms, which isn't there"),
    (BOOKINGS, {"book": {"at_once": 0}}, "0 at once can't be; from 1 to 10"),
    (BOOKINGS, {"book": {"each": None}}, "one thing is always at once"),
    (BOOKINGS, {"review": {"each": "slots.items"}}, "each does nothing in a state with confirm"),
    (TRIP, {"hotel": {"completed": None}}, "hotel can't be left: it has no completed"),
    (TRIP, {"hotel": {"detached": True}}, "hotel can't be left: it has no next"),
    (TRIP, {"hotel": {"next": "good"}}, "hotel never leaves by next"),
    (SIGN_OFF, {"both": {"parallel": ["finance"]}}, "branches are two or more different ones"),
    (SIGN_OFF, {"both": {"join": None}}, "both can't be left: it has no join"),
    (SIGN_OFF, {"both": {"parallel": ["finance", "nowhere"]}}, "there is no state nowhere"),
    (
        SIGN_OFF,
        {"equipment": {"approved": "good"}},
        "the branch equipment never comes to review, where the branches join",
    ),
    (SIGN_OFF, {"equipment": {"rejected": "both"}}, "the branch equipment comes back to both"),
    (SIGN_OFF, {"pay": {"rest": "stop"}}, "rest does nothing in a state with call"),
    (SIGN_OFF, {"both": {"rest": "wait"}}, "there is no 'wait'"),
]


@pytest.mark.slow
@each_row(("definition", "changes", "said"), FAULTY)
def test_what_cannot_work_is_refused_with_what_would(
    tmp_path: Path, definition: FlowDefinition, changes: dict[str, Any], said: str
) -> None:
    found = faults(written(tmp_path, definition, **changes))
    assert any(said in fault for fault in found), found


def test_items_of_what_is_no_list_are_refused_at_their_line(tmp_path: Path) -> None:
    file = written(tmp_path, BOOKINGS)
    lines = file.read_text().replace("type: list", "type: text", 1)
    file.write_text(lines)
    with pytest.raises(DefinitionError) as refused:
        load_flow(file)
    problem = next(p for p in refused.value.problems if "is no list" in p.what)
    assert "each: slots.items" in file.read_text().splitlines()[problem.line - 1]


def test_branches_ask_for_nothing_and_forget_nothing(tmp_path: Path) -> None:
    states = SIGN_OFF.model_dump(mode="json", exclude_defaults=True)["states"]
    states["pay"] = {"collect": ["why"], "next": "review"}
    why = {"why": {"type": "text", "ask": {"zh": "为何", "en": "why"}}}
    definition = wider("sign_off", dict(states), why)
    assert "stands in a branch of both" in "".join(faults(written(tmp_path, definition)))


HOTEL = wider(
    "hotel",
    {"ask": {"collect": ["city"], "next": "good"}},
    {"city": {"type": "text", "ask": {"zh": "哪里", "en": "Where"}}},
)


class TestFlowsOfFlows:
    def test_one_that_is_there_is_taken_also_where_it_only_stands_beside(
        self, tmp_path: Path
    ) -> None:
        trip, hotel = written(tmp_path, TRIP), written(tmp_path, HOTEL)
        assert load_all([trip, hotel]).get("trip") is not None
        assert [flow.flow for flow in load_all([trip])] == ["trip"]

    def test_one_that_is_not_there_is_refused_at_its_line(self, tmp_path: Path) -> None:
        trip = written(tmp_path, TRIP, hotel={"flow": "hotell"})
        hotel = written(tmp_path, HOTEL)
        with pytest.raises(DefinitionError) as refused:
            load_all([trip, hotel])
        (problem,) = refused.value.problems
        assert "there is no flow hotell; did you mean hotel" in str(problem)
        assert "flow: hotell" in trip.read_text().splitlines()[problem.line - 1]

    def test_a_slot_that_the_other_flow_has_not_is_refused(self, tmp_path: Path) -> None:
        trip = written(tmp_path, TRIP, hotel={"with": {"town": "'Bonn'"}})
        (said,) = faults(trip, written(tmp_path, HOTEL))
        assert "hotel has no slot town that can be filled in" in said

    def test_flows_that_start_each_other_are_refused(self, tmp_path: Path) -> None:
        back = wider("hotel", {"a": {"flow": "trip", "completed": "good"}})
        said = "".join(
            faults(written(tmp_path, TRIP, hotel={"with": None}), written(tmp_path, back))
        )
        assert "flows would start each other for ever: trip ▸ hotel ▸ trip" in said
        assert "flows would start each other for ever: hotel ▸ trip ▸ hotel" in said

    def test_too_much_to_travel_with_a_run_is_refused(self, tmp_path: Path) -> None:
        long = Localised(zh="长" * 40_000, en="x" * 1000)
        flows = [HOTEL.model_copy(update={"flow": n, "description": long}) for n in ("a1", "a2")]
        starts = {
            "one": {"flow": "a1", "completed": "two"},
            "two": {"flow": "a2", "completed": "good"},
        }
        top = written(tmp_path, wider("top", starts))
        found = faults(top, *(written(tmp_path, f) for f in flows))
        assert any("bytes; 204800 are the most" in said for said in found), found
