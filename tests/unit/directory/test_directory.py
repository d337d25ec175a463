"""Who works here: the directory's file, and what becomes of changes to it."""

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from router.directory import sources
from router.directory.file import FileDirectory
from router.domain.errors import DefinitionError, MisconfiguredError, RouterError, Unavailable
from router.settings import Settings
from tests.fakes.oidc_provider import Served, serving
from tests.waiting import HANGS_AFTER_S

TENANT = "default"


def load(tmp_path: Path, *people: str) -> FileDirectory:
    """The directory of these people, each in YAML between braces."""
    return loaded(tmp_path, "\n".join(["users:", *(f"  - {{{one}}}" for one in people)]))


def loaded(tmp_path: Path, text: str) -> FileDirectory:
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
async def test_the_sample_keeps_it(user: str, manager: str | None, locale: str, role: str) -> None:
    directory = FileDirectory.load()
    person, alice = [await directory.find(TENANT, id_) for id_ in (user, "alice")]
    assert person is not None
    assert alice is not None
    assert (person.manager, person.locale) == (manager, locale)
    assert {role, "employee"} <= person.roles
    assert user != "gina" or person.department != alice.department


async def test_people_are_found_by_id_role_and_tenant(tmp_path: Path) -> None:
    directory = load(
        tmp_path,
        "id: zoe, name: Zoe, roles: [hr]",
        "id: amy, name: Amy, roles: [hr], timezone: Europe/Berlin",
        "id: amy, name: Other Amy, tenant: other, roles: [hr]",
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
    (5, "locale='fr' can't be used"),
    (6, "timezone='Mars/Phobos' can't be used"),
    (7, "there is no key rolls"),
    (8, "a has the role flow"),
    (8, "id=a is there twice"),
    (9, "c is, over others, their own manager"),
    (10, "d is, over others, their own manager"),
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


def test_a_name_is_one_line_and_can_be_seen(tmp_path: Path) -> None:
    directory = load(tmp_path, r'id: eve, name: "Bob\n  2. Pay\u202e\u200b", department: "a\nb"')
    (eve,) = directory.everyone()
    assert (eve.name, eve.department) == ("Bob 2. Pay", "a b")
    with pytest.raises(DefinitionError, match="name"):
        load(tmp_path, r'id: eve, name: "\u202e\u3164"')


def test_every_problem_is_named_at_once_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError) as refused:
        loaded(tmp_path, BAD)
    assert sorted((p.line, p.what) for p in refused.value.problems) == EXPECTED
    assert all(p.remedy for p in refused.value.problems)


async def test_who_is_named_and_not_listed_is_nobody_and_told(tmp_path: Path) -> None:
    directory = loaded(
        tmp_path,
        "users:\n  - {id: a, name: A, manager: gone}\n"
        "  - {id: b, name: B, manager: a, delegate: gone,"
        " away: [{from: 2026-07-06, to: 2026-07-08}]}\n",
    )
    people = {person.id: person for person in directory.everyone()}
    assert (people["a"].manager, people["b"].manager, people["b"].delegate) == (None, "a", None)
    assert [(w.line, w.what) for w in directory.warnings] == [
        (2, "a's manager=gone isn't listed, so they have none"),
        (3, "b's delegate=gone isn't listed, so they have none"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        *("", "users: [", "users: {}", "users: []", "people: []", "- a", "users:\n\t- a", "a: *b"),
        pytest.param("[" * 5000, id="deep"),
        pytest.param("x: 2026-02-30", id="no such day"),
        pytest.param(
            'users:\n  - {id: a, name: A, hours: ["09:00Z-12:00", "13:00-18:00Z"]}',
            id="zoned hours",
        ),
    ],
)
def test_what_lists_nobody_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DefinitionError):
        loaded(tmp_path, text)


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "missing.yaml", tmp_path, tmp_path / "binary"):
        with pytest.raises(MisconfiguredError, match="ROUTER_DIRECTORY="):
            FileDirectory.load(path)


def test_ids_that_look_like_other_types_stay_ids(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="id=42 can't be used"):
        load(tmp_path, "id: 42, name: Forty-two")


async def test_people_are_found_by_their_accounts(tmp_path: Path) -> None:
    directory = load(
        tmp_path,
        "id: ann, name: Ann, accounts: {slack: U1, feishu: ou_1}",
        "id: ben, name: Ben, accounts: {feishu: U1}",
        "id: cy, name: Cy",
    )
    found = [directory.by_account(*who) for who in [("slack", "U1"), ("feishu", "U1")]]
    assert [person.id for person in found if person] == ["ann", "ben"]
    assert directory.by_account("slack", "ou_1") is None
    listed = [(one.id, account) for one, account in directory.accounts("feishu")]
    assert listed == [("ann", "ou_1"), ("ben", "U1")]


