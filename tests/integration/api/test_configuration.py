"""Documents of configuration over REST: who may write them, what is refused, what is kept."""

import json
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import AsyncClient, Response

from router.api.dependencies import Services
from router.domain.errors import Problem
from router.domain.principals import EVERYONE, Principal
from router.domain.records import AuditFilter
from router.runtime import tenant_configuration
from router.runtime.server import create_app
from router.store.store import Store
from router.story.loader import story_problems
from tests.integration.api.conftest import client_of, problem
from tests.unit.runtime.documents import SOUND, overtime

PATH = "/v1/configuration"
_NUMBERS = count()


class Company:
    """People of tenants of their own: what one test writes no other sees."""

    def __init__(self, services: Services, tenant: str) -> None:
        roles = {"olga": "operator", "otto": "operator", "anna": "author", "alice": EVERYONE}
        roles |= {"ann": "author", "both": "author operator"}
        self._people = {
            (tenant, id_): Principal(
                id=id_,
                name=id_,
                tenant=tenant,
                locale="en",
                roles=frozenset({EVERYONE, *role.split()}),
            )
            for id_, role in roles.items()
        }
        self.tenant = tenant
        self.app: FastAPI = create_app(replace(services, directory=self))  # type: ignore[arg-type]

    async def find(self, tenant: str, user: str) -> Principal | None:
        return self._people.get((tenant, user))

    def everyone(self, tenant: str) -> list[Principal]:
        return [person for (of, _), person in self._people.items() if of == tenant]

    def __call__(self, user: str) -> AsyncClient:
        return client_of(self.app, f"{self.tenant}/{user}")


@pytest.fixture
def company(services: Services) -> Company:
    return Company(services, f"c{next(_NUMBERS)}")


@pytest.fixture
def another(services: Services) -> Company:
    return Company(services, f"c{next(_NUMBERS)}")


@pytest.fixture
async def olga(company: Company) -> AsyncIterator[AsyncClient]:
    async with company("olga") as client:
        yield client


@pytest.fixture
async def anna(company: Company) -> AsyncIterator[AsyncClient]:
    async with company("anna") as client:
        yield client


async def put(
    client: AsyncClient, at: str, text: str, over: int | None = None, **more: Any
) -> Response:
    headers = {} if over is None else {"If-Match": f'"{over}"'}
    return await client.put(f"{PATH}/{at}", json={"text": text, **more}, headers=headers)


def ok(answer: Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "document"), SOUND.items(), ids=SOUND)
async def test_a_document_is_given_back_to_the_byte(
    olga: AsyncClient, kind: str, document: tuple[str, str]
) -> None:
    name, text = document
    ok(await put(olga, f"{kind}/{name}", text, note="to try it"))
    answer = await olga.get(f"{PATH}/{kind}/{name}")
    found = ok(answer)
    assert found["text"] == text
    assert answer.headers["etag"] == '"1"'
    assert (found["version"], found["latest"], found["active"]) == (1, 1, 1)
    assert (found["author"], found["note"]) == ("olga", "to try it")
    (listed,) = ok(await olga.get(PATH))["items"]
    assert (listed["kind"], listed["name"], listed["active"]) == (kind, name, 1)


@pytest.mark.slow
async def test_a_version_is_written_over_the_one_that_was_read(
    company: Company, olga: AsyncClient
) -> None:
    ok(await put(olga, "flows/overtime", overtime()))
    ok(await put(olga, "flows/overtime", overtime(said="hers"), 1))
    async with company("otto") as otto:
        late = problem(await put(otto, "flows/overtime", overtime(said="his"), 1), 412)
        assert "The newest version is 2" in late["detail"]
        problem(await put(otto, "flows/overtime", overtime(said="his")), 412)
        ok(await put(otto, "flows/overtime", overtime(said="his"), 2))
    problem(await put(olga, "flows/never_there", overtime(), 1), 412)


@pytest.mark.slow
async def test_the_same_text_again_makes_no_version(olga: AsyncClient) -> None:
    for _ in range(2):
        assert ok(await put(olga, "flows/overtime", overtime()))["version"] == 1
    assert len(ok(await olga.get(f"{PATH}/flows/overtime/versions"))["versions"]) == 1


