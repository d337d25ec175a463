"""The gallery as authors get it: what there is to begin from, and the files of each."""

from pathlib import Path

import pytest

from tests.integration.api.conftest import As, problem
from tests.table import each_row

GALLERY = Path(__file__).parents[5] / "flows" / "gallery"


@pytest.mark.slow
async def test_who_writes_flows_sees_every_process_in_their_language(caller: As) -> None:
    answer = await caller("olga").get("/v1/flow-gallery")
    assert answer.status_code == 200, answer.text
    items = {item.pop("flow"): item for item in answer.json()["items"]}
    assert items.keys() == {path.stem for path in GALLERY.glob("*.yaml")}
    assert items["overtime"]["title"] == "Overtime request"
    assert items["overtime"]["picture"].startswith("<svg")
    assert "Manager decides" in items["overtime"]["picture"]
    theirs = await caller("olga").get("/v1/flow-gallery", headers={"X-Locale": "zh"})
    assert "加班申请" in {item["title"] for item in theirs.json()["items"]}


async def test_a_process_comes_with_its_stories_and_tools_to_the_byte(caller: As) -> None:
    found = (await caller("olga").get("/v1/flow-gallery/overtime")).json()
    files = {"text": "overtime.yaml", "stories": "tests/overtime.yaml"}
    files["tools"] = "tools/overtime.json"
    assert found == {key: (GALLERY / name).read_text("utf-8") for key, name in files.items()}


@each_row("name", ["overtim", "..", "%2e%2e%2fleave_request", "加班", "a" * 500])
async def test_what_the_gallery_lacks_is_said_to_be_lacking(caller: As, name: str) -> None:
    answer = await caller("olga").get(f"/v1/flow-gallery/{name}")
    assert answer.status_code == 404


async def test_a_near_name_is_told_what_was_meant(caller: As) -> None:
    answer = await caller("olga").get("/v1/flow-gallery/overtim")
    assert "overtime" in problem(answer, 404)["detail"]


@each_row("path", ["/v1/flow-gallery", "/v1/flow-gallery/overtime"])
async def test_who_writes_no_flows_has_no_gallery(caller: As, path: str) -> None:
    assert (await caller("alice").get(path)).status_code == 404
