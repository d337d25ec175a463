"""Two authors who want a claim paid that nobody has approved, over HTTP as they would do it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from httpx import AsyncClient
from temporalio.client import Client, WorkflowHandle

from company.people.people import human_resources
from company.people.records import Claim, Owner
from router.contracts import flow as contract
from router.domain.configuration_documents import Activation, DocumentVersion, digest_of
from router.flow.engine.events import Began
from router.runtime.composition import Parts
from tests.workflow.deployments import run_for_people, serve_with_worker
from tests.workflow.desk import defined
from tests.workflow.test_configuration import Person, until

QUEUE = "unapproved"
PEOPLE = "users:\n" + "".join(
    f"  - {{id: {id_}, name: {id_}, tenant: acme, locale: en, {more}}}\n"
    for id_, more in (
        ("alice", "manager: bob"),
        ("bob", "roles: [manager]"),
        ("erin", "roles: [finance]"),
        ("anna", "roles: [author]"),
        ("ann", "roles: [author]"),
        ("olga", "roles: [operator]"),
    )
)
HEAD = """\
flow: quick_pay
version: 1
title: {zh: "快付", en: "Quick pay"}
description: {zh: "付款", en: "Pays a claim"}
triggers: {roles: [employee], patterns: ['^quick pay']}
slots:
  claim: {type: text, label: {zh: 单号, en: Claim}, ask: {zh: 单号？, en: Which claim?}}
start: ask
states:
"""
ENDS = """\
  done: {say: {zh: 好, en: Paid}, end: completed}
  failed: {say: {zh: 没成, en: Not paid}, end: failed}
"""
UNASKED = """\
  ask: {collect: [claim], next: pay}
  pay: {call: settle_claim, with: {claim: slots.claim}, next: done, on_error: failed}
"""
FRIENDLY = """\
  ask: {collect: [claim], next: agree}
  agree:
    approve: {by: "'erin'", title: {zh: "浇花", en: "Water the plants"}}
    approved: pay
    rejected: failed
  pay: {call: settle_claim, with: {claim: slots.claim}, next: done, on_error: failed}
"""
"""Somebody is asked, about another claim than the run's own."""


FAIR = (
    """\
flow: team_meal
version: 1
title: {zh: "团队聚餐", en: "Team meal"}
description: {zh: "报销聚餐", en: "Claims a meal of the team"}
triggers: {roles: [employee], patterns: ['^team meal']}
slots:
  amount: {type: money, label: {zh: 金额, en: Amount}, ask: {zh: 多少钱？, en: How much?}}
start: ask
states:
  ask: {collect: [amount], next: file}
  file:
    call: submit_claim
    with:
      items: "[{'category': 'meal', 'amount': slots.amount, 'date': day(now), 'invoice': '555'}]"
      reason: "'team'"
    save: claim
    undo: withdraw_claim
    next: agree
    on_error: failed
  agree:
    approve: {by: manager(requester), title: {zh: 聚餐, en: Team meal}}
    approved: pay
    rejected: failed
  pay: {call: settle_claim, with: {claim: results.claim.claim}, next: done, on_error: failed}
"""
    + ENDS
)


ASKS = FAIR[: FAIR.index("  ask:")]
FILE = FAIR[FAIR.index("  file:") : FAIR.index("    next: agree")]
AGREE = FAIR[FAIR.index("  agree:") : FAIR.index("    approved: pay")]
PAY = FAIR[FAIR.index("  pay:") : FAIR.index(", next: done")]
BRANCHES = "  %s: {parallel: [%s], join: %s, otherwise: failed}\n"
GREET = "  %s: {say: {zh: 好, en: OK}, next: %s}\n"
FINANCE = "  finance: {approve: {by: \"'erin'\", title: {zh: 聚餐, en: Meal}}, approved: %s, %s}\n"


def states(*parts: str) -> str:
    """Return a flow like the one above with these states, for which `agree` goes to `pay`."""
    return ASKS + "".join(parts) + ENDS


