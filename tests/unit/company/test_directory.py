"""Finding colleagues: by any part of a name, and no more of them than everyone may know."""

from typing import Any

import pytest

from activities import provided
from router.directory.file import FileDirectory
from router.domain.errors import ArgumentsToolError
from router.domain.principals import Principal
from tests.table import each_row
from tests.unit.activities.tools.conftest import ALICE, Desk


def named(*names: str, tenant: str = "default") -> FileDirectory:
    return FileDirectory(
        Principal(id=f"u{number}", name=name, tenant=tenant) for number, name in enumerate(names)
    )


async def found(desk: Desk, name: str) -> list[str]:
    return [one["name"] for one in (await desk.ask("find_colleague", name=name))["people"]]


async def test_it_tells_name_department_and_manager_and_no_more(desk: Desk) -> None:
    assert await desk.ask("find_colleague", name="alice") == {
        "people": [{"name": "王丽 Alice", "department": "sales", "manager": "陈博 Bob"}],
        "others": 0,
    }
    top = await desk.ask("find_colleague", name="Carol Meyer")
    assert top["people"] == [{"name": "Carol Meyer", "department": "board", "manager": None}]


@each_row(
    ("name", "people"),
    [
        ("王丽", ["王丽 Alice"]), ("王", ["王丽 Alice"]), ("ＡＬＩＣＥ", ["王丽 Alice"]),
        (" novak  frank ", ["Frank Novak"]), ("F. Novak", ["Frank Novak"]),
        ("hug", ["Dave Hughes"]), ("gina", ["吉娜 Gina"]), ("trova", ["Olga Petrova"]),
        ("王\u200b丽", ["王丽 Alice"]), ("A\u0301lice", []), ("nobody", []), ("bob OR 1=1", []),
        ("*", []), ("hr", []), ("director", []), ("sales", []), ("Asia/Shanghai", []),
        ("Alice Novak", []), ("%", []), (".*", []),
    ],
)  # fmt: skip
async def test_parts_of_names_and_ids_find_people(desk: Desk, name: str, people: list[str]) -> None:
    assert await found(desk, name) == people


@each_row("asker", ["alice", "bob", "dave", "olga"])
async def test_nobody_learns_more_than_that_whoever_asks(desk: Desk, asker: str) -> None:
    """Not ids, roles, delegates, languages or whereabouts: HR and operators no more than others."""
    answer = await desk.ask("find_colleague", await desk.person(asker), name="e")
    assert answer["people"]
    for one in answer["people"]:
        assert set(one) == {"name", "department", "manager"}


async def test_the_closest_come_first(desk: Desk) -> None:
    desk.dependencies.provide(provided.directory, named("Joanna Li", "Anna Li", "Annabel", "Anna"))
    assert await found(desk, "anna") == ["Anna", "Anna Li", "Annabel", "Joanna Li"]


async def test_ten_at_most_are_shown_and_the_others_counted(desk: Desk) -> None:
    crowd = named(*(f"Li {number:03}" for number in range(500)))
    desk.dependencies.provide(provided.directory, crowd)
    answer = await desk.ask("find_colleague", name="li")
    assert (len(answer["people"]), answer["others"]) == (10, 490)


async def test_another_tenants_people_are_not_found(desk: Desk) -> None:
    desk.dependencies.provide(provided.directory, named("Anna", tenant="other"))
    assert await found(desk, "anna") == []
    colleague = ALICE.model_copy(update={"tenant": "other"})
    assert (await desk.ask("find_colleague", colleague, name="anna"))["people"]


@each_row(
    "name",
    [
        "", " ", ".", "　", "\u200b", "...", "x" * 101, "a\x00b", "a\ud800", "\x1b[31m", 7, None,
        ["a"],
    ],
)  # fmt: skip
async def test_what_has_no_name_in_it_is_refused(desk: Desk, name: Any) -> None:
    with pytest.raises(ArgumentsToolError, match="name: "):
        await desk.ask("find_colleague", name=name)
