"""A payment waits for every approval before it, whichever branch or flow it was asked for in."""

from collections.abc import Callable
from typing import Any

from router.domain.run_approvals import RunApproval, covers
from router.flow.engine.approval import digest_slots
from router.flow.engine.events import Began, Finished
from router.flow.engine.parallel import branch_of
from tests.table import each_row
from tests.unit.flow.definitions import Driver, text
from tests.unit.flow.test_unapproved_calls import ASK, NOT_APPROVED, RECORD, problems
from tests.unit.flow.wider_flows import wider

APPROVE = "%s: {approve: {by: \"role('%s')\", title: {zh: 报销, en: Claim}%s}, approved: %s, %s}"
BOTH = "both: {parallel: [boss, finance], join: record, otherwise: no}"
ANY = "both: {parallel: [%s, %s], wait_for: any, %sjoin: record, otherwise: no}"
LOOK = 'look: {call: look, with: {amount: "slots.amount"}, save: seen, next: %s, on_error: no}'
PAUSE = "pause: {wait: {for: P1D}, next: %s}"
REST = "rest: {wait: {for: P2D}, next: %s}"
CHECK = "check: {flow: budget_check, completed: %s, otherwise: %s}"


def approve(
    name: str, approved: str = "record", rejected: str = "no", more: str = "", expires: str = ""
) -> str:
    other = f"rejected: {rejected}" + (f", {more}" if more else "")
    return APPROVE % (name, name, expires, approved, other)


EXPIRES = ", expire_after: P1D"
INNER = "inner: {parallel: [%s, look], %sjoin: joined, otherwise: %s}"
JOINED = "joined: {say: {zh: 好, en: OK}, next: record}"


@each_row(
    ("states", "is_refused"),
    [
        # Two approvals side by side. One of them ends otherwise and comes to the join.
        ([ASK % "both", BOTH, approve("boss"), approve("finance")], False),
        ([ASK % "both", BOTH, approve("boss"), approve("finance", rejected="record")], True),
        ([ASK % "both", BOTH, approve("boss"), approve("finance", more="returned: record")], True),
        (
            [
                *(ASK % "both", BOTH, approve("boss")),
                approve("finance", more="expired: record", expires=EXPIRES),
            ],
            True,
        ),
        # It comes there by way of something else, or another person approves after all.
        (
            [
                *(ASK % "both", BOTH, approve("boss"), approve("finance", rejected="look")),
                LOOK % "record",
            ],
            True,
        ),
        (
            [
                *(ASK % "both", BOTH, approve("boss"), approve("finance", rejected="director")),
                approve("director"),
            ],
            False,
        ),
        # Something is approved after the join, whatever was said in the branches.
        (
            [
                ASK % "both",
                BOTH.replace("join: record", "join: director"),
                approve("boss", "director"),
                approve("finance", "director", "director"),
                approve("director"),
            ],
            False,
        ),
        # One branch is enough, so that the other approval may be open still, or be rejected.
        (
            [ASK % "both", ANY % ("boss", "finance", ""), approve("boss"), approve("finance")],
            True,
        ),
        (
            [
                *(ASK % "both", ANY % ("boss", "finance", "rest: finish, ")),
                *(approve("boss"), approve("finance")),
            ],
            True,
        ),
        (
            [
                *(ASK % "boss", approve("boss", "both"), ANY % ("finance", "pause", "")),
                *(approve("finance"), PAUSE % "record"),
            ],
            True,
        ),
        (
            [
                *(ASK % "boss", approve("boss", "both"), ANY % ("check", "pause", "")),
                *(CHECK % ("record", "no"), PAUSE % "record"),
            ],
            True,
        ),
        (
            [
                *(ASK % "boss", approve("boss", "both"), ANY % ("rest", "pause", "")),
                *(REST % "record", PAUSE % "record"),
            ],
            False,
        ),
        # A flow that was started ends otherwise, perhaps with a rejection.
        ([ASK % "boss", approve("boss", "check"), CHECK % ("record", "no")], False),
        ([ASK % "boss", approve("boss", "check"), CHECK % ("no", "record")], True),
        # Branches within branches.
        (
            [
                *(ASK % "both", BOTH.replace("finance", "inner"), approve("boss")),
                *(INNER % ("finance", "", "no"), approve("finance", "joined", "joined")),
                *(LOOK % "joined", JOINED),
            ],
            True,
        ),
        (
            [
                *(ASK % "both", BOTH.replace("finance", "inner"), approve("boss")),
                *(INNER % ("finance", "wait_for: any, ", "no"), approve("finance", "joined")),
                *(LOOK % "joined", JOINED),
            ],
            True,
        ),
        (
            [
                *(ASK % "both", BOTH.replace("finance", "inner"), approve("boss")),
                *(INNER % ("finance", "", "record"), approve("finance", "joined")),
                *(LOOK % "joined", JOINED),
            ],
            True,
        ),
        (
            [
                *(ASK % "both", BOTH, approve("boss"), approve("finance", "record", "inner")),
                *(INNER % ("pause", "", "no"), PAUSE % "joined", LOOK % "joined", JOINED),
            ],
            True,
        ),
        (
            [
                *(ASK % "both", BOTH.replace("finance", "inner"), approve("boss")),
                *(INNER % ("finance", "", "no"), approve("finance", "joined")),
                *(LOOK % "joined", JOINED),
            ],
            False,
        ),
        (
            [
                *(ASK % "both", BOTH, approve("boss"), approve("finance", "record", "inner")),
                *(INNER % ("director", "", "no"), approve("director", "joined")),
                *(LOOK % "joined", JOINED),
            ],
            False,
        ),
        # Somebody said no before the branches, and somebody else yes within them.
        (
            [
                *(ASK % "boss", approve("boss", "no", "both"), BOTH.replace("boss", "look")),
                *(approve("finance"), LOOK % "record"),
            ],
            False,
        ),
    ],
)
def test_no_file_pays_after_an_approval_that_ended_otherwise_or_is_open(
    states: list[str], is_refused: bool
) -> None:
    said = problems(*states, RECORD)
    assert [what.startswith(NOT_APPROVED) for what in said] == ([True] if is_refused else []), said


