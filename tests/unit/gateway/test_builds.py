"""Who polls a task queue, by whichever clock."""

from datetime import UTC, datetime, timedelta

from temporalio.api.taskqueue.v1 import PollerInfo
from temporalio.api.workflowservice.v1 import DescribeTaskQueueResponse

from router.gateway.builds import asked_lately
from tests.table import each_row

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def described(**seconds_ago: float) -> DescribeTaskQueueResponse:
    """What Temporal says of those who asked so many seconds ago."""
    found = DescribeTaskQueueResponse()
    for name, seconds in seconds_ago.items():
        poller = PollerInfo(identity=name)
        poller.last_access_time.FromDatetime(NOW - timedelta(seconds=seconds))
        found.pollers.append(poller)
    return found


@each_row(
    ("ahead", "lately"),
    [
        (timedelta(), {"a", "b"}),
        (timedelta(days=1), {"a", "b"}),
        (timedelta(days=-1), {"a", "b", "gone"}),
    ],
    ids=("right", "ahead", "behind"),  # the same in each process: a set's words have no order
)
def test_whoever_asks_is_known_though_a_clock_is_a_day_off(
    ahead: timedelta, lately: set[str]
) -> None:
    found = asked_lately(described(a=0.2, b=60, gone=200), NOW + ahead)
    assert {poller.identity for poller in found} == lately


def test_who_asked_minutes_ago_isnt_there_any_more() -> None:
    assert list(asked_lately(described(gone=200), NOW)) == []
    assert list(asked_lately(described(), NOW)) == []
