"""The OpenAPI document: what the routes can't say of themselves, said once for all of them."""

import sys
import unicodedata
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from pydantic import BaseModel

from router.api import plain, problems
from router.api.links import LINKS, Link
from router.api.openai_face.asked import Completion

Json = dict[str, Any]

REF = "#/components/schemas/{model}"


def describe(document: Json) -> Json:
    """The document with every schema that it refers to, and links from answers to what follows.

    Links are OpenAPI's: a client, or a tester of APIs, reads in them which field of an answer is
    the parameter of which other call.
    """
    document["components"]["schemas"] |= {
        **_of(problems.ProblemDetails),
        **_of(Completion),
        **_of_texts(),
    }
    for schema in _each_object(document):
        _refer(schema)
        _require_discriminator(schema, document)
    _link(document)
    return document


def _of(model: type[BaseModel]) -> Json:
    """A model that no route declares, with what it is made of."""
    schema = model.model_json_schema(ref_template=REF)
    return {**schema.pop("$defs", {}), model.__name__: schema}


def _of_texts() -> Json:
    own = {"$ref": REF.format(model=plain.PLAIN_JSON)}
    text = {"type": "string", "pattern": plain.PLAIN}
    scalars = [text, *({"type": kind} for kind in ("number", "boolean", "null"))]
    several = {"type": "array", "items": own}
    named = {"type": "object", "propertyNames": text, "additionalProperties": own}
    blank = f"{plain.CONTROLS}{invisible()}"
    return {
        plain.PLAIN_JSON: {
            "description": "Any JSON whose strings have no control characters.",
            "anyOf": [*scalars, several, named],
        },
        plain.PLAIN_OBJECT: named,
        plain.SAID_TEXT: {
            "type": "string",
            "description": "Something visible, without control characters but tab and newline.",
            "minLength": 1,
            "maxLength": plain.MAX_TEXT,
            "pattern": f"^[^{plain.CONTROLS}]*[^{blank}][^{plain.CONTROLS}]*$",
        },
    }


def invisible() -> str:
    """All characters that nobody sees, as the inside of a regex's `[…]`."""
    codes = range(sys.maxunicode + 1)
    unseen = (code for code in codes if unicodedata.category(chr(code)) in plain.INVISIBLE)
    # In a run of codes, code and place in the sequence rise together.
    runs = groupby(enumerate(unseen), lambda pair: pair[1] - pair[0])
    return "".join(_span([code for _, code in run]) for _, run in runs)


def _span(codes: list[int]) -> str:
    first, last = (f"\\{chr(c)}" if chr(c) in "-]\\^" else chr(c) for c in (codes[0], codes[-1]))
    return first if first == last else f"{first}-{last}"


def _each_object(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
    within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in within:
        yield from _each_object(one)


def _refer(schema: Json) -> None:
    if plain.IS_SCHEMA in schema:
        schema["$ref"] = REF.format(model=schema.pop(plain.IS_SCHEMA))


def _require_discriminator(schema: Json, document: Json) -> None:
    """A model with a default for its tag doesn't ask for it; a union of such models does."""
    tag = schema.get("discriminator")
    if not isinstance(tag, dict):
        return
    for ref in tag.get("mapping", {}).values():
        model = document["components"]["schemas"][ref.rpartition("/")[2]]
        name = tag["propertyName"]
        model["required"] = [name, *(other for other in model.get("required", ()) if other != name)]


def _link(document: Json) -> None:
    paths = document["paths"]
    for link in LINKS:
        answer = paths[link.of.path][link.of.method]["responses"][str(link.status)]
        target = paths[link.to.path][link.to.method]
        answer.setdefault("links", {})[link.name] = _shown(link, target["operationId"])


def _shown(link: Link, operation: str) -> Json:
    shown: Json = {"operationId": operation, "parameters": dict(link.parameters)}
    if link.body is not None:
        shown["requestBody"] = link.body
    return shown
