"""Papers on their way through conversations: read once, waited for, told late, refused twice."""

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from PIL import Image
from temporalio.client import Client

from activities.documents import DocumentActivities
from router.contracts import document as contract
from router.documents.file_format import UnreadableFile
from router.documents.page import Material, Page, TextLine
from router.domain.documents import Place, Source
from router.domain.errors import BackendUnavailable, Unavailable
from router.domain.messages import Message, Turn
from router.domain.principals import DEFAULT_TENANT
from router.domain.records import FileRecord
from router.flow.definition import FlowDefinition
from router.gateway.documents import DocumentReading
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from tests.fakes.model_server import ModelServer, calls, fails
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import Talk, defined, flow_of, person, words
from tests.workflow.tooled import furnished
from workflows import document

CLAIM = defined("""
flow: claim
title: {zh: 报车费, en: Claim}
description: {zh: 报几笔车费, en: Claim fares}
triggers: {patterns: [报车费]}
slots:
  fares:
    type: list
    label: {zh: 车费, en: Fares}
    of:
      type: object
      fields:
        amount:
          type: money
          label: {zh: 金额, en: Amount}
          ask: {zh: 多少钱？, en: "How much?"}
          from: document
        date:
          type: date
          label: {zh: 日期, en: Day}
          ask: {zh: 哪天？, en: "Which day?"}
          from: document
        paper:
          type: file
          required: false
          label: {zh: 票, en: paper}
          documents: [taxi_receipt]
          check:
            - that: "used_before(item.paper) != 'same'"
              say: {zh: 报过了。, en: It was claimed.}
start: details
states:
  details: {collect: [fares], next: review}
  review:
    confirm: {zh: "报 {{ shown.fares }}？", en: "Claim?"}
    confirmed: boss
    declined: details
  boss:
    approve: {by: manager(requester), title: {zh: 车费, en: Fares}}
    approved: told
    rejected: told_no
    returned: details
  told: {say: {zh: 报好了。, en: Claimed.}, end: completed}
  told_no: {say: {zh: 没批。, en: Refused.}, end: rejected}
""")


END_OF_PICTURE = b"\xff\xd9"
"""Of a JPEG, behind which a test writes what is to be read of it."""


@dataclass
class Desk:
    """Whoever reads files here, as slowly as a test wants; a file says what is to be read of it."""

    open: asyncio.Event = field(default_factory=asyncio.Event)
    read_: list[bytes] = field(default_factory=list)
    away: int = 0
    """How many tries yet fail as where the database is away."""

    async def read(self, content: bytes, tenant: str, person: str) -> Material:
        await self.open.wait()
        if self.away:
            self.away -= 1
            raise Unavailable("the database can't be used right now")
        self.read_.append(content)
        said = content.removeprefix(b"%PDF-").rpartition(END_OF_PICTURE)[2].decode()
        if said == "broken":
            raise UnreadableFile("damaged")
        seen: Source = "picture" if END_OF_PICTURE in content else "text"
        lines = [
            TextLine(text, Place(left=0.1, top=0.1 * n, right=0.9, bottom=0.1 * n + 0.05), seen)
            for n, text in enumerate(said.split("|"), 1)
        ]
        return Material((Page(400, 600, tuple(lines)),))


def taxi(amount: str) -> str:
    return f"CITY TAXI RECEIPT|Date 2026-11-05|Total CNY {amount}"


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
async def talk(parts: Parts, real_client: Client, desk: Desk) -> AsyncIterator[Talk]:
    async with talking(parts, real_client, desk, CLAIM) as talk:
        yield talk


@asynccontextmanager
async def talking(
    parts: Parts, client: Client, desk: Desk, *flows: FlowDefinition, models: Sequence[str] = ()
) -> AsyncIterator[Talk]:
    queue = uuid4().hex
    async with furnished(parts, [], models, flows=flows) as furnished_one:
        house = replace(furnished_one, papers=desk)  # type: ignore[arg-type]
        async with build_worker(client, house, queue):
            yield await Talk(client, house, await person(house, "alice"), queue=queue).open()


async def handed_in(talk: Talk, says: str, who: str = "alice", head: bytes = b"%PDF-") -> str:
    """The id of a file that says this, not yet read."""
    content = head + says.encode()
    id_ = uuid4().hex[:24]
    owner = await person(talk.parts, who)
    name = says.rsplit(" ", maxsplit=1)[-1]
    record = FileRecord.of(id_, owner, f"{name}.pdf", content, datetime.now(UTC))
    await talk.parts.store.files.keep(record, content)
    return id_


def photo() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (40, 30), "navy").save(out, "JPEG")
    return out.getvalue()


async def being_read(talk: Talk, says: str) -> str:
    """The same, whose reading has begun, as the API begins it."""
    id_ = await handed_in(talk, says)
    await DocumentReading(talk.client, talk.queue).begin(DEFAULT_TENANT, id_, talk.person.id)
    return id_


