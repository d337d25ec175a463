import json
import re
from typing import Any

from router.flow.slot_types.slot import SLOT_TYPES, Slot
from router.llm.schema import portable, restored
from router.routing.offer import Offer
from router.tool.tool import Tool, tool
from tests.unit.routing.samples import ACTIVE, FLOWS, get_balance, offer

KINDS = SLOT_TYPES.items()


@tool(permission="read")
async def search(words: str) -> str:
    """Look something up."""
    return words


def names(**more: object) -> list[str]:
    return [function.name for function in offer(**more).functions]  # type: ignore[arg-type]


def test_what_never_changes_comes_first() -> None:
    assert names()[:4] == ["respond_message", "ask_clarification", "hand_off", "find_capabilities"]


def test_the_flow_that_asks_can_be_filled_and_given_up() -> None:
    assert names(active=ACTIVE)[-2:] == ["fill_slots", "cancel_flow"]
    assert "fill_slots" not in names()


def test_searching_is_not_offered_twice() -> None:
    assert names(may_search=False) == [name for name in names() if name != "find_capabilities"]


def test_what_is_near_stands_in_the_order_that_it_is_offered_in() -> None:
    turned = Offer(flows=dict(reversed(FLOWS.items())))
    dispatch = next(f for f in turned.functions if f.name == "dispatch_to_flow")
    assert dispatch.parameters["properties"]["flow_name"]["enum"] == [*FLOWS][::-1]


def test_an_example_is_told_as_somebody_elses_words_and_not_where_any_words_will_do() -> None:
    said = dict.fromkeys([*FLOWS, "get_balance", "search"], "am I out")
    tools: dict[str, Tool] = {"get_balance": get_balance, "search": search}
    offered = Offer(flows=FLOWS, tools=tools, examples=said).functions
    told = {function.name: function.description for function in offered}
    once = '(others once said: "am I out")'
    assert once in told["get_balance"]
    assert told["dispatch_to_flow"].count(once) == len(FLOWS)
    assert once not in told["search"]


def test_files_are_never_offered_as_words() -> None:
    slots = {"paper": Slot(type="file"), "papers": Slot(type="list", of=Slot(type="file"))}
    item = Slot(type="object", fields={"paper": Slot(type="file"), "what": Slot(type="text")})
    items = {"items": Slot(type="list", of=item)}
    handing_in = FLOWS["leave"].model_copy(update={"slots": slots | items})
    schema = Offer(flows={"leave": handing_in}).functions[4].parameters["properties"]["slots"]
    assert list(schema["properties"]) == ["items"]
    assert list(schema["properties"]["items"]["items"]["properties"]) == ["what"]


def test_no_hint_has_a_value_that_could_be_given_back() -> None:
    hints = [json.dumps(kind.quoted(Slot(type=name, of=Slot(type="text")))) for name, kind in KINDS]
    assert [hint for hint in hints if re.search(r"such as|e\.g\.|20\d\d|[一-龥]", hint)] == []


def test_flows_are_offered_with_the_slots_that_people_fill_and_items_with_their_fields() -> None:
    dispatch = next(f for f in offer().functions if f.name == "dispatch_to_flow")
    of_leave, of_claim = dispatch.parameters["properties"]["slots"]["anyOf"]
    assert set(of_claim["properties"]) == {"items", "reason"}
    assert of_leave["properties"]["kind"]["enum"] == ["annual", "sick"]
    assert "days" not in of_leave["properties"]
    slots = portable(dispatch.parameters)["properties"]["slots"]["anyOf"]
    assert set(slots[1]["properties"]["items"]["items"]["properties"]) == {"amount", "invoice"}
    items = {"items": [{"amount": "5 CNY", "invoice": None}], "reason": None}
    kept = restored({"flow_name": "claim", "slots": items}, dispatch.parameters)["slots"]
    assert kept == {"items": [{"amount": "5 CNY"}]}


def test_a_single_flow_is_offered_with_its_slots_and_one_without_slots_with_none() -> None:
    single = Offer(flows={"leave": FLOWS["leave"]}).functions[4]
    assert "kind" in single.parameters["properties"]["slots"]["properties"]
    slotless = FLOWS["leave"].model_copy(update={"slots": {}})
    bare = Offer(flows={"leave": slotless}).functions[4]
    assert bare.parameters["properties"]["slots"] == {"type": "object", "properties": {}}


def test_every_function_can_be_made_portable() -> None:
    for function in offer(active=ACTIVE).functions:
        assert portable(function.parameters)


def test_a_list_of_items_is_an_array_of_objects() -> None:
    item = Slot(type="object", fields={"amount": Slot(type="money")})
    schema: Any = SLOT_TYPES["list"].quoted(Slot(type="list", of=item))
    assert schema["items"]["properties"]["amount"]["type"] == "string"
