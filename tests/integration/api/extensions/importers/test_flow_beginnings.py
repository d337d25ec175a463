"""Authors hand in what they have of a process, and are given a draft that they go on from."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from httpx import AsyncClient, Response

from router.api.dependencies import Services
from router.domain.budgets import Budget, Budgets
from router.domain.periods import Period
from router.extensions.importers import ImportersExtension
from router.extensions.importers.paragraph import LONGEST_PARAGRAPH
from router.extensions.importers.source_file import LARGEST
from router.routing.prompts import Prompts, ShippedPrompts
from router.runtime.composition import chains_of
from router.settings import Settings
from tests.fakes.model_server import Behaviour, ModelServer, calls, fails, says
from tests.integration.api.conftest import As, problem
from tests.integration.api.test_configuration import Company, ok
from tests.table import each_row
from tests.unit.extensions.importers.test_bpmn import APPROVE, END, FORM, START, bpmn
from tests.unit.extensions.importers.test_paragraph import PURCHASE

PATH = "/v1/flow-drafts/beginnings"
PAPER = bpmn(START + FORM + APPROVE + '<serviceTask id="x" name="Pack"/>' + END, "s>t t>a a>x x>e")
SHIPPED = ShippedPrompts.load(ImportersExtension().prompt_jobs())
PROMPTS = Prompts.load(shipped=SHIPPED)
_NUMBERS = count()
Telling = Callable[..., AbstractAsyncContextManager[tuple[AsyncClient, ModelServer]]]


@pytest.fixture
async def anna(services: Services) -> AsyncIterator[AsyncClient]:
    async with Company(services, f"b{next(_NUMBERS)}")("anna") as client:
        yield client


async def begin(client: AsyncClient, content: bytes, name: str = "process.bpmn") -> Response:
    return await client.post(PATH, files={"file": (name, content, "application/xml")})


async def test_a_process_begins_a_draft_that_is_saved_by_its_author_alone(
    anna: AsyncClient,
) -> None:
    made = ok(await begin(anna, PAPER))

    assert made["flow"] == "order_paper"
    assert (await anna.get(f"/v1/flow-drafts/{made['flow']}")).status_code == 404
    saved = ok(
        await anna.put(
            f"/v1/flow-drafts/{made['flow']}", json={"text": made["text"], "revision": 0}
        )
    )
    asked = [each["place"] for each in made["questions"] if each["place"]]
    found = saved["examination"]["problems"]
    assert found
    for each in found:
        assert any(each["place"][: len(place)] == place for place in asked), each
    again = ok(await begin(anna, PAPER))
    assert again["flow"] == "order_paper_2"


async def test_what_is_asked_and_left_out_is_said_in_the_authors_language(
    caller: As,
) -> None:
    content = bpmn(START + '<task id="x"/><task id="alone"/>' + END, "s>x x>e")

    made = ok(await begin(caller("olga"), content))

    assert [each["where"] for each in made["unmapped"]] == ["alone"]
    assert "left out" in made["unmapped"][0]["what"]


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 422),
        (b"%PDF-1.7", 422),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]><definitions/>", 422),
        (b"<definitions/>", 422),
        (b"<" * (LARGEST + 100_000), 413),
    ],
)
async def test_what_no_flow_can_begin_with_is_refused(
    anna: AsyncClient, content: bytes, status: int
) -> None:
    assert problem(await begin(anna, content), status)


async def test_other_fields_and_bodies_are_refused(anna: AsyncClient) -> None:
    assert problem(await anna.post(PATH, json={}), 415)
    assert problem(await anna.post(PATH, files={"other": b"x"}), 422)


async def test_who_writes_no_flows_begins_none(caller: As) -> None:
    assert problem(await begin(caller("alice"), PAPER), 404)


TOLD = "采购：填物品和金额，主管批，超过五千财务批。"
SKETCHED = calls(("sketch_flow", PURCHASE))


@pytest.fixture
def telling(services: Services, tmp_path: Path) -> Telling:
    """An author's client at a desk whose model does these, one after the other."""

    @asynccontextmanager
    async def client(
        *script: Behaviour, budgets: Budgets | None = None
    ) -> AsyncIterator[tuple[AsyncClient, ModelServer]]:
        async with ModelServer(script) as model:
            settings = Settings.load(
                data=tmp_path, llm_base_url=model.url, llm_model="scripted", llm_api_key="k"
            )
            async with chains_of(settings) as chains:
                paid = services.settings.model_copy(update={"llm_budgets": budgets or Budgets()})
                desk = replace(services, chains=chains, prompts=PROMPTS, settings=paid)
                company = Company(desk, f"t{next(_NUMBERS)}")
                async with company("anna") as anna:
                    yield anna, model

    return client


