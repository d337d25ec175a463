"""Operations of OpenAPI documents as tools."""

import json
from pathlib import Path
from typing import Any

import pytest

from router.routing.tool_form import form_of
from router.tool.tool import Tool
from tests.table import each_row
from tests.unit.extensions.http.declaring import Desk, Folder, call

CRM = """\
openapi: 3.0.3
info: {title: CRM, version: "1"}
servers: [{url: "https://crm.example.com/v2"}]
paths:
  /customers/{id}:
    parameters:
      - {$ref: "#/components/parameters/Id"}
    get:
      operationId: getCustomer
      summary: Get a customer
      description: With their address.
      tags: [customers]
      parameters:
        - {name: fields, in: query, explode: false, schema: {type: array, items: {type: string}}}
        - {name: X-Trace, in: header, schema: {type: string}}
        - {name: since, in: query, schema: {type: string, format: date, nullable: true}}
    put:
      operationId: customers/replace
      requestBody: {$ref: "#/components/requestBodies/Customer"}
  /orders:
    post:
      operationId: createOrder
      tags: [orders]
      requestBody:
        required: true
        content:
          application/json:
            schema:
              allOf:
                - {$ref: "#/components/schemas/Base"}
                - type: object
                  required: [amount, id]
                  properties:
                    amount: {type: number, minimum: 0, exclusiveMinimum: true}
                    id: {type: string, readOnly: true}
                    parent: {$ref: "#/components/schemas/Node"}
    get:
      tags: [orders]
      parameters: [{name: tag, in: query, schema: {type: array, items: {type: string}}}]
  /upload:
    post:
      operationId: upload
      requestBody: {required: true, content: {image/png: {schema: {type: string}}}}
  /loop: {get: {operationId: loop, parameters: [{$ref: "#/components/parameters/Loop"}]}}
  /far: {get: {operationId: far, parameters: [{$ref: "https://evil.example/x.yaml#/a"}]}}
  /file: {get: {operationId: local, parameters: [{$ref: "../secrets.yaml#/a"}]}}
  /missing: {get: {operationId: missing, parameters: [{$ref: "#/components/parameters/None"}]}}
  /undeclared/{id}: {get: {operationId: undeclared}}
  /a/../admin: {get: {operationId: climbing}}
  /deep:
    get:
      operationId: deep
      parameters: [{name: filter, in: query, required: true, schema: {type: object}}]
components:
  parameters:
    Id: {name: id, in: path, required: true, schema: {type: string}}
    Loop: {$ref: "#/components/parameters/Loop"}
  requestBodies:
    Customer:
      required: true
      content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}
  schemas:
    Base: {type: object, required: [item], properties: {item: {type: string, example: 2020-01-01}}}
    Node: {type: object, properties: {next: {$ref: "#/components/schemas/Node"}}}
"""


@pytest.fixture
def folder(folder: Folder) -> Folder:
    """One with the document in it."""
    folder.write(CRM, "crm.yaml")
    return folder


def selecting(**selection: Any) -> dict[str, Any]:
    return {"openapi": "crm.yaml", "operations": ["getCustomer"], **selection}


def worded(**words: Any) -> dict[str, Any]:
    return {"tools": {"getCustomer": words}}


def tools(folder: Folder, **selection: Any) -> dict[str, Tool]:
    folder.write(selecting(**selection))
    return {tool.name: tool for tool in folder.load().tools}


def test_only_what_is_named_is_offered(folder: Folder) -> None:
    assert list(tools(folder)) == ["getCustomer"]
    assert list(tools(folder, operations=[], tags=["orders"])) == ["get_orders", "createOrder"]
    assert list(tools(folder, operations=["customers/replace"])) == ["customers_replace"]
    assert list(tools(folder, prefix="crm_")) == ["crm_getCustomer"]


def test_an_operation_says_what_it_is_and_takes(folder: Folder) -> None:
    tool = tools(folder)["getCustomer"]
    assert (tool.title.en, tool.permission) == ("Get a customer", "read")
    assert tool.description == "Get a customer\nWith their address."
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "fields": {"type": "array", "items": {"type": "string"}},
            "X-Trace": {"type": "string"},
            "since": {"type": ["string", "null"], "format": "date"},
        },
        "required": ["id"],
    }


