"""What a withdrawal notes with the run that it takes back."""

from datetime import timedelta

from router.domain.records import Amendment, HistoryLine
from router.store.runs import amended
from tests.integration.store.test_store import NOW, run


def noting(event: str, minutes: int, withdrawal: str = "w1") -> Amendment:
    line = HistoryLine(at=NOW + timedelta(minutes=minutes), state="", event=event, by="gina")
    return Amendment(tenant="default", run="r1", withdrawn_by=withdrawal, status=None, line=line)


def events_after(*amendments: Amendment) -> list[str]:
    taken_back = run(status="completed")
    for amendment in amendments:
        taken_back = amended(taken_back, amendment)
    return [line.event for line in taken_back.history][-len(amendments) :]


def test_an_end_that_is_told_again_with_a_later_line_is_noted_once() -> None:
    asked, rejected = noting("withdrawal asked", 1), noting("withdrawal rejected", 2)
    again = noting("withdrawal rejected", 3)
    twice = amended(amended(run(status="completed"), rejected), again)
    assert events_after(asked, rejected) == ["withdrawal asked", "withdrawal rejected"]
    assert twice == amended(run(status="completed"), rejected)


def test_a_second_withdrawal_is_noted_however_alike_its_end_is() -> None:
    ends = [noting("withdrawal rejected", 2), noting("withdrawal rejected", 3, "w2")]
    assert events_after(*ends) == ["withdrawal rejected", "withdrawal rejected"]
