"""Tools as flows: each is made once, for as long as its tool is there."""

from activities.capabilities import Capabilities
from router.flow.catalog import Catalog
from router.skill.skill import SkillCatalog
from router.tool.registry import CODE, Registry
from router.tool.tool import tool


@tool(permission="write")
async def book(room: str) -> None:
    """Book a room."""


BOOK = book


def test_a_form_is_made_once() -> None:
    registry = Registry()
    registry.add(BOOK)
    offered = Capabilities(Catalog([]), SkillCatalog([]), registry)
    assert offered.definition("book") is not None
    assert offered.definition("book") is offered.definition("book")


def test_a_tool_that_is_declared_anew_has_another_form_under_its_old_name() -> None:
    registry = Registry()
    registry.add(BOOK)
    offered = Capabilities(Catalog([]), SkillCatalog([]), registry)
    before = offered.slots("book")

    @tool(permission="write")
    async def book(room: str, seats: int) -> None:
        """Book a room for so many."""

    registry.replace(CODE, [book])
    assert list(before) == ["room"]
    assert list(offered.slots("book")) == ["room", "seats"]


def test_nobody_starts_what_is_neither_a_flow_nor_a_tool() -> None:
    offered = Capabilities(Catalog([]), SkillCatalog([]), Registry())
    assert offered.definition("book") is None
    assert offered.slots("book") == {}