async def tell(client: AsyncClient, paragraph: str) -> Response:
    return await client.post(PATH, files={"paragraph": (None, paragraph)})


async def test_a_paragraph_begins_a_draft_with_what_is_open_and_nothing_is_kept(
    telling: Telling, services: Services
) -> None:
    async with telling(SKETCHED) as (anna, model):
        made = ok(await tell(anna, TOLD))

        assert made["flow"] == "purchase_request"
        assert "A model wrote this" in made["questions"][1]["what"]
        assert (await anna.get("/v1/flow-drafts/purchase_request")).status_code == 404
        (asked,) = model.chats
        assert TOLD in asked["messages"][-1]["content"]
        kept = await anna.put(
            "/v1/flow-drafts/purchase_request", json={"text": made["text"], "revision": 0}
        )
        assert ok(kept)["examination"]["problems"] == []
        tenant = anna.headers["Authorization"].partition(" ")[2].partition("/")[0]
    ever = Period(date.min, date.max, ZoneInfo("UTC"))
    spent = await services.store.spending.lines(tenant, ever, ["role", "person"], "USD")
    assert [(each.role, each.person, each.calls) for each in spent] == [("sketch", "anna", 1)]


@each_row("script", [[SKETCHED], [says("Sure!"), SKETCHED]])
async def test_a_models_answer_is_read_in_a_child_process(
    telling: Telling, services: Services, script: list[Behaviour]
) -> None:
    async with telling(*script) as (anna, _):
        services.isolated_work.runner.last_end = None
        ok(await tell(anna, TOLD))

        end = services.isolated_work.runner.last_end
        assert end is not None
        assert end.status == 0


async def test_an_answer_of_no_use_is_asked_for_once_more_and_told_what_is_wrong(
    telling: Telling,
) -> None:
    async with telling(says("Sure!"), SKETCHED) as (anna, model):
        assert ok(await tell(anna, TOLD))["flow"] == "purchase_request"

        assert "call sketch_flow" in model.chats[1]["messages"][-1]["content"]


@each_row(
    ("script", "status", "words"),
    [
        ([says("Sure!"), calls(("sketch_flow", {"title_zh": "x"}))], 503, "twice"),
        ([calls(("no_process", {"why": "ignore this"}))], 422, "no process is seen"),
        ([fails(500)] * 9, 503, "No model answers"),
        ([fails(401)] * 9, 503, "No model answers"),
    ],
)
async def test_where_a_model_gives_no_draft_its_author_is_told_what_to_do(
    telling: Telling, script: list[Behaviour], status: int, words: str
) -> None:
    async with telling(*script) as (anna, _):
        refused = problem(await tell(anna, TOLD), status)

        assert words in refused["detail"]
        assert "http" not in refused["detail"]
        assert not any(each["drafts"] for each in ok(await anna.get("/v1/flow-drafts"))["items"])


@each_row(
    ("budgets", "status", "words"),
    [
        (Budgets(user=Budget(calls=0)), 429, "back tomorrow"),
        (Budgets(tenant=Budget(tokens=1)), 429, "back tomorrow"),
        (Budgets(turn=Budget(tokens=1)), 422, "shorten it"),
    ],
)
async def test_no_model_is_asked_where_nobody_would_pay(
    telling: Telling, budgets: Budgets, status: int, words: str
) -> None:
    async with telling(SKETCHED, budgets=budgets) as (anna, model):
        answer = await tell(anna, TOLD)

        assert words in problem(answer, status)["detail"]
        assert ("Retry-After" in answer.headers) == (status == 429)
        assert model.chats == []


async def test_without_a_model_it_is_said_what_else_a_flow_can_begin_with(
    anna: AsyncClient,
) -> None:
    assert "ROUTER_LLM_MODEL" in problem(await tell(anna, TOLD), 503)["detail"]


@pytest.mark.slow
@each_row(
    "files",
    [
        {"paragraph": (None, "")},
        {"paragraph": (None, " \n\u200b ")},
        {"paragraph": (None, "a\x00b")},
        {"paragraph": (None, "x" * (LONGEST_PARAGRAPH + 1))},
        {"paragraph": (None, "x" * 50_000)},
        {"paragraph": ("told.txt", b"a file")},
        {"paragraph": (None, TOLD), "file": ("a.bpmn", PAPER)},
        [("paragraph", (None, TOLD)), ("paragraph", (None, TOLD))],
        {"text": (None, TOLD)},
    ],
)
async def test_what_is_no_paragraph_is_refused_before_a_model_hears_of_it(
    telling: Telling, files: Any
) -> None:
    async with telling(SKETCHED) as (anna, model):
        assert problem(await anna.post(PATH, files=files), 422)["errors"]
        assert model.chats == []
