from typing import Any

from router.flow.slot_types.slot import SLOT_TYPES, Slot
from router.llm.schema import portable, restored
from router.routing.offer import Offer
from tests.unit.routing.samples import ACTIVE, FLOWS, offer


def names(**more: object) -> list[str]:
    return [function.name for function in offer(**more).functions]  # type: ignore[arg-type]


def test_what_never_changes_comes_first() -> None:
    assert names()[:3] == ["respond_message", "ask_clarification", "hand_off"]


def test_the_flow_that_asks_can_be_filled_and_given_up() -> None:
    assert names(active=ACTIVE)[-3:-1] == ["fill_slots", "cancel_flow"]
    assert "fill_slots" not in names()


def test_searching_is_not_offered_twice_and_all_before_it_stays_as_it_was() -> None:
    assert names(may_search=False) == names()[: names().index("find_capabilities")]


def test_flows_are_offered_with_the_slots_that_people_fill_and_items_with_their_fields() -> None:
    dispatch = next(f for f in offer().functions if f.name == "dispatch_to_flow")
    of_claim, of_leave = dispatch.parameters["properties"]["slots"]["anyOf"]
    assert set(of_claim["properties"]) == {"items", "reason"}
    assert of_leave["properties"]["kind"]["enum"] == ["annual", "sick"]
    assert "days" not in of_leave["properties"]
    slots = portable(dispatch.parameters)["properties"]["slots"]["anyOf"]
    assert set(slots[0]["properties"]["items"]["items"]["properties"]) == {"amount", "invoice"}
    items = {"items": [{"amount": "5 CNY", "invoice": None}], "reason": None}
    kept = restored({"flow_name": "claim", "slots": items}, dispatch.parameters)["slots"]
    assert kept == {"items": [{"amount": "5 CNY"}]}


def test_a_single_flow_is_offered_with_its_slots_and_one_without_slots_with_none() -> None:
    single = Offer(flows={"leave": FLOWS["leave"]}).functions[3]
    assert "kind" in single.parameters["properties"]["slots"]["properties"]
    slotless = FLOWS["leave"].model_copy(update={"slots": {}})
    bare = Offer(flows={"leave": slotless}).functions[3]
    assert bare.parameters["properties"]["slots"] == {"type": "object", "properties": {}}


def test_every_function_can_be_made_portable() -> None:
    for function in offer(active=ACTIVE).functions:
        assert portable(function.parameters)


def test_a_list_of_items_is_an_array_of_objects() -> None:
    item = Slot(type="object", fields={"amount": Slot(type="money")})
    schema: Any = SLOT_TYPES["list"].quoted(Slot(type="list", of=item))
    assert schema["items"]["properties"]["amount"]["type"] == "string"
