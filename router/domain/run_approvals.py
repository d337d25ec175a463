"""The approvals that a run has got, as the tool gate compares them with a call."""

from collections.abc import Iterable

from router.domain.value import Value


class RunApproval(Value):
    """One person's approval of what a run holds."""

    digest: str
    """The digest of the run's slots when the person approved them."""
    person: str
    state: str
    """The `approve` state in which the person was asked."""


def covers(approvals: Iterable[RunApproval], digest: str, requester: str) -> bool:
    """Return whether somebody other than the requester has approved slots with this digest.

    >>> given = [RunApproval(digest="d1", person="bob", state="manager")]
    >>> covers(given, "d1", "alice"), covers(given, "d2", "alice"), covers(given, "d1", "bob")
    (True, False, False)
    """
    return any(each.digest == digest != "" and each.person != requester for each in approvals)