async def give(talk: Talk, *files: str, text: str | None = None) -> Turn:
    names = {file: f"{file[:4]}.pdf" for file in files}
    return await talk.send(Message(text=text, files=files), file_names=names)


async def told_later(talk: Talk, text: str) -> str:
    """What the conversation is told besides its turns, once it is this."""
    async with asyncio.timeout(HANGS_AFTER_S):
        while True:
            said = [str(one.data["text"]) for one in await talk.transcript()]
            if found := [one for one in said if text in one]:
                return found[-1]
            await asyncio.sleep(0.05)


async def test_a_paper_fills_what_it_says_and_stands_in_the_turn(talk: Talk, desk: Desk) -> None:
    desk.open.set()
    file = await handed_in(talk, taxi("45.00"))
    turn = await give(talk, file, text="报车费")
    assert flow_of(turn).status == "confirming"
    assert flow_of(turn).slots["fares"] == [
        {"amount": {"amount": "45.00", "currency": "CNY"}, "date": "2026-11-05", "paper": file}
    ]
    (document,) = turn.documents or []
    assert (document.file, document.type) == (file, "taxi_receipt")
    assert turn.shown()["documents"][0]["fields"]["date"]["from"] == "text"
    assert turn.files_left is None


@pytest.mark.slow
async def test_papers_without_a_word_begin_the_only_flow_for_them(talk: Talk, desk: Desk) -> None:
    desk.open.set()
    files = [await handed_in(talk, taxi(amount)) for amount in ("10.00", "20.00")]
    turn = await give(talk, *files)
    assert (turn.route.target, turn.route.by) == ("claim", "action")
    assert "¥10.00" in words(turn)
    assert "¥20.00" in words(turn)
    assert flow_of(turn).status == "confirming"


@pytest.mark.slow
@pytest.mark.usefixtures("usual_patience")
async def test_a_turn_ends_while_files_are_read_and_what_is_in_them_is_news(
    talk: Talk, desk: Desk
) -> None:
    file = await being_read(talk, taxi("30.00"))
    turn = await give(talk, file, text="报车费")
    assert "正在读" in words(turn)
    assert (turn.files_left, turn.documents) == (None, None)
    desk.open.set()
    assert "¥30.00" in await told_later(talk, "报 1.")
    done = await talk.press("confirm", value=True)
    assert flow_of(done).status == "waiting_approval"


async def lose_database(*_: Any) -> float:
    raise BackendUnavailable("the database is away")


async def wait_for_database(*_: Any) -> float:
    return float(await asyncio.Event().wait())


@pytest.mark.slow
@pytest.mark.usefixtures("usual_patience")
@pytest.mark.parametrize("estimate", [lose_database, wait_for_database])
async def test_no_turn_waits_for_how_long_its_files_take(
    talk: Talk,
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    estimate: Callable[..., Awaitable[float]],
) -> None:
    monkeypatch.setattr(DocumentActivities, "_seconds_until_read", estimate)
    file = await being_read(talk, taxi("33.00"))
    async with asyncio.timeout(HANGS_AFTER_S):
        turn = await give(talk, file, text="报车费")
    assert "正在读" in words(turn)
    assert "大约" not in words(turn)
    desk.open.set()


@pytest.mark.slow
@pytest.mark.usefixtures("usual_patience")
async def test_words_that_follow_files_wait_for_them(talk: Talk, desk: Desk) -> None:
    await give(talk, await being_read(talk, taxi("31.00")), text="报车费")
    saying = asyncio.create_task(talk.say("第1项改成 30 元"))
    desk.open.set()
    turn = await saying
    assert flow_of(turn).slots["fares"][0]["amount"]["amount"] == "30.00"  # type: ignore[index, call-overload]


@pytest.mark.slow
@pytest.mark.usefixtures("usual_patience")
async def test_a_claim_is_called_off_while_its_files_are_read(talk: Talk, desk: Desk) -> None:
    await give(talk, await being_read(talk, taxi("32.00")), text="报车费")
    calling_off = asyncio.create_task(talk.say("取消"))
    turn = await calling_off
    assert flow_of(turn).status == "cancelled"
    desk.open.set()


async def test_a_file_is_read_once_whoever_asks_for_it(talk: Talk, desk: Desk) -> None:
    desk.open.set()
    file = await being_read(talk, taxi("33.00"))
    await asyncio.gather(
        *(
            DocumentReading(talk.client, talk.queue).begin(DEFAULT_TENANT, file, "alice")
            for _ in "ab"
        )
    )
    await give(talk, file, text="报车费")
    assert len(desk.read_) == 1


async def test_what_cannot_be_read_is_attached_and_asked_for(talk: Talk, desk: Desk) -> None:
    desk.open.set()
    turn = await give(talk, await handed_in(talk, "broken"), text="报车费")
    assert "没能读出来" in words(turn)
    assert flow_of(turn).awaiting == ["fares.0.amount"]
    assert turn.documents is not None


