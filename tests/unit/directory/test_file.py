from pathlib import Path

import pytest

from router.directory.file import FileDirectory
from router.domain.errors import DefinitionError, MisconfiguredError

TENANT = "default"


def load(tmp_path: Path, text: str) -> FileDirectory:
    file = tmp_path / "people.yaml"
    file.write_text(text, "utf-8")
    return FileDirectory.load(file)


@pytest.mark.parametrize(
    ("user", "manager", "locale", "role"),
    [
        ("alice", "bob", "zh", "employee"),
        ("bob", "carol", "zh", "employee"),
        ("carol", None, "en", "director"),
        ("dave", "carol", "en", "hr"),
        ("erin", "carol", "zh", "finance"),
        ("frank", "bob", "en", "employee"),
        ("gina", "carol", "zh", "employee"),
        ("olga", None, "en", "operator"),
    ],
)
async def test_the_sample_is_the_contract(
    user: str, manager: str | None, locale: str, role: str
) -> None:
    person = await FileDirectory.load().find(TENANT, user)
    assert person is not None
    assert (person.manager, person.locale) == (manager, locale)
    assert {role, "employee"} <= person.roles


async def test_gina_is_of_another_department() -> None:
    directory = FileDirectory.load()
    alice, gina = await directory.find(TENANT, "alice"), await directory.find(TENANT, "gina")
    assert alice
    assert gina
    assert alice.department != gina.department


async def test_people_are_found_by_id_role_and_tenant(tmp_path: Path) -> None:
    directory = load(
        tmp_path,
        "users:\n"
        "  - {id: zoe, name: Zoe, roles: [hr]}\n"
        "  - {id: amy, name: Amy, roles: [hr], timezone: Europe/Berlin}\n"
        "  - {id: amy, name: Other Amy, tenant: other, roles: [hr]}\n",
    )
    assert [p.id for p in await directory.holding(TENANT, "hr")] == ["amy", "zoe"]
    assert [p.name for p in directory.everyone("other")] == ["Other Amy"]
    assert await directory.find(TENANT, "nobody") is None
    assert await directory.holding(TENANT, "director") == []


BAD = """\
users:
  - {id: a, name: A, manager: zz}
  - id: b
    name: B
    locale: fr
    timezone: Mars/Phobos
    rolls: [x]
  - {id: a, name: Again, roles: [flow]}
  - {id: c, name: C, manager: d}
  - {id: d, name: D, manager: c}
  - {id: e, name: E, manager: e, delegate: nobody}
  - {name: Nameless}
  - 5
  - {id: "../x", name: X, roles: hr}
  - {id: f, name: F, away: [{from: 2026-07-06, to: 2026-07-08}]}
  - {id: g, name: G, delegate: a, away: [{from: 2026-07-06, to: 2026-07-05}]}
  - {id: h, name: H, hours: ["09:00-12:00", "11:00-18:00"]}
  - {id: i, name: I, hours: ["all day"]}
  - {id: j, name: J, delegate: a, away: [{from: soon, to: 2026-07-05}]}
"""

EXPECTED = [
    (2, "a's manager=zz isn't listed"),
    (5, "locale='fr' can't be used"),
    (6, "timezone='Mars/Phobos' can't be used"),
    (7, "there is no key rolls"),
    (8, "a has the role flow"),
    (8, "id=a is there twice"),
    (9, "c is, over others, their own manager"),
    (10, "d is, over others, their own manager"),
    (11, "e's delegate=nobody isn't listed"),
    (11, "e's manager is e"),
    (12, "id can't be used"),
    (13, "user can't be used"),
    (14, "id='../x' can't be used"),
    (14, "roles='hr' can't be used"),
    (15, "f is away and nobody stands in"),
    (
        16,
        "away.0={'from': datetime.date(2026, 7, 6), 'to': datetime.date(2026, 7, 5)} can't be used",
    ),
    (17, "hours=['09:00-12:00', '11:00-18:00'] can't be used"),
    (18, "hours.0='all day' can't be used"),
    (19, "away.0.from='soon' can't be used"),
]


def test_every_problem_is_named_at_once_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError) as refused:
        load(tmp_path, BAD)
    assert sorted((p.line, p.what) for p in refused.value.problems) == EXPECTED
    assert all(p.remedy for p in refused.value.problems)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "users: [",
        "users: {}",
        "users: []",
        "people: []",
        "- a",
        "users:\n\t- a",
        "a: *b",
        pytest.param("[" * 5000, id="deep"),
    ],
)
def test_what_lists_nobody_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DefinitionError):
        load(tmp_path, text)


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "missing.yaml", tmp_path, tmp_path / "binary"):
        with pytest.raises(MisconfiguredError, match="ROUTER_DIRECTORY="):
            FileDirectory.load(path)


def test_ids_that_look_like_other_types_stay_ids(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="id=42 can't be used"):
        load(tmp_path, "users:\n  - {id: 42, name: Forty-two}\n")


async def test_people_are_found_by_their_accounts(tmp_path: Path) -> None:
    directory = load(
        tmp_path,
        "users:\n"
        "  - {id: ann, name: Ann, accounts: {slack: U1, feishu: ou_1}}\n"
        "  - {id: ben, name: Ben, accounts: {feishu: U1}}\n"
        "  - {id: cy, name: Cy}\n",
    )
    found = [directory.by_account(*who) for who in [("slack", "U1"), ("feishu", "U1")]]
    assert [person.id for person in found if person] == ["ann", "ben"]
    assert directory.by_account("slack", "ou_1") is None
    assert [(one.id, account) for one, account in directory.accounts("feishu")] == [
        ("ann", "ou_1"),
        ("ben", "U1"),
    ]


def test_an_account_is_one_person_s(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError) as refused:
        load(
            tmp_path,
            "users:\n"
            "  - {id: ann, name: Ann, accounts: {slack: U1}}\n"
            "  - {id: ben, name: Ben, accounts: {slack: U1}}\n",
        )
    assert "ben's account slack: U1 is ann's too; give it to one of them" in str(refused.value)
