import inspect
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from activities import provided
from activities.look_up import LookUps
from company import lookups
from company.people.people import PeopleSystem, human_resources
from company.people.records import ClaimItem, MoneyAmount, Owner
from router.contracts.activities import LookUp
from router.domain.errors import DefinitionError
from router.domain.principals import Absence, Principal
from router.flow.language.functions import LOOKUPS
from router.sdk.lookups import lookup
from router.store.blobs import Files
from router.store.database import Database
from router.store.documents import Documents
from router.tool.context import Dependencies
from router.tool.registry import Registry
from tests.integration.store.test_store import receipt
from tests.table import each_row

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

ALICE = Principal(id="alice", name="Alice", manager="bob")
ELSEWHERE = ALICE.model_copy(update={"tenant": "other"})
CAROL = Principal(id="carol", name="Carol", roles=frozenset({"employee", "director"}))
BOB = Principal(id="bob", name="Bob", manager="carol", roles=frozenset({"employee", "director"}))


class Company:
    """A directory of three."""

    people: tuple[Principal, ...] = (ALICE, BOB, CAROL)

    async def find(self, tenant: str, user: str) -> Principal | None:
        found = [p for p in self.people if (p.tenant, p.id) == (tenant, user)]
        return found[0] if found else None

    async def holding(self, tenant: str, role: str) -> list[Principal]:
        return [p for p in self.people if p.tenant == tenant and role in p.roles]


@pytest.fixture
def files(database: Database) -> Files:
    return Files(database)


@pytest.fixture
def look_ups(people: PeopleSystem, files: Files, database: Database) -> LookUps:
    return looking_up(Company(), people, files, Documents(database))


def looking_up(
    company: Company, people: PeopleSystem, files: Files, documents: Documents
) -> LookUps:
    Registry().discover(lookups)
    dependencies = Dependencies()
    dependencies.provide(human_resources, people)
    dependencies.provide(provided.directory, company)
    return LookUps(company, files, documents, dependencies)


async def ask(look_ups: LookUps, name: str, *arguments: Any, requester: Principal = ALICE) -> Any:
    asked = LookUp(name=name, arguments=list(arguments), requester=requester, now=datetime.now(UTC))
    return (await look_ups.look_up(asked)).value


@each_row("name", ["manager", "names", "role", "stand_ins", "file_name"])
def test_every_lookup_of_the_engine_has_its_answer(name: str, database_url: str) -> None:
    method = getattr(LookUps, name)
    parameters = list(inspect.signature(method).parameters)
    assert inspect.iscoroutinefunction(method)
    assert parameters == ["self", "tenant", *LOOKUPS[name].takes]


def test_a_company_s_lookup_is_declared_by_its_function(database_url: str) -> None:
    found = LOOKUPS["workdays"]
    assert found.takes == ("start", "end", "start_half", "end_half")
    assert found.filled_up(["2026-11-23", "2026-11-25"]) == ["2026-11-23", "2026-11-25", "", ""]


@each_row("name", ["amount", "manager"])
def test_a_lookup_can_t_be_called_as_something_else_is(name: str, database_url: str) -> None:
    async def answer(tenant: str, other: JsonValue) -> JsonValue:
        return other

    answer.__name__ = name
    with pytest.raises(DefinitionError, match=f"lookup {name} has a name that means"):
        lookup("anything")(answer)


BOB_HIMSELF = {"id": "bob", "name": "Bob"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("person", "manager"),
    [("alice", "bob"), (BOB_HIMSELF, "carol"), ("carol", None), (None, None), ("nobody", None)],
)
async def test_a_manager_is_looked_up(look_ups: LookUps, person: Any, manager: str | None) -> None:
    assert await ask(look_ups, "manager", person) == manager
    assert await ask(look_ups, "manager", person, requester=ELSEWHERE) is None


