"""How `my_flow` goes, on a real desk whose clock skips; stories are in flows/tests."""

from router.testing import DeskFactory


def test_a_request_that_nobody_decides_on_expires(make_desk: DeskFactory) -> None:
    desk = make_desk(user="alice", locale="en")
    desk.say("I need the sample request")
    desk.say("guests from abroad")
    desk.say("next Friday")
    desk.say({"confirm": True})
    assert desk.flow.approvers == ("bob",)
    assert desk.skip(days=15) == ["It wasn't approved this time."]
    assert desk.flow.status == "rejected"
