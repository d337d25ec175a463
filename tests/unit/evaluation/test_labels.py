import pytest

from router.domain.messages import Route
from router.evaluation.dataset import label_of


@pytest.mark.parametrize(
    ("kind", "target", "labels", "expected"),
    [
        ("flow", "leave_request", {"leave_request", "none"}, "leave_request"),
        ("tool", "get_balance", {"get_balance"}, "get_balance"),
        ("skill", "advisor", {"leave_request"}, "advisor"),
        ("confirm", "book_room", {"book_room"}, "book_room"),
        ("confirm", None, {"book_room"}, "confirm"),
        ("reply", None, {"reply"}, "reply"),
        ("handoff", None, {"reply"}, "handoff"),
        # Asking whether it is meant isn't doing it.
        ("clarify", "get_balance", {"get_balance"}, "clarify"),
        # `none`: no flow, and nothing that the file has a label for.
        ("clarify", None, {"leave_request", "none"}, "none"),
        ("reply", None, {"leave_request", "none"}, "none"),
        ("tool", "get_balance", {"leave_request", "none"}, "none"),
        ("tool", "get_balance", {"get_balance", "none"}, "get_balance"),
        ("reply", None, {"reply", "none"}, "reply"),
        ("flow", "book_room", {"leave_request", "none"}, "book_room"),
    ],
)
def test_a_route_amounts_to_what_it_leads_to(
    kind: str, target: str | None, labels: set[str], expected: str
) -> None:
    route = Route.model_validate({"kind": kind, "target": target, "by": "llm"})
    assert label_of(route, labels) == expected
