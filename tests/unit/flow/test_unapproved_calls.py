"""Tools that need an approval can't be called on any way without one, nor on anybody else's id."""

from pathlib import Path

from router.domain.principals import NameSelection
from router.flow.loader import examine_text
from router.flow.validation.phrases import said_in
from router.flow.validation.unchecked import Vocabulary
from tests.table import each_row

KNOWN = Vocabulary.of(
    {
        "file_claim": frozenset({"amount"}),
        "withdraw_claim": frozenset({"amount"}),
        "pay_claim": frozenset({"claim"}),
        "record": frozenset({"amount"}),
        "look": frozenset({"amount"}),
    },
    approved=frozenset({"pay_claim", "record"}),
    made_by=frozenset({("pay_claim", "claim", "file_claim", "claim")}),
)
HEAD = """\
flow: expenses
version: 1
title: {zh: "报销", en: "Expenses"}
description: {zh: "报销", en: "Claim expenses"}
triggers: {patterns: ["expenses"]}
slots:
  amount: {type: number, label: {zh: 金额, en: Amount}, ask: {zh: 多少, en: How much?}}
  claim: {type: text, label: {zh: 单号, en: Claim}, ask: {zh: 单号, en: Which claim?}}
start: ask
states:
"""
ENDS = """\
  yes: {say: {zh: 好, en: Done}, end: completed}
  no: {say: {zh: 不, en: Refused}, end: rejected}
"""
ASK = "ask: {collect: [amount, claim], next: %s}"
BOSS = (
    'boss: {approve: {by: "manager(requester)", title: {zh: 报销, en: Claim}}, '
    "approved: %s, rejected: %s, returned: ask}"
)
FINANCE = (
    "finance: {approve: {by: \"role('finance')\", title: {zh: 报销, en: Claim}}, "
    "approved: %s, rejected: no}"
)
FILE = 'file: {call: file_claim, with: {amount: "slots.amount"}, save: claim, next: %s}'
PAY_WHAT = 'pay: {call: pay_claim, with: {claim: "%s"}, next: yes}'
PAY = PAY_WHAT % "results.claim.claim"
RECORD = 'record: {call: record, with: {amount: "slots.amount"}, next: yes, on_error: no}'
CONFIRM = "confirm: {confirm: {zh: 好吗, en: Is it right?}, confirmed: %s, declined: ask}"


def problems(*states: str, known: Vocabulary = KNOWN) -> list[str]:
    text = HEAD + "".join(f"  {state}\n" for state in states) + ENDS
    file = examine_text(Path("expenses.yaml"), text, known)
    return [problem.what for problem in file.problems]


NOT_APPROVED = "record needs an approval, and none is sure on the way "
STRANGERS = "pay_claim acts on what this run made with file_claim, and claim is something else"
FORBIDDEN = "authors of this tenant can't use the tool record"
OLD = "claim may be of a call of file_claim that was made with other values"


