"""Operations of OpenAPI documents as tools."""

import json
from pathlib import Path
from typing import Any

import pytest

from router.routing.tool_form import form_of
from router.tool.tool import Tool
from tests.fakes.web_server import Got, Reply, WebServer, json_reply
from tests.unit.tool.http.declaring import Folder, call

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
  /loop:
    get:
      operationId: loop
      parameters: [{$ref: "#/components/parameters/Loop"}]
  /far:
    get:
      operationId: far
      parameters: [{$ref: "https://evil.example/x.yaml#/a"}]
  /file:
    get:
      operationId: local
      parameters: [{$ref: "../secrets.yaml#/a"}]
  /missing:
    get:
      operationId: missing
      parameters: [{$ref: "#/components/parameters/None"}]
  /undeclared/{id}:
    get: {operationId: undeclared}
  /a/../admin:
    get: {operationId: climbing}
  /deep:
    get:
      operationId: deep
      parameters:
        - {name: filter, in: query, required: true, schema: {type: object}}
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


def selecting(**selection: Any) -> dict[str, Any]:
    return {"openapi": "crm.yaml", **selection}


def tools(folder: Folder, **selection: Any) -> dict[str, Tool]:
    folder.write(CRM, "crm.yaml")
    folder.write(selecting(**selection))
    return {tool.name: tool for tool in folder.load(allowed=_ALLOWED).tools}


_ALLOWED = ("http://127.0.0.1:9000",)


def test_only_what_is_named_is_offered(folder: Folder) -> None:
    assert list(tools(folder, operations=["getCustomer"])) == ["getCustomer"]
    assert list(tools(folder, tags=["orders"])) == ["get_orders", "createOrder"]
    assert list(tools(folder, operations=["customers/replace"])) == ["customers_replace"]
    assert list(tools(folder, operations=["getCustomer"], prefix="crm_")) == ["crm_getCustomer"]


def test_an_operation_says_what_it_is_and_takes(folder: Folder) -> None:
    tool = tools(folder, operations=["getCustomer"])["getCustomer"]
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


def test_a_body_is_part_of_the_arguments(folder: Folder) -> None:
    tool = tools(folder, operations=["createOrder"])["createOrder"]
    assert tool.permission == "write"
    assert tool.parameters["properties"] == {
        "item": {"type": "string"},
        "amount": {"type": "number", "exclusiveMinimum": 0},
        "parent": {"type": "object", "properties": {"next": {}}},
    }
    assert tool.parameters["required"] == ["item", "amount"]


def test_a_body_with_the_name_of_a_parameter_is_one_argument(folder: Folder) -> None:
    tool = tools(folder, operations=["customers/replace"])["customers_replace"]
    assert tool.parameters["required"] == ["id", "body"]


async def test_arguments_go_where_the_document_says(folder: Folder) -> None:
    def echo(got: Got) -> Reply:
        return json_reply({"got": got.target})

    async with WebServer(echo) as server:
        folder.write(CRM, "crm.yaml")
        key = {"Authorization": "Bearer {env.ROUTER_TOOL_CRM}"}
        folder.write(
            selecting(
                server=f"{server.origin}/v2/",
                operations=["getCustomer", "createOrder", "customers/replace"],
                tags=["orders"],
                headers=key,
            )
        )
        loaded = folder.load({"ROUTER_TOOL_CRM": "s3cret"}, (server.origin,))
        named = {tool.name: tool for tool in loaded.tools}
        found = await call(
            named["getCustomer"], id="a/b", fields=["x", "y"], **{"X-Trace": "t", "since": None}
        )
        await call(named["createOrder"], "k1", item="pen", amount=2)
        await call(named["customers_replace"], "k2", id="7", body={"id": "8"})
        await call(named["get_orders"], tag=["a", "b"])
    first, second, third, fourth = server.requests
    assert found == {"got": "/v2/customers/a%2Fb?fields=x%2Cy"}
    assert (first.headers["authorization"], first.headers["x-trace"]) == ("Bearer s3cret", "t")
    assert (second.target, json.loads(second.body)) == ("/v2/orders", {"item": "pen", "amount": 2})
    assert (third.target, json.loads(third.body)) == ("/v2/customers/7", {"id": "8"})
    assert fourth.target == "/v2/orders?tag=a&tag=b"