async def test_a_role_gives_everyone_of_the_tenant_who_holds_it(look_ups: LookUps) -> None:
    assert await ask(look_ups, "role", "director") == ["bob", "carol"]
    assert await ask(look_ups, "role", "pilot") == []
    assert await ask(look_ups, "role", "director", requester=ELSEWHERE) == []


def _away(id_: str, delegate: str | None) -> Principal:
    absence = Absence(first=date(2026, 11, 16), last=date(2026, 11, 20))
    return Principal(id=id_, name=id_, delegate=delegate, away=(absence,))


@pytest.mark.parametrize(
    ("away", "asked"),
    [
        ({}, "bob"),
        ({"bob": "carol"}, "carol"),
        ({"bob": "carol", "carol": "dave"}, "dave"),
        # The requester stands in for nobody: whoever stands in for them does.
        ({"bob": "alice"}, "bob"),
        ({"bob": "alice", "alice": "dave"}, "dave"),
        # Nobody is left, or too far away: bob is asked in spite of being away.
        ({"bob": "carol", "carol": "bob"}, "bob"),
        ({"bob": "carol", "carol": "dave", "dave": "erin"}, "bob"),
        ({"bob": None}, "bob"),
        ({"bob": "gone"}, "bob"),
    ],
)
async def test_whoever_is_away_is_stood_in_for(
    people: PeopleSystem,
    files: Files,
    database: Database,
    away: dict[str, str | None],
    asked: str,
) -> None:
    company = Company()
    there = [Principal(id=id_, name=id_) for id_ in ("alice", "bob", "carol", "dave", "erin")]
    company.people = tuple(_away(one.id, away[one.id]) if one.id in away else one for one in there)
    look_ups = looking_up(company, people, files, Documents(database))

    async def at(moment: str) -> Any:
        return await ask(look_ups, "stand_ins", ["bob", "erin"], "alice", moment)

    assert await at("2026-11-18T10:00:00+08:00") == [asked, "erin"]
    assert await at("2026-11-15T23:59:00+08:00") == ["bob", "erin"]
    assert await at("2026-11-20T15:59:59+00:00") == [asked, "erin"]
    assert await at("2026-11-20T16:00:00+00:00") == ["bob", "erin"]


@pytest.mark.parametrize("moment", ["", "today", "2026-11-18", "2026-11-18T10:00:00", 5, None])
async def test_what_is_no_moment_is_refused(look_ups: LookUps, moment: Any) -> None:
    with pytest.raises(ApplicationError):
        await ask(look_ups, "stand_ins", ["bob"], "alice", moment)
    with pytest.raises(ApplicationError):
        await ask(look_ups, "working_time", "bob", moment, {"days": 1})


async def test_working_time_is_a_moment_and_working_days_are_numbers(look_ups: LookUps) -> None:
    start, duration = "2026-11-20T17:00:00+08:00", {"hours": 2}
    for person in ("bob", "whoever left"):
        due = await ask(look_ups, "working_time", person, start, duration)
        assert due == "2026-11-23T02:00:00+00:00"
    assert await ask(look_ups, "workdays", "2026-11-20", "2026-11-23", "", "am") == 1.5
    assert await ask(look_ups, "workdays", "2026-11-20", "2026-11-23", None, None) == 2.0
    assert await ask(look_ups, "last_workday", "2026-11-20", {"days": 2}) == "2026-11-23"


async def test_an_invoice_is_claimed_by_a_claim(look_ups: LookUps, people: PeopleSystem) -> None:
    owner = Owner(tenant="default", person="bob")
    money = MoneyAmount(amount=Decimal(1), currency="CNY")
    item = ClaimItem(category="meals", amount=money, date=date(2026, 1, 1), invoice="INV-1")
    claim = await people.claims.submit(owner, "r:k", [item], "")
    assert await ask(look_ups, "claimed", " inv-1") is True
    for unseen in ("\u200b", "\u2060", "\u00ad", "\u202e\u202c", "\ufe0f", "\u3164", "."):
        assert await ask(look_ups, "claimed", f"I{unseen}NV\u2010{unseen}1") is True
    for alike in ("I\u039dV-1", "\u0406NV-1", "\u13d9NV-1"):  # Greek, Ukrainian, Cherokee
        with pytest.raises(ApplicationError, match="Latin letters"):
            await ask(look_ups, "claimed", alike)
    await people.claims.reject(owner, claim.id, ["r"])
    assert await ask(look_ups, "claimed", "INV-1") is False