def asking(people: str, approved: str, **exits: str) -> dict[str, Any]:
    return {
        "approve": {"by": people, "title": text("Fine?"), "expire_after": "P1D"},
        "approved": approved,
        **exits,
    }


OPEN = {"expired": "review", "returned": "review"}
SIGN_OFF = {
    "both": {"parallel": ["finance", "it"], "join": "review", "otherwise": "review"},
    "finance": asking("'carol'", "review", rejected="review", **OPEN),
    "it": asking("'ian'", "review", rejected="review", **OPEN),
    "review": {"confirm": text("Fine?"), "confirmed": "good", "declined": "good"},
}


def joined(
    changed: dict[str, Any], *ends: dict[str, Any] | None, driver: Driver | None = None
) -> Driver:
    """Let the branches end like this, one after the other; None if one is still under way."""
    states = {**SIGN_OFF, "both": {**SIGN_OFF["both"], **changed}}
    driver = driver or Driver(wider("pays", states))
    driver.take(Began(by="alice"), answer=False)
    for number, end in enumerate(ends):
        task = next((each for each in driver.run.work.tasks.values() if each.part == number), None)
        if task is not None and end is not None:
            driver.take(Finished(task=task.id, **{"status": "completed", **end}), answer=False)
    return driver


def is_paid(driver: Driver) -> bool:
    """Return whether the tool gate would let a payment pass here."""
    assert (driver.run.state, driver.run.work.batch) == ("review", None)
    return covers(driver.run.approvals.granted, digest_slots(driver.run), "alice")


def by(person: str) -> dict[str, Any]:
    digest = digest_slots(Driver(wider("pays", SIGN_OFF)).run)
    return {"granted": [RunApproval(digest=digest, person=person, state="finance")]}


NO: dict[str, Any] = {"declined": True}
STOPPED: dict[str, Any] = {"status": "cancelled"}


