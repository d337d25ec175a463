"""Chat platforms are found, and configured wholly or not at all."""

import asyncio
import itertools
from pathlib import Path

import pytest

from router.domain.errors import MisconfiguredError
from router.extensions.channels import ChatPlatform
from router.extensions.channels.base import AccessToken, Grant
from router.extensions.channels.mounting import configured_platforms
from router.runtime.extensions import check_sections, load_extensions, setting_sections
from router.settings import Settings, slips


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


PLATFORMS = ("dingtalk", "feishu", "mail", "slack", "teams", "wecom")


def test_every_platform_is_an_extension_with_settings_of_its_name() -> None:
    platforms = [each for each in load_extensions() if isinstance(each, ChatPlatform)]

    assert sorted(each.name for each in platforms) == [*PLATFORMS]
    for each in platforms:
        assert each.settings().prefix() == f"ROUTER_{each.name.upper()}_"


def test_none_is_configured_unless_somebody_says_so() -> None:
    assert configured_platforms(Settings(_env_file=None)) == []


@pytest.mark.parametrize(
    ("known", "missing"),
    [
        (["SLACK_BOT_TOKEN"], "ROUTER_SLACK_SIGNING_SECRET"),
        (["SLACK_SIGNING_SECRET"], "ROUTER_SLACK_BOT_TOKEN"),
        (["TEAMS_APP_PASSWORD"], "ROUTER_TEAMS_APP_ID"),
        (
            ["FEISHU_APP_ID", "FEISHU_APP_SECRET", "FEISHU_VERIFICATION_TOKEN"],
            "ROUTER_FEISHU_ENCRYPT_KEY",
        ),
        (["MAIL_HOST"], "ROUTER_MAIL_SENDER"),
    ],
)
def test_half_a_chat_platform_is_refused(
    known: list[str], missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in known:
        monkeypatch.setenv(f"ROUTER_{name}", "xoxb-very-secret")
    with pytest.raises(MisconfiguredError) as refused:
        check_sections(Settings.load())
    assert str(refused.value).startswith(f"{missing} isn't set")
    assert "very-secret" not in str(refused.value)


def test_a_platform_s_secret_may_be_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("token").write_text("xoxb-1\n")
    monkeypatch.setenv("ROUTER_SLACK_BOT_TOKEN_FILE", "token")
    monkeypatch.setenv("ROUTER_SLACK_SIGNING_SECRET", "s")
    ((platform, known),) = configured_platforms(Settings.load())
    assert (platform.name, known.model_dump()["bot_token"].get_secret_value()) == (
        "slack",
        "xoxb-1",
    )


def test_variables_of_platforms_are_no_typing_slips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_SLACK_BOT_TOKN", "xoxb-1")
    (slip,) = slips(setting_sections(Settings.load()))
    assert slip == "ROUTER_SLACK_BOT_TOKN is no setting: did you mean ROUTER_SLACK_BOT_TOKEN?"


async def test_a_token_is_fetched_once_for_all_who_ask_and_anew_once_it_is_refused() -> None:
    numbers = itertools.count(1)

    async def fetch() -> Grant:
        await asyncio.sleep(0)
        return Grant(f"t{next(numbers)}", 7200)

    token = AccessToken(fetch, early=300)
    assert {*await asyncio.gather(token.current(), token.current())} == {"t1"}
    for _ in range(2):  # whoever else still had the old one refuses it later
        token.refuse("t1")
        assert await token.current() == "t2"