AGREE_TO_PAY = AGREE + "    approved: pay\n    rejected: failed\n"
PAY_AT_LAST = PAY + ", next: done, on_error: failed}\n"
IN_A_BRANCH = states(
    "  ask: {collect: [amount], next: both}\n",
    BRANCHES % ("both", "file, agree", "pay"),
    FILE + "    next: pay\n    on_error: failed\n",
    AGREE_TO_PAY + PAY_AT_LAST,
)
IN_A_BRANCH_OF_A_BRANCH = states(
    "  ask: {collect: [amount], next: both}\n",
    BRANCHES % ("both", "inner, agree", "pay"),
    BRANCHES % ("inner", "file, greet", "joined"),
    FILE + "    next: joined\n    on_error: failed\n",
    GREET % ("greet", "joined") + GREET % ("joined", "pay"),
    AGREE_TO_PAY + PAY_AT_LAST,
)
PAID_IN_A_BRANCH_OF_A_BRANCH = states(
    "  ask: {collect: [amount], next: file}\n",
    FILE + "    next: agree\n    on_error: failed\n",
    AGREE + "    approved: both\n    rejected: failed\n",
    BRANCHES % ("both", "inner, hello", "done") + BRANCHES % ("inner", "pay, greet", "joined"),
    GREET % ("hello", "done") + GREET % ("greet", "joined") + GREET % ("joined", "done"),
    PAY + ", next: joined, on_error: failed}\n",
)
REFUSED_BESIDE = states(
    "  ask: {collect: [amount], next: file}\n",
    FILE + "    next: both\n    on_error: failed\n",
    BRANCHES % ("both", "agree, finance", "pay"),
    FINANCE % ("pay", "rejected: pay"),
    AGREE_TO_PAY + PAY_AT_LAST,
)


MEALS = """\
flow: team_meal
version: 1
title: {zh: "团队聚餐", en: "Team meal"}
description: {zh: "报销聚餐", en: "Claims meals of the team"}
triggers: {roles: [employee], patterns: ['^team meal']}
slots:
  items:
    type: list
    label: {zh: 费用, en: Items}
    more: {zh: 还有吗？, en: More?}
    max: 3
    of:
      type: object
      fields:
        amount: {type: money, label: {zh: 金额, en: Amount}, ask: {zh: 多少钱？, en: How much?}}
        invoice:
          type: text
          label: {zh: 发票, en: Invoice}
          ask: {zh: 发票号？, en: Which invoice?}
          check: [{that: "!claimed(item.invoice)", say: {zh: 报过了, en: Claimed before}}]
start: ask
states:
"""
FILE_MEALS = """\
  file:
    call: submit_claim
    with:
      items: >-
        slots.items.map(i, {'category': 'meal', 'date': day(now), 'amount': i.amount,
        'invoice': i.invoice})
      reason: "'team'"
    save: claim
    undo: withdraw_claim
"""
MEALS_IN_A_BRANCH = "".join(
    (
        *(MEALS, "  ask: {collect: [items], next: both}\n"),
        *(BRANCHES % ("both", "file, agree", "pay"), FILE_MEALS),
        *("    next: pay\n    on_error: failed\n", AGREE_TO_PAY, PAY_AT_LAST, ENDS),
    )
)
MEALS_IN_A_BRANCH_UNDER_WAY = "".join(
    (
        *(MEALS, "  ask: {collect: [items], next: both}\n"),
        *(BRANCHES % ("both", "file, greet", "pay"), FILE_MEALS),
        *("    next: agree\n    on_error: failed\n", GREET % ("greet", "pay")),
        *(AGREE_TO_PAY, PAY_AT_LAST, ENDS),
    )
)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Parts]:
    async with run_for_people(PEOPLE, tmp_path) as parts:
        yield parts


@pytest.fixture
async def desk(house: Parts, real_client: Client) -> AsyncIterator[AsyncClient]:
    async with serve_with_worker(house, real_client, QUEUE) as client:
        yield client


async def begin(person: Person, flow: str, **slots: Any) -> tuple[str, Any]:
    """The conversation in which the person starts the flow, and the first turn."""
    conversation = (await person("POST", "/v1/conversations", json={}))["id"]
    start = {"type": "start", "flow": flow, "slots": slots}
    path = f"/v1/conversations/{conversation}/messages"
    return path, await person("POST", path, json={"action": start})


async def wait_for_approval(alice: Person) -> None:
    """Have alice claim 9,800, which then waits for her manager."""
    spent = {
        "category": "hotel",
        "amount": {"amount": "9800.00", "currency": "CNY"},
        "date": datetime.now(UTC).date().isoformat(),
        "invoice": "30000001",
    }
    path, _ = await begin(alice, "reimbursement", items=[spent], reason="a conference")
    turn = await alice("POST", path, json={"action": {"type": "confirm", "value": True}})
    assert turn["flow"]["status"] == "waiting_approval", turn