@pytest.mark.slow
async def test_versions_are_rolled_back_and_retired_and_all_of_it_is_noted(
    company: Company, olga: AsyncClient, store: Store
) -> None:
    ok(await put(olga, "flows/overtime", overtime()))
    ok(await put(olga, "flows/overtime", overtime(2, hours=10), 1))
    back = ok(await olga.post(f"{PATH}/flows/overtime/activate", json={"version": 1}))
    assert (back["version"], back["latest"], back["active"]) == (1, 2, 1)
    assert ok(await olga.get(f"{PATH}/flows/overtime"))["text"] == overtime()
    newest = ok(await olga.get(f"{PATH}/flows/overtime", params={"version": 2}))
    assert newest["text"] == overtime(2, hours=10)
    assert ok(await olga.delete(f"{PATH}/flows/overtime"))["active"] is None
    told = ok(await olga.get(f"{PATH}/flows/overtime/versions"))
    assert [each["version"] for each in told["activations"]] == [None, 1, 2, 1]
    deeds, _ = await store.trail.listed(company.tenant, AuditFilter(who="olga"), None, 20)
    acts = [(deed.act, deed.detail) for deed in deeds if deed.subject == "flows/overtime.yaml"]
    assert acts == [
        ("configuration.retire", "version 1 ▸ none"),
        ("configuration.activate", "version 2 ▸ 1"),
        ("configuration.write", "version 2"),
        ("configuration.write", "version 1"),
    ]


async def test_an_author_writes_and_an_operator_lets_it_hold(
    anna: AsyncClient, olga: AsyncClient
) -> None:
    said = problem(await put(anna, "flows/overtime", overtime()), 403)["detail"]
    assert "an operator lets them hold" in said
    ok(await put(anna, "flows/overtime", overtime(), activate=False))
    assert ok(await anna.get(f"{PATH}/flows/overtime"))["active"] is None
    problem(await anna.post(f"{PATH}/flows/overtime/activate", json={"version": 1}), 404)
    problem(await anna.delete(f"{PATH}/flows/overtime"), 404)
    held = ok(await olga.post(f"{PATH}/flows/overtime/activate", json={"version": 1}))
    assert (held["author"], held["active"]) == ("anna", 1)


@pytest.mark.slow
async def test_to_employees_and_other_tenants_there_are_no_documents(
    company: Company, another: Company, olga: AsyncClient
) -> None:
    ok(await put(olga, "flows/overtime", overtime()))
    calls: list[Callable[[AsyncClient], Any]] = [
        lambda c: c.get(f"{PATH}/flows/overtime"),
        lambda c: c.get(f"{PATH}/flows/overtime/versions"),
        lambda c: c.post(f"{PATH}/flows/overtime/activate", json={"version": 1}),
        lambda c: c.delete(f"{PATH}/flows/overtime"),
    ]
    async with company("alice") as alice, another("olga") as stranger:
        problem(await alice.get(PATH), 404)
        problem(await put(alice, "flows/overtime", overtime(said="mine"), 1), 404)
        assert ok(await stranger.get(PATH))["items"] == []
        for call in calls:
            problem(await call(alice), 404)
            problem(await call(stranger), 404)
        ok(await put(stranger, "flows/overtime", overtime(said="theirs")))
    assert ok(await olga.get(f"{PATH}/flows/overtime"))["text"] == overtime()


async def test_a_version_s_number_is_one_behaviour_and_the_answer_says_so(
    olga: AsyncClient,
) -> None:
    ok(await put(olga, "flows/overtime", overtime()))
    said = problem(await put(olga, "flows/overtime", overtime(1, hours=10), 1), 409)["detail"]
    assert "raise version to 2" in said
    assert ok(await olga.get(f"{PATH}/flows/overtime"))["latest"] == 1


STORY = "- story: a\n  steps: [{user: hello}, {expect: {flow: overtime, state: agree}}]\n"