def test_a_body_is_part_of_the_arguments_or_one_where_names_collide(folder: Folder) -> None:
    tool = tools(folder, operations=["createOrder"])["createOrder"]
    assert tool.permission == "write"
    assert tool.parameters["properties"] == {
        "item": {"type": "string"},
        "amount": {"type": "number", "exclusiveMinimum": 0},
        "parent": {"type": "object", "properties": {"next": {}}},
    }
    assert tool.parameters["required"] == ["item", "amount"]
    clash = tools(folder, operations=["customers/replace"])["customers_replace"]
    assert clash.parameters["required"] == ["id", "body"]


async def test_arguments_go_where_the_document_says(folder: Folder, desk: Desk) -> None:
    server = desk.server
    wanted = ["getCustomer", "createOrder", "customers/replace"]
    key = {"Authorization": "Bearer {env.ROUTER_TOOL_CRM}"}
    there = {"server": f"{server.origin}/v2/", "headers": key}
    folder.write(selecting(operations=wanted, tags=["orders"], **there))
    loaded = folder.load({"ROUTER_TOOL_CRM": "s3cret"}, (server.origin,))
    named = {tool.name: tool for tool in loaded.tools}
    traced = {"X-Trace": "t", "since": None}
    found = await call(named["getCustomer"], id="a/b", fields=["x", "y"], **traced)
    await call(named["createOrder"], "k1", item="pen", amount=2)
    await call(named["customers_replace"], "k2", id="7", body={"id": "8"})
    await call(named["get_orders"], tag=["a", "b"])
    first, second, third, fourth = server.requests
    assert found["target"] == first.target == "/v2/customers/a%2Fb?fields=x%2Cy"
    assert (first.headers["authorization"], first.headers["x-trace"]) == ("Bearer s3cret", "t")
    assert (second.target, json.loads(second.body)) == ("/v2/orders", {"item": "pen", "amount": 2})
    assert (third.target, json.loads(third.body)) == ("/v2/customers/7", {"id": "8"})
    assert fourth.target == "/v2/orders?tag=a&tag=b"


def test_the_operators_words_win(folder: Folder) -> None:
    title, labels = {"zh": "客户资料", "en": "A customer"}, {"id": "客户编号"}
    words = worded(title=title, description_zh="查客户的地址。", labels=labels)
    found = tools(folder, tags=["orders"], **words)
    customer = found["getCustomer"]
    assert (customer.title.zh, customer.about.zh) == ("客户资料", "查客户的地址。")
    assert customer.about.en.startswith("Get a customer")
    form = form_of(customer)
    assert form is not None
    assert "客户编号" in str(form.slots["id"].ask)
    assert customer.in_english_only == ["fields", "X-Trace", "since"]
    assert "title" in found["createOrder"].in_english_only


def test_a_json_document_beside_its_selection_is_no_tool_itself(folder: Folder) -> None:
    document = {"openapi": "3.1.0", "paths": {"/a": {"get": {"operationId": "a"}}}}
    folder.write(document, "doc.json")
    folder.write({"openapi": "doc.json", "server": "https://a.example", "operations": ["a"]})
    assert [tool.name for tool in folder.load().tools] == ["a"]