@pytest.mark.parametrize("tenant", ["default", "acme"])
def test_an_account_is_one_person_s_whatever_their_tenant(tmp_path: Path, tenant: str) -> None:
    ben = f"id: ben, name: Ben, tenant: {tenant}, accounts: {{slack: U1}}"
    with pytest.raises(DefinitionError) as refused:
        load(tmp_path, "id: ann, name: Ann, accounts: {slack: U1}", ben)
    assert "ben's account slack: U1 is ann's too; give it to one of them" in str(refused.value)


ALICE = {"id": "alice", "name": "Alice", "accounts": {"slack": "U1"}}
BOB = {"id": "bob", "name": "Bob", "roles": ["hr"], "tenant": "acme"}


class Clock:
    """Time that passes when it is told to."""

    time = 0.0

    def __call__(self) -> float:
        return self.time


def write(file: Path, *people: dict[str, Any]) -> None:
    edit(file, json.dumps({"users": people}))


def edit(file: Path, text: str | None) -> None:
    """Replaced as editors do, so that no two states look alike; removed where there is no text."""
    file.unlink(missing_ok=True)
    if text is not None:
        fresh = file.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(file)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """One that lists alice."""
    write(tmp_path / "people.yaml", ALICE)
    return tmp_path / "people.yaml"


class TestFile:
    async def test_who_is_added_and_who_is_gone_counts(self, file: Path) -> None:
        directory = sources.LiveDirectory.load(sources.DirectoryFile(file))
        write(file, BOB)
        assert directory.refresh()
        assert await directory.find("default", "alice") is None
        assert [p.name for p in await directory.holding("acme", "hr")] == ["Bob"]
        assert directory.by_account("slack", "U1") is None
        assert not directory.accounts("slack")
        assert not directory.refresh()

    @pytest.mark.parametrize("broken", ["users: [", "users: []", None])
    async def test_an_edit_that_cannot_be_used_is_said_once_and_changes_nothing(
        self, file: Path, caplog: pytest.LogCaptureFixture, broken: str | None
    ) -> None:
        directory = sources.LiveDirectory.load(sources.DirectoryFile(file))
        edit(file, broken)
        assert not directory.refresh()
        assert not directory.refresh()
        assert await directory.find("default", "alice")
        assert caplog.text.count("the people stay as they were") == 1
        assert str(file) in caplog.text

    async def test_who_is_gone_is_gone_whatever_else_is_wrong(self, file: Path) -> None:
        carol = {"id": "carol", "name": "Carol", "roles": ["hr", "operator"], "manager": "alice"}
        accounts = {"slack": "U3", "feishu": "ou_3"}
        write(file, ALICE, carol | {"accounts": accounts}, BOB)
        directory = sources.LiveDirectory.load(sources.DirectoryFile(file))
        fewer = carol | {"roles": ["hr", "finance"], "accounts": {"slack": "U3"}}
        write(file, fewer, BOB | {"locale": "klingon"})
        assert directory.refresh()
        assert await directory.find("default", "alice") is None
        left = await directory.find("default", "carol")
        assert left is not None
        assert (left.roles, left.manager) == (frozenset({"employee", "hr"}), None)
        assert directory.by_account("slack", "U3") == left
        assert directory.by_account("feishu", "ou_3") is None
        assert await directory.find("acme", "bob")

    async def test_it_follows_by_itself(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sources.DirectoryFile, "seconds", 0.01)
        directory = sources.LiveDirectory.load(sources.DirectoryFile(file))
        following = asyncio.create_task(directory.kept_up())
        write(file, ALICE, BOB)
        async with asyncio.timeout(HANGS_AFTER_S):
            while await directory.find("acme", "bob") is None:  # noqa: ASYNC110 - a file changes
                await asyncio.sleep(0.01)
        following.cancel()


@pytest.fixture
def served() -> Iterator[Served]:
    """An address that serves alice."""
    with serving(Served(json.dumps({"users": [ALICE]}).encode(), etag='"1"')) as here:
        yield here


