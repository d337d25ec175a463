"""Code of a project that a deployment removes while runs depend on it."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from uuid import uuid4

import pytest
from pydantic import JsonValue
from temporalio.client import Client, WorkflowHistory

from router.documents.document_type import DOCUMENT_TYPES, DocumentType, document_type
from router.documents.page import Material
from router.domain.documents import ReadField
from router.domain.hooks import ToolEvent, Veto
from router.domain.locale import Localised
from router.domain.records import RunRecord
from router.flow.definition import KINDS, FlowDefinition
from router.flow.engine.events import Retried
from router.flow.language.functions import LOOKUPS
from router.flow.slot_types.slot import SLOT_TYPES
from router.gateway import run_updates
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from router.sdk.lookups import DECLARED_LOOKUPS, lookup
from router.tool.context import ToolContext
from router.tool.hook import Hook, hook
from router.tool.tool import Tool, tool
from tests.badges import FLOW as BADGE
from tests.badges import BadgeNumber, Badges, installed
from tests.replays import bare
from tests.replays.histories import HISTORIES
from tests.workflow.desk import Talk, becomes, defined, flow_of, heard, person, run_of, words
from tests.workflow.test_documents import Desk, give, handed_in
from tests.workflow.tooled import furnished

LOCKER = defined("""
flow: locker
title: {zh: "储物柜", en: "Locker"}
description: {zh: "租储物柜", en: "Rents a locker"}
triggers: {patterns: ['^租柜子$'], examples: ["租柜子"]}
slots:
  floor: {type: text, ask: {zh: "几楼？", en: "Which floor?"}}
  fee: {type: number, lookup: "fee_of(slots.floor)"}
  note: {type: text, ask: {zh: "放什么？", en: "For what?"}}
start: ask
states:
  ask: {collect: [floor, note], next: sure}
  sure:
    confirm: {zh: "{{ shown.fee }} 元，租吗？", en: "{{ shown.fee }}?"}
    confirmed: rent
    declined: no
  rent: {call: rent_locker, with: {floor: slots.floor}, next: yes, on_error: no}
  yes: {say: {zh: "租好了", en: "Rented"}, end: completed}
  no: {say: {zh: "没租成", en: "Not rented"}, end: rejected}
""")
MOVE = defined("""
flow: move
title: {zh: "搬家", en: "Move"}
description: {zh: "凭券搬家", en: "Moves somebody who has a voucher"}
triggers: {patterns: ['^搬家$'], examples: ["搬家"]}
slots:
  code: {type: text, ask: {zh: "券号？", en: "Which voucher?"}, from: document}
  paper: {type: file, required: false, documents: [voucher]}
start: ask
states:
  ask: {collect: [code], next: locker}
  locker: {flow: locker, with: {floor: slots.code}, completed: yes, otherwise: no}
  yes: {say: {zh: "搬好了", en: "Moved"}, end: completed}
  no: {say: {zh: "没搬成", en: "Not moved"}, end: rejected}