@each_row(
    ("changed", "ends", "is_allowed"),
    [
        ({}, (by("dave"), by("erin")), True),
        ({}, (by("dave"), NO), False),
        ({}, (NO, by("erin")), False),
        ({}, (by("dave"), {}), True),
        ({}, (by("dave"), {"status": "rejected"}), False),
        ({"wait_for": "any"}, (by("dave"), STOPPED), False),
        ({"wait_for": "any", "rest": "finish"}, (by("dave"), {"status": "rejected"}), False),
        ({"wait_for": "any", "rest": "finish"}, (by("dave"), {"status": "expired"}), False),
        ({"wait_for": "any", "rest": "finish"}, (by("dave"), NO), False),
        ({"wait_for": "any", "rest": "finish"}, (by("dave"), by("erin")), True),
    ],
)
def test_the_gate_lets_nothing_pass_after_branches_of_which_one_was_not_approved(
    changed: dict[str, Any], ends: tuple[dict[str, Any]], is_allowed: bool
) -> None:
    assert is_paid(joined(changed, *ends)) is is_allowed


@each_row(
    ("ends", "is_declined"),
    [
        ((by("dave"), {}), False),
        (({}, by("dave")), False),
        (({}, {}), True),
        ((by("dave"), NO), True),
    ],
)
def test_an_approval_in_a_branch_makes_up_for_one_declined_before(
    ends: tuple[dict[str, Any], ...], is_declined: bool
) -> None:
    driver = Driver(wider("pays", SIGN_OFF))
    driver.run.approvals.declined = True
    run = joined({}, *ends, driver=driver).run
    assert (run.approvals.declined, bool(run.approvals.granted)) == (is_declined, not is_declined)


@each_row(
    ("ending", "is_declined", "approvers"),
    [
        (lambda branch: branch.decide("carol"), False, ["carol"]),
        (lambda branch: branch.decide("carol", "reject"), True, []),
        (lambda branch: branch.decide("carol", "return", comment="Why?"), True, []),
        (lambda branch: branch.fire("expire"), True, []),
    ],
)
def test_a_branch_tells_its_run_how_its_approval_ended(
    ending: Callable[[Driver], Driver], is_declined: bool, approvers: list[str]
) -> None:
    branch = ending(Driver(branch_of(wider("pays", SIGN_OFF), "both", "finance")).begin()).run
    people = [each.person for each in branch.approvals.granted]
    assert (branch.status, branch.approvals.declined, people) == (
        "completed",
        is_declined,
        approvers,
    )


AFTER_ALL = {
    "first": asking("'carol'", "second", rejected="bad", returned="bad"),
    "second": asking("'helen'", "bad", rejected="third", returned="third", expired="third"),
    "third": asking("'carol'", "review", rejected="bad", returned="bad"),
    "review": SIGN_OFF["review"],
}


@each_row("verdict", ["reject", "return", "expire"])
def test_who_agreed_before_somebody_said_no_has_not_approved_what_comes_after(
    verdict: str,
) -> None:
    driver = Driver(wider("pays", AFTER_ALL))
    driver.begin().decide("carol")
    if verdict == "expire":
        driver.fire("expire")
    else:
        driver.decide("helen", verdict, comment="Why?")
    if verdict == "return":
        assert not is_paid(driver)
        return
    assert driver.awaited == ["carol"]
    assert is_paid(driver.decide("carol"))


def test_what_another_flow_ended_with_voids_what_was_approved_before_it() -> None:
    for is_declined in (False, True):
        check = {"flow": "budget_check", "completed": "review", "otherwise": "bad"}
        driver = Driver(wider("pays", {"check": check, "review": SIGN_OFF["review"]}))
        driver.run.approvals.granted = by("dave")["granted"]
        driver.take(Began(by="alice"), answer=False)
        (task,) = driver.run.work.tasks
        ended = Finished(task=task, status="completed", declined=is_declined)
        driver.take(ended, answer=False)
        assert is_paid(driver) is not is_declined