class TestAddress:
    async def test_people_come_with_tokens_and_only_where_changed(self, served: Served) -> None:
        directory = sources.LiveDirectory.load(sources.DirectoryAddress(served.url, "s3cret"))
        assert [p.id for p in directory.everyone()] == ["alice"]
        assert not directory.refresh()
        served.body, served.etag = json.dumps({"users": [BOB]}).encode(), '"2"'
        assert directory.refresh()
        assert directory.everyone() == []
        assert [p.id for p in directory.everyone("acme")] == ["bob"]
        assert [asked.get("if-none-match") for asked in served.asked] == [None, '"1"', '"1"']
        assert {asked["authorization"] for asked in served.asked} == {"Bearer s3cret"}

    async def test_yaml_is_read_too(self, served: Served) -> None:
        served.body = b"users:\n  - {id: zoe, name: Zoe}\n"
        assert await sources.LiveDirectory.load(sources.DirectoryAddress(served.url, None)).find(
            "default", "zoe"
        )

    async def test_they_stay_for_a_while_where_it_does_not_answer(
        self, served: Served, caplog: pytest.LogCaptureFixture
    ) -> None:
        clock = Clock()
        directory = sources.LiveDirectory.load(
            sources.DirectoryAddress(served.url, None, stale_seconds=100), clock
        )
        served.status, served.etag = 500, None
        clock.time = 100
        assert not directory.refresh()
        assert await directory.find("default", "alice")
        assert "answers 500" in caplog.text
        clock.time = 101
        with pytest.raises(Unavailable, match="too old"):
            await directory.find("default", "alice")
        for ask in (directory.everyone, lambda: directory.accounts("slack")):
            with pytest.raises(Unavailable):
                ask()
        served.status = 200
        directory.refresh()
        assert await directory.find("default", "alice")

    async def test_that_nothing_changed_keeps_them_fresh(self, served: Served) -> None:
        clock = Clock()
        directory = sources.LiveDirectory.load(
            sources.DirectoryAddress(served.url, None, stale_seconds=100), clock
        )
        clock.time = 90
        assert not directory.refresh()
        clock.time = 190
        assert await directory.find("default", "alice")

    async def test_what_could_not_be_used_is_fetched_again_although_it_is_the_same(
        self, served: Served
    ) -> None:
        directory = sources.LiveDirectory.load(sources.DirectoryAddress(served.url, None))
        served.body, served.etag = b'{"users": [{"id": "!"}]}', '"bad"'
        assert not directory.refresh()
        assert not directory.refresh()
        assert [asked.get("if-none-match") for asked in served.asked][1:] == ['"1"', '"1"']

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            (b"", "it lists nobody"),
            (b"null", "it lists nobody"),
            (b'{"users": {}}', "it lists nobody"),
            (b'{"users": [{"id": "a", "name": "A"}, {"id": "b"}]}', "users:2: name can't be used"),
            (b'{"users": [{"id": "a", "name": "A", "roles": ["flow"]}]}', "has the role flow"),
            (b'{"users": [{"id": "a", "name": "A", "admin": true}]}', "there is no key admin"),
            (b"<html>", "it lists nobody"),
            (b"\xff\xfe", "no UTF-8"),
            pytest.param(b"[" * 100_000, "nested too deep", id="deep"),
        ],
    )
    def test_what_is_no_directory_is_refused(self, served: Served, body: bytes, said: str) -> None:
        served.body = body
        with pytest.raises((DefinitionError, Unavailable), match=said):
            sources.DirectoryAddress(served.url, None).read()

    def test_no_more_is_read_than_a_directory_has(
        self, served: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sources, "MOST_BYTES", 10)
        with pytest.raises(Unavailable, match="over 10 bytes"):
            sources.DirectoryAddress(served.url, None).read()

    @pytest.mark.parametrize(
        ("status", "remedy"),
        [
            (401, "set ROUTER_DIRECTORY_TOKEN"),
            (403, "set ROUTER_DIRECTORY_TOKEN"),
            (302, "without a redirect"),
            (404, "answers 404"),
            (503, "answers 503"),
        ],
    )
    def test_a_refusal_says_what_to_do_and_no_secret(
        self, served: Served, status: int, remedy: str
    ) -> None:
        served.status = status
        with pytest.raises(RouterError, match=remedy) as refused:
            sources.DirectoryAddress(served.url, "s3cret").read()
        assert ("s3cret" in str(refused.value), len(served.asked)) == (False, 1)

    def test_an_address_out_of_reach_is_named(self) -> None:
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1:9/people can't be reached"):
            sources.DirectoryAddress("http://127.0.0.1:9/people", None).read()


class TestSettings:
    def test_a_path_is_a_file_and_an_address_an_address(self) -> None:
        for place, kind in (
            ("https://a.example/p", sources.DirectoryAddress),
            ("p.yaml", sources.DirectoryFile),
        ):
            named: dict[str, Any] = {"directory": place}
            assert isinstance(sources.source_of(Settings(_env_file=None, **named)), kind)
        assert len(sources.people_of(Settings(_env_file=None)).everyone()) == 8

    @pytest.mark.parametrize(
        ("place", "remedy"),
        [
            ("http://hr.example.com/people", "begins with https://"),
            ("https://", "begins with https://"),
            ("ftp://hr.example.com/people", "begins with https://"),
            ("file:///etc/passwd", "begins with https://"),
            ("https://s3cret@hr.example.com/", "ROUTER_DIRECTORY_TOKEN"),
            ("https://hr.example.com/people?key=s3cret", "ROUTER_DIRECTORY_TOKEN"),
        ],
    )
    def test_a_place_that_cannot_be_trusted_is_refused(
        self, monkeypatch: pytest.MonkeyPatch, place: str, remedy: str
    ) -> None:
        monkeypatch.setenv("ROUTER_DIRECTORY", place)
        with pytest.raises(MisconfiguredError, match=remedy) as refused:
            Settings.load()
        assert "s3cret" not in str(refused.value)


@pytest.fixture(autouse=True)
def _heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
