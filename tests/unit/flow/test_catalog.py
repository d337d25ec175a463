from router.domain.locale import Localised
from router.domain.principals import Principal
from router.flow.catalog import Catalog
from router.flow.definition import FlowDefinition, Triggers
from router.flow.states.say import SayState

WORD = Localised(zh="好", en="well")
ALICE = Principal(id="alice", name="Alice")


def flow(name: str, *roles: str) -> FlowDefinition:
    return FlowDefinition(
        flow=name,
        title=WORD,
        description=WORD,
        triggers=Triggers(roles=frozenset(roles), examples=(f"do {name}",)),
        start="done",
        states={"done": SayState(say=WORD, end="completed")},
    )


CATALOG = Catalog([flow("hire", "hr"), flow("ask"), flow("claim", "employee", "hr")])


def test_flows_come_in_the_order_of_their_names_and_are_found_by_them() -> None:
    assert [each.flow for each in CATALOG] == ["ask", "claim", "hire"]
    assert len(CATALOG) == 3
    found = CATALOG.get("hire")
    assert found is not None
    assert (found.flow, CATALOG.get("fire")) == ("hire", None)


def test_people_see_the_flows_of_their_roles_and_those_for_everyone_with_examples() -> None:
    assert [each.flow for each in CATALOG.visible_to(ALICE)] == ["ask", "claim"]
    found = [(c.kind, c.name, c.examples) for c in CATALOG.capabilities(ALICE)]
    assert found == [("flow", "ask", ("do ask",)), ("flow", "claim", ("do claim",))]
