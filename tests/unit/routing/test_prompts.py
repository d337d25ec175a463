from collections import Counter
from pathlib import Path

import pytest

from router.domain.errors import MisconfiguredError
from router.routing.prompts import Prompts, WatchedPrompts
from tests.table import each_row


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        version, _, locale = name.rpartition("_")
        (folder / f"{version.replace('_', '-')}.{locale}.md").write_text(text, "utf-8")
    return folder


def test_a_prompt_is_in_the_conversations_language() -> None:
    prompts = Prompts.load()
    zh, en = (prompts.of("router", "c1", locale, "default") for locale in ("zh", "en"))
    assert zh.version == en.version
    assert "你是" in zh.text
    assert "You are" in en.text
    assert zh.fingerprint != en.fingerprint


def test_a_fingerprint_changes_with_the_text(tmp_path: Path) -> None:
    one = Prompts.load(write(tmp_path, router_1_zh="甲", router_1_en="a"))
    before = one.of("router", "c1", "zh", "default").fingerprint
    write(tmp_path, router_1_zh="乙")
    after = Prompts.load(tmp_path).of("router", "c1", "zh", "default").fingerprint
    assert before != after
    assert before.startswith("router-1@")


def test_the_newest_version_is_used_unless_shares_say_otherwise(tmp_path: Path) -> None:
    write(tmp_path, router_10_zh="十", router_10_en="ten", router_2_zh="二", router_2_en="two")
    assert Prompts.load(tmp_path).of("router", "c1", "en", "default").text == "ten"
    assert Prompts.load(tmp_path, {"router-2": 1}).of("router", "c1", "en", "default").text == "two"


def test_traffic_is_shared_and_a_conversation_keeps_its_version(tmp_path: Path) -> None:
    write(tmp_path, router_2_zh="二", router_2_en="two")
    prompts = Prompts.load(tmp_path, {"router-1": 3, "router-2": 1})
    asked = [f"conversation-{n}" for n in range(2000)]
    drawn = [prompts.of("router", name, "en", "default").version for name in asked]
    assert drawn == [prompts.of("router", name, "zh", "default").version for name in asked]
    assert Counter(drawn)["router-2"] == pytest.approx(500, abs=80)
    assert (
        prompts.of("phrase", "c1", "en", "default").version == "phrase-1"
    )  # shares are those of one job
    prompts = Prompts.load(tmp_path, {"router-1": 0, "router-2": 5})
    assert {prompts.of("router", str(n), "en", "default").version for n in range(50)} == {
        "router-2"
    }


@each_row(
    ("shares", "said"),
    [
        ({"router-9": 1}, "ROUTER_PROMPT_SHARES names 'router-9'; of router there are: router-1"),
        ({"router-1": 0}, "leaves nothing to any version of router"),
    ],
)
def test_shares_of_nothing_are_refused(shares: dict[str, int], said: str) -> None:
    with pytest.raises(MisconfiguredError, match=said):
        Prompts.load(None, shares)


def test_a_version_in_one_language_is_refused(tmp_path: Path) -> None:
    write(tmp_path, router_2_zh="二")
    with pytest.raises(MisconfiguredError, match=r"router-2 has no text in en; write router-2\.en"):
        Prompts.load(tmp_path)


def test_a_folder_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MisconfiguredError, match="prompts can't be read"):
        Prompts.load(tmp_path / "nowhere")
    (tmp_path / "router-2.zh.md").write_bytes(b"\xff")
    with pytest.raises(MisconfiguredError, match="prompts can't be read"):
        Prompts.load(tmp_path)


def two(folder: Path) -> Prompts:
    return Prompts.load(write(folder, router_2_zh="二", router_2_en="two"), {"router-1": 1})


def drawn(prompts: Prompts, tenant: str = "default") -> set[str]:
    return {prompts.of("router", str(n), "en", tenant).version for n in range(50)}


def test_a_tenant_s_own_shares_come_before_the_settings_and_are_theirs_alone(
    tmp_path: Path,
) -> None:
    prompts, texts = two(tmp_path), WatchedPrompts(tmp_path, {"router-1": 1})
    assert prompts.replace(texts.texts, {("acme", "router"): {"router-2": 1}})
    assert drawn(prompts, "acme") == {"router-2"}
    assert drawn(prompts) == {"router-1"}
    assert {each.version for each in prompts.shared("router")} == {"router-1", "router-2"}
    assert not prompts.replace(texts.texts, {("acme", "router"): {"router-2": 1}})
    assert prompts.replace(texts.texts, {})
    assert drawn(prompts, "acme") == {"router-1"}


def test_shares_of_a_version_that_is_gone_are_passed_over(tmp_path: Path) -> None:
    prompts = two(tmp_path)
    own = {"router-2": 9, "router-1": 1}
    texts = Prompts.load().only("router-1")
    assert prompts.replace(texts.texts, {("default", "router"): own})
    assert drawn(prompts) == {"router-1"}


def test_a_conversation_keeps_its_version_whatever_order_shares_are_written_in(
    tmp_path: Path,
) -> None:
    prompts = two(tmp_path)
    watched = WatchedPrompts(tmp_path, {})
    versions = []
    for shares in ({"router-1": 1, "router-2": 1}, {"router-2": 1, "router-1": 1}):
        prompts.replace(watched.texts, {("default", "router"): shares})
        versions.append([prompts.of("router", str(n), "en", "default").version for n in range(50)])
    assert versions[0] == versions[1]
    assert set(versions[0]) == {"router-1", "router-2"}


def test_a_folder_is_followed_and_what_is_of_no_use_leaves_it_as_it_was(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watched = WatchedPrompts(write(tmp_path, router_2_zh="二", router_2_en="two"), {})
    assert not watched.reload()
    write(tmp_path, router_3_zh="三", router_3_en="three")
    assert watched.reload()
    assert watched.texts["router-3"].en == "three"
    write(tmp_path, router_4_zh="四")
    watched.reload()
    assert "router-4" not in watched.texts
    assert watched.texts["router-3"].en == "three"
    assert "router-4 has no text in en" in caplog.text