""")
RENTED: list[str] = []
"""The keys of the calls that rented a locker."""


async def fee_of(tenant: str, floor: JsonValue, currency: JsonValue = "元") -> JsonValue:
    """What a locker on this floor costs."""
    return 12.0 if currency == "元" else None


@tool(permission="write", title={"zh": "租柜子", "en": "Rent a locker"})
async def rent_locker(floor: str, ctx: ToolContext) -> str:
    """Rent a locker."""
    RENTED.append(ctx.key)
    return floor


@hook("before_tool", required=True, tools=["rent_locker"])
async def watch_lockers(event: ToolEvent) -> Veto | None:
    """Lets everything pass."""


@contextmanager
def fee_deployed() -> Iterator[None]:
    """Have the lookup deployed, and removed afterwards."""
    lookup("what a locker costs")(fee_of)
    try:
        yield
    finally:
        del LOOKUPS["fee_of"], DECLARED_LOOKUPS["fee_of"]


class Voucher(DocumentType):
    """A type of documents that the project adds."""

    name = "voucher"
    label = Localised(zh="券", en="voucher")
    fields = {"code": Localised(zh="券号", en="code")}

    def likelihood(self, material: Material) -> float:
        return float("voucher" in material.text)

    def read(self, material: Material, today: date) -> dict[str, ReadField]:
        code = material.lines[0].text.split()[-1]
        return {"code": ReadField(value=code, source="text", confidence=0.9)}


@contextmanager
def voucher_deployed() -> Iterator[None]:
    """Have the type of documents deployed, and removed afterwards."""
    document_type(Voucher)
    try:
        yield
    finally:
        del DOCUMENT_TYPES["voucher"]


@dataclass
class Deployments:
    """One deployment after another of the same project, over the same data and task queue."""

    client: Client
    talk: Talk

    @asynccontextmanager
    async def having(
        self,
        flows: Iterable[FlowDefinition] = (),
        tools: Iterable[Tool] = (),
        hooks: Iterable[Hook] = (),
    ) -> AsyncIterator[Talk]:
        """A deployment that has these and no others."""
        reader = Desk()
        reader.open.set()
        async with furnished(self.talk.parts, tools, flows=flows, hooks=hooks) as house:
            parts = replace(house, papers=reader)  # type: ignore[arg-type]
            async with build_worker(self.client, parts, self.talk.queue):
                yield replace(self.talk, parts=parts)

    async def held(self, run: str) -> RunRecord:
        """The run, once it is held."""
        return await becomes(self.talk.parts, run, lambda r: r.is_held)

    async def retry(self, run: str) -> None:
        """Have an operator let the run try again."""
        record = await run_of(self.talk.parts, run)
        await run_updates.operate(self.client, record, Retried(by="olga"), uuid4().hex)

    async def histories(self, *runs: str) -> list[WorkflowHistory]:
        """Those of the conversation and of these runs."""
        records = [await run_of(self.talk.parts, run) for run in runs]
        handles = [self.client.get_workflow_handle(record.workflow_id) for record in records]
        return [await handle.fetch_history() for handle in (self.talk.handle, *handles)]


@pytest.fixture
async def deployments(real_client: Client, parts: Parts) -> Deployments:
    RENTED.clear()
    alice = await person(parts, "alice")
    return Deployments(real_client, await Talk(real_client, parts, alice, queue=uuid4().hex).open())


async def test_a_run_whose_lookup_and_flow_are_removed_is_held_until_the_lookup_is_back(
    deployments: Deployments,
) -> None:
    with fee_deployed():
        async with deployments.having([LOCKER], [rent_locker]) as talk:
            run = flow_of(await talk.say("租柜子")).id
    async with deployments.having(tools=[rent_locker]) as talk:
        turn = await talk.say("3楼")
        assert "已经转给管理员处理" in words(turn)
        record = await deployments.held(run)
        assert (record.status, record.slots) == ("waiting", {"floor": "3楼"})
        assert "“fee_of”" in (record.history[-1].comment or "")
    with fee_deployed():
        async with deployments.having(tools=[rent_locker]) as talk:
            await deployments.retry(run)
            await heard(talk, "放什么？")
    # What was looked up stays known: nothing needs the lookup any more.
    async with deployments.having(tools=[rent_locker]) as talk:
        assert words(await talk.say("放书包")) == "12 元，租吗？"
        assert "租好了" in words(await talk.say("确认"))
        record = await run_of(talk.parts, run)
        assert (record.status, len(RENTED)) == ("completed", 1)
        assert not record.is_held
    for history in await deployments.histories(run):
        await bare.build_replayer().replay_workflow(history)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tools", "hooks", "named"),
    [
        ([], [watch_lockers], "rent_locker"),
        ([rent_locker], [], "watch_lockers"),
        ([], [], "rent_locker"),
    ],
    ids=["tool", "required hook", "both"],
)
async def test_a_run_whose_tool_or_required_hook_is_removed_is_held_until_that_is_back(
    deployments: Deployments, tools: list[Tool], hooks: list[Hook], named: str
) -> None:
    with fee_deployed():
        async with deployments.having([LOCKER], [rent_locker], [watch_lockers]) as talk:
            run = flow_of(await talk.say("租柜子")).id
            for text in ("3楼", "放书包"):
                await talk.say(text)
        async with deployments.having([LOCKER], tools, hooks) as talk:
            assert "已经转给管理员处理" in words(await talk.say("确认"))
            record = await deployments.held(run)
            assert record.status == "waiting"
            assert any(named in (line.comment or "") for line in record.history)
            assert RENTED == []
        async with deployments.having([LOCKER], [rent_locker], [watch_lockers]) as talk:
            await deployments.retry(run)
            await heard(talk, "租好了")
            assert len(RENTED) == 1


@pytest.mark.slow
async def test_runs_replay_whichever_of_the_code_is_left_that_they_used(
    deployments: Deployments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fee_deployed(), voucher_deployed():
        everything = ([LOCKER, MOVE], [rent_locker], [watch_lockers])
        async with deployments.having(*everything) as talk:
            await talk.say("搬家")
            moving = flow_of(await give(talk, await handed_in(talk, "voucher 7"))).id
            await heard(talk, "放什么？")
            renting = flow_of(await talk.say("放书包")).id
            await talk.say("确认")
            await heard(talk, "搬好了")
    found = await deployments.histories(moving, renting)
    assert moving != renting
    replayer = bare.build_replayer()
    for fee, voucher in ((True, True), (True, False), (False, True), (False, False)):
        with ExitStack() as deployed:
            for is_left, piece in ((fee, fee_deployed), (voucher, voucher_deployed)):
                if is_left:
                    deployed.enter_context(piece())
            for history in found:
                await replayer.replay_workflow(history)
    files = [*HISTORIES, *(bare.write(tmp_path, history) for history in found)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.replays.bare", *map(str, files)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert (process.returncode, len(out.split())) == (0, len(files)), err.decode()[-2000:]


@contextmanager
def without(gone: str) -> Iterator[None]:
    """Have the extension installed, but not this slot type or kind of state of it."""
    with installed(Badges):
        for registered in (SLOT_TYPES, KINDS):
            registered.pop(gone, None)
        yield


@pytest.mark.slow
@pytest.mark.parametrize("gone", ["badge_number", "stamp"])
async def test_a_run_whose_slot_type_or_kind_of_state_is_removed_is_held_until_that_is_back(
    deployments: Deployments, gone: str
) -> None:
    with installed(Badges):
        async with deployments.having([FlowDefinition.model_validate(BADGE)]) as talk:
            run = flow_of(await talk.say("stamp my badge")).id
            refused = await talk.say("B-1000")
            assert BadgeNumber.fits.en in words(refused)
    with without(gone):
        async with deployments.having() as talk:
            assert "An administrator has to look into it" in words(await talk.say("B-17"))
            record = await deployments.held(run)
            assert f"{gone!r}" in (record.history[-2].comment or "")
    with installed(Badges):
        async with deployments.having() as talk:
            await deployments.retry(run)
            if gone == "badge_number":  # the answer couldn't be read when it was given
                fits = BadgeNumber.fits.en
                await heard(talk, f"{fits}\n{fits}\nWhich badge?")
                await talk.say("B-17")
            await heard(talk, "stamped 17")
    assert not {"badge_number", "stamp"} & {*SLOT_TYPES, *KINDS}
    for history in await deployments.histories(run):
        await bare.build_replayer().replay_workflow(history)