@pytest.mark.slow
async def test_the_paper_of_a_claim_is_refused_to_everybody_else_until_that_came_to_nothing(
    talk: Talk, desk: Desk
) -> None:
    desk.open.set()
    says = taxi(f"{uuid4().int % 1000}.10")
    await give(talk, await handed_in(talk, says), text="报车费")
    done = await talk.press("confirm", value=True)
    frank = await talk.another("frank")
    theirs = await handed_in(talk, says, "frank")
    turn = await give(frank, theirs, text="报车费")
    assert "报过了" in words(turn)
    assert not flow_of(turn).slots.get("fares")
    await frank.say("取消")
    await talk.approver("bob").decide(flow_of(done).id, "reject")
    turn = await give(await talk.another("frank"), theirs, text="报车费")
    assert flow_of(turn).status == "confirming"


async def test_where_every_try_ends_with_its_worker_the_file_is_noted_as_unreadable(
    talk: Talk, desk: Desk, real_client: Client
) -> None:
    file = await handed_in(talk, taxi("5.00"))
    given = contract.ReadFile(tenant=DEFAULT_TENANT, file=file, given_up=True)
    await real_client.execute_workflow(
        contract.WORKFLOW, given, id=contract.workflow_id("default", file), task_queue=talk.queue
    )
    document = await talk.parts.store.documents.find(DEFAULT_TENANT, file)
    assert document is not None
    assert (document.readable, document.problems[0].code) == (False, "broken")


@pytest.mark.slow
async def test_a_file_is_read_however_long_the_database_is_away(
    talk: Talk, desk: Desk, real_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "AGAIN", timedelta(milliseconds=1))
    desk.open.set()
    desk.away = 7  # more than the tries of two activities
    file = await handed_in(talk, taxi("5.10"))
    given = contract.ReadFile(tenant=DEFAULT_TENANT, file=file)
    await real_client.execute_workflow(
        contract.WORKFLOW, given, id=contract.workflow_id("default", file), task_queue=talk.queue
    )
    read = await talk.parts.store.documents.find(DEFAULT_TENANT, file)
    assert read is not None
    assert read.readable


WITHOUT_AMOUNT = "CITY TAXI RECEIPT|Date 2026-11-05"


@pytest.mark.slow
async def test_what_rules_do_not_find_a_model_is_asked_before_the_person(
    parts: Parts, real_client: Client, desk: Desk
) -> None:
    desk.open.set()
    async with ModelServer() as server:
        server.papers = calls(("paper_is_taxi_receipt", {"amount": "¥36.00"}))
        async with talking(parts, real_client, desk, CLAIM, models=[server.url]) as talk:
            file = await handed_in(talk, WITHOUT_AMOUNT, head=photo())
            turn = await give(talk, file, text="报车费")
            shown = words(turn) if "36.00" in words(turn) else await told_later(talk, "36.00")
            # A model alone isn't believed: the person is asked whether that is so.
            assert flow_of(turn).status != "confirming"
            assert "36.00" in shown
            document = await talk.parts.store.documents.find(DEFAULT_TENANT, file)
            assert document is not None
            assert document.fields["amount"].source == "model"
            assert len(server.looks) == 1
            handle = real_client.get_workflow_handle(contract.workflow_id("default", file))
            history = str(await handle.fetch_history())
            assert "look_at_document" in history
            assert "36.00" not in history


@pytest.mark.slow
async def test_a_picture_that_only_a_model_can_tell_begins_the_flow_for_it(
    parts: Parts, real_client: Client, desk: Desk
) -> None:
    desk.open.set()
    async with ModelServer() as server:
        said = {"amount": "37.00", "date": "2026-11-05"}
        server.papers = calls(("paper_is_taxi_receipt", said))
        async with talking(parts, real_client, desk, CLAIM, models=[server.url]) as talk:
            turn = await give(talk, await handed_in(talk, "no word of it", head=photo()))
            assert (turn.route.target, turn.route.by) == ("claim", "action")
            assert len(server.looks) == 1
            assert server.chats == []


@pytest.mark.slow
async def test_a_model_that_does_not_answer_takes_nothing_from_what_rules_read(
    parts: Parts, real_client: Client, desk: Desk
) -> None:
    desk.open.set()
    async with ModelServer() as server:
        server.papers = fails(400, "no vision here: image_url is not supported")
        async with talking(parts, real_client, desk, CLAIM, models=[server.url]) as talk:
            file = await handed_in(talk, WITHOUT_AMOUNT, head=photo())
            turn = await give(talk, file, text="报车费")
            assert "多少钱" in words(turn) or await told_later(talk, "多少钱")
            again = await handed_in(talk, WITHOUT_AMOUNT, head=photo())
            await give(talk, again)
            assert len(server.looks) == 1
