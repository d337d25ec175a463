"""Which answer leads to which other call: the table behind the links of the OpenAPI document."""

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple


class Call(NamedTuple):
    """A method, in lower case, and the template of a path."""

    method: str
    path: str


@dataclass(frozen=True)
class Link:
    """From an answer of one call to another one, by OpenAPI's runtime expressions."""

    name: str
    of: Call
    status: int
    to: Call
    parameters: MappingProxyType[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body: Any = None


CONVERSATION = "/v1/conversations/{conversation}"
MESSAGES = f"{CONVERSATION}/messages"
RUN = "/v1/flow-runs/{run}"
FIRST = "$response.body#/items/0/id"


def _from(of: Call, status: int, parameter: str, value: str, *to: Call) -> list[Link]:
    """Links from one field of an answer to each call whose parameter it is."""
    given = MappingProxyType({parameter: value})
    return [Link(_named(call), of, status, call, given) for call in to]


def _named(call: Call) -> str:
    """`("post", "/v1/flow-runs/{run}/withdraw")` as `post_flow_runs_run_withdraw`."""
    words = call.path.removeprefix("/v1/").replace("-", "_").replace("{", "").replace("}", "")
    return f"{call.method}_{words.replace('/', '_')}"


IN_A_CONVERSATION = (
    Call("get", CONVERSATION),
    Call("post", MESSAGES),
    Call("get", MESSAGES),
    Call("get", f"{CONVERSATION}/events"),
    Call("post", f"{CONVERSATION}/cancel"),
)
OF_A_RUN = (
    Call("get", RUN),
    Call("get", f"{RUN}/graph"),
    *(Call("post", f"{RUN}/{act}") for act in ("nudge", "withdraw", "retry", "terminate")),
    Call("post", f"{RUN}/reassign"),
)
LISTS = ("/v1/conversations", "/v1/flow-runs", "/v1/approvals", MESSAGES)


def _next_page(path: str) -> Link:
    parameters = {"after": "$response.body#/next"}
    if "{conversation}" in path:
        parameters["conversation"] = "$request.path.conversation"
    call = Call("get", path)
    return Link("next", call, 200, call, MappingProxyType(parameters))


def _turn_of(status: int) -> Link:
    parameters = {
        "conversation": "$request.path.conversation",
        "message_id": "$response.body#/message_id",
    }
    asked = Call("get", f"{MESSAGES}/{{message_id}}")
    return Link(_named(asked), Call("post", MESSAGES), status, asked, MappingProxyType(parameters))


LINKS: tuple[Link, ...] = (
    *_from(
        *(Call("post", "/v1/conversations"), 201, "conversation", "$response.body#/id"),
        *IN_A_CONVERSATION,
    ),
    *_from(Call("get", "/v1/conversations"), 200, "conversation", FIRST, *IN_A_CONVERSATION),
    _turn_of(200),
    _turn_of(202),
    *_from(Call("post", MESSAGES), 200, "run", "$response.body#/flow/id", *OF_A_RUN),
    *_from(Call("get", "/v1/flow-runs"), 200, "run", FIRST, *OF_A_RUN),
    *_from(
        *(Call("get", "/v1/approvals"), 200, "approval", FIRST),
        Call("post", "/v1/approvals/{approval}/decision"),
    ),
    *_from(
        *(Call("post", "/v1/approvals/{approval}/decision"), 200, "run"),
        *("$response.body#/flow_run/id", Call("get", RUN)),
    ),
    *_from(
        *(Call("post", "/v1/files"), 201, "file", "$response.body#/id"),
        Call("get", "/v1/files/{file}"),
    ),
    *_from(
        *(Call("get", "/v1/models"), 200, "model", "$response.body#/data/0/id"),
        Call("get", "/v1/models/{model}"),
    ),
    *(_next_page(path) for path in LISTS),
)