async def test_stories_are_read_beside_the_loop(
    olga: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def noting(*given: Any) -> list[Problem]:
        threads.append(threading.current_thread())
        return story_problems(*given)

    monkeypatch.setattr(tenant_configuration, "story_problems", noting)
    ok(await put(olga, "stories/x", "- story: a\n  steps: [{user: hello}]\n"))
    assert [each is threading.current_thread() for each in threads] == [False]


@pytest.mark.slow
async def test_stories_are_held_to_their_flow_when_written_and_keep_it_from_nothing(
    olga: AsyncClient,
) -> None:
    ok(await put(olga, "flows/overtime", overtime()))
    ok(await put(olga, "stories/overtime", STORY))
    wrong = problem(await put(olga, "stories/overtime", STORY.replace("agree", "x"), over=1), 422)
    assert wrong["errors"][0] == {
        "field": "flows/tests/overtime.yaml:2",
        "detail": "'x' is no state of overtime; there are agree, gather, noted, turned_down",
    }
    another = overtime(version=2).replace("agree", "look_over")
    assert ok(await put(olga, "flows/overtime", another, over=1))["active"] == 2


HOSTILE: dict[str, tuple[str, Any, int]] = {
    "yaml-bomb": ("flows/x", {"text": "a: &a [1]\n" + "b: [*a,*a,*a]\n" * 9000}, 422),
    "brackets": ("flows/x", {"text": "[" * 100_000}, 422),
    "no-flow": ("flows/x", {"text": "- 1"}, 422),
    "python": ("flows/x", {"text": "!!python/object/apply:os.system ['true']"}, 422),
    "a-skill-as-a-flow": ("flows/x", {"text": SOUND["skills"][1]}, 422),
    "a-flow-as-stories": ("stories/x", {"text": overtime()}, 422),
    "stories-of-nobody": ("stories/x", {"text": "- story: a\n  user: zoe\n  steps: []"}, 422),
    "half-a-character": ("flows/x", {"text": "\ud800"}, 400),
    "nul": ("flows/x", {"text": "flow: x\0"}, 422),
    "too-long-for-a-skill": ("skills/x", {"text": "---\nname: x\n---\n" + "x" * 70_000}, 422),
    "huge": ("flows/x", {"text": "x" * 270_000}, 422),
    "beyond-any-body": ("flows/x", {"text": "x" * 600_000}, 413),
    "no-text": ("flows/x", {}, 422),
    "a-number": ("flows/x", {"text": 1}, 422),
    "another-tenant": ("flows/x", {"text": overtime(), "tenant": "acme"}, 422),
    "active-in-words": ("flows/x", {"text": overtime(), "activate": "yes"}, 422),
    "no-such-kind": ("prompts/x", {"text": "x"}, 404),
    "mcp": ("mcp-servers/x", {"text": '{"x": {"command": "sh"}}'}, 404),
    "a-way-out": ("flows/..%2Fx", {"text": overtime()}, 404),
    "capital": ("flows/X", {"text": overtime()}, 404),
    "another-desk": ("personas/other", {"text": SOUND["personas"][1]}, 404),
}


@pytest.mark.slow
@pytest.mark.parametrize(("at", "body", "status"), HOSTILE.values(), ids=HOSTILE)
async def test_what_is_no_document_is_refused_and_nothing_is_kept(
    olga: AsyncClient, at: str, body: Any, status: int
) -> None:
    # As text: what is half a character no client encodes by itself.
    raw = json.dumps(body).encode()
    answer = await olga.put(
        f"{PATH}/{at}", content=raw, headers={"Content-Type": "application/json"}
    )
    problem(answer, status)
    assert ok(await olga.get(PATH))["items"] == []


@pytest.mark.parametrize("written", ["1", "*", '"x"', '"0"', '"-1"', '"1", "2"', 'W/"1"', '""'])
async def test_what_was_read_is_named_by_its_number_in_quotes(
    olga: AsyncClient, written: str
) -> None:
    answer = await olga.put(
        f"{PATH}/flows/overtime", json={"text": overtime()}, headers={"If-Match": written}
    )
    assert "If-Match" in str(problem(answer, 422))


async def test_no_version_is_there_that_was_never_written(olga: AsyncClient) -> None:
    ok(await put(olga, "flows/overtime", overtime()))
    problem(await olga.get(f"{PATH}/flows/overtime", params={"version": 2}), 404)
    for version, status in ((2, 404), (0, 422), (10**30, 422), ("1", 422), (True, 422)):
        body = {"version": version}
        problem(await olga.post(f"{PATH}/flows/overtime/activate", json=body), status)