def test_words_of_the_operator_are_those_that_people_read(folder: Folder) -> None:
    words = {
        "title": {"zh": "客户资料", "en": "A customer"},
        "description_zh": "查客户的地址。",
        "labels": {"id": "客户编号"},
    }
    found = tools(folder, operations=["getCustomer"], tags=["orders"], tools={"getCustomer": words})
    customer = found["getCustomer"]
    assert (customer.title.zh, customer.about.zh) == ("客户资料", "查客户的地址。")
    assert customer.about.en.startswith("Get a customer")
    form = form_of(customer)
    assert form is not None
    assert "客户编号" in str(form.slots["id"].ask)
    assert customer.in_english_only == ["fields", "X-Trace", "since"]
    assert "title" in found["createOrder"].in_english_only


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "tools is no object"),
        ({"getCustomr": {}}, "no operation getCustomr is selected; did you mean getCustomer?"),
        ({"upload": {}}, "no operation upload is selected"),
        ({"getCustomer": "x"}, "getCustomer is no object"),
        ({"getCustomer": {"titel": "x"}}, "there is no titel; did you mean title?"),
        ({"getCustomer": {"title": {"zh": "只有中文"}}}, "title isn't in both languages"),
        ({"getCustomer": {"title": 7}}, "title isn't in both languages"),
        ({"getCustomer": {"description_zh": 7}}, "description_zh isn't text"),
        ({"getCustomer": {"labels": ["id"]}}, "labels is no object"),
        ({"getCustomer": {"labels": {"idd": "编号"}}}, "getCustomer takes no idd"),
        ({"getCustomer": {"labels": {"id": ""}}}, "the label of id can't be shown"),
        ({"getCustomer": {"labels": {"id": "长" * 61}}}, "the label of id can't be shown"),
        ({"getCustomer": {"labels": {"id": "反\u202e转"}}}, "the label of id can't be shown"),
        ({"getCustomer": {"labels": {"id": {"zh": "编号"}}}}, "the label of id can't be shown"),
    ],
)
def test_words_that_fit_nothing_are_told(folder: Folder, words: Any, said: str) -> None:
    folder.write(CRM, "crm.yaml")
    problems = folder.problems(selecting(operations=["getCustomer"], tools=words))
    assert [p for p in problems if said in p], problems


def test_a_json_document_beside_its_selection_is_no_tool_itself(folder: Folder) -> None:
    document = {"openapi": "3.1.0", "paths": {"/a": {"get": {"operationId": "a"}}}}
    folder.write(document, "doc.json")
    folder.write({"openapi": "doc.json", "server": "https://a.example", "operations": ["a"]})
    assert [tool.name for tool in folder.load().tools] == ["a"]


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        ({}, "no operation is selected"),
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
        ({"operations": ["getCustomer"], "server": "http://crm.example"}, "isn't https"),
        ({"operations": ["getCustomer"], "server": "https://{id}.example"}, "where the host is"),
        ({"operations": ["getCustomer"], "server": "/v2"}, "isn't http:// or https://"),
        ({"operations": ["getCustomer"], "headers": {"X": "{id}"}}, "there is no parameter id"),
        ({"operations": ["getCustomer"], "headers": {"X": "{env.HOME}"}}, "isn't for tools"),
        ({"operations": ["getCustomer"], "permission": "read"}, "there is no permission"),
        ({"operations": ["getCustomer"], "openapi": "../crm.yaml"}, "outside this folder"),
        ({"operations": ["getCustomer"], "openapi": "/etc/passwd"}, "outside this folder"),
        ({"operations": ["getCustomer"], "openapi": "nope.yaml"}, "there is no such file"),
        ({"operations": ["getCustomer"], "openapi": 3}, "openapi isn't text"),
        ({"operations": ["getCustomer"], "openapi": "tool.json"}, "no OpenAPI 3.0 or 3.1"),
    ],
)
def test_what_cannot_be_offered_is_told(
    folder: Folder, selection: dict[str, Any], said: str
) -> None:
    folder.write(CRM, "crm.yaml")
    problems = folder.problems(selecting(**selection))
    assert [p for p in problems if said in p], problems
    assert all(p.startswith("tool.json:") for p in problems)


BOMB = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
)


@pytest.mark.parametrize(
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
    wide = {
        f"S{n}": {
            "type": "object",
            "properties": {k: {"$ref": f"#/components/schemas/S{n + 1}"} for k in "abcdefgh"},
        }
        for n in range(9)
    }
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}
    document = {
        "openapi": "3.1.0",
        "servers": [{"url": "https://a.example"}],
        "paths": {"/a": {"post": {"operationId": "a", "requestBody": body}}},
        "components": {"schemas": wide},
    }
    folder.write(document, "crm.yaml")
    (problem,) = folder.problems(selecting(operations=["a"]))
    assert "schema is too large" in problem


def test_the_document_counts_among_the_files(folder: Folder) -> None:
    folder.write(CRM, "crm.yaml")
    folder.write(selecting(operations=["getCustomer"]))
    assert [Path(file).name for file in folder.load().files] == ["tool.json", "crm.yaml"]
