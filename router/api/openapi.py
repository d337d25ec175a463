"""The OpenAPI document: what the routes can't say of themselves, and which answer leads where."""

import sys
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import Any

from pydantic import BaseModel

from router.api import errors, params
from router.extension import OperationLink

OperationKey = tuple[str, str]
"""A method, in lower case, and the template of a path."""


CONVERSATION = "/v1/conversations/{conversation}"
MESSAGES = f"{CONVERSATION}/messages"
RUN = "/v1/flow-runs/{run}"
FIRST = "$response.body#/items/0/id"
IN_PATH = "$request.path.conversation"


def _from(
    of: OperationKey, status: int, parameter: str, value: str, *to: OperationKey
) -> list[OperationLink]:
    """Links from one field of an answer to each call whose parameter it is."""
    return [OperationLink(_named(call), of, status, call, {parameter: value}) for call in to]


def _named(call: OperationKey) -> str:
    """`("post", "/v1/flow-runs/{run}/withdraw")` as `post_flow_runs_run_withdraw`."""
    words = call[1].removeprefix("/v1/").replace("-", "_").replace("{", "").replace("}", "")
    return f"{call[0]}_{words.replace('/', '_')}"


IN_A_CONVERSATION = (
    ("get", CONVERSATION),
    ("post", MESSAGES),
    ("get", MESSAGES),
    ("get", f"{CONVERSATION}/events"),
    ("post", f"{CONVERSATION}/cancel"),
)
OPERATED = ("nudge", "withdraw", "retry", "terminate", "reassign")
OF_A_RUN = (("get", RUN), ("get", f"{RUN}/graph"), *(("post", f"{RUN}/{act}") for act in OPERATED))
LISTS = ("/v1/conversations", "/v1/flow-runs", "/v1/approvals", MESSAGES)


def _next_page(path: str) -> OperationLink:
    parameters = {"after": "$response.body#/next"}
    if "{conversation}" in path:
        parameters["conversation"] = IN_PATH
    return OperationLink("next", ("get", path), 200, ("get", path), parameters)


def _turn_of(status: int) -> OperationLink:
    parameters = {"conversation": IN_PATH, "message_id": "$response.body#/message_id"}
    asked = ("get", f"{MESSAGES}/{{message_id}}")
    return OperationLink(_named(asked), ("post", MESSAGES), status, asked, parameters)


BEGUN, DECISION = "/v1/conversations", ("post", "/v1/approvals/{approval}/decision")
LINKS: tuple[OperationLink, ...] = (
    *_from(("post", BEGUN), 201, "conversation", "$response.body#/id", *IN_A_CONVERSATION),
    *_from(("get", BEGUN), 200, "conversation", FIRST, *IN_A_CONVERSATION),
    _turn_of(200),
    _turn_of(202),
    *_from(("post", MESSAGES), 200, "run", "$response.body#/flow/id", *OF_A_RUN),
    *_from(("get", "/v1/flow-runs"), 200, "run", FIRST, *OF_A_RUN),
    *_from(("get", "/v1/approvals"), 200, "approval", FIRST, DECISION),
    *_from(DECISION, 200, "run", "$response.body#/flow_run/id", ("get", RUN)),
    *_from(("post", "/v1/files"), 201, "file", "$response.body#/id", ("get", "/v1/files/{file}")),
    *(_next_page(path) for path in LISTS),
)

JsonObject = dict[str, Any]

REF = "#/components/schemas/{model}"


SCHEMAS: tuple[type[BaseModel], ...] = (errors.ProblemDetails,)


def describe(
    document: JsonObject, models: Iterable[type[BaseModel]], links: Iterable[OperationLink]
) -> JsonObject:
    """Add the schemas that the document refers to, and the links between its operations."""
    schemas = document["components"]["schemas"]
    for model in models:
        schemas |= _of(model)
    schemas |= _of_texts()
    for schema in _each_object(document):
        if params.IS_SCHEMA in schema:
            schema["$ref"] = REF.format(model=schema.pop(params.IS_SCHEMA))
        _require_discriminator(schema, schemas)
    for link in links:
        (method, path), (to_method, to_path) = link.operation, link.target
        answer = document["paths"][path][method]["responses"][str(link.status)]
        operation = document["paths"][to_path][to_method]["operationId"]
        shown = {"operationId": operation, "parameters": dict(link.parameters)}
        answer.setdefault("links", {})[link.name] = shown
    return document


def _of(model: type[BaseModel]) -> JsonObject:
    schema = model.model_json_schema(ref_template=REF)
    return {**schema.pop("$defs", {}), model.__name__: schema}


def _of_texts() -> JsonObject:
    own = {"$ref": REF.format(model=params.PLAIN_JSON)}
    text = {"type": "string", "pattern": params.PLAIN}
    scalars = [text, *({"type": kind} for kind in ("number", "boolean", "null"))]
    several = {"type": "array", "items": own}
    named = {"type": "object", "propertyNames": text, "additionalProperties": own}
    blank = f"{params.CONTROLS}{invisible()}"
    return {
        params.PLAIN_JSON: {
            "description": "Any JSON whose strings have no control characters.",
            "anyOf": [*scalars, several, named],
        },
        params.PLAIN_OBJECT: named,
        params.SAID_TEXT: {
            "type": "string",
            "description": "Something visible, without control characters but tab and newline.",
            "minLength": 1,
            "maxLength": params.MAX_TEXT,
            "pattern": f"^[^{params.CONTROLS}]*[^{blank}][^{params.CONTROLS}]*$",
        },
    }


def invisible() -> str:
    """All characters that nobody sees, as the inside of a regex's `[…]`."""
    # Halves of characters stand in no document.
    codes = chain(range(0xD800), range(0xE000, sys.maxunicode + 1))
    unseen = (code for code in codes if params.is_invisible(chr(code)))
    # In a run of codes, code and place in the sequence rise together.
    runs = groupby(enumerate(unseen), lambda pair: pair[1] - pair[0])
    return "".join(_span([code for _, code in run]) for _, run in runs)


def _span(codes: list[int]) -> str:
    first, last = (f"\\{chr(c)}" if chr(c) in "-]\\^" else chr(c) for c in (codes[0], codes[-1]))
    return first if first == last else f"{first}-{last}"


def _each_object(value: Any) -> Iterator[JsonObject]:
    if isinstance(value, dict):
        yield value
    within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in within:
        yield from _each_object(one)


def _require_discriminator(schema: JsonObject, schemas: JsonObject) -> None:
    """A model with a default for its tag doesn't ask for it; a union of such models does."""
    tag = schema.get("discriminator")
    if isinstance(tag, dict):
        name = tag["propertyName"]
        for ref in tag.get("mapping", {}).values():
            model = schemas[ref.rpartition("/")[2]]
            others = (other for other in model.get("required", ()) if other != name)
            model["required"] = [name, *others]
