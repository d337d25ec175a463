"""The reference of the REST API, from its own OpenAPI document."""

from collections.abc import Iterator
from typing import Any

from docs.generate.markdown import code, one_line, page, table
from router.runtime.server import openapi_document

INTRODUCTION = """\
A running desk has all of this at `/docs`, and for programs at `/openapi.json`. Everything but
`/healthz` and `/readyz` needs `Authorization: Bearer …`. Errors are RFC 9457
`application/problem+json`; lists answer `{"items": […], "next": …}`, where `next` is the `after` of
the next page. Every POST takes `Idempotency-Key`. How a screen uses it all is in
[Front ends](../front-ends.md)."""
METHODS = ("get", "post", "put", "patch", "delete")


def rest_page() -> str:
    """A section for each call, and a table for each shape."""
    document = openapi_document()
    calls = [_call(way, path, what) for way, path, what in operations(document)]
    shapes = document["components"]["schemas"]
    tables = [f"### {name}\n\n{shown}" for name, each in shapes.items() if (shown := _shape(each))]
    return page("REST", INTRODUCTION, "## Calls", *calls, "## Shapes", *tables)


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path and operation of each call."""
    for path, item in document["paths"].items():
        for way in METHODS:
            if way in item:
                yield way.upper(), path, item[way]


def _call(way: str, path: str, what: dict[str, Any]) -> str:
    parameters = [
        (code(p["name"]), p["in"], _type(p["schema"]), p.get("description", ""))
        for p in what.get("parameters", [])
        if p["in"] != "header" or p["name"] != "idempotency-key"
    ]
    answers = ", ".join(
        f"{status} {_content(answer)}".strip() for status, answer in what["responses"].items()
    )
    lines = [
        f"### `{way} {path}`",
        (what.get("description") or "").strip(),
        f"Body: {body}" if (body := _content(what.get("requestBody", {}))) else "",
        table(("parameter", "in", "holds", ""), parameters),
        f"Answers: {answers}",
    ]
    return "\n\n".join(filter(None, lines))


def _content(holder: dict[str, Any]) -> str:
    shapes = [_type(media.get("schema", {})) for media in holder.get("content", {}).values()]
    return " or ".join(dict.fromkeys(s for s in shapes if s and "ProblemDetails" not in s))


def _shape(schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    return table(
        ("field", "holds", "", ""),
        [
            (
                code(name),
                _type(each),
                "" if name in required else "optional",
                one_line(each.get("description")),
            )
            for name, each in schema.get("properties", {}).items()
        ],
    )


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})" if name != "JsonValue" else "JSON"
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_type(each) for each in schema[several]))
    if "enum" in schema:
        return ", ".join(code(str(value)) for value in schema["enum"])
    if "const" in schema:
        return code(str(schema["const"]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type") or "")