async def test_a_file_has_a_name_for_its_owner_alone(look_ups: LookUps, files: Files) -> None:
    kept = receipt(size=1)
    await files.keep(kept, b"x")
    for person, id_, requester, name in (
        ("alice", kept.id, ALICE, "发票.pdf"),
        ({"id": "alice"}, kept.id, ALICE, "发票.pdf"),
        ("bob", kept.id, ALICE, None),
        ("alice", "b" * 24, ALICE, None),
        ("alice", kept.id, ELSEWHERE, None),
    ):
        assert await ask(look_ups, "file_name", person, id_, requester=requester) == name


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("horoscope", [], "no lookup named 'horoscope'"),
        ("look_up", ["alice"], "no lookup named 'look_up'"),
        ("__init__", [], "no lookup"),
        ("manager", [], r"manager\(person\) was given 0"),
        ("manager", ["alice", 2], r"manager\(person\) was given 2"),
        ("workdays", ["2026-11-20"], r"workdays\(.*\) was given 1"),
    ],
)
async def test_a_lookup_that_is_not_deployed_as_a_flow_knows_it_is_told_as_that(
    look_ups: LookUps, name: str, arguments: list[Any], said: str
) -> None:
    with pytest.raises(ApplicationError, match=said) as caught:
        await ask(look_ups, name, *arguments)
    assert (caught.value.type, caught.value.non_retryable) == ("NotDeployed", True)


async def test_what_a_lookup_is_not_given_has_its_defaults(look_ups: LookUps) -> None:
    whole = await ask(look_ups, "workdays", "2026-11-23", "2026-11-25", "", "")
    assert await ask(look_ups, "workdays", "2026-11-23", "2026-11-25") == whole == 3.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("file_name", ["alice", 7], "file: 7 isn't text"),
        ("file_name", [None, "a"], "person: None isn't text"),
        ("manager", [7], "person: 7 isn't text"),
        ("manager", [{"name": "Bob"}], "person: None isn't text"),
        ("workdays", ["soon", "2026-11-23", "", ""], "start: 'soon'"),
        ("workdays", ["2026-11-20", "2026-11-23", "noon", ""], "start_half: 'noon'"),
        ("workdays", ["2001-11-20", "2090-11-23", "", ""], "five years"),
        ("last_workday", ["2026-11-20", {"days": 0}], "isn't a duration"),
        ("claimed", [None], "invoice: None isn't text"),
    ],
)
async def test_what_cannot_be_looked_up_fails_for_good_with_the_reason(
    look_ups: LookUps, name: str, arguments: list[Any], said: str
) -> None:
    with pytest.raises(ApplicationError, match=said) as caught:
        await ask(look_ups, name, *arguments)
    assert caught.value.type == "ArgumentsToolError"
    assert caught.value.non_retryable


async def test_whoever_asks_outside_of_a_run_is_told_when_somebody_works_next(
    look_ups: LookUps,
) -> None:
    bob = Principal(id="bob", name="Bob")
    for at, then in (
        ("2026-11-20T10:00+08:00", "2026-11-20T10:00+08:00"),
        ("2026-11-20T19:00+08:00", "2026-11-23T09:00+08:00"),
        ("2026-11-21T00:00+08:00", "2026-11-23T09:00+08:00"),
    ):
        found = await look_ups.working_from(bob, datetime.fromisoformat(at))
        assert found == datetime.fromisoformat(then)