async def claims_of(house: Parts) -> list[Claim]:
    people = await house.dependencies.resolve(human_resources)
    found: list[Claim] = await people.claims.of(Owner(tenant="acme", person="alice"))
    return found


async def save_and_submit(author: Person, flow: str, text: str) -> Any:
    """What the author hears who saves this draft and has it reviewed."""
    draft = {"text": text, "stories": "[]", "revision": 0, "over": None}
    await author("PUT", f"/v1/flow-drafts/{flow}", json=draft)
    answer = await author.desk.post("/v1/flow-reviews", json={"flow": flow}, headers=author.headers)
    return answer.status_code, answer.text


@pytest.mark.parametrize("states", [UNASKED, pytest.param(FRIENDLY, marks=pytest.mark.slow)])
@pytest.mark.slow
async def test_authors_cannot_publish_what_pays_a_claim_that_nobody_has_approved(
    house: Parts, desk: AsyncClient, states: str
) -> None:
    anna, olga = (Person(desk, f"acme/{who}") for who in ("anna", "olga"))
    text = HEAD + states + ENDS

    looked = await anna(
        "POST", "/v1/flow-drafts/examination", json={"flow": "quick_pay", "text": text}
    )
    status, told = await save_and_submit(anna, "quick_pay", text)
    pushed = await desk.put(
        "/v1/configuration/flows/quick_pay", json={"text": text}, headers=olga.headers
    )

    assert "settle_claim" in str(looked["problems"])
    assert (status, pushed.status_code) == (422, 422)
    assert "settle_claim" in told
    assert "settle_claim" in pushed.text


@pytest.mark.slow
async def test_a_text_of_before_is_used_no_more(house: Parts, desk: AsyncClient) -> None:
    """As it was published before such flows were refused."""
    alice, text = Person(desk, "acme/alice"), HEAD + UNASKED + ENDS
    named: Any = {"tenant": "acme", "kind": "flows", "name": "quick_pay", "version": 1}
    now = datetime.now(UTC)
    made = DocumentVersion(
        **named,
        text=text,
        digest=digest_of(text),
        author="anna",
        written_at=now,
        flow_version=1,
    )
    held = Activation(**named, activated_by="ann", activated_at=now)
    await house.store.configuration.write(made, await house.store.configuration.mark("acme"), held)
    await house.configuration.refresh()

    assert (await alice.begin("quick pay")).get("flow") is None


@pytest.mark.parametrize(
    ("states", "why"),
    [
        (UNASKED, "needs an approval of what the run holds"),
        pytest.param(FRIENDLY, "in this request", marks=pytest.mark.slow),
    ],
)
async def test_the_gate_refuses_a_run_of_before_without_an_approval_or_with_a_stranger_s_claim(
    house: Parts, desk: AsyncClient, real_client: Client, states: str, why: str
) -> None:
    """The run goes by a definition that it began with, whatever is refused since."""
    alice, erin = Person(desk, "acme/alice"), Person(desk, "acme/erin")
    await wait_for_approval(alice)
    (claim,) = await claims_of(house)
    requester = await house.directory.find("acme", "alice")
    assert requester is not None
    run = uuid4().hex
    handle = await real_client.start_workflow(
        contract.WORKFLOW,
        contract.FlowStart(
            definition=defined(HEAD + states + ENDS),
            requester=requester,
            conversation=None,
            locale="en",
            opening=Began(by="alice", slots={"claim": claim.id}),
        ),
        id=contract.workflow_id("quick_pay", "acme", run),
        task_queue=QUEUE,
        result_type=contract.DecisionTaken,
    )
    if states == FRIENDLY:
        await approve_once(erin)

    assert (await handle.result()).status == "failed"
    assert why in str((await alice.run(run))["history"])
    assert [(each.id, each.status) for each in await claims_of(house)] == [(claim.id, "submitted")]


async def approve_once(person: Person, decision: str = "approve") -> None:
    """Decide on the one thing that waits for the person, as soon as it does."""

    async def waiting() -> Any:
        return (await person("GET", "/v1/approvals"))["items"]

    (one,) = await until(waiting)
    body = {"decision": decision, "digest": one["digest"]}
    await person("POST", f"/v1/approvals/{one['id']}/decision", json=body)