@each_row(
    ("selection", "said"),
    [
        ({"operations": []}, "no operation is selected"),
        ({"operations": ["getCustomr"]}, "did you mean getCustomer?"),
        ({"tags": ["nope"]}, "no tag nope"),
        ({"operations": "getCustomer"}, "operations is no list"),
        ({"operations": ["upload"]}, "upload: it takes image/png"),
        ({"operations": ["loop"]}, "loop: its references lead in a circle"),
        ({"operations": ["far"]}, "outside the document"),
        ({"operations": ["local"]}, "outside the document"),
        ({"operations": ["missing"]}, "there is no #/components/parameters/None"),
        ({"operations": ["undeclared"]}, "{id} of its path is no parameter"),
        ({"operations": ["climbing"]}, "is no plain path"),
        ({"operations": ["deep"]}, "filter is no single value"),
        ({"server": "http://crm.example"}, "isn't https"),
        ({"server": "https://{id}.example"}, "where the host is"),
        ({"server": "/v2"}, "isn't http:// or https://"),
        ({"headers": {"X": "{id}"}}, "there is no parameter id"),
        ({"headers": {"X": "{env.HOME}"}}, "isn't for tools"),
        ({"permission": "read"}, "there is no permission"),
        ({"openapi": "../crm.yaml"}, "outside this folder"),
        ({"openapi": "/etc/passwd"}, "outside this folder"),
        ({"openapi": "nope.yaml"}, "there is no such file"),
        ({"openapi": 3}, "openapi isn't text"),
        ({"openapi": "tool.json"}, "no OpenAPI 3.0 or 3.1"),
        ({"tools": []}, "tools is no object"),
        (
            {"tools": {"getCustomr": {}}},
            "no operation getCustomr is selected; did you mean getCustomer?",
        ),
        ({"tools": {"upload": {}}}, "no operation upload is selected"),
        ({"tools": {"getCustomer": "x"}}, "getCustomer is no object"),
        (worded(titel="x"), "there is no titel; did you mean title?"),
        (worded(title={"zh": "只有中文"}), "title isn't in both languages"),
        (worded(title=7), "title isn't in both languages"),
        (worded(description_zh=7), "description_zh isn't text"),
        (worded(labels=["id"]), "labels is no object"),
        (worded(labels={"idd": "编号"}), "getCustomer takes no idd"),
        (worded(labels={"id": ""}), "the label of id can't be shown"),
        (worded(labels={"id": "长" * 61}), "the label of id can't be shown"),
        (worded(labels={"id": "反\u202e转"}), "the label of id can't be shown"),
        (worded(labels={"id": {"zh": "编号"}}), "the label of id can't be shown"),
    ],
)
def test_what_is_not_offered_is_told(folder: Folder, selection: dict[str, Any], said: str) -> None:
    problems = folder.problems(selecting(**selection))
    assert [p for p in problems if said in p], problems
    assert all(p.startswith("tool.json:") for p in problems)


BOMB = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
)


@pytest.mark.slow
@each_row(
    ("document", "said"),
    [
        ("openapi: 2.0\npaths: {}", "no OpenAPI 3.0 or 3.1"),
        ("swagger: '2.0'", "no OpenAPI 3.0 or 3.1"),
        ("[1, 2]", "no OpenAPI 3.0 or 3.1"),
        ("", "no OpenAPI 3.0 or 3.1"),
        ("openapi: [", "line 1: this isn't YAML"),
        ("openapi: 3.1.0\npaths: []", "has no operation a"),
        ("openapi: 3.1.0\npaths: {/a: {get: {operationId: [1]}}}", "has no operation a"),
        ("openapi: 3.1.0\npaths: {/a: {get: {operationId: a, parameters: [3]}}}", "no server"),
        ("openapi: 3.1.0\nself: &s [*s]", "contains itself"),
        (f"openapi: 3.1.0\n{BOMB}", "more than 200,000 things"),
        ("openapi: 3.1.0\npaths: !!python/object:os.system {}", "has no operation a"),
    ],
)
def test_a_document_that_is_none_is_refused(folder: Folder, document: str, said: str) -> None:
    folder.write(document, "crm.yaml")
    problems = folder.problems(selecting(operations=["a"]))
    assert [p for p in problems if said in p], problems


def test_references_that_grow_without_end_are_cut(folder: Folder) -> None:
    wide = {}
    for n in range(9):
        fields = {k: {"$ref": f"#/components/schemas/S{n + 1}"} for k in "abcdefgh"}
        wide[f"S{n}"] = {"type": "object", "properties": fields}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}
    paths = {"/a": {"post": {"operationId": "a", "requestBody": body}}}
    where = {"servers": [{"url": "https://a.example"}], "components": {"schemas": wide}}
    folder.write({"openapi": "3.1.0", "paths": paths, **where}, "crm.yaml")
    (problem,) = folder.problems(selecting(operations=["a"]))
    assert "schema is too large" in problem


def test_the_document_counts_among_the_files(folder: Folder) -> None:
    folder.write(selecting())
    assert [Path(file).name for file in folder.load().files] == ["tool.json", "crm.yaml"]
