"""Commands and checks of extensions, next to those of the core."""

from collections.abc import Mapping

import pytest

from router.cli import COMMANDS, CommandTable
from router.cli.doctor import CHECKS, all_checks
from router.domain.errors import MisconfiguredError
from router.extension import Check, Command, Extension, ExtensionConflict
from router.runtime.extensions import Extensions, LoadedExtension
from router.settings import Settings
from tests.unit.cli.conftest import Run

BADGES = Command("acme_badges.cli:badges", "Print badges.")


class Badges(Extension):
    """An extension of another company."""

    name = "badges"

    def commands(self) -> Mapping[str, Command]:
        return {"badges": BADGES}

    def checks(self) -> Mapping[str, Check]:
        return {"tools": check_badges, "badges": check_badges}


async def check_badges(settings: Settings) -> str:
    return "all printed"


def test_the_core_and_an_extension_share_one_table_of_commands() -> None:
    table = CommandTable()
    table.add_extension(Badges())

    assert table == {**COMMANDS, "badges": BADGES}


def test_a_command_that_is_there_is_refused_and_both_are_named() -> None:
    table = CommandTable()
    table.add_extension(Badges())

    with pytest.raises(ExtensionConflict, match=r"badges has the name of acme_badges\.cli:badges"):
        table.add_extension(Badges())


def test_a_command_of_an_extension_that_is_off_says_so(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_EXTENSIONS_OFF", "mcp_server")

    said = run.refused("mcp", "--user", "alice")

    assert "mcp is a command of an extension that isn't loaded" in said


def test_a_check_with_a_subject_of_the_core_has_the_extension_s_name_in_front(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = Extensions([LoadedExtension(Badges(), "acme-badges")])
    monkeypatch.setattr("router.cli.doctor.load_configured", lambda settings: found)

    assert [*all_checks(Settings(_env_file=None))] == [*CHECKS, "badges: tools", "badges"]


def test_settings_of_an_extension_that_cannot_be_used_stop_the_process() -> None:
    def refuse(_: Extension) -> None:
        raise MisconfiguredError("ROUTER_BADGES_PRINTER is no address: correct it")

    with pytest.raises(MisconfiguredError, match="ROUTER_BADGES_PRINTER"):
        Extensions([LoadedExtension(Badges(), "acme-badges")]).collect(refuse)
