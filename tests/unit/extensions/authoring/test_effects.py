"""What a reviewer reads first: every write, who approves before it, who may start the flow."""

from pathlib import Path

import pytest

from router.domain.locale import Locale
from router.extensions.authoring.effects import describe_effects
from router.extensions.authoring.flow_vocabulary import approver_names
from router.flow.definition import FlowDefinition
from router.flow.loader import examine_text
from router.flow.validation.unchecked import Vocabulary
from tests.table import each_row

READS = frozenset({"look"})
HEAD = """\
flow: pay
version: 1
title: {zh: 付款, en: Pay}
description: {zh: 付款, en: Pays}
triggers: {roles: [employee]}
slots:
  amount: {type: number, label: {zh: 金额, en: Amount}, ask: {zh: 多少, en: How much?}}
start: ask
states:
  ask: {collect: [amount], next: %s}
"""
ENDS = """\
  yes: {say: {zh: 好, en: Done}, end: completed}
  no: {say: {zh: 不, en: Refused}, end: rejected}
"""
BOSS = """\
  boss:
    approve: {by: manager(requester), title: {zh: 付款, en: Pay}}
    approved: %s
    rejected: no
"""
FINANCE = """\
  finance:
    approve: {by: "role('finance')", otherwise: "'carol'", title: {zh: 付款, en: Pay}}
    approved: pay
    rejected: no
"""
PAY = """\
  pay:
    name: {zh: 看看余额, en: Look at the balance}
    call: settle
    with: {amount: "slots.amount * 100.0"}
    undo: unsettle
    next: yes
"""
LOOK = '  look: {call: look, with: {amount: "slots.amount"}, next: yes}\n'
EVERYONE = "It may be started by: everyone."
CALLS = "“Look at the balance” calls settle, which writes, with amount = slots.amount * 100.0."
UNDOES = "“Look at the balance” calls unsettle when it is taken back."
NAMES = approver_names(["finance"])


def read(text: str) -> FlowDefinition:
    return examine_text(Path("pay.yaml"), text, Vocabulary()).definition


@each_row(
    ("text", "approvers"),
    [
        (HEAD % "pay" + PAY + ENDS, "nobody"),
        (HEAD % "boss" + BOSS % "pay" + PAY + ENDS, "the requester's manager"),
        (
            HEAD % "boss" + BOSS % "finance" + FINANCE + PAY + ENDS,
            "the requester's manager, whoever holds the role finance (if there is none: “'carol'”)",
        ),
        (
            HEAD % '[{if: "slots.amount < 5.0", to: pay}, {to: boss}]' + BOSS % "pay" + PAY + ENDS,
            "the requester's manager; on some ways by nobody",
        ),
    ],
)
def test_each_write_is_told_with_everyone_who_approves_before_it(text: str, approvers: str) -> None:
    assert describe_effects(None, read(text), READS, "en", NAMES) == [
        f"{CALLS} Approved before it by: {approvers}.",
        UNDOES,
        EVERYONE,
    ]


def test_who_agreed_before_something_is_asked_again_has_not_agreed_to_it() -> None:
    again = "  again: {collect: [amount], next: pay}\n"
    flow = read(HEAD % "boss" + BOSS % "again" + again + PAY + ENDS)
    assert describe_effects(None, flow, READS, "en")[0].endswith("Approved before it by: nobody.")


def test_what_is_another_than_in_the_version_in_use_is_marked() -> None:
    before = read(HEAD % "boss" + BOSS % "look" + LOOK + ENDS)
    after = read((HEAD % "pay" + PAY + ENDS).replace("employee", "hr"))
    assert describe_effects(before, after, READS, "en") == [
        f"New: {CALLS} Approved before it by: nobody.",
        f"New: {UNDOES}",
        "New: It may be started by: whoever holds the role hr.",
        "No longer: It calls no tool that writes.",
        f"No longer: {EVERYONE}",
    ]


@pytest.mark.parametrize(
    ("locale", "first"),
    [
        ("zh", "“提交单据”：调用会改动数据的工具 submit_claim，参数 items = "),
        ("en", "“Submit the claim” calls submit_claim, which writes, with items = "),
    ],
)
def test_the_shipped_claim_is_filed_without_and_paid_with_an_approval(
    locale: Locale, first: str
) -> None:
    path = Path("flows/reimbursement.yaml")
    flow = examine_text(path, path.read_text("utf-8")).definition
    said = describe_effects(None, flow, frozenset(), locale, approver_names(["finance"]))
    assert said[0].startswith(first)
    assert said[0].endswith({"zh": "此前的审批人：没有人。", "en": "by: nobody."}[locale])
    paid = next(each for each in said if "settle_claim" in each)
    assert {"zh": "申请人的上级", "en": "the requester's manager"}[locale] in paid
    assert {"zh": "没有人", "en": "nobody"}[locale] not in paid
