"""A route of an extension that the router answers itself is refused, and both are named."""

import pytest
from fastapi import APIRouter

from router.cli.extensions import omit_faulty_extensions
from router.extension import Extension, Routes
from router.runtime.extensions import Extensions, LoadedExtension
from tests.table import each_row


def with_route(method: str, path: str, prefix: str = "") -> Extensions:
    """An extension of another company that serves this."""

    async def answer() -> None: ...

    inner, outer = APIRouter(), APIRouter(prefix=prefix)
    inner.add_api_route(path, answer, methods=[method])
    outer.include_router(inner)

    class Badges(Extension):
        name = "badges"

        def routes(self) -> Routes:
            return Routes([outer])

    return Extensions([LoadedExtension(Badges(), "acme-badges")])


@each_row(
    ("method", "prefix", "path", "first"),
    [
        ("GET", "/v1", "/capabilities", "GET /v1/capabilities"),
        ("GET", "/v1/flow-runs", "/{badge}", "GET /v1/flow-runs/{run}"),
        ("POST", "/v1/flow-runs", "/badges/withdraw", "POST /v1/flow-runs/{run}/withdraw"),
        ("GET", "", "/openapi.json", "GET /openapi.json"),
        ("GET", "/web", "/badges/{name:path}", "GET /web/{path:path}"),
    ],
)
def test_a_route_that_another_one_answers_is_refused_and_both_are_named(
    method: str, prefix: str, path: str, first: str
) -> None:
    found = with_route(method, path, prefix)

    omit_faulty_extensions(found)

    (fault,) = found.failed
    assert (fault.name, fault.distribution, fault.traceback) == ("badges", "acme-badges", "")
    assert f"its route {method} {prefix}{path} would never be reached" in fault.reason
    assert f"since the route {first} comes first" in fault.reason


@each_row(
    ("method", "path"),
    [("PUT", "/v1/capabilities"), ("GET", "/v1/badges/{badge}"), ("GET", "/v1/{anything}")],
)
def test_a_route_that_can_be_reached_is_taken(method: str, path: str) -> None:
    found = with_route(method, path)

    omit_faulty_extensions(found)

    assert not found.failed


def test_the_second_of_two_extensions_with_one_route_is_refused() -> None:
    badges = with_route("GET", "/v1/badges")
    gates = LoadedExtension(type("Gates", (type(*badges),), {"name": "gates"})(), "acme-gates")
    found = Extensions([*badges.loaded, gates])

    omit_faulty_extensions(found)

    (fault,) = found.failed
    assert fault.name == "gates"
    assert "since the route GET /v1/badges comes first" in fault.reason


def test_the_list_of_extensions_says_why_one_is_not_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from router.cli import extensions

    found = with_route("GET", "/v1/capabilities")
    monkeypatch.setattr(extensions, "load_configured", lambda settings: found)

    extensions.extensions()

    shown = capsys.readouterr().out
    assert "loaded" not in shown
    assert shown.startswith("badges  acme-badges  its route GET /v1/capabilities")