@each_row(
    ("states", "said"),
    [
        # Approved, at once or by two people, with a loop back to the questions.
        ([ASK % "boss", BOSS % ("record", "no"), RECORD], []),
        ([ASK % "boss", BOSS % ("finance", "no"), FINANCE % "record", RECORD], []),
        ([ASK % "file", FILE % "boss", BOSS % ("pay", "no"), PAY], []),
        ([ASK % "boss", BOSS % ("file", "no"), FILE % "pay", PAY], []),
        # A check only asks, and a confirmation of the requester's comes in between.
        (
            [
                ASK % "try",
                'try: {check: record, with: {amount: "slots.amount"}, next: boss, on_error: ask}',
                BOSS % ("confirm", "no"),
                CONFIRM % "record",
                RECORD,
            ],
            [],
        ),
        # Nobody is asked at all, or only the requester.
        ([ASK % "record", RECORD], [NOT_APPROVED + "ask ▸ record"]),
        ([ASK % "confirm", CONFIRM % "record", RECORD], [NOT_APPROVED + "ask ▸ confirm ▸ record"]),
        # The approver says no, and it is done nevertheless.
        ([ASK % "boss", BOSS % ("yes", "record"), RECORD], [NOT_APPROVED + "ask ▸ boss ▸ record"]),
        (
            [
                ASK % "boss",
                BOSS % ("finance", "no"),
                FINANCE.replace(": no", ": record") % "yes",
                RECORD,
            ],
            [NOT_APPROVED + "ask ▸ boss ▸ finance ▸ record"],
        ),
        # One of two ways leads past the approver.
        (
            [
                ASK % '[{if: "slots.amount < 5.0", to: record}, {to: boss}]',
                BOSS % ("record", "no"),
                RECORD,
            ],
            [NOT_APPROVED + "ask ▸ record"],
        ),
        # Something is asked after the approval, or emptied.
        (
            [
                ASK % "boss",
                BOSS % ("again", "no"),
                "again: {collect: [amount], next: record}",
                RECORD,
            ],
            [NOT_APPROVED + "ask ▸ boss ▸ again ▸ record"],
        ),
        (
            [
                ASK % "boss",
                BOSS % ("empty", "no"),
                "empty: {say: {zh: 好, en: OK}, forget: [claim], next: record}",
                RECORD,
            ],
            [NOT_APPROVED + "ask ▸ boss ▸ empty ▸ record"],
        ),
        # Side by side all have to be done, so that one approval is enough.
        (
            [
                ASK % "both",
                "both: {parallel: [boss, look], join: record, otherwise: no}",
                BOSS.replace(", returned: ask", "") % ("record", "no"),
                'look: {call: look, with: {amount: "slots.amount"}, save: seen, next: record}',
                RECORD,
            ],
            [],
        ),
        (
            [
                ASK % "both",
                "both: {parallel: [boss, look], wait_for: any, join: record, otherwise: no}",
                BOSS.replace(", returned: ask", "") % ("record", "no"),
                'look: {call: look, with: {amount: "slots.amount"}, save: seen, next: record}',
                RECORD,
            ],
            [NOT_APPROVED + "ask ▸ both ▸ record"],
        ),
        (
            [
                ASK % "both",
                "both: {parallel: [boss, finance], join: yes, otherwise: record}",
                BOSS.replace(", returned: ask", "") % ("yes", "no"),
                FINANCE % "yes",
                RECORD,
            ],
            [NOT_APPROVED + "ask ▸ both ▸ record"],
        ),
        # One branch says no to what was approved before, and comes to the join nevertheless.
        (
            [
                ASK % "boss",
                BOSS % ("both", "no"),
                "both: {parallel: [finance, look], join: record, otherwise: no}",
                FINANCE.replace(": no", ": record") % "record",
                'look: {call: look, with: {amount: "slots.amount"}, save: seen, next: record}',
                RECORD,
            ],
            [NOT_APPROVED + "ask ▸ boss ▸ both ▸ record"],
        ),
        (
            [
                ASK % "boss",
                BOSS % ("both", "no"),
                "both: {parallel: [finance, look], join: record, otherwise: no}",
                FINANCE % "record",
                'look: {call: look, with: {amount: "slots.amount"}, save: seen, next: record}',
                RECORD,
            ],
            [],
        ),
        # As the undo of something else it would be called whenever the run is cancelled.
        (
            [
                ASK % "file",
                FILE.replace("save: claim", "undo: record, on_error: no") % "yes",
            ],
            ["record needs an approval, and an undo is called without one"],
        ),
        # The id is said by somebody, made up, or of another call.
        (
            [
                ASK % "boss",
                BOSS % ("pay", "no"),
                PAY_WHAT % "slots.claim",
            ],
            [STRANGERS],
        ),
        (
            [
                ASK % "file",
                FILE % "boss",
                BOSS % ("pay", "no"),
                PAY_WHAT % "true ? 'claim-1' : results.claim.claim",
            ],
            [STRANGERS],
        ),
        (
            [
                ASK % "file",
                FILE % "look",
                'look: {call: look, with: {amount: "slots.amount"}, save: claim, next: boss}',
                BOSS % ("pay", "no"),
                PAY,
            ],
            [STRANGERS],
        ),
        (
            [
                ASK % "file",
                FILE % "told",
                (
                    "told: {wait: {event: claim, roles: [hr], fields: {claim: {type: text}}, "
                    "for: P1D}, next: boss, late: no}"
                ),
                BOSS % ("pay", "no"),
                PAY,
            ],
            ["another state saves its result as claim", STRANGERS],
        ),
        # What was filed is another amount than the one that is approved.
        (
            [
                ASK % "file",
                FILE % "again",
                "again: {collect: [amount], next: boss}",
                BOSS % ("pay", "no"),
                PAY,
            ],
            [OLD],
        ),
    ],
)
def test_what_needs_an_approval_is_reached_by_approved_ways_alone(
    states: list[str], said: list[str]
) -> None:
    assert problems(*states) == said


def test_authors_call_no_tool_that_their_tenant_keeps_from_them() -> None:
    known = KNOWN._replace(usable=NameSelection(besides=("record", "look")))
    flow = [ASK % "boss", BOSS % ("record", "no"), RECORD]
    assert problems(*flow, known=known) == [FORBIDDEN]
    check = FILE.replace("call: file_claim", "check: record").replace(", save: claim", "")
    assert FORBIDDEN in problems(ASK % "file", check % "yes", known=known)


@each_row("english", [NOT_APPROVED + "ask ▸ record", STRANGERS, OLD, FORBIDDEN])
def test_an_author_who_reads_chinese_is_told_so_in_chinese(english: str) -> None:
    assert said_in("zh", english) != english


def test_branches_within_branches_cost_no_more_than_there_are_states() -> None:
    def level(number: int) -> list[str]:
        n, inner = number, number + 1
        return [
            f"p{n}: {{parallel: [p{inner}, q{n}], join: j{n}, otherwise: no}}",
            f"q{n}: {{say: {{zh: 好, en: OK}}, next: j{n}}}",
            f"j{n}: {{say: {{zh: 好, en: OK}}, next: {f'j{n - 1}' if n else 'record'}}}",
        ]

    deep = [state for number in range(120) for state in level(number)]
    last = "p120: {say: {zh: 好, en: OK}, next: j119}"
    assert NOT_APPROVED + "ask ▸ p0 ▸ j0 ▸ record" in problems(ASK % "p0", *deep, last, RECORD)