@pytest.mark.slow
async def test_one_approval_pays_nothing_that_another_branch_has_refused(
    house: Parts, desk: AsyncClient, real_client: Client
) -> None:
    olga, bob, erin = (Person(desk, f"acme/{who}") for who in ("olga", "bob", "erin"))
    path, body = "/v1/configuration/flows/team_meal", {"text": REFUSED_BESIDE}
    pushed = await desk.put(path, json=body, headers=olga.headers)
    assert (pushed.status_code, "settle_claim" in pushed.text) == (422, True)

    handle = await begin_by_definition(house, real_client, REFUSED_BESIDE, "team_meal")
    await approve_once(erin, "reject")
    await approve_once(bob)

    assert (await handle.result()).status == "failed"
    assert [each.status for each in await claims_of(house)] == ["withdrawn"]


async def begin_by_definition(
    house: Parts, client: Client, text: str, flow: str
) -> WorkflowHandle[Any, contract.DecisionTaken]:
    """Begin a run by a definition of before, whatever is refused since."""
    requester = await house.directory.find("acme", "alice")
    assert requester is not None
    money = {"amount": "88.00", "currency": "CNY"}
    return await client.start_workflow(
        contract.WORKFLOW,
        contract.FlowStart(
            definition=defined(text),
            requester=requester,
            conversation=None,
            locale="en",
            opening=Began(by="alice", slots={"amount": money}),
        ),
        id=contract.workflow_id(flow, "acme", uuid4().hex),
        task_queue=QUEUE,
        result_type=contract.DecisionTaken,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "flow", [FAIR, IN_A_BRANCH, IN_A_BRANCH_OF_A_BRANCH, PAID_IN_A_BRANCH_OF_A_BRANCH]
)
async def test_what_its_approver_has_seen_is_paid(
    house: Parts, desk: AsyncClient, flow: str
) -> None:
    alice, bob, olga = (Person(desk, f"acme/{who}") for who in ("alice", "bob", "olga"))
    await olga("PUT", "/v1/configuration/flows/team_meal", json={"text": flow})
    _, turn = await begin(alice, "team_meal", amount={"amount": "88.00", "currency": "CNY"})
    assert turn["flow"]["status"] in ("waiting", "waiting_approval"), turn

    await approve_once(bob)

    async def ended() -> Any:
        run = await alice.run(turn["flow"]["id"])
        return run if run["status"] in ("completed", "failed") else None

    run = await until(ended)
    assert run["status"] == "completed", run["history"]
    assert [each.status for each in await claims_of(house)] == ["settled"]


@pytest.mark.slow
@pytest.mark.parametrize("flow", [MEALS_IN_A_BRANCH, MEALS_IN_A_BRANCH_UNDER_WAY])
async def test_a_claim_of_a_branch_is_no_hindrance_to_its_own_change(
    house: Parts, desk: AsyncClient, flow: str
) -> None:
    alice, bob, olga = (Person(desk, f"acme/{who}") for who in ("alice", "bob", "olga"))
    await olga("PUT", "/v1/configuration/flows/team_meal", json={"text": flow})
    item = {"amount": {"amount": "88.00", "currency": "CNY"}, "invoice": "777"}
    _, turn = await begin(alice, "team_meal", items=[item])
    run = turn["flow"]["id"]

    async def is_filed() -> bool:
        return [each.status for each in await claims_of(house)] == ["submitted"]

    async def is_asked() -> Any:
        return (await bob("GET", "/v1/approvals"))["items"]

    await until(is_filed)
    await until(is_asked)
    slots = {"items.0.amount": "98.00"}
    await alice("POST", f"/v1/flow-runs/{run}/amendments", json={"slots": slots})

    async def paid() -> Any:
        waiting = (await bob("GET", "/v1/approvals"))["items"]
        for one in waiting:
            body = {"decision": "approve", "digest": one["digest"]}
            path = f"/v1/approvals/{one['id']}/decision"
            await desk.post(path, json=body, headers=bob.headers)
        return (await alice.run(run))["status"] in ("completed", "failed")

    await until(paid)
    claims = {str(each.total.amount): each.status for each in await claims_of(house)}
    assert claims == {"88.00": "withdrawn", "98.00": "settled"}
