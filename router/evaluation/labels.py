"""What a label may be, and which label a route amounts to.

A label is the name of a flow, skill or tool; the kind of a route that leads to none of them
(`reply`: words were the answer); or `none`: nothing that the file has a label for was started,
and no flow at all.
"""

from collections.abc import Collection
from typing import get_args

from router.domain.messages import Route, RouteKind

NONE = "none"
NAMING: frozenset[RouteKind] = frozenset({"flow", "skill", "tool", "confirm"})
"""Kinds of routes that lead to what they name; a `clarify` only asks whether it is meant."""

TARGETLESS: frozenset[str] = frozenset({*get_args(RouteKind), NONE}) - {"flow", "skill", "tool"}
"""The labels that name no capability."""


def label_of(route: Route, labels: Collection[str]) -> str:
    """The label that `route` amounts to, where these are all the labels of the file.

    >>> ask = Route(kind="clarify", by="retrieval", target="get_leave_balance")
    >>> label_of(ask, {"leave_request", "none"})
    'none'
    >>> label_of(ask, {"leave_request", "clarify"})
    'clarify'
    """
    named = route.target if route.kind in NAMING else None
    label = named or route.kind
    if label in labels or NONE not in labels or route.kind == "flow":
        return label
    return NONE
